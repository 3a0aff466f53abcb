"""Results of the attacks on a classifier, caveats for the reader, and checks of the inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import fisher_exact, rankdata

from privacygauge.classifiers.game import WORLD_SIGNAL, PredictionObservation
from privacygauge.classifiers.held import numeric
from privacygauge.classifiers.predictions import Predictions
from privacygauge.classifiers.signals import top_probability
from privacygauge.core import checks
from privacygauge.core.attacks.posterior import Estimator, RiskScore
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.game import Attack, Round
from privacygauge.errors import InputError
from privacygauge.evaluate.attacked import PlayedAttacks, Suite, attack_rounds
from privacygauge.evaluate.fairness import Comparison
from privacygauge.evaluate.headline import Fact
from privacygauge.evaluate.rates import difference, proportion
from privacygauge.evaluate.slices import (
    deciles,
)

Rows: TypeAlias = tuple[Bools, Bools, Ints]
"""Rows of one model: whether its prediction is right, membership, and unit."""


UNRESOLVED = 0.001
"""Smallest share of saturated predictions that deserves a warning."""


def missing_classes(target: Predictions, shadow: Predictions | None, allowed: bool) -> list[str]:
    """Return a warning if classes lack shadow records; raise unless that is `allowed`."""
    if shadow is None:
        return []
    missing = np.setdiff1d(target.labels, shadow.labels)
    if not len(missing):
        return []
    shown = checks.short_list(missing)
    if not allowed:
        raise InputError(
            f"class(es) {shown} of the target have no shadow records, so they have no thresholds "
            "of their own: add shadow predictions for them, or allow missing classes to use the "
            "global threshold there (--allow-missing-classes)"
        )
    return [f"class(es) {shown} have no shadow records and use the global threshold"]


def require_other_rows(target: Predictions, shadow: Predictions | None) -> None:
    """Raise if target and shadow are the same predictions, or have different classes."""
    if shadow is not None and all(
        np.array_equal(getattr(target, field), getattr(shadow, field))
        for field in ("labels", "member", "values")
    ):
        raise InputError(
            "target and shadow hold the same predictions, so thresholds would be learnt on the "
            "rows they are judged on: give another model's, or none to cross-fit"
        )
    if shadow is not None and target.classes and target.classes != shadow.classes:
        theirs = checks.short_list(shadow.classes) or "numbers"
        raise InputError(
            f"the target's classes are {checks.short_list(target.classes)}, the shadow's {theirs}: "
            "both must come from the same task"
        )


def without_own_rows(
    target: Predictions, shadow: Predictions
) -> tuple[Predictions, tuple[str, ...]]:
    """Return the shadow rows that are not about target records, and the notes on those dropped.

    A shadow model that was trained on the target's own members, and is asked about them, reveals
    their membership: the attack learns the record, not how members look. Two rows are about the
    same record if their ids are names and equal, or if both files list the same classes in the same
    order and the answers of both models agree beyond the class. Such rows stay if the shadow's
    members were chosen independently of the target's.

    Raises
    ------
    InputError
        If too few other rows are left.
    """
    rows, theirs = _same_records(target, shadow)
    if len(rows) < _FEW_SHARED:
        return shadow, ()
    ours = target.member[rows]
    other = shadow.member[theirs]
    # Rows: members and non-members of the target; columns: those of the shadow.
    counts = [
        [int(np.sum((ours == a) & (other == b))) for b in (True, False)] for a in (True, False)
    ]
    if fisher_exact(counts).pvalue > _BY_CHANCE:
        return shadow, ()
    left = np.setdiff1d(np.arange(len(shadow)), theirs)
    shared = f"{len(theirs):,} of {len(shadow):,} shadow rows are about the target's own records"
    inside = shadow.member[left]
    if min(int(inside.sum()), int((~inside).sum())) < _FEW_SHARED:
        raise InputError(
            f"{shared}, and the shadow model was trained on the target's members: thresholds would "
            "be learnt on the records they are judged on. Give a shadow model of other records, "
            "several shadow models with fair coins (--pool), or none to cross-fit"
        )
    told = f"{shared}, and its members are the target's: they are left out of what is learnt from"
    return shadow[left], (told,)


_FEW_SHARED = 20
"""Fewest shared records that change what is learnt; also the fewest members and non-members that
must remain."""

_BY_CHANCE = 1e-3
"""P-value of Fisher's exact test above which the shadow's members count as chosen independently."""


def _same_records(target: Predictions, shadow: Predictions) -> tuple[Ints, Ints]:
    """Return rows of the target, and the shadow's rows about the same records, (m,) each."""
    _, ours, theirs = np.intersect1d(
        target.ids.astype(str), shadow.ids.astype(str), return_indices=True
    )
    if all(_are_names(side.ids) for side in (target, shadow)):
        return ours.astype(np.int64), theirs.astype(np.int64)
    everyone = np.arange(len(target))
    # Numbers may only count rows: rows are matched by number, then by place, if the answers agree.
    in_order = (everyone, everyone) if len(shadow) == len(target) else (everyone[:0],) * 2
    for rows, others in ((ours, theirs), in_order):
        if not len(rows) or not np.array_equal(target.labels[rows], shadow.labels[others]):
            continue
        # Answers of two models are correlated within class and side only if the records are the
        # same.
        products = _residual_ranks(target)[rows] * _residual_ranks(shadow)[others]
        if float(np.mean(products)) * np.sqrt(len(rows)) > _AGREEING:
            return rows.astype(np.int64), others.astype(np.int64)
    return everyone[:0], everyone[:0]


_AGREEING = 5.0
"""Smallest correlation of two models' ranks, in standard errors, that shows the same records."""


def _are_names(ids: NDArray[Any]) -> bool:
    """Return whether ids name records; numbers with few gaps, 007 too, only count a file's rows."""
    try:
        numbers = ids.astype(str).astype(np.float64)
    except ValueError:
        return True
    return not bool(np.ptp(numbers) < 2 * len(ids))


def _residual_ranks(side: Predictions) -> Floats:
    """Return the standardised rank of each row's confidence within its class and side, (n,)."""
    own = np.take_along_axis(np.asarray(side.values), side.labels[:, None], axis=1)[:, 0]
    result = np.zeros(len(side))
    for kind in np.unique(2 * side.labels + side.member):
        rows = np.flatnonzero(2 * side.labels + side.member == kind)
        if len(rows) > 1:
            rank = rankdata(own[rows])
            result[rows] = (rank - rank.mean()) / max(float(rank.std()), 1e-12)
    return result


def require_varied_answers(target: Predictions) -> None:
    """Raise if all records get the same answer, since there is nothing to attack."""
    if (target.values == target.values[0]).all():
        raise InputError(
            "the target's predictions are the same for every record, so no attack can tell records "
            "apart: give the model's own outputs, one row a record"
        )


def compare_accuracies(
    target: Rows, shadow: Rows | None, level: float
) -> tuple[tuple[Fact, ...], list[str]]:
    """Return the models' accuracies, and warnings if target and shadow differ."""
    facts = []
    warnings = []
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
            # In large files even a negligible gap is significant: it must exceed two points, too.
            if gap.excludes(0.0) and abs(gap.value) > 0.02:
                warnings.append(
                    f"the target's accuracy on {side} differs from the shadow model's by "
                    f"{100 * gap.value:+.1f} points ({100 * gap.low:+.1f} to "
                    f"{100 * gap.high:+.1f}): thresholds and risk scores learnt on the shadow may "
                    "not fit the target; see the risk score's calibration"
                )
    return tuple(facts), warnings


def _sides(rows: Rows) -> dict[str, tuple[Bools, Ints]]:
    right, member, unit = rows
    sides = {"members": member, "non-members": ~member}
    return {name: (right[side], unit[side]) for name, side in sides.items()}


def rounding_warning(rounds: Sequence[Round], has_shadow: bool) -> list[str]:
    """Return a warning if predictions were rounded to 0 or 1, so that their logits are bounds."""
    seen = [r.observation for r in rounds if isinstance(r.observation, PredictionObservation)]
    if not seen or seen[0].resolved is None:
        return []
    resolved = seen[0].resolved
    shadow = seen[0].shadow if has_shadow else None
    logit = np.concatenate([one.signals[WORLD_SIGNAL] for one in seen])
    labels = np.concatenate([one.stratum for one in seen])
    shares = {"the target's": resolved.unresolved(logit, labels).mean()}
    if seen[0].worlds is not None:
        # (k, n, q) becomes (k, q, n), since labels belong to the last axis; (k, n) stays.
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
    # The scaled logit, log(1 - p) - log p, at the smallest resolved p.
    bound = np.log1p(-resolved.least.max()) - np.log(resolved.least.max())
    return [
        f"{shown} predictions are saturated, rounded to 0 or 1: their logits are bounded by the "
        f"resolution of the input, at {bound:.1f}, and cannot be told apart; save logits where the "
        "model has them"
    ]


_TAUGHT = ("learned", "whole-answer")
"""Names of the attacks that learn more than a threshold from known membership."""


ID_BEGINNING = "beginning of the id"
"""Title of the groups of records whose ids begin alike."""


def contents_of(
    target: Predictions, names: Iterable[str], use: str = ""
) -> dict[str, NDArray[Any]]:
    """Return the named columns of the user's table; `use` is their purpose, for error messages."""
    chosen = list(names)
    missing = [name for name in chosen if name not in target.columns]
    if missing:
        have = ", ".join(target.columns) or "none"
        raise InputError(f"no column {missing[0]!r}{use}; the columns are: {have}")
    return {name: target.columns[name] for name in chosen}


def named_columns(*asked: object) -> tuple[str, ...]:
    """Return the names of columns among options, which may hold names, values or nothing."""
    return tuple(
        name
        for names in asked
        if isinstance(names, list | tuple)
        for name in names
        if isinstance(name, str)
    )


def are_columns(features: ArrayLike | Sequence[str] | None) -> bool:
    """Return whether features are given by the names of columns."""
    return isinstance(features, Sequence) and all(isinstance(name, str) for name in features)


def records_of(
    side: Predictions, features: ArrayLike | Sequence[str] | None, name: str
) -> NDArray[Any] | None:
    """Return the records of one side as a matrix of numbers; None where none are given."""
    if features is None or (are_columns(features) and not features):
        return None
    if are_columns(features):
        features = np.column_stack(list(contents_of(side, cast(Sequence[str], features)).values()))
    n = len(side)
    x = np.asarray(features)
    if x.ndim != 2 or len(x) != n or not x.shape[1]:
        raise InputError(
            f"{name} must have the shape ({n}, d), a row for each record, got {x.shape}"
        )
    if numeric(x) is None:
        raise InputError(
            f"{name} must be finite numbers: encode texts, and fill in what is missing"
        )
    return x


def attack_predictions(
    rounds: Sequence[Round],
    attacks: Sequence[Attack],
    target: Predictions,
    estimator: Estimator | None,
    columns: Mapping[str, NDArray[Any]],
    comparison: Comparison,
    seed: int,
    level: float,
    *,
    has_shadow: bool,
) -> PlayedAttacks:
    """Return the results of a suite of attacks on rounds of predictions that are already dealt.

    The targets are the rows of `target`, and `columns` holds their groups. Members and non-members
    are compared on the records of `comparison`, but all records get scores. `has_shadow` says that
    shadow records come from other models, not from the target's other half.
    """
    require_varied_answers(target)
    # Which predictions are right, from the rounds' signals: the target's, and the shadow model's.
    right = np.concatenate([r.observation.signals["correctness"] for r in rounds]) == 1.0
    secret = np.concatenate([r.secret for r in rounds])
    ours = right, secret, np.concatenate([r.unit for r in rounds])
    # Without a shadow file the shadow records are the target's own other half.
    shadow = rounds[0].observation.shadow if has_shadow else None
    theirs = None
    if shadow is not None:
        theirs = shadow.signals["correctness"] == 1.0, shadow.member, shadow.unit
    facts, differ = compare_accuracies(ours, theirs, level)
    names = np.array(target.classes)[target.labels] if target.classes else target.labels
    done = attack_rounds(
        rounds,
        Suite(
            attacks,
            sliced=Threshold("modified-entropy", per_class=True),
            risk=RiskScore(estimator=estimator),
            taught=_TAUGHT,
        ),
        groups={"class": names, "confidence": deciles(top_probability(target)), **columns},
        strata=target.labels,
        comparison=comparison,
        seed=seed,
        level=level,
        facts=facts,
    )
    told = (*rounding_warning(rounds, has_shadow), *differ, *done.warnings)
    return replace(done, warnings=told)
