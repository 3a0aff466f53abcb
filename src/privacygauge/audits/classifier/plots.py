"""Plots of the privacy risk score: values in, Axes out; nothing is shown or saved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.calibration import Bin
from privacygauge.evaluate.risk import ClassRow, Risk
from privacygauge.report.axes import INK, OTHER, SERIES, axes, legend
from privacygauge.report.curves import POINTS
from privacygauge.report.numbers import count, fixed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class RiskCdf:
    """Which share of the members has at most which risk (Song & Mittal 2021, Figure 5)."""

    risk: Floats
    """(p,) Risk scores, ascending."""
    share: Floats
    """(p,) Share of the members with at most that score."""


def risk_cdf(risk: Risk) -> RiskCdf:
    """Return the distribution of the members' risk scores, with at most `POINTS` points."""
    score = risk.member_scores
    value, last = np.unique(score[::-1], return_index=True)
    share = (len(score) - last) / len(score)
    if len(value) > POINTS:
        keep = np.unique(np.linspace(0, len(value) - 1, POINTS).round().astype(int))
        value, share = value[keep], share[keep]
    return RiskCdf(value, share)


def plot_risk_cdf(risk: Risk, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the members' risk; numbers: `risk_cdf`.

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

    Song & Mittal (2021), Figure 8. The three classes of the highest risk carry their label. There
    is at least one class that has members and non-members.
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
