"""What reports of audits of a classifier say: grades, words, tables, numbers."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from privacygauge.classifiers.audit.options import METRICS
from privacygauge.classifiers.audit.result import Audit
from privacygauge.cli.output import Limit, exceeded_limits
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.direction import InvertedAttack
from privacygauge.evaluate.headline import exposure
from privacygauge.report.grades import GRADES, LARGE, MODERATE, NONE, SMALL, UNTOLD, grade_of
from privacygauge.report.values import Verdict
from tests.report.example import HOSTILE, example
from tests.report.test_document import ESTIMATE, strict
from tests.report.test_html import Page
from tests.thorough import times

pytestmark = pytest.mark.usefixtures("undrawn")

ONE = (("confidence", "", "per-class", 1.0),)


def verdict(findings: Audit) -> Verdict:
    return findings.report().verdict


def said(found: Verdict) -> str:
    return " ".join((found.headline, *found.sentences, found.unsaid, *found.advice))


@pytest.fixture(scope="module")
def findings() -> Audit:
    return example()


@pytest.fixture(scope="module")
def text(findings: Audit) -> str:
    return findings.to_html()


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


@pytest.fixture(scope="module")
def document(findings: Audit) -> dict:
    return strict(findings.to_json())


@pytest.mark.parametrize(
    ("shift", "grade"), [(0.0, NONE), (0.2, SMALL), (0.4, MODERATE), (1.1, LARGE)]
)
def test_grades_of_gaussian_games(shift, grade):
    # Of the average alone: within a class, where records are as hard, these attacks go further.
    found = example(4000, shift=shift, attacks=ONE)
    assert verdict(replace(found, questions=None)).grade == grade
    assert GRADES.index(verdict(found).grade) >= GRADES.index(grade)


def test_numbers_and_chance_are_in_the_first_sentences(findings):
    found = verdict(findings)
    assert "80.2%" in found.headline
    assert "guessing gives 50%" in found.sentences[0]
    assert any("With 95% confidence" in s and "9 attacks" in s for s in found.sentences)


@pytest.mark.slow
def test_a_few_exposed_records_raise_the_grade():
    findings = example(40_000, shift=0.0, attacks=ONE, outliers=0.02)
    assert grade_of(findings.headline.accuracy.low) == SMALL
    found = verdict(findings)
    assert found.grade == MODERATE
    assert "0.1% of the non-members" in found.sentences[1]
    assert "one step higher" in found.sentences[1]


def test_a_rate_that_is_not_resolved_raises_nothing():
    findings = example(2000, shift=0.0, attacks=ONE, outliers=0.04)
    found = exposure(findings.evaluations)
    assert found is None or found.rate.fpr == 0.01
    rates = [replace(r, resolved=False) for r in findings.evaluations[0].tpr_at_fpr]
    assert exposure((replace(findings.evaluations[0], tpr_at_fpr=tuple(rates)),)) is None


def test_the_gravest_grade_is_not_raised():
    assert verdict(example(4000, shift=3.0, attacks=ONE)).grade == GRADES[-1]


@pytest.mark.slow
def test_chance_is_not_raised():
    for seed in range(times(20)):
        findings = example(2000, shift=0.0, seed=seed)
        assert exposure(findings.evaluations) is None
        if findings.headline.accuracy.low <= 0.5:
            assert verdict(replace(findings, questions=None)).grade == NONE


def test_scores_that_separate_are_not_called_no_leak():
    # The guesses of an attack whose threshold does not carry over say nothing; its scores do.
    honest = example(4000, shift=1.0, attacks=ONE)
    silent = example(4000, shift=0.0, attacks=ONE).headline
    found = verdict(replace(honest, headline=silent, questions=None))
    assert found.grade == SMALL
    assert any("hindsight" in s for s in found.sentences)


def test_no_leak_found_says_what_could_have_been_missed():
    audit = example(shift=0.0)
    told = said(verdict(audit))
    assert "could have missed" in told
    assert f"{audit.headline.reached.accuracy.high:.1%}" in told
    assert "safe" not in told.lower()


def test_nothing_is_ever_called_safe():
    for shift in (0.0, 0.2, 0.4, 1.2):
        assert "safe" not in said(verdict(example(1000, shift=shift))).lower()


@pytest.mark.slow
def test_advice_fits_the_audit():
    few = example(400, shift=1.0)
    many = example(40_000, shift=1.0)
    assert any("Reduce overfitting" in line for line in verdict(few).advice)
    assert any("at least 10,000 non-members" in line for line in verdict(few).advice)
    assert not any("at least 10,000 non-members" in line for line in verdict(many).advice)
    assert not any("Reduce overfitting" in line for line in verdict(example(shift=0.0)).advice)


def test_names_from_the_data_stay_on_their_line(findings):
    table = findings.slices
    hostile = replace(table.announced[0], group="x\n\x1b[2Jno leak found")
    found = verdict(replace(findings, slices=replace(table, slices=(hostile,))))
    assert all(s.isprintable() for s in found.sentences)
    assert not any("\x1b" in s or "\n" in s for s in found.sentences)


def test_a_bound_on_epsilon_above_0_is_a_leak_even_where_guesses_are_near_chance():
    findings = example(1000, shift=0.0)
    assert verdict(findings).grade == NONE
    epsilon = replace(findings.headline.epsilon, value=0.4, low=0.2)
    found = verdict(replace(findings, headline=replace(findings.headline, epsilon=epsilon)))
    assert found.grade == SMALL
    assert any("epsilon is at least 0.20" in sentence for sentence in found.sentences)


def test_attacks_the_wrong_way_round_leave_nothing_to_be_told():
    findings = example(1000, shift=0.0)
    turned = (InvertedAttack("confidence", findings.evaluations[0].auc),)
    odd = replace(findings, headline=replace(findings.headline, inverted=turned)).report()
    assert odd.verdict.grade == UNTOLD
    assert odd.verdict.scale == (UNTOLD,)
    assert "numbers of this audit say neither" in odd.verdict.unsaid
    assert len(exceeded_limits(odd, [Limit("auc", 1.0)])) == 1


def test_the_gate_names_what_the_report_measures(findings):
    report = findings.report()
    gated = [name for m in report.measures if m.gate for name in m.numbers]
    assert sorted(gated) == sorted(METRICS)
    numbers = report.numbers
    every = findings.evaluations
    assert report.main.name == "accuracy"
    assert numbers["accuracy"] == max(e.accuracy.value for e in every)
    assert numbers["accuracy.low"] == findings.headline.accuracy.low
    # Corrected for the choice among attacks, as the accuracy's limit is.
    assert numbers["auc.low"] == findings.headline.auc.low < max(e.auc.low for e in every)
    assert numbers["auc"] == max(e.auc.value for e in every)
    assert numbers["advantage"] == max(e.advantage.value for e in every)
    assert numbers["tpr@0.001"] == max(e.tpr_at_fpr[2].estimate.value for e in every)
    assert numbers["epsilon"] == numbers["epsilon.low"] == findings.headline.epsilon.low
    assert numbers["risk"] == findings.risk.mean.value


def test_what_was_not_computed_passes_no_limit(findings):
    report = findings.report()
    missing = Skipped("risk", "no shadow")
    bare = replace(
        report,
        measures=tuple(
            replace(x, found=missing) if x.name == "risk" else x for x in report.measures
        ),
    )
    for name in ("risk", "risk.low"):
        (line,) = exceeded_limits(bare, [Limit(name, 1.0)])
        assert line == f"{name} was not computed, so its limit cannot be checked"


def test_the_keys_of_the_document(document):
    assert {"game", "headline", "attacks", "risk", "slices", "facts"} <= set(document)
    assert document["kind"] == "classifier"
    assert set(document["headline"]) >= {"accuracy", "epsilon", "epsilon_attack", "epsilon_limit"}
    assert document["headline"]["epsilon"]["high"] is None
    assert set(document["skipped"][0]) == {"name", "reason"}
    assert len(document["attacks"]) == 9


def test_every_attack_has_every_number(document):
    for attack in document["attacks"]:
        assert set(attack) == {
            "name", "variant", "thresholds", "rule", "accuracy", "advantage", "best_accuracy",
            "auc", "tpr_at_fpr", "precision", "recall", "false_positive_rate", "ppv", "epsilon",
            "true_positives", "false_positives", "n_in", "n_out", "notes",
        }  # fmt: skip
        for key in ("accuracy", "advantage", "best_accuracy", "auc", "recall", "epsilon"):
            assert set(attack[key]) == ESTIMATE
        assert list(attack["tpr_at_fpr"]) == ["0.1", "0.01", "0.001", "0.0001"]
        for rate in attack["tpr_at_fpr"].values():
            assert set(rate) == ESTIMATE | {"resolved", "at_threshold", "realised_fpr"}
        assert list(attack["ppv"]) == ["0.01", "0.1", "0.5"]


def test_numbers_are_those_of_the_findings(findings, document):
    e = findings.evaluations[6]
    attack = document["attacks"][6]
    assert attack["accuracy"]["value"] == e.accuracy.value
    assert attack["tpr_at_fpr"]["0.001"]["low"] == e.tpr_at_fpr[2].estimate.low
    assert attack["true_positives"] == e.true_positives
    risk = document["risk"]
    assert set(risk) == {
        "estimator", "mean", "rmse", "rmse_of_bins", "noise", "bins", "cuts", "excess", "classes",
        "correlation", "notes",
    }  # fmt: skip
    assert risk["noise"] == findings.risk.reliability.noise
    assert [row["cut"] for row in risk["cuts"]] == [1.0, 0.9, 0.8, 0.7, 0.6, 0.5]


def test_undecodable_names_are_written(findings):
    origin = replace(findings.origin, command="privacygauge \udcff.npz \x00", warnings=("\ud800",))
    text = replace(findings, origin=origin).to_json()
    assert text.isascii()
    assert strict(text)["command"] == origin.command


def test_the_document_names_the_worst_records_and_holds_no_scores_or_contents(findings):
    secret = np.array([f"secret {i}" for i in range(2000)], dtype=object)
    records = replace(findings.records, contents={"diagnosis": secret})
    text = replace(findings, records=records).to_json()
    assert not re.search(r"secret \d", text)
    assert len(set(re.findall(r"patient-\d+", text))) == 4  # six ids of ten are hostile ones


def test_hostile_names_are_text(page, text):
    shown = " ".join(page.text)
    for hostile in HOSTILE[:4]:
        assert hostile in shown
    assert "<i>site</i>" in shown
    assert '<b>rare</b> & "odd"' in shown
    assert "<script" not in text
    assert "onerror" not in " ".join(name for _, name, _ in page.attributes)
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "49" not in re.findall(r"<bdi[^>]*>([^<]*)</bdi>", text)  # {{ 7 * 7 }} stays as it is


@pytest.mark.slow
@pytest.mark.usefixtures("drawn")
def test_hostile_attacks_and_words_are_text(findings):
    bad = "</desc></svg><script>alert(1)</script>$x_"
    odd = replace(findings.evaluations[6], name=bad)
    words = dict.fromkeys(("name", "question", "adversary", "secret", "thresholds"), bad)
    evil = replace(
        findings,
        evaluations=(odd,),
        headline=replace(findings.headline, attack=odd, epsilon_attack=bad),
        game=replace(findings.game, **words),
        facts=(replace(findings.facts[0], label=bad),),
        risk=replace(findings.risk, notes=(bad,), estimator=bad),
    )
    text = evil.to_html()
    assert "<script" not in text
    Page(text)


def test_the_order_is_that_of_the_reader(text):
    order = [
        'id="verdict"', 'id="numbers"', 'id="warnings"', 'id="game"', 'id="attacks"',
        'id="curves"', 'id="risk"', 'id="slices"', 'id="records"', 'id="facts"', 'id="left-out"',
        'id="glossary"', 'id="provenance"',
    ]  # fmt: skip
    places = [text.index(x) for x in order]
    assert places == sorted(places)


def test_numbers_stand_with_their_intervals(page):
    shown = re.sub(r"\s+", " ", " ".join(page.text))
    assert "80.2% 77.6 to 82.5" in shown
    assert "MOVER of Wilson limits, 95%" in shown
    assert "\N{DAGGER}" in shown
    assert "2,000 records are shown" in shown


def test_contents_are_shown_only_where_asked_for(findings, text):
    assert "their contents are not in this file" in text
    secret = np.array([f"secret {i}" for i in range(2000)], dtype=object)
    records = replace(findings.records, contents={"<diagnosis>": secret})
    shown = replace(findings, records=records).to_html()
    assert "secret 0" in shown
    assert "&lt;diagnosis&gt;" in shown
    assert "secret 0" not in text


@pytest.mark.slow
def test_a_perfect_attack_and_one_attack_render():
    Page(example(60, shift=12.0, attacks=ONE).to_html())
    Page(example(60, shift=0.0, attacks=ONE).to_html())


def printed(findings: Audit, width: int, *, colour: bool = False) -> str:
    file = io.StringIO()
    console = Console(
        file=file, width=width, force_terminal=colour, color_system="truecolor" if colour else None
    )
    console.print(findings.terminal_summary())
    return file.getvalue()


def test_eighty_columns_hold_every_number_whole(findings):
    text = printed(findings, 80)
    assert text.startswith("Large leak")
    assert max(map(len, text.splitlines())) <= 80
    for e in findings.evaluations:
        assert e.title in text
    assert "80.2% (78.4 to 81.9)" in text
    assert "8.50%\N{DAGGER}" in text
    assert "Epsilon is at least" in text
    assert "too few non-members to tell" in text


@pytest.mark.parametrize("width", [40, 60, 200])
def test_other_widths_do_not_overflow(findings, width):
    text = printed(findings, width)
    assert max(map(len, text.splitlines())) <= width
    assert "80.2%" in text
    assert "8.50%\N{DAGGER}" in text
    assert "0.878" in text.split("AUC")[1]
    assert "\N{HORIZONTAL ELLIPSIS}" not in text


def test_names_are_not_markup_and_send_no_control_codes(findings):
    odd = replace(findings.evaluations[0], name="[red]x[/red]\x1b[2J", variant="[/]")
    origin = replace(
        findings.origin,
        warnings=("[bold]\x1b]0;title\x07 line\nline",),
        skipped=(Skipped("[link=x]", "[/nothing]"),),
    )
    evil = replace(findings, origin=origin, evaluations=(odd, *findings.evaluations[1:]))
    text = printed(evil, 120)
    assert "[red]x[/red]" in text
    assert "[bold]" in text
    assert "[/nothing]" in text
    assert "\x1b" not in text
    assert "\x1b[2J" not in printed(evil, 120, colour=True)


def test_the_summary_is_plain_text(findings):
    text = findings.summary()
    assert text.startswith("Large leak")
    assert "modified-entropy (per-class)" in text
    assert "\N{DAGGER}" in text
    assert "Not done: target-attention" in text
    assert "\x1b" not in text
