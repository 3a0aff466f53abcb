"""Figure 5 of Song & Mittal (2021): the distribution of the members' risk scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import ks_2samp

from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.rates import mean, proportion
from privacygauge.report.axes import DASHES, SERIES, legend
from privacygauge.reproduce.song2021 import LEVEL
from privacygauge.reproduce.song2021_bins import (
    cells,
    measured_by_place,
    over_models,
    panels,
    title_panel,
)
from privacygauge.reproduce.song2021_calibration import COPY, DRAWN
from privacygauge.reproduce.song2021_classifiers import (
    CLASSIFIERS,
    REGULARISED,
    STOPPED,
    UNDEFENDED,
    classifiers,
    score_pairs,
)
from privacygauge.reproduce.song2021_defences import over_fits
from privacygauge.reproduce.song2021_settings import PURCHASE, setting
from privacygauge.reproduce.song2021_white_box import over_pairs
from privacygauge.reproduce.table import Cell, Effort, Row, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CUTS = tuple(round(0.05 * step, 2) for step in range(1, 21))
"""The scores at which the distribution is read."""

RECALL: Mapping[str, Mapping[float, float]] = {
    UNDEFENDED: {1.0: 0.0, 0.9: 0.0, 0.8: 0.0, 0.7: 0.078, 0.6: 0.551, 0.5: 0.909},
    REGULARISED: {1.0: 0.002, 0.9: 0.002, 0.8: 0.005, 0.7: 0.017, 0.6: 0.246, 0.5: 0.763},
    STOPPED: {1.0: 0.0, 0.9: 0.0, 0.8: 0.0, 0.7: 0.013, 0.6: 0.202, 0.5: 0.752},
}
"""Shares of the members with at least a score, on Purchase100: the paper's recall (Table 6)."""

MEAN = 0.6
"""Its undefended members' mean score: 0.1 above the prior (appendix B)."""

HIGH = 0.8
"""No undefended member of the paper's reaches this score."""

_NOTES = (
    COPY,
    "The paper draws the distribution; the shares that it prints are the recalls of its Table 6. "
    "The classifiers are those of song-fig3, the scores the paper's histogram.",
    "Differences are between two models' scores of the same members. Largest distance: the largest "
    "difference of two distribution functions (Kolmogorov and Smirnov's statistic), 0 for equal "
    "ones.",
    "Over pairs of a target and a shadow model; the intervals allow for records and pairs.",
)


def song_fig5(effort: Effort) -> Table:
    """Return Figure 5: the share of the members with at least a score, by classifier.

    The quick form has one pair of models and six epochs, the full one three and forty.
    """
    data = setting(PURCHASE, effort.seed)
    found: dict[str, list[Floats] | Skipped] = {}
    for kind, pairs in classifiers(data, effort).items():
        if isinstance(pairs, Skipped):
            found[kind] = pairs
            continue
        of_all = score_pairs(pairs, effort.seed, DRAWN[:1])
        found[kind] = [one.by_name[DRAWN[0]][one.member] for one in of_all]
    rows = [Row(cut_label(cut), _shares(found, cut)) for cut in CUTS]
    rows.append(
        Row("mean score", {kind: _mean_cell(kind, scores) for kind, scores in found.items()})
    )
    rows += _claims(found)
    return Table(
        "song-fig5", f"Song & Mittal (2021), Figure 5, on {data.name}", tuple(rows), _NOTES
    )


def draw_fig5(table: Table) -> Figure:
    """Return the figure: the share of the members with a lower score, by classifier."""
    figure, (ax,) = panels(1, 1)
    for number, kind in enumerate(CLASSIFIERS):
        found = measured_by_place(cells(table, [cut_label(cut) for cut in CUTS], kind))
        x = [0.0, *(CUTS[place] for place in found)]
        y = [0.0, *(100 * (1 - one.value) for one in found.values())]
        ax.plot(x, y, color=SERIES[number], ls=DASHES[number], lw=1.6, label=kind)
    ax.set(xlim=(0, 1), ylim=(0, 101))
    title_panel(ax, table.title, "Privacy risk score", "Members with a lower score, %")
    legend(ax, loc="upper left")
    return figure


def cut_label(cut: float) -> str:
    """Return the label of the row about a score."""
    return f"score of at least {cut:g}"


def _shares(found: Mapping[str, list[Floats] | Skipped], cut: float) -> dict[str, Cell]:
    row = {}
    for kind, scores in found.items():
        paper = RECALL[kind].get(cut)
        if isinstance(scores, Skipped):
            row[kind] = Cell(paper, scores)
            continue
        row[kind] = Cell(
            paper, over_fits([proportion(some >= cut, level=LEVEL) for some in scores])
        )
    return row


def _mean_cell(kind: str, scores: list[Floats] | Skipped) -> Cell:
    paper = MEAN if kind == UNDEFENDED else None
    if isinstance(scores, Skipped):
        return Cell(paper, scores)
    return Cell(paper, over_fits([mean(some, LEVEL, unit="members") for some in scores]))


def _claims(found: Mapping[str, list[Floats] | Skipped]) -> list[Row]:
    """Return what the paper says of the three distributions, as differences."""
    rows = []
    for one, other in ((REGULARISED, UNDEFENDED), (STOPPED, REGULARISED)):
        first = found[one]
        second = found[other]
        label = f"{one} less {other}"
        if isinstance(first, Skipped) or isinstance(second, Skipped):
            absent = first if isinstance(first, Skipped) else second
            assert isinstance(absent, Skipped)
            rows.append(Row(label, {"mean score": Cell(None, absent)}))
            continue
        rows.append(
            Row(label, _comparison_cells(first, second, RECALL[one][HIGH] - RECALL[other][HIGH]))
        )
    return rows


def _comparison_cells(
    first: Sequence[Floats], second: Sequence[Floats], paper: float
) -> dict[str, Cell]:
    both = list(zip(first, second, strict=True))
    high = [(a >= HIGH).astype(np.float64) - (b >= HIGH) for a, b in both]
    apart = [float(ks_2samp(a, b, method="asymp").statistic) for a, b in both]
    return {
        "mean score": Cell(None, over_pairs([mean(a - b, LEVEL, unit="members") for a, b in both])),
        f"share from {HIGH:g} on": Cell(
            paper, over_pairs([mean(some, LEVEL, unit="members") for some in high])
        ),
        "largest distance": Cell(None, over_models(apart, "largest distance", least=0.0)),
    }
