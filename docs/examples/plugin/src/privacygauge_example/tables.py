"""A generator: a function of a table, a number of records and a seed."""

import numpy as np
import pandas as pd


def shuffled(frame: pd.DataFrame, n: int, seed: int) -> pd.DataFrame:
    """Return n records whose columns are drawn one by one from the real ones."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: rng.choice(frame[name], n) for name in frame})
