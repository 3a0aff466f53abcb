"""A progress bar on terminals, a line a minute elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SECONDS = 60.0
"""Between lines where there is no terminal, at least."""


@contextmanager
def bar(title: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield a callback for (done, all) that shows progress with the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield _silent if quiet else _lines(title, console.print)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeLeft())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _silent(done: int, total: int) -> None:
    return None


def _lines(title: str, tell: Callable[[str], None]) -> Callable[[int, int], None]:
    """Return a callback that prints a line from time to time."""
    start = last = time.monotonic()

    def line(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < SECONDS:
            return
        last = now
        left = (total - done) * (now - start) / max(done, 1)
        tell(f"{title}: {done:,} of {total:,}, about {left / 60:.0f} min left")

    return line
