"""A joint decoder of random queries by a linear program, for small test sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from privacygauge.core.checks import Floats
from privacygauge.errors import InputError
from privacygauge.holdout.decoding import (
    AnsweredQueries,
    DecodedLabels,
    Decoder,
    ask_random_queries,
    fallen_back,
)
from privacygauge.holdout.naive_bayes import argmax_random_ties, check_sizes
from privacygauge.holdout.oracle import Oracle
from privacygauge.holdout.priors import Informed, Knowledge
from privacygauge.holdout.queries import RandomQueries

_MOST = 4_000_000
# Share of a label within the rounding errors of the solver.
_WHOLE = 1e-6
# Log priors below this all mean never.
_RAREST = -50.0


@dataclass(frozen=True)
class LinearProgramming(Informed, Decoder):
    """The cheapest labels among fractional labels that explain the random queries' answers.

    Each point's labels get shares x_i(l) >= 0 that add up to 1 ("none of the candidates" is a
    label of its own where some are left out). Exact answers must be met; of others the absolute
    residuals cost sqrt(2) over the guard's standard deviation each, as for Laplace noise. Shares
    cost -log pi_i(l). Where exact answers leave one solution only, which is from about the same
    k/n as for `MessagePassing`, it is whole and right. Shares are rounded to the largest.

    It spends all of the oracle's budget. The program is dense: k p r entries, at most 4 million
    (n = 1,000, m = 2, k = 2,000). Beyond that, and where the solver gives up, the answer is NB's,
    and `DecodedLabels` says so.

    Sources
    -------
    Dinur and Nissim, "Revealing information while preserving privacy" (2003), for labels from
    counts by a linear program; Candes and Tao, "Decoding by linear programming" (2005), for the
    absolute residuals.
    """

    knowledge: Knowledge | None = None
    """Predictions of a base model; a uniform prior over all labels by default."""
    seconds: float = 60.0
    """Time limit of the solver in seconds, above 0."""
    block: int = 256
    """Queries made at a time, at least 1, as in `NaiveBayes`."""

    name: ClassVar[str] = "linear-programming"

    def __post_init__(self) -> None:
        check_sizes(self.block, 1)
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
    data : Asked
        Queries and answers.
    rng : numpy.random.Generator
        For ties.
    seconds : float, default 60.0
        The longest that the solver may take.
    """
    size = data.queries.n * data.queries.m * data.queries.k
    if not 0 < size <= _MOST:
        note = f"a linear program takes 1 to {_MOST:,} entries, k p r, this would have {size:,}"
        return fallen_back(data.naive_bayes(rng), note)
    found = _solve(data, seconds)
    if found.x is None:
        return fallen_back(data.naive_bayes(rng), f"no solution: {_line(found.message)}")
    p, width = data.log_prior.shape
    shares = found.x[: p * width].reshape(p, width)
    if data.shifted:
        # Equal shares of all candidates only add to the constant: no candidate is favoured.
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


def _solve(data: AnsweredQueries, seconds: float) -> Any:
    """Return scipy's solution: shares (p, r + 1), the constant, residuals above and below."""
    from scipy.optimize import linprog
    from scipy.sparse import block_array, csr_array, eye_array, kron

    p, width = data.log_prior.shape
    k = data.queries.k
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
    return linprog(
        cost,
        A_eq=rows,
        b_eq=np.concatenate([data.counts, np.ones(p)]),
        bounds=limits,
        method="highs",
        options={"time_limit": seconds},
    )


def answer_shares(queries: RandomQueries) -> Floats:
    """Return which share each answer counts: (k, p (r + 1)), 1 where the query gives the label."""
    labels = queries.points(0, queries.n).T
    is_given = labels[:, :, None] == np.arange(queries.m + 1)
    shares: Floats = is_given.reshape(queries.k, -1).astype(np.float64)
    return shares


def _line(message: str) -> str:
    return " ".join(str(message).split()).rstrip(".")
