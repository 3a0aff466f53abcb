"""Membership signals that compare a target with a reference token by token.

Every signal is (n,), one value per text; higher means more likely a member. With ``d_i`` the
log-probability of unit i under the target minus that under the reference, the likelihood ratio is
the mean of all d_i; these signals use some of them, or only their signs. They need no passes beyond
those of the likelihood ratio.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError
from privacygauge.language.energies import Energies

EZ = "ez-mia"
"""Rises against falls at tokens where the target's top guess is wrong (Ilić et al. 2026)."""
WINDOWS = "wbc"
"""Votes of windows of many sizes (Chen et al. 2026)."""
BY_LENGTH = "length-calibrated"
"""Likelihood ratio calibrated by text length."""

SIZES = (2, 3, 4, 6, 9, 13, 18, 25, 32, 40)
"""Units per window: the published choice of Chen et al. (2026)."""
FEWEST_TEXTS = 20
"""Fewest texts in the population for a calibration by length."""
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Differences:
    """The units of n texts that both models scored, text by text, from left to right."""

    text: Ints
    """(u,) Text of each unit, ascending from 0."""
    value: Floats
    """(u,) Log-probability under the target minus that under the reference, in nats."""
    n: int
    """Number of texts."""
    wrong: Bools | None = None
    """(u,) True where the target's top guess is another token; None if unknown."""


def differences(target: Energies, reference: Energies) -> Differences:
    """Return the log-likelihood ratio of target to reference for every unit.

    Parameters
    ----------
    target, reference : Energies
        Energies of the same texts and units, as from `pair_log_probabilities`.

    Raises
    ------
    InputError
        If texts or units differ.
    """
    text, unit, ours = target.of_unit()
    other_text, other_unit, theirs = reference.of_unit()
    if not (np.array_equal(text, other_text) and np.array_equal(unit, other_unit)):
        raise InputError(
            "target and reference must have the same texts and units: ask both at once "
            "(pair_log_probabilities)"
        )
    highest = target.further.get("highest")
    wrong = None
    if highest is not None:
        # A unit of several tokens is guessed only if all of its tokens are.
        missed = np.minimum(highest, 0.0) > target.log_probability
        # One number per unit of a text, ascending: its row is found by bisection.
        step = int(unit.max()) + 1
        keys = target.text[missed] * step + target.unit[missed]
        wrong = np.zeros(len(text), np.bool_)
        wrong[np.searchsorted(text * step + unit, keys)] = True
    return Differences(text, ours - theirs, len(target), wrong)


def ez_signal(found: Differences) -> Floats:
    """Return the share of rises in all changes where the target guesses wrong, (n,).

    Parameters
    ----------
    found : Differences
        Differences of causal models, with `wrong`.

    Returns
    -------
    ndarray of float, shape (n,)
        In [0, 1]; 1/2 if no such unit changes.

    Raises
    ------
    InputError
        If it is unknown where the target guesses wrong.

    Notes
    -----
    Ilić, Stanojević & Cvejoski (2026), EZ-MIA: with P the sum of d_i over wrongly guessed units
    with d_i > 0, and N minus the sum over those with d_i < 0, their score is ``P / N``. This is ``P
    / (P + N)``, which orders texts in the same way and is never infinite. Their code gives 0, the
    lowest score, to texts with N = 0 or fewer than two wrong guesses; here the former get 1, the
    limit, and the latter what their units say.
    """
    if found.wrong is None:
        raise InputError(
            "ez-mia needs to know where the target's first guess is wrong, which masked models do "
            "not tell: ask a model from load_causal"
        )
    text = found.text[found.wrong]
    value = found.value[found.wrong]
    rise = np.bincount(text, np.maximum(value, 0.0), found.n)
    both = np.bincount(text, np.abs(value), found.n)
    share: Floats = np.divide(rise, both, out=np.full(found.n, 0.5), where=both > 0)
    return share


def windows_signal(found: Differences, sizes: tuple[int, ...] = SIZES) -> Floats:
    """Return the share of windows that are likelier under the target than the reference, (n,).

    Parameters
    ----------
    found : Differences
    sizes : tuple of int
        Units per window, each at least 1; a text with fewer units is a single window.

    Returns
    -------
    ndarray of float, shape (n,)
        In [0, 1].

    Notes
    -----
    Chen et al. (2026), WBC: the mean over sizes w of the share of the T - w + 1 windows of
    neighbouring units with a sum of d_i above 0. Windows count equally however far above 0 they
    are, so that a few large differences cannot outweigh many small ones.
    """
    if not sizes or min(sizes) < 1:
        raise InputError(f"sizes must be one or more numbers of at least 1, got {sizes}")
    length = np.bincount(found.text, minlength=found.n)
    whole = np.bincount(found.text, found.value, found.n) > 0
    shares = []
    for size in sizes:
        # The share of the windows of this size with a sum above 0. Texts shorter than the window
        # keep the vote of the whole text.
        votes = whole.astype(np.float64)
        shares.append(votes)
        if size > len(found.value):
            continue
        # Windows that span two texts are left out below.
        above = np.lib.stride_tricks.sliding_window_view(found.value, size).sum(axis=1) > 0
        first = found.text[: len(above)]
        last = found.text[size - 1 :]
        inside = first == last
        n_above = np.bincount(first[inside], above[inside], found.n)
        n_windows = length - size + 1
        np.divide(n_above, n_windows, out=votes, where=n_windows > 0)
    mean: Floats = np.mean(shares, axis=0)
    return mean


def length_calibrated(signal: Floats, length: Ints, population: Bools) -> Floats:
    """Return each signal's deviation from texts of its length, in standard deviations, (n,).

    Parameters
    ----------
    signal : ndarray of float, shape (n,)
        Signal, such as the likelihood ratio.
    length : ndarray of int, shape (n,)
        Units of each text, at least 1.
    population : ndarray of bool, shape (n,)
        True for known non-members that are not judged, on which the calibration is fitted.

    Raises
    ------
    InputError
        If the population has fewer than 20 texts.

    Notes
    -----
    Our own method: a mean over few tokens varies more, so short non-members fill the top of a
    ranking. On the population, least squares fit the mean ``m(T) = a + b log T`` of the signal, and
    then the mean ``v(T) = c + e log T`` of its distance from m(T), at least a tenth of the mean
    distance; the result is ``(signal - m(T)) / v(T)``.
    """
    if np.count_nonzero(population) < FEWEST_TEXTS:
        raise InputError(
            f"calibration by length needs at least {FEWEST_TEXTS} texts of the population, got "
            f"{np.count_nonzero(population)}"
        )
    columns = np.column_stack([np.ones(len(length)), np.log(length)])
    away = signal - _line(columns, signal, population)
    distance = np.abs(away)
    typical = float(distance[population].mean())
    if typical <= _ROUNDING * float(np.abs(signal).max()):
        # All points lie on the line: the rest is rounding.
        return np.zeros_like(signal)
    # A fitted spread may fall below 0 away from the usual lengths.
    spread = np.maximum(_line(columns, distance, population), typical / 10)
    calibrated: Floats = away / spread
    return calibrated


def _line(columns: Floats, values: Floats, rows: Bools) -> Floats:
    """Return the line fitted to `values` at some rows, evaluated at every row."""
    line = np.linalg.lstsq(columns[rows], values[rows], rcond=None)[0]
    fitted: Floats = columns @ line
    return fitted
