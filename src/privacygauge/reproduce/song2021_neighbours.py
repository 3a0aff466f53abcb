"""Which classes are at risk in a network, and which records lie near those of their class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError
from privacygauge.runs.threads import limited_to

LOW = "low risk"
HIGH = "high risk"

CLASSES = 5
"""Of the lowest and of the highest risk, each."""

NEIGHBOURS = 5
"""The nearest records; most of them are more than half."""

PERPLEXITY = 30.0
"""Of t-SNE."""


@dataclass(frozen=True, eq=False)
class ChosenRecords:
    """The records of the chosen classes, and what is known of them."""

    spaces: Mapping[str, Floats]
    """(n, d) Places of the records, by space."""
    labels: Ints
    """(n,) Classes."""
    member: Bools
    """(n,) True for a member."""
    risk: Floats
    """(n,) Risk scores in [0, 1]."""
    right: Bools
    """(n,) Whether the target predicts the class."""
    classes: Mapping[str, tuple[int, ...]]
    """The classes of the lowest and of the highest risk, by rising risk."""

    def of(self, group: str, *, member: bool) -> Bools:
        """Return which records are of a group of classes, and members or not, (n,)."""
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
        The q records that neighbours are looked for.
    among : ndarray of bool, shape (r,)
        The records that neighbours are; more than `n`. None is its own neighbour.
    n : int
        How many neighbours, by Euclidean distance.
    """
    own = np.flatnonzero(asked)
    others = np.flatnonzero(among)
    if len(others) <= n:
        raise InputError(f"among must hold more than {n} records, got {len(others)}")
    nearest = others[cKDTree(points[others]).query(points[own], k=n + 1)[1]]
    # Equal points: the record itself may be anywhere among them, or not at all.
    first = np.argsort(nearest == own[:, None], axis=1, kind="stable")[:, :n]
    found = labels[np.take_along_axis(nearest, first, axis=1)]
    return np.asarray((found == labels[own][:, None]).mean(axis=1), np.float64)


def extreme_classes(
    risk: Floats, labels: Ints, member: Bools, least: int
) -> Mapping[str, tuple[int, ...]]:
    """Return the classes of at least so many members with the lowest and highest mean risk."""
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
    """Return the records' places in two dimensions by t-SNE (van der Maaten & Hinton 2008)."""
    from sklearn.manifold import TSNE

    perplexity = min(PERPLEXITY, (len(features) - 1) / 3)
    plane = TSNE(perplexity=perplexity, init="pca", random_state=int(rng.integers(2**31)))
    with limited_to(1):
        return np.asarray(plane.fit_transform(features), np.float64)
