"""Plots of an audit of a released table: values in, Axes out; nothing is shown or saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privacygauge.errors import InputError
from privacygauge.report import plots
from privacygauge.report.axes import FAINT, SERIES, axes, legend, short
from privacygauge.report.synthetic.released.tables import risks_frame
from privacygauge.report.synthetic.released.verdict import named
from privacygauge.report.synthetic.released_findings import ReleasedFindings
from privacygauge.synthetic.released.tables import NO_CONTROL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIDES = (
    ("attack", "o", SERIES[1], -0.22, "real records"),
    ("control", "s", SERIES[0], 0.0, "holdout (control)"),
    ("baseline", "x", SERIES[2], 0.22, "baseline"),
)
_EACH, _ROOM = 0.36, 1.0
"""Inches for each risk, and beside them."""


def plot_roc(f: ReleasedFindings, ax: Axes | None = None, *, log: bool = False) -> Axes:
    """Draw the ROC curves of the membership attacks, as `privacygauge.report.plots.plot_roc` does.

    Raises
    ------
    InputError
        Without a holdout: no attack was played.
    """
    if not f.evaluations:
        raise InputError(f"a holdout is needed for a ROC plot, got none: {NO_CONTROL}")
    return plots.plot_roc(f.evaluations, ax, log=log)


def plot_risks(f: ReleasedFindings, ax: Axes | None = None) -> Axes:
    """Draw attack, control and baseline of each risk with intervals; numbers: `risks_frame`.

    Parameters
    ----------
    f : ReleasedFindings
        With at least one risk.
    ax : matplotlib.axes.Axes, optional
        A new figure's where none is given, as high as there are risks.
    """
    if not f.risks:
        raise InputError("at least one risk is needed to be drawn, got none")
    frame, new = risks_frame(f), ax is None
    ax = axes(ax)
    place = np.arange(len(frame))
    for name, marker, colour, off, title in _SIDES:
        value, low, high = (
            frame[column].to_numpy(float) * 100 for column in (name, f"{name}_low", f"{name}_high")
        )
        if np.isnan(value).all():
            continue
        ax.errorbar(value, place + off, xerr=[value - low, high - value], fmt=marker, color=colour,
                    ms=4.5, mfc="none" if marker == "s" else colour, elinewidth=1.2, lw=1.2,
                    label=title)  # fmt: skip
    for between in place[1:] - 0.5:
        ax.axhline(between, color=FAINT, lw=0.6)
    ax.set_yticks(place, [short(named(risk)) for risk in f.risks])
    ax.grid(visible=False, axis="y")
    ax.set(xlim=(-2, 102), ylim=(len(frame) - 0.5, -0.5), xlabel="Attempts that succeed, %")
    legend(ax, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)
    figure = ax.get_figure(root=True)
    if new and figure is not None:
        figure.set_size_inches(4.6, _ROOM + _EACH * len(frame))
    return ax
