"""All counting queries on a target at once, against numpy with one query after another.

numpy compares the columns with the target once and keeps a bit mask a record; a query is then one
comparison of all masks. It is timed on a random sample of subsets and scaled to all 2^F; the
answers to the sample are held against ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from _duel import Duel, Side
from _measure import Timed, ratio_row, show, timed

from privacygauge.tables.queries import (
    all_query_counts,
    bitmap_query_counts,
    bitmaps,
    masks,
    sampled_subsets,
)

ROWS = 1000
SAMPLE = 300
GOALS = {15: "goal 0.4 ms", 17: "goal 0.8 ms", 20: "no goal"}


def made_up(n_features: int, n_sets: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return tables (k, n, F), a target that is one of their rows, and a third of "<="."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 6, (n_sets, ROWS, n_features)).astype(float)
    return rows, rows[0, 0], np.arange(n_features) < n_features // 3


def bits_of(rows: np.ndarray, target: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return for each record which columns meet the target's, a bit a column."""
    met = np.where(below, rows <= target, rows == target)
    return met @ (1 << np.arange(len(target)))


def in_numpy(bits: np.ndarray, subset: int) -> int:
    """Return the count of one query: the records that meet all columns of the subset."""
    return int(np.count_nonzero(bits & subset == subset))


def scaled(times: Timed, factor: float) -> Timed:
    """Return the times, as if the work were `factor` times as much."""
    return replace(times, seconds=times.seconds * factor)


def spread(name: str, times: Timed, share: int = 1, note: str = "") -> str:
    """Return a line with the median and the quartiles in milliseconds."""
    low, middle, high = np.quantile(times.seconds * 1e3 / share, [0.25, 0.5, 0.75])
    return f"  {name}: {middle:.3f} ms ({low:.3f} to {high:.3f}){note}"


def all_queries(n_features: int) -> list[str]:
    """Return the lines of one number of attributes."""
    many, target, below = made_up(n_features, n_sets=50)
    rows = many[0]
    bits = bits_of(rows, target, below)
    subsets = np.random.default_rng(1).integers(0, 1 << n_features, SAMPLE)
    ours = timed(lambda: all_query_counts(masks(rows, target, below), n_features), repeat=200)
    found = masks(rows, target, below)
    sets = masks(many, target, below)
    loop = timed(lambda: [in_numpy(bits, a) for a in subsets], repeat=5)
    assert np.array_equal(loop.value, ours.value[subsets])
    factor = (1 << n_features) / SAMPLE
    return [
        f"F = {n_features}, {ROWS:,} rows, {1 << n_features:,} queries: medians (quartiles)",
        spread("masks and answers", ours, note=f"; {GOALS[n_features]}"),
        spread("  masks", timed(lambda: masks(rows, target, below), repeat=200)),
        spread("  answers", timed(lambda: all_query_counts(found, n_features), repeat=200)),
        spread("a data set of 50, masks", timed(lambda: masks(many, target, below), 5), 50),
        spread(
            "a data set of 50, answers", timed(lambda: all_query_counts(sets, n_features), 5), 50
        ),
        "  " + ratio_row("numpy (scaled) / ours", scaled(loop, factor), ours, "no goal"),
    ]


def sampled() -> list[str]:
    """Return the lines of queries of up to five of 30 attributes."""
    rows, target, below = made_up(30)
    subsets = sampled_subsets(30, 100_000, 5, np.random.default_rng(0))
    ours = timed(lambda: bitmap_query_counts(bitmaps(rows[0], target, below), subsets), repeat=20)
    asked = [sum({1 << j for j in row}) for row in subsets[::200].tolist()]
    bits = bits_of(rows[0], target, below)
    loop = timed(lambda: [in_numpy(bits, a) for a in asked], repeat=3)
    assert np.array_equal(loop.value, ours.value[::200])
    theirs = scaled(loop, len(subsets) / len(asked))
    return [
        f"F = 30, {ROWS:,} rows, {len(subsets):,} queries of at most 5 attributes",
        spread("bitmaps and counts", ours),
        "  " + ratio_row("numpy (scaled) / ours", theirs, ours, "no goal"),
    ]


def work(n_features: int, by: str) -> Callable[[], list[float]]:
    """Return a call that answers all queries, or by a loop a sample of them."""
    many, target, below = made_up(n_features)
    rows, bits = many[0], bits_of(many[0], target, below)
    subsets = np.random.default_rng(1).integers(0, 1 << n_features, SAMPLE)
    if by == "numpy":
        return lambda: [in_numpy(bits, subset) for subset in subsets]
    return lambda: all_query_counts(masks(rows, target, below), n_features)[subsets].tolist()


def duels(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the lines of the common table."""
    for n_features in (10, 15) if quick else (10, 13, 15, 17, 20):
        queries = 1 << n_features
        yield Duel(
            "counting queries",
            queries,
            f"queries on {ROWS:,} records",
            Side("all at once", __file__, "work", {"n_features": n_features, "by": "ours"}),
            Side(
                "numpy, a bit mask a record (scaled)",
                __file__,
                "work",
                {"n_features": n_features, "by": "numpy"},
                share=SAMPLE / queries,
            ),
            turns=9,
            tolerance=0.0,
        )


def main() -> None:
    """Print the table."""
    rows = []
    for n_features in GOALS:
        rows += all_queries(n_features)
    show(rows + sampled())


if __name__ == "__main__":
    main()
