"""Base class of the results of audits."""

from __future__ import annotations

import textwrap
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from privacygauge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from privacygauge.core.estimate import Skipped
    from privacygauge.report.render import NotebookPage, RenderableType
    from privacygauge.report.values import Axes, Origin, Report, Verdict


class Reported:
    """Findings of an audit in all their forms, derived from one `Report`.

    In a notebook, a result shows its verdict and three numbers.
    """

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

    @property
    def verdict(self) -> Verdict:
        """Verdict with its grade, as data: ``verdict.grade.word``, ``verdict.headline``."""
        return self.report().verdict

    def __repr__(self) -> str:
        # Imported late: a command line that only refuses its input starts without numpy.
        from privacygauge.report.numbers import plain

        headline = textwrap.shorten(plain(self.verdict.headline), 200, placeholder=" ...")
        return f"<{type(self).__name__}: {headline}>"

    def _repr_html_(self) -> str:
        from privacygauge.report import render

        return render.notebook_summary(self.report())

    def page(self) -> NotebookPage:
        """Return the whole report, which a notebook shows in a frame of its own."""
        from privacygauge.report import render

        return render.NotebookPage(self.to_html())

    def plot(self, name: str | None = None) -> Axes:
        """Draw a plot of the report by its name, by default the first one; return its axes.

        Raises
        ------
        InputError
            If the report has no such plot; the message lists those that it has.
        """
        plots = {plot.name: plot for plot in self.report().plots}
        if not plots:
            raise InputError("this result has no plots; its numbers are in .report()")
        if name is not None and name not in plots:
            raise InputError(f"no plot {name!r}; the plots are: {', '.join(plots)}")
        return plots[name or next(iter(plots))].draw()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables that `write` saves, by name, such as ``records``, ``roc``, ``curve``.

        Columns have names that ``DataFrame.query`` takes: ``score:entropy (per-class)`` of a file
        is ``score_entropy_per_class`` here.
        """
        from privacygauge.report.values import query_names

        found = {}
        for file, make in self.report().frames.items():
            frame = make()
            found[file.rpartition(".")[0]] = frame.set_axis(query_names(frame.columns), axis=1)
        return found

    def summary(self) -> str:
        """Return the verdict and the main numbers as plain text."""
        from privacygauge.report import render

        return render.summary(self.report())

    def terminal_summary(self) -> RenderableType:
        """Return the summary for a terminal, as a rich renderable."""
        from privacygauge.report import render

        return render.terminal(self.report())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per record, with its id and its numbers, in columns as in `tables`.

        Where ROC curves and rates do not count every record, such as repeats or records that nobody
        on the other side is like, a column ``compared`` says which they count.

        Raises
        ------
        InputError
            If the audit judges no single records.
        """
        tables = self.tables()
        if "records" not in tables:
            others = f"; its tables are: {', '.join(tables)}" if tables else ""
            raise InputError(f"this audit judges no single records{others}")
        return tables["records"]

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
