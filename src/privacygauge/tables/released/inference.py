"""Inference: guesses of a secret value of a real record from the synthetic table.

The third risk of the opinion 05/2014 of the Article 29 Working Party: "the possibility to deduce,
with significant probability, the value of an attribute from the values of a set of other
attributes".

An attacker learns the column from the synthetic table. A single nearest neighbour repeats one
synthetic record, and loses to a constant guess wherever a column is hard to predict. Trees learn
from all records, and fully grown trees still repeat a record that was copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError
from privacygauge.tables.released.hits import ATTEMPTS, Attempts, Hits
from privacygauge.tables.released.outlying import VARIANT, Outlying
from privacygauge.tables.released.tables import (
    ReleasedTables,
    draw_rows,
    fill_missing,
    sums_but_one,
)
from privacygauge.tables.table import Table, require_columns

if TYPE_CHECKING:
    from sklearn.ensemble import ExtraTreesClassifier

MOST_SECRETS = 20
"""Most secret columns, each tried in turn, where the caller names none."""
TOLERANCE = 0.05
"""Largest error of a right guess of a number, as a share of the range between the 5% and 95%
quantiles of the real numbers; a guess of "missing" is right for a missing number."""


def inference(
    released: ReleasedTables,
    rng: np.random.Generator,
    *,
    secrets: Sequence[str] | None = None,
    attempts: Attempts = ATTEMPTS,
    rows: Outlying | None = None,
    step: Callable[[], None] = lambda: None,
) -> tuple[Hits, ...]:
    """Return, per secret column, the successes of guessing it from all other columns.

    The attacker learns from the synthetic table alone: a forest, a pruned one, or a constant,
    whichever is most accurate on held-out synthetic records (`ATTACKERS`).

    Parameters
    ----------
    released : ReleasedTables
    rng : numpy.random.Generator
    secrets : sequence of str, optional
        Secret columns; by default each column in turn, or 20 random ones if there are more.
    attempts : Attempts, default 500
        Records per secret, real and holdout; fewer where a table has fewer.
    rows : Outlying, optional
        Records to attack as well, reported separately.
    step : callable
        Called after each secret.

    Returns
    -------
    tuple of Hits
        One per secret, and one for all secrets of `rows`. Attack: real records. Control: holdout
        records. Baseline: the real records again, all with one guess: the value that is right most
        often among the synthetic records.
    """
    names = released.schema.names
    if len(names) < 2:
        raise InputError("inference needs at least two columns, got one")
    if secrets is None:
        secrets = [names[j] for j in draw_rows(len(names), MOST_SECRETS, rng)]
    require_columns(secrets, names, "secrets")
    if not secrets:  # all that were asked for are of another time in the holdout
        return ()
    sides = [side for side in (released.real, released.holdout) if side is not None]
    often = zip(sides, (attempts.real, attempts.holdout), strict=False)
    groups = [tuple(draw_rows(len(side), most, rng) for side, most in often)]
    groups += [] if rows is None else [rows.sides]
    # All sides of the random records, then all sides of `rows`: `asked[len(sides):]` are the
    # latter.
    asked = [side[some] for group in groups for side, some in zip(sides, group, strict=True)]
    units = [released.people(group) for group in groups]
    columns = [names.index(name) for name in secrets]
    # Encoded once: every secret's attacker reuses the features.
    known = Encoded(released.synthetic, asked, columns, rng)
    told = []
    for j in columns:
        column = released.schema.columns[j]
        off = 0.0
        if column.is_number:
            real = released.real.values[:, j]
            there = real[~np.isnan(real)]
            if len(there):
                # Quantiles, so that a single outlier does not widen the tolerance.
                low, high = np.quantile(there, [0.05, 0.95])
                off = float(TOLERANCE * (high - low))
        truth = [side.values[:, j] for side in asked]
        guess = best_guesses(known, j, off, rng)
        constant = most_often_right(released.synthetic.values[:, j], off)
        within = f"off by at most {off:g}" if off else "equal"
        told.append(
            _SecretGuesses(
                [agrees(some, true, off) for some, true in zip(guess.values, truth, strict=True)],
                [agrees(np.full(len(true), constant), true, off) for true in truth],
                f"{column.name} is guessed from all other columns by {guess.attacker}, taught by "
                f"the synthetic table, and told where the guess is {within}",
            )
        )
        step()
    notes = released.notes
    last = len(sides)
    found = [
        _hits(name, [one], sides=slice(0, last), meaning=one.meaning, units=units[0], notes=notes)
        for name, one in zip(secrets, told, strict=True)
    ]
    if rows is not None:
        meaning = (
            f"each of {len(secrets)} columns of the {VARIANT} is guessed from all others, as above"
        )
        beside = _hits(
            VARIANT, told, sides=slice(last, None), meaning=meaning, units=units[1], notes=notes
        )
        found.append(replace(beside, outlying=True))
    return tuple(found)


@dataclass(frozen=True)
class _SecretGuesses:
    """Whether guesses of one secret column are right."""

    right: Sequence[Bools]
    """Masks of the right guesses, one per table asked about."""
    constant: Sequence[Bools]
    """Masks of the records for which the most frequent value is right."""
    meaning: str
    """Definition of an attempt."""


def _hits(
    variant: str,
    told: Sequence[_SecretGuesses],
    sides: slice,
    meaning: str,
    units: Sequence[Ints],
    notes: tuple[str, ...],
) -> Hits:
    """Return the results of some secrets on the real records, and on the holdout if present."""
    right = [np.concatenate(side) for side in zip(*(one.right[sides] for one in told), strict=True)]
    # The records repeat for each secret: attempts on one person are one unit.
    owners = [np.tile(unit, len(told)) for unit in units][: len(right)]
    return Hits(
        "inference",
        variant=variant,
        attack=right[0],
        control=right[1] if len(right) > 1 else None,
        baseline=np.concatenate([one.constant[sides][0] for one in told]),
        meaning=meaning,
        attack_unit=owners[0],
        control_unit=owners[1] if len(right) > 1 else None,
        baseline_unit=owners[0],
        notes=notes,
    )


def most_often_right(values: Floats, off: float) -> float:
    """Return the value that agrees with most of them, the smallest in a tie."""
    there = np.sort(values[~np.isnan(values)])
    # Mostly missing: "missing" is the value that is right most often.
    if 2 * len(there) < len(values) or not len(there):
        return float("nan")
    first = np.searchsorted(there, there - off, side="left")
    last = np.searchsorted(there, there + off, side="right")
    return float(there[np.argmax(last - first)])


MOST_VALUES = 20
"""Most values of a column that can be guessed: the most frequent ones."""
TRIED = 2_000
"""Synthetic records used to compare attackers: half to train, half to test, and vice versa."""
TREES = 16
"""Trees in a forest; half as many where attackers are compared."""


@dataclass(frozen=True)
class Attacker:
    """A forest whose trees are pruned until every guess rests on enough records.

    All attackers prune the same forest, which is grown once.
    """

    name: str
    """Name, as reports print it."""
    fewest: float
    """Fewest synthetic records behind a guess, at least 1; infinity for all of them, which yields a
    constant."""


ATTACKERS = (
    Attacker("a forest", 1),
    Attacker("a forest pruned to 3 records a leaf", 3),
    Attacker("a forest pruned to 10 records a leaf", 10),
    Attacker("a constant", np.inf),
)
"""Attackers that are compared, in order of preference: among about equally accurate ones the first
wins, since it memorises copies."""


@dataclass(frozen=True, eq=False)
class Guesses:
    """An attacker's guesses of one column."""

    attacker: str
    """Name of the chosen attacker."""
    values: tuple[Floats, ...]
    """Guesses for the records of each table, one array per table."""


@dataclass(frozen=True, eq=False)
class _Answers:
    """The values that can be guessed, and the true values for which each is right."""

    values: Floats
    """(k,) Values, ascending, a missing value last."""
    right: Floats
    """(k, k) 1 where guess j is right for true value i."""

    @classmethod
    def of(cls, column: Floats, off: float) -> _Answers:
        """Return the most frequent values of a column.

        For numbers with a tolerance, one value per cell of that width: the value with the most
        others within the tolerance, so that a value shared by many is guessed exactly.
        """
        values, counts = np.unique(column, return_counts=True)
        if off and len(values) > MOST_VALUES:
            there = np.sort(column[~np.isnan(column)])
            near = there.searchsorted(values + off, "right") - there.searchsorted(values - off)
            near[np.isnan(values)] = 0
            _, cell = np.unique(np.round(values / off), return_inverse=True)
            # In each cell the value with most neighbours comes first.
            order = np.lexsort((-near, cell))
            first = order[np.unique(cell[order], return_index=True)[1]]
            values = values[first]
            counts = np.bincount(cell, counts)
        # A few records are enough to learn only a few values.
        most = min(MOST_VALUES, max(2, len(column) // 8))
        kept = np.sort(np.argsort(-counts, kind="stable")[:most])
        values = values[kept]
        return cls(values, agrees(values[None], values[:, None], off).astype(float))

    def codes(self, column: Floats) -> Ints:
        """Return the position of the nearest of the values, (n,)."""
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
        """Return the guesses most likely to be right, given shares (n, c) of the values `known`."""
        return np.asarray(self.values[(shares @ self.right[known]).argmax(axis=1)])


def agrees(guess: Floats, truth: Floats, off: float) -> Bools:
    """Return a mask of right guesses: within the tolerance, or missing if the truth is missing."""
    missing = np.isnan(guess) & np.isnan(truth)
    return np.asarray(missing | (np.abs(guess - truth) <= off))


class Encoded:
    """The synthetic table and the query tables, encoded once for the attackers of all columns.

    Parameters
    ----------
    made : Table
        The synthetic table, from which attackers learn.
    asked : sequence of Table
        Query tables of the same schema, whose values are guessed.
    columns : sequence of int
        Positions of the columns that are guessed.
    rng : numpy.random.Generator
        Draws the numbers by which equal records are found.
    """

    def __init__(
        self, made: Table, asked: Sequence[Table], columns: Sequence[int], rng: np.random.Generator
    ) -> None:
        self.made = made
        values = [fill_missing(table) for table in (made, *asked)]
        # Ranks among the synthetic values, which single precision holds exactly: trees need only
        # the order, and ranks split long tails as finely as the middle.
        self.places = [np.empty(one.shape, np.float32) for one in values]
        for j in range(values[0].shape[1]):
            there = np.unique(values[0][:, j])
            for table, place in zip(values, self.places, strict=True):
                # The middle of the left and right ranks: a value between two synthetic ones lies
                # between them.
                first = there.searchsorted(table[:, j], side="left")
                place[:, j] = (first + there.searchsorted(table[:, j], side="right")) / 2
        keys = sums_but_one(rng, columns, made, *asked)
        self.keys = {j: [own[i] for own in keys] for i, j in enumerate(columns)}


def best_guesses(known: Encoded, j: int, off: float, rng: np.random.Generator) -> Guesses:
    """Return the best attacker's guesses of column j from all the others.

    Cross-fitting on synthetic records alone chooses the best attacker, and whether a synthetic
    record that agrees in all other columns takes precedence over it.

    Parameters
    ----------
    known : Encoded
        The synthetic table and the query tables; their column j is ignored as a feature.
    j : int
        Position of the column.
    off : float
        Tolerance: a guess off by at most this is right.
    rng : numpy.random.Generator
        Seeds the attackers, and draws the records on which they are compared.
    """
    task = _Task(known, j, off)
    if len(task.answers.values) == 1:
        constant = task.answers.values[0]
        return Guesses("a constant", tuple(np.full(len(side), constant) for side in task.asked))
    seed = int(rng.integers(2**31))
    chosen, first = _choose_attacker(task, draw_rows(len(task.codes), TRIED, rng), rng, seed)
    everything = np.arange(len(task.codes))
    forest = task.taught(everything, seed)
    found = []
    for features, keys in zip(task.asked, task.asked_keys, strict=True):
        (guess,) = task.guessed(forest, features, [chosen])
        if first:
            there, value = task.looked_up(everything, keys)
            guess = np.where(there, value, guess)
        found.append(guess)
    return Guesses(chosen.name, tuple(found))


class _Task:
    """Prediction of one column from the others, learnt from synthetic records."""

    def __init__(self, known: Encoded, j: int, off: float) -> None:
        self.column = known.made.values[:, j]
        self.off = off
        self.answers = _Answers.of(self.column, off)
        self.codes = self.answers.codes(self.column)
        self.values, self.places = np.unique(self.column, return_inverse=True)
        self.features, *self.asked = (np.delete(table, j, axis=1) for table in known.places)
        self.keys, *self.asked_keys = known.keys[j]

    def taught(self, rows: Ints, seed: int, n_trees: int = TREES) -> ExtraTreesClassifier:
        """Return a fully grown forest trained on these synthetic records."""
        from sklearn.ensemble import ExtraTreesClassifier

        forest = ExtraTreesClassifier(n_trees, max_features=0.5, random_state=seed)
        return forest.fit(self.features[rows], self.codes[rows])

    def guessed(
        self,
        forest: ExtraTreesClassifier,
        features: NDArray[np.float32],
        attackers: Sequence[Attacker],
    ) -> list[Floats]:
        """Return one guess per record from each attacker."""
        shares = np.zeros((len(attackers), len(features), len(forest.classes_)))
        for one in forest.estimators_:
            tree = one.tree_
            leaf = tree.apply(features)
            # The class shares of the ancestor stand in for those of the leaf: this prunes without
            # refitting.
            for own, attacker in zip(shares, attackers, strict=True):
                own += tree.value[:, 0][_cut_back(tree, attacker.fewest)[leaf]]
        return [self.answers.best(own, forest.classes_) for own in shares]

    def looked_up(self, rows: Ints, keys: NDArray[np.uint64]) -> tuple[Bools, Floats]:
        """Look up records that agree in all other columns: a mask of those found, and their value.

        Parameters
        ----------
        rows : ndarray of int
            Rows of the synthetic table to search.
        keys : ndarray of uint64, shape (n,)
            Keys of the queries, equal where two records agree in all other columns.
        """
        distinct, there = np.unique(self.keys[rows], return_inverse=True)
        size = len(self.values)
        # A pair is key * size + value: one sort gives the most frequent value of each key.
        pairs, counts = np.unique(there * size + self.places[rows], return_counts=True)
        order = np.lexsort((pairs, -counts, pairs // size))
        first = np.unique(pairs[order] // size, return_index=True)[1]
        values = self.values[pairs[order][first] % size]
        place = np.minimum(np.searchsorted(distinct, keys), len(distinct) - 1)
        return distinct[place] == keys, values[place]


def _cut_back(tree: Any, fewest: float) -> Ints:
    """Map each node of a tree to its nearest ancestor, or itself, with enough records."""
    parent = np.zeros(tree.node_count, np.int64)
    for children in (tree.children_left, tree.children_right):
        inner = np.flatnonzero(children >= 0)
        parent[children[inner]] = inner
    if np.isinf(fewest):
        return np.zeros_like(parent)
    node = np.arange(tree.node_count)
    small = tree.n_node_samples < fewest
    # The root has no ancestor.
    small[0] = False
    while (left := small[node]).any():
        node[left] = parent[node[left]]
    return node


def _choose_attacker(
    task: _Task, tried: Ints, rng: np.random.Generator, seed: int
) -> tuple[Attacker, bool]:
    """Return the most accurate attacker, and whether exact matches take precedence."""
    halves = np.array_split(rng.permutation(tried), 2)
    right = np.zeros((len(ATTACKERS), len(tried)), np.bool_)
    by_equals = np.zeros(len(tried), np.bool_)
    has_equal = np.zeros(len(tried), np.bool_)
    # Two folds, each judged by a forest trained on the other.
    place = np.arange(len(tried)) < len(halves[0])
    for judged, (some, others) in zip((place, ~place), (halves, halves[::-1]), strict=True):
        truth = task.column[some]
        found = task.guessed(
            task.taught(others, seed, n_trees=TREES // 2), task.features[some], ATTACKERS
        )
        right[:, judged] = [agrees(guess, truth, task.off) for guess in found]
        has_equal[judged], values = task.looked_up(others, task.keys[some])
        by_equals[judged] = agrees(values, truth, task.off)
    # The first attacker whose accuracy is within one standard error of the best one's, as its
    # deficit may be chance. Where a column is hard to predict, exact comparison would often choose
    # a constant, which repeats no copy.
    lead = right[right.mean(axis=1).argmax()].astype(np.float64) - right
    best = int((lead.mean(axis=1) <= lead.std(axis=1) / np.sqrt(right.shape[1])).argmax())
    # Both are judged on the same records: those with an exact match in the other fold.
    believed = by_equals[has_equal].sum() >= right[best, has_equal].sum()
    return ATTACKERS[best], bool(believed)
