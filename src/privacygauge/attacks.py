"""Attacks and the values that they are tuned by."""

from __future__ import annotations

from privacygauge.classifier.label_only import LabelOnlyQueries
from privacygauge.classifier.predictions import Pool
from privacygauge.classifier.white_box import ShadowModule
from privacygauge.core.attacks.posterior import Histogram, Isotonic, RiskScore
from privacygauge.core.attacks.threshold import Threshold

__all__ = [
    "Histogram",
    "Isotonic",
    "LabelOnlyQueries",
    "Pool",
    "RiskScore",
    "ShadowModule",
    "Threshold",
]
