"""Numbers dealt out once each are no copies: numbered afresh, or drawn from a few thousand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from privacygauge.report.grades import NONE, UNTOLD
from privacygauge.tables.released_audit.audit import audit_released


def people(rng: np.random.Generator, n: int = 700) -> pd.DataFrame:
    age = rng.normal(50, 15, n).round()
    return pd.DataFrame(
        {
            "age": age,
            "weight": rng.normal(70, 12, n).round(1),
            "cost": (np.exp(rng.normal(6, 1, n)) + age).round(2),
            "ward": rng.choice(list("abcdef"), n),
        }
    )


@pytest.mark.parametrize("with_holdout", [True, False])
def test_rows_that_are_numbered_afresh_are_no_copies(with_holdout: bool) -> None:
    rng = np.random.default_rng(0)
    real, holdout, made = (people(rng) for _ in range(3))
    for frame, first in ((real, 1), (holdout, 701), (made, 1)):
        frame["pid"] = [f"P{first + i:05d}" for i in range(len(frame))]
    found = audit_released(real, made, holdout if with_holdout else None, attempts=100)
    assert found.report().verdict.grade in (NONE, UNTOLD)
    assert any("'pid' numbers the records" in note for note in found.warnings)


@pytest.mark.parametrize("seed", range(3))
def test_numbers_drawn_from_a_few_thousand_meet_by_chance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    real, made = people(rng), people(rng)
    for frame in (real, made):
        frame["ext"] = [f"EXT-{v}" for v in rng.permutation(np.arange(1000, 10_000))[: len(frame)]]
    assert audit_released(real, made, attempts=100).report().verdict.grade == UNTOLD
    # A tenth of the people is there with the own number, among others at random.
    copied = made.copy()
    copied.loc[:69, "ext"] = real["ext"][:70]
    free = sorted({f"EXT-{v}" for v in range(1000, 10_000)} - set(copied["ext"][:70]))
    copied.loc[70:, "ext"] = rng.permutation(free)[: len(copied) - 70]
    assert audit_released(real, copied, attempts=100).report().verdict.grade not in (NONE, UNTOLD)
