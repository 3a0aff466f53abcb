"""A run on disk: arrays that are filled task by task, and a digest per finished task.

A task is done if its digest exists and agrees; the digest is written last. It is the sha256 of the
task's inputs (by default the plan's fingerprint) and of its chunks as stored, so a chunk that is
missing, truncated, changed, or of another plan is detected without decoding, and its task is
computed again.
"""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import socket
import threading
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core.checks import short_list
from privacygauge.errors import InputError, OutputError
from privacygauge.runs.contents import (
    DIGEST,
    UNREADABLE,
    Layout,
    Record,
    Rows,
    Static,
    StoredRows,
    check_task_arrays,
    chunk_files,
    chunk_keys,
    digest_layout,
    group_metadata,
    layout_of,
    layouts,
    record_in,
    task_digest,
    unreadable,
)
from privacygauge.runs.folder import (
    Folder,
    absolute_place,
    place_text,
    require_local,
)
from privacygauge.runs.plan import Plan, Task, first_difference, with_versions_of
from privacygauge.runs.sharing import Way, way
from privacygauge.runs.source import NOT_CHECKED, changed_pieces

_GROUP = "observations.zarr"
_RECORD = "run.json"
_MOST_NAMED = 12
"""Most pieces of code that a report names one by one."""
_INSIDE = ("attributes", "privacygauge")
OTHER_CODE = (
    "{} was made with other code: {}; restore the code, or choose another folder for a new run"
)
"""Message for a run made with other code; placeholders for the run and the changed pieces."""


@dataclass(frozen=True)
class Run:
    """A handle on a run, cheap to create, to pickle and to send to another process."""

    path: str
    """Folder of the run, or a URL that fsspec knows."""
    plan: Plan
    """Plan of the run."""
    invocation: Mapping[str, Any] | None = None
    """Arguments of the command that started the run; None if it was started from Python."""
    static: tuple[str, ...] = ()
    """Names of the static arrays, sorted."""

    @property
    def folder(self) -> Folder:
        """Folder that stores the run."""
        return Folder(self.path)

    def array(self, name: str) -> Rows:
        """Return an array of the run; values are read only when it is sliced.

        Slicing refuses rows with missing chunks.

        Raises
        ------
        InputError
            If there is no such array, or its metadata is damaged.
        """
        try:
            layout = layout_of(self.folder.get(f"{_GROUP}/{name}/zarr.json") or b"")
        except UNREADABLE as error:
            raise unreadable(self.path, name) from error
        rows = StoredRows(layout, self.folder, _GROUP, name)
        spec = self.plan.arrays.get(name)
        if spec is not None and (rows.shape, rows.dtype) != (spec.shape, np.dtype(spec.dtype)):
            raise unreadable(self.path, name)
        return rows

    def missing(self, *, verify: bool = True) -> list[Task]:
        """Return the tasks that remain to be computed, in order.

        Parameters
        ----------
        verify : bool
            Whether to read all chunks and compare them with the digests, one task in memory at a
            time (the default), or to trust that a task with a digest is done.

        Returns
        -------
        list of Task
            Tasks without a digest and, with `verify`, tasks that disagree with theirs.
        """
        names = set(self.folder.names(f"{_GROUP}/{DIGEST}/c"))
        if not verify:
            return [task for task in self.plan.tasks if str(task.number) not in names]
        # Digests of all stored tasks as chunk files, to be compared byte by byte with those on
        # disk.
        digests = np.zeros((self.plan.n_tasks, 32), np.uint8)
        for task in self.plan.tasks:
            if str(task.number) in names:
                keys = sorted(
                    key
                    for name, layout in layouts(self.plan).items()
                    for key in chunk_keys(name, layout, task.number)
                )
                stored = ((key, self.folder.get(f"{_GROUP}/{key}") or b"") for key in keys)
                digests[task.number] = np.frombuffer(task_digest(self.plan, task, stored), np.uint8)
        expected = chunk_files(digest_layout(self.plan), {DIGEST: digests})
        return [
            task
            for task in self.plan.tasks
            if str(task.number) not in names
            or self.folder.get(f"{_GROUP}/{DIGEST}/c/{task.number}/0")
            != expected[f"{DIGEST}/c/{task.number}/0"]
        ]

    def n_done(self) -> int:
        """Return the number of units in tasks with a digest, without verifying contents."""
        return self.plan.n_units - sum(task.n_units for task in self.missing(verify=False))

    def is_done(self, task: Task) -> bool:
        """Return whether a task has a digest, without verifying its contents."""
        return self.folder.get(f"{_GROUP}/{DIGEST}/c/{task.number}/0") is not None

    def forget(self, task: Task) -> None:
        """Remove the digest of a task, so that it is computed again.

        Raises
        ------
        OutputError
            If it cannot be removed.
        """
        self.folder.remove(f"{_GROUP}/{DIGEST}/c/{task.number}")

    def write(self, task: Task, values: Mapping[str, ArrayLike]) -> None:
        """Write the results of one task: its chunks first, its digest last.

        Parameters
        ----------
        task : Task
            A task of the plan.
        values : mapping of str to array_like
            Rows ``task.start:task.stop`` of each array of the plan, by name.

        Raises
        ------
        InputError
            If an array is missing, unknown, or not of the planned shape or type.
        OutputError
            If a file cannot be written; the task is then not done.
        """
        files = chunk_files(
            layouts(self.plan), check_task_arrays(self.plan, task, values), task.start
        )
        row = np.frombuffer(task_digest(self.plan, task, sorted(files.items())), np.uint8)[None]
        last = chunk_files(digest_layout(self.plan), {DIGEST: row}, task.number)
        for key, content in [*sorted(files.items()), *last.items()]:
            self.folder.set(f"{_GROUP}/{key}", content)


def open_run(
    path: str | Path,
    plan: Plan,
    static: Mapping[str, Static] | None = None,
    *,
    invocation: Mapping[str, Any] | None = None,
) -> Run:
    """Create, continue or repair the run of `plan` in `path`, and return it.

    Parameters
    ----------
    path : str or pathlib.Path
        A folder that is empty, does not exist, or holds a run of this plan or of a smaller one
        that it has grown from (`Plan.grown_from`); or a URL that fsspec knows. A void run
        (`is_void`) of another plan is replaced.
    plan : Plan
        The versions of the run that is there count where `with_versions_of` says so.
    static : mapping of str to Static, optional
        Arrays to store with the run; they must be the same each time it is opened.
    invocation : mapping of str to JSON values, optional
        Arguments of a command; default: those stored before are kept.

    Raises
    ------
    InputError
        If the folder holds a run of another plan, or something else.
    OutputError
        If files cannot be written there, or another process works on a run that is to grow.
    """
    static = static or {}
    for name in static:
        if name in plan.arrays or not name.isidentifier():
            raise InputError(f"{name!r} cannot name a static array: choose another word")
    if DIGEST in {*plan.arrays, *static}:
        raise InputError(f"{DIGEST} is the run's own array: choose another name")
    folder = Folder(absolute_place(path))
    stored = _stored_record(folder)
    if stored is not None:
        plan = with_versions_of(stored.plan, plan, finished=_ONLY_READ.get())
    checksums = {name: array.sha256 for name, array in static.items()}
    # Only a failed run gives way to another plan.
    replaces = stored is not None and is_void(path) and not _is_same(stored, plan, checksums)
    if replaces:
        with folder.held():
            # Remove a run and the runs inside it.
            inner = [
                key for key in folder.names() if _stored_record(Folder(f"{folder.path}/{key}"))
            ]
            for key in (*inner, CLAIMS, FAILED, _GROUP, _RECORD):
                folder.remove(key)
        stored = None
    if stored is not None:
        if plan.grown_from(stored.plan) and way() is Way.ALONE:
            with folder.held():
                pass  # checks that no process computes the smaller run, whose arrays are to grow
        growing = {name for name, array in static.items() if array.dims[0] == plan.unit}
        _check_same(stored, Record(plan, checksums, None), folder.path, growing)
        # The last task of the smaller run has more units now and is computed again.
        last = stored.plan.tasks[-1]
        if plan.tasks[last.number] != last:
            Run(folder.path, stored.plan).forget(last)
    # Either of both files marks a run, perhaps a damaged one, which is then repaired.
    elif not replaces and (names := folder.names()) and not {_GROUP, _RECORD} & set(names):
        raise InputError(
            f"{place_text(path)} holds something else than a run ({short_list(names, 3)}): choose "
            "another "
            "folder"
        )
    if invocation is None and stored is not None:
        invocation = stored.invocation
    record = Record(plan, checksums, invocation)
    for key, content in _initial_files(record, static):
        if folder.get(key) != content:
            folder.set(key, content)
    return Run(folder.path, plan, record.invocation, tuple(record.static))


_ONLY_READ: ContextVar[bool] = ContextVar("only read", default=False)


@contextlib.contextmanager
def only_read() -> Iterator[None]:
    """Let `open_run` accept runs of other versions of packages in a ``with`` block.

    For finished runs: nothing is computed, so nothing of two versions is mixed.
    """
    token = _ONLY_READ.set(True)
    try:
        yield
    finally:
        _ONLY_READ.reset(token)


CLAIMS = "claims"
"""Folder for claims, inside a run's folder."""

FAILED = "failed"
"""Marker file in a run's folder: its last computation raised an exception."""


@contextlib.contextmanager
def failing(path: str | Path) -> Iterator[None]:
    """Mark the run in a local folder as failed if the ``with`` block raises; otherwise unmark it.

    Failed writes do not count, since they do not depend on the run.
    """
    folder = Folder(absolute_place(path))
    try:
        yield
    except OutputError:
        raise
    # An interruption is a BaseException and does not count as a failure.
    except Exception:
        if folder.is_local and _stored_record(folder) is not None:
            with contextlib.suppress(OutputError):
                folder.set(FAILED, b"")
        raise
    forget_failure(path)


def forget_failure(path: str | Path) -> None:
    """Remove the mark of a failed run, if there is one."""
    folder = Folder(absolute_place(path))
    if folder.is_local:
        folder.remove(FAILED)


def is_void(path: str | Path) -> bool:
    """Return whether a local folder holds a failed run.

    Another plan may replace it, so that a failed first attempt does not block the folder.
    """
    folder = Folder(absolute_place(path))
    return folder.is_local and folder.get(FAILED) is not None


def _is_same(stored: Record, plan: Plan, checksums: Mapping[str, str]) -> bool:
    """Return whether a run has this plan and arrays, or a plan that this one has grown from."""
    if plan.grown_from(stored.plan):
        return True
    try:
        _check_same(stored, Record(plan, checksums, None), "", ())
    except InputError:
        return False
    return True


def read_run(path: str | Path) -> Run:
    """Return the run in `path`, without changing it.

    Raises
    ------
    InputError
        If there is no run, or both copies of its plan are damaged.
    """
    stored = _stored_record(Folder(absolute_place(path)))
    if stored is None:
        raise InputError(
            f"{place_text(path)} holds no run whose plan can be read: name the folder of a run, or "
            "start the run again with the same settings to repair it"
        )
    return Run(absolute_place(path), stored.plan, stored.invocation, tuple(stored.static))


def plan_in(run: str | Path) -> Plan | None:
    """Return the plan of the run in a folder; None if there is no readable run."""
    try:
        return read_run(run).plan
    except InputError:
        return None


def runs_in(path: str | Path) -> list[Run]:
    """Return the runs in a local folder and below it, sorted by path.

    Runs inside another run's folder belong to that run and are left out.

    Raises
    ------
    InputError
        If there is no such folder.
    """
    require_local(path, "runs are listed in folders")
    if not Path(path).is_dir():
        raise InputError(f"{path} is not a folder: name a folder that exists")
    found: list[Run] = []
    # Parents come first, sorted by name.
    for at, inner, _ in os.walk(str(path)):
        # A zarr store holds thousands of folders and no runs.
        inner[:] = sorted(name for name in inner if not name.endswith(".zarr"))
        inside = found and Path(at).is_relative_to(found[-1].path)
        if not inside and (stored := _stored_record(Folder(at))) is not None:
            found.append(Run(at, stored.plan))
    return found


def _stored_record(folder: Folder) -> Record | None:
    return record_in(folder.get(_RECORD)) or record_in(
        folder.get(f"{_GROUP}/zarr.json"), inside=_INSIDE
    )


def _initial_files(record: Record, static: Mapping[str, Static]) -> Iterator[tuple[str, bytes]]:
    """Yield the initial files of a run by key, with one chunk of a static array at a time."""
    given = {}
    for name, array in static.items():
        # One chunk, or one per task if units come first.
        shape = array.values.shape
        first = record.plan.units_a_task if array.dims[0] == record.plan.unit else shape[0]
        given[name] = Layout(array.dims, shape, (first, *shape[1:]), array.values.dtype.name)
    described = {**layouts(record.plan), **given, **digest_layout(record.plan)}
    # The record comes first, so that the folder counts as a run's from its first file on.
    yield _RECORD, record.to_bytes()
    told = group_metadata(described, {_INSIDE[1]: record.to_mapping()})
    yield from ((f"{_GROUP}/{key}", content) for key, content in sorted(told.items()))
    for name, layout in given.items():
        values = static[name].values
        step = layout.chunks[0]
        for start in range(0, len(values), step):
            part = chunk_files({name: layout}, {name: values[start : start + step]}, start)
            yield from ((f"{_GROUP}/{key}", content) for key, content in part.items())


def require_same_code(there: Mapping[str, str], here: Mapping[str, str], path: str) -> None:
    """Refuse code that has changed since a run was made with it.

    Raises
    ------
    InputError
        One line: which pieces have changed, and the way out.
    """
    told = changed_pieces(there, here)
    if told is not None:
        raise InputError(OTHER_CODE.format(path, told))


def unchecked_code(run: str | Path | None) -> list[str]:
    """Return warnings that name code behind a run that cannot be compared.

    Empty without a run, since there is nothing to resume with other code.
    """
    known = None if run is None else plan_in(run)
    if run is None or known is None:
        return []
    named = (read_run(run).invocation or {}).get("code")
    pieces = [p for x in named.values() for p in x] if isinstance(named, Mapping) else []
    cut = [str(piece) for piece in pieces if str(piece).startswith(NOT_CHECKED)]
    found = list(dict.fromkeys([*cut, *(f"{NOT_CHECKED}{x}" for x in known.code.unchecked)]))
    if len(found) <= _MOST_NAMED:
        return found
    return [*found[:_MOST_NAMED], f"{NOT_CHECKED}{len(found) - _MOST_NAMED:,} further pieces"]


def _check_same(there: Record, here: Record, path: str, growing: Container[str]) -> None:
    """Refuse a run with another plan or arrays; a grown one may have more rows in `growing`."""
    require_same_code(there.plan.code.digests, here.plan.code.digests, path)
    # A request for fewer units has its own message, before a mere difference is reported.
    if there.plan.grown_from(here.plan):
        unit = here.plan.unit
        n = there.plan.n_units
        fewer = here.plan.n_units
        raise InputError(
            f"{path} holds another run: one of {n} {unit}s, not of {fewer}; a run can grow but "
            f"not shrink: ask for {n} {unit}s or more, or choose another folder"
        )
    grown = here.plan.grown_from(there.plan)
    differing = None if grown else first_difference(there.plan, here.plan)
    if differing is not None:
        raise InputError(
            f"{path} holds another run: {differing}; choose another folder, or the same settings"
        )
    for name in sorted({*there.static, *here.static}):
        differs = there.static.get(name) != here.static.get(name)
        if differs and not (grown and name in there.static and name in growing):
            raise InputError(
                f"{path} holds another run: the array {name} differs; choose another folder, or "
                "the same data"
            )


# Claims on the tasks of a run, to divide its work among processes that share its folder: small
# files in the run's folder ``claims``, named TASK.TURN. A holder rewrites its claim every `BEAT`
# seconds and removes it when the task is done. A claim that has not changed for `LAPSE` seconds of
# the reader's own clock has lost its holder, and the task may be claimed for the next turn. Claims
# only save work: two processes that compute the same task write the same bytes.

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
