"""Members dealt row by row although rows have people: rows are then the units."""

from __future__ import annotations

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.classifier.predictions import Predictions, predictions
from privacygauge.classifier.whose import settle_units
from privacygauge.report.values import Severity
from tests.classifier.made import softmax
from tests.thorough import times

FOUND = {Severity.SMALL, Severity.MODERATE, Severity.GRAVE}


def of_people(seed: int, *, gain: float = 0.0, whole: bool = False) -> Predictions:
    """Return answers about 2,000 rows of 150 people who differ, members by row or by person."""
    rng = np.random.default_rng(seed)
    n = 2000
    who = rng.integers(150, size=n)
    member = (rng.random(150) < 0.5)[who] if whole else rng.random(n) < 0.5
    labels = rng.integers(3, size=n)
    logits = rng.normal(size=(n, 3)) + rng.normal(0, 0.5, (150, 3))[who]
    easy = rng.normal(0, 0.8, 150)[who]
    logits[np.arange(n), labels] += 1.5 * rng.gamma(2, 0.7, n) + easy + gain * member
    return predictions(probs=softmax(logits), labels=labels, member=member, unit=who)


def graded(target: Predictions) -> Severity:
    return pg.audit_classifier(target).report().verdict.grade.severity


def test_rows_that_were_dealt_one_by_one_are_the_units() -> None:
    found = settle_units(of_people(0))
    assert found.target.unit is None
    assert "a coin is thrown for every row" in found.warnings[0]


def test_people_on_one_side_stay_the_units() -> None:
    target = of_people(0, whole=True)
    assert settle_units(target).target is target


def test_people_whose_rows_got_coins_of_ours_stay_the_units() -> None:
    target = of_people(0)
    assert settle_units(target, drawn=True).target is target


def test_nothing_is_found_where_people_are_on_both_sides_by_design() -> None:
    """It read "too few records" where 150 people counted, none of them wholly on a side."""
    assert graded(of_people(1)) is Severity.NOTHING


def test_a_leak_between_rows_of_the_same_people_is_graded() -> None:
    assert graded(of_people(1, gain=1.0)) in FOUND


@pytest.mark.slow
def test_how_unlike_people_are_is_no_leak_between_their_rows() -> None:
    games = times(20)
    assert sum(graded(of_people(100 + i)) in FOUND for i in range(games)) <= max(2, 0.1 * games)
