"""`--fail-above`: whether an audit lets a release pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.findings import Findings, Headline
from privacygauge.evaluate.risk import Risk
from privacygauge.report import synthetic
from privacygauge.report import verdict as verdict_of_attacks
from privacygauge.report.holdout.findings import AttackFindings, BoundFindings
from privacygauge.report.leaderboard.findings import LeaderboardFindings
from privacygauge.report.limits import Limit, parsed_limits
from privacygauge.report.synthetic import released
from privacygauge.report.synthetic.findings import SyntheticFindings
from privacygauge.report.synthetic.released_findings import ReleasedFindings
from privacygauge.report.verdict import UNKNOWN, Verdict

_METRICS: dict[str, Callable[[Findings], list[Estimate]]] = {
    "accuracy": lambda f: [e.accuracy for e in f.evaluations],
    "advantage": lambda f: [e.advantage for e in f.evaluations],
    "auc": lambda f: [e.auc for e in f.evaluations],
    "epsilon": lambda f: [f.headline.epsilon],
    "risk": lambda f: [f.risk.mean] if isinstance(f.risk, Risk) else [],
    "tpr@0.1": lambda f: _rates(f, 0.1),
    "tpr@0.01": lambda f: _rates(f, 0.01),
    "tpr@0.001": lambda f: _rates(f, 0.001),
}
_OF_SYNTHETIC: dict[str, Callable[[SyntheticFindings], Estimate]] = {
    "auc": lambda f: f.headline.auc,
    "worst": lambda f: f.headline.worst.auc,
    "epsilon": lambda f: f.headline.worst.epsilon,
}
METRICS = tuple(name for metric in _METRICS for name in (metric, f"{metric}.low"))
"""What an audit of attacks may be held to."""

METRICS_OF_SYNTHETIC = tuple(name for metric in _OF_SYNTHETIC for name in (metric, f"{metric}.low"))
"""What an audit of a generator may be held to."""

METRICS_OF_RELEASED = tuple(
    name
    for metric in ("accuracy", "auc", "epsilon", "singling-out", "linkability", "inference")
    for name in (metric, f"{metric}.low")
)
"""What an audit of a released table may be held to."""

_OF_BOUND = {
    "honest": "honest_best_of_k",
    "nb": "nb",
    "majority": "majority",
    "scan": "linear_scan",
    "kl": "kl",
    "theorem-3-1": "theorem_3_1",
}
METRICS_OF_BOUND = ("bias", *_OF_BOUND)
"""What bounds on the reuse of a test set may be held to."""

METRICS_OF_LOG = ("findings", "suspects", "explained")
"""What a leaderboard's history may be held to."""

METRICS_OF_ATTACK = ("bias", "bias.low", "accuracy", "accuracy.low")
"""What attacks on a test set may be held to."""


def parse_limits(texts: list[str] | None, metrics: Collection[str] = METRICS) -> tuple[Limit, ...]:
    """Return the limits in texts such as ``accuracy=0.6``."""
    return parsed_limits(texts, metrics)


def exceeded(findings: Findings, limits: tuple[Limit, ...]) -> list[str]:
    """Return a line for every limit that the findings exceed, or that could not be checked."""
    return _lines(limits, lambda metric: measured(findings, metric), verdict_of_attacks(findings))


def exceeded_by_synthetic(findings: SyntheticFindings, limits: tuple[Limit, ...]) -> list[str]:
    """Return a line for every limit that the findings exceed."""

    def measure(metric: str) -> float:
        name, low = metric.removesuffix(".low"), metric.endswith(".low")
        estimate = _OF_SYNTHETIC[name](findings)
        # A bound on epsilon has one honest number: its lower end.
        return estimate.low if low or name == "epsilon" else estimate.value

    return _lines(limits, measure, synthetic.verdict(findings))


def exceeded_by_released(findings: ReleasedFindings, limits: tuple[Limit, ...]) -> list[str]:
    """Return a line for every limit that the findings exceed, or that could not be checked."""

    def measure(metric: str) -> float | None:
        name, low = metric.removesuffix(".low"), metric.endswith(".low")
        if name in _METRICS:
            if findings.headline is None:
                return None
            return _of_headline(findings.headline, name, low)
        risks = [r.risk for r in findings.risks if r.name == name and r.risk is not None]
        return max((risk.low if low else risk.value for risk in risks), default=None)

    return _lines(limits, measure, released.verdict(findings))


def exceeded_by_bound(findings: BoundFindings, limits: tuple[Limit, ...]) -> list[str]:
    """Return a line for every limit that the findings exceed, or that could not be checked."""

    def measure(metric: str) -> float | None:
        if metric != "bias":
            return findings.bias(_OF_BOUND[metric]).value
        return None if findings.strongest is None else findings.strongest.value

    return _lines(limits, measure)


def exceeded_by_attack(findings: AttackFindings, limits: tuple[Limit, ...]) -> list[str]:
    """Return a line for every limit that the strongest attack exceeds."""

    def measure(metric: str) -> float | None:
        # The best of several: the corrected interval allows for the choice.
        found = {
            "bias": findings.worst.bias.value,
            "bias.low": findings.worst.corrected.low,
            "accuracy": findings.worst.accuracy.value,
            "accuracy.low": findings.worst.baseline + findings.worst.corrected.low,
        }
        # After a single trial no lower end is known.
        return found[metric] if math.isfinite(found[metric]) else None

    return _lines(limits, measure)


def exceeded_by_log(findings: LeaderboardFindings, limits: tuple[Limit, ...]) -> list[str]:
    """Return a line for every limit that the findings exceed, or that could not be checked."""
    measured: dict[str, float | None] = {
        "findings": len(findings.findings),
        "suspects": len(findings.suspects),
        "explained": findings.winner.explained,
    }
    return _lines(limits, measured.__getitem__)


def _of_headline(headline: Headline, name: str, low: bool) -> float:
    if name == "epsilon":
        return headline.epsilon.low
    found = headline.accuracy if name == "accuracy" else headline.attack.auc
    return found.low if low else found.value


def _lines(
    limits: tuple[Limit, ...],
    measure: Callable[[str], float | None],
    verdict: Verdict | None = None,
) -> list[str]:
    lines = []
    if limits and verdict is not None and verdict.grade == UNKNOWN:
        # A number below its limit is no evidence then.
        lines.append(f"no limit can be checked: {verdict.headline}")
    for limit in limits:
        found = measure(limit.metric)
        if found is None:
            lines.append(f"{limit.metric} was not computed, so its limit cannot be checked")
        elif found > limit.value:
            lines.append(f"{limit.metric} is {found:.4g}, above the limit of {limit.value:g}")
    return lines


def measured(findings: Findings, metric: str) -> float | None:
    """Return the metric's highest value over all attacks; None where it was not computed."""
    name, low = metric.removesuffix(".low"), metric.endswith(".low")
    if metric == "accuracy.low":
        # The best of many attacks: the headline's interval allows for the choice.
        return findings.headline.accuracy.low
    # A bound on epsilon has one honest number: its lower end.
    low = low or name == "epsilon"
    values = [e.low if low else e.value for e in _METRICS[name](findings)]
    return max(values) if values else None


def _rates(findings: Findings, fpr: float) -> list[Estimate]:
    return [r.estimate for e in findings.evaluations for r in e.tpr_at_fpr if r.fpr == fpr]
