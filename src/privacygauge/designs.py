"""Designs of games: who is asked about, in how many trainings, with which labels."""

from __future__ import annotations

from privacygauge.claims.canaries import (
    LeastLikelyLabel,
    RecordsWithCanaries,
    UniformLabel,
    make_canaries,
)
from privacygauge.claims.claim_audit.mechanism import query_neighbours
from privacygauge.classifiers.candidates import PerTargetDesign, SharedDesign
from privacygauge.errors import suggest_names
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

suggest_names(__name__)
