"""What an audit of a generator of synthetic tables found, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.by_target import AttackEvaluation, TargetEvaluation
from privacygauge.evaluate.direction import Inverted
from privacygauge.evaluate.findings import GameDescription
from privacygauge.synthetic.games.setting import Sizes
from privacygauge.synthetic.utility import Utility


@dataclass(frozen=True, eq=False)
class Targets:
    """The records that were attacked."""

    rows: Ints
    """(r,) Rows of the user's table."""
    ids: NDArray[Any]
    """(r,) The user's ids, or the rows."""
    scores: Floats
    """(r,) Vulnerability: mean distance to the nearest other records of the whole table."""
    ranks: Ints
    """(r,) 1 for the most vulnerable record of the whole table."""
    contents: Mapping[str, NDArray[Any]]
    """Columns of the user's data; filled only when the user asked for them."""

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class Group:
    """Targets that were chosen in one way, and how the attacks do on them."""

    method: str
    """How they were chosen."""
    positions: Ints
    """(g,) Their places among the targets."""
    means: tuple[Estimate, ...]
    """Mean AUC, one an attack; the interval is for records chosen in this way."""
    deviations: tuple[float, ...]
    """Standard deviation of the AUC over the records, one an attack; 0 for a single one."""


@dataclass(frozen=True, eq=False)
class Headline:
    """The one result that the verdict speaks of.

    Attack and record are chosen on the adversary's own tables. The numbers come from the others,
    so that the choice needs no correction.
    """

    attack: int
    """The attack's place."""
    target: int
    """The place of the record that it does best on."""
    auc: Estimate
    """Mean AUC over the targets."""
    worst: TargetEvaluation
    """What it does on that record."""


@dataclass(frozen=True, eq=False)
class SyntheticFindings:
    """The result of an audit of a generator."""

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
    generator: str
    """What the generator is called."""
    settings: Mapping[str, Any]
    """The generator's settings."""
    sizes: Sizes
    """How many tables were made, and of how many records."""
    n_records: int
    """Records of the user's table."""
    n_tables: int
    """Synthetic tables that were made."""
    targets: Targets
    """The records that were attacked."""
    groups: tuple[Group, ...]
    """By the way in which they were chosen."""
    attacks: tuple[AttackEvaluation, ...]
    """One an attack, in the order of the suite."""
    headline: Headline
    """What the verdict speaks of."""
    foreseen: Estimate | Skipped
    """Rank correlation of vulnerability score and AUC over the targets."""
    utility: Utility | Skipped
    """What one synthetic table is good for."""
    skipped: tuple[Skipped, ...]
    """What was not done, and why."""
    warnings: tuple[str, ...]
    """What may mislead."""
    provenance: Mapping[str, str]
    """Versions, hashes of the inputs, platform."""

    @property
    def best(self) -> AttackEvaluation:
        """The attack that the verdict speaks of."""
        return self.attacks[self.headline.attack]

    @property
    def inverted(self) -> tuple[Inverted, ...]:
        """Attacks that take releases with a record for those without."""
        return tuple(found for attack in self.attacks for found in attack.inverted)

    @property
    def order(self) -> Ints:
        """(r,) Places of the targets, the one most given away first, by the headline's attack."""
        return np.argsort(-self.best.aucs, kind="stable")
