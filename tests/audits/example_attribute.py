"""Models that give a column of their training people away, or nothing beyond the population."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import privacygauge as pg
from privacygauge.core.checks import Bools, Floats, Ints

SENSITIVE = 5
"""The column that is guessed."""


def population(
    n: int, rng: np.random.Generator, *, tied: float = 0.5, rows: int = 1
) -> tuple[Floats, Ints, Ints]:
    """Return features, classes and people: the last column follows the first in a share `tied`."""
    unit = np.repeat(np.arange(-(-n // rows)), rows)[:n]
    x = rng.normal(size=(n, SENSITIVE)) + rng.normal(size=(n, SENSITIVE))[unit]
    drawn = np.where(rng.random(n) < tied, x[:, 0] > 0, rng.random(n) < 0.5)
    secret = drawn[np.searchsorted(unit, unit)].astype(float)
    y = (x[:, 1] + x[:, 2] + 2 * secret + 3 * rng.normal(size=n)) > 1
    return np.column_stack([x, secret]), y.astype(np.int64), unit


def overfitted(x: Floats, y: Ints) -> Any:
    """Return a model that remembers its records."""
    return RandomForestClassifier(60, random_state=0).fit(x, y)


def audited(
    seed: int,
    *,
    leak: bool = True,
    n: int = 400,
    share: float = 0.5,
    tied: float = 0.5,
    rows: int = 1,
    swapped: bool = False,
    train: Callable[[Floats, Ints], Any] = overfitted,
    **given: Any,
) -> pg.AttributeAudit:
    """Return the audit of a model of the members, or without a leak of quite other people."""
    rng = np.random.default_rng(seed)
    x, y, unit = population(n, rng, tied=tied, rows=rows)
    member: Bools = (rng.random(n) < share)[unit]
    if leak:
        model = train(x[member], y[member])
    else:
        model = train(*population(n, rng, tied=tied, rows=rows)[:2])
    side = ~member if swapped else member
    return pg.audit_attribute(
        model, x, y, sensitive=SENSITIVE, member=side, unit=unit, seed=seed, **given
    )


def simple(seed: int, n: int = 400) -> pg.AttributeAudit:
    """Return the audit of a model of the members that remembers nobody."""
    rng = np.random.default_rng(seed)
    x, y, _ = population(n, rng)
    member = rng.random(n) < 0.5
    model = LogisticRegression().fit(x[member], y[member])
    return pg.audit_attribute(model, x, y, sensitive=SENSITIVE, member=member, seed=seed)
