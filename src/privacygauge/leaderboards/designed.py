"""Designed queries, and exact reconstruction of a few labels from counts known up to a shift."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.leaderboards.decoding import DecodedLabels, Decoder, MessagePassing, fallen_back
from privacygauge.leaderboards.naive_bayes import budget_of, check_knowledge
from privacygauge.leaderboards.oracle import Oracle
from privacygauge.leaderboards.priors import Informed, Knowledge
from privacygauge.leaderboards.queries import RandomQueries

_KINDS = (2, 3)


@dataclass(frozen=True)
class DetectingMatrix:
    """Design of queries: which of two candidates each query gives each point.

    Sources
    -------
    Lindstrom, "On a combinatorial problem in number theory" (1965), for 2^r queries and two
    possible values. The same construction works for any number of queries and for three values.
    """

    n_points: int
    """Number of labels to find, at least 1."""
    kinds: int = 2
    """2: every label is one of its point's candidates. 3: it may be neither."""

    def __post_init__(self) -> None:
        if self.kinds not in _KINDS:
            raise InputError(f"kinds must be 2 or 3, got {self.kinds}")
        checks.at_least(1, n_points=self.n_points)

    @cached_property
    def n_queries(self) -> int:
        """Fewest queries of this design that find all labels."""
        return queries_for(self.n_points, self.kinds)

    @cached_property
    def _levels(self) -> tuple[_Level, ...]:
        """All sets of binary digits by ascending size, so that the decoder starts with the last."""
        size = (self.n_queries - 1).bit_length()
        made = []
        first = 0
        for s in range(1, size + 1):
            every = np.array(list(combinations(range(size), s)), np.int64)
            elements = every[(1 << every).sum(axis=1) < self.n_queries]
            weights = self.kinds ** np.arange(_columns(s, self.kinds), dtype=np.int64)
            number = first + np.arange(len(elements) * weights.size)
            # Subsets of a set's own digits: the other digits determine the lowest one, so each half
            # has one subset with the parity of the set.
            own = np.arange(1 << s)
            alike = (np.bitwise_count(own) - s) % 2 == 0
            chosen = np.asarray(alike[:, None] & (own[:, None] >> 1 < weights), np.uint8)
            level = _Level(
                elements=elements,
                weights=weights,
                used=(number < self.n_points).reshape(-1, weights.size),
                first=first,
                chosen=chosen,
            )
            made.append(level)
            first += len(elements) * weights.size
        return tuple(made)

    def codes(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return queries ``start:stop``, (n_points, stop - start): 1 for the second candidate."""
        y = np.arange(start, stop)
        parts = []
        for level in self._levels:
            # The digits of each query that each set has, as the number of a subset of the set.
            own = np.zeros((len(level.elements), len(y)), np.int64)
            for b in range(level.elements.shape[1]):
                own |= ((y >> level.elements[:, b : b + 1]) & 1) << b
            by_column = level.chosen.T[:, own]
            parts.append(by_column.swapaxes(0, 1).reshape(-1, len(y)))
        return np.concatenate(parts)[: self.n_points]

    def decode(self, counts: Floats) -> tuple[Ints, bool]:
        """Return the decoded labels, and whether they reproduce all counts exactly.

        Parameters
        ----------
        counts : numpy.ndarray of shape (n_queries,)
            Number of right points of each query, up to a constant common to all queries.

        Returns
        -------
        numpy.ndarray of shape (n_points,)
            1 for the second candidate, -1 for the first, 0 for neither.
        bool
            False if some count differs from what these labels give: then they cannot be trusted.
        """
        # Alternating sums cancel the points of smaller sets, and the unknown constant.
        left = _alternating(np.round(counts).astype(np.int64))
        found = np.zeros(sum(level.used.size for level in self._levels), np.int64)
        # Largest sets first: their labels are read off, and their effects on subsets subtracted.
        for level in reversed(self._levels):
            # A set's sum is that of its labels times their weights.
            sums = left[(1 << level.elements).sum(axis=1)]
            if self.kinds == 2:
                most = (level.used * level.weights).sum(axis=1)
                digits = ((sums + most) // 2)[:, None] // level.weights % 2 * 2 - 1
            else:
                digits = (sums + level.weights.sum())[:, None] // level.weights % 3 - 1
            digits *= level.used
            found[level.first : level.first + digits.size] = digits.reshape(-1)
            # (c, 2^s): numbers of the subsets of each set, in the order of its own digits.
            own = np.arange(1 << level.elements.shape[1])
            subsets = np.zeros((len(level.elements), own.size), np.int64)
            for b in range(level.elements.shape[1]):
                subsets += ((own >> b) & 1) << level.elements[:, b : b + 1]
            effects = _alternating(level.chosen.astype(np.int64))
            np.subtract.at(left, subsets, digits @ effects.T)
        return found[: self.n_points], not left[1 : self.n_queries].any()


@dataclass(frozen=True, eq=False)
class _Level:
    """The sets of one size, and their columns."""

    elements: Ints  # (c, s) digits of each set, ascending
    weights: Ints  # (t,) weights of the columns of a set
    used: NDArray[np.bool_]  # (c, t) True where a column has a point
    first: int  # number of the first column
    chosen: NDArray[np.uint8]  # (2^s, t) 1 where a subset is among those of a column


def points_for(n_queries: int, kinds: int = 2) -> int:
    """Return the number of labels that designed queries find; `kinds` as in `DetectingMatrix`.

    Examples
    --------
    >>> from privacygauge.leaderboards.designed import points_for
    >>> points_for(1_024), points_for(1_024, kinds=3)
    (5120, 3082)
    """
    return int(_found_by(max(n_queries, 1), kinds)[-1])


def queries_for(n_points: int, kinds: int = 2) -> int:
    """Return the fewest designed queries that find `n_points` labels."""
    most = 2
    while points_for(most, kinds) < n_points:
        most *= 2
    return int(np.searchsorted(_found_by(most, kinds), n_points)) + 1 if n_points else 0


@lru_cache(maxsize=64)
def _found_by(most: int, kinds: int) -> Ints:
    """Return the number of labels that 1, 2, ..., `most` queries find."""
    columns = np.array([_columns(s, kinds) for s in range(most.bit_length() + 1)])
    found: Ints = checks.frozen(np.cumsum(columns[np.bitwise_count(np.arange(most))]))
    return found


def _columns(s: int, kinds: int) -> int:
    """Return how many of the weights 1, kinds, kinds^2, ... are at most 2^(s - 1)."""
    count = 0
    while s and kinds**count <= 2 ** (s - 1):
        count += 1
    return count


def _alternating(values: Ints) -> Ints:
    """Return, per set x, the sum over its subsets y of (-1)^(|x| - |y|) values[y].

    Rows of `values` are sets by number; missing rows at the end count as 0.
    """
    size = max(len(values) - 1, 1).bit_length()
    sums = np.zeros((1 << size, *values.shape[1:]), np.int64)
    sums[: len(values)] = values
    # One pass per digit (Moebius transform): the half with the digit minus the half without.
    for b in range(size):
        halves = sums.reshape(-1, 2, 1 << b, *values.shape[1:])
        halves[:, 1] -= halves[:, 0]
    return sums


MOST = 2_000_000
"""Largest number of queries considered; more would take too much memory."""


def designed_bias(n: int, m: int, k: int) -> float:
    """Return the expected bias above 1/m of `DesignedQueries` without knowledge, exact answers.

    For two classes k queries find points_for(k) labels, so this is exact. For more classes it
    counts the points expected to be settled, two candidates per round, as if each round had the
    average number of open points: simulations agree within about 10%.


    Parameters
    ----------
    n, m, k : int
        Numbers of points (at least 1), of classes (at least 2) and of queries (at least 0).
    """
    return min(n, n_labels_found(m, k)) / n * (1 - 1 / m)


def n_labels_found(m: int, k: int) -> int:
    """Return how many labels k designed queries find among any number, as in `designed_bias`."""
    if k < 2:
        return 0
    asked = min(k, MOST)
    # More rounds find no more labels than the first round alone.
    most = points_for(asked, kinds_left(m, 0))
    return bisect_left(range(1, most + 1), True, key=lambda p: _cost(p, m) > asked)


def designed_submissions(bias: float, n: int, m: int) -> int | None:
    """Return how many designed queries stay within `bias`, in (0, 1 - 1/m); None above `MOST`."""
    found = math.floor(bias * n / (1 - 1 / m)) + 1
    if found > 4 * MOST:
        return None
    cost = _cost(found, m)
    return max(1, cost - 1) if cost <= MOST else None


def designed_points(bias: float, m: int, k: int) -> int:
    """Return the fewest points at which k designed queries stay within `bias`."""
    return max(1, math.ceil(n_labels_found(m, k) * (1 - 1 / m) / bias))


def _cost(p: int, m: int) -> int:
    """Return how many queries settle p points, with further rounds for the points still open."""
    total = 0
    for tried in range(0, m - 1, 2):
        left = -(-p * (m - tried) // m)
        total += queries_for(left, kinds_left(m, tried))
    return total


def kinds_left(m: int, tried: int) -> int:
    """Return 2 if the next two candidates are the last ones, otherwise 3."""
    return 2 if m - tried == 2 else 3


@dataclass(frozen=True)
class DesignedQueries(Informed, Decoder):
    """Finds the labels of as many points as the budget allows, exactly, by detecting matrices.

    For two classes k queries find the labels of `points_for(k)` points: 5,120 for k = 1,024, and
    10,000 for k = 1,880. For more classes, a query gives each point one of two candidates, and the
    answers show which is right or that neither is (fewer points: 3,082 for k = 1,024). Points with
    neither continue with their next two candidates, until the last one is inferred. A point without
    a right candidate affects no other; it ends with a random label among the remaining ones.


    Points are the least confident first, candidates the most likely first; without knowledge both
    are in random order. Points that are not queried keep one label throughout: their contribution
    to the answers is never needed. No more queries are spent than needed. With very many classes
    (100) and no knowledge, random queries find more.

    Answers must be exact. Behind a guard that changes them, and if they contradict each other,
    `MessagePassing` on random queries replaces this attack, and `DecodedLabels` says so.

    Sources
    -------
    Lindstrom (1965), see `DetectingMatrix`. Feldman, Frostig and Hardt (2019), Theorem 1.3, for the
    number of labels within reach of an inefficient method.
    """

    knowledge: Knowledge | None = None
    """Predictions of a base model; by default random labels."""
    block: int = 256
    """Queries generated at a time, at least 1; affects memory and time, not the answer."""
    threads: int = 1
    """Number of threads of `MessagePassing`, which is used if answers are not exact."""

    name: ClassVar[str] = "designed"

    needs_points = True

    def decode(self, oracle: Oracle, rng: np.random.Generator) -> DecodedLabels:
        """Decode the labels, using the oracle's budget as needed; return them and the method."""
        budget_of(oracle)
        by_messages = MessagePassing(self.knowledge, block=self.block, threads=self.threads)
        if oracle.error:
            note = f"designed queries need exact answers, these are off by {oracle.error:.2g}"
            return fallen_back(by_messages.decode(oracle, rng), note)
        if self.knowledge is None:
            labels = rng.integers(0, oracle.n_classes, oracle.n)
            order = rng.permutation(oracle.n)
        else:
            check_knowledge(oracle, self.knowledge)
            labels = self.knowledge.base.astype(np.int64)
            # The least confident points first.
            order = np.argsort(self.knowledge.log_prior.max(axis=1), kind="stable")
        # Batches of as many points as the remaining budget is expected to settle.
        begun = rounds = unsettled = 0
        while begun < len(order) and budget_of(oracle) >= 2:
            p = self._affordable(oracle, order[begun:])
            done, unasked = self._settle(oracle, order[begun : begun + p], labels, rng=rng)
            begun = begun + p
            rounds = rounds + done
            if unasked is None:
                found = by_messages.decode(oracle, rng)
                return fallen_back(found, "designed queries got answers that no labels give")
            unsettled = unsettled + unasked
        done = begun - unsettled
        note = "" if done == len(order) else f"settled {done} of {len(order)} points"
        return DecodedLabels(
            labels=labels,
            method=self.name,
            converged=True,
            iterations=rounds,
            explained=rounds > 0,
            note=note,
        )

    def _affordable(self, oracle: Oracle, order: Ints) -> int:
        """Return how many of the points `order` the budget is expected to settle; at least 1."""
        m = oracle.n_classes
        budget = budget_of(oracle)
        # The expected number of open points before each round, for every number of points.
        if self.knowledge is None:
            shares: Floats = np.asarray(1.0 - 2.0 / m * np.arange(m // 2))
        else:
            inside = np.exp(self.knowledge.log_prior[order]).cumsum(axis=1)
            before = np.ones((len(order), self.knowledge.n_candidates // 2))
            before[:, 1:] = np.maximum(1.0 - inside[:, 1::2][:, : before.shape[1] - 1], 0.0)
            sums = before.cumsum(axis=0)

        def too_many(p: int) -> bool:
            loads = p * shares if self.knowledge is None else sums[p - 1]
            whole = np.ceil(loads - 1e-9).astype(np.int64)
            costs = (queries_for(int(load), kinds_left(m, 2 * t)) for t, load in enumerate(whole))
            return sum(costs) > budget

        return max(1, bisect_left(range(1, len(order) + 1), True, key=too_many))

    def _settle(
        self, oracle: Oracle, order: Ints, labels: Ints, rng: np.random.Generator
    ) -> tuple[int, int | None]:
        """Write the labels of the attacked points `order`, which share queries, into `labels`.

        Return the number of rounds, and how many points were not queried; None if the answers
        contradict each other.
        """
        m = oracle.n_classes
        if self.knowledge is None:
            points = order
            candidates = rng.permuted(np.tile(np.arange(m), (len(order), 1)), axis=1)
        else:
            points = self.knowledge.points[order]
            # The most likely first, which is the order of trial.
            candidates = self.knowledge.candidates[order].astype(np.int64)
        open_ = np.arange(len(points))
        r = candidates.shape[1]
        rounds = unasked = 0
        for column in range(0, r - 1, 2):
            kinds = kinds_left(m, column)
            asked = open_[: points_for(budget_of(oracle), kinds)]
            unasked += len(open_) - len(asked)
            if not len(asked):
                break
            # Each query gives the points one of their next two candidates, the others their label.
            pairs = candidates[asked, column : column + 2]
            matrix = DetectingMatrix(len(asked), kinds)
            counts = np.empty(matrix.n_queries)
            fixed = labels.astype(np.min_scalar_type(m - 1))
            first, second = (side[:, None].astype(fixed.dtype) for side in pairs.T)
            for start in range(0, matrix.n_queries, self.block):
                part = slice(start, min(start + self.block, matrix.n_queries))
                made = np.repeat(fixed[:, None], part.stop - part.start, axis=1)
                made[points[asked]] = np.where(matrix.codes(part.start, part.stop), second, first)
                counts[part] = oracle.submit_all(made.T) * oracle.n
            signs, consistent = matrix.decode(counts)
            if not consistent:
                return rounds, None
            rounds += 1
            known = signs != 0
            labels[points[asked[known]]] = pairs[known, (signs[known] + 1) // 2]
            open_ = asked[~known]
            tried = column + 2
            if tried < r:
                # The next candidate is the best guess until it is tried.
                labels[points[open_]] = candidates[open_, tried]
            elif len(open_):
                # All were tried: a random one of the other labels. Each label tried that is at most
                # the draw moves it up by one.
                drawn = rng.integers(0, m - tried, len(open_))
                for label in np.sort(candidates[open_], axis=1).T:
                    drawn += drawn >= label
                labels[points[open_]] = drawn
        return rounds, unasked


_MOST = 200_000


@dataclass(frozen=True, eq=False)
class LabelingSearch:
    """Result of a complete search for labelings."""

    labelings: Ints
    """(0 to 2, t) Labelings that give all counts, up to a shift. A second one is searched for only
    to establish whether the first is unique."""
    complete: bool
    """True if the search ended, so that no other labeling exists. False if time ran out, or if a
    second labeling was found.
    """

    @property
    def unique(self) -> bool:
        """True if there is exactly one labeling, which is then the truth."""
        return self.complete and len(self.labelings) == 1


@dataclass(frozen=True)
class Reconstruction(Informed, Decoder):
    """Algorithm 2: random queries over t points, one fixed label elsewhere, and a full search.

    A second search shows whether the labels found are the only ones that give the answers:
    `DecodedLabels.converged` is then True, and the labels are right. By Theorem 4.5
    `bounds.reconstruction_queries` random queries suffice with probability 1/2; in practice a small
    fraction of them does (t = 40, m = 3: the theorem needs 288, 30 suffice). The number of points t
    that the budget determines by the theorem is `bounds.reconstruction_size`; the default is a size
    at which a full search is quick. The search time may grow without bound in t; if it ends without
    a labeling, the t points are guessed. Exact answers are needed: behind a guard that changes
    them, `MessagePassing` replaces this attack. All other points are guessed. It spends all of the
    oracle's budget and needs OR-Tools (the extra ``solver``). For two classes `DesignedQueries`
    does the same for thousands of points in milliseconds.


    Sources
    -------
    Feldman, Frostig and Hardt (2019), Algorithm 2 and Theorem 4.5.
    """

    size: int = 40
    """Number of points to reconstruct, t, at least 1."""
    seconds: float = 30.0
    """Time limit of each of two searches in seconds, above 0."""
    block: int = 256
    """Queries generated at a time, at least 1, as in `NaiveBayes`."""

    name: ClassVar[str] = "reconstruction"
    knowledge = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.at_least(1, size=self.size)
        if not 0.0 < self.seconds < math.inf:
            raise InputError(f"seconds must be above 0, got {self.seconds}")

    needs_points = True

    def decode(self, oracle: Oracle, rng: np.random.Generator) -> DecodedLabels:
        """Decode the labels, using the whole budget; return them and the method."""
        budget_of(oracle)
        if oracle.error:
            stand_in = MessagePassing(block=self.block).decode(oracle, rng)
            note = f"a reconstruction needs exact answers, these are off by {oracle.error:.2g}"
            return fallen_back(stand_in, note)
        labels = rng.integers(0, oracle.n_classes, oracle.n)
        points = np.sort(rng.permutation(oracle.n)[: self.size])
        # Random queries of these points, (t, k), with one fixed label elsewhere.
        queries = RandomQueries.drawn(len(points), oracle.n_classes, budget_of(oracle), rng)
        codes = queries.points(0, len(points))
        counts = np.empty(queries.k)
        for start in range(0, queries.k, self.block):
            part = slice(start, min(start + self.block, queries.k))
            made = np.zeros((oracle.n, part.stop - part.start), codes.dtype)
            made[points] = codes[:, part]
            counts[part] = np.round(oracle.submit_all(made.T) * oracle.n)
        found = reconstruct_labels(codes.T, counts, oracle.n_classes, seconds=self.seconds)
        n_found = len(found.labelings)
        if n_found:
            labels[points] = found.labelings[0]
        note = "no labeling gives these answers" if found.complete else "time ran out"
        if found.unique:
            note = ""
        elif n_found == 2:
            note = "several labelings give these answers: ask more, or reconstruct fewer points"
        elif n_found == 1:
            note = "time ran out before it was known whether another labeling gives these answers"
        return DecodedLabels(
            labels=labels,
            method=self.name,
            converged=found.unique,
            iterations=n_found,
            explained=n_found > 0,
            note=note,
        )


def reconstruct_labels(
    queries: ArrayLike, counts: ArrayLike, m: int, *, seconds: float = 30.0
) -> LabelingSearch:
    """Return the labelings of t points that give the counts of right labels up to a shift.

    Parameters
    ----------
    queries : array_like of shape (k, t)
        Label in 0..m-1 that each query gives each point.
    counts : array_like of shape (k,)
        Number of right labels of each query, plus one unknown whole number common to all.
    m : int
        Number of classes, at least 2.
    seconds : float, default 30.0
        Time limit of each of two searches.

    Raises
    ------
    InputError
        If the queries have another shape or range or more than 200,000 entries, or OR-Tools is not
        installed.
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
    try:
        from ortools.sat.python import cp_model
    except ModuleNotFoundError as error:
        raise InputError(
            "an exact reconstruction needs OR-Tools, which is not installed: "
            "pip install 'privacygauge[solver]'"
        ) from error
    model = cp_model.CpModel()
    # One boolean per point and label, exactly one of them true per point.
    t = rows.shape[1]
    is_label = [[model.new_bool_var("") for _ in range(m)] for _ in range(t)]
    for of_point in is_label:
        model.add_exactly_one(of_point)
    right = [sum(is_label[i][label] for i, label in enumerate(row.tolist())) for row in rows]
    for (now, so_many), (then, so_many_then) in pairwise(zip(right, whole.tolist(), strict=True)):
        # Differences of successive counts cancel the unknown shift.
        model.add(now - then == so_many - so_many_then)
    found: list[list[int]] = []
    # The first labeling is excluded, and the search repeated: a second one refutes uniqueness.
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
