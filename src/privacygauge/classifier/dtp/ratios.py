"""Differential training privacy: how far one record moves what a classifier says."""

from __future__ import annotations

import numpy as np

from privacygauge.classifier.binning import bin_numbers, binned, n_bins
from privacygauge.core.checks import Floats


def log_ratio(with_it: Floats, without: Floats, width: float = 0.0) -> Floats:
    """Return how much the probabilities with and without a record differ: the largest log ratio.

    Parameters
    ----------
    with_it, without : ndarray of float, shapes (..., k)
        Probabilities of every class; broadcast against each other. NaN throughout where a
        classifier has no answer.
    width : float
        Of the bins in which probabilities are published; 0 for none.

    Returns
    -------
    ndarray of float, shape (...)
        max over y of ``|log p(y | x) - log p'(y | x)|``, at least 0. Infinite where only one of
        the two is 0, or only one has an answer; nothing where both are 0.

    Notes
    -----
    Long et al. (2017), definitions 4.1 to 4.3. The paper prints the ratio; the metric is its log,
    "the least epsilon".

    Examples
    --------
    >>> import numpy as np
    >>> log_ratio(np.array([0.5, 0.5]), np.array([0.25, 0.75])).round(4).item()
    0.6931
    """
    answers = np.isfinite(with_it).all(axis=-1), np.isfinite(without).all(axis=-1)
    if width:
        with_it, without = _binned_answers(with_it, width), _binned_answers(without, width)
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = np.abs(np.log(with_it) - np.log(without))
    difference = np.where((with_it == 0) & (without == 0), 0.0, difference)
    largest = difference.max(axis=-1)
    one_silent = answers[0] != answers[1]
    none = ~answers[0] & ~answers[1]
    return np.asarray(np.where(one_silent, np.inf, np.where(none, 0.0, largest)), np.float64)


def _binned_answers(p: Floats, width: float) -> Floats:
    known = np.isfinite(p)
    return np.where(known, binned(np.where(known, p, 0.0), width), np.nan)


def cap(width: float) -> float:
    """Return what no log ratio of binned probabilities exceeds; infinite without bins."""
    return float(np.log((1.0 - width / 2) / (width / 2))) if width else float("inf")


def binned_bound(gamma: Floats, width: float) -> Floats:
    """Return what the log ratio of binned probabilities is at most, given that of the plain ones.

    Parameters
    ----------
    gamma : ndarray of float, shape (...)
        Bound of ``|log p - log p'|``, at least 0.
    width : float
        Of the bins; 0 for none.

    Returns
    -------
    ndarray of float, shape (...)
        The smaller of two probabilities lies in some bin; the larger is at most exp(gamma) times
        that bin's upper end. The largest log ratio of centres over all bins.
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
