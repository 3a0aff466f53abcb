"""What an audit of a synthetic table that was already released found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.report.attacks.played import Attacks, GameDescription, Records
from privacygauge.report.numbers import percent, plain
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report
from privacygauge.synthetic.released.control import Overlap
from privacygauge.synthetic.released.release import Release
from privacygauge.synthetic.released.risks import ReleaseRisk
from privacygauge.synthetic.released.tables import NO_CONTROL

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def called(risk: ReleaseRisk) -> str:
    """Return what a risk is called, such as ``inference (income)``."""
    return plain(f"{risk.name} ({risk.variant})" if risk.variant else risk.name)


def said_of(overlap: Overlap) -> str:
    """Return what an overlap means, in a sentence."""
    found = (
        f"{overlap.shared:,} of the {overlap.n_holdout:,} holdout records stand in the real table "
        f"({percent(overlap.shared / overlap.n_holdout)}; by chance it would be about "
        f"{percent(overlap.by_chance)})"
    )
    if overlap.usable:
        return (
            f"{found}: they are no control and were left out, on both sides with all records that "
            "occur more than once"
        )
    return f"{found}: too few are left for a control"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReleasedAudit(Reported, Release):
    """What an audit of a released synthetic table found, with ways to look at it."""

    origin: Origin
    """Where it comes from."""
    game: GameDescription | Skipped
    """The membership game; Skipped without a holdout."""
    records: Records | None
    """The scores of every judged record; None without a holdout."""

    @property
    def membership(self) -> Attacks | None:
        """The membership attacks; None where none was played."""
        if isinstance(self.game, Skipped) or self.headline is None:
            return None
        return Attacks(self.game, self.evaluations, self.headline, self.level)

    def __repr__(self) -> str:
        headline = self.report().verdict.headline
        return f"<ReleasedAudit of {self.n_synthetic:,} synthetic rows: {headline}>"

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.released_table.says import report

        return report(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for every judged record, with its id and its numbers.

        Raises
        ------
        InputError
            Without a holdout: no record was judged.
        """
        if self.records is None:
            raise InputError(f"a holdout is needed to judge records, got none: {NO_CONTROL}")
        return super().to_frame()

    def plot_roc(self, ax: Axes | None = None) -> Axes:
        """Return axes with the ROC curves of the membership attacks."""
        from privacygauge.audits.released_table.plots import plot_roc

        return plot_roc(self, ax)

    def plot_risks(self, ax: Axes | None = None) -> Axes:
        """Return axes with attack, control and baseline of each risk."""
        from privacygauge.audits.released_table.plots import plot_risks

        return plot_risks(self, ax)
