"""The plot of a leaderboard's history: values in, axes out; nothing is shown or saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privacygauge.audits.leaderboard.found import LeaderboardAudit
from privacygauge.report.axes import DASHES, OTHER, SERIES, axes, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 4_000
"""Submissions that are drawn singly; of more an even choice, flagged ones always."""


def plot_history(f: LeaderboardAudit, ax: Axes | None = None) -> Axes:
    """Draw scores, best so far, noise and Ladder over submissions; numbers: `records_frame`."""
    s, new = f.submissions, ax is None
    ax = axes(ax)
    place = np.arange(1, len(s.scores) + 1)
    flagged = np.array([bool(names) for names in s.flags])
    shown = flagged | (np.arange(len(place)) % max(1, len(place) // _MOST) == 0)
    plain, marked = shown & ~flagged, flagged
    size = 9 if len(place) < 500 else 4
    ax.scatter(place[plain], s.scores[plain] * 100, s=size, color=OTHER, lw=0, label="submissions")
    if marked.any():
        ax.scatter(place[marked], s.scores[marked] * 100, s=size + 5, marker="x", lw=0.9,
                   color=SERIES[1], label="in a finding")  # fmt: skip
    curves = (("best so far", s.best), ("noise alone", s.noise), ("Ladder", s.ladder))
    for (name, values), colour, dash in zip(curves, (0, 2, 3), DASHES, strict=False):
        if values is not None:
            ax.step(place, values * 100, where="post", color=SERIES[colour], ls=dash, lw=1.5,
                    label=name)  # fmt: skip
    ax.set(xlabel="Submission, in the order of time", ylabel="Score, %")
    legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    figure = ax.get_figure(root=True)
    if new and figure is not None:
        figure.set_size_inches(4.8, 3.6)
    return ax
