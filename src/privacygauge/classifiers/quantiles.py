"""The quantile regression attack (Bertran et al. 2023): only non-members, no shadow models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from privacygauge.classifiers.game import PredictionObservation, Rows, draw_at_most
from privacygauge.classifiers.predictions import blocks_of
from privacygauge.classifiers.resolution import Resolution, resolution
from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.rules import Cut, best_threshold
from privacygauge.runs.threads import limited_to

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingRegressor

FOLDS = 3
"""Number of parts of the non-members in cross-validation."""

MOST_CATEGORIES = 255
"""Largest number of classes that are categorical in the regression; more are numeric."""

MOST_OTHERS = 5
"""Largest number of other classes' log-probabilities that describe a record without features."""


@dataclass(frozen=True)
class QuantileRegression:
    """Deviation of a record's signal above that of similar non-members.

    A regression on non-members alone predicts a normal distribution of the signal from a record's
    features. Mean and variance are fitted by gradient boosting, each with the number of trees,
    possibly none, that is best on held-out non-members. The score is ``(s - mu(x)) / sigma(x)``: a
    record above ``z`` exceeds its own quantile of level ``Phi(z)``.

    The features are the class and the record's own features; without these, the class and the
    largest probabilities of the other classes relative to each other, which exclude the model's
    confidence in the true class.
    """

    signal: str = "scaled-logit"
    """Name of the signal whose quantiles are predicted."""
    trees: int = 60
    """Largest number of trees per regression, at least 1."""
    most: int = 20_000
    """Largest number of shadow records to learn from, drawn at random."""

    name = "quantile-regression"

    variant = "normal"

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return each target's standardised deviation above similar non-members, (n,)."""
        if not isinstance(observation, PredictionObservation):
            return Skipped(self.name, "needs the full prediction vectors")
        shadow = observation.shadow_with(self.signal, self.name)
        rows = observation.rows
        if isinstance(shadow, Skipped):
            return shadow
        own = observation.shadow_rows
        if rows is None or own is None:
            return Skipped(self.name, "needs shadow records with known membership")
        resolved = observation.resolved or resolution(rows.source, own.source)
        used = draw_at_most(self.most, len(shadow.member), rng)
        # The features describe both sides or neither.
        with_features = rows.features is not None and own.features is not None
        asked = row_features(rows, resolved, with_features)
        record = None if own.record is None else own.record[used]
        learnt = Rows(own.source, own.index[used], own.features, record)
        known = row_features(learnt, resolved, with_features)
        member = shadow.member[used]
        value = shadow.signals[self.signal][used]
        unit = (shadow.unit if own.record is None else own.record)[used]
        out = ~member
        if checks.n_distinct(unit[out]) < FOLDS or not member.any():
            return Skipped(self.name, "too few shadow records")
        seed = int(rng.integers(2**31))
        categories = rows.source.n_classes <= MOST_CATEGORIES
        # More threads than cores at work make small fits many times slower.
        with limited_to(1 if len(used) < self.most else None):
            law = Law.of(
                known[out],
                value[out],
                unit=unit[out],
                trees=self.trees,
                categories=categories,
                seed=seed,
            )
            # Members were not in the fit; non-members need out-of-fold deviations to be comparable.
            cut = best_threshold(law.deviations(known[member], value[member]), law.held_out)
            score = law.deviations(asked, observation.signals[self.signal])
        return Scores(score, Cut(cut, "learnt on records with known membership"))


@dataclass(frozen=True, eq=False)
class Law:
    """Normal distribution of non-members' signals, given a record's features."""

    mean: Regression
    """Regression of the signal's mean."""
    variance: Regression
    """Regression of the signal's variance."""
    held_out: Floats
    """(n,) Standardised deviations of the non-members in the fit, each by a law fitted without its
    fold."""

    @classmethod
    def of(
        cls, x: Floats, value: Floats, unit: Ints, trees: int, categories: bool, seed: int
    ) -> Law:
        """Return the law of non-members' values, given their features `x`, (n, d), the class first.

        The class is a category if `categories`, else a number. Rows of a unit are in one fold. Each
        regression has at most `trees` trees.
        """
        from sklearn.model_selection import GroupKFold

        folds = [held for _, held in GroupKFold(FOLDS).split(x, groups=unit)]
        mean = Regression.of(x, value, folds, Trees("squared_error", trees, categories, seed))
        squares = (value - mean.held_out) ** 2
        # The gamma loss needs values above 0; if all deviations are 0, any constant does.
        squares += 1e-9 * float(squares.mean()) or 1.0
        variance = Regression.of(x, squares, folds, Trees("gamma", trees, categories, seed))
        return cls(mean, variance, (value - mean.held_out) / np.sqrt(variance.held_out))

    def deviations(self, x: Floats, value: Floats) -> Floats:
        """Return the standardised deviations of values, (m,), from the mean given `x`."""
        if not len(x):
            return np.empty(0)
        return np.asarray((value - self.mean.at(x)) / np.sqrt(self.variance.at(x)))


@dataclass(frozen=True)
class Trees:
    """Settings of the boosted trees."""

    loss: str
    """``squared_error`` for a mean, ``gamma`` for the mean of positive values."""
    most: int
    """Largest number of trees."""
    categories: bool
    """Whether the first column is categorical."""
    seed: int
    """Seed of the binning of many rows."""

    def fitted(self, x: Floats, value: Floats, n: int) -> HistGradientBoostingRegressor:
        """Return a fitted model with n trees."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        return HistGradientBoostingRegressor(
            loss=self.loss,
            max_iter=n,
            learning_rate=0.1,
            max_leaf_nodes=8,
            categorical_features=[0] if self.categories else None,
            early_stopping=False,
            random_state=self.seed,
        ).fit(x, value)

    def stages(self, learnt: tuple[Floats, Floats], asked: Floats) -> Iterator[Floats]:
        """Yield the predictions for `asked` with no tree, one tree, and so on."""
        x, value = learnt
        yield np.full(len(asked), value.mean())
        for stage in self.fitted(x, value, self.most).staged_predict(asked):
            # Many trees may overshoot, down to a variance of 0, which divides.
            yield np.clip(stage, value.min(), value.max())

    def losses(self, value: Floats, predicted: Floats) -> Floats:
        """Return the loss of each prediction, up to an additive constant."""
        if self.loss == "gamma":
            # The gamma deviance, up to a factor and terms of the value alone.
            return np.asarray(np.log(predicted) + value / predicted)
        return np.asarray((value - predicted) ** 2)


@dataclass(frozen=True, eq=False)
class Regression:
    """A regression with the number of trees that is best in cross-validation."""

    constant: float
    """Prediction without a tree."""
    model: HistGradientBoostingRegressor | None
    """The trees; None if no tree is best."""
    ends: tuple[float, float]
    """Smallest and largest value in training; predictions are clipped to these."""
    held_out: Floats
    """(n,) Out-of-fold prediction for each training row, with the same number of trees."""

    @classmethod
    def of(cls, x: Floats, value: Floats, folds: list[Ints], trees: Trees) -> Regression:
        """Return the regression of `value` on `x`, with out-of-fold predictions."""
        # Row t holds the out-of-fold predictions with t trees.
        predicted = np.empty((trees.most + 1, len(value)))
        for held in folds:
            rest = np.delete(np.arange(len(value)), held)
            stages = trees.stages((x[rest], value[rest]), x[held])
            with np.errstate(over="ignore"):  # overshooting predictions are clipped
                for stage, row in enumerate(stages):
                    predicted[stage, held] = row
        best = int(np.argmin([trees.losses(value, row).sum() for row in predicted]))
        model = trees.fitted(x, value, best) if best else None
        ends = float(value.min()), float(value.max())
        return cls(float(value.mean()), model, ends, predicted[best])

    def at(self, x: Floats) -> Floats:
        """Return the predictions for some rows, (m,)."""
        if self.model is None:
            return np.full(len(x), self.constant)
        with np.errstate(over="ignore"):
            return np.asarray(np.clip(self.model.predict(x), *self.ends), np.float64)


def row_features(rows: Rows, resolved: Resolution, with_features: bool) -> Floats:
    """Return the features of each row, (n, d): the class first.

    Then its record's features, or without them the log probabilities of the other classes.
    """
    label = rows.source.labels[rows.index]
    if with_features:
        assert rows.features is not None
        record = rows.index if rows.record is None else rows.record
        return np.column_stack([label, np.asarray(rows.features, np.float64)[record]])
    return np.column_stack([label, _other_class_log_probabilities(rows, label, resolved)])


def _other_class_log_probabilities(rows: Rows, label: Ints, resolved: Resolution) -> Floats:
    """Return the largest log-probabilities of the other classes, given that one of them is true.

    Shape (n, j) with j at most `MOST_OTHERS`; two classes leave nothing to know, so j is 0.
    """
    source = rows.source
    n = min(MOST_OTHERS, source.n_classes - 1) if source.n_classes > 2 else 0
    found = np.empty((len(label), n))
    for part, block in blocks_of(source.values[rows.index]):
        if not n:
            break
        if not source.logits:
            np.log(np.maximum(block, resolved.least, out=block), out=block)
        # Without the true class, renormalised: the confidence in it is the signal, not a feature.
        block[np.arange(len(block)), label[part]] = -np.inf
        block -= logsumexp(block, axis=1, keepdims=True)
        found[part] = -np.sort(-block, axis=1)[:, :n]
    return found
