"""The report on worst-case records: honest words, a sound page, no names that steer it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from privacygauge.claims.worst_case_audit import report as plots
from privacygauge.claims.worst_case_audit.command import METRICS
from privacygauge.claims.worst_case_audit.verdict import grade_of_group, grade_of_training, verdict
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.worst_case import AttackedTargets
from privacygauge.releases.line import line_of
from privacygauge.report import render
from privacygauge.report.grades import LARGE, MODERATE, SMALL
from privacygauge.report.grades import NONE as NO_LEAK
from privacygauge.report.numbers import DASH
from privacygauge.report.values import Severity
from tests.audits.example_worst_case import (
    EARLY,
    NONE,
    PRIVATE,
    REGULARISED,
    compared,
    example,
    group,
    training,
)
from tests.report.test_html import Page

pytestmark = pytest.mark.usefixtures("undrawn")

BAD = '</desc></svg><script>alert(1)</script>$x_\u202e\x1b[31m"'


@pytest.mark.parametrize(
    ("at", "area", "grade"),
    [
        ((0.10, 0.01), 0.5, NO_LEAK),
        ((0.14, 0.05), 0.5, NO_LEAK),  # the lower ends are those of guessing
        ((0.15, 0.01), 0.5, SMALL),
        ((0.10, 0.01), 0.6, SMALL),  # only the order of scores tells
        ((0.25, 0.01), 0.5, MODERATE),
        ((0.45, 0.01), 0.5, LARGE),
        ((0.10, 0.145), 0.5, MODERATE),  # ten times as many as guessing at 1%: a step higher
        ((0.10, 0.13), 0.5, SMALL),
    ],
)
def test_grades_follow_from_lower_ends(at, area, grade):
    assert grade_of_group(group("canaries", at, area)) == grade


def test_a_leak_that_low_false_alarms_hide_is_graded_by_the_ranking():
    hidden = compared(training("a", (0.1, 0.01), (0.1, 0.01), area=0.9))
    report = hidden.report()
    assert report.verdict.grade == LARGE
    assert sum("The ranking decided about" in x for x in report.verdict.sentences) == 2
    assert line_of(hidden.to_json(), "model").number.name == "auc-left"
    assert not any("The ranking decided" in x for x in verdict(example()).sentences)


def test_rates_of_which_too_few_records_tell_count_only_alone():
    found = group("canaries", (0.1, 0.9))
    best = [
        replace(a, corrected=(a.corrected[0], replace(a.corrected[1], resolved=False)))
        for a in found.attacks
    ]
    assert grade_of_group(replace(found, attacks=tuple(best))) == NO_LEAK
    assert grade_of_group(group("canaries", (0.1, 0.9), told=False)) == LARGE


def test_the_graver_group_gives_a_training_its_grade():
    assert grade_of_training(training("a", (0.1, 0.01), (0.5, 0.3))) == LARGE
    assert grade_of_training(training("a", (0.5, 0.3), (0.1, 0.01))) == LARGE
    assert grade_of_training(PRIVATE) == NO_LEAK


def test_the_first_sentence_says_whether_the_order_changes_and_who_is_at_risk():
    first = verdict(example()).sentences[0]
    assert first == (
        "The order of the trainings changes with the worst case: regularised gives less away than "
        "early (epoch 4) by ordinary records and more by canaries; canaries stay at risk with "
        "regularised and early (epoch 4), and no risk was shown with private."
    )
    same = verdict(compared(NONE, EARLY)).sentences[0]
    assert "in the same order, as far as intervals at 1% false alarms tell them apart" in same
    assert same.endswith("canaries stay at risk with every defence.")
    safe = verdict(compared(NONE, PRIVATE)).sentences[0]
    assert safe.endswith("no defence was shown to leave canaries at risk.")


def test_intervals_that_touch_turn_nothing_round():
    close = training("close", (0.66, 0.46), (0.3, 0.2))
    assert example().changed_places == ((REGULARISED, EARLY),)
    assert compared(NONE, close, EARLY).changed_places == ()


@pytest.mark.parametrize(
    ("trainings", "headline"),
    [
        (
            (NONE,),
            "Large worst-case leak: 70.0% of the canaries and 40.0% of ordinary records are found "
            "at 1% false alarms",
        ),
        (
            (training("no defence", (0.1, 0.01), (0.3, 0.01)),),
            "Moderate leak, shown for ordinary records but not for canaries: 1.0% of them are "
            "found at 1% false alarms",
        ),
        (
            (PRIVATE,),
            "No leak found: no attack found canaries clearly more often than guessing",
        ),
        (
            (PRIVATE, PRIVATE),
            "No leak found, with a defence or without: no attack found canaries clearly more often "
            "than guessing",
        ),
        (
            (NONE, training("weak", (0.9, 0.68), (0.6, 0.4))),
            "The defence does not protect canaries significantly: 70.0% of them are found without "
            "one at 1% false alarms",
        ),
        (
            (NONE, training("weak", (0.9, 0.68), (0.6, 0.4)), NONE),
            "None of the defences protects canaries significantly: 70.0% of them are found without "
            "one at 1% false alarms",
        ),
        (
            (NONE, REGULARISED, EARLY),
            "Large worst-case leak left: with early (epoch 4), the best of 2, 40.0% of the "
            "canaries and 35.0% of ordinary records are found at 1% false alarms",
        ),
        (
            (NONE, EARLY, PRIVATE),
            "No leak found with private; without a defence 70.0% of canaries are found at 1% false "
            "alarms",
        ),
    ],
)
def test_headlines(trainings, headline):
    assert verdict(compared(*trainings)).headline == headline


def test_what_is_left_out_of_the_verdict_is_told():
    found = verdict(example())
    text = " ".join(found.sentences)
    assert "Canaries are 50 of the records that were given a wrong label" in text
    assert "with no defence and regularised: there the average says less" in text
    assert "right about 50.0% of the ordinary records that they were not trained on, 70.0%" in text
    assert "private comes with a guarantee for every record" in text
    assert "epsilon 2.01 at delta 1.0e-05" in text
    assert "the share of 1.0% lies between 0.0% and 5.0%" in text
    assert "48 numbers that are compared" in text
    assert found.unsaid.startswith("It does not say that no record is more exposed than a canary")


def test_advice_follows_what_was_found():
    assert verdict(example()).advice[0].startswith("Of these, train with private")
    held = verdict(compared(NONE, EARLY)).advice
    assert "It is not enough by itself" in held[0]
    assert held[1].startswith("Set DP-SGD beside them")
    useless = verdict(compared(NONE, replace(NONE, title="again"))).advice
    assert useless[0].startswith("Do not rely on any of these defences")
    assert verdict(compared(NONE)).advice[0].startswith("Compare ways to train")
    safe = replace(PRIVATE, title="no defence")
    assert verdict(compared(safe)).advice[0].startswith("Release without a defence")
    assert verdict(compared(PRIVATE)).advice[0].startswith("Release with private, as far as")


def test_of_equally_private_trainings_the_most_accurate_is_the_best():
    other = training("other", (0.11, 0.01), (0.12, 0.02), accuracy=0.55)
    assert compared(NONE, PRIVATE, other).best is other


def test_the_document_holds_every_number_and_no_record():
    found = json.loads(example().to_json())
    assert found["fpr"] == 0.01
    assert found["best"] == "private"
    assert found["changed_places"] == [["regularised", "early (epoch 4)"]]
    none = found["trainings"][0]
    assert none["targets"][0]["highest"]["0.01"]["value"] == pytest.approx(0.7)
    assert none["targets"][0]["highest"]["0.01"]["attack"] == "stronger"
    assert none["targets"][1]["highest_auc"]["low"] == pytest.approx(0.86)
    assert found["trainings"][3]["claim"] == {
        "epsilon": 2.001,
        "delta": 1e-5,
        "accountant": "RDP (PrivacyGauge)",
    }
    assert found["verdict"]["headline"] == verdict(example()).headline


def test_a_register_reads_it():
    line = line_of(example().to_json(), "model")
    assert line.kind == "worst case"
    assert line.severity is Severity.NOTHING
    assert line.number.name == "tpr-left"
    assert line.measures["tpr-left"] == pytest.approx(0.01)
    assert line.measures["tpr"] == pytest.approx(0.6)
    assert line.worst.ids == ()
    assert "private" in line.audited
    assert line_of(compared(NONE).to_json(), "model").severity is Severity.GRAVE


def test_files_have_a_line_for_every_training_and_attack():
    files = render.files(example().report())
    rows = list(csv.DictReader(io.StringIO(files["trainings.csv"].decode())))
    assert [row["training"] for row in rows][:2] == ["no defence", "regularised"]
    assert float(rows[0]["canaries_tpr@0.01_low"]) == pytest.approx(0.66)
    assert rows[3]["epsilon"] == "2.001"
    attacks = list(csv.DictReader(io.StringIO(files["attacks.csv"].decode())))
    assert len(attacks) == 4 * 2 * 2 * 2
    assert {row["attack"] for row in attacks} == {"weaker", "stronger"}


@pytest.mark.parametrize("width", [80, 50])
def test_the_terminal_shows_every_training(width):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(compared(NONE, replace(EARLY, title="[red]x")).terminal_summary())
    text = console.export_text()
    assert "[red]x" in text
    assert "70.0%" in text
    assert "Not done: broken: training failed" in text
    assert max(map(len, text.splitlines())) <= width
    assert ("70.0% (66.0 to 74.0) " in text) == (width == 80)


def test_a_dagger_marks_what_too_few_records_tell():
    few = compared(training("no defence", (0.9, 0.7), (0.6, 0.4), told=False))
    assert few.fpr == 0.1
    assert "\N{DAGGER}" in few.summary()
    assert "\N{DAGGER}" not in example().summary()
    assert few.report().cards[0].doubtful
    console = Console(width=80, record=True, file=io.StringIO())
    for found in (few, example()):
        console.print(found.terminal_summary())
        told = "too few records to tell: fewer than 10" in " ".join(console.export_text().split())
        assert told == (found is few)


@pytest.mark.slow
def test_the_plots_show_both_groups_of_every_training():
    pytest.importorskip("matplotlib")
    ax = plots.plot_accuracy(example())
    hollow = [x for x in ax.get_lines() if x.get_markerfacecolor() == "none"]
    assert [x.get_ydata()[0] for x in hollow] == pytest.approx([40, 20, 35, 2])
    groups = plots.plot_groups(example())
    labels = [x.get_text() for x in groups.get_yticklabels()]
    assert labels == ["no defence", "regularised", "early (epoch 4)", "private"]
    assert groups.get_legend_handles_labels()[1] == ["canaries", "ordinary records"]


@pytest.mark.slow
@pytest.mark.usefixtures("drawn")
def test_the_page_compares_and_escapes_names():
    text = compared(NONE, replace(EARLY, title=BAD), replace(PRIVATE, title="p" * 300)).to_html()
    assert "<script" not in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    page = Page(example().to_html())
    shown = " ".join(page.text)
    for phrase in (
        "Trainings compared",
        "worse than average",
        "leaves least",
        "gives less away than",
        "mind this",
        "epsilon 2.01",
        "people.csv sha256:00ff",
    ):
        assert phrase in shown
    assert {"fig-groups", "fig-accuracy"} <= set(page.values("id"))


@pytest.mark.slow
def test_a_page_on_one_training_compares_nothing():
    text = compared(NONE).to_html()
    page = Page(text)
    assert "fig-accuracy" not in page.values("id")
    shown = " ".join(page.text)
    assert "Canaries and ordinary records" in shown
    assert "change places" not in shown


def test_an_attack_that_canaries_are_too_few_for_is_shown_for_the_others():
    canaries = replace(NONE.found.canaries, attacks=NONE.found.canaries.attacks[1:])
    fewer = replace(NONE, found=replace(NONE.found, canaries=canaries))
    _, each, _ = compared(fewer).report().sections
    (table,) = each.blocks[1].blocks
    assert [row.cells[0] for row in table.full] == ["stronger", "weaker"]
    assert table.full[1].cells[1::2] == (DASH, DASH, DASH)
    assert DASH not in table.full[0].cells
    assert "stronger" in compared(fewer).to_html()


def test_a_release_is_held_to_the_least_private_defence_and_to_the_best():
    measures = {m.name: m for m in example().report().measures if m.gate}
    assert set(METRICS) == {end for name in measures for end in (name, f"{name}.low")}
    numbers = example().report().numbers
    assert numbers["tpr"] == numbers["tpr@0.01"] == pytest.approx(0.6)
    assert numbers["tpr.low"] == pytest.approx(0.56)
    assert numbers["tpr@0.1"] == pytest.approx(0.8)
    assert numbers["tpr@0.001"] is None
    assert numbers["auc"] == pytest.approx(0.8)
    assert numbers["auc.low"] == pytest.approx(0.76)
    assert (numbers["tpr-left"], numbers["auc-left"]) == pytest.approx((0.01, 0.5))
    assert compared(NONE).report().numbers["tpr"] == pytest.approx(0.7)


def turned(found: AttackedTargets) -> AttackedTargets:
    """Return an attack whose scores are higher for non-members."""
    return replace(found, corrected_auc=replace(found.corrected_auc, value=0.3, low=0.2, high=0.4))


def test_a_defence_whose_attacks_are_reversed_keeps_no_limit():
    canaries = PRIVATE.found.canaries
    reversed_ = replace(canaries, attacks=tuple(map(turned, canaries.attacks)))
    hides = replace(PRIVATE, found=replace(PRIVATE.found, canaries=reversed_))
    measures = {m.name: m for m in compared(NONE, EARLY, hides).report().measures}
    assert isinstance(measures["tpr"].found, Skipped)
    assert measures["tpr"].found.reason == "attacks take members for non-members with private"
