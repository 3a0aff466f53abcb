"""Options of audits, each one value with a `run` for the data; and the settings of a run."""

from __future__ import annotations

from privacygauge.claims.claim_audit.audit import ClaimOptions, TrainingClaimOptions
from privacygauge.claims.defence_audit.audit import DefenceOptions, TrainingDefenceOptions
from privacygauge.claims.dtp_audit.audit import DtpOptions
from privacygauge.claims.worst_case_audit.audit import WorstCaseOptions
from privacygauge.classifiers.attribute_audit.audit import AttributeOptions
from privacygauge.classifiers.audit.candidates import CandidateOptions
from privacygauge.classifiers.audit.models import ModelOptions, PoolOptions
from privacygauge.classifiers.audit.predictions import ClassifierOptions
from privacygauge.classifiers.white_box import WhiteBoxOptions
from privacygauge.errors import suggest_names
from privacygauge.inspection.audit import InspectOptions
from privacygauge.kinds.session import Session
from privacygauge.language.audit.audit import CausalOptions, LanguageOptions, MaskedOptions
from privacygauge.language.extraction_audit.audit import ExtractionOptions
from privacygauge.leaderboards.attack_audit.audit import HoldoutAttackOptions
from privacygauge.leaderboards.bound_audit.audit import HoldoutBoundOptions
from privacygauge.releases.comparison.audit import ComparisonOptions
from privacygauge.scores.audit import ScoreOptions
from privacygauge.scores.regression import RegressorOptions
from privacygauge.scores.training import LabelOptions, TrainingOptions
from privacygauge.tables.few_fits_audit import FewFitsOptions
from privacygauge.tables.generator_audit.audit import SyntheticOptions
from privacygauge.tables.released_audit.audit import ReleasedOptions
from privacygauge.tables.vulnerable_audit.audit import VulnerableOptions

__all__ = [
    "AttributeOptions",
    "CandidateOptions",
    "CausalOptions",
    "ClaimOptions",
    "ClassifierOptions",
    "ComparisonOptions",
    "DefenceOptions",
    "DtpOptions",
    "ExtractionOptions",
    "FewFitsOptions",
    "HoldoutAttackOptions",
    "HoldoutBoundOptions",
    "InspectOptions",
    "LabelOptions",
    "LanguageOptions",
    "MaskedOptions",
    "ModelOptions",
    "PoolOptions",
    "RegressorOptions",
    "ReleasedOptions",
    "ScoreOptions",
    "Session",
    "SyntheticOptions",
    "TrainingClaimOptions",
    "TrainingDefenceOptions",
    "TrainingOptions",
    "VulnerableOptions",
    "WhiteBoxOptions",
    "WorstCaseOptions",
]

suggest_names(__name__)
