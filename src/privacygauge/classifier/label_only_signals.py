"""What a label-only audit adds to that of a model with shadow models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.answers import answers_of
from privacygauge.classifier.label_only import (
    BLOCK,
    LabelOnlyQueries,
    LearnedRobustness,
    told,
    with_labels,
)
from privacygauge.classifier.pool import Pool
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.suite import single_record_attacks
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.game import Attack, Round


@dataclass(frozen=True, eq=False)
class Further:
    """Signals of single kinds of queries, beside those of all kinds together."""

    queries: LabelOnlyQueries
    """The kinds."""
    target: Mapping[str, Floats]
    """Signal to (n,) values of the target."""
    pool: Mapping[str, Floats]
    """Signal to (m, n) values of the shadow models."""

    @property
    def attacks(self) -> tuple[Attack, ...]:
        """The suite: correctness (the gap attack), each kind, all together, and each record's."""
        names = ("correctness", *self.queries.names)
        thresholds = (Threshold(name, per_class=one) for one in (True, False) for name in names)
        return (*thresholds, LearnedRobustness(names), *single_record_attacks("shared"))

    def onto(self, dealt: Round) -> Round:
        """Return a round with these signals too, the shadow records' as well."""
        seen, shadow = dealt.observation, dealt.observation.shadow
        assert shadow is not None  # there is a pool
        n = len(shadow.member)
        known = {name: values.reshape(-1)[:n] for name, values in self.pool.items()}
        learnt = replace(shadow, signals={**shadow.signals, **known})
        signals = {**seen.signals, **self.target}
        return replace(dealt, observation=replace(seen, signals=signals, shadow=learnt))


def label_predictions(
    model: object,
    x: NDArray[np.generic],
    y: Ints,
    member: Bools,
    names: tuple[str, ...],
    queries: LabelOnlyQueries,
    seed: int,
) -> Predictions:
    """Return what the classes of a model tell of each record, one kind of query below the other."""
    k, repeat, given = int(y.max()) + 1, len(queries.names), with_labels(model)
    points, kinds = queries.points(x, y, seed)
    parts = (points[i : i + BLOCK].astype(x.dtype) for i in range(0, len(points), BLOCK))
    said = (next(iter(answers_of(given, part, k, names).values())) for part in parts)
    labels = np.concatenate([part.argmax(axis=1) for part in said])
    values = told(labels, kinds, y, k).reshape(-1, k)
    rows = np.arange(len(values))
    return Predictions(values, False, np.tile(y, repeat), np.tile(member, repeat), rows)


def merged(
    target: Predictions, pool: Pool, queries: LabelOnlyQueries
) -> tuple[Predictions, Pool, Further]:
    """Return the means over all kinds of queries, and the signals of each kind."""
    kinds, k = len(queries.names), target.n_classes
    n = len(target) // kinds
    ours, theirs = target.values.reshape(kinds, n, k), pool.values.reshape(-1, kinds, n, k)
    y, rows = target.labels[:n], np.arange(n)
    further = Further(
        queries,
        {name: ours[i, rows, y] for i, name in enumerate(queries.names)},
        {name: theirs[:, i, rows, y] for i, name in enumerate(queries.names)},
    )
    whole = Predictions(ours.mean(axis=0), False, y, target.member[:n], rows)
    return whole, Pool(theirs.mean(axis=1), False, pool.inside[:, :n], y), further
