"""Plots of defences: values in, Axes out; nothing is shown or saved."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from privacygauge.audits.defences.result import DefenceResult
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.best_attack import BestAttack
from privacygauge.evaluate.compared_defences import AfterEpoch, ComparedDefence
from privacygauge.report.axes import DASHES, INK, OTHER, SERIES, axes, legend_above, plot_label
from privacygauge.report.defended import Point, over_accuracy, plot_points
from privacygauge.report.numbers import decimal, percent, plain
from privacygauge.report.values import Axes, Plot

_CURVE = (
    " The line is the undefended training, epoch by epoch: a point above it leaves more than "
    "stopping early at the same accuracy."
)


def mark_undone(c: ComparedDefence) -> str:
    """Return a defence's name, with a dagger if it can be undone."""
    return c.title + (" \N{DAGGER}" if c.undone else "")


def costs(f: DefenceResult) -> Iterator[Plot]:
    """Yield the plots of the remaining leak over the cost.

    The cost is the change of answers for defences on the same model, since another model's answers
    differ anyway, and the accuracy if that changes.
    """
    changed = any(c.before.value != c.after.value for c in f.compared)
    if not f.trained:
        yield _trade_off(f)
    if f.trained or changed:
        yield _accuracy(f)


def _trade_off(f: DefenceResult) -> Plot:
    undone = " \N{DAGGER} can be undone." if any(c.undone for c in f.compared) else ""
    rows = [f"none: advantage {_advantage(f.none)} points at a change of 0"]
    rows += [
        f"{plain(c.title)}: {_advantage(c.adaptive)} at {decimal(c.judged.distance.value, 2)}, "
        f"non-adaptive {_advantage(c.non_adaptive)}"
        for c in f.compared
    ]
    return Plot(
        "trade-off",
        "Privacy against what it costs",
        caption=(
            "Down is private, left is cheap. Filled points: the attacker knows the defence, with "
            "intervals that hold together. Hollow points: it does not. The dotted line is "
            "guessing; an advantage of 100 points is always being right, by the guesses or at "
            f"least by the ranking, whichever goes further.{undone}"
        ),
        words="; ".join(rows) + ".",
        draw=lambda: plot_trade_off(f),
    )


def _accuracy(f: DefenceResult) -> Plot:
    before = f.compared[0].before
    rows = [f"none: advantage {_advantage(f.none)} points at {percent(before.value)}"]
    rows += [
        f"{plain(c.title)}: {_advantage(c.adaptive)} at {percent(c.after.value)}, non-adaptive "
        f"{_advantage(c.non_adaptive)}"
        for c in f.compared
    ]
    if f.curve:
        first, last = (
            f"{_advantage(x.best)} at {percent(x.accuracy.value)} after epoch {x.epoch}"
            for x in (f.curve[0], f.curve[-1])
        )
        rows.append(f"stopped early: from {first} to {last}")
    return Plot(
        "accuracy",
        "Privacy against the model's accuracy",
        caption=(
            "Down is private, right is accurate: the best attack over the model's accuracy on "
            "records that it was not trained on. Filled points: the attacker knows the defence. "
            "Hollow points: it does not." + (_CURVE if f.curve else "")
        ),
        words="; ".join(rows) + ".",
        draw=lambda: plot_accuracy(f),
    )


def risk(f: DefenceResult) -> Plot:
    """Return the plot of the distribution of the members' risk."""
    middle = f.compared[0].judged.quantiles[0]
    rows = [f"none {decimal(middle.undefended.value, 2)}"]
    rows += [
        f"{plain(c.title)} {decimal(c.judged.quantiles[0].defended.value, 2)}" for c in f.compared
    ]
    caption = (
        "The further left a curve rises, the fewer members are at risk. The dotted line, 0.5, is "
        "no risk. By attackers who know the defence."
    )
    told = f"Half of the members have at most a risk of: {'; '.join(rows)}."
    title = "How the members' risk is distributed"
    return Plot("risk-cdf", title, caption=caption, words=told, draw=lambda: plot_risk(f))


def _advantage(b: BestAttack) -> str:
    return decimal(b.advantage[0], 1)


def plot_trade_off(f: DefenceResult, ax: Axes | None = None) -> Axes:
    """Draw the best attack's advantage over the change of answers.

    Filled: the adversary knows the defence. Hollow: it does not. Bars are intervals that
    hold together. The numbers are those of ``defences.csv``.
    """
    start = Estimate(
        value=0.0, low=0.0, high=0.0, level=f.level, n=f.n_in + f.n_out, method="exact"
    )
    ax = _plot(f, ax, start, [c.judged.distance for c in f.compared])
    ax.set(xlabel="Mean change of an answer (L1 distance)", xlim=(-0.04, None))
    return ax


def plot_accuracy(f: DefenceResult) -> Axes:
    """Draw the best attack's advantage over the model's accuracy on non-members.

    A defence pays with accuracy, and so does early stopping, whose epochs are joined by a line
    where they were recorded (Song & Mittal 2021, section 3.2).
    """
    ax = axes(None)
    if f.curve:
        _draw_epochs(f.curve, ax)
    return over_accuracy(_plot(f, ax, f.compared[0].before, [c.after for c in f.compared]))


def plot_risk(f: DefenceResult) -> Axes:
    """Draw the distribution of the members' risk without a defence and with each of them."""
    ax = axes(None)
    curves = [("no defence", f.risk, INK)]
    for i, c in enumerate(f.compared):
        curves.append((plot_label(c.title), c.judged.risk, SERIES[i % len(SERIES)]))
    for i, (name, found, colour) in enumerate(curves):
        x = np.concatenate([[0.0], found.member_scores, [1.0]])
        y = np.concatenate([[0.0], np.arange(1, len(x) - 1) / (len(x) - 2), [1.0]])
        ax.plot(x, 100 * y, color=colour, ls=DASHES[i % len(DASHES)], lw=1.5,
                drawstyle="steps-post", label=name)  # fmt: skip
    ax.axvline(0.5, color=OTHER, lw=0.9, ls=(0, (1, 2)))
    ax.set(xlabel="Privacy risk score", ylabel="Members with at most this risk, %")
    ax.set(xlim=(0, 1), ylim=(0, 101))
    legend_above(ax, len(curves), 3.2)
    return ax


def _plot(f: DefenceResult, ax: Axes | None, before: Estimate, after: list[Estimate]) -> Axes:
    """Draw the undefended model and all defences, each at its cost."""
    points = [Point("no defence", before, f.none.advantage)]
    for c, cost in zip(f.compared, after, strict=True):
        surprised = c.non_adaptive.advantage[0]
        points.append(Point(mark_undone(c), cost, c.adaptive.advantage, surprised))
    ax = plot_points(points, ax, 0, more=bool(f.curve))
    ax.set(ylabel="Advantage of the best attack, points")
    return ax


def _draw_epochs(curve: tuple[AfterEpoch, ...], ax: Axes) -> None:
    """Draw the undefended training epoch by epoch."""
    x = [point.accuracy.value for point in curve]
    y, low, high = zip(*(point.best.advantage for point in curve), strict=True)
    ax.plot(x, y, color=OTHER, lw=1.0, marker=".", ms=4, label="stopped early")
    ax.vlines(x, low, high, color=OTHER, lw=0.7, alpha=0.45)
    # Names only where they do not run into each other: a tenth of the accuracies' range apart.
    least = (max(x) - min(x)) / 10
    last = -np.inf
    for point, across, up in zip(curve, x, y, strict=True):
        if abs(across - last) >= least:
            last = across
            ax.annotate(f"{point.epoch}", (across, up), xytext=(0, 5), textcoords="offset points",
                        ha="center", fontsize=6.5, color=OTHER)  # fmt: skip
