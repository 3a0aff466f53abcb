"""Options of audits, each one value with a `run` for the data; and the settings of a run."""

from __future__ import annotations

from privacygauge.audits.attribute.audit import AttributeOptions
from privacygauge.audits.classifier.candidates import CandidateOptions
from privacygauge.audits.classifier.models import ModelOptions, PoolOptions
from privacygauge.audits.classifier.predictions import ClassifierOptions
from privacygauge.audits.classifier.white_box import WhiteBoxOptions
from privacygauge.audits.dtp.audit import DtpOptions
from privacygauge.audits.holdout_attack.audit import HoldoutAttackOptions
from privacygauge.audits.holdout_bound.audit import HoldoutBoundOptions
from privacygauge.audits.language.audit import CausalOptions, LanguageOptions, MaskedOptions
from privacygauge.audits.vulnerable.audit import VulnerableOptions
from privacygauge.audits.work import Session
from privacygauge.audits.worst_case.audit import WorstCaseOptions

__all__ = [
    "AttributeOptions",
    "CandidateOptions",
    "CausalOptions",
    "ClassifierOptions",
    "DtpOptions",
    "HoldoutAttackOptions",
    "HoldoutBoundOptions",
    "LanguageOptions",
    "MaskedOptions",
    "ModelOptions",
    "PoolOptions",
    "Session",
    "VulnerableOptions",
    "WhiteBoxOptions",
    "WorstCaseOptions",
]
