"""Reports on test-set reuse: their words, numbers and verdicts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from rich.console import Console

import privacygauge as pg
from privacygauge.core.estimate import Estimate
from privacygauge.leaderboards.attack_audit.audit import (
    LARGE,
    MODERATE,
    NONE,
    SMALL,
    grade_of_attack,
)
from privacygauge.leaderboards.attack_audit.command import METRICS as OF_ATTACK
from privacygauge.leaderboards.bound_audit.audit import submissions_text
from privacygauge.leaderboards.bound_audit.command import METRICS as OF_BOUND
from privacygauge.leaderboards.words import SCORES, points, points_estimate
from privacygauge.report.grades import UNTOLD
from privacygauge.report.values import Cell, Table
from tests.report.example import HOSTILE
from tests.report.test_document import strict
from tests.report.test_html import Page

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(scope="module")
def bounded():
    return pg.holdout_bounds(10_000, 2, 100, accounts=20)


@pytest.fixture(scope="module")
def attacked():
    labels = np.random.default_rng(0).integers(0, 2, 200)
    return pg.attack_holdout(
        labels, 80, attacks=["nb", "designed"], guards=["exact", "ladder"], trials=3
    )


def verdict_of(found):
    return found.report().verdict


def lines_of(found, width):
    console = Console(width=width, force_terminal=False, no_color=True)
    with console.capture() as captured:
        console.print(found.terminal_summary())
    return captured.get().splitlines()


@pytest.mark.slow
def test_names_from_outside_are_escaped(attacked):
    origin = replace(attacked.origin, provenance={x: x for x in HOSTILE})
    hostile = replace(attacked, knowledge=HOSTILE[0], origin=origin)
    text = hostile.to_html()
    assert "<script" not in text
    assert "<img" not in text
    assert Page(text).tags["script"] == 0
    assert strict(hostile.to_json())["knowledge"] == HOSTILE[0]


def test_documents_are_strict_and_hold_every_number(bounded, attacked):
    found = strict(bounded.to_json())
    for bias in bounded.biases:
        place = found["rates"] if bias.kind == "rate" else found
        assert place[bias.key] == bias.value
        assert found["assumptions"][bias.key]["assumption"] == bias.assumption
    assert found["queries"] == 2_000
    assert found["strongest"] == {"name": "designed", "bias": 0.5}
    told = strict(attacked.to_json())
    assert len(told["attacks"]) == 4
    assert told["bias"] == told["attacks"][2]["bias"]
    assert (told["attack"], told["guard"]) == ("designed", "exact")
    assert [r["name"] for r in told["attacks"]] == ["nb", "nb", "designed", "designed"]
    assert [g["name"] for g in told["guards"]] == ["exact", "ladder"]


def test_frames_have_a_row_for_each(bounded, attacked):
    assert list(bounded.to_frame()["name"]) == [b.key for b in bounded.biases]
    frame = attacked.to_frame()
    assert list(frame["guard"]) == ["exact", "ladder"] * 2
    assert (frame["bias_corrected_low"] <= frame["bias_low"]).all()


def test_the_lines_of_the_table_have_the_interval_of_the_verdict(attacked):
    said = "\n".join(lines_of(attacked, 100))
    low, high = (
        points(end) for end in (attacked.worst.corrected.low, attacked.worst.corrected.high)
    )
    assert said.count(f"({low} to {high}") == 2


def test_terminals_of_every_width_are_served(bounded, attacked):
    for found in (bounded, attacked):
        for width in (40, 80, 100):
            assert max(map(len, lines_of(found, width))) <= width


def test_plots_return_axes_and_hold_their_numbers(bounded, attacked):
    ax = bounded.plot_curves()
    assert isinstance(ax, Axes)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    drawn = {line.get_label(): line for line in ax.get_lines()}
    for curve in bounded.curves:
        shown = curve.bias > 0
        assert np.allclose(drawn[curve.title].get_ydata(), curve.bias[shown] * 100)
    assert isinstance(attacked.plot_biases(), Axes)
    other = attacked.plot_biases()
    assert attacked.plot_biases(ax=other) is other


@pytest.mark.slow
def test_files_are_written_together(bounded, tmp_path):
    paths = bounded.write(tmp_path / "deep" / "out")
    assert [p.name for p in paths] == ["report.html", "report.json"]


def test_the_verdict_on_bounds_says_the_three_numbers(bounded):
    first = verdict_of(bounded).sentences[0]
    assert "2,000 submissions to 10,000 examples of 2 classes" in first
    assert "gains up to 1.36 points" in first
    assert "gains 50.0 points above chance (designed queries)" in first
    assert "No guarantee holds" in verdict_of(bounded).sentences[1]
    ladder = pg.holdout_bounds(10_000, 2, 200, guard="ladder:0.1")
    assert "No attack without a model gains more than" in verdict_of(ladder).sentences[1]
    assert not any("Ladder" in line for line in verdict_of(ladder).advice)


def test_a_guarantee_of_everything_is_no_limit(bounded):
    (table,) = (x for x in bounded.report().sections[0].blocks if isinstance(x, Table))
    rows = {row.cells[0]: str(row.cells[1]) for row in table.full if len(row.cells) == 3}
    assert rows["any attack"] == rows["any attack, Theorem 3.1"] == "no limit"
    assert rows["naive Bayes"] == "17.3"


@pytest.mark.parametrize(
    ("low", "grade"),
    [(-0.001, NONE), (0.0, NONE), (0.005, SMALL), (0.01, MODERATE), (0.05, LARGE)],
)
def test_the_grade_follows_from_the_corrected_lower_end(attacked, low, grade):
    corrected = Estimate(0.3 * (low > 0), low, 0.4 if low > 0 else 0.04, 0.99, 3, "example")
    results = tuple(replace(r, corrected=corrected) for r in attacked.results)
    found = replace(attacked, results=results)
    assert grade_of_attack(found.worst) == grade
    assert verdict_of(found).grade == grade
    assert verdict_of(found).headline.startswith(
        "No gain found" if grade == NONE else f"{grade.word.capitalize()} gain"
    )


def test_the_verdict_on_attacks_recommends_what_left_least(attacked):
    found = verdict_of(attacked)
    assert found.grade == LARGE
    assert "designed queries" in found.sentences[0]
    assert "ladder" in found.sentences[1]
    assert "allows for having tried 4 pairs" in found.sentences[2]
    assert "trials differ in the attacker's random queries" in found.sentences[2]


@pytest.mark.slow
@given(st.floats(-1, 1), st.floats(0, 1))
def test_points_keep_their_sign_and_size(bias, half):
    assert float(points(bias)) == pytest.approx(100 * bias, abs=0.051)
    shown = points_estimate(Estimate(bias, bias - half, bias + half, 0.95, 3, "example"))
    assert float(shown.low) <= float(shown.value) <= float(shown.high)


@pytest.mark.parametrize("cell", range(4))
def test_no_gain_is_not_said_beside_a_wide_interval(attacked, cell):
    """The result with the highest lower end is not the one that may hide most."""
    narrow = Estimate(0.0, -0.002, 0.004, 0.99, 3, "example")
    wide = Estimate(0.06, -0.04, 0.16, 0.99, 3, "example")
    results = [replace(r, corrected=narrow, bias=narrow) for r in attacked.results]
    results[cell] = replace(results[cell], corrected=wide, bias=wide)
    found = verdict_of(replace(attacked, results=tuple(results)))
    assert found.grade == UNTOLD
    assert found.headline.startswith("It cannot be told from 3 trials")
    assert "16.0 are not excluded" in found.headline
    assert found.advice[0] == "Play more trials: --trials 10."
    # A small gain elsewhere does not hide it either.
    other = (cell + 1) % 4
    small = Estimate(0.004, 0.002, 0.006, 0.99, 3, "example")
    results[other] = replace(results[other], corrected=small, bias=small)
    found = verdict_of(replace(attacked, results=tuple(results)))
    assert found.grade == SMALL
    assert any("lies between -4.0 and 16.0 points" in said for said in found.sentences)


def test_few_trials_behind_a_guard_never_say_no_gain_of_a_wide_interval():
    labels = np.random.default_rng(0).integers(0, 2, 300)
    said = 0
    for seed in range(8):
        found = pg.attack_holdout(labels, 60, guards=("round:1", "noise:0.05"), trials=2, seed=seed)
        high = max(r.corrected.high for r in found.results)
        assert verdict_of(found).grade != NONE or high < 0.05
        said += verdict_of(found).grade == UNTOLD
    assert said >= 4


def test_one_trial_tells_nothing():
    labels = np.random.default_rng(0).integers(0, 2, 200)
    found = pg.attack_holdout(labels, 80, trials=1)
    assert found.worst.bias.value > 0.1
    assert verdict_of(found).grade == UNTOLD
    assert "one trial" in verdict_of(found).headline
    assert found.report().numbers["bias.low"] is found.report().numbers["accuracy.low"] is None


def test_the_gates_name_what_the_reports_measure(bounded, attacked):
    known = {x.name for x in bounded.report().measures if x.gate}
    assert known == set(OF_BOUND)
    ladder = pg.holdout_bounds(10_000, 2, 200, guard="ladder").report()
    assert {x.name for x in ladder.measures if x.gate} == known
    # Where no attack is known, luck stands for the bounds in a register.
    assert (bounded.report().main.name, ladder.main.name) == ("bias", "honest")
    assert ladder.numbers["bias"] is None
    report = attacked.report()
    worst = attacked.worst
    gated = [x for x in report.measures if x.gate]
    assert tuple(name for x in gated for name in x.numbers) == OF_ATTACK
    assert report.numbers["bias.low"] == worst.corrected.low
    assert report.numbers["accuracy"] == worst.accuracy.value
    assert report.numbers["accuracy.low"] == pytest.approx(worst.baseline + worst.corrected.low)


def test_what_does_not_apply_behind_a_guard_is_faint():
    noisy = pg.holdout_bounds(1_000, 2, 300, guard="noise:0.01")
    (table,) = (x for x in noisy.report().sections[0].blocks if isinstance(x, Table))
    faint = [row.cells[0] for row in table.full if row.tone == "faint"]
    below = ("does not apply here",)
    assert faint == [Cell(x, below) for x in ("majority", "linear scan", "designed queries")]


def test_what_the_scores_are_is_said_everywhere(bounded, attacked):
    for found in (bounded, attacked):
        assert SCORES in " ".join(" ".join(Page(found.to_html()).text).split())
        assert SCORES in " ".join(" ".join(lines_of(found, 80)).split())


def test_large_and_unknown_numbers_in_words():
    assert (submissions_text(None), submissions_text(5_200), submissions_text(10**12)) == (
        "-", "5,200", "10\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT TWO} or more",
    )  # fmt: skip
