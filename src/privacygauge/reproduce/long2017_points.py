"""Figures 1, 4 and 5 of Long et al. (2017): each record's PDTP and how often it is found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.audits.classifier.found import CandidateAudit
from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.correlation import correlation
from privacygauge.evaluate.per_target import PerTarget
from privacygauge.evaluate.rates import mean, proportion
from privacygauge.report.axes import INK, SERIES
from privacygauge.reproduce.long2017 import (
    LEVEL,
    QUICK_1,
    QUICK_2,
    TABLE_1,
    TABLE_2,
    notes_of,
    play_distance_attack,
    play_three_attacks,
)
from privacygauge.reproduce.song2021_bins import panels, title_panel
from privacygauge.reproduce.table import Cell, Effort, Row, Table, exact, part_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EDGES = (0.0, 0.5, 1.0, 2.0, 4.0, math.inf)
"""Bands of PDTP: the paper speaks of less than 0.5, of more than 1 and of more than 4."""

RARELY = 0.665
"""No attack is right more often where the DTP is below 0.5, says the abstract."""

NEARLY_ALWAYS = 0.9
"""The attacks are right more often where the DTP is above 4, says the abstract."""

RIGHT = "share right"
PDTP = "PDTP"
FOUND = "share with more than 90% right"

_NOTES = (
    "A record's PDTP is its mean over the measurements, as in the paper, and the share right is "
    "that of all guesses about it. The figures print no number but the correlations, which are "
    "those of the tables.",
    "The abstract says what it says of the DTP; what is measured, here and in the paper's figures, "
    "is the PDTP, which is a lower bound. A band of PDTP with fewer than two records is left out.",
)


def band_title(low: float, high: float) -> str:
    """Return a band of PDTP in words.

    Examples
    --------
    >>> band_title(0.0, 0.5), band_title(0.5, 1.0), band_title(4.0, math.inf)
    ('PDTP below 0.5', 'PDTP 0.5 to 1', 'PDTP above 4')
    """
    if low == 0:
        return f"PDTP below {high:g}"
    return f"PDTP above {low:g}" if math.isinf(high) else f"PDTP {low:g} to {high:g}"


LOWEST = band_title(*EDGES[:2])
HIGHEST = band_title(*EDGES[-2:])


def long_fig1(effort: Effort) -> Table:
    """Return Figure 1: three attacks on a network, record by record, against PDTP."""
    found = play_three_attacks(effort)
    series = {
        evaluation.name: _Points.of(found, evaluation.title) for evaluation in found.evaluations
    }
    known = {name: TABLE_1[name][3] for name in series}
    notes = notes_of(effort, QUICK_1)
    return _points_table("long-fig1", "Figure 1", series, correlations=known, notes=notes)


def long_fig4(effort: Effort) -> Table:
    """Return Figure 4: the distance-based attack on models of purchases, record by record."""
    return _models("long-fig4", "Figure 4", "Purchase", effort)


def long_fig5(effort: Effort) -> Table:
    """Return Figure 5: the distance-based attack on models of Adult, record by record."""
    return _models("long-fig5", "Figure 5", "Adult", effort)


def draw_points(table: Table) -> Figure:
    """Return the figure: one panel a series, one point a record."""
    records = [row for row in table.rows if row.label.startswith("record ")]
    ending = f": {RIGHT}"
    names = [name.removesuffix(ending) for name in records[0].cells if name.endswith(ending)]
    figure, axes = panels(1, len(names))
    for number, (ax, name) in enumerate(zip(axes, names, strict=True)):
        pdtp = [row.cells[f"{name}: {PDTP}"].ours for row in records]
        right = [row.cells[name + ending].ours for row in records]
        points = [
            (x.value, y.value)
            for x, y in zip(pdtp, right, strict=True)
            if isinstance(x, Estimate) and isinstance(y, Estimate)
        ]
        across, up = np.array(points).T
        ax.scatter(across, up, s=16, color=SERIES[number], alpha=0.75, lw=0)
        ax.axhline(0.5, color=INK, lw=0.6, ls=":")
        ax.set(ylim=(0, 1.03))
        title_panel(ax, name, "Mean PDTP", "Share of right guesses")
    return figure


@dataclass(frozen=True, eq=False)
class _Points:
    """One point a record."""

    records: Sequence[int]
    """Their rows among the candidates."""
    measured: Floats
    """(measurements, t) PDTP."""
    attacked: PerTarget
    """The guesses about each."""

    @classmethod
    def of(cls, found: CandidateAudit, title: str) -> _Points:
        """Return the points of an attack."""
        assert found.measured is not None
        return cls(found.targets.tolist(), found.measured, found.per_target[title])

    @property
    def pdtp(self) -> Floats:
        """(t,) Mean over the measurements."""
        return np.asarray(self.measured.mean(axis=0))

    def in_band(self, low: float, high: float) -> dict[str, Cell]:
        """Return how often the attack is right about the records of a band."""
        inside = (self.pdtp >= low) & (self.pdtp < high)
        n = int(np.count_nonzero(inside))
        cells = {"records": Cell(None, exact(n, len(inside), "counted"))}
        if n < 2:
            few = Skipped(RIGHT, "fewer than two records are in this band")
            return {**cells, RIGHT: Cell(None, few), FOUND: Cell(None, few)}
        right = self.attacked.accuracy[inside]
        cells[RIGHT] = Cell(None, mean(right, LEVEL, unit="records", least=0.0, most=1.0))
        cells[FOUND] = Cell(None, proportion(right > NEARLY_ALWAYS, level=LEVEL))
        return cells

    def of_record(self, number: int) -> tuple[Estimate, Estimate]:
        """Return PDTP and share right of a record."""
        values = self.measured[:, number]
        pdtp = (
            mean(values, LEVEL, unit="measurements", least=0.0)
            if len(values) > 1
            else exact(float(values[0]), 1, "one measurement")
        )
        return pdtp, self.attacked.estimates(LEVEL)[number]


def _models(name: str, number: str, data: str, effort: Effort) -> Table:
    labels = [label for label in TABLE_2 if label.endswith(data)]
    series = {}
    for place, label in enumerate(labels):
        found = play_distance_attack(label, effort, part_of(effort, place, len(labels)))
        series[label] = _Points.of(found, found.evaluations[0].title)
    known = {label: TABLE_2[label].correlation for label in labels}
    notes = notes_of(effort, QUICK_2, data)
    return _points_table(name, number, series, correlations=known, notes=notes)


def _points_table(
    name: str,
    number: str,
    series: Mapping[str, _Points],
    correlations: Mapping[str, float],
    notes: Sequence[str],
) -> Table:
    rows = []
    for label, points in series.items():
        found = correlation(points.attacked.accuracy, points.pdtp, LEVEL)
        rows.append(Row(label, {"correlation": Cell(correlations[label], found)}))
        over = proportion(points.pdtp > 1, level=LEVEL)
        rows.append(Row(f"{label}, PDTP above 1", {"share of the records": Cell(None, over)}))
        rows += [
            Row(f"{label}, {band_title(low, high)}", points.in_band(low, high))
            for low, high in pairwise(EDGES)
        ]
    records = next(iter(series.values())).records
    for place, record in enumerate(records):
        cells = {}
        for label, points in series.items():
            pdtp, right = points.of_record(place)
            cells[f"{label}: {PDTP}"] = Cell(None, pdtp)
            cells[f"{label}: {RIGHT}"] = Cell(None, right)
        rows.append(Row(f"record {record}", cells))
    return Table(name, f"Long et al. (2017), {number}", tuple(rows), (*notes, *_NOTES))
