"""Exposure: how far up a canary ranks that was trained on, among canaries that were not."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.errors import InputError


def exposures(inside: ArrayLike, outside: ArrayLike) -> Floats:
    """Return the exposure of every canary that was trained on, in bits.

    Parameters
    ----------
    inside : array_like of float, shape (k,)
        The loss of each canary that was trained on; lower means better known.
    outside : array_like of float, shape (n,)
        The losses of canaries that were drawn alike and not trained on, at least one.

    Returns
    -------
    ndarray of float, shape (k,)
        In [0, log2(n + 1)]. About 1.44 on average, less for small n, where nothing was memorised:
        the mean of -log2 of a uniform number.

    Raises
    ------
    InputError
        If a loss is not finite, or nothing is compared with.

    Notes
    -----
    Carlini, Liu, Erlingsson, Kos & Song (2019), "The Secret Sharer", definition 5:
    ``log2 |R| - log2 rank``, where R are the canary itself and those compared with. Of equal
    losses, half count as lower.

    Examples
    --------
    >>> exposures([0.1, 2.5], [1.0, 2.0, 3.0])
    array([2.       , 0.4150375])
    """
    known, others = checks.floats(inside, "inside"), np.sort(checks.floats(outside, "outside"))
    if not len(others):
        raise InputError("outside must hold at least one canary that was not trained on, got none")
    below = np.searchsorted(others, known, side="left")
    equal = np.searchsorted(others, known, side="right") - below
    found: Floats = np.log2(len(others) + 1.0) - np.log2(1.0 + below + equal / 2.0)
    return found
