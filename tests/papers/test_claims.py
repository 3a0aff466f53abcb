"""Claims are tested as the papers say them, and settings are those of the kept results."""

import re

import pytest

from privacygauge.papers import ITEMS, page
from privacygauge.papers.catalogue import PROTOCOLS, judgement
from privacygauge.papers.page import results_in
from privacygauge.papers.table import Cell, Row, Table
from tests.papers.made_tables import estimate
from tests.test_docs import ROOT

RESULTS = results_in(ROOT / "docs" / "results")
WEIGHTS = ("0.1", "0.3", "1")


def comparison(accuracy, attack, half=0.005):
    """Return Table 2 of Song & Mittal where regularisation differs so from early stopping."""
    return Table(
        "song-table2",
        "",
        tuple(
            Row(
                f"adversarial regularisation, weight {weight} less {rule}",
                {
                    "test accuracy": Cell(None, estimate(accuracy, half)),
                    "highest": Cell(None, estimate(attack, half)),
                },
            )
            for rule in ("nearest", "first")
            for weight in WEIGHTS
        ),
        (),
    )


@pytest.mark.parametrize(
    ("accuracy", "attack", "word"),
    [
        (0.0, 0.1, "holds"),
        (0.0, -0.1, "the opposite"),
        (0.0, 0.004, "open"),
        # Where the epoch is the more accurate one, or may be, nothing is compared.
        (-0.055, 0.13, "not measured"),
        (0.016, 0.13, "not measured"),
    ],
)
def test_defences_are_compared_at_equal_accuracy_alone(accuracy, attack, word):
    claims = judgement("song-table2").of(comparison(accuracy, attack)).claims
    assert [one.word for one in claims] == [word] * 6


def test_what_is_made_under_another_name_borrows_no_verdict():
    """A figure may have few of the numbers of the table that covers it."""
    borrowed = [item for item in ITEMS if item.by]
    assert {item.name for item in borrowed} >= {"song-table1", "song-fig1", "meeus-fig1"}
    lines = page.index(RESULTS).splitlines()
    for item in borrowed:
        (line,) = (one for one in lines if item.paper in one and f"| {item.what} |" in one)
        assert line.endswith(f"| not judged by itself: {', '.join(item.by)} |")


def test_nothing_is_counted_that_a_paper_does_not_claim():
    """Feldman et al. name no queries but 0.104 a point; Long et al. size nobody's own effect."""
    assert not any("5,200" in one.what for one in judgement("feldman-fig1").claims)
    assert not any("5,200" in one.what for one in judgement("feldman-fig2").claims)
    for name in ("long-fig7", "long-fig8"):
        assert not judgement(name).claims
    assert not any("attack" in one.what for one in judgement("song-fig2").claims)
    slopes = RESULTS["feldman-fig4"].table
    assert all(cell.published is None for row in slopes.rows for cell in row.cells.values())


def entry(paper, name, what):
    (found,) = (one for one in PROTOCOLS[paper] if one.about(name) and one.what == what)
    return found.ours


def fits_of(name):
    """Return how many fits or draws stand behind the means of a kept result."""
    methods = {
        cell.ours.method
        for row in RESULTS[name].table.rows
        for cell in row.cells.values()
        if hasattr(cell.ours, "method")
    }
    return {int(n) for method in methods for n in re.findall(r"t over (\d+) fits", method)}


SONG = "Song & Mittal (2021)"
PAIRS = "pairs of a target and a shadow model"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("song-table2", PAIRS),
        ("song-fig2", PAIRS),
        ("song-table3", PAIRS),
        ("song-fig3", PAIRS),
        ("song-fig4", PAIRS),
        ("song-fig5", PAIRS),
        ("song-fig12", PAIRS),
        ("song-table5", f"{PAIRS}, relu"),
        ("song-table7", PAIRS),
    ],
)
def test_a_kept_result_has_as_many_pairs_as_its_settings_say(name, what):
    # The authors' predictions are a single fit.
    assert fits_of(name) - {1} == {entry(SONG, name, what)}


@pytest.mark.parametrize(
    ("paper", "name", "what", "unit"),
    [
        ("Mireshghallah et al. (2022)", "mireshghallah-table4", "draws of the members", "draws"),
        ("Feldman, Frostig & Hardt (2019)", "feldman-fig1", "trials", "trials"),
        ("Feldman, Frostig & Hardt (2019)", "feldman-fig5", "trials", "trials"),
        ("Meeus et al. (2023)", "meeus-table2", "records of each selection", "records"),
        ("Long et al. (2017)", "long-table2", "attacked records", "targets"),
        (
            "Long et al. (2017)",
            "long-fig5",
            "iterations in which PDTP is measured",
            "measurements",
        ),
    ],
)
def test_a_kept_result_has_as_many_units_as_its_settings_say(paper, name, what, unit):
    found = {
        cell.ours.n
        for row in RESULTS[name].table.rows
        for cell in row.cells.values()
        if f"over {unit}" in getattr(cell.ours, "method", "")
    }
    assert found == {entry(paper, name, what)}


def test_each_record_of_long_et_al_is_attacked_twice_an_iteration():
    iterations = entry("Long et al. (2017)", "long-fig5", "iterations, each with two targets")
    found = {
        cell.ours.n
        for row in RESULTS["long-fig5"].table.rows
        for name, cell in row.cells.items()
        if row.label.startswith("record ") and name.endswith("share right")
    }
    assert found == {2 * iterations}
