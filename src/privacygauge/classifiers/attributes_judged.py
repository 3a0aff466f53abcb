"""Evaluation of attribute inference: members against non-members, and against imputation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.classifiers.attributes import Guesses, attribute_guesses
from privacygauge.classifiers.estimators import class_names
from privacygauge.classifiers.held import check_records, is_frame, keys
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import Transcript
from privacygauge.core.units import equal_rows, foremost, owners, said_of_units
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import bonferroni_level
from privacygauge.evaluate.rates import BothSides, both_sides, less, mean, proportion
from privacygauge.evaluate.tail import Tail, tail

if TYPE_CHECKING:
    import pandas as pd


_OF_AVERAGE = 0.5
"""Share of the error rate for the average over records; the surest guesses get the rest."""


@dataclass(frozen=True)
class GainOverImputation:
    """Right guesses of an attack beyond those of imputation, which does not query the model."""

    name: str
    """Name of the attack."""
    members: Estimate
    """Gain among members, in [-1, 1]."""
    others: Estimate
    """Gain among non-members, in [-1, 1]."""
    difference: Estimate
    """Gain among members less that among non-members, in [-2, 2]."""

    @property
    def advantage(self) -> Estimate:
        """Contribution of the model on members, beyond imputation and its gain on non-members.

        The smaller of `members` and `difference`, in value and at both ends of the interval: if
        both intervals hold, so does this one.
        """
        a = self.members
        b = self.difference
        # Both must be above 0: help with everybody alike gives nobody away.
        value = min(a.value, b.value)
        low = min(a.low, b.low)
        high = min(a.high, b.high)
        return Estimate(
            value=value,
            low=low,
            high=high,
            level=a.level,
            n=a.n,
            method=f"the smaller of two: {a.method}",
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedGuesses:
    """Guesses of a sensitive column, judged on both sides."""

    guesses: Guesses
    """The guesses, with the model and without it, right and wrong."""
    member: Bools
    """(n,) True where the model was trained on the record."""
    unit: Ints
    """(n,) Number of the person behind each record."""
    attacks: tuple[BothSides, ...]
    """Each attack's rate of right guesses on both sides; all intervals hold simultaneously."""
    controls: tuple[BothSides, ...]
    """Quantities that must not differ between the sides, imputation first; all intervals hold
    simultaneously."""
    added: tuple[GainOverImputation, ...]
    """Each attack's gain over imputation, on both sides; all intervals hold simultaneously. Empty
    without imputation."""
    surest: Tail | None
    """Number of members with values that the surest guesses reveal; None without imputation."""
    said: tuple[str, ...] = ()
    """Notes for the report on people and columns."""

    @property
    def best(self) -> GainOverImputation | None:
        """The attack with the largest lower bound of its advantage; None without imputation."""
        return max(self.added, key=lambda added: added.advantage.low, default=None)

    @property
    def inverted(self) -> tuple[BothSides, ...]:
        """Attacks that succeed significantly more often on people outside the training set."""
        return tuple(attack for attack in self.attacks if attack.difference.high < 0)

    @property
    def imputation(self) -> BothSides | Skipped:
        """Rate of right guesses without the model, or why there is none."""
        imputed = self.guesses.imputed
        return imputed if isinstance(imputed, Skipped) else self.controls[0]

    @property
    def fired(self) -> tuple[BothSides, ...]:
        """Controls that differ between the sides: the sides come from different populations."""
        return tuple(control for control in self.controls if control.difference.excludes(0.0))

    @property
    def exposed(self) -> Ints:
        """Rows of members guessed right only with the model, one per person, the surest first."""
        gain = self.guesses.with_model - self.guesses.without
        rows = np.flatnonzero(self.guesses.newly() & self.member & (gain > 0))
        return rows[foremost(gain[rows], self.unit[rows], len(rows))]


@dataclass(frozen=True, eq=False)
class Names:
    """Names of classes, values and records, each of which may be left out."""

    classes: Sequence[str] = ()
    """The model's names of the classes."""
    values: Sequence[str] = ()
    """Names of the values if the sensitive attribute is spread over several columns."""
    unit: ArrayLike | None = None
    """(n,) The person behind each record."""
    ids: ArrayLike | None = None
    """(n,) Names of the records."""


def judged_guesses(
    model: object,
    x: ArrayLike | pd.DataFrame,
    y: ArrayLike,
    member: ArrayLike,
    sensitive: str | int | Sequence[str] | Sequence[int],
    *,
    names: Names,
    knows_label: bool = True,
    seed: int = 0,
    level: float = 0.95,
) -> JudgedGuesses:
    """Return the guesses of a sensitive column, judged with the model and without it.

    Parameters
    ----------
    model, x, y, member, sensitive, knows_label, seed, level
        As in `audit_attribute`.
    names : Names
        Names of classes, values and records.
    """
    table = cast("pd.DataFrame", x) if is_frame(x) else check_records(x, len(np.asarray(y)))
    # Names of the classes are kept for the model's columns; all else works on codes.
    labels = np.asarray(y)
    side = checks.bools(member, "member", length=len(table))
    found_names = class_names(labels)
    coded = np.searchsorted(found_names, labels.astype(np.str_)) if found_names else labels
    if side.all() or not side.any():
        missing = "non-members" if side.all() else "members"
        raise InputError(f"member must be true for some records and false for others: no {missing}")
    y = checks.classes(coded, "y", length=len(table))
    rng = seeds.stream(seed, "attribute")
    owner = owners(names.unit, names.ids, len(table))
    unit = np.arange(len(table)) if owner is None else owner
    lines = said_of_units(unit, side)
    if owner is None and names.unit is None:
        # Nobody is named, not even by ids: people are told apart by their features, where possible.
        equal, lines = equal_rows(keys(table), y, side, "features")
        unit = unit if equal is None else equal
    named = tuple(names.classes) or found_names
    found = attribute_guesses(
        model,
        table,
        y=y,
        member=side,
        unit=unit,
        sensitive=sensitive,
        rng=rng,
        classes=named,
        knows_label=knows_label,
    )
    if len(names.values) == len(found.secret):
        # One of several columns is 1: the value gets the name of that column.
        called = tuple(names.values[int(place)] for place in found.secret.names)
        found = replace(found, secret=replace(found.secret, names=called))
    secret = found.secret
    if secret.follow:
        lines.append(
            f"{named_columns(secret.follow)} follow from the sensitive column in every record, as "
            "its dummies or its code do: leave them out of what the adversary knows, or name them "
            "with it, to be guessed together"
        )
    if secret.determined_by:
        lines.append(
            f"{named_columns(secret.determined_by)} determine the sensitive column in every "
            "record: whoever knows them needs no model; leave them out of x if an adversary "
            "does not know them"
        )
    imputed = found.imputed
    # The average and the surest guesses share the error rate (Bonferroni).
    error = 1 - level
    of_average = 1 - error * _OF_AVERAGE
    of_surest = 1 - error * (1 - _OF_AVERAGE)
    shares = {f"share of {name}": secret.code == j for j, name in enumerate(secret.names)}
    if len(shares) == 2:
        shares.popitem()  # of two shares one determines the other
    controls = {**({} if isinstance(imputed, Skipped) else {"imputation": imputed}), **shares}
    surest = None
    added = []
    if not isinstance(imputed, Skipped):
        # One interval per attack, which hold together.
        each = bonferroni_level(of_average, len(found.right))
        for name, hit in found.right.items():
            members, others = (
                _gain(hit[part], imputed[part], unit[part], each) for part in (side, ~side)
            )
            added.append(GainOverImputation(name, members, others, less(members, others)))
        played = []
        for name, surprise in found.surprise.items():
            standing = np.isfinite(surprise)
            # Transcripts need finite scores; only the order counts, and -infinity ranks last.
            last = float(surprise[standing].min(initial=0.0)) - 1
            score = np.where(standing, surprise, last)
            played.append((name, Transcript(score, side, unit=unit)))
        surest = tail(played, seeds.stream(seed, "attribute", "surest"), of_surest)
    return JudgedGuesses(
        guesses=found,
        member=side,
        unit=unit,
        attacks=both_sides(found.right, side, unit, level),
        controls=both_sides(controls, side, unit, level),
        added=tuple(added),
        surest=surest,
        said=tuple(lines),
    )


def named_columns(columns: Sequence[object]) -> str:
    """Return the names of columns, as reports print them."""
    named = [name if isinstance(name, str) else f"column {name}" for name in columns]
    return checks.short_list(named)


def _gain(hit: Bools, imputed: Bools, unit: Ints, level: float) -> Estimate:
    """Return the attack's rate of right guesses less that of imputation on the same records.

    Each end of the interval is the wider of two: Student's, and the exact limits of the two shares
    of records on which attack and imputation differ. If these records are few, Student's is too
    narrow.
    """
    gain = mean(hit.astype(np.float64) - imputed, level, unit="people", owner=unit)
    won = proportion(hit & ~imputed, unit, level)
    lost = proportion(imputed & ~hit, unit, level)
    # The mean shows no variance where no record was won or lost: exact limits widen it.
    exact = less(won, lost)
    low = max(-1.0, min(gain.low, exact.low))
    high = min(1.0, max(gain.high, exact.high))
    return Estimate(
        value=gain.value,
        low=low,
        high=high,
        level=level,
        n=gain.n,
        method="t over people and exact limits",
    )
