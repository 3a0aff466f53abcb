from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from privacygauge.classifiers.audit import result as risk_plots
from privacygauge.classifiers.audit.result import Audit
from privacygauge.errors import InputError
from privacygauge.evaluate import evaluation
from privacygauge.report.attacks import plots
from tests.report.example import example


@pytest.fixture(scope="module")
def findings() -> Audit:
    return example()


@pytest.mark.slow
def test_every_plot_draws_on_the_axes_given(findings: Audit) -> None:
    risk = findings.risk
    for draw in (
        lambda ax: plots.plot_roc(findings.evaluations, ax),
        lambda ax: plots.plot_roc(findings.evaluations, ax, log=True),
        lambda ax: plots.plot_scores(findings.headline.attack, ax),
        lambda ax: risk_plots.plot_risk_cdf(risk, ax),
        lambda ax: risk_plots.plot_reliability(risk, ax),
        lambda ax: risk_plots.plot_classes(risk, ax),
    ):
        ax = Figure().subplots()
        assert draw(ax) is ax
        new = draw(None)
        assert isinstance(new, Axes)
        new.get_figure().canvas.draw()
        assert new.get_xlabel()
        assert new.get_ylabel()


def test_the_roc_plot_shows_the_points_of_its_twin(findings: Audit) -> None:
    drawn = plots.plot_roc(findings.evaluations).get_lines()
    best = max(evaluation.roc_curves(findings.evaluations), key=lambda c: c.attack.auc.value)
    line = next(x for x in drawn if best.attack.title in str(x.get_label()))
    np.testing.assert_array_equal(line.get_xdata(), best.fpr)
    np.testing.assert_array_equal(line.get_ydata(), best.tpr)


def test_log_axes_start_below_one_false_positive(findings: Audit) -> None:
    ax = plots.plot_roc(findings.evaluations, log=True)
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert ax.get_xlim()[0] < 1 / findings.game.n_out


def test_dollars_in_names_are_no_formulas(findings: Audit) -> None:
    odd = replace(findings.evaluations[0], name="$\\frac{$")
    plots.plot_roc((odd,)).get_figure().canvas.draw()


def test_nothing_to_draw_is_an_error(findings: Audit) -> None:
    with pytest.raises(InputError, match="at least one evaluation"):
        plots.plot_roc(())
    with pytest.raises(InputError, match="no class has both"):
        risk_plots.plot_classes(replace(findings.risk, classes=()))


def test_risk_cdf_is_the_share_of_members_below(findings: Audit) -> None:
    cdf = risk_plots.risk_cdf(findings.risk)
    assert len(cdf.risk) <= evaluation.POINTS
    for value, share in zip(cdf.risk[::50], cdf.share[::50], strict=True):
        assert share == np.mean(findings.risk.member_scores <= value)
    assert cdf.share[-1] == 1


@pytest.mark.slow
def test_the_report_imports_no_heavy_package() -> None:
    heavy = ("matplotlib", "pandas", "pyarrow", "jinja2", "rich", "torch")
    code = (
        "import sys, privacygauge.report.attacks.plots, privacygauge.report.render;"
        f"print([m for m in {heavy!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
