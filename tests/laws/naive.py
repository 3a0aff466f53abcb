"""Statistics of worlds, record by record: slow, plain, and told apart from the library's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

import numpy as np

from privacygauge.core.release import Worlds

Centre = Callable[[Sequence[float]], float]
Sides = tuple[list[list[float]], list[list[float]]]


def sides(worlds: Worlds, query: int) -> tuple[list[float], Sides]:
    """Return the targets' signals, and each record's worlds with it and without it."""
    signal = worlds.signal
    values = worlds.worlds
    if signal.ndim == 2:
        signal = signal[:, query]
        values = values[:, :, query]
    inside: list[list[float]] = [[] for _ in signal]
    outside: list[list[float]] = [[] for _ in signal]
    for k in range(len(values)):
        for r in range(len(signal)):
            (inside if worlds.inside[k, r] else outside)[r].append(float(values[k, r]))
    return [float(x) for x in signal], (inside, outside)


def mean(values: Sequence[float]) -> float:
    """Return the mean, of equal values exactly."""
    return values[0] if min(values) == max(values) else fmean(values)


def squares(values: Sequence[float]) -> float:
    """Return the sum of squared residuals; 0 for an empty group."""
    return sum((x - mean(values)) ** 2 for x in values)


def filled(both: Sides, centre: Centre) -> tuple[list[float], list[float]]:
    """Return the centres of each record's groups, those of empty ones by the average gap."""
    inside, outside = ([centre(v) if v else None for v in group] for group in both)
    pairs = list(zip(inside, outside, strict=True))
    gaps = [a - b for a, b in pairs if a is not None and b is not None]
    known_in, known_out = ([x for x in g if x is not None] for g in (inside, outside))
    if gaps:
        gap = fmean(gaps)
    elif known_in and known_out:
        gap = fmean(known_in) - fmean(known_out)
    else:
        gap = 0.0
    return (
        [b + gap if a is None else a for a, b in pairs],
        [a - gap if b is None else b for a, b in pairs],
    )


def pooled(group: list[list[float]]) -> float:
    """Return the variance about the records' own means; 0 without degrees of freedom."""
    freedom = sum(max(len(v) - 1, 0) for v in group)
    return sum(squares(v) for v in group if v) / freedom if freedom else 0.0


def over_queries(worlds: Worlds, score: Callable[[int], list[float]]) -> np.ndarray:
    """Return the mean over the queries of each query's scores."""
    queries = worlds.signal.shape[1] if worlds.signal.ndim == 2 else 1
    return np.mean([score(q) for q in range(queries)], axis=0)
