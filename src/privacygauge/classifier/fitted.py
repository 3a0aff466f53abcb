"""A model that exists already: asked about records, and named as its owner names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.classifier.answers import answers_of, finite_answers
from privacygauge.classifier.label_only import LabelOnlyQueries
from privacygauge.classifier.label_only_signals import label_predictions
from privacygauge.classifier.pool import LogitPool, Pool, probabilities
from privacygauge.classifier.predictions import Predictions, predictions
from privacygauge.classifier.rows import ByRows
from privacygauge.classifier.several_targets import split
from privacygauge.classifier.shadows import Trained
from privacygauge.classifier.trainer import queries_of, questions
from privacygauge.classifier.trial import Given
from privacygauge.core import checks
from privacygauge.core.checks import Ints
from privacygauge.core.coins import counts_of
from privacygauge.evaluate.over_targets import SeveralTargets
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.store import plan_in


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model that exists already, and which records it was trained on."""

    model: object
    """With ``predict_proba``, a PyTorch or Keras module, a function from records to probabilities
    or logits (see `answers_of`), its predictions, or what a `Training` takes for a model."""
    member: ArrayLike
    """(n,) True where the record was in its training set."""
    classes: Sequence[str] = ()
    """(k,) What the model may call the classes 0..k-1; needless where `y` holds these names."""


def grown(
    train: Callable[..., Trained],
    played: Callable[[Callable[[int], Trained]], SeveralTargets],
    n_shadows: int,
    run: str | Path | None,
) -> tuple[Trained, SeveralTargets | None]:
    """Return the first target with its shadow models, and what was played on all targets."""
    with kept_or_scratch(run) as folder:

        def at_least(n: int) -> Trained:
            # More further models where the folder holds them already.
            known = plan_in(folder)
            return train(n_shadows=n if known is None else max(n, known.n_units - 1), run=folder)

        several = played(at_least)
        return split(at_least(n_shadows), n_shadows)[0], several


def predicted(
    fitted: Fitted, about: Given, label_only: LabelOnlyQueries | None, seed: int
) -> Predictions:
    """Return what a model that exists already says of the records."""
    member = checks.bools(fitted.member, "member", length=len(about.y))
    if isinstance(fitted.model, Predictions):
        return replace(fitted.model, member=np.resize(member, len(fitted.model)))
    k, names = int(about.y.max()) + 1, tuple(fitted.classes) or about.names
    if label_only is not None:
        return label_predictions(fitted.model, about.x, about.y, member, names, label_only, seed)
    if isinstance(about.trainer, ByRows):
        by_rows = replace(about.trainer, names=names)
        seen, logits, classes = by_rows.answers(fitted.model, about.x.numbers, k)
        said: dict[str, Any] = {**finite_answers(seen, logits, classes, k)}
    elif queries_of(about.trainer) > 1:
        asked = questions(about.trainer, about.x)
        flat = asked.reshape(-1, *asked.shape[2:])
        said = {
            kind: values.reshape(*asked.shape[:2], k)
            for kind, values in answers_of(fitted.model, flat, k, names).items()
        }
    else:
        said = {**answers_of(fitted.model, about.x, k, names)}
    return predictions(labels=about.y, member=member, name="target model", **said)


def as_probabilities(target: Predictions, pool: Pool) -> tuple[Predictions, Pool]:
    """Return both as probabilities: one of them has no logits."""
    if pool.logits:
        return target, replace(pool, answers=probabilities(pool.answers, logits=True), logits=False)
    return replace(target, answers=probabilities(target.answers, logits=True), logits=False), pool


def with_names_of(
    target: Predictions,
    ids: ArrayLike | None,
    slices: Mapping[str, ArrayLike] | None,
    unit: Ints | None,
) -> Predictions:
    """Return predictions with the names, groups and people of their records."""
    if ids is None and not slices and unit is None:
        return target
    given: dict[str, Any] = {"logits" if target.logits else "probs": target.answers}
    return predictions(
        labels=target.labels,
        member=target.member,
        ids=target.ids if ids is None else ids,
        columns=slices,
        unit=unit,
        classes=target.classes,
        name="target model",
        **given,
    )


def lone_records(pool: Pool | LogitPool) -> list[str]:
    """Return a warning where records are in all of the shadow models, or in none."""
    count = counts_of(pool.inside)
    lone = int(np.count_nonzero((count == 0) | (count == len(pool))))
    if not lone:
        return []
    return [
        f"{lone:,} of {pool.n_targets:,} records are in all of the {len(pool)} shadow models or in "
        "none: attacks on single records know only one side of them; train more shadow models"
    ]
