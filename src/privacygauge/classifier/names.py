"""Names of models and defences on the command line. Imports nothing slow."""

from __future__ import annotations

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
"""Defences at training, each with its default."""


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
"""Defences, each with its default."""


WRONG_LABELS = ("uniform", "least-likely")
"""Names of ``--wrong-label``."""
