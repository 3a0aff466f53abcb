"""A quick form never says more than the full one, nor the opposite of it: kept results of both."""

from __future__ import annotations

import pytest

from privacygauge.papers.catalogue import JUDGEMENTS, judgement
from privacygauge.papers.page import results_in
from privacygauge.papers.verdict import FULL, QUICK
from tests.test_docs import ROOT

RESULTS = ROOT / "docs" / "results"
WHOLE = {name: one for name, one in results_in(RESULTS).items() if one.form == FULL}
SMALL = results_in(RESULTS / "quick")

OPPOSITE = {
    "agrees": "differs",
    "differs": "agrees",
    "holds": "the opposite",
    "the opposite": "holds",
}


def words(result):
    """Return what is said of each number and each claim, by its place or its words."""
    judged = judgement(result.table.name, result.form)
    said = {one.claim: one.word for one in judged.of(result.table).claims}
    for row in result.table.rows:
        for column, cell in row.cells.items():
            said[row.label, column] = judged.of_cell(row.label, column, cell)
    return said


def test_quick_forms_that_may_decide_are_kept_in_both_forms():
    """All others decide nothing, whatever they measure."""
    deciding = {name for name, one in JUDGEMENTS.items() if one.quick}
    assert deciding == set(SMALL)
    assert deciding <= set(WHOLE)
    assert {one.form for one in SMALL.values()} == {QUICK}


@pytest.mark.parametrize("name", sorted(set(WHOLE) - set(SMALL)))
def test_what_no_quick_form_may_decide_is_open_there(name):
    """Were the full table a quick one, its numbers would be open and its claims undecided."""
    decided = {"agrees", "differs", "holds", "the opposite"}
    quick = judgement(name, QUICK).of(WHOLE[name].table)
    assert not decided & {*quick.numbers, *(one.word for one in quick.claims)}


def test_the_verdict_of_a_quick_form_never_counts_more_than_that_of_the_full_one():
    """Over all kept results together, numbers and claims that are in both forms."""
    count = {QUICK: 0, FULL: 0}
    for name, small in SMALL.items():
        quick = words(small)
        full = words(WHOLE[name])
        for key in set(quick) & set(full):
            count[QUICK] += quick[key] in ("agrees", "holds")
            count[FULL] += full[key] in ("agrees", "holds")
    assert 0 < count[QUICK] <= count[FULL]


@pytest.mark.parametrize("name", sorted(SMALL))
def test_quick_never_says_the_opposite_of_full_nor_agrees_more_often(name):
    quick = words(SMALL[name])
    full = words(WHOLE[name])
    shared = set(quick) & set(full)
    assert any(quick[key] is not None for key in shared)
    against = {
        key: (quick[key], full[key]) for key in shared if OPPOSITE.get(quick[key], 0) == full[key]
    }
    assert not against
    for good in ("agrees", "holds"):
        common = [sum(said[key] == good for key in shared) for said in (quick, full)]
        assert common[0] <= common[1], good
