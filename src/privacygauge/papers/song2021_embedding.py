"""Figure 9 of Song & Mittal (2021): features of members and others, by risk of their class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from privacygauge.classifiers.networks import SONG_MITTAL_2021_RELU
from privacygauge.classifiers.white_box import WhiteBoxSide
from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.rates import difference, mean, proportion, rank_correlation
from privacygauge.papers.song2021 import LEVEL, LOCATION, TEXAS, DataSetting, setting
from privacygauge.papers.song2021_calibration import (
    QUICK,
    Pair,
    panels,
    score_pairs,
    title_panel,
)
from privacygauge.papers.song2021_tables import over_fits, over_pairs, seen_inside
from privacygauge.papers.song2021_training import NETWORKS as TANH
from privacygauge.papers.table import Cell, Effort, Row, Table
from privacygauge.report.axes import SERIES, legend
from privacygauge.runs.threads import limited_to

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LOW = "low risk"
HIGH = "high risk"

CLASSES = 5
"""Number of classes of the lowest and of the highest risk, each."""

NEIGHBOURS = 5
"""Number of nearest records; a majority is more than half of them."""

PERPLEXITY = 30.0
"""Perplexity of t-SNE."""


@dataclass(frozen=True, eq=False)
class ChosenRecords:
    """Records of the chosen classes, with their features, risk and predictions."""

    spaces: Mapping[str, Floats]
    """Space (`features` or `map`) to the records' points in it, (n, d)."""
    labels: Ints
    """(n,) Classes."""
    member: Bools
    """(n,) True for a member."""
    risk: Floats
    """(n,) Risk scores in [0, 1]."""
    right: Bools
    """(n,) Whether the target predicts the record's class."""
    classes: Mapping[str, tuple[int, ...]]
    """`LOW` and `HIGH` to the classes of the lowest and highest risk, by ascending risk."""

    def of(self, group: str, *, member: bool) -> Bools:
        """Return whether each record is of a group of classes and of this membership, (n,)."""
        found: Bools = np.isin(self.labels, self.classes[group]) & (self.member == member)
        return found


def kept_class(
    points: Floats, labels: Ints, asked: Bools, among: Bools, n: int = NEIGHBOURS
) -> Floats:
    """Return the share of each asked record's class among its nearest records, (q,) in [0, 1].

    Parameters
    ----------
    points : ndarray of float, shape (r, d)
    labels : ndarray of int, shape (r,)
    asked : ndarray of bool, shape (r,)
        True for the q records to find neighbours for.
    among : ndarray of bool, shape (r,)
        True for the candidate neighbours, more than `n`. No record is its own neighbour.
    n : int
        Number of neighbours, by Euclidean distance.
    """
    own = np.flatnonzero(asked)
    others = np.flatnonzero(among)
    if len(others) <= n:
        raise InputError(f"among must hold more than {n} records, got {len(others)}")
    nearest = others[cKDTree(points[others]).query(points[own], k=n + 1)[1]]
    # n + 1 neighbours, since one may be the record itself: at any place among equal points, or not
    # at all. The stable sort puts it last and keeps the others by distance.
    first = np.argsort(nearest == own[:, None], axis=1, kind="stable")[:, :n]
    found = labels[np.take_along_axis(nearest, first, axis=1)]
    return np.asarray((found == labels[own][:, None]).mean(axis=1), np.float64)


def extreme_classes(
    risk: Floats, labels: Ints, member: Bools, least: int
) -> Mapping[str, tuple[int, ...]]:
    """Return `LOW` and `HIGH` to the classes with the lowest and highest mean risk of members.

    Only classes of at least `least` members count.
    """
    counts = np.bincount(labels[member], minlength=int(labels.max()) + 1)
    large = np.flatnonzero(counts >= least)
    if len(large) < 2 * CLASSES:
        raise InputError(
            f"{2 * CLASSES} classes must have at least {least} members, got {len(large)}: train "
            "on more records"
        )
    means = np.array([risk[member & (labels == label)].mean() for label in large])
    ordered = large[np.argsort(means, kind="stable")].tolist()
    return {LOW: tuple(ordered[:CLASSES]), HIGH: tuple(ordered[-CLASSES:])}


def plane(features: Floats, rng: np.random.Generator) -> Floats:
    """Return the records' points in the plane, (n, 2), by t-SNE (van der Maaten & Hinton 2008)."""
    from sklearn.manifold import TSNE

    # scikit-learn needs a perplexity below the number of records.
    perplexity = min(PERPLEXITY, (len(features) - 1) / 3)
    plane = TSNE(perplexity=perplexity, init="pca", random_state=int(rng.integers(2**31)))
    # With more threads the points would depend on their number.
    with limited_to(1):
        return np.asarray(plane.fit_transform(features), np.float64)


RISK: Mapping[str, float] = {LOW: 0.528, HIGH: 0.846}
"""Means of the printed class risk scores: .50, .52, .53, .54, .55 and .82, .83, .83, .85, .90."""

NETWORKS = replace(TANH, make=SONG_MITTAL_2021_RELU)
"""Networks with the paper's layers for Texas100; the other settings are those of song-fig3."""

PAIRS = 5
"""Pairs of a target and a shadow model in the full form; the quick form has one."""

LEAST = {TEXAS: 100, LOCATION: 20}
"""Data to the fewest members of a class that counts."""

_SCORE = "risk score"
_SPACES = ("features", "map")

_NOTES = (
    "The paper's figure is of Texas100 (classes with at least 100 members). With a copy (feats and "
    "labels in the folder that PRIVACYGAUGE_DATA names) so is this; without one it "
    "is of Location30, and classes have at least 20 members. 1024-512-256-128 relu, Adam at "
    "3e-4, 40 epochs.",
    "The five classes whose members have the lowest mean risk score and the five with the highest, "
    "by the paper's histogram on a shadow model that is trained alike. They are chosen by members' "
    "scores, and those are not chosen by where others lie.",
    "Features: the inputs of the last layer. Map: t-SNE of members and others together in two "
    "dimensions (perplexity 30, from the principal components). The paper shows the map and prints "
    "no number about it but the mean scores.",
    "A record keeps its class where more than half of its five nearest records are of its class; "
    "no record is its own neighbour. Members among members: the classes are apart. Others among "
    "members: new records lie where the class's members lie. Members among others: the same the "
    "other way round.",
    "Rank correlation: of a member's risk score and the share of its class among its five nearest "
    "others; below 0 where risky members lie away from new records of their class.",
    "Over pairs of a target and a shadow model, classes chosen again; the intervals allow for the "
    "records of these classes and for the pairs, not for other classes.",
)


@dataclass(frozen=True, eq=False)
class Embedding:
    """Records of some classes of one model, as points in the plane."""

    points: Floats
    """(n, 2) Coordinates by t-SNE."""
    labels: Ints
    """(n,) Classes."""
    member: Bools
    """(n,) True for a member."""
    classes: Mapping[str, tuple[int, ...]]
    """`LOW` and `HIGH` to the classes of the lowest and highest risk, by ascending risk."""


@dataclass(frozen=True, eq=False)
class EmbeddedTable(Table):
    """A table with the points of its figure, which are not among its numbers."""

    embedding: Embedding = field(kw_only=True)
    """Points of the first pair of models."""


def song_fig9(effort: Effort) -> EmbeddedTable:
    """Return Figure 9: neighbourhoods of members and new records, by risk of their class.

    The quick form has one pair of models and six epochs, the full one five and forty.
    """
    data = setting(TEXAS, effort.seed)
    sides = _sides(data, effort, effort.some(PAIRS, 1))
    found = [
        _choose_rows(target, shadow, least=LEAST[data.name], seed=effort.seed, number=number)
        for number, (target, shadow) in enumerate(sides)
    ]

    def of(group: str) -> Estimate:
        scores = [one.risk[one.of(group, member=True)] for one in found]
        return over_fits([mean(some, LEVEL, unit="members") for some in scores])

    cells = {}
    for space in _SPACES:
        each: list[Estimate | Skipped] = [
            rank_correlation(
                one.risk[one.member],
                kept_class(one.spaces[space], one.labels, one.member, ~one.member),
                LEVEL,
            )
            for one in found
        ]
        # A correlation is skipped if risk or share does not vary; then the mean is, too.
        missing = next((one for one in each if isinstance(one, Skipped)), None)
        estimates = [one for one in each if isinstance(one, Estimate)]
        cells[space] = Cell(None, missing or over_pairs(estimates))
    rows = [
        Row("mean risk score", {group: Cell(RISK[group], of(group)) for group in (LOW, HIGH)}),
        _row(
            "others that are predicted right",
            found,
            lambda one, group: {"": one.right[one.of(group, member=False)]},
        ),
        _row("members among members keep their class", found, _class_kept_among(True, True)),
        _row("others among members keep their class", found, _class_kept_among(False, True)),
        _row("members among others keep their class", found, _class_kept_among(True, False)),
        Row("rank correlation of risk and neighbours", cells),
    ]
    first = found[0]
    drawn = Embedding(first.spaces["map"], first.labels, first.member, first.classes)
    title = f"Song & Mittal (2021), Figure 9, on {data.name}"
    return EmbeddedTable("song-fig9", title, tuple(rows), _NOTES, embedding=drawn)


def draw_fig9(table: Table) -> Figure:
    """Return the figure: members, and others, of the ten classes in the plane."""
    if not isinstance(table, EmbeddedTable):
        raise InputError(
            f"table must hold the points of its figure, got a {type(table).__name__}: make "
            "song-fig9 again, JSON holds its numbers only"
        )
    drawn = table.embedding
    figure, axes = panels(1, 2)
    # One map for both panels: their points are comparable.
    axes[1].sharex(axes[0])
    axes[1].sharey(axes[0])
    for ax, member in zip(axes, (True, False), strict=True):
        for group, marker in ((LOW, "o"), (HIGH, "^")):
            for colour, label in zip(SERIES, drawn.classes[group], strict=False):
                rows = (drawn.labels == label) & (drawn.member == member)
                ax.scatter(
                    drawn.points[rows, 0],
                    drawn.points[rows, 1],
                    s=14,
                    color=colour if group == LOW else "none",
                    edgecolors=colour,
                    marker=marker,
                    lw=0.8,
                    label=f"{label}, {group}",
                )
        title_panel(ax, "Members" if member else "Others", "t-SNE, first", "t-SNE, second")
    legend(axes[1], loc="center left", bbox_to_anchor=(1.0, 0.5), title="Class")
    return figure


def _sides(data: DataSetting, effort: Effort, n: int) -> list[tuple[WhiteBoxSide, WhiteBoxSide]]:
    """Return n targets with white-box signals, each with a shadow model trained like it."""
    networks = replace(NETWORKS, epochs=QUICK) if effort.quick else NETWORKS
    # The run keeps one prediction only: the signals come from the weights.
    rows = data.sides[0].rows[:1]
    return seen_inside(
        networks, data.sides, x=data.x, y=data.y, n=n, effort=effort, kept=effort.run, asked=rows
    )


def _choose_rows(
    target: WhiteBoxSide, shadow: WhiteBoxSide, least: int, seed: int, number: int
) -> ChosenRecords:
    seen = target.signals
    (found,) = score_pairs([Pair(target.predictions, shadow.predictions)], seed, (_SCORE,))
    risk = found.by_name[_SCORE]
    # Chosen again for each pair, by members' scores alone: the place of others decides nothing.
    classes = extreme_classes(risk, seen.labels, target.member, least)
    rows = np.flatnonzero(np.isin(seen.labels, [c for group in classes.values() for c in group]))
    features = seen.hidden[rows]
    return ChosenRecords(
        spaces={"features": features, "map": plane(features, seeds.stream(seed, "plane", number))},
        labels=seen.labels[rows],
        member=target.member[rows],
        risk=risk[rows],
        right=seen.logits[rows].argmax(axis=1) == seen.labels[rows],
        classes=classes,
    )


_Hits = Callable[[ChosenRecords, str], Mapping[str, Bools]]


def _row(label: str, found: Sequence[ChosenRecords], hits: _Hits) -> Row:
    """Return the shares of hits in both groups of classes, and their difference."""
    low, high = ([hits(one, group) for one in found] for group in (LOW, HIGH))
    cells = {}
    for name in low[0]:
        title = f"{name}, " if name else ""
        first = [one[name] for one in low]
        second = [one[name] for one in high]
        for group, some in ((LOW, first), (HIGH, second)):
            shares = [proportion(hit, level=LEVEL) for hit in some]
            cells[f"{title}{group}"] = Cell(None, over_fits(shares))
        less = [difference(a, b, LEVEL) for a, b in zip(first, second, strict=True)]
        cells[f"{title}low less high"] = Cell(None, over_pairs(less))
    return Row(label, cells)


def _class_kept_among(asked: bool, among: bool) -> _Hits:
    """Return the test of which members (or others) have a majority of their class among either."""

    def hits(one: ChosenRecords, group: str) -> Mapping[str, Bools]:
        rows = one.of(group, member=asked)
        near = one.member == among
        return {
            space: kept_class(points, one.labels, rows, near) > 0.5
            for space, points in one.spaces.items()
        }

    return hits
