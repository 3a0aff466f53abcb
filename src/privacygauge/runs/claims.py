"""Claims on the tasks of a run, to divide its work among processes that share its folder.

A claim is a small file in the run's folder ``claims``, named TASK.TURN. Its holder rewrites it
every `BEAT` seconds and removes it when the task is done. A claim that has not changed for `LAPSE`
seconds of the reader's own clock has lost its holder, and the task may be claimed for the next
turn. Claims only save work: two processes that compute the same task write the same bytes.
"""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from privacygauge.errors import OutputError
from privacygauge.runs.folder import Folder
from privacygauge.runs.plan import Task
from privacygauge.runs.store import CLAIMS, Run

BEAT = 20.0
"""Seconds between two writes of a claim."""

LAPSE = 180.0
"""Seconds without a change after which a claim has lapsed: network file systems may show a state a
minute old, and work in a compiled library may keep a process from writing."""

PAUSE = 2.0
"""Mean seconds between two reads of the other processes' claims."""


@dataclass(frozen=True)
class Claims:
    """Tasks of a run that a process may claim, as of its last read of the folder."""

    turns: Mapping[int, int] = field(default_factory=dict)
    """Turn of each task with a lapsed claim, at least 1, by task number; other tasks have turn
    0."""

    @contextlib.contextmanager
    def held(self, run: Run, task: Task) -> Iterator[bool]:
        """Try to claim a task for the ``with`` block; yield whether it is to be computed here."""
        turn = self.turns.get(task.number, 0)
        key = None if run.is_done(task) else _claim_task(run.folder, task, turn)
        if key is None:
            yield False
            return
        try:
            with _beating(run.folder, key):
                # Its earlier holder may have finished it between the first check and the claim.
                yield not run.is_done(task)
        finally:
            run.folder.remove(key)


class Watch:
    """Observes the claims of other processes over time, to find lapsed ones."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._seen: dict[str, tuple[bytes | None, float]] = {}

    def free(self, left: Sequence[Task]) -> tuple[list[Task], Claims]:
        """Return the unclaimed tasks of `left` in random order, and the claims for them."""
        numbers = {task.number for task in left}
        # The last turn of each claimed task and when its claim was last seen to change.
        latest: dict[int, tuple[int, float]] = {}
        for name in self._run.folder.names(CLAIMS):
            number, turn = _parts(name)
            if number in numbers:
                content = self._run.folder.get(f"{CLAIMS}/{name}")
                # By this process's own clock, since those of other machines may differ.
                if name not in self._seen or self._seen[name][0] != content:
                    self._seen[name] = content, time.monotonic()
                now = turn, self._seen[name][1]
                latest[number] = max(latest.get(number, now), now)
        lapsed = time.monotonic() - LAPSE
        found = [x for x in left if x.number not in latest or latest[x.number][1] <= lapsed]
        # Random, or processes that start together would all try the same tasks first.
        random.SystemRandom().shuffle(found)
        turns = {x.number: latest[x.number][0] + 1 for x in found if x.number in latest}
        return found, Claims(turns)


def pause() -> None:
    """Sleep for a random time, so that processes do not stay in step."""
    time.sleep(PAUSE * random.SystemRandom().uniform(0.5, 1.5))


def _parts(name: str) -> tuple[int, int]:
    number, turn, *_ = (*name.split("."), "0")
    return (int(number), int(turn)) if number.isdigit() and turn.isdigit() else (-1, 0)


def _claim_task(folder: Folder, task: Task, turn: int) -> str | None:
    """Claim a task and return the key of the claim; None if another process holds it."""
    key = f"{CLAIMS}/{task.number}.{turn}"
    if folder.is_local:
        return key if folder.create(key, _holder()) else None
    # An object store shows writes at once. So of two processes that first write and then look, at
    # most one finds itself alone; if neither does, both withdraw and return at different times.
    own = f"{key}.{secrets.token_hex(8)}"
    folder.set(own, _holder())
    others = (_parts(name) for name in folder.names(CLAIMS) if f"{CLAIMS}/{name}" != own)
    if any(number == task.number and later >= turn for number, later in others):
        folder.remove(own)
        return None
    return own


@contextlib.contextmanager
def _beating(folder: Folder, key: str) -> Iterator[None]:
    """Rewrite a claim every `BEAT` seconds."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(BEAT):
            with contextlib.suppress(OutputError):  # the claim lapses, but the work goes on
                folder.set(key, _holder())

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _holder() -> bytes:
    """Return the content of a claim: host, process id, and a token that changes every time."""
    return f"{socket.gethostname()} {os.getpid()} {secrets.token_hex(8)}\n".encode()
