"""What an audit of defences found, for programs: tables, and the keys of its JSON."""

from __future__ import annotations

from privacygauge.audits.defences.found import AfterEpoch, ComparedDefence, DefenceAudit
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.best_attack import BestAttack
from privacygauge.report.attacks.data import decided
from privacygauge.report.defended import claim_columns, claim_dict
from privacygauge.report.document import DataFrame, ends, estimate_dict, frame, picked
from privacygauge.report.numbers import key
from privacygauge.report.values import Json


def defences_frame(f: DefenceAudit) -> DataFrame:
    """Return one row for every defence: what it costs, and what the best attack still reaches.

    Columns: ``defence``, ``can_be_undone``, ``attack`` and ``attack_non_adaptive``; of
    ``model_accuracy_before`` and ``_after`` (on non-members), ``distance``, ``accuracy`` and
    ``auc`` (adaptive), ``accuracy_non_adaptive``, ``auc_non_adaptive``, and for each quantile
    of the members' risk score ``risk_0.5_before`` and ``_after``: the value, ``_low`` and
    ``_high``. Where models were trained also ``at_training``, ``epsilon``, ``delta`` and the
    ``accountant``, and of early stopping at the same accuracy ``stopped_epoch``,
    ``stopped_model_accuracy`` and ``stopped_accuracy`` (what the best attack reaches).
    """
    return frame([{**_row(c), **(_trained_row(c) if f.n_shadows else {})} for c in f.compared])


def epochs_frame(f: DefenceAudit) -> DataFrame:
    """Return one row for every recorded epoch of the undefended training."""
    rows = [
        {
            "epoch": point.epoch,
            "attack": point.best.attack,
            **ends("train_accuracy", point.train_accuracy),
            **ends("model_accuracy", point.accuracy),
            **ends("accuracy", point.best.accuracy),
            **ends("auc", point.best.auc),
        }
        for point in f.curve
    ]
    return frame(rows)


def _row(c: ComparedDefence) -> dict[str, object]:
    row: dict[str, object] = {
        "defence": c.title,
        "can_be_undone": c.undone,
        "attack": c.adaptive.attack,
        "attack_non_adaptive": c.non_adaptive.attack,
        **ends("model_accuracy_before", c.before),
        **ends("model_accuracy_after", c.after),
        **ends("distance", c.judged.distance),
        **ends("accuracy", c.adaptive.accuracy),
        **ends("auc", c.adaptive.auc),
        **ends("accuracy_non_adaptive", c.non_adaptive.accuracy),
        **ends("auc_non_adaptive", c.non_adaptive.auc),
    }
    for q in c.judged.quantiles:
        row |= ends(f"risk_{q.share:g}_before", q.undefended)
        row |= ends(f"risk_{q.share:g}_after", q.defended)
    return row


def _trained_row(c: ComparedDefence) -> dict[str, object]:
    early = c.stopped if isinstance(c.stopped, AfterEpoch) else None
    return {
        "at_training": c.at_training,
        **claim_columns(c.claim),
        "against_early_stopping": c.worth or None,
        "stopped_epoch": early.epoch if early else None,
        **ends("stopped_model_accuracy", early.accuracy if early else None),
        **ends("stopped_accuracy", early.best.accuracy if early else None),
    }


def data(f: DefenceAudit) -> dict[str, Json]:
    """Return the keys that reports of this kind alone have.

    ``undefended``, and ``adaptive``, ``non_adaptive`` and ``left`` of all ``defences``, hold
    together at ``level``; the entries of ``attacks`` each by itself. ``left`` is what counts: the
    adversary who goes furthest, who may undo the defence where ``can_be_undone``. Where models
    were trained: ``n_shadows``, the ``curve`` of the undefended training by epoch, and for each
    defence whether it is ``at_training``, ``early_stopping`` at the same accuracy (null where
    there is none), and the ``claim`` of an accountant. Of single records it has the ids, the
    membership and the risk of those at the highest risk.
    """
    at_training = bool(f.n_shadows)
    curve: list[Json] = [_epoch(point) for point in f.curve]
    return {
        **picked(f, "n_in", "n_out", "fitted"),
        "best": f.best.title,
        "undefended": {
            **_best(f.none),
            "epsilon": estimate_dict(f.undefended.epsilon),
            "mean_risk": estimate_dict(f.risk.mean),
        },
        **({"n_shadows": f.n_shadows, "curve": curve} if at_training else {}),
        "defences": [
            {**(_at_training(c) if at_training else {}), **_defence(c)} for c in f.compared
        ],
    }


def _epoch(point: AfterEpoch) -> dict[str, Json]:
    return {
        **picked(point, "epoch", "train_accuracy", model_accuracy="accuracy"),
        **_best(point.best),
    }


def _at_training(c: ComparedDefence) -> dict[str, Json]:
    return {
        "at_training": bool(c.at_training),
        "early_stopping": _epoch(c.stopped) if isinstance(c.stopped, AfterEpoch) else None,
        **({"no_early_stopping": c.stopped.reason} if isinstance(c.stopped, Skipped) else {}),
        "claim": claim_dict(c.claim),
    }


def _defence(c: ComparedDefence) -> dict[str, Json]:
    judged = c.judged
    return {
        **picked(judged, "name", "variant", "distance", "costs", "worst"),
        "can_be_undone": c.undone,
        "adaptive": {**_best(c.adaptive), "epsilon": estimate_dict(judged.headline.epsilon)},
        "non_adaptive": _best(c.non_adaptive),
        "left": _best(c.left),
        "mean_risk": estimate_dict(judged.risk.mean),
        "risk_quantiles": {
            key(q.share): picked(q, "undefended", "defended") for q in judged.quantiles
        },
        "attacks": [
            {
                **picked(a, "lost", name="title"),
                **{
                    adversary.replace("-", "_"): picked(e, "accuracy", "auc")
                    for adversary, e in a.by_adversary.items()
                },
            }
            for a in judged.attacks
        ],
    }


def _best(b: BestAttack) -> dict[str, Json]:
    return {
        **picked(b, "attack", "accuracy", "auc_attack", "auc"),
        "reached": estimate_dict(b.reached.accuracy),
        "decided": decided(b.reached),
    }
