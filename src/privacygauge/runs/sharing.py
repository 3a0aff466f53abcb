"""Runs that several processes compute together, connected only by the run's folder.

A command needs no code for this: inside `sharing`, the tasks of its runs are divided by `Claims`,
and the command ends when no tasks are left to divide.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from enum import Enum


class Way(Enum):
    """Way in which this process computes kept runs."""

    ALONE = "alone"
    """All of their tasks, and no other process may."""
    BESIDE_OTHERS = "beside others"
    """Those tasks that no other process has claimed."""
    PLAN_ONLY = "plan only"
    """None: it stops at the first that is planned."""


class Enough(BaseException):
    """Nothing is left to do for a process that shares a run."""


_WAY: ContextVar[Way] = ContextVar("way", default=Way.ALONE)


def way() -> Way:
    """Return this process's current way of computing runs."""
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
    """Compute runs together with other processes in a ``with`` block, which `Enough` ends.

    Parameters
    ----------
    plan_only : bool
        Whether to stop once the first run is planned, before its first task.
    """
    with (
        contextlib.suppress(Enough),
        computing(Way.PLAN_ONLY if plan_only else Way.BESIDE_OTHERS),
    ):
        yield


def end_of_sharing() -> None:
    """Declare that no tasks follow: the rest is done once, by a process that computes alone.

    Without this call, a process that shares a run would finish its command in vain.

    Raises
    ------
    Enough
        If runs are shared.
    """
    if way() is not Way.ALONE:
        raise Enough
