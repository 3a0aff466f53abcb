"""Which of several GPUs a worker computes on: one process each, in turn."""

from __future__ import annotations

import multiprocessing
import re
import sys

_WORKER = re.compile(r"LokyProcess-(\d+)")


def number_of_worker() -> int | None:
    """Return the number of this process among the workers of joblib or Dask, from 0.

    None in a process that is none of them, and where the workers have no numbers.
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
    """Return the number of the GPU that is a worker's; None where there is nothing to choose.

    Parameters
    ----------
    worker : int or None
        From `number_of_worker`.
    n_devices : int
        The GPUs that the process sees.

    Examples
    --------
    >>> [device_of(worker, 2) for worker in (None, 0, 1, 2)]
    [None, 0, 1, 0]
    """
    return None if worker is None or n_devices < 2 else worker % n_devices
