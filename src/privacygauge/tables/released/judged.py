"""Records judged in a released table, the reference to learn from, and attacks by signals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.core.game import Play
from privacygauge.core.rules import Split
from privacygauge.core.transcript import Transcript
from privacygauge.core.units import number_units
from privacygauge.errors import InputError
from privacygauge.evaluate.evaluation import Evaluation, evaluate
from privacygauge.tables.released.tables import NO_CONTROL, ReleasedTables, stack_tables
from privacygauge.tables.table import Table


@dataclass(frozen=True, eq=False)
class Signals:
    """An attack's signal for each record; higher means more likely a member."""

    name: str
    """Name of the attack."""
    variant: str
    """Variant of the attack."""
    members: Floats
    """(n,) Signals of the real records."""
    nonmembers: Floats
    """(m,) Signals of the judged holdout records, which no attack learns from."""
    member_rows: Ints
    """(n,) Rows of the members in the real table."""
    nonmember_rows: Ints
    """(m,) Rows of the non-members in the holdout."""

    def __post_init__(self) -> None:
        # "members" and "member_rows" have equal lengths, and so have those of the non-members.
        for name in ("members", "nonmembers"):
            found = checks.floats(getattr(self, name), name)
            rows = checks.integers(getattr(self, name[:-1] + "_rows"), name, length=len(found))
            object.__setattr__(self, name, found)
            object.__setattr__(self, name[:-1] + "_rows", rows)


@dataclass(frozen=True, eq=False)
class JudgedRecords:
    """Records on which attacks are judged, and the reference from which they may learn."""

    real: Table
    """Real records: members."""
    nonmembers: Table
    """Judged part of the holdout: non-members."""
    reference: Table
    """Another part of the holdout, to learn from."""
    synthetic: Table
    """The released synthetic table."""
    nonmember_rows: Ints
    """(m,) Rows of the non-members in the holdout."""
    member_rows: Ints | None = None
    """(n,) Rows of the members in the real table; None: all of them."""

    def signals(self, name: str, variant: str, found: Floats) -> Signals:
        """Split signals (n + m,) into those of members and non-members."""
        n = len(self.real)
        members = np.arange(n) if self.member_rows is None else self.member_rows
        return Signals(
            name,
            variant,
            members=found[:n],
            nonmembers=found[n:],
            member_rows=members,
            nonmember_rows=self.nonmember_rows,
        )

    def records(self) -> Table:
        """Return all judged records: members, then non-members."""
        return stack_tables(self.real, self.nonmembers)


FOLDS = 3
"""Folds of the judged records. With two, each half of the holdout would be judged by the other, and
two holdout records that are near to each other would count twice as strangers to the real ones."""


def judged_folds(released: ReleasedTables, rng: np.random.Generator) -> tuple[JudgedRecords, ...]:
    """Deal the real and the holdout records out to folds, each with the next one's as a reference.

    Every record is judged once, by holdout records of another fold, and no two folds judge by each
    other. All records of a person are in the same fold.

    Raises
    ------
    InputError
        If there is no holdout, or a fold would be empty.

    Notes
    -----
    If the release knows none of the records, real and holdout records of a fold are draws from one
    source whatever its reference holds, so the mean difference of their scores is 0 given the
    reference. Of any two folds in a ring of three, one has judged records that the other fold does
    not use at all; averaged over these, the product of both differences vanishes: the folds are
    uncorrelated, and intervals may count all records as independent.
    """
    if released.holdout is None:
        raise InputError(f"holdout is needed for a reference: {NO_CONTROL}")
    of_real, of_holdout = (_dealt(unit, rng) for unit in released.units)
    folds = []
    for fold in range(FOLDS):
        members, nonmembers = (np.flatnonzero(one == fold) for one in (of_real, of_holdout))
        reference = np.flatnonzero(of_holdout == (fold + 1) % FOLDS)
        folds.append(
            JudgedRecords(
                real=released.real[members],
                nonmembers=released.holdout[nonmembers],
                reference=released.holdout[reference],
                synthetic=released.synthetic,
                nonmember_rows=nonmembers,
                member_rows=members,
            )
        )
    return tuple(folds)


def _dealt(unit: Ints, rng: np.random.Generator) -> Ints:
    """Return the fold of each record; the folds have equally many people, but for one."""
    person = number_units(unit)
    n = int(person.max()) + 1
    if n < FOLDS:
        raise InputError(f"at least {FOLDS} people are needed on each side, got {n}: give more")
    return np.asarray(rng.permutation(np.arange(n) % FOLDS)[person])


def signals_by_row(found: Sequence[Signals]) -> Signals:
    """Return the signals of an attack on all folds, by row."""
    if all(len(np.unique([*one.members, *one.nonmembers])) == 1 for one in found):
        # An attack that tells no two records of a fold apart tells nothing: scores of different
        # folds differ by their references alone.
        found = [
            replace(one, members=0 * one.members, nonmembers=0 * one.nonmembers) for one in found
        ]
    rows = [np.concatenate([one.member_rows for one in found])]
    rows.append(np.concatenate([one.nonmember_rows for one in found]))
    members, nonmembers = map(np.argsort, rows)
    return Signals(
        found[0].name,
        found[0].variant,
        members=np.concatenate([one.members for one in found])[members],
        nonmembers=np.concatenate([one.nonmembers for one in found])[nonmembers],
        member_rows=rows[0][members],
        nonmember_rows=rows[1][nonmembers],
    )


def cross_fitted(auc: Estimate) -> Estimate:
    """Return the AUC with an interval that holds for scores learnt on the records themselves.

    Each half trained the forest that scored the other half. A chance similarity between them shows
    in both, so together they may carry no more evidence than one of them: the interval is that of
    half as many records.
    """
    if not 0.0 < auc.value < 1.0:
        return auc
    # Half the records: wider by sqrt(2), on the logit scale so that the limits stay in (0, 1).
    value = logit(auc.value)
    low, high = (
        float(expit(value + np.sqrt(2) * (logit(end) - value))) for end in (auc.low, auc.high)
    )
    low = min(low, auc.value)
    high = max(high, auc.value)
    method = f"{auc.method}, as of half of the records"
    return Estimate(value=auc.value, low=low, high=high, level=auc.level, n=auc.n, method=method)


def played_alone(found: Signals, unit: Ints, seed: int, level: float) -> tuple[Play, Evaluation]:
    """Evaluate signals, with each half's threshold chosen on the other half of the records."""
    score = np.concatenate([found.members, found.nonmembers])
    transcript = Transcript(score, np.arange(len(score)) < len(found.members), unit=unit)
    decisions = Split(seed=seed).decide(transcript)
    evaluation = evaluate(
        found.name, transcript, decisions, level, variant=found.variant, thresholds="global"
    )
    return Play(transcript, decisions), evaluation


def judged_names(
    ids: NDArray[Any] | None, members: NDArray[np.int64], nonmembers: NDArray[np.int64]
) -> NDArray[Any]:
    """Return the names of judged records; for the holdout, their rows."""
    if ids is None:
        return np.concatenate([members, nonmembers])
    # The user's ids name the real records only.
    others = [f"holdout row {row}" for row in nonmembers]
    return np.array([*(str(name) for name in ids[members]), *others], dtype=object)
