"""Figure 3 of Song & Mittal (2021): scores beside the real probability of being a member."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.rates import proportion
from privacygauge.report.axes import SERIES, legend
from privacygauge.reproduce.song2021 import LEVEL
from privacygauge.reproduce.song2021_bins import (
    BINS,
    bin_label,
    bin_rows,
    calibrations,
    cells,
    diagonal,
    measured_by_place,
    over_models,
    panels,
    plot_bins,
    title_panel,
)
from privacygauge.reproduce.song2021_classifiers import (
    ATTACKS,
    CLASSIFIERS,
    REGULARISED,
    STOPPED,
    UNDEFENDED,
    MemberScores,
    Pair,
    classifiers,
    score_pairs,
)
from privacygauge.reproduce.song2021_defences import over_fits
from privacygauge.reproduce.song2021_settings import PURCHASE, setting
from privacygauge.reproduce.table import Cell, Effort, Row, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RMSE: Mapping[str, Mapping[str, float]] = {
    UNDEFENDED: {"risk score": 0.05, "network": 0.26},
    REGULARISED: {"risk score": 0.09, "network": 0.26},
    STOPPED: {"risk score": 0.06, "network": 0.25},
}
"""The paper's root-mean-square errors, on Purchase100."""

ACCURACY: Mapping[str, tuple[float, float]] = {
    UNDEFENDED: (0.998, 0.809),
    REGULARISED: (0.927, 0.766),
    STOPPED: (0.929, 0.764),
}
"""Its classifiers' accuracy on members and on others (Table 2)."""

DRAWN = ("risk score", "network")
"""The scores of the figure."""

COPY = (
    "The paper's numbers are of Purchase100. With a copy of its own (dataset_purchase in the "
    "folder that PRIVACYGAUGE_DATA names) these are, too; without one they are of Location30, and "
    "only the claims can be compared."
)

_NOTES = (
    COPY,
    "1024-512-256-128 tanh, Adam at 3e-4, 40 epochs. Regularised: weight 1. Early stopping: the "
    "undefended model after the first epoch that is as accurate as the regularised one, on "
    "records that nothing is judged on. Shadow models are trained alike on other records.",
    "RMSE: bins weigh as many as they hold. Bins alike: each weighs the same. Of a calibrated "
    "score: what luck alone would give on so many records.",
    "Risk score: the paper's histogram; isotonic: PrivacyGauge's default. Network: as Nasr et al. "
    "(2018) feed it, one hidden layer of 64 units, 50 epochs. Trained long: 500 epochs, without "
    "regard to records that it did not see.",
    "Over pairs of a target and a shadow model; the intervals allow for records and pairs.",
)


def song_fig3(effort: Effort) -> Table:
    """Return Figure 3: risk scores and a network's outputs beside the real share of members.

    The quick form has one pair of models and six epochs, the full one three and forty.
    """
    data = setting(PURCHASE, effort.seed)
    names = tuple(name for name in ATTACKS if not (effort.quick and name.endswith("long")))
    rows: list[Row] = []
    for kind, pairs in classifiers(data, effort).items():
        if isinstance(pairs, Skipped):
            rows.append(Row(f"{kind}: RMSE", {"risk score": Cell(None, pairs)}))
            continue
        found = score_pairs(pairs, effort.seed, names)
        rows.append(accuracy_row(kind, pairs, ACCURACY[kind]))
        rows += _errors(kind, found, names, effort.seed)
        rows += bin_rows(kind, found, DRAWN)
    return Table(
        "song-fig3", f"Song & Mittal (2021), Figure 3, on {data.name}", tuple(rows), _NOTES
    )


def draw_fig3(table: Table) -> Figure:
    """Return the figure: members by score, and the real share of members, for both scores."""
    figure, axes = panels(len(DRAWN), len(CLASSIFIERS) + 1)
    for row, score in enumerate(DRAWN):
        own = axes[row * (len(CLASSIFIERS) + 1) : (row + 1) * (len(CLASSIFIERS) + 1)]
        for number, kind in enumerate(CLASSIFIERS):
            _plot_members(own[number], table, kind=kind, score=score, number=number)
            plot_bins(own[-1], table, name=kind, score=score, number=number, label=kind)
        diagonal(own[-1])
        title_panel(own[-1], score, "Mean score", "Real share of members")
        legend(own[-1], loc="upper left")
    return figure


def accuracy_row(
    name: str, pairs: Sequence[Pair], published: tuple[float, float] | None = None
) -> Row:
    """Return the targets' accuracy on their members and on others."""
    cells = {}
    for place, (column, inside) in enumerate((("on members", True), ("on others", False))):
        right = [_right(pair, inside=inside) for pair in pairs]
        paper = None if published is None else published[place]
        cells[column] = Cell(paper, over_fits(right))
    return Row(f"{name}: accuracy", cells)


def _right(pair: Pair, *, inside: bool) -> Estimate:
    rows = pair.target.member == inside
    guess = pair.target.values[rows].argmax(axis=1)
    return proportion(guess == pair.target.labels[rows], level=LEVEL)


def _errors(kind: str, found: Sequence[MemberScores], names: Sequence[str], seed: int) -> list[Row]:
    """Return how far each score is from the real share, and how much farther than the paper's."""
    paper = RMSE[kind]
    by_name = {name: calibrations(found, name, seed, LEVEL) for name in names}
    own = [one.rmse.value for one in by_name["risk score"]]
    titles = ("RMSE", "RMSE, bins alike", "RMSE of a calibrated score", "RMSE less the score's")
    rows: list[dict[str, Cell]] = [{}, {}, {}, {}]
    for name, some in by_name.items():
        rows[0][name] = Cell(paper.get(name), over_fits([one.rmse for one in some]))
        alike = [one.rmse_of_bins for one in some]
        noise = [one.noise for one in some]
        rows[1][name] = Cell(None, over_models(alike, titles[1], least=0.0))
        rows[2][name] = Cell(None, over_models(noise, titles[2], least=0.0))
        if name.startswith("network"):
            gap = round(paper["network"] - paper["risk score"], 2) if name == "network" else None
            worse = [one.rmse.value - less for one, less in zip(some, own, strict=True)]
            rows[3][name] = Cell(gap, over_models(worse, titles[3]))
    return [Row(f"{kind}: {title}", row) for title, row in zip(titles, rows, strict=True)]


def _plot_members(ax: Axes, table: Table, kind: str, score: str, number: int) -> None:
    labels = [bin_label(kind, i) for i in range(BINS)]
    share = measured_by_place(cells(table, labels, f"{score}: of the members"))
    at = [(place + 0.5) / BINS for place in share]
    ax.bar(at, [100 * one.value for one in share.values()], 0.9 / BINS, color=SERIES[number])
    ax.set(xlim=(0, 1))
    title_panel(ax, kind, score[0].upper() + score[1:], "Members, %")
