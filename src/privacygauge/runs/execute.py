"""Computation of the missing tasks of a run through joblib, on local processes or a cluster."""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import io
import logging
import pickle
import pickletools
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.errors import InputError, PrivacyGaugeError
from privacygauge.runs.plan import Task
from privacygauge.runs.sharing import Enough, Way, way
from privacygauge.runs.source import files_beside, files_of_module, is_installed, is_theirs
from privacygauge.runs.store import CLAIMS, Claims, Run, Watch, failing, pause
from privacygauge.runs.threads import keep_one_thread, one_thread

_MAIN = "__main__"
_PACKAGE = "__init__.py"

PACKAGES = ("privacygauge", "numpy", "scipy", "scikit-learn", "torch")
"""Packages that every worker must have in the version of the main process."""

_IMPORTING = threading.Lock()


class _File(NamedTuple):
    """A file of the user's code."""

    path: str
    content: bytes


@dataclass(frozen=True)
class Shipped:
    """A function of one argument that is unpacked in a worker on first use."""

    files: Mapping[str, _File]
    """Files of the user's code, by module."""
    versions: Mapping[str, str]
    """Versions of `PACKAGES` in the main process, by name."""
    content: bytes
    """Function, pickled without its arrays."""
    buffers: Sequence[NDArray[np.uint8]]
    """Bytes of its arrays."""

    def __call__(self, asked: Any) -> Any:
        """Call the function.

        Raises
        ------
        InputError
            If the worker has another version of a package or of a file of the user's code.
        """
        return self._function(asked)

    @functools.cached_property
    def _function(self) -> Any:
        require_versions(self.versions, versions_here())
        # Make modules importable in this process from the source that came with the work.
        with _IMPORTING:
            if any(
                _CARRIED.files.get(name, self.files[name]) != self.files[name]
                for name in self.files
            ):
                # A reused worker has modules of an earlier run, and any of them may have imported
                # what has changed: import all of them again.
                for name in _CARRIED.files:
                    if getattr(sys.modules.get(name), "__loader__", None) is _CARRIED:
                        del sys.modules[name]
            _CARRIED.files.update(self.files)
            for name, file in self.files.items():
                module = sys.modules.get(name)
                at = Path(getattr(module, "__file__", None) or "")
                if module is None or getattr(module, "__loader__", None) is _CARRIED:
                    continue
                if file.content and not (at.is_file() and at.read_bytes() == file.content):
                    raise InputError(
                        f"a worker has imported another {name} ({at}) than {file.path}: rename the "
                        "file, or start the workers again"
                    )
            if _CARRIED not in sys.meta_path:
                sys.meta_path.insert(0, _CARRIED)
        # Safe to unpickle: `ship` pickled it in the main process, as engines do with all they send.
        return pickle.loads(self.content, buffers=self.buffers)  # noqa: S301

    def __reduce__(self) -> tuple[Any, ...]:
        return Shipped, (dict(self.files), dict(self.versions), self.content, self.buffers)


def ship(function: Any) -> Shipped:
    """Pack a function with the user's code behind it, so that workers in any folder can call it.

    Raises
    ------
    InputError
        If it cannot be pickled; one line with the reason.
    """
    import cloudpickle

    buffers: list[pickle.PickleBuffer] = []
    stream = io.BytesIO()
    try:
        # Arrays are kept out of the stream, so they are neither copied nor searched for names.
        cloudpickle.Pickler(stream, protocol=5, buffer_callback=buffers.append).dump(function)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise InputError(
            f"the code cannot be sent to other machines ({error}): make what it holds inside the "
            "function that trains"
        ) from error
    content = stream.getvalue()
    # The files of the user's code that a pickled object names, and those they import.
    texts = {text for _, text, _ in pickletools.genops(content) if isinstance(text, str)}
    found: dict[str, Path] = {}
    for name in sorted(texts & {*sys.modules}):
        path = Path(getattr(sys.modules[name], "__file__", None) or "")
        if path.suffix != ".py" or not is_theirs(name) or is_installed(str(path)):
            continue
        if name == _MAIN:
            # Functions of the main module are pickled by value, but what they import is not.
            beside = files_beside(path)
            found |= {other: beside[other] for other in beside if beside[other] != path}
        else:
            found |= files_of_module(name) or {name: path}
    # Parent packages too, with or without an __init__.py, or submodules could not be imported.
    for module, path in [*found.items()]:
        folder = path.parent.parent if path.name == _PACKAGE else path.parent
        parents = module.split(".")[:-1]
        while parents:
            found.setdefault(".".join(parents), folder / _PACKAGE)
            folder = folder.parent
            parents.pop()
    return Shipped(
        {
            name: _File(str(path), path.read_bytes() if path.is_file() else b"")
            for name, path in found.items()
        },
        versions_here(),
        content,
        [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers],
    )


def versions_here() -> dict[str, str]:
    """Return the versions of those `PACKAGES` that are installed in this process."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def require_versions(here: Mapping[str, str], there: Mapping[str, str]) -> None:
    """Refuse a worker with other versions: its results would differ in bytes, or fail.

    Raises
    ------
    InputError
        One line: the package, both versions, and the way out.
    """
    for name, version in here.items():
        found = there.get(name)
        if found != version:
            raise InputError(
                f"a worker has {name} {found or '(not installed)'}, and here it is "
                f"{version}: install the same versions on all machines"
            )


class _Carried(MetaPathFinder, SourceLoader):  # type: ignore[misc]  # of the standard library
    """Finds and loads modules from source that came with work."""

    def __init__(self) -> None:
        self.files: dict[str, _File] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.files:
            return None
        return spec_from_file_location(fullname, self.files[fullname].path, loader=self)

    def get_filename(self, fullname: str) -> str:
        return self.files[fullname].path

    def get_data(self, path: str) -> bytes:
        carried = {file.path: file.content for file in self.files.values()}
        return carried[path] if path in carried else Path(path).read_bytes()


_CARRIED = _Carried()


Work = Callable[[Task], Mapping[str, ArrayLike]]
Progress = Callable[[int, int], None]

# Attempts in a row in which workers died without finishing a single task.
_ROUNDS = 3
_DEATHS = {
    "distributed": ("KilledWorker",),
    "ray.exceptions": (
        "WorkerCrashedError",
        "NodeDiedError",
        "LocalRayletDiedError",
        "OutOfMemoryError",
        "ObjectLostError",
        "TaskUnschedulableError",  # the node that was asked for its versions is gone
    ),
}


def complete(
    run: Run, work: Work, *, n_jobs: int | None = None, progress: Progress | None = None
) -> None:
    """Compute and write every task of `run` that is missing or damaged.

    The folder is identical, byte for byte, for any number of workers, any backend and any
    interruptions, as long as `work` depends only on its task and the plan.

    Parameters
    ----------
    run : Run
        From `open_run`.
    work : callable
        Maps a Task to its rows of every array of the plan. It is pickled and runs in the workers
        on one thread; its arrays may be read-only there.
    n_jobs : int, optional
        Number of workers; -1 for one per core. Default: that of the surrounding
        ``joblib.parallel_config``, or else 1, which is this process.
    progress : callable, optional
        Called with the number of units done and their total, at the start and whenever tasks
        finish.

    Raises
    ------
    InputError
        If `n_jobs` is 0, or `work` returns other arrays than planned.
    OutputError
        If a result cannot be written, or another process works on the run.
    PrivacyGaugeError
        If workers keep dying without finishing a task.

    Notes
    -----
    Exceptions of `work` propagate. After any exception, the tasks done so far are kept.
    """
    if n_jobs == 0:
        raise InputError("n_jobs must be at least 1, or -1 for one a core, got 0")
    if way() is Way.PLAN_ONLY:
        raise Enough
    is_shared = way() is Way.BESIDE_OTHERS
    with run.folder.held(shared=is_shared), one_thread(), failing(run.path):
        if is_shared:
            is_done = _until_all_are_done(run, work, n_jobs, progress)
        else:
            run.folder.remove_unfinished()
            run.folder.remove(CLAIMS)
            is_done = _until_done(run, work, n_jobs, progress)
        if not is_done:
            raise PrivacyGaugeError(
                f"workers died {_ROUNDS} times without finishing a task (out of memory?): start "
                f"again with fewer workers or more memory; the {run.n_done()} {run.plan.unit}s "
                f"done in {run.path} are kept"
            )
        # A killed worker leaves partial files even if others finished its tasks.
        if not is_shared:
            run.folder.remove_unfinished()


def _until_done(run: Run, work: Work, n_jobs: int | None, progress: Progress | None) -> bool:
    """Compute the missing tasks; return False if workers keep dying without finishing one."""
    left = run.missing()
    in_vain = 0
    while in_vain < _ROUNDS:
        tally = _Tally(run, left, progress, had_workers=in_vain > 0)
        tally.tell(0)
        if not left:
            return True
        if _attempt(tally, work, n_jobs):
            # Workers on other machines may have written to a different folder of the same path.
            lost = run.missing(verify=False)
            if lost:
                raise PrivacyGaugeError(
                    f"workers say they are done, but the results of {len(lost)} tasks are not in "
                    f"{run.path}: all machines must see the same folder under this path"
                )
            return True
        still = run.missing(verify=False)
        in_vain = 0 if len(still) < len(left) else in_vain + 1
        left = still
    return False


def _until_all_are_done(
    run: Run, work: Work, n_jobs: int | None, progress: Progress | None
) -> bool:
    """Compute the tasks that no other process has claimed, and wait for the rest.

    False as for `_until_done`.
    """
    undone = {task.number for task in run.missing(verify=False)}
    left = run.missing()
    for task in left:
        if task.number not in undone:
            run.forget(task)  # it has a digest, but is damaged
    watch = Watch(run)
    in_vain = 0
    while in_vain < _ROUNDS:
        free, claims = watch.free(left)
        elsewhere = sum(task.n_units for task in left) - sum(task.n_units for task in free)
        tally = _Tally(run=run, left=free, progress=progress, claims=claims, n_elsewhere=elsewhere)
        tally.tell(0)
        if not left:
            return True
        in_vain = 0 if not free or _attempt(tally, work, n_jobs) else in_vain + 1
        still = run.missing(verify=False)
        if len(still) == len(left):
            pause()
        left = still
    return False


@dataclass(frozen=True)
class _Tally:
    run: Run
    left: Sequence[Task]
    progress: Progress | None
    claims: Claims | None = None
    """Claims of this process; None if it computes the run alone."""
    n_elsewhere: int = 0
    """Number of units that other processes compute."""
    had_workers: bool = False
    """Whether workers have died already, so that a cluster without any is not one that waits for
    its first."""

    @functools.cached_property
    def n_units(self) -> int:
        """Number of units of the tasks that are left."""
        return sum(task.n_units for task in self.left)

    def tell(self, n_tasks: int) -> None:
        # Only the last task may be shorter, so the count is exact once all are done.
        if self.progress is not None:
            plan = self.run.plan
            here = self.n_units
            new = here if n_tasks == len(self.left) else n_tasks * plan.units_a_task
            self.progress(plan.n_units - self.n_elsewhere - here + min(new, here), plan.n_units)


def _attempt(tally: _Tally, work: Work, n_jobs: int | None) -> bool:
    """Run the remaining tasks; return True if all are done, False if a worker died."""
    try:
        with (
            warnings.catch_warnings(),
            contextlib.closing(_finish_tasks(tally, work, n_jobs)) as done,
        ):
            # After an interruption joblib warns about unused results, but they are on disk.
            warnings.filterwarnings("ignore", "[0-9]+ tasks ", UserWarning)
            # loky replaces a worker that grew too large; users need not act.
            warnings.filterwarnings("ignore", "A worker stopped while ", UserWarning)
            for n_tasks, _ in enumerate(done, start=1):
                tally.tell(n_tasks)
    except BrokenExecutor:
        return False
    except _deaths():
        return False
    return True


def _deaths() -> tuple[type[BaseException], ...]:
    # A backend that was never imported has no workers that could have died.
    return tuple(
        getattr(sys.modules[module], name)
        for module, names in _DEATHS.items()
        if module in sys.modules
        for name in names
    )


def _finish_tasks(tally: _Tally, work: Work, n_jobs: int | None) -> Generator[int, None, None]:
    """Yield the number of each task as soon as it is done, in any order."""
    from joblib import Parallel, delayed, parallel

    # Dask and Ray run without joblib, all others through it.
    backend = parallel.get_active_backend()[0]
    client = getattr(backend, "client", None)
    if client is not None:
        return _finished_on_dask(tally, work, client)
    if type(backend).__module__.startswith("ray."):
        return _finished_on_ray(tally, work)
    do = functools.partial(_do, tally.run, tally.claims)
    jobs = (delayed(do)(work, task) for task in tally.left)
    results = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    done: Generator[int, None, None] = results(jobs)
    return done


_NO_WORKER = 60.0
"""Seconds without a result after which a cluster must have a worker."""
_POLL = 0.05
"""Seconds between two looks at what is done."""


def _require_versions_on_dask(client: Any) -> None:
    """Refuse workers with other versions, which might fail to unpickle the work."""
    # A function of the standard library, which every worker can run.
    for package, here in versions_here().items():
        for there in client.run(metadata.version, package, on_error="return").values():
            if isinstance(there, metadata.PackageNotFoundError):
                require_versions({package: here}, {package: ""})
            elif isinstance(there, str):
                require_versions({package: here}, {package: there})
            # Any other answer comes from a worker that died meanwhile: it computes nothing, and
            # the one that replaces it has the same environment.


def _finished_on_dask(tally: _Tally, work: Work, client: Any) -> Generator[int, None, None]:
    """Run the tasks on Dask directly, since joblib waits forever if Dask gives up on a task.

    joblib, also 1.6, passes on a task's result or exception, but not the death of its workers.
    """
    distributed = sys.modules["distributed"]
    futures: list[Any] = []
    try:
        _require_versions_on_dask(client)
        # The work is the result of a task: unlike scattered data, Dask computes it again if the
        # worker that holds it dies.
        shared = client.submit(functools.partial(_same_work, ship(work)), pure=False)
        do = functools.partial(_do, tally.run, tally.claims)
        futures += [client.submit(do, shared, task, pure=False) for task in tally.left]
        done = distributed.as_completed(futures)
        had_workers = tally.had_workers or bool(client.nthreads())
        alive = time.monotonic()
        while not done.is_empty():
            if done.has_ready():
                yield next(done).result()
                alive = time.monotonic()
            # Dask waits forever where no worker is left: one that finds itself given up by the
            # scheduler ends, and so does the process that would start it again.
            elif time.monotonic() - alive > _NO_WORKER:
                there = bool(client.nthreads())
                if had_workers and not there:
                    raise BrokenExecutor
                had_workers = had_workers or there
                alive = time.monotonic()
            else:
                time.sleep(_POLL)
    except (distributed.client.FutureCancelledError, distributed.comm.CommClosedError) as error:
        run = tally.run
        raise PrivacyGaugeError(
            "the Dask scheduler was lost: start it again, then privacygauge resume "
            f"{run.path}; the {run.n_done()} {run.plan.unit}s done there are kept"
        ) from error
    finally:
        if client.status == "running":
            client.cancel(futures)


def _finished_on_ray(tally: _Tally, work: Work) -> Generator[int, None, None]:
    """Run the tasks on Ray directly: joblib's pool there loses all tasks with one node."""
    ray = sys.modules["ray"]
    _require_versions_on_ray(ray)
    shared = ray.put(ship(work))  # stored once: tasks carry a reference
    # Tried again by `_until_done`, which counts the rounds in vain.
    submit = ray.remote(num_cpus=1, max_retries=0)(_do_as_ray).remote
    do = functools.partial(_do, tally.run, tally.claims)
    left = [submit(do, shared, task) for task in tally.left]
    has_died = False
    heard = time.monotonic()
    while left:
        ready, left = ray.wait(left, num_returns=1, timeout=_HEAD_POLL, fetch_local=False)
        for result in ready:
            try:
                yield ray.get(result)
            except _deaths():
                has_died = True
            except ray.exceptions.RayTaskError as error:
                raise error.cause from None  # its own text is a traceback
        host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
            heard = time.monotonic()
        except OSError as error:
            if time.monotonic() - heard > _HEAD_LOST:
                run = tally.run
                raise PrivacyGaugeError(
                    "the Ray head was lost: start it again, then privacygauge resume "
                    f"{run.path}; the {run.n_done()} {run.plan.unit}s done there are kept"
                ) from error
    if has_died:
        raise BrokenExecutor


_HEAD_POLL = 0.25
"""Seconds between two looks at Ray's head, and the longest wait for a result."""
_HEAD_LOST = 2.0
"""Seconds without an answer after which Ray's head is lost."""


def _do_as_ray(do: Callable[[Work, Task], int], work: Work, task: Task) -> int:
    return do(work, task)


def _require_versions_on_ray(ray: Any) -> None:
    """Refuse nodes with other versions, which might fail to unpickle the work."""
    nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
    if len(nodes) < 2:
        return  # a single node's workers have the environment of this process
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    remote = ray.remote(num_cpus=0, max_retries=0)(metadata.version)
    there = [
        remote.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False))
        for node in nodes
    ]
    here = versions_here()
    # All at once: each node starts a process for its first answer.
    asked = [(package, node.remote(package)) for node in there for package in here]
    for package, answer in asked:
        try:
            found = ray.get(answer)
        except metadata.PackageNotFoundError:
            found = ""
        except _deaths():
            continue  # it computes nothing, and what replaces it has the same environment
        require_versions({package: here[package]}, {package: found})


def _same_work(work: Work) -> Work:
    return work


def _do(run: Run, claims: Claims | None, work: Work, task: Task) -> int:
    keep_one_thread()
    with contextlib.nullcontext(True) if claims is None else claims.held(run, task) as mine:
        if mine:
            run.write(task, work(task))
    return task.number


LOCAL = ("loky", "threading")
_MISSING = "--backend {} needs more packages: pip install 'privacygauge[scale]'"


@contextmanager
def backend(text: str) -> Iterator[None]:
    """Use the backend named by `text`: loky, threading, dask[=ADDRESS] or ray[=ADDRESS]."""
    name, _, address = text.partition("=")
    # A local backend has no address: "loky=..." falls through to the error.
    if name in LOCAL and not address:
        with joblib.parallel_config(name):
            yield
    elif name == "dask":
        with _dask(address or None):
            yield
    elif name == "ray":
        with _ray(address or None):
            yield
    else:
        raise InputError(
            f"--backend must be loky, threading, dask[=ADDRESS] or ray[=ADDRESS], got {text!r}"
        )


@contextmanager
def _dask(address: str | None) -> Iterator[None]:
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(_MISSING.format("dask")) from error
    make: Any = Client  # untyped
    try:
        client = make(address, set_as_default=True)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address}: {error}") from error
    # Silenced: the run itself reports a lost scheduler in one line, and workers that end late do
    # not matter.
    logs = [logging.getLogger(f"distributed.{part}") for part in ("client", "nanny")]
    levels = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL)
    try:
        with client, joblib.parallel_config("dask"):
            yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)


@contextmanager
def _ray(address: str | None) -> Iterator[None]:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise InputError(_MISSING.format("ray")) from error
    try:
        ray.init(
            address=address,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.CRITICAL,  # the run itself reports what is lost
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(f"no Ray cluster answers at {address}: {error}") from error
    register: Any = register_ray  # untyped
    register()
    try:
        with joblib.parallel_config("ray"):
            yield
    finally:
        ray.shutdown()
