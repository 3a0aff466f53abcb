"""Resolution: the smallest probability that predictions distinguish from 0, and published bins."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.predictions import BLOCK, Pool, Predictions
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError

TINY = float(np.finfo(np.float64).tiny)
"""Lower bound for probabilities computed from logits, whose softmax has no other bound."""

_MOST_DIGITS = 9
"""Largest number of decimals to which probabilities may be rounded."""

_SAMPLE = 4096
"""Approximate number of values that settle most questions before all are read."""

_SUBNORMAL = 2.0**-24
"""Spacing of small float16 numbers, and of 1 - p for float32 numbers p."""
_COARSE = 512.0
"""Below this many spacings, 1 - p keeps at most three digits."""


@dataclass(frozen=True, eq=False)
class Resolution:
    """Common resolution of sets of predictions that are compared with each other."""

    least: Floats
    """(1,), or (2,) for two classes: the value that replaces a probability of 0 in each column."""
    near: float
    """Value of 1 - p below which the sum of the other probabilities is more precise."""
    step: float = 0.0
    """Step of which every probability is a multiple, such as 0.01 for 100 votes; 0 for floating
    values."""

    def unresolved(self, scaled_logit: Floats, labels: Ints) -> Bools:
        """Return a mask of the records at the bounds of the scaled logit, (..., n)."""
        # Every resolved probability is at least twice `least`: 1.4, about the square root of 2,
        # lies between. 1 - p is bounded by the other class's value, hence the reversal.
        low = np.log(1.4 * self.least)
        high = -low[::-1]
        column = labels % len(self.least)
        return np.asarray((scaled_logit <= low[column]) | (scaled_logit >= high[column]), np.bool_)


def resolution(*sets: Predictions | Pool) -> Resolution:
    """Return the common resolution of sets of predictions.

    Parameters
    ----------
    *sets : Predictions or Pool
        At least one, all of k classes: the target's, and those of every model that it is
        compared with; all of their queries count.

    Notes
    -----
    A probability of exactly 0 was rounded away. It is replaced by half of the smallest probability
    that the sets resolve, which is the larger of

    - the step of the coarsest set, where all of its values are multiples of the smallest one
      (votes of trees), of 10^-d (d up to 9, as in a CSV file) or of 2^-24 (float16): other sets
      are cut off there too, so that equal records have equal signals;
    - the smallest probability above 0 in any set. So decision trees and files of unknown origin
      get no logit that is far from all others.

    With two classes each has its own, since one column is often 1 minus the other in float32, with
    steps of 2^-24; it is at most the spacing of numbers just below 1 where that is coarser.

    The rest 1 - p of the largest probability is known to that spacing (2^-11 for float16, 2^-24
    for float32, 2^-53 for float64, the step of votes and decimals), the sum of the others to
    about k - 2 steps more than their own. Where the spacing is the coarser, rests within 512
    spacings are taken from the sum. Types are those that the values fit in: float32 probabilities
    are as coarse in a float64 array.
    """
    given = [one for one in sets if not one.logits]
    if not given:
        return Resolution(np.array([TINY]), 0.0)
    found = [_Fineness.of(one.answers.reshape(-1, one.n_classes)) for one in given]
    step = np.max([one.step for one in found], axis=0)
    smallest = np.min([one.smallest for one in found], axis=0)
    unit = max(one.unit for one in found)
    # Votes of one tree: nothing lies between 0 and 1, and only the spacing below 1 is known.
    bound = unit if np.isinf(smallest).all() else max(unit, float(smallest.min()))
    # Naive Bayes gives probabilities below the smallest normal number, half of which may be 0.
    least = np.maximum(np.maximum(step, np.minimum(smallest, bound)) / 2, TINY)
    # The sum of the others is off by about k - 2 of their steps, 1 - p by one spacing.
    by_sum = (given[0].n_classes - 2) * step.max() < unit
    near = min(_COARSE * unit, 0.25) if by_sum else 0.0
    return Resolution(least, near, float(step.max()))


@dataclass(frozen=True, eq=False)
class _Fineness:
    unit: float  # spacing of numbers just below 1
    step: Floats  # (1,) or (2,) spacing of small numbers; 0 where they float
    smallest: Floats  # (1,) or (2,) the smallest value in (0, 1); infinite where there is none

    @classmethod
    def of(cls, values: NDArray[Any]) -> _Fineness:
        known = values.dtype.kind == "f" and values.dtype.itemsize <= 8
        floating = values if known else values.astype(np.float64)
        columns = list(floating.T) if floating.shape[1] == 2 else [floating]
        smallest = np.array([_smallest(column) for column in columns])
        own = float(np.finfo(floating.dtype).epsneg)
        step = np.array([_step(x, m, own) for x, m in zip(columns, smallest, strict=True)])
        fits = own if np.isinf(smallest).all() else _unit(floating)
        fixed = float(step[step != _SUBNORMAL].max(initial=0.0))
        # 1 - p may be as small as a step, though no probability is.
        return cls(max(fits, fixed), step, np.where(step > 0, step, smallest))


def _smallest(values: NDArray[Any]) -> float:
    """Return the smallest value in (0, 1) of non-negative floats; infinity if there is none."""
    # As unsigned integers non-negative floats keep their order.
    integers = np.dtype(f"u{values.dtype.itemsize}")
    least = np.iinfo(integers).max
    for block in _native(values):
        found = block.view(integers)
        lowest = int(found.min())
        # 0 - 1 is the largest integer.
        above = lowest if lowest else int(np.subtract(found, 1, dtype=integers).min()) + 1
        least = min(least, above)
    smallest = float(np.array(least, integers).view(values.dtype.newbyteorder("=")))
    return smallest if smallest < 1 else math.inf


def _native(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    rows = max(1, BLOCK * len(values) // max(values.size, 1))
    for start in range(0, len(values), rows):
        block = values[start : start + rows]
        yield block.astype(block.dtype.newbyteorder("="), copy=False)


def _step(values: NDArray[Any], smallest: float, unit: float) -> float:
    """Return the coarsest step of which all values are multiples; 0 if there is none."""
    if math.isinf(smallest):
        return 0.0
    decimals = (10.0**-d for d in range(1, _MOST_DIGITS + 1))
    for step in (smallest, *decimals, _SUBNORMAL):
        # Powers of 2 are exact; other multiples are off by the type's rounding, in steps. If that
        # is a large part of a step, everything would pass.
        rounding = 0.0 if step == _SUBNORMAL else 2 * unit / step
        if rounding > 0.25 or step > 1.1 * smallest:
            continue
        # Every float16 is a multiple of its smallest number.
        if values.dtype == np.float16 and step == _SUBNORMAL:
            return step
        blocks = chain([_sample_values(values)], _native(values))
        scaled = (block.astype(np.float64) / step for block in blocks)
        if all((np.abs(x - np.rint(x)) <= rounding).all() for x in scaled):
            return step
    return 0.0


def _unit(values: NDArray[Any]) -> float:
    """Return the spacing of numbers just below 1 in the narrowest type that holds some values."""
    some = _sample_values(values).astype(np.float64)
    for narrow in (np.float16, np.float32):
        if values.dtype.itemsize > np.dtype(narrow).itemsize:
            with np.errstate(under="ignore"):
                fits = bool((some == some.astype(narrow)).all())
            if fits:
                return float(np.finfo(narrow).epsneg)
    return float(np.finfo(values.dtype).epsneg)


def _sample_values(values: NDArray[Any]) -> NDArray[Any]:
    """Return a sample of values that is enough to decide most questions, from rows far apart."""
    return values[:: max(1, values.size // _SAMPLE)]


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
