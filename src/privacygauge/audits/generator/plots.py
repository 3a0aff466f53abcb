"""Plots of an audit of a generator: values in, Axes out; nothing is shown or saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privacygauge.audits.generator.result import SyntheticResult
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.by_target import rank_by_auc
from privacygauge.report.axes import INK, OTHER, SERIES, axes, legend, plot_label
from privacygauge.report.numbers import count, decimal, decimal_estimate, several
from privacygauge.report.values import Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 1000
"""Largest number of records drawn: all, or a sample at even steps of their order."""

FEW = 60
"""Largest number of records drawn with an interval each; more are drawn as a band."""

MARKERS = ("o", "s", "^", "D", "v", "P")
"""Markers of the groups, so that color is not the only difference."""


def plot_auc(f: SyntheticResult, ax: Axes | None = None) -> Axes:
    """Draw the AUC of every target with its interval, the largest first; numbers: `rank_by_auc`.

    By the attack that the verdict speaks of, each interval on its own. Of more than 1,000
    targets as many are drawn.
    """
    ax = axes(ax)
    found = rank_by_auc(f.best, POINTS)
    few = len(found.rank) <= FEW
    if few:
        ax.vlines(found.rank, found.low, found.high, color=SERIES[0], lw=2.2, alpha=0.55,
                  label="interval")  # fmt: skip
    else:
        ax.fill_between(found.rank, found.low, found.high, color=SERIES[0], alpha=0.25, lw=0,
                        label="interval")  # fmt: skip
    ax.plot(found.rank, found.auc, color=SERIES[0], marker="o" if few else "", ms=4.5,
            ls="none" if few else "solid", lw=1.8, label="AUC")  # fmt: skip
    ax.axhline(f.headline.auc.value, color=SERIES[1], lw=1.3, ls=(0, (5, 1.6)), label="mean")
    _chance(ax)
    place = np.flatnonzero(found.position == f.headline.target)
    if len(place):
        ax.plot(found.rank[place], found.auc[place], color=SERIES[1], marker="D", ms=6.5,
                ls="none", zorder=4, label="named in the verdict")  # fmt: skip
    ax.set(xlabel="Records, the largest AUC first", ylabel="AUC (0.5 is guessing)")
    ax.set(xlim=(0.5, len(f.targets) + 0.5), ylim=(min(0.4, float(found.low.min()) - 0.02), 1.01))
    ax.locator_params(axis="x", integer=True)
    legend(ax, loc="best")
    return ax


def plot_vulnerability(f: SyntheticResult, ax: Axes | None = None) -> Axes:
    """Draw every target's AUC over its vulnerability score; numbers: `rank_by_auc`, ``f.targets``.

    The first six groups by the way in which they were chosen have markers of their own.
    """
    ax = axes(ax)
    drawn = np.zeros(len(f.targets), dtype=np.bool_)
    drawn[rank_by_auc(f.best, POINTS).position] = True
    many = len(f.targets) > FEW
    for place, group in enumerate(f.groups[: len(MARKERS)]):
        shown = group.positions[drawn[group.positions]]
        ax.plot(f.targets.scores[shown], f.best.aucs[shown], color=SERIES[place], ls="none",
                marker="." if many else MARKERS[place], ms=4 if many else 6,
                mfc=SERIES[place] if many else "none", mew=0 if many else 1.4,
                alpha=0.6 if many else 1.0,
                label=plot_label(group.method))  # fmt: skip
    _chance(ax)
    ax.set(xlabel="Vulnerability score", ylabel="AUC (0.5 is guessing)")
    ax.set_ylim(min(0.4, float(f.best.aucs.min()) - 0.02), 1.02)
    if not isinstance(f.foreseen, Skipped):
        ax.set_title(f"Rank correlation {decimal_estimate(f.foreseen, 2)}", fontsize=8.5, color=INK)
    legend(ax, loc="best")
    return ax


def auc_plot(f: SyntheticResult) -> Plot:
    """Return the plot of the AUC of every target."""
    values = np.sort(f.best.aucs)[::-1]
    n = len(values)
    return Plot(
        "aucs",
        "Every attacked record",
        caption=(
            "How often each record is told, with its interval. On the dotted line there is nothing "
            "but guessing; where a whole interval lies above it, the record is given away."
        ),
        words=(
            f"The AUC is {decimal(float(values[0]), 3)} for the first record, "
            f"{decimal(float(values[n // 2]), 3)} in the middle, {decimal(float(values[-1]), 3)} "
            "for "
            f"the last; {count(f.n_told)} of {count(n)} records are told beyond luck."
        ),
        draw=lambda: plot_auc(f),
        wide=False,
    )


def vulnerability_plot(f: SyntheticResult) -> Plot:
    """Return the plot of the AUC of every target over its vulnerability score."""
    words = "The rank correlation was not computed."
    if not isinstance(f.foreseen, Skipped):
        words = f"The rank correlation is {decimal_estimate(f.foreseen, 2)}."
    return Plot(
        "vulnerability",
        "Was the risk foreseen?",
        caption=(
            "The vulnerability score is how far a record is from those most like it: it needs "
            "neither a generator nor an attack. If points rise to the right, the score finds the "
            "records at risk beforehand."
        ),
        words=f"{several(len(f.targets), 'record')} by score and AUC. {words}",
        draw=lambda: plot_vulnerability(f),
        wide=False,
    )


def _chance(ax: Axes) -> None:
    ax.axhline(0.5, color=OTHER, lw=1.1, ls=(0, (1, 1.5)), zorder=1, label="guessing")
