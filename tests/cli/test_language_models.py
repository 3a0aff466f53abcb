"""What `privacygauge language` does with models: it resumes after a stop and keeps its energies."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from privacygauge.cli import main
from privacygauge.cli.output import print_line as tell
from privacygauge.errors import InputError
from privacygauge.kinds.session import Work
from privacygauge.language.audit import preparation
from privacygauge.language.audit.audit import audit_language
from privacygauge.language.audit.command import LanguageRequest, play
from privacygauge.language.model import MaskedModel, load_causal, load_masked
from privacygauge.runs.results import LIST
from privacygauge.runs.store import read_run
from tests.cli.test_main import COMMAND, one_line, run_inside
from tests.language.test_endpoints import serving, spoken
from tests.language.tiny_models import byte_pairs, made_texts, module, read_once, saved, word_pieces

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.torch


@pytest.fixture(scope="module", autouse=True)
def _models_are_read_once():
    with read_once():
        yield


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Return a request with two models of random weights, and three files."""
    place = tmp_path_factory.mktemp("asked")
    texts = made_texts(30, 2)
    files = {}
    for name, some in (
        ("members", texts[:10]),
        ("nonmembers", texts[10:20]),
        ("population", texts[20:]),
    ):
        path = place / f"{name}.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in some))
        files[name] = str(path)
    models = {"target": str(saved(place / "a")), "reference": str(saved(place / "b", seed=1))}
    return LanguageRequest(**models, **files, masks=2)


@pytest.fixture(scope="module")
def done(asked, tmp_path_factory):
    """Return the audit that was asked for, and the folder of its run."""
    run = tmp_path_factory.mktemp("done") / "run"
    return play(asked, Work(run)), run


@pytest.mark.slow
def test_a_stopped_audit_goes_on(asked, done, tmp_path, monkeypatch, capsys):
    run = tmp_path / "out" / "run"
    whole = done[0]
    ask = MaskedModel.ask
    n_asked = []

    def counted(model, batch):
        n_asked.append(model.source.weights)
        if len(n_asked) == 3:
            raise KeyboardInterrupt
        return ask(model, batch)

    monkeypatch.setattr(MaskedModel, "ask", counted)
    with pytest.raises(KeyboardInterrupt):
        play(asked, Work(run, tell=tell))
    told = capsys.readouterr().err
    assert told == f"\nprivacygauge: resume with: privacygauge resume {run.parent}\n"
    kept = read_run(run)
    assert (kept.n_done(), kept.invocation["command"]) == (0, "language")
    again = LanguageRequest.kept(kept.invocation["options"])
    assert (again.masks, again.kind, again.rates) == (2, "masked", (0.1, 0.01))
    found = play(again, Work(run))
    # Six sides and models in one pass each, and the one that was stopped once more.
    assert len(n_asked) == 7
    assert read_run(run).missing() == []
    assert found.energies.target.tolist() == whole.energies.target.tolist()
    play(again, Work(run))
    assert len(n_asked) == 7


@pytest.mark.slow
def test_the_energies_are_kept_beside_the_run(done):
    found, run = done
    again = audit_language(run.parent / "energies.parquet")
    assert [x.auc for x in again.evaluations] == [x.auc for x in found.evaluations]
    assert found.origin.provenance["members"].startswith("members.jsonl sha256:")
    assert found.origin.command == "language"


@pytest.mark.slow
def test_without_a_folder_nothing_is_kept(asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    play(asked, Work())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_other_settings_in_the_same_run(asked, done):
    options = dict(asked.settled())
    wider = LanguageRequest.kept({**options, "fpr": [0.2], "level": 0.9})
    found = play(wider, Work(done[1]))
    assert {x.asked for x in found.samples.thresholds} == {0.2, None}
    other = LanguageRequest.kept({**options, "masks": 3})
    with pytest.raises(InputError, match="holds another run: masks is 2 there and 3 here"):
        play(other, Work(done[1]))


@pytest.mark.slow
def test_long_texts_are_read_in_windows_or_cut(asked, tmp_path):
    shown = {}
    for name, stride in (("windows", 3), ("cut", 0)):
        found = play(replace(asked, context=10, stride=stride), Work(tmp_path / name / "run"))
        (shown[name],) = (note for note in found.origin.warnings if note.startswith("Of the mem"))
        with pytest.raises(InputError, match=r"holds another run: stride is . there and 5 here"):
            play(replace(asked, context=10, stride=5), Work(tmp_path / name / "run"))
    assert re.search(r"read in \d+ windows, 100.0% of the tokens", shown["windows"])
    share = re.search(r"their beginning is read, ([\d.]+)% of the tokens", shown["cut"])
    assert 30 < float(share[1]) < 90


@pytest.mark.slow
def test_causal_models_are_told_by_their_config(asked, tmp_path):
    models = {"target": str(saved(tmp_path / "g", "gpt2")), "reference": None}
    unasked = {"kind": None, "masks": None, "pattern": None}
    request = LanguageRequest.kept({**asked.settled(), **models, **unasked})
    found = play(request, Work())
    assert request.settled()["kind"] == "causal"
    assert {x.name for x in found.evaluations} == {"loss", "zlib", "min-k", "min-k++"}
    with pytest.raises(InputError, match="--masks goes with masked models: a causal one is asked"):
        replace(request, masks=2).settled()


def checked_and_played(options, run):
    """Play what a run keeps, checked as the command checks it."""
    asked = LanguageRequest.kept(options)
    asked.check(1)
    return play(asked, Work(run))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kind": "other"}, "--kind must be one of masked, causal, got 'other'"),
        ({"precision": "int2"}, "--precision must be one of float32, bfloat16, float16, own, "),
        ({"pattern": "stripes"}, "pattern must be one of balanced, random, single, exhaustive"),
        ({"masks": 0}, "n_masks must be an integer of at least 1, got 0"),
        ({"members": "nowhere.jsonl"}, "nowhere.jsonl does not exist"),
        ({"text": "note"}, "there is no column 'note' of texts; it has text"),
        ({"target": "nowhere"}, "must be a folder of this machine"),
        ({"kind": "causal"}, "--target must be a causal language model, got a masked one in"),
    ],
)
def test_one_line_for_what_is_wrong(asked, tmp_path, change, told):
    with pytest.raises(InputError) as error:
        checked_and_played({**asked.settled(), **change}, tmp_path / "run")
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["masked", "causal"])
def test_a_reference_is_trained_from_scratch_and_further(asked, tmp_path, kind):
    out = str(tmp_path / "further")
    start = str(tmp_path / "reference")
    size = {"kind": kind, "layers": 1, "hidden": 8, "vocabulary": 300, "context": 64}
    request = preparation.ReferenceRequest(texts=asked.population, out=start, epochs=2, **size)
    found = preparation.play_reference(request, Work())
    assert found.startswith(f"{start}: 10 texts of ")
    assert "2 epochs" in found
    request = preparation.ReferenceRequest(texts=asked.members, out=out, further=start, rate=1e-3)
    assert "3 epochs" in preparation.play_reference(request, Work())
    load = load_masked if kind == "masked" else load_causal
    models = [load(folder) for folder in (start, out)]
    assert models[0].tokenizer.sha256 == models[1].tokenizer.sha256
    assert models[0].source.weights != models[1].source.weights
    assert {model.limit for model in models} == {64}


# -- the same as commands


def command_of(asked, **change):
    """Return the arguments that ask for the same."""
    names = ("target", "reference", "members", "nonmembers", "population", "masks")
    options = {**{name: getattr(asked, name) for name in names}, **change}
    given = ((f"--{name}", value) for name, value in options.items() if value is not None)
    return ("language", *(part for pair in given for part in pair))


@pytest.fixture(scope="module")
def reported(asked, tmp_path_factory):
    """Return the folder that the command wrote, and what it printed."""
    out = tmp_path_factory.mktemp("reported") / "out"
    with pytest.MonkeyPatch.context() as patch:
        printed = []
        patch.setattr("builtins.print", lambda *parts, **_: printed.append(parts))
        patch.setattr(
            sys, "argv", ["privacygauge", *map(str, command_of(asked)), "--out", str(out)]
        )
        assert main.run() == 0
    assert (f"Report: {out / 'report.html'}",) in printed
    return out


FILES = ["energies.parquet", "records.parquet", "report.html", "report.json", "roc.csv", "run"]


@pytest.mark.slow
def test_the_command_writes_a_report_without_texts(asked, reported):
    assert sorted(path.name for path in reported.iterdir()) == [LIST, *FILES]
    texts = [json.loads(line)["text"] for line in Path(asked.members).read_text().splitlines()]
    for name in FILES[:-1]:
        content = (reported / name).read_bytes()
        assert not [text for text in texts if len(text) > 20 and text.encode() in content]


@pytest.mark.slow
def test_texts_are_shown_where_asked_for(asked, reported, capsys, tmp_path):
    given = (*command_of(asked, answers=reported / "run" / "answers"), "--show", "text")
    assert run_inside((*given, "--quiet", "--out", tmp_path), capsys).returncode == 0
    texts = [json.loads(line)["text"] for line in Path(asked.members).read_text().splitlines()]
    assert [text for text in texts if text in (tmp_path / "report.html").read_text()]


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["report", pytest.param("resume", marks=pytest.mark.slow)])
def test_a_finished_run_is_written_again_and_asks_nobody(
    reported, capsys, tmp_path, monkeypatch, verb
):
    monkeypatch.setattr(MaskedModel, "ask", None)
    given = (verb, reported, "--quiet", "--out")
    assert run_inside((*given, tmp_path / "again"), capsys).returncode == 0
    limited = (*given, tmp_path / "limited", "--fail-above", "patient-auc=1")
    done = run_inside(limited, capsys)
    assert (done.returncode, done.stdout) == (3, "")
    assert "privacygauge: patient-auc was not computed" in done.stderr.splitlines()[-1]
    (limit,) = json.loads((tmp_path / "limited" / "report.json").read_text())["limits"]
    assert (limit["metric"], limit["found"], limit["kept"]) == ("patient-auc", None, False)
    for name in ("report.json", "report.html", "records.parquet"):
        assert (tmp_path / "again" / name).read_bytes() == (reported / name).read_bytes()


@pytest.mark.slow
def test_its_energies_are_audited_again(reported, capsys):
    given = ("language", "--scores", reported / "energies.parquet", "--json", "-")
    again = json.loads(run_inside(given, capsys).stdout)
    before = json.loads((reported / "report.json").read_text())
    assert [x["auc"] for x in again["attacks"]] == [x["auc"] for x in before["attacks"]]


@pytest.mark.slow
def test_a_second_target_asks_the_reference_nothing(asked, tmp_path, monkeypatch, capsys):
    n_asked = {}
    ask = MaskedModel.ask

    def counted(model, batch):
        n_asked[model.source.path] = n_asked.get(model.source.path, 0) + 1
        return ask(model, batch)

    monkeypatch.setattr(MaskedModel, "ask", counted)
    second = saved(tmp_path / "second", seed=2)
    for target in (asked.target, second):
        given = command_of(asked, target=target, answers=tmp_path / "answers")
        assert run_inside((*given, "--json", "-"), capsys).returncode == 0
    # Three sides in one pass each, of the reference once for both targets.
    places = (asked.target, asked.reference, second)
    assert n_asked == {str(Path(place).resolve()): 3 for place in places}


@pytest.mark.slow
def test_an_interruption_tells_how_to_go_on(asked, tmp_path, monkeypatch, capsys):
    def stopped(model, batch):
        raise KeyboardInterrupt

    monkeypatch.setattr(MaskedModel, "ask", stopped)
    out = tmp_path / "out"
    answers = tmp_path / "answers"
    for where, told in (
        (("--out", out), f"resume with: privacygauge resume {out}"),
        (("--answers", answers, "--json", "-"), "resume with the same command"),
    ):
        with pytest.raises(KeyboardInterrupt):
            run_inside((*command_of(asked), *where), capsys)
        assert capsys.readouterr().err == f"\nprivacygauge: {told}\n"
    one_line(
        run_inside(("report", out), capsys),
        "is not finished, 1 task(s) are missing: privacygauge resume",
    )


@pytest.mark.slow
def test_what_is_wrong_leaves_no_run_behind(asked, tmp_path, capsys):
    """The next call mends it in the same folder."""
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": "pain"}\n{"text": " "}\n')
    out = tmp_path / "out"
    one_line(run_inside((*command_of(asked, members=bad), "--out", out), capsys), "an empty one in")
    given = (*command_of(asked, pattern="exhaustive"), "--out", out)
    one_line(run_inside(given, capsys), "use the pattern balanced")
    given = (*command_of(asked, answers=bad), "--out", out)
    one_line(run_inside(given, capsys), "is a file, not a directory: choose another folder")
    assert not (out / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "give either --scores, energies that were computed already, or --target, a model"),
        (("--scores", "a.csv", "--target", "b"), "give either --scores, energies that were"),
        (("--members", "a.jsonl"), "give either --scores, energies that were computed already"),
        (("--scores", "a.csv", "--masks", "3"), "--masks goes with --target, a model; --scores"),
        (("--scores", "a.csv", "--jobs", "3"), "--jobs goes with --target, a model; --scores"),
        (("--target", "b", "--nonmembers", "a.jsonl"), "--target needs --members, a file of texts"),
        (("--target", "b", "--members", "a.jsonl"), "--target needs --nonmembers, a file of texts"),
        (("--target", "b", "train-reference", "a", "--out", "c"), "takes no options of an audit"),
        (("train-reference", "nowhere.jsonl", "--out", "c"), "nowhere.jsonl does not exist"),
        (("train-reference", "a.jsonl"), "--out"),
        (
            ("train-reference", "a", "--out", "c", "--further", "d", "--layers", "2"),
            "--layers goes with a new model, not with --further",
        ),
    ],
)
def test_two_forms_and_no_mixture(arguments, told, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one_line(run_inside(("language", *arguments), capsys), told)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def broken(asked, tmp_path_factory):
    """Return folders whose models cannot be audited, by what is wrong with them."""
    place = tmp_path_factory.mktemp("broken")
    (place / "empty").mkdir()
    (place / "unweighted").mkdir()
    (place / "unweighted" / "config.json").write_text("{}")
    saved(place / "causal", "gpt2", tokenizer=byte_pairs(framed=False))
    headless(place / "headless")
    return place


def headless(folder):
    """Save what lies below a masked model's head, and say that the head is there."""
    module("bert").base_model.save_pretrained(folder)
    word_pieces().save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(
        json.dumps({**config, "architectures": ["BertForMaskedLM"]})
    )


@pytest.mark.parametrize(
    ("role", "name", "told"),
    [
        (
            "target",
            "bert-base-uncased",
            "must be a folder of this machine, got 'bert-base-uncased'",
        ),
        ("reference", "org/model", "got 'org/model': download it first and name its folder"),
        ("target", "empty", "must hold a model, but has no config.json"),
        ("target", "unweighted", "must hold weights, but has no *.safetensors"),
        ("target", "headless", "must be complete, got 6 missing or of another shape"),
        ("target", "causal", "--reference must be a causal language model, got a masked one"),
        ("reference", "causal", "--reference must be a masked language model, got a causal one"),
    ],
)
def test_a_folder_that_holds_no_such_model(asked, broken, role, name, told, capsys):
    place = broken / name
    given = command_of(asked, **{role: place if place.is_dir() else name})
    if (role, name) == ("target", "causal"):
        given = command_of(asked, target=place, masks=None)
    one_line(run_inside((*given, "--json", "-"), capsys), told)


@pytest.mark.slow
def test_what_is_on_both_sides_is_left_out_and_counted(asked, tmp_path, capsys):
    shared = [json.loads(line)["text"] for line in Path(asked.members).read_text().splitlines()[:3]]
    path = tmp_path / "more.jsonl"
    lines = [json.dumps({"text": text.upper()}) + "\n" for text in shared]
    path.write_text(Path(asked.nonmembers).read_text() + "".join(lines))
    done = run_inside((*command_of(asked, nonmembers=path), "--json", "-"), capsys)
    found = json.loads(done.stdout)
    assert (found["game"]["n_in"], found["game"]["n_out"]) == (7, 10)
    assert any(text.startswith("3 member(s) and 3 non-member(s)") for text in found["warnings"])


def test_a_reference_is_trained_by_a_command(asked, tmp_path, capsys):
    size = ("--layers", 1, "--hidden", 8, "--vocabulary", 90, "--epochs", 1)
    out = tmp_path / "made"
    given = ("language", "train-reference", asked.population, "--out", out, *size)
    done = run_inside(given, capsys)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{out}: 10 texts of ")
    again = run_inside((*given, "--quiet"), capsys)
    assert (again.returncode, again.stdout) == (0, "")


@pytest.mark.slow
def test_a_training_that_was_killed_goes_on(asked, tmp_path, capsys):
    """In another process; of both kinds and of further trainings, in tests/language."""
    given = ["language", "train-reference", asked.population, "--kind", "causal", "--layers", "1"]
    given += ["--hidden", "8", "--vocabulary", "300", "--epochs", "60", "--quiet", "--out"]
    with subprocess.Popen([*COMMAND, *given, str(tmp_path / "killed")]) as started:
        wait_for(tmp_path, "killed/unfinished/epoch.safetensors", 1, started)
        os.kill(started.pid, signal.SIGKILL)
    assert not (tmp_path / "killed" / "model.safetensors").exists()
    for name in ("killed", "whole"):
        assert run_inside([*given, tmp_path / name], capsys).returncode == 0
    for name in ("model.safetensors", "tokenizer.json", "training.json"):
        a, b = ((tmp_path / run / name).read_bytes() for run in ("killed", "whole"))
        assert a == b


SLOWLY = """
import time
from privacygauge.__main__ import main
from privacygauge.language.model import MaskedModel
ask = MaskedModel.ask
def slow(*given):
    time.sleep(0.5)
    return ask(*given)
MaskedModel.ask = slow
main()
"""


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on(asked, tmp_path, capsys):
    given = [*command_of(asked), "--quiet", "--out"]
    killed = tmp_path / "killed"
    whole = tmp_path / "whole"
    with subprocess.Popen([sys.executable, "-c", SLOWLY, *map(str, given), killed]) as started:
        wait_for(killed, "run/answers/*/run.json", 2, started)
        os.kill(started.pid, signal.SIGKILL)
    assert started.returncode == -signal.SIGKILL
    assert not (killed / "report.json").exists()
    assert run_inside([*given, whole], capsys).returncode == 0
    assert run_inside(["resume", killed, "--jobs", "1", "--quiet"], capsys).returncode == 0
    for name in ("report.json", "report.html", "energies.parquet"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()


def wait_for(folder, pattern, n, started):
    """Wait until some of the files that a process writes are on the disk."""
    end = time.monotonic() + 300
    while len(list(folder.glob(pattern))) < n:
        assert started.poll() is None
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.slow
def test_the_commands_of_the_page_run(tmp_path, monkeypatch, capsys):
    """They need models, which the page does not make, so they are not among the page's own."""
    monkeypatch.chdir(tmp_path)
    texts = made_texts(44, 3)
    for name, some in (
        ("members", texts[:10]),
        ("nonmembers", texts[10:20]),
        ("population", texts[20:30]),
        ("others", texts[30:]),
        ("gone", texts[:10]),
        ("fresh", texts[10:20]),
    ):
        lines = (
            json.dumps({"text": text, "patient": f"{name} {i // 2}"}) for i, text in enumerate(some)
        )
        Path(f"{name}.jsonl").write_text("".join(line + "\n" for line in lines))
    names = ("target", "other", "reference", "start", "model", "unlearned", "retrained")
    for seed, name in enumerate(names):
        saved(Path(name), seed=seed)
    rng = np.random.default_rng(0)
    for name in ("before", "after", "retrained"):
        chance = rng.random(60).round(3)
        rows = [f"{p},{1 - p:.3f},{i % 2},{i // 30}" for i, p in enumerate(chance)]
        Path(f"{name}.csv").write_text("\n".join(["p_0,p_1,label,member", *rows]))
    names = ("language-models", "causal-models", "energies", "extraction")
    docs = Path(__file__).parents[2] / "docs"
    page = "\n".join((docs / f"{name}.md").read_text(encoding="utf-8") for name in names)
    blocks = re.findall(r"^```bash\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    # Dealing texts, extraction and canaries are tested beside their commands.
    lines = [line for line in lines if not re.search("dealt|extract|canaries", line)]
    assert len(lines) == 10
    adapter_in(Path("base"), Path("adapter"))
    tuned, base = (load_causal(saved(Path(name), "gpt2", seed, byte_pairs(framed=False)))
                   for seed, name in enumerate(("tuned", "plain")))  # fmt: skip
    with serving(spoken({"tuned": tuned, "base": base})) as url:
        run_lines([line.replace("http://127.0.0.1:8000/v1", url) for line in lines], capsys)


def adapter_in(base, adapter):
    """Make a model, and an adapter of it, in two folders."""
    peft = pytest.importorskip("peft")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        made = peft.get_peft_model(
            load_masked(saved(base)).module,
            peft.LoraConfig(r=2, target_modules=["query"], init_lora_weights=False),
        )
    made.save_pretrained(adapter, save_embedding_layers=False)


def run_lines(lines, capsys):
    for line in lines:
        if "train-reference" in line:
            # What is to be trained must not be there, and full size takes minutes.
            size = "" if "--further" in line else "--layers 1 --hidden 8"
            line = f"{line}-made --epochs 1 {size}"
        done = run_inside((*shlex.split(line)[1:], "--quiet"), capsys)
        assert (done.returncode, done.stderr) == (0, ""), line
