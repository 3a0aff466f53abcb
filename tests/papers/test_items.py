"""Every table and figure of the five papers is accounted for."""

from collections import Counter

import pytest

from privacygauge.errors import InputError
from privacygauge.papers import ITEMS, REPRODUCTIONS, Item, Status
from privacygauge.papers.catalogue import JUDGEMENTS, judgement
from privacygauge.papers.page import results_in
from privacygauge.papers.verdict import FULL
from tests.test_docs import ROOT

PRINTED = {
    "Long et al. (2017)": (3, 8),
    "Meeus et al. (2023)": (3, 5),
    "Mireshghallah et al. (2022)": (11, 5),
    "Song & Mittal (2021)": (7, 12),
    "Feldman, Frostig & Hardt (2019)": (0, 5),
}
"""Tables and figures that each paper prints, counted in its text."""

RESULTS = results_in(ROOT / "docs" / "results")
MADE = {known.name for known in REPRODUCTIONS}


@pytest.mark.parametrize("paper", PRINTED)
def test_every_table_and_figure_is_there(paper):
    tables, figures = PRINTED[paper]
    found = {item.number.partition("(")[0] for item in ITEMS if item.paper == paper}
    expected = {f"Table {i + 1}" for i in range(tables)}
    expected |= {f"Figure {i + 1}" for i in range(figures)}
    assert found - {"in its text"} == expected


def test_what_is_made_is_listed_and_what_is_listed_as_made_is_made():
    assert not [name for name, n in Counter(item.name for item in ITEMS).items() if n > 1]
    assert {item.name for item in ITEMS} >= MADE
    for item in ITEMS:
        made = bool(MADE & {item.name, *item.by})
        assert made == (item.status in (Status.DONE, Status.STAND_IN, Status.PARTLY)), item.name
        assert not item.by or item.name not in MADE
        assert set(item.by) <= MADE
    assert set(JUDGEMENTS) <= MADE


def test_who_is_not_done_says_why():
    with pytest.raises(InputError, match="why must say why x is not done"):
        Item("x", "A paper", "Table 1", "something", Status.STAND_IN, "")


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_kept_results_say_what_they_are_and_full_ones_judge_every_claim(name):
    """A claim about a row that no table has would never be judged, and nobody would see it."""
    result = RESULTS[name]
    assert result.table.name == name
    assert not {"/tmp", "/home", "/root"} & set("\n".join(result.table.notes).split())
    if result.form == FULL:
        for one in judgement(name, result.form).of(result.table).claims:
            assert getattr(one.effect, "reason", "") != "not in this form", one.claim


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_kept_verdicts_are_those_of_the_code(name):
    """The words beside the numbers are written with them, and could be of an earlier judgement."""
    path = ROOT / "docs" / "results" / f"{name}.json"
    result = RESULTS[name]
    assert path.read_text(encoding="utf-8") == result.to_json(judgement(name, result.form))


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_a_quick_form_of_another_experiment_decides_nothing(name):
    """Were a kept table a quick one, it would neither agree nor say the opposite."""
    quick = judgement(name, "quick")
    verdict = quick.of(RESULTS[name].table)
    words = {*verdict.numbers, *(one.word for one in verdict.claims)}
    decided = words & {"agrees", "differs", "holds", "the opposite"}
    assert quick.decides == quick.quick
    assert quick.decides or not decided
