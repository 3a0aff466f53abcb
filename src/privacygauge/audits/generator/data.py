"""What an audit of a generator writes for programs: keys of ``report.json``, a row a record."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.audits.generator.play import SyntheticAudit
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.by_target import RULE, AttackEvaluation, TargetEvaluation
from privacygauge.report.document import estimate_dict, finite, names_of, picked, values_of
from privacygauge.report.numbers import key
from privacygauge.report.values import Json
from privacygauge.synthetic.games.judging import Group

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def data(f: SyntheticAudit) -> dict[str, Json]:
    """Return the keys that reports of this kind alone have.

    An attack's numbers are means over the targets; those of every target are under ``targets``, by
    the attack's title, without the record's contents. The standard deviation of a group of one
    record is None.
    """
    return {
        "game": asdict(f.game),
        "generator": {"name": f.generator, "settings": values_of(f.settings)},
        "sizes": {**asdict(f.sizes), "made": int(f.sizes.n_made)},
        **picked(f, "n_records", "n_tables", "foreseen", "seen_from"),
        "headline": _headline(f),
        "attacks": [_attack(attack) for attack in f.attacks],
        "targets": _targets(f),
        "groups": {group.method: _group(f, group) for group in f.groups},
        "utility": values_of(f.utility if isinstance(f.utility, Skipped) else f.utility.to_dict()),
    }


def _headline(f: SyntheticAudit) -> dict[str, Json]:
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


def _attack(attack: AttackEvaluation) -> dict[str, Json]:
    n = len(attack.targets)
    return {
        **picked(attack, "name", "variant", "accuracy", "auc", "true_positives", "false_positives"),
        **picked(attack, "n_in", "n_out", "notes"),
        "thresholds": "none",
        "rule": RULE,
        "tpr_at_fpr": {
            key(fpr): {"value": float(value), "n": n, "method": "mean over targets, no interval"}
            for fpr, value in attack.tpr_at_fpr
        },
        "told": int(np.count_nonzero(attack.told)),
        "own_auc": float(attack.own_auc.mean()),
    }


def _targets(f: SyntheticAudit) -> list[Json]:
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


def _judged(target: TargetEvaluation) -> dict[str, Json]:
    return {
        **picked(target, "auc", "accuracy"),
        "tpr_at_fpr": {
            key(r.fpr): {**estimate_dict(r.estimate), **picked(r, "resolved")}
            for r in target.tpr_at_fpr
        },
        "epsilon": {"low": finite(target.epsilon.low), "limit": finite(target.epsilon_limit)},
    }


def _group(f: SyntheticAudit, group: Group) -> dict[str, Json]:
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


def records_frame(f: SyntheticAudit) -> pd.DataFrame:
    """Return one row for every target.

    Columns: ``row`` of the data, ``id``, ``vulnerability``, ``rank``; and for each attack
    ``auc:TITLE``, ``auc_low:TITLE``, ``auc_high:TITLE``, ``accuracy:TITLE``,
    ``tpr_at_0.1:TITLE``, ``tpr_at_0.01:TITLE``, ``epsilon_low:TITLE``,
    ``epsilon_limit:TITLE``.
    """
    import pandas as pd

    columns: dict[str, NDArray[Any]] = {
        "row": f.targets.rows,
        "id": names_of(f.targets.ids),
        "vulnerability": f.targets.scores,
        "rank": f.targets.ranks,
    }
    for attack in f.attacks:
        columns |= {f"{name}:{attack.title}": x for name, x in _numbers(attack).items()}
    return pd.DataFrame(columns)


def _numbers(attack: AttackEvaluation) -> dict[str, NDArray[Any]]:
    targets = attack.targets
    fprs = [fpr for fpr, _ in attack.tpr_at_fpr]
    rates = np.array([[r.estimate.value for r in target.tpr_at_fpr] for target in targets])
    return {
        "auc": attack.aucs,
        "auc_low": np.array([target.auc.low for target in targets]),
        "auc_high": np.array([target.auc.high for target in targets]),
        "accuracy": np.array([target.accuracy.value for target in targets]),
        **{f"tpr_at_{key(fpr)}": rates[:, place] for place, fpr in enumerate(fprs)},
        "epsilon_low": np.array([target.epsilon.low for target in targets]),
        "epsilon_limit": np.array([target.epsilon_limit for target in targets]),
    }
