"""Largest effect of leaving out a record over all queries of a box, for linear log odds."""

from __future__ import annotations

import numpy as np

from privacygauge.classifier.dtp.learner import Box, DtpRange, class_log_p
from privacygauge.classifier.dtp.ratios import binned_bound, cap, log_ratio
from privacygauge.core.checks import Floats
from privacygauge.errors import InputError

_TILTS = (0.0, 0.05, 0.5)
"""Steps by which corners are also moved to where a class is certain: only there is a bound
attained."""

_BLOCK = 1 << 21


def log_linear_dtp(
    coefficients: tuple[Floats, Floats],
    coefficients_without: tuple[Floats, Floats],
    x_rows: Floats,
    width: float,
    box: Box,
) -> DtpRange:
    """Return the range of each record's DTP over a box, for ``p = softmax(x @ W + b)``.

    Parameters
    ----------
    coefficients : tuple of ndarray of float, shapes (d, k) and (k,)
        Weights W and intercepts b with all records; -inf for a class without records.
    coefficients_without : tuple of ndarray of float, shapes (r, d, k) and (r, k)
        The same without each record.
    x_rows : ndarray of float, shape (r, d)
        The records. Each is a query of its own, wherever the box ends.
    width : float
        Bin width of the published probabilities; 0 for no bins.
    box : Box
        The domain.

    Returns
    -------
    DtpRange
        `low` is attained at some corner of the box, or at the record itself; no query exceeds
        `high`.

    Notes
    -----
    With delta_y(x), linear in x, the change of the score of y, ``p_y / p'_y`` is the mean of
    ``exp(delta_y - delta_j)`` over the classes j with the weights p_j. So the log ratio (Long et
    al. 2017, definition 4.2) is at most the largest ``|delta_y - delta_j|`` over pairs of
    classes, and over a box a linear function is largest at a corner: O(k^2 d) for a record. The
    bound is reached where the corner is also one where p_j is 1.
    """
    w, b = coefficients
    w_without, b_without = coefficients_without
    own, low, high = np.empty((3, len(x_rows)))
    pairs = max(1, len(b) * (len(b) - 1) // 2)
    size = max(1, _BLOCK // (pairs * (4 * len(_TILTS) - 2) * max(1, w.shape[0])))
    if len(box.low) != w.shape[0]:
        raise InputError(f"box must have {w.shape[0]} attributes, got {len(box.low)}")
    for start in range(0, len(x_rows), size):
        part = slice(start, start + size)
        change = _Change(w, b, w_without[part], b_without[part])
        own[part] = change.seen(x_rows[part, None], width)[:, 0]
        low[part] = np.maximum(
            own[part], change.seen(change.corners(box), width).max(axis=1, initial=0)
        )
        bound = np.minimum(binned_bound(change.bound(box), width), cap(width))
        high[part] = np.maximum(bound, low[part])
    binned = f", probabilities in bins of {width:g}" if width else ""
    return DtpRange(low, high, f"changes of linear log odds over a box of queries{binned}", own)


class _Change:
    """Coefficients with all records, and without each of some."""

    def __init__(self, w: Floats, b: Floats, w_without: Floats, b_without: Floats) -> None:
        self.w = w
        self.b = b
        self.w_without = w_without
        self.b_without = b_without
        first, second = np.triu_indices(len(b), 1)
        dw = (w - w_without).transpose(0, 2, 1)
        self.slopes = dw[:, first] - dw[:, second]
        self.apart = (w[:, first] - w[:, second]).T
        there = np.isfinite(b), np.isfinite(b_without)
        self.lost = (there[0] != there[1]).any(axis=1)
        db = np.where(there[0], b, 0.0) - np.where(there[1], b_without, 0.0)
        # Classes unknown to both have no ratio.
        both = there[0] & there[1]
        self.real = both[:, first] & both[:, second]
        self.shifts = db[:, first] - db[:, second]

    def bound(self, box: Box) -> Floats:
        """Return an upper bound over all queries of the box, (r,); infinite if a class is lost."""
        up = np.maximum(self.slopes, 0.0)
        down = np.minimum(self.slopes, 0.0)
        most = self.shifts + up @ box.high + down @ box.low
        least = self.shifts + up @ box.low + down @ box.high
        change = np.where(self.real, np.maximum(most, -least), 0.0).max(axis=1, initial=0.0)
        return np.where(self.lost, np.inf, change + self._rounding(box))

    def _rounding(self, box: Box) -> Floats:
        """Return the largest difference of sums taken in another order, (r,)."""
        far = np.maximum(np.abs(box.low), np.abs(box.high))
        b = np.where(np.isfinite(self.b), np.abs(self.b), 0.0)
        sizes = (np.abs(self.w) + np.abs(self.w_without)).transpose(0, 2, 1) @ far + b
        return np.asarray(8 * np.finfo(np.float64).eps * sizes.max(axis=1, initial=0.0))

    def corners(self, box: Box) -> Floats:
        """Return the corners of the box at which a pair of scores moves most, (r, c, d)."""
        longest = np.abs(self.apart).max(axis=1, initial=0.0)[:, None]
        unit = np.divide(self.apart, longest, out=np.zeros_like(self.apart), where=longest > 0)
        tilt = unit * np.abs(self.slopes).max(axis=2, initial=0.0)[..., None]
        ways = [
            sign * self.slopes + side * size * tilt
            for size in _TILTS
            for sign in (-1.0, 1.0)
            for side in ((-1.0, 1.0) if size else (1.0,))
        ]
        return np.where(np.concatenate(ways, axis=1) > 0, box.high, box.low)

    def seen(self, queries: Floats, width: float) -> Floats:
        """Return the log ratios at queries (r, q, d) of each record, (r, q)."""
        scores = queries @ self.w + self.b
        without = queries @ self.w_without + self.b_without[:, None]
        return log_ratio(class_log_p(scores), class_log_p(without), width)
