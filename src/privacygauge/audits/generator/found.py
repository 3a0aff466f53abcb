"""What an audit of a generator of synthetic tables found, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.by_target import AttackEvaluation
from privacygauge.evaluate.direction import Inverted
from privacygauge.evaluate.played import GameDescription
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report
from privacygauge.synthetic.games.judging import Group, Headline, Targets
from privacygauge.synthetic.games.setting import Sizes
from privacygauge.synthetic.utility import Utility

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
