"""Attacks on a released table with other real records in its place: a placebo.

Real records are nearer to each other than to a holdout of another year, place or price list. So an
attack that compares the synthetic table with both may succeed though the table gives nobody away.
Then it succeeds as well with a table of other real people, which knows nothing of those that it is
asked about: a placebo. Only what goes beyond it is a leak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import rankdata

from privacygauge.core import seeds
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import Transcript
from privacygauge.core.units import number_units
from privacygauge.evaluate.playing import headline, telling
from privacygauge.evaluate.tail import tail
from privacygauge.report.grades import advantage_of
from privacygauge.tables.released.copies import release_of_rows
from privacygauge.tables.released.filtered import filtered_against
from privacygauge.tables.released.hits import Attempts, Hits, furthest_beyond, points_of
from privacygauge.tables.released.membership import (
    FOLDS,
    Signals,
    membership_signals,
    played_alone,
    signals_by_row,
)
from privacygauge.tables.released.suite import tries
from privacygauge.tables.released.tables import FEWEST, ReleasedTables

PARTS = 4
"""Parts of the people; each is asked about once, with the others in place of the table."""
_SUSPECTED = 0.9
"""Level at which membership attacks are said to succeed without the table, all of them together: to
miss it accuses somebody, to suspect it costs little."""
_FEW = 0.95
"""The same for a few records."""
_FEW_SHARE = 0.02
"""Share of values below which, and of others above which, a column has none that some share."""
_SURELY = 0.98
"""The same for each form of the risks, of which there are many."""


@dataclass(frozen=True)
class Placebo:
    """Success of the attacks with other real records in place of the synthetic table."""

    values: Estimate | None
    """Of all columns, the most that values of real records stand more often in other real records
    than those of the holdout do, as a difference of shares; the interval is for all columns
    together. None where no column has values that some share."""
    membership: Estimate | None
    """Largest advantage of the membership attacks, with an interval for all of them together; None
    where they tell no two records apart. An attack with an AUC of A has 2 A - 1 at most."""
    attacks: tuple[tuple[str, Estimate], ...]
    """The same for each membership attack alone, by title."""
    risks: tuple[Estimate | None, ...]
    """Attack minus control of each form of the risks, in the order of the audit; as differences of
    shares, and None where the form was not played."""
    columns: tuple[str, ...]
    """Columns whose values in real records stand more often in other real records than those of the
    holdout do."""
    exposed: int
    """Real records that stand out in a ranking by what they share with other people's records."""
    filtered: bool
    """Whether real records seem to be filtered out of the other real records as well."""

    @property
    def shown(self) -> float:
        """Most that membership attacks may reach without the table; 0 where they show nothing."""
        found = [one for one in (self.membership, self.values) if one is not None]
        return max((one.high for one in found if one.low > 0.0), default=0.0)

    def of_attack(self, title: str) -> float:
        """Return the advantage of one attack without the table, at least 0."""
        return max(0.0, *(found.value for name, found in self.attacks if name == title), 0.0)

    def of_risk(self, place: int) -> float:
        """Return the advantage of a form of the risks without the table, at least 0.

        That is the upper limit where it is shown to have something, and the value otherwise.
        """
        found = self.risks[place]
        if found is None:
            return 0.0
        return found.high if found.low > 0.0 else max(0.0, found.value)


def placebo_of(
    tables: ReleasedTables,
    tried: Sequence[Hits],
    secrets: Sequence[str] | None,
    *,
    attempts: Attempts,
    seed: int,
    level: float,
) -> Placebo | None:
    """Play the attacks with other real records in place of the synthetic table.

    Parameters
    ----------
    tables : ReleasedTables
        Tables in which the attacks with the synthetic table were compared.
    tried : sequence of Hits
        The risks, as played with the synthetic table.
    secrets, attempts, seed
        As in `tries`.
    level : float
        Level of the look at filters.

    Returns
    -------
    Placebo, or None
        None without a holdout, or with too few people on a side.
    """
    if tables.holdout is None:
        return None
    dealt = []
    rng = seeds.stream(seed, "placebo")
    for unit in tables.units:
        person = number_units(unit)
        n = int(person.max()) + 1
        if n < PARTS * max(FEWEST, FOLDS):
            return None
        dealt.append(rng.permutation(np.arange(n) % PARTS)[person])
    of_real, of_holdout = dealt
    each = Attempts(*(max(1, -(-n // PARTS)) for n in (attempts.real, attempts.holdout)))
    hits: dict[tuple[str, str, bool], list[Hits]] = {}
    signals: dict[str, list[Signals]] = {}
    rankings: dict[str, list[Transcript]] = {}
    shared: list[list[Hits]] = []
    filtered = False
    for part in range(PARTS):
        asked = np.flatnonzero(of_holdout == part)
        others = np.flatnonzero(of_real != part)
        members = np.flatnonzero(of_real == part)
        even = release_of_rows(tables, members, asked)
        even = replace(even, synthetic=tables.real[others], texts=(), joined=())
        attacked = tries(even, secrets, each, seed)
        for one in attacked.hits:
            hits.setdefault((one.name, one.variant, one.outlying), []).append(one)
        for title, ranking in attacked.rankings:
            rankings.setdefault(title, []).append(ranking)
        found = membership_signals(even, seeds.stream(seed, "placebo", part))
        for signal in () if isinstance(found, Skipped) else found:
            by_rows = _rank_signals(signal, members, asked)
            signals.setdefault(f"{signal.name} {signal.variant}", []).append(by_rows)
        shared.append(_values_shared(even))
        rng = seeds.stream(seed, "placebo", "filtered", part)
        filtered = filtered or filtered_against(even, rng, level) is not None
    together = {
        name: points_of(_join_parts(parts), _SURELY)
        for name, parts in hits.items()
        if len(parts) == PARTS
    }
    unit = np.concatenate(tables.units)
    results = telling(
        [
            played_alone(signals_by_row(parts), unit, seed, _SUSPECTED)
            for parts in signals.values()
            if len(parts) == PARTS
        ]
    )
    played = [one for one in results if not isinstance(one, Skipped)]
    best = headline(played, seed=seed, level=_SUSPECTED) if played else None
    ranked = [
        (
            title,
            Transcript(
                np.concatenate([one.score for one in parts]),
                np.concatenate([one.secret for one in parts]),
                unit=_number_apart([one.unit for one in parts]),
            ),
        )
        for title, parts in rankings.items()
        if len(parts) == PARTS
    ]
    few = tail(ranked, seeds.stream(seed, "placebo", "few"), _FEW) if ranked else None
    in_common = [_join_parts(parts) for parts in zip(*shared, strict=True)]
    columns = [
        one.variant
        for one in in_common
        if (points := points_of(one, _SUSPECTED)) is not None and points.low > 0.0
    ]
    return Placebo(
        values=_most_shared(in_common),
        membership=None if best is None else advantage_of(best.auc),
        attacks=tuple((one.title, advantage_of(one.auc)) for _, one in played),
        risks=tuple(together.get((one.name, one.variant, one.outlying)) for one in tried),
        columns=tuple(columns),
        exposed=0 if few is None else few.exposed,
        filtered=filtered,
    )


def _values_shared(even: ReleasedTables) -> list[Hits]:
    """Return, per column, which records have a value that stands in other people's records."""
    assert even.holdout is not None
    sides = (even.real, even.holdout)
    found = []
    for j, name in enumerate(even.schema.names):
        known = even.synthetic.values[:, j]
        attack, control = (np.isin(side.values[:, j], known) for side in sides)
        found.append(
            Hits(
                "values",
                variant=name,
                attack=attack,
                control=control,
                baseline=attack,
                meaning="the record's value stands in other real records",
                attack_unit=even.units[0],
                control_unit=even.units[1],
            )
        )
    return found


def _most_shared(columns: Sequence[Hits]) -> Estimate | None:
    """Return the column with the largest difference, and the interval for all of them together."""
    # Columns of which all values are shared, or none, say nothing; the sides have no part in that.
    kept = []
    for one in columns:
        assert one.control is not None
        if _FEW_SHARE < np.concatenate([one.attack, one.control]).mean() < 1 - _FEW_SHARE:
            kept.append(one)
    each = 1 - (1 - _SUSPECTED) / max(1, len(kept))
    found = [points for one in kept if (points := points_of(one, each)) is not None]
    return max(found, key=furthest_beyond, default=None)


def _rank_signals(found: Signals, members: Ints, nonmembers: Ints) -> Signals:
    """Return the ranks of signals, in (0, 1], by the rows of the whole tables.

    Signals of several parts are on scales of their own, since each has other records in the table.
    """
    n = len(found.members)
    ranks = rankdata(np.concatenate([found.members, found.nonmembers]))
    ranks /= len(ranks)
    return replace(
        found,
        members=ranks[:n],
        nonmembers=ranks[n:],
        member_rows=members[found.member_rows],
        nonmember_rows=nonmembers[found.nonmember_rows],
    )


def _join_parts(parts: Sequence[Hits]) -> Hits:
    """Return the attempts of all parts together; a person's are in one of them."""
    of_attack = [one.attack_unit for one in parts if one.attack_unit is not None]
    of_control = [one.control_unit for one in parts if one.control_unit is not None]
    return replace(
        parts[0],
        attack=np.concatenate([one.attack for one in parts]),
        control=np.concatenate([one.control for one in parts if one.control is not None]),
        attack_unit=_number_apart(of_attack) if of_attack else None,
        control_unit=_number_apart(of_control) if of_control else None,
    )


def _number_apart(units: Sequence[Ints]) -> Ints:
    """Return the units of several parts, none of which has a unit of another."""
    begins = np.cumsum([0, *(1 + int(unit.max(initial=0)) for unit in units[:-1])])
    return np.concatenate([begin + unit for begin, unit in zip(begins, units, strict=True)])
