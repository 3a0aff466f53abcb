"""Audits of versions of one classifier, written to folders and compared; games of known truth."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri

import privacygauge as pg
from privacygauge.releases.comparison.differences import Judged
from tests.classifiers.made import made_up

CUT = 0.5
"""Threshold of the guesses of `game`."""


def audit(leak: float, *, seed: int = 1, n: int = 400) -> pg.Audit:
    attacks = ["confidence", "entropy"]
    return pg.audit_classifier(made_up(n, leak=leak, seed=seed), attacks=attacks, seed=0)


def compared(*leaks: float, **options: float) -> pg.Comparison:
    """Return the comparison of versions that were audited on the same records."""
    with tempfile.TemporaryDirectory() as folder:
        places = [Path(folder, f"v{i}") for i in range(len(leaks))]
        for place, leak in zip(places, leaks, strict=True):
            audit(leak).write(place)
        return pg.compare_reports(places, **options)


def game(
    rng: np.random.Generator, n: int, mus: tuple[float, float], *, rho: float, size: int, same: bool
) -> tuple[Judged, Judged]:
    """Return two audits of n records in units of one size, with normal scores.

    Members' scores are higher by `mus`. On the same people the scores of both audits have the
    correlation `rho`; within a unit of several records scores have the correlation 1/2.
    """
    n_units = n // size
    person = np.repeat(np.arange(n_units), size)
    made = []
    member = coins(rng, n_units)
    own = [rng.normal(size=n_units), rng.normal(size=n_units)]
    rest = [rng.normal(size=n), rng.normal(size=n)]
    for second, mu in enumerate(mus):
        if second and not same:
            member = coins(rng, n_units)
        weight = rho if second and same else 0.0
        shared = weight * own[0] + np.sqrt(1 - weight**2) * own[second]
        noise = weight * rest[0] + np.sqrt(1 - weight**2) * rest[second]
        between = 0.5 if size > 1 else 0.0
        score = mu * member[person] + np.sqrt(between) * shared[person]
        score += np.sqrt(1 - between) * noise
        letter = "q" if second and not same else "p"
        people = np.array([f"{letter}{i}" for i in person], dtype=object)
        guess = score > CUT
        made.append(Judged(people, member[person], {"a": score}, {"a": guess}, {"called": guess}))
    return made[0], made[1]


def coins(rng: np.random.Generator, n: int) -> np.ndarray:
    while True:
        member = rng.random(n) < 0.5
        if member.any() and not member.all():
            return member


def truth(measure: str, mu: float) -> float:
    """Return the value of a measure of `game`."""
    if measure == "accuracy":
        return float(ndtr(mu - CUT) + ndtr(CUT)) / 2
    if measure == "auc":
        return float(ndtr(mu / np.sqrt(2)))
    if measure == "called":
        return float(ndtr(mu - CUT) + ndtr(-CUT)) / 2
    return float(ndtr(ndtri(float(measure.removeprefix("tpr@"))) + mu))
