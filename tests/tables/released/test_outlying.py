"""The most outlying records, chosen whoever they are, and attacked beside others like them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from privacygauge.core import seeds
from privacygauge.core.estimate import Skipped
from privacygauge.tables.distance import Cosine, space_of
from privacygauge.tables.frames import read_table
from privacygauge.tables.generators.generator import Marginals
from privacygauge.tables.released.hits import Attempts, risk_beyond_control
from privacygauge.tables.released.linkability import linkability
from privacygauge.tables.released.outlying import MOST, Outlying, outlying
from privacygauge.tables.released.singling_out import isolating
from privacygauge.tables.released.suite import FORMS, N_OUTLYING, tries
from privacygauge.tables.released.tables import ReleasedTables, stack_tables
from privacygauge.tables.table import Table
from tests.tables.released.made_released import released, without_holdout
from tests.thorough import THOROUGH, quarter, times

FEW = Attempts(60, 60)


def test_they_are_the_farthest_from_all_others_of_both_tables():
    tables = released(np.random.default_rng(0), 90, n_holdout=60)
    both = space_of(stack_tables(tables.real, tables.holdout), Cosine())
    everyone = np.arange(150)
    away = np.array([both.between(np.full(150, i), everyone) for i in everyone])
    np.fill_diagonal(away, np.inf)
    score = np.sort(away, axis=1)[:, :5].mean(axis=1)
    first = np.argsort(-score)[: int(MOST * 150)]
    found = outlying(tables)
    assert found.real.tolist() == first[first < 90].tolist()
    assert found.holdout.tolist() == (first[first >= 90] - 90).tolist()
    np.testing.assert_allclose(found.scores, score[found.real], atol=1e-11)


def test_a_person_s_other_rows_hide_nobody():
    """Who has six rows of the same kind is as far from other people as with one."""
    rng = np.random.default_rng(1)
    numbers = 1 + 0.1 * rng.normal(size=(300, 3))
    numbers[:6] = [1.0, 0.0, 0.0] + 0.001 * rng.normal(size=(6, 3))
    table = read_table(pd.DataFrame(numbers, columns=list("abc")))
    visits = table[np.arange(150)]
    holdout = table[np.arange(150, 300)]
    unit = np.maximum(np.arange(150) - 5, 0)
    alone = outlying(ReleasedTables(visits, table, holdout))
    whole = outlying(ReleasedTables(visits, table, holdout, unit))
    assert set(whole.real[:6].tolist()) == set(range(6))
    assert not set(alone.real[:6].tolist()) & set(range(6))


def test_one_person_s_table_has_no_most_outlying():
    table = released(np.random.default_rng(0), 90).real
    found = outlying(ReleasedTables(table, table, unit=np.zeros(90, np.int64)))
    assert isinstance(found, Skipped)
    assert "one person's" in found.reason


@pytest.mark.parametrize("seed", range(4))
def test_who_is_real_plays_no_part_in_the_choice(seed):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.gamma(2.0, size=(260, 3)), 1)
    everybody = read_table(
        pd.DataFrame(rows, columns=list("abc")).assign(d=rng.integers(2, 5, 260))
    )
    chosen = []
    for cut in (130, 100, 160):
        order = rng.permutation(260)
        real = order[:cut]
        holdout = order[cut:]
        found = outlying(ReleasedTables(everybody[real], everybody, everybody[holdout]))
        chosen.append({*real[found.real].tolist(), *holdout[found.holdout].tolist()})
    assert chosen[0] == chosen[1] == chosen[2]


def test_records_that_all_tie_are_all_among_them():
    table = read_table(pd.DataFrame({"a": list("xy") * 40, "b": list("pq") * 40}))
    found = outlying(ReleasedTables(table, table, table))
    assert len(found.real) == len(found.holdout) == 80


def test_too_few_on_one_side_are_left_out():
    tables = released(np.random.default_rng(0), 90, n_holdout=10)
    found = outlying(tables)
    assert isinstance(found, Skipped)
    assert "fewer than 10" in found.reason
    done = tries(tables, ["sex"], FEW, 0)
    assert not any(hits.outlying for hits in done.hits)
    assert not done.exposed
    assert done.skipped == (found,)


def test_without_a_holdout_the_real_ones_are_attacked_alone():
    done = tries(without_holdout(released(np.random.default_rng(0), 120)), ["sex"], FEW, 0)
    apart = [hits for hits in done.hits if hits.outlying]
    assert [hits.name for hits in apart] == ["singling-out", "linkability", "inference"]
    assert all(hits.control is None for hits in apart)
    assert len(done.exposed) == len(apart[1].attack) == int(MOST * 120)
    # Outcomes are laid out record by record, and those of inference secret by secret.
    assert [one.linked for one in done.exposed] == apart[1].attack.tolist()
    assert [one.singled_out for one in done.exposed] == apart[0].attack.tolist()
    assert [one.told for one in done.exposed] == apart[2].attack.astype(int).tolist()
    assert {one.secrets for one in done.exposed} == {1}


@pytest.mark.slow
def test_the_list_says_what_became_of_each():
    tables = released(np.random.default_rng(2), 120, n_holdout=100)
    done = tries(tables, ["sex", "job"], FEW, 5)
    assert [hits.outlying for hits in done.hits] == [False] * 8 + [True] * N_OUTLYING
    single, linked, told = done.hits[-N_OUTLYING:]
    rows = outlying(tables)
    assert [one.row for one in done.exposed] == rows.real.tolist()
    assert sum(one.linked for one in done.exposed) == linked.attack.sum()
    assert sum(one.told for one in done.exposed) == told.attack.sum()
    assert {one.secrets for one in done.exposed} == {2}
    assert sum(bool(one.singled_out) for one in done.exposed) == single.attack.sum() > 0
    # The predicates again, by a scan of the records that they were tried on.
    kept = np.sort(seeds.stream(5, "as-many").choice(120, 100, replace=False))
    alone = set()
    for form in FORMS:
        rng = seeds.stream(5, "singling-out", form)
        Marginals().generate(tables.synthetic, len(tables.synthetic), rng)  # the baseline's
        for predicate in isolating(tables.synthetic, 60, rng, form):
            hit = kept[predicate.holds(tables.real[kept])]
            alone |= set(hit.tolist()) if len(hit) == 1 else set()
    for one in done.exposed:
        assert one.singled_out == (None if one.row not in kept else one.row in alone)


def traced(seed, traces):
    """Return a release of other people with near copies of the most outlying real ones."""
    tables = released(np.random.default_rng(seed), 600, of="others")
    values = tables.synthetic.values.copy()
    rows = outlying(tables).real[:traces]
    middle = np.median(tables.real.values[:, 2])
    values[:traces] = tables.real.values[rows]
    values[:traces, 2] += np.where(values[:traces, 2] < middle, 0.1, -0.1)
    return ReleasedTables(tables.real, Table(tables.schema, values), tables.holdout)


@pytest.mark.slow
def test_a_leak_of_outlying_records_alone_is_found_by_looking_at_them():
    level = 1 - 0.05 / 14
    found = np.zeros(2)
    games = times(8)
    for seed in range(games):
        tables = traced(seed, 36)
        rng = np.random.default_rng(seed)
        random = linkability(tables, rng, attempts=Attempts(500, 500))
        apart = linkability(tables, rng, rows=outlying(tables))
        assert len(apart.attack) < 0.3 * len(random.attack)
        found += [risk_beyond_control(hits, level).low > 0 for hits in (random, apart)]
    assert found[0] <= games // 4
    assert found[1] >= games - games // 4


@pytest.mark.slow
def test_nothing_is_found_of_outlying_records_that_nothing_was_learnt_from():
    games = quarter(60)
    wrong = np.zeros(N_OUTLYING)
    secrets = ["sex", "job"] if THOROUGH else ["sex"]
    for seed in range(games):
        tables = released(np.random.default_rng([seed, 9]), 150, of="others")
        done = tries(tables, secrets, FEW, seed)
        apart = [risk_beyond_control(hits, 0.9) for hits in done.hits if hits.outlying]
        wrong += [found.low > 0 for found in apart]
    assert (wrong <= 0.05 * games + 3 * np.sqrt(0.05 * 0.95 * games)).all()


def test_each_side_keeps_its_people():
    tables = released(np.random.default_rng(0), 120)
    unit = np.arange(120) // 2
    tables = ReleasedTables(tables.real, tables.synthetic, tables.holdout, unit, 60 + unit)
    rows = outlying(tables)
    assert isinstance(rows, Outlying)
    for hits in tries(tables, ["sex"], FEW, 0).hits:
        if hits.outlying and hits.name != "singling-out":
            assert np.array_equal(hits.attack_unit, unit[rows.real])
            assert np.array_equal(hits.control_unit, 60 + unit[rows.holdout])
