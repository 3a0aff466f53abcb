"""Progress of audits that are called from Python: a bar in a notebook, a line in a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from html import escape
from typing import Any, TypeAlias

Progress: TypeAlias = Callable[[int, int], None]
"""Callback for the number of steps done and the total."""

WAIT = 1.0
"""Seconds before a bar appears, so that short audits show none."""
APART = 0.2
"""Seconds between two changes of a bar."""


def shown_progress(title: str, asked: Progress | bool | None = None) -> Progress | None:
    """Return the callback of an audit.

    Parameters
    ----------
    title : str
        Name of the audit, which the bar shows.
    asked : callable or bool, optional
        A callback of one's own; True for a bar, False for none. By default a bar in a notebook,
        and none elsewhere.

    Returns
    -------
    callable or None
        Called with the number of steps done and the total.
    """
    if asked is None or isinstance(asked, bool):
        # A kernel loads IPython before any code of its user runs.
        ipython: Any = sys.modules.get("IPython")
        shell = None if ipython is None else ipython.get_ipython()
        notebook = getattr(shell, "kernel", None) is not None
        if asked is False or (asked is None and not notebook):
            return None
        return _NotebookBar(title) if notebook else _Bar(title)
    return asked


class _Bar:
    """Callback that shows a bar from the first second on, with the time left."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._start = time.monotonic()
        self._next = self._start + WAIT
        self._begun = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        # Where steps were shown, the last one is too.
        if now < self._next and not (self._begun and done >= total):
            return
        self._next = now + APART
        self._begun = True
        left = (total - done) * (now - self._start) / max(done, 1)
        time_text = f"{left:.0f} s left" if done < total else f"{now - self._start:.0f} s"
        self._show(done, total, f"{done:,} of {total:,}, {time_text}")

    def _show(self, done: int, total: int, text: str) -> None:
        bar = ("#" * (20 * done // max(total, 1))).ljust(20, ".")
        end = "\n" if done >= total else ""
        # Spaces cover what is left of a longer line before it.
        sys.stderr.write(f"\r{self._title} {bar} {text}   {end}")
        sys.stderr.flush()


class _NotebookBar(_Bar):
    """Bar below the cell of a notebook, which needs no widgets."""

    _handle: Any = None

    def _show(self, done: int, total: int, text: str) -> None:
        from IPython.display import HTML, display

        bar = f'<progress value="{done}" max="{total}"></progress>'
        line = HTML(f"<label>{escape(self._title)} {bar} {text}</label>")
        if self._handle is None:
            self._handle = display(line, display_id=True)
        else:
            self._handle.update(line)
