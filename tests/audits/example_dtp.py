"""Realistic `DtpAudit` with every part that a page can have."""

from __future__ import annotations

import numpy as np

from privacygauge.claims.dtp.measure import RemovalPath
from privacygauge.claims.dtp.retrained import Variation
from privacygauge.claims.dtp_audit.audit import DtpAudit
from privacygauge.classifiers.learner import DtpRange
from privacygauge.classifiers.ratios import log_ratio
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.seeds import stream
from privacygauge.core.versions import today
from privacygauge.evaluate.rates import proportion
from privacygauge.report.values import Origin
from tests.report.example import HOSTILE


def example(
    n: int = 1000,
    *,
    measured: int | None = None,
    n_classes: int = 3,
    scale: float = 1.0,
    infinite: int = 0,
    indirect: int = 4,
    upper: str = "unknown",
    extras: bool = True,
    seed: int = 0,
) -> DtpAudit:
    """Return findings about `n` records, of which the first ids are hostile.

    PDTP is the log ratio of two drawn predictions, heavy at few records. `upper` is "unknown",
    "bounded" or "exact"; `extras` adds a removal, a variation and repeated measurements.
    """
    rng = stream(seed, "dtp example")
    rows = np.arange(n) if measured is None else np.sort(rng.choice(n, measured, replace=False))
    r = len(rows)
    p = rng.dirichlet(np.full(n_classes, 0.8), size=r)
    moved = p * np.exp(scale * 0.25 * rng.standard_t(3, size=(r, n_classes)))
    pdtp = log_ratio(np.log(p), np.log(moved / moved.sum(axis=1, keepdims=True)))
    order = np.argsort(-pdtp, kind="stable")
    pdtp[order[:infinite]] = np.inf
    low = pdtp.copy()
    quiet = np.flatnonzero(pdtp <= 1)[:indirect]
    low[quiet] = 1.3 + np.arange(len(quiet)) / 10
    high = {"unknown": np.full(r, np.inf), "bounded": low + 0.2, "exact": low}[upper]
    ids = np.array([f"patient-{i:05d}" for i in rows], dtype=object)
    ids[order[: len(HOSTILE)]] = HOSTILE[:r]
    complete = r == n
    value = float(pdtp.mean())
    share = float((pdtp > 1).mean())
    exact = "exact: every record of the training set"
    mean = Estimate(value, value, value, 0.95, r, exact)
    above = Estimate(share, share, share, 0.95, r, exact)
    if not complete:
        half = 1.96 * float(pdtp.std()) / np.sqrt(r) if np.isfinite(value) else np.inf
        mean = Estimate(value, min(value, value - half) if half < np.inf else 0.0, value + half,
                        0.95, r, "t over records")  # fmt: skip
        above = proportion(pdtp > 1)
    repeated = np.abs(rng.normal(np.minimum(pdtp, 6), 0.2, size=(10, r))) if extras else None
    return DtpAudit(
        origin=Origin(
            "privacygauge dtp --data people.csv --label <income>",
            "0.1.0",
            seed,
            0.95,
            today(),
            (Skipped("<u>search</u>", "no <i>query</i> was asked for"),) if extras else (),
            ("a single record makes up each of 1 class(es) (<b>none</b>; rows 3)",),
            {"python": "3.11.7", "people.csv sha256": "9f86d081884c7d659a2feaa0c55ad015"},
        ),
        model="naive Bayes <b>of</b> categories",
        method="exact without training: what the record contributed is taken out",
        width=0.0,
        n_train=n,
        class_names=tuple(f"<i>{i}</i>" for i in range(n_classes)),
        rows=rows,
        ids=ids,
        labels=rng.integers(n_classes, size=r),
        pdtp=pdtp,
        dtp=DtpRange(low, high, f"{upper}: over every query of the domain"),
        mean=mean,
        share_above=above,
        repeated=repeated,
        averages=() if repeated is None else tuple(_average(v) for v in repeated.T),
        removal=_removal(rows, low, order) if extras else None,
        variation=tuple(_variation(int(rows[i]), rng) for i in order[:2]) if extras else (),
    )


def _average(values: np.ndarray) -> Estimate:
    value = float(values.mean())
    half = float(2.26 * values.std(ddof=1) / np.sqrt(len(values)))
    return Estimate(value, value - half, value + half, 0.95, len(values), "t over training sets")


def _removal(rows: np.ndarray, low: np.ndarray, order: np.ndarray) -> RemovalPath:
    """Return a sawtooth: one removal helps, the next ones expose others again and again."""
    steps = min(40, len(rows) - 1)
    teeth = np.array([low.max(), 0.65, *(0.7 + 2.4 * ((i % 5) / 4) for i in range(steps - 1))])
    value = teeth[:-1]
    before = np.concatenate([[np.nan], teeth[:-2] * 0.2])
    before[6:] = value[6:]
    return RemovalPath(rows[order[:steps]], teeth[: steps + 1], value, before, "recomputed")


def _variation(row: int, rng: np.random.Generator) -> Variation:
    return Variation(
        row, 0, rng.normal(0.5, 0.02, size=100), rng.normal(0.48, 0.05, size=100), 0.52, 0.31
    )
