"""An analyst's prior knowledge: a model's logits, and the points and labels to attack."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from scipy.stats import chisquare

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.leaderboards.oracle import Holdout


@dataclass(frozen=True, eq=False)
class Knowledge:
    """A base model's labels, the points under attack, their candidate labels and a prior.

    It requires access to the test points: an attack with knowledge is not one of those that need
    none.
    """

    base: Ints
    """(n,) The base model's label of every point, submitted for points not under attack."""
    points: Ints
    """(p,) Points under attack, ascending."""
    candidates: Ints
    """(p, r) Different labels per attacked point, the most likely first."""
    log_prior: Floats
    """(p, r) Log probability of each candidate; a row's probabilities sum to at most 1."""
    n_classes: int
    """Number of classes."""
    n_candidates: int = field(init=False)
    """Number of labels tried per point."""
    mass: float = field(init=False)
    """Mean probability that the label is among the candidates, in (0, 1]."""
    whole: bool = field(init=False)
    """True if every label of every point is attacked, so that accuracies need no centring."""

    def __post_init__(self) -> None:
        for name in ("candidates", "log_prior"):
            shape = np.shape(getattr(self, name))
            if shape != (len(self.points), *shape[1:]) or len(shape) != 2 or shape[1] < 2:
                raise InputError(
                    f"{name} must have the shape (p, r), p the number of attacked points and r "
                    f"at least 2, got {shape}"
                )
        for name in ("base", "points", "candidates", "log_prior"):
            object.__setattr__(self, name, checks.frozen(np.asarray(getattr(self, name))))
        r = int(self.candidates.shape[1])
        every = r == self.n_classes
        mass = 1.0 if every else float(np.exp(self.log_prior).sum(axis=1).mean())
        object.__setattr__(self, "n_candidates", r)
        object.__setattr__(self, "mass", mass)
        object.__setattr__(self, "whole", every and len(self.points) == len(self.base))

    def labels(self, codes: np.ndarray) -> Ints:
        """Return the candidates numbered `codes` as labels of all points.

        Parameters
        ----------
        codes : numpy.ndarray of shape (p,) or (p, b)
            Number of the candidate for each attacked point.

        Returns
        -------
        numpy.ndarray of shape (n,) or (n, b)
            Labels, those of the base model for all other points.
        """
        # The smallest type that holds the labels, for a matrix of all points and columns.
        small = np.min_scalar_type(self.n_classes - 1)
        columns = codes.reshape(len(self.points), -1)
        made = np.empty((len(self.base), columns.shape[1]), small)
        made[:] = self.base[:, None]
        made[self.points] = np.take_along_axis(self.candidates.astype(small), columns, axis=1)
        return made.reshape(len(self.base), *codes.shape[1:])


class Informed:
    """An attack that can use a base model."""

    knowledge: Knowledge | None
    block: int = 256
    """Queries generated at a time, at least 1; affects memory and time, not the answer."""
    threads: int = 1
    """Number of threads, at least 1; affects time, not the answer."""

    def __post_init__(self) -> None:
        for name, value in (("block", self.block), ("threads", self.threads)):
            if value < 1:
                raise InputError(f"{name} must be at least 1, got {value}")

    def unaided(self) -> Ints | None:
        """Return the labels to submit without any query; None for a guess."""
        return None if self.knowledge is None else self.knowledge.base


def from_logits(
    logits: ArrayLike,
    *,
    top: int | None = None,
    least_confident: int | None = None,
    temperature: float = 1.0,
) -> Knowledge:
    """Return the knowledge in a model's logits, with their softmax as the prior.

    Parameters
    ----------
    logits : array_like of shape (n, m)
        Finite score of every class at every point.
    top : int, optional
        Number of the model's most likely labels to attack at each point, in 2..m. Fewer candidates
        need fewer queries, but the answer is right at most as often as they contain the label. By
        default all.
    least_confident : int, optional
        Number of points to attack, in 1..n, those with the lowest largest probability. By default
        all.
    temperature : float, default 1.0
        Divisor of the logits, above 0.

    Sources
    -------
    Feldman, Frostig and Hardt (2019), Section 5: the prior, the least confident points, and the
    top R labels.
    """
    values = np.asarray(logits)
    if values.ndim != 2 or values.shape[1] < 2 or values.dtype.kind not in "biuf":
        raise InputError(f"logits must be numbers of the shape (n, m), m >= 2, got {values.shape}")
    if not np.isfinite(values).all():
        raise InputError("logits must be finite: clip them, or leave such points out")
    if not 0 < temperature < np.inf:
        raise InputError(f"temperature must be above 0, got {temperature}")
    n, m = values.shape
    r = _require_within(m if top is None else top, 2, m, "top")
    p = _require_within(n if least_confident is None else least_confident, 1, n, "least_confident")
    log_prior = log_softmax(values / temperature, axis=1)
    # The least confident points, by their largest probability.
    points = np.sort(np.argsort(log_prior.max(axis=1), kind="stable")[:p])
    # argpartition finds the r largest columns in any order; sorted, so that ties keep the order.
    inside = log_prior[points]
    chosen = np.sort(np.argpartition(-inside, r - 1, axis=1)[:, :r], axis=1)
    falling = np.argsort(-np.take_along_axis(inside, chosen, axis=1), axis=1, kind="stable")
    candidates = np.take_along_axis(chosen, falling, axis=1)
    return Knowledge(
        base=values.argmax(axis=1),
        points=points,
        candidates=candidates,
        log_prior=np.take_along_axis(inside, candidates, axis=1),
        n_classes=m,
    )


def _require_within(value: int, low: int, high: int, name: str) -> int:
    if not low <= value <= high:
        raise InputError(f"{name} must be in {low}..{high}, got {value}")
    return int(value)


Prior = Literal["uniform", "classes"]
"""Prior without a model: uniform, or the class frequencies."""
FREQUENCIES = "how frequent each hidden value is, no model"


@dataclass(frozen=True)
class Having:
    """The attacker's options before it sends a query."""

    logits: ArrayLike | str | Path | None = None
    """Logits of a base model, (n, m), or a file; None without one."""
    top: int | None = None
    """Number of labels tried per example, the most likely ones; None for all."""
    least_confident: int | None = None
    """Number of examples attacked, the least confident ones; None for all."""
    temperature: float = 1.0
    """Divisor of the logits."""
    prior: Prior | None = None
    """Prior without logits; None for the class frequencies if they differ by more than chance."""

    def __post_init__(self) -> None:
        if self.prior not in ("uniform", "classes", None):
            raise InputError(f"prior must be uniform or classes, got {self.prior!r}")
        if self.logits is not None:
            if self.prior == "classes":
                raise InputError(f"prior {self.prior} goes without logits: they say more")
            return
        given = {"top": self.top, "least_confident": self.least_confident}
        asked = [name for name, value in given.items() if value is not None]
        if asked or self.temperature != 1.0:
            told = (*asked, "temperature")[0]
            raise InputError(f"{told} needs logits of a base model: give them")


_EQUAL = 0.001
"""Smallest p-value of equally frequent classes (Pearson's chi-squared) taken for such."""
_TRIED = 12
"""Largest number of choices of how many classes to try."""
_DRAWS = 5_000_000
"""Normal numbers drawn to compare the choices, one for each class of a point."""


def known_before(
    holdout: Holdout, logits: NDArray[Any] | None, having: Having, queries: int
) -> Knowledge | None:
    """Return the attacker's knowledge, from logits already read; None if there is none.

    Only the class frequencies of the labels in `holdout` are used, and only if `having` says so:
    as many of the most frequent classes are tried as promise most after that many queries.
    """
    if logits is not None:
        return from_logits(
            logits,
            top=having.top,
            least_confident=having.least_confident,
            temperature=having.temperature,
        )
    counts = np.bincount(holdout.labels, minlength=holdout.n_classes)
    # Class frequencies are often published, or guessed, and where they differ a guess is worth more
    # than 1/m.
    usual = "classes" if chisquare(counts).pvalue < _EQUAL else "uniform"
    if (having.prior or usual) != "classes":
        return None
    # Half a point more per class, so that a class without points is unlikely but not impossible.
    frequency = counts + 0.5
    share = frequency / frequency.sum()
    every = np.broadcast_to(np.log(share), (len(holdout), holdout.n_classes))
    return from_logits(every, top=classes_worth_trying(share, len(holdout), queries))


def classes_worth_trying(share: Floats, n: int, queries: int) -> int:
    """Return how many of the most frequent classes random queries should try.

    Parameters
    ----------
    share : ndarray of float, shape (m,)
        Share of each class, at least two classes; sums to 1.
    n : int
        Number of points.
    queries : int
        Number of queries.

    Returns
    -------
    int
        Number of classes, in 2..m, with which `NaiveBayes` is right most often.

    Notes
    -----
    With k queries over R classes of joint share M, the sum that `NaiveBayes` gives a class at a
    point is about ``log share + d (if it is the point's) + sqrt(d) Z``, with Z standard normal and
    ``d = k R / ((R - 1) n M)``: the slope of the log odds at 1/R is ``R^2 / (R - 1)``, and a
    query's count has the variance ``n M (R - 1) / R^2``. Fewer classes make each query say more
    about each of them, and nothing about the others. The choices are compared on the same draws.
    """
    ordered = np.sort(share)[::-1]
    m = len(ordered)
    rng = np.random.default_rng(0)
    points = max(200, min(20_000, _DRAWS // m))
    truth = rng.choice(m, points, p=ordered)
    noise = rng.normal(size=(points, m))
    best = m
    most_right = -1.0
    for r in np.unique(np.geomspace(2, m, _TRIED).round().astype(int))[::-1].tolist():
        strength = queries * r / ((r - 1) * n * float(ordered[:r].sum()))
        sums = np.log(ordered[:r]) + np.sqrt(strength) * noise[:, :r]
        inside = np.flatnonzero(truth < r)
        sums[inside, truth[inside]] += strength
        right = float(np.mean(sums.argmax(axis=1) == truth))
        if right > most_right:
            best = r
            most_right = right
    return best
