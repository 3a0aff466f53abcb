"""An analyst's prior knowledge: a model's logits, and the points and labels to attack."""

from __future__ import annotations

from dataclasses import dataclass
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

    @property
    def n_candidates(self) -> int:
        """Number of labels tried per point."""
        return int(self.candidates.shape[1])

    @property
    def mass(self) -> float:
        """Mean probability that the label is among the candidates, in (0, 1]."""
        if self.n_candidates == self.n_classes:
            return 1.0
        return float(np.exp(self.log_prior).sum(axis=1).mean())

    @property
    def whole(self) -> bool:
        """True if every label of every point is attacked, so that accuracies need no centring."""
        return len(self.points) == len(self.base) and self.n_candidates == self.n_classes

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
    candidates = _largest(log_prior[points], r)
    return Knowledge(
        base=values.argmax(axis=1),
        points=points,
        candidates=candidates,
        log_prior=np.take_along_axis(log_prior[points], candidates, axis=1),
        n_classes=m,
    )


def _largest(values: Floats, r: int) -> Ints:
    """Return the columns of the r largest values in each row, largest first."""
    # argpartition finds the r largest, in any order.
    chosen = np.argpartition(-values, r - 1, axis=1)[:, :r]
    # Sorted first, so that ties keep the order of the columns.
    chosen.sort(axis=1)
    order = np.argsort(-np.take_along_axis(values, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)


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
    """Prior without logits; None for `prior_of` the labels."""

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
    if (having.prior or prior_of(holdout)) != "classes":
        return None
    # Half a point more per class, so that a class without points is unlikely but not impossible.
    frequency = np.bincount(holdout.labels, minlength=holdout.n_classes) + 0.5
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


_EQUAL = 0.001
"""Smallest p-value of equally frequent classes (Pearson's chi-squared) taken for such."""


def prior_of(holdout: Holdout) -> Prior:
    """Return the prior that an attacker without a model may be taken to have on these labels.

    Class frequencies are often published, or guessed, and where they differ a guess is worth more
    than 1/m.
    """
    frequency = np.bincount(holdout.labels, minlength=holdout.n_classes)
    return "classes" if chisquare(frequency).pvalue < _EQUAL else "uniform"


def knowledge_text(knowledge: Knowledge | None, having: Having) -> str:
    """Return the attacker's knowledge in words."""
    if knowledge is None:
        return "nothing: no model, all classes equally likely"
    if having.logits is None:
        return FREQUENCIES
    n = len(knowledge.base)
    m = knowledge.n_classes
    r = knowledge.n_candidates
    points = (
        f"the {len(knowledge.points):,} least confident" if len(knowledge.points) < n else "all"
    )
    labels = f"its {r} likeliest labels" if r < m else f"all {m} labels"
    softened = "" if having.temperature == 1 else f", temperature {having.temperature:g}"
    return f"a base model's logits{softened}; attacked are {points} examples, {labels} each"
