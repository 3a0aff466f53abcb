"""The audit of a model, or of a way to train one: shadow models are trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.audits import caveats
from privacygauge.audits.classifier.assembly import Request, assemble, contents_of, groups_of
from privacygauge.audits.classifier.found import Audit
from privacygauge.audits.classifier.label_only import Further, label_predictions, merged
from privacygauge.audits.units import owners, settled, twice, with_unit
from privacygauge.classifier.estimators import (
    answers_of,
    as_trainer,
    class_names,
    require_records,
)
from privacygauge.classifier.files import PoolLike, PredictionsLike, as_pool, as_predictions
from privacygauge.classifier.label_only import LabelOnly, LabelOnlyTrainer, with_labels
from privacygauge.classifier.pool import Pool, probabilities
from privacygauge.classifier.pool_game import PoolGame, numeric
from privacygauge.classifier.predictions import Predictions, predictions
from privacygauge.classifier.shadows import Progress, failures, train_shadows
from privacygauge.classifier.suite import pool_attacks
from privacygauge.core import checks, seeds
from privacygauge.core.attacks.posterior import Estimator
from privacygauge.core.checks import Ints
from privacygauge.core.game import Attack
from privacygauge.runs.store import unchecked_code


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model that exists already, and which records it was trained on."""

    model: object
    """With ``predict_proba``, a PyTorch module, a function from features to probabilities or
    logits (see `answers_of`), or its predictions."""
    member: ArrayLike
    """(n,) True where the record was in its training set."""
    classes: Sequence[str] = ()
    """(k,) What the model may call the classes 0..k-1; needless where `y` holds these names."""


def audit_model(
    model: object,
    x: ArrayLike,
    y: ArrayLike,
    *,
    fitted: Fitted | None = None,
    label_only: LabelOnly | None = None,
    n_shadows: int = 16,
    attacks: Sequence[Attack] | None = None,
    estimator: Estimator | None = None,
    slices: Mapping[str, ArrayLike] | None = None,
    ids: ArrayLike | None = None,
    unit: ArrayLike | None = None,
    run: str | Path | None = None,
    weights: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_model",
    provenance: Mapping[str, str] | None = None,
    invocation: Mapping[str, Any] | None = None,
) -> Audit:
    """Audit a way to train a classifier, or a classifier that was trained like that.

    Shadow models are trained on the records that fair, independent coins put in them; so is a
    target, unless one is given. Every attack then plays against the target with the shadow
    models for help.

    Parameters
    ----------
    model : estimator, callable or Trainer
        How a model is trained: a scikit-learn, XGBoost or LightGBM estimator; a callable that
        takes a random state and returns an untrained one; a function of features, classes and
        a random state that returns a trained model; or `Networks` for PyTorch modules.
    x : array_like, shape (n, d)
        Candidate records: those that the target may have been trained on, and others like them.
    y : array_like of int or str, shape (n,)
        Classes in 0..k-1, or their names.
    fitted : Fitted, optional
        The model to audit, where it exists already.
    label_only : LabelOnly, optional
        The adversary sees classes only, and makes these queries about each record.
    n_shadows : int
        More models make attacks on single records stronger: from 4 on they work, from 64 on
        each record can have a variance of its own.
    attacks : sequence of Attack, optional
        Default: the suite of `pool_attacks`.
    estimator : Estimator, optional
        Of the privacy risk score; default: isotonic regression.
    slices : mapping of str to array_like (n,), optional
        Groups to look at beside the classes and the deciles of confidence.
    ids : array_like, shape (n,), optional
        Names of the records in the report.
    unit : array_like, shape (n,), optional
        The person behind each record; default: equal ids. One coin puts all records
        of a person in, and intervals go by person.
    run : str or Path, optional
        Folder that keeps what was trained: after an interruption the same call goes on there.
    weights : str or Path, optional
        Folder for the weights of networks, which are dropped otherwise; see `train_shadows`.
    n_jobs : int, optional
        Processes; default: one, or what ``joblib.parallel_config`` says.
    progress : callable, optional
        Called with the number of models done and the number of all.
    seed : int
        All random draws derive from it.
    level : float
        Of every interval, in (0, 1).
    command : str
        What the report names as its origin.
    provenance : mapping of str to str, optional
        Further lines for the report.
    invocation : mapping, optional
        How to start the run again, kept in its folder.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.

    Notes
    -----
    Song & Mittal (2021); Long et al. (2017), section 5; Carlini et al. (2022).
    """
    checks.level(level)
    seeds.non_negative(seed)
    features, labels = require_records(x, y)
    names = class_names(y)
    trainer, kinds = as_trainer(model if label_only is None else with_labels(model)), 1
    if label_only is not None:
        trainer, kinds = LabelOnlyTrainer(trainer, label_only, seed), len(label_only.names)
    existing = (
        None if fitted is None else _predicted(fitted, features, labels, names, label_only, seed)
    )
    owner = owners(unit, ids, len(labels))
    trained = train_shadows(
        trainer,
        features,
        labels,
        n_shadows=n_shadows,
        unit=owner,
        with_target=existing is None,
        kinds=kinds,
        seed=seed,
        run=run,
        weights=weights,
        existing=existing,
        invocation=invocation,
        n_jobs=n_jobs,
        progress=progress,
    )
    of_units = twice(features, labels) if owner is None and existing is None else []
    target = existing or trained.target
    assert target is not None  # one was given, or trained
    pool, further, asked = trained.pool, None, {}
    if label_only is not None:
        target, pool, further = merged(target, pool, label_only)
        asked = {"queries per record": str(label_only.n_queries), "seen": "classes only"}
    return audit_pool(
        _named(replace(target, classes=names), ids, slices, owner),
        pool,
        further=further,
        features=features,
        attacks=attacks,
        estimator=estimator,
        drawn=existing is None,
        warnings=[*failures(trained.failed, n_shadows), *unchecked_code(run), *of_units],
        seed=seed,
        level=level,
        command=command,
        provenance={"model": trainer.name, **asked, **(provenance or {})},
    )


def audit_pool(
    target: PredictionsLike,
    pool: PoolLike,
    *,
    further: Further | None = None,
    features: NDArray[Any] | None = None,
    attacks: Sequence[Attack] | None = None,
    estimator: Estimator | None = None,
    slices: Mapping[str, ArrayLike] | Sequence[str] | None = None,
    show_columns: Sequence[str] = (),
    unit: ArrayLike | str | None = None,
    drawn: bool = False,
    warnings: Sequence[str] = (),
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_pool",
    provenance: Mapping[str, str] | None = None,
) -> Audit:
    """Audit a classifier from its predictions and those of shadow models on the same records.

    Parameters
    ----------
    target : Predictions, path, mapping of arrays, or data frame
        As in `audit_classifier`.
    pool : Pool, path, or mapping of arrays
        Predictions of shadow models on the target's records, in the same order; see `as_pool`.
        Who was trained on what must come from independent coins: exact halves would give the
        target's bit away.
    further : Further, optional
        Signals of label-only queries.
    features : ndarray, shape (n, d), optional
        The records themselves, for attacks that look at them.
    attacks : sequence of Attack, optional
        Default: the suite of `pool_attacks`.
    estimator, slices, show_columns, unit, drawn, seed, level, command, provenance
        As in `audit_classifier`.
    warnings : sequence of str
        What the reader has to know beside.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.
    """
    checks.level(level)
    seeds.non_negative(seed)
    target = with_unit(as_predictions(target, "target"), unit)
    pool = as_pool(pool, "pool")
    if pool.logits != target.logits:
        target, pool = _as_probabilities(target, pool)
    target, of_units = settled(target, drawn=drawn, features=features)
    columns, unsliced = groups_of(target, slices)
    about = {"shadow models": str(len(pool)), **(provenance or {})}
    contents = contents_of(target, show_columns)
    known = None if features is None else numeric(features)
    rounds = PoolGame(target, pool, known).deal(1, seeds.stream(seed, "deal"))
    suite = pool_attacks(logits=target.logits)
    if further is not None:
        rounds, suite = [further.onto(dealt) for dealt in rounds], further.attacks
    return assemble(
        rounds,
        suite if attacks is None else attacks,
        target,
        caveats.pool_description(target, pool, drawn=drawn, labels=further is not None),
        Request(estimator, columns, contents, seed, level, command, about),
        has_shadow=True,
        skipped=unsliced,
        warnings=[*warnings, *of_units, *_few(pool)],
    )


def _predicted(
    fitted: Fitted,
    x: NDArray[Any],
    y: Ints,
    names: tuple[str, ...],
    label_only: LabelOnly | None,
    seed: int,
) -> Predictions:
    member = checks.bools(fitted.member, "member", length=len(y))
    if isinstance(fitted.model, Predictions):
        return replace(fitted.model, member=np.resize(member, len(fitted.model)))
    if label_only is not None:
        called = tuple(fitted.classes) or names
        return label_predictions(fitted.model, x, y, member, called, label_only, seed)
    given: dict[str, Any] = {
        **answers_of(fitted.model, x, int(y.max()) + 1, fitted.classes or names)
    }
    return predictions(labels=y, member=member, name="target model", **given)


def _as_probabilities(target: Predictions, pool: Pool) -> tuple[Predictions, Pool]:
    """Return both as probabilities: one of them has no logits."""
    if pool.logits:
        values = pool.probabilities(slice(None))
        return target, Pool(values, False, pool.inside, pool.labels)
    return replace(target, values=probabilities(target.values, logits=True), logits=False), pool


def _named(
    target: Predictions,
    ids: ArrayLike | None,
    slices: Mapping[str, ArrayLike] | None,
    unit: Ints | None,
) -> Predictions:
    if ids is None and not slices and unit is None:
        return target
    given: dict[str, Any] = {"logits" if target.logits else "probs": target.values}
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


def _few(pool: Pool) -> list[str]:
    count = pool.inside.sum(axis=0)
    lone = int(np.count_nonzero((count == 0) | (count == len(pool))))
    if not lone:
        return []
    return [
        f"{lone:,} of {pool.n_targets:,} records are in all of the {len(pool)} shadow models or in "
        "none: attacks on single records know only one side of them; train more shadow models"
    ]
