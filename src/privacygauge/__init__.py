"""PrivacyGauge: what a released model, table or leaderboard gives away about the data behind it.

>>> import privacygauge as pg
>>> result = pg.audit_classifier("target.npz", "shadow.npz")  # doctest: +SKIP
>>> print(result.summary())  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from privacygauge.audits.classifier.candidates import audit_candidates
    from privacygauge.audits.classifier.found import Audit, CandidateAudit
    from privacygauge.audits.classifier.models import Fitted, audit_model, audit_pool
    from privacygauge.audits.classifier.predictions import audit_classifier
    from privacygauge.audits.classifier.white_box import ShadowModule, audit_white_box
    from privacygauge.audits.defences.epochs import risk_by_epoch
    from privacygauge.audits.defences.found import DefenceAudit
    from privacygauge.audits.defences.play import audit_defences, audit_defended
    from privacygauge.audits.defences.training import audit_training_defences
    from privacygauge.audits.dtp.found import DtpAudit
    from privacygauge.audits.dtp.play import audit_dtp
    from privacygauge.audits.generator.found import SyntheticAudit
    from privacygauge.audits.generator.play import audit_synthetic
    from privacygauge.audits.holdout_attack.found import HoldoutAudit
    from privacygauge.audits.holdout_attack.play import attack_holdout
    from privacygauge.audits.holdout_bound.found import HoldoutBounds
    from privacygauge.audits.holdout_bound.play import holdout_bounds
    from privacygauge.audits.language.found import LanguageAudit
    from privacygauge.audits.language.models import audit_causal, audit_masked
    from privacygauge.audits.language.play import audit_language
    from privacygauge.audits.leaderboard.found import LeaderboardAudit
    from privacygauge.audits.leaderboard.play import audit_leaderboard
    from privacygauge.audits.privacy_claim.dp_sgd import audit_dp_sgd
    from privacygauge.audits.privacy_claim.found import ClaimAudit
    from privacygauge.audits.privacy_claim.play import ManyRuns, OneRun, audit_privacy_claim
    from privacygauge.audits.released_table.found import ReleasedAudit
    from privacygauge.audits.released_table.play import audit_released
    from privacygauge.audits.vulnerable.found import VulnerableRecords
    from privacygauge.audits.vulnerable.play import vulnerable_records
    from privacygauge.audits.worst_case.found import WorstCaseAudit, WorstCaseComparison
    from privacygauge.audits.worst_case.play import compare_worst_cases
    from privacygauge.audits.worst_case.single import audit_worst_case
    from privacygauge.classifier.candidates import PerTargetDesign, SharedDesign
    from privacygauge.classifier.defences.adversarial_regularisation import (
        AdversarialRegularisation,
    )
    from privacygauge.classifier.defences.dp_sgd import DpSgd
    from privacygauge.classifier.defences.early_stopping import EarlyStopping
    from privacygauge.classifier.defences.memguard import MemGuard
    from privacygauge.classifier.defences.opacus_dp_sgd import OpacusDpSgd
    from privacygauge.classifier.defences.perturbations import (
        Binning,
        LabelOnly,
        Rounding,
        Temperature,
        TopK,
    )
    from privacygauge.classifier.defences.removal import PdtpRisk, RemoveRisky, ScoreRisk
    from privacygauge.classifier.defences.training import (
        AgainstAttacker,
        ByOpacus,
        HiddenDropout,
        OtherTraining,
        Private,
        StopAfter,
        WeightDecay,
        WithoutRiskiest,
    )
    from privacygauge.classifier.dtp.bayes_inference import BayesInference
    from privacygauge.classifier.dtp.discriminant import LinearDiscriminant
    from privacygauge.classifier.dtp.least_squares import KernelRidge, LeastSquares
    from privacygauge.classifier.dtp.logistic import Logistic
    from privacygauge.classifier.dtp.multinomial import MultinomialNaiveBayes
    from privacygauge.classifier.dtp.naive_bayes import NaiveBayes
    from privacygauge.classifier.dtp.nearest import NearestNeighbours
    from privacygauge.classifier.dtp.quadratic import QuadraticDiscriminant
    from privacygauge.classifier.dtp.random_trees import RandomDecisionTrees
    from privacygauge.classifier.files import load_predictions, save_predictions
    from privacygauge.classifier.mislabelled import LeastLikelyLabel, UniformLabel
    from privacygauge.classifier.networks.factories import MLP
    from privacygauge.classifier.networks.trainer import Networks
    from privacygauge.classifier.pool import Pool
    from privacygauge.classifier.predictions import Predictions, predictions
    from privacygauge.classifier.suite import pool_attacks, prediction_attacks
    from privacygauge.classifier.trainer import Cohort
    from privacygauge.classifier.training import train_predictions
    from privacygauge.core.attacks.posterior import Histogram, Isotonic, RiskScore
    from privacygauge.core.attacks.threshold import Threshold
    from privacygauge.core.estimate import Estimate, Skipped
    from privacygauge.core.transcript import Decisions, Transcript
    from privacygauge.errors import BudgetError, InputError, OutputError, PrivacyGaugeError
    from privacygauge.evaluate.claim import PrivacyClaim
    from privacygauge.evaluate.epsilon import epsilon_lower_bound
    from privacygauge.evaluate.evaluation import Evaluation
    from privacygauge.evaluate.rate_at_fpr import tpr_at_fpr
    from privacygauge.evaluate.roc import auc, roc
    from privacygauge.language.training import train_further, train_reference
    from privacygauge.register.found import RiskRegister
    from privacygauge.register.play import model_card, risk_register
    from privacygauge.synthetic.distance import Cosine, Minkowski
    from privacygauge.synthetic.frames import read_table
    from privacygauge.synthetic.generators.command import Command
    from privacygauge.synthetic.generators.generator import BayNet, PrivBayes, SynthPop
    from privacygauge.synthetic.schema import Schema

# Resolved on first use: `import privacygauge` itself loads nothing but this file.
_HOME = {
    "Audit": "audits.classifier.found",
    "CandidateAudit": "audits.classifier.found",
    "DefenceAudit": "audits.defences.found",
    "audit_defences": "audits.defences.play",
    "audit_defended": "audits.defences.play",
    "AgainstAttacker": "classifier.defences.training",
    "HiddenDropout": "classifier.defences.training",
    "OtherTraining": "classifier.defences.training",
    "Private": "classifier.defences.training",
    "ByOpacus": "classifier.defences.training",
    "StopAfter": "classifier.defences.training",
    "WeightDecay": "classifier.defences.training",
    "WithoutRiskiest": "classifier.defences.training",
    "OpacusDpSgd": "classifier.defences.opacus_dp_sgd",
    "audit_training_defences": "audits.defences.training",
    "MemGuard": "classifier.defences.memguard",
    "Binning": "classifier.defences.perturbations",
    "LabelOnly": "classifier.defences.perturbations",
    "Rounding": "classifier.defences.perturbations",
    "Temperature": "classifier.defences.perturbations",
    "TopK": "classifier.defences.perturbations",
    "audit_dp_sgd": "audits.privacy_claim.dp_sgd",
    "risk_by_epoch": "audits.defences.epochs",
    "ShadowModule": "audits.classifier.white_box",
    "audit_white_box": "audits.classifier.white_box",
    "WorstCaseAudit": "audits.worst_case.found",
    "audit_worst_case": "audits.worst_case.single",
    "WorstCaseComparison": "audits.worst_case.found",
    "compare_worst_cases": "audits.worst_case.play",
    "LeastLikelyLabel": "classifier.mislabelled",
    "UniformLabel": "classifier.mislabelled",
    "PdtpRisk": "classifier.defences.removal",
    "RemoveRisky": "classifier.defences.removal",
    "ScoreRisk": "classifier.defences.removal",
    "AdversarialRegularisation": "classifier.defences.adversarial_regularisation",
    "DpSgd": "classifier.defences.dp_sgd",
    "EarlyStopping": "classifier.defences.early_stopping",
    "DtpAudit": "audits.dtp.found",
    "Fitted": "audits.classifier.models",
    "LanguageAudit": "audits.language.found",
    "HoldoutAudit": "audits.holdout_attack.found",
    "HoldoutBounds": "audits.holdout_bound.found",
    "ReleasedAudit": "audits.released_table.found",
    "SyntheticAudit": "audits.generator.found",
    "attack_holdout": "audits.holdout_attack.play",
    "audit_candidates": "audits.classifier.candidates",
    "audit_classifier": "audits.classifier.predictions",
    "audit_dtp": "audits.dtp.play",
    "audit_language": "audits.language.play",
    "audit_causal": "audits.language.models",
    "audit_masked": "audits.language.models",
    "train_further": "language.training",
    "train_reference": "language.training",
    "audit_model": "audits.classifier.models",
    "audit_pool": "audits.classifier.models",
    "LeaderboardAudit": "audits.leaderboard.found",
    "audit_leaderboard": "audits.leaderboard.play",
    "ClaimAudit": "audits.privacy_claim.found",
    "ManyRuns": "audits.privacy_claim.play",
    "OneRun": "audits.privacy_claim.play",
    "audit_privacy_claim": "audits.privacy_claim.play",
    "PrivacyClaim": "evaluate.claim",
    "RiskRegister": "register.found",
    "model_card": "register.play",
    "risk_register": "register.play",
    "audit_released": "audits.released_table.play",
    "audit_synthetic": "audits.generator.play",
    "holdout_bounds": "audits.holdout_bound.play",
    "BayesInference": "classifier.dtp.bayes_inference",
    "KernelRidge": "classifier.dtp.least_squares",
    "LeastSquares": "classifier.dtp.least_squares",
    "LinearDiscriminant": "classifier.dtp.discriminant",
    "Logistic": "classifier.dtp.logistic",
    "MultinomialNaiveBayes": "classifier.dtp.multinomial",
    "NaiveBayes": "classifier.dtp.naive_bayes",
    "NearestNeighbours": "classifier.dtp.nearest",
    "QuadraticDiscriminant": "classifier.dtp.quadratic",
    "RandomDecisionTrees": "classifier.dtp.random_trees",
    "Pool": "classifier.pool",
    "PerTargetDesign": "classifier.candidates",
    "SharedDesign": "classifier.candidates",
    "load_predictions": "classifier.files",
    "save_predictions": "classifier.files",
    "MLP": "classifier.networks.factories",
    "Networks": "classifier.networks.trainer",
    "Predictions": "classifier.predictions",
    "predictions": "classifier.predictions",
    "pool_attacks": "classifier.suite",
    "prediction_attacks": "classifier.suite",
    "Cohort": "classifier.trainer",
    "train_predictions": "classifier.training",
    "Histogram": "core.attacks.posterior",
    "Isotonic": "core.attacks.posterior",
    "RiskScore": "core.attacks.posterior",
    "Threshold": "core.attacks.threshold",
    "Estimate": "core.estimate",
    "Skipped": "core.estimate",
    "Decisions": "core.transcript",
    "Transcript": "core.transcript",
    "BudgetError": "errors",
    "InputError": "errors",
    "PrivacyGaugeError": "errors",
    "OutputError": "errors",
    "epsilon_lower_bound": "evaluate.epsilon",
    "Evaluation": "evaluate.evaluation",
    "auc": "evaluate.roc",
    "roc": "evaluate.roc",
    "tpr_at_fpr": "evaluate.rate_at_fpr",
    "Cosine": "synthetic.distance",
    "Minkowski": "synthetic.distance",
    "read_table": "synthetic.frames",
    "BayNet": "synthetic.generators.generator",
    "Command": "synthetic.generators.command",
    "PrivBayes": "synthetic.generators.generator",
    "SynthPop": "synthetic.generators.generator",
    "Schema": "synthetic.schema",
    "VulnerableRecords": "audits.vulnerable.found",
    "vulnerable_records": "audits.vulnerable.play",
}

__all__ = [
    "MLP",
    "AdversarialRegularisation",
    "AgainstAttacker",
    "Audit",
    "BayNet",
    "BayesInference",
    "Binning",
    "BudgetError",
    "ByOpacus",
    "CandidateAudit",
    "ClaimAudit",
    "Cohort",
    "Command",
    "Cosine",
    "Decisions",
    "DefenceAudit",
    "DpSgd",
    "DtpAudit",
    "EarlyStopping",
    "Estimate",
    "Evaluation",
    "Fitted",
    "HiddenDropout",
    "Histogram",
    "HoldoutAudit",
    "HoldoutBounds",
    "InputError",
    "Isotonic",
    "KernelRidge",
    "LabelOnly",
    "LanguageAudit",
    "LeaderboardAudit",
    "LeastLikelyLabel",
    "LeastSquares",
    "LinearDiscriminant",
    "Logistic",
    "ManyRuns",
    "MemGuard",
    "Minkowski",
    "MultinomialNaiveBayes",
    "NaiveBayes",
    "NearestNeighbours",
    "Networks",
    "OneRun",
    "OpacusDpSgd",
    "OtherTraining",
    "OutputError",
    "PdtpRisk",
    "PerTargetDesign",
    "Pool",
    "Predictions",
    "PrivBayes",
    "PrivacyClaim",
    "PrivacyGaugeError",
    "Private",
    "QuadraticDiscriminant",
    "RandomDecisionTrees",
    "ReleasedAudit",
    "RemoveRisky",
    "RiskRegister",
    "RiskScore",
    "Rounding",
    "Schema",
    "ScoreRisk",
    "ShadowModule",
    "SharedDesign",
    "Skipped",
    "StopAfter",
    "SynthPop",
    "SyntheticAudit",
    "Temperature",
    "Threshold",
    "TopK",
    "Transcript",
    "UniformLabel",
    "VulnerableRecords",
    "WeightDecay",
    "WithoutRiskiest",
    "WorstCaseAudit",
    "WorstCaseComparison",
    "attack_holdout",
    "auc",
    "audit_candidates",
    "audit_causal",
    "audit_classifier",
    "audit_defences",
    "audit_defended",
    "audit_dp_sgd",
    "audit_dtp",
    "audit_language",
    "audit_leaderboard",
    "audit_masked",
    "audit_model",
    "audit_pool",
    "audit_privacy_claim",
    "audit_released",
    "audit_synthetic",
    "audit_training_defences",
    "audit_white_box",
    "audit_worst_case",
    "compare_worst_cases",
    "epsilon_lower_bound",
    "holdout_bounds",
    "load_predictions",
    "model_card",
    "pool_attacks",
    "prediction_attacks",
    "predictions",
    "read_table",
    "risk_by_epoch",
    "risk_register",
    "roc",
    "save_predictions",
    "tpr_at_fpr",
    "train_further",
    "train_predictions",
    "train_reference",
    "vulnerable_records",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from privacygauge.core.versions import own_version

        return own_version()
    if name not in _HOME:
        raise AttributeError(f"module 'privacygauge' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"privacygauge.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
