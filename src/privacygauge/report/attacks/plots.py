"""Plots of ROC curves and scores of attacks, with captions and text descriptions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from privacygauge.core.checks import Floats
from privacygauge.errors import InputError
from privacygauge.evaluate.evaluation import Evaluation, roc_curves, score_shares
from privacygauge.report.axes import DASHES, FAINT, INK, OTHER, SERIES, axes, legend, plot_label
from privacygauge.report.numbers import decimal, decimal_estimate, plain
from privacygauge.report.values import Axes, Plot, Section


class RocPoints(NamedTuple):
    """Points of a ROC curve, in the order of ``sklearn.metrics.roc_curve``."""

    fpr: Floats
    """(p,) False-positive rates, rising from 0 to 1."""
    tpr: Floats
    """(p,) True-positive rates, rising from 0 to 1."""
    thresholds: Floats
    """(p,) Falling scores from which on a record is called a member; the first is infinite."""


class RankedRecords:
    """ROC curves of a result whose attacks rank records: as arrays, and as a plot."""

    __slots__ = ()

    @property
    @abstractmethod
    def ranking_attacks(self) -> Sequence[Evaluation]:
        """Attacks that have a ROC curve."""

    def roc(self, attack: str | None = None) -> RocPoints:
        """Return the ROC curve of an attack as arrays, ``fpr, tpr, thresholds = result.roc()``.

        Parameters
        ----------
        attack : str, optional
            Title of the attack, such as ``confidence (global)``; default: the one with the largest
            area under its curve.

        Raises
        ------
        InputError
            If there is no such attack; the message lists the attacks.
        """
        known = {e.title: e for e in self.ranking_attacks}
        if attack is not None and attack not in known:
            raise InputError(f"no attack {attack!r}; the attacks are: {', '.join(known)}")
        best = max(known.values(), key=lambda e: e.auc.value)
        curve = (best if attack is None else known[attack]).roc
        return RocPoints(curve.fpr, curve.tpr, curve.thresholds)

    def plot_roc(self, ax: Axes | None = None, *, log: bool = False) -> Axes:
        """Plot the ROC curve of every attack, by default on linear axes; the numbers are `roc`."""
        return plot_roc(self.ranking_attacks, ax, log=log)


def roc_section(evaluations: Sequence[Evaluation], best: Evaluation) -> Section:
    """Return the section with both ROC plots and the scores of the strongest attack."""
    return Section("curves", "Curves", (roc(evaluations), roc_log(evaluations), scores(best)))


def roc(
    evaluations: Sequence[Evaluation],
    *,
    name: str = "roc",
    title: str = "ROC curves",
    caption: str = "How many members an attack finds (up) for how many false alarms (right). The "
    "dotted diagonal is guessing.",
) -> Plot:
    """Return the plot of the ROC curves of attacks."""
    told = areas(evaluations)
    return Plot(
        name, title, caption=caption, words=told, draw=lambda: plot_roc(evaluations), wide=False
    )


def roc_log(
    evaluations: Sequence[Evaluation],
    *,
    name: str = "roc-log",
    title: str = "ROC curves, both axes logarithmic",
    caption: str = "The same, enlarged at few false alarms: a curve far above the diagonal on the "
    "left gives some members away almost for certain.",
) -> Plot:
    """Return the plot of the ROC curves of attacks on logarithmic axes."""
    draw = partial(plot_roc, evaluations, log=True)
    return Plot(name, title, caption=caption, words=areas(evaluations), draw=draw, wide=False)


def scores(
    e: Evaluation, *, title: str = "", words: str = "", name: str = "scores", wide: bool = True
) -> Plot:
    """Return the plot of an attack's score distribution, for members and non-members.

    `title` defaults to the attack's title, `words` to a description of the AUC.
    """
    called = plain(title or e.title)
    told = words or (
        f"The scores of {called} for members and non-members; a random member scores higher than "
        f"a random non-member with probability {decimal_estimate(e.auc)}."
    )
    caption = "The less the two overlap, the better the attack tells them apart."
    return Plot(
        name,
        f"Scores of {called}",
        caption=caption,
        words=told,
        draw=lambda: plot_scores(e),
        wide=wide,
    )


def areas(evaluations: Sequence[Evaluation]) -> str:
    """Return the AUCs of the curves that a ROC plot names, as text."""
    ordered = sorted(evaluations, key=lambda e: -e.auc.value)[: len(SERIES)]
    return "Area under the curve: " + "; ".join(
        f"{plain(e.title)} {decimal_estimate(e.auc)}" for e in ordered
    )


def plot_roc(
    evaluations: Sequence[Evaluation], ax: Axes | None = None, *, log: bool = False
) -> Axes:
    """Draw the ROC curves of attacks; the numbers are those of `roc_curves`.

    The six attacks with the largest AUCs are named, in descending order; others are grey. With
    `log`, both axes are logarithmic, which shows the TPR at low FPRs.
    """
    ax = axes(ax)
    curves = sorted(roc_curves(evaluations), key=lambda c: -c.attack.auc.value)
    if not curves:
        raise InputError("at least one evaluation is needed for a ROC plot")
    floor = 0.0
    if log:
        ax.set(xscale="log", yscale="log")
        ax.minorticks_off()
        most = max(e.n_out for e in evaluations)
        # A rate of 0 has no place on a log scale: the axis begins at the power of ten below one
        # false positive.
        floor = float(10.0 ** np.floor(np.log10(0.999 / most)))
        # Rates with fewer than 10 expected false positives are not resolved.
        doubtful = min(10 / most, 1.0)
        ax.axvspan(floor, doubtful, color=FAINT, alpha=0.35, lw=0, zorder=0)
        ax.annotate(
            "too few non-members\nto tell",
            (np.sqrt(floor * doubtful), 0.97),
            fontsize=7.5,
            xycoords=("data", "axes fraction"),
            ha="center",
            va="top",
            color=INK,
        )
    for place, curve in reversed(list(enumerate(curves))):
        is_named = place < len(SERIES)
        ax.plot(
            np.maximum(curve.fpr, floor / 10) if log else curve.fpr,
            np.maximum(curve.tpr, floor / 10) if log else curve.tpr,
            color=SERIES[place] if is_named else OTHER,
            ls=DASHES[place] if is_named else "solid",
            lw=(2.0 if place == 0 else 1.4) if is_named else 0.8,
            # Steps on the log scale, since no threshold lies between two points; lines on the
            # linear scale, where they show ties broken at random.
            drawstyle="steps-post" if log else "default",
            zorder=3 if is_named else 2,
            label=f"{plot_label(curve.attack.title)}  {decimal(curve.attack.auc.value, 3)}",
        )
    diagonal = np.array([max(floor, 0.0), 1.0])
    ax.plot(diagonal, diagonal, color=OTHER, lw=0.9, ls=(0, (1, 2)), zorder=1)
    ax.set(xlabel="False-positive rate", ylabel="True-positive rate")
    ax.set(xlim=(floor, 1), ylim=(floor, 1) if log else (0, 1.005))
    # Curves were drawn in reverse order, so that the best ones lie on top.
    named = curves[: len(SERIES)]
    lines = ax.get_lines()[: len(curves)][::-1]
    handles = lines[: len(named)]
    labels = [str(line.get_label()) for line in handles]
    if len(curves) > len(named):
        handles.append(lines[-1])
        labels.append(f"{len(curves) - len(named)} further")
    legend(ax, handles=handles, labels=labels, loc="lower right", title="Attack, AUC")
    return ax


def plot_scores(attack: Evaluation, ax: Axes | None = None) -> Axes:
    """Draw the score histograms of members and non-members; numbers: `score_shares`."""
    ax = axes(ax)
    shares = score_shares(attack)
    inside = shares.members * 100
    outside = shares.nonmembers * 100
    # Filled and hollow, so that the sides do not differ by colour alone.
    ax.stairs(inside, shares.edges, color=SERIES[1], fill=True, alpha=0.45, lw=0, label="members")
    ax.stairs(outside, shares.edges, color=SERIES[0], lw=1.6, label="non-members")
    top = 100 * max(shares.members.max(), shares.nonmembers.max())
    ax.set(xlabel="Score (higher: more likely a member)", ylabel="Share of records, %")
    ax.set(xlim=(shares.edges[0], shares.edges[-1]), ylim=(0, top * 1.3))
    legend(ax, loc="upper left", ncols=2)
    return ax
