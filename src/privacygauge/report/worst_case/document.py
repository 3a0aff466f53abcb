"""Findings on worst-case records as JSON, the schema ``privacygauge/worst-case/1``."""

from __future__ import annotations

from privacygauge.evaluate.rate_at_fpr import RateAtFpr
from privacygauge.evaluate.worst_case import TargetRisk, WorstCaseFindings
from privacygauge.report.document import Json, as_text, estimate_dict, left_out
from privacygauge.report.numbers import key
from privacygauge.report.worst_case.findings import AttackedTraining, ComparedWorstCases
from privacygauge.report.worst_case.verdict import verdict

SCHEMA = "privacygauge/worst-case/1"
"""Names the format; another number when a key is taken away or changes its meaning."""


def to_dict(f: ComparedWorstCases) -> Json:
    """Return the findings as plain values: dicts, lists, strings, numbers, None.

    Parameters
    ----------
    f : ComparedWorstCases

    Returns
    -------
    dict
        ``trainings``, without a defence first; in each both groups of ``targets`` with what the
        best attack reaches (``highest`` and ``highest_auc``, all of which hold together at
        ``level``) and every attack for itself. ``fpr`` is the rate that the verdict speaks of,
        ``changed_places`` pairs of titles: by ordinary records the first gives less away, by
        canaries more. No single record is in it.
    """
    found = verdict(f)
    return {
        "schema": SCHEMA,
        "command": f.command,
        "version": f.version,
        "seed": int(f.seed),
        "level": float(f.level),
        "label": f.none.found.label,
        "n_together": int(f.n_together),
        "fpr": float(f.fpr),
        "verdict": {
            "grade": found.grade,
            "headline": found.headline,
            "sentences": list(found.sentences),
            "advice": list(found.advice),
        },
        "best": f.best.title,
        "changed_places": [[a.title, b.title] for a, b in f.changed_places],
        "trainings": [_training(training) for training in f.trainings],
        "skipped": left_out(f.skipped),
        "warnings": list(f.warnings),
        "provenance": dict(sorted(f.provenance.items())),
    }


def to_json(f: ComparedWorstCases) -> str:
    """Return `to_dict` as strict JSON in ASCII: equal findings give equal text."""
    return as_text(to_dict(f))


def of_training(f: WorstCaseFindings) -> Json:
    """Return the findings on one training as plain values; no single record is in it.

    The keys are those of a comparison with this training alone, without a verdict: so it is no
    report that a register could read.
    """
    return {
        "schema": SCHEMA,
        "command": "audit_worst_case",
        "seed": int(f.seed),
        "level": float(f.level),
        "label": f.label,
        "trainings": [_training(AttackedTraining(f.model, f))],
        "skipped": left_out(f.skipped),
        "warnings": list(f.warnings),
    }


def _training(training: AttackedTraining) -> Json:
    claim = training.claim
    return {
        "title": training.title,
        "model": training.found.model,
        "claim": None if claim is None else {"epsilon": claim.epsilon, "delta": claim.delta},
        "test_accuracy": estimate_dict(training.accuracy),
        "targets": [_group(group) for group in training.found.groups],
    }


def _group(group: TargetRisk) -> Json:
    best = [(known.fpr, *group.highest(known.fpr)) for known in group.attacks[0].rates]
    return {
        "name": group.name,
        "n_targets": group.n_targets,
        "n_models": group.n_models,
        "highest": {key(fpr): {"attack": name, **_rate(found)} for fpr, name, found in best},
        "highest_auc": estimate_dict(group.highest_auc),
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
    return {**estimate_dict(found.estimate), "resolved": bool(found.resolved)}
