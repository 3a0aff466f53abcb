"""The full naive Bayes attack at ImageNet's size, against the obvious way in numpy.

The obvious way stores the matrix of queries, compares it with the labels, and adds each query's
weight to a table of points by labels. Both see the same test set and end with the same attack;
their queries differ. Times are of one process after the other, in turns; the peak memory is that
of a process of its own, which does nothing else.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
from _duel import Duel, Side
from _measure import Timed, ratio_row, show, timed

from privacygauge.leaderboards import queries
from privacygauge.leaderboards.analysts import play, uniform_holdout
from privacygauge.leaderboards.naive_bayes import NaiveBayes

N, M, K = 50_000, 1_000, 5_200
SIZES = {
    "quick": ((2_000, 100, 500), (10_000, 100, 1_000)),
    "full": ((2_000, 100, 500), (10_000, 1_000, 1_000), (N, M, K)),
}
"""Test records, classes, queries, for the common table: one thread on either side."""


def obvious(labels: np.ndarray, m: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return the answer of naive Bayes, with everything in memory."""
    n = len(labels)
    drawn = rng.integers(0, m, (k, n))
    accuracies = (drawn == labels).mean(axis=1)
    with np.errstate(divide="ignore"):
        weights = np.log(accuracies * (m - 1) / (1 - accuracies))
    scores, rows = np.zeros((n, m)), np.arange(n)
    for query, weight in zip(drawn, weights, strict=True):
        scores[rows, query] += weight
    return scores.argmax(axis=1)


def ours(n: int, m: int, k: int, threads: int) -> float:
    """Return the accuracy of our attack's answer."""
    holdout = uniform_holdout(n, m, np.random.default_rng(0))
    attack = NaiveBayes(threads=threads)
    return play(attack, holdout, k, np.random.default_rng(1)).accuracy


@contextmanager
def in_arrays() -> Iterator[None]:
    """Draw queries as where numba is not installed."""
    with patch.object(queries, "compiled_fill", lambda: None):
        yield


def theirs(n: int, m: int, k: int) -> float:
    """Return the accuracy of the obvious way's answer."""
    holdout = uniform_holdout(n, m, np.random.default_rng(0))
    return holdout.score(obvious(holdout.labels, m, k, np.random.default_rng(1)))


def peak(which: str, options: argparse.Namespace) -> float:
    """Return the peak memory in MB of a process that does nothing but one attack."""
    sizes = [f"--{name}={getattr(options, name)}" for name in ("n", "m", "k", "threads")]
    command = [sys.executable, __file__, "--alone", which, *sizes]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def growth(options: argparse.Namespace) -> list[str]:
    """Return how our time changes where one of the sizes is halved."""
    rows = []
    whole = timed(lambda: ours(options.n, options.m, options.k, options.threads), options.repeat)
    for name in ("n", "m", "k"):
        sizes = {"n": options.n, "m": options.m, "k": options.k}
        sizes[name] //= 2
        half = timed(lambda sizes=sizes: ours(**sizes, threads=options.threads), options.repeat)
        rows.append(ratio_row(f"whole / half of {name}", whole, half, "no goal"))
    return rows


def work(n: int, m: int, k: int, by: str) -> Callable[[], None]:
    """Return a call that plays the whole attack."""

    def play() -> None:
        if by == "ours":
            ours(n, m, k, 1)
        else:
            theirs(n, m, k)

    return play


def duels(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the lines of the common table."""
    for n, m, k in SIZES["quick" if quick else "full"]:
        sizes = {"n": n, "m": m, "k": k}
        large = n * k > 10**7
        yield Duel(
            "test-set reuse, naive Bayes",
            n * k,
            "labels guessed in all queries",
            Side("nb", __file__, "work", {**sizes, "by": "ours"}),
            Side("numpy", __file__, "work", {**sizes, "by": "numpy"}),
            turns=1 if large else 3,
            note=f"n {n:,}, {m:,} classes, {k:,} queries",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=N)
    parser.add_argument("--m", type=int, default=M)
    parser.add_argument("--k", type=int, default=K)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--growth", action="store_true", help="time against n, m and k, alone")
    parser.add_argument("--alone", choices=("ours", "obvious"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    n, m, k = options.n, options.m, options.k
    if options.alone:
        theirs(n, m, k) if options.alone == "obvious" else ours(n, m, k, options.threads)
        show([f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}"])
        return
    if options.growth:
        show(growth(options))
        return
    # A process inherits the peak of the one that starts it, which is still low here.
    memory = (
        f"ours {peak('ours', options):.0f} MB (goal 300), obvious {peak('obvious', options):.0f} MB"
    )
    first = timed(lambda: ours(n, m, k, options.threads), 1).seconds[0]
    mine, plain, other = [], [], []
    for _ in range(options.repeat):
        mine.append(timed(lambda: ours(n, m, k, options.threads), 1))
        with in_arrays():
            plain.append(timed(lambda: ours(n, m, k, options.threads), 1))
        other.append(timed(lambda: theirs(n, m, k), 1))
    size = f"n = {n:,}, m = {m:,}, k = {k:,}, {options.threads} threads"
    show(
        [
            ratio_row(f"obvious / ours, {size}", joined(other), joined(mine), "goal 20"),
            ratio_row("the same without numba", joined(other), joined(plain), "no goal"),
            f"the first attack of a process, which compiles: {first:.2f} s",
            f"bias: ours {mine[0].value - 1 / m:.5f}, obvious {other[0].value - 1 / m:.5f}",
            f"peak memory, each alone: {memory}",
        ]
    )


def joined(runs: list[Timed]) -> Timed:
    return Timed(runs[-1].value, np.concatenate([run.seconds for run in runs]))


if __name__ == "__main__":
    main()
