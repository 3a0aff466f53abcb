"""What the verdict on a released table chooses from, corrected for having looked at all of it."""

from __future__ import annotations

from dataclasses import dataclass

from leakscope.core.estimate import Estimate
from leakscope.report.synthetic.released_findings import ReleasedFindings


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

    @property
    def looks(self) -> int:
        """How many intervals hold together."""
        return sum(found is not None for found in (*self.risks, self.copies))


@dataclass(frozen=True, eq=False)
class CorrectedFindings(ReleasedFindings):
    """The result of an audit of a synthetic table, with what its verdict needs."""

    corrected: Corrected
    """What the verdict chooses from."""
