"""Models of several families, small enough to train in hundreds of games, on one door.

Each takes a seed and whether the model learns from its records; if not, it is trained on others
like them, as many, so that no attack may find anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize

import privacygauge as pg


@dataclass(frozen=True)
class Family:
    """What `pg.audit_training` takes."""

    train: Callable[[Any, int], Any]
    loss: Callable[[Any, Any], Any]
    n: int
    options: dict[str, Any] = field(default_factory=dict)


def _chosen(own: np.ndarray, others: np.ndarray, leaks: bool) -> Callable[[Any], np.ndarray]:
    """Return what gives the training data for numbers of records: their own, or as many others."""
    rng = np.random.default_rng(len(own))
    return lambda rows: own[rows] if leaks else others[rng.permutation(len(own))[: len(rows)]]


def survivors(seed: int, leaks: bool, n: int = 160, d: int = 12) -> Family:
    """Cox regression by partial likelihood, with more covariates than it can bear."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, n, d))
    time = rng.exponential(np.exp(-x[..., 0]))
    event = rng.random((2, n)) < 0.7
    of = _chosen(*(np.column_stack([x[i], time[i], event[i]]) for i in (0, 1)), leaks)

    def train(rows: Any, seed: int) -> np.ndarray:
        data = of(rows)
        order = np.argsort(-data[:, d])
        z, e = data[order, :d], data[order, d + 1]

        def value(beta: np.ndarray) -> tuple[float, np.ndarray]:
            risk = z @ beta
            weight = np.exp(risk)
            total = np.cumsum(weight)
            mean = np.cumsum(weight[:, None] * z, axis=0) / total[:, None]
            loss = -np.sum(e * (risk - np.log(total))) + 0.05 * beta @ beta
            return loss, -(e @ (z - mean)) + 0.1 * beta

        return minimize(value, np.zeros(d), jac=True).x

    def loss(beta: np.ndarray, rows: Any) -> dict[str, np.ndarray]:
        return pg.signals.survival(time[0], event[0], x[0] @ beta)

    higher = ("partial likelihood", "likelihood")
    return Family(train, loss, n, {"higher": higher, "lower": ("deviance",)})


def waves(seed: int, leaks: bool, n: int = 120, length: int = 24) -> Family:
    """The series most like the first half of a series tells its second half."""
    rng = np.random.default_rng(seed)
    phase = rng.uniform(0, 2 * np.pi, size=(2, n, 1))
    both = np.sin(phase + np.arange(length) / 2) + 0.6 * rng.normal(size=(2, n, length))
    of = _chosen(*both, leaks)
    half = length // 2

    def train(rows: Any, seed: int) -> np.ndarray:
        return of(rows)

    def loss(known: np.ndarray, rows: Any) -> dict[str, np.ndarray]:
        asked = both[0][rows]
        gap = np.abs(asked[:, None, :half] - known[None, :, :half]).sum(axis=2)
        near = np.argsort(gap, axis=1)[:, :3]
        return pg.signals.series(asked[:, half:], known[near, half:].mean(axis=1))

    return Family(train, loss, n, {"lower": ("mse", "spectral", "spectrum")})


def shoppers(seed: int, leaks: bool, n: int = 120, m: int = 60) -> Family:
    """A recommender by matrix factorisation, asked with half of each person's items."""
    rng = np.random.default_rng(seed)
    taste = rng.normal(size=(2, n, 3)) @ rng.normal(size=(3, m))
    bought = rng.random((2, n, m)) < 1 / (1 + np.exp(1.5 - taste))
    bought[:, :, 0], bought[:, :, 1] = True, False
    of = _chosen(*bought.astype(float), leaks)

    def train(rows: Any, seed: int) -> np.ndarray:
        return np.linalg.svd(of(rows), full_matrices=False)[2][:30]

    def loss(axes: np.ndarray, rows: Any) -> dict[str, np.ndarray]:
        mine = bought[0][rows]
        return pg.signals.items(mine @ axes.T @ axes, [np.flatnonzero(row) for row in mine])

    return Family(train, loss, n, {"higher": ("gap", "rank", "top")})


def encoders(seed: int, leaks: bool, n: int = 120, d: int = 40) -> Family:
    """Principal axes of few records, asked with noisy views of a record."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, n, d))
    of = _chosen(*x, leaks)
    noise = 0.7 * np.random.default_rng([seed, 1]).normal(size=(4, n, d))

    def train(rows: Any, seed: int) -> np.ndarray:
        return np.linalg.svd(of(rows), full_matrices=False)[2][:20]

    def loss(axes: np.ndarray, rows: Any) -> dict[str, np.ndarray]:
        return pg.signals.view_similarity((x[0][rows] + noise) @ axes.T)

    return Family(train, loss, n, {"higher": ("similarity", "nearest")})


KEPT = np.linspace(0.999, 0.02, 20)


def exact_denoiser(known: np.ndarray, width: float) -> Any:
    """Return the best denoiser of a mixture of normal clouds of a width around known records."""

    def noise_in(x: np.ndarray, step: int) -> np.ndarray:
        share, rest = KEPT[step], 1 - KEPT[step]
        centre = np.sqrt(share) * known
        spread = share * width**2 + rest
        distance = ((x[:, None] - centre[None]) ** 2).sum(axis=2) / (2 * spread)
        weight = np.exp(distance.min(axis=1, keepdims=True) - distance)
        weight /= weight.sum(axis=1, keepdims=True)
        return np.sqrt(rest) / spread * (x - weight @ centre)

    return noise_in


def pictures(seed: int, leaks: bool, n: int = 100, d: int = 16) -> Family:
    """A diffusion model of small pictures, the best one that smooths its training set."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, n, d))
    of = _chosen(*x, leaks)

    def train(rows: Any, seed: int) -> Any:
        return exact_denoiser(of(rows), width=0.8)

    def loss(model: Any, rows: Any) -> dict[str, np.ndarray]:
        return pg.signals.denoising(model, x[0][rows], KEPT, steps=(3, 8), seed=seed, draws=4)

    return Family(train, loss, n, {"lower": ("loss 3", "loss 8", "pia 3", "secmi 3")})


def ranges(seed: int, leaks: bool, n: int = 150) -> Family:
    """Was anyone like this in? Two of five values are not known; a model of nearest records."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, n, 5))
    of = _chosen(*x, leaks)
    pool = rng.normal(size=(300, 5))
    asked = pg.signals.over_range(
        lambda known, x: np.abs(x[:, None] - known[None]).sum(axis=2).min(axis=1),
        pg.signals.unknown_values(x[0], unknown=(3, 4), pool=pool),
        samples=12,
        trim=0.75,
        seed=seed,
    )
    return Family(lambda rows, seed: of(rows), asked, n)


FAMILIES = {
    made.__name__: made for made in (survivors, waves, shoppers, encoders, pictures, ranges)
}
