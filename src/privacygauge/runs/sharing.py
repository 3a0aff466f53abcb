"""Runs computed by several processes together, connected only by the run's folder.

A command needs no code for this: inside `sharing`, `Claims` divide the tasks of its runs, and the
command ends when there are no more tasks to divide.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from enum import Enum


class Way(Enum):
    """Way in which a process computes the tasks of kept runs."""

    ALONE = "alone"
    """All tasks, with other processes locked out."""
    BESIDE_OTHERS = "beside others"
    """Tasks that no other process has claimed."""
    PLAN_ONLY = "plan only"
    """No tasks: the process stops once the first run is planned."""


class Enough(BaseException):
    """Signal that a process that shares a run has nothing left to do."""


_WAY: ContextVar[Way] = ContextVar("way", default=Way.ALONE)


def way() -> Way:
    """Return the current way of computing runs."""
    return _WAY.get()


@contextlib.contextmanager
def computing(how: Way) -> Iterator[None]:
    """Set the way of computing runs for a ``with`` block."""
    token = _WAY.set(how)
    try:
        yield
    finally:
        _WAY.reset(token)


@contextlib.contextmanager
def sharing(*, plan_only: bool = False) -> Iterator[None]:
    """Share runs with other processes in a ``with`` block, which ends at `Enough`.

    Parameters
    ----------
    plan_only : bool
        Whether to stop after planning the first run, before its first task.
    """
    with (
        contextlib.suppress(Enough),
        computing(Way.PLAN_ONLY if plan_only else Way.BESIDE_OTHERS),
    ):
        yield


def end_of_sharing() -> None:
    """Declare that no tasks follow: the rest is left to a process that computes alone.

    Without this call, each process that shares a run would also do the rest, in vain.

    Raises
    ------
    Enough
        If runs are shared.
    """
    if way() is not Way.ALONE:
        raise Enough
