"""What an audit returns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from leakscope.evaluate.findings import Findings

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Findings):
    """What an audit found, with ways to look at it."""

    def __repr__(self) -> str:
        best = self.headline
        return (
            f"<Audit of {len(self.records.member):,} records: {best.attack.title} has accuracy "
            f"{best.accuracy.value:.3f} ({best.accuracy.low:.3f} to {best.accuracy.high:.3f})>"
        )

    def summary(self) -> str:
        """Return the verdict and the main numbers as plain text."""
        from leakscope import report

        return report.summary(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for every record: id, member, scores, guesses, risk."""
        from leakscope import report

        return report.records_frame(self)

    def to_json(self) -> str:
        """Return the text of ``report.json``."""
        from leakscope import report

        return report.to_json(self)

    def to_html(self) -> str:
        """Return the text of ``report.html``."""
        from leakscope import report

        return report.render_html(self)

    def plot_roc(self, ax: Axes | None = None, *, log: bool = False) -> Axes:
        """Return axes with the ROC curve of every attack, log-log where asked for."""
        from leakscope.report.plots import plot_roc

        return plot_roc(self, ax, log=log)

    def write(self, directory: str | Path) -> list[Path]:
        """Write report.html, report.json, records.parquet and roc.csv; return their paths."""
        from leakscope import report

        return report.write_report(self, Path(directory))
