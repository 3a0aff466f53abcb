"""Bins in which probabilities are published (Long et al. 2017, section 5.2)."""

from __future__ import annotations

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError

BIN = 0.01
"""Width of the paper's bins."""

_EDGE = 1e-7  # float32 rounds a probability by less


def n_bins(width: float) -> int:
    """Return the number of bins of a width in [0, 1].

    Raises
    ------
    InputError
        If the width is not 1 over a whole number.
    """
    number = round(1 / width) if 0 < width <= 1 else 0
    if not number or abs(number * width - 1) > 1e-9:
        raise InputError(f"bin must be 1 over a whole number, such as 0.01, got {width}")
    return number


def bin_numbers(probability: Floats, width: float) -> Ints:
    """Return the bin of every probability, 0, 1, ...; the last one includes 1.

    A bin includes its lower edge, and values that rounding to single precision puts just below it:
    0.29 is 28.999... hundredths as a float, and predictions may be rounded to hundredths.
    """
    number = n_bins(width)
    bins: Ints = ((probability + _EDGE) * number).astype(np.int64)
    return bins.clip(0, number - 1)


def bin_centres(p: Floats, width: float = BIN) -> Floats:
    """Return the centre of each probability's bin; the last bin holds 1."""
    return np.asarray((bin_numbers(p, width) + 0.5) * width, np.float64)
