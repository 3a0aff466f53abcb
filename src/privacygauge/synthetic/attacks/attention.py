"""Target attention: a network that reads the synthetic rows nearest to the target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.runs.threads import one_thread
from privacygauge.synthetic.attacks.attack import Answer, Tables, View
from privacygauge.synthetic.attacks.attention_network import (
    AttentionTraining,
    Games,
    Nearest,
    train,
)
from privacygauge.synthetic.attacks.meta import stratified_folds
from privacygauge.synthetic.distance import Cosine
from privacygauge.synthetic.schema import Schema
from privacygauge.synthetic.table import require_at_least

CELLS = 1 << 22
"""Cells of tables prepared at once."""

DIGITS = 12
"""Decimals to which distances must agree to be ties; further ones are rounding."""

CLOSEST = 1e-4
"""Distances below this count as a copy of the target."""


@dataclass(frozen=True)
class TargetAttention:
    """Attention network that learns from whole tables which rows near the target betray it.

    Notes
    -----
    Meeus et al. (2023), appendix A and algorithm 1. Of every table the unique rows nearest to
    the target are read, each with its multiplicity and its distance (equation 5). A small
    network embeds rows and target; the target's query weighs the rows' values by a softmax over
    their keys; a second network turns the sum into a score.

    Differences from the paper, and choices that it leaves open:

    - Line 11 of the algorithm multiplies the query by values, and never uses the keys: keys are
      meant, and are used.
    - "Continuous attributes remain untouched": here they are scaled to 0..1 over the schema's
      range, because incomes beside one-hot categories drown everything else.
    - A multiplicity m enters as log2(1 + m), which is 1 for a single row, as for the target.
    - A distance enters by its logarithm, as `closeness`: otherwise a copy of the target hardly
      differs from its neighbours, and tables that hold it are not told apart.
    - A table with fewer unique rows is padded, and the padding has no weight in the softmax.
    - The paper names no optimiser: `AttentionTraining` has ours. Dropout is on the hidden units of
      both networks, with one mask per table.

    Several networks are trained, each without two of equally large parts of the adversary's tables:
    one part stops it early, and it scores the other. Released tables get the mean of the networks'
    scores.
    """

    top: int = 100
    """Unique rows read per table."""
    folds: int = 8
    """Folds of the adversary's tables, one network each; at least 3."""
    training: AttentionTraining = field(default_factory=AttentionTraining)
    """Training settings of the networks."""

    name = "target-attention"
    variant = ""

    def __post_init__(self) -> None:
        require_at_least(self, top=1)
        if self.folds < 3:
            raise InputError(
                f"folds must be at least 3, to learn, to stop and to score, got {self.folds}"
            )

    def score(self, view: View, rng: np.random.Generator) -> Answer | Skipped:
        """Return the log-odds that the target was in, for every table.

        Parameters
        ----------
        view : View
            With at least `folds` tables made with the target and as many without.
        rng : numpy.random.Generator
            Draws the parts, the initial weights, the order of tables and the dropout.

        Returns
        -------
        Answer or Skipped
            Skipped where torch is not installed or there are too few tables.
        """
        if find_spec("torch") is None:
            return Skipped(self.name, "needs torch: pip install 'privacygauge[torch]'")
        fewest = int(min(view.inside.sum(), (~view.inside).sum()))
        if fewest < self.folds:
            return Skipped(
                self.name,
                f"needs at least {self.folds} tables with and without the target, got {fewest}",
            )
        reader = Reader.of(view.schema, view.target, self.top, rng)
        shadows = reader.nearest(view.shadows)
        released = reader.nearest(view.released)
        fold = stratified_folds(view.inside, self.folds, rng)
        games = Games(shadows, view.inside, fold, released)
        import torch  # noqa: F401  -- what is loaded within one_thread keeps its limit

        with one_thread():
            own, asked = train(games, self.training, rng)
        return Answer(own[fold, np.arange(len(fold))], asked.mean(axis=0))


@dataclass(frozen=True, eq=False)
class Encoding:
    """Encoding of records as numbers: one-hot categories, numbers scaled to [0, 1].

    A missing number is 0, with a 1 in an indicator column, which every numeric column that may miss
    values has.
    """

    schema: Schema
    """Schema of the records."""

    @property
    def sizes(self) -> Ints:
        """(F_cat,) Number of codes of each categorical column."""
        columns = self.schema.columns
        return np.array([columns[j].n_codes for j in self.schema.categorical], np.int64)

    @property
    def n_numbers(self) -> int:
        """Number of columns that encode numbers."""
        return sum(1 + self.schema.columns[j].missing for j in self.schema.numbers)

    def scaled(self, rows: Floats) -> Floats:
        """Return the scaled numbers of rows (..., F), then their missing-value indicators."""
        columns = [self.schema.columns[j] for j in self.schema.numbers]
        numbers = rows[..., self.schema.numbers]
        # Halves, because the range of the largest numbers is not a number.
        low, high = (end[list(self.schema.numbers)] / 2 for end in self.schema.limits[:2])
        width = high - low
        inside = (numbers / 2 - low) / np.where(width > 0, width, 1.0)
        missing = np.isnan(numbers)
        may_be = np.array([column.missing for column in columns], np.bool_)
        return np.concatenate([np.where(missing, 0.0, inside), missing[..., may_be]], axis=-1)

    def codes(self, rows: Floats) -> Ints:
        """Return the codes of rows (..., F)."""
        return rows[..., self.schema.categorical].astype(np.int64)

    def one_hot(self, codes: Ints, scaled: Floats) -> NDArray[np.float32]:
        """Return records (n, codes and numbers): one-hot categories, then numbers."""
        first = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        result = np.zeros((len(codes), first[-1] + scaled.shape[1]), np.float32)
        np.put_along_axis(result, codes + first[:-1], 1.0, axis=1)
        result[:, first[-1] :] = scaled
        return result


@dataclass(frozen=True, eq=False)
class Reader:
    """Finds the unique rows of tables that are nearest to a target."""

    encoding: Encoding
    """Encoding of records."""
    target: Floats
    """(F,) Target, coded as `Table.values`."""
    top: int
    """Most rows read per table."""
    ties: Floats
    """(L,) Random weights of a record's parts: they order rows at the same distance, in every table
    alike and independent of a row's place."""

    @classmethod
    def of(cls, schema: Schema, target: Floats, top: int, rng: np.random.Generator) -> Reader:
        """Return the reader for a target."""
        encoding = Encoding(schema)
        ties = rng.normal(size=len(encoding.sizes) + encoding.n_numbers)
        return cls(encoding, np.asarray(target, np.float64), top, ties)

    def nearest(self, tables: Tables) -> Nearest:
        """Return the nearest rows of tables (k, n, F), the nearest first."""
        width = int(self.encoding.sizes.sum()) + self.encoding.n_numbers + 2
        rows = np.zeros((len(tables), self.top, width), np.float32)
        there = np.zeros((len(tables), self.top), np.bool_)
        for part in _blocks(tables):
            place, found = self._found(np.asarray(tables[part], np.float64))
            rows[part][place], there[part][place] = found, True
        target = self.target[None]
        record = self.encoding.one_hot(self.encoding.codes(target), self.encoding.scaled(target))
        own = np.array([1.0, closeness(0.0)], np.float32)
        return Nearest(rows, there, np.append(record[0], own))

    def _found(self, tables: Floats) -> tuple[tuple[Ints, Ints], NDArray[np.float32]]:
        """Return table, rank and position of each row that is kept."""
        codes = self.encoding.codes(tables)
        scaled = self.encoding.scaled(tables)
        distance = self._distances(codes, scaled)
        key = np.zeros(tables.shape[:2])
        parts = (*np.moveaxis(codes, -1, 0), *np.moveaxis(scaled, -1, 0))
        for weight, values in zip(self.ties, parts, strict=True):
            key += weight * values
        order = np.lexsort((key, distance)).reshape(distance.shape)
        near = [np.take_along_axis(values, order, 1) for values in (distance, key)]
        fresh = np.ones(order.shape, np.bool_)
        fresh[:, 1:] = np.any([values[:, 1:] != values[:, :-1] for values in near], axis=0)
        first = np.flatnonzero(fresh)
        multiplicity = np.diff(np.append(first, fresh.size))
        rank = (np.cumsum(fresh, axis=1) - 1).reshape(-1)[first]
        kept = rank < self.top
        table, column = np.divmod(first[kept], tables.shape[1])
        row = order[table, column]
        records = self.encoding.one_hot(codes[table, row], scaled[table, row])
        counted = np.log2(1.0 + multiplicity[kept])
        further = np.column_stack([counted, closeness(distance[table, row])]).astype(np.float32)
        return (table, rank[kept]), np.hstack([records, further])

    def _distances(self, codes: Ints, scaled: Floats) -> Floats:
        """Return the distances (k, n) to the target: equation 5, scaled by the schema."""
        n_columns = len(self.encoding.schema.columns)
        differ = np.count_nonzero(codes != self.encoding.codes(self.target), axis=-1)
        found = np.asarray(differ / n_columns)
        if scaled.shape[-1]:
            target = self.encoding.scaled(self.target[None])
            both = np.vstack([target, scaled.reshape(-1, scaled.shape[-1])])
            points = Cosine().coordinates(both)
            apart = Cosine().of_numbers(points[1:], points[0]).reshape(found.shape)
            found = found + len(self.encoding.schema.numbers) / n_columns * apart
        return np.round(found, DIGITS)


def closeness(distance: ArrayLike) -> Floats:
    """Return the closeness of rows: 3 for a copy of the target, -1 at a distance of 1."""
    return np.asarray(-1.0 - np.log10(np.maximum(np.asarray(distance, np.float64), CLOSEST)))


def _blocks(tables: Tables) -> Iterator[slice]:
    cells = tables.shape[1] * tables.shape[2]
    step = max(1, CELLS // max(1, cells))
    return (slice(start, start + step) for start in range(0, len(tables), step))
