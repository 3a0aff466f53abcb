"""Shared parts of reports on defences: claims, measures over several defences, trade-off plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.report.axes import INK, MARKERS, OTHER, SERIES, axes, legend_above, plot_label
from privacygauge.report.numbers import count, rate, rounded_up
from privacygauge.report.values import Axes, Json, Text, text

MEMBER = (
    "A record that the model was trained on. A non-member is a record of the same kind that it was "
    "not."
)
AUC = "The probability that a member scores higher than a non-member. Guessing gives 0.5."


@dataclass(frozen=True)
class Point:
    """A defence in a plot of the remaining leak against its cost."""

    name: str
    """Name of the defence."""
    cost: Estimate
    """Cost, on the x axis."""
    left: tuple[float, float, float]
    """Remaining leak, on the y axis: value, lower limit, upper limit."""
    beside: float | None = None
    """Position of a second, hollow marker on the y axis; None for no second marker."""


def claim_shown(claim: PrivacyClaim) -> str:
    """Return a claim as text, with epsilon rounded up."""
    return f"epsilon {rounded_up(claim.epsilon)} at delta {claim.delta:.1e}"


def promise_text(claim: PrivacyClaim) -> str:
    """Return a claim as text, with the accountant's name and the neighbouring relation."""
    by = f"the accountant {claim.accountant}" if claim.accountant else "an unnamed accountant"
    return f"{claim_shown(claim)}, by {by}, for one record added or removed"


def claim_dict(claim: PrivacyClaim | None) -> Json:
    """Return a claim as plain values; None for no claim."""
    return None if claim is None else dict(claim_columns(claim))


def claim_columns(claim: PrivacyClaim | None) -> dict[str, Json]:
    """Return a claim as columns, with missing values for no claim."""
    if claim is None:
        return {"epsilon": None, "delta": None, "accountant": None}
    return {"epsilon": claim.epsilon, "delta": claim.delta, "accountant": claim.accountant or None}


def methods(named: Mapping[str, Estimate]) -> dict[str, str]:
    """Return the interval method, level and n of each estimate, by name."""
    return {name: f"{x.method}, {rate(x.level)}, n = {count(x.n)}" for name, x in named.items()}


def one_by_one(level: float) -> Text:
    """Return the note on how to read tables of single attacks."""
    told = (
        f"Attack by attack; each interval holds individually, at {rate(level)}. Among so many "
        "numbers some look good or bad by luck alone: the comparison above allows for that, these "
        "tables do not."
    )
    return text(told)


def plot_points(points: Sequence[Point], ax: Axes | None, guessing: float, more: int = 0) -> Axes:
    """Draw the remaining leak against the cost; the first point is the undefended model.

    A dotted line marks `guessing`; `more` is the number of legend entries already on the axes. `ax`
    None makes new axes.
    """
    ax = axes(ax)
    for i, point in enumerate(points):
        # The undefended model in the colour of text, so that defences have the series to
        # themselves.
        colour = SERIES[(i - 1) % len(SERIES)] if i else INK
        marker = MARKERS[i % len(MARKERS)]
        cost = point.cost
        value, low, high = point.left
        across = [[cost.value - cost.low], [cost.high - cost.value]]
        ax.errorbar([cost.value], [value], xerr=across, yerr=[[value - low], [high - value]],
                    color=colour, marker=marker, ms=6, ls="none", elinewidth=1.2,
                    label=plot_label(point.name))  # fmt: skip
        if point.beside is not None:
            ax.plot([cost.value], [point.beside], ls="none", marker=marker, ms=6, mfc="none",
                    mec=colour, mew=1.2)  # fmt: skip
    ax.axhline(guessing, color=OTHER, lw=0.9, ls=(0, (1, 2)))
    legend_above(ax, len(points) + more, 3.2)
    return ax


def over_accuracy(ax: Axes) -> Axes:
    """Label the x axis as a model's accuracy, in %, and return the axes."""
    ax.set(xlabel="Model's accuracy on new records, %")
    ax.xaxis.set_major_formatter(lambda x, _: f"{100 * x:.0f}")
    return ax
