"""What came of an attack's attempts, beside those of a control and a baseline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate import rates
from privacygauge.evaluate.excess import excess


@dataclass(frozen=True, eq=False)
class Hits:
    """Which attempts succeeded: on the real records, on others, and without the synthetic table.

    What an attack gives away about the real records is what it achieves on them beyond what it
    achieves on the control, people of the same kind whom the generator never saw: (attack -
    control) / (1 - control). The attempts are the units of an interval that holds for these
    tables; they share them, so it says nothing of another run of the generator.
    """

    name: str
    """The attack: singling-out, linkability or inference."""
    variant: str
    """Which of its forms, or which secret."""
    attack: Bools
    """(n,) Attempts on the real records."""
    control: Bools | None
    """(m,) The same attempts on the holdout; None where there is none."""
    baseline: Bools
    """(b,) What is achieved on the real records without the synthetic table, or by the most
    simple use of it."""
    meaning: str
    """What an attempt is and when it succeeds, in a sentence."""
    paired: bool = False
    """Whether entry i of the control is the same attempt as entry i of the attack."""
    attack_unit: Ints | None = None
    """(n,) Attempts of one unit are no more than one piece of evidence; None: each is one."""
    control_unit: Ints | None = None
    """(m,) The same for the control."""
    baseline_unit: Ints | None = None
    """(b,) The same for the baseline."""
    outlying: bool = False
    """Whether the attempts are on the most outlying records alone."""
    notes: tuple[str, ...] = ()
    """What the reader of the result should know, one sentence each."""

    def __post_init__(self) -> None:
        for name in ("attack", "baseline"):
            object.__setattr__(self, name, checks.bools(getattr(self, name), name))
        for name in ("attack", "control", "baseline"):
            unit, hit = getattr(self, f"{name}_unit"), getattr(self, name)
            if unit is not None:
                checked = checks.integers(unit, f"{name}_unit", length=len(hit))
                object.__setattr__(self, f"{name}_unit", checked)
        if self.control is not None:
            length = len(self.attack) if self.paired else None
            control = checks.bools(self.control, "control", length=length)
            object.__setattr__(self, "control", control)

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """Successes and attempts of each that there is: attack, control, baseline."""
        given = {"attack": self.attack, "control": self.control, "baseline": self.baseline}
        return {name: (int(hit.sum()), len(hit)) for name, hit in given.items() if hit is not None}


def correlation_of(hits: Hits) -> float:
    """Return the correlation that an interval has to allow for, in [-1, 0].

    Attempts that are easy or hard on both sides alike make an interval that ignores it too wide,
    which does no harm; those that succeed on one side or the other make it too narrow.
    """
    if not hits.paired or hits.control is None:
        return 0.0
    spreads = float(hits.attack.std() * hits.control.std())
    if spreads == 0.0:
        return 0.0
    covariance = float(np.mean(hits.attack & hits.control))
    covariance -= float(hits.attack.mean() * hits.control.mean())
    return float(np.clip(covariance / spreads, -1.0, 0.0))


def risk_of(hits: Hits, level: float) -> Estimate | None:
    """Return what the attack achieves beyond the control; None where there is no control."""
    if hits.control is None:
        return None
    units = hits.attack_unit, hits.control_unit
    correlation = correlation_of(hits)
    return excess(hits.attack, hits.control, level, correlation=correlation, units=units)


def points_of(hits: Hits, level: float) -> Estimate | None:
    """Return attack minus control as a difference of shares, in [-1, 1]; None without a control.

    The interval is put together from the exact limits of both shares, as that of `excess`.
    """
    if hits.control is None:
        return None
    correlation = correlation_of(hits)
    ours = rates.proportion(hits.attack, hits.attack_unit, level)
    others = rates.proportion(hits.control, hits.control_unit, level)

    def away(one: float, other: float) -> float:
        return float(np.sqrt(one**2 + other**2 - 2 * correlation * one * other))

    value = ours.value - others.value
    low = value - away(ours.value - ours.low, others.high - others.value)
    high = value + away(ours.high - ours.value, others.value - others.low)
    n = min(ours.n, others.n)
    method = "difference of exact limits (MOVER)"
    return Estimate(value, max(-1.0, low), min(1.0, high), level, n, method)
