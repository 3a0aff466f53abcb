"""Extraction by one pass against writing step by step, and against counting."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.language import extraction
from privacygauge.language.extracted import CLOSING, common_ends
from privacygauge.language.extraction import (
    Suffixes,
    edit_distance,
    greedy,
    kept_nearness,
    kept_written,
    long_enough,
    longest_stretch,
    nearness,
    suffix_likelihoods,
    suffixes_of,
    tries_needed,
)
from privacygauge.language.model_options import Writing
from privacygauge.language.store import AnswerStore
from privacygauge.language.tokens import Tokens
from tests.language.tiny_models import byte_pairs, made_texts
from tests.runs.sample import contents

TEXTS = made_texts(30, 6, least=5)


def step_by_step(model, before, after, how):
    """Return the log-probability of `after`, a token and a forward pass at a time."""
    import torch

    ids = list(before)
    total = 0.0
    leads = True
    for token in after:
        with torch.inference_mode():
            logits = model.module(input_ids=torch.tensor([ids])).logits[0, -1].double().numpy()
        kept = np.argsort(-logits)[: how.top_k or len(logits)]
        weights = np.exp((logits[kept] - logits[kept].max()) / how.temperature)
        place = np.flatnonzero(kept == token)
        total += math.log(weights[place[0]] / weights.sum()) if len(place) else -math.inf
        leads &= token == kept[0]
        ids.append(token)
    return total, leads


@pytest.mark.torch
@pytest.mark.parametrize(
    "how",
    [
        Writing(prefix=5, suffix=6, top_k=0),
        Writing(prefix=5, suffix=3, temperature=0.7, top_k=300),
        Writing(prefix=9, suffix=1),
    ],
)
def test_one_pass_is_the_product_of_the_steps(gpt, how):
    [suffixes], unit = suffixes_of(TEXTS, [gpt], how)
    found = suffix_likelihoods(gpt, suffixes, how)
    assert unit == "token"
    for row in range(0, len(TEXTS), 3):
        before, after = suffixes.of(row)
        expected, leads = step_by_step(gpt, before.tolist(), after.tolist(), how)
        assert found.log_probability[row] == pytest.approx(expected, abs=1e-3)
        assert found.verbatim[row] == leads
    if how.top_k:
        assert np.isneginf(found.log_probability).any()
        assert np.isfinite(found.log_probability).any()


@pytest.mark.torch
def test_prefix_and_suffix_are_the_text_and_no_more(gpt, folders):
    from privacygauge.language.model import load_causal

    how = Writing(prefix=6, suffix=5)
    framed = load_causal(folders("gpt2", tokenizer=byte_pairs()))
    for model in (gpt, framed):
        [suffixes], _ = suffixes_of(TEXTS, [model], how)
        for row, encoded in enumerate(model.tokenizer.encoded(TEXTS)):
            content = encoded.ids[~encoded.framing]
            n_prefix = min(6, len(content) // 2)
            n_suffix = min(5, len(content) - n_prefix)
            before, after = suffixes.of(row)
            assert after.tolist() == content[n_prefix : n_prefix + n_suffix].tolist()
            assert before.tolist()[-n_prefix:] == content[:n_prefix].tolist()
            # What stands before a text is given too.
            assert len(before) == n_prefix + int(encoded.framing[0])


@pytest.mark.torch
def test_a_text_is_answered_alone_as_among_others(gpt):
    how = Writing(prefix=4, suffix=4)
    [suffixes], _ = suffixes_of([*TEXTS, TEXTS[0]], [gpt], how)
    together = suffix_likelihoods(gpt, suffixes, how).log_probability
    assert together[-1] == together[0]
    for row in (0, 7, 21):
        [alone], _ = suffixes_of([TEXTS[row]], [gpt], how)
        assert suffix_likelihoods(gpt, alone, how).log_probability[0] == pytest.approx(
            together[row], abs=1e-4
        )


@pytest.mark.torch
def test_other_tokenizers_are_asked_word_by_word(gpt, folders):
    from privacygauge.language.model import load_causal
    from tests.language.tiny_models import word_pieces

    other = load_causal(folders("gpt2", 3, tokenizer=word_pieces()))
    how = Writing(prefix=3, suffix=4)
    texts = [text for text in TEXTS if len(text.split()) > 8]
    suffixes, unit = suffixes_of(texts, [gpt, other], how)
    assert unit == "word"
    for row, text in enumerate(texts):
        ours, theirs = (
            model.tokenizer._backend.decode(its.of(row)[1].tolist()).replace(" ", "")
            for model, its in zip((gpt, other), suffixes, strict=True)
        )
        assert ours == theirs == "".join(text.split()[3:7])


@pytest.mark.torch
def test_greedy_writing_is_that_of_transformers(gpt):
    import torch

    rng = np.random.default_rng(0)
    ids = rng.integers(5, 300, (6, 7))
    settings = {"max_new_tokens": 9, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    expected = gpt.module.generate(
        torch.as_tensor(ids), attention_mask=torch.ones(6, 7).long(), **settings
    )
    assert greedy(gpt, ids, 9).tolist() == expected[:, 7:].tolist()


@pytest.mark.slow
@pytest.mark.torch
def test_what_a_model_writes_greedily_is_verbatim(gpt):
    how = Writing(prefix=4, suffix=6)
    [suffixes], _ = suffixes_of(TEXTS, [gpt], how)
    own = []
    for row in range(10):
        before, _ = suffixes.of(row)
        own.append(gpt.tokenizer._backend.decode([*before, *greedy(gpt, before[None], 6)[0]]))
    again, _ = suffixes_of([*own, *TEXTS], [gpt], how)
    found = suffix_likelihoods(gpt, again[0], how)
    distance = nearness(gpt, again[0]).edits
    # Some texts are cut into other tokens when they are read again.
    assert found.verbatim[:10].any()
    assert ((distance == 0) == found.verbatim).all()
    for row in range(len(again[0])):
        before, after = again[0].of(row)
        wrote = greedy(gpt, before[None], len(after))[0]
        assert distance[row] == naive_distance(tuple(wrote.tolist()), tuple(after.tolist()))


@cache
def naive_distance(first, second):
    if not first or not second:
        return len(first) + len(second)
    return min(
        naive_distance(first[1:], second) + 1,
        naive_distance(first, second[1:]) + 1,
        naive_distance(first[1:], second[1:]) + (first[0] != second[0]),
    )


@given(st.integers(0, 5), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_edits_are_counted_as_by_definition(a, b, seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, (4, a))
    second = rng.integers(0, 3, (4, b))
    expected = [
        naive_distance(tuple(one), tuple(other))
        for one, other in zip(first.tolist(), second.tolist(), strict=True)
    ]
    assert edit_distance(first, second).tolist() == expected


def naive_stretch(first, second):
    return max(
        (
            size
            for size in range(1, min(len(first), len(second)) + 1)
            for i in range(len(first) - size + 1)
            for j in range(len(second) - size + 1)
            if first[i : i + size] == second[j : j + size]
        ),
        default=0,
    )


@given(st.integers(0, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_longest_stretch_is_that_of_the_definition(a, b, seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, (4, a))
    second = rng.integers(0, 3, (4, b))
    expected = [
        naive_stretch(one, other)
        for one, other in zip(first.tolist(), second.tolist(), strict=True)
    ]
    assert longest_stretch(first, second).tolist() == expected


@pytest.mark.torch
def test_as_often_as_sampling_says(gpt):
    """Count the suffixes of two tokens among those that were sampled, step by step."""
    import torch

    how = Writing(prefix=4, suffix=2, temperature=1.5, top_k=8)
    [suffixes], _ = suffixes_of(TEXTS, [gpt], how)
    before, _ = suffixes.of(0)
    rng = torch.Generator().manual_seed(0)
    n = 2000
    width = len(before)
    ids = torch.tensor(before).repeat(n, 1)
    with torch.inference_mode():
        for _ in range(2):
            logits = gpt.module(input_ids=ids).logits[:, -1] / how.temperature
            kept = logits.topk(how.top_k)
            drawn = torch.multinomial(kept.values.softmax(1), 1, generator=rng)
            ids = torch.cat([ids, kept.indices.gather(1, drawn)], 1)
    rows, counts = np.unique(ids.numpy(), axis=0, return_counts=True)
    ones = np.ones(len(rows), np.int64)
    found = suffix_likelihoods(gpt, as_suffixes(rows, width, ones), how)
    share = np.exp(found.log_probability)
    assert len(rows) > 8
    # What was never drawn is left: all shares together are at most 1.
    assert share.sum() <= 1 + 1e-6
    error = np.sqrt(share * (1 - share) / n) + 1 / n
    assert (np.abs(counts / n - share) < 4.5 * error).all()


def as_suffixes(rows, width, ones):
    """Return rows of tokens as texts whose suffix begins at `width`."""
    size = rows.shape[1]
    keys = tuple(str(row) for row in rows.tolist())
    units = np.tile(np.arange(size), len(rows))
    starts = np.arange(len(rows) + 1) * size
    tokens = Tokens(keys, rows.ravel(), units, starts, size * ones, 0 * ones, 0 * ones)
    return Suffixes(tokens, width * ones, size * ones, width * ones, (size - width) * ones)


@given(st.floats(-40, -1e-6), st.floats(1e-3, 1 - 1e-3))
def test_tries_are_the_fewest(log_probability, chance):
    [n] = tries_needed([log_probability], chance)
    never = math.log1p(-math.exp(log_probability))
    assert n == math.floor(n) >= 1
    assert -math.expm1(n * never) >= chance * (1 - 1e-9)
    assert n == 1 or -math.expm1((n - 1) * never) < chance * (1 + 1e-9)


def test_tries_at_the_ends():
    assert tries_needed([0.0, -np.inf, -1000.0], 0.9).tolist() == [1.0, np.inf, np.inf]
    assert tries_needed([math.log(0.1)], 1 - 0.9**7).tolist() == [7.0]


@pytest.mark.torch
def test_short_texts_are_named_by_their_length(gpt):
    texts = ["pain", *TEXTS]
    sizes = [int((~found.framing).sum()) for found in gpt.tokenizer.encoded(texts)]
    assert long_enough(texts, [gpt]).tolist() == [size >= 8 for size in sizes]
    with pytest.raises(InputError, match="at least two tokens"):
        suffixes_of(["a"], [gpt], Writing())


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"prefix": 0}, "prefix must be a whole number of at least 1, got 0"),
        ({"suffix": 1.5}, "suffix must be a whole number"),
        ({"top_k": -1}, "top_k must be a whole number of at least 0"),
        ({"temperature": 0.0}, "temperature must be above 0"),
    ],
)
def test_what_is_wrong_is_said(wrong, told):
    with pytest.raises(InputError, match=told):
        Writing(**wrong)
    with pytest.raises(InputError, match="chance must be in"):
        tries_needed([0.0], 1.0)


@pytest.mark.torch
def test_a_probability_that_is_no_number_is_refused(gpt, monkeypatch):
    """Or the text would count as one that never comes."""
    whole = extraction._score_batch

    def broken(*given):
        log, best = whole(*given)
        return np.where(np.arange(len(log)) == 3, np.nan, log), best

    monkeypatch.setattr(extraction, "_score_batch", broken)
    [suffixes], _ = suffixes_of(TEXTS, [gpt], Writing(prefix=5, suffix=6))
    with pytest.raises(InputError, match="gives no probability to a token: check its weights"):
        suffix_likelihoods(gpt, suffixes, Writing(prefix=5, suffix=6))


@pytest.fixture
def asked(monkeypatch):
    """Count passes, by what is asked for; stop in that of the number in `asked["stop"]`."""
    counts = {"written": 0, "edits": 0, "stop": None}

    def counted(name, call):
        def called(*given):
            counts[name] += 1
            if counts[name] == counts["stop"]:
                raise KeyboardInterrupt
            return call(*given)

        return called

    monkeypatch.setattr(extraction, "_score_batch", counted("written", extraction._score_batch))
    monkeypatch.setattr(extraction, "greedy", counted("edits", extraction.greedy))
    return counts


@pytest.mark.torch
def test_what_is_kept_is_what_was_written_and_is_not_asked_again(gpt, tmp_path, asked):
    how = Writing(prefix=5, suffix=6)
    texts = [*TEXTS[::-1], TEXTS[3]]
    [suffixes], _ = suffixes_of(texts, [gpt], how)
    expected = suffix_likelihoods(gpt, suffixes, how)
    near = nearness(gpt, suffixes).edits
    told = []
    for run, n_more in ((tmp_path, True), (tmp_path, False), (None, True)):
        before = dict(asked)
        found = kept_written(
            gpt, suffixes, how, AnswerStore(run, progress=lambda *x: told.append(x))
        )
        assert found.log_probability == pytest.approx(expected.log_probability, abs=1e-4)
        assert found.verbatim.tolist() == expected.verbatim.tolist()
        assert kept_nearness(gpt, suffixes, AnswerStore(run)).edits.tolist() == near.tolist()
        assert all((asked[name] > before[name]) == n_more for name in ("written", "edits"))
        assert told[-1] == (len(TEXTS), len(TEXTS))
    # In another order they are the same texts.
    n_asked = asked["written"]
    turned = kept_written(gpt, suffixes_of(TEXTS, [gpt], how)[0][0], how, AnswerStore(tmp_path))
    assert turned.log_probability.tolist() == found.log_probability[-2::-1].tolist()
    assert asked["written"] == n_asked


@pytest.mark.torch
@pytest.mark.parametrize(
    "change",
    [
        {"how": Writing(prefix=4, suffix=6)},
        {"how": Writing(prefix=5, suffix=5)},
        {"how": Writing(prefix=5, suffix=6, temperature=0.7)},
        {"how": Writing(prefix=5, suffix=6, top_k=3)},
        {"seed": 1},
        {"texts": TEXTS[1:]},
    ],
    ids=str,
)
def test_nothing_that_is_kept_is_taken_for_something_else(gpt, folders, tmp_path, asked, change):
    from privacygauge.language.model import load_causal

    def found(run, how=Writing(prefix=5, suffix=6), seed=0, texts=TEXTS):  # noqa: B008
        model = load_causal(folders("gpt2", seed=1, tokenizer=byte_pairs(False))) if seed else gpt
        [suffixes], _ = suffixes_of(texts, [model], how)
        return kept_written(model, suffixes, how, AnswerStore(run)).log_probability

    found(tmp_path)
    assert found(tmp_path, **change).tolist() == found(None, **change).tolist()


@pytest.mark.torch
@pytest.mark.parametrize("way", ["written", "edits"])
def test_what_was_stopped_goes_on(gpt, tmp_path, asked, way):
    how = Writing(prefix=5, suffix=6)
    [suffixes], _ = suffixes_of(made_texts(90, 7, least=5), [gpt], how)

    def call(place):
        if way == "edits":
            return kept_nearness(gpt, suffixes, AnswerStore(tmp_path / place)).edits
        return kept_written(gpt, suffixes, how, AnswerStore(tmp_path / place)).log_probability

    whole = call("whole")
    n_whole, asked[way] = asked[way], 0
    asked["stop"] = n_whole
    with pytest.raises(KeyboardInterrupt):
        call("part")
    asked[way], asked["stop"] = 0, None
    assert call("part").tolist() == whole.tolist()
    assert 0 < asked[way] < n_whole
    assert contents(tmp_path / "part") == contents(tmp_path / "whole")


CLOSE = "We thank you and remain with kind regards, ward four."


def naive_end(text, others):
    """Return the characters before the longest end of words that another text has."""
    words = text.split()
    most = 0
    for other in others:
        theirs = other.split()
        n = 0
        while n < min(len(words), len(theirs)) and words[-n - 1] == theirs[-n - 1]:
            n += 1
        most = max(most, n)
    if most < CLOSING or most == len(words):
        return len(text)
    return len(" ".join(words[: len(words) - most]))


@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_ends_that_somebody_else_has_are_found_as_by_all_pairs(seed, each):
    rng = np.random.default_rng(seed)
    n = 12
    texts = [" ".join(rng.choice([*"ab"], rng.integers(1, 25))) for _ in range(n)]
    person = np.arange(n) // each
    found = common_ends(texts, person)
    expected = [
        naive_end(text, [other for other, p in zip(texts, person, strict=True) if p != who])
        for text, who in zip(texts, person, strict=True)
    ]
    assert found.tolist() == expected


def test_a_closing_of_everybody_is_left_out_and_a_copy_is_not():
    texts = [f"Note {k} on patient {k} and on ward {k}. {CLOSE}" for k in range(3)]
    alike = ["The very same text of ten words in all, twice."] * 2
    found = common_ends([*texts, *alike], np.arange(5))
    assert [text[:n] for text, n in zip(texts, found[:3], strict=True)] == [
        f"Note {k} on patient {k} and on ward {k}." for k in range(3)
    ]
    assert found[3:].tolist() == [len(text) for text in alike]
    # What a person writes each time is known of that person only.
    assert common_ends(texts, np.zeros(3, int)).tolist() == [len(text) for text in texts]
