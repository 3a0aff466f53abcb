"""Names of models whose training is measured record by record; imports nothing slow."""

from __future__ import annotations

from collections.abc import Mapping

ON_CATEGORIES = ("naive-bayes", "bayes-inference", "random-trees")
"""Models whose attributes are categories, with some numbers."""


ON_NUMBERS = ("logistic", "lda", "qda", "least-squares", "nearest")
"""Models that leave records out without retraining; texts are one-hot encoded."""


TRAINED = ("random-forest", "gradient-boosting", "network", "network-large")
"""Models that are retrained for every record."""


MODELS = (*ON_CATEGORIES, *ON_NUMBERS, *TRAINED)
"""Names of ``--model``."""


HAVE: Mapping[str, tuple[float, tuple[str, ...]]] = {
    "alpha": (1.0, ON_CATEGORIES),
    "l2": (1.0, ("logistic", "least-squares")),
    "neighbours": (5, ("nearest",)),
}
"""Settings that only some models have: the default, and those models."""


ORDERS = ("recomputed", "initial")
"""Names of ``--order``."""
