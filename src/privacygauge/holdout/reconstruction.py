"""Exact reconstruction of a few labels from counts that are known up to a shift."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.holdout.decoding import DecodedLabels, Decoder, MessagePassing, fallen_back
from privacygauge.holdout.naive_bayes import budget_of, check_sizes
from privacygauge.holdout.oracle import Oracle
from privacygauge.holdout.queries import Codes, RandomQueries

_MOST = 200_000


@dataclass(frozen=True, eq=False)
class LabelingSearch:
    """Result of a complete search for labelings."""

    labelings: Ints
    """(0 to 2, t) Labelings that give all counts, up to a shift. A second one is looked for only
    to know whether the first is the only one."""
    complete: bool
    """Whether the search ended, so that no other labeling exists. False if time ran out, or if a
    second one was found.
    """

    @property
    def unique(self) -> bool:
        """Whether there is exactly one, so that it is the truth."""
        return self.complete and len(self.labelings) == 1


@dataclass(frozen=True)
class Reconstruction(Decoder):
    """Algorithm 2: random queries over t points, one fixed label elsewhere, and a full search.

    Whether the labels found are the only ones that give the answers is searched for too, and said
    in `DecodedLabels`: `converged` is true if they are, and then they are right. By Theorem 4.5
    `bounds.reconstruction_queries` random queries suffice with probability 1/2; a small fraction
    of it does in practice (t = 40, m = 3: the theorem says 288, 30 do). How many points t the
    budget determines by it is `bounds.reconstruction_size`; the default stays where a full search
    is quick. The search may take time
    that grows without bound in t; where it ends without a labeling the t points are guessed. It
    needs exact answers: behind a guard that changes them `MessagePassing` stands in. All other
    points are guessed. It spends all of the oracle's budget and needs OR-Tools (the extra
    ``solver``). For two classes `DesignedQueries` does the same for thousands of points in
    milliseconds.

    Sources
    -------
    Feldman, Frostig and Hardt (2019), Algorithm 2 and Theorem 4.5.
    """

    size: int = 40
    """Number of points to reconstruct, t, at least 1."""
    seconds: float = 30.0
    """Time limit of each of two searches in seconds, above 0."""
    block: int = 256
    """Queries made at a time, at least 1, as in `NaiveBayes`."""

    name: ClassVar[str] = "reconstruction"

    def __post_init__(self) -> None:
        check_sizes(self.block, 1)
        checks.at_least(1, size=self.size)
        if not 0.0 < self.seconds < math.inf:
            raise InputError(f"seconds must be above 0, got {self.seconds}")

    needs_points = True

    def unaided(self) -> Ints | None:
        """Return None: without a query it guesses."""
        return None

    def decode(self, oracle: Oracle, rng: np.random.Generator) -> DecodedLabels:
        """Decode the labels, using the whole budget; return them and the method."""
        budget_of(oracle)
        if oracle.error:
            stand_in = MessagePassing(block=self.block).decode(oracle, rng)
            note = f"a reconstruction needs exact answers, these are off by {oracle.error:.2g}"
            return fallen_back(stand_in, note)
        labels = rng.integers(0, oracle.n_classes, oracle.n)
        points = np.sort(rng.permutation(oracle.n)[: self.size])
        codes, counts = _ask_counts(oracle, points, self.block, rng)
        found = reconstruct_labels(codes.T, counts, oracle.n_classes, seconds=self.seconds)
        some = len(found.labelings) > 0
        if some:
            labels[points] = found.labelings[0]
        return DecodedLabels(
            labels=labels,
            method=self.name,
            converged=found.unique,
            iterations=len(found.labelings),
            explained=some,
            note=_note(found),
        )


def reconstruct_labels(
    queries: ArrayLike, counts: ArrayLike, m: int, *, seconds: float = 30.0
) -> LabelingSearch:
    """Return the labelings of t points that give the counts of right labels up to a shift.

    Parameters
    ----------
    queries : array_like of shape (k, t)
        The label in 0..m-1 that each query gives each point.
    counts : array_like of shape (k,)
        Number of right labels of each query, plus one unknown whole number.
    m : int
        Classes, at least 2.
    seconds : float, default 30.0
        The longest that each of two searches may take.

    Raises
    ------
    InputError
        If the queries are not of this shape and range, their number of entries is above 200,000,
        or OR-Tools is not installed.
    """
    rows = np.asarray(queries)
    whole = checks.integers(counts, "counts")
    if rows.ndim != 2 or len(rows) != len(whole) or rows.dtype.kind not in "iu":
        raise InputError(f"queries must be integers of the shape ({len(whole)}, t)")
    if m < 2 or (rows.size and not 0 <= rows.min() <= rows.max() < m):
        raise InputError(f"queries must hold labels in 0..m-1, with m at least 2, got m {m}")
    if rows.size > _MOST:
        raise InputError(
            f"a full search takes at most {_MOST:,} labels in queries, got {rows.size:,}: "
            f"give a smaller size, or decode by MessagePassing"
        )
    return _search_labelings(rows, whole, m, seconds)


def _ask_counts(
    oracle: Oracle, points: Ints, block: int, rng: np.random.Generator
) -> tuple[Codes, Floats]:
    """Return random queries of `points`, (t, k), and the number of right labels of each, (k,)."""
    queries = RandomQueries.drawn(len(points), oracle.n_classes, budget_of(oracle), rng)
    codes = queries.points(0, len(points))
    counts = np.empty(queries.k)
    for start in range(0, queries.k, block):
        part = slice(start, min(start + block, queries.k))
        made = np.zeros((oracle.n, part.stop - part.start), codes.dtype)
        made[points] = codes[:, part]
        counts[part] = np.round(oracle.submit_all(made.T) * oracle.n)
    return codes, counts


def _search_labelings(rows: np.ndarray, counts: Ints, m: int, seconds: float) -> LabelingSearch:
    try:
        from ortools.sat.python import cp_model
    except ModuleNotFoundError as error:
        raise InputError(
            "an exact reconstruction needs OR-Tools, which is not installed: "
            "pip install 'privacygauge[solver]'"
        ) from error
    model = cp_model.CpModel()
    t = rows.shape[1]
    is_label = [[model.new_bool_var("") for _ in range(m)] for _ in range(t)]
    for of_point in is_label:
        model.add_exactly_one(of_point)
    right = [sum(is_label[i][label] for i, label in enumerate(row.tolist())) for row in rows]
    for (now, so_many), (then, so_many_then) in pairwise(zip(right, counts.tolist(), strict=True)):
        # The shift is the same on both sides.
        model.add(now - then == so_many - so_many_then)
    found: list[list[int]] = []
    while len(found) < 2:
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.max_time_in_seconds = seconds
        status = solver.solve(model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            labelings = np.array(found, np.int64).reshape(-1, t)
            return LabelingSearch(labelings, complete=status == cp_model.INFEASIBLE)
        values = [[solver.value(x) for x in of_point].index(1) for of_point in is_label]
        model.add_bool_or([is_label[i][label].negated() for i, label in enumerate(values)])
        found.append(values)
    return LabelingSearch(np.array(found, np.int64), complete=False)


def _note(found: LabelingSearch) -> str:
    if found.unique:
        return ""
    if len(found.labelings) == 2:
        return "several labelings give these answers: ask more, or reconstruct fewer points"
    if len(found.labelings) == 1:
        return "time ran out before it was known whether another labeling gives these answers"
    return "no labeling gives these answers" if found.complete else "time ran out"
