"""Audits of models that the user's own functions train and ask: membership, and labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifiers.answers import code_of_users
from privacygauge.classifiers.audit.options import JudgingOptions
from privacygauge.classifiers.estimators import function_name, function_origin
from privacygauge.classifiers.fitted import Fitted
from privacygauge.classifiers.held import Held, RecordNumbers, digest_of
from privacygauge.classifiers.shadows import (
    failed_shadows_warning,
    membership,
    random_states,
    train_all,
)
from privacygauge.classifiers.trainer import Cohort, Trainer
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.transcript import Transcript
from privacygauge.core.units import number_units, owners
from privacygauge.errors import InputError
from privacygauge.evaluate.claim_bounds import bound_of
from privacygauge.kinds.one_line import one_line
from privacygauge.kinds.session import Session
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.options import keyword
from privacygauge.runs.threads import limited_to
from privacygauge.scores import ScoreDesign
from privacygauge.scores.audit import ScoreAudit, ScoreOptions
from privacygauge.scores.table import Roles, ShadowScores, as_scores

LOSS = "loss"
"""Name of the numbers of a function that names none."""


@dataclass(frozen=True, eq=False)
class Trained:
    """Numbers of a target and of shadow models, for all records."""

    member: Bools
    """(n,) True where the target was trained on the record."""
    said: Floats
    """(n, c) The target's numbers."""
    inside: Bools
    """(k, n) Training sets of the shadow models whose numbers are finite."""
    answers: Floats
    """(k, n, c) Their numbers."""
    warnings: tuple[str, ...]
    """Remarks on models that failed."""

    @property
    def shadows(self) -> ShadowScores | None:
        """The shadow models; None without any."""
        if not len(self.answers):
            return None
        return ShadowScores(self.answers, self.inside, trained=True)


def train_and_ask(
    trainer: Trainer | None,
    records: Held,
    *,
    n_numbers: int,
    n_shadows: int,
    existing: tuple[Bools, Floats] | None,
    unit: Ints | None,
    session: Session,
) -> Trained:
    """Return the numbers of a target and of shadow models, each trained on coin flips.

    Parameters
    ----------
    trainer : Trainer, optional
        Returns `n_numbers` numbers per record; None where an existing target is judged alone.
    records : Held
        All n records.
    existing : tuple of ndarray, optional
        Members and numbers of a target that exists; default: one is trained.
    unit : ndarray of int, shape (n,), optional
        Owner of each record: one coin for all records of an owner.

    Raises
    ------
    InputError
        If the target's numbers are not finite.
    """
    n = len(records)
    n_shadows = 0 if trainer is None else n_shadows
    n_targets = int(existing is None)
    answers = np.empty((0, n, n_numbers))
    inside = np.empty((0, n), np.bool_)
    if trainer is not None and n_shadows + n_targets:
        if n_shadows:
            inside = membership(n_shadows, n, session.seed, target=bool(n_targets), unit=unit)
        else:
            inside = membership(1, n, session.seed, target=True, unit=unit)[:1]
        cohort = Cohort(
            x=records,
            y=np.arange(n),
            inside=inside,
            seeds=random_states(session.seed, len(inside)),
            n_classes=n_numbers,
            asked=np.arange(n),
        )
        with kept_or_scratch(session.run) as folder:
            answers = train_all(
                trainer,
                cohort,
                seed=session.seed,
                run=folder,
                invocation=session.invocation,
                n_jobs=session.n_jobs,
                progress=session.progress,
            )
    member, said = (inside[0], answers[0]) if existing is None else existing
    if not np.isfinite(said).all():
        row = int(np.argwhere(~np.isfinite(said))[0, 0])
        raise InputError(f"the target must give finite numbers, got {said[row]} in row {row}")
    finite = np.isfinite(answers[n_targets:]).all(axis=(1, 2))
    models = np.flatnonzero(finite) + n_targets
    return Trained(
        member=member,
        said=said,
        inside=inside[models],
        answers=answers[models],
        warnings=tuple(failed_shadows_warning(np.flatnonzero(~finite), n_shadows)),
    )


def numbers_of(said: object, names: tuple[str, ...], n: int, name: str) -> Floats:
    """Return the numbers that a user's function gave n records, (n, c).

    Raises
    ------
    InputError
        If a name lacks, or these are not n numbers each.
    """
    if isinstance(said, Mapping):
        lacking = [key for key in names if key not in said]
        if lacking:
            raise InputError(
                f"{name} returned no {lacking[0]!r}; it returned: "
                f"{checks.short_list([str(key) for key in said]) or 'nothing'}"
            )
        columns = [np.asarray(said[key]) for key in names]
    elif len(names) > 1:
        raise InputError(
            f"{name} must return a mapping of {checks.short_list(names)} to numbers, got "
            f"{type(said).__name__}"
        )
    else:
        columns = [np.asarray(said)]
    for key, column in zip(names, columns, strict=True):
        if column.shape != (n,) or column.dtype.kind not in "biuf":
            raise InputError(
                f"{name} must return a number for each of {n} records as {key!r}, got "
                f"{column.dtype} of the shape {column.shape}"
            )
    return np.column_stack(columns).astype(np.float64)


@dataclass(frozen=True, eq=False)
class UserTraining:
    """Trains and asks by functions of the user's: a `Trainer` of numbers per record."""

    train_one: Callable[[Any, int], Any]
    """Takes numbers of records, or labels, and a random state; returns a trained model."""
    loss: Callable[[Any, Any], Any]
    """Takes a model and numbers of records, or labels; returns numbers per record."""
    names: tuple[str, ...]
    """Names of the numbers."""
    labels: tuple[NDArray[Any], NDArray[Any]] | None = None
    """(n,) True and false labels: a model is trained on the true one of each record inside, and on
    the false one of each other. None where a model is trained on the records inside."""

    logits = False

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        return function_name(self.train_one)

    def describe(self) -> Mapping[str, Any]:
        """Return the names of the functions and of the numbers, and a digest of the labels."""
        labels = {} if self.labels is None else {"labels": digest_of(*self.labels)}
        functions = {
            "trained by": function_origin(self.train_one),
            "asked by": function_origin(self.loss),
        }
        return {**functions, "numbers": list(self.names), **labels}

    def reached(self) -> tuple[object, ...]:
        """Return the user's code."""
        return self.train_one, self.loss

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return each model's numbers for all records, (m, n, c)."""
        found = np.full(cohort.shape, np.nan)
        for said, inside, seed in zip(found, cohort.inside, cohort.seeds, strict=True):
            given = np.flatnonzero(inside)
            if self.labels is not None:
                given = np.where(inside, *self.labels)
            with limited_to(1), code_of_users(self.name, f"to train on {len(given)} records"):
                model = self.train_one(given, seed)
            said[:] = self.ask(model, cohort.asked)
        return found

    def ask(self, model: object, rows: Ints) -> Floats:
        """Return a model's numbers for all records, (n, c); for labels, those that favour truth."""
        name = function_name(self.loss)
        asked = (rows,) if self.labels is None else self.labels
        with limited_to(1), code_of_users(name, f"on {len(rows)} records"):
            said = [self.loss(model, one) for one in asked]
        true, *false = [numbers_of(one, self.names, len(rows), name) for one in said]
        return false[0] - true if false else true


def _functions(train: object, loss: object, n_shadows: int, fitted: Fitted | None) -> None:
    """Refuse anything but functions, and a target that neither exists nor can be trained."""
    checks.at_least(0, n_shadows=n_shadows)
    checks.kind(fitted, "fitted", Fitted, "pg.Fitted(model, member)")
    if train is None and fitted is None:
        raise InputError("give a function that trains, or a model: fitted=pg.Fitted(...)")
    for name, function in (("train", train), ("loss", loss)):
        if not callable(function) and not (name == "train" and function is None):
            raise InputError(f"{name} must be a function, got {type(function).__name__}")


@dataclass(frozen=True, kw_only=True)
class TrainingOptions(ScoreDesign):
    """An audit of anything that is trained on records and gives numbers to them."""

    n_shadows: int = keyword(
        "Number of shadow models, at least 0. More models make attacks on single records stronger; "
        "with 0 attacks are cross-fitted on the target.",
        default=16,
    )

    def run(
        self,
        train: Callable[[Ints, int], Any] | None,
        loss: Callable[[Any, Ints], Any],
        n: int,
        *,
        fitted: Fitted | None = None,
        columns: Mapping[str, ArrayLike] | None = None,
        ids: ArrayLike | None = None,
        unit: ArrayLike | None = None,
        session: Session = Session("training"),
    ) -> ScoreAudit:
        """Audit anything that is trained on records and gives numbers to them.

        Shadow models are trained on records that fair, independent coins choose; so is a target,
        unless one is given. Both functions look records up by their numbers, in 0..n-1: a record
        may be a row, a series, a person's items or an image.

        Parameters
        ----------
        train : callable, or None
            Takes numbers of records, ascending, and a random state; returns a model of any kind.
            None for a model that exists alone.
        loss : callable
            Takes a model and the numbers of all records; returns a number for each, lower for what
            the model was trained on. Or a mapping of names to such numbers: those of `scores`,
            `lower` and `higher`.
        n : int
            Number of records.
        fitted : Fitted, optional
            The model to audit, if it exists already, with the records that it was trained on;
            default: a target is trained.
        columns : mapping of str to array_like (n,), optional
            What is known of the records without the model: groups to compare, and the columns that
            `group` and `features` name.
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

        Examples
        --------
        >>> import numpy as np
        >>> x = np.random.default_rng(0).normal(size=(200, 5))
        >>> found = TrainingOptions(n_shadows=4, attacks=("loss",)).run(
        ...     lambda rows, seed: x[rows],
        ...     lambda model, rows: np.abs(x[rows, None] - model[None]).sum(axis=2).min(axis=1),
        ...     n=200,
        ... )
        >>> found.headline.auc.value
        1.0
        """
        _functions(train, loss, self.n_shadows, fitted)
        checks.at_least(4, n=n)
        lower = self.lower
        names = tuple(dict.fromkeys((*self.scores, *self.lower, *self.higher)))
        if not names:
            names = lower = (LOSS,)
        owner = owners(unit, ids, n)
        rows = np.arange(n)
        trainer = None if train is None else UserTraining(train, loss, names)
        existing = None
        if fitted is not None:
            member = checks.bools(fitted.member, "member", length=n)
            asked = UserTraining(lambda given, seed: None, loss, names)
            existing = member, asked.ask(fitted.model, rows)
        trained = train_and_ask(
            trainer,
            RecordNumbers(rows),
            n_numbers=len(names),
            n_shadows=self.n_shadows,
            existing=existing,
            unit=owner,
            session=session,
        )
        known = dict(columns or {})
        taken = [key for key in known if key in (*names, "member", "id", "unit")]
        if taken:
            raise InputError(f"columns must not hold {taken[0]!r}, which is known: leave it out")
        target = as_scores(
            {
                **known,
                **dict(zip(names, trained.said.T, strict=True)),
                "member": trained.member,
                **({} if ids is None else {"id": ids}),
            },
            "the target",
            Roles(scores=names, group=self.group, features=self.features),
        )
        target = replace(target, unit=owner)
        target.require_sides("the target")
        asked_of = self.shared(
            ScoreOptions, scores=names, lower=lower, drawn=self.drawn or fitted is None
        )
        about = {} if trainer is None else {"model": trainer.name}
        return asked_of.judged(
            target,
            trained.shadows,
            session=Session(
                session.command,
                session.seed,
                session.level,
                {**about, **(session.provenance or {})},
                warnings=(*session.warnings, *trained.warnings),
            ),
        )


audit_training = one_line(TrainingOptions, TrainingOptions.run, "audit_training")


@dataclass(frozen=True, kw_only=True)
class LabelOptions(JudgingOptions):
    """An audit of the labels of a training set, for people whose features are public."""

    n_shadows: int = keyword(
        "Number of shadow models, at least 0. Each is trained on other coins.", default=16
    )
    share: float = keyword(
        "Share of the records whose label a coin replaces, in (0, 1]. More records show more, and "
        "change the model more.",
        default=0.5,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.share <= 1:
            raise InputError(f"share must be in (0, 1], got {self.share}")

    def run(
        self,
        train: Callable[[NDArray[Any], int], Any],
        loss: Callable[[Any, NDArray[Any]], Any],
        y: ArrayLike,
        *,
        false: ArrayLike | None = None,
        columns: Mapping[str, ArrayLike] | None = None,
        ids: ArrayLike | None = None,
        session: Session = Session("labels"),
    ) -> ScoreAudit:
        """Audit how much a training procedure gives away about the labels that it is trained on.

        A fair coin per record chooses between its true label and a false one; the model is trained
        on the chosen labels and all features. The adversary knows features, both labels and the
        model, and guesses the coins.

        Parameters
        ----------
        train : callable
            Takes n labels and a random state; returns a model of any kind.
        loss : callable
            Takes a model and n labels; returns the model's loss on each record if that were its
            label.
        y : array_like, shape (n,)
            True labels: classes, texts or numbers.
        false : array_like, shape (n,), optional
            False labels; a record whose false label is the true one keeps it and is not judged.
            Default: for a random `share` of the records another record's label.
        columns : mapping of str to array_like (n,), optional
            Groups to compare.
        ids : array_like, shape (n,), optional
            Names of the records in the report.
        session : Session, optional
            Seed, level, run folder and workers.

        Returns
        -------
        ScoreAudit
            ``headline.epsilon`` is a lower bound on the epsilon of label privacy: that of the
            guesses about all coins of this one training.

        Raises
        ------
        InputError
            One line: what is wrong, and the way out.

        Notes
        -----
        The score is the loss under the false label less that under the true one. Under
        epsilon-privacy of single labels a coin is guessed with probability at most
        ``e^epsilon / (1 + e^epsilon)`` whatever is known of the others, so that right guesses are
        bounded as in `one_run_epsilon` (Steinke, Nasr & Jagielski 2023).
        """
        _functions(train, loss, self.n_shadows, None)
        true = checks.vector(y, "y")
        n = len(true)
        if checks.n_distinct(number_units(true, "y")) < 2:
            raise InputError("y must hold at least 2 different labels, got one")
        if false is None:
            rng = seeds.stream(session.seed, "false labels")
            chosen = rng.permutation(n)[: max(1, round(self.share * n))]
            other = true.copy()
            while len(chosen):  # another record's label, until it is another one
                other[chosen] = true[rng.integers(n, size=len(chosen))]
                chosen = chosen[other[chosen] == true[chosen]]
        else:
            other = checks.vector(false, "false", length=n)
        judged = np.flatnonzero(true != other)
        if len(judged) < 4:
            raise InputError(
                f"at least 4 records need a false label other than the true one, got {len(judged)}"
            )
        trained = train_and_ask(
            UserTraining(train, loss, (LOSS,), labels=(true, other)),
            RecordNumbers(np.arange(n)),
            n_numbers=1,
            n_shadows=self.n_shadows,
            existing=None,
            unit=None,
            session=session,
        )
        names = np.arange(n) if ids is None else checks.vector(ids, "ids", length=n)
        margin = "margin of the true label"
        known = {
            key: checks.vector(values, f"column {key!r}", length=n)[judged]
            for key, values in (columns or {}).items()
        }
        target = as_scores(
            {
                **known,
                margin: trained.said[judged, 0],
                "member": trained.member[judged],
                "id": names[judged],
            },
            "the target",
            Roles(scores=(margin,)),
        )
        shadows = trained.shadows
        if shadows is not None:
            shadows = ShadowScores(shadows.values[:, judged], shadows.inside[:, judged])
        audit = self.shared(ScoreOptions, drawn=True, higher=(margin,)).judged(
            target,
            shadows,
            session=replace(session, run=None, warnings=(*session.warnings, *trained.warnings)),
        )
        # An attack whose guesses about a coin depend on no other coin of the target.
        score = trained.said[judged, 0]
        title = margin
        if shadows is not None and shadows.both_sides:
            title = "calibrated (online)"
            models = shadows.values[..., 0]
            for side in (shadows.inside, ~shadows.inside):
                count = side.sum(axis=0)
                own = np.sum(models, axis=0, where=side) / np.maximum(count, 1)
                # A record that all coins put on one side takes the mean of all records.
                score = score - np.where(count > 0, own, models[side].mean()) / 2
        transcript = Transcript(score, trained.member[judged], np.arange(len(judged)))
        bound = bound_of(transcript, session.seed, session.level)
        headline = replace(
            audit.headline,
            epsilon=bound.estimate,
            epsilon_attack=title,
            epsilon_limit=bound.largest,
        )
        game = replace(
            audit.game,
            name="label inference",
            question="Was the model trained on this record's true label, or on a false one?",
            adversary=f"Knows the features and both labels of each record; {audit.game.adversary}",
        )
        return replace(
            audit,
            headline=headline,
            game=game,
            about="A model, by its loss under the true label and under a false one",
            title="Audit of labels",
        )


audit_labels = one_line(LabelOptions, LabelOptions.run, "audit_labels")
