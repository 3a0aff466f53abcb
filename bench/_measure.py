"""Times and peak memory, as ratios within one run: the machines are shared and noisy."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Timed:
    """What a call returned and how long its runs took."""

    value: Any
    """The last return value."""
    seconds: np.ndarray
    """(runs,) Wall time of each run."""


def timed(call: Callable[[], Any], repeat: int) -> Timed:
    """Return the value and the wall times of `repeat` runs."""
    seconds, value = [], None
    for _ in range(repeat):
        began = time.perf_counter()
        value = call()
        seconds.append(time.perf_counter() - began)
    return Timed(value, np.array(seconds))


def ratio_row(name: str, above: Timed, below: Timed, goal: str) -> str:
    """Return a line with the ratio of the medians, and of the extremes."""
    ratio = np.median(above.seconds) / np.median(below.seconds)
    least, most = (
        above.seconds.min() / below.seconds.max(),
        above.seconds.max() / below.seconds.min(),
    )
    times = f"{np.median(above.seconds):.3g} s / {np.median(below.seconds):.3g} s"
    return f"{name}: {ratio:.2f} ({least:.2f} to {most:.2f}; {times}; {goal})"


def peak_ratio(call: Callable[[], Any], size: int) -> float:
    """Return the most memory in use, an input of `size` bytes included, over `size`."""
    tracemalloc.start()
    try:
        call()
        return 1.0 + tracemalloc.get_traced_memory()[1] / size
    finally:
        tracemalloc.stop()


def show(rows: list[str]) -> None:
    """Print the lines."""
    print("\n".join(rows))
