"""Joint decoders of random queries: by message passing, and by a linear program."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

import numpy as np
from scipy.special import softmax

from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.leaderboards.naive_bayes import (
    ROWS,
    LabelSums,
    aggregate_labels,
    argmax_random_ties,
    ask,
    log_odds,
    query_probabilities,
    random_queries,
)
from privacygauge.leaderboards.oracle import Oracle
from privacygauge.leaderboards.priors import Informed, Knowledge
from privacygauge.leaderboards.queries import Brush, Codes, RandomQueries, for_each_tile


@dataclass(frozen=True, eq=False)
class DecodedLabels:
    """Decoded labels, and how they were found."""

    labels: Ints
    """(n,) Final answer."""
    method: str
    """Attack that found the labels; not the requested one if that failed."""
    converged: bool
    """True if the decoder converged; for an exact method, if it found a solution."""
    iterations: int
    """Number of iterations, rounds or solutions."""
    explained: bool
    """True if the labels found, including "none of the candidates", reproduce every answer exactly,
    up to the constant from outside the attack. Never if answers are not exact."""
    note: str = ""
    """Reason for another method, or the limit of the answer; empty if neither applies."""


def fallen_back(found: DecodedLabels, note: str) -> DecodedLabels:
    """Return `found` with the reason why another method than the requested one was used."""
    return replace(found, note="; ".join(part for part in (note, found.note) if part))


class Decoder(Protocol):
    """Attack that reports how it found its labels."""

    def decode(self, oracle: Oracle, rng: np.random.Generator) -> DecodedLabels:
        """Decode the labels, using the oracle's budget as needed; return them and the method."""

    def answer(self, oracle: Oracle, rng: np.random.Generator) -> Ints:
        """Return labels, (n,), using the oracle's budget as needed."""
        return self.decode(oracle, rng).labels


@dataclass(frozen=True, eq=False)
class AnsweredQueries:
    """Random queries and their answers: the whole input of a joint decoder."""

    queries: RandomQueries
    """Queries over the attacked points and the numbers of their candidates."""
    answers: Floats
    """(k,) The oracle's answers."""
    chances: Floats = field(repr=False)
    """(k,) Probability that a query is right at an attacked point, as in `NaiveBayes`."""
    knowledge: Knowledge | None
    """Prior knowledge; None for a uniform prior over all labels."""
    n: int
    """Number of points of the test set."""
    error: float
    """Standard deviation of an answer times n, in points; 0 if answers are exact."""
    threads: int = 1
    """Number of threads, at least 1."""
    shifted: bool = field(init=False)
    """True if answers hold an unknown constant from points that are not attacked."""
    counts: Floats = field(init=False, repr=False)
    """(k,) Answers in points; whole numbers if answers are exact."""
    log_prior: Floats = field(init=False, repr=False)
    """(p, r + 1) Log prior of each candidate, and of none of them; -inf where impossible."""

    def __post_init__(self) -> None:
        p = self.queries.n
        r = self.queries.m
        known = self.knowledge
        counts = self.answers * self.n
        if known is None:
            prior = np.broadcast_to(np.append(np.full(r, -np.log(r)), -np.inf), (p, r + 1))
        else:
            prior = np.full((p, r + 1), -np.inf)
            prior[:, :r] = known.log_prior
            if known.n_candidates < known.n_classes:
                # Rounding may take the missing mass slightly below 0.
                missing = 1.0 - np.exp(prior[:, :r]).sum(axis=1)
                with np.errstate(divide="ignore"):
                    prior[:, r] = np.log(np.maximum(missing, 0.0))
        object.__setattr__(self, "shifted", known is not None and not known.whole)
        object.__setattr__(self, "counts", counts if self.error else np.round(counts))
        object.__setattr__(self, "log_prior", prior)

    def naive_bayes(self, rng: np.random.Generator) -> DecodedLabels:
        """Decode the same answers by `NaiveBayes`."""
        weights = log_odds(self.chances, self.queries.m)
        labels = aggregate_labels(
            self.queries, weights, knowledge=self.knowledge, rng=rng, threads=self.threads
        )
        return DecodedLabels(labels, "nb", converged=True, iterations=1, explained=False)

    def labels(self, codes: Ints) -> Ints:
        """Return the candidates with numbers `codes`, (p,), as labels of all points, (n,)."""
        return codes if self.knowledge is None else self.knowledge.labels(codes).astype(np.int64)

    def explained(self, codes: Ints) -> bool:
        """Return whether `codes`, (p,), with r for none of the candidates, give every answer."""
        if self.error or self.queries.k == 0:
            return False
        # One-hot without the last column: "none of the candidates" is never right.
        chosen = np.eye(self.queries.m + 1)[codes][:, :-1]
        left = self.counts - query_sums(self.queries, chosen, self.threads)
        middle = left[0] if self.shifted else 0.0
        # Counts are whole: a wrong label is off by 1, and a quarter is beyond rounding.
        return bool(np.abs(left - middle).max() < 0.25)


def ask_random_queries(
    oracle: Oracle,
    knowledge: Knowledge | None,
    rng: np.random.Generator,
    *,
    block: int = 256,
    threads: int = 1,
) -> AnsweredQueries:
    """Return uniform random queries with their answers, using all of the oracle's budget."""
    queries = random_queries(oracle, knowledge, rng)
    answers = ask(oracle, queries, knowledge=knowledge, block=block, threads=threads)
    chances = query_probabilities(answers, oracle, knowledge)
    return AnsweredQueries(
        queries=queries,
        answers=answers,
        chances=chances,
        knowledge=knowledge,
        n=oracle.n,
        error=oracle.error * oracle.n,
        threads=threads,
    )


def query_sums(queries: RandomQueries, weights: Floats, threads: int) -> Floats:
    """Return, per query, the sum over points of the weight (p, r) of the label it gives."""
    height = queries.tile[0] or 1
    parts = np.zeros((-(-queries.n // height), queries.k))

    def fill(brush: Brush, start: int, stop: int) -> None:
        parts[start // height] = gather_weights(brush.points(start, stop), weights[start:stop])

    for_each_tile(queries, fill, threads)
    total: Floats = parts.sum(axis=0)
    return total


def gather_weights(labels: Codes, weights: Floats) -> Floats:
    """Return the sum over rows of ``weights[i, labels[i, j]]``, (k,), for labels (b, k)."""
    if weights.shape[1] == 2:
        # A product with a 0/1 matrix is faster than a look-up.
        ones = labels.T.astype(np.float32) @ (weights[:, 1] - weights[:, 0]).astype(np.float32)
        counted: Floats = np.asarray(ones, np.float64) + weights[:, 0].sum()
        return counted
    total = np.zeros(labels.shape[1])
    for row, weight in zip(labels, weights, strict=True):
        total += weight.take(row)
    return total


# Squared points: far below the effect of one wrong label on an answer.
_LEAST = 1e-6
# Mean squared change of a posterior below which the iteration has converged.
_STILL = 1e-9
# Damping of a second attempt.
_DAMPED = 0.2
# Multiple of the fit's own error by which a better fit must lead.
_CERTAIN = 1.0


@dataclass(frozen=True)
class MessagePassing(Informed, Decoder):
    """Approximate message passing over the answers to random queries; its first step is NB.

    Needs the same queries as NB and no more access to the oracle, but must know which labels all
    points got. It finds all labels from exact answers from about k/n = 0.55 (m = 2), 1.35 (m = 5)
    and 1.95 (m = 10); below that it is at least as good as NB. It spends all of the oracle's
    budget. Cost: an iteration costs about as much as NB. Queries are drawn again, not stored;
    memory is that of NB, 32 bytes per attacked point and candidate, and 8 k bytes per 2,048 points.


    Notes
    -----
    With x_i the (posterior mean of the) indicator of point i's label among r candidates, zero for
    none of them, a query's count is the sum over points of x_i(Q_ij). Every iteration holds the
    unexplained part z, (k,), of the counts and its mean square t, and computes

        u_i = (r/k) sum_j (e(Q_ij) - 1/r) z_j + (x_i - mean of x_i),
        P(l at i) ~ pi_i(l) exp((u_i(l) - (1 - 1/r)/2) / (r t / k)),   P(none) ~ pi_i(none),
        z <- counts - sum_i x_i(Q_ij) + (V/t) z,    V = sum_i trace of C Cov_i / r,

    with C the centring matrix: counts are treated as normal. The last term is Onsager's. A constant
    from points that are not attacked is the mean of what is left, estimated again in each
    iteration. A guard's noise is a lower limit of t.

    The answer comes from the iteration with the best fit: the larger of t and of V plus the guard's
    variance, the former measured on the answers and the latter predicted by the posteriors. If that
    is not clearly better than the first iteration's, the answer is NB's, and `DecodedLabels` says
    so.

    Sources
    -------
    Donoho, Maleki and Montanari, "Message-passing algorithms for compressed sensing" (2009);
    Rangan, "Generalized approximate message passing" (2011). Feldman, Frostig and Hardt (2019),
    Section 1.1, leave an efficient attack of this kind open.
    """

    knowledge: Knowledge | None = None
    """Predictions of a base model; by default a uniform prior over all labels."""
    iterations: int = 60
    """Largest number of iterations, at least 1."""
    damping: float = 0.0
    """Share of the last posterior means to keep, in [0, 1): steadier, slower, weaker. If exact
    answers do not converge without damping, they are decoded again with a little.
    """
    block: int = 256
    """Queries generated at a time, at least 1, as in `NaiveBayes`."""
    threads: int = 1
    """Number of threads, at least 1; affects time, not the answer."""

    name: ClassVar[str] = "message-passing"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.iterations < 1:
            raise InputError(f"iterations must be at least 1, got {self.iterations}")
        if not 0.0 <= self.damping < 1.0:
            raise InputError(f"damping must be in [0, 1), got {self.damping}")

    needs_points = True

    def decode(self, oracle: Oracle, rng: np.random.Generator) -> DecodedLabels:
        """Decode the labels, using the whole budget; return them and the method."""
        data = ask_random_queries(
            oracle, self.knowledge, rng, block=self.block, threads=self.threads
        )
        return decode_by_messages(data, rng, iterations=self.iterations, damping=self.damping)


def decode_by_messages(
    data: AnsweredQueries, rng: np.random.Generator, *, iterations: int = 60, damping: float = 0.0
) -> DecodedLabels:
    """Decode random queries by message passing, or by NB if that fits better.

    Parameters
    ----------
    data : AnsweredQueries
        Queries and answers.
    rng : numpy.random.Generator
        Breaks ties.
    iterations, damping
        As in `MessagePassing`.
    """
    if data.queries.k == 0:
        return replace(data.naive_bayes(rng), note="there was no query to decode")
    found = _decode(data, rng, iterations, damping)
    if data.error or found.explained or found.converged:
        return found
    # In small sets close to the threshold, iterations that overshoot may converge with damping.
    again = _decode(data, rng, iterations, max(damping, _DAMPED))
    return again if again.explained else found


@dataclass(frozen=True, eq=False)
class _Step:
    """One iteration: beliefs about the points, and the residual they were computed from."""

    number: int
    posterior: Floats  # (p, r + 1), the last column for none of the candidates
    spread: float  # V: the variance of a count given the posteriors
    fit: float  # of the residual that led to it; smaller is better
    still: bool = False


def _decode(
    data: AnsweredQueries, rng: np.random.Generator, iterations: int, damping: float
) -> DecodedLabels:
    floor = max(_LEAST, data.error**2)
    posterior = softmax(data.log_prior, axis=1)
    step = first = best = _Step(0, posterior, _spread(posterior), math.inf)
    left = _centred_residuals(data, query_sums(data.queries, posterior[:, :-1], data.threads))
    for number in range(1, iterations + 1):
        mean_square = max(float(np.mean(left**2)), floor)
        fit = max(mean_square, step.spread + data.error**2)
        posterior, predicted = _pass(
            data, step.posterior, left=left, mean_square=mean_square, damping=damping
        )
        moved = float(np.mean((posterior - step.posterior) ** 2))
        step = _Step(
            number=number,
            posterior=posterior,
            spread=_spread(posterior),
            fit=fit,
            still=moved < _STILL,
        )
        if not math.isfinite(fit):
            # Diverged: the best step so far is the result.
            break
        if number == 1:
            first = best = step
        if fit < best.fit:
            best = step
        if step.still:
            break
        # Onsager's term removes the evidence that the points themselves sent to these answers.
        onsager = (1.0 - damping) * step.spread / mean_square
        left = _centred_residuals(data, predicted) + onsager * left
    # A mean of k squares has a relative error of about 1/sqrt(k): a smaller gain is noise.
    if best.fit > first.fit * (1.0 - _CERTAIN / math.sqrt(data.queries.k)):
        note = "message passing fitted no better than its first step, which is naive Bayes"
        return replace(data.naive_bayes(rng), converged=step.still, note=note)
    codes = argmax_random_ties(best.posterior[:, :-1], rng)
    return DecodedLabels(
        data.labels(codes),
        MessagePassing.name,
        converged=step.still,
        iterations=step.number,
        explained=data.explained(best.posterior.argmax(axis=1)),
        note="" if step.still else f"it had not come to rest after {step.number} iterations",
    )


def _centred_residuals(data: AnsweredQueries, predicted: Floats) -> Floats:
    """Return the counts minus `predicted`, without the unknown constant."""
    left: Floats = data.counts - predicted
    return left - left.mean() if data.shifted else left


def _spread(posterior: Floats) -> float:
    """Return V, the variance of a random query's count if labels follow the posteriors."""
    inside = posterior[:, :-1]
    r = inside.shape[1]
    # Trace of the centred covariance of an indicator with means `inside`.
    total = inside.sum(axis=1)
    traces = total - (inside**2).sum(axis=1) - (total - total**2) / r
    return max(float(traces.sum() / r), 0.0)


def _pass(
    data: AnsweredQueries, posterior: Floats, left: Floats, mean_square: float, damping: float
) -> tuple[Floats, Floats]:
    """Return the next posteriors, (p, r + 1), and the counts that they predict, (k,)."""
    queries = data.queries
    height = data.queries.tile[0]
    made = np.empty_like(posterior)
    parts = np.zeros((-(-queries.n // height), queries.k))

    def fill(brush: Brush, start: int, stop: int) -> None:
        here = slice(start, stop)
        labels = brush.points(start, stop)
        # Per point, the sums of what is left by the label that a query gives, (b, m).
        if queries.m == 2:
            # A product with a 0/1 matrix is faster than sums by label.
            ones = np.asarray(labels.astype(np.float32) @ left.astype(np.float32), np.float64)
            sums = np.stack([left.sum() - ones, ones], axis=1)
        else:
            sums_of = LabelSums(left, queries.m)
            sums = np.empty((len(labels), queries.m))
            for i in range(0, len(labels), ROWS):
                sums[i : i + ROWS] = sums_of(labels[i : i + ROWS])
        seen = queries.m / queries.k * sums + posterior[here, :-1]
        seen -= seen.mean(axis=1, keepdims=True)
        # Probabilities from indicators observed with normal noise.
        logs = data.log_prior[here].copy()
        variance = queries.m * mean_square / queries.k
        logs[:, :-1] += (seen - 0.5 * (1.0 - 1.0 / seen.shape[1])) / variance
        made[here] = (1.0 - damping) * softmax(logs, axis=1) + damping * posterior[here]
        parts[start // height] = gather_weights(labels, made[here, :-1])

    for_each_tile(queries, fill, data.threads)
    return made, parts.sum(axis=0)


_MOST = 4_000_000
# Distance from 1 of a whole label, within the solver's rounding errors.
_WHOLE = 1e-6
# Log priors below this are treated alike, as never.
_RAREST = -50.0


@dataclass(frozen=True)
class LinearProgramming(Informed, Decoder):
    """The cheapest labels among the fractional labels that explain the random queries' answers.

    Each point's labels get shares x_i(l) >= 0 with sum 1 ("none of the candidates" is a label of
    its own if some are left out). Exact answers must be met; for others, each absolute residual
    costs sqrt(2) over the guard's standard deviation, as for Laplace noise. Shares cost -log
    pi_i(l). If exact answers leave only one solution, which is so from about the same k/n as for
    `MessagePassing`, it is whole and right. Shares are rounded to the largest.

    It spends all of the oracle's budget. The program is dense: k p r entries, at most 4 million (n
    = 1,000, m = 2, k = 2,000). Beyond that, and if the solver gives up, the answer is NB's, and
    `DecodedLabels` says so.

    Sources
    -------
    Dinur and Nissim, "Revealing information while preserving privacy" (2003), for labels from
    counts by a linear program; Candes and Tao, "Decoding by linear programming" (2005), for the
    absolute residuals.
    """

    knowledge: Knowledge | None = None
    """Predictions of a base model; by default a uniform prior over all labels."""
    seconds: float = 60.0
    """Time limit of the solver in seconds, above 0."""
    block: int = 256
    """Queries generated at a time, at least 1, as in `NaiveBayes`."""

    name: ClassVar[str] = "linear-programming"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 < self.seconds < math.inf:
            raise InputError(f"seconds must be above 0, got {self.seconds}")

    needs_points = True

    def decode(self, oracle: Oracle, rng: np.random.Generator) -> DecodedLabels:
        """Decode the labels, using the whole budget; return them and the method."""
        return decode_by_program(
            ask_random_queries(oracle, self.knowledge, rng, block=self.block), rng, self.seconds
        )


def decode_by_program(
    data: AnsweredQueries, rng: np.random.Generator, seconds: float = 60.0
) -> DecodedLabels:
    """Decode random queries by a linear program, or by NB if it cannot be solved.

    Parameters
    ----------
    data : AnsweredQueries
        Queries and answers.
    rng : numpy.random.Generator
        Breaks ties.
    seconds : float, default 60.0
        Time limit of the solver in seconds.
    """
    from scipy.optimize import linprog
    from scipy.sparse import block_array, csr_array, eye_array, kron

    size = data.queries.n * data.queries.m * data.queries.k
    if not 0 < size <= _MOST:
        note = f"a linear program takes 1 to {_MOST:,} entries, k p r, this would have {size:,}"
        return fallen_back(data.naive_bayes(rng), note)
    p, width = data.log_prior.shape
    k = data.queries.k
    # The unknowns: shares (p, r + 1), the constant, residuals above and below. Exact answers have
    # no residuals: these columns are then absent.
    slack = k if data.error else 0
    answers = csr_array(answer_shares(data.queries))
    one_each = kron(eye_array(p), np.ones((1, width)), format="csr")
    constant = csr_array(np.ones((k, 1)))
    off = eye_array(k, slack, format="csr")
    rows = block_array([[answers, constant, off, -off], [one_each, None, None, None]], format="csr")
    prior = data.log_prior.reshape(-1)
    cost = np.concatenate(
        [-np.maximum(prior, _RAREST), [0.0], np.full(2 * slack, math.sqrt(2) / (data.error or 1.0))]
    )
    limits = np.zeros((len(cost), 2))
    limits[:, 1] = np.inf
    limits[: p * width][np.isneginf(prior)] = 0.0
    limits[p * width] = (-np.inf, np.inf) if data.shifted else (0.0, 0.0)
    found = linprog(
        cost,
        A_eq=rows,
        b_eq=np.concatenate([data.counts, np.ones(p)]),
        bounds=limits,
        method="highs",
        options={"time_limit": seconds},
    )
    if found.x is None:
        reason = " ".join(str(found.message).split()).rstrip(".")
        return fallen_back(data.naive_bayes(rng), f"no solution: {reason}")
    shares = found.x[: p * width].reshape(p, width)
    if data.shifted:
        # Equal shares of all candidates only change the constant: no candidate is favoured.
        open_ = np.isfinite(data.log_prior[:, -1])
        shares[open_, :-1] -= shares[open_, :-1].min(axis=1, keepdims=True)
        shares[open_, -1] = 1.0 - shares[open_, :-1].sum(axis=1)
    whole = bool(shares.max(axis=1).min() > 1 - _WHOLE)
    return DecodedLabels(
        data.labels(argmax_random_ties(np.round(shares[:, :-1], 9), rng)),
        LinearProgramming.name,
        converged=found.status == 0,
        iterations=int(found.nit),
        explained=whole and data.explained(shares.argmax(axis=1)),
        note="" if whole else "the answers leave shares of labels, which were rounded",
    )


def answer_shares(queries: RandomQueries) -> Floats:
    """Return the shares that each answer counts, (k, p (r + 1)): 1 for the label given."""
    labels = queries.points(0, queries.n).T
    is_given = labels[:, :, None] == np.arange(queries.m + 1)
    shares: Floats = is_given.reshape(queries.k, -1).astype(np.float64)
    return shares
