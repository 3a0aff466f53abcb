"""Neural attacks: networks that learn from shadow records how members' predictions look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.classifier.attack_network import (
    SMALL,
    Inputs,
    Network,
    one_hot,
    prediction_inputs,
    standardise_both,
)
from privacygauge.classifier.game import Rows, rarer, row_features, shadow_rows
from privacygauge.core import checks
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.rules import Cut
from privacygauge.errors import InputError

LONG = Network(hidden=32, epochs=30)
"""The network of Long et al. (2017)."""

_EVEN = Cut(0.0, "of even odds")


@dataclass(frozen=True)
class NeuralShokri:
    """One network per class, on the probability vectors of its records.

    Probabilities rather than their logarithms, as in the paper: a shadow model that is less
    accurate than the target has other tails, and logarithms magnify them. Vectors keep their order
    by default: sorting hides whether the true class is the likely one.

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
        _require_positive(least=self.least, most=self.most)

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
    Nasr et al. (2018), "Machine learning with membership privacy using adversarial
    regularization". One hidden layer of 64 units, where theirs has several larger ones.
    Probabilities and not their logarithms, for the reason given at `NeuralShokri`.
    """

    network: Network = SMALL
    """The network."""
    most: int = 100_000
    """Largest number of shadow records to learn from, drawn at random."""

    def __post_init__(self) -> None:
        _require_positive(most=self.most)

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

    Numbers are standardised on the shadow records; categories must be one-hot already. It needs
    several models on the same records, some with and some without each: with one model a network
    memorises the members' features.

    Notes
    -----
    Long et al. (2017), section 5.3, untargeted attack and algorithm 1: 32 rectified linear units,
    learning rate 0.01, 30 epochs, 20 shadow models. The paper names neither the optimiser nor
    the batch; here they are Adam and 200.
    """

    models: int = 20
    """Largest number of shadow models, so of rows per record, to learn from: the first ones."""
    network: Network = LONG
    """The network."""
    most: int = 40_000
    """Largest number of shadow rows to learn from: all rows of some records, drawn at random."""

    def __post_init__(self) -> None:
        _require_positive(models=self.models, most=self.most)

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
            # Each record has one row, so one label: the network can learn members by heart.
            notes = (
                "learnt from one shadow model only: its members' features alone tell them from its "
                "non-members, which says nothing of the targets",
            )
        return Scores(value, _EVEN, notes)


def _with_labels(rows: Rows, labels: Ints) -> Inputs:
    return np.hstack([prediction_inputs(rows), one_hot(labels, rows.source.n_classes)])


def _require_positive(**values: int) -> None:
    for name, value in values.items():
        if value < 1:
            raise InputError(f"{name} must be at least 1, got {value}")
