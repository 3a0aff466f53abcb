"""Result of an audit of a generator, as values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.evaluate.detectable import POWER
from privacygauge.evaluate.played import GameDescription
from privacygauge.report.numbers import rate
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin
from privacygauge.synthetic.games.audited import PlayedGame

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SyntheticResult(Reported, PlayedGame):
    """Values that a `SyntheticAudit` reports."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    game: GameDescription
    """Description of the game."""

    def __repr__(self) -> str:
        auc = self.headline.auc
        return (
            f"<SyntheticAudit of {self.generator}, {len(self.targets):,} records: mean AUC "
            f"{auc.value:.3f} ({auc.low:.3f} to {auc.high:.3f}) by {self.best.title}>"
        )


def detectable_auc_text(smallest: float | None) -> str:
    """Return a clause on the smallest AUC of a record that an audit would usually detect."""
    if smallest is None:
        return "no AUC, however high, would be seen with so few test tables (--tests)"
    least = math.ceil(100 * smallest) / 100
    return f"a record's AUC of {least:.2f} or more would be seen in {rate(POWER)} of such audits"
