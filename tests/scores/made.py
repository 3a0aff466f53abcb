"""Numbers per record with a known effect of membership."""

from __future__ import annotations

from typing import Any

import numpy as np


def numbers(
    seed: int,
    *,
    n: int = 400,
    effect: float = 0.0,
    models: int = 0,
    scores: int = 1,
    references: bool = False,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a target, and shadow models, in which each number is lower by `effect` for members."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(size=(n, scores))
    names = ["score"] if scores == 1 else [f"score_{j}" for j in range(scores)]
    ids = [f"r{i}" for i in range(n)]
    tables = []
    for number in range(models + 1):
        member = rng.random(n) < 0.5
        if references and number:
            member = np.zeros(n, np.bool_)
        seen = hard + rng.normal(size=(n, scores)) - effect * member[:, None]
        columns = {name: seen[:, j] for j, name in enumerate(names)}
        tables.append({"id": ids, "member": member, **columns})
    return tables[0], tables[1:]


def persons(seed: int, people: int = 80, rows: int = 6) -> dict[str, Any]:
    """Return numbers of people with several rows each, which say nothing about membership."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(people), rows)
    member = (rng.random(people) < 0.5)[owner]
    value = 2 * rng.normal(size=people)[owner] + rng.normal(scale=0.5, size=len(owner))
    return {"score": value, "member": member, "patient": owner}
