"""Joint decoders and designed queries against naive Bayes: accuracy, time and memory.

All attacks see the same test sets; naive Bayes, message passing and the linear program also the
same random queries. Accuracies are means over test sets with the standard deviation of one; times
are medians of one process after the other, in turns; peak memory is that of a process of its own.
The complete search is given as few queries as leave a single labeling, the detecting matrix as
many as it needs.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np
from _measure import Timed, ratio_row, show

from privacygauge.leaderboards.analysts import Analyst, uniform_holdout
from privacygauge.leaderboards.decoding import DecodedLabels, LinearProgramming, MessagePassing
from privacygauge.leaderboards.designed import DesignedQueries, Reconstruction, queries_for
from privacygauge.leaderboards.naive_bayes import NaiveBayes
from privacygauge.leaderboards.oracle import Budget

LARGE = (
    (10_000, 2, 2_000),
    (10_000, 2, 4_000),
    (10_000, 2, 5_500),
    (10_000, 5, 13_500),
    (10_000, 10, 19_500),
)
SMALL = ((200, 2, 90), (200, 2, 120), (100, 5, 120), (100, 5, 150), (60, 10, 120))
SEARCHED = ((20, 3), (40, 3), (20, 5), (40, 2))


def one(attack: Analyst, n: int, m: int, k: int, seed: int) -> tuple[float, float, bool]:
    """Return accuracy, seconds, and whether all answers are explained, of one attack."""
    holdout = uniform_holdout(n, m, np.random.default_rng([seed, 0]))
    oracle = holdout.open(np.random.default_rng([seed, 1]), budget=Budget(k))
    rng = np.random.default_rng([seed, 2])
    began = time.perf_counter()
    found = attack.decode(oracle, rng) if hasattr(attack, "decode") else attack.answer(oracle, rng)
    seconds = time.perf_counter() - began
    labels = found.labels if isinstance(found, DecodedLabels) else found
    explained = isinstance(found, DecodedLabels) and found.explained
    return holdout.score(labels), seconds, explained


def peak(attack: str, n: int, m: int, k: int) -> float:
    """Return the peak memory in MB of a process that does nothing but one attack."""
    command = [sys.executable, __file__, "--alone", attack, str(n), str(m), str(k)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def compared(
    attacks: Sequence[Analyst], n: int, m: int, k: int, repeat: int
) -> tuple[str, dict[str, Timed]]:
    """Return a line with the accuracies at equal n, m and k, and the times."""
    runs = {a.name: [] for a in attacks}
    for seed in range(repeat):
        for attack in attacks:
            runs[attack.name].append(one(attack, n, m, k, seed))
    parts, times = [], {}
    for name, found in runs.items():
        accuracy, seconds, explained = (np.array(column) for column in zip(*found, strict=True))
        parts.append(
            f"{name} {accuracy.mean():.4f} (sd {accuracy.std():.4f}, "
            f"all found {int(explained.sum())}/{repeat}, {np.median(seconds):.3g} s)"
        )
        times[name] = Timed(None, seconds)
    return f"n {n:,} m {m} k {k:,}: " + "; ".join(parts), times


def searched(t: int, m: int, repeat: int) -> str:
    """Return the fewest random queries, by tens of percent, that left one labeling, and times."""
    k = 4
    while True:
        found = [one_search(t, m, k, seed) for seed in range(repeat)]
        if all(unique for unique, _ in found):
            break
        k = int(np.ceil(1.1 * k))
    seconds = np.median([s for _, s in found])
    line = f"t {t} m {m}: complete search k {k}, {seconds:.3g} s"
    if m > 3:
        return line
    kinds = 2 if m == 2 else 3
    fewest = queries_for(t, kinds)
    accuracy, quick, _ = one(DesignedQueries(), t, m, fewest, 0)
    return f"{line}; detecting matrix k {fewest}, {quick:.3g} s, accuracy {accuracy:.3f}"


def one_search(t: int, m: int, k: int, seed: int) -> tuple[bool, float]:
    holdout = uniform_holdout(2 * t, m, np.random.default_rng([seed, 0]))
    oracle = holdout.open(np.random.default_rng([seed, 1]), budget=Budget(k))
    began = time.perf_counter()
    found = Reconstruction(t, seconds=20).decode(oracle, np.random.default_rng([seed, 2]))
    return found.converged, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--alone", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    every = {a.name: a for a in (NaiveBayes(), MessagePassing(), DesignedQueries())}
    if options.alone:
        name, n, m, k = options.alone
        one(every[name], int(n), int(m), int(k), 0)
        show([f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f}"])
        return
    # A process inherits the peak of the one that starts it, which is still low here.
    for n, m, k in (LARGE[2], LARGE[-1]):
        peaks = ", ".join(f"{name} {peak(name, n, m, k):.0f} MB" for name in every)
        show([f"peak memory, each alone, n {n:,} m {m} k {k:,}: {peaks}"])
    for n, m, k in LARGE:
        line, times = compared(tuple(every.values()), n, m, k, options.repeat)
        nb, mp = times["nb"], times["message-passing"]
        show([line, ratio_row("  message passing / naive Bayes, time", mp, nb, "no goal")])
    for n, m, k in SMALL:
        small = (NaiveBayes(), MessagePassing(), LinearProgramming())
        line, times = compared(small, n, m, k, options.repeat)
        lp, mp = times["linear-programming"], times["message-passing"]
        show([line, ratio_row("  linear program / message passing, time", lp, mp, "no goal")])
    for t, m in SEARCHED:
        show([searched(t, m, options.repeat)])


if __name__ == "__main__":
    main()
