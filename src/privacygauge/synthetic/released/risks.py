"""The regulator's three risks: what attacks achieve, beside their control and their baseline."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.core.estimate import Estimate
from privacygauge.evaluate import rates
from privacygauge.synthetic.released.hits import Hits, risk_of


@dataclass(frozen=True)
class ReleaseRisk:
    """One of the regulator's three risks: what an attack achieves on the real records."""

    name: str
    """singling-out, linkability or inference."""
    variant: str
    """Which of its forms, or which secret."""
    meaning: str
    """What an attempt is and when it succeeds, in a sentence."""
    attack: Estimate
    """Share of successes on the real records."""
    control: Estimate | None
    """Share of successes on people that the generator never saw; None without a holdout."""
    baseline: Estimate
    """Share of successes without the synthetic table, or by the most simple use of it."""
    risk: Estimate | None
    """(attack - control) / (1 - control), at most 1: 0 where the table gives away no more about
    its people than about others; None without a holdout."""
    outlying: bool = False
    """Whether the attempts are on the most outlying records alone."""
    notes: tuple[str, ...] = ()
    """What the reader of the result should know, one sentence each."""

    @property
    def loses(self) -> bool:
        """Whether the attack does worse than its baseline, so that it says little."""
        return self.attack.value < self.baseline.value

    @property
    def title(self) -> str:
        """What it is called, such as ``inference (income)``; escape it before you show it."""
        return f"{self.name} ({self.variant})" if self.variant else self.name


@dataclass(frozen=True)
class WorstRisk:
    """The risk that goes furthest beyond its control."""

    risk: ReleaseRisk
    """Which it is."""
    beyond: Estimate
    """What the attack achieves beyond the control; the interval allows for all looks."""


def release_risk(hits: Hits, level: float, known: tuple[str, ...] = ()) -> ReleaseRisk:
    """Return attempts as a risk with intervals; notes that are known already are left out."""
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
        risk=risk_of(hits, level),
        outlying=hits.outlying,
        notes=tuple(notes),
    )
