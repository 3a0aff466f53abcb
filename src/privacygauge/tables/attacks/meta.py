"""Meta-classifiers of membership, trained on features of the adversary's own tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError
from privacygauge.tables.table import require_at_least

Features = NDArray[np.floating[Any]]
"""(k, p) Finite features of k tables."""

_SMALL = 1e-12
"""Added to variances and norms: constant features get no weight, and no divisor is 0."""
_FLOOR = 0.1
"""Share of the median variance of the features that is added to each variance."""
_LEAST = 0.01
"""Share of a feature's total variance that is added to its variance within classes."""
_CANDIDATES = 10
"""Candidate features per feature to keep."""


class TrainedMetaClassifier(Protocol):
    """A meta-classifier trained on the adversary's own tables."""

    @property
    def own(self) -> Floats:
        """(s,) Cross-validated scores of those tables."""

    def scores(self, features: Features) -> Floats:
        """Return scores of other tables, (k,); higher means more likely made with the target."""


class MetaClassifier(Protocol):
    """Classifier of tables made with the target against tables made without. Frozen."""

    @property
    def name(self) -> str:
        """Name, as reports print it."""

    def fit(
        self, features: Features, inside: Bools, rng: np.random.Generator
    ) -> TrainedMetaClassifier:
        """Train on features (s, p) of tables and on a mask (s,): True if made with the target."""


@dataclass(frozen=True)
class Forest:
    """Random forest of the paper: 100 trees of depth 10 at most.

    Meeus et al. (2023), section 5.5. Own scores are out-of-bag votes. Each tree sees as many tables
    of each class as there are, drawn with replacement within the class. Drawn from all tables, as
    usual, the trees that miss a table would have seen fewer of its class than of the other, and
    their votes would lean to the other.

    Raises
    ------
    InputError
        If there are no trees, or the depth is below 1.
    """

    trees: int = 100
    """Number of trees, at least 1."""
    depth: int = 10
    """Largest depth of a tree."""

    name = "random forest"

    def __post_init__(self) -> None:
        require_at_least(self, trees=1, depth=1)

    def fit(
        self, features: Features, inside: Bools, rng: np.random.Generator
    ) -> TrainedMetaClassifier:
        """Train the forest."""
        from sklearn.tree import DecisionTreeClassifier

        # In single precision and contiguous, as trees read them.
        values = np.ascontiguousarray(features, np.float32)
        votes = np.zeros(len(inside))
        unseen = np.zeros(len(inside), np.int64)
        trees = []
        for _ in range(self.trees):
            # A bootstrap within each class, so that every tree sees both.
            seen = np.zeros(len(inside), np.int64)
            # seen[i]: how often the bootstrap drew table i; it serves as a weight.
            for kind in (False, True):
                rows = np.flatnonzero(inside == kind)
                draws = rng.integers(len(rows), size=len(rows))
                seen[rows] = np.bincount(draws, minlength=len(rows))
            tree = DecisionTreeClassifier(
                max_depth=self.depth, max_features="sqrt", random_state=int(rng.integers(1 << 31))
            )
            tree.fit(values, inside, sample_weight=seen.astype(np.float64), check_input=False)
            out = seen == 0
            votes[out] += tree.predict_proba(values[out], check_input=False)[:, 1]
            unseen += out
            trees.append(tree)
        return _Trees(tuple(trees), np.where(unseen > 0, votes / np.maximum(unseen, 1), 0.5))


@dataclass(frozen=True, eq=False)
class _Trees:
    """A random forest."""

    trees: tuple[Any, ...]
    """Fitted trees of scikit-learn."""
    own: Floats
    """(s,) Out-of-bag votes; 1/2 for a table that every tree saw."""

    def scores(self, features: Features) -> Floats:
        """Return the mean votes for "inside", (k,)."""
        values = np.ascontiguousarray(features, np.float32)
        votes = [tree.predict_proba(values, check_input=False)[:, 1] for tree in self.trees]
        return np.asarray(np.mean(votes, axis=0))


@dataclass(frozen=True)
class Screened:
    """Linear discriminant on the few most separating features: as good as a forest, far faster.

    Features are ranked by the difference of the two class means over its standard error; near
    copies of a better feature are skipped. The rest enters Fisher's discriminant with a covariance
    shrunk towards its diagonal. Own scores are cross-fitted, ranking included: a feature chosen on
    the tables that it scores would look better than it is.

    Raises
    ------
    InputError
        If a number is out of its range.
    """

    features: int = 100
    """Number of features kept, at least 1."""
    alike: float = 0.9
    """Absolute correlation from which two features count as copies, in (0, 1]."""
    shrinkage: float = 0.5
    """Weight of the diagonal in the covariance, in (0, 1]."""
    folds: int = 5
    """Folds for cross-fitting the own scores, at least 2."""

    name = "screened discriminant"

    def __post_init__(self) -> None:
        require_at_least(self, features=1, folds=2)
        for field in ("alike", "shrinkage"):
            if not 0.0 < getattr(self, field) <= 1.0:
                raise InputError(f"{field} must be in (0, 1], got {getattr(self, field)}")

    def fit(
        self, features: Features, inside: Bools, rng: np.random.Generator
    ) -> TrainedMetaClassifier:
        """Train the discriminant."""
        fold = stratified_folds(inside, self.folds, rng)
        own = np.zeros(len(inside))
        for k in range(self.folds):
            out = fold == k
            own[out] = self._line(features[~out], inside[~out]).scores(features[out])
        # The released tables are scored by a discriminant trained on all own tables.
        return replace(self._line(features, inside), own=own)

    def _line(self, features: Features, inside: Bools) -> _Line:
        # A training part may hold one class only: without a contrast every score is 0.
        if inside.all() or not inside.any():
            return _Line(np.zeros(0), np.zeros(0, np.int64), np.zeros(0), 0.0)
        # The best features, the best first, without near copies.
        order = np.argsort(-np.abs(separation(features, inside)), kind="stable")
        # Correlations of all features would take (p, p) cells; a few candidates per place are
        # enough.
        order = order[: _CANDIDATES * self.features]
        some = features[:, order].astype(np.float64)
        some -= some.mean(axis=0)
        some /= np.sqrt(np.square(some).sum(axis=0)) + _SMALL
        near = np.abs(some.T @ some) >= self.alike
        kept: list[int] = []
        passed = np.zeros(len(order), np.bool_)
        for j in range(len(order)):
            if not passed[j] and len(kept) < self.features:
                kept.append(j)
                passed |= near[j]
        chosen = order[kept]
        # Fisher's discriminant with its covariance shrunk towards the diagonal.
        values = features[:, chosen].astype(np.float64)
        means = [values[inside].mean(axis=0), values[~inside].mean(axis=0)]
        rest = values - np.where(inside[:, None], *means)
        covariance = rest.T @ rest / len(rest)
        # A feature that separates the classes perfectly has no variance within them.
        least = _LEAST * values.var(axis=0) + _SMALL
        diagonal = np.diag(self.shrinkage * np.diag(covariance) + least)
        weights = np.linalg.solve(
            (1.0 - self.shrinkage) * covariance + diagonal, means[0] - means[1]
        )
        return _Line(np.zeros(0), chosen, weights, float(weights @ (means[0] + means[1]) / 2.0))


@dataclass(frozen=True, eq=False)
class _Line:
    """A linear discriminant: a direction, and the middle between the classes."""

    own: Floats
    """(s,) Cross-fitted scores."""
    chosen: Ints
    """(m,) Columns of the features used."""
    weights: Floats
    """(m,) Weights of the features."""
    middle: float
    """Score halfway between the two classes' means."""

    def scores(self, features: Features) -> Floats:
        """Return the log odds under two normal distributions of equal covariance, (k,)."""
        return np.asarray(features[:, self.chosen] @ self.weights - self.middle, np.float64)


def stratified_folds(inside: Bools, folds: int, rng: np.random.Generator) -> Ints:
    """Return a fold (s,) per table, with each class spread evenly over the folds."""
    found = np.empty(len(inside), np.int64)
    for kind in (False, True):
        rows = rng.permutation(np.flatnonzero(inside == kind))
        found[rows] = np.arange(len(rows)) % folds
    return found


def separation(features: Features, inside: Bools) -> Floats:
    """Return the difference between the two class means, (p,), in standard deviations.

    The deviation is that of all tables, with a constant added to the variance; 0 for a constant
    feature. Positive where tables made with the target have larger values.
    """
    centred = features - features.mean(axis=0)
    yes = max(int(np.count_nonzero(inside)), 1)
    no = max(len(inside) - yes, 1)
    # Weights 1 / n for one class and -1 / m for the other: one product gives all differences of
    # means.
    gap = np.where(inside, 1.0 / yes, -1.0 / no).astype(features.dtype) @ centred
    spread = np.einsum("sp,sp->p", centred, centred) / len(features)
    # Features with hardly any spread would otherwise lead the ranking by chance.
    usual = np.median(spread[spread > 0]) if np.any(spread > 0) else 1.0
    return np.asarray(gap / np.sqrt(spread + _FLOOR * usual + _SMALL), np.float64)
