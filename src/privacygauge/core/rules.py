"""Rules that turn scores into guesses, by thresholds that do not depend on the evaluated rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.errors import InputError


@dataclass(frozen=True)
class Cut:
    """Guess "member" if the score is at least a given threshold."""

    threshold: float
    """Threshold, chosen without the evaluated rows."""
    origin: str = "given"
    """Origin of the threshold, as reports print it."""

    def __post_init__(self) -> None:
        if math.isnan(self.threshold):
            raise InputError("threshold must be a number, got nan")

    def decide(self, transcript: Transcript) -> Decisions:
        """Return ``score >= threshold`` for every row."""
        guess = transcript.score >= self.threshold
        return transcript.decided(guess, f"threshold {self.origin}")


@dataclass(frozen=True)
class Split:
    """Cross-fitting: each part of the units is guessed by the best threshold of the other part.

    Where chance explains that the best one is better than guessing, the middle of the other part's
    scores is taken in its place.

    Notes
    -----
    Every guess is independent of its own row's secret, and the accuracy is unbiased. But each part
    chooses the other's threshold: where both choices are no more than chance and happen to agree,
    both parts are right too often. Of four attacks on 500 members and 500 non-members that know
    nothing, one had jointly valid 95% intervals above one half in 5.2% of 600 games, against 2.25%
    of 800 games now and the nominal 2.5%. Chance is the one-sided test of Kolmogorov and Smirnov
    at 5%; rows of one unit count once in it.
    """

    share: float = 0.5
    """Share of the units in the first part, in (0, 1)."""
    seed: int = 0
    """Seed of the split."""

    def __post_init__(self) -> None:
        checks.level(self.share, "share")
        seeds.non_negative(self.seed)

    def decide(self, transcript: Transcript) -> Decisions:
        """Return guesses for every row, each by the threshold of the part it is not in."""
        first = halves(transcript.unit, transcript.secret, self.share, self.seed)
        guess = np.empty(len(transcript), np.bool_)
        # Each part is guessed by the threshold of the other.
        for part in (first, ~first):
            score = transcript.score[~part]
            secret = transcript.secret[~part]
            if secret.all() or not secret.any():
                raise InputError(
                    "too few targets to split: each part needs members and non-members"
                )
            cut = best_threshold(score[secret], score[~secret])
            lead = np.mean(score[secret] >= cut) - np.mean(score[~secret] >= cut)
            n_in, n_out = (len(np.unique(transcript.unit[~part][x])) for x in (secret, ~secret))
            if np.exp(-2 * lead**2 * n_in * n_out / (n_in + n_out)) > _BY_CHANCE:
                # The score that splits the rows most evenly, those at or above it from the others.
                distinct, count = np.unique(score, return_counts=True)
                above = np.cumsum(count[::-1])[::-1]
                cut = float(distinct[np.abs(2 * above - len(score)).argmin()])
            guess[part] = transcript.score[part] >= cut
        return transcript.decided(guess, "cross-fitted threshold")


_BY_CHANCE = 0.05
"""Largest probability at which chance does not explain the best threshold of a part."""


def halves(unit: Ints, secret: Bools, share: float = 0.5, seed: int = 0) -> Bools:
    """Return a mask of the rows in the first part of a random split of the units.

    All rows of a unit are in the same part. Units that are members in most of their rows are split
    separately from the others, so that both parts hold members and non-members.

    Parameters
    ----------
    unit : ndarray of int, shape (m,)
    secret : ndarray of bool, shape (m,)
    share : float
        Share of the units in the first part, in (0, 1).
    seed : int

    Returns
    -------
    ndarray of bool, shape (m,)
    """
    unique, inverse = np.unique(unit, return_inverse=True)
    mostly_in = np.bincount(inverse, weights=np.where(secret, 1.0, -1.0)) > 0
    rng = seeds.stream(seed, "split")
    first = np.zeros(len(unique), np.bool_)
    for group in (np.flatnonzero(mostly_in), np.flatnonzero(~mostly_in)):
        # At least one unit in each part, if the group has two.
        size = int(np.clip(round(share * len(group)), min(1, len(group)), max(len(group) - 1, 0)))
        first[rng.permutation(group)[:size]] = True
    return first[inverse]


# Thresholds with the best balanced accuracy, per class and for all classes together.


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
    ascending = np.sort(members)
    n_in = len(members)
    first = np.concatenate([[True], ascending[1:] > ascending[:-1]])
    candidates = ascending[first]
    kept = n_in - np.flatnonzero(first)
    rejected = np.searchsorted(np.sort(nonmembers), candidates, side="left")
    # TPR + TNR times n_in * n_out, in integers; searched from the end for the largest best one.
    gain = kept * len(nonmembers) + rejected * n_in
    return float(candidates[len(gain) - 1 - np.argmax(gain[::-1])])


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
        # Sorted once by class: a class's scores are then a slice, not a mask over all rows.
        order, ends = order_by_class(stratum[side], n_classes)
        sides.append((signal[side][order], ends))
    (inside, inside_ends), (outside, outside_ends) = sides
    by_class = np.empty(n_classes)
    fell_back = []
    for c in range(n_classes):
        a = inside[inside_ends[c] : inside_ends[c + 1]]
        b = outside[outside_ends[c] : outside_ends[c + 1]]
        if len(a) and len(b):
            by_class[c] = best_threshold(a, b)
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
