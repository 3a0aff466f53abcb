"""What an audit of a generator of synthetic tables found, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.by_target import AttackEvaluation, TargetEvaluation
from privacygauge.evaluate.direction import Inverted
from privacygauge.report.attacks.played import GameDescription
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report
from privacygauge.synthetic.games.setting import Sizes
from privacygauge.synthetic.utility import Utility

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    """Mean AUC of each attack; the interval is for records chosen in this way."""
    deviations: tuple[float, ...]
    """Standard deviation of each attack's AUC over the records; 0 for a single record."""


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


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticAudit(Reported):
    """What an audit of a generator found, with ways to look at it."""

    origin: Origin
    """Where it comes from."""
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
    """In the order of the suite."""
    headline: Headline
    """What the verdict speaks of."""
    foreseen: Estimate | Skipped
    """Rank correlation of vulnerability score and AUC over the targets."""
    utility: Utility | Skipped
    """What one synthetic table is good for."""
    seen_from: float | None
    """The smallest AUC of a record that so many tables would mostly show; None for none."""

    @property
    def best(self) -> AttackEvaluation:
        """The attack that the verdict speaks of."""
        return self.attacks[self.headline.attack]

    @property
    def n_told(self) -> int:
        """The number of records that this attack tells beyond luck."""
        return int(np.count_nonzero(self.best.told))

    @property
    def inverted(self) -> tuple[Inverted, ...]:
        """Attacks that take releases with a record for those without."""
        return tuple(found for attack in self.attacks for found in attack.inverted)

    @property
    def order(self) -> Ints:
        """(r,) Places of the targets, the one most given away first, by the headline's attack."""
        return np.argsort(-self.best.aucs, kind="stable")

    def __repr__(self) -> str:
        auc = self.headline.auc
        return (
            f"<SyntheticAudit of {self.generator}, {len(self.targets):,} records: mean AUC "
            f"{auc.value:.3f} ({auc.low:.3f} to {auc.high:.3f}) by {self.best.title}>"
        )

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.generator.says import report

        return report(self)

    def plot_auc(self, ax: Axes | None = None) -> Axes:
        """Return axes with the AUC of every target, by the attack that the verdict speaks of."""
        from privacygauge.audits.generator.plots import plot_auc

        return plot_auc(self, ax)
