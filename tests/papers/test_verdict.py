from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.papers import Cell, Judgement, Row, Table
from privacygauge.papers.verdict import (
    above,
    below,
    claim_of_equality,
    every,
    falls,
    grows,
    larger,
    near,
    on_average,
    paired_claim,
    planted_claim,
    smaller,
    some,
    stated_in,
)
from tests.papers.made_tables import estimate, table
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
    (said,) = stated_in("1", (claim,))
    return said.judged(of(*values)).word


def test_a_number_agrees_where_all_of_our_interval_is_near_it():
    judgement = Judgement(same_data=("first", "third"), margin=0.02, margins={"far": 0.2})

    def word(published, value, half, column="x"):
        return judgement.of_cell("first", column, Cell(published, estimate(value, half)))

    assert word(0.5, 0.51, 0.01) == "agrees"
    assert word(0.5, 0.51, 0.02) == "open"
    assert word(0.5, 0.55, 0.02) == "differs"
    # Half of the last printed digit is allowed for, and another column has its own margin.
    assert word(0.5, 0.5205, 0.0) == "agrees"
    assert word(0.5, 0.5206, 0.0) == "differs"
    assert word(0.5, 0.6, 0.1, "far") == "agrees"
    assert judgement.of_cell("second", "x", Cell(0.5, estimate(0.5))) == "other data"
    assert judgement.of_cell("first", "x", Cell(None, estimate(0.5))) is None
    assert judgement.of_cell("first", "x", Cell(0.5, Skipped("x", "no data"))) == "not measured"


@given(estimates, numbers, widths)
@settings(max_examples=times(100))
def test_imprecision_is_never_rewarded(one, published, further):
    """A wider interval about the same value decides nothing that the narrower one does not."""
    judgement = Judgement(same_data=("*",), margin=0.1)
    wider = Estimate(one.value, one.low - further, one.high + further, 0.95, 10, "made up")
    narrow, wide = (judgement.of_cell("a", "x", Cell(published, e)) for e in (one, wider))
    assert wide in ("open", narrow)


@given(estimates, estimates)
@settings(max_examples=times(50))
def test_what_cannot_decide_leaves_everything_open(one, other):
    claims = stated_in(
        "1",
        (
            larger("", ("0", "x"), ("1", "x")),
            above("", ("0", "x")),
        ),
    )
    judgement = Judgement(("*",), claims, decides=False)
    rows = (Row("0", {"x": Cell(0.5, one)}), Row("1", {"x": Cell(None, other)}))
    verdict = judgement.of(Table("t", "T", rows, ()))
    assert {*verdict.numbers, *(claim.word for claim in verdict.claims)} == {"open"}
    assert verdict.word == "open"


def test_what_was_planted_is_shown_and_not_counted():
    (claim,) = stated_in("1", (planted_claim(above("a", ("first", "x"))),))
    verdict = Judgement(claims=(claim,)).of(table())
    assert (verdict.word, verdict.counts.split(", ")[0]) == (
        "nothing to compare",
        "1 by construction",
    )
    both = Judgement(claims=(claim, *stated_in("1", (above("b", ("first", "x")),)))).of(table())
    assert both.word == "claims: holds"
    assert both.counts.startswith("1 of 1 claims hold, 1 by construction")


def test_equal_estimates_are_of_the_same_records():
    """Two ways that choose the same records differ by nothing, however wide their intervals."""
    one = estimate(0.8, 0.1)
    assert word(claim_of_equality("", ("0", "x"), ("1", "x"), 0.05), one, one) == "holds"
    assert word(larger("", ("0", "x"), ("1", "x")), one, one) == "open"
    assert (
        word(claim_of_equality("", ("0", "x"), ("1", "x"), 0.05), one, estimate(0.8, 0.11))
        == "open"
    )


def test_a_paired_difference_goes_before_two_numbers():
    of_two = claim_of_equality("close", ("0", "x"), ("1", "x"), 0.05)
    claim = paired_claim(("0", "less"), of_two, lambda what, at: near(what, at, 0.05))
    cells = {"x": Cell(None, estimate(0.8, 0.1))}
    gap = {"less": Cell(None, estimate(0.01, 0.02))}
    other = Row("1", {"x": Cell(None, estimate(0.79, 0.1))})
    without = Table("t", "T", (Row("0", cells), other), ())
    with_it = Table("t", "T", (Row("0", {**cells, **gap}), other), ())
    (said,) = stated_in("1", (claim,))
    assert [said.judged(one).word for one in (without, with_it)] == ["open", "holds"]


@given(estimates, estimates)
@settings(max_examples=times(100))
def test_what_holds_of_a_pair_is_the_opposite_of_its_mirror(one, other):
    mirrored = {"holds": "the opposite", "the opposite": "holds", "open": "open"}
    forth = larger("", ("0", "x"), ("1", "x"))
    back = smaller("", ("0", "x"), ("1", "x"))
    assert mirrored[word(forth, one, other)] == word(back, one, other)
    assert word(forth, one, other) == word(larger("", ("1", "x"), ("0", "x")), other, one)
    over = above("", ("0", "x"), 0.3)
    under = below("", ("0", "x"), 0.3)
    assert mirrored[word(over, one)] == word(under, one)


@given(estimates, estimates)
@settings(max_examples=times(100))
def test_a_difference_is_never_surer_than_both_numbers_apart(one, other):
    """Intervals that are apart decide; and the difference is at least as wide as either."""
    (claim,) = stated_in("1", (larger("", ("0", "x"), ("1", "x")),))
    judged = claim.judged(of(one, other))
    if one.low > other.high:
        assert judged.word == "holds"
    assert judged.effect.value == pytest.approx(one.value - other.value)
    if one == other:  # of the same records
        assert judged.word == "open"
        return
    widest = max(one.high - one.low, other.high - other.low)
    assert judged.effect.high - judged.effect.low >= widest / 2 - 1e-9


def test_alike_is_proved_not_assumed():
    """Numbers that are not told apart are alike only where their difference is known to be."""
    claim = claim_of_equality("", ("0", "x"), ("1", "x"), 0.1)
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
        (("first",), (), "open"),
        (("second",), (), "differs"),
        (("*",), (), "differs"),
        (("*",), (above("", ("first", "x")),), "in part"),
    ],
)
def test_the_whole_is_no_better_than_its_parts(same, claims, said):
    verdict = Judgement(same, stated_in("1", claims)).of(table())
    assert verdict.word == said
    assert str(verdict).startswith(said)
    # Numbers of other data are counted, and never said to agree.
    assert ("numbers agree" in verdict.counts) == bool(same)


def test_numbers_that_have_to_agree_are_shown_and_not_counted():
    given = Judgement(same_data=("*",), given=(("first", "x"),), margin=0.2)
    verdict = given.of(table())
    assert verdict.numbers[0] == "by construction"
    assert "1 numbers by construction" in verdict.counts
    other = Judgement(same_data=("*",), margin=0.2).of(table())
    assert other.numbers.count("agrees") == verdict.numbers.count("agrees") + 1
    assert given.of_cell("first", "y", Cell(0.5, estimate(0.5))) == "agrees"


@given(estimates, estimates)
@settings(max_examples=times(50))
def test_what_a_paper_does_not_claim_is_shown_and_not_counted(one, other):
    """However sure it is: it adds to no verdict, and its effect stays in the result."""
    table = of(one, other)
    ours = larger("ours", ("0", "x"), ("1", "x"))
    theirs = stated_in("4.2", (above("theirs", ("0", "x")),))
    alone = Judgement(claims=theirs).of(table)
    both = Judgement(claims=(*theirs, ours)).of(table)
    assert (both.word, both.counts) == (alone.word, alone.counts)
    assert both.claims[1].word == "not claimed"
    assert both.claims[1].effect == ours.effect(table)
    assert Judgement(claims=(ours,)).of(table).word == "nothing to compare"


@pytest.mark.parametrize("published", [0.021, 0.0299, 0.14, 0.5847, 3.4])
def test_a_relative_margin_lets_no_nought_agree(published):
    """A deviation or a PDTP of 0 is another finding than a small one."""
    judgement = Judgement(same_data=("*",), margin=0.1, relative=("*deviation", "PDTP"))
    for column in ("deviation", "a deviation", "PDTP"):
        assert judgement.of_cell("a", column, Cell(published, estimate(0.0, 0.0))) == "differs"
        far = Cell(published, estimate(1.3 * published, 0.0))
        close = Cell(published, estimate(1.1 * published, 0.0))
        assert judgement.of_cell("a", column, far) == "differs"
        assert judgement.of_cell("a", column, close) == "agrees"
    # Other columns keep the one margin for all.
    assert judgement.of_cell("a", "x", Cell(0.0299, estimate(0.0, 0.0))) == "agrees"


@given(st.lists(estimates, min_size=2, max_size=4))
@settings(max_examples=times(50))
def test_all_of_some_claims_hold_where_each_does_and_some_where_one_does(values):
    each = [above("", (str(i), "x")) for i in range(len(values))]
    words = [word(claim, *values) for claim in each]
    whole = word(every("", each), *values)
    assert (whole == "holds") == (set(words) == {"holds"})
    assert (whole == "the opposite") == ("the opposite" in words)
    least = word(some("", each), *values)
    assert (least == "holds") == ("holds" in words)
    assert (least == "the opposite") == (set(words) == {"the opposite"})
    mean = on_average("", each).effect(of(*values))
    assert mean.value == pytest.approx(sum(one.value for one in values) / len(values))
    # An interval of the mean is no wider than that of the widest one.
    widest = max(one.high - one.low for one in values)
    assert mean.low - 1e-9 <= mean.value <= mean.high + 1e-9
    assert mean.high - mean.low <= widest + 1e-9


def test_claims_together_leave_out_what_was_not_measured_and_a_mean_does_not():
    each = [above("", (str(i), "x")) for i in range(2)]
    values = (estimate(0.5), Skipped("x", "no data"))
    assert word(every("", each), *values) == word(some("", each), *values) == "holds"
    assert word(on_average("", each), *values) == "not measured"
    missing = (Skipped("x", "no data"),) * 2
    assert word(every("", each), *missing) == word(some("", each), *missing) == "not measured"


def test_near_a_value_is_not_near_nought():
    assert word(near("", ("0", "x"), 0.05, 0.5), estimate(0.51, 0.01)) == "holds"
    assert word(near("", ("0", "x"), 0.05, 0.5), estimate(0.7, 0.01)) == "the opposite"
    assert word(near("", ("0", "x"), 0.05), estimate(0.51, 0.01)) == "the opposite"
