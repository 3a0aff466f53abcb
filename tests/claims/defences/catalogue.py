"""Every defence that the laws must hold for. A further one: one line here."""

from __future__ import annotations

import numpy as np

from privacygauge.claims.defences.defence import (
    Binning,
    Defence,
    Identity,
    LabelOnly,
    Rounding,
    Temperature,
    TopK,
)
from privacygauge.claims.defences.memguard import AttackClassifier, MemGuard
from tests.classifiers.made import softmax

TINY = AttackClassifier(hidden=(8, 4), epochs=5, learning_rate=0.01)
"""Learns in an instant."""

DEFENCES: tuple[Defence, ...] = (
    Identity(),
    Binning(),
    Binning(0.5),
    Rounding(),
    Rounding(1),
    TopK(1),
    TopK(3),
    TopK(99),
    Temperature(),
    Temperature(1e6),
    Temperature(0.2),
    LabelOnly(),
    MemGuard(network=TINY, steps=6),
    MemGuard(0.1, network=TINY, steps=6),
)


def label(defence: Defence) -> str:
    """Return how pytest names a defence."""
    return f"{defence.name} {defence.variant}".strip()


def owners_rows(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return answers to fit a defence on, surer on members, and who is one."""
    rng = np.random.default_rng(k)
    member = np.arange(80) % 2 == 0
    logits = rng.normal(size=(80, k))
    logits[np.arange(80), rng.integers(k, size=80)] += np.where(member, 4.0, 1.0)
    return softmax(logits), member
