"""The report on defences at training: beside early stopping, on one page with those on answers."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from privacygauge.claims.defence_audit.sections import cost_plots, plot_accuracy
from privacygauge.claims.defence_audit.verdict import verdict
from privacygauge.core.estimate import Skipped
from privacygauge.report import render
from tests.audits.example_trained_defences import CURVE, after, estimate, example
from tests.report.test_html import Page

pytestmark = pytest.mark.usefixtures("undrawn")


def left(c, value):
    """Return a defence that leaves so much."""
    best = replace(c.left, accuracy=estimate(value), auc=estimate(value))
    return replace(c, left=best, adaptive=best)


def test_a_defence_is_worth_its_trouble_only_beyond_doubt():
    c = example().compared[0]
    assert left(replace(c, stopped=after(3, 0.7, 0.6)), 0.6).worth == "less"
    assert left(replace(c, stopped=after(3, 0.7, 0.6)), 0.66).worth == "alike"
    assert left(replace(c, stopped=after(3, 0.6, 0.6)), 0.7).worth == "more"
    assert replace(c, stopped=None).worth == replace(c, stopped=Skipped("a", "b")).worth == ""


def sentences(stopped, value=0.55):
    f = example()
    best = left(replace(f.compared[0], stopped=stopped), value)
    others = tuple(left(c, 0.8) for c in f.compared[1:])
    found = verdict(replace(f, compared=(best, *others)))
    return " ".join((*found.sentences, *found.advice))


def test_early_stopping_is_set_beside_the_best():
    assert (
        "after epoch 3, the first that is as accurate, leaves 70.0%, significantly more than"
        in sentences(after(3, 0.7, 0.6))
    )
    assert "it pays for nothing" in sentences(after(3, 0.48, 0.6))
    assert "cannot tell from what the defence leaves" in sentences(after(3, 0.57, 0.6))
    assert "No recorded epoch of the undefended training is as accurate as quiet" in sentences(
        Skipped("early stopping", "never")
    )


def test_what_is_no_better_than_early_stopping_is_not_recommended():
    assert "Of these, train with quiet, if the model is accurate" in sentences(after(3, 0.7, 0.6))
    for stopped in (after(3, 0.57, 0.6), after(3, 0.48, 0.6)):
        text = sentences(stopped)
        assert "Before you take quiet, stop the undefended training after epoch 3" in text
        assert "Of these, train with" not in text


def test_the_guarantee_is_told_with_its_epsilon_rounded_up():
    found = verdict(example())
    text = " ".join(found.sentences)
    assert "private comes with a guarantee against every attack" in text
    assert "epsilon 2.01 at delta 1.0e-05, by the accountant RDP (PrivacyGauge)" in text
    assert "of all defences only differential privacy comes with a guarantee" in found.unsaid


@pytest.mark.slow
def test_the_page_sets_early_stopping_beside():
    text = example().to_html()
    page = Page(text)
    ids = page.values("id")
    shown = " ".join(page.text)
    for phrase in (
        "Stopped early, as accurate",
        "epoch 2",
        "none is as accurate",
        "2 shadow models",
    ):
        assert phrase in shown
    assert "Mean change</th>" not in text
    assert {"fig-accuracy", "fig-risk-cdf"} <= set(ids)
    assert "fig-trade-off" not in ids


def test_the_plot_shows_every_epoch_and_every_defence():
    f = example()
    ax = plot_accuracy(f)
    (line,) = (x for x in ax.get_lines() if x.get_label() == "stopped early")
    assert line.get_xdata().tolist() == [p.accuracy.value for p in CURVE]
    assert line.get_ydata().tolist() == pytest.approx(
        [200 * p.best.accuracy.value - 100 for p in CURVE]
    )
    (told,) = (plot.words for plot in cost_plots(f))
    assert "from 4.0 at 40.0% after epoch 1 to 60.0 at 70.0% after epoch 9" in told


def test_the_document_holds_the_curve_and_what_stands_beside():
    found = json.loads(example().to_json())
    assert [p["epoch"] for p in found["curve"]] == [1, 2, 9]
    assert found["curve"][2]["model_accuracy"]["value"] == 0.7
    quiet, private, labels = found["defences"]
    assert quiet["early_stopping"]["epoch"] == 2
    assert private["early_stopping"] is None
    assert private["no_early_stopping"] == "no recorded epoch is as accurate"
    assert private["claim"] == {
        "epsilon": 2.001,
        "delta": 1e-5,
        "accountant": "RDP (PrivacyGauge)",
    }
    assert [d["at_training"] for d in found["defences"]] == [True, True, False]
    assert labels["claim"] is None


def test_files_have_a_line_for_every_defence_and_every_epoch():
    files = render.files(example().report())
    rows = list(csv.DictReader(io.StringIO(files["defences.csv"].decode())))
    assert [row["stopped_epoch"] for row in rows] == ["2.0", "", ""]
    assert rows[1]["epsilon"] == "2.001"
    epochs = list(csv.DictReader(io.StringIO(files["epochs.csv"].decode())))
    assert [row["epoch"] for row in epochs] == ["1", "2", "9"]
    assert float(epochs[2]["accuracy_low"]) == pytest.approx(0.77)


@pytest.mark.parametrize("width", [80, 50])
def test_the_terminal_says_what_early_stopping_leaves(width):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(example().terminal_summary())
    text = console.export_text()
    assert "quiet" in text
    assert max(map(len, text.splitlines())) <= width
    if width == 80:
        assert "60.0%" in text
        said = " ".join(text.split())
        assert "Stopped early: the undefended training, stopped at the same accuracy" in said


def test_the_summary_has_a_line_for_each():
    text = example().summary()
    assert "Stopped early 60.0% (epoch 2)" in text
    assert "epsilon 2.01 at delta 1.0e-05" in text
