"""Designs of games: who is asked about, in how many trainings, with which labels."""

from __future__ import annotations

from privacygauge.audits.privacy_claim.mechanism import query_neighbours
from privacygauge.classifier.canaries import RecordsWithCanaries, make_canaries
from privacygauge.classifier.candidates import PerTargetDesign, SharedDesign
from privacygauge.classifier.mislabelled import LeastLikelyLabel, UniformLabel
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.evaluate.claim_designs import ManyRuns, OneRun, Sequential
from privacygauge.evaluate.sampled_steps import SampledSteps

__all__ = [
    "LeastLikelyLabel",
    "ManyRuns",
    "OneRun",
    "PerTargetDesign",
    "PrivacyClaim",
    "RecordsWithCanaries",
    "SampledSteps",
    "Sequential",
    "SharedDesign",
    "UniformLabel",
    "make_canaries",
    "query_neighbours",
]
