"""Records judged in a released table, the reference to learn from, and attacks by signals."""

from __future__ import annotations

from dataclasses import dataclass
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
from privacygauge.synthetic.released.tables import NO_CONTROL, ReleasedTables, stack_tables
from privacygauge.synthetic.table import Table


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
    """Other part of the holdout, to learn from."""
    synthetic: Table
    """The released synthetic table."""
    nonmember_rows: Ints
    """(m,) Rows of the non-members in the holdout."""

    def signals(self, name: str, variant: str, found: Floats) -> Signals:
        """Split signals (n + m,) into those of members and non-members."""
        n = len(self.real)
        rows = (np.arange(n), self.nonmember_rows)
        return Signals(name, variant, found[:n], found[n:], *rows)

    def records(self) -> Table:
        """Return all judged records: members, then non-members."""
        return stack_tables(self.real, self.nonmembers)


def split_holdout(released: ReleasedTables, rng: np.random.Generator) -> JudgedRecords:
    """Split the holdout at random into judged non-members and a reference.

    All records of a person are in the same half.

    Raises
    ------
    InputError
        If there is no holdout.
    """
    if released.holdout is None:
        raise InputError(f"holdout is needed for a reference: {NO_CONTROL}")
    person = number_units(released.units[1])
    order = rng.permutation(int(person.max()) + 1)
    first = np.isin(person, order[: len(order) // 2])
    reference = np.flatnonzero(first)
    rows = np.flatnonzero(~first)
    tables = released.holdout[rows], released.holdout[reference], released.synthetic
    return JudgedRecords(released.real, *tables, rows)


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
