"""Defences of a classifier: on its answers, and at training."""

from __future__ import annotations

from privacygauge.claims.defences.adversarial_regularisation import AdversarialRegularisation
from privacygauge.claims.defences.defence import Binning, LabelOnly, Rounding, Temperature, TopK
from privacygauge.claims.defences.dp_sgd import DpSgd, OpacusDpSgd
from privacygauge.claims.defences.early_stopping import EarlyStopping
from privacygauge.claims.defences.judging import risk_by_epoch
from privacygauge.claims.defences.memguard import MemGuard
from privacygauge.claims.defences.removal import PdtpRisk, RemoveRisky, ScoreRisk
from privacygauge.claims.defences.soft_labels import (
    Distillation,
    Hamp,
    LabelSmoothing,
    Mixup,
    RelaxLoss,
    Selena,
)
from privacygauge.claims.defences.training import (
    AgainstAttacker,
    ByOpacus,
    HiddenDropout,
    OtherTraining,
    OutputPerturbation,
    Private,
    StopAfter,
    WeightDecay,
    WithoutRiskiest,
)
from privacygauge.errors import suggest_names

__all__ = [
    "AdversarialRegularisation",
    "AgainstAttacker",
    "Binning",
    "ByOpacus",
    "Distillation",
    "DpSgd",
    "EarlyStopping",
    "Hamp",
    "HiddenDropout",
    "LabelOnly",
    "LabelSmoothing",
    "MemGuard",
    "Mixup",
    "OpacusDpSgd",
    "OtherTraining",
    "OutputPerturbation",
    "PdtpRisk",
    "Private",
    "RelaxLoss",
    "RemoveRisky",
    "Rounding",
    "ScoreRisk",
    "Selena",
    "StopAfter",
    "Temperature",
    "TopK",
    "WeightDecay",
    "WithoutRiskiest",
    "risk_by_epoch",
]

suggest_names(__name__)
