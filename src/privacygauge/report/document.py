"""Findings as plain values for programs: the schema ``privacygauge/1``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.findings import Findings, Headline
from privacygauge.evaluate.rate_at_fpr import RateAtFpr
from privacygauge.report.numbers import key

SCHEMA = "privacygauge/1"
"""Names the format; another number when a key is taken away or changes its meaning."""

Json = dict[str, Any]


def to_dict(findings: Findings) -> Json:
    """Return the game, the headline and the attacks as plain values."""
    return {
        "game": asdict(findings.game),
        "headline": _headline(findings.headline),
        "attacks": [_attack(e) for e in findings.evaluations],
    }


def as_text(document: Mapping[str, Any]) -> str:
    """Return a document as strict JSON in ASCII."""
    return json.dumps(document, allow_nan=False, indent=2) + "\n"


def estimate_dict(estimate: Estimate | Skipped) -> Json:
    """Return an estimate, or the reason why there is none."""
    if isinstance(estimate, Skipped):
        return {"skipped": estimate.reason}
    return {
        "value": finite(estimate.value),
        "low": finite(estimate.low),
        "high": finite(estimate.high),
        "level": float(estimate.level),
        "n": int(estimate.n),
        "method": estimate.method,
    }


def finite(value: float | None) -> float | None:
    """Return a number as a plain float; None for infinity and for what was not computed."""
    return None if value is None or not math.isfinite(value) else float(value)


def left_out(skipped: tuple[Skipped, ...]) -> list[Json]:
    """Return what was left out, and why."""
    return [{"name": s.name, "reason": s.reason} for s in skipped]


def _headline(headline: Headline) -> Json:
    return {
        "attack": headline.attack.title,
        "accuracy": estimate_dict(headline.accuracy),
        "epsilon": estimate_dict(headline.epsilon),
        "epsilon_attack": headline.epsilon_attack,
        "epsilon_limit": finite(headline.epsilon_limit),
    }


def _attack(e: Evaluation) -> Json:
    return {
        "name": e.name,
        "variant": e.variant,
        "thresholds": e.thresholds,
        "rule": e.rule,
        "accuracy": estimate_dict(e.accuracy),
        "advantage": estimate_dict(e.advantage),
        "best_accuracy": estimate_dict(e.best_accuracy),
        "auc": estimate_dict(e.auc),
        "tpr_at_fpr": {key(r.fpr): _rate(r) for r in e.tpr_at_fpr},
        "precision": estimate_dict(e.precision),
        "recall": estimate_dict(e.recall),
        "false_positive_rate": estimate_dict(e.false_positive_rate),
        "ppv": {key(prior): estimate_dict(x) for prior, x in e.predictive_values},
        "epsilon": estimate_dict(e.epsilon),
        "true_positives": e.true_positives,
        "false_positives": e.false_positives,
        "n_in": e.n_in,
        "n_out": e.n_out,
        "notes": list(e.notes),
    }


def _rate(rate: RateAtFpr) -> Json:
    return {
        **estimate_dict(rate.estimate),
        "resolved": bool(rate.resolved),
        "at_threshold": estimate_dict(rate.at_threshold),
        "realised_fpr": estimate_dict(rate.realised_fpr),
    }
