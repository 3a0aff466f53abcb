"""A worker's share of the machine: one thread, its own GPU, and the memory that is free."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

# Libraries read these when they are loaded, so the limit also reaches what a task imports later
# and the processes that joblib starts.
_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def limited_to(n_threads: int | None) -> AbstractContextManager[Any]:
    """Limit the threads of the libraries that are loaded; None sets no limit.

    The limit holds from the call on, or in a ``with`` statement until the end of the block.
    """
    limit: AbstractContextManager[Any] = _libraries(len(sys.modules)).limit(limits=n_threads)
    return limit


@functools.lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """Return the loaded libraries with thread pools; cached until more modules are loaded.

    A search of the loaded libraries takes as long as training a small model.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def keep_one_thread() -> None:
    """Limit this process to one thread permanently, for workers with tasks that may overlap.

    Restoring the limit after the shorter of two overlapping tasks would lift it during the longer
    one.
    """
    os.environ.update(dict.fromkeys(_VARIABLES, "1"))
    limited_to(1)
    # threadpoolctl does not know torch's own pool. Torch is not imported just for this.
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Limit this process to one thread for the ``with`` block, and restore the limits afterwards.

    A library that is loaded inside the block keeps its limit of one thread.
    """
    # `limited_to` restores the libraries' limits; variables and torch's pool are restored here.
    variables = {name: os.environ.get(name) for name in _VARIABLES}
    n_torch = sys.modules["torch"].get_num_threads() if "torch" in sys.modules else None
    with limited_to(1):
        keep_one_thread()
        try:
            yield
        finally:
            for name, value in variables.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
    if n_torch is not None:
        sys.modules["torch"].set_num_threads(n_torch)


_WORKER = re.compile(r"LokyProcess-(\d+)")


def number_of_worker() -> int | None:
    """Return the index of this process among the workers of joblib or Dask, from 0.

    None in any other process, or if workers have no numbers.
    """
    found = _WORKER.match(multiprocessing.current_process().name)
    if found:
        return int(found[1]) - 1
    if "distributed" in sys.modules:
        try:
            name = sys.modules["distributed"].get_worker().name
        except ValueError:  # not in a worker
            return None
        return name if isinstance(name, int) else None
    return None


def device_of(worker: int | None, n_devices: int) -> int | None:
    """Return the index of a worker's GPU; None if there is no choice.

    Parameters
    ----------
    worker : int or None
        Index of the worker, from `number_of_worker`.
    n_devices : int
        Number of GPUs that the process sees.

    Examples
    --------
    >>> [device_of(worker, 2) for worker in (None, 0, 1, 2)]
    [None, 0, 1, 0]
    """
    return None if worker is None or n_devices < 2 else worker % n_devices


def free_memory() -> int:
    """Return the free memory of the machine or its container, whichever is less, in bytes."""
    # Assumed if the system does not tell: little, so that work is rather refused than killed.
    machine = 4 * 2**30
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                machine = int(line.split()[1]) * 1024
                break
    except OSError:
        pass
    # The limit of the container (cgroup v2), if there is one.
    group = Path("/sys/fs/cgroup")
    try:
        most = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
    except OSError:
        return machine
    return machine if most == "max" else min(machine, max(int(most) - used, 0))


def bytes_text(n_bytes: int) -> str:
    """Return a number of bytes as text, in GiB, MiB or bytes."""
    if n_bytes >= 2**30:
        return f"{n_bytes / 2**30:,.3g} GiB" if n_bytes < 2**50 else "more than a million GiB"
    return f"{n_bytes / 2**20:.3g} MiB" if n_bytes >= 2**20 else f"{n_bytes} bytes"
