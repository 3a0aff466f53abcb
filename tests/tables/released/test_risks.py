"""Singling out, linkability and inference: what all three must do, and each against a loop."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact

from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.tables.frames import read_table
from privacygauge.tables.generators.generator import Silence, SynthPop
from privacygauge.tables.released import linkability as linking
from privacygauge.tables.released import singling_out as singling
from privacygauge.tables.released.hits import Attempts, Hits
from privacygauge.tables.released.inference import (
    agrees,
    inference,
    most_often_right,
)
from privacygauge.tables.released.linkability import Halves, linkability
from privacygauge.tables.released.singling_out import (
    Predicate,
    isolated_rows,
    isolating,
    singling_out,
)
from privacygauge.tables.released.tables import NO_CONTROL, ReleasedTables, select_columns
from tests.tables.released.made_released import people, released, without_holdout
from tests.thorough import times


def values(table, rng):
    return [singling_out(table, rng, attempts=Attempts(60, 60))]


def tails(table, rng):
    return [singling_out(table, rng, form="tails", attempts=Attempts(60, 60))]


def links(table, rng):
    return [linkability(table, rng, attempts=Attempts(60, 60))]


def secrets(table, rng, asked=("job", "pay")):
    return list(inference(table, rng, secrets=asked, attempts=Attempts(60, 60)))


def job(table, rng):
    return secrets(table, rng, ["job"])


RISKS = (values, tails, links, secrets)
every_risk = pytest.mark.parametrize("risk", RISKS, ids=lambda risk: risk.__name__)
every_quick_risk = pytest.mark.parametrize(
    "risk", [values, tails, links, job], ids=lambda risk: risk.__name__
)


def p_value(hits):
    a, n = hits.counts["attack"]
    b, m = hits.counts["control"]
    return float(fisher_exact([[a, n - a], [b, m - b]])[1])


@every_risk
def test_records_themselves_are_at_risk(risk):
    rng = np.random.default_rng(0)
    for hits in risk(released(rng, 150), rng):
        assert hits.attack.mean() > 0.9
        assert p_value(hits) < 1e-6


@pytest.mark.slow
@every_quick_risk
@pytest.mark.parametrize("generator", [Silence(), SynthPop()], ids=lambda g: g.name)
def test_a_table_of_others_is_no_risk(risk, generator):
    # At most 5 in 100 tests reject where there is nothing; of 20 that 6 or more do has the
    # probability .0003 (of the 10 of the fast suite: .000003).
    rejected = []
    for seed in range(times(20)):
        rng = np.random.default_rng(seed)
        hits = risk(released(rng, 100, generator, of="others"), rng)[0]
        if not isinstance(hits, Skipped):
            rejected.append(p_value(hits) < 0.05)
    assert len(rejected) == times(20)
    assert sum(rejected) < 6


@every_quick_risk
def test_the_same_seed_gives_the_same_hits(risk):
    table = released(np.random.default_rng(0), 80, SynthPop())
    one, other = (risk(table, np.random.default_rng(4)) for _ in range(2))
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a.attack, b.attack)
        assert np.array_equal(a.control, b.control)
        assert np.array_equal(a.baseline, b.baseline)


@every_quick_risk
def test_without_a_holdout_there_is_no_control(risk):
    table = without_holdout(released(np.random.default_rng(0), 60))
    for hits in risk(table, np.random.default_rng(0)):
        assert hits.control is None
        assert set(hits.counts) == {"attack", "baseline"}
        assert hits.notes == (NO_CONTROL,)


def test_hits_keep_their_counts():
    hits = Hits("a", "b", [True, False], [True, True, False], [False], "so")
    assert hits.counts == {"attack": (1, 2), "control": (2, 3), "baseline": (0, 1)}
    with pytest.raises(InputError, match="control must have 2 rows, got 3"):
        Hits("a", "b", [True, False], [True, True, False], [False], "so", paired=True)


@pytest.mark.parametrize("form", ["values", "tails"])
@pytest.mark.parametrize("most", [1, 2, 4])
def test_predicates_isolate_one_record_as_a_loop_finds(form, most):
    table = read_table(people(np.random.default_rng(1), 700))
    found = isolating(table, 40, np.random.default_rng(0), form, most)
    assert len(set(found)) == len(found) > 0
    for predicate in found:
        assert 1 <= len(predicate.columns) <= most
        alike = [
            i
            for i, row in enumerate(table.values)
            if all(
                low <= row[j] <= high
                for j, low, high in zip(
                    predicate.columns, predicate.low, predicate.high, strict=True
                )
            )
        ]
        assert len(alike) == 1
        assert predicate.holds(table).sum() == 1


@pytest.mark.parametrize("form", ["values", "tails"])
def test_a_predicate_holds_where_a_scan_says(form):
    made, real = (released(np.random.default_rng(i), 300, SynthPop()).synthetic for i in (2, 3))
    found = isolating(made, 200, np.random.default_rng(0), form, 3)
    rows = [np.flatnonzero(predicate.holds(real)) for predicate in found]
    wanted = [one[0] if len(one) == 1 else 300 + i for i, one in enumerate(rows)]
    assert isolated_rows(found, real).tolist() == wanted
    assert len({len(one) for one in rows}) > 2


@pytest.mark.parametrize("form", ["values", "tails"])
def test_a_search_that_stops_at_two_rows_finds_the_same_predicates(monkeypatch, form):
    table = read_table(people(np.random.default_rng(1), 700))
    monkeypatch.setattr(singling, "_FIRST", 10**6)
    whole = isolating(table, 200, np.random.default_rng(0), form)
    for first in (1, 2, 7):
        monkeypatch.setattr(singling, "_FIRST", first)
        assert isolating(table, 200, np.random.default_rng(0), form) == whole


def test_conditions_on_numbers():
    frame = pd.DataFrame({"a": [0.0, 1, 2, 3, 4, 5, 6, 7, 8, np.nan], "b": list("xxxxxxxxxy")})
    table = read_table(frame)
    tails = isolating(table, 5, np.random.default_rng(0), "tails")
    # The least, the largest, and y, which is the record without a number.
    assert set(tails) == {
        Predicate((0,), (-np.inf,), (0.0,)),
        Predicate((0,), (8.0,), (np.inf,)),
        Predicate((0, 1), (-np.inf, 0.0), (0.0, 0.0)),
        Predicate((0, 1), (8.0, 0.0), (np.inf, 0.0)),
        Predicate((1,), (1.0,), (1.0,)),
    }


def test_a_predicate_isolates_one_record_and_neither_none_nor_two():
    table = read_table(pd.DataFrame({"a": [1.0, 2, 2, 3, 4], "b": list("xxxyy")}))
    counts = {1.0: True, 2.0: False, 5.0: False}
    for value, alone in counts.items():
        found = Predicate((0,), (value,), (value,)).holds(table)
        assert (found.sum() == 1) == alone
    assert Predicate((0, 1), (2.0, 1.0), (3.0, 1.0)).holds(table).tolist() == [False] * 3 + [
        True,
        False,
    ]


def test_singling_out_compares_equally_many_records():
    table = released(np.random.default_rng(0), 100, n_holdout=40)
    hits = singling_out(table, np.random.default_rng(0), attempts=Attempts(30, 30))
    assert hits.paired
    assert "one of 40 records" in hits.meaning
    # The other real records were left out, so that a predicate of theirs isolates nobody.
    assert 0.1 < hits.attack.mean() < 0.9


def test_nothing_to_single_out():
    table = read_table(pd.DataFrame({"a": ["x", "y"] * 10, "b": ["p"] * 20}))
    hits = singling_out(ReleasedTables(table, table), np.random.default_rng(0))
    assert isinstance(hits, Skipped)
    assert "no synthetic record differs in 4 columns" in hits.reason


def test_the_line_holds_one_person_and_others():
    table = released(np.random.default_rng(0), 40).real
    halves = Halves(("age", "job"), ("pay", "town", "size", "sex"))
    lines = linking._lines(table, halves, 5, np.arange(12), np.random.default_rng(0))
    rows = [tuple(map(repr, row)) for row in table.values]
    others = [row[2:] for row in rows]
    for line in lines.values.reshape(12, 5, 6):
        joined = [tuple(map(repr, row)) for row in line]
        assert joined[0] in rows
        assert {row[:2] for row in joined} == {joined[0][:2]}
        places = [others.index(row[2:]) for row in joined]
        assert len(set(places)) == 5


def test_random_halves_are_halves():
    table = released(np.random.default_rng(0), 40).real
    lines = linking._lines(table, None, 2, np.arange(40), np.random.default_rng(0))
    lines = lines.values.reshape(40, 2, 6)
    same = (lines[:, 0] == lines[:, 1]) | np.isnan(lines).all(axis=1)
    assert (same.sum(axis=1) >= 3).all()
    assert (same.sum(axis=1) == 3).any()
    assert same.any(axis=0).all()


def test_ties_are_broken_at_random():
    rng = np.random.default_rng(0)
    found = linking._first_is_least(np.zeros((4000, 4)), rng)
    assert abs(found.mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 4000)
    sure = linking._first_is_least(np.array([[1.0, 2.0], [2.0, 1.0]]), rng)
    assert sure.tolist() == [True, False]


def test_columns_in_neither_half_are_known_to_nobody():
    table = released(np.random.default_rng(0), 60)
    halves = Halves(("age",), ("pay",))
    kept = ReleasedTables(*(select_columns(one, (0, 2)) for one in table.tables().values()))
    one, other = (
        linkability(some, np.random.default_rng(3), halves=halves) for some in (table, kept)
    )
    assert np.array_equal(one.attack, other.attack)
    assert one.variant == "given halves"


def test_a_number_is_told_within_the_tolerance_and_missing_as_missing():
    nan = np.nan
    guess = np.array([1.0, 1.0, nan, nan, 1.0])
    truth = np.array([1.5, 1.6, nan, 1.0, nan])
    assert agrees(guess, truth, 0.5).tolist() == [True, False, True, False, False]


def test_the_constant_that_is_right_most_often():
    rng = np.random.default_rng(0)
    for off in (0.0, 0.5, 2.0):
        found = np.round(8 * rng.normal(size=40)) / 8  # sums without rounding
        right = {value: np.sum(np.abs(found - value) <= off) for value in found}
        best = most_often_right(found, off)
        assert right[best] == max(right.values())
    assert np.isnan(most_often_right(np.array([np.nan, np.nan, 1.0]), 0.0))


@pytest.mark.slow
def test_every_column_is_a_secret_in_turn():
    whole = released(np.random.default_rng(0), 40)
    table = ReleasedTables(*(select_columns(one, (0, 1, 2)) for one in whole.tables().values()))
    found = inference(table, np.random.default_rng(0), attempts=Attempts(15, 15))
    assert [hits.variant for hits in found] == list(table.schema.names)
    assert all(len(hits.attack) == len(hits.control) == 15 for hits in found)
    assert "off by at most" in found[2].meaning
    assert "the guess is equal" in found[1].meaning


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, r: singling_out(t, r, form="odd"), "form must be values, tails, got 'odd'"),
        (lambda t, r: linkability(t, r, halves=Halves(("age",), ("no",))), "halves names 'no'"),
        (lambda t, r: Halves(("a", "b"), ("b",)), "column 'b' is in both halves"),
        (lambda t, r: Halves(("a",), ()), "each half must name a column, got none"),
        (lambda t, r: inference(t, r, secrets=["no"]), "secrets names 'no', which is not a column"),
        (lambda t, r: Attempts(3, 0), "attempts must be at least 1, got 0"),
    ],
)
def test_bad_options(call, message):
    with pytest.raises(InputError, match=message):
        call(released(np.random.default_rng(0), 40), np.random.default_rng(0))


@pytest.mark.parametrize("call", [linkability, inference], ids=lambda call: call.__name__)
def test_one_column_is_too_few(call):
    table = read_table(pd.DataFrame({"a": range(20)}))
    with pytest.raises(InputError, match="needs at least two columns, got one"):
        call(ReleasedTables(table, table), np.random.default_rng(0))
