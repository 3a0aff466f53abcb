"""Differential training privacy: how far one record moves what a classifier says."""

from __future__ import annotations

import numpy as np

from privacygauge.classifier.binning import bin_numbers, binned, n_bins
from privacygauge.core.checks import Bools, Floats
from privacygauge.errors import InputError

_ROUNDING = 2e-3
"""Log probabilities above 0 by no more are rounded: a model's rows sum to 1 within 0.001."""


def log_ratio(with_it: Floats, without: Floats, width: float = 0.0) -> Floats:
    """Return how much answers with and without a record differ: the largest log ratio.

    Parameters
    ----------
    with_it, without : ndarray of float, shapes (..., k)
        Log probabilities of every class, at most 0; broadcast against each other. -inf where a
        probability is exactly 0, NaN throughout where a classifier has no answer.
    width : float
        Of the bins in which probabilities are published; 0 for none.

    Returns
    -------
    ndarray of float, shape (...)
        max over y of ``|log p(y | x) - log p'(y | x)|``, at least 0. Infinite where only one of
        the two is 0, or only one has an answer; nothing where both are 0.

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
        with_it, without = _binned_logs(with_it, width), _binned_logs(without, width)
    with np.errstate(invalid="ignore"):
        difference = np.abs(with_it - without)
    # Of two probabilities that are both 0, the logs have no difference.
    difference = np.where(np.isneginf(with_it) & np.isneginf(without), 0.0, difference)
    largest = np.where(silent[0] & silent[1], 0.0, difference.max(axis=-1))
    return np.asarray(np.where(silent[0] != silent[1], np.inf, largest), np.float64)


def _silent(log_p: Floats) -> Bools:
    """Return which rows (...) are no answer."""
    largest = log_p.max(axis=-1)
    if (largest > _ROUNDING).any():
        raise InputError(
            f"log probabilities must be at most 0, got {np.nanmax(largest):g}; "
            "give the logarithms of probabilities"
        )
    return np.asarray(np.isnan(largest), np.bool_)


def _binned_logs(log_p: Floats, width: float) -> Floats:
    p = np.exp(log_p)
    known = ~np.isnan(p)
    return np.where(known, np.log(binned(np.where(known, p, 0.0), width)), np.nan)


def cap(width: float) -> float:
    """Return what no log ratio of binned probabilities exceeds; infinite without bins."""
    return float(np.log((1.0 - width / 2) / (width / 2))) if width else float("inf")


def binned_bound(gamma: Floats, width: float) -> Floats:
    """Return what the log ratio of binned probabilities is at most, given that of the plain ones.

    `gamma` bounds ``|log p - log p'|``; a width of 0 means no bins. The smaller of two
    probabilities lies in some bin; the larger is at most exp(gamma) times that bin's upper end.
    The largest log ratio of centres over all bins.
    """
    gamma = np.asarray(gamma, np.float64)
    if not width:
        return gamma
    number = n_bins(width)
    lower = np.arange(number)
    with np.errstate(over="ignore"):
        reach = np.exp(gamma)[..., None] * ((lower + 1) / number)
    upper = bin_numbers(np.minimum(reach, 1.0), width)
    found = (np.log(upper + 0.5) - np.log(lower + 0.5)).max(axis=-1)
    # However little they differ, two probabilities may lie on both sides of a border.
    return np.asarray(np.where(gamma == 0, 0.0, found), np.float64)
