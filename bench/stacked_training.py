"""Stacked training of networks, against the loops over models that users write.

All of it runs in this process and in turns, on one thread, but for the line about two
processes. Times are for one model: 1,000 records of 446 binary features, 30 classes, batches of
100, Adam, and the predictions for all records. The loops run on a few models: each costs them
the same.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from _duel import Duel, Side
from _measure import Timed, ratio_row, show, timed
from joblib import Parallel, delayed
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from privacygauge.classifiers.networks import LONG_2017, SONG_MITTAL_2021_RELU, Networks
from privacygauge.classifiers.networks.engines import ENGINES
from privacygauge.classifiers.networks.trainer import peak_memory, train_stacks
from privacygauge.classifiers.trainer import Cohort
from privacygauge.runs.threads import bytes_text

N, D, CLASSES, BATCH = 1000, 446, 30, 100


def records() -> tuple[np.ndarray, np.ndarray]:
    """Return binary features that tell something of the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(CLASSES, size=N)
    return (rng.random((N, D)) < rng.random((CLASSES, D))[y] * 0.4).astype(np.float32), y


def ours(networks: Networks, models: range) -> np.ndarray:
    """Return the predictions of the models with these seeds."""
    x, y = records()
    inside = np.ones((len(models), N), bool)
    return networks.train(Cohort(x, y, inside, models, CLASSES, np.arange(N)))


def in_processes(networks: Networks, n_models: int, n_jobs: int) -> np.ndarray:
    """Return the same, by that many processes."""
    edges = np.linspace(0, n_models, n_jobs + 1).astype(int)
    tasks = [delayed(ours)(networks, range(a, b)) for a, b in pairwise(edges)]
    return np.concatenate(Parallel(n_jobs=n_jobs)(tasks))


def users_loop(networks: Networks, n_models: int, *, loader: bool, device: str = "cpu") -> list:
    """Return the predictions of models trained as in PyTorch's tutorials."""
    x, y = (torch.from_numpy(array).to(device) for array in records())
    found = []
    for seed in range(n_models):
        torch.manual_seed(seed)
        module = networks.make(D, CLASSES).to(device)
        optimiser = torch.optim.Adam(module.parameters(), lr=networks.learning_rate)
        loaded = DataLoader(TensorDataset(x, y), batch_size=BATCH, shuffle=True)
        for _ in range(networks.epochs):
            indexed = ((x[rows], y[rows]) for rows in torch.randperm(N).split(BATCH))
            for features, labels in loaded if loader else indexed:
                optimiser.zero_grad()
                cross_entropy(module(features), labels).backward()
                optimiser.step()
        with torch.no_grad():
            found.append(module(x).cpu())
    return found


def in_turns(repeat: int, calls: dict[str, tuple[Callable[[], object], int]]) -> dict[str, Timed]:
    """Return the seconds a model of each call, which take turns."""
    for call, _ in calls.values():
        call()  # imports, processes and caches are warm
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeat):
        for name, (call, models) in calls.items():
            seconds[name].append(timed(call, 1).seconds[0] / models)
    return {name: Timed(None, np.array(taken)) for name, taken in seconds.items()}


def small(options: argparse.Namespace) -> list[str]:
    """Return the ratios for networks of 64 tanh."""
    networks, m = Networks(LONG_2017, options.epochs, BATCH), options.models
    found = in_turns(
        options.repeat,
        {
            "loader": (lambda: users_loop(networks, 1, loader=True), 1),
            "ours": (lambda: ours(networks, range(m)), m),
            "tensors": (lambda: users_loop(networks, 1, loader=False), 1),
            "two": (lambda: in_processes(networks, m, 2), m),
        },
    )
    loader, tensors, one, two = (found[k] for k in ("loader", "tensors", "ours", "two"))
    return [
        f"{m} networks of 64 tanh, {options.epochs} epochs, seconds a model",
        ratio_row("DataLoader loop / ours, one thread", loader, one, "goal >= 5"),
        ratio_row("DataLoader loop / ours in two processes", loader, two, "goal >= 10"),
        ratio_row("tensor loop / ours, one thread", tensors, one, "no goal"),
        ratio_row("tensor loop / ours in two processes", tensors, two, "no goal"),
    ]


def wide(options: argparse.Namespace) -> list[str]:
    """Return the ratio for networks of 1024-512-256-128 relu."""
    networks = Networks(SONG_MITTAL_2021_RELU, options.epochs, BATCH)
    found = in_turns(
        options.repeat,
        {
            "loader": (lambda: users_loop(networks, 1, loader=True), 1),
            "ours": (lambda: ours(networks, range(2)), 2),
            "tensors": (lambda: users_loop(networks, 1, loader=False), 1),
        },
    )
    name = f"1024-512-256-128 relu, {options.epochs} epochs"
    loader, one, tensors = (found[k] for k in ("loader", "ours", "tensors"))
    return [
        ratio_row(f"{name}: DataLoader loop / ours", loader, one, "goal >= 1.4"),
        ratio_row(f"{name}: tensor loop / ours", tensors, one, "no goal"),
    ]


def engines(options: argparse.Namespace) -> list[str]:
    """Return the ratios of the engines for networks of 64 tanh."""
    of = {name: Networks(LONG_2017, 10, BATCH, engine=name) for name in ENGINES}
    calls: dict[str, tuple[Callable[[], object], int]] = {
        name: (lambda networks=networks: ours(networks, range(16)), 16)
        for name, networks in of.items()
    }
    calls["tensors"] = (lambda: users_loop(of["loop"], 2, loader=False), 2)
    found = in_turns(options.repeat, calls)
    return [
        ratio_row(f"tensor loop / engine {name}, 10 epochs", found["tensors"], found[name], "-")
        for name in of
    ]


def curve(options: argparse.Namespace) -> list[str]:
    """Return a table of the time and of the memory by the number of models."""
    counts = [count for count in (1, 2, 4, 8, 16, 32, 64) if count <= options.models]
    networks = Networks(LONG_2017, 10, BATCH)
    free = replace(networks, stack=max(counts))
    calls: dict[str, tuple[Callable[[], object], int]] = {}
    for m in counts:
        calls[f"{m}"] = (lambda m=m: ours(networks, range(m)), m)
        calls[f"{m} at once"] = (lambda m=m: ours(free, range(m)), m)
    found = in_turns(options.repeat, calls)
    rows = ["models  ms a model, 10 epochs  ms if all are trained at once"]
    for m in counts:
        ms, at_once = (1e3 * np.median(found[k].seconds) for k in (f"{m}", f"{m} at once"))
        rows.append(f"{m:6}  {ms:21.1f}  {at_once:28.1f}")
    return rows


def budgets(options: argparse.Namespace) -> list[str]:
    """Return a table of the measured peak by the budget."""
    x, y = records()
    inside = np.ones((options.models, N), bool)
    cohort = Cohort(x, y, inside, range(options.models), CLASSES, np.arange(N))
    rows = ["budget  models at once  peak  (1024-512-256-128 relu, then 64 tanh)"]
    for make, sizes in ((SONG_MITTAL_2021_RELU, (32, 64)), (LONG_2017, (2, 4, 8))):
        for budget in (size * 2**20 for size in sizes):
            networks = Networks(make, 1, BATCH, memory=budget)
            size = networks.stack_size(cohort)
            task = networks.task(cohort)
            task = replace(task, inside=inside[: size.models], most_steps=3)
            with peak_memory(torch.device("cpu")) as peak:
                train_stacks(task, ENGINES["dense"], size.models)
            rows.append(f"{bytes_text(budget)}  {size.models}  {bytes_text(peak.bytes)}")
    return rows


def bound(options: argparse.Namespace) -> list[str]:
    """Return processor times of training beside what no training of these networks can avoid.

    That is the matrix products of a step, as batched products of as many networks as are trained at
    once, and one pass over what Adam reads and writes. All take turns in this process.
    """
    torch.set_num_threads(1)
    epochs = 10
    hidden = 64
    networks = Networks(LONG_2017, epochs, BATCH)
    data, classes = records()
    inside = np.ones((options.models, N), bool)
    cohort = Cohort(data, classes, inside, range(options.models), CLASSES, np.arange(N))
    m = networks.stack_size(cohort).models
    steps = epochs * N // BATCH
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(m, BATCH, D, generator=generator)
    first, inner = torch.rand(m, D, hidden), torch.rand(m, BATCH, hidden)
    last, outer = torch.rand(m, hidden, CLASSES), torch.rand(m, BATCH, CLASSES)
    n_weights = (D + 1) * hidden + (hidden + 1) * CLASSES
    weights, moment, square, gradient = (torch.rand(m, n_weights) for _ in range(4))

    def products() -> None:
        for _ in range(steps):
            torch.bmm(x, first)  # forward
            torch.bmm(inner, last)
            torch.bmm(inner.mT, outer)  # backward, without the gradient of the features
            torch.bmm(outer, last.mT)
            torch.bmm(x.mT, inner)

    def traffic() -> None:
        for _ in range(steps):  # four arrays read and three written, of seven in Adam
            torch.add(weights, gradient, out=weights)
            moment.mul_(0.999)
            square.mul_(0.999)

    calls: dict[str, tuple[Callable[[], object], int]] = {
        "ours": (lambda: ours(networks, range(m)), m),
        "loop": (lambda: users_loop(networks, 2, loader=False), 2),
        "matrix products": (products, m),
        "Adam's memory": (traffic, m),
    }
    for call, _ in calls.values():
        call()
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(options.repeat):
        for name, (call, models) in calls.items():
            began = time.process_time()
            call()
            taken[name].append(1e6 * (time.process_time() - began) / models / steps)
    rows = [
        f"64 tanh, {m} at once, \u00b5s of the processor a network and step, {options.repeat} turns"
    ]
    for name, values in taken.items():
        rows.append(f"  {name}: {np.median(values):.0f} ({min(values):.0f} to {max(values):.0f})")
    pairs = zip(*taken.values(), strict=True)
    shares = [(loop / one, (a + b) / one, loop / (a + b)) for one, loop, a, b in pairs]
    for place, name in enumerate(("loop over ours", "bound over ours", "loop over bound")):
        values = [share[place] for share in shares]
        rows.append(f"  {name}: {np.median(values):.2f} ({min(values):.2f} to {max(values):.2f})")
    return rows


def on_gpu(options: argparse.Namespace) -> list[str]:
    """Return the ratio on a GPU for networks of 64 tanh, if there is one."""
    if not torch.cuda.is_available():
        return ["no GPU here: nothing to say about one"]
    networks = Networks(LONG_2017, options.epochs, BATCH, device="cuda")
    m = 8 * options.models
    found = in_turns(
        options.repeat,
        {
            "loader": (lambda: users_loop(networks, 1, loader=True, device="cuda"), 1),
            "ours": (lambda: ours(networks, range(m)), m),
        },
    )
    name = f"GPU, {m} networks of 64 tanh: DataLoader loop / ours"
    return [ratio_row(name, found["loader"], found["ours"], "goal >= 50")]


def work(models: int, epochs: int, kind: str, by: str) -> Callable[[], None]:
    """Return a call that trains so many models and predicts."""
    torch.set_num_threads(1)
    networks = Networks(KINDS[kind], epochs, BATCH)

    def train() -> None:
        if by == "ours":
            ours(networks, range(models))
        else:
            users_loop(networks, models, loader=False)

    return train


KINDS = {"64 tanh": LONG_2017, "1024-512-256-128 relu": SONG_MITTAL_2021_RELU}


def duels(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the lines of the common table."""
    counts = (4, 16) if quick else (1, 4, 16, 64)
    cases = [("64 tanh", models, 10) for models in counts]
    cases.append(("1024-512-256-128 relu", 2, 2 if quick else 5))
    for kind, models, epochs in cases:
        goals = {"64 tanh": 5.0 if models >= 16 else None, "1024-512-256-128 relu": 1.4}
        sizes = {"epochs": epochs, "kind": kind}
        mine = Side("stacked", __file__, "work", {**sizes, "models": models, "by": "ours"})
        theirs = Side(
            "loop on tensors (scaled)",
            __file__,
            "work",
            {**sizes, "models": 1, "by": "loop"},
            share=1 / models,
        )
        path = f"shadow training, {kind}"
        yield Duel(path, models, f"models, {epochs} epochs", mine, theirs, goals[kind])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=3)
    parts = (small, bound, wide, engines, curve, budgets, on_gpu)
    parser.add_argument("--only", choices=[part.__name__ for part in parts])
    options = parser.parse_args()
    torch.set_num_threads(1)
    for part in parts:
        if options.only in (None, part.__name__):
            show(part(options))


if __name__ == "__main__":
    main()
