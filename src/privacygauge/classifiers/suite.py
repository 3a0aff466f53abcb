"""The default attacks of a classifier audit, and quantile regression of single records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from privacygauge.classifiers.game import PredictionObservation, Rows, draw_at_most
from privacygauge.classifiers.learned import Learned, WholeAnswer
from privacygauge.classifiers.neural import NeuralNasr, NeuralShokri, Untargeted
from privacygauge.classifiers.predictions import Predictions, blocks_of
from privacygauge.classifiers.signals import Resolution, resolution
from privacygauge.classifiers.targeted import Design, Distance, Frequency
from privacygauge.core import checks
from privacygauge.core.attacks.bavaria import Bavaria
from privacygauge.core.attacks.calibrated import CalibratedOffline, CalibratedOnline
from privacygauge.core.attacks.lira import LiraOffline, LiraOnline
from privacygauge.core.attacks.rmia import RmiaOffline, RmiaOnline
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Observation, Scores
from privacygauge.core.rules import Cut, best_threshold
from privacygauge.errors import InputError
from privacygauge.runs.plugins import names_with_plugins, plugin
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
    return np.column_stack([label, found])


METRICS = ("correctness", "confidence", "entropy", "modified-entropy")
"""The metric attacks of Song & Mittal (2021)."""


def prediction_attacks(*, logits: bool = False, features: bool = False) -> tuple[Attack, ...]:
    """Return the suite for predictions: metric attacks, per class and global, and learned attacks.

    Parameters
    ----------
    logits : bool
        Whether logits are available. Only then does the scaled logit rank records differently from
        the confidence, and is included.
    features : bool
        Whether the records themselves are known: then quantile regression is included.
    """
    metrics = (*METRICS, "scaled-logit") if logits else METRICS
    per_class = tuple(Threshold(name, per_class=True) for name in metrics)
    overall = tuple(Threshold(name, per_class=False) for name in metrics)
    learnt = (Learned(), WholeAnswer())
    return (*per_class, *overall, *learnt, *((QuantileRegression(),) if features else ()))


def pool_attacks(*, logits: bool = False) -> tuple[Attack, ...]:
    """Return the suite for a pool of shadow models: all of `prediction_attacks`, and more.

    Neural attacks learn on the rows of all the pool's models; the others compare the target with
    the models that hold a record and those that do not.

    Parameters
    ----------
    logits : bool
        Whether logits are available.
    """
    return (
        *prediction_attacks(logits=logits, features=True),
        NeuralShokri(),
        NeuralNasr(),
        Untargeted(),
        *single_record_attacks("shared"),
    )


def chosen_attacks(
    chosen: Sequence[Attack | str] | None, suite: Sequence[Attack]
) -> tuple[Sequence[Attack], tuple[Skipped, ...]]:
    """Return the attacks to play, and the others of the suite as skipped; see `audit_classifier`.

    Parameters
    ----------
    chosen : sequence of Attack or str, optional
        Attacks, or names of attacks of the suite, also without what follows a hyphen: ``lira`` for
        ``lira-online`` and ``lira-offline``. Default: all of the suite.
    suite : sequence of Attack

    Raises
    ------
    InputError
        If no attack of the suite has one of the names, or something is neither.
    """
    if chosen is None:
        return suite, ()
    is_sequence = isinstance(chosen, Sequence) and not isinstance(chosen, str)
    by_object = [one for one in chosen if not isinstance(one, str)] if is_sequence else chosen
    checks.kinds(by_object, "attacks", "score", "pg.attacks.Threshold(...)")
    known = tuple(dict.fromkeys(attack.name for attack in suite))
    names: dict[str, None] = {}
    added: list[Attack] = []
    for name in chosen:
        if isinstance(name, str):
            found = [one for one in known if one == name or one.startswith(f"{name}-")]
            if not found and (attack := plugin_attack(name)) is not None:
                added.append(attack)
                continue
            if not found:
                listed = names_with_plugins("attacks", ", ".join(known))
                listed = names_with_plugins("signals", listed)
                raise InputError(f"attacks must be among {listed}, got {name!r}")
            names |= dict.fromkeys(found)
    attacks = [attack for attack in suite if attack.name in names]
    attacks += [*added, *(attack for attack in chosen if not isinstance(attack, str))]
    left = (name for name in known if (names or added) and name not in names)
    return attacks, tuple(Skipped(name, _OTHERS) for name in left)


_OTHERS = "other attacks were chosen"


def plugin_attack(name: str) -> Attack | None:
    """Return the attack of another package, or a threshold on its signal; None without either."""
    made: object = plugin("attacks", name)
    if made is None:
        signal = plugin("signals", name)
        return None if signal is None else SignalThreshold(name, signal)
    attack: Attack = made() if isinstance(made, type) else made  # type: ignore[assignment]
    checks.kind(attack, name, "score", "an attack")
    return attack


@dataclass(frozen=True)
class SignalThreshold:
    """Guess "member" if a signal of one's own is at least the best threshold on shadow records."""

    name: str
    """Name of the signal."""
    signal: Callable[[Predictions], Floats]
    """Return a number per record, (n,), higher for what looks more like a member."""

    variant = ""

    thresholds = "global"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return each target's signal, (n,), with the threshold learnt on shadow records."""
        if not isinstance(observation, PredictionObservation):
            return Skipped(self.name, "needs the full prediction vectors")
        rows = observation.rows
        own = observation.shadow_rows
        if rows is None or own is None or observation.shadow is None:
            return Skipped(self.name, "needs shadow records with known membership")
        seen, known = (
            checks.floats(self.signal(x.source), self.name, length=len(x.source.labels))[x.index]
            for x in (rows, own)
        )
        shadow = replace(observation.shadow, signals={self.name: known})
        observed = replace(observation, signals={self.name: seen}, shadow=shadow)
        return Threshold(self.name, per_class=False).score(observed, rng)


def single_record_attacks(design: Design) -> tuple[Attack, ...]:
    """Return the attacks that compare models with and without each record."""
    return (
        Distance(design=design),
        Frequency(design=design),
        LiraOnline(),
        LiraOffline(),
        CalibratedOnline(),
        CalibratedOffline(),
        RmiaOnline(),
        RmiaOffline(a=None),
        Bavaria(),
    )


def candidate_attacks(design: Design) -> tuple[Attack, ...]:
    """Return the attacks of Long et al. (2017), and later attacks on single records."""
    return (Untargeted(), *single_record_attacks(design))


FORETOLD = (LiraOnline(), CalibratedOnline())
"""Attacks for which an audit predicts the results with more shadow models."""
