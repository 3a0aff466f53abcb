"""The query-based attack: answers to counting queries on the target, and a meta-classifier."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from math import comb

import numpy as np

from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Skipped
from privacygauge.synthetic.attacks.attack import Answer, Tables, View
from privacygauge.synthetic.attacks.matching import (
    Comparison,
    answers_on,
    asked_once,
    check_comparisons,
    conditions_of,
    subsets_up_to,
)
from privacygauge.synthetic.attacks.meta import Features, Forest, MetaClassifier
from privacygauge.synthetic.conditions import row_blocks
from privacygauge.synthetic.queries import Counts
from privacygauge.synthetic.table import require_at_least

MOST_QUERIES = 1 << 16
"""Most queries: all subsets of up to 16 attributes."""

CELLS = 1 << 27
"""Counts of the adversary's tables held at once: 256 MB."""


@dataclass(frozen=True)
class QueryBased:
    """Counts of synthetic records that agree with the target on subsets of its attributes.

    The attack of Houssiau et al. (2022) as Meeus et al. (2023), section 5.1, have it: the
    answers to the queries Q^A, for subsets A of the target's attributes, are the features of a
    meta-classifier that is trained on the adversary's own tables. The paper compares numbers by
    "<=" ("at most"). "=" on numbers too ("equal") is far stronger against generators that copy
    values, such as SynthPop, and "in the same bin" ("same bin") against those that count in
    bins, such as BayNet; several comparisons may be asked together. Counts are given as square
    roots of shares: in roots chance varies alike whatever the count. A forest sees no difference.

    Raises
    ------
    InputError
        If a comparison is unknown, named twice or missing, or a number is below 1.

    Notes
    -----
    All subsets are asked where there are at most `queries` of them; above, equal numbers of each
    size (the paper draws from all subsets, of which hardly any are of the low orders that rows
    meet). Queries that no two of the adversary's tables answer differently, and copies of
    others, are left out: this looks at no label.
    """

    compare: tuple[Comparison, ...] = ("at most",)
    """Comparisons of numbers with the target's, one or several; the paper's by default."""
    meta: MetaClassifier = field(default_factory=Forest)
    """Meta-classifier trained on the answers."""
    most: int = 32
    """Largest size of a subset, at least 1."""
    queries: int = MOST_QUERIES
    """Most queries; fewer where there are very many tables."""

    cells: int = CELLS
    """Counts held at once, two bytes each: with s tables at most cells / s queries."""

    name = "query-based"

    def __post_init__(self) -> None:
        check_comparisons(self.compare)
        require_at_least(self, most=1, queries=1, cells=1)

    @property
    def variant(self) -> str:
        """Comparison of numbers."""
        return " + ".join(self.compare)

    def score(self, view: View, rng: np.random.Generator) -> Answer | Skipped:
        """Return the meta-classifier's scores of all tables."""
        kinds = conditions_of(view.schema, view.target, self.compare)
        subsets = self._subsets(view, rng)
        found = answers_on(view.shadows, kinds, subsets)
        telling = distinct_columns(found)
        if not len(telling):
            return Skipped(self.name, "no query has different answers on the adversary's tables")
        features = _roots(found[:, telling], view.shadows)
        learnt = self.meta.fit(features, view.inside, rng)
        # The released tables are asked the telling queries alone, kind by kind.
        wanted = []
        start = 0
        for part in subsets:
            here = telling[(telling >= start) & (telling < start + len(part))]
            wanted.append(part[here - start])
            start += len(part)
        released = np.empty(len(view.released))
        for rows in row_blocks(len(released), len(telling)):
            counts = answers_on(view.released[rows], kinds, wanted)
            released[rows] = learnt.scores(_roots(counts, view.released))
        return Answer(learnt.own, released, self._notes(view, subsets))

    def _subsets(self, view: View, rng: np.random.Generator) -> tuple[Ints, ...]:
        room = self.most_queries(len(view.shadows))
        found = subsets_up_to(len(view.target), room, self.most, rng)
        return asked_once(view.schema, found, len(self.compare))

    def most_queries(self, n_tables: int) -> int:
        """Return the most queries per comparison for a number of tables."""
        return max(1, min(self.queries, self.cells // n_tables) // len(self.compare))

    def _notes(self, view: View, subsets: tuple[Ints, ...]) -> tuple[str, ...]:
        width = len(view.target)
        if len(subsets[0]) == sum(comb(width, m + 1) for m in range(min(self.most, width))):
            return ()
        asked = sum(len(part) for part in subsets)
        return (f"a sample of {asked:,} queries was asked, not all there are",)


def distinct_columns(counts: Counts) -> Ints:
    """Return the columns that are neither constant nor copies of earlier ones."""
    varies = np.flatnonzero(counts.min(axis=0) < counts.max(axis=0))
    first: dict[bytes, int] = {}
    for part in row_blocks(len(varies), len(counts)):
        for column, values in zip(
            varies[part], np.ascontiguousarray(counts[:, varies[part]].T), strict=True
        ):
            first.setdefault(blake2b(values, digest_size=16).digest(), int(column))
    return np.array(list(first.values()), np.int64)


def _roots(counts: Counts, tables: Tables) -> Features:
    """Return the square roots of the counts as shares of a table's records."""
    roots = np.sqrt(counts, dtype=np.float32)
    roots /= np.float32(np.sqrt(tables.shape[1]))
    return roots
