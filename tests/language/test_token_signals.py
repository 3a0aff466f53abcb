"""Signals of token log-probabilities against what their definitions say, text by text."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.fairness import folds_of
from privacygauge.language.comparisons import (
    SIZES,
    Differences,
    differences,
    ez_signal,
    length_calibrated,
    windows_signal,
)
from privacygauge.language.controls import N_FOLDS
from privacygauge.language.likelihoods import recall_signal
from privacygauge.language.token_signals import (
    QUANTILES,
    dc_pdd_signal,
    learned_signal,
    token_features,
    token_frequencies,
)
from tests.language.made_tokens import VOCABULARY, energies, made
from tests.thorough import quarter

# Differences in steps of 1/8, so that sums are exact and may be exactly 0.
changes = st.integers(-40, 40).map(lambda x: x / 8)
units = st.lists(st.tuples(changes, st.booleans()), min_size=1, max_size=60)
many = st.lists(units, min_size=1, max_size=6)


def found_of(texts):
    flat = [pair for text in texts for pair in text]
    size = [len(text) for text in texts]
    return Differences(
        np.repeat(np.arange(len(texts)), size),
        np.array([value for value, _ in flat]),
        len(texts),
        np.array([wrong for _, wrong in flat]),
    )


@settings(max_examples=quarter(100), deadline=None)
@given(many)
def test_ez_is_rises_over_falls_where_the_guess_is_wrong(texts):
    signal = ez_signal(found_of(texts))
    for share, text in zip(signal, texts, strict=True):
        rise = sum(value for value, wrong in text if wrong and value > 0)
        fall = -sum(value for value, wrong in text if wrong and value < 0)
        if fall > 0:
            # The published score is the odds of this share.
            assert share / (1 - share) == pytest.approx(rise / fall)
        else:
            assert share == (1.0 if rise > 0 else 0.5)


@settings(max_examples=quarter(100), deadline=None)
@given(many, st.sampled_from([SIZES, (1,), (3, 100)]))
def test_windows_vote(texts, sizes):
    signal = windows_signal(found_of(texts), sizes)
    for share, text in zip(signal, texts, strict=True):
        values = [value for value, _ in text]
        votes = []
        for size in sizes:
            w = min(size, len(values))
            sums = [sum(values[i : i + w]) for i in range(len(values) - w + 1)]
            votes.append(sum(x > 0 for x in sums) / len(sums))
        assert share == pytest.approx(sum(votes) / len(votes))


def test_a_unit_is_wrong_where_any_of_its_tokens_is():
    size = np.array([3, 1])
    none = np.zeros(2, int)
    place = np.array([1, 2, 3, 1])
    text = np.array([0, 0, 0, 1])
    unit = np.array([0, 0, 1, 0])
    told = [np.array([-1.0, -2.0, -0.5, -3.0]), np.array([-1.5, -2.5, -2.0, -1.0])]
    highest = {"highest": np.array([-1.0, -0.1, -0.5, -0.2])}
    from privacygauge.language.energies import Energies

    ours, theirs = (
        Energies(
            x, text, np.zeros(4, int), unit, place, size - [1, 0], none, none, "word", further=more
        )
        for x, more in zip(told, (highest, {}), strict=True)
    )
    found = differences(ours, theirs)
    assert found.value.tolist() == [1.0, 1.5, -2.0]
    assert found.wrong is not None
    assert found.wrong.tolist() == [True, False, True]
    with pytest.raises(InputError, match="which masked models do not tell"):
        ez_signal(differences(theirs, ours))


def test_pairs_must_be_of_the_same_units():
    sides = made(np.random.default_rng(0)).sides
    with pytest.raises(InputError, match="the same texts and units: ask both at once"):
        differences(sides[0].target, sides[1].target)


def test_probabilities_beside_frequencies():
    sides = made(np.random.default_rng(1), patients=(5, 5, 5)).sides
    corpus = sides[2].target
    for side in sides:
        own = side is sides[2]
        frequency = token_frequencies(side.target, corpus, VOCABULARY, own=own)
        signal = dc_pdd_signal(side.target, frequency, 0.02)
        for i in range(len(side.texts)):
            rows = side.target.rows(i)
            token = side.target.token[rows].tolist()
            others = Counter(
                t
                for t, j in zip(corpus.token.tolist(), corpus.text.tolist(), strict=True)
                if not (own and j == i)
            )
            total = sum(others.values())
            seen = set()
            parts = []
            for t, log in zip(token, side.target.log_probability[rows], strict=True):
                if t not in seen:
                    q = (others[t] + 1) / (total + VOCABULARY)
                    parts.append(min(-math.exp(log) * math.log(q), 0.02))
                    seen.add(t)
            assert signal[i] == pytest.approx(sum(parts) / len(parts))
    with pytest.raises(InputError, match="bound must be above 0, got 0"):
        dc_pdd_signal(corpus, frequency, 0.0)


def test_recall_divides_log_likelihoods():
    size = np.array([2, 1])
    token = np.zeros(3, int)
    alone, after = (energies(np.array(x), size, token, {}) for x in ([-1, -3, 0], [-3, -3, -1]))
    assert recall_signal(alone, after).tolist() == [1.5, 1.0]
    with pytest.raises(InputError, match="the same tokens of the same texts"):
        recall_signal(alone, energies(np.array([-1.0]), size[1:], token[:1], {}))


def test_calibration_by_length_takes_away_what_length_does():
    rng = np.random.default_rng(0)
    length = rng.integers(3, 300, 4000)
    signal = 0.3 * np.log(length) + rng.normal(size=4000) / np.sqrt(length)
    population = rng.random(4000) < 0.5
    found = length_calibrated(signal, length, population)
    slope, at = np.polyfit(np.log(length[population]), signal[population], 1)
    away = signal - at - slope * np.log(length)
    wide, low = np.polyfit(np.log(length[population]), np.abs(away[population]), 1)
    least = np.abs(away[population]).mean() / 10
    assert found == pytest.approx(away / np.maximum(low + wide * np.log(length), least))
    short, long = (np.abs(found[~population & part]) for part in (length < 50, length > 200))
    assert short.mean() == pytest.approx(long.mean(), rel=0.25)
    raw = [np.abs(away[~population & part]).mean() for part in (length < 50, length > 200)]
    assert raw[0] > 2 * raw[1]
    assert not length_calibrated(np.ones(30), np.arange(1, 31), np.ones(30, bool)).any()
    with pytest.raises(InputError, match="at least 20 texts of the population, got 19"):
        length_calibrated(signal, length, np.arange(4000) < 19)


def test_features_are_the_shape_of_each_text():
    side = made(np.random.default_rng(2), patients=(5, 5, 5)).sides[0]
    found = token_features(side.target, side.reference)
    compared = differences(side.target, side.reference)
    for i, row in enumerate(found):
        values = [
            side.target.log_probability[side.target.rows(i)],
            compared.value[compared.text == i],
        ]
        shape = [[x.mean(), x.std(), *np.quantile(x, QUANTILES)] for x in values]
        assert row == pytest.approx([*shape[0], *shape[1]])
    assert token_features(side.target).shape == (len(side.texts), 2 + len(QUANTILES))


@pytest.mark.parametrize("population", [True, False])
def test_learnt_from_other_people_only(population):
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(75), 2)
    member = unit < 25
    apart = (unit >= 50) & population
    features = rng.normal(size=(150, 4)) + member[:, None]
    first = rng.normal(size=150)
    found = learned_signal(features, first, member, apart, unit, np.random.default_rng(7))
    judged = np.flatnonzero(~apart)
    fold = dict(
        zip(
            judged.tolist(),
            folds_of(unit[judged], member[judged], N_FOLDS, np.random.default_rng(7)).tolist(),
            strict=True,
        )
    )
    known = [[j for j, at in fold.items() if at < part] for part in range(N_FOLDS + 1)]
    scores = [first]
    for some in known[1:]:
        model = make_pipeline(
            StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=1000)
        ).fit(features[some], member[some])
        scores.append(model.decision_function(features))
    for i in range(150):
        part = fold.get(i, N_FOLDS)
        assert unit[i] not in unit[known[part]]
        score = scores[part]
        if population:
            expected = (score[i] - score[apart].mean()) / score[apart].std()
        else:
            beside = np.array([score[j] for j, at in fold.items() if at == part])
            expected = ((beside < score[i]).sum() + 0.5) / len(beside)
        assert found[i] == pytest.approx(expected, abs=1e-9)


def test_few_people_teach_nothing():
    unit = np.arange(60)
    member = unit < 19
    found = learned_signal(np.ones((60, 1)), np.ones(60), member, unit < 0, unit, None)
    assert isinstance(found, Skipped)
    assert found.reason == "needs 20 people among members and non-members, got 19"


@pytest.mark.slow
@pytest.mark.torch
def test_a_prefix_is_put_before_the_text(gpt, folders):
    """By hand: the model's own logits of prefix and text, one text at a time."""
    import torch

    from privacygauge.language.likelihoods import (
        conditional_log_probabilities,
        prefix_of,
        token_log_probabilities,
    )
    from tests.language.tiny_models import made_texts

    texts = made_texts(8, 5, 3)
    prefix = prefix_of(gpt, texts, made_texts(9, 6, 3))
    assert prefix
    found = conditional_log_probabilities(gpt, texts, prefix)
    alone = token_log_probabilities(gpt, texts)
    assert found.unit.tolist() == alone.unit.tolist()
    before = [x for text in prefix for x in gpt.tokenizer.encoded([text])[0].ids]
    for i, text in enumerate(texts):
        own = gpt.tokenizer.encoded([text])[0].ids
        ids = torch.tensor([[*before, *own]])
        with torch.no_grad():
            logs = gpt.module(input_ids=ids).logits[0].log_softmax(-1)
        n = len(before)
        expected = [logs[n + j - 1, own[j]].item() for j in range(1, len(own))]
        assert found.log_probability[found.rows(i)] == pytest.approx(expected, abs=1e-4)
        assert found.token[found.rows(i)].tolist() == list(own[1:])
    nothing = conditional_log_probabilities(gpt, texts, [])
    assert nothing.log_probability == pytest.approx(alone.log_probability, abs=1e-5)
    with pytest.raises(InputError, match=r"at most 64 tokens together, got \d+: give a shorter"):
        conditional_log_probabilities(gpt, texts, made_texts(30, 6, 3))
    long = [*texts, " ".join(made_texts(30, 6, 3))]
    assert len(token_log_probabilities(gpt, long).log_probability) > 64
    with pytest.raises(InputError, match=r"at most 64 tokens, got \d+: leave out longer texts"):
        conditional_log_probabilities(gpt, long, prefix[:1])
