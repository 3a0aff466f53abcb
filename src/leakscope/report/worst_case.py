"""Findings on canaries and ordinary records as text and as JSON."""

from __future__ import annotations

from leakscope.core.estimate import Estimate
from leakscope.evaluate.rate_at_fpr import RateAtFpr
from leakscope.evaluate.worst_case import TargetRisk, WorstCaseFindings
from leakscope.report.document import Json, as_text, estimate_dict, left_out
from leakscope.report.numbers import key, percent, rate

SCHEMA = "leakscope/worst-case/1"
"""Of the JSON: it has no verdict, so it is no report that a register could read."""


def summary(f: WorstCaseFindings) -> str:
    """Return the highest true-positive rates of both groups as plain text."""
    groups = (f.canaries, f.ordinary)
    lines = [
        f"{f.model}: accuracy on records that were left out {_shown(f.test_accuracy)}",
        f"{f.canaries.n_targets:,} canaries ({f.label}) and {f.ordinary.n_targets:,} ordinary "
        f"records; {f.canaries.n_models} models, each of them the target once",
    ]
    for fpr in (found.fpr for found in f.canaries.attacks[0].rates):
        lines += [_rate_line(group, fpr) for group in groups]
    lines += [f"AUC, {group.name}: {group.highest_auc.value:.3f}" for group in groups]
    lines.append(
        f"Intervals of rates at {rate(f.level)}, corrected for the choice among "
        f"{len(f.canaries.attacks)} attacks."
    )
    return "\n".join([*lines, *(f"Warning: {text}" for text in f.warnings)])


def to_json(f: WorstCaseFindings) -> str:
    """Return `to_dict` as strict JSON in ASCII."""
    return as_text(to_dict(f))


def to_dict(f: WorstCaseFindings) -> Json:
    """Return the findings as plain values; no single record is in it."""
    return {
        "schema": SCHEMA,
        "command": "audit_worst_case",
        "seed": int(f.seed),
        "level": float(f.level),
        "model": f.model,
        "label": f.label,
        "test_accuracy": estimate_dict(f.test_accuracy),
        "targets": [_group(group) for group in (f.canaries, f.ordinary)],
        "skipped": left_out(f.skipped),
        "warnings": list(f.warnings),
    }


def _rate_line(group: TargetRisk, fpr: float) -> str:
    attack, best = group.highest(fpr)
    doubt = "" if best.resolved else "; too few records to tell"
    shown = f"{_shown(best.estimate)} by {attack}{doubt}"
    return f"TPR at {rate(fpr)} FPR, {group.name}: {shown}"


def _group(group: TargetRisk) -> Json:
    best = [(known.fpr, *group.highest(known.fpr)) for known in group.attacks[0].rates]
    return {
        "name": group.name,
        "n_targets": group.n_targets,
        "n_models": group.n_models,
        "highest": {key(fpr): {"attack": name, **_rate(found)} for fpr, name, found in best},
        "attacks": [
            {
                "name": attacked.attack,
                "auc": estimate_dict(attacked.auc),
                "tpr_at_fpr": {key(found.fpr): _rate(found) for found in attacked.rates},
            }
            for attacked in group.attacks
        ],
    }


def _rate(found: RateAtFpr) -> Json:
    return {**estimate_dict(found.estimate), "resolved": found.resolved}


def _shown(estimate: Estimate) -> str:
    return f"{percent(estimate.value)} ({percent(estimate.low)} to {percent(estimate.high)})"
