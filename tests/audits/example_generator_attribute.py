"""A realistic `AttributeOfGenerator`: made-up guesses through the evaluation."""

from __future__ import annotations

import numpy as np

from privacygauge.core.estimate import Skipped
from privacygauge.core.seeds import stream
from privacygauge.core.versions import today
from privacygauge.report.values import Origin
from privacygauge.tables.games.attribute import ValuesGuessed
from privacygauge.tables.games.audited import Targets
from privacygauge.tables.games.games import Sizes
from privacygauge.tables.generator_audit.attribute import AttributeOfGenerator, inverted_warnings
from privacygauge.tables.selection import Selection
from tests.report.example import HOSTILE


def example(
    n_targets: int = 6,
    *,
    leak: float = 0.3,
    values: tuple[str, ...] = ("<b>none</b>", "one", "two"),
    rare: float = 0.0,
    tests: int = 120,
    epsilon: float | None = None,
    seed: int = 0,
) -> AttributeOfGenerator:
    """Return findings about a column that is known with probability `leak`, else guessed.

    The last value is known with probability `rare` beyond that. A negative leak avoids the truth.
    """
    rng = stream(seed, "attribute example")
    v = len(values)
    sizes = Sizes(90, tests)

    def guessed(n: int, share: float) -> tuple[np.ndarray, np.ndarray]:
        secret = rng.integers(v, size=(n_targets, n))
        guess = rng.integers(v, size=secret.shape)
        known = rng.random(secret.shape) < share + rare * (secret == v - 1)
        guess[known] = secret[known]
        if share < 0:
            wrong = rng.random(secret.shape) < -share
            guess[wrong] = (secret[wrong] + 1) % v
        return secret, guess

    attacks = []
    for name, variant, share in (("query-based", "equal", 1.0), ("density-ratio", "", 0.2)):
        own = guessed(sizes.shadows, share * leak)
        asked = guessed(sizes.tests, share * leak)
        attacks.append(ValuesGuessed(name, variant, v, *asked, *own, notes=("a <u>note</u>",)))
    rows = np.sort(rng.choice(1000, n_targets, replace=False))
    ids = np.array([f"person-{i:05d}" for i in range(n_targets)], dtype=object)
    ids[: len(HOSTILE)] = HOSTILE[:n_targets]
    half = max(1, n_targets // 2)
    groups = (
        Selection("distance", rows[:half]),
        Selection("random", rows[half:] if n_targets > 1 else rows),
    )
    found = AttributeOfGenerator(
        origin=Origin("synthetic", "0.1.0", seed, 0.95, today()),
        generator="BayNet <b>of</b> degree 1",
        settings={} if epsilon is None else {"epsilon": epsilon},
        sizes=sizes,
        n_records=1000,
        n_tables=n_targets * (sizes.shadows + tests),
        targets=Targets(rows, ids, rng.random(n_targets), np.arange(1, n_targets + 1), {}),
        utility=Skipped("utility", "too few <u>records</u>"),
        column="<i>illness</i>",
        values=values,
        frequencies=np.array([900, *[99] * (v - 2), 1]),
        middles=False,
        knowledge="auxiliary",
        attacks=tuple(attacks),
        selections=groups,
    )
    assert bool(inverted_warnings(found)) == (leak < 0)
    return found
