"""From dealt rounds to an audit: what every audit of a classifier has in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.audits import caveats
from privacygauge.audits.attacks import audit, headline, in_file_order, played_of, risk_of, telling
from privacygauge.audits.classifier.doubts import doubts
from privacygauge.audits.classifier.found import Audit
from privacygauge.audits.running import Running
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.signals import top_probability
from privacygauge.core import checks, seeds
from privacygauge.core.attacks.posterior import Estimator
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Play, Round, play
from privacygauge.errors import InputError
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.slices import SliceTable, deciles, find_slices
from privacygauge.report import direction
from privacygauge.report.attacks.played import GameDescription, Records

MOST_GROUPS = 200
"""A column with more distinct values is cut into deciles (numbers) or not sliced by (texts)."""


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
    table = _slices(rounds, target, asked.columns, seed, level)
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


def _slices(
    rounds: Sequence[Round],
    target: Predictions,
    columns: Mapping[str, NDArray[Any]],
    seed: int,
    level: float,
) -> SliceTable:
    # The attack is named here, before anything was measured.
    attack = Threshold("modified-entropy", per_class=True)
    rngs = [seeds.stream(seed, "slices", number) for number in range(len(rounds))]
    played = play(attack, rounds, rngs)
    assert isinstance(played, Play)
    order = played.transcript.target
    groups = {
        "class": np.array(target.classes)[target.labels] if target.classes else target.labels,
        "confidence": deciles(top_probability(target)),
        **columns,
    }
    in_order = {name: values[order] for name, values in groups.items()}
    return find_slices(played.decisions, in_order, "modified-entropy (per-class)", level)


def groups_of(
    target: Predictions, slices: Mapping[str, ArrayLike] | Sequence[str] | None
) -> tuple[dict[str, NDArray[Any]], list[Skipped]]:
    """Return the groups of every column to slice by, and the columns that have too many."""
    if isinstance(slices, Mapping):
        chosen = {
            name: checks.vector(values, f"slice {name!r}", length=len(target))
            for name, values in slices.items()
        }
    else:
        chosen = contents_of(target, target.columns if slices is None else slices, " to slice by")
    groups: dict[str, NDArray[Any]] = {}
    reason = f"more than {MOST_GROUPS} different texts: merge some"
    for name, values in chosen.items():
        if len(np.unique(values)) <= MOST_GROUPS and values.dtype.kind != "f":
            groups[name] = values
        elif values.dtype.kind in "iuf":
            groups[name] = deciles(values.astype(np.float64))
    too_many = [Skipped(f"slices by {name}", reason) for name in chosen if name not in groups]
    if too_many and slices is not None:
        raise InputError(f"{too_many[0].name}: {reason}")
    return groups, too_many


def contents_of(
    target: Predictions, names: Iterable[str], use: str = ""
) -> dict[str, NDArray[Any]]:
    """Return columns of the user's by their names; `use` is what they are for, in the message."""
    chosen = list(names)
    missing = [name for name in chosen if name not in target.columns]
    if missing:
        have = ", ".join(target.columns) or "none"
        raise InputError(f"no column {missing[0]!r}{use}; the columns are: {have}")
    return {name: target.columns[name] for name in chosen}


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
