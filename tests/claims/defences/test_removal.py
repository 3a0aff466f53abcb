"""Removal takes the riskiest of each model's own members, and nothing else changes."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.claims.defences.removal import (
    Number,
    PdtpRisk,
    RemoveRisky,
    ScoreRisk,
    Share,
    naive_bayes_for,
)
from privacygauge.claims.dtp.logistic import Logistic
from privacygauge.claims.dtp.measure import LearnerRecords, remove_riskiest
from privacygauge.claims.dtp.naive_bayes import naive_bayes_of
from privacygauge.classifiers.audit.models import audit_model
from privacygauge.classifiers.ratios import log_ratio
from privacygauge.classifiers.shadows import cohort_of, train_all
from privacygauge.classifiers.trainer import Cohort, Trainer
from privacygauge.core.attacks.lira import LiraOnline
from privacygauge.errors import InputError
from tests.classifiers.trainers import Counted, records
from tests.thorough import times


def cohort(n=30, m=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(3, size=(n, 4)).astype(float)
    y = rng.integers(3, size=n)
    inside = rng.random((m, n)) < 0.6
    return Cohort(x, y, inside, tuple(range(m)), 3, np.arange(n))


FIRST_COLUMN = ScoreRisk(lambda x, y, inside: x[:, 0], "first column")

amounts = st.one_of(
    st.integers(0, 8).map(Number), st.floats(0.01, 0.6, exclude_max=True).map(Share)
)


@settings(max_examples=times(60), deadline=None)
@given(amounts, st.integers(1, 4), st.integers(0, 50))
def test_it_takes_the_riskiest_members_and_as_many_as_asked(amount, rounds, seed):
    asked = cohort(seed=seed)
    gone = RemoveRisky(Counted(), amount, FIRST_COLUMN, rounds).removed(asked)
    assert not (gone & ~asked.inside).any()
    for out, inside in zip(gone, asked.inside, strict=True):
        assert out.sum() == amount.of(int(inside.sum()))
        kept = inside & ~out
        if out.any():
            assert asked.x[out, 0].min() >= asked.x[kept, 0].max()


@settings(max_examples=times(20), deadline=None)
@given(st.integers(0, 50), st.integers(1, 6))
def test_one_at_a_time_it_is_the_removal_of_long_et_al(seed, steps):
    asked = cohort(m=1, seed=seed)
    learner = naive_bayes_for(asked.x)
    out = RemoveRisky(Counted(), Number(steps), PdtpRisk(learner), steps).removed(asked)[0]
    remaining = LearnerRecords(learner, asked.x, asked.y, 3, 0.0, asked.inside[0])
    path = remove_riskiest(remaining, steps)
    # Equal risks may fall either way, so the values of what was taken are compared.
    assert len(path.removed) == out.sum()
    if len(np.unique(remaining.values())) == len(asked.y):
        assert set(path.removed) == set(np.flatnonzero(out))


def test_pdtp_is_that_of_honest_refits():
    asked = cohort(n=24, m=1)
    inside = asked.inside[0]
    learner = naive_bayes_of(asked.x)
    found = PdtpRisk().of(asked.x, asked.y, inside, 3)
    for row in np.flatnonzero(inside):
        others = inside.copy()
        others[row] = False
        with_it, without = (
            learner.fit(asked.x[r], asked.y[r], n_classes=3).log_p(asked.x[[row]])[0]
            for r in (inside, others)
        )
        assert found[row] == pytest.approx(log_ratio(with_it, without), abs=1e-9)
    assert (found[~inside] == 0).all()


def test_a_removed_member_has_the_answers_of_a_model_without_it():
    asked = cohort()
    defence = RemoveRisky(Counted(), Number(3), FIRST_COLUMN)
    answers = defence.train(asked)
    gone = defence.removed(asked)
    again = Counted().train(Cohort(asked.x, asked.y, asked.inside & ~gone, asked.seeds, 3,
                                   asked.asked))  # fmt: skip
    assert (answers == again).all()
    own = answers[:, np.arange(30), asked.y]
    assert (own[gone] < 0.7).all()
    assert (own[asked.inside & ~gone] > 0.8).all()


def test_what_others_hold_changes_no_model():
    asked = cohort()
    defence = RemoveRisky(Counted(), Share(0.2))
    assert (defence.removed(asked)[1:3] == defence.removed(asked[1:3])).all()


def test_taking_none_out_is_no_defence():
    asked = cohort()
    assert (RemoveRisky(Counted(), Number(0)).train(asked) == Counted().train(asked)).all()


def test_it_is_a_trainer_of_anything_that_trains():
    from sklearn.naive_bayes import GaussianNB

    defence = RemoveRisky(GaussianNB(), Share(0.1), PdtpRisk(Logistic(1.0)))
    assert isinstance(defence, Trainer)
    assert not defence.logits
    assert defence.name == f"removal of 10% by PDTP of {Logistic(1.0).name}, GaussianNB"
    known = {json.dumps(d.describe(), sort_keys=True) for d in (
        defence, RemoveRisky(GaussianNB(), Number(10)), RemoveRisky(Counted(), Number(10)),
        RemoveRisky(Counted(), Number(10), rounds=2), RemoveRisky(Counted(), Number(9)),
    )}  # fmt: skip
    assert len(known) == 5


def test_attacks_are_judged_on_removed_members_too(tmp_path):
    # The trainer knows its records by heart: all but the removed members are found.
    x, y = records(n=60)
    risk = ScoreRisk(lambda x, y, inside: np.arange(len(y)), "last rows")
    defence = RemoveRisky(Counted(), Share(0.5), risk)
    audit = audit_model(defence, x, y, n_shadows=8, attacks=[LiraOnline()])
    records_seen = audit.records.member
    assert 15 < records_seen.sum() < 45
    inside = np.random.default_rng(0).random((6, 60)) < 0.5
    values = train_all(defence, cohort_of(x, y, inside, 0), seed=0, run=tmp_path / "run")
    own = values[:, np.arange(60), y]
    first = inside.copy()
    last = inside.copy()
    for row, part in ((first, -1), (last, 1)):
        for bits in row:
            members = np.flatnonzero(bits)
            half = len(members) - len(members) // 2
            bits[members[half:] if part < 0 else members[:half]] = False
    assert own[first].min() > 0.8 > 0.7 > own[last].max()


def test_columns_of_codes_are_categories_and_others_numbers():
    x = np.array([[0.0, 1.5, -1.0, 64.0], [2.0, 2.0, 3.0, 0.0]])
    assert naive_bayes_for(x).categories == (3, None, None, None)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RemoveRisky(Counted(), rounds=0), "rounds must be at least 1, got 0"),
        (lambda: Share(1.0), r"share must be in \(0, 1\), got 1.0"),
        (lambda: Number(-1), "number must be at least 0, got -1"),
        (lambda: RemoveRisky(3), "a model must be an estimator"),
        (lambda: RemoveRisky(Counted(), Number(99)).removed(cohort()), "leave a record"),
        (lambda: RemoveRisky(Counted(), risk=ScoreRisk(lambda x, y, i: y[:3], "bad")).removed(
            cohort()), r"bad must give a risk of the shape \(30,\), got \(3,\)"),
        (lambda: RemoveRisky(Counted(), risk=ScoreRisk(lambda x, y, i: y * np.nan, "bad")).removed(
            cohort()), "bad must be a number for every member, got NaN"),
        (lambda: naive_bayes_for(np.array([["a"]])), "x must hold numbers"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
