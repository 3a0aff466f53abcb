"""Released tables whose leak is known, with little in them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from privacygauge.tables.frames import read_table
from privacygauge.tables.generators.generator import Identity
from privacygauge.tables.released.tables import ReleasedTables


def people(rng, n):
    """Return records whose columns depend on each other, some values missing."""
    age = rng.integers(18, 80, n)
    job = (age // 12 + rng.integers(0, 3, n)) % 6
    pay = age * 100.0 + job * 500 + np.round(rng.gamma(2.0, 400.0, n), 1)
    frame = pd.DataFrame(
        {
            "age": age,
            "job": np.array(list("abcdef"))[job],
            "pay": pay,
            "town": np.array(list("pqrs"))[rng.integers(0, 4, n)],
            "size": rng.integers(0, 40, n).astype(float),
            "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
        }
    )
    gaps = rng.random((n, 2)) < 0.02
    return frame.assign(town=frame["town"].mask(gaps[:, 0]), size=frame["size"].mask(gaps[:, 1]))


def released(rng, n=200, generator=None, *, of="real", n_holdout=None):
    """Return a release made from the real records, or from others that nobody is asked about."""
    n_holdout = n if n_holdout is None else n_holdout
    everybody = read_table(people(rng, 2 * n + n_holdout))
    real = everybody[np.arange(n)]
    others = everybody[np.arange(n, 2 * n)]
    holdout = everybody[np.arange(2 * n, 2 * n + n_holdout)]
    learnt = real if of == "real" else others
    return ReleasedTables(real, (generator or Identity()).generate(learnt, n, rng), holdout)


def without_holdout(found):
    return ReleasedTables(found.real, found.synthetic)
