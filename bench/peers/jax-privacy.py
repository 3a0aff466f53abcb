"""jax_privacy's bounds on epsilon from the scores of canaries in one training run."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import numpy as np

LEVEL = 0.95


def bounds(file: str) -> Callable:
    """Return a call that bounds epsilon for every game in the file, by each of its rules."""
    from jax_privacy import auditing

    rules = {"bonferroni": auditing.Bonferroni(), "split": auditing.Split(seed=0)}

    def said(score: np.ndarray, member: np.ndarray, delta: float) -> dict[str, float]:
        auditor = auditing.CanaryScoreAuditor(score[member], score[~member])
        ways = {"free": auditor.epsilon_one_run, "gaussian": auditor.epsilon_one_run_fdp}
        return {
            f"{name}, {rule}": float(way(1 - LEVEL, delta, threshold_strategy=strategy))
            for name, way in ways.items()
            for rule, strategy in rules.items()
        }

    def call() -> dict[str, object]:
        found: dict[str, object] = {"version": version("jax-privacy")}
        with np.load(file) as archive:
            names = sorted({key.partition("/")[0] for key in archive})
            for name in names:
                games = zip(archive[f"{name}/scores"], archive[f"{name}/members"], strict=True)
                delta = float(archive[f"{name}/delta"])
                each = [said(score, member, delta) for score, member in games]
                found[name] = {way: [x[way] for x in each] for way in each[0]}
        return found

    return call


def bounds_of_counts(counts: list[tuple[int, int, int]], delta: float) -> Callable:
    """Return a call that bounds epsilon by right guesses, each number fixed in advance."""
    from jax_privacy import auditing

    def call() -> dict[str, object]:
        # From 0 upwards, at the error of a single number of guesses.
        ways = {"free": auditing._epsilon_one_run, "gaussian": auditing._epsilon_one_run_fdp}
        found: dict[str, object] = {"version": version("jax-privacy")}
        for name, way in ways.items():
            found[name] = [float(way(0.0, *each, 1 - LEVEL, delta)) for each in counts]
        return found

    return call
