import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.classifiers.predictions import predictions
from privacygauge.classifiers.signals import (
    SIGNALS,
    gains,
    knowledge_of_classes,
    signals,
    top_probability,
)
from tests.classifiers.made import logits_labels_member, softmax

SPACING = np.finfo(np.float64).epsneg
"""Of numbers just below 1."""


def naive(p, y, least):
    """Return the six signals of one row, written out from the definitions.

    `least` is what a 0 in the column of each class stands for.
    """
    k = len(p)
    rest = [math.fsum(p[:i] + p[i + 1 :]) for i in range(k)]
    log = [math.log(max(x, low)) for x, low in zip(p, least, strict=True)]
    log_rest = [math.log(max(x, low)) for x, low in zip(rest, least[::-1], strict=True)]
    return {
        "correctness": float(max(range(k), key=lambda i: (p[i], -i)) == y),
        "confidence": p[y],
        "entropy": sum(p[i] * log[i] for i in range(k)),
        "modified-entropy": rest[y] * log[y] + sum(p[i] * log_rest[i] for i in range(k) if i != y),
        "loss": log[y],
        "scaled-logit": log[y] - log_rest[y],
    }


def halves(p):
    """Return half of the smallest probability above 0: of each column where there are two."""
    parts = p.T if p.shape[1] == 2 else np.tile(p.ravel(), (p.shape[1], 1))
    bound = max(p[p > 0].min(), SPACING)
    return [min(float(part[part > 0].min(initial=1)), bound) / 2 for part in parts]


def given_probs(rows, labels):
    return predictions(probs=rows, labels=labels, member=np.arange(len(labels)) % 2 == 0)


@given(st.integers(2, 6), st.integers(2, 12), st.floats(0.0, 60.0), st.integers(0, 2**32 - 1))
def test_signals_are_what_the_definitions_say(k, n, spread, seed):
    rng = np.random.default_rng(seed)
    p = softmax(spread * rng.normal(size=(n, k)))
    labels = rng.integers(k, size=n)
    found = signals(given_probs(p, labels))
    for row in range(n):
        for name, value in naive(p[row].tolist(), int(labels[row]), halves(p)).items():
            # The sum of the others takes over from 1 - p before that loses its last digits.
            lost = 4 * SPACING / max(1 - p[row].max(), 512 * SPACING)
            assert found[name][row] == pytest.approx(value, rel=1e-9, abs=1e-12 + lost), name


@given(st.integers(2, 6), st.floats(0.01, 3.0), st.integers(0, 2**32 - 1))
def test_logits_and_probabilities_tell_the_same(k, spread, seed):
    rng = np.random.default_rng(seed)
    logits = spread * rng.normal(size=(9, k))
    labels = rng.integers(k, size=9)
    member = np.arange(9) % 2 == 0
    from_logits = signals(predictions(logits=logits, labels=labels, member=member))
    from_probs = signals(predictions(probs=softmax(logits), labels=labels, member=member))
    for name in SIGNALS:
        assert from_logits[name] == pytest.approx(from_probs[name], rel=1e-6, abs=1e-9), name


def test_logits_resolve_predictions_that_probabilities_round_to_one():
    logits = np.array([[40.0, 0.0], [60.0, 0.0], [800.0, 0.0], [0.0, 800.0]])
    found = signals(predictions(logits=logits, labels=[0, 0, 0, 0], member=[1, 0, 1, 0]))
    assert found["scaled-logit"][:2] == pytest.approx([40.0, 60.0])
    assert found["modified-entropy"][0] < found["modified-entropy"][1] < 0
    for name in SIGNALS:
        assert np.isfinite(found[name]).all(), name


def test_certain_predictions_stay_finite():
    p = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    found = signals(given_probs(p, [0, 0]))
    assert found["entropy"].tolist() == [0.0, 0.0]
    assert found["modified-entropy"][0] == 0.0
    # Certain and wrong: log 0 twice, once for the true class and once for the predicted one.
    least = math.log(SPACING / 2)
    assert found["modified-entropy"][1] == pytest.approx(2 * least)
    assert found["loss"][1] == pytest.approx(least)


def test_a_tie_for_the_largest_goes_to_the_first_class():
    p = np.array([[0.4, 0.4, 0.2], [0.4, 0.4, 0.2]])
    assert signals(given_probs(p, [0, 1]))["correctness"].tolist() == [1.0, 0.0]


def test_float32_is_upcast_once():
    logits, labels, member = logits_labels_member()
    p32 = softmax(logits).astype(np.float32)
    narrow = signals(predictions(probs=p32, labels=labels, member=member))
    wide = signals(predictions(probs=p32.astype(np.float64), labels=labels, member=member))
    for name in SIGNALS:
        assert np.array_equal(narrow[name], wide[name]), name


def test_blocks_and_threads_change_no_number(monkeypatch):
    logits, labels, member = logits_labels_member(n=1000)
    whole = signals(predictions(logits=logits, labels=labels, member=member))
    monkeypatch.setattr("privacygauge.classifiers.predictions.BLOCK", 35)
    monkeypatch.setattr("privacygauge.classifiers.signals._ROWS_A_THREAD", 100)
    parts = signals(predictions(logits=logits, labels=labels, member=member))
    for name in SIGNALS:
        assert np.array_equal(whole[name], parts[name]), name


def test_relabelling_the_classes_changes_no_signal_but_ties():
    logits, labels, member = logits_labels_member(k=6)
    order = np.random.default_rng(1).permutation(6)
    back = np.argsort(order)
    first = signals(predictions(logits=logits, labels=labels, member=member))
    second = signals(predictions(logits=logits[:, order], labels=back[labels], member=member))
    for name in SIGNALS:
        assert second[name] == pytest.approx(first[name], rel=1e-12), name


def test_top_probability_is_the_largest():
    logits, labels, member = logits_labels_member()
    p = softmax(logits)
    for given_as in ({"probs": p}, {"logits": logits}):
        found = top_probability(predictions(labels=labels, member=member, **given_as))
        assert found == pytest.approx(p.max(axis=1))


@pytest.mark.parametrize("logits", [False, True])
def test_gains_are_those_of_a_table_of_all_pairs(logits):
    rng = np.random.default_rng(0)
    z = 2 * rng.normal(size=(500, 4))
    labels = rng.integers(4, size=500)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    given = {"logits": z} if logits else {"probs": p}
    member = np.arange(500) % 2 == 0
    found, claimed = gains(predictions(**given, labels=labels, member=member))
    pairs = p[:, labels]  # of every record for the class of every other
    np.testing.assert_allclose(found, np.diag(pairs) - pairs.mean(axis=0), atol=1e-12)
    drawn = (rng.random((2000, 500, 1)) > p.cumsum(axis=1)).sum(axis=2)
    share = np.bincount(drawn.ravel(), minlength=4) / drawn.size
    often = p[np.arange(500), drawn].mean() - share @ p.mean(axis=0)
    assert abs(claimed - often) < 0.002


@pytest.mark.parametrize("logits", [False, True])
def test_knowledge_of_classes_is_the_standardised_sum_over_permutations(logits):
    rng = np.random.default_rng(3)
    values = rng.normal(size=(60, 3))
    probs = np.exp(values) / np.exp(values).sum(axis=1, keepdims=True)
    labels = np.where(rng.random(60) < 0.3, values.argmax(axis=1), rng.integers(3, size=60))
    given = {"logits": values} if logits else {"probs": probs}
    made = predictions(**given, labels=labels, member=rng.random(60) < 0.5)
    sums = [probs[np.arange(60), rng.permutation(labels)].sum() for _ in range(20_000)]
    expected = (probs[np.arange(60), labels].sum() - np.mean(sums)) / np.std(sums)
    assert knowledge_of_classes(made) == pytest.approx(expected, abs=0.05)


def test_knowledge_of_a_rare_class_is_seen_beside_uncertain_answers():
    known = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        labels = (rng.random(1500) < 0.03).astype(int)
        p = 1 / (1 + np.exp(-(rng.normal(size=1500) + labels)))  # as balanced weights give
        probs = np.column_stack([1 - p, p])
        made = predictions(probs=probs, labels=labels, member=rng.random(1500) < 0.5)
        known.append(knowledge_of_classes(made))
    assert min(known) > 3
