"""Which records of a table are far from all others, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report
from privacygauge.synthetic.vulnerability import Vulnerability

if TYPE_CHECKING:
    import pandas as pd

TOP = 10
"""The default number of records to list."""


@dataclass(frozen=True, eq=False, repr=False)
class VulnerableRecords(Reported, Vulnerability):
    """Every record's vulnerability score, their order, and ways to look at them."""

    origin: Origin
    """Where it comes from; nothing is drawn or estimated."""
    listed: int = TOP
    """How many records a report lists."""
    n_reference: int = 0
    """The number of further records whose numbers count in the ranges."""

    def __repr__(self) -> str:
        row = int(self.order[0])
        return f"<VulnerableRecords of {len(self):,}: row {row} first, with {self.scores[row]:.4f}>"

    def report(self, top: int | None = None) -> Report:
        """Return everything that there is to say, as plain values.

        Lists `top` records; by default as many as `listed`.
        """
        from privacygauge.audits.vulnerable.says import report

        return report(self, self.listed if top is None else top)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for every record: row, score, rank."""
        import pandas as pd

        return pd.DataFrame({"row": np.arange(len(self)), "score": self.scores, "rank": self.ranks})

    def summary(self, top: int | None = None) -> str:
        """Return the most vulnerable records as plain text."""
        from privacygauge.report import render

        return render.summary(self.report(top))

    def to_json(self, top: int | None = None) -> str:
        """Return the text of ``report.json``: the most vulnerable records, and what was asked."""
        from privacygauge.report import render

        return render.as_json(self.report(top))
