"""Distance to the closest synthetic record: the simplest attack, without training."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.tables.attacks.attack import Answer, Tables, View
from privacygauge.tables.distance import Cosine, Distance
from privacygauge.tables.queries import row_blocks
from privacygauge.tables.table import Schema, require_at_least


@dataclass(frozen=True)
class ClosestDistance:
    """Minus the target's mean distance to the k nearest synthetic records.

    The distance is that of the vulnerability score (Meeus et al. 2023, equations 1 to 5), but
    numbers are scaled over the schema's range, the same for all tables. Nothing is learnt, so the
    own scores need no cross-fitting. The attack finds copies and little else: its failure is not
    evidence of safety.

    Raises
    ------
    InputError
        If k is below 1.
    """

    k: int = 1
    """Number of neighbours, at least 1."""
    distance: Distance = field(default_factory=Cosine)
    """Distance between two records."""

    name = "closest-distance"

    def __post_init__(self) -> None:
        require_at_least(self, k=1)

    @property
    def variant(self) -> str:
        """Number of neighbours; empty for the nearest alone."""
        return "" if self.k == 1 else f"k = {self.k}"

    def score(self, view: View, rng: np.random.Generator) -> Answer | Skipped:
        """Return minus the mean distance for every table."""
        fewest = min(view.shadows.shape[1], view.released.shape[1])
        if fewest < self.k:
            return Skipped(self.name, f"the tables hold fewer than k = {self.k} records")
        return Answer(-self._of_tables(view, view.shadows), -self._of_tables(view, view.released))

    def _of_tables(self, view: View, tables: Tables) -> Floats:
        found = np.empty(len(tables))
        for part in row_blocks(len(tables), tables[:1].size):
            distances = distances_to(view.schema, view.target, tables[part], self.distance)
            # Only the k smallest are needed, in any order.
            nearest = np.partition(distances, self.k - 1, axis=1)[:, : self.k]
            found[part] = nearest.mean(axis=1)
        return found


def distances_to(schema: Schema, target: Floats, tables: Tables, distance: Distance) -> Floats:
    """Return the distance of the target to each record of each table.

    Parameters
    ----------
    schema : Schema
        Schema; numbers are scaled from 0 at its low to 1 at its high.
    target : ndarray, shape (F,)
    tables : ndarray, shape (k, n, F)
    distance : Distance

    Returns
    -------
    ndarray, shape (k, n)
        At least 0. A missing number is a value of its own, by its indicator.
    """
    width = len(schema.columns)
    # The target is the last row, so that it is scaled and encoded like the others.
    rows = np.vstack([tables.reshape(-1, width), target.astype(tables.dtype)])
    cat = list(schema.categorical)
    cont = list(schema.numbers)
    mismatches: Ints = np.count_nonzero(rows[:-1, cat] != rows[-1, cat], axis=1)
    # Weighted by the shares of columns, as in equation 5.
    found = len(cat) / width * distance.of_categories(mismatches, len(cat))
    if cont:
        low, high, _, may_miss = (end[cont] for end in schema.limits)
        numbers = rows[:, cont]
        missing = np.isnan(numbers)
        # Halves, since high - low overflows for the largest numbers.
        half = high / 2 - low / 2
        inside = (numbers / 2 - low / 2) / np.where(half > 0, half, 1.0)
        # A missing number becomes 0, with a 1 in an indicator column.
        inside = np.where(missing | (half <= 0), 0.0, np.clip(inside, 0.0, 1.0))
        coordinates = distance.coordinates(
            np.hstack([inside, missing[:, may_miss].astype(np.float64)])
        )
        of_numbers = distance.of_numbers(coordinates[:-1], coordinates[-1])
        found = found + len(cont) / width * of_numbers
    return np.asarray(found).reshape(tables.shape[:-1])
