"""From dealt rounds to an audit: what every audit of a classifier has in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.audits.classifier.doubts import doubts
from privacygauge.audits.classifier.found import Audit
from privacygauge.audits.running import Running
from privacygauge.classifier import caveats
from privacygauge.classifier.groups import sliced
from privacygauge.classifier.pool import LogitPool, Pool
from privacygauge.classifier.predictions import Predictions
from privacygauge.core.attacks.posterior import Estimator
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Play, Round
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.played import GameDescription, Records
from privacygauge.evaluate.playing import (
    audit,
    headline,
    in_file_order,
    played_of,
    risk_of,
    telling,
)
from privacygauge.report import direction


@dataclass(frozen=True, eq=False)
class Asked:
    """What the caller asked for, beside the game."""

    estimator: Estimator | None
    """Of the privacy risk score."""
    columns: Mapping[str, NDArray[Any]]
    """Groups to look at."""
    contents: Mapping[str, NDArray[Any]]
    """Columns to print beside the riskiest records."""


def assemble(
    rounds: Sequence[Round],
    attacks: Sequence[Attack],
    target: Predictions,
    game: GameDescription,
    asked: Asked,
    running: Running,
    *,
    has_shadow: bool,
    skipped: Sequence[Skipped] = (),
    warnings: Sequence[str] = (),
) -> Audit:
    """Return the audit of rounds that were dealt already; their targets are the rows of `target`.

    `has_shadow` is whether the shadow records come from other models, and not from the target's
    other half; `skipped` and `warnings` are known already.
    """
    seed, level = running.seed, running.level
    caveats.require_different(target)
    results = telling(audit(rounds, attacks, seed=seed, level=level))
    played = played_of(results)
    risk, risk_scores = risk_of(rounds, asked.estimator, target.labels, seed, level)
    table = sliced(rounds, target, asked.columns, seed, level)
    facts, differ = caveats.accuracies(*_right_predictions(rounds, has_shadow), level)
    best = headline(played, seed=seed, level=level)
    told = [*target.notes, *warnings, *caveats.unresolved(rounds, has_shadow)]
    told += [*caveats.too_small(target, played[0][1]), *differ, *caveats.uncalibrated(risk)]
    told += direction.warnings(best.inverted)
    doubtful = tuple(doubts(rounds, target, level, has_shadow=has_shadow))
    left_out = [result for result in results if isinstance(result, Skipped)]
    origin = running.origin(
        skipped=(*left_out, *skipped, *table.skipped), warnings=dict.fromkeys((*told, *doubtful))
    )
    return Audit(
        origin,
        game,
        evaluations=tuple(evaluation for _, evaluation in played),
        headline=best,
        risk=risk,
        slices=table,
        records=_records(target, played, risk_scores, asked.contents),
        facts=facts,
        doubts=doubtful,
    )


def _right_predictions(
    rounds: Sequence[Round], has_shadow: bool
) -> tuple[caveats.Rows, caveats.Rows | None]:
    """Return what target and shadow model predict rightly, from the signals of the rounds."""
    right = np.concatenate([r.observation.signals["correctness"] for r in rounds]) == 1.0
    secret = np.concatenate([r.secret for r in rounds])
    ours = right, secret, np.concatenate([r.unit for r in rounds])
    # Without a shadow file the shadow records are the target's own other half.
    shadow = rounds[0].observation.shadow if has_shadow else None
    if shadow is None:
        return ours, None
    return ours, (shadow.signals["correctness"] == 1.0, shadow.member, shadow.unit)


def _records(
    target: Predictions,
    played: Sequence[tuple[Play, Evaluation]],
    risk: Floats,
    contents: Mapping[str, NDArray[Any]],
) -> Records:
    scores: dict[str, Floats] = {}
    guesses: dict[str, Bools] = {}
    for result, evaluation in played:
        order = result.transcript.target
        scores[evaluation.title] = in_file_order(result.transcript.score, order)
        guesses[evaluation.title] = in_file_order(result.decisions.guess, order)
    return Records(target.ids, target.member, scores, guesses, risk, contents, target.unit)


_DRAWN = "drawn by a fair coin for every record: members and non-members differ in nothing else"


_GIVEN = (
    "came with the data: no coins were drawn, so members and non-members may also differ in "
    "other ways than membership, and this audit cannot tell the two apart"
)


def game_description(
    target: Predictions, shadow: Predictions | None, drawn: bool
) -> GameDescription:
    """Return the game on predictions in words."""
    if shadow is None:
        has = "and knows the membership of half of the records, to learn thresholds on"
        learnt = "on the other half of the target's own records, both ways (cross-fitting)"
    else:
        has = f"and has shadow predictions of its own, on {shadow.n_in:,} members and "
        has += f"{shadow.n_out:,} non-members"
        learnt = "on the shadow model's records only"
    return GameDescription(
        "membership inference from predictions",
        "Was this record in the model's training set?",
        "Sees the model's full prediction and the true class of a record (black box), " + has,
        _DRAWN if drawn else _GIVEN,
        learnt,
        target.n_in,
        target.n_out,
    )


def pool_description(
    target: Predictions, pool: Pool | LogitPool, *, drawn: bool, labels: bool = False
) -> GameDescription:
    """Return the game against a pool of shadow models in words; of classes only if `labels`."""
    seen = "the class that the model predicts" if labels else "the model's full prediction"
    return GameDescription(
        "membership inference with shadow models",
        "Was this record in the model's training set?",
        f"Sees {seen} and the true class of a record (black box), knows the "
        "candidate records and how the model is trained, and has trained "
        f"{len(pool)} models of its own on candidates that fair coins put in them",
        _DRAWN if drawn else _GIVEN,
        "on the shadow models' records only",
        target.n_in,
        target.n_out,
    )
