"""How each figure is drawn, and the file that it becomes."""

from __future__ import annotations

from collections.abc import Mapping

from privacygauge.report.svg import svg_text
from privacygauge.reproduce.drawing import Lines, draw_dots
from privacygauge.reproduce.table import Reproduction, Table

_ROC = Lines(r"FPR ([\d.]+)", "False-positive rate", "True-positive rate")

DRAWINGS: Mapping[str, Lines] = {
    "long-fig3": Lines(
        r"mean of (\d+)", "Measurements of PDTP", "Correlation with the attack", xscale="log"
    ),
    "meeus-fig3a": Lines(r"k = (\d+)", "Neighbours", "AUC", ("mean AUC",)),
    "meeus-fig4": Lines(r"epsilon ([\d.]+)", "Epsilon", "AUC", ("mean AUC",), "log"),
    "mireshghallah-fig3": Lines(
        r"quantile ([\d.]+)", "Share of the samples", "Value, higher is more like a member"
    ),
    "mireshghallah-fig4": _ROC,
    "mireshghallah-fig5": Lines(_ROC.x, _ROC.xlabel, _ROC.ylabel, xscale="log"),
    "song-fig2": Lines(r"epoch (\d+)", "Epoch", "Share"),
    "song-fig6": Lines(r"at most ([\d.]+)", "Privacy risk score", "Members with at most this"),
    "song-fig7": Lines(
        r"score in \[([\d.]+), [\d.]+[\])]",
        "Privacy risk score, from",
        "Log ratio of modified entropies",
        ("removed", "another removed", "net"),
    ),
    "song-fig10": Lines(r"prior ([\d.]+)", "Prior", "Mean score less the prior"),
    "feldman-fig1": Lines(r"k ([\d,]+)", "Queries", "Gain in accuracy", xscale="log", across=True),
    "feldman-fig3": Lines(
        r", k ([\d,]+)", "Queries", "Bias", ("simulation",), xscale="log", yscale="log"
    ),
    "feldman-fig4": Lines(
        r", m ([\d,]+)",
        "Classes",
        "Queries",
        ("theory", "simulation"),
        xscale="log",
        yscale="log",
    ),
    "feldman-fig5": Lines(
        r", k ([\d,]+)", "Queries", "Bias", ("NB", "majority", "dropping"), xscale="log"
    ),
}
"""Reproduction to its lines; the others have drawings of their own, or dots with intervals."""


def figure_svg(known: Reproduction, table: Table) -> str:
    """Return a table's figure as SVG text, the same at every call.

    Raises
    ------
    InputError
        If no cell of the table was measured.
    """
    draw = known.draw or DRAWINGS.get(known.name) or draw_dots
    return svg_text(lambda: draw(table), transparent=False)
