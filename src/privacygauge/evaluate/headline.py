"""The result that is spoken of, and numbers about a release itself."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.direction import Inverted
from privacygauge.evaluate.evaluation import Evaluation


@dataclass(frozen=True)
class Headline:
    """The one result that the verdict speaks of, corrected for having looked at many attacks."""

    attack: Evaluation
    """The attack with the highest lower end."""
    accuracy: Estimate
    """Its balanced accuracy; the interval allows for the choice among all attacks."""
    epsilon: Estimate
    """Lower bound on epsilon (`low`), attack and threshold chosen on other records."""
    epsilon_attack: str
    """The attack behind that bound."""
    epsilon_limit: float
    """The largest bound that so many records could ever show."""
    inverted: tuple[Inverted, ...] = ()
    """Attacks that tell the sides apart the wrong way round, corrected for their number."""


@dataclass(frozen=True)
class Fact:
    """A number about the release itself, such as the model's accuracy on non-members."""

    label: str
    """What it is."""
    estimate: Estimate
    """The number."""
