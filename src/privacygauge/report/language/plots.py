"""Plots of an audit of a language model: values in, Axes out; nothing is shown or saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.report import plots
from privacygauge.report.language.findings import LanguageFindings, UnitFindings
from privacygauge.report.language.units import signals_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_roc(
    f: LanguageFindings,
    ax: Axes | None = None,
    *,
    unit: UnitFindings | None = None,
    log: bool = True,
) -> Axes:
    """Draw the ROC curve of every signal; the numbers are those of ``roc.csv``.

    Parameters
    ----------
    f : LanguageFindings
    ax : matplotlib.axes.Axes, optional
        A new figure's where none is given.
    unit : UnitFindings, optional
        ``f.samples`` where nothing is given, or ``f.patients``.
    log : bool
        Whether both axes are logarithmic, which shows what few false positives buy.
    """
    return plots.plot_roc(signals_of(f.samples if unit is None else unit), ax, log=log)


def plot_scores(f: LanguageFindings, ax: Axes | None = None) -> Axes:
    """Draw how the headline's attack scores the samples of members and non-members.

    Parameters
    ----------
    f : LanguageFindings
    ax : matplotlib.axes.Axes, optional
    """
    return plots.plot_scores(f.headline.attack, ax)
