"""Commands as values: an audit with its options, run and metrics; a tool; a group; a program.

The entry points of the group ``privacygauge.audits`` name such values, one or a tuple of them. The
command line is made of them, and so are ``resume``, ``register`` and the documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from privacygauge.kinds.request import Metric, R

if TYPE_CHECKING:
    from privacygauge.kinds.dropped import DroppedFile, Recognised
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
    recognise: Callable[[Sequence[DroppedFile]], Sequence[Recognised]] | None = None
    """Recognises the files of one drop, for ``privacygauge open``; None if files are not enough."""

    @property
    def files(self) -> tuple[str, ...]:
        """Names of all files that it may write into its folder."""
        return ("report.html", "report.json", *self.tables)


@dataclass(frozen=True)
class Tool(Generic[R]):
    """A command that prints what it did and has no report."""

    name: str
    """Name of the command, such as ``language split``."""
    request: type[R]
    """Class of its options."""
    play: Callable[[R, Work], str]
    """Does the work of a request and returns a summary."""
    help: str
    """Help of the command, with examples."""


@dataclass(frozen=True)
class Group:
    """Commands that share their first words, such as ``holdout``."""

    name: str
    """The words."""
    help: str
    """Help of the group."""
    group: str | None = None
    """Heading of the group in ``privacygauge --help``; see `HelpGroup`."""


@dataclass(frozen=True)
class Program:
    """A command, or commands, written with typer."""

    name: str
    """Name of the command, such as ``holdout serve``."""
    group: str
    """Heading of the command in ``privacygauge --help``; see `HelpGroup`."""
    app: Any
    """The function, or the `typer.Typer`."""
