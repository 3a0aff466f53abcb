"""A minority whose rows were copied before the training has more rows inside, not more people."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.ensemble import RandomForestClassifier

import privacygauge as pg
from privacygauge.classifiers.predictions import predictions
from privacygauge.classifiers.units_of_rows import settle_units
from privacygauge.report.values import Severity
from tests.classifiers.made import softmax
from tests.thorough import times


def oversampled(seed: int, *, named: bool, gain: float = 0.0) -> dict[str, np.ndarray]:
    """Return answers about 1,000 people; of members of the first class there are four rows each."""
    rng = np.random.default_rng(seed)
    n = 1000
    member = np.arange(n) < n // 2
    labels = rng.integers(3, size=n)
    logits = rng.normal(size=(n, 3))
    logits[np.arange(n), labels] += 1.5 + gain * member - 0.5 * labels
    people = np.repeat(np.arange(n), np.where(member & (labels == 0), 4, 1))
    found = {"probs": softmax(logits), "labels": labels, "member": member}
    given = {name: values[people] for name, values in found.items()}
    return {**given, "unit": people} if named else given


@pytest.mark.parametrize("named", [False, True])
def test_each_person_is_compared_once(named: bool) -> None:
    target = predictions(**oversampled(0, named=named))
    repeated = settle_units(target).repeated
    assert repeated is not None
    assert np.count_nonzero(~repeated) == 1000
    assert not repeated[~target.member].any()


def test_rows_of_people_who_came_several_times_are_all_compared() -> None:
    """Members that are known by heart are all answered alike; the visits of others are not."""
    rng = np.random.default_rng(0)
    member = np.repeat(np.arange(300) < 150, 3)
    probs = rng.dirichlet([1.0, 1.0], len(member))
    probs[member] = [1.0, 0.0]
    unit = np.repeat(np.arange(300), 3)
    labels = np.zeros(len(member), np.int64)
    labels[::2] = 1
    target = predictions(probs=probs, labels=labels, member=member, unit=unit)
    assert settle_units(target).repeated is None


@pytest.mark.slow
@pytest.mark.parametrize("named", [False, True])
def test_copies_of_a_minority_are_no_leak_and_hide_none(named: bool) -> None:
    alarms = []
    for seed in range(times(20)):
        null = pg.audit_classifier(oversampled(seed, named=named)).report().verdict
        alarms.append(null.grade.severity not in (Severity.NOTHING, Severity.UNTOLD))
        leak = pg.audit_classifier(oversampled(seed, named=named, gain=1.5)).report().verdict
        assert leak.grade.severity not in (Severity.NOTHING, Severity.UNTOLD)
    assert np.mean(alarms) <= 0.2


@pytest.mark.slow
def test_a_questionnaire_whose_answers_coincide_is_no_leak_of_a_model_of_other_people():
    """Twelve yes-no answers: a third of the rows have an equal one on the other side by chance.

    Those are left out, and the rest is on one side by that choice.
    """
    games = times(20)
    leaks = 0
    for seed in range(games):
        rng = np.random.default_rng(seed)
        x = (rng.random((2400, 12)) < 0.3).astype(float)
        y = (x[:, :3].sum(axis=1) + rng.normal(size=2400) > 1).astype(int)
        model = RandomForestClassifier(50, random_state=0).fit(x[1600:], y[1600:])
        answers = pg.predictions(
            probs=model.predict_proba(x[:1600]), labels=y[:1600], member=np.arange(1600) < 800
        )
        found = pg.audit_classifier(answers, features=x[:1600])
        leaks += "leak:" in found.summary().splitlines()[0]
    assert leaks <= binom.ppf(0.999, games, 0.05)
