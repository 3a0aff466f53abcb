"""Plots of defences: values in, Axes out; nothing is shown or saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.core.estimate import Estimate
from privacygauge.report.axes import (
    DASHES,
    INK,
    MARKERS,
    OTHER,
    SERIES,
    axes,
    legend_above,
    short,
)
from privacygauge.report.defences.findings import BestAttack, ComparedDefence, ComparedDefences
from privacygauge.report.defences.tables import marked

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_trade_off(f: ComparedDefences, ax: Axes | None = None) -> Axes:
    """Draw the best attack's advantage over how far answers are changed.

    Parameters
    ----------
    f : ComparedDefences
    ax : matplotlib.axes.Axes, optional
        A new figure's where none is given.

    Returns
    -------
    matplotlib.axes.Axes
        Filled: the adversary knows the defence. Hollow: it does not. Bars are intervals that
        hold together. The numbers are those of `defences_frame`.
    """
    ax = axes(ax)
    _draw(f, ax, lambda c: c.judged.distance)
    ax.set(xlabel="Mean change of an answer (L1 distance)", xlim=(-0.04, None))
    return ax


def plot_accuracy(f: ComparedDefences, ax: Axes | None = None) -> Axes:
    """Draw the best attack's advantage over the model's accuracy on non-members.

    Parameters
    ----------
    f : ComparedDefences
    ax : matplotlib.axes.Axes, optional
        A new figure's where none is given.

    Notes
    -----
    Song & Mittal (2021), section 3.2: a defence pays with accuracy, and so does early stopping,
    whose epochs are joined by a line where they were recorded.
    """
    ax = axes(ax)
    _draw_epochs(f, ax)
    _draw(f, ax, lambda c: c.after, f.compared[0].before)
    ax.set(xlabel="Model's accuracy on new records, %")
    ax.xaxis.set_major_formatter(lambda x, _: f"{100 * x:.0f}")
    return ax


def _draw_epochs(f: ComparedDefences, ax: Axes) -> None:
    """Draw the undefended training epoch by epoch, where it was recorded."""
    if not f.curve:
        return
    x = [point.accuracy.value for point in f.curve]
    y, low, high = (
        [200 * end - 100 for end in ends]
        for ends in zip(*(_ends(point.best.accuracy) for point in f.curve), strict=True)
    )
    ax.plot(x, y, color=OTHER, lw=1.0, marker=".", ms=4, label="stopped early")
    ax.vlines(x, low, high, color=OTHER, lw=0.7, alpha=0.45)
    # Names only where they do not run into each other.
    for point, across, up in _spaced(f, x, y):
        ax.annotate(f"{point}", (across, up), xytext=(0, 5), textcoords="offset points",
                    ha="center", fontsize=6.5, color=OTHER)  # fmt: skip


def _spaced(f: ComparedDefences, x: list[float], y: list[float]) -> list[tuple[int, float, float]]:
    """Return epochs to name, each a tenth of the accuracies' range from the one before."""
    least, found = (max(x) - min(x)) / 10, list[tuple[int, float, float]]()
    for point, across, up in zip(f.curve, x, y, strict=True):
        if not found or abs(across - found[-1][1]) >= least:
            found.append((point.epoch, across, up))
    return found


def plot_risk(f: ComparedDefences, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the members' risk without a defence and with each of them.

    Parameters
    ----------
    f : ComparedDefences
    ax : matplotlib.axes.Axes, optional
        A new figure's where none is given.
    """
    ax = axes(ax)
    curves = [("no defence", f.risk, INK)]
    for i, c in enumerate(f.compared):
        curves.append((short(c.title), c.judged.risk, SERIES[i % len(SERIES)]))
    for i, (name, risk, colour) in enumerate(curves):
        x = np.concatenate([[0.0], risk.member_scores, [1.0]])
        y = np.concatenate([[0.0], np.arange(1, len(x) - 1) / (len(x) - 2), [1.0]])
        ax.plot(x, 100 * y, color=colour, ls=DASHES[i % len(DASHES)], lw=1.5,
                drawstyle="steps-post", label=name)  # fmt: skip
    ax.axvline(0.5, color=OTHER, lw=0.9, ls=(0, (1, 2)))
    ax.set(xlabel="Privacy risk score", ylabel="Members with at most this risk, %")
    ax.set(xlim=(0, 1), ylim=(0, 101))
    legend_above(ax, len(curves), 3.2)
    return ax


def _draw(
    f: ComparedDefences,
    ax: Axes,
    cost: Callable[[ComparedDefence], Estimate],
    before: Estimate | None = None,
) -> None:
    """Draw the undefended model and all defences, each at its cost."""
    start = Estimate(0.0, 0.0, 0.0, f.level, f.n_in + f.n_out, "exact")
    _point(ax, before or start, f.none, INK, MARKERS[0], "no defence")
    for i, c in enumerate(f.compared):
        look = SERIES[i % len(SERIES)], MARKERS[(i + 1) % len(MARKERS)]
        _point(ax, cost(c), c.adaptive, *look, short(marked(c)))
        surprised = 2 * c.non_adaptive.accuracy.value - 1
        ax.plot([cost(c).value], [100 * surprised], ls="none", marker=look[1], ms=6, mfc="none",
                mec=look[0], mew=1.2)  # fmt: skip
    ax.axhline(0, color=OTHER, lw=0.9, ls=(0, (1, 2)))
    ax.set(ylabel="Advantage of the best attack, points")
    legend_above(ax, len(f.compared) + 1 + bool(f.curve), 3.2)


def _point(
    ax: Axes, cost: Estimate, attack: BestAttack, colour: str, marker: str, name: str
) -> None:
    y, low, high = (200 * x - 100 for x in _ends(attack.accuracy))
    across = [[cost.value - cost.low], [cost.high - cost.value]]
    ax.errorbar([cost.value], [y], xerr=across, yerr=[[y - low], [high - y]], color=colour,
                marker=marker, ms=6, ls="none", elinewidth=1.2, label=name)  # fmt: skip


def _ends(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.value, estimate.low, estimate.high
