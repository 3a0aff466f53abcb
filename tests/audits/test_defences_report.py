"""The report on defences: a sound page, honest words, no names that steer it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from privacygauge.claims.defence_audit import sections as plots
from privacygauge.claims.defence_audit.audit import DefenceAudit
from privacygauge.claims.defence_audit.command import METRICS
from privacygauge.claims.defence_audit.verdict import adversary, grade_of_left, verdict
from privacygauge.cli.output import exceeded_limits, parsed_limits
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.rules import Cut
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.defences import AttackedDefence, ComparedDefence, JudgedDefence
from privacygauge.evaluate.direction import InvertedAttack
from privacygauge.evaluate.evaluation import Evaluation, evaluate
from privacygauge.evaluate.headline import BestAttack
from privacygauge.releases.line import line_of
from privacygauge.report.grades import LARGE, NONE, SMALL, UNTOLD
from privacygauge.report.numbers import percent
from privacygauge.report.values import Origin, Severity
from tests.audits.example_defences import example
from tests.report.test_html import Page

pytestmark = pytest.mark.usefixtures("undrawn")

BAD = '</desc></svg><script>alert(1)</script>$x_\u202e\x1b[31m"'


@pytest.fixture(scope="module")
def text() -> str:
    return example().to_html()


def reached(value: float, half: float = 0.02, area: float | None = None) -> BestAttack:
    """Return an attack that reaches so much."""
    a = value if area is None else area
    return BestAttack(
        "one",
        Estimate(value, value - half, value + half, 0.95, 400, "made up"),
        "one",
        Estimate(a, a - half, a + half, 0.95, 400, "made up"),
    )


def with_left(*left: BestAttack, none: float = 0.8):
    """Return findings in which so much is left with each of the three defences."""
    f = example()
    beside = zip(f.compared, left, strict=True)
    compared = tuple(replace(c, undone=False, adaptive=x, left=x) for c, x in beside)
    return with_none(replace(f, compared=compared), reached(none))


def with_none(f, none: BestAttack):
    """Return findings in which so much is reached without a defence, audited alone or beside."""
    alone = replace(f.undefended, accuracy=none.accuracy, auc=none.auc)
    return replace(f, none=none, undefended=alone)


def test_the_best_is_what_leaves_least_and_of_equals_the_mildest():
    f = with_left(reached(0.7), reached(0.6), reached(0.6))
    assert f.best.title == "label-only"
    moved = {c.title: c.judged.distance.value for c in f.compared}
    assert moved["label-only"] < moved["temperature (T = 5)"]


def test_headline_and_grade_follow_what_is_left():
    f = with_left(reached(0.7), reached(0.75), reached(0.79))
    found = verdict(f)
    assert found.grade == LARGE
    assert found.headline == (
        "Large leak left: with rounding (1 digit), the best of 3, guesses about who was in the "
        "data are still right 70.0% of the time"
    )
    useless = with_left(*[reached(0.79)] * 3)
    assert verdict(useless).headline == (
        "None of the defences helped significantly: guesses are right 80.0% of the time without one"
    )
    assert "Do not rely on any of these defences." in verdict(useless).advice
    cured = with_left(reached(0.51), reached(0.7), reached(0.7))
    few = verdict(cured)
    assert few.grade == UNTOLD
    assert few.headline == (
        "Cannot be told: rounding (1 digit) helps, but so few records may hide a moderate leak "
        "behind it"
    )
    assert "at least 78.0% of the time, with it at most 53.0%" in few.sentences[0]
    assert any("release answers behind rounding (1 digit)" in line for line in few.advice)
    cured = replace(cured, n_in=5000, n_out=5000)
    assert verdict(cured).grade == NONE
    assert verdict(cured).headline.startswith("No leak found with rounding (1 digit); ")
    nothing = with_left(*[reached(0.5)] * 3, none=0.51)
    enough = replace(nothing, n_in=2000, n_out=2000)
    assert verdict(enough).headline.startswith("No leak found, with a defence or without")
    assert "too few records" in verdict(replace(nothing, n_in=40, n_out=40)).headline


def test_an_order_that_tells_members_is_a_leak_though_guesses_are_not():
    assert grade_of_left(reached(0.51, area=0.51)) == NONE
    assert grade_of_left(reached(0.51, area=0.58)) == SMALL
    assert grade_of_left(reached(0.7, area=0.7)) == LARGE
    # The AUC of MemGuard's answers for a learned attack whose threshold does not carry over.
    assert grade_of_left(reached(0.511, area=0.797)) == LARGE


def test_page_register_and_limits_follow_the_ranking_where_it_decides():
    f = with_left(*[reached(0.511, area=0.797)] * 3)
    report = f.report()
    assert report.verdict.grade == LARGE
    assert report.verdict.headline.endswith(
        "79.7% of the pairs of a member and a non-member are ranked correctly, which guesses hide"
    )
    assert any("The grade follows from the ranking." in x for x in report.verdict.sentences)
    assert report.verdict.gauge.rule.startswith("The ranking decided")
    line = line_of(f.to_json(), "memguard")
    assert line.number.value == pytest.approx(1 - np.sqrt((1 - 0.797) / 2))
    assert "best threshold" in line.number.label
    for metric in ("accuracy", "accuracy-left"):
        limits = parsed_limits([f"{metric}=0.6"], METRICS)
        assert len(exceeded_limits(report, limits)) == 1
    left = json.loads(f.to_json())["defences"][0]["left"]
    assert left["decided"] == "ranking"
    assert left["reached"]["value"] == line.number.value
    guessed = with_left(*[reached(0.7)] * 3).report()
    assert guessed.verdict.gauge.rule.startswith("The guesses decided")


def test_a_defence_that_cannot_be_told_apart_and_changes_less_is_named():
    f = with_left(reached(0.61), reached(0.6), reached(0.7))
    assert any("rounding (1 digit) leaves 61.0%" in x for x in verdict(f).sentences)
    ranked = with_left(reached(0.61, area=0.75), reached(0.6), reached(0.7))
    assert not any("rounding (1 digit) leaves" in x for x in verdict(ranked).sentences)
    other = with_left(reached(0.6, area=0.65), reached(0.61, area=0.56), reached(0.7))
    assert any("label-only leaves less of that" in x for x in verdict(other).sentences)


def test_whoever_ignores_a_defence_counts_where_that_goes_further():
    f = example()
    c = f.compared[0]
    surprised = reached(0.75)
    ignored = replace(c, non_adaptive=surprised, left=surprised)
    assert adversary(ignored) == "an attacker who ignores it"
    found = verdict(replace(f, none=reached(0.9), compared=(ignored,)))
    assert any("free to ignore it" in x for x in found.sentences)
    assert not f.helps(replace(c, left=f.none))


def test_where_nothing_helps_the_grade_is_that_of_the_undefended_model():
    """The least of several wide intervals holds chance: that is luck, and no defence."""
    none = reached(0.63, 0.07)
    f = with_none(with_left(*[reached(x, 0.07) for x in (0.55, 0.6, 0.61)]), none)
    assert not f.helps(f.best)
    found = verdict(f)
    assert found.grade == grade_of_left(none) != NONE
    assert "None of the defences helped" in found.headline
    assert found.advice[0] == "Do not rely on any of these defences."
    assert not any("Release" in line for line in found.advice)


def test_what_can_be_undone_is_never_recommended():
    f = example()
    (temperature,) = (c for c in f.compared if c.undone)
    assert temperature.judged.name == "temperature"
    assert temperature.left.accuracy.low >= f.none.accuracy.low
    only = replace(f, compared=(temperature,))
    found = verdict(only)
    assert found.headline.startswith("The defence did not help significantly")
    assert any("protects nothing" in sentence for sentence in found.sentences)


def test_the_owner_of_memguard_is_told_to_answer_alike():
    f = example()
    guard = replace(f.compared[0].judged, name="memguard")
    found = verdict(replace(f, compared=(replace(f.compared[0], judged=guard),)))
    assert any("give the same answer whenever the same record" in x for x in found.advice)
    assert not any("MemGuard" in x for x in verdict(f).advice)


def test_the_page_shows_every_defence(text):
    page = Page(text)
    shown = " ".join(page.text)
    for phrase in ("leaves least", "can be undone", "Non-adaptive", "Mean change"):
        assert phrase in shown
    for c in example().compared:
        for best in (c.adaptive, c.non_adaptive):
            assert percent(best.accuracy.value) in shown
    # No plot over an accuracy that no defence changes.
    assert "fig-accuracy" not in page.values("id")


@pytest.mark.slow
def test_a_defence_that_costs_accuracy_gets_a_plot_of_it():
    f = example()
    c = f.compared[0]
    cheaper = Estimate(0.3, 0.2, 0.4, 0.95, 150, "made up")
    label = "accuracy on non-members with the defence"
    costs = tuple(replace(x, estimate=cheaper) if x.label == label else x for x in c.judged.costs)
    changed = replace(c, judged=replace(c.judged, costs=costs))
    assert [plot.name for plot in plots.cost_plots(f)] == ["trade-off"]
    found = plots.cost_plots(replace(f, compared=(changed, *f.compared[1:])))
    assert [plot.name for plot in found] == ["trade-off", "accuracy"]


@pytest.mark.slow
@pytest.mark.usefixtures("drawn")
def test_names_from_the_user_steer_nothing():
    f = example()
    judged = replace(
        f.compared[0].judged,
        name=BAD,
        worst=(replace(f.compared[0].judged.worst[0], id=BAD), *f.compared[0].judged.worst[1:]),
    )
    steered = replace(f, compared=(replace(f.compared[0], judged=judged), *f.compared[1:]))
    page = Page(steered.to_html())
    assert page.tags["script"] == 0
    assert not {"\u202e", "\x1b"} & set("".join(page.text))
    printed = io.StringIO()
    Console(file=printed, width=100).print(steered.terminal_summary())
    for shown in (printed.getvalue(), steered.summary()):
        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_the_document_holds_what_the_page_shows():
    f = example()
    found = json.loads(f.to_json())
    assert found["kind"] == "defences"
    assert [d["name"] for d in found["defences"]] == ["rounding", "label-only", "temperature"]
    assert [d["can_be_undone"] for d in found["defences"]] == [False, False, True]
    for told, c in zip(found["defences"], f.compared, strict=True):
        assert told["adaptive"]["accuracy"]["value"] == c.adaptive.accuracy.value
        assert told["left"]["accuracy"]["low"] == c.left.accuracy.low
        assert set(told["risk_quantiles"]) == {"0.5", "0.9", "0.99"}
        assert len(told["attacks"]) == f.n_attacks
        assert {"undefended", "non_adaptive", "adaptive", "lost"} < set(told["attacks"][0])
    assert found["best"] == f.best.title


def test_all_files_are_written_and_say_the_same(tmp_path):
    f = example()
    names = sorted(path.name for path in f.write(tmp_path))
    assert names == ["attacks.csv", "defences.csv", "report.html", "report.json"]
    rows = list(csv.DictReader((tmp_path / "defences.csv").read_text().splitlines()))
    assert [row["defence"] for row in rows] == [c.title for c in f.compared]
    assert float(rows[0]["accuracy_high"]) == f.compared[0].adaptive.accuracy.high
    assert float(rows[1]["risk_0.9_after"]) == f.compared[1].judged.quantiles[1].defended.value
    attacks = list(csv.DictReader((tmp_path / "attacks.csv").read_text().splitlines()))
    assert len(attacks) == len(f.to_frame()) == 3 * f.n_attacks * 3


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_terminal_has_every_defence_whatever_its_width(width):
    printed = io.StringIO()
    Console(file=printed, width=width).print(example().terminal_summary())
    lines = printed.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    for c in example().compared:
        # The sentence above the table may start a line with a name too.
        row = next(line for line in reversed(lines) if line.strip().startswith(c.title))
        assert percent(c.adaptive.accuracy.value) in row
        assert ("\N{DAGGER}" in row) == c.undone


def test_plots_have_every_defence_and_their_intervals():
    f = example()
    axes = f.plot_trade_off()
    assert len(axes.containers) == len(f.compared) + 1
    for container, c in zip(axes.containers[1:], f.compared, strict=True):
        (point, *_) = container.lines
        assert point.get_xdata()[0] == c.judged.distance.value
        assert point.get_ydata()[0] == pytest.approx(200 * c.adaptive.accuracy.value - 100)
        (_, upright) = container.lines[2]
        ends = sorted(y for _, y in upright.get_segments()[0])
        told = c.adaptive.accuracy
        assert ends == pytest.approx([200 * told.low - 100, 200 * told.high - 100])
    assert len(plots.plot_risk(f).lines) == len(f.compared) + 2
    assert plots.plot_accuracy(f).containers


def test_a_plot_goes_into_the_axes_that_are_given():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert example().plot_trade_off(ax) is ax


def test_what_it_is_called_in_a_notebook():
    assert repr(example()) == f"<DefenceAudit: {verdict(example()).headline}>"


def test_a_release_is_held_to_the_least_private_defence_and_to_the_best():
    f = with_left(reached(0.7), reached(0.6, area=0.65), reached(0.62, half=0.01, area=0.61))
    measures = {m.name: m for m in f.report().measures if m.gate}
    assert set(METRICS) == {end for name in measures for end in (name, f"{name}.low")}
    numbers = f.report().numbers
    assert (numbers["accuracy"], numbers["accuracy.low"]) == pytest.approx((0.7, 0.68))
    assert (numbers["auc"], numbers["auc.low"]) == pytest.approx((0.7, 0.68))
    assert (numbers["accuracy-left"], numbers["accuracy-left.low"]) == pytest.approx((0.6, 0.58))
    assert (numbers["auc-left"], numbers["auc-left.low"]) == pytest.approx((0.65, 0.63))
    line = line_of(f.to_json(), "model")
    assert line.number.name == "accuracy-left"
    assert line.measures == {name: numbers[name] for name in METRICS}
    assert "label-only" in line.audited
    assert line.worst.ids == tuple(r.id for r in f.best.judged.worst)


def test_a_defence_whose_attacks_are_reversed_keeps_no_limit():
    f = with_left(reached(0.7), reached(0.6), reached(0.65))
    area = Estimate(0.3, 0.2, 0.4, 0.95, 400, "made up")
    hides = replace(reached(0.5), inverted=(InvertedAttack("one", area),))
    hidden = replace(f, compared=(*f.compared[:2], replace(f.compared[2], left=hides)))
    report = hidden.report()
    # The verdict is about the best of the others, so it can be told.
    assert report.verdict.grade.severity is Severity.MODERATE
    measures = {m.name: m for m in report.measures}
    for name in ("accuracy", "auc"):
        found = measures[name].found
        assert isinstance(found, Skipped)
        assert found.reason == "attacks take members for non-members with temperature (T = 5)"
        assert exceeded_limits(report, parsed_limits([f"{name}=1"], METRICS))
    assert not exceeded_limits(report, parsed_limits(["accuracy-left=0.6"], METRICS))


def test_every_defence_attack_and_adversary_has_a_line():
    rng = np.random.default_rng(4)
    secret = np.arange(40) < 20

    def judged() -> Evaluation:
        transcript = Transcript(rng.normal(size=40) + secret, secret)
        return evaluate("loss", transcript, Cut(0.5).decide(transcript), 0.9, thresholds="global")

    def defence(name: str, variant: str) -> JudgedDefence:
        attacks = tuple(
            AttackedDefence(judged(), judged(), judged(), Estimate(0, 0, 0, 0.9, 40, ""))
            for _ in range(2)
        )
        rest = dict.fromkeys(("headline", "costs", "distance", "risk", "quantiles", "worst"))
        return JudgedDefence(name, variant, attacks, **rest)

    defences = defence("rounding", "1 digit"), defence("label only", "")
    compared = tuple(ComparedDefence(x, None, None, False, None) for x in defences)
    origin = Origin("", "", 0, 0.9, "")
    lines = DefenceAudit(None, None, None, compared, 20, 20, origin=origin, fitted="").lines()
    evaluations = [
        (judged.title, whom, evaluation)
        for judged in defences
        for attacked in judged.attacks
        for whom, evaluation in zip(
            ("undefended", "non-adaptive", "adaptive"),
            (attacked.undefended, attacked.non_adaptive, attacked.adaptive),
            strict=True,
        )
    ]
    assert {x["defence"] for x in lines} == {"rounding (1 digit)", "label only"}
    for line, (title, whom, found) in zip(lines, evaluations, strict=True):
        assert (line["defence"], line["attack"]) == (title, "loss (global)")
        assert (line["adversary"], line["n"], line["level"]) == (whom, 40, 0.9)
        for name, estimate in (("accuracy", found.accuracy), ("auc", found.auc)):
            ends = line[name], line[f"{name} low"], line[f"{name} high"]
            assert ends == (estimate.value, estimate.low, estimate.high)
            assert line[f"{name} method"] == estimate.method
