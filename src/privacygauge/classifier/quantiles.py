"""The quantile regression attack (Bertran et al. 2023): no shadow model, only non-members."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from privacygauge.classifier.game import PredictionObservation, Rows, draw_at_most
from privacygauge.classifier.predictions import blocks_of
from privacygauge.classifier.resolution import Resolution, resolution
from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.rules import Cut
from privacygauge.core.thresholds import best_threshold
from privacygauge.runs.threads import limited_to

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingRegressor

FOLDS = 3
"""Parts of the non-members that judge each other."""

MOST_CATEGORIES = 255
"""Up to so many classes are categories to the regression, more are numbers."""

MOST_OTHERS = 5
"""So many of the other classes' log probabilities describe a record without features."""


@dataclass(frozen=True)
class QuantileRegression:
    """How far a record's signal lies above the quantiles that non-members like it have.

    A regression on non-members alone predicts the normal law of the signal from what describes a
    record: mean and variance by gradient boosting, each with as many trees as serve non-members
    that had no part in the fit, none if none do. The score is ``(s - mu(x)) / sigma(x)``, so that
    a record above ``z`` exceeds its own quantile of level ``Phi(z)``.

    A record is described by its class and its features; without features, by its class and the
    largest probabilities of the other classes among each other, which leave out how sure the
    model is of the true one.
    """

    signal: str = "scaled-logit"
    """Whose quantiles are predicted."""
    trees: int = 60
    """At most so many of each regression."""
    most: int = 20_000
    """Largest number of shadow records to learn from, drawn at random."""

    name = "quantile-regression"

    variant = "normal"

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return the deviations by which every target exceeds the mean of non-members like it."""
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
        known = row_features(_part(own, used), resolved, with_features)
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
            cut = best_threshold(law.deviations(known[member], value[member]), law.held_out)
            score = law.deviations(asked, observation.signals[self.signal])
        return Scores(score, Cut(cut, "learnt on records with known membership"))


@dataclass(frozen=True, eq=False)
class Law:
    """Normal law of non-members' signals, given a record's features."""

    mean: Regression
    """Regression of the signal's mean."""
    variance: Regression
    """Regression of the signal's variance."""
    held_out: Floats
    """(n,) Standardised deviations of the non-members it was fitted to, each by a law fitted
    without its fold."""

    @classmethod
    def of(
        cls, x: Floats, value: Floats, unit: Ints, trees: int, categories: bool, seed: int
    ) -> Law:
        """Return the law of the values of non-members.

        What describes them, (n, d), has the class first, a category or a number; rows of one unit
        are in one fold. Each regression has at most so many trees.
        """
        from sklearn.model_selection import GroupKFold

        folds = [held for _, held in GroupKFold(FOLDS).split(x, groups=unit)]
        mean = Regression.of(x, value, folds, Trees("squared_error", trees, categories, seed))
        squares = (value - mean.held_out) ** 2
        # The gamma loss needs values above 0.
        squares += 1e-9 * float(squares.mean()) or 1.0
        variance = Regression.of(x, squares, folds, Trees("gamma", trees, categories, seed))
        return cls(mean, variance, (value - mean.held_out) / np.sqrt(variance.held_out))

    def deviations(self, x: Floats, value: Floats) -> Floats:
        """Return how many deviations above the mean the values of some records lie, (m,)."""
        if not len(x):
            return np.empty(0)
        return np.asarray((value - self.mean.at(x)) / np.sqrt(self.variance.at(x)))


@dataclass(frozen=True)
class Trees:
    """How trees are boosted."""

    loss: str
    """``squared_error`` for a mean, ``gamma`` for the mean of values above 0."""
    most: int
    """At most so many."""
    categories: bool
    """Whether the first column is a category."""
    seed: int
    """Of the binning, where there are many rows."""

    def fitted(self, x: Floats, value: Floats, n: int) -> HistGradientBoostingRegressor:
        """Return so many trees, fitted."""
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
            # Many trees together may overshoot: a variance of 0 would divide.
            yield np.clip(stage, value.min(), value.max())

    def losses(self, value: Floats, predicted: Floats) -> Floats:
        """Return the loss of each prediction, up to an additive constant."""
        if self.loss == "gamma":
            return np.asarray(np.log(predicted) + value / predicted)
        return np.asarray((value - predicted) ** 2)


@dataclass(frozen=True, eq=False)
class Regression:
    """A regression with as many trees as serve best where they were not learnt."""

    constant: float
    """What it predicts without a tree."""
    model: HistGradientBoostingRegressor | None
    """The trees; None where none serve best."""
    ends: tuple[float, float]
    """The least and the largest value that was learnt: nothing beyond is predicted."""
    held_out: Floats
    """(n,) What is predicted of each row, by so many trees that were learnt without its fold."""

    @classmethod
    def of(cls, x: Floats, value: Floats, folds: list[Ints], trees: Trees) -> Regression:
        """Return the regression of `value` on `x`; rows of a fold are predicted from all others."""
        predicted = np.empty((trees.most + 1, len(value)))
        for held in folds:
            rest = np.delete(np.arange(len(value)), held)
            stages = trees.stages((x[rest], value[rest]), x[held])
            with np.errstate(over="ignore"):  # what overshoots is clipped
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
    """Return the largest log probabilities of the other classes given that it is one of them."""
    source = rows.source
    n = min(MOST_OTHERS, source.n_classes - 1) if source.n_classes > 2 else 0
    found = np.empty((len(label), n))
    for part, block in blocks_of(source.values[rows.index]):
        if not n:
            break
        if not source.logits:
            np.log(np.maximum(block, resolved.least, out=block), out=block)
        block[np.arange(len(block)), label[part]] = -np.inf
        block -= logsumexp(block, axis=1, keepdims=True)
        found[part] = -np.sort(-block, axis=1)[:, :n]
    return found


def _part(rows: Rows, used: Ints) -> Rows:
    record = None if rows.record is None else rows.record[used]
    return Rows(rows.source, rows.index[used], rows.features, record)
