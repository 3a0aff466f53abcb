"""`privacygauge report --model-card`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privacygauge.register.line import RegisterLine

FILE = "model-card.md"
"""What is written with --out."""


def model_card(
    run: Path,
    own: Path,
    audited: Callable[[], str],
    name: str | None,
    dataset: str | None,
    out: Path | None,
) -> None:
    """Print the model card of an audit, or write it into a folder.

    Parameters
    ----------
    run : Path
        What was asked for: the report, its folder, or that of its run.
    own : Path
        The folder that a report of the run would be in.
    audited : callable
        Returns the report's JSON where none was written.
    name, dataset : str, optional
        What the card calls them.
    out : Path, optional
        Where to write it.
    """
    from privacygauge.cli.output import emit_text
    from privacygauge.register.play import card_of
    from privacygauge.runs.atomic import check_writable

    if out is not None:
        check_writable(out)
    emit_text(card_of(_line(run, own, audited, name), dataset), "-" if out is None else out / FILE)


def refuse_with(options: dict[str, object]) -> None:
    """Raise where an option was given that has nothing to do with a model card."""
    from privacygauge.errors import InputError

    for option, value in options.items():
        if value:
            raise InputError(
                f"{option} does not go with --model-card: call privacygauge report once for each"
            )


def _line(run: Path, own: Path, audited: Callable[[], str], name: str | None) -> RegisterLine:
    """Return what the report says that stands in a folder or above it; else of the run there."""
    from privacygauge.errors import InputError
    from privacygauge.register.line import line_of
    from privacygauge.register.play import REPORT, read_line

    for folder in (run, own):
        if (folder / REPORT).is_file():
            return read_line(folder, name)
    if run.is_file():
        return read_line(run, name)
    if not run.is_dir():
        raise InputError(f"{run} does not exist")
    return line_of(audited(), name or own.name)
