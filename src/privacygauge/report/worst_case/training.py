"""Findings on the canaries and ordinary records of one training as text and as JSON."""

from __future__ import annotations

from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.worst_case import TargetRisk, WorstCaseFindings
from privacygauge.report.document import as_text
from privacygauge.report.numbers import percent, rate
from privacygauge.report.worst_case.document import of_training


def summary(f: WorstCaseFindings) -> str:
    """Return the highest true-positive rates of both groups as plain text."""
    lines = [
        f"{f.model}: accuracy on records that were left out {_shown(f.test_accuracy)}",
        f"{f.canaries.n_targets:,} canaries ({f.label}) and {f.ordinary.n_targets:,} ordinary "
        f"records; {f.canaries.n_models} models, each of them the target once",
    ]
    for fpr in (found.fpr for found in f.canaries.attacks[0].rates):
        lines += [_rate_line(group, fpr) for group in f.groups]
    lines += [f"AUC, {group.name}: {group.highest_auc.value:.3f}" for group in f.groups]
    lines.append(
        f"Intervals of rates at {rate(f.level)}, corrected for the choice among "
        f"{len(f.canaries.attacks)} attacks."
    )
    return "\n".join([*lines, *(f"Warning: {text}" for text in f.warnings)])


def to_json(f: WorstCaseFindings) -> str:
    """Return the findings as strict JSON in ASCII; no single record is in it."""
    return as_text(of_training(f))


def _rate_line(group: TargetRisk, fpr: float) -> str:
    attack, best = group.highest(fpr)
    doubt = "" if best.resolved else "; too few records to tell"
    shown = f"{_shown(best.estimate)} by {attack}{doubt}"
    return f"TPR at {rate(fpr)} FPR, {group.name}: {shown}"


def _shown(estimate: Estimate) -> str:
    return f"{percent(estimate.value)} ({percent(estimate.low)} to {percent(estimate.high)})"
