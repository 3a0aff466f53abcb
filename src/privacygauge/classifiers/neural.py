"""Neural attacks: networks that learn membership from the predictions for shadow records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from privacygauge.classifiers.game import Rows, rarer, row_features, shadow_rows
from privacygauge.classifiers.predictions import probabilities
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.rules import Cut
from privacygauge.errors import InputError
from privacygauge.runs.threads import limited_to

Inputs = NDArray[np.float32]
"""(n, d) Inputs of a network, in single precision, which halves time and memory."""


@dataclass(frozen=True)
class Network:
    """One hidden layer of rectified linear units, trained by Adam on the cross-entropy.

    Notes
    -----
    The single logistic output is the log-odds of membership; it equals the difference of two
    outputs with a LogSoftMax, as in Long et al. (2017).
    """

    hidden: int = 64
    """Units of the hidden layer, at least 1."""
    epochs: int = 50
    """Epochs of training, at least 1; there is no early stopping."""
    learning_rate: float = 0.01
    """Learning rate of Adam, above 0."""
    penalty: float = 1e-4
    """L2 penalty on the weights, at least 0."""
    batch: int = 200
    """Batch size, at least 1."""

    def __post_init__(self) -> None:
        checks.at_least(1, hidden=self.hidden, epochs=self.epochs, batch=self.batch)
        checks.positive(learning_rate=self.learning_rate)
        if not 0 <= self.penalty < np.inf:
            raise InputError(f"penalty must be finite and at least 0, got {self.penalty}")

    def log_odds(
        self, known: Inputs, member: Bools, asked: Inputs, rng: np.random.Generator
    ) -> Floats:
        """Train on `known`; return the log-odds of membership of `asked` at even prior odds, (n,).

        These are the inputs of the logistic function, which would round many to 0 or 1. Members and
        non-members must both occur in `known`; the rarer side is repeated, so that both have equal
        weight. `rng` draws the initial weights and the order of the records.
        """
        rows = even_rows(member, rng)
        batch = min(self.batch, len(rows))
        weights = _Weights(known.shape[1], self.hidden, int(rng.integers(2**31)))
        inside = member[:, None].astype(np.float32)
        # More threads than cores at work make small fits many times slower.
        with limited_to(1):
            for _ in range(self.epochs):
                order = rng.permutation(rows)
                x = known[order]
                y = inside[order]
                for start in range(0, len(rows), batch):
                    part = slice(start, start + batch)
                    weights.slope(x[part], y[part], self.penalty)
                    weights.step(self.learning_rate)
                # Once per epoch is often enough.
                weights.flush()
            value = weights.outputs(asked)[1]
        return np.asarray(value[:, 0], np.float64)


class _Weights:
    """Weights of a network, changed in place, with the same values as scikit-learn's MLPClassifier.

    MLPClassifier checks and encodes the records in every epoch, which takes longer than the matrix
    products. All weights are one vector, so that a step of Adam is a few operations.
    """

    def __init__(self, n_inputs: int, hidden: int, seed: int) -> None:
        draw = np.random.RandomState(seed).uniform
        shapes = (n_inputs, hidden), (hidden,), (hidden, 1), (1,)
        # Glorot & Bengio's uniform bounds, of a layer's weights and biases alike, as in
        # MLPClassifier.
        bounds = [np.sqrt(6.0 / sum(shapes[i])) for i in (0, 0, 2, 2)]
        drawn = [draw(-b, b, shape).ravel() for b, shape in zip(bounds, shapes, strict=True)]
        self.all = np.concatenate(drawn).astype(np.float32)
        self.slopes, self.first, self.second = (np.zeros_like(self.all) for _ in range(3))
        self.steps = 0
        ends = np.cumsum([len(own) for own in drawn])[:-1]
        # Views of the vectors: a change to the whole changes the parts, and the other way round.
        self.parts, self.by_parts = (
            [own.reshape(s) for own, s in zip(np.split(whole, ends), shapes, strict=True)]
            for whole in (self.all, self.slopes)
        )

    def outputs(self, x: Inputs) -> tuple[Inputs, Inputs]:
        """Return the activations of the hidden units, (b, hidden), and the log-odds, (b, 1)."""
        first, bias, last, shift = self.parts
        units: Inputs = x @ first
        units += bias
        np.maximum(units, 0, out=units)
        value: Inputs = units @ last + shift
        return units, value

    def slope(self, x: Inputs, y: Inputs, penalty: float) -> None:
        """Set `slopes` to the gradient of the mean cross-entropy with the L2 penalty."""
        units, value = self.outputs(x)
        # Backpropagation: the loss's derivatives by the log-odds (b, 1), then by the units (b,
        # hidden).
        by_value = expit(value) - y
        by_units = by_value * self.parts[2].T
        by_units *= units > 0
        for i, inputs, by in ((0, x, by_units), (2, units, by_value)):
            np.matmul(inputs.T, by, out=self.by_parts[i])
            self.by_parts[i] += penalty * self.parts[i]
            self.by_parts[i + 1][...] = by.sum(axis=0)
        self.slopes /= len(x)

    def step(self, rate: float) -> None:
        """Take one step of Adam, with decay rates 0.9 and 0.999."""
        self.steps += 1
        self.first *= 0.9
        self.first += (1 - 0.9) * self.slopes
        self.second *= 0.999
        self.second += (1 - 0.999) * self.slopes**2
        # Both moments start at 0: the corrections for that bias are part of the rate.
        now = rate * np.sqrt(1 - 0.999**self.steps) / (1 - 0.9**self.steps)
        self.all += -now * self.first / (np.sqrt(self.second) + 1e-8)

    def flush(self) -> None:
        """Set subnormal weights to 0: arithmetic on them takes four times as long.

        The penalty shrinks the weights of units that are never active into that range.
        """
        for kept in (self.all, self.first, self.second):
            kept[np.abs(kept) < np.finfo(np.float32).tiny] = 0


SMALL = Network()
"""Network with the hidden layer of Shokri et al. (2017); the other settings are this library's."""


def even_rows(member: Bools, rng: np.random.Generator) -> Ints:
    """Return row numbers with as many members as non-members, each row at least once.

    Rows of the rarer side are repeated, equally often up to a difference of one, which is random.
    """
    sides = [rng.permutation(np.flatnonzero(side)) for side in (member, ~member)]
    size = max(len(side) for side in sides)
    # np.resize repeats a side cyclically; the random order decides which rows come once more.
    return np.concatenate([np.resize(side, size) for side in sides])


def prediction_inputs(rows: Rows, *, ordered: bool = False) -> Inputs:
    """Return the probability vectors of some rows, (n, c); `ordered` sorts each, largest first."""
    values = probabilities(rows.source.values[rows.index], logits=rows.source.logits)
    if ordered:
        values = np.sort(values, axis=1)[:, ::-1]
    return values.astype(np.float32)


def one_hot(labels: Ints, n_classes: int) -> Inputs:
    """Return (n, n_classes) with a 1 at every label."""
    return np.equal.outer(labels, np.arange(n_classes)).astype(np.float32)


def standardise_both(known: NDArray[Any], asked: NDArray[Any]) -> tuple[Inputs, Inputs]:
    """Return both matrices, standardised by the means and standard deviations of `known`.

    Columns of 0 and 1, such as categories, stay unchanged: rare ones would become large. A standard
    deviation of 0 counts as 1.
    """
    learnt = known.astype(np.float64)
    mean = learnt.mean(axis=0)
    deviation = learnt.std(axis=0)
    # A constant column may have a deviation from rounding, which division would blow up.
    constant = deviation <= 1e-9 * np.abs(learnt).max(axis=0)
    binary = ((learnt == 0) | (learnt == 1)).all(axis=0)
    mean = np.where(binary, 0.0, mean)
    scale = np.where(constant | binary, 1.0, deviation)
    return (
        ((learnt - mean) / scale).astype(np.float32),
        ((asked.astype(np.float64) - mean) / scale).astype(np.float32),
    )


LONG = Network(hidden=32, epochs=30)
"""The network of Long et al. (2017)."""

_EVEN = Cut(0.0, "of even odds")


@dataclass(frozen=True)
class NeuralShokri:
    """One network per class, on the probability vectors of its records.

    The inputs are probabilities rather than their logarithms, as in the paper: a shadow model that
    is less accurate than the target has other tails, which logarithms magnify. Vectors keep their
    order by default, because sorting hides whether the true class is the likely one.

    Notes
    -----
    Shokri et al. (2017), "Membership inference attacks against machine learning models", section
    V-D: one hidden layer of 64 rectified linear units.
    """

    sorted: bool = False
    """Whether vectors are sorted, largest first; otherwise they keep the order of the classes."""
    network: Network = SMALL
    """The network of each class."""
    least: int = 5
    """Fewest shadow members and non-members of a class for a network of its own."""
    most: int = 100_000
    """Largest number of shadow records to learn from, drawn at random."""

    def __post_init__(self) -> None:
        checks.at_least(1, least=self.least, most=self.most)

    name = "neural-shokri"

    @property
    def variant(self) -> str:
        """``sorted`` or ``raw`` probability vectors."""
        return "sorted" if self.sorted else "raw"

    thresholds = "per-class"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return every target's log-odds of membership at even prior odds, (n,)."""
        learnt = shadow_rows(self.name, observation, self.most, rng)
        if isinstance(learnt, Skipped):
            return learnt
        known, asked = (
            prediction_inputs(rows, ordered=self.sorted) for rows in (learnt.rows, learnt.asked)
        )
        value = np.empty(len(asked))
        few = np.zeros(len(asked), np.bool_)
        for c in np.unique(observation.stratum).tolist():
            own = learnt.labels == c
            rows = observation.stratum == c
            if rarer(learnt.member[own]) < self.least:
                few |= rows
                continue
            value[rows] = self.network.log_odds(known[own], learnt.member[own], asked[rows], rng)
        # All rare classes share one network, which learns on all records.
        if few.any():
            value[few] = self.network.log_odds(known, learnt.member, asked[few], rng)
        classes = np.unique(observation.stratum[few]).tolist()
        notes: tuple[str, ...] = ()
        if classes:
            notes = (
                f"{len(classes)} class(es) have fewer than {self.least} shadow members or shadow "
                f"non-members and fall back to a network of all classes: "
                f"{checks.short_list(classes)}",
            )
        return Scores(value, _EVEN, notes)


@dataclass(frozen=True)
class NeuralNasr:
    """One network for all classes, on the probability vector and the one-hot true class.

    Notes
    -----
    Nasr et al. (2018), "Machine learning with membership privacy using adversarial regularization".
    It has one hidden layer of 64 units; theirs has several larger ones. Inputs are probabilities,
    not their logarithms, for the reason given at `NeuralShokri`.
    """

    network: Network = SMALL
    """The network."""
    most: int = 100_000
    """Largest number of shadow records to learn from, drawn at random."""

    def __post_init__(self) -> None:
        checks.at_least(1, most=self.most)

    name = "neural-nasr"

    variant = ""

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return every target's log-odds of membership at even prior odds, (n,)."""
        learnt = shadow_rows(self.name, observation, self.most, rng)
        if isinstance(learnt, Skipped):
            return learnt
        known, asked = (
            _with_labels(rows, labels)
            for rows, labels in (
                (learnt.rows, learnt.labels),
                (learnt.asked, observation.stratum),
            )
        )
        return Scores(self.network.log_odds(known, learnt.member, asked, rng), _EVEN)


@dataclass(frozen=True)
class Untargeted:
    """One network on the record itself, its true class and its probability vector.

    Numbers are standardised on the shadow records; categories must already be one-hot encoded. The
    attack needs several models on the same records, some with and some without each record: with
    one model, a network memorises the members' features.

    Notes
    -----
    Long et al. (2017), section 5.3, untargeted attack and algorithm 1: 32 rectified linear units,
    learning rate 0.01, 30 epochs, 20 shadow models. The paper names neither the optimiser nor
    the batch; here they are Adam and 200.
    """

    models: int = 20
    """Largest number of shadow models, the first ones, and so of rows per record, to learn from."""
    network: Network = LONG
    """The network."""
    most: int = 40_000
    """Largest number of shadow rows to learn from: all rows of records that are drawn at random."""

    def __post_init__(self) -> None:
        checks.at_least(1, models=self.models, most=self.most)

    name = "untargeted"

    variant = ""

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return every target's log-odds of membership at even prior odds, (n,)."""
        learnt = shadow_rows(self.name, observation, self.most, rng, models=self.models)
        if isinstance(learnt, Skipped):
            return learnt
        known, asked = (row_features(rows) for rows in (learnt.rows, learnt.asked))
        if known is None or asked is None:
            return Skipped(self.name, "needs the features of the targets and of the shadow records")
        if known.shape[1] != asked.shape[1]:
            raise InputError(
                f"targets have {asked.shape[1]} features, shadow records {known.shape[1]}: both "
                "must come from the same task"
            )
        x_known, x_asked = standardise_both(known, asked)
        inputs = (
            np.hstack([x_known, _with_labels(learnt.rows, learnt.labels)]),
            np.hstack([x_asked, _with_labels(learnt.asked, observation.stratum)]),
        )
        value = self.network.log_odds(inputs[0], learnt.member, inputs[1], rng)
        record = learnt.rows.record
        notes: tuple[str, ...] = ()
        if record is not None and checks.n_distinct(record) == len(record):
            # Each record has one row, so one label: the network can memorise the members.
            notes = (
                "learnt from one shadow model only: its members' features alone tell them from its "
                "non-members, which says nothing of the targets",
            )
        return Scores(value, _EVEN, notes)


def _with_labels(rows: Rows, labels: Ints) -> Inputs:
    return np.hstack([prediction_inputs(rows), one_hot(labels, rows.source.n_classes)])
