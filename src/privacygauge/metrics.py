"""Scores beside secrets, and the numbers that are made of them."""

from __future__ import annotations

from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.errors import suggest_names
from privacygauge.evaluate.detectable import smallest_accuracy, smallest_auc
from privacygauge.evaluate.epsilon import epsilon_lower_bound
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.rate_at_fpr import tpr_at_fpr
from privacygauge.evaluate.roc import auc, roc
from privacygauge.evaluate.unlearning import measure_unlearning

__all__ = [
    "Decisions",
    "Evaluation",
    "Transcript",
    "auc",
    "epsilon_lower_bound",
    "measure_unlearning",
    "roc",
    "smallest_accuracy",
    "smallest_auc",
    "tpr_at_fpr",
]

suggest_names(__name__)
