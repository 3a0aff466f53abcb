"""The audit of a model, or of a way to train one: shadow models are trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.audits.classifier.assembly import Asked, assemble, pool_description
from privacygauge.audits.classifier.found import Audit
from privacygauge.audits.running import Running
from privacygauge.classifier.files import PoolLike, PredictionsLike, as_pool, as_predictions
from privacygauge.classifier.fitted import (
    Fitted,
    as_probabilities,
    grown,
    lone_records,
    predicted,
    with_names_of,
)
from privacygauge.classifier.groups import contents_of, groups_of
from privacygauge.classifier.held import Held, numeric
from privacygauge.classifier.label_only import LabelOnlyQueries, LabelOnlyTrainer, with_labels
from privacygauge.classifier.label_only_signals import Further, merged
from privacygauge.classifier.one_logit import TrainedLogits, train_logits
from privacygauge.classifier.pool import LogitPool, Pool
from privacygauge.classifier.pool_game import PoolGame, require_apart
from privacygauge.classifier.several_targets import until_narrow
from privacygauge.classifier.shadows import Progress, Trained, failures, train_shadows
from privacygauge.classifier.suite import FORETOLD, pool_attacks, single_record_attacks
from privacygauge.classifier.trial import given
from privacygauge.classifier.whose import settled, twice, with_unit
from privacygauge.core import checks, seeds
from privacygauge.core.attacks.posterior import Estimator
from privacygauge.core.game import Attack
from privacygauge.core.units import owners
from privacygauge.errors import InputError
from privacygauge.evaluate.more_models import Foretold, what_more_buy
from privacygauge.runs.sharing import end_of_sharing
from privacygauge.runs.store import unchecked_code


def audit_model(
    model: object,
    x: object = None,
    y: ArrayLike | None = None,
    *,
    fitted: Fitted | None = None,
    label_only: LabelOnlyQueries | None = None,
    n_shadows: int = 16,
    half_width: float | None = None,
    one_logit: bool = False,
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
    model : estimator, callable, Training or Trainer
        How a model is trained: a scikit-learn, XGBoost or LightGBM estimator; a callable that
        takes a random state and returns an untrained one; a function of records, classes and
        a random state that returns a trained model; `Training` with functions of the numbers of
        records; or `Networks` for PyTorch modules.
    x : array_like or data frame of n records
        Candidate records: those that the target may have been trained on, and others like them.
        Data frames of pandas and polars, texts and images reach a model as they are. A
        `Training` looks its records up itself.
    y : array_like of int or str, shape (n,)
        Classes in 0..k-1, or their names.
    fitted : Fitted, optional
        The model to audit, where it exists already.
    label_only : LabelOnlyQueries, optional
        The adversary sees classes only, and makes these queries about each record.
    n_shadows : int
        More models make attacks on single records stronger: from 4 on they work, from 64 on
        each record can have a variance of its own.
    half_width : float, optional
        In (0, 1/2): further targets are trained, and attacked with the same shadow models, until
        the interval of every attack's mean AUC has this half-width; see `until_narrow`. Played
        are `attacks`, by default those on single records.
    one_logit : bool
        Keep one logit for each shadow model and record in place of a logit for each class: all
        that LiRA, RMIA, BaVarIA and calibrated attacks need, which say the same, byte for byte.
        Whole vectors are kept of the target and of few shadow models; see `train_logits`.
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
    about = given(model if label_only is None else with_labels(model), x, y)
    trainer, features, labels, names = about.trainer, about.x, about.y, about.names
    if label_only is not None:
        _require_numbers(features, half_width)
        trainer = LabelOnlyTrainer(trainer, label_only, seed)
    existing = None if fitted is None else predicted(fitted, about, label_only, seed)
    owner = owners(unit, ids, len(labels))
    kinds = 1 if label_only is None else len(label_only.names)
    if one_logit and (half_width is not None or label_only is not None):
        raise InputError("one_logit does not go with half_width or label_only: leave one out")
    options: dict[str, Any] = {
        "unit": owner,
        "with_target": existing is None,
        "seed": seed,
        "weights": weights,
        "existing": existing,
        "invocation": invocation,
        "n_jobs": n_jobs,
        "progress": progress,
    }
    train = partial(train_shadows, trainer, features, labels, kinds=kinds, **options)
    trained: Trained | TrainedLogits
    several = None
    if half_width is not None:
        _require_width(half_width, fitted)
        played = partial(
            until_narrow,
            attacks=single_record_attacks("shared") if attacks is None else attacks,
            n_shadows=n_shadows,
            width=half_width,
            features=numeric(features),
            unit=owner,
            seed=seed,
            level=level,
        )
        trained, several = grown(train, played, n_shadows, run)
    elif one_logit:
        trained = train_logits(trainer, features, labels, n_shadows=n_shadows, run=run, **options)
    else:
        trained = train(n_shadows=n_shadows, run=run)
    end_of_sharing()
    of_units = twice(features, labels) if owner is None and existing is None else []
    target, pool, further, seen = existing or trained.target, trained.pool, None, {}
    assert target is not None  # one was given, or trained
    if label_only is not None:
        assert isinstance(pool, Pool)  # one_logit does not go with it
        target, pool, further = merged(target, pool, label_only)
        seen = {"queries per record": str(label_only.n_queries), "seen": "classes only"}
    audit = audit_pool(
        with_names_of(replace(target, classes=names), ids, slices, owner),
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
        provenance={"model": trainer.name, **seen, **(provenance or {})},
    )
    return replace(audit, targets=several)


def audit_pool(
    target: PredictionsLike,
    pool: PoolLike | LogitPool,
    *,
    further: Further | None = None,
    features: Held | None = None,
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
    pool : Pool, LogitPool, path, or mapping of arrays
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
    pool = pool if isinstance(pool, LogitPool) else as_pool(pool, "pool")
    if isinstance(pool, Pool):
        if pool.logits != target.logits:
            target, pool = as_probabilities(target, pool)
        require_apart(pool)
    target, of_units = settled(target, drawn=drawn, features=features)
    columns, unsliced = groups_of(target, slices)
    about = {"shadow models": str(len(pool)), **(provenance or {})}
    running = Running(command, seed, level, about)
    contents = contents_of(target, show_columns)
    known = None if features is None else numeric(features)
    [dealt] = PoolGame(target, pool, known).deal(1, seeds.stream(seed, "deal"))
    suite = pool_attacks(logits=target.logits)
    if further is not None:
        dealt, suite = further.onto(dealt), further.attacks
    audit = assemble(
        [dealt],
        suite if attacks is None else attacks,
        target,
        pool_description(target, pool, drawn=drawn, labels=further is not None),
        Asked(estimator, columns, contents),
        running,
        has_shadow=True,
        skipped=unsliced,
        warnings=[*warnings, *of_units, *lone_records(pool), *_kept(pool)],
    )
    more = what_more_buy(FORETOLD, dealt, seeds.stream(seed, "more models"), level)
    return replace(audit, more_models=tuple(x for x in more if isinstance(x, Foretold)))


def _require_width(half_width: float, fitted: Fitted | None) -> None:
    if not 0 < half_width < 0.5:
        raise InputError(f"half_width must be in (0, 0.5), got {half_width}")
    if fitted is not None:
        raise InputError(
            "half_width adds targets that are trained, and a fitted model is one target: its "
            "interval gets narrower with more records only"
        )


def _require_numbers(x: Held, half_width: float | None) -> None:
    if half_width is not None:
        raise InputError("half_width goes with audits of probabilities, not with label_only")
    if not isinstance(x, np.ndarray) or numeric(x) is None:
        raise InputError(
            "label_only needs records of finite numbers, (n, d), which noise can be added to"
        )


def _kept(pool: Pool | LogitPool) -> list[str]:
    """Return what is to be said of a run that holds one logit for each model and record."""
    if isinstance(pool, Pool):
        return []
    return [
        f"the run holds one logit for each shadow model and record, and whole vectors of "
        f"{len(pool.first)} shadow model(s): thresholds, risk scores and networks learn on these"
    ]
