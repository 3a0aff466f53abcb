"""What attacks find of a classifier, and what may mislead whoever reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier import caveats
from privacygauge.classifier.groups import sliced
from privacygauge.classifier.predictions import Predictions
from privacygauge.core.attacks.posterior import Estimator
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Round
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Fact, Headline
from privacygauge.evaluate.more_models import Foretold
from privacygauge.evaluate.over_targets import SeveralTargets
from privacygauge.evaluate.playing import (
    audit,
    headline,
    in_file_order,
    played_of,
    risk_of,
    telling,
)
from privacygauge.evaluate.risk import Risk
from privacygauge.evaluate.slices import SliceTable


@dataclass(frozen=True, eq=False, repr=False)
class Attacked:
    """What attacks find of a classifier."""

    evaluations: tuple[Evaluation, ...]
    """One an attack, in the order of the suite."""
    headline: Headline
    """What the verdict speaks of."""
    risk: Risk
    """The privacy risk score."""
    slices: SliceTable
    """Groups of records."""
    facts: tuple[Fact, ...]
    """About the release."""
    targets: SeveralTargets | None = None
    """The same attacks on further targets, where a half-width was asked for."""
    more_models: tuple[Foretold, ...] = ()
    """What attacks would reach with more shadow models, where those there are can tell."""


@dataclass(frozen=True, eq=False)
class Played:
    """What was found of all records, and of each of them."""

    found: Attacked
    """Of all records."""
    scores: Mapping[str, Floats]
    """Attack title to (n,) scores, in the file's order."""
    guesses: Mapping[str, Bools]
    """Attack title to (n,) guesses."""
    risk: Floats
    """(n,) The privacy risk score."""
    skipped: tuple[Skipped, ...]
    """Attacks that were not played."""
    warnings: tuple[str, ...]
    """What may mislead."""


def played(
    rounds: Sequence[Round],
    attacks: Sequence[Attack],
    target: Predictions,
    estimator: Estimator | None,
    columns: Mapping[str, NDArray[Any]],
    seed: int,
    level: float,
    *,
    has_shadow: bool,
) -> Played:
    """Return what attacks find in rounds that were dealt already.

    Targets are the rows of `target`, `columns` their groups; `has_shadow` is whether the shadow
    records come from other models, and not from the target's other half.
    """
    caveats.require_different(target)
    results = telling(audit(rounds, attacks, seed=seed, level=level))
    played = played_of(results)
    risk, risks = risk_of(rounds, estimator, target.labels, seed, level)
    table = sliced(rounds, target, columns, seed, level)
    facts, differ = caveats.accuracies(*_right_predictions(rounds, has_shadow), level)
    best = headline(played, seed=seed, level=level)
    scores, guesses = {}, {}
    for result, evaluation in played:
        order = result.transcript.target
        scores[evaluation.title] = in_file_order(result.transcript.score, order)
        guesses[evaluation.title] = in_file_order(result.decisions.guess, order)
    left_out = (result for result in results if isinstance(result, Skipped))
    return Played(
        Attacked(tuple(evaluation for _, evaluation in played), best, risk, table, facts),
        scores,
        guesses,
        risks,
        tuple(left_out),
        (
            *caveats.unresolved(rounds, has_shadow),
            *caveats.too_small(target, played[0][1]),
            *differ,
            *caveats.uncalibrated(risk),
        ),
    )


def _right_predictions(
    rounds: Sequence[Round], has_shadow: bool
) -> tuple[caveats.Rows, caveats.Rows | None]:
    """Return what target and shadow model predict rightly, from the signals of the rounds."""
    right = np.concatenate([r.observation.signals["correctness"] for r in rounds]) == 1.0
    secret = np.concatenate([r.secret for r in rounds])
    ours = right, secret, np.concatenate([r.unit for r in rounds])
    # Without a shadow file the shadow records are the target's own other half.
    shadow = rounds[0].observation.shadow if has_shadow else None
    if shadow is None:
        return ours, None
    return ours, (shadow.signals["correctness"] == 1.0, shadow.member, shadow.unit)
