"""python-synthpop: one CART a column on ALL others, whose values are those of resampled records.

Its own encoding fails on a column of ten or more categories (KeyError), so its trees are given
codes, and nothing is decoded.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd


def draw(file: str) -> Callable:
    """Return a call that learns a table of codes and draws as many records."""
    from synthpop.method import CARTMethod

    frame = pd.read_csv(file)
    number = pd.api.types.is_numeric_dtype
    kinds = {name: "numerical" if number(frame[name]) else "categorical" for name in frame}
    codes = frame.copy()
    for name, kind in kinds.items():
        if kind == "categorical":
            codes[name] = np.unique(frame[name].astype(str), return_inverse=True)[1]

    def make() -> None:
        trees = CARTMethod(kinds, minibucket=5, random_state=0)
        trees.fit(codes)
        trees.sample(len(codes))

    return make
