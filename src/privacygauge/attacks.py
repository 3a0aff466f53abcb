"""Attacks and the values that they are tuned by."""

from __future__ import annotations

from privacygauge.classifiers.label_only import LabelOnlyQueries
from privacygauge.classifiers.predictions import Pool
from privacygauge.classifiers.white_box import ShadowModule
from privacygauge.core.attacks.posterior import Histogram, Isotonic, RiskScore
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.errors import suggest_names

__all__ = [
    "Histogram",
    "Isotonic",
    "LabelOnlyQueries",
    "Pool",
    "RiskScore",
    "ShadowModule",
    "Threshold",
]

suggest_names(__name__)
