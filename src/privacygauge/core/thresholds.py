"""Thresholds with the best balanced accuracy, per class and for all classes together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Thresholds on one signal, learnt on records with known membership."""

    overall: float
    """Best threshold for all classes together."""
    by_class: Floats
    """(k,) Best threshold of each class; `overall` for a class that fell back to it."""
    fell_back: Ints
    """(f,) Classes without shadow members or without shadow non-members."""

    def of(self, stratum: Ints) -> Floats:
        """Return the threshold for the class of each row, (n,); `overall` for an unseen class."""
        known = (stratum >= 0) & (stratum < len(self.by_class))
        return np.where(known, self.by_class[np.where(known, stratum, 0)], self.overall)


def best_threshold(members: Floats, nonmembers: Floats) -> float:
    """Return the threshold t for which "member if value >= t" has the best balanced accuracy.

    Candidates are all observed values. Of equally good ones the LARGEST is taken, so that the
    result does not depend on the order of the rows; counts are compared as integers, so that
    rounding decides nothing. On Location30 this rule reproduces Table 4 of Song & Mittal (2021) to
    the digit; the smallest of equally good thresholds does not.

    Parameters
    ----------
    members : ndarray of float, shape (n_in,)
    nonmembers : ndarray of float, shape (n_out,)
        Values of either side, not empty; higher means more likely a member.

    Returns
    -------
    float
        One of the members' values: from any other candidate, moving up to the next member's value
        keeps all members and rejects more non-members, unless no member is above it.

    Notes
    -----
    Song & Mittal (2021), section 3.1.2, equation 6. O(n log n) time.
    """
    if len(members) == 0 or len(nonmembers) == 0:
        raise InputError("a threshold needs members and non-members")
    return _best_of_sorted(np.sort(members), np.sort(nonmembers))


def learn_thresholds(signal: Floats, member: Bools, stratum: Ints, n_classes: int) -> Thresholds:
    """Return the best threshold of every class and of all classes together.

    Parameters
    ----------
    signal : ndarray of float, shape (n,)
        Higher means more likely a member.
    member : ndarray of bool, shape (n,)
    stratum : ndarray of int, shape (n,)
        Class of each row, in 0..n_classes-1.
    n_classes : int

    Returns
    -------
    Thresholds
        A class without members or without non-members falls back to the overall threshold.
    """
    sides = []
    for side in (member, ~member):
        order, ends = order_by_class(stratum[side], n_classes)
        sides.append((signal[side][order], ends))
    (inside, inside_ends), (outside, outside_ends) = sides
    by_class = np.empty(n_classes)
    fell_back = []
    for c in range(n_classes):
        a = inside[inside_ends[c] : inside_ends[c + 1]]
        b = outside[outside_ends[c] : outside_ends[c + 1]]
        if len(a) and len(b):
            by_class[c] = _best_of_sorted(np.sort(a), np.sort(b))
        else:
            # Filled below, once the overall threshold is known.
            by_class[c] = np.nan
            fell_back.append(c)
    overall = best_threshold(inside, outside)
    by_class[np.isnan(by_class)] = overall
    return Thresholds(overall, by_class, np.array(fell_back, np.int64))


def order_by_class(stratum: Ints, n_classes: int) -> tuple[NDArray[np.intp], Ints]:
    """Return the rows sorted by class, and the offset of each class with the end of the last.

    Parameters
    ----------
    stratum : ndarray of int, shape (n,)
        In 0..n_classes-1.
    n_classes : int

    Returns
    -------
    tuple of ndarray, shapes (n,) and (n_classes + 1,)
        The rows of class c are ``order[ends[c]:ends[c + 1]]``, ascending.
    """
    # A stable sort of small integers is a radix sort: linear, and far faster than sorting floats.
    small = stratum.astype(np.min_scalar_type(max(n_classes - 1, 1)))
    order = np.argsort(small, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(stratum, minlength=n_classes))])
    return order, ends


def _best_of_sorted(members: Floats, nonmembers: Floats) -> float:
    n_in = len(members)
    n_out = len(nonmembers)
    first = np.concatenate([[True], members[1:] > members[:-1]])
    candidates = members[first]
    kept = n_in - np.flatnonzero(first)
    rejected = np.searchsorted(nonmembers, candidates, side="left")
    # TPR + TNR times n_in * n_out, in integers; searched from the end for the largest best one.
    gain = kept * n_out + rejected * n_in
    return float(candidates[len(gain) - 1 - np.argmax(gain[::-1])])
