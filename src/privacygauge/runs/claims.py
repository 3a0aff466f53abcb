"""Claims on the tasks of a run, by which several processes that share a folder divide its work.

A claim is a small file in the run's folder ``claims``, named TASK.TURN. Its holder rewrites it
every `BEAT` seconds and removes it when the task is done; one that stays the same for `LAPSE`
seconds of the reader's own clock has lost its holder, and the task is claimed for the next turn.
Claims only save work: two processes that compute the same task write the same bytes.
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
"""Seconds between two writings of a claim."""

LAPSE = 180.0
"""Seconds without a change after which a claim has lapsed: network file systems may show a file's
state of a minute ago, and work in a compiled library may keep a process from writing."""

PAUSE = 2.0
"""Mean seconds between two looks at the other processes' claims."""


@dataclass(frozen=True)
class Claims:
    """Tasks of a run that one process may claim, as of its last look at the folder."""

    turns: Mapping[int, int] = field(default_factory=dict)
    """Turn of each task whose claims have lapsed, at least 1; all others have turn 0."""

    @contextlib.contextmanager
    def held(self, run: Run, task: Task) -> Iterator[bool]:
        """Claim a task for the ``with`` block; yield whether this process holds it."""
        turn = self.turns.get(task.number, 0)
        key = None if run.is_done(task) else _claim_task(run.folder, task, turn)
        if key is None:
            yield False
            return
        try:
            with _beating(run.folder, key):
                # Whoever had it before may have ended between the first look and the claim.
                yield not run.is_done(task)
        finally:
            run.folder.remove(key)


class Watch:
    """Repeated observation of the other processes' claims, to find those that have lapsed."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._seen: dict[str, tuple[bytes | None, float]] = {}

    def free(self, left: Sequence[Task]) -> tuple[list[Task], Claims]:
        """Return the tasks that nobody holds, in random order, and the claims for them."""
        # Processes that begin together would otherwise all try the same tasks first.
        latest = self._latest({task.number for task in left})
        lapsed = time.monotonic() - LAPSE
        found = [x for x in left if x.number not in latest or latest[x.number][1] <= lapsed]
        random.SystemRandom().shuffle(found)
        turns = {x.number: latest[x.number][0] + 1 for x in found if x.number in latest}
        return found, Claims(turns)

    def _latest(self, numbers: set[int]) -> dict[int, tuple[int, float]]:
        """Return the last turn of every claimed task, and the time of its claim's last change."""
        found: dict[int, tuple[int, float]] = {}
        for name in self._run.folder.names(CLAIMS):
            number, turn = _parts(name)
            if number in numbers:
                content = self._run.folder.get(f"{CLAIMS}/{name}")
                if name not in self._seen or self._seen[name][0] != content:
                    self._seen[name] = content, time.monotonic()
                now = turn, self._seen[name][1]
                found[number] = max(found.get(number, now), now)
        return found


def pause() -> None:
    """Wait for a random moment, so that processes do not stay in step."""
    time.sleep(PAUSE * random.SystemRandom().uniform(0.5, 1.5))


def _parts(name: str) -> tuple[int, int]:
    number, turn, *_ = (*name.split("."), "0")
    return (int(number), int(turn)) if number.isdigit() and turn.isdigit() else (-1, 0)


def _claim_task(folder: Folder, task: Task, turn: int) -> str | None:
    """Claim a task exclusively and return the claim's key; None if another process holds it."""
    key = f"{CLAIMS}/{task.number}.{turn}"
    if folder.is_local:
        return key if folder.create(key, _holder()) else None
    # An object store shows at once what was written. So of two that write first and look then, at
    # most one finds itself alone; where neither does, both leave, and come back at different times.
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
            with contextlib.suppress(OutputError):  # it lapses; the work itself goes on
                folder.set(key, _holder())

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _holder() -> bytes:
    """Return the content of a claim: host and process id, and a token that differs every time."""
    return f"{socket.gethostname()} {os.getpid()} {secrets.token_hex(8)}\n".encode()
