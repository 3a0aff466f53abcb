"""Claims are tested as the papers say them, and settings are those of the kept results."""

import re
from dataclasses import replace

import pytest

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.papers import ITEMS, page
from privacygauge.papers.catalogue import PROTOCOLS, judgement
from privacygauge.papers.page import results_in
from privacygauge.papers.table import Cell, Row, Table
from tests.papers.made_tables import estimate
from tests.test_docs import ROOT

RESULTS = results_in(ROOT / "docs" / "results")
WEIGHTS = ("0.1", "0.3", "1")
SONG = "Song & Mittal (2021)"


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
    assert [one.word for one in claims[:6]] == [word] * 6


def test_what_is_made_under_another_name_borrows_no_verdict():
    """A figure may have few of the numbers of the table that covers it."""
    borrowed = [item for item in ITEMS if item.by]
    assert {item.name for item in borrowed} >= {"song-table1", "song-fig1", "meeus-fig1"}
    lines = page.index(RESULTS).splitlines()
    for item in borrowed:
        (line,) = (one for one in lines if item.paper in one and f"| {item.what} |" in one)
        assert line.endswith(f"| not judged by itself: {', '.join(item.by)} |")


SECTION = re.compile(
    r"(\d(\.\d){0,2}|[A-D](\.\d){0,2}|Figure \d+|footnote \d+|abstract|conclusion|discussion)"
)
"""Place of a statement in a paper; a claim may name several, with commas between them."""

OWN = {
    "feldman-fig2": "NB gains more than a scan",
    "feldman-fig3": "the bias grows with the queries|the bias falls with the points",
    "long-fig6": "some stop is below 1|a saw too",
    "long-table2": "naive Bayes leaks less|-Adult: accuracy and PDTP go together",
    "meeus-table2": "on Adult alone",
    "meeus-table3": "on Adult alone",
    "mireshghallah-claims": "names on all sides|small target: ",
    "mireshghallah-table3": "LR beats the loss",
    "mireshghallah-table4": "LR beats the loss",
    "mireshghallah-table9": "LR beats the loss",
    "mireshghallah-table11": "LR beats the loss",
    "song-fig9": "risky members lie away",
    "song-table3": "authors: classes' own|MemGuard: classes' own",
    "song-table5": "shadow model: ",
}
"""Reproduction to what is measured beside the paper's claims: shown, and counted nowhere."""


def test_every_claim_that_counts_names_the_place_that_says_it():
    for name in RESULTS:
        for claim in judgement(name).claims:
            ours = re.search(OWN.get(name, "$^"), claim.what) is not None
            assert ours == (not claim.section), (name, claim.what, claim.section)
            for place in claim.section.split(", ") if claim.section else ():
                assert SECTION.fullmatch(place), (name, claim.section)


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_a_verdict_counts_the_papers_claims_alone(name):
    """Without all that is not the paper's, or by construction, the verdict is the same."""
    result = RESULTS[name]
    known = judgement(name, result.form)
    whole = known.of(result.table)
    own = tuple(one for one in known.claims if one.section and not one.planted)
    assert replace(known, claims=own).of(result.table).word == whole.word
    for one in whole.claims:
        assert (one.word == "not claimed") == (
            not one.section and not isinstance(one.effect, Skipped)
        )


def test_no_claim_is_counted_twice_in_a_table():
    """One effect under two names would count as two findings, as would each point of a curve."""
    for name, result in RESULTS.items():
        effects = [
            one.effect
            for one in judgement(name, result.form).of(result.table).claims
            if one.section
            and isinstance(one.effect, Estimate)
            and one.effect.low < one.effect.high
            # Shares of few records are equal by chance.
            and one.effect.method != "Clopper-Pearson"
        ]
        assert len(set(effects)) == len(effects), name
    for name in ("mireshghallah-fig4", "mireshghallah-fig5"):
        assert len(judgement(name).claims) == 1


SIZED = ("deviation", "mean PDTP", "RMSE", "distance")
"""Kinds of numbers for which the margin of a rate is none, by a word of their column."""


@pytest.mark.parametrize("name", sorted(RESULTS))
def test_a_nought_agrees_with_no_printed_deviation_pdtp_or_error(name):
    """A margin for all columns let .041 agree with .027, and would let 0 agree with .0299."""
    known = judgement(name)
    for row in RESULTS[name].table.rows:
        for column, cell in row.cells.items():
            if cell.published and any(word in column for word in SIZED):
                nought = Cell(cell.published, estimate(0.0, 0.0))
                assert replace(known, same_data=("*",)).of_cell(row.label, column, nought) in (
                    "differs",
                    "by construction",
                ), (row.label, column)


@pytest.mark.parametrize("name", ["song-fig3", "song-fig10", "song-fig11"])
def test_errors_and_distances_of_a_readers_own_data_have_a_relative_margin(name):
    table = RESULTS[name].table
    known = replace(judgement(name), same_data=("*",))
    rows = [
        row
        for row in table.rows
        if "RMSE" in row.label or name == "song-fig10" or name == "song-fig11"
    ]
    printed = [
        (row.label, column, cell.published)
        for row in rows
        for column, cell in row.cells.items()
        if cell.published is not None
    ]
    assert printed
    for row, column, published in printed:
        nought = Cell(published, estimate(0.0, 0.0))
        assert known.of_cell(row, column, nought) == "differs", (row, column)


def claims_of(name):
    result = RESULTS[name]
    return {one.claim: one for one in judgement(name, result.form).of(result.table).claims}


def verdict_of(name):
    result = RESULTS[name]
    return judgement(name, result.form).of(result.table).word


def test_leads_that_names_make_are_by_construction():
    """The reference alone tells named members from others: the control fires."""
    control = RESULTS["mireshghallah-table6"].table.cell(
        "sample level, members named", "AUC, reference alone"
    )
    assert control.ours.high < 0.5
    for name in ("table6", "table9", "table10", "claims"):
        for claim, one in claims_of(f"mireshghallah-{name}").items():
            if "members named" in claim or claim.startswith("names make"):
                assert one.word in ("by construction", "not claimed", "not measured"), claim


def test_headlines_are_judged_by_their_size():
    """A lead of 7.2 points is no lead of any size."""
    for name, number in (("meeus-table2", "7.2"), ("meeus-table3", "5.2")):
        (headline,) = (one for claim, one in claims_of(name).items() if number in claim)
        assert headline.word == "the opposite"
        leads = [one for claim, one in claims_of(name).items() if "on Adult alone" in claim]
        assert [one.word for one in leads] == ["not claimed"]
    assert not any(word == "agrees" for word in numbers_of("meeus-table2"))


def numbers_of(name):
    result = RESULTS[name]
    return judgement(name, result.form).of(result.table).numbers


def test_what_a_second_reader_found_untested_is_judged():
    found = {
        ("song-table4", "footnote 6"),
        ("song-fig5", "4.2.2"),
        ("song-table6", "4.2.3"),
        ("song-table7", "3.1.3"),
        ("long-table1", "5"),
        ("long-fig1", "5.5, discussion"),
        ("meeus-table2", "7"),
        ("meeus-fig4", "1"),
        ("feldman-fig1", "Figure 1"),
    }
    for name, section in found:
        assert any(one.section == section for one in judgement(name).claims), (name, section)
    words = {
        ("song-fig5", "similar distribution"): "the opposite",
        ("song-table6", "precision is similar"): "open",
        ("song-table6", "recall is smaller"): "holds",
        ("song-fig10", "authors: furthest"): "open",
        ("song-fig10", "alike: furthest"): "the opposite",
        ("long-fig1", "about one record"): "the opposite",
        ("mireshghallah-claims", "difference of recalls"): "the opposite",
        ("mireshghallah-table2", "every metric, LR"): "open",
    }
    for (name, part), word in words.items():
        (one,) = (judged for claim, judged in claims_of(name).items() if part in claim)
        assert one.word == word, one.claim
    assert verdict_of("song-table3") == "claims: does not hold"
    assert {verdict_of(name) for name in ("song-table7", "song-fig2")} == {"open"}


def test_nothing_is_counted_that_a_paper_does_not_claim():
    """Feldman et al. name no queries but 0.104 a point; Long et al. size nobody's own effect."""
    assert not any("5,200" in one.what for one in judgement("feldman-fig1").claims)
    assert not any("5,200" in one.what for one in judgement("feldman-fig2").claims)
    for name in ("long-fig7", "long-fig8"):
        assert not judgement(name).claims
    assert not any("attack" in one.what for one in judgement("song-fig2").claims)
    slopes = RESULTS["feldman-fig4"].table
    assert all(cell.published is None for row in slopes.rows for cell in row.cells.values())


def test_where_one_row_is_judged_of_two_networks_the_settings_say_so():
    """Song & Mittal's Tables 2, 3 and 5 and Figure 10 are of one network, ours of two."""
    for name in ("song-table5", "song-fig10"):
        (told,) = (
            one
            for one in PROTOCOLS[SONG]
            if one.about(name) and one.what == "undefended network of Purchase100"
        )
        assert told.same == "no"
    for name in ("song-fig7", "song-fig8", "song-fig9"):
        assert any(
            one.about(name) and one.what == "undefended network" and one.same == "no"
            for one in PROTOCOLS[SONG]
        )
    assert all(
        any(one.about(item.name) and one.what.startswith("optimiser") for one in PROTOCOLS[SONG])
        or item.by
        or item.name in ("song-fig9", "song-table4-defences")
        for item in ITEMS
        if item.paper == SONG
    )


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
