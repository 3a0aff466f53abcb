"""Audits of models that are no classifiers, and the numbers of records that these attack."""

from __future__ import annotations

from privacygauge.errors import suggest_names
from privacygauge.scores.audit import ScoreAudit
from privacygauge.scores.reconstruction import (
    DenseNetwork,
    ReconstructedBatch,
    ReconstructionShare,
    invert_update,
    reconstruction_share,
)
from privacygauge.scores.share import TrainingShare, training_share
from privacygauge.scores.signals import (
    answers,
    denoising,
    items,
    over_range,
    series,
    survival,
    unknown_values,
    view_similarity,
)
from privacygauge.scores.training import audit_labels

__all__ = [
    "DenseNetwork",
    "ReconstructedBatch",
    "ReconstructionShare",
    "ScoreAudit",
    "TrainingShare",
    "answers",
    "audit_labels",
    "denoising",
    "invert_update",
    "items",
    "over_range",
    "reconstruction_share",
    "series",
    "survival",
    "training_share",
    "unknown_values",
    "view_similarity",
]

suggest_names(__name__)
