"""Records that only a refit can answer for: the shortcut may round differently, or not apply."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.dtp.normal import Normals
from privacygauge.core.checks import Bools, Floats, Ints

FAR = 1e8
"""A log density this large has a rounding error of 1e-8."""

FINE = 1e6
"""A number this many times its deviation leaves ten digits to the deviation."""

DOMINANT = 1e-4
"""A record without which a sum of squares shrinks below this share dominates it."""


def lone_records(x: NDArray[np.generic], y: Ints) -> Bools:
    """Return the records without which a class is empty, or all others are equal, (n,)."""
    alone = np.bincount(y)[y] == 1
    for row in (0, 1):  # all others equal one of these
        differs = (x != x[row]).any(axis=1)
        if np.count_nonzero(differs) <= 1:
            alone = alone | differs
    return np.asarray(alone, np.bool_)


def of_gaussian(x: Floats, y: Ints) -> Bools:
    """Return the records for which densities of Gaussian naive Bayes lose digits, (n,)."""
    rows = np.arange(len(y))
    normals = Normals.of(x, y, int(y.max()) + 1)
    floors = normals.floors_without(rows)[:, None]
    present = normals.n > 0
    others = (normals.squares[present] / normals.n[present, None]).min(axis=0)
    least = np.sqrt(np.minimum(normals.without(rows)[1], others) + floors)
    densities = normals.log_density(x), normals.log_density_without(rows, x)
    far = np.min([found.max(axis=1) for found in densities], axis=0) < -FAR
    return np.asarray(far | (np.abs(x).max(axis=0) > FINE * least).any(axis=1), np.bool_)


def of_multinomial(x: Floats, y: Ints, alpha: float) -> Bools:
    """Return the records whose removal leaves counts with few exact digits, (n,)."""
    counts = np.zeros((int(y.max()) + 1, x.shape[1]))
    np.add.at(counts, y, x)
    rest = np.maximum(counts[y] - x, 0.0) + alpha
    total = x.sum(axis=1)
    left = rest.sum(axis=1)
    heavy = (x**2 > FAR * rest).any(axis=1) | (total**2 > FAR * left)
    return np.asarray(heavy | (total > FINE), np.bool_)


def of_linear(x: Floats, y: Ints, tol: float) -> Bools:
    """Return the records without which scikit-learn may drop another direction, (n,).

    All of them if the between-class directions are near its tolerance, or if an attribute that is
    constant within the classes is not a whole number: its mean is rounded then.
    """
    counts = np.bincount(y)
    means = np.zeros((len(counts), x.shape[1]))
    np.add.at(means, y, x)
    means /= np.maximum(counts, 1)[:, None]
    v = x - means[y]
    ratio = counts[y] / np.maximum(counts[y] - 1, 1)
    squares = (v**2).sum(axis=0)
    size = np.abs(x).max(axis=0)
    constant = np.all([np.ptp(x[y == label], axis=0) == 0 for label in np.unique(y)], axis=0)
    whole = (x == np.round(x)).all(axis=0) & (size < 2.0**53 / len(x))
    # A rounded mean makes a constant attribute vary; whole numbers have exact means.
    if (constant & ~whole).any() or constant.all() or len(y) <= len(counts) + 1:
        return np.ones(len(y), np.bool_)
    left = squares - ratio[:, None] * v**2
    lost = (left < DOMINANT * squares) | (np.sqrt(np.maximum(left, 0) / len(y)) * FINE < size)
    unsure = lost[:, ~constant].any(axis=1)
    spread = np.where(constant, 1.0, np.sqrt(squares / len(y)))
    _, s, vt = np.linalg.svd(v / spread / np.sqrt(len(y)), full_matrices=False)
    kept = s > tol
    between = np.sqrt(counts)[:, None] * (means - x.mean(axis=0)) / spread
    apart = np.linalg.svd(between @ vt[kept].T / s[kept], compute_uv=False)
    # A direction this close to the tolerance may be dropped once any record is left out.
    near = (apart > 1e-9 * apart.max()) & (apart < 10 * tol * apart.max())
    away = np.abs((x - x.mean(axis=0)) / spread @ vt[kept].T / s[kept]).max(axis=1)
    far = away * apart.max() > FAR
    return np.asarray(unsure | near.any() | far, np.bool_)


def of_quadratic(x: Floats, y: Ints, reg: float, tol: float) -> Bools:
    """Return the records without which a class's covariance may be rejected as singular, (n,).

    A record takes at most its leverage from the smallest variance of its class.
    """
    unsure = np.zeros(len(y), np.bool_)
    size = np.abs(x).max()
    nearest = np.full(len(y), np.inf)
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        n = len(own)
        if n - 1 <= x.shape[1]:
            unsure[own] = True
            continue
        mean = x[own].mean(axis=0)
        u, s, vt = np.linalg.svd(x[own] - mean, full_matrices=False)
        kept = np.ones(len(y))
        kept[own] = np.maximum(1 - n / (n - 1) * (u**2).sum(axis=1), 0)
        least = (1 - reg) * s.min() ** 2 * kept / n + reg
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = (1 - reg) * s**2 / n + reg
            far = (((x - mean) @ vt.T) ** 2 / variance).sum(axis=1) / kept
        nearest = np.fmin(nearest, far)
        unsure |= (least <= 2 * tol) | (size > FINE * np.sqrt(least))
    return unsure | (nearest > FAR)
