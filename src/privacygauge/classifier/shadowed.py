"""Inputs of a model audit: the model's predictions, and those of shadow models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from privacygauge.classifier.fitted import (
    Fitted,
    Further,
    ask_fitted,
    grown,
    merge_queries,
    until_narrow,
)
from privacygauge.classifier.held import numeric
from privacygauge.classifier.label_only import LabelOnlyQueries, LabelOnlyTrainer
from privacygauge.classifier.one_logit import TrainedLogits, train_logits
from privacygauge.classifier.pool import LogitPool, Pool
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.shadows import TrainedShadows, train_shadows
from privacygauge.classifier.suite import single_record_attacks
from privacygauge.classifier.trial import TrainingSetup
from privacygauge.core.checks import Ints
from privacygauge.core.game import Attack
from privacygauge.errors import InputError
from privacygauge.evaluate.over_targets import SeveralTargets


@dataclass(frozen=True, eq=False)
class TargetWithShadows:
    """A target, and shadow models that were trained in the same way."""

    target: Predictions
    """The target's predictions."""
    pool: Pool | LogitPool
    """The shadow models' predictions for the same records."""
    failed: Ints
    """Indices of the shadow models whose training failed."""
    further: Further | None = None
    """Signals of each kind of label-only query; None without these."""
    several: SeveralTargets | None = None
    """Results on further targets; None without these."""


def train_missing_shadows(
    about: TrainingSetup,
    options: Mapping[str, Any],
    *,
    fitted: Fitted | None,
    label_only: LabelOnlyQueries | None,
    n_shadows: int,
    half_width: float | None,
    one_logit: bool,
    attacks: Sequence[Attack] | None,
    level: float,
) -> TargetWithShadows:
    """Return a target with its shadow models, training those that do not exist yet.

    Parameters are those of `audit_model`; `options` are the remaining ones of `train_shadows`.
    """
    trainer = about.trainer
    x = about.x
    y = about.y
    seed = options["seed"]
    if label_only is not None:
        if half_width is not None:
            raise InputError("half_width goes with audits of probabilities, not with label_only")
        trainer = LabelOnlyTrainer(trainer, label_only, seed)
    existing = None if fitted is None else ask_fitted(fitted, about, label_only, seed)
    kinds = 1 if label_only is None else len(label_only.names)
    if one_logit and (half_width is not None or label_only is not None):
        raise InputError("one_logit does not go with half_width or label_only: leave one out")
    given = {"with_target": existing is None, "existing": existing, **options}
    train = partial(train_shadows, trainer, x, y, kinds=kinds, **given)
    trained: TrainedShadows | TrainedLogits
    several = None
    if half_width is not None:
        if not 0 < half_width < 0.5:
            raise InputError(f"half_width must be in (0, 0.5), got {half_width}")
        if fitted is not None:
            raise InputError(
                "half_width adds targets that are trained, and a fitted model is one target: its "
                "interval gets narrower with more records only"
            )
        played = partial(
            until_narrow,
            attacks=single_record_attacks("shared") if attacks is None else attacks,
            n_shadows=n_shadows,
            width=half_width,
            features=numeric(x),
            unit=options["unit"],
            seed=seed,
            level=level,
        )
        trained, several = grown(train, played, n_shadows, options["run"])
    elif one_logit:
        trained = train_logits(trainer, x, y, n_shadows=n_shadows, **given)
    else:
        trained = train(n_shadows=n_shadows)
    target = existing or trained.target
    pool = trained.pool
    further = None
    assert target is not None  # one was given, or trained
    if label_only is not None:
        assert isinstance(pool, Pool)  # one_logit does not go with it
        target, pool, further = merge_queries(target, pool, label_only)
    target = replace(target, classes=about.names)
    return TargetWithShadows(
        target=target, pool=pool, failed=trained.failed, further=further, several=several
    )
