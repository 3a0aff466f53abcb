"""Options of audits, each one value with a `run` for the data; and the settings of a run."""

from __future__ import annotations

from privacygauge.audits.attribute.audit import AttributeOptions
from privacygauge.audits.classifier.candidates import CandidateOptions
from privacygauge.audits.classifier.models import ModelOptions, PoolOptions
from privacygauge.audits.classifier.predictions import ClassifierOptions
from privacygauge.audits.classifier.white_box import WhiteBoxOptions
from privacygauge.audits.defences.audit import DefenceOptions, TrainingDefenceOptions
from privacygauge.audits.dtp.audit import DtpOptions
from privacygauge.audits.extraction.audit import ExtractionOptions
from privacygauge.audits.few_fits import FewFitsOptions
from privacygauge.audits.generator.audit import SyntheticOptions
from privacygauge.audits.holdout_attack.audit import HoldoutAttackOptions
from privacygauge.audits.holdout_bound.audit import HoldoutBoundOptions
from privacygauge.audits.language.audit import CausalOptions, LanguageOptions, MaskedOptions
from privacygauge.audits.privacy_claim.audit import ClaimOptions, TrainingClaimOptions
from privacygauge.audits.released_table.audit import ReleasedOptions
from privacygauge.audits.vulnerable.audit import VulnerableOptions
from privacygauge.audits.work import Session
from privacygauge.audits.worst_case.audit import WorstCaseOptions

__all__ = [
    "AttributeOptions",
    "CandidateOptions",
    "CausalOptions",
    "ClaimOptions",
    "ClassifierOptions",
    "DefenceOptions",
    "DtpOptions",
    "ExtractionOptions",
    "FewFitsOptions",
    "HoldoutAttackOptions",
    "HoldoutBoundOptions",
    "LanguageOptions",
    "MaskedOptions",
    "ModelOptions",
    "PoolOptions",
    "ReleasedOptions",
    "Session",
    "SyntheticOptions",
    "TrainingClaimOptions",
    "TrainingDefenceOptions",
    "VulnerableOptions",
    "WhiteBoxOptions",
    "WorstCaseOptions",
]
