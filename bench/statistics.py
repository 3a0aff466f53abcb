"""Statistics of one attack on up to a million records, against what scikit-learn offers.

scikit-learn gives the area and the curve but no interval: the usual way to one is the bootstrap,
here with 100 resamples (papers use 1,000, which takes ten times as long).
"""

from __future__ import annotations

import numpy as np
from _measure import ratio_row, show, timed
from sklearn.metrics import roc_auc_score, roc_curve

from leakscope.core.rules import Cut
from leakscope.core.transcript import Transcript
from leakscope.evaluate.evaluation import evaluate
from leakscope.evaluate.roc import auc, roc

RESAMPLES = 100


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


def bootstrapped(transcript: Transcript) -> tuple[float, float]:
    """Return the bootstrap interval of the area."""
    rng, n = np.random.default_rng(0), len(transcript)
    areas = []
    for _ in range(RESAMPLES):
        rows = rng.integers(n, size=n)
        areas.append(roc_auc_score(transcript.secret[rows], transcript.score[rows]))
    low, high = np.quantile(areas, [0.025, 0.975])
    return float(low), float(high)


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
