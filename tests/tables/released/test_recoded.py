"""Copies whose codes were recoded one to one are found, and nothing is where there are none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from privacygauge.evaluate.tail import tail
from privacygauge.report.grades import LARGE
from privacygauge.tables.released.disguised import read_back, recoded_columns
from privacygauge.tables.released.hits import risk_beyond_control
from privacygauge.tables.released.shared_rare_values import (
    RECODED,
    most_in_common,
    ranked_in_common,
)
from privacygauge.tables.released.tables import read_together
from privacygauge.tables.released_audit.audit import audit_released
from tests.thorough import times

SIZES = (4, 7, 10, 13, 16, 19, 20, 23)


def answers(draw, n):
    """Return records of codes with unequal frequencies, which depend on each other."""
    kind = draw.integers(0, 6, n)
    found = {}
    for j, size in enumerate(SIZES):
        fixed = np.random.default_rng(j)
        shares = fixed.dirichlet(np.full(size, 0.8))
        usual = fixed.permutation(size)[kind % size]
        code = np.where(draw.random(n) < 0.4, usual, draw.choice(size, n, p=shares))
        found["abcdefgh"[j]] = [f"{j}-{x}" for x in code]
    return pd.DataFrame(found)


def measured(draw, n):
    """Return records of skewed numbers."""
    size = draw.gamma(3, 1, n)
    values = size[:, None] * draw.gamma(4, 1, (n, 5))
    return pd.DataFrame(values.round(2), columns=list("pqrst"))


def permuted(draw, frame):
    """Return a table whose codes stand for others, column by column."""
    found = {}
    for name, column in frame.items():
        codes = np.unique(column)
        found[name] = column.map(dict(zip(codes, draw.permutation(codes), strict=True)))
    return pd.DataFrame(found)


def reflected(_, frame):
    return (frame.max() - frame).round(2)


def release(people, changed, seed, n, copied):
    """Return real records, a release of copies and others whose columns were changed, a holdout."""
    draw = np.random.default_rng(seed)
    real, holdout, others = (people(draw, n) for _ in range(3))
    made = pd.concat([real[:copied], others[copied:]], ignore_index=True)
    return real, changed(draw, made), holdout


def lowest_and_exposed(tables):
    common = ranked_in_common(read_together(*tables), np.random.default_rng(0))
    if common.recoded is None:
        return 0.0, 0
    hits = most_in_common(common, (), np.random.default_rng(0))
    (found,) = (x for x in hits if x.variant == RECODED)
    rankings = [one for one in common.rankings if RECODED in one[0]]
    exposed = tail(rankings, np.random.default_rng(0), 0.99).exposed
    return risk_beyond_control(found, 0.99).low, exposed


@pytest.mark.parametrize(
    ("people", "changed", "copied"),
    [(answers, permuted, 500), (answers, permuted, 60), (measured, reflected, 500)],
)
def test_recoded_copies_are_found(people, changed, copied):
    low, exposed = lowest_and_exposed(release(people, changed, 1, 500, copied))
    assert low > (0.2 if copied == 500 else 0)
    assert exposed >= 10


def test_all_codes_of_copies_are_read_back():
    real, made, holdout = release(answers, permuted, 2, 500, 500)
    tables = read_together(real, made, holdout)
    columns = recoded_columns(tables)
    assert len(columns) >= 5
    back = read_back(tables, columns, np.random.default_rng(0))
    right = back.values == tables.real.values
    assert right.mean() > 0.97


def test_columns_as_they_are_were_not_recoded():
    for people in (answers, measured):
        for seed in range(5):
            tables = release(people, lambda _, frame: frame, seed, 300, 0)
            assert recoded_columns(read_together(*tables)) == ()


def test_numbers_that_a_generator_spreads_were_not_reflected():
    draw = np.random.default_rng(1)
    gains = np.where(draw.random((2, 400)) < 0.9, 0.0, draw.gamma(2, 3000, (2, 400)).round())
    real, holdout = (answers(draw, 400).assign(gain=one) for one in gains)
    made = answers(draw, 400).assign(gain=draw.uniform(0, 10_000, 400).round())
    assert recoded_columns(read_together(real, made, holdout)) == ()


@pytest.mark.slow
@pytest.mark.parametrize(("people", "changed"), [(answers, permuted), (measured, reflected)])
def test_nothing_is_found_in_recoded_tables_of_other_people(people, changed):
    n = times(40)
    wrong = 0
    for seed in range(n):
        low, exposed = lowest_and_exposed(release(people, changed, seed, 200, 0))
        wrong += low > 0 or exposed > 0
    assert wrong <= binom.ppf(0.999, n, 0.02)


@pytest.mark.slow
def test_an_audit_grades_recoded_copies():
    tables = release(answers, permuted, 3, 400, 400)
    assert audit_released(*tables, secrets=["a"], attempts=100).report().verdict.grade == LARGE
