"""Names of models, defences and orders on the command line. Imports nothing slow."""

from __future__ import annotations

from collections.abc import Mapping

MODELS = (
    "random-forest",
    "gradient-boosting",
    "logistic",
    "naive-bayes",
    "nearest",
    "network",
    "network-large",
)
"""Names of ``--model``."""


TRAINING_DEFENCES = (
    "early-stopping:10",
    "l2:0.01",
    "dropout:0.5",
    "adversarial-regularisation:1",
    "dp-sgd:8",
    "dp-sgd-opacus:8",
    "output-perturbation:8",
    "removal:0.05",
    "label-smoothing:0.1",
    "mixup:1",
    "relaxloss:0.5",
    "hamp:0.9",
    "distillation:1",
    "selena:25",
)
"""Defences at training, each with its default number."""


TRAINING_DEFENCES_HELP = (
    "early-stopping:EPOCH, l2:DECAY, dropout:RATE, adversarial-regularisation:LAMBDA, "
    "dp-sgd:EPSILON, dp-sgd-opacus:EPSILON, output-perturbation:EPSILON, removal:RECORDS, "
    "label-smoothing:SHARE, mixup:ALPHA, relaxloss:LOSS, hamp:ENTROPY, distillation:TEMPERATURE "
    "or selena:MODELS"
)
"""Help text: the defences at training, with the meaning of their numbers."""


DEFENCES = (
    "memguard:1",
    "binning:0.01",
    "rounding:2",
    "top-k:3",
    "temperature:5",
    "label-only",
    *TRAINING_DEFENCES,
)
"""Names of ``--defence``, each with its default number."""


WRONG_LABELS = ("uniform", "least-likely")
"""Names of ``--wrong-label``."""


ON_CATEGORIES = ("naive-bayes", "bayes-inference", "random-trees")
"""Models of categorical attributes, some of which may be numbers."""


ON_NUMBERS = ("logistic", "lda", "qda", "least-squares", "nearest")
"""Models of numbers that leave records out without retraining; texts are one-hot encoded."""


RETRAINED = ("random-forest", "gradient-boosting", "network", "network-large")
"""Models that are retrained without each record."""


DTP_MODELS = (*ON_CATEGORIES, *ON_NUMBERS, *RETRAINED)
"""Names of ``--model``."""


MODEL_SETTINGS: Mapping[str, tuple[float, tuple[str, ...]]] = {
    "alpha": (1.0, ON_CATEGORIES),
    "l2": (1.0, ("logistic", "least-squares")),
    "neighbours": (5, ("nearest",)),
}
"""Setting to its default and the models that have it."""


REMOVAL_ORDERS = ("recomputed", "initial")
"""Names of ``--order``."""
