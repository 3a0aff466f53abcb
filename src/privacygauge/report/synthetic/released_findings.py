"""What an audit of a synthetic table that was already released found, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.findings import Fact, GameDescription, Headline, Records
from privacygauge.synthetic.utility import Utility


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
    notes: tuple[str, ...] = ()
    """What the reader of the result should know, one sentence each."""


@dataclass(frozen=True)
class Corrected:
    """Intervals that hold together: each is at a level of its own, by Bonferroni.

    The membership attacks are corrected apart, in their headline. Either errs to one side with at
    most half of what the level allows, so both together name a leak where there is none no more
    often than that.
    """

    risks: tuple[Estimate | None, ...]
    """One a risk, in their order; None without a holdout."""
    copies: Estimate | None
    """Of the real records: share copied beyond that of the holdout, as for a risk; None without
    a holdout."""
    inverted: tuple[str, ...] = ()
    """The names of what gives away more about the holdout than about the real records; together
    with the membership attacks nothing is named by chance more often than the level allows."""

    @property
    def looks(self) -> int:
        """How many intervals hold together."""
        return sum(found is not None for found in (*self.risks, self.copies))


@dataclass(frozen=True, eq=False)
class ReleasedFindings:
    """The result of an audit of a synthetic table, without making any other."""

    command: str
    """The command or call that made it."""
    version: str
    """PrivacyGauge's version."""
    seed: int
    """What every random draw derives from."""
    level: float
    """Of every interval."""
    n_real: int
    """Records that the generator learnt from."""
    n_synthetic: int
    """Records of the synthetic table."""
    n_holdout: int
    """Records of the same source that it did not learn from; 0 where there are none."""
    game: GameDescription | Skipped
    """The membership game; Skipped without a holdout."""
    evaluations: tuple[Evaluation, ...]
    """One a membership attack; empty without a holdout."""
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
    skipped: tuple[Skipped, ...]
    """What was not done, and why."""
    warnings: tuple[str, ...]
    """What may mislead."""
    provenance: Mapping[str, str]
    """Versions, hashes of the inputs, platform."""
    corrected: Corrected
    """What the verdict chooses from."""
