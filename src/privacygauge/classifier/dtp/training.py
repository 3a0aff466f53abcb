"""A learner as a trainer: shadow models and attacks work with it like with any other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.dtp.learner import Learner
from privacygauge.classifier.trainer import Cohort
from privacygauge.core.checks import Floats


@dataclass(frozen=True)
class LearnerTrainer:
    """Trains the classifiers of a learner, one after another."""

    learner: Learner
    """What is trained."""

    @property
    def name(self) -> str:
        """What reports call the kind of model."""
        return self.learner.name

    logits = False

    def describe(self) -> Mapping[str, Any]:
        """Return the learner's own settings."""
        return self.learner.describe()

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return the probabilities that each model gives the `asked` records; see `Trainer`.

        A class that is missing from a model's records has the probability 0. Nothing is random.
        """
        return np.exp(self.train_logs(cohort))

    def train_logs(self, cohort: Cohort) -> Floats:
        """Return the log probabilities that each model gives; see `log_answers`."""
        x, y, k = cohort.x, cohort.y, cohort.n_classes
        models = (self.learner.fit(x[rows], y[rows], n_classes=k) for rows in cohort.inside)
        return np.stack([model.log_p(x[cohort.asked]) for model in models])
