"""Signals: one real number per record, larger for records that look more like members.

Song & Mittal (2021), section 3.1, equations 5 to 8, and Carlini et al. (2022) for the scaled logit.
Everything is computed in blocks of rows, in log space if logits are given. The resolution of
predictions, the smallest probability that they distinguish from 0, bounds every logarithm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed
from numpy.typing import NDArray
from scipy.special import softmax

from privacygauge.classifiers.predictions import BLOCK, Pool, Predictions, blocks_of
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
        blocks = chain([values[:: max(1, values.size // _SAMPLE)]], _native(values))
        scaled = (block.astype(np.float64) / step for block in blocks)
        if all((np.abs(x - np.rint(x)) <= rounding).all() for x in scaled):
            return step
    return 0.0


def _unit(values: NDArray[Any]) -> float:
    """Return the spacing of numbers just below 1 in the narrowest type that holds some values."""
    # A sample of rows far apart decides most questions.
    some = values[:: max(1, values.size // _SAMPLE)].astype(np.float64)
    for narrow in (np.float16, np.float32):
        if values.dtype.itemsize > np.dtype(narrow).itemsize:
            with np.errstate(under="ignore"):
                fits = bool((some == some.astype(narrow)).all())
            if fits:
                return float(np.finfo(narrow).epsneg)
    return float(np.finfo(values.dtype).epsneg)


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


SIGNALS = ("correctness", "confidence", "entropy", "modified-entropy", "loss", "scaled-logit")
"""Names of the signals."""

_ROWS_A_THREAD = 50_000


def signals(predictions: Predictions, resolved: Resolution | None = None) -> dict[str, Floats]:
    """Return the six signals of every record.

    Parameters
    ----------
    predictions : Predictions
        n records of k classes; with several queries per record, the first is used.
    resolved : Resolution, optional
        Common resolution of these predictions and those they are compared with; by default their
        own `resolution`.

    Returns
    -------
    dict of str to ndarray of float, shape (n,)
        With p the predicted probabilities and y the true class:
        ``correctness`` 1 where the first largest p is at y, else 0;
        ``confidence`` p_y;
        ``entropy`` sum_i p_i log p_i, the negated entropy, at most 0;
        ``modified-entropy`` (1 - p_y) log p_y + sum_{i != y} p_i log(1 - p_i), negated like
        the entropy, at most 0;
        ``loss`` log p_y, the negated cross-entropy, at most 0;
        ``scaled-logit`` log p_y - log(1 - p_y).
        Probabilities p and 1 - p are clipped at their resolution, so that all values are finite. If
        the largest is nearly 1, 1 minus it is taken from the sum of the others, which is more
        precise.
    """
    resolved = resolution(predictions) if resolved is None else resolved
    # Numpy releases the interpreter lock while it computes: threads share the matrix.
    n_jobs = min(cpu_count(), 1 + len(predictions) // _ROWS_A_THREAD)
    parts = Parallel(n_jobs, backend="threading")(
        delayed(_signals)(part, resolved) for part in predictions.parts(n_jobs)
    )
    return {name: np.concatenate([part[name] for part in parts]) for name in SIGNALS}


def _signals(predictions: Predictions, resolved: Resolution) -> dict[str, Floats]:
    result = {name: np.empty(len(predictions)) for name in SIGNALS}
    # Work space for every block; its size is known with the first one.
    space: Floats = np.empty((2, 0, 0))
    for rows, block in blocks_of(predictions.values):
        # Arrays allocated per block would be returned to the system in between.
        space = space if space.size else np.empty((2, *block.shape))
        of = _from_logits if predictions.logits else _from_probs
        parts = of(block, space[:, : len(block)], predictions.labels[rows], resolved)
        y = parts.label
        result["correctness"][rows] = parts.correct
        result["confidence"][rows] = parts.p[y]
        result["loss"][rows] = parts.log_p[y]
        result["scaled-logit"][rows] = parts.log_p[y] - parts.log_rest[y]
        result["entropy"][rows] = np.einsum("ij,ij->i", parts.p, parts.log_p)
        outer = parts.rest * parts.log_p[y]
        # Excluded rather than subtracted later: nothing cancels for confident predictions.
        parts.log_rest[y] = 0.0
        others = np.einsum("ij,ij->i", parts.p, parts.log_rest)
        result["modified-entropy"][rows] = outer + others
    return result


def gains(predictions: Predictions) -> tuple[Floats, float]:
    """Return each record's probability of its class, less the mean probability of that class.

    Returns
    -------
    tuple of ndarray of float, shape (n,), and float
        The predicted probability of the record's class less its mean over all records, in (-1, 1):
        0 on average if predictions and classes are unrelated. And the mean that these would have if
        the classes were drawn from the probabilities, as the model claims.
    """
    n = len(predictions)
    squares = 0.0
    own = np.empty(n)
    total = np.zeros(predictions.n_classes)
    for rows, block in blocks_of(predictions.values):
        p = softmax(block, axis=1) if predictions.logits else block
        own[rows] = p[np.arange(len(p)), predictions.labels[rows]]
        total += p.sum(axis=0)
        # Drawn from p, the true class has the probability sum_i p_i^2 on average.
        squares += float(np.square(p).sum())
    mean = total / n
    return own - mean[predictions.labels], squares / n - float(mean @ mean)


def knowledge_of_classes(predictions: Predictions) -> float:
    """Return the agreement of labels with predictions beyond chance, in standard deviations.

    The sum of the predicted probabilities of the records' classes, compared with its mean and
    variance over all permutations of the labels (Hoeffding 1951). So a rare class counts by how
    well it is predicted, not by how uncertain all other records are.
    """
    n = len(predictions)
    k = predictions.n_classes
    total = np.zeros(k)
    products = np.zeros((k, k))
    own = 0.0
    for rows, block in blocks_of(predictions.values):
        p = softmax(block, axis=1) if predictions.logits else np.asarray(block, np.float64)
        own += float(p[np.arange(len(p)), predictions.labels[rows]].sum())
        total += p.sum(axis=0)
        products += p.T @ p
    count = np.bincount(predictions.labels, minlength=k).astype(np.float64)
    # Scatter matrices of the probabilities and of the one-hot labels, (k, k) each: their product's
    # trace over n - 1 is the permutation variance.
    spread = products - np.outer(total, total) / n
    of_labels = np.diag(count) - np.outer(count, count) / n
    variance = float(np.sum(of_labels * spread)) / max(n - 1, 1)
    return (own - float(count @ total) / n) / np.sqrt(variance) if variance > 0 else 0.0


def top_probability(predictions: Predictions) -> Floats:
    """Return the largest predicted probability of each record, (n,) in [1/k, 1]."""
    result = np.empty(len(predictions))
    for rows, block in blocks_of(predictions.values):
        largest = block.max(axis=1)
        if predictions.logits:
            largest = 1.0 / np.exp(block - largest[:, None]).sum(axis=1)
        result[rows] = largest
    return result


@dataclass(frozen=True, eq=False)
class _Parts:
    p: Floats  # (b, k) probabilities
    log_p: Floats  # (b, k) log p
    log_rest: Floats  # (b, k) log(1 - p)
    rest: Floats  # (b,) 1 - p_y
    label: tuple[Ints, Ints]  # the entries of the true classes
    correct: Bools  # (b,)


def _from_probs(block: Floats, space: Floats, labels: Ints, resolved: Resolution) -> _Parts:
    row = np.arange(len(labels))
    p = block
    top = (row, block.argmax(axis=1))
    # Rounding may leave the largest a hair above 1; the others are below.
    p[top] = largest = np.minimum(p[top], 1.0)
    log_p, log_rest = space
    np.subtract(1.0, p, out=log_rest)
    np.maximum(p, resolved.least, out=log_p)
    np.log(log_p, out=log_p)
    rest = log_rest[top]
    # 1 - p is coarse here: the sum of the other probabilities replaces it.
    near = rest < resolved.near
    if near.any():
        p[top] = 0.0
        rest = np.where(near, np.einsum("ij->i", p), rest)
        p[top] = np.where(near, 1.0 - rest, largest)
        log_p[top] = np.where(near, np.log1p(-rest), log_p[top])
        log_rest[top] = rest
    return _parts(p, log_p, rests=log_rest, y=(row, labels), top=top, resolved=resolved)


def _from_logits(block: Floats, space: Floats, labels: Ints, resolved: Resolution) -> _Parts:
    row = np.arange(len(labels))
    # The most likely class apart: sums without it lose no digits.
    top = (row, block.argmax(axis=1))
    log_p = np.subtract(block, block[top][:, None], out=block)
    p, log_rest = space
    np.exp(log_p, out=p)
    p[top] = 0.0
    others = p.sum(axis=1)
    p[top] = 1.0
    total = 1.0 + others
    p /= total[:, None]
    log_p -= np.log1p(others)[:, None]
    np.maximum(log_p, np.log(resolved.least), out=log_p)
    # For the top class, 1 - p from the others' sum: 1 - p itself is rounded away where p is 1.
    np.subtract(1.0, p, out=log_rest)
    log_rest[top] = others / total
    return _parts(p, log_p, rests=log_rest, y=(row, labels), top=top, resolved=resolved)


def _parts(
    p: Floats,
    log_p: Floats,
    rests: Floats,
    y: tuple[Ints, Ints],
    top: tuple[Ints, Ints],
    resolved: Resolution,
) -> _Parts:
    rest = rests[y]
    # Only the largest can leave less than is resolved; with two classes it leaves the other one.
    least = resolved.least[::-1][top[1] % len(resolved.least)]
    rests[top] = np.maximum(rests[top], least)
    np.log(rests, out=rests)
    return _Parts(p=p, log_p=log_p, log_rest=rests, rest=rest, label=y, correct=top[1] == y[1])
