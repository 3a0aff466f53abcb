"""Plots of differential training privacy: values in, Axes out; nothing is shown or saved."""

from __future__ import annotations

import numpy as np

from privacygauge.audits.dtp.result import DtpResult
from privacygauge.classifier.dtp.removal import LIMIT, RemovalPath
from privacygauge.classifier.dtp.told import rank_by_pdtp
from privacygauge.classifier.dtp.variation import Variation
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.report.axes import INK, OTHER, SERIES, axes, legend
from privacygauge.report.values import Axes

LONG = 100
"""Number of records from which on their axis is logarithmic."""
HIGH = 10.0
"""Largest value from which on its axis is logarithmic."""


def plot_pdtp(f: DtpResult, ax: Axes | None = None) -> Axes:
    """Draw the records by falling PDTP, with the range of DTP; numbers: `rank_by_pdtp`.

    The rank is logarithmic for more than 100 records. What is infinite is drawn at the upper
    edge, with a triangle.
    """
    ax = axes(ax)
    found = rank_by_pdtp(f.pdtp, f.dtp, f.order)
    top = _scale(ax, (found.pdtp, found.low, found.high))
    x = found.rank
    known = np.isfinite(found.high)
    if (known & (found.high > found.low)).any():
        ax.fill_between(x, found.low, np.minimum(found.high, top), where=known, color=SERIES[1],
                        alpha=0.2, lw=0, label="DTP, range")  # fmt: skip
    exact = np.array_equal(found.low, found.high)
    ax.plot(x, np.minimum(found.low, top), color=SERIES[1], lw=1.2, ls=(0, (3, 1)),
            marker="_" if len(x) <= 30 else "",
            label="DTP, exact" if exact else "DTP, at least")  # fmt: skip
    ax.plot(x, np.minimum(found.pdtp, top), color=SERIES[0], lw=1.8, label="PDTP",
            marker="o" if len(x) <= 30 else "", ms=3.5)  # fmt: skip
    _infinite(ax, x, np.maximum(found.pdtp, found.low), top)
    _limit(ax)
    if len(f.rows) > LONG:
        ax.set_xscale("log")
        ax.minorticks_off()
        ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set(xlabel="Records, the riskiest first", ylabel="Log ratio (1 is a factor of 2.7)")
    ax.set(xlim=(0.9 if len(f.rows) > LONG else 0.5, max(len(f.rows), 1.5)))
    legend(ax, loc="upper right")
    return ax


def plot_removal(f: DtpResult, ax: Axes | None = None) -> Axes:
    """Draw the largest value as the riskiest records are removed; numbers: ``f.removal``.

    Long et al. (2017), Figure 6.
    """
    if f.removal is None:
        raise InputError(
            "removal must have been asked for to be drawn, got none: audit with remove=1"
        )
    ax = axes(ax)
    path: RemovalPath = f.removal
    top = _scale(ax, (path.highest,))
    x = np.arange(len(path.highest))
    shown = np.minimum(path.highest, top)
    ax.plot(x, shown, color=SERIES[0], lw=1.5, marker="o" if len(x) <= 60 else "", ms=3)
    _infinite(ax, x, path.highest, top)
    _limit(ax)
    ax.plot([path.best], [shown[path.best]], color=SERIES[1], marker="D", ms=7, ls="none",
            label="best point to stop", zorder=4)  # fmt: skip
    ax.set(xlabel="Records removed", ylabel=f"Largest {path.measure} of those left")
    ax.set_xlim(-0.02 * len(x) - 0.2, len(x) - 1 + 0.02 * len(x) + 0.2)
    ax.locator_params(axis="x", integer=True)
    legend(ax, loc="best")
    return ax


def plot_variation(v: Variation, ax: Axes | None = None) -> Axes:
    """Draw other causes of a change in prediction, and the record's own effect; numbers: `v`.

    Notes
    -----
    Long et al. (2017), Figures 7 and 8.
    """
    ax = axes(ax)
    edges = v.edges.tolist()
    ax.hist(v.sampling, edges, color=SERIES[1], alpha=0.45, lw=0, label="other training sets")
    ax.hist(v.initialisation, edges, color=SERIES[0], histtype="step", lw=1.6,
            label="other random states")  # fmt: skip
    # Below the legend: room is made above the histograms.
    ax.axvline(v.with_it, ymax=0.7, color=SERIES[2], lw=1.8, label="with the record")
    ax.axvline(v.without, ymax=0.7, color=SERIES[3], lw=1.8, ls=(0, (4, 1.5)), label="without it")
    ax.set(xlabel="Probability of the record's own class", ylabel="Models")
    ax.set_ylim(0, 1.45 * ax.get_ylim()[1])
    legend(ax, loc="upper left", ncols=2)
    return ax


def _scale(ax: Axes, values: tuple[Floats, ...]) -> float:
    """Set the limits of the vertical axis; return the height at which infinity is drawn."""
    together = np.concatenate(values)
    finite = together[np.isfinite(together)]
    most = max(float(finite.max()) if len(finite) else 0.0, LIMIT)
    top = 1.15 * most
    if most > HIGH:
        ax.set_yscale("symlog", linthresh=LIMIT, linscale=0.6)
        ax.yaxis.set_major_formatter("{x:g}")
        top = 1.6 * most
    ax.set_ylim(0, top)
    return top


def _limit(ax: Axes) -> None:
    ax.axhline(LIMIT, color=OTHER, lw=1.1, ls=(0, (1, 1.5)), zorder=2, label="limit, 1")


def _infinite(ax: Axes, x: Ints, values: Floats, top: float) -> None:
    places = np.flatnonzero(np.isinf(values))
    if not len(places):
        return
    ax.plot(x[places], np.full(len(places), top), color=INK, marker="^", ms=6, ls="none",
            clip_on=False, zorder=5, label="infinite")  # fmt: skip
