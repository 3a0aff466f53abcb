"""What an audit of attribute inference found, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.attributes import Guesses
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.units import foremost
from privacygauge.evaluate.both_sides import BothSides, both_sides
from privacygauge.evaluate.claim import divided
from privacygauge.evaluate.rates import mean
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report


@dataclass(frozen=True, eq=False, repr=False)
class AttributeAudit(Reported):
    """What a model gives away about a sensitive column, with ways to look at it."""

    origin: Origin
    """Where it comes from."""
    column: str
    """What the sensitive column is called."""
    guesses: Guesses
    """Which guesses are right, with the model and without it."""
    member: Bools
    """(n,) True where the model was trained on the record."""
    unit: Ints
    """(n,) The number of the person behind each record."""
    ids: NDArray[Any]
    """(n,) The user's ids, or row numbers."""

    @cached_property
    def attacks(self) -> tuple[BothSides, ...]:
        """Each attack's rate of right guesses on both sides; all differences hold together."""
        return both_sides(self.guesses.right, self.member, self.unit, self.level)

    @cached_property
    def best(self) -> BothSides:
        """The attack that surely gives most away about members."""
        return max(self.attacks, key=lambda attack: attack.difference.low)

    @property
    def inverted(self) -> tuple[BothSides, ...]:
        """Attacks that succeed significantly more often on people outside of the training set."""
        return tuple(attack for attack in self.attacks if attack.difference.high < 0)

    @cached_property
    def controls(self) -> tuple[BothSides, ...]:
        """What must not differ between the sides, the imputation first; all hold together."""
        secret, imputed = self.guesses.secret, self.guesses.imputed
        shares = {f"share of {name}": secret.code == j for j, name in enumerate(secret.names)}
        if len(shares) == 2:
            shares.popitem()  # the one is the rest of the other
        known = {} if isinstance(imputed, Skipped) else {"imputation": imputed}
        return both_sides({**known, **shares}, self.member, self.unit, self.level)

    @property
    def imputation(self) -> BothSides | Skipped:
        """The rate of right guesses without the model, or why there is none."""
        imputed = self.guesses.imputed
        return imputed if isinstance(imputed, Skipped) else self.controls[0]

    @cached_property
    def beyond(self) -> Mapping[str, Estimate]:
        """Attack to its rate less the imputation's, of members alone; all hold together."""
        imputed, right = self.guesses.imputed, self.guesses.right
        if isinstance(imputed, Skipped):
            return {}
        each, side = divided(self.level, len(right)), self.member
        gains = {name: (hit.astype(float) - imputed)[side] for name, hit in right.items()}
        owner = self.unit[side]
        return {
            name: mean(gain, each, unit="people", owner=owner, least=-1.0, most=1.0)
            for name, gain in gains.items()
        }

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

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.attribute.says import report

        return report(self)
