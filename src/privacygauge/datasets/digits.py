"""Handwritten digits, shipped with scikit-learn."""

from __future__ import annotations

import numpy as np

from privacygauge.core.checks import Floats, Ints

LICENCE = "CC BY 4.0 (E. Alpaydin, C. Kaynak; UCI Machine Learning Repository)"


def digits() -> tuple[Floats, Ints]:
    """Return 1,797 images of 8 x 8 handwritten digits and which digit each one shows.

    Returns
    -------
    tuple of ndarray, shapes (1797, 64) and (1797,)
        Grey values in [0, 1]; digits in 0..9.
    """
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return np.asarray(x, np.float64) / 16.0, np.asarray(y, np.int64)
