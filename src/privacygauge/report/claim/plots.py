"""The plot of an audit of a privacy claim: values in, Axes out; nothing is shown or saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.report.axes import INK, OTHER, SERIES, axes, legend
from privacygauge.report.claim.findings import ClaimFindings

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_curve(f: ClaimFindings, ax: Axes | None = None) -> Axes:
    """Draw the bound by the number of guesses, and the largest there could be; `curve_frame`.

    Parameters
    ----------
    f : ClaimFindings
    ax : matplotlib.axes.Axes, optional
        A new figure's where none is given.

    Returns
    -------
    matplotlib.axes.Axes
        Descriptive: each point is a bound as if it were the only one.
    """
    ax = axes(ax)
    x = f.curve.n_guesses
    ax.plot(x, f.curve.largest, color=OTHER, ls=(0, (5, 1.6)), lw=1.4, label="perfect attack")
    ax.plot(x, f.curve.low, color=SERIES[0], lw=1.8, marker="o", ms=3, label="this attack")
    ax.axhline(f.claim.epsilon, color=INK, ls=(0, (1.2, 1.2)), lw=1.2, label="claim")
    ax.set_xscale("log")
    ax.set_ylim(bottom=0)
    one = f.design == "one-run"
    ax.set_xlabel("number of guesses" if one else 'number of rows called "member"')
    ax.set_ylabel("epsilon, at least")
    legend(ax, loc="upper left")
    return ax
