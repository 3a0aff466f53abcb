"""What guesses of a sensitive column say about members, beside others and beside imputation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.classifier.attributes import Guesses, guesses
from privacygauge.classifier.estimators import class_names
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.units import foremost, owners
from privacygauge.errors import InputError
from privacygauge.evaluate.both_sides import BothSides, both_sides
from privacygauge.evaluate.claim import divided
from privacygauge.evaluate.rates import mean

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, kw_only=True)
class JudgedGuesses:
    """Guesses of a sensitive column, judged on both sides."""

    guesses: Guesses
    """Which guesses are right, with the model and without it."""
    member: Bools
    """(n,) True where the model was trained on the record."""
    unit: Ints
    """(n,) The number of the person behind each record."""
    attacks: tuple[BothSides, ...]
    """Each attack's rate of right guesses on both sides; all differences hold together."""
    controls: tuple[BothSides, ...]
    """What must not differ between the sides, the imputation first; all hold together."""
    beyond: Mapping[str, Estimate]
    """Attack to its rate less the imputation's, of members alone; all hold together."""

    @property
    def best(self) -> BothSides:
        """The attack that surely gives most away about members."""
        return max(self.attacks, key=lambda attack: attack.difference.low)

    @property
    def inverted(self) -> tuple[BothSides, ...]:
        """Attacks that succeed significantly more often on people outside of the training set."""
        return tuple(attack for attack in self.attacks if attack.difference.high < 0)

    @property
    def imputation(self) -> BothSides | Skipped:
        """The rate of right guesses without the model, or why there is none."""
        imputed = self.guesses.imputed
        return imputed if isinstance(imputed, Skipped) else self.controls[0]

    @property
    def fired(self) -> tuple[BothSides, ...]:
        """Controls that differ between the sides: these are not of one population."""
        return tuple(control for control in self.controls if control.difference.excludes(0.0))

    @property
    def exposed(self) -> Ints:
        """Members whose value is guessed with the model only, one row each, the surest first."""
        gain = self.guesses.with_model - self.guesses.without
        rows = np.flatnonzero(self.guesses.newly() & self.member & (gain > 0))
        return rows[foremost(gain[rows], self.unit[rows], len(rows))]


def judged_guesses(
    model: object,
    x: ArrayLike | pd.DataFrame,
    y: ArrayLike,
    member: ArrayLike,
    sensitive: str | int | Sequence[int],
    *,
    names: tuple[Sequence[str], Sequence[str]] = ((), ()),
    people: tuple[ArrayLike | None, ArrayLike | None] = (None, None),
    knows_label: bool = True,
    seed: int = 0,
    level: float = 0.95,
) -> JudgedGuesses:
    """Return what guesses of a sensitive column achieve, with the model and without it.

    Parameters
    ----------
    model, x, y, member, sensitive, knows_label, seed, level
        As in `audit_attribute`.
    names : tuple of two sequences of str
        What the model calls the classes, and what the values of several columns are called.
    people : tuple of array_like or None
        The person behind each record, and the names of the records, (n,) each.
    """
    table = cast("pd.DataFrame", x) if hasattr(x, "columns") else np.asarray(x)
    labels, side = np.asarray(y), checks.bools(member, "member", length=len(table))
    found_names, (classes, values) = class_names(labels), names
    coded = np.searchsorted(found_names, labels.astype(np.str_)) if found_names else labels
    if side.all() or not side.any():
        missing = "non-members" if side.all() else "members"
        raise InputError(f"member must be true for some records and false for others: no {missing}")
    at = sensitive if isinstance(sensitive, str) else np.atleast_1d(sensitive).tolist()
    owner = owners(*people, len(table))
    unit = np.arange(len(table)) if owner is None else owner
    y, rng = checks.classes(coded, "y", length=len(table)), seeds.stream(seed, "attribute")
    named = tuple(classes) or found_names
    found = guesses(model, table, y, side, unit, at, rng, classes=named, knows_label=knows_label)
    if len(values) == len(found.secret):
        # One of several columns is 1: the value is named by the place of that column.
        called = tuple(values[int(place)] for place in found.secret.names)
        found = replace(found, secret=replace(found.secret, names=called))
    return JudgedGuesses(
        guesses=found,
        member=side,
        unit=unit,
        attacks=both_sides(found.right, side, unit, level),
        controls=_controls(found, side, unit, level),
        beyond=_beyond(found, side, unit, level),
    )


def _controls(found: Guesses, member: Bools, unit: Ints, level: float) -> tuple[BothSides, ...]:
    secret, imputed = found.secret, found.imputed
    shares = {f"share of {name}": secret.code == j for j, name in enumerate(secret.names)}
    if len(shares) == 2:
        shares.popitem()  # the one is the rest of the other
    known = {} if isinstance(imputed, Skipped) else {"imputation": imputed}
    return both_sides({**known, **shares}, member, unit, level)


def _beyond(found: Guesses, member: Bools, unit: Ints, level: float) -> dict[str, Estimate]:
    imputed = found.imputed
    if isinstance(imputed, Skipped):
        return {}
    each, owner = divided(level, len(found.right)), unit[member]
    gains = {name: (hit.astype(float) - imputed)[member] for name, hit in found.right.items()}
    return {
        name: mean(gain, each, unit="people", owner=owner, least=-1.0, most=1.0)
        for name, gain in gains.items()
    }
