"""Plots of worst-case records: values in, Axes out; nothing is shown or saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.core.estimate import Estimate
from privacygauge.report.axes import INK, MARKERS, OTHER, SERIES, axes, legend_above, short
from privacygauge.report.numbers import rate
from privacygauge.report.worst_case.findings import AttackedTraining, ComparedWorstCases

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_APART = 0.15


def plot_groups(f: ComparedWorstCases, ax: Axes | None = None) -> Axes:
    """Draw what the best attack finds of canaries and of ordinary records, training by training.

    Parameters
    ----------
    f : ComparedWorstCases
    ax : matplotlib.axes.Axes, optional
        A new figure's where none is given.

    Returns
    -------
    matplotlib.axes.Axes
        Filled: canaries. Hollow: ordinary records. Bars are intervals that hold together. The
        numbers are those of `trainings_frame`.
    """
    ax = axes(ax)
    for place, training in enumerate(f.trainings):
        for group, found in zip((0, 1), _both(f, training), strict=True):
            _bar(ax, found, place - _APART + 2 * _APART * group, group)
    ax.axvline(100 * f.fpr, color=OTHER, lw=0.9, ls=(0, (1, 2)))
    ax.set_yticks(range(len(f.trainings)), [short(t.title) for t in f.trainings], fontsize=7.5)
    ax.set_ylim(len(f.trainings) - 0.5, -0.5)
    ax.set(xlabel=f"Found at {rate(f.fpr)} false alarms, %", xlim=(-2, 102))
    legend_above(ax, 2, 1.3 + 0.42 * len(f.trainings))
    return ax


def plot_accuracy(f: ComparedWorstCases, ax: Axes | None = None) -> Axes:
    """Draw what the best attack finds over the models' accuracy on records they did not see.

    Parameters
    ----------
    f : ComparedWorstCases
    ax : matplotlib.axes.Axes, optional
        A new figure's where none is given.

    Returns
    -------
    matplotlib.axes.Axes
        Filled: canaries, with intervals that hold together. Hollow: ordinary records. Down is
        private, right is accurate.
    """
    ax = axes(ax)
    for i, training in enumerate(f.trainings):
        colour = INK if i == 0 else SERIES[(i - 1) % len(SERIES)]
        _point(f, training, ax, colour, MARKERS[i % len(MARKERS)])
    ax.axhline(100 * f.fpr, color=OTHER, lw=0.9, ls=(0, (1, 2)))
    ax.set(xlabel="Model's accuracy on new records, %")
    ax.set(ylabel=f"Found at {rate(f.fpr)} false alarms, %", ylim=(-2, 102))
    ax.xaxis.set_major_formatter(lambda x, _: f"{100 * x:.0f}")
    legend_above(ax, len(f.trainings), 3.2)
    return ax


def _both(f: ComparedWorstCases, training: AttackedTraining) -> tuple[Estimate, Estimate]:
    return training.canaries(f.fpr).estimate, training.ordinary(f.fpr).estimate


def _bar(ax: Axes, found: Estimate, up: float, group: int) -> None:
    value, low, high = (100 * end for end in (found.value, found.low, found.high))
    # A name for each kind of point, once.
    known = ax.get_legend_handles_labels()[1]
    name = ("canaries", "ordinary records")[group]
    colour = (SERIES[1], SERIES[0])[group]
    ax.errorbar([value], [up], xerr=[[value - low], [high - value]], color=colour, ls="none",
                marker=MARKERS[group], mfc=("none" if group else colour), ms=5.5, elinewidth=1.2,
                label=None if name in known else name)  # fmt: skip


def _point(
    f: ComparedWorstCases, training: AttackedTraining, ax: Axes, colour: str, marker: str
) -> None:
    worst, usual = _both(f, training)
    across, value = training.accuracy, 100 * worst.value
    sides = [[across.value - across.low], [across.high - across.value]]
    ends = [[value - 100 * worst.low], [100 * worst.high - value]]
    ax.errorbar([across.value], [value], xerr=sides, yerr=ends, color=colour, marker=marker, ms=6,
                ls="none", elinewidth=1.2, label=short(training.title))  # fmt: skip
    ax.plot([across.value], [100 * usual.value], ls="none", marker=marker, ms=6, mfc="none",
            mec=colour, mew=1.2)  # fmt: skip
