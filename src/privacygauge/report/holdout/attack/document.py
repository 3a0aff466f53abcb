"""Findings on attacks on a test set as `report.json`, the schema ``privacygauge/1``."""

from __future__ import annotations

from privacygauge.report.document import SCHEMA, Json, as_text, estimate_dict, finite, left_out
from privacygauge.report.holdout.attack.verdict import verdict
from privacygauge.report.holdout.findings import AttackFindings, Guarded, Result


def to_dict(f: AttackFindings) -> Json:
    """Return the findings as plain values: dicts, lists, strings, numbers, None.

    Parameters
    ----------
    f : AttackFindings

    Returns
    -------
    dict
        ``accuracy``, ``baseline``, ``bias`` and ``queries_used`` are those of the attack and
        guard that are named beside; where there are several, of the pair that goes furthest,
        with the interval of ``bias_corrected`` allowing for the choice. Every pair is in
        ``attacks``. No label is in it.
    """
    found, worst = verdict(f), f.worst
    return {
        "schema": SCHEMA,
        "command": f.command,
        "version": f.version,
        "seed": int(f.seed),
        "level": float(f.level),
        "n": int(f.n),
        "classes": int(f.classes),
        "queries": int(f.queries),
        "trials": int(f.trials),
        "knowledge": f.knowledge,
        "largest_class": float(f.largest_class),
        "model_accuracy": None if f.model_accuracy is None else float(f.model_accuracy),
        **_result(worst),
        "attacks": [_result(r) for r in f.results],
        "guards": [_guarded(g) for g in f.guards],
        "honest_best_of_k": {"bias": float(f.honest), "accuracy": float(f.honest_accuracy)},
        "verdict": {
            "grade": found.grade,
            "headline": found.headline,
            "sentences": list(found.sentences),
            "advice": list(found.advice),
        },
        "skipped": left_out(f.skipped),
        "warnings": list(f.warnings),
        "provenance": dict(sorted(f.provenance.items())),
    }


def to_json(f: AttackFindings) -> str:
    """Return `to_dict` as strict JSON in ASCII: equal findings give equal text."""
    return as_text(to_dict(f))


def _result(r: Result) -> Json:
    return {
        "name": r.attack,
        "guard": r.guard,
        "accuracy": estimate_dict(r.accuracy),
        "baseline": float(r.baseline),
        "bias": estimate_dict(r.bias),
        "bias_corrected": estimate_dict(r.corrected),
        "bias_expected": None if r.expected is None else finite(r.expected),
        "queries_used": float(r.queries_used),
        "needs_points": bool(r.needs_points),
        "informed": bool(r.informed),
    }


def _guarded(g: Guarded) -> Json:
    return {"name": g.guard, "kl": float(g.kl), "error": float(g.error)}
