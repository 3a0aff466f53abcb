"""What an audit of a synthetic table that was already released found, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Fact, Headline
from privacygauge.evaluate.played import Attacks, GameDescription, Records
from privacygauge.report.numbers import percent, plain
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report
from privacygauge.synthetic.released.looks import Corrected, Tried
from privacygauge.synthetic.released.suite import Exposed
from privacygauge.synthetic.released.tables import NO_CONTROL
from privacygauge.synthetic.utility import Utility

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


APART = 0.55
"""An attack that never sees the synthetic table and has this AUC shows a difference of size."""


def told_apart(blind: Evaluation) -> bool:
    """Return whether real records and holdout differ: for certain, and by more than a trifle."""
    return blind.auc.low > 0.5 and blind.auc.value >= APART


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
        """What it is called, such as ``inference (income)``."""
        return plain(f"{self.name} ({self.variant})" if self.variant else self.name)


@dataclass(frozen=True)
class WorstRisk:
    """The risk that goes furthest beyond its control."""

    risk: ReleaseRisk
    """Which it is."""
    beyond: Estimate
    """What the attack achieves beyond the control; the interval allows for all looks."""


@dataclass(frozen=True)
class Overlap:
    """Holdout records that stand in the real table, more of them than chance explains."""

    n_holdout: int
    """Records of the holdout as it was given."""
    shared: int
    """How many of them equal a real record, and were left out."""
    by_chance: float
    """Share of the real records that equal another real one."""
    usable: bool
    """Whether enough are left for a control."""

    @property
    def said(self) -> str:
        """What it means, in a sentence."""
        found = (
            f"{self.shared:,} of the {self.n_holdout:,} holdout records stand in the real table "
            f"({percent(self.shared / self.n_holdout)}; by chance it would be about "
            f"{percent(self.by_chance)})"
        )
        if self.usable:
            return (
                f"{found}: they are no control and were left out, on both sides with all records "
                "that occur more than once"
            )
        return f"{found}: too few are left for a control"


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedAudit(Reported):
    """What an audit of a released synthetic table found, with ways to look at it."""

    origin: Origin
    """Where it comes from."""
    n_real: int
    """Records that the generator learnt from."""
    n_synthetic: int
    """Records of the synthetic table."""
    n_holdout: int
    """Records of the same source that it did not learn from; 0 where there are none."""
    game: GameDescription | Skipped
    """The membership game; Skipped without a holdout."""
    evaluations: tuple[Evaluation, ...]
    """One for each membership attack; empty without a holdout."""
    headline: Headline | None
    """What the verdict speaks of; None without a holdout."""
    blind: Evaluation | None
    """An attack that never sees the synthetic table: where it succeeds, real records and holdout
    are different people, and the others' success is no evidence of a leak."""
    risks: tuple[ReleaseRisk, ...]
    """The regulator's three."""
    copies: tuple[Fact, ...]
    """Shares of records that occur on both sides, equal in every column."""
    closest: tuple[Fact, ...]
    """About distances to the closest record: no evidence of safety."""
    records: Records | None
    """The scores of every judged record; None without a holdout."""
    utility: Utility | Skipped
    """What the synthetic table is good for."""
    corrected: Corrected
    """What the verdict chooses from."""
    tried: Tried
    """How often each attack was tried."""
    overlap: Overlap | None = None
    """Holdout records that stand in the real table; None where chance explains them."""
    exposed: tuple[tuple[str, Exposed], ...] = ()
    """The ids of the most outlying real records, and what became of each."""

    @property
    def membership(self) -> Attacks | None:
        """The membership attacks; None where none was played."""
        if isinstance(self.game, Skipped) or self.headline is None:
            return None
        return Attacks(self.game, self.evaluations, self.headline, self.level)

    @property
    def worst(self) -> WorstRisk | None:
        """The risk with the highest corrected lower end; None where nothing was compared."""
        pairs = zip(self.risks, self.corrected.risks, strict=True)
        found = [WorstRisk(risk, beyond) for risk, beyond in pairs if beyond is not None]
        return max(found, key=lambda w: (w.beyond.low, w.beyond.value), default=None)

    @property
    def furthest_from_baseline(self) -> ReleaseRisk | None:
        """The risk whose attack does best beside its baseline; None where none was tried."""
        return max(self.risks, key=lambda r: r.attack.value - r.baseline.value, default=None)

    @property
    def same_source(self) -> bool:
        """Whether the attack that never sees the synthetic table stays near guessing."""
        return self.blind is None or not told_apart(self.blind)

    @property
    def control(self) -> bool:
        """Whether there is a holdout that attacks can be compared with."""
        return self.n_holdout > 0 and self.same_source

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
