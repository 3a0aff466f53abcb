"""arfpy: an adversarial random forest."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd


def draw(file: str) -> Callable:
    """Return a call that learns a table and draws as many records."""
    from arfpy import arf

    frame = pd.read_csv(file)

    def make() -> None:
        forest = arf.arf(x=frame, verbose=False, n_jobs=1)
        forest.forde()
        forest.forge(n=len(frame))

    return make
