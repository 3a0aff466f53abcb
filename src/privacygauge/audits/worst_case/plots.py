"""Plots of worst-case records: values in, Axes out; nothing is shown or saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.audits.worst_case.found import AttackedTraining, WorstCaseComparison
from privacygauge.core.estimate import Estimate
from privacygauge.report.axes import MARKERS, OTHER, SERIES, axes, legend_above, short
from privacygauge.report.defended import Point, over_accuracy, plot_points
from privacygauge.report.numbers import percent, plain, rate, tpr_estimate
from privacygauge.report.values import Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_APART = 0.15


def plots(f: WorstCaseComparison) -> tuple[Plot, ...]:
    """Return the plots of the page; over the accuracy where there is more than one training."""
    words = _words(f)
    groups = Plot(
        "groups",
        "Canaries beside ordinary records",
        "Filled: canaries. Hollow: ordinary records in the same models. Bars are intervals that "
        "hold together; the dotted line is guessing.",
        words,
        lambda: plot_groups(f),
    )
    if not f.defended:
        return (groups,)
    accuracy = Plot(
        "accuracy",
        "Privacy against the models' accuracy",
        "Down is private, right is accurate. Filled points: canaries, with intervals that hold "
        "together. Hollow points: ordinary records.",
        words,
        lambda: plot_accuracy(f),
    )
    return groups, accuracy


def plot_groups(f: WorstCaseComparison) -> Axes:
    """Draw what the best attack finds of either group, training by training: ``trainings.csv``."""
    ax = axes(None)
    for place, training in enumerate(f.trainings):
        for group, found in enumerate(_both(f, training)):
            _bar(ax, found, place - _APART + 2 * _APART * group, group)
    ax.axvline(100 * f.fpr, color=OTHER, lw=0.9, ls=(0, (1, 2)))
    ax.set_yticks(range(len(f.trainings)), [short(t.title) for t in f.trainings], fontsize=7.5)
    ax.set_ylim(len(f.trainings) - 0.5, -0.5)
    ax.set(xlabel=f"Found at {rate(f.fpr)} false alarms, %", xlim=(-2, 102))
    legend_above(ax, 2, 1.3 + 0.42 * len(f.trainings))
    return ax


def plot_accuracy(f: WorstCaseComparison) -> Axes:
    """Draw what the best attack finds over the models' accuracy on records they did not see."""
    points = [_point(training, *_both(f, training)) for training in f.trainings]
    ax = over_accuracy(plot_points(points, None, 100 * f.fpr))
    ax.set(ylabel=f"Found at {rate(f.fpr)} false alarms, %", ylim=(-2, 102))
    return ax


def _both(f: WorstCaseComparison, training: AttackedTraining) -> tuple[Estimate, Estimate]:
    return training.canaries(f.fpr).estimate, training.ordinary(f.fpr).estimate


def _point(training: AttackedTraining, worst: Estimate, usual: Estimate) -> Point:
    left = (100 * worst.value, 100 * worst.low, 100 * worst.high)
    return Point(training.title, training.accuracy, left, 100 * usual.value)


def _bar(ax: Axes, found: Estimate, up: float, group: int) -> None:
    value, low, high = (100 * end for end in (found.value, found.low, found.high))
    # A name for each kind of point, once.
    known = ax.get_legend_handles_labels()[1]
    name = ("canaries", "ordinary records")[group]
    colour = (SERIES[1], SERIES[0])[group]
    ax.errorbar([value], [up], xerr=[[value - low], [high - value]], color=colour, ls="none",
                marker=MARKERS[group], mfc=("none" if group else colour), ms=5.5, elinewidth=1.2,
                label=None if name in known else name)  # fmt: skip


def _words(f: WorstCaseComparison) -> str:
    rows = []
    for t in f.trainings:
        worst, usual = (tpr_estimate(x, f.fpr).value for x in _both(f, t))
        rows.append(
            f"{plain(t.title)}: canaries {worst}, ordinary records {usual}, model right "
            f"{percent(t.accuracy.value)}"
        )
    return "; ".join(rows) + "."
