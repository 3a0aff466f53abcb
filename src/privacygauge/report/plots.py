"""Plots: values in, Axes out; nothing is shown or saved. Their numbers are in `curves`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.calibration import Bin
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.risk import ClassRow, Risk
from privacygauge.report.axes import DASHES, FAINT, INK, OTHER, SERIES, axes, legend, short
from privacygauge.report.curves import Curve, risk_cdf, roc_curves, score_shares
from privacygauge.report.numbers import count, fixed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_roc(
    evaluations: Sequence[Evaluation], ax: Axes | None = None, *, log: bool = False
) -> Axes:
    """Draw the ROC curves of the attacks; the numbers are those of `curves.roc_curves`.

    Parameters
    ----------
    evaluations : sequence of Evaluation
    ax : matplotlib.axes.Axes, optional
        A new figure's where none is given.
    log : bool
        Whether both axes are logarithmic, which shows what few false positives buy.

    Returns
    -------
    matplotlib.axes.Axes
        The six attacks with the largest AUC are named, the highest first; others are grey.
    """
    ax = axes(ax)
    curves = sorted(roc_curves(evaluations), key=lambda c: -c.attack.auc.value)
    if not curves:
        raise InputError("at least one evaluation is needed for a ROC plot")
    floor = _log_axes(ax, evaluations) if log else 0.0
    for place in reversed(range(len(curves))):
        _draw_roc(ax, curves[place], place, floor)
    diagonal = np.array([max(floor, 0.0), 1.0])
    ax.plot(diagonal, diagonal, color=OTHER, lw=0.9, ls=(0, (1, 2)), zorder=1)
    ax.set(xlabel="False-positive rate", ylabel="True-positive rate")
    ax.set(xlim=(floor, 1), ylim=(floor, 1) if log else (0, 1.005))
    _name_curves(ax, curves)
    return ax


def plot_scores(attack: Evaluation, ax: Axes | None = None) -> Axes:
    """Draw how an attack scores members and non-members; numbers: `curves.score_shares`.

    Parameters
    ----------
    attack : Evaluation
    ax : matplotlib.axes.Axes, optional
    """
    ax = axes(ax)
    shares = score_shares(attack)
    inside, outside = shares.members * 100, shares.nonmembers * 100
    # Filled against hollow: the two are not told apart by colour alone.
    ax.stairs(inside, shares.edges, color=SERIES[1], fill=True, alpha=0.45, lw=0, label="members")
    ax.stairs(outside, shares.edges, color=SERIES[0], lw=1.6, label="non-members")
    top = 100 * max(shares.members.max(), shares.nonmembers.max())
    ax.set(xlabel="Score (higher: more likely a member)", ylabel="Share of records, %")
    ax.set(xlim=(shares.edges[0], shares.edges[-1]), ylim=(0, top * 1.3))
    legend(ax, loc="upper left", ncols=2)
    return ax


def plot_risk_cdf(risk: Risk, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the members' risk; numbers: `curves.risk_cdf`.

    Parameters
    ----------
    risk : Risk
    ax : matplotlib.axes.Axes, optional

    Notes
    -----
    Song & Mittal (2021), Figure 5.
    """
    ax = axes(ax)
    cdf = risk_cdf(risk)
    x = np.concatenate([[0.0], cdf.risk, [1.0]])
    y = np.concatenate([[0.0], cdf.share, [1.0]]) * 100
    ax.plot(x, y, color=SERIES[0], lw=1.8, drawstyle="steps-post")
    ax.axvline(0.5, color=OTHER, lw=0.9, ls=(0, (1, 2)))
    ax.annotate("guessing", (0.5, 97), (-4, 0), textcoords="offset points", ha="right", va="top",
                color=INK, fontsize=8)  # fmt: skip
    ax.set(xlabel="Privacy risk score", ylabel="Members with at most this risk, %")
    ax.set(xlim=(0, 1), ylim=(0, 101))
    return ax


def plot_reliability(risk: Risk, ax: Axes | None = None) -> Axes:
    """Draw the realised share of members against the score; numbers: ``risk.reliability.bins``.

    Parameters
    ----------
    risk : Risk
    ax : matplotlib.axes.Axes, optional

    Notes
    -----
    Song & Mittal (2021), Figure 3. A bar is the interval of the share; the number is that of the
    records in the bin.
    """
    ax = axes(ax)
    bins = risk.reliability.bins
    ax.plot([0, 1], [0, 1], color=OTHER, lw=0.9, ls=(0, (1, 2)), zorder=1, label="calibrated")
    x = [b.mean_score for b in bins]
    ax.vlines(x, [b.fraction.low for b in bins], [b.fraction.high for b in bins],
              color=SERIES[0], lw=1.6)  # fmt: skip
    ax.plot(x, [b.fraction.value for b in bins], color=SERIES[0], lw=1.0, marker="o", ms=4,
            label="realised, with records in the bin")  # fmt: skip
    for b in bins:
        _name_bin(ax, b)
    ax.set(xlabel="Privacy risk score", ylabel="Realised share of members")
    ax.set(xlim=(-0.04, 1.06), ylim=(-0.02, 1.04))
    legend(ax, loc="upper left")
    return ax


def plot_classes(risk: Risk, ax: Axes | None = None) -> Axes:
    """Draw each class's mean risk against its generalisation error; numbers: ``risk.classes``.

    Parameters
    ----------
    risk : Risk
        With at least one class that has members and non-members.
    ax : matplotlib.axes.Axes, optional

    Notes
    -----
    Song & Mittal (2021), Figure 8. The three classes of the highest risk carry their label.
    """
    if not risk.classes:
        raise InputError("no class has both members and non-members: nothing to draw")
    ax = axes(ax)
    x = [row.generalisation_error for row in risk.classes]
    y = [row.mean_risk for row in risk.classes]
    ax.scatter(x, y, s=22, color=SERIES[0], alpha=0.75, lw=0)
    for row in _apart(risk.classes)[:3]:
        ax.annotate(str(row.label), (row.generalisation_error, row.mean_risk), (-5, 2),
                    textcoords="offset points", ha="right", fontsize=8, color=INK)  # fmt: skip
    ax.set(xlabel="Generalisation error of the class", ylabel="Mean risk of its members")
    ax.margins(0.1)
    ax.set_title(_correlation(risk.correlation), fontsize=8.5, loc="left", color=INK)
    return ax


def _log_axes(ax: Axes, evaluations: Sequence[Evaluation]) -> float:
    ax.set(xscale="log", yscale="log")
    ax.minorticks_off()
    most = max(e.n_out for e in evaluations)
    floor = float(10.0 ** np.floor(np.log10(0.999 / most)))
    doubtful = min(10 / most, 1.0)
    ax.axvspan(floor, doubtful, color=FAINT, alpha=0.35, lw=0, zorder=0)
    ax.annotate("too few non-members\nto tell", (np.sqrt(floor * doubtful), 0.97), fontsize=7.5,
                xycoords=("data", "axes fraction"), ha="center", va="top", color=INK)  # fmt: skip
    return floor


def _draw_roc(ax: Axes, curve: Curve, place: int, floor: float) -> None:
    named = place < len(SERIES)
    ax.plot(
        np.maximum(curve.fpr, floor / 10) if floor else curve.fpr,
        np.maximum(curve.tpr, floor / 10) if floor else curve.tpr,
        color=SERIES[place] if named else OTHER,
        ls=DASHES[place] if named else "solid",
        lw=(2.0 if place == 0 else 1.4) if named else 0.8,
        # Between thresholds nothing is achieved for certain; ties are shared on a linear scale.
        drawstyle="steps-post" if floor else "default",
        zorder=3 if named else 2,
        label=f"{short(curve.attack.title)}  {fixed(curve.attack.auc.value, 3)}",
    )


def _name_curves(ax: Axes, curves: Sequence[Curve]) -> None:
    named = curves[: len(SERIES)]
    lines = ax.get_lines()[: len(curves)][::-1]
    handles = lines[: len(named)]
    labels = [str(line.get_label()) for line in handles]
    if len(curves) > len(named):
        handles.append(lines[-1])
        labels.append(f"{len(curves) - len(named)} further")
    legend(ax, handles=handles, labels=labels, loc="lower right", title="Attack, AUC")


def _correlation(found: Estimate | Skipped) -> str:
    if isinstance(found, Skipped):
        return ""
    return f"Pearson {fixed(found.value, 2)} ({fixed(found.low, 2)} to {fixed(found.high, 2)})"


def _name_bin(ax: Axes, b: Bin) -> None:
    """Write the bin's records beside its bar, on the side that the diagonal leaves free."""
    left = b.mean_score < 0.5
    ax.annotate(
        count(b.n),
        (b.mean_score, b.fraction.high if left else b.fraction.low),
        (-2, 1) if left else (3, -1),
        textcoords="offset points",
        ha="right" if left else "left",
        va="bottom" if left else "top",
        fontsize=7.5,
        color=INK,
    )


def _apart(classes: Sequence[ClassRow]) -> list[ClassRow]:
    """Return the classes by falling risk, without those too near to an earlier one to label."""
    wide = np.ptp([row.generalisation_error for row in classes]) / 12
    high = np.ptp([row.mean_risk for row in classes]) / 20
    kept: list[ClassRow] = []
    for row in sorted(classes, key=lambda row: -row.mean_risk):
        if all(
            abs(row.generalisation_error - k.generalisation_error) > wide
            or abs(row.mean_risk - k.mean_risk) > high
            for k in kept
        ):
            kept.append(row)
    return kept
