"""Statistics of one attack on up to a million records, against what scikit-learn offers.

scikit-learn gives the area and the curve but no interval: the usual way to one is the bootstrap,
here with 100 resamples (papers use 1,000, which takes ten times as long).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from _duel import Duel, Side
from _measure import ratio_row, show, timed
from sklearn.metrics import roc_auc_score, roc_curve

from privacygauge.core.rules import Cut
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.evaluation import evaluate
from privacygauge.evaluate.roc import auc, roc

RESAMPLES, FEW = 100, 10
"""Of a bootstrap, and those that are made for the common table."""
SHARE = (FEW + 1) / (RESAMPLES + 1)
"""Of the areas: one of the rows themselves, and one a resample."""


def made_up(n: int) -> Transcript:
    """Return Gaussian scores, a tenth of them rounded so that ties occur."""
    rng = np.random.default_rng(0)
    secret = rng.random(n) < 0.5
    score = rng.normal(size=n) + secret
    score[: n // 10] = score[: n // 10].round(1)
    return Transcript(score, secret)


def curve(transcript: Transcript) -> np.ndarray:
    """Return the true-positive rates of the whole curve."""
    found = roc(transcript)
    return found.tpr + found.fpr


def bootstrapped(transcript: Transcript, resamples: int = RESAMPLES) -> tuple[float, float]:
    """Return the bootstrap interval of the area."""
    rng, n = np.random.default_rng(0), len(transcript)
    areas = []
    for _ in range(resamples):
        rows = rng.integers(n, size=n)
        areas.append(roc_auc_score(transcript.secret[rows], transcript.score[rows]))
    low, high = np.quantile(areas, [0.025, 0.975])
    return float(low), float(high)


def work(n: int, what: str) -> Callable[[], list[float]]:
    """Return a call that gives the curve's mean height, or the area."""
    transcript = made_up(n)
    y, score = transcript.secret, transcript.score

    def by_scikit_learn() -> list[float]:
        return [float(np.add(*roc_curve(y, score, drop_intermediate=False)[:2]).mean())]

    def area() -> list[float]:
        bootstrapped(transcript, FEW)
        return [float(roc_auc_score(y, score))]

    return {
        "our curve": lambda: [float(curve(transcript).mean())],
        "their curve": by_scikit_learn,
        "our area": lambda: [auc(transcript).value],
        "their area": area,
    }[what]


def duels(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the lines of the common table."""
    for n in (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000):
        for path, what, rival, share in (
            ("ROC curve", "curve", "scikit-learn's roc_curve", 1.0),
            ("AUC with its interval", "area", "bootstrap of roc_auc_score (scaled)", SHARE),
        ):
            given = [{"n": n, "what": f"{whose} {what}"} for whose in ("our", "their")]
            mine = Side("roc" if what == "curve" else "auc", __file__, "work", given[0])
            theirs = Side(rival, __file__, "work", given[1], share=share)
            turns = 1 if n > 100_000 and what == "area" else 3
            yield Duel(path, n, "records", mine, theirs, turns=turns, tolerance=1e-12)


def main() -> None:
    """Print the table."""
    rows = []
    for n in (10_000, 100_000, 1_000_000):
        transcript = made_up(n)
        decisions = Cut(0.5).decide(transcript)
        rows.append(f"{n:,} records")
        theirs = timed(
            lambda t=transcript: roc_curve(t.secret, t.score, drop_intermediate=False), repeat=5
        )
        ours = timed(lambda t=transcript: curve(t), repeat=5)
        rows.append("  " + ratio_row("ROC curve, scikit-learn / ours", theirs, ours, "no goal"))
        theirs = timed(lambda t=transcript: bootstrapped(t), repeat=1)
        ours = timed(lambda t=transcript: auc(t), repeat=5)
        low, high = theirs.value
        rows.append(
            "  " + ratio_row("AUC with interval, bootstrap / ours", theirs, ours, "no goal")
        )
        rows.append(
            f"    intervals: bootstrap {low:.4f} to {high:.4f}, "
            f"ours {ours.value.low:.4f} to {ours.value.high:.4f}"
        )
        whole = timed(lambda t=transcript, d=decisions: evaluate("x", t, d), repeat=3)
        rows.append(f"  every number of one attack: {np.median(whole.seconds):.3f} s")
    show(rows)


if __name__ == "__main__":
    main()
