"""Attackers who learn a column from the synthetic table, and guess it for people.

A single nearest neighbour repeats what one synthetic record says, and loses to a constant guess
wherever a column is hard to tell. Trees learn from all records, and fully grown ones still repeat
a record that was copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.runs.threads import limited_to
from privacygauge.synthetic.released.tables import columns_of, drawn_rows, equal_rows, filled
from privacygauge.synthetic.table import Table

if TYPE_CHECKING:
    from sklearn.base import ClassifierMixin

MOST_VALUES = 20
"""Values of a column that are guessed at most: the most frequent ones."""
MOST_CATEGORIES = 255
"""Columns of more categories are numbers to boosting, which takes no more."""
TRIED = 2_000
"""Synthetic records that attackers are compared on, half of which teach and half judge."""


@dataclass(frozen=True)
class Attacker:
    """A learner, and how many records it is taught at most."""

    name: str
    """As reports call it."""
    make: Callable[[Sequence[bool], int], ClassifierMixin]
    """From which columns are categories, and a seed, to a learner."""
    most: int | None = None
    """Records; None for all."""


@dataclass(frozen=True, eq=False)
class Guesses:
    """What an attacker guesses of a column."""

    attacker: str
    """Which was chosen."""
    values: tuple[Floats, ...]
    """A guess for each record of each table that was asked about."""


@dataclass(frozen=True, eq=False)
class _Answers:
    """The values that can be guessed, and for which values each is right."""

    values: Floats
    """(k,) Ascending, a missing one last."""
    right: Floats
    """(k, k) 1 where guess j is right for value i."""

    @classmethod
    def of(cls, column: Floats, off: float) -> _Answers:
        """Return the most frequent values of a column.

        Of numbers with a tolerance: of those that are right most often within a cell of its
        width, so that a value that many have is guessed itself.
        """
        values, counts = np.unique(column, return_counts=True)
        if off and len(values) > MOST_VALUES:
            there = np.sort(column[~np.isnan(column)])
            near = there.searchsorted(values + off, "right") - there.searchsorted(values - off)
            near[np.isnan(values)] = 0
            _, cell = np.unique(np.round(values / off), return_inverse=True)
            order = np.lexsort((-near, cell))
            first = order[np.unique(cell[order], return_index=True)[1]]
            values, counts = values[first], np.bincount(cell, counts)
        # Few records are enough to learn a few values only.
        most = min(MOST_VALUES, max(2, len(column) // 8))
        kept = np.sort(np.argsort(-counts, kind="stable")[:most])
        values = values[kept]
        return cls(values, agrees(values[None], values[:, None], off).astype(float))

    def codes(self, column: Floats) -> Ints:
        """Return the place of the nearest of the values."""
        there = self.values[~np.isnan(self.values)]
        if not len(there):
            return np.zeros(len(column), np.int64)
        known = np.where(np.isnan(column), there[0], column)
        above = np.clip(np.searchsorted(there, known), 1, max(1, len(there) - 1))
        last = np.minimum(above, len(there) - 1)
        nearer = np.abs(known - there[above - 1]) <= np.abs(known - there[last])
        places = np.where(nearer, above - 1, last)
        return np.where(np.isnan(column), len(self.values) - 1, places).astype(np.int64)

    def best(self, shares: Floats, known: Ints) -> Floats:
        """Return the guess that is most likely right, given shares of some of the values."""
        return np.asarray(self.values[(shares @ self.right[known]).argmax(axis=1)])


def agrees(guess: Floats, truth: Floats, off: float) -> Bools:
    """Return which guesses are right: off by at most so much, or missing where it is missing."""
    missing = np.isnan(guess) & np.isnan(truth)
    return np.asarray(missing | (np.abs(guess - truth) <= off))


def guesses(
    made: Table, j: int, asked: Sequence[Table], off: float, rng: np.random.Generator
) -> Guesses:
    """Return what the best attacker guesses of column j from all the others.

    Which attacker is best, and whether a synthetic record that agrees in all other columns is
    believed before it, is decided by cross-fitting on synthetic records alone.

    Parameters
    ----------
    made : Table
        The synthetic table, which attackers learn from.
    j : int
        The column.
    asked : sequence of Table
        Whose values are guessed; column j is not looked at.
    off : float
        A guess is right that is off by at most so much.
    rng : numpy.random.Generator
        Seeds the attackers, and draws the records they are compared on.
    """
    task = _Task(made, j, off)
    if len(task.answers.values) == 1:
        constant = task.answers.values[0]
        return Guesses("a constant", tuple(np.full(len(side), constant) for side in asked))
    seed = int(rng.integers(2**31))
    chosen, first = _chosen(task, drawn_rows(len(made), TRIED, rng), rng, seed)
    everything = np.arange(len(made))
    taught = everything if chosen.most is None else drawn_rows(len(made), chosen.most, rng)
    learner = task.taught(chosen, taught, seed)
    found = [task.guessed(learner, side) for side in asked]
    if first:
        known = [task.looked_up(everything, side) for side in asked]
        found = [
            np.where(there, value, guess)
            for guess, (there, value) in zip(found, known, strict=True)
        ]
    return Guesses(chosen.name, tuple(found))


class _Task:
    """Telling one column from the others, by synthetic records."""

    def __init__(self, made: Table, j: int, off: float) -> None:
        self.made, self.j, self.off = made, j, off
        self.others = [i for i in range(len(made.schema.columns)) if i != j]
        self.answers = _Answers.of(made.values[:, j], off)
        self.codes = self.answers.codes(made.values[:, j])
        self.values, self.places = np.unique(made.values[:, j], return_inverse=True)
        self.known = columns_of(made, self.others)
        self.features = filled(self.known)

    def taught(self, attacker: Attacker, rows: Ints, seed: int) -> ClassifierMixin:
        """Return a learner that saw some of the synthetic records."""
        categories = [
            not column.is_number and column.n_codes <= MOST_CATEGORIES
            for column in self.known.schema.columns
        ]
        codes = self.codes[rows]
        make = attacker.make if codes.min() < codes.max() else _constant
        learner = make(categories, seed)
        with _few_threads(len(rows)):
            return learner.fit(self.features[rows], codes)

    def guessed(self, learner: ClassifierMixin, asked: Table) -> Floats:
        """Return a guess for each record."""
        features = filled(columns_of(asked, self.others))
        with _few_threads(len(features)):
            shares = learner.predict_proba(features)
        return self.answers.best(shares, learner.classes_)

    def looked_up(self, rows: Ints, asked: Table) -> tuple[Bools, Floats]:
        """Return who has equals in all other columns, and the most frequent value among those."""
        there, wanted = equal_rows((self.known[rows], columns_of(asked, self.others)))
        size = len(self.values)
        pairs, counts = np.unique(there * size + self.places[rows], return_counts=True)
        order = np.lexsort((pairs, -counts, pairs // size))
        keys, first = np.unique(pairs[order] // size, return_index=True)
        values = self.values[pairs[order][first] % size]
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return keys[place] == wanted, values[place]


def _few_threads(n: int) -> AbstractContextManager[Any]:
    """Return the limit for n records: threads of small fits wait for each other at busy cores."""
    return limited_to(1 if n < 20_000 else None)


def _chosen(task: _Task, tried: Ints, rng: np.random.Generator, seed: int) -> tuple[Attacker, bool]:
    """Return the attacker that is right most often, and whether equals are believed before it."""
    halves = np.array_split(rng.permutation(tried), 2)
    right = np.zeros((len(ATTACKERS), len(tried)), np.bool_)
    by_equals, has_equal = np.zeros(len(tried), np.bool_), np.zeros(len(tried), np.bool_)
    place = np.arange(len(tried)) < len(halves[0])
    for judged, (some, others) in zip((place, ~place), (halves, halves[::-1]), strict=True):
        asked, truth = task.made[some], task.made.values[some, task.j]
        for row, attacker in enumerate(ATTACKERS):
            guess = task.guessed(task.taught(attacker, others, seed), asked)
            right[row, judged] = agrees(guess, truth, task.off)
        has_equal[judged], values = task.looked_up(others, asked)
        by_equals[judged] = agrees(values, truth, task.off)
    best = int(right.mean(axis=1).argmax())
    believed = by_equals[has_equal].sum() >= right[best, has_equal].sum()
    return ATTACKERS[best], bool(believed)


def _forest(_: Sequence[bool], seed: int) -> ClassifierMixin:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(16, random_state=seed)


def _boosting(categories: Sequence[bool], seed: int) -> ClassifierMixin:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=12,
        learning_rate=0.3,
        l2_regularization=5.0,
        max_leaf_nodes=8,
        categorical_features=np.array(categories, np.bool_),
        early_stopping=False,
        random_state=seed,
    )


def _constant(_: Sequence[bool], __: int) -> ClassifierMixin:
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="prior")


ATTACKERS = (
    Attacker("a forest", _forest),
    Attacker("boosted trees", _boosting, most=10_000),
    Attacker("a constant", _constant),
)
"""All that are compared; of equally good ones the first, which keeps copies by heart."""
