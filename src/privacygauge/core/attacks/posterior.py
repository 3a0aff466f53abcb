"""The privacy risk score: the posterior probability of membership given a signal.

Song & Mittal (2021), section 4. Two estimators learn it per class on shadow records: `Histogram`,
as in the paper, and `Isotonic`, which is monotone in the signal and shrinks small classes towards
the fit of all classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.rules import Cut, order_by_class
from privacygauge.core.seeds import stream
from privacygauge.errors import InputError


class Posterior(Protocol):
    """A fitted posterior probability of membership."""

    def of(self, signal: Floats, stratum: Ints) -> Floats:
        """Return P(member | signal, class) at even odds, (n,), in [0, 1]."""


class Estimator(Protocol):
    """Learns P(member | signal, class) on records with known membership."""

    @property
    def name(self) -> str:
        """Name in reports."""

    def learn(self, signal: Floats, member: Bools, stratum: Ints, n_classes: int) -> Posterior:
        """Return the posterior for classes 0..n_classes-1."""


@dataclass(frozen=True)
class RiskScore:
    """The privacy risk score as an attack; its score is the posterior probability of membership."""

    signal: str = "modified-entropy"
    """Name of the signal; the paper uses the modified entropy."""
    estimator: Estimator | None = None
    """Estimator of the posterior; default: `Isotonic()`."""

    name = "privacy-risk-score"

    @property
    def variant(self) -> str:
        """Name of the estimator, and of the signal if it is not the paper's."""
        usual = self.signal == RiskScore.signal
        return self.chosen.name if usual else f"{self.chosen.name}, {self.signal}"

    thresholds = "none"

    @property
    def chosen(self) -> Estimator:
        """The estimator in use."""
        return Isotonic() if self.estimator is None else self.estimator

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return P(member | signal, class) at even odds for every target."""
        shadow = observation.shadow_with(self.signal, self.name)
        if isinstance(shadow, Skipped):
            return shadow
        posterior = self.chosen.learn(
            shadow.signals[self.signal], shadow.member, shadow.stratum, observation.n_classes
        )
        value = posterior.of(observation.signals[self.signal], observation.stratum)
        return Scores(value, Cut(0.5, "of even odds"))


@dataclass(frozen=True)
class Histogram:
    """Densities of members and non-members in common bins of the log signal, per class."""

    bins: int = 5
    """Bins between the smallest and the largest value of a class."""
    floor: float = 1e-10
    """Smallest value of the negated signal; smaller ones are raised to it before the logarithm."""

    def __post_init__(self) -> None:
        checks.at_least(1, bins=self.bins)
        if not self.floor > 0:
            raise InputError(f"floor must be positive, got {self.floor}")

    @property
    def name(self) -> str:
        """Name in reports."""
        return "histogram" if self == Histogram() else f"histogram, {self.bins} bins"

    def learn(self, signal: Floats, member: Bools, stratum: Ints, n_classes: int) -> Posterior:
        """Return the posterior at even odds in each bin: members' density over the sum of both.

        A class without shadow members or non-members takes the bins of all classes together. An
        empty bin takes the value of the nearest filled one, the lower of two.
        """
        scale = self.scale(signal)
        everything = self._fit(scale, member)
        # Classes start from the fit of all classes, which those of one side keep.
        edges, score = (np.tile(part, (n_classes, 1)) for part in everything)
        for c, rows in _rows_by_class(stratum, n_classes):
            if member[rows].any() and not member[rows].all():
                edges[c], score[c] = self._fit(scale[rows], member[rows])
        return HistogramPosterior(edges, score, self)

    def scale(self, signal: Floats) -> Floats:
        """Return the logarithm of the negated signal; the signal must be at most 0."""
        if signal.size and signal.max() > 0:
            raise InputError("the histogram needs a signal of at most 0, such as an entropy")
        return np.log(np.maximum(-signal, self.floor))

    def _fit(self, scale: Floats, member: Bools) -> tuple[Floats, Floats]:
        low = float(scale.min())
        high = float(scale.max())
        edges = np.linspace(low, high if high > low else low + 1.0, self.bins + 1)
        index = np.clip(np.searchsorted(edges, scale, side="right") - 1, 0, self.bins - 1)
        inside = np.bincount(index[member], minlength=self.bins) / max(member.sum(), 1)
        outside = np.bincount(index[~member], minlength=self.bins) / max((~member).sum(), 1)
        # argmin takes the first of two equally near bins, which is the lower one.
        filled = np.flatnonzero(inside + outside)
        nearest = filled[np.abs(np.arange(self.bins)[:, None] - filled).argmin(axis=1)]
        return edges, inside[nearest] / (inside + outside)[nearest]


@dataclass(frozen=True, eq=False)
class HistogramPosterior:
    """Posterior probabilities in bins."""

    edges: Floats
    """(k, bins + 1) Bin edges of each class on the logarithmic scale."""
    score: Floats
    """(k, bins) Posterior at even odds."""
    source: Histogram
    """Estimator, for the scale of signals."""

    def of(self, signal: Floats, stratum: Ints) -> Floats:
        """Return the posterior of each row's bin; rows beyond the edges take the outer bins."""
        scale = self.source.scale(signal)
        # Only inner edges count, so that rows beyond the outer ones fall into the outer bins.
        above = (scale[:, None] >= self.edges[stratum, 1:-1]).sum(axis=1)
        posterior: Floats = self.score[stratum, above]
        return posterior


@dataclass(frozen=True)
class Isotonic:
    """Isotonic regression of membership on the signal per class, shrunk towards all classes'."""

    shrinkage: float | None = None
    """Weight of the global fit relative to each class's fit, in records, at least 0. Default:
    chosen by five-fold cross-validation on the shadow records (least squares)."""

    def __post_init__(self) -> None:
        if self.shrinkage is not None and self.shrinkage < 0:
            raise InputError(f"shrinkage must be at least 0, got {self.shrinkage}")

    @property
    def name(self) -> str:
        """Name in reports."""
        own = self.shrinkage is None
        return "isotonic" if own else f"isotonic, shrinkage {self.shrinkage:g}"

    def learn(self, signal: Floats, member: Bools, stratum: Ints, n_classes: int) -> Posterior:
        """Return monotone posteriors for every class."""
        shrinkage = self.shrinkage
        if shrinkage is None:
            shrinkage = _cross_validated(signal, member, stratum, n_classes)
        return _fit(signal, member, stratum=stratum, n_classes=n_classes, shrinkage=shrinkage)


@dataclass(frozen=True, eq=False)
class Step:
    """An increasing function, linear between knots and constant beyond them."""

    knots: Floats
    """(d,) Signals, ascending."""
    values: Floats
    """(d,) Posteriors, ascending."""

    def at(self, signal: Floats) -> Floats:
        """Return the value at each signal, linear between knots."""
        found = np.interp(signal, self.knots, self.values)
        # The slope between extremely close knots overflows; take the lower knot's value.
        lost = ~np.isfinite(found)
        found[lost] = self.values[np.searchsorted(self.knots, signal[lost], "right") - 1]
        return found


@dataclass(frozen=True, eq=False)
class IsotonicPosterior:
    """A global fit, with a fit and a weight per class."""

    overall: Step
    """Fit of all classes together."""
    by_class: tuple[Step | None, ...]
    """Fit of each class; None if the class lacks members or non-members."""
    weight: Floats
    """(k,) Weight of the class's own fit in its posterior, in [0, 1]."""

    def of(self, signal: Floats, stratum: Ints) -> Floats:
        """Return the weighted mean of the class's fit and the global fit."""
        result = self.overall.at(signal)
        for c, rows in _rows_by_class(stratum, len(self.by_class)):
            step = self.by_class[c]
            if step is not None:
                own = step.at(signal[rows])
                result[rows] += self.weight[c] * (own - result[rows])
        return np.clip(result, 0.0, 1.0)


ESTIMATORS: Mapping[str, Estimator] = MappingProxyType(
    {"isotonic": Isotonic(), "histogram": Histogram()}
)
"""Estimators by name."""

_SHRINKAGES = (0.0, 5.0, 20.0, 80.0, 320.0, np.inf)


def _fit(
    signal: Floats, member: Bools, stratum: Ints, n_classes: int, shrinkage: float
) -> IsotonicPosterior:
    steps: list[Step | None] = [None] * n_classes
    weight = np.zeros(n_classes)
    for c, rows in _rows_by_class(stratum, n_classes):
        # A class of one side only learns nothing of its own: weight 0 leaves it the overall fit.
        if member[rows].any() and not member[rows].all():
            steps[c] = _isotonic(signal[rows], member[rows])
            weight[c] = len(rows) / (len(rows) + shrinkage)
    return IsotonicPosterior(_isotonic(signal, member), tuple(steps), weight)


def _isotonic(signal: Floats, member: Bools) -> Step:
    """Return the increasing fit with equal total weights of members and non-members."""
    from scipy.optimize import isotonic_regression

    values, index = np.unique(signal, return_inverse=True)
    inside = np.bincount(index[member], minlength=len(values))
    outside = np.bincount(index[~member], minlength=len(values))
    a = inside / inside.sum()
    b = outside / outside.sum()
    # Share of members at even odds: each side has a total weight of 1.
    fit = isotonic_regression(a / (a + b), weights=a + b)
    ends = fit.blocks
    block = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    # Half a record of either kind is added, since a pure block is not certain. Both have the weight
    # of the smaller side's records, so that a block with all records gives even odds.
    weight_in = np.bincount(block, a)
    weight_out = np.bincount(block, b)
    extra = 0.5 / min(inside.sum(), outside.sum())
    smooth = np.maximum.accumulate((weight_in + extra) / (weight_in + weight_out + 2 * extra))
    first = values[ends[:-1]]
    last = values[ends[1:] - 1]
    # Two knots per block, its first and last signal: constant inside, linear between blocks.
    knots = np.column_stack([first, last]).ravel()
    return Step(knots, np.repeat(smooth, 2))


def _cross_validated(signal: Floats, member: Bools, stratum: Ints, n_classes: int) -> float:
    """Return the strongest shrinkage that predicts held-out rows as well as the best one.

    That is, within one standard error of the smallest squared error (Breiman et al. 1984).
    """
    fold = _folds(signal, member, stratum)
    # Members and non-members of every class have equal total weights: otherwise a fit that only
    # learns the share of members in each class would seem to predict.
    n_all = np.bincount(stratum, minlength=n_classes)
    n_members = np.bincount(stratum[member], minlength=n_classes)
    n_own = np.where(member, n_members[stratum], (n_all - n_members)[stratum])
    balance = n_all[stratum] / (2.0 * n_own)
    errors = np.zeros((len(_SHRINKAGES), len(signal)))
    for f in range(5):
        kept = fold != f
        judged = fold == f
        if member[kept].all() or not member[kept].any() or not judged.any():
            continue
        # Fitted once without shrinkage: shrinking only mixes the class's fit with the global one.
        fit = _fit(
            signal[kept], member[kept], stratum=stratum[kept], n_classes=n_classes, shrinkage=0.0
        )
        # Records of each row's class in the training folds: weights as in `_fit`.
        counts = np.bincount(stratum[kept], minlength=n_classes)[stratum[judged]]
        overall = fit.overall.at(signal[judged])
        own = fit.of(signal[judged], stratum[judged])
        for i, shrinkage in enumerate(_SHRINKAGES):
            share = counts / np.maximum(counts + shrinkage, 1)
            guess = overall + share * (own - overall)
            errors[i, judged] = balance[judged] * (guess - member[judged]) ** 2
    mean = errors.mean(axis=1)
    best = int(np.argmin(mean))
    # Paired differences, since the same rows are hard for every shrinkage.
    worse = errors - errors[best]
    allowed = worse.std(axis=1) / np.sqrt(len(signal))
    return float(_SHRINKAGES[int(np.flatnonzero(mean - mean[best] <= allowed)[-1])])


def _folds(signal: Floats, member: Bools, stratum: Ints) -> Ints:
    # Drawn by rank inside each class and side: every fold has rows of all of them, and neither
    # the order of the rows nor the labels of the classes matter.
    rank = _rank_in_group(signal, member, stratum)
    luck = stream(0, "folds").random(len(signal))[rank]
    return _rank_in_group(luck, member, stratum) % 5


def _rank_in_group(values: Floats, member: Bools, stratum: Ints) -> Ints:
    """Return the rank of each row by value among rows of the same class and side, from 0."""
    order = np.lexsort((values, member, stratum))
    new = np.diff(stratum[order], prepend=-1) != 0
    new[1:] |= np.diff(member[order]) != 0
    starts = np.flatnonzero(new)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return rank


def _rows_by_class(stratum: Ints, n_classes: int) -> list[tuple[int, NDArray[np.intp]]]:
    """Return the non-empty classes with the indices of their rows."""
    order, ends = order_by_class(stratum, n_classes)
    return [(c, rows) for c, rows in enumerate(np.split(order, ends[1:-1])) if len(rows)]
