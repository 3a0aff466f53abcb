from __future__ import annotations

import pytest

from privacygauge.report.grades import (
    GRADES,
    NONE,
    SMALL,
    UNTOLD,
    grade_of,
    gravest,
    next_graver,
    scale_of,
)
from privacygauge.report.values import Severity


@pytest.mark.parametrize(
    ("low", "grade"),
    [
        (0.2, "no leak found"),
        (0.5, "no leak found"),
        (0.5001, "small"),
        (0.5499, "small"),
        (0.55, "moderate"),
        (0.6499, "moderate"),
        (0.65, "large"),
        (1.0, "large"),
    ],
)
def test_the_lower_end_decides(low: float, grade: str) -> None:
    assert grade_of(low).word == grade


def test_what_cannot_be_told_stands_above_no_leak_and_on_a_scale_of_its_own() -> None:
    assert gravest((NONE, UNTOLD)) == UNTOLD
    assert gravest((UNTOLD, SMALL)) == SMALL
    assert scale_of(UNTOLD) == (UNTOLD,)
    assert scale_of(SMALL) == GRADES
    assert [next_graver(grade) for grade in GRADES] == [*GRADES[1:], GRADES[-1]]
    severities = list(Severity)
    places = [severities.index(grade.severity) for grade in GRADES]
    assert places == sorted(set(places))
