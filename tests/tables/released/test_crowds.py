"""One person repeated with noise is found, and a generator's own favourite is not one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from privacygauge.report.grades import MODERATE
from privacygauge.tables.released.crowds import crowds
from privacygauge.tables.released.tables import read_together
from privacygauge.tables.released_audit.audit import audit_released
from tests.tables.released.planted import population
from tests.thorough import times

NUMBERS = ["age", "hours", "pay", "score"]
N = 400


def people(draw, n):
    values = draw.normal(size=(n, 3)).round(3)
    return population(draw, n).assign(**dict(zip("xyz", values.T, strict=True)))


def repeated(draw, one, times, real):
    """Return near copies of one record: every number with noise of a thirtieth of its spread."""
    found = pd.concat([one] * times, ignore_index=True)
    for name in [*NUMBERS, *"xyz"]:
        noisy = found[name] + draw.normal(0, real[name].std() / 30, times)
        found[name] = noisy.round(3) if name in "xyz" else noisy.round().astype(int)
    return found


def release(seed, n_repeated, *, favourite="real"):
    draw = np.random.default_rng([seed, 8])
    real, holdout, others = (people(draw, N) for _ in range(3))
    of = {"real": real, "holdout": holdout, "others": people(draw, N)}[favourite]
    near = repeated(draw, of.iloc[[17]], n_repeated, real)
    return real, pd.concat([near, others[n_repeated:]], ignore_index=True), holdout


def found(tables):
    return crowds(read_together(*tables), np.random.default_rng(0), 0.95)


@pytest.mark.parametrize("n_repeated", [100, 30])
@pytest.mark.parametrize("holdout", [True, False])
def test_one_person_who_is_repeated_is_found(n_repeated, holdout):
    tables = release(1, n_repeated)
    (one,) = found(tables if holdout else tables[:2])
    assert one.row == 17
    assert one.rows.value == pytest.approx(n_repeated / N, abs=0.03)
    assert one.margin > one.usual


def test_somebody_in_the_holdout_is_no_real_record():
    assert found(release(1, 100, favourite="holdout")) == ()


def test_a_favourite_of_the_generator_who_is_nobody_is_not_found():
    for seed in range(times(20)):
        assert found(release(seed, 100, favourite="others")) == ()


def test_rows_of_one_person_are_no_two_people():
    real, made, holdout = release(1, 100)
    real.iloc[18] = real.iloc[17]
    tables = read_together(real, made, holdout)
    assert crowds(tables, np.random.default_rng(0), 0.95) == ()
    own = np.arange(N)
    own[18] = 17
    of_one = type(tables)(tables.real, tables.synthetic, tables.holdout, own, N + np.arange(N))
    assert [one.row for one in crowds(of_one, np.random.default_rng(0), 0.95)] == [17]


@pytest.mark.slow
@pytest.mark.parametrize("holdout", [True, False])
def test_an_audit_names_the_person(holdout):
    tables = release(1, 100)
    audit = audit_released(*tables[: 3 if holdout else 2], secrets=["sex"], attempts=100)
    verdict = audit.report().verdict
    assert verdict.grade == MODERATE
    assert "crowd around one real record" in verdict.headline
    assert any("crowd around row 17 of the real table" in text for text in verdict.sentences)
