"""Base class of the results of audits."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from privacygauge.core.estimate import Skipped
    from privacygauge.report.render import RenderableType
    from privacygauge.report.values import Origin, Report


class Reported:
    """Findings of an audit in all their forms, derived from one `Report`."""

    __slots__ = ()

    origin: Origin
    """Origin of the audit."""

    @abstractmethod
    def report(self) -> Report:
        """Return the full report as plain values."""

    @property
    def level(self) -> float:
        """Level of every interval, in (0, 1)."""
        return self.origin.level

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Parts of the audit that were skipped, with reasons."""
        return self.origin.skipped

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the result."""
        return self.origin.warnings

    def __repr__(self) -> str:
        found = self.report()
        return f"<{type(self).__name__}: {found.verdict.headline}>"

    def summary(self) -> str:
        """Return the verdict and the main numbers as plain text."""
        from privacygauge.report import render

        return render.summary(self.report())

    def terminal_summary(self) -> RenderableType:
        """Return the summary for a terminal, as a rich renderable."""
        from privacygauge.report import render

        return render.terminal(self.report())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per record, with its id and its numbers."""
        return self.report().frames["records.parquet"]()

    def to_json(self) -> str:
        """Return the text of ``report.json``."""
        from privacygauge.report import render

        return render.as_json(self.report())

    def to_html(self) -> str:
        """Return the text of ``report.html``."""
        from privacygauge.report import render

        return render.page(self.report())

    def write(self, directory: str | Path) -> list[Path]:
        """Write the report, its JSON and its tables, with a row per record; return the paths."""
        from privacygauge.report import render

        return render.write(self.report(), directory)
