"""The membership game on a released table, from signals to evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import seeds
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Headline
from privacygauge.evaluate.played import GameDescription, Records
from privacygauge.evaluate.playing import headline, played_of, telling
from privacygauge.synthetic.released.judged import cross_fitted, judged, names_of, played_alone
from privacygauge.synthetic.released.membership import blind, membership
from privacygauge.synthetic.released.tables import Released


@dataclass(frozen=True, eq=False)
class Membership:
    """What became of the membership attacks."""

    game: GameDescription
    """What was played."""
    evaluations: tuple[Evaluation, ...]
    """One an attack."""
    headline: Headline
    """What the verdict speaks of."""
    blind: Evaluation
    """An attack that never sees the synthetic table."""
    records: Records
    """The scores of every judged record."""
    skipped: tuple[Skipped, ...]
    """Attacks whose scores are all the same."""


def audit_membership(
    released: Released,
    ids: NDArray[Any] | None,
    show: Mapping[str, tuple[NDArray[Any], NDArray[Any]]],
    seed: int,
    level: float,
) -> Membership:
    """Return how well attacks tell real records from records of the holdout, of which there is one.

    `ids`, shape (n,), are names of the real records; `show` has columns to print: of all real
    records, and of all holdout records.
    """
    # The same stream twice: all attacks, and the blind one, judge the same records.
    signals = membership(released, seeds.stream(seed, "judged"))
    assert isinstance(signals, tuple)  # there is a holdout
    seen = judged(released, seeds.stream(seed, "judged"))
    of_real, of_holdout = released.units
    unit = np.concatenate([of_real, of_holdout[seen.nonmember_rows]])
    results = telling([played_alone(found, unit, seed, level) for found in signals])
    played = played_of(results, "give records that differ")
    _, unseen = played_alone(blind(seen, seeds.stream(seed, "blind"), unit), unit, seed, level)
    rows = signals[0].member_rows, signals[0].nonmember_rows
    secret = played[0][0].transcript.secret
    records = Records(
        names_of(ids, *rows),
        secret,
        {e.title: play.transcript.score for play, e in played},
        {e.title: play.decisions.guess for play, e in played},
        contents={
            name: np.concatenate([real[rows[0]], others[rows[1]]])
            for name, (real, others) in show.items()
        },
        unit=unit,
    )
    game = _game(len(seen.reference), int(secret.sum()), int((~secret).sum()))
    evaluations = tuple(evaluation for _, evaluation in played)
    # Guesses and ranking are two chances to err. So half of the error for these attacks: on one
    # side risks and copies, at the whole level, err with the other half.
    best = headline(played, seed=seed, level=level, looks=2 * len(played))
    unseen = replace(unseen, auc=cross_fitted(unseen.auc))
    skipped = tuple(result for result in results if isinstance(result, Skipped))
    return Membership(game, evaluations, best, unseen, records, skipped)


def _game(n_reference: int, n_in: int, n_out: int) -> GameDescription:
    return GameDescription(
        "membership from the released table alone",
        "Was this record among those that the synthetic table was made from?",
        f"Sees the synthetic table and the record, and has {n_reference:,} other records of the "
        "same source (half of the holdout); knows nothing of the generator and makes no tables "
        "of its own",
        "came with the data: members are the real records, non-members the other half of the "
        "holdout; no coins were drawn, so they may also differ in other ways than membership "
        "(the attack without the synthetic table looks for that)",
        "on the other half of the judged records, both ways (cross-fitting)",
        n_in,
        n_out,
    )
