"""Plots of an audit of a released table: values in, Axes out; nothing is shown or saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privacygauge.audits.released_table.play import ReleasedAudit, called
from privacygauge.errors import InputError
from privacygauge.report.attacks import plots
from privacygauge.report.axes import FAINT, SERIES, axes, legend, short
from privacygauge.report.document import ends
from privacygauge.report.numbers import percent
from privacygauge.report.values import Plot
from privacygauge.synthetic.released.hits import ReleaseRisk
from privacygauge.synthetic.released.tables import NO_CONTROL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_SIDES = (
    ("attack", "o", SERIES[1], -0.22, "real records"),
    ("control", "s", SERIES[0], 0.0, "holdout (control)"),
    ("baseline", "x", SERIES[2], 0.22, "baseline"),
)
_EACH, _ROOM = 0.36, 1.0
"""Inches for each risk, and beside them."""


def plot_roc(f: ReleasedAudit, ax: Axes | None = None, *, log: bool = False) -> Axes:
    """Draw the ROC curves of the membership attacks, as `report.attacks.plots.plot_roc` does.

    Raises
    ------
    InputError
        Without a holdout: no attack was played.
    """
    if not f.evaluations:
        raise InputError(f"a holdout is needed for a ROC plot, got none: {NO_CONTROL}")
    return plots.plot_roc(f.evaluations, ax, log=log)


def plot_risks(f: ReleasedAudit, ax: Axes | None = None) -> Axes:
    """Draw attack, control and baseline of each risk with intervals; numbers: `risks_frame`.

    A new figure is as high as there are risks; one is needed at least.
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
    ax.set_yticks(place, [short(called(risk)) for risk in f.risks])
    ax.grid(visible=False, axis="y")
    ax.set(xlim=(-2, 102), ylim=(len(frame) - 0.5, -0.5), xlabel="Attempts that succeed, %")
    legend(ax, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)
    figure = ax.get_figure(root=True)
    if new and figure is not None:
        figure.set_size_inches(4.6, _ROOM + _EACH * len(frame))
    return ax


def risks_plot(f: ReleasedAudit) -> Plot:
    """Return the three risks, form by form, as a part of the page."""
    return Plot(
        "risk-forms",
        "The three risks, form by form",
        "Circles: attempts on real records. Squares: the same on the holdout. Crosses: the "
        "baseline, without the attack. A leak is a circle to the right of its square; bars are "
        "intervals.",
        "; ".join(map(_in_words, f.risks)) + ".",
        lambda: plot_risks(f),
        wide=False,
    )


def _in_words(risk: ReleaseRisk) -> str:
    control = "" if risk.control is None else f", holdout {percent(risk.control.value)}"
    return f"{called(risk)}: real {percent(risk.attack.value)}{control}"


def risks_frame(f: ReleasedAudit) -> pd.DataFrame:
    """Return one row for every form of a risk.

    Columns: ``risk``, ``variant``, and of ``attack``, ``control``, ``baseline`` and
    ``beyond`` the value, ``_low`` and ``_high``; those of control and beyond are missing
    without a holdout.
    """
    import pandas as pd

    rows = [
        {
            "risk": risk.name,
            "variant": risk.variant,
            **ends("attack", risk.attack),
            **ends("control", risk.control),
            **ends("baseline", risk.baseline),
            **ends("beyond", risk.risk),
        }
        for risk in f.risks
    ]
    return pd.DataFrame(rows)
