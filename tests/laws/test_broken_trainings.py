"""Twelve errors of DP-SGD: each is refuted, or the audit says that it could not have told."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest

from privacygauge import audit_dp_sgd
from privacygauge.claims.claim_audit.audit import ClaimAudit
from privacygauge.claims.claim_audit.report import IF_GAUSSIAN, REFUTED, STANDS, verdict
from privacygauge.claims.defences.dp_sgd import noise_for
from privacygauge.designs import make_canaries
from tests.laws.broken_trainings import DELTA, Training, alignment, broken
from tests.thorough import THOROUGH

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("undrawn")]

EPSILON = 2.0
RATE = 0.5
SEEN = ("noise off", "no clipping", "a wrong rate")
"""Errors that the recommended settings show without an assumption."""


SIZES = {1: (100, 600, 500, 20), 1000: (40, 300, 1, 10)}
"""Records, features, canaries and steps, by the number of runs."""


@cache
def catalogue(n_records: int, d: int, n_canaries: int, steps: int):
    """Records with canaries at right angles to all, the right training and the broken ones."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_records, d))
    y = (x[:, 0] > 0).astype(int)
    made = make_canaries(x, y, n_canaries, kind="orthogonal")
    right = Training(noise_for(EPSILON, DELTA, RATE, steps), RATE, steps)
    weak = noise_for(EPSILON, DELTA, RATE / 200, steps)
    batch = round(RATE * (n_records + n_canaries / 2))
    return made, {"right": right, **broken(right, batch, round(1 / RATE), weak)}


# By name alone: the noise that each needs is computed when it is played.
NAMES = ["right", *broken(Training(1.0, RATE, 1), 1, 1, 1.0)]


def audit(setting, name: str, runs: int, seed: int) -> ClaimAudit:
    made, trainings = setting
    return audit_dp_sgd(
        trainings[name],
        made.x,
        made.y,
        canary=made.canary,
        epsilon=EPSILON,
        delta=DELTA,
        score=alignment,
        runs=runs,
        seed=seed,
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("runs", SIZES, ids=["one", "many"])
def test_no_broken_training_is_cleared(runs, name):
    """Of 100 games at most 5 may stand, where the suite is thorough."""
    setting = catalogue(*SIZES[runs])
    games = 100 if THOROUGH else 1
    grades = Counter(verdict(audit(setting, name, runs, seed)).grade for seed in range(games))
    assert grades[STANDS] <= 0.05 * games
    if name == "right":
        assert grades[REFUTED] + grades[IF_GAUSSIAN] <= max(1, 0.1 * games)
    if name in SEEN:
        assert grades[REFUTED] >= 0.95 * games
