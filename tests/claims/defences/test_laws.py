"""What holds for every defence on answers."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from privacygauge.claims.defences.defence import Identity, defend_predictions
from privacygauge.classifiers.predictions import predictions
from privacygauge.classifiers.signals import signals
from tests.claims.defences.catalogue import DEFENCES, label, owners_rows
from tests.classifiers.made import logits_labels_member, made_up, softmax
from tests.thorough import times

FEW = settings(max_examples=times(10))
EVERY = pytest.mark.parametrize("defence", DEFENCES, ids=label)


@cache
def fitted(defence, k):
    return defence.fit(*owners_rows(k), np.random.default_rng(0))


@st.composite
def answers(draw):
    """Rows of probabilities: spread out, sure, tied, certain, and some that sum to 1 roughly."""
    k = draw(st.integers(2, 6))
    n = draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p = rng.dirichlet(np.full(k, draw(st.sampled_from([0.01, 0.3, 1.0, 30.0]))), n)
    digits = draw(st.sampled_from([1, 2, 17]))
    rounded = np.round(p, digits)
    p = np.where(rounded.sum(axis=1, keepdims=True) > 0, rounded, 1.0)
    p /= p.sum(axis=1, keepdims=True)
    return p.astype(draw(st.sampled_from([np.float32, np.float64]))).astype(np.float64)


TIES = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [1 / 3, 1 / 3, 1 / 3], [1.0, 0.0, 0.0]])
NEAR_TIES = np.array([[0.494, 0.496, 0.01], [0.3349, 0.3302, 0.3349], [0.334, 0.331, 0.335]])
LOW = np.array([[0.26, 0.25, 0.245, 0.245], [0.245, 0.245, 0.25, 0.26]])


@EVERY
@FEW
@given(p=answers())
@example(p=TIES)
@example(p=NEAR_TIES)
@example(p=LOW)
def test_answers_stay_probabilities_and_keep_the_predicted_class(defence, p):
    given_p = p.copy()
    answer = fitted(defence, p.shape[1]).answer(p, np.random.default_rng(1))
    assert np.array_equal(p, given_p)
    assert answer.shape == p.shape
    assert answer.dtype == np.float64
    assert (answer >= 0).all()
    # A true answer may be off by its own single precision.
    assert np.abs(answer.sum(axis=1) - 1).max() <= 1e-6
    assert np.array_equal(answer.argmax(axis=1), p.argmax(axis=1))
    again = fitted(defence, p.shape[1]).answer(p, np.random.default_rng(1))
    assert np.array_equal(answer, again)


@EVERY
def test_equal_fits_answer_equally(defence):
    p = softmax(np.random.default_rng(2).normal(size=(20, 4)))
    one, two = (
        defence.fit(*owners_rows(4), np.random.default_rng(3)).answer(p, np.random.default_rng(1))
        for _ in range(2)
    )
    assert np.array_equal(one, two)


@EVERY
def test_a_record_is_answered_without_regard_to_the_others(defence):
    p = softmax(2 * np.random.default_rng(2).normal(size=(40, 4)))
    ready = fitted(defence, 4)
    together = ready.answer(p, np.random.default_rng(1))
    first = ready.answer(p[:15], np.random.default_rng(1))
    # Products of matrices of other heights round otherwise, in single precision.
    assert together[:15] == pytest.approx(first, abs=1e-4)


@EVERY
def test_labels_and_membership_of_the_records_asked_play_no_part(defence):
    asked = made_up(n=60, leak=2.0)
    owner = made_up(n=80, leak=2.0, seed=1)
    rng = np.random.default_rng(4)
    other = replace(
        asked, labels=rng.permutation(asked.labels), member=rng.permutation(asked.member)
    )
    one, two = (
        defend_predictions(defence, x, np.random.default_rng(5), owner=owner).values
        for x in (asked, other)
    )
    assert np.array_equal(one, two)


@EVERY
@pytest.mark.parametrize("kind", ["probs", "logits"])
def test_what_is_right_stays_right_and_the_rest_of_the_file_too(defence, kind):
    logits, labels, member = logits_labels_member(n=60, leak=1.0)
    values = {kind: softmax(logits) if kind == "probs" else logits}
    names = [f"r{i}" for i in range(60)]
    before = predictions(labels=labels, member=member, ids=names, **values)
    after = defend_predictions(defence, before, np.random.default_rng(0))
    assert not after.logits
    assert not after.values.flags.writeable
    for name in ("labels", "member", "ids"):
        assert np.array_equal(getattr(before, name), getattr(after, name))
    found = [signals(x)["correctness"] for x in (before, after)]
    assert np.array_equal(*found)


def test_no_defence_changes_nothing():
    before = made_up()
    after = defend_predictions(Identity(), before, np.random.default_rng(0))
    assert np.array_equal(before.values, after.values)


@EVERY
def test_names_differ(defence):
    assert [label(x) for x in DEFENCES].count(label(defence)) == 1
