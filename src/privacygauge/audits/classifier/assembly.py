"""From dealt rounds to an audit: what every audit of a classifier has in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from privacygauge.audits.classifier.found import Audit
from privacygauge.audits.classifier.verdict import doubts
from privacygauge.audits.running import Running
from privacygauge.classifier.attacked import contents_of, groups_of, played
from privacygauge.classifier.pool import LogitPool, Pool
from privacygauge.classifier.predictions import Predictions
from privacygauge.core.attacks.posterior import Estimator
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Round
from privacygauge.evaluate.played import GameDescription, Records
from privacygauge.report import direction


@dataclass(frozen=True, eq=False)
class Asked:
    """What the caller asked for, beside the game."""

    estimator: Estimator | None
    """Of the privacy risk score."""
    slices: Mapping[str, ArrayLike] | Sequence[str] | None
    """Groups to look at; all columns by default."""
    shown: Sequence[str] = ()
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
    level, contents = running.level, contents_of(target, asked.shown)
    columns, unsliced = groups_of(target, asked.slices)
    done = played(
        rounds,
        attacks,
        target,
        asked.estimator,
        columns,
        running.seed,
        level,
        has_shadow=has_shadow,
    )
    turned = direction.warnings(done.found.headline.inverted)
    doubtful = tuple(doubts(rounds, target, level, has_shadow=has_shadow))
    told = dict.fromkeys((*target.notes, *warnings, *done.warnings, *turned, *doubtful))
    return Audit(
        **vars(done.found),
        origin=running.origin(
            skipped=(*done.skipped, *skipped, *unsliced, *done.found.slices.skipped), warnings=told
        ),
        game=game,
        records=Records(
            target.ids,
            target.member,
            done.scores,
            done.guesses,
            done.risk,
            contents,
            target.unit,
        ),
        doubts=doubtful,
    )


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
