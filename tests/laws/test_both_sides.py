"""Records that are members and non-members at once teach no attack the opposite of the truth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import privacygauge as pg
from privacygauge.classifiers.audit.result import AttackAudit
from privacygauge.report.grades import NONE, UNTOLD
from tests.thorough import times

N = 500


def scores(seed: int, made: Callable[[np.random.Generator], NDArray[np.float64]]) -> AttackAudit:
    """Audit numbers of which each stands on both sides, in random order."""
    rng = np.random.default_rng(seed)
    values = made(rng)
    order = rng.permutation(len(values))
    member = (np.arange(len(values)) < N)[order]
    columns = {f"score_{j}": column for j, column in enumerate(values[order].T)}
    return pg.audit_scores({**columns, "member": member}, seed=seed)


def doubled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([values, values]).reshape(2 * N, -1)


def half(rng: np.random.Generator) -> NDArray[np.float64]:
    values = rng.exponential(size=(2 * N, 1))
    values[N : N + N // 2] = values[: N // 2]
    return values


def predictions(seed: int) -> AttackAudit:
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=N)
    logits = rng.normal(size=(N, 4)) + 1.5 * np.eye(4)[labels]
    order = rng.permutation(2 * N)
    return pg.audit_classifier(
        {
            "logits": np.tile(logits, (2, 1))[order],
            "labels": np.tile(labels, 2)[order],
            "member": (np.arange(2 * N) < N)[order],
        },
        seed=seed,
    )


AUDITS: dict[str, Callable[[int], AttackAudit]] = {
    "one number": lambda s: scores(s, lambda rng: doubled(rng.exponential(size=N))),
    "half of them": lambda s: scores(s, half),
    "two numbers": lambda s: scores(s, lambda rng: doubled(rng.normal(size=(N, 2)))),
    "counts": lambda s: scores(s, lambda rng: doubled(rng.poisson(20, N).astype(float))),
    "float noise": lambda s: scores(
        s, lambda rng: doubled(rng.exponential(size=N)) * (1 + 1e-8 * rng.normal(size=(2 * N, 1)))
    ),
    "predictions": predictions,
}


@pytest.mark.parametrize("kind", AUDITS)
def test_records_on_both_sides_are_told_and_turn_no_attack(kind: str) -> None:
    for seed in range(times(3)):
        found = AUDITS[kind](seed)
        assert found.report().verdict.grade in (NONE, UNTOLD)
        assert not found.headline.inverted
        assert found.questions is not None
        assert not found.questions.below
        assert all(0.4 < one.auc.value < 0.6 for one in found.evaluations)
        assert any("members equal a non-member in" in text for text in found.origin.warnings)


def test_numbers_that_coincide_by_chance_are_no_copies() -> None:
    for seed in range(times(3)):
        rng = np.random.default_rng(seed)
        table = {"score": rng.poisson(20, 2 * N), "member": rng.random(2 * N) < 0.5}
        found = pg.audit_scores(table, seed=seed)
        assert found.comparison is not None
        assert found.comparison.compared.all()
        assert not any("equal a non-member" in text for text in found.origin.warnings)


def test_others_than_the_copies_are_attacked() -> None:
    for seed in range(times(3)):
        rng = np.random.default_rng(seed)
        values = half(rng)
        values[N // 2 : N] /= 3
        found = pg.audit_scores({"score": values[:, 0], "member": np.arange(2 * N) < N}, seed=seed)
        # Of losses whose means are 1 and 3, three quarters of the pairs are in order.
        assert 0.65 < found.headline.auc.value < 0.85
        assert found.headline.auc.low > 0.5
