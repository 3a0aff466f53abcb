"""Successes of an attack, against a control and a baseline: the risk of a release."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.evaluate import rates
from privacygauge.evaluate.rates import excess


@dataclass(frozen=True, eq=False)
class Hits:
    """Successes of attempts: on the real records, on the holdout, and without the synthetic table.

    The leak about the real records is the attack's success on them beyond that on the control,
    people of the same population whom the generator never saw: (attack - control) / (1 - control).
    The interval's units are the attempts, and it holds for these tables only: the attempts share
    them, so it says nothing about another run of the generator.
    """

    name: str
    """Name of the attack: singling-out, linkability or inference."""
    variant: str
    """Variant of the attack, or the secret column."""
    attack: Bools
    """(n,) Successes of the attempts on the real records."""
    control: Bools | None
    """(m,) Successes of the same attempts on the holdout; None without a holdout."""
    baseline: Bools
    """(b,) Successes on the real records without the synthetic table, or with its simplest use."""
    meaning: str
    """Definition of an attempt and of its success, in one sentence."""
    paired: bool = False
    """True where entry i of the control is the same attempt as entry i of the attack."""
    attack_unit: Ints | None = None
    """(n,) Unit of each attempt: attempts of one unit are one piece of evidence; None: every
    attempt is its own unit."""
    control_unit: Ints | None = None
    """(m,) The same for the control."""
    baseline_unit: Ints | None = None
    """(b,) The same for the baseline."""
    outlying: bool = False
    """True where only the most outlying records are attacked."""
    notes: tuple[str, ...] = ()
    """Notes for the reader of the result, one sentence each."""

    def __post_init__(self) -> None:
        for name in ("attack", "baseline"):
            object.__setattr__(self, name, checks.bools(getattr(self, name), name))
        for name in ("attack", "control", "baseline"):
            unit = getattr(self, f"{name}_unit")
            hit = getattr(self, name)
            if unit is not None:
                checked = checks.integers(unit, f"{name}_unit", length=len(hit))
                object.__setattr__(self, f"{name}_unit", checked)
        if self.control is not None:
            length = len(self.attack) if self.paired else None
            control = checks.bools(self.control, "control", length=length)
            object.__setattr__(self, "control", control)

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Successes and attempts of attack, control and baseline, where present."""
        given = {"attack": self.attack, "control": self.control, "baseline": self.baseline}
        return {name: (int(hit.sum()), len(hit)) for name, hit in given.items() if hit is not None}


def correlation_of(hits: Hits) -> float:
    """Return the correlation that the interval must allow for, in [-1, 0].

    Attempts that succeed on both sides or on neither correlate positively: an interval that ignores
    this is too wide, which is harmless. Attempts that succeed on one side only make it too narrow.
    """
    # Only pairs of the same attempt can be correlated; unpaired attempts are independent.
    if not hits.paired or hits.control is None:
        return 0.0
    spreads = float(hits.attack.std() * hits.control.std())
    if spreads == 0.0:
        return 0.0
    covariance = float(np.mean(hits.attack & hits.control))
    covariance -= float(hits.attack.mean() * hits.control.mean())
    return float(np.clip(covariance / spreads, -1.0, 0.0))


def risk_beyond_control(hits: Hits, level: float) -> Estimate | None:
    """Return the attack's success beyond the control; None without a control."""
    if hits.control is None:
        return None
    units = hits.attack_unit, hits.control_unit
    correlation = correlation_of(hits)
    return excess(hits.attack, hits.control, level, correlation=correlation, units=units)


def points_of(hits: Hits, level: float) -> Estimate | None:
    """Return attack minus control as a difference of shares, in [-1, 1]; None without a control.

    The interval combines the exact limits of both shares (MOVER), as that of `excess`.
    """
    if hits.control is None:
        return None
    correlation = correlation_of(hits)
    ours = rates.proportion(hits.attack, hits.attack_unit, level)
    others = rates.proportion(hits.control, hits.control_unit, level)

    def away(one: float, other: float) -> float:
        # Variance of a difference, with distances to the limits in place of standard errors.
        return float(np.sqrt(one**2 + other**2 - 2 * correlation * one * other))

    value = ours.value - others.value
    # The limits of the difference combine our lower limit with the control's upper one, and
    # reversed.
    low = value - away(ours.value - ours.low, others.high - others.value)
    high = value + away(ours.high - ours.value, others.value - others.low)
    n = min(ours.n, others.n)
    method = "difference of exact limits (MOVER)"
    return Estimate(
        value=value, low=max(-1.0, low), high=min(1.0, high), level=level, n=n, method=method
    )


@dataclass(frozen=True)
class ReleaseRisk:
    """One of the regulator's three risks: the success of an attack on the real records."""

    name: str
    """Name of the attack: singling-out, linkability or inference."""
    variant: str
    """Variant of the attack, or the secret column."""
    meaning: str
    """Definition of an attempt and of its success, in one sentence."""
    attack: Estimate
    """Share of successes on the real records."""
    control: Estimate | None
    """Share of successes on people that the generator never saw; None without a holdout."""
    baseline: Estimate
    """Share of successes without the synthetic table, or with its simplest use."""
    risk: Estimate | None
    """(attack - control) / (1 - control), at most 1: 0 if the table reveals no more about its
    people than about others; None without a holdout."""
    outlying: bool = False
    """True where only the most outlying records are attacked."""
    notes: tuple[str, ...] = ()
    """Notes for the reader of the result, one sentence each."""

    @property
    def loses(self) -> bool:
        """True where the attack does worse than its baseline, and so shows little."""
        return self.attack.value < self.baseline.value

    @property
    def title(self) -> str:
        """Name and variant, such as ``inference (income)``; escape it before display."""
        return f"{self.name} ({self.variant})" if self.variant else self.name


@dataclass(frozen=True)
class WorstRisk:
    """The risk furthest beyond its control."""

    risk: ReleaseRisk
    """The risk."""
    beyond: Estimate
    """Success of the attack beyond the control; the interval is corrected for all looks."""


def release_risk(hits: Hits, level: float, known: tuple[str, ...] = ()) -> ReleaseRisk:
    """Return attempts as a risk with intervals, without the notes already known."""
    control = None
    notes = [note for note in hits.notes if note not in known]
    if hits.control is not None:
        control = rates.proportion(hits.control, hits.control_unit, level)
        if control.value == 1.0:
            notes.append("The control always succeeds, so no attack can go beyond it.")
    attack = rates.proportion(hits.attack, hits.attack_unit, level)
    baseline = rates.proportion(hits.baseline, hits.baseline_unit, level)
    if attack.value < baseline.value:
        notes.append("The baseline does better: the attack says little.")
    return ReleaseRisk(
        hits.name,
        hits.variant,
        meaning=hits.meaning,
        attack=attack,
        control=control,
        baseline=baseline,
        risk=risk_beyond_control(hits, level),
        outlying=hits.outlying,
        notes=tuple(notes),
    )


def furthest_beyond(beyond: Estimate) -> tuple[float, float]:
    """Return a sort key of an estimate: the larger, the further beyond 0.

    Intervals above 0 are ordered by their lower end. The others are ordered by how near they come
    to that, relative to their width: an attack that always fails has a narrow interval around 0,
    and is not near to success.

    Examples
    --------
    >>> nothing = Estimate(0.0, -0.001, 0.001, 0.95, 900, "made up")
    >>> nearly = Estimate(0.05, -0.01, 0.11, 0.95, 900, "made up")
    >>> furthest_beyond(nothing) < furthest_beyond(nearly)
    True
    """
    if beyond.low > 0:
        return beyond.low, beyond.value
    below = beyond.value - beyond.low
    return 0.0, beyond.value / below if below > 0 else 0.0


HALF_WIDTH = 0.02
"""Default half-width of the interval of attack minus control."""


@dataclass(frozen=True)
class Attempts:
    """Number of attempts of each attack on either side; fewer where a table has fewer records."""

    real: int
    """Attempts on real records, at least 1."""
    holdout: int
    """Attempts on holdout records, at least 1."""

    def __post_init__(self) -> None:
        least = min(self.real, self.holdout)
        checks.at_least(1, attempts=least)

    def within(self, n: int) -> Attempts:
        """Cap the attempts at 500, or at n if that is larger."""
        most = max(n, ATTEMPTS.real)
        return Attempts(min(self.real, most), min(self.holdout, most))

    @property
    def most(self) -> int:
        """Larger of both numbers, for attacks that make the same attempts on both sides."""
        return max(self.real, self.holdout)


ATTEMPTS = Attempts(500, 500)
"""Default numbers of attempts."""


def widest(attempts: Attempts, level: float) -> float:
    """Return the half-width of the interval of attack minus control at a share of 1/2.

    It is widest there. The exact limits of a share lie within z sqrt(1 / 4n) + 1 / 2n of it.

    Examples
    --------
    >>> round(widest(Attempts(500, 500), 0.95), 3)
    0.063
    """
    z = float(ndtri(0.5 + checks.level(level) / 2))
    ends = (0.5 * z / math.sqrt(n) + 0.5 / n for n in (attempts.real, attempts.holdout))
    return math.hypot(*ends)


def enough_attempts(half_width: float, level: float, n_real: int, n_holdout: int) -> Attempts:
    """Return the fewest attempts whose interval is never wider than requested.

    Parameters
    ----------
    half_width : float
        Half of the width of the interval of attack minus control, in (0, 0.5): 0.02 means two
        percentage points.
    level : float
        Level of the interval, in (0, 1).
    n_real, n_holdout : int
        Numbers of records, at least 1: no record is attacked twice.

    Returns
    -------
    Attempts
        The same number on both sides. If a table has fewer records, all of them, and more attempts
        on the other side; all records of both tables if those do not suffice.

    Examples
    --------
    >>> enough_attempts(0.02, 0.95, 50_000, 50_000)
    Attempts(real=4873, holdout=4873)
    >>> enough_attempts(0.02, 0.95, 50_000, 3_000)
    Attempts(real=13114, holdout=3000)
    """
    if not 0.0 < half_width < 0.5:
        raise InputError(f"half_width must be in (0, 0.5), got {half_width}")
    if min(n_real, n_holdout) < 1:
        raise InputError(f"both tables need records, got {n_real} and {n_holdout}")

    # Bisection: the width falls with the number of attempts. Returns `most` if none suffices.
    def fewest(others: int | None, most: int) -> int:
        low = 0
        high = most
        while high - low > 1:
            middle = (low + high) // 2
            tried = Attempts(middle, middle if others is None else others)
            low, high = (low, middle) if widest(tried, level) <= half_width else (middle, high)
        # The invariant: low attempts are too few, and high ones enough unless even `most` is too
        # few.
        return high

    # One number for both sides; if one table is smaller, more attempts on the other one.
    least = fewest(None, max(n_real, n_holdout))
    if least <= min(n_real, n_holdout):
        return Attempts(least, least)
    if n_holdout < least:
        return Attempts(fewest(n_holdout, n_real), n_holdout)
    return Attempts(n_real, fewest(n_real, n_holdout))
