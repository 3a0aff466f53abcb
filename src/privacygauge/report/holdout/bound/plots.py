"""The plot of bias against submissions: values in, Axes out; nothing is shown or saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privacygauge.report.axes import DASHES, INK, OTHER, SERIES, axes, legend
from privacygauge.report.holdout.findings import BoundFindings

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_curves(f: BoundFindings, ax: Axes | None = None) -> Axes:
    """Draw bias against submissions, both axes logarithmic; the numbers are ``f.curves``.

    Parameters
    ----------
    f : BoundFindings
    ax : matplotlib.axes.Axes, optional
        A new figure's where none is given.
    """
    ax = axes(ax)
    low = 1.0
    for place, curve in enumerate(f.curves):
        shown = curve.bias > 0
        ax.plot(curve.queries[shown], curve.bias[shown] * 100, color=SERIES[place % len(SERIES)],
                ls=DASHES[place % len(DASHES)], lw=1.6, label=curve.title)  # fmt: skip
        here = np.interp(f.queries, curve.queries, curve.bias) * 100
        low = min(low, here / 10) if here > 0 else low
    ax.axhline(f.allowed_bias * 100, color=OTHER, lw=0.9, ls=(0, (1, 2)))
    ax.annotate("allowed", (1, f.allowed_bias * 100), (2, 2), textcoords="offset points",
                color=INK, fontsize=7.5)  # fmt: skip
    ax.axvline(f.queries, color=OTHER, lw=0.9)
    last = max(int(curve.queries[-1]) for curve in f.curves)
    ax.set(xscale="log", yscale="log", xlim=(1, last), ylim=(max(low, 1e-3), 100))
    ax.set(xlabel="Submissions", ylabel="Bias, points of accuracy")
    legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    return ax
