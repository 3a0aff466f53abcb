"""Findings on a generator as `report.json`, the schema ``privacygauge/1``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.by_target import RULE, AttackEvaluation, TargetEvaluation
from privacygauge.evaluate.rate_at_fpr import RateAtFpr
from privacygauge.report.document import SCHEMA, Json, as_text, estimate_dict, finite, left_out
from privacygauge.report.numbers import key
from privacygauge.report.synthetic.findings import Group, SyntheticFindings
from privacygauge.report.synthetic.verdict import verdict
from privacygauge.report.tables import names_of
from privacygauge.synthetic.utility.summary import Utility


def to_dict(f: SyntheticFindings) -> Json:
    """Return the findings as plain values: dicts, lists, strings, numbers, None.

    Parameters
    ----------
    f : SyntheticFindings

    Returns
    -------
    dict
        As for an audit of a model, an estimate is a dict of value, low, high, level, n and
        method, and infinity is None. An attack's numbers are means over the targets; those of
        every target are under ``targets``, by the attack's title, without the record's contents.
        The standard deviation of a group of one record is None.
    """
    found = verdict(f)
    return {
        "schema": SCHEMA,
        "command": f.command,
        "version": f.version,
        "seed": int(f.seed),
        "level": float(f.level),
        "game": asdict(f.game),
        "generator": {"name": f.generator, "settings": _plain(f.settings)},
        "sizes": {**asdict(f.sizes), "made": int(f.sizes.n_made)},
        "n_records": int(f.n_records),
        "n_tables": int(f.n_tables),
        "verdict": {
            "grade": found.grade,
            "headline": found.headline,
            "sentences": list(found.sentences),
            "advice": list(found.advice),
        },
        "headline": _headline(f),
        "attacks": [_attack(attack) for attack in f.attacks],
        "targets": _targets(f),
        "groups": {group.method: _group(f, group) for group in f.groups},
        "foreseen": estimate_dict(f.foreseen),
        "utility": _utility(f.utility),
        "skipped": left_out(f.skipped),
        "warnings": list(f.warnings),
        "provenance": dict(sorted(f.provenance.items())),
    }


def to_json(f: SyntheticFindings) -> str:
    """Return `to_dict` as strict JSON in ASCII: equal findings give equal text."""
    return as_text(to_dict(f))


def _headline(f: SyntheticFindings) -> Json:
    i = f.headline.target
    return {
        "attack": f.best.title,
        "auc": estimate_dict(f.headline.auc),
        "told": int(np.count_nonzero(f.best.told)),
        "n_targets": len(f.targets),
        "target": {
            "row": int(f.targets.rows[i]),
            "id": names_of(f.targets.ids[i : i + 1]).tolist()[0],
            **_judged(f.headline.worst),
        },
        "epsilon": estimate_dict(f.headline.worst.epsilon),
        "epsilon_limit": finite(f.headline.worst.epsilon_limit),
    }


def _attack(attack: AttackEvaluation) -> Json:
    n = len(attack.targets)
    return {
        "name": attack.name,
        "variant": attack.variant,
        "thresholds": "none",
        "rule": RULE,
        "accuracy": estimate_dict(attack.accuracy),
        "auc": estimate_dict(attack.auc),
        "tpr_at_fpr": {
            key(fpr): {"value": float(value), "n": n, "method": "mean over targets, no interval"}
            for fpr, value in attack.tpr_at_fpr
        },
        "told": int(np.count_nonzero(attack.told)),
        "own_auc": float(attack.own_auc.mean()),
        "true_positives": int(attack.true_positives),
        "false_positives": int(attack.false_positives),
        "n_in": int(attack.n_in),
        "n_out": int(attack.n_out),
        "notes": list(attack.notes),
    }


def _targets(f: SyntheticFindings) -> list[Json]:
    ids = names_of(f.targets.ids).tolist()
    chosen = [set(group.positions.tolist()) for group in f.groups]
    return [
        {
            "row": int(f.targets.rows[i]),
            "id": ids[i],
            "vulnerability": finite(f.targets.scores[i]),
            "rank": int(f.targets.ranks[i]),
            "chosen": [g.method for g, those in zip(f.groups, chosen, strict=True) if i in those],
            "attacks": {attack.title: _judged(attack.targets[i]) for attack in f.attacks},
        }
        for i in range(len(f.targets))
    ]


def _judged(target: TargetEvaluation) -> Json:
    return {
        "auc": estimate_dict(target.auc),
        "accuracy": estimate_dict(target.accuracy),
        "tpr_at_fpr": {key(r.fpr): _rate(r) for r in target.tpr_at_fpr},
        "epsilon": {
            "low": finite(target.epsilon.low),
            "limit": finite(target.epsilon_limit),
        },
    }


def _rate(rate: RateAtFpr) -> Json:
    return {**estimate_dict(rate.estimate), "resolved": bool(rate.resolved)}


def _group(f: SyntheticFindings, group: Group) -> Json:
    n = len(group.positions)
    rows = zip(f.attacks, group.means, group.deviations, strict=True)
    return {
        attack.title: {
            "mean": estimate_dict(mean),
            "sd": finite(deviation) if n > 1 else None,
            "n": n,
        }
        for attack, mean, deviation in rows
    }


def _utility(found: Utility | Skipped) -> Json:
    return {"skipped": found.reason} if isinstance(found, Skipped) else _plain(found.to_dict())


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; what it does not know becomes text."""
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float):
        return finite(value)
    return value if value is None or isinstance(value, str | int) else str(value)
