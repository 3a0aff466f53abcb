"""Findings as `report.json`: plain values for programs, the schema ``privacygauge/1``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.findings import Fact, Findings, Headline
from privacygauge.evaluate.rate_at_fpr import RateAtFpr
from privacygauge.evaluate.risk import Risk
from privacygauge.evaluate.slices import Slice, SliceTable
from privacygauge.report.numbers import key
from privacygauge.report.verdict import Verdict, verdict

SCHEMA = "privacygauge/1"
"""Names the format; another number when a key is taken away or changes its meaning."""

Json = dict[str, Any]


def to_dict(findings: Findings) -> Json:
    """Return the findings as plain values: dicts, lists, strings, numbers, None.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    dict
        An estimate is a dict of value, low, high, level, n and method; something that was not
        computed is ``{"skipped": reason}``; infinity is None. Rates are keyed by the shortest
        decimal, such as ``"0.001"``. Scores of single records are not in it.
    """
    return {
        "schema": SCHEMA,
        "command": findings.command,
        "version": findings.version,
        "seed": findings.seed,
        "level": findings.level,
        "game": asdict(findings.game),
        "verdict": _verdict(verdict(findings)),
        "headline": _headline(findings.headline),
        "attacks": [_attack(e) for e in findings.evaluations],
        "risk": _risk(findings.risk),
        "slices": _slices(findings.slices),
        "facts": [_fact(fact) for fact in findings.facts],
        "skipped": left_out(findings.skipped),
        "warnings": list(findings.warnings),
        "provenance": dict(sorted(findings.provenance.items())),
    }


def to_json(findings: Findings) -> str:
    """Return `to_dict` as strict JSON in ASCII: equal findings give equal text."""
    return as_text(to_dict(findings))


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


def _verdict(found: Verdict) -> Json:
    return {
        "grade": found.grade,
        "headline": found.headline,
        "sentences": list(found.sentences),
        "advice": list(found.advice),
    }


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


def _risk(risk: Risk | Skipped) -> Json:
    if isinstance(risk, Skipped):
        return {"skipped": risk.reason}
    reliability = risk.reliability
    return {
        "estimator": risk.estimator,
        "mean": estimate_dict(risk.mean),
        "rmse": estimate_dict(reliability.rmse),
        "rmse_of_bins": float(reliability.rmse_of_bins),
        "noise": float(reliability.noise),
        "bins": [
            {
                "low": float(b.low),
                "high": float(b.high),
                "n": b.n,
                "mean_score": float(b.mean_score),
                "fraction": estimate_dict(b.fraction),
            }
            for b in reliability.bins
        ],
        "cuts": [
            {
                "cut": float(row.cut),
                "precision": estimate_dict(row.precision),
                "recall": estimate_dict(row.recall),
            }
            for row in risk.cuts
        ],
        "excess": {key(prior): estimate_dict(x) for prior, x in risk.excess},
        "classes": [asdict(row) for row in risk.classes],
        "correlation": estimate_dict(risk.correlation),
        "notes": list(risk.notes),
    }


def _slices(slices: SliceTable | Skipped) -> Json:
    if isinstance(slices, Skipped):
        return {"skipped": slices.reason}
    return {
        "attack": slices.attack,
        "level": float(slices.level),
        "slices": [_slice(s) for s in slices.slices],
        "skipped": left_out(slices.skipped),
    }


def _slice(s: Slice) -> Json:
    return {
        "column": s.column,
        "group": s.group,
        "n_in": s.n_in,
        "n_out": s.n_out,
        "accuracy": estimate_dict(s.accuracy),
        "excess": float(s.excess),
        "p_value": float(s.p_value),
        "announced": bool(s.announced),
    }


def _fact(fact: Fact) -> Json:
    return {"label": fact.label, "estimate": estimate_dict(fact.estimate)}
