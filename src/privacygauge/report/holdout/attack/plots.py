"""The plot of bias by attack and guard: values in, Axes out; nothing is shown or saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privacygauge.report.axes import FAINT, OTHER, SERIES, axes, legend, short
from privacygauge.report.holdout.findings import AttackFindings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = ("o", "s", "^", "D", "v", "x")
_EACH, _ROOM = 0.16, 1.0
"""Inches for each result, and beside them."""


def plot_biases(f: AttackFindings, ax: Axes | None = None) -> Axes:
    """Draw the bias of every attack behind every guard with intervals; numbers: `records_frame`.

    Parameters
    ----------
    f : AttackFindings
    ax : matplotlib.axes.Axes, optional
        A new figure's where none is given, as high as there are results.
    """
    new = ax is None
    ax = axes(ax)
    place = np.arange(len(f.attacks), dtype=float)
    for i, guard in enumerate(f.guards):
        found = [f.of(attack, guard.guard).bias for attack in f.attacks]
        value, low, high = (
            100 * np.array([getattr(e, end) for e in found]) for end in ("value", "low", "high")
        )
        reach = np.where(np.isfinite([value - low, high - value]), [value - low, high - value], 0)
        off = (i + 1) / (len(f.guards) + 1) - 0.5
        ax.errorbar(value, place + 0.8 * off, xerr=reach, fmt=_MARKERS[i % len(_MARKERS)],
                    color=SERIES[i % len(SERIES)], ms=4.5, elinewidth=1.2, lw=1.2,
                    label=short(guard.guard))  # fmt: skip
    for between in place[1:] - 0.5:
        ax.axhline(between, color=FAINT, lw=0.6)
    ax.axvline(0, color=OTHER, lw=0.9, ls=(0, (1, 2)))
    ax.set_yticks(place, [short(attack) for attack in f.attacks])
    ax.grid(visible=False, axis="y")
    ax.set(ylim=(len(place) - 0.5, -0.5), xlabel="Bias, points of accuracy")
    legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3)
    figure = ax.get_figure(root=True)
    if new and figure is not None:
        figure.set_size_inches(4.6, _ROOM + _EACH * max(4, len(f.results)))
    return ax
