"""Findings with ways to look at them: what every audit returns."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

if TYPE_CHECKING:
    import pandas as pd

    from privacygauge.report.terminal import RenderableType


class Rendered:
    """Texts, tables and files of findings, by the report package of their kind.

    A report package has ``summary``, ``terminal_summary``, ``records_frame``, ``to_json``,
    and ``render_html``, each a function of the findings, and what `write_report` asks for. It is
    imported when one of them is asked for.
    """

    __slots__ = ()

    REPORT: ClassVar[str]
    """The name of the report package."""

    def summary(self) -> str:
        """Return the verdict and the main numbers as plain text."""
        return cast(str, self._report().summary(self))

    def terminal_summary(self) -> RenderableType:
        """Return the same for a terminal, as a renderable of rich."""
        return cast("RenderableType", self._report().terminal_summary(self))

    def to_frame(self) -> pd.DataFrame:
        """Return one row for every record, with its id and its numbers."""
        return cast("pd.DataFrame", self._report().records_frame(self))

    def to_json(self) -> str:
        """Return the text of ``report.json``."""
        return cast(str, self._report().to_json(self))

    def to_html(self) -> str:
        """Return the text of ``report.html``."""
        return cast(str, self._report().render_html(self))

    def write(self, directory: str | Path) -> list[Path]:
        """Write the report, its numbers and a row for every record; return the files' paths."""
        from privacygauge.report.writing import write_report

        return write_report(self._report(), self, directory)

    def _report(self) -> Any:
        return importlib.import_module(self.REPORT)
