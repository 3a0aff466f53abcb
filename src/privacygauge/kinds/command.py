"""A command: its options, its run, and the metrics that it can be held to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

from privacygauge.kinds.request import Metric, R

if TYPE_CHECKING:
    from privacygauge.kinds.session import Work
    from privacygauge.report.reported import Reported


@dataclass(frozen=True)
class Command(Generic[R]):
    """A command that runs audits."""

    name: str
    """Name of the command, such as ``worst-case`` or ``holdout attack``."""
    group: str
    """Heading of the command in ``privacygauge --help``; see `HelpGroup`."""
    request: type[R]
    """Class of its options."""
    play: Callable[[R, Work], Reported]
    """Runs the audit of a request."""
    help: str
    """Help of the command, with examples."""
    metrics: tuple[Metric, ...]
    """Metrics that ``--fail-above`` can limit; see `shares`, `amounts`, `with_low`."""
    limits: str
    """Help of ``--fail-above`` on the metrics."""
    trains: bool = False
    """Whether it has ``--jobs`` and ``--backend``."""
    jobs: int = -1
    """Default of ``--jobs``."""
    keeps: bool = False
    """Whether it keeps a run that can be resumed; see `Request.keeps`."""
    folder: str | None = "privacygauge-report"
    """Default folder of the results; None if nothing is written by default."""
    tables: tuple[str, ...] = ()
    """Names of the files that it may write next to report.html and report.json."""

    @property
    def files(self) -> tuple[str, ...]:
        """Names of all files that it may write into its folder."""
        return ("report.html", "report.json", *self.tables)
