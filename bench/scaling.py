"""How time, memory and storage grow with models, records and classes, and whether that carries.

Each model of the cost is fitted to small runs and then asked about one ten times larger, which
is run too: the ratio of the two is printed. Times are the least of several runs, because on a
shared machine other work only adds.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from _measure import show, timed
from joblib import Parallel, delayed
from scipy.optimize import nnls

from privacygauge.classifiers.audit.models import audit_model
from privacygauge.classifiers.estimators import Estimators
from privacygauge.classifiers.files import save_predictions
from privacygauge.classifiers.game import MOST_SHADOW_ROWS, PoolGame
from privacygauge.classifiers.named import logistic, naive_bayes
from privacygauge.classifiers.predictions import Pool, predictions
from privacygauge.classifiers.shadows import cohort_of, membership, train_all
from privacygauge.classifiers.suite import single_record_attacks
from privacygauge.classifiers.targeted import BLOCK
from privacygauge.classifiers.trainer import Cohort, Trainer
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Observation
from privacygauge.core.release import Coins, Worlds
from privacygauge.datasets.reading import read_content
from privacygauge.runs.execute import _Tally, complete
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.store import Run, open_run, read_run

D = 20
Size = tuple[int, int, int]
"""Models, records, classes."""


@dataclass(frozen=True)
class Fit:
    """A sum of terms with coefficients of at least 0, fitted to small sizes."""

    terms: Mapping[str, Callable[[Size], float]]
    coefficients: np.ndarray
    sizes: Sequence[Size]
    measured: np.ndarray

    @classmethod
    def of(cls, terms: Mapping[str, Callable[[Size], float]], found: Mapping[Size, float]) -> Fit:
        """Return the fit with the least sum of squared relative errors."""
        sizes, measured = list(found), np.array(list(found.values()))
        rows = np.array([[term(size) for term in terms.values()] for size in sizes])
        rows /= measured[:, None]
        scale = rows.max(axis=0)
        coefficients, _ = nnls(rows / scale, np.ones(len(sizes)))
        return cls(terms, coefficients / scale, sizes, measured)

    def at(self, size: Size) -> float:
        """Return what the fit says of a size."""
        values = [term(size) for term in self.terms.values()]
        return float(np.dot(self.coefficients, values))

    def lines(self, unit: str) -> list[str]:
        """Return the coefficients, and how far the fit is off where it was made."""
        ratio = np.array([self.at(size) for size in self.sizes]) / self.measured
        named = zip(self.terms, self.coefficients, strict=True)
        text = " + ".join(f"{value:.3g} {unit} x {name}" for name, value in named if value > 0)
        off = f"fit over measured {ratio.min():.2f} to {ratio.max():.2f} (n = {len(ratio)} sizes)"
        return [f"  {text}", f"  {off}"]

    def check(self, size: Size, measured: float, unit: str) -> str:
        """Return predicted beside measured."""
        predicted = self.at(size)
        return (
            f"  {size}: predicted {predicted:.3g} {unit}, measured {measured:.3g} {unit}, "
            f"ratio {predicted / measured:.2f}"
        )


def records(n: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features that tell something of the class."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    return rng.normal(size=(n, D)) + rng.normal(size=(classes, D))[y], y


def train(trainer: Trainer, size: Size, n_jobs: int, folder: str) -> Path:
    """Train so many models on coin flips, as an audit does, into a folder."""
    models, n, classes = size
    x, y = records(n, classes)
    inside = membership(models, n, 0, target=False)
    run = Path(folder) / "run"
    train_all(trainer, cohort_of(x, y, inside, 0), seed=0, run=run, n_jobs=n_jobs)
    return run


def least(call: Callable[[], object], repeat: int) -> float:
    """Return the least time of some runs."""
    return float(timed(call, repeat).seconds.min())


def seconds(trainer: Trainer, size: Size, n_jobs: int, repeat: int) -> tuple[float, int]:
    """Return the least time of a run, and how many tasks it was cut into."""
    found, n_tasks = [], 0
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            run = train(trainer, size, n_jobs, folder)
            found.append(time.perf_counter() - began)
            n_tasks = len(read_run(run).plan.tasks)
    return min(found), n_tasks


TIME = {
    "run": lambda s: 1.0,
    "task": lambda s: float(min(s[0], 256)),
    "(model x class)": lambda s: float(s[0] * s[2]),
    "(model x record)": lambda s: float(s[0] * s[1]),
    "(model x record x class)": lambda s: float(s[0] * s[1] * s[2]),
}
"""Of models trained one by one, in at most 256 tasks; some work class by class."""

STACKED = {name: term for name, term in TIME.items() if name not in ("task", "(model x class)")}
"""Of models trained in stacks."""


def grown(
    name: str,
    trainer: Trainer,
    n_jobs: int,
    repeat: int,
    sizes: Sequence[Size],
    larger: Sequence[Size],
    terms: Mapping[str, Callable[[Size], float]],
) -> list[str]:
    """Return the fit of the training time, and the check on larger runs."""
    seconds(trainer, sizes[0], n_jobs, 1)  # processes and imports are warm
    found = {size: seconds(trainer, size, n_jobs, repeat)[0] for size in sizes}
    fit = Fit.of(terms, found)
    rows = [f"{name}, {D} features, {n_jobs} process(es)", *fit.lines("s")]
    for size in larger:
        taken, n_tasks = seconds(trainer, size, n_jobs, 1)
        rows.append(f"{fit.check(size, taken, 's')}, {n_tasks} tasks")
    return rows


def networks(epochs: int = 20, workers: int = 2) -> Trainer:
    """Return the trainer of 64 tanh units."""
    from privacygauge.classifiers.networks import LONG_2017, Networks

    return Networks(LONG_2017, epochs, 100, workers=workers)


def training(options: argparse.Namespace) -> list[str]:
    """Return the time of training by its kind."""
    # Small runs must be long enough to show every term, or it cannot be told from noise.
    some = [(m, n, c) for m in (8, 32) for n in (1_000, 8_000) for c in (4, 20)]
    ten = [(320, 8_000, 4), (32, 80_000, 4), (8, 8_000, 200)]
    again = options.repeat
    stacks = [(m, n, c) for m in (16, 64) for n in (250, 1_000) for c in (16, 48)]
    more = [(640, 1_000, 48), (64, 10_000, 48)]
    return [
        *grown("naive Bayes", Estimators(naive_bayes), 1, again, some, ten, TIME),
        *grown("logistic", Estimators(logistic), 1, again, some[:4], ten[1:2], TIME),
        *grown("64 tanh, 20 epochs", networks(), 2, again, stacks, more, STACKED),
    ]


def curve(options: argparse.Namespace) -> list[str]:
    """Return the time and storage by the number of models."""
    rows = ["64 tanh, 20 epochs, 2,000 records, 10 classes, 2 processes: models, s, s a model, MB"]
    for models in (4, 8, 16, 32, 64, 128, 256):
        size, found, stored = (models, 2_000, 10), [], 0
        for _ in range(2):
            with tempfile.TemporaryDirectory() as folder:
                began = time.perf_counter()
                run = train(networks(), size, 2, folder)
                found.append(time.perf_counter() - began)
                stored = bytes_in(run)
        rows.append(
            f"  {models:4} {min(found):7.2f} {min(found) / models:8.4f} {stored / 1e6:8.1f}"
        )
    return rows


def logits(options: argparse.Namespace) -> list[str]:
    """Return storage and peak memory of audits with whole vectors and with one logit."""
    rows = ["runs of whole vectors and of one logit: bytes a model and record, peak of the audit"]
    for size in ((64, 20_000, 10), (64, 20_000, 100)):
        for one_logit in (False, True):
            with multiprocessing.get_context("spawn").Pool(1) as workers:
                stored, held, taken = workers.apply(kept_audit, (size, one_logit))
            name = "one logit" if one_logit else "vectors"
            rows.append(f"  {size} {name:9} {stored:7.1f} {held / 1e9:6.2f} GB {taken:6.1f} s")
    return rows


def kept_audit(size: Size, one_logit: bool) -> tuple[float, float, float]:
    """Return bytes on disk for each model and record, the peak of the process, and seconds."""
    models, n, classes = size
    x, y = records(n, classes)
    suite = single_record_attacks("shared")[2:3]  # the peak is that of the inputs
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        options = {"attacks": suite, "run": folder, "one_logit": one_logit}
        audit_model(Instant(), x, y, n_shadows=models, **options)
        return bytes_in(Path(folder)) / (models * n), peak_of_process(), time.perf_counter() - began


def bytes_in(folder: Path, pattern: str = "*") -> int:
    """Return the bytes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


def storage(options: argparse.Namespace) -> list[str]:
    """Return what a run holds on disk, as a share of the plain numbers."""
    rows = ["storage: bytes of predictions over the plain ones, files, bytes of all else"]
    kinds = {
        "naive Bayes (float64)": (Estimators(naive_bayes), 8),
        "logistic (float64)": (Estimators(logistic), 8),
        "64 tanh (float32)": (networks(5), 4),
    }
    for name, (trainer, width) in kinds.items():
        for size in ((32, 2_000, 10), (320, 2_000, 10)):
            if size[0] > 32 and name.startswith("logistic"):
                continue
            with tempfile.TemporaryDirectory() as folder:
                run = train(trainer, size, 2, folder)
                tasks = len(read_run(run).plan.tasks)
                files = [p for p in run.rglob("*") if p.is_file()]
                kept = bytes_in(run / "observations.zarr" / "prediction" / "c")
                member = bytes_in(run / "observations.zarr" / "member" / "c")
                share = kept / (width * np.prod(size))
                rest = bytes_in(run) - kept - member
                rows.append(
                    f"  {name}, {size}: {share:.2f}, {tasks} tasks, {len(files)} files, "
                    f"{rest:,} bytes; membership {member / (size[0] * size[1]):.3f} bytes a bit"
                )
    return rows


def observation(size: Size) -> Observation:
    """Return what the adversary sees, with made-up predictions."""
    models, n, classes = size
    rng = np.random.default_rng(0)
    labels = np.arange(n) % classes
    inside = rng.random((models + 1, n)) < 0.5
    values = rng.normal(size=(models + 1, n, classes)).astype(np.float32)
    np.put_along_axis(values, labels[None, :, None], 2.0 + inside[..., None], axis=2)
    values += rng.normal(size=values.shape).astype(np.float32)
    target = predictions(logits=values[0], labels=labels, member=inside[0])
    return PoolGame(target, Pool(values[1:], True, inside[1:], labels)).round().observation


CELLS = {
    "call": lambda s: 1.0,
    "record": lambda s: float(s[1]),
    "(model x record)": lambda s: float(s[0] * s[1]),
    "(model x record x class)": lambda s: float(s[0] * s[1] * s[2]),
}
"""Attacks on worlds hold them whole, once or a few times."""

BLOCKS = {
    "call": lambda s: 1.0,
    "record": lambda s: float(s[1]),
    "entry of a block": lambda s: float(min(np.prod(s), BLOCK)),
}
"""Attacks on whole predictions work on one block of them at a time."""


def shadow_rows(size: Size) -> int:
    """Return how many rows of the pool thresholds and posteriors are learnt on."""
    models, n, _ = size
    return n * max(1, min(models, MOST_SHADOW_ROWS // n))


AUDIT = {
    "call": lambda s: 1.0,
    "(model x record)": lambda s: float(s[0] * s[1]),
    "(model x record x class)": lambda s: float(s[0] * s[1] * s[2]),
    "shadow row": lambda s: float(shadow_rows(s)),
    "(model x record) in threads": lambda s: float(s[0] * s[1] * (s[1] > 20_000)),
}


def attacks(options: argparse.Namespace) -> list[str]:
    """Return the time and the memory of the attacks on single records, beside the worlds."""
    sizes = [(8, 1_000, 10), (8, 4_000, 10), (64, 1_000, 10), (64, 4_000, 10), (64, 2_000, 30)]
    large = (64, 40_000, 10)
    seen = {size: observation(size) for size in sizes}
    wide = observation(large)
    rows = [f"attacks on single records: fitted on {len(sizes)} sizes, checked at {large}"]
    for attack in single_record_attacks("shared"):
        took = {size: least(lambda s=size, a=attack: score(a, seen[s]), 3) for size in sizes}
        held = {size: float(peak(lambda s=size, a=attack: score(a, seen[s]))) for size in sizes}
        blocks = attack.name in ("distance", "frequency")
        fits = (Fit.of(CELLS, took), Fit.of(BLOCKS if blocks else CELLS, held))
        t = least(lambda a=attack: score(a, wide), 1)
        b = float(peak(lambda a=attack: score(a, wide)))
        cells = large[0] * large[1]
        rows.append(
            f"  {attack.name} ({attack.variant}): {1e9 * t / cells:.0f} ns and "
            f"{b / cells:.1f} bytes a (model x record); predicted over measured "
            f"{fits[0].at(large) / t:.2f} (time), {fits[1].at(large) / b:.2f} (memory)"
        )
    return rows


def score(attack: Attack, seen: Observation) -> object:
    """Return an attack's scores."""
    return attack.score(seen, np.random.default_rng(0))


def peak(call: Callable[[], object]) -> int:
    """Return the most bytes that a call holds beside its input."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@dataclass(frozen=True)
class Instant:
    """Draws predictions in place of training: leaves what the audit itself costs."""

    name: str = "instant"
    logits: bool = True

    def describe(self) -> Mapping[str, object]:
        """Return nothing: it has no settings."""
        return {}

    def train(self, cohort: Cohort) -> np.ndarray:
        """Return made-up logits."""
        rng, asked = np.random.default_rng(cohort.seeds[0]), cohort.asked
        values = rng.normal(size=cohort.shape).astype(np.float32)
        values[:, np.arange(len(asked)), cohort.y[asked]] += 1.0 + cohort.inside[:, asked]
        return values


def audited(size: Size) -> tuple[float, float]:
    """Return the time of an audit without training, and the peak memory of its process."""
    models, n, classes = size
    x, y = records(n, classes)
    began = time.perf_counter()
    audit_model(Instant(), x, y, n_shadows=models, attacks=single_record_attacks("shared"))
    return time.perf_counter() - began, peak_of_process()


def peak_of_process() -> float:
    """Return the most bytes that this process held: Linux only.

    getrusage would not do: a process takes over the peak of the one that started it.
    """
    status = Path("/proc/self/status").read_text()
    return 1024.0 * int(re.search(r"VmHWM:\s+(\d+)", status)[1])


def in_fresh_process(size: Size) -> tuple[float, float]:
    """Return the same, measured in a process of its own: a peak is never given back."""
    with multiprocessing.get_context("spawn").Pool(1) as workers:
        return workers.apply(audited, (size,))


def whole(options: argparse.Namespace) -> list[str]:
    """Return the time and peak memory of audits, apart from training."""
    sizes = [(16, 5_000, 10), (64, 5_000, 10), (64, 10_000, 10), (16, 10_000, 30)]
    # From 20,000 records on attacks run beside each other; the last two have more rows than
    # thresholds are learnt on.
    sizes += [(16, 40_000, 10), (64, 40_000, 2), (128, 21_000, 2)]
    large = (64, 100_000, 10)
    measured = {size: in_fresh_process(size) for size in sizes}
    took = Fit.of(AUDIT, {size: found[0] for size, found in measured.items()})
    held = Fit.of(AUDIT, {size: found[1] for size, found in measured.items()})
    t, b = in_fresh_process(large)
    return [
        "an audit by the attacks on single records, training apart (float32 logits)",
        *took.lines("s"),
        took.check(large, t, "s"),
        *held.lines("bytes"),
        held.check(large, b, "bytes"),
    ]


def tiny(n_tasks: int) -> Plan:
    """Return the plan of so many tasks that do nothing."""
    shape = (n_tasks, 4)
    spec = ArraySpec(("model", "record"), shape, "float32")
    return Plan("tiny", 0, n_tasks, "model", 1, {"score": spec})


def nothing(task: Task) -> dict[str, np.ndarray]:
    """Return a task's rows, without work."""
    return {"score": np.zeros((task.n_units, 4), np.float32)}


def unpickled_write(data: bytes, number: int) -> None:
    """Write a task as a worker does, which is sent the run with every task."""
    run: Run = pickle.loads(data)  # noqa: S301  (our own)
    task = Task(number, number, number + 1)
    run.write(task, nothing(task))


def manifest(options: argparse.Namespace) -> list[str]:
    """Return what a run costs a task, and what so many tasks would cost."""
    rows = [
        "the run itself, tasks without work: tasks, ms: open, then a task: write, by a worker, "
        "verify, list, progress"
    ]
    by_worker = {}
    for n_tasks in (100, 1_000, 10_000, 100_000):
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            run = open_run(Path(folder) / "run", tiny(n_tasks))
            opened = time.perf_counter() - began
            data = pickle.dumps(run)
            some = range(20)
            write = timed(lambda r=run: r.write(Task(0, 0, 1), nothing(Task(0, 0, 1))), 20)
            worker = [timed(lambda i=i, d=data: unpickled_write(d, i), 1).seconds[0] for i in some]
            by_worker[n_tasks] = float(np.median(worker))
            verified = listed = float("nan")
            if n_tasks <= 1_000:
                complete(run, nothing)
                verified = least(run.missing, 1) / n_tasks
                listed = least(lambda r=run: r.missing(verify=False), 3) / n_tasks
            tally = _Tally(run, run.plan.tasks, lambda done, total: None)
            told = least(lambda t=tally: t.tell(1), 3)
            of_a_task = (np.median(write.seconds), by_worker[n_tasks], verified, listed, told)
            ms = [1e3 * value for value in (opened, *of_a_task)]
            rows.append(f"  {n_tasks:7,} " + " ".join(f"{value:8.3f}" for value in ms))
    return rows


def whole_runs(options: argparse.Namespace) -> list[str]:
    """Return the time of runs of empty tasks in two processes, fitted and checked."""
    terms = {"run": lambda s: 1.0, "task": lambda s: float(s[0])}
    taken = {}
    for n_tasks in (100, 200, 400, 4_000):
        times = []
        for _ in range(2 if n_tasks < 1_000 else 1):
            with tempfile.TemporaryDirectory() as folder:
                run = open_run(Path(folder) / "run", tiny(n_tasks))
                times.append(timed(lambda r=run: complete(r, nothing, n_jobs=2), 1).seconds[0])
        taken[(n_tasks, 1, 1)] = float(min(times))
    large = (4_000, 1, 1)
    measured = taken.pop(large)
    fit = Fit.of(terms, taken)
    return ["runs of empty tasks, two processes", *fit.lines("s"), fit.check(large, measured, "s")]


def schedulers(options: argparse.Namespace) -> list[str]:
    """Return what a task without work costs, by the backend."""
    rows = ["schedulers, 2 workers, tasks without work or files: ms a task for 500 and 5,000"]
    rows.append("  loky " + per_task(lambda n: Parallel(2)(delayed(abs)(i) for i in range(n))))
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        return [*rows, "  Dask is not installed"]
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    )
    with cluster, Client(cluster) as client:
        rows.append(
            "  Dask " + per_task(lambda n: client.gather(client.map(abs, range(n), pure=False)))
        )
    return rows


def per_task(call: Callable[[int], object]) -> str:
    """Return the milliseconds a task for fewer and for more tasks."""
    call(10)
    return "  ".join(f"{1e3 * least(lambda n=n: call(n), 2) / n:.3f}" for n in (500, 5_000))


STREAMED = 256
"""Models of the runs that attacks read in blocks of records."""


@dataclass(frozen=True)
class Logits:
    """Draws a scaled logit for each model and record, in place of training."""

    n: int

    def __call__(self, task: Task) -> dict[str, np.ndarray]:
        """Return the logits of a task's models; members' lie 1 higher."""
        found = np.empty((task.n_units, self.n), np.float32)
        for row, model in enumerate(range(task.start, task.stop)):
            rng = np.random.default_rng([1, model])
            found[row] = rng.standard_normal(self.n, np.float32) + coins_of(self.n)[model]
        return {"logit": found}


def coins_of(n: int) -> Coins:
    """Return the coins of all models and of the target, its last: they take no memory."""
    return Coins.of(STREAMED + 1, n, np.random.default_rng(2))


def streamed(folder: str, name: str, n: int) -> tuple[float, float]:
    """Return seconds of a core, and megabytes at the process's peak, of scoring a stored run."""
    worlds = Worlds(
        Logits(n)(Task(0, STREAMED, STREAMED + 1))["logit"][0].astype(np.float64),
        read_run(folder).array("logit"),
        coins_of(n).some(np.arange(STREAMED)),
    )
    seen = Observation({}, np.zeros(n, np.int64), worlds=worlds)
    attack = next(a for a in single_record_attacks("shared") if f"{a.name} {a.variant}" == name)
    began = time.process_time()
    found = attack.score(seen, np.random.default_rng(0))
    assert not isinstance(found, Skipped)
    return time.process_time() - began, peak_of_process() / 1e6


def streams(options: argparse.Namespace) -> list[str]:
    """Return time and memory of scoring runs of one logit for each model and record."""
    sizes = (100_000, 300_000, 1_000_000)
    names = ("lira-online auto", "rmia online", "calibrated online", "bavaria ")
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            spec = ArraySpec(("model", "record"), (STREAMED, n), "float32", chunks=(4096,))
            run = open_run(folder, Plan("logits", 0, STREAMED, "model", 16, {"logit": spec}))
            complete(run, Logits(n))
            for name in names:
                context = multiprocessing.get_context("spawn")
                with context.Pool(1) as pool:
                    found[name].append(pool.apply(streamed, (folder, name, n)))
    rows = [f"attacks read {STREAMED} models of 100,000, 300,000 and 1,000,000 records from a run"]
    for name, taken in found.items():
        seconds, megabytes = zip(*taken, strict=True)
        exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
        rows.append(
            f"  {name:18} "
            + "  ".join(f"{s:.1f} s, {m:,.0f} MB" for s, m in zip(seconds, megabytes, strict=True))
            + f"  exponent {exponent:.2f}"
        )
    return rows


def command_cost(arguments: Sequence[object]) -> tuple[float, float]:
    """Return processor seconds and the peak in bytes of a command, from its files to its page."""
    process = subprocess.Popen([sys.executable, "-m", "privacygauge", *map(str, arguments)])
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{arguments} ended with status {status}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def predictions_file(folder: Path, n: int, classes: int) -> list[object]:
    """Write predictions of a model that leaks a little; return the command about them."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, classes, n)
    member = rng.integers(0, 2, n).astype(bool)
    logits = rng.normal(size=(n, classes)).astype(np.float32)
    logits[np.arange(n), labels] += 2 + 0.3 * member
    save_predictions(
        predictions(labels=labels, member=member, logits=logits), folder / f"{n}-{classes}.parquet"
    )
    return ["classifier", folder / f"{n}-{classes}.parquet"]


def table_files(folder: Path, n: int) -> list[object]:
    """Write a table of ten columns, a holdout and a released table, n rows each."""
    rng = np.random.default_rng(0)
    paths = [folder / f"{name}-{n}.parquet" for name in ("real", "holdout", "released")]
    for path in paths:
        numbers = {f"number_{i}": rng.normal(50, 10, n).round(1) for i in range(6)}
        texts = {f"text_{i}": rng.choice(list("abcdefgh"), n) for i in range(4)}
        pd.DataFrame({**numbers, **texts}).to_parquet(path, index=False)
    return ["synthetic", paths[0], "--synthetic", paths[2], "--holdout", paths[1]]


def pool_files(folder: Path, n: int, models: int) -> list[object]:
    """Write predictions of two classes and of many shadow models, for LiRA alone."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, n)
    inside = rng.integers(0, 2, (models, n)).astype(bool)
    logits = rng.normal(size=(models, n, 2)).astype(np.float32)
    logits[:, np.arange(n), labels] += 0.5 * inside
    target, pool = folder / "target.npz", folder / "pool.npz"
    np.savez(target, logits=logits[0], labels=labels, member=inside[0])
    np.savez(pool, logits=logits[1:], labels=labels, member=inside[1:])
    return ["classifier", target, "--pool", pool, "--attacks", "lira-online"]


COMMANDS: Mapping[str, tuple[Callable[..., list[object]], Sequence[tuple[int, ...]]]] = {
    "predictions of 100 classes": (predictions_file, ((10_000, 100), (100_000, 100))),
    "predictions of 10 classes": (predictions_file, ((30_000, 10), (300_000, 10))),
    "a released table of 10 columns": (table_files, ((10_000,), (100_000,), (1_000_000,))),
    "LiRA with 256 models": (pool_files, ((10_000, 256), (100_000, 256), (1_000_000, 256))),
}
"""What a command is about, to the writer of its files and sizes, rows first."""


def commands(options: argparse.Namespace) -> list[str]:
    """Return time and peak of whole commands, and their exponents in the number of rows."""
    lines = ["whole commands, files to page: processor seconds and peak by rows, and exponents"]
    for about, (write, sizes) in COMMANDS.items():
        if options.about not in about:
            continue
        last: tuple[float, float, float] | None = None
        for size in sizes:
            if size[0] > options.rows:
                break
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                # In a process of its own, whose memory goes back before the command begins.
                with multiprocessing.get_context("spawn").Pool(1) as alone:
                    arguments = alone.apply(write, (folder, *size))
                cost = command_cost([*arguments, "--out", folder / "out", "--quiet"])
            line = f"{about}, {size[0]:,} rows: {cost[0]:.0f} s, {cost[1] / 1e9:.2f} GB"
            if last is not None:
                wider = np.log(size[0] / last[0])
                time_, memory = (
                    np.log(now / old) / wider for now, old in zip(cost, last[1:], strict=True)
                )
                line += f"; exponents {time_:.2f} and {memory:.2f}"
            last = (size[0], *cost)
            lines.append(line)
            print(line, flush=True)
    return lines


def codes(options: argparse.Namespace) -> list[str]:
    """Return how long a csv file with a column of codes takes to read beside one without."""
    rng = np.random.default_rng(0)
    n = 100_000
    numbers = {
        f"x{i}": rng.normal(size=n).round(4) if i % 2 else rng.integers(0, 1000, n)
        for i in range(29)
    }
    last = {"numbers": rng.integers(100, 999, n), "codes": rng.integers(0, 999, n)}
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        paths = {about: Path(folder, f"{about}.csv") for about in last}
        for about, values in last.items():
            texts = [f"{value:03d}" for value in values]
            pd.DataFrame({**numbers, "last": texts}).to_csv(paths[about], index=False)
        for _ in range(options.repeat):
            taken = {}
            for about, path in paths.items():
                began = time.process_time()
                read_content(path, "table")
                taken[about] = time.process_time() - began
            ratios.append(taken["codes"] / taken["numbers"])
    low, middle, high = np.quantile(ratios, [0, 0.5, 1])
    return [
        f"a csv file of {n:,} x 30 with a column of codes over one without: {middle:.2f} "
        f"({low:.2f} to {high:.2f}, {options.repeat} runs)"
    ]


PARTS = {
    "training": training,
    "curve": curve,
    "storage": storage,
    "logits": logits,
    "attacks": attacks,
    "whole": whole,
    "manifest": manifest,
    "whole_runs": whole_runs,
    "schedulers": schedulers,
    "streams": streams,
    "commands": commands,
    "codes": codes,
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=PARTS, action="append", help="one part; all by default")
    parser.add_argument("--about", default="", help="commands whose description holds this")
    parser.add_argument("--rows", type=int, default=1_000_000, help="most rows of a command")
    options = parser.parse_args()
    for name in options.only or PARTS:
        began = time.perf_counter()
        show(PARTS[name](options))
        print(f"  [{time.perf_counter() - began:.0f} s]", flush=True)


if __name__ == "__main__":
    main()
