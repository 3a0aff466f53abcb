"""Releases of other people in which some rows are copies with a few values drawn again."""

from __future__ import annotations

import numpy as np
import pandas as pd

SMALL = ["age", "degree", "hours", "job", "sex", "town", "family"]
WIDE = ["age", "degree", "hours", "job", "sex", "pay", "score"]


def population(rng, n):
    """Return people of nine columns; those of `WIDE` tell them apart better."""
    age = rng.integers(18, 80, n)
    degree = np.minimum(rng.geometric(0.25, n), 12)
    job = (age // 12 + degree + rng.integers(0, 3, n)) % 14
    return pd.DataFrame(
        {
            "age": age,
            "degree": degree,
            "hours": np.where(rng.random(n) < 0.5, 40, rng.integers(10, 70, n)),
            "job": np.array(list("abcdefghijklmn"))[job],
            "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
            "town": np.array([f"t{i}" for i in range(30)])[np.minimum(29, rng.geometric(0.3, n))],
            "family": np.array(list("pqrstu"))[np.minimum(5, age // 15 - rng.integers(0, 2, n))],
            "pay": (age * 10 + degree * 40 + rng.gamma(2.0, 100.0, n)).round(),
            "score": rng.normal(50 + job, 10).round(),
        }
    )


def planted(rng, columns, share, again, n=1000):
    """Return a real table, a release and a holdout of n rows each.

    A share of the released rows are copies with `again` of the values of each drawn from the real
    column; the others are other people.
    """
    everybody = population(rng, 3 * n)[columns]
    real, made, holdout = (everybody[i * n : (i + 1) * n].reset_index(drop=True) for i in range(3))
    kept = round(share * n)
    drawn = real.sample(n, random_state=rng).reset_index(drop=True)
    lost = rng.permuted(np.tile(np.arange(len(columns)) < again, (n, 1)), axis=1)
    copied = real.where(~lost, drawn)[:kept].astype(real.dtypes)
    made = pd.concat([copied, made[kept:]], ignore_index=True)
    return real, made.sample(frac=1, random_state=rng), holdout
