from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.reproduce import Cell, Judgement, Row, Table
from privacygauge.reproduce.verdict import above, alike, below, falls, grows, larger, smaller
from tests.reproduce.made_tables import estimate, table
from tests.thorough import times

numbers = st.floats(-2, 2).map(lambda x: round(x, 3))
widths = st.floats(0, 0.5).map(lambda x: round(x, 3))
estimates = st.builds(
    lambda value, down, up: Estimate(value, value - down, value + up, 0.95, 10, "made up"),
    numbers,
    widths,
    widths,
)


def of(*values):
    rows = tuple(Row(str(i), {"x": Cell(None, value)}) for i, value in enumerate(values))
    return Table("t", "T", rows, ())


def word(claim, *values):
    return claim.judged(of(*values)).word


def test_a_number_agrees_where_our_interval_holds_it_to_the_last_digit():
    judgement = Judgement(same_data=("first", "third"))
    for published, said in ((0.4, "agrees"), (0.6004, "agrees"), (0.601, "differs")):
        assert judgement.of_cell("first", Cell(published, estimate(0.5))) == said
    assert judgement.of_cell("second", Cell(0.5, estimate(0.5))) == "other data"
    assert judgement.of_cell("first", Cell(None, estimate(0.5))) is None
    assert judgement.of_cell("first", Cell(0.5, Skipped("x", "no data"))) == "not measured"
    coarse = Judgement(same_data=("*",), printed=0.05)
    assert coarse.of_cell("any", Cell(0.64, estimate(0.5))) == "agrees"


@given(estimates, estimates)
@settings(max_examples=times(100))
def test_what_holds_of_a_pair_is_the_opposite_of_its_mirror(one, other):
    mirrored = {"holds": "the opposite", "the opposite": "holds", "open": "open"}
    forth, back = larger("", ("0", "x"), ("1", "x")), smaller("", ("0", "x"), ("1", "x"))
    assert mirrored[word(forth, one, other)] == word(back, one, other)
    assert word(forth, one, other) == word(larger("", ("1", "x"), ("0", "x")), other, one)
    over, under = above("", ("0", "x"), 0.3), below("", ("0", "x"), 0.3)
    assert mirrored[word(over, one)] == word(under, one)


@given(estimates, estimates)
@settings(max_examples=times(100))
def test_a_difference_is_never_surer_than_both_numbers_apart(one, other):
    """Intervals that are apart decide; and the difference is at least as wide as either."""
    judged = larger("", ("0", "x"), ("1", "x")).judged(of(one, other))
    if one.low > other.high:
        assert judged.word == "holds"
    assert judged.effect.value == pytest.approx(one.value - other.value)
    widest = max(one.high - one.low, other.high - other.low)
    assert judged.effect.high - judged.effect.low >= widest / 2 - 1e-9
    if one == other:
        assert judged.word == "open"


def test_alike_is_proved_not_assumed():
    """Numbers that are not told apart are alike only where their difference is known to be."""
    claim = alike("", ("0", "x"), ("1", "x"), 0.1)
    assert word(claim, estimate(0.5, 0.01), estimate(0.52, 0.01)) == "holds"
    assert word(claim, estimate(0.5, 0.3), estimate(0.52, 0.3)) == "open"
    assert word(claim, estimate(0.5, 0.01), estimate(0.9, 0.01)) == "the opposite"


def test_growth_breaks_at_one_clear_fall():
    places = [(str(i), "x") for i in range(4)]
    rising = [estimate(x, 0.05) for x in (0.1, 0.4, 0.38, 0.8)]
    assert word(grows("", places), *rising) == "holds"
    assert word(falls("", places), *rising) == "the opposite"
    assert word(grows("", places), *rising[:1], estimate(0.9, 0.05), *rising[2:]) == "the opposite"
    # A form without some of the rows is judged on those it has.
    assert word(grows("", places), *rising[:2]) == "holds"
    assert word(grows("", places), rising[0]) == "not measured"


def test_what_was_not_measured_is_not_judged():
    for claim in (above("", ("0", "x")), larger("", ("0", "x"), ("1", "x"))):
        assert word(claim, Skipped("x", "no data")) == "not measured"
    judged = above("", ("9", "x")).judged(of(estimate(1.0)))
    assert judged.effect == Skipped("", "not in this form")


@pytest.mark.parametrize(
    ("same", "claims", "said"),
    [
        ((), (), "nothing to compare"),
        ((), (above("", ("first", "x")),), "claims: holds"),
        ((), (above("", ("first", "x"), 0.9),), "claims: does not hold"),
        ((), (above("", ("first", "x"), 0.5),), "open"),
        ((), (above("", ("first", "x")), above("", ("first", "x"), 0.9)), "claims: in part"),
        ((), (above("", ("first", "x")), above("", ("first", "x"), 0.5)), "claims: open in part"),
        (("first",), (), "agrees"),
        (("second",), (), "differs"),
        (("*",), (), "in part"),
        (("*",), (above("", ("first", "x")),), "in part"),
    ],
)
def test_the_whole_is_no_better_than_its_parts(same, claims, said):
    verdict = Judgement(same, claims).of(table())
    assert verdict.word == said
    assert str(verdict).startswith(said)
    # Numbers of other data are counted, and never said to agree.
    assert ("agree" in verdict.counts) == bool(same)
