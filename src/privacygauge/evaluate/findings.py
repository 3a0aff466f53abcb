"""What an audit found, as plain values: what reports render and programs read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.direction import Inverted
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.risk import Risk
from privacygauge.evaluate.slices import SliceTable


@dataclass(frozen=True)
class GameDescription:
    """The game that was played, in words for the reader."""

    name: str
    """Short name, as in docs/games.md."""
    question: str
    """What the adversary tries to guess."""
    adversary: str
    """What the adversary sees and has."""
    secret: str
    """Where the secret bits come from: drawn by coins, or given with the data."""
    thresholds: str
    """On which rows thresholds were learnt."""
    n_in: int
    """Members among the targets."""
    n_out: int
    """Non-members among the targets."""


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


@dataclass(frozen=True, eq=False)
class Records:
    """One row for every target."""

    ids: NDArray[Any]
    """(n,) The user's ids, or row numbers in the user's file."""
    member: Bools
    """(n,) True for a member."""
    scores: Mapping[str, Floats]
    """Attack title to (n,) scores; higher means more likely a member."""
    guesses: Mapping[str, Bools]
    """Attack title to (n,) guesses."""
    risk: Floats | None = None
    """(n,) Privacy risk score at even odds, in [0, 1]."""
    contents: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Columns of the user's data; filled only when the user asked for them."""
    unit: Ints | None = None
    """(n,) The person behind each record; None where each is a person of its own."""


@dataclass(frozen=True)
class Fact:
    """A number about the release itself, such as the model's accuracy on non-members."""

    label: str
    """What it is."""
    estimate: Estimate
    """The number."""


@dataclass(frozen=True, eq=False)
class Findings:
    """The result of an audit."""

    command: str
    """The command or call that made it."""
    version: str
    """PrivacyGauge's version."""
    seed: int
    """What every random draw derives from."""
    level: float
    """Of every interval."""
    game: GameDescription
    """What was played."""
    evaluations: tuple[Evaluation, ...]
    """One an attack, in the order of the suite."""
    headline: Headline
    """What the verdict speaks of."""
    risk: Risk | Skipped
    """The privacy risk score."""
    slices: SliceTable | Skipped
    """Groups of records."""
    records: Records
    """One row a target."""
    facts: tuple[Fact, ...]
    """About the release."""
    skipped: tuple[Skipped, ...]
    """What was not done, and why."""
    warnings: tuple[str, ...]
    """What may mislead."""
    provenance: Mapping[str, str]
    """Versions, hashes of the inputs, platform."""
