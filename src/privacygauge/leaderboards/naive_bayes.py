"""The optimal point-wise attack: on accuracy, and on scores that are sums; simpler attacks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.errors import BudgetError, InputError
from privacygauge.evaluate.rates import share
from privacygauge.leaderboards.metrics import Metric, Values
from privacygauge.leaderboards.oracle import Holdout, Oracle
from privacygauge.leaderboards.priors import Informed, Knowledge
from privacygauge.leaderboards.queries import Brush, Codes, RandomQueries, for_each_tile


@dataclass(frozen=True)
class NaiveBayes(Informed):
    """The attack NB: the label with the largest posterior given random queries' accuracies.

    A query's accuracy a is the probability that it is right at any one point, so it multiplies the
    odds of the label it gives by a (m - 1) / (1 - a). In logs, with Q the queries,

        z_i = argmax_l  log pi_i(l) + sum over j with Q_ij = l of  log(a_j (m - 1) / (1 - a_j)).

    An exact accuracy of 0 excludes the labels submitted, one of 1 settles all points, and ties are
    broken uniformly at random. Without knowledge it needs no access to the points. It spends all of
    the oracle's budget. Cost: n k additions, with each query drawn twice and none stored; memory: n
    times `block` labels of one or two bytes, and 2,048 k labels per thread. Faster with numba (the
    extra ``fast``), with the same answer.

    Notes
    -----
    Behind a guard that changes answers by v in mean square, each accuracy is shrunk towards its
    expectation by s^2 / (s^2 + v), s^2 = (1/m)(1 - 1/m)/n. If only some points or labels are
    attacked, the accuracy holds an unknown constant from the others: the mean of the answers
    replaces it (`centre_accuracies`).

    Sources
    -------
    Feldman, Frostig and Hardt (2019), Algorithm 1 and Lemma 4.1; Theorem 4.2 for optimality.
    """

    knowledge: Knowledge | None = None
    """Predictions of a base model; by default a uniform prior over all labels."""
    block: int = 256
    """Queries generated at a time, at least 1; affects memory and time, not the answer."""
    threads: int = 1
    """Number of threads, at least 1; affects time, not the answer."""

    needs_points: bool = field(init=False, repr=False)
    """True if it uses the points, which it does only with knowledge of them."""

    name: ClassVar[str] = "nb"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "needs_points", self.knowledge is not None)

    def answer(self, oracle: Oracle, rng: np.random.Generator) -> Ints:
        """Return labels, (n,), after spending the whole budget."""
        queries = random_queries(oracle, self.knowledge, rng)
        answers = ask(
            oracle, queries, knowledge=self.knowledge, block=self.block, threads=self.threads
        )
        weights = log_odds(query_probabilities(answers, oracle, self.knowledge), queries.m)
        return aggregate_labels(
            queries, weights, knowledge=self.knowledge, rng=rng, threads=self.threads
        )


def budget_of(oracle: Oracle) -> int:
    """Return the number of submissions of an attack that spends the whole budget."""
    left = oracle.left()
    if left is None:
        raise BudgetError("the oracle has no budget to spend: open it with Budget(total=...)")
    return left


def random_queries(
    oracle: Oracle, knowledge: Knowledge | None, rng: np.random.Generator
) -> RandomQueries:
    """Return uniform queries over the attacked points and candidates, as many as are left."""
    k = budget_of(oracle)
    if knowledge is None:
        return RandomQueries.drawn(oracle.n, oracle.n_classes, k, rng)
    check_knowledge(oracle, knowledge)
    return RandomQueries.drawn(len(knowledge.points), knowledge.n_candidates, k, rng)


def check_knowledge(oracle: Oracle, knowledge: Knowledge) -> None:
    """Raise if `knowledge` is about another test set."""
    if (len(knowledge.base), knowledge.n_classes) != (oracle.n, oracle.n_classes):
        raise InputError(
            f"knowledge must be about {oracle.n} points and {oracle.n_classes} classes, got "
            f"{len(knowledge.base)} and {knowledge.n_classes}: take the logits of this test set"
        )


def ask(
    oracle: Oracle,
    queries: RandomQueries,
    knowledge: Knowledge | None,
    block: int,
    threads: int,
) -> Floats:
    """Return the oracle's answers, (k,), to all queries, submitted in order."""
    answers = np.empty(queries.k)
    for start, codes in queries.blocks(block, threads):
        labels = codes if knowledge is None else knowledge.labels(codes)
        answers[start : start + block] = oracle.submit_all(labels.T)
    return answers


def query_probabilities(answers: Floats, oracle: Oracle, knowledge: Knowledge | None) -> Floats:
    """Return, per query, the probability that it is right at an attacked point.

    Given that the point's label is among its candidates. In [0, 1], and strictly inside unless the
    answers are exact and depend only on the attacked points' accuracy.
    """
    if knowledge is None or knowledge.whole:
        size = oracle.n
        r = oracle.n_classes
        found = answers
    else:
        size = len(knowledge.points)
        r = knowledge.n_candidates
        found = centre_accuracies(answers, oracle.n, knowledge) / knowledge.mass
    if oracle.error:
        # Shrunk by the share of the variance that is not the guard's.
        spread = (r - 1) / r**2 / size
        noise = (oracle.error * oracle.n / size) ** 2
        found = 1 / r + spread / (spread + noise) * (found - 1 / r)
    if oracle.error or found is not answers:
        # Half a point away from 0 and 1: uncertain answers must not exclude a label.
        found = np.clip(found, 0.5 / (size + 1), 1 - 0.5 / (size + 1))
    return found


def centre_accuracies(answers: Floats, n: int, knowledge: Knowledge) -> Floats:
    """Return accuracies on the attacked points alone, a' = r/R + (n/n') (a - mean of a).

    r is the mean prior mass of the R candidates and n' the number of attacked points. The base
    model's score on the other points is a constant, which the mean contains as well, so it need not
    be known.
    """
    expected = knowledge.mass / knowledge.n_candidates
    centre = float(answers.mean()) if len(answers) else 0.0
    found: Floats = expected + n / len(knowledge.points) * (answers - centre)
    return found


def log_odds(found: Floats, m: int) -> Floats:
    """Return log(a (m - 1) / (1 - a)); minus infinity for 0, infinity for 1."""
    with np.errstate(divide="ignore"):
        odds: Floats = np.log(found * (m - 1)) - np.log1p(-found)
    return odds


def aggregate_labels(
    queries: RandomQueries,
    weights: Floats,
    knowledge: Knowledge | None,
    rng: np.random.Generator,
    threads: int,
) -> Ints:
    """Return the labels, (n,), with the largest sum of weights (plus the log prior).

    Parameters
    ----------
    queries : RandomQueries
        Queries over the attacked points and the numbers of their candidates.
    weights : numpy.ndarray of shape (k,)
        Weight that each query adds to the label it gives.
    knowledge : Knowledge or None
        Prior knowledge; None for a uniform prior over all labels.
    rng : numpy.random.Generator
        Breaks ties, uniformly.
    threads : int
        Number of threads, at least 1.
    """
    # Ties get a generator per tile of points, so that the answer does not depend on threads.
    key = int(rng.integers(2**64, dtype=np.uint64))
    codes = np.empty(queries.n, np.int64)

    def fill(brush: Brush, start: int, stop: int) -> None:
        labels = brush.points(start, stop)
        sums_of = LabelSums(weights, queries.m)
        ties = np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, start]))
        for row in range(0, len(labels), ROWS):
            here = slice(start + row, start + min(row + ROWS, len(labels)))
            sums = sums_of(labels[row : row + ROWS])
            if knowledge is not None:
                sums += knowledge.log_prior[here]
            codes[here] = argmax_random_ties(sums, ties)

    for_each_tile(queries, fill, threads)
    return codes if knowledge is None else knowledge.labels(codes).astype(np.int64)


def argmax_random_ties(sums: Floats, rng: np.random.Generator) -> Ints:
    """Return the column of the largest value in each row; ties are broken uniformly."""
    best: Ints = sums.argmax(axis=1)
    tied = sums == np.take_along_axis(sums, best[:, None], axis=1)
    if np.count_nonzero(tied) == len(best):
        return best
    rows = np.flatnonzero(np.count_nonzero(tied, axis=1) > 1)
    # Random numbers at the tied columns only: the largest is a uniform choice among them.
    best[rows] = (rng.random((len(rows), sums.shape[1])) * tied[rows]).argmax(axis=1)
    return best


# Sums of this many points stay in a core's cache while all queries are added.
ROWS = 64


class LabelSums:
    """Sums of the weights of queries by the label they give, in buffers of its own."""

    def __init__(self, weights: Floats, m: int) -> None:
        k = len(weights)
        self._added = np.tile(weights, ROWS)
        self._labels = np.empty((ROWS, k), np.int32)
        self._sums = np.empty((ROWS, m))

    def __call__(self, labels: Codes) -> Floats:
        """Return the sums, (p, m), for labels (p, k), with p at most `ROWS`.

        They are valid until the next call.
        """
        p = len(labels)
        np.copyto(self._labels[:p], labels)
        return _added_up(self._labels[:p], self._added[: self._labels[:p].size], self._sums[:p])


def label_sums(labels: Codes, weights: Floats, m: int) -> Floats:
    """Return, per row of `labels` (p, k), the sums of `weights` (p, k) by label, (p, m)."""
    return _added_up(labels.astype(np.int32), weights.reshape(-1), np.empty((len(labels), m)))


def _added_up(labels: NDArray[np.int32], weights: Floats, out: Floats) -> Floats:
    from scipy.sparse import csr_array

    # A sparse matrix sums repeated entries when made dense, several times faster than numpy's own
    # scatter-additions.
    k = labels.shape[1]
    places = k * np.arange(len(labels) + 1, dtype=np.int32)
    entries = (weights, labels.reshape(-1), places)
    sums: Floats = csr_array(entries, shape=out.shape).toarray(out=out)
    return sums


# Labels drawn at a time.
_BATCH = 1_000_000


def simulate_point(
    n: int, m: int, k: int, points: int, rng: np.random.Generator, *, level: float = 0.95
) -> Estimate:
    """Return the expected bias above 1/m of NB, from independent simulations of one point.

    Parameters
    ----------
    n, m, k : int
        Numbers of points of the test set, of classes and of queries.
    points : int
        Number of simulations, each with its own accuracies; at least 1.
    rng : numpy.random.Generator
    level : float, default 0.95
        Level of the Clopper-Pearson interval.

    Sources
    -------
    Feldman, Frostig and Hardt (2019), Lemma 4.1.
    """
    if min(n, k, points) < 1 or m < 2:
        raise InputError(f"n, k and points must be at least 1 and m 2, got {n}, {k}, {points}, {m}")
    batch = max(1, _BATCH // max(k, m))
    wins = 0
    for start in range(0, points, batch):
        size = (min(batch, points - start), k)
        # The true label is 0: labels are exchangeable.
        accuracies = rng.binomial(n, 1 / m, size) / n
        right = rng.random(size) < accuracies
        labels = np.where(right, 0, rng.integers(1, m, size))
        sums = label_sums(labels, log_odds(accuracies, m), m)
        wins += int(np.count_nonzero(argmax_random_ties(sums, rng) == 0))
    found = share(wins, points, level)
    return replace(
        found,
        value=found.value - 1 / m,
        low=found.low - 1 / m,
        high=found.high - 1 / m,
        method=f"exact simulation of one point, {found.method}",
    )


_GROUPS = 15
"""Number of groups of numeric hidden values; odd, so that the median is one of them."""
_MADE_UP = 400
"""Number of made-up submissions from which the slope of a clipped metric is learnt."""
_AT_ONCE = 2**23
"""Values submitted at a time."""


@dataclass(frozen=True, eq=False)
class LinearBayes:
    """The attack NB for any metric, for an attacker who knows the frequency of every hidden value.

    Each part of a submission is drawn uniformly from the metric's `moves`, so a score is a sum over
    the examples of effects g(y, x), with y the hidden value and x the move. The other examples'
    parts are noise with variance s^2, approximately normal, so k answers a_j multiply the odds of y
    by

        exp(sum over j of (a_j - mean) g(y, x_j)/s^2 - k/(2 s^2) mean over x of g(y, x)^2),

    with g centred over the moves. The answer is the submission that scores best if each example's
    hidden value has that posterior. It needs no access to the points and spends all of the oracle's
    budget. Memory: a few arrays of n times the number of hidden values or moves.

    Notes
    -----
    For a mean over the examples it is the attack on accuracies, `NaiveBayes`, with odds to first
    order. A guard's error adds to s^2. With a majority's weights, the sign of a_j minus its median,
    it would be the attack of the source, at 2/pi of the information per submission. If the metric
    is clipped at 0, g is multiplied by the slope of scores on their unclipped sums, and s^2 is the
    variance of scores, both learnt from made-up submissions.

    Sources
    -------
    Blum and Hardt, "The Ladder: a reliable leaderboard for machine learning competitions" (2015),
    Section 4; Feldman, Frostig and Hardt (2019), Algorithm 1.
    """

    metric: Metric
    """Metric of submissions."""
    values: Values
    """(v,) Hidden values that are distinguished: all classes, or ascending numbers."""
    counts: Ints
    """(v,) Number of examples with each value."""

    name: ClassVar[str] = "nb"
    needs_points: ClassVar[bool] = False

    @classmethod
    def told(cls, holdout: Holdout) -> LinearBayes:
        """Return the attack of someone who knows only the frequency of every value in `holdout`.

        Numbers are known in fifteen groups of equal size, by their means.
        """
        if holdout.n_classes:
            counts = np.bincount(holdout.labels, minlength=holdout.n_classes)
            return cls(holdout.metric, np.arange(holdout.n_classes), counts)
        values, counts = np.unique(holdout.labels, return_counts=True)
        if len(values) > _GROUPS:
            groups = np.array_split(np.sort(holdout.labels), _GROUPS)
            values = np.array([group.mean() for group in groups])
            counts = np.array([len(group) for group in groups])
        return cls(holdout.metric, values, counts)

    def unaided(self) -> Values:
        """Return the best submission without any query, which is expected to score `chance`."""
        n = int(self.counts.sum())
        return self._best(np.zeros((n, len(self._effects[0]))), 0, 0.0)

    def answer(self, oracle: Oracle, rng: np.random.Generator) -> Values:
        """Return predictions in the metric's form, (n,) or (n, columns), after the whole budget."""
        moves = self.metric.moves(self.values, self.counts)
        queries = RandomQueries.drawn(oracle.n, len(moves), budget_of(oracle), rng)
        answers = np.empty(queries.k)
        block = max(1, _AT_ONCE // (oracle.n * moves[0].size))
        for start, codes in queries.blocks(block):
            answers[start : start + block] = oracle.submit_all(moves[codes.T])
        # Per point, the sums by move of the answers minus their mean, (n, c).
        sums = np.zeros((queries.n, queries.m))
        if queries.k:
            sums_of = LabelSums(answers - answers.mean(), queries.m)

            def fill(brush: Brush, start: int, stop: int) -> None:
                codes = brush.points(start, stop)
                for row in range(0, len(codes), ROWS):
                    part = sums_of(codes[row : row + ROWS])
                    sums[start + row : start + row + len(part)] = part

            for_each_tile(queries, fill, 1)
        return self._best(sums, queries.k, oracle.error)

    def expected(self, truth: Values, k: int, error: float, rng: np.random.Generator) -> float:
        """Return the expected final score after k answers with such an `error`.

        It is one draw: instead of querying, the sums of answers by move are drawn from their
        approximately normal distribution.
        """
        midpoints = np.asarray((self.values[1:] + self.values[:-1]) / 2, np.float64)
        # Each example belongs to the nearest of the values.
        of = np.searchsorted(midpoints, truth)
        effects = self._response[0] * self._effects
        spread = self._response[1] + error**2
        noise = rng.normal(size=(len(truth), effects.shape[1]))
        noise -= noise.mean(axis=1, keepdims=True)
        # Each move occurs in k / c of the queries.
        share = k / effects.shape[1]
        sums = share * effects[of] + np.sqrt(share * spread) * noise
        return self.metric.score(self._best(sums, k, error), truth)

    def _best(self, sums: Floats, k: int, error: float) -> Values:
        """Return the best answer, given the sums (n, c) of the centred answers by move."""
        effects = self._response[0] * self._effects
        sizes = (effects**2).mean(axis=1)
        with np.errstate(divide="ignore"):  # a class without examples
            log_prior = np.log(self.counts / self.counts.sum())
        # Without any effect nothing can be learnt: the divisor is then arbitrary.
        gained = (sums @ effects.T - k / 2 * sizes) / (self._response[1] + error**2 or 1.0)
        return self.metric.best(softmax(gained + log_prior, axis=1), self.values)

    @cached_property
    def _effects(self) -> Floats:
        effects = self.metric.effects(self.values, self.counts)
        return np.asarray(effects - effects.mean(axis=1, keepdims=True))

    @cached_property
    def _response(self) -> tuple[float, float]:
        """Return the slope of a random submission's score on its sum of effects, and its variance.

        1 and the variance of the sum, unless the metric is clipped at 0: then both are those of
        submissions to test sets with the same frequencies.
        """
        effects = self._effects
        if not self.metric.clipped:
            return 1.0, float(self.counts @ (effects**2).mean(axis=1))
        rng = np.random.default_rng(0)
        hidden = np.repeat(np.arange(len(self.values)), self.counts)
        moves = self.metric.moves(self.values, self.counts)
        sums = np.empty(_MADE_UP)
        scores = np.empty(_MADE_UP)
        for place in range(_MADE_UP):
            codes = rng.integers(0, len(moves), len(hidden))
            sums[place] = effects[hidden, codes].sum()
            scores[place] = self.metric.score(moves[codes], self.values[hidden])
        # Answers are multiples of 1/n.
        scores = np.rint(scores * len(hidden)) / len(hidden)
        varies = sums.var()
        slope = np.mean((sums - sums.mean()) * scores) / varies if varies > 0 else 0.0
        return float(slope), float(scores.var())


@dataclass(frozen=True)
class Majority(Informed):
    """Each random query counts for its labels if it beats a guess, and against them if not.

    Needs no access to the points. It spends all of the oracle's budget. Ties are broken uniformly
    at random; a query with exactly the accuracy of a guess does not count.

    Sources
    -------
    Feldman, Frostig and Hardt (2019), Section 5 and Figure 5, for two classes; for more classes the
    weights are the same.
    """

    block: int = 256
    """Queries generated at a time, at least 1; affects memory and time, not the answer."""
    threads: int = 1
    """Number of threads, at least 1; affects time, not the answer."""

    name: ClassVar[str] = "majority"
    least: ClassVar[float] = -1.0
    """Weight of a query that is worse than a guess."""
    knowledge = None

    needs_points = False

    def answer(self, oracle: Oracle, rng: np.random.Generator) -> Ints:
        """Return labels, (n,), after spending the whole budget."""
        queries = random_queries(oracle, None, rng)
        answers = ask(oracle, queries, knowledge=None, block=self.block, threads=self.threads)
        # In whole points, so that 1/m, which is rarely an exact float, is compared exactly.
        votes = np.sign(np.round(answers * oracle.n * oracle.n_classes) - oracle.n)
        weights = np.maximum(votes, self.least)
        return aggregate_labels(queries, weights, knowledge=None, rng=rng, threads=self.threads)


@dataclass(frozen=True)
class BlumHardt(Majority):
    """The original majority attack: queries worse than a guess are dropped.

    Sources
    -------
    Blum and Hardt, "The Ladder: a reliable leaderboard for machine learning competitions"
    (2015), Section 4 ("boosting attack").
    """

    name: ClassVar[str] = "blum-hardt"
    least: ClassVar[float] = 0.0
