"""Small tables for tests, with everything that real ones have."""

from __future__ import annotations

import numpy as np
import pandas as pd

from privacygauge.tables.frames import read_table


def frame_of(rng, n, n_cat, n_cont, *, n_values=4, missing=0.0, levels=None):
    """Return categories of unequal shares and skewed numbers, some of them missing."""
    columns = {}
    for j in range(n_cat):
        size = int(rng.integers(1, n_values + 1))
        shares = rng.dirichlet(np.full(size, 0.7))
        columns[f"cat{j}"] = np.array([f"v{v}" for v in range(size)])[
            rng.choice(size, n, p=shares)
        ].astype(object)
    for j in range(n_cont):
        numbers = rng.gamma(0.5, 100.0, n) if levels is None else rng.integers(0, levels, n) * 1.0
        columns[f"num{j}"] = numbers
    frame = pd.DataFrame(columns)
    gaps = rng.random(frame.shape) < missing
    gaps[0] = False  # a column that is all missing holds no numbers
    return frame.mask(gaps)


def table_of(*arguments, **options):
    frame = frame_of(*arguments, **options)
    numbers = [name for name in frame if name.startswith("num")]
    return read_table(frame, continuous=numbers)
