"""Records on both sides: what chance explains is nobody's fault, and what goes beyond is found."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest

from privacygauge.cli.output import exceeded_limits, parsed_limits
from privacygauge.report.grades import LARGE, MODERATE, NONE, SMALL, UNTOLD
from privacygauge.tables.frames import read_table
from privacygauge.tables.generators.generator import BayNet, Marginals
from privacygauge.tables.released.copies import (
    copied_alone,
    find_copies,
    find_shared_records,
    lone_copies,
    without_overlap,
)
from privacygauge.tables.released.people import same_people, with_people
from privacygauge.tables.released.suite import correct_together
from privacygauge.tables.released.tables import (
    ReleasedTables,
    read_together,
    stack_tables,
    tables_of,
)
from privacygauge.tables.released_audit.audit import audit_released
from privacygauge.tables.released_audit.result import said_of
from privacygauge.tables.released_audit.verdict import grades
from privacygauge.tables.table import Table
from tests.tables.released.made_released import people
from tests.thorough import THOROUGH, crossed, quarter, times

N = 300
LEAKS = (SMALL, MODERATE, LARGE)


def mixed(first, second, k):
    """Return n records: k of the first table, the others of the second."""
    if k in (0, len(first)):
        return first if k else second
    return stack_tables(first[np.arange(k)], second[np.arange(len(first) - k)])


@pytest.fixture(scope="module")
def drawn():
    everybody = read_table(people(np.random.default_rng(1), 3 * N))
    return [everybody[np.arange(i * N, (i + 1) * N)] for i in range(3)]


def audit(drawn, copied, overlap, secrets=None):
    real, others, fresh = drawn
    synthetic = mixed(real, others, round(copied * N))
    holdout = mixed(real, fresh, round(overlap * N))
    return audit_released(real, synthetic, holdout, attempts=60, label="sex", secrets=secrets)


# What guesses secrets takes most of the time, and has no part in what is said of copies.
FEW = [(0.1, 0.05, ["sex"])]
ALL = [(*levels, None) for levels in product([0, 0.1, 1], [0, 0.05, 0.5, 1])]
ALL = ALL if THOROUGH else [(0, 1, ["sex"]), ALL[10]]


@pytest.mark.parametrize(
    ("copied", "overlap", "secrets"),
    [*FEW, *(pytest.param(*levels, marks=pytest.mark.slow) for levels in ALL)],
)
def test_copies_are_found_however_much_of_the_holdout_is_real(drawn, copied, overlap, secrets):
    found = audit(drawn, copied, overlap, secrets)
    report = found.report()
    grade = report.verdict.grade
    if copied:
        assert grade in LEAKS, report.verdict.headline
    else:  # the attacks on membership are wrong as often as their level allows: see below
        assert found.corrected.alone.low <= 0
        assert not found.control or grades(found)["copies"] == NONE
    if overlap > 0.5 and not copied:
        assert grade == UNTOLD
        assert "no control" in report.verdict.headline
    if grade != NONE:
        assert exceeded_limits(report, parsed_limits(["beyond=0.01"], {"beyond"}))
    assert (found.overlap is not None) == (overlap > 0)
    if overlap:
        assert found.overlap.shared == round(overlap * N)
        assert said_of(found.overlap) in found.origin.warnings


ROWS = 1000
GAMES = times(10)
LOOKS = 2 + 1 + 15 + 3 + 2
"""At a table with fifteen columns: the forms of the risks, and copies in two ways."""


def copying(real, others, fresh, copied, overlap, seed):
    """Return what an audit says of copies, and nothing else of it."""
    tables = ReleasedTables(
        real,
        mixed(real, others, round(copied * len(real))),
        mixed(real, fresh, round(overlap * len(real))),
    )
    twice = find_shared_records(tables)
    kept, _, _ = without_overlap(tables, twice)
    lone = lone_copies(tables, twice.real, np.random.default_rng(seed), kept.holdout)
    copied = find_copies(kept, np.random.default_rng(seed))
    return correct_together((), copied, lone, 1 - 0.05 / LOOKS)


@cache
def three_tables(seed):
    everybody = read_table(people(np.random.default_rng([seed, 11]), 3 * ROWS))
    return [everybody[np.arange(i * ROWS, (i + 1) * ROWS)] for i in range(3)]


@pytest.mark.parametrize(("copied", "overlap"), crossed([0, 0.01, 0.3, 1], [0, 0.2, 0.5, 0.8, 1]))
def test_one_copy_in_a_hundred_is_found_however_much_of_the_holdout_is_real(copied, overlap):
    found = 0
    for seed in range(GAMES):
        corrected = copying(*three_tables(seed), copied, overlap, seed)
        assert not corrected.inverted
        found += corrected.copied.low > 0
    assert found == 0 if copied == 0 else found >= 0.9 * GAMES


def test_chance_that_the_holdout_shows_is_no_copying():
    """A generator that gives the most frequent kinds only: they are met on all sides."""
    everybody = common(np.random.default_rng(5), 3000, 8)
    real, fresh, others = (everybody[np.arange(i * 1000, (i + 1) * 1000)] for i in range(3))
    kinds, counts = np.unique(others.values, axis=0, return_counts=True)
    once = Table(others.schema, np.repeat(kinds[counts <= 2], 5, axis=0)[:1000])
    tables = ReleasedTables(real, once, fresh)
    twins = find_shared_records(tables).real
    alone = copied_alone(lone_copies(tables, twins, np.random.default_rng(0)), 0.95)
    beside = lone_copies(tables, twins, np.random.default_rng(0), fresh)
    assert copied_alone(beside, 0.95).low <= min(alone.low, 0)


@pytest.mark.slow
@pytest.mark.parametrize("overlap", [0, 0.2, 0.45] if THOROUGH else [0, 0.45])
def test_an_overlap_makes_no_leak_of_a_table_without_one(overlap):
    games = quarter(25)
    found = 0
    secrets = None if THOROUGH else ["sex"]
    for seed in range(games):
        everybody = read_table(people(np.random.default_rng([seed, 3]), 3 * N))
        three = [everybody[np.arange(i * N, (i + 1) * N)] for i in range(3)]
        found += audit(three, 0, overlap, secrets).report().verdict.grade in LEAKS
    assert found <= 0.05 * games + 3 * np.sqrt(0.05 * 0.95 * games)


@pytest.mark.slow
def test_a_holdout_that_is_the_real_table_hides_no_copy(drawn):
    real, *_ = drawn
    found = audit((real, real, real), 1, 1, ["sex"]).report()
    assert found.verdict.grade == LARGE
    assert found.verdict.headline.startswith("Large leak at least: 100.0% of the real")


def common(rng, n, categories=3):
    """Return records of few columns, many of which are equal by chance."""
    weights = rng.dirichlet(np.full(categories, 0.7))
    return read_table(
        pd.DataFrame(
            {name: rng.choice(list("abcdefgh")[:categories], n, p=weights) for name in "uvwx"}
        )
    )


@pytest.mark.parametrize("categories", [2, 3, 5, 8] if THOROUGH else [2, 5])
def test_what_chance_shares_is_no_overlap(categories):
    named = 0
    games = quarter(100)
    for seed in range(games):
        rng = np.random.default_rng(seed)
        everybody = common(rng, 360, categories)
        parts = everybody[np.arange(120)], everybody[np.arange(120, 240)], everybody[240:]
        tables = ReleasedTables(*parts)
        kept, rows, overlap = without_overlap(tables, find_shared_records(tables))
        named += overlap is not None
        if overlap is None:
            assert kept is tables
            assert len(rows) == 120
    assert named <= 2 + games // 50


def test_records_that_chance_makes_equal_are_counted_and_not_to_be_taken_out():
    """Without them on one side the other one alone would hold what many people share."""
    rng = np.random.default_rng(0)
    everybody = common(rng, 900, 5)
    parts = everybody[np.arange(300)], everybody[np.arange(300, 600)], everybody[600:]
    tables, said = with_people(ReleasedTables(*parts), None, None)
    assert not said
    twice = find_shared_records(tables)
    shared = int(twice.holdout.sum())
    assert tables.notes == (
        f"{shared} of the 300 holdout records equal a real one, and of the 300 real ones "
        f"{int(twice.real.sum())} equal another real one: no attack can tell equal records apart",
    )


@pytest.mark.parametrize("m", [100, 400, 1600])
def test_equal_records_of_different_people_are_not_one_person_s_whatever_the_sizes(m):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = {"age": rng.integers(18, 95, 3200 + m), "stay": rng.integers(300, size=3200 + m)}
        everybody = read_table(pd.DataFrame(rows))
        parts = everybody[:1600], everybody[1600:3200], everybody[3200:]
        tables, said = with_people(ReleasedTables(*parts), None, None)
        assert not said
        overlap = without_overlap(tables, find_shared_records(tables))[2]
        assert overlap is None


def test_what_is_left_out_occurs_twice(drawn):
    real, others, fresh = drawn
    twice = stack_tables(real[np.arange(5)], real)
    tables = ReleasedTables(twice, others, mixed(real, fresh, 60))
    found = find_shared_records(tables)
    assert found.real.tolist() == [True] * 10 + [False] * (N - 5)
    assert found.holdout.sum() == 60
    kept, rows, overlap = without_overlap(tables, find_shared_records(tables))
    assert rows.tolist() == list(range(10, N + 5))
    assert len(kept.holdout) == N - 60
    assert overlap.shared == 60


GENERATORS = {
    "the population": None,
    "columns one by one": Marginals(),
    "a network": BayNet(degree=1),
}


@pytest.mark.slow
@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("categories", [2, 4, 8, None])
def test_no_copy_is_found_where_none_was_made(generator, categories):
    games = quarter(60)
    found = 0
    n = 200
    for seed in range(games):
        rng = np.random.default_rng([seed, 7])
        made = (
            read_table(people(rng, 3 * n)) if categories is None else common(rng, 3 * n, categories)
        )
        real, others, more = (made[np.arange(i * n, (i + 1) * n)] for i in range(3))
        maker = GENERATORS[generator]
        synthetic = (
            stack_tables(others, more) if maker is None else maker.generate(others, 2 * n, rng)
        )
        tables = ReleasedTables(real, synthetic)
        lone = lone_copies(tables, find_shared_records(tables).real, rng)
        beyond = copied_alone(lone, 0.95)
        found += beyond is not None and beyond.low > 0
    assert found <= 0.025 * games + 3 * np.sqrt(0.025 * games)


def test_a_full_table_of_all_combinations_is_no_copy():
    cells = pd.DataFrame([(a, b, c) for a in "abcdef" for b in "abcdef" for c in "abcdef"])
    rng = np.random.default_rng(0)
    made = cells.apply(lambda column: rng.permutation(column.to_numpy()))
    tables = read_together(cells, made)
    lone = lone_copies(tables, find_shared_records(tables).real, rng)
    assert lone.copied.mean() > 0.5
    assert copied_alone(lone, 0.95).low <= 0


def visits(rng, n, people, first=0):
    """Return n records with the person behind each, each person's in turn."""
    frame = pd.DataFrame({"age": rng.integers(18, 90, n), "pay": rng.gamma(2.0, 500.0, n).round(2)})
    return frame.assign(town=rng.choice(list("abcd"), n)), first + np.arange(n) % people


@pytest.mark.parametrize(
    ("n_people", "first", "few"), [(6, 0, True), (6, 6, True), (20, 0, False), (20, 8, False)]
)
def test_a_holdout_of_the_same_or_of_few_people_is_no_control(n_people, first, few):
    rng = np.random.default_rng(0)
    (real, unit), (holdout, others) = (visits(rng, 60, n_people, x) for x in (0, first))
    audit = audit_released(
        real, visits(rng, 60, 1)[0], holdout, unit=unit, holdout_unit=others, attempts=20
    )
    assert audit.people is not None
    assert audit.people.few == few
    assert audit.n_holdout == 0
    verdict = audit.report().verdict
    assert verdict.grade == UNTOLD
    assert "control" in verdict.headline


def test_other_people_and_row_numbers_are_a_control():
    rng = np.random.default_rng(0)
    real, unit = visits(rng, 60, 20)
    holdout, others = visits(rng, 60, 20, 12)
    numbers = np.arange(60)
    for pair in ((unit, others), (numbers, numbers)):
        tables = with_people(tables_of(real, real, holdout, None, ((), (), ()), ()), *pair)[0]
        assert same_people(tables) is None
