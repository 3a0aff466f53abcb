"""What may mislead whoever reads an audit of a classifier, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from privacygauge.classifier.game import PredictionObservation
from privacygauge.classifier.pool_game import WORLD_SIGNAL
from privacygauge.classifier.predictions import Predictions
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.game import Round
from privacygauge.errors import InputError
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Fact
from privacygauge.evaluate.rates import difference, proportion
from privacygauge.evaluate.risk import Risk

Rows: TypeAlias = tuple[Bools, Bools, Ints]
"""Of a model: where its prediction is right, where the record was a member, and whose it is."""


UNRESOLVED = 0.001
"""Smaller shares of saturated predictions are not worth a warning."""


def missing_classes(target: Predictions, shadow: Predictions | None, allowed: bool) -> list[str]:
    """Return a warning where classes lack shadow records, or raise where that is not allowed."""
    if shadow is None:
        return []
    missing = np.setdiff1d(target.labels, shadow.labels)
    if not len(missing):
        return []
    shown = checks.listed(missing)
    if not allowed:
        raise InputError(
            f"class(es) {shown} of the target have no shadow records, so they have no thresholds "
            "of their own: add shadow predictions for them, or allow missing classes to use the "
            "global threshold there (--allow-missing-classes)"
        )
    return [f"class(es) {shown} have no shadow records and use the global threshold"]


def require_other_rows(target: Predictions, shadow: Predictions | None) -> None:
    """Raise where target and shadow are the same predictions, or of different classes."""
    if shadow is not None and all(
        np.array_equal(getattr(target, field), getattr(shadow, field))
        for field in ("labels", "member", "values")
    ):
        raise InputError(
            "target and shadow hold the same predictions, so thresholds would be learnt on the "
            "rows they are judged on: give another model's, or none to cross-fit"
        )
    if shadow is not None and target.classes and target.classes != shadow.classes:
        theirs = checks.listed(shadow.classes) or "numbers"
        raise InputError(
            f"the target's classes are {checks.listed(target.classes)}, the shadow's {theirs}: "
            "both must come from the same task"
        )


def require_different(target: Predictions) -> None:
    """Raise where the model answers the same to all records: there is nothing to attack."""
    if (target.values == target.values[0]).all():
        raise InputError(
            "the target's predictions are the same for every record, so no attack can tell records "
            "apart: give the model's own outputs, one row a record"
        )


def accuracies(
    target: Rows, shadow: Rows | None, level: float
) -> tuple[tuple[Fact, ...], list[str]]:
    """Return the models' accuracies, and warnings where target and shadow differ."""
    facts, warnings = [], []
    ours = _sides(target)
    theirs = None if shadow is None else _sides(shadow)
    for name, model in (("target", ours), ("shadow", theirs)):
        for side, (hits, units) in ({} if model is None else model).items():
            estimate = proportion(hits, units, level)
            facts.append(Fact(f"accuracy of the {name} model on {side}", estimate))
    if theirs is not None:
        for side, (hits, units) in ours.items():
            others, owners = theirs[side]
            gap = difference(hits, others, level, owners=(units, owners))
            if gap.excludes(0.0) and abs(gap.value) > 0.02:
                warnings.append(
                    f"the target's accuracy on {side} differs from the shadow model's by "
                    f"{100 * gap.value:+.1f} points ({100 * gap.low:+.1f} to "
                    f"{100 * gap.high:+.1f}): thresholds and risk scores learnt on the shadow may "
                    "not fit the target; see the risk score's calibration"
                )
    return tuple(facts), warnings


def beside_shadow(target: Predictions, shadow: Predictions, level: float) -> list[str]:
    """Return warnings where classes lack shadow records, or target and shadow differ."""
    missing = missing_classes(target, shadow, True)
    ours, theirs = (
        (x.values.argmax(axis=1) == x.labels, x.member, x.units) for x in (target, shadow)
    )
    return [*missing, *accuracies(ours, theirs, level)[1]]


def _sides(rows: Rows) -> dict[str, tuple[Bools, Ints]]:
    right, member, unit = rows
    sides = {"members": member, "non-members": ~member}
    return {name: (right[side], unit[side]) for name, side in sides.items()}


def too_small(target: Predictions, evaluation: Evaluation) -> list[str]:
    """Return warnings about what so many records cannot tell."""
    rates = ", ".join(f"{100 * r.fpr:g}%" for r in evaluation.tpr_at_fpr if not r.resolved)
    told = (
        f"{target.n_out:,} non-members cannot resolve a false-positive rate of {rates}: fewer than "
        "10 false positives are expected there, and the intervals are wide"
    )
    return [told] if rates else []


def unresolved(rounds: Sequence[Round], has_shadow: bool) -> list[str]:
    """Return a warning where rounding to 0 or 1 left predictions without a logit of their own."""
    seen = [r.observation for r in rounds if isinstance(r.observation, PredictionObservation)]
    if not seen or seen[0].resolved is None:
        return []
    resolved, shadow = seen[0].resolved, seen[0].shadow if has_shadow else None
    logit = np.concatenate([one.signals[WORLD_SIGNAL] for one in seen])
    labels = np.concatenate([one.stratum for one in seen])
    shares = {"the target's": resolved.unresolved(logit, labels).mean()}
    if seen[0].worlds is not None:
        # Several queries lie behind the records.
        worlds = resolved.unresolved(
            np.moveaxis(seen[0].worlds.block(slice(None))[0], 1, -1), labels
        )
        shares["the shadow models'"] = worlds.mean()
    elif shadow is not None:
        rows = resolved.unresolved(shadow.signals[WORLD_SIGNAL], shadow.stratum)
        shares["the shadow model's"] = rows.mean()
    if max(shares.values()) < UNRESOLVED:
        return []
    shown = " and ".join(
        f"{float(f'{100 * share:.2g}'):g}% of {whose}" for whose, share in shares.items()
    )
    bound = np.log1p(-resolved.least.max()) - np.log(resolved.least.max())
    return [
        f"{shown} predictions are saturated, rounded to 0 or 1: their logits are bounded by the "
        f"resolution of the input, at {bound:.1f}, and cannot be told apart; save logits where the "
        "model has them"
    ]


def uncalibrated(risk: Risk) -> list[str]:
    """Return a warning where the risk score is far from the realised share of members."""
    rmse, noise = risk.reliability.rmse, risk.reliability.noise
    if rmse.low <= noise + 0.05:
        return []
    return [
        f"the privacy risk score is off by {rmse.value:.2f} on average ({rmse.low:.2f} to "
        f"{rmse.high:.2f}; chance alone gives {noise:.2f}): read it as a ranking of the records, "
        "not as a probability"
    ]
