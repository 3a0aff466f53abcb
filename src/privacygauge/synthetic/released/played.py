"""The membership game on a released table, from signals to evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Play
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Headline
from privacygauge.evaluate.playing import headline, played_of, telling
from privacygauge.synthetic.released.judged import cross_fitted, judged, played_alone
from privacygauge.synthetic.released.membership import blind, membership
from privacygauge.synthetic.released.tables import Released


@dataclass(frozen=True, eq=False)
class Membership:
    """What became of the membership attacks."""

    played: tuple[tuple[Play, Evaluation], ...]
    """One an attack."""
    headline: Headline
    """What the verdict speaks of."""
    blind: Evaluation
    """An attack that never sees the synthetic table."""
    skipped: tuple[Skipped, ...]
    """The attacks that tell nothing, and why."""
    rows: tuple[Ints, Ints]
    """(a,) and (b,) Rows of the members in the real table, and of the others in the holdout."""
    unit: Ints
    """(a + b,) The person behind each."""
    n_reference: int
    """How many holdout records the attacks learnt from."""

    @property
    def secret(self) -> Bools:
        """(a + b,) Who is a member."""
        return self.played[0][0].transcript.secret

    def contents(self, tables: Released, columns: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return columns of the records that were judged, (a + b,) each."""
        sides = zip((tables.real, tables.holdout), self.rows, strict=True)
        known = ((side, rows) for side, rows in sides if side is not None and columns)
        frames = [side[rows].to_frame() for side, rows in known]
        return {
            name: np.concatenate([np.asarray(frame[name], object) for frame in frames])
            for name in columns
        }


def membership_played(tables: Released, seed: int, level: float) -> Membership:
    """Return how well attacks tell real records from records of the holdout, of which there is one.

    The intervals of the headline hold together with those of risks and copies at the whole level.
    """
    # The same stream twice: all attacks, and the blind one, judge the same records.
    signals = membership(tables, seeds.stream(seed, "judged"))
    assert isinstance(signals, tuple)  # there is a holdout
    seen = judged(tables, seeds.stream(seed, "judged"))
    of_real, of_holdout = tables.units
    unit = np.concatenate([of_real, of_holdout[seen.nonmember_rows]])
    results = telling([played_alone(found, unit, seed, level) for found in signals])
    played = played_of(results, "give records that differ")
    _, unseen = played_alone(blind(seen, seeds.stream(seed, "blind"), unit), unit, seed, level)
    # Guesses and ranking are two chances to err. So half of the error for these attacks: on one
    # side risks and copies, at the whole level, err with the other half.
    best = headline(played, seed=seed, level=level, looks=2 * len(played))
    return Membership(
        tuple(played),
        best,
        replace(unseen, auc=cross_fitted(unseen.auc)),
        tuple(result for result in results if isinstance(result, Skipped)),
        (signals[0].member_rows, signals[0].nonmember_rows),
        unit,
        len(seen.reference),
    )
