"""Findings on defences as `report.json`, the schema ``privacygauge/1``."""

from __future__ import annotations

from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.defences import AttackedDefence, RiskQuantile, WorstRecord
from privacygauge.report.defences.findings import (
    AfterEpoch,
    BestAttack,
    ComparedDefence,
    ComparedDefences,
)
from privacygauge.report.defences.verdict import verdict
from privacygauge.report.document import SCHEMA, Json, as_text, estimate_dict, left_out
from privacygauge.report.numbers import key


def to_dict(f: ComparedDefences) -> Json:
    """Return the findings as plain values: dicts, lists, strings, numbers, None.

    Parameters
    ----------
    f : ComparedDefences

    Returns
    -------
    dict
        ``undefended``, and ``adaptive``, ``non_adaptive`` and ``left`` of all ``defences``, hold
        together at ``level``; the entries of ``attacks`` each for themselves. ``left`` is what
        counts: the adversary who goes furthest, who may undo the defence where ``can_be_undone``.
        Where models were trained: ``n_shadows``, the ``curve`` of the undefended training by
        epoch, and for each defence whether it is ``at_training``, ``early_stopping`` at the same
        accuracy (null where there is none), and the ``claim`` of an accountant.
        Of single records it has the ids, the membership and the risk of those at the highest risk.
    """
    found = verdict(f)
    return {
        "schema": SCHEMA,
        "command": f.command,
        "version": f.version,
        "seed": int(f.seed),
        "level": float(f.level),
        "n_in": int(f.n_in),
        "n_out": int(f.n_out),
        "fitted": f.fitted,
        "verdict": {
            "grade": found.grade,
            "headline": found.headline,
            "sentences": list(found.sentences),
            "advice": list(found.advice),
        },
        "best": f.best.title,
        "undefended": {
            **_best(f.none),
            "epsilon": estimate_dict(f.undefended.epsilon),
            "mean_risk": estimate_dict(f.risk.mean),
        },
        **_trained(f),
        "defences": [_defence(c, trained=f.n_shadows > 0) for c in f.compared],
        "skipped": left_out(f.skipped),
        "warnings": list(f.warnings),
        "provenance": dict(sorted(f.provenance.items())),
    }


def to_json(f: ComparedDefences) -> str:
    """Return `to_dict` as strict JSON in ASCII: equal findings give equal text."""
    return as_text(to_dict(f))


def _trained(f: ComparedDefences) -> Json:
    """Return what there is to say of models that were trained here."""
    if not f.n_shadows:
        return {}
    return {"n_shadows": int(f.n_shadows), "curve": [_epoch(point) for point in f.curve]}


def _epoch(point: AfterEpoch) -> Json:
    return {
        "epoch": int(point.epoch),
        "train_accuracy": estimate_dict(point.train_accuracy),
        "model_accuracy": estimate_dict(point.accuracy),
        **_best(point.best),
    }


def _at_training(c: ComparedDefence) -> Json:
    claim = c.claim
    return {
        "at_training": bool(c.at_training),
        "early_stopping": _epoch(c.stopped) if isinstance(c.stopped, AfterEpoch) else None,
        **({"no_early_stopping": c.stopped.reason} if isinstance(c.stopped, Skipped) else {}),
        "claim": None if claim is None else {"epsilon": claim.epsilon, "delta": claim.delta},
    }


def _defence(c: ComparedDefence, *, trained: bool) -> Json:
    judged = c.judged
    return {
        **(_at_training(c) if trained else {}),
        "name": judged.name,
        "variant": judged.variant,
        "can_be_undone": bool(c.undone),
        "adaptive": {**_best(c.adaptive), "epsilon": estimate_dict(judged.headline.epsilon)},
        "non_adaptive": _best(c.non_adaptive),
        "left": _best(c.left),
        "distance": estimate_dict(judged.distance),
        "costs": [{"label": x.label, "estimate": estimate_dict(x.estimate)} for x in judged.costs],
        "mean_risk": estimate_dict(judged.risk.mean),
        "risk_quantiles": {key(q.share): _quantile(q) for q in judged.quantiles},
        "worst": [_record(r) for r in judged.worst],
        "attacks": [_attack(a) for a in judged.attacks],
    }


def _best(b: BestAttack) -> Json:
    return {
        "attack": b.attack,
        "accuracy": estimate_dict(b.accuracy),
        "auc_attack": b.auc_attack,
        "auc": estimate_dict(b.auc),
    }


def _quantile(q: RiskQuantile) -> Json:
    return {
        "undefended": estimate_dict(q.undefended),
        "defended": estimate_dict(q.defended),
    }


def _record(r: WorstRecord) -> Json:
    return {
        "id": r.id,
        "member": bool(r.member),
        "undefended": float(r.undefended),
        "defended": float(r.defended),
    }


def _attack(a: AttackedDefence) -> Json:
    found: Json = {"name": a.title, "lost": estimate_dict(a.lost)}
    for adversary, e in a.by_adversary.items():
        found[adversary.replace("-", "_")] = {
            "accuracy": estimate_dict(e.accuracy),
            "auc": estimate_dict(e.auc),
        }
    return found
