"""A joint decoder of random queries: knowledge of each point sharpens that of all others.

NB treats every other point as noise. But once a label is half known, its part of every answer is
half known too and can be subtracted, which lowers the noise for the others. Approximate message
passing repeats this, with one correction: evidence that a point received from an answer must not
return to it as new evidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from privacygauge.core.checks import Floats
from privacygauge.errors import InputError
from privacygauge.holdout.decoding import (
    AnsweredQueries,
    DecodedLabels,
    Decoder,
    ask_random_queries,
    gather_weights,
    query_sums,
)
from privacygauge.holdout.naive_bayes import ROWS, LabelSums, argmax_random_ties, check_sizes
from privacygauge.holdout.oracle import Oracle
from privacygauge.holdout.priors import Informed, Knowledge
from privacygauge.holdout.queries import Codes, for_each

# Squared points: far below what one wrong label does to an answer.
_LEAST = 1e-6
# Mean squared change of a posterior below which the iteration has converged.
_STILL = 1e-9
# The damping of a second attempt.
_DAMPED = 0.2
# Multiple of that error by which a fit must be better.
_CERTAIN = 1.0


@dataclass(frozen=True)
class MessagePassing(Informed, Decoder):
    """Approximate message passing over the answers to random queries; its first step is NB.

    Needs the same queries as NB and no more access to the oracle, but must know which labels all
    points got. It finds all labels from exact answers from about k/n = 0.55 (m = 2), 1.35 (m = 5)
    and 1.95 (m = 10); below that it is as good as NB or better. It spends all of the oracle's
    budget. Cost: an iteration costs about as much as NB. Queries are drawn again and not stored;
    memory is that of NB, 32 bytes for each attacked point and candidate, and 8 k bytes for each
    2,048 points.

    Notes
    -----
    With x_i the (posterior mean of the) indicator of point i's label among r candidates, zero for
    none of them, a query's count is a sum over points of x_i(Q_ij). Every iteration holds the
    unexplained part z, (k,), of the counts and its mean square t, and takes

        u_i = (r/k) sum_j (e(Q_ij) - 1/r) z_j + (x_i - mean of x_i),
        P(l at i) ~ pi_i(l) exp((u_i(l) - (1 - 1/r)/2) / (r t / k)),   P(none) ~ pi_i(none),
        z <- counts - sum_i x_i(Q_ij) + (V/t) z,    V = sum_i trace of C Cov_i / r,

    C the centring matrix: counts taken as normal. The last term is Onsager's. A constant from
    points that are not attacked is the mean of what is left, estimated again in each iteration. A
    guard's noise is a floor under t.

    The answer is from the iteration whose fit is best: the larger of t and of V plus the guard's
    variance, the one measured on the answers and the other foretold by the posteriors. Where that
    is not clearly better than the first one's, the answer is NB's, and `DecodedLabels` says so.

    Sources
    -------
    Donoho, Maleki and Montanari, "Message-passing algorithms for compressed sensing" (2009);
    Rangan, "Generalized approximate message passing" (2011). Feldman, Frostig and Hardt (2019),
    Section 1.1, leave an efficient attack of this kind open.
    """

    knowledge: Knowledge | None = None
    """Predictions of a base model; a uniform prior over all labels by default."""
    iterations: int = 60
    """Largest number of iterations, at least 1."""
    damping: float = 0.0
    """Share of the last posterior means that is kept, in [0, 1): steadier, slower, weaker. If exact
    answers do not converge without damping, they are decoded again with a little.
    """
    block: int = 256
    """Queries made at a time, at least 1, as in `NaiveBayes`."""
    threads: int = 1
    """Number of threads, at least 1; affects time, not the answer."""

    name: ClassVar[str] = "message-passing"

    def __post_init__(self) -> None:
        check_sizes(self.block, self.threads)
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
        For ties.
    iterations, damping
        As in `MessagePassing`.
    """
    if data.queries.k == 0:
        return replace(data.naive_bayes(rng), note="there was no query to decode")
    found = _decode(data, rng, iterations, damping)
    if data.error or found.explained or found.converged:
        return found
    # Small sets close to the threshold: iterations that overshoot may converge with damping.
    again = _decode(data, rng, iterations, max(damping, _DAMPED))
    return again if again.explained else found


def _decode(
    data: AnsweredQueries, rng: np.random.Generator, iterations: int, damping: float
) -> DecodedLabels:
    first, best, last = _run(data, iterations, damping)
    # A mean of k squares has a relative error of about 1/sqrt(k): a smaller gain is noise.
    if best.fit > first.fit * (1.0 - _CERTAIN / math.sqrt(data.queries.k)):
        note = "message passing fitted no better than its first step, which is naive Bayes"
        return replace(data.naive_bayes(rng), converged=last.still, note=note)
    codes = argmax_random_ties(best.posterior[:, :-1], rng)
    return DecodedLabels(
        data.labels(codes),
        MessagePassing.name,
        converged=last.still,
        iterations=last.number,
        explained=data.explained(best.posterior.argmax(axis=1)),
        note="" if last.still else f"it had not come to rest after {last.number} iterations",
    )


@dataclass(frozen=True, eq=False)
class _Step:
    """One iteration: beliefs about the points, and the residual they were computed from."""

    number: int
    posterior: Floats  # (p, r + 1), the last column none of the candidates
    spread: float  # V: the variance of a count given the posteriors
    fit: float  # of the residual that led to it: smaller is better
    still: bool = False


def _run(data: AnsweredQueries, iterations: int, damping: float) -> tuple[_Step, _Step, _Step]:
    """Return the first iteration, the one with the best fit, and the last."""
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
            # It diverged: the best step so far stands.
            break
        if number == 1:
            first = best = step
        if fit < best.fit:
            best = step
        if step.still:
            break
        # Onsager's term takes out the evidence that points sent to these answers themselves.
        onsager = (1.0 - damping) * step.spread / mean_square
        left = _centred_residuals(data, predicted) + onsager * left
    return first, best, step


def _centred_residuals(data: AnsweredQueries, predicted: Floats) -> Floats:
    """Return the counts less `predicted`, without the unknown constant."""
    left: Floats = data.counts - predicted
    return left - left.mean() if data.shifted else left


def _spread(posterior: Floats) -> float:
    """Return V, the variance of a random query's count where labels follow the posteriors."""
    inside = posterior[:, :-1]
    r = inside.shape[1]
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

    def worker() -> Callable[[int], None]:
        brush = queries.brush()

        def fill(start: int) -> None:
            here = slice(start, min(start + height, queries.n))
            labels = brush.points(here.start, here.stop)
            seen = queries.m / queries.k * _sums(labels, left, queries.m) + posterior[here, :-1]
            seen -= seen.mean(axis=1, keepdims=True)
            found = _posterior(seen, data.log_prior[here], queries.m * mean_square / queries.k)
            made[here] = (1.0 - damping) * found + damping * posterior[here]
            parts[start // height] = gather_weights(labels, made[here, :-1])

        return fill

    for_each(worker, range(0, queries.n, height), data.threads)
    return made, parts.sum(axis=0)


def _posterior(seen: Floats, log_prior: Floats, variance: float) -> Floats:
    """Return probabilities, (b, r + 1), from indicators observed with normal noise."""
    logs = log_prior.copy()
    logs[:, :-1] += (seen - 0.5 * (1.0 - 1.0 / seen.shape[1])) / variance
    chances: Floats = softmax(logs, axis=1)
    return chances


def _sums(labels: Codes, left: Floats, m: int) -> Floats:
    """Return for each point the sums of `left` by the label a query gives, (b, m)."""
    if m == 2:
        # A product with a matrix of zeros and ones is faster than sums by label.
        ones = np.asarray(labels.astype(np.float32) @ left.astype(np.float32), np.float64)
        return np.stack([left.sum() - ones, ones], axis=1)
    sums = LabelSums(left, m)
    found = np.empty((len(labels), m))
    for i in range(0, len(labels), ROWS):
        found[i : i + ROWS] = sums(labels[i : i + ROWS])
    return found
