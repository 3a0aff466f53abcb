"""Models behind a real server on this machine that speaks the completions format."""

import hashlib
import itertools
import json
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.kinds.session import Work
from privacygauge.language import endpoints
from privacygauge.language.audit.audit import audit_causal
from privacygauge.language.audit.command import LanguageRequest, play
from privacygauge.language.endpoints import API_KEY, EndpointModel
from privacygauge.language.likelihoods import pair_log_probabilities, token_log_probabilities
from privacygauge.language.token_signals import MIN_K, ZLIB, min_k_signal, zlib_signal
from privacygauge.runs.store import read_run
from tests.language.tiny_models import made_texts
from tests.runs.sample import contents
from tests.thorough import times


@contextmanager
def serving(answer, heard=None):
    """Serve `answer(path, asked) -> (status, body, headers)` on this machine.

    The headers of each question are put into the list `heard`.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            if heard is not None:
                heard.append(dict(self.headers))
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, body, headers = answer(self.path, asked)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            # Who asked may have given up.
            with suppress(BrokenPipeError):
                self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def completion(names, logs, text, extra=True):
    """Return the answer to a prompt: its tokens, and one that the model has written itself."""
    names = [*names, *([" and"] if extra else [])]
    logs = [*logs, *([-0.5] if extra else [])]
    offsets = np.cumsum([0, *map(len, names)])[:-1].tolist()
    logprobs = {"tokens": names, "token_logprobs": logs, "text_offset": offsets}
    return {"choices": [{"text": text, "logprobs": logprobs}]}


def spoken(models, framed=False):
    """Return a server of causal models of ours, by their names."""
    import torch

    def answer(path, asked):
        assert path == "/v1/completions"
        assert asked["echo"]
        assert asked["logprobs"]
        if asked["model"] not in models:
            return 404, {"error": {"message": f"no model {asked['model']}\nmore"}}, {}
        model = models[asked["model"]]
        text = asked["prompt"]
        encoded = model.tokenizer.encoded([text])[0]
        ids = torch.as_tensor(encoded.ids)
        with torch.inference_mode():
            logs = model.module(input_ids=ids[None]).logits[0].log_softmax(-1)
        names = [text[a:b] for a, b in encoded.spans]
        each = [float(logs[i - 1, ids[i]]) for i in range(1, len(ids))]
        return 200, completion(names, [None, *each], text), {}

    return answer


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(endpoints, "_WAIT", 0.001)


@pytest.mark.torch
def test_a_server_gives_what_the_model_gives(gpt, texts):
    texts = [text for text in texts if " " in text]
    here = token_log_probabilities(gpt, texts)
    with serving(spoken({"tiny": gpt})) as url:
        there = token_log_probabilities(EndpointModel(url, "tiny"), texts)
    assert there.log_probability == pytest.approx(here.log_probability, abs=2e-5)
    for name in ("text", "unit", "position", "lengths"):
        assert getattr(there, name).tolist() == getattr(here, name).tolist()


@pytest.mark.slow
@pytest.mark.torch
def test_the_audit_from_the_command_is_that_of_the_models(gpt, folders, tmp_path):
    from privacygauge.language.model import load_causal

    other = load_causal(folders("gpt2", seed=1, tokenizer=gpt_tokenizer()))
    sides = {"members": made_texts(8, 3, 3), "nonmembers": made_texts(8, 4, 3)}
    files = {}
    for name, some in sides.items():
        files[name] = str(tmp_path / f"{name}.txt")
        (tmp_path / f"{name}.txt").write_text("\n".join(some))
    with serving(spoken({"tuned": gpt, "base": other})) as url:
        asked = LanguageRequest(
            target=url, model_name="tuned", reference=url, reference_name="base", **files
        )
        asked = LanguageRequest.kept(asked.settled())
        assert asked.target == url
        asked.check(1)
        found = play(asked, Work(tmp_path / "out" / "run"))
        alone = audit_causal(EndpointModel(url, "tuned"), None, *sides.values())
        with pytest.raises(InputError, match="target and reference are the same model"):
            play(
                LanguageRequest(target=url, model_name="tuned", reference=url, **files), Work(None)
            )
    names = {x.name for x in found.evaluations}
    assert names == {"loss", "likelihood-ratio", "zlib", "min-k", "wbc"}
    expected = audit_causal(gpt, None, *sides.values())
    assert alone.energies.target == pytest.approx(expected.energies.target, abs=1e-4)
    told = found.origin.provenance
    assert told["target"] == f"tuned at {url}, whose weights cannot be hashed"
    assert "sha256" not in told["reference"]
    assert told["computed in"] == "a server"
    assert not any("tokenizers differ" in note for note in found.origin.warnings)


def gpt_tokenizer():
    from tests.language.tiny_models import byte_pairs

    return byte_pairs(framed=False)


def test_tokens_of_a_frame_and_of_other_servers():
    said = {
        "the knee": (["<s>", "the", " kn", "ee"], [None, -1.0, -2.0, -3.0]),
        "a café": (["<s>", "a", " caf", "\ufffd", "\ufffd"], [None, -1.0, -2.0, -3.0, -0.5]),
        # vLLM shows the pieces of a letter as nothing, and the whole of it in the end.
        "é café": (["<s>", "", "é", " caf", "", "é"], [None, -1.0, -2.0, -3.0, -0.5, -4.0]),
    }
    words = {"the knee": (["the", " knee"], [None, -4.0]), "a café": (["a", " café"], [None, -1.0])}

    def answer(path, asked):
        names, logs = (said if asked["model"] == "a" else words)[asked["prompt"]]
        body = completion(names, logs, asked["prompt"])
        # Some servers count.
        return 200, body | {"usage": {"prompt_tokens": len(names)}}, {}

    with serving(answer) as url:
        pieces = token_log_probabilities(EndpointModel(url, "a"), ["é café"])
        assert pieces.log_probability.tolist() == [-1, -2, -3, -0.5, -4]
        answer = EndpointModel(url, "a").answer("é café").encoded
        assert answer.spans[1:].tolist() == [[0, 1], [0, 1], [1, 5], [5, 6], [5, 6]]
        alone = token_log_probabilities(EndpointModel(url, "a"), ["the knee", "a café"])
        assert alone.log_probability.tolist() == [-1, -2, -3, -1, -2, -3, -0.5]
        assert alone.lengths.tolist() == [3, 4]
        pair = pair_log_probabilities(
            EndpointModel(url, "a"), EndpointModel(url, "b"), ["the knee", "a café", "the knee"]
        )
    # The second knows nothing of a first word, so it is left out of both.
    assert pair.target.units == "word"
    assert pair.target.mean().tolist() == [5.0, 5.5, 5.0]
    assert pair.reference.mean().tolist() == [4.0, 1.0, 4.0]
    assert zlib_signal(alone, ["the knee", "a café"]).shape == min_k_signal(alone).shape == (2,)
    assert (ZLIB, MIN_K) == ("zlib", "min-k")


def test_a_busy_server_is_asked_again_and_a_redirection_is_not_followed(quick):
    asked = []

    def busy(path, body):
        asked.append(path)
        if len(asked) < 3:
            return 503, {"error": "busy"}, {}
        return 200, completion(["a", " b"], [None, -1.0], "a b"), {}

    with serving(busy) as url:
        found = EndpointModel(url, "x").answer("a b")
        assert found.log_probability[1:].tolist() == [-1.0]
        assert len(asked) == 3
        asked.clear()
        with pytest.raises(InputError, match=r"refuses with status 503 \(busy\): check"):
            EndpointModel(url, "x", tries=2).answer("a b")
        assert len(asked) == 2
        asked.clear()
        away = lambda path, body: (307, b"", {"Location": f"{url}/completions"})  # noqa: E731
        with serving(away) as other, pytest.raises(InputError, match="refuses with status 307"):
            EndpointModel(other, "x").answer("a b")
        assert asked == []
    with pytest.raises(InputError, match="does not answer"):
        EndpointModel(url, "x").answer("a b")


def test_a_silent_server_is_given_up(quick):
    free = threading.Event()

    def silent(path, body):
        free.wait(5)
        return 200, b"{}", {}

    with serving(silent) as url:
        with pytest.raises(InputError, match=r"does not answer \(timed out\)"):
            EndpointModel(url, "x", timeout=0.05, tries=2).answer("a b")
        free.set()


@pytest.mark.parametrize(
    "body",
    [
        b"no json",
        [],
        {},
        {"choices": []},
        {"choices": [{"text": "a b", "logprobs": None}]},
        {"choices": 3},
        completion([], [], "a b", extra=False),
        completion(["x"], [None], "a b", extra=False),
        completion(["a", " b"], [None, None], "a b"),
        completion(["a", " b"], [-1.0], "a b"),
        {"choices": [{"logprobs": 3}]},
        completion(["a", " b"], [None, -1e999], "a b"),
        completion(["a", " b"], [None, 10**400], "a b"),
        completion(["a", " b"], [None, 0.5], "a b"),
        completion(["a", " b"], [-np.inf, -1.0], "a b"),
        completion(["a", *["bytes:\\xff"] * 9, " b"], [None, *[-1.0] * 10], "a b"),
        completion(["a", " c"], [None, -1.0], "a b", extra=False),
        completion(["a", "", ""], [None, -1.0, -1.0], "a b", extra=False),
        # The prompt was cut off within a letter.
        completion(["a", "\ufffd", "x"], [None, -1.0, -1.0], "a b", extra=False),
    ],
)
def test_other_answers_are_one_line(body):
    with (
        serving(lambda path, asked: (200, body, {})) as url,
        pytest.raises(InputError, match="gives no log-probabilities of a prompt's tokens"),
    ):
        EndpointModel(url, "x").answer("a b")


def test_what_a_server_refuses_is_told_in_its_words():
    refusal = {"error": {"message": "the prompt is too long\nsecond line"}}
    with (
        serving(lambda path, asked: (400, refusal, {})) as url,
        pytest.raises(InputError, match=r"status 400 \(the prompt is too long\): check"),
    ):
        EndpointModel(url, "x").answer("a b")


def by_letters(path, asked):
    """Return a completion of letters, whose values depend on the text and on the model."""
    text = asked["prompt"]
    logs = [-(1 + (ord(a) * 31 + len(text) + len(asked["model"])) % 97) / 7 for a in text]
    return 200, completion(list(text), [None, *logs[1:]], text), {}


def counting(prompts, answer=by_letters):
    """Return a server that notes what it is asked."""

    def answered(path, asked):
        prompts.append((asked["model"], asked["prompt"]))
        return answer(path, asked)

    return answered


def equal(first, second):
    names = ("log_probability", "text", "unit", "position", "lengths")
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)


@pytest.mark.slow
def test_what_was_kept_is_what_the_server_said(rng, tmp_path):
    """Any tokens, with a frame or without, letters of several bytes too."""
    letters = [*"ab \u00e9\u4e2d", "\U0001f9b4"]
    for number in range(times(20)):
        texts = ["".join(rng.choice(letters, rng.integers(2, 9))) for _ in range(12)]
        said = {}
        for text in texts:
            cuts = [0, *np.flatnonzero(rng.random(len(text) - 1) < 0.6) + 1, len(text)]
            names = [text[a:b] for a, b in itertools.pairwise(cuts)]
            front = ["<s>"] if number % 2 else []
            logs = [None, *(-rng.exponential(1, len(front) + len(names) - 1))]
            said[text] = completion([*front, *names], logs, text, extra=False)
        if not number % 2:  # one token alone has no probability
            texts = [x for x in texts if len(said[x]["choices"][0]["logprobs"]["tokens"]) > 1]
        with serving(lambda path, asked: (200, said[asked["prompt"]], {})) as url:  # noqa: B023
            model = EndpointModel(url, "x")
            kept = token_log_probabilities(model, texts, run=tmp_path)
            for text in texts:
                own = model.answer(text)
                inside = ~own.encoded.framing & ~np.isnan(own.log_probability)
                row = texts.index(text)
                assert kept.log_probability[kept.rows(row)].tolist() == (
                    own.log_probability[inside].tolist()
                )
        assert equal(token_log_probabilities(model, texts, run=tmp_path), kept)


def test_nothing_that_is_kept_is_asked_again(tmp_path):
    texts = made_texts(11, 3, 3)
    prompts = []
    with serving(counting(prompts)) as url:
        model = EndpointModel(url, "one")
        first = token_log_probabilities(model, [*texts, texts[0]], run=tmp_path)
        assert sorted(prompts) == sorted(("one", text) for text in texts)
        again = token_log_probabilities(model, [*texts[::-1], texts[0]], run=tmp_path)
        assert len(prompts) == len(texts)
        assert np.array_equal(again.mean()[:-1], first.mean()[:-1][::-1])
        token_log_probabilities(EndpointModel(url, "longer"), texts, run=tmp_path)
        assert len(prompts) == 2 * len(texts)
        token_log_probabilities(model, texts[:5], run=tmp_path)
        assert len(prompts) == 2 * len(texts) + 5
        told = []
        pair_log_probabilities(
            model, EndpointModel(url, "longer"), texts, run=tmp_path,
            progress=lambda *x: told.append(x),
        )  # fmt: skip
        assert len(prompts) == 2 * len(texts) + 5
        assert told[-1] == (2 * len(texts), 2 * len(texts))
    # Nobody is there any more.
    assert equal(token_log_probabilities(model, [*texts, texts[0]], run=tmp_path), first)
    # The same name elsewhere may be another model.
    with serving(counting(prompts)) as other:
        assert other != url
        token_log_probabilities(EndpointModel(other, "one"), texts[:2], run=tmp_path)
    assert prompts[-2:] == [("one", text) for text in sorted(texts[:2], key=_key)]
    settings = [read_run(place).plan.settings for place in tmp_path.iterdir()]
    assert {(x["address"], x["model"]) for x in settings} == {
        (url, "one"), (url, "longer"), (other, "one"),
    }  # fmt: skip


def _key(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_damage_is_asked_for_again(tmp_path):
    texts = made_texts(20, 3, 3)
    prompts = []
    with serving(counting(prompts)) as url:
        model = EndpointModel(url, "one")
        first = token_log_probabilities(model, texts, run=tmp_path)
        before = contents(tmp_path)
        chunk = next(path for path in before if "answer/c/1" in str(path))
        (tmp_path / chunk).write_bytes(b"nothing")
        assert equal(token_log_probabilities(model, texts, run=tmp_path), first)
        assert contents(tmp_path) == before
    assert len(prompts) == 20 + 8  # the texts of one task


@pytest.mark.slow
def test_a_server_that_fails_midway_is_asked_for_the_rest_alone(tmp_path, quick):
    texts = made_texts(30, 3, 3)
    prompts = []

    def failing(path, asked):
        return (500, {}, {}) if len(prompts) > 20 else by_letters(path, asked)

    ready = []
    with serving(lambda *x: counting(prompts, ready[-1])(*x)) as url:
        model = EndpointModel(url, "one", tries=1)
        ready.append(failing)
        with pytest.raises(InputError, match="refuses with status 500"):
            token_log_probabilities(model, texts, run=tmp_path / "stopped")
        assert len(prompts) == 21
        ready.append(by_letters)
        found = token_log_probabilities(model, texts, run=tmp_path / "stopped")
        assert len(prompts) == 21 + 30 - 16
        assert equal(found, token_log_probabilities(model, texts, run=tmp_path / "whole"))
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")


KEY = "sk-4fD7.secret_word"


def test_the_key_is_sent_and_neither_kept_nor_shown(tmp_path, monkeypatch, quick):
    texts = made_texts(8, 3, 3)
    heard = []
    sides = {"members": texts[:4], "nonmembers": texts[4:]}
    for name, some in sides.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(some))
    files = {name: str(tmp_path / f"{name}.txt") for name in sides}
    monkeypatch.setenv(API_KEY, f" {KEY}\n")
    with serving(by_letters, heard) as url:
        asked = LanguageRequest(target=url, model_name="one", **files)
        found = play(asked, Work(tmp_path / "out" / "run"))
        assert {x["Authorization"] for x in heard} == {f"Bearer {KEY}"}
        kept = b"".join(contents(tmp_path / "out").values()) + repr(asked.settled()).encode()
        shown = found.summary() + str(found.origin) + repr(EndpointModel(url, "one"))
    assert KEY not in shown
    assert len(heard) == len(texts)
    assert KEY.encode() not in kept
    for ahead, told in (("", r"wrong key \*\*\*: ask"), ("x" * 190, "x{190} wrong key")):
        refusal = {"error": {"message": f"{ahead} wrong key {KEY}: ask for another"}}
        with (
            serving(lambda *_, said=refusal: (401, said, {})) as url,
            pytest.raises(InputError, match=told) as error,
        ):
            EndpointModel(url, "one").answer("a b")
        assert not any(KEY[:n] in str(error.value) for n in range(4, len(KEY)))
    monkeypatch.delenv(API_KEY)
    heard.clear()
    with serving(by_letters, heard) as url:
        EndpointModel(url, "one").answer("a b")
    assert "Authorization" not in heard[0]


@pytest.mark.parametrize("key", ["two words", "line\nX-More: 1", "caf\u00e9", "\x07"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(key, monkeypatch):
    monkeypatch.setenv(API_KEY, key)
    with pytest.raises(InputError, match=f"{API_KEY} must be one word of printable") as error:
        EndpointModel("http://127.0.0.1:1/v1", "one").answer("a b")
    assert key not in str(error.value)


@pytest.mark.parametrize("host", ["192.0.2.1", "example.org", "[2001:db8::1]", "127.example.org"])
def test_a_key_is_not_sent_where_others_read_along(host, monkeypatch):
    def sent(*_):
        raise AssertionError

    monkeypatch.setattr(endpoints.HTTPConnection, "connect", sent)
    monkeypatch.setenv(API_KEY, KEY)
    with pytest.raises(InputError, match=f"the key in {API_KEY} is sent over https, or to this"):
        EndpointModel(f"http://{host}/v1", "one").answer("a b")


@pytest.mark.parametrize("url", ["http://a:b@c/v1", "http://h/v1?key=sesame", "http://h/v1#sesame"])
def test_an_address_with_a_secret_is_not_shown(url):
    with pytest.raises(InputError, match=f"a key in the environment variable {API_KEY}") as error:
        EndpointModel(url, "x")
    assert url[8:] not in str(error.value)
    assert "sesame" not in str(error.value)


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:8000", "file:///etc/passwd", "http://", "http://a:b@c/v1", "http://h:x/v1",
     "http://h/v1?key=1"],
)  # fmt: skip
def test_addresses(url):
    with pytest.raises(InputError, match="the address of a server must be like http"):
        EndpointModel(url, "x")


def test_what_goes_with_a_server(tmp_path):
    given = {"members": "a.txt", "nonmembers": "b.txt"}
    url = "http://127.0.0.1:1/v1"
    for change, told in (
        ({"target": url}, "--target URL needs --model-name"),
        ({"target": url, "model_name": "x", "reference": "dir"}, "--reference must be the URL"),
        ({"target": "dir", "model_name": "x"}, "--model-name goes with --target URL"),
    ):
        with pytest.raises(InputError, match=told):
            _ = LanguageRequest(**change, **given).models
