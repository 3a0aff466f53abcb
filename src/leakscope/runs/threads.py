"""One thread for the numerical libraries: sums then do not depend on how many workers there are."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

# Read by the libraries when they are loaded, so they also reach what a task imports later, and
# the processes that joblib starts.
_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def keep_one_thread() -> None:
    """Limit this process to one thread for good: for a worker, where tasks may overlap.

    Restoring a limit after each of two overlapping tasks would lift it during the longer one.
    """
    from threadpoolctl import threadpool_limits

    os.environ.update(dict.fromkeys(_VARIABLES, "1"))
    threadpool_limits(1)
    _limit_torch(1)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Limit this process to one thread, and restore what was before.

    A library that is loaded inside keeps its one thread.
    """
    from threadpoolctl import threadpool_limits

    variables = {name: os.environ.get(name) for name in _VARIABLES}
    n_torch = sys.modules["torch"].get_num_threads() if "torch" in sys.modules else None
    with threadpool_limits(1):
        keep_one_thread()
        try:
            yield
        finally:
            _restore(variables)
    if n_torch is not None:
        _limit_torch(n_torch)


def _restore(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _limit_torch(n_threads: int) -> None:
    # threadpoolctl does not know torch's own pool. Nothing imports torch for this alone.
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(n_threads)
