"""Differential training privacy: log ratios with and without a record, and bounds over a box."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from privacygauge.classifiers.learner import Box, DtpRange, class_log_p, logs
from privacygauge.classifiers.signals import bin_centres, bin_numbers, n_bins
from privacygauge.classifiers.trainer import Cohort, Trainer, first_query
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError

_SAME = 1e-12
"""Largest difference between a model's probabilities and the exponentials of its logarithms."""


@runtime_checkable
class Logarithmic(Protocol):
    """A trainer that gives log probabilities even where probabilities underflow."""

    def train_logs(self, cohort: Cohort) -> Floats:
        """Return the logarithms of the probabilities that `train` returns, (m, a, k)."""


def log_answers(trainer: Trainer, cohort: Cohort) -> Floats:
    """Return the log probabilities of trained models, (m, a, k).

    Parameters
    ----------
    trainer : Trainer
    cohort : Cohort

    Returns
    -------
    ndarray of float, shape (m, a, k)
        -inf where a probability is 0, NaN throughout for a model whose training failed.
    """
    if isinstance(trainer, Logarithmic):
        return trainer.train_logs(cohort)
    made = np.asarray(first_query(trainer.train(cohort)), np.float64)
    return class_log_p(made) if trainer.logits else logs(made)


def own_log_p(model: object, x: NDArray[Any], p: Floats) -> Floats:
    """Return the log probabilities (n, k) of an estimator, from its own logarithms if it has them.

    They come from `decision_function`, or else from `predict_log_proba`, if all exponentials are
    within 1e-12 of the probabilities `p`; otherwise they are the logarithms of `p`.

    Notes
    -----
    Scores come first: some estimators take `predict_log_proba` from probabilities, or give the
    logarithm of the smallest number in place of that of 0.
    """
    # The first logarithms that agree with the probabilities win.
    for name in ("decision_function", "predict_log_proba"):
        ask: Callable[[NDArray[Any]], Any] | None = getattr(model, name, None)
        if ask is None:
            continue
        with np.errstate(divide="ignore"):
            found = np.asarray(ask(x), np.float64)
            if name == "decision_function" and found.ndim == 1:
                # Two classes have one score, the log odds of the second.
                found = np.asarray(log_expit(np.stack([-found, found], axis=1)), np.float64)
            elif name == "decision_function":
                found = class_log_p(found)
        if found.shape == p.shape and (np.abs(np.exp(found) - p) <= _SAME).all():
            return found
    return logs(p)


_ROUNDING = 2e-3
"""Largest log probability that is rounding: a model's rows sum to 1 within 0.001."""


def log_ratio(with_it: Floats, without: Floats, width: float = 0.0) -> Floats:
    """Return the largest log ratio between answers with and without a record.

    Parameters
    ----------
    with_it, without : ndarray of float, shapes (..., k)
        Log probabilities of every class, at most 0; broadcast against each other. -inf where a
        probability is exactly 0, NaN throughout where a classifier has no answer.
    width : float
        Bin width of the published probabilities; 0 for no bins.

    Returns
    -------
    ndarray of float, shape (...)
        max over y of ``|log p(y | x) - log p'(y | x)|``, at least 0. Infinite where only one of the
        two is 0, or only one has an answer; a class with both 0 does not count.

    Raises
    ------
    InputError
        If a value is above 0: probabilities were given in place of their logarithms.

    Notes
    -----
    Long et al. (2017), definitions 4.1 to 4.3. The paper prints the ratio; the metric is its log,
    "the least epsilon".

    Examples
    --------
    >>> import numpy as np
    >>> log_ratio(np.log([0.5, 0.5]), np.log([0.25, 0.75])).round(4).item()
    0.6931
    """
    silent = _silent(with_it), _silent(without)
    if width:
        # A classifier without an answer has none in bins either.
        with_it, without = (
            np.where(np.isnan(p), np.nan, np.log(bin_centres(np.where(np.isnan(p), 0.0, p), width)))
            for p in (np.exp(with_it), np.exp(without))
        )
    with np.errstate(invalid="ignore"):
        difference = np.abs(with_it - without)
    # The difference of the logs of two zeros is undefined.
    difference = np.where(np.isneginf(with_it) & np.isneginf(without), 0.0, difference)
    largest = np.where(silent[0] & silent[1], 0.0, difference.max(axis=-1))
    # Anyone sees that only one of the two classifiers answers, bins or not.
    return np.asarray(np.where(silent[0] != silent[1], np.inf, largest), np.float64)


def _silent(log_p: Floats) -> Bools:
    """Return True for rows (...) without an answer."""
    largest = log_p.max(axis=-1)
    if (largest > _ROUNDING).any():
        raise InputError(
            f"log probabilities must be at most 0, got {np.nanmax(largest):g}; "
            "give the logarithms of probabilities"
        )
    return np.asarray(np.isnan(largest), np.bool_)


def cap(width: float) -> float:
    """Return the largest possible log ratio of binned probabilities; infinite without bins."""
    return float(np.log((1.0 - width / 2) / (width / 2))) if width else float("inf")


def binned_bound(gamma: Floats, width: float) -> Floats:
    """Return an upper bound on the log ratio of binned probabilities, from that of plain ones.

    `gamma` bounds ``|log p - log p'|``; a width of 0 means no bins. The smaller of two
    probabilities lies in some bin; the larger is at most exp(gamma) times that bin's upper end. The
    bound is the largest log ratio of bin centres over all bins.
    """
    gamma = np.asarray(gamma, np.float64)
    if not width:
        return gamma
    number = n_bins(width)
    lower = np.arange(number)
    # (..., bins): the largest probability within exp(gamma) of each bin's upper end.
    with np.errstate(over="ignore"):
        reach = np.exp(gamma)[..., None] * ((lower + 1) / number)
    upper = bin_numbers(np.minimum(reach, 1.0), width)
    # Centres are (i + 1/2) width, so the width cancels.
    found = (np.log(upper + 0.5) - np.log(lower + 0.5)).max(axis=-1)
    # However little they differ, two probabilities may lie on either side of a bin's edge.
    return np.asarray(np.where(gamma == 0, 0.0, found), np.float64)


_TILTS = (0.0, 0.05, 0.5)
"""Weights of the direction in which a class becomes certain, added to that of the largest change:
the bound is attained only where a class is certain."""

_BLOCK = 1 << 21
"""Values of corners processed per block."""


def log_linear_dtp(
    coefficients: tuple[Floats, Floats],
    coefficients_without: tuple[Floats, Floats],
    x_rows: Floats,
    width: float,
    box: Box,
    others: Floats | None = None,
) -> DtpRange:
    """Return the range of each record's DTP over a box, for ``p = softmax(x @ W + b)``.

    Parameters
    ----------
    coefficients : tuple of ndarray of float, shapes (d, k) and (k,)
        Weights W and intercepts b with all records; -inf for a class without records.
    coefficients_without : tuple of ndarray of float, shapes (r, d, k) and (r, k)
        Weights and intercepts without each record.
    x_rows : ndarray of float, shape (r, d)
        The records; each is also a query, even outside the box.
    width : float
        Bin width of the published probabilities; 0 for no bins.
    box : Box
        The domain.
    others : ndarray of float, shape (q, d), optional
        Further queries, if probabilities are binned: at a corner a class may be certain, and a bin
        hides every change; see `some_records`.

    Returns
    -------
    DtpRange
        `low` is attained at some corner of the box, at the record itself, or at one of `others`; no
        query exceeds `high`.

    Notes
    -----
    With delta_y(x), linear in x, the change of the score of y, ``p_y / p'_y`` is the mean of
    ``exp(delta_y - delta_j)`` over the classes j with the weights p_j. So the log ratio (Long et
    al. 2017, definition 4.2) is at most the largest ``|delta_y - delta_j|`` over pairs of
    classes, and over a box a linear function is largest at a corner: O(k^2 d) per record. The
    bound is attained if p_j is 1 at that corner.
    """
    w, b = coefficients
    w_without, b_without = coefficients_without
    own, low, high = np.empty((3, len(x_rows)))
    pairs = max(1, len(b) * (len(b) - 1) // 2)
    # Corners per record: every pair of classes in each way, of d attributes.
    size = max(1, _BLOCK // (pairs * (4 * len(_TILTS) - 2) * max(1, w.shape[0])))
    if len(box.low) != w.shape[0]:
        raise InputError(f"box must have {w.shape[0]} attributes, got {len(box.low)}")
    for start in range(0, len(x_rows), size):
        part = slice(start, start + size)
        change = _Change(w, b, w_without[part], b_without[part])
        own[part] = change.seen(x_rows[part, None], width)[:, 0]
        longest = np.abs(change.apart).max(axis=1, initial=0.0)[:, None]
        unit = np.divide(change.apart, longest, out=np.zeros_like(change.apart), where=longest > 0)
        tilt = unit * np.abs(change.slopes).max(axis=2, initial=0.0)[..., None]
        ways = [
            sign * change.slopes + side * size * tilt
            # Tilted corners move towards certainty of either class; without a tilt one side
            # suffices.
            for size in _TILTS
            for sign in (-1.0, 1.0)
            for side in ((-1.0, 1.0) if size else (1.0,))
        ]
        low[part] = np.maximum(
            own[part],
            change.seen(np.where(np.concatenate(ways, axis=1) > 0, box.high, box.low), width).max(
                axis=1, initial=0
            ),
        )
        for query in others if width and others is not None else ():
            asked = np.broadcast_to(query, (len(low[part]), 1, len(query)))
            np.maximum(low[part], change.seen(asked, width)[:, 0], out=low[part])
        # Bins coarsen both answers, and cap what their ratio can be.
        bound = np.minimum(binned_bound(change.bound(box), width), cap(width))
        high[part] = np.maximum(bound, low[part])
    binned = f", probabilities in bins of {width:g}" if width else ""
    return DtpRange(low, high, f"changes of linear log odds over a box of queries{binned}", own)


OTHERS = 100
"""Most training records that are asked about for each record, where answers are binned."""


def some_records(n: int) -> Ints:
    """Return up to `OTHERS` rows of n, evenly spread."""
    return np.unique(np.linspace(0, n - 1, OTHERS).astype(np.int64))


class _Change:
    """Coefficients with all records, and without each of some."""

    def __init__(self, w: Floats, b: Floats, w_without: Floats, b_without: Floats) -> None:
        self.w = w
        self.b = b
        self.w_without = w_without
        self.b_without = b_without
        first, second = np.triu_indices(len(b), 1)
        dw = (w - w_without).transpose(0, 2, 1)
        # (r, pairs, d) slopes of delta_y - delta_j, and (pairs, d) of the scores' difference.
        self.slopes = dw[:, first] - dw[:, second]
        self.apart = (w[:, first] - w[:, second]).T
        there = np.isfinite(b), np.isfinite(b_without)
        # A class has records with the record and none without it.
        self.lost = (there[0] != there[1]).any(axis=1)
        # Intercepts of -inf are left out here; their pairs are masked below.
        db = np.where(there[0], b, 0.0) - np.where(there[1], b_without, 0.0)
        # Classes unknown to both have no ratio.
        both = there[0] & there[1]
        self.real = both[:, first] & both[:, second]
        self.shifts = db[:, first] - db[:, second]

    def bound(self, box: Box) -> Floats:
        """Return an upper bound over all queries of the box, (r,); infinite if a class is lost."""
        up = np.maximum(self.slopes, 0.0)
        down = np.minimum(self.slopes, 0.0)
        # A linear function over a box is largest where each attribute is at the end of its sign.
        most = self.shifts + up @ box.high + down @ box.low
        least = self.shifts + up @ box.low + down @ box.high
        change = np.where(self.real, np.maximum(most, -least), 0.0).max(axis=1, initial=0.0)
        # Sums in another order may differ by this much more.
        far = np.maximum(np.abs(box.low), np.abs(box.high))
        b = np.where(np.isfinite(self.b), np.abs(self.b), 0.0)
        sizes = (np.abs(self.w) + np.abs(self.w_without)).transpose(0, 2, 1) @ far + b
        rounding = 8 * np.finfo(np.float64).eps * sizes.max(axis=1, initial=0.0)
        return np.where(self.lost, np.inf, change + rounding)

    def seen(self, queries: Floats, width: float) -> Floats:
        """Return the log ratios at queries (r, q, d) of each record, (r, q)."""
        scores = queries @ self.w + self.b
        without = queries @ self.w_without + self.b_without[:, None]
        return log_ratio(class_log_p(scores), class_log_p(without), width)
