"""The audit of a regressor: its residuals, and those of shadow models trained as it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifiers.answers import code_of_users
from privacygauge.classifiers.audit.options import JudgingOptions
from privacygauge.classifiers.estimators import (
    Estimators,
    Function,
    UntrainedCopies,
    n_required,
)
from privacygauge.classifiers.fitted import Fitted
from privacygauge.classifiers.held import Held, check_records, digest_of, numeric
from privacygauge.classifiers.trainer import Cohort
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.units import owners
from privacygauge.errors import InputError
from privacygauge.evaluate.fairness import folds_of
from privacygauge.kinds.one_line import one_line
from privacygauge.kinds.session import Session
from privacygauge.runs.options import keyword
from privacygauge.runs.threads import limited_to
from privacygauge.scores.audit import ScoreAudit, ScoreOptions
from privacygauge.scores.table import ScoreTable, ShadowScores
from privacygauge.scores.training import train_and_ask

ABSOLUTE = "absolute residual"
SQUARED = "squared residual"
LIKELIHOOD = "likelihood"
SIGNED = "residual"

MOST_FEATURES = 60
"""Most features for the local scale and for quantile regression."""

_WITHIN = 0.6827
"""Share of a normal distribution within one standard deviation."""

_FOLDS = 5
"""Folds in which the local scale is learnt."""

_LEAST = 1e-3
"""Smallest local scale, as a share of the median one: a residual of 0 is no certainty."""

_LARGEST = 1e150
"""Largest number in y, and inverse of its smallest spread: squares must be finite and above 0."""

_FEWEST = 4
"""Fewest shadow models without a record, for its own scale."""


@dataclass(frozen=True, eq=False)
class Regressors:
    """Trains regressors one by one: a `Trainer` whose answers are predicted numbers."""

    make: Callable[[int], Any] | None
    """Returns an untrained estimator from a random state; None with `function`."""
    function: Callable[[Any, NDArray[Any], int], Any] | None
    """Takes records, outputs and a random state, and returns a trained model."""
    outputs: Floats
    """(n, o) True numbers of all records."""

    logits = False

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        made: Any = self.make or self.function
        estimator = getattr(made, "estimator", None)
        if estimator is not None:
            return type(estimator).__name__
        return str(getattr(made, "__name__", type(made).__name__))

    def describe(self) -> Mapping[str, Any]:
        """Return the estimator, or the function, and a digest of the true numbers."""
        if self.make is not None:
            known = Estimators(self.make).describe()
        else:
            assert self.function is not None
            known = Function(self.function).describe()
        return {**known, "outputs": digest_of(self.outputs)}

    def reached(self) -> tuple[object, ...]:
        """Return the further code that runs."""
        return (self.function,) if self.make is None else (self.make(0),)

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return the numbers that each model predicts for the `asked` records, (m, a, o)."""
        found = np.full(cohort.shape, np.nan)
        queries = cohort.records(cohort.asked)
        for said, inside, seed in zip(found, cohort.inside, cohort.seeds, strict=True):
            rows = np.flatnonzero(inside)
            records = cohort.records(rows)
            outputs = self.outputs[rows]
            # Most regressors of one output take a vector.
            given = outputs[:, 0] if outputs.shape[1] == 1 else outputs
            with limited_to(1), code_of_users(self.name, f"to train on {len(rows)} records"):
                if self.make is None:
                    assert self.function is not None
                    fitted = self.function(records, given, seed)
                else:
                    made = self.make(seed)
                    fitted = made.fit(records, given)
                    fitted = made if fitted is None else fitted
            said[:] = predicted_numbers(fitted, queries, self.outputs.shape[1])
        return found


def predicted_numbers(model: object, x: Held, n_outputs: int) -> Floats:
    """Return the numbers that a trained model predicts, (n, o).

    Raises
    ------
    InputError
        If it cannot be asked, or does not say n_outputs numbers per record.
    """
    ask = getattr(model, "predict", model)
    name = type(model).__name__
    if not callable(ask):
        raise InputError(f"{name} predicts nothing: give a model with predict, or a function")
    with limited_to(1), code_of_users(name, f"to predict {len(x)} records"):
        said = np.asarray(ask(x))
    if said.dtype.kind not in "biuf" or said.size != len(x) * n_outputs or len(said) != len(x):
        raise InputError(
            f"{name} must predict {n_outputs} number(s) per record, ({len(x)}, {n_outputs}), got "
            f"{said.dtype} of {said.shape}"
        )
    return said.reshape(len(x), n_outputs).astype(np.float64)


def residual_scores(residual: Floats, scale: Floats, spread: Floats) -> dict[str, Floats]:
    """Return the scores of residuals, (..., n) each.

    Parameters
    ----------
    residual : ndarray of float, shape (..., n, o)
        True numbers less predicted ones, of o outputs.
    scale : ndarray of float, shape (n, o)
        Local standard deviation of the residual.
    spread : ndarray of float, shape (o,)
        Standard deviation of each output, so that outputs of any unit count the same.

    Returns
    -------
    dict of str to ndarray
        The mean absolute residual; the Gaussian log-likelihood with the local scale,
        ``-sum(log s + r^2 / (2 s^2))``; for several outputs the mean squared residual, which ranks
        as the absolute one does for a single output; and the signed residuals.
    """
    standard = residual / spread
    found = {
        ABSOLUTE: np.abs(standard).mean(axis=-1),
        LIKELIHOOD: -(np.log(scale) + residual**2 / (2 * scale**2)).sum(axis=-1),
    }
    n_outputs = residual.shape[-1]
    if n_outputs == 1:
        return {**found, SIGNED: standard[..., 0]}
    found[SQUARED] = (standard**2).mean(axis=-1)
    return {**found, **{f"{SIGNED} {j}": standard[..., j] for j in range(n_outputs)}}


def local_scale(
    residual: Floats, x: NDArray[Any] | None, unit: Ints, rng: np.random.Generator
) -> Floats:
    """Return the local scale of the residuals, (n, o), learnt without any membership.

    The quantile of the absolute residual that a normal distribution has at one standard deviation,
    predicted from the features by boosting on the other folds of units; without features, that of
    all records.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor

    size = np.abs(residual)
    found = np.tile(np.quantile(size, _WITHIN, axis=0), (len(size), 1))
    if x is not None and checks.n_distinct(unit) >= 10 * _FOLDS:
        fold = folds_of(unit, np.zeros(len(unit), np.bool_), _FOLDS, rng)
        for column in range(size.shape[1]):
            for part in range(_FOLDS):
                rest = fold != part
                model = HistGradientBoostingRegressor(
                    loss="quantile",
                    quantile=_WITHIN,
                    max_iter=30,
                    max_leaf_nodes=8,
                    early_stopping=False,
                    random_state=0,
                )
                with limited_to(1):
                    model.fit(x[rest], size[rest, column])
                    found[~rest, column] = model.predict(x[~rest])
    return _with_floor(found)


def _with_floor(scale: Floats) -> Floats:
    """Return scales of at least a thousandth of the median, above 0."""
    least = _LEAST * np.median(scale, axis=0)
    return np.maximum(scale, np.where(least > 0, least, 1e-12))


@dataclass(frozen=True, kw_only=True)
class RegressorOptions(JudgingOptions):
    """An audit of a training procedure for a regressor, or of a regressor that it produced."""

    n_shadows: int = keyword(
        "Number of shadow models, at least 0. More models make attacks on single records stronger; "
        "with 0 attacks are cross-fitted on the target.",
        default=16,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.at_least(0, n_shadows=self.n_shadows)

    def run(
        self,
        model: object,
        x: object,
        y: ArrayLike,
        *,
        fitted: Fitted | None = None,
        slices: Mapping[str, ArrayLike] | None = None,
        ids: ArrayLike | None = None,
        unit: ArrayLike | None = None,
        session: Session = Session("regressor"),
    ) -> ScoreAudit:
        """Audit a training procedure for a regressor, or a regressor that it produced.

        Shadow models are trained on records that fair, independent coins choose; so is a target,
        unless one is given. The scores are residuals and a likelihood with a local scale.

        Parameters
        ----------
        model : estimator, callable, or None
            Training procedure: a scikit-learn, XGBoost or LightGBM regressor; a callable that takes
            a random state and returns an untrained one; or a function of records, numbers and a
            random state that returns a trained model. None for a fitted model alone.
        x : array_like or data frame of n records
            Candidate records: those that the target may have been trained on, and others like them.
        y : array_like of float, shape (n,) or (n, o)
            True numbers, of one output or several.
        fitted : Fitted, optional
            The model to audit, if it exists already, with the records that it was trained on: an
            object with ``predict``, or a function; default: a target is trained.
        slices : mapping of str to array_like (n,), optional
            Groups to evaluate.
        ids : array_like, shape (n,), optional
            Names of the records in the report.
        unit : array_like, shape (n,), optional
            The person behind each record; default: equal ids. One coin puts all records of a person
            in or leaves all out, and intervals resample people.
        session : Session, optional
            Seed, level, run folder and workers.

        Returns
        -------
        ScoreAudit

        Raises
        ------
        InputError
            One line: what is wrong, and the way out.
        """
        from sklearn.base import BaseEstimator, is_classifier

        given = np.asarray(y)
        if given.ndim not in (1, 2) or not given.size:
            raise InputError(f"y must have the shape (n,) or (n, o), got {given.shape}")
        columns = given[:, None] if given.ndim == 1 else given
        outputs = np.column_stack([checks.floats(column, "y") for column in columns.T])
        largest = float(np.abs(outputs).max())
        spread = np.ptp(outputs / max(largest, 1.0), axis=0).max() * max(largest, 1.0)
        if spread == 0:
            raise InputError(
                f"y is {outputs[0, 0]:g} for every record, so that no residual tells records "
                "apart: give the true numbers, one per record"
            )
        if largest > _LARGEST or spread < 1 / _LARGEST:
            raise InputError(
                f"y lies in {outputs.min():g} to {outputs.max():g}, whose squares are beyond the "
                "range of numbers: give it in another unit"
            )
        for trained_or_not in (model, None if fitted is None else getattr(fitted, "model", None)):
            if isinstance(trained_or_not, BaseEstimator) and is_classifier(trained_or_not):
                raise InputError(
                    f"{type(trained_or_not).__name__} is a classifier: pg.audit_model audits it; "
                    "here a regressor is needed"
                )
        n = len(outputs)
        records = check_records(x, n)
        checks.kind(fitted, "fitted", Fitted, "pg.Fitted(model, member)")
        checks.kind(slices, "slices", Mapping, "a mapping of names to columns")
        owner = owners(unit, ids, n)
        trainer = None if model is None else _trainer_of(model, outputs)
        if trainer is None and fitted is None:
            raise InputError("give a model to train, or one that is trained: fitted=pg.Fitted(...)")
        existing = None
        if fitted is not None:
            member = checks.bools(fitted.member, "member", length=n)
            existing = member, predicted_numbers(fitted.model, records, outputs.shape[1])
        trained = train_and_ask(
            trainer,
            records,
            n_numbers=outputs.shape[1],
            n_shadows=self.n_shadows,
            existing=existing,
            unit=owner,
            session=session,
        )
        known = numeric(records)
        features = None if known is None or known.shape[1] > MOST_FEATURES else known
        scores, shadows = _scores_of_models(
            outputs,
            trained.said,
            answers=trained.answers,
            inside=trained.inside,
            features=features,
            unit=np.arange(n) if owner is None else owner,
            rng=seeds.stream(session.seed, "local scale"),
        )
        described = {}
        if features is not None:
            described = {
                f"feature {j}": checks.frozen(column) for j, column in enumerate(features.T)
            }
        of_groups = {
            name: checks.vector(values, f"slice {name!r}", length=n)
            for name, values in (slices or {}).items()
        }
        target = ScoreTable(
            values=checks.frozen(np.column_stack(list(scores.values()))),
            names=tuple(scores),
            member=trained.member,
            labels=np.zeros(n, np.int64),
            ids=np.arange(n) if ids is None else checks.vector(ids, "ids", length=n),
            named=ids is not None,
            unit=owner,
            columns={**described, **of_groups},
            features=tuple(described),
        )
        target.require_sides("target")
        asked = self.shared(
            ScoreOptions, drawn=fitted is None, lower=(ABSOLUTE,), higher=(LIKELIHOOD,)
        )
        about = {} if trainer is None else {"model": trainer.name}
        audit = asked.judged(
            target,
            shadows,
            slices=slices,
            session=Session(
                session.command,
                session.seed,
                session.level,
                {**about, **(session.provenance or {})},
                warnings=(*session.warnings, *trained.warnings),
            ),
        )
        return replace(
            audit,
            about="A regressor, by how far its predictions are from the truth",
            title="Audit of a regressor",
        )


audit_regressor = one_line(RegressorOptions, RegressorOptions.run, "audit_regressor")


def _trainer_of(model: object, outputs: Floats) -> Regressors:
    """Return the trainer of an estimator, a factory of estimators, or a function that trains."""
    if isinstance(model, type):
        raise InputError(f"give an instance, {model.__name__}(...), not the class itself")
    if hasattr(model, "fit") and hasattr(model, "predict"):
        return Regressors(UntrainedCopies(model), None, outputs)
    if callable(model) and n_required(model) == 1:
        return Regressors(model, None, outputs)
    if callable(model) and n_required(model) == 3:
        return Regressors(None, model, outputs)
    raise InputError(
        "a model must be an estimator with fit and predict, a callable that takes a random state, "
        f"or a function of records, numbers and a random state, got {type(model).__name__}"
    )


def _scores_of_models(
    outputs: Floats,
    said: Floats,
    *,
    answers: Floats,
    inside: Bools,
    features: NDArray[Any] | None,
    unit: Ints,
    rng: np.random.Generator,
) -> tuple[dict[str, Floats], ShadowScores | None]:
    """Return the target's scores, (n,) each, and those of the shadow models, if there are any."""
    spread = outputs.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    residual = outputs - said
    if not len(answers):
        scale = local_scale(residual, features, unit, rng)
        return residual_scores(residual, scale, spread), None
    others = outputs - answers
    outside = ~inside[..., None]
    count = outside.sum(axis=0)
    # Root mean square over the models without the record; all records' for too few of them.
    squares = np.sum(others**2, axis=0, where=outside)
    pooled = np.sqrt(squares.sum(axis=0) / np.maximum(count.sum(axis=0), 1))
    own = np.sqrt(squares / np.maximum(count, 1))
    scale = _with_floor(np.where(count >= _FEWEST, own, pooled))
    made = residual_scores(others, scale, spread)
    signed = sum(name.startswith(SIGNED) for name in made)
    shadows = ShadowScores(
        np.stack(list(made.values()), axis=-1),
        inside,
        compared=len(made) - signed,
        trained=True,
    )
    return residual_scores(residual, scale, spread), shadows
