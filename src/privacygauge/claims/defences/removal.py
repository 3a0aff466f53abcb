"""Removal of risky records: each model is trained without the riskiest of its own members.

Long, Bindschaedler & Gunter (2017), section 7, remove the record with the largest differential
training privacy, measure again, and repeat. Here removal is a way to train like any other: a
removed record still counts as a member, since its owner gave it, and attacks are judged on it too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.claims.dtp.naive_bayes import NaiveBayes
from privacygauge.classifiers.estimators import as_trainer
from privacygauge.classifiers.held import numeric
from privacygauge.classifiers.learner import Learner
from privacygauge.classifiers.ratios import log_ratio
from privacygauge.classifiers.trainer import Cohort, Trainer
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError

_MOST_CATEGORIES = 64
"""Whole numbers below this are categories; a column with larger ones is numeric."""


@dataclass(frozen=True)
class Share:
    """A share of a model's own members, rounded down."""

    share: float
    """Share of the members, in (0, 1)."""

    def __post_init__(self) -> None:
        checks.level(self.share, "share")

    def of(self, n_members: int) -> int:
        """Return the number of members to remove."""
        # 0.29 * 100 is slightly below 29: rounding error must not lose a record.
        return int(self.share * n_members + 1e-9)

    def __str__(self) -> str:
        return f"{100 * self.share:g}%"


@dataclass(frozen=True)
class Number:
    """A fixed number of a model's own members."""

    number: int
    """Members to remove, at least 0."""

    def __post_init__(self) -> None:
        checks.at_least(0, number=self.number)

    def of(self, n_members: int) -> int:
        """Return the number itself."""
        return self.number

    def __str__(self) -> str:
        return f"{self.number}"


class Risk(Protocol):
    """Risk of each record of a training set, estimated without attacking a model."""

    @property
    def name(self) -> str:
        """Name, as reports print it."""

    def describe(self) -> Mapping[str, Any]:
        """Return all settings that affect the values besides the data, as JSON values.

        By default the name alone.
        """
        return {"risk": self.name}

    def of(self, x: NDArray[Any], y: Ints, inside: Bools, n_classes: int) -> Floats:
        """Return the risk of every record, (n,); values of records outside are ignored.

        Parameters
        ----------
        x : ndarray, shape (n, d)
        y : ndarray of int, shape (n,)
        inside : ndarray of bool, shape (n,)
            The training set.
        n_classes : int
        """


@dataclass(frozen=True)
class PdtpRisk:
    """Exact pointwise differential training privacy, by a learner that needs no retraining.

    It is the change of the learner's log prediction for the record when the record is left out of
    the training set (Long et al. 2017, definition 4.3). The learner is a stand-in wherever another
    model is trained.
    """

    learner: Learner | None = None
    """A learner such as `Logistic`; by default naive Bayes, with whole numbers from 0 to 63 as
    categories."""
    width: float = 0.0
    """Bin width of the published probabilities; 0 for no bins."""

    @property
    def name(self) -> str:
        """Name, as reports print it."""
        return f"PDTP of {'naive Bayes' if self.learner is None else self.learner.name}"

    def describe(self) -> Mapping[str, Any]:
        """Return the learner and the bins."""
        known = {} if self.learner is None else dict(self.learner.describe())
        return {"risk": self.name, "learner": known, "width": self.width}

    def of(self, x: NDArray[Any], y: Ints, inside: Bools, n_classes: int) -> Floats:
        """Return the PDTP of every member, (n,); 0 for the others."""
        learner = naive_bayes_for(x) if self.learner is None else self.learner
        members = np.flatnonzero(inside)
        fitted = learner.fit(x[members], y[members], n_classes=n_classes)
        # Exact leave-one-out probabilities: the learner drops a record without training again.
        told = fitted.log_p(x[members])
        without = fitted.log_p_without(np.arange(len(members)))
        result = np.zeros(len(y))
        result[members] = log_ratio(told, without, self.width)
        return result


@dataclass(frozen=True)
class ScoreRisk(Risk):
    """Risk by the user's own function."""

    score: Callable[[NDArray[Any], Ints, Bools], ArrayLike]
    """Maps features (n, d), classes (n,) and membership (n,) to the risk of each record, (n,)."""
    label: str
    """Name, as reports print it."""

    @property
    def name(self) -> str:
        """Name, as reports print it."""
        return self.label

    def of(self, x: NDArray[Any], y: Ints, inside: Bools, n_classes: int) -> Floats:
        """Return the function's risk scores, (n,)."""
        found = np.asarray(self.score(x, y, inside), np.float64)
        if found.shape != y.shape:
            raise InputError(
                f"{self.label} must give a risk of the shape {y.shape}, got {found.shape}"
            )
        return found


@dataclass(frozen=True)
class RemoveRisky:
    """Trainer of each model without the riskiest of its own members.

    Records that shield each other become risky only when one of them is gone, so the largest risk
    falls as a sawtooth (Long et al. 2017, figure 6). With more `rounds`, risk is measured again
    after each part of the removal.
    """

    trainer: Any
    """Trainer on the remaining records, or anything that `as_trainer` takes."""
    amount: Share | Number = Share(0.05)
    """Number or share of its members that each model is trained without."""
    risk: Risk = PdtpRisk()
    """Measure of risk, computed from the model's own members alone."""
    rounds: int = 1
    """Rounds of removal, at least 1; each removes an equal part of the records."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "trainer", as_trainer(self.trainer))
        checks.at_least(1, rounds=self.rounds)

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        return f"removal of {self.amount} by {self.risk.name}, {self.inner.name}"

    @property
    def logits(self) -> bool:
        """Whether `train` returns logits, as the trainer does."""
        return self.inner.logits

    def describe(self) -> Mapping[str, Any]:
        """Return all settings that affect the result besides the data, as JSON values."""
        return {
            "defence": "removal",
            "of": self.inner.name,
            "trainer": dict(self.inner.describe()),
            "amount": {type(self.amount).__name__: list(vars(self.amount).values())},
            "risk": dict(self.risk.describe()),
            "rounds": self.rounds,
        }

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return the predictions of models that were trained without their riskiest members."""
        return self.inner.train(replace(cohort, inside=cohort.inside & ~self.removed(cohort)))

    def removed(self, cohort: Cohort) -> Bools:
        """Return the mask of members that each model is trained without, (m, n).

        Raises
        ------
        InputError
            If nothing would be left to train on.
        """
        x = cohort.x if isinstance(cohort.x, np.ndarray) else numeric(cohort.x)
        if x is None:
            raise InputError("removal of risky records needs features that are finite numbers")
        gone = np.zeros(cohort.inside.shape, np.bool_)
        cohort = replace(cohort, x=x)
        for out, inside in zip(gone, cohort.inside, strict=True):
            n = int(inside.sum())
            wanted = self.amount.of(n)
            if wanted >= n:
                raise InputError(
                    f"amount must leave a record to train on, got {wanted} of {n} members"
                )
            left = inside.copy()
            # Ends of equal parts; the last is the whole number.
            for end in np.linspace(0, wanted, self.rounds + 1).round().astype(int)[1:]:
                here = np.flatnonzero(left)
                risk = self.risk.of(cohort.x, cohort.y, left, cohort.n_classes)[here]
                if np.isnan(risk).any():
                    raise InputError(f"{self.risk.name} must be a number for every member, got NaN")
                # Stable: of equal risks the first rows. Earlier rounds count towards `end`.
                riskiest = np.argsort(-risk, kind="stable")[: end - (n - len(here))]
                left[here[riskiest]] = False
            out[np.flatnonzero(inside & ~left)] = True
        return gone

    @property
    def inner(self) -> Trainer:
        """The trainer that gets the remaining records."""
        trainer: Trainer = self.trainer
        return trainer

    def around(self, inner: Trainer) -> RemoveRisky:
        """Return the same removal before another training."""
        return replace(self, trainer=inner)


def naive_bayes_for(x: NDArray[Any]) -> NaiveBayes:
    """Return naive Bayes for a table: columns of whole numbers from 0 to 63 are categories.

    `x` (n, d) holds all records, so that a category is known wherever it occurs.

    Raises
    ------
    InputError
        If a column holds anything but numbers.
    """
    if x.dtype.kind not in "biuf":
        raise InputError(f"x must hold numbers for naive Bayes, got {x.dtype}: give another risk")
    top = x.max(axis=0)
    coded = (x == np.round(x)).all(axis=0) & (x.min(axis=0) >= 0) & (top < _MOST_CATEGORIES)
    sizes = [int(t) + 1 if c else None for t, c in zip(top, coded, strict=True)]
    return NaiveBayes(tuple(sizes))
