"""Audits of unlearning from made-up probabilities: what is left is known, and no model is asked."""

from __future__ import annotations

import numpy as np

from privacygauge.kinds.session import Session
from privacygauge.language.unlearning_audit.audit import ForgottenRecords, UnlearningAudit, audit_of


def records(
    seed: int = 0,
    n: int = 400,
    *,
    left: float = 0.0,
    few: int = 0,
    unlike: float = 0.0,
    known: float = 1.0,
    retrained: bool = True,
    controlled: bool = True,
    apart: tuple[str, ...] = (),
    thing: str = "record",
) -> ForgottenRecords:
    """Return `n` records of either kind; `left` nats of memory are left, and of `few` all of it."""
    rng = np.random.default_rng(seed)
    forgotten = np.arange(2 * n) < n
    hard = rng.normal(-3, 1, 2 * n) + unlike * forgotten
    noise = rng.normal(0, 0.3, (3, 2 * n))
    still = left * forgotten + 4.0 * (np.arange(2 * n) < few)
    return ForgottenRecords(
        sample=np.array([f"record-{row}" for row in range(2 * n)], object),
        forgotten=forgotten,
        unit=np.arange(2 * n),
        before=hard + known * forgotten + noise[0],
        after=hard + still + noise[1],
        retrained=hard + noise[2] if retrained else None,
        apart=apart,
        controlled=controlled,
        thing=thing,
    )


def example(seed: int = 0, n: int = 400, *, level: float = 0.95, **made) -> UnlearningAudit:
    """Return the audit of made-up `records`."""
    return audit_of(records(seed, n, **made), Session("unlearning", seed, level))
