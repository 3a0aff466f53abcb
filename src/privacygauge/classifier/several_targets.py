"""Further target models, until what attacks do on average is known as precisely as asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.pool import Pool
from privacygauge.classifier.pool_game import PoolGame
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.shadows import Trained
from privacygauge.core import seeds
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, play
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.evaluation import title
from privacygauge.evaluate.over_targets import LOOKS, OverTargets, SeveralTargets, half_width

Train = Callable[[int], Trained]
"""Returns the target and so many further models at least, by coins that do not depend on how many
there are."""


def split(trained: Trained, n_shadows: int, n_targets: int = 1) -> tuple[Trained, Pool]:
    """Return the target with the first `n_shadows` models, and the further targets.

    Models that failed are in neither, and neither are those after the last target.
    """
    pool, failed = trained.pool, trained.failed
    number = np.delete(np.arange(len(pool) + len(failed)), failed)
    ends = np.searchsorted(number, (0, n_shadows, n_shadows + n_targets - 1))
    first, rest = (pool.models(slice(a, b)) for a, b in pairwise(ends.tolist()))
    return Trained(trained.target, first, failed[failed < n_shadows]), rest


def until_narrow(
    train: Train,
    attacks: Sequence[Attack],
    *,
    n_shadows: int,
    width: float,
    features: NDArray[Any] | None = None,
    unit: NDArray[np.int64] | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> SeveralTargets:
    """Return what attacks do on average over 8, 16, 32 or 64 targets: the first that are enough.

    The same shadow models, whose number is fixed, attack all targets. Targets are added until the
    interval of every attack's mean AUC has at most the half-width asked for. Only widths are
    looked at, at numbers of targets that are fixed beforehand.

    Parameters
    ----------
    train : callable
        Returns the target and so many further models at least.
    attacks : sequence of Attack
    n_shadows : int
        So many first of the further models are the adversary's; the others are targets.
    width : float
        The half-width, in (0, 1/2).
    features : ndarray, shape (n, d), optional
        For attacks that look at the records.
    unit : ndarray of int, shape (n,), optional
        Whom each record is about.
    seed : int
        The first target's scores are those of an audit with this seed.
    level : float

    Returns
    -------
    SeveralTargets
        Of the attacks that could be played on every target.

    Raises
    ------
    InputError
        If no attack could be played.
    """
    found: list[list[Transcript | None]] = [[] for _ in attacks]
    for n in LOOKS:
        trained, further = split(train(n_shadows + n - 1), n_shadows, n)
        targets = _targets(trained, further, unit)
        for number in range(len(found[0]), len(targets)):
            game = PoolGame(targets[number], trained.pool, features)
            for scores, attack in zip(found, attacks, strict=True):
                scores.append(_played(attack, game, seed, number))
        over = tuple(
            OverTargets(title(x.name, x.variant, x.thresholds), tuple(scores), level)
            for x, scores in zip(attacks, _of_all(found), strict=True)
            if scores
        )
        if not over:
            raise InputError("no attack could be played on every target: give one that fits")
        if half_width(over) <= width:
            break
    return SeveralTargets(over, width, len(targets), len(trained.pool))


def _targets(trained: Trained, further: Pool, unit: NDArray[np.int64] | None) -> list[Predictions]:
    target = trained.target
    assert target is not None  # where there is none, there is nothing to add targets to
    return [
        replace(target, unit=unit),
        *(
            replace(target, unit=unit, answers=answers, member=member)
            for answers, member in zip(further.answers, further.inside, strict=True)
        ),
    ]


def _played(attack: Attack, game: PoolGame, seed: int, number: int) -> Transcript | None:
    role = ("attack", attack.name, attack.variant, attack.thresholds)
    played = play(attack, [game.round()], [seeds.stream(seed, *role, number)])
    return None if isinstance(played, Skipped) else played.transcript


def _of_all(found: list[list[Transcript | None]]) -> list[list[Transcript]]:
    """Return each attack's scores; none where it was skipped on a target."""
    kept = [[x for x in scores if x is not None] for scores in found]
    return [some if len(some) == len(all_) else [] for some, all_ in zip(kept, found, strict=True)]
