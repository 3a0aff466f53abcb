"""The learned attack: gradient boosting on prediction vectors of shadow records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.classifier.game import PredictionObservation, Rows, draw_at_most
from privacygauge.classifier.predictions import blocks_of
from privacygauge.classifier.resolution import Resolution, resolution
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.rules import Cut
from privacygauge.runs.threads import limited_to

_BINS = 255
"""Bins per column in boosting."""

_ALL_BINNED = 200_000
"""With more rows scikit-learn takes quantiles of a random subset."""


@dataclass(frozen=True)
class Learned:
    """Gradient boosting on the sorted log probabilities and the signals only.

    A metric attack sees one number of a prediction; this one sees its whole shape, which gives
    defended predictions away (MemGuard).
    """

    top: int = 10
    """Number of the largest log probabilities to use."""
    most: int = 100_000
    """Largest number of shadow records to learn from, drawn at random."""

    name = "learned"

    variant = "gradient-boosting"

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return every target's log-odds of membership at even prior odds, (n,)."""
        if not isinstance(observation, PredictionObservation):
            return Skipped(self.name, "needs the full prediction vectors")
        if (
            observation.shadow is None
            or observation.shadow_rows is None
            or observation.rows is None
        ):
            return Skipped(self.name, "needs shadow records with known membership")
        shadow = observation.shadow
        rows = observation.rows
        resolved = observation.resolved or resolution(rows.source, observation.shadow_rows.source)
        used = draw_at_most(self.most, len(shadow.member), rng)
        known = _features(
            Rows(observation.shadow_rows.source, observation.shadow_rows.index[used]),
            {name: x[used] for name, x in shadow.signals.items()},
            self.top,
            resolved,
        )
        member = shadow.member[used]
        if member.all() or not member.any():
            return Skipped(self.name, "too few shadow records")
        asked = _features(rows, dict(observation.signals), self.top, resolved)
        value = boosted_log_odds(known, member.astype(np.int64), asked, int(rng.integers(2**31)))
        return Scores(value, Cut(0.0, "of even odds"))


def _features(rows: Rows, signals: dict[str, Floats], top: int, resolved: Resolution) -> Floats:
    source = rows.source
    k = min(top, source.n_classes)
    sorted_logs = np.empty((len(rows.index), k))
    for part, block in blocks_of(source.values[rows.index]):
        if source.logits:
            block -= block.max(axis=1, keepdims=True)
            block -= np.log(np.exp(block).sum(axis=1, keepdims=True))
            np.maximum(block, np.log(resolved.least), out=block)
        else:
            np.log(np.maximum(block, resolved.least, out=block), out=block)
        largest = np.partition(block, block.shape[1] - k, axis=1)[:, -k:]
        sorted_logs[part] = np.sort(largest, axis=1)[:, ::-1]
    metrics = [signals[name] for name in ("scaled-logit", "modified-entropy", "correctness")]
    return np.column_stack([sorted_logs, *metrics])


def boosted_log_odds(known: Floats, member: Ints, asked: Floats, seed: int) -> Floats:
    """Return the log-odds of membership, at even prior odds, of `asked` by boosting on `known`."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    even = 2 * np.count_nonzero(member) == len(member)
    if not even and len(member) <= _ALL_BINNED:
        known, asked = _weighted_quantile_bins(known, asked, member)
    model = HistGradientBoostingClassifier(
        max_iter=100,
        learning_rate=0.05,
        max_leaf_nodes=8,
        min_samples_leaf=max(5, min(20, len(member) // 50)),
        class_weight=None if even else "balanced",  # weights of 1 are as slow as others
        early_stopping=False,
        random_state=seed,
    )
    # More threads than cores at work make small fits many times slower.
    with limited_to(1 if len(member) < 20_000 else None):
        model.fit(known, member)
        return np.asarray(model.decision_function(asked), np.float64)


def _weighted_quantile_bins(known: Floats, asked: Floats, member: Ints) -> tuple[Floats, Floats]:
    """Return the bins of values as scikit-learn's boosting computes them.

    Its own weighted quantiles take ten times as long as the trees; these are the same, the averaged
    inverse of the weighted distribution function (Hyndman & Fan 1996).
    """
    n_in = np.count_nonzero(member)
    n = len(member)
    weight = np.where(member > 0, n / (2 * n_in), n / (2 * (n - n_in)))
    parts = known.copy(), asked.copy()
    for column, values in enumerate(known.T):
        order = np.argsort(values)
        ascending = values[order]
        if 1 + np.count_nonzero(np.diff(ascending)) <= _BINS:
            continue
        share = np.cumsum(weight[order])
        aim = np.linspace(0, 100, num=_BINS + 1)[1:-1] / 100 * share[-1]
        place = np.minimum(np.searchsorted(share, aim), n - 1)
        beyond = ascending[np.minimum(place + 1, n - 1)]
        above = share[place] - aim > np.finfo(np.float64).eps
        ends = np.unique(np.where(above, ascending[place], (ascending[place] + beyond) / 2))
        for part in parts:
            part[:, column] = np.searchsorted(ends, part[:, column])
    return parts
