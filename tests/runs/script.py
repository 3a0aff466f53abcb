"""Makes the sample run in a process of its own, to be killed, starved or spread over workers."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from privacygauge.errors import PrivacyGaugeError
from privacygauge.runs import store
from privacygauge.runs.execute import complete
from privacygauge.runs.plan import Task
from privacygauge.runs.sharing import sharing
from privacygauge.runs.store import open_run
from tests.runs.sample import Work, plan, static


@dataclass(frozen=True)
class Deadly(Work):
    """Kills the processes it runs in, each `after` seconds after its first task, `times` times."""

    folder: str = ""
    after: float = 0.0
    times: int = 0

    def __call__(self, task: Task) -> dict[str, np.ndarray]:
        if self._is_next():
            if self.after:
                threading.Timer(self.after, os.kill, (os.getpid(), signal.SIGKILL)).start()
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(task)

    def _is_next(self) -> bool:
        for number in range(self.times):
            with contextlib.suppress(FileExistsError):
                Path(self.folder, f"{number}").touch(exist_ok=False)
                return True
        return False


@dataclass(frozen=True)
class Heavy(Deadly):
    """Carries data, and notes in a file how many bytes of it leave the process that began."""

    notes: str = ""
    data: bytes = bytes(1_000_000)

    def __reduce__(self) -> tuple[object, ...]:
        with Path(self.notes).open("a") as file:
            file.write(f"{os.getpid()} {len(self.data)}\n")
        own = (self.seed, self.seconds, self.folder, self.after, self.times, self.notes, self.data)
        return type(self), own


@dataclass(frozen=True)
class Noting(Work):
    """Notes in a file which process begins which task, and waits until two have begun one."""

    noted: str = ""

    def __call__(self, task: Task) -> dict[str, np.ndarray]:
        with Path(self.noted).open("a") as file:
            file.write(f"{os.getpid()} {task.number}\n")
        while len({line.split()[0] for line in Path(self.noted).read_text().splitlines()}) < 2:
            time.sleep(0.01)
        return super().__call__(task)


@contextlib.contextmanager
def spread(backend: str, n_jobs: int) -> Iterator[None]:
    import joblib

    if backend == "dask":
        from distributed import Client, LocalCluster

        with (
            LocalCluster(n_workers=n_jobs, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster),
            joblib.parallel_config("dask"),
        ):
            yield
    elif backend == "ray":
        import ray
        from ray.util.joblib import register_ray

        register_ray()
        ray.init(num_cpus=n_jobs, include_dashboard=False, log_to_driver=False)
        with joblib.parallel_config("ray", n_jobs=n_jobs):
            yield
        ray.shutdown()
    else:
        with joblib.parallel_config(backend, n_jobs=n_jobs):
            yield


def beside(lapse: float) -> AbstractContextManager[None]:
    """Return what shares runs with other processes, whose claims lapse after some seconds."""
    if not lapse:
        return contextlib.nullcontext()
    store.BEAT, store.LAPSE, store.PAUSE = lapse / 10, lapse, lapse / 20
    return sharing()


def limit_files(n_bytes: int) -> None:
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def asked(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--backend", default="loky")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--deaths", default="")
    parser.add_argument("--after", type=float, default=0.0)
    parser.add_argument("--times", type=int, default=0)
    parser.add_argument("--notes", default="")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--shared", type=float, default=0.0)
    parser.add_argument("--noted", default="")
    return parser.parse_args(arguments)


def ended(given: argparse.Namespace) -> int:
    """Make a run, say how it went, and return the exit code."""
    own = (0, given.seconds, given.deaths, given.after, given.times)
    work: Work = Heavy(*own, given.notes) if given.notes else Deadly(*own)
    if given.noted:
        work = Noting(0, given.seconds, given.noted)
    told: list[tuple[int, int]] = []
    try:
        run = open_run(given.path, plan(), static())
        complete(run, work, progress=lambda *now: told.append(now))
    except PrivacyGaugeError as error:
        say(f"{type(error).__name__}: {error}")
        return 2
    say(f"told {len(told)} {told[0]} {told[-1]}")
    return 0


def main() -> int:
    """Make one run after the other on one backend, with ``--then`` between their options."""
    groups: list[list[str]] = [[]]
    for word in sys.argv[1:]:
        if word == "--then":
            groups.append([])
        else:
            groups[-1].append(word)
    runs = [asked(group) for group in groups]
    with spread(runs[0].backend, runs[0].n_jobs), beside(runs[0].shared):
        if runs[0].limit:
            limit_files(runs[0].limit)
        say("ready")
        return max([ended(given) for given in runs])


if __name__ == "__main__":
    # The workers must find the work by its module, not in this process's __main__.
    from tests.runs import script

    sys.exit(script.main())
