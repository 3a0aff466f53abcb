"""A model that is already trained: its answers, under the names of its owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifiers.answers import (
    Answers,
    answers_of,
    average_answers,
    check_answers,
    code_of_users,
    finite_answers,
    is_module,
)
from privacygauge.classifiers.estimators import ByRows, Training, class_names, n_required
from privacygauge.classifiers.game import PoolGame
from privacygauge.classifiers.held import Held, take_records
from privacygauge.classifiers.label_only import (
    BLOCK,
    LabelOnlyQueries,
    LearnedRobustness,
    label_scores,
    told_of_views,
)
from privacygauge.classifiers.predictions import (
    Pool,
    Predictions,
    predictions,
)
from privacygauge.classifiers.probe_training import TrainingSetup
from privacygauge.classifiers.shadows import TrainedShadows
from privacygauge.classifiers.suite import single_record_attacks
from privacygauge.classifiers.trainer import queries_of
from privacygauge.core import checks, seeds
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Round, play
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.evaluation import title
from privacygauge.evaluate.over_targets import LOOKS, OverTargets, SeveralTargets, half_width


@dataclass(frozen=True)
class HardLabels:
    """An estimator without probabilities, wrapped to put probability 1 on the class it predicts."""

    estimator: Any
    """The wrapped estimator, with ``fit`` and ``predict``."""
    known: tuple[Any, ...] = field(default=(), compare=False)
    """Classes that it was trained on, if the estimator does not list them itself."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the estimator, and its own parameters, as scikit-learn does."""
        inner = (
            self.estimator.get_params() if deep and hasattr(self.estimator, "get_params") else {}
        )
        return {"estimator": self.estimator, **{f"estimator__{k}": v for k, v in inner.items()}}

    def set_params(self, **given: Any) -> HardLabels:
        """Set parameters of the estimator."""
        self.estimator.set_params(**{k.removeprefix("estimator__"): v for k, v in given.items()})
        return self

    def fit(self, X: NDArray[Any], y: Ints) -> HardLabels:
        """Train the estimator."""
        fitted = self.estimator.fit(X, y)
        found = self.estimator if fitted is None else fitted
        return replace(self, estimator=found, known=tuple(np.unique(y).tolist()))

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, ascending."""
        return np.asarray(getattr(self.estimator, "classes_", self.known))

    def predict_proba(self, X: NDArray[Any]) -> Floats:
        """Return 1 for the predicted class, 0 for the others."""
        said = np.asarray(self.estimator.predict(X)).reshape(len(X))
        found: Floats = (said[:, None] == self.classes_[None, :]).astype(np.float64)
        return found


@dataclass(frozen=True)
class Says:
    """A trained model of any kind, wrapped to put probability 1 on the class it predicts."""

    model: Any
    """An object with ``predict_proba`` or ``predict``, a PyTorch or Keras module, or a function
    from records to classes, by number or name, or to probabilities."""
    n_classes: int
    """Number of classes, k."""
    names: tuple[str, ...] = ()
    """(k,) The model's names for the classes; default: their numbers."""

    @property
    def classes_(self) -> Ints:
        """The classes, 0..k-1."""
        return np.arange(self.n_classes)

    def predict_proba(self, X: Held) -> Floats:
        """Return 1 for the predicted class, 0 for the others, (n, k)."""
        model = self.model
        certain = np.eye(self.n_classes)
        if hasattr(model, "predict_proba") or is_module(model):
            answers = answers_of(model, X, self.n_classes, self.names)
            return np.asarray(certain[answers.values.argmax(axis=1)], np.float64)
        ask = getattr(model, "predict", model)
        if not callable(ask):
            raise InputError(
                f"{type(model).__name__} says no class: give a model with predict, or a function"
            )
        # For sampled classes, the most frequent one.
        shares, _ = average_answers(
            certain[self._class_of(ask, X)],
            lambda rows: certain[self._class_of(ask, take_records(X, rows))],
        )
        return np.asarray(certain[shares.argmax(axis=1)], np.float64)

    def _class_of(self, ask: Callable[[Held], Any], X: Held) -> Ints:
        """Return the predicted class of each record, (n,)."""
        name = type(self.model).__name__
        with code_of_users(name, f"to predict {len(X)} records"):
            said = ask(X)
        seen = said if hasattr(said, "ndim") else np.asarray(said)
        if seen.ndim == 2 and seen.shape[1] > 1:
            # All records were asked at once: inspect the answers instead of asking again in parts.
            every = np.arange(self.n_classes)
            values, logits = check_answers(
                seen, len(X), classes=every, n_classes=self.n_classes, name=name
            )
            answers = finite_answers(Answers(values, logits), every, self.n_classes)
            return np.asarray(answers.values.argmax(axis=1))
        return class_codes(seen, len(X), self.n_classes, self.names)


def class_codes(said: Any, n: int, n_classes: int, names: tuple[str, ...] = ()) -> Ints:
    """Return the numbers of the classes that a model predicts for n records, (n,) in 0..k-1.

    Raises
    ------
    InputError
        If there is not exactly one class per record, or one is unknown.
    """
    given = np.asarray(said)
    if given.shape not in ((n,), (n, 1)):
        raise InputError(
            f"a model that says classes must say one per record, ({n},), got {given.shape}"
        )
    given = given.reshape(n)
    # Classes that went through a float are 2.0 for 2.
    if given.dtype.kind == "f" and (given == np.rint(given)).all():
        given = given.astype(np.int64)
    if given.dtype.kind == "b":
        given = given.astype(np.int64)
    called = given.astype(np.str_)
    known = np.array(names or [str(i) for i in range(n_classes)])
    numbers = np.array([str(i) for i in range(n_classes)])
    # A model that was trained on numbers predicts numbers, although the classes have names.
    known = known if np.isin(called, known).all() else numbers
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known, called, sorter=order), n_classes - 1)
    found = order[place]
    wrong = np.flatnonzero(known[found] != called)
    if len(wrong):
        raise InputError(
            f"the model says {str(called[wrong[0]])!r}, and the classes are "
            f"{checks.short_list(names or numbers.tolist())}: it must say one of them for each "
            "record"
        )
    return found.astype(np.int64)


@dataclass(frozen=True)
class TrainsLabels:
    """A training function, wrapped so that its models put probability 1 on predicted classes."""

    func: Callable[[Any, Ints, int], Any]
    """Takes records, classes and a random state; returns a trained model of any kind."""
    n_classes: int
    """Number of classes."""
    names: tuple[str, ...] = ()
    """Names that its models may use for the classes."""

    def __call__(self, x: Any, y: Ints, random_state: int) -> Says:
        """Return a trained model."""
        return Says(self.func(x, y, random_state), self.n_classes, self.names)


@dataclass(frozen=True)
class MakesLabels:
    """A factory of estimators, wrapped so that they put probability 1 on the class they predict."""

    func: Callable[[int], Any]
    """Takes a random state; returns an untrained estimator."""

    def __call__(self, random_state: int) -> Any:
        """Return an untrained estimator."""
        made = self.func(random_state)
        return made if hasattr(made, "predict_proba") else HardLabels(made)


@dataclass(frozen=True)
class PredictsLabels:
    """A function that queries models by record numbers, wrapped to return one-hot rows."""

    func: Callable[[Any, Ints], Any]
    """Takes a model and n record numbers; returns classes (n,), or scores (n, k)."""
    n_classes: int
    """Number of classes."""
    names: tuple[str, ...] = ()
    """Names that its models may use for the classes."""

    def __call__(self, model: Any, rows: Ints) -> Any:
        """Return the predicted class as a one-hot row; scores of several classes pass unchanged."""
        said = self.func(model, rows)
        seen = said if hasattr(said, "ndim") else np.asarray(said)
        if seen.ndim > 1 and seen.shape[-1] > 1:
            return said
        return np.eye(self.n_classes)[class_codes(seen, len(rows), self.n_classes, self.names)]


def with_labels(model: object, y: ArrayLike | None = None) -> object:
    """Return a training description whose models put probability 1 on the class that they predict.

    Parameters
    ----------
    model : object
        Any model that `as_trainer` takes, or an estimator without ``predict_proba``.
    y : array_like of int or str, shape (n,), optional
        The classes; default: those of a `Training`.
    """
    if isinstance(model, Training):
        labels = model.labels if y is None else y
        if labels is None:
            return model
        return replace(model, predict=PredictsLabels(model.predict, *_classes(labels)))
    if hasattr(model, "fit"):
        return model if hasattr(model, "predict_proba") else HardLabels(model)
    # Trainers, and what `as_trainer` refuses, stay as they are.
    if isinstance(model, type) or not callable(model) or hasattr(model, "train") or y is None:
        return model
    # A callable makes a model or trains one: its number of arguments tells which.
    required = n_required(model)
    if required == 1:
        return MakesLabels(model)
    return TrainsLabels(model, *_classes(y)) if required == 3 else model


def _classes(y: ArrayLike) -> tuple[int, tuple[str, ...]]:
    """Return the number of classes, and their names."""
    names = class_names(y)
    return (len(names) if names else int(np.max(np.asarray(y))) + 1), names


@dataclass(frozen=True, eq=False)
class Further:
    """Signals of each kind of label-only query, in addition to those of all kinds together."""

    queries: LabelOnlyQueries
    """The label-only queries."""
    target: Mapping[str, Floats]
    """Signal name to the target's (n,) values."""
    pool: Mapping[str, Floats]
    """Signal name to the shadow models' (m, n) values."""

    @property
    def attacks(self) -> tuple[Attack, ...]:
        """Attacks: correctness (the gap attack), each kind of query, all kinds, single records."""
        names = ("correctness", *self.queries.names)
        thresholds = (Threshold(name, per_class=one) for one in (True, False) for name in names)
        return (*thresholds, LearnedRobustness(names), *single_record_attacks("shared"))

    def onto(self, dealt: Round) -> Round:
        """Return a round with these signals added, for targets and shadow records."""
        seen = dealt.observation
        shadow = dealt.observation.shadow
        assert shadow is not None  # there is a pool
        n = len(shadow.member)
        # Shadow records are the rows of the pool's first models, model by model.
        known = {name: values.reshape(-1)[:n] for name, values in self.pool.items()}
        learnt = replace(shadow, signals={**shadow.signals, **known})
        signals = {**seen.signals, **self.target}
        return replace(dealt, observation=replace(seen, signals=signals, shadow=learnt))


def label_predictions(
    model: object,
    x: Held,
    y: Ints,
    member: Bools,
    names: tuple[str, ...],
    queries: LabelOnlyQueries,
    seed: int,
) -> Predictions:
    """Return label-only predictions, q * n rows for q kinds of queries, kind by kind."""
    k = int(y.max()) + 1
    repeat = len(queries.names)
    points, kinds = queries.points(x, y, seed)
    starts = range(0, len(points), BLOCK)
    # In blocks: all queries about all records are many times the records.
    asked = Says(model, k, names)
    parts = (take_records(points, np.arange(i, min(i + BLOCK, len(points)))) for i in starts)
    labels = np.concatenate([asked.predict_proba(part).argmax(axis=1) for part in parts])
    values = label_scores(labels, kinds, y, k).reshape(-1, k)
    rows = np.arange(len(values))
    return Predictions(
        answers=values,
        logits=False,
        labels=np.tile(y, repeat),
        member=np.tile(member, repeat),
        ids=rows,
    )


def merge_queries(
    target: Predictions, pool: Pool, queries: LabelOnlyQueries
) -> tuple[Predictions, Pool, Further]:
    """Return target and pool, averaged over all kinds of queries, and the signals of each kind."""
    # Rows come kind by kind, each kind for all records.
    kinds = len(queries.names)
    k = target.n_classes
    n = len(target) // kinds
    ours = target.values.reshape(kinds, n, k)
    theirs = pool.values.reshape(-1, kinds, n, k)
    y = target.labels[:n]
    rows = np.arange(n)
    further = Further(
        queries,
        {name: ours[i, rows, y] for i, name in enumerate(queries.names)},
        {name: theirs[:, i, rows, y] for i, name in enumerate(queries.names)},
    )
    whole = Predictions(
        answers=ours.mean(axis=0), logits=False, labels=y, member=target.member[:n], ids=rows
    )
    return whole, Pool(theirs.mean(axis=1), False, pool.inside[:, :n], y), further


Train = Callable[[int], TrainedShadows]
"""Function that returns the target and at least the given number of further models, trained by
coins that do not depend on that number."""


def split(
    trained: TrainedShadows, n_shadows: int, n_targets: int = 1
) -> tuple[TrainedShadows, Pool]:
    """Return the target with the first `n_shadows` models, and the models after them as targets.

    Failed models, and those after the last target, are in neither.
    """
    pool = trained.pool
    failed = trained.failed
    # The models' original numbers, before failed ones were left out.
    number = np.delete(np.arange(len(pool) + len(failed)), failed)
    # Places of the first shadow model, the first further target, and the end.
    ends = np.searchsorted(number, (0, n_shadows, n_shadows + n_targets - 1))
    first, rest = (pool.models(slice(a, b)) for a, b in pairwise(ends.tolist()))
    return TrainedShadows(trained.target, first, failed[failed < n_shadows]), rest


def until_narrow(
    train: Train,
    attacks: Sequence[Attack],
    *,
    n_shadows: int,
    width: float,
    features: NDArray[Any] | None = None,
    unit: NDArray[np.int64] | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> SeveralTargets:
    """Return attack results averaged over 8, 16, 32 or 64 targets: the first number that is enough.

    The same shadow models, of a fixed number, attack all targets. Targets are added until no
    interval of an attack's mean AUC is wider than asked for. Only interval widths are examined, at
    numbers of targets that are fixed in advance, so stopping does not bias the results. Attacks
    that could not be played on every target do not count.

    Parameters
    ----------
    train : callable
        Returns the target and at least the given number of further models.
    n_shadows : int
        Number of the adversary's shadow models, the first of the further models; the others are
        targets.
    width : float
        Half-width of the intervals, in (0, 1/2).
    features : ndarray, shape (n, d), optional
        Features of the records, for attacks that use them.
    unit : ndarray of int, shape (n,), optional
        Unit of each record.
    seed : int
        Seed; the first target's scores equal those of an audit with this seed.

    Raises
    ------
    InputError
        If no attack could be played.
    """
    found: list[list[Transcript | None]] = [[] for _ in attacks]
    for n in LOOKS:
        trained, further = split(train(n_shadows + n - 1), n_shadows, n)
        target = trained.target
        assert target is not None  # without an attack there is nothing to add targets to
        targets = [
            replace(target, unit=unit),
            *(
                replace(target, unit=unit, answers=answers, member=member)
                for answers, member in zip(further.answers, further.inside, strict=True)
            ),
        ]
        # Targets of earlier looks keep their results: only new ones are attacked.
        for number in range(len(found[0]), len(targets)):
            game = PoolGame(targets[number], trained.pool, features)
            for scores, attack in zip(found, attacks, strict=True):
                role = ("attack", attack.name, attack.variant, attack.thresholds)
                # By attack and target, so that further targets change no earlier score.
                rng = seeds.stream(seed, *role, number)
                played = play(attack, [game.round()], [rng])
                scores.append(None if isinstance(played, Skipped) else played.transcript)
        over = []
        for x, of_targets in zip(attacks, found, strict=True):
            transcripts = tuple(one for one in of_targets if one is not None)
            # An attack that was skipped on a target has no mean over all of them.
            if transcripts and len(transcripts) == len(of_targets):
                over.append(OverTargets(title(x.name, x.variant, x.thresholds), transcripts, level))
        if not over:
            raise InputError("no attack could be played on every target: give one that fits")
        if half_width(over) <= width:
            break
    return SeveralTargets(tuple(over), width, len(targets), len(trained.pool))


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model that is already trained, and the records it was trained on."""

    model: object
    """An object with ``predict_proba``, a PyTorch or Keras module, a function from records to
    probabilities or logits (see `answers_of`), its predictions, or a model as a `Training` takes
    it."""
    member: ArrayLike
    """(n,) True where the record was in its training set."""
    classes: Sequence[str] = ()
    """(k,) The model's names for the classes 0..k-1; not needed if `y` holds these names."""


def ask_fitted(
    fitted: Fitted, about: TrainingSetup, label_only: LabelOnlyQueries | None, seed: int
) -> Predictions:
    """Return the predictions of a model that is already trained, for the user's records."""
    member = checks.bools(fitted.member, "member", length=len(about.y))
    if isinstance(fitted.model, Predictions):
        # Label-only predictions hold all records once per kind of query.
        return replace(fitted.model, member=np.resize(member, len(fitted.model)))
    k = int(about.y.max()) + 1
    names = tuple(fitted.classes) or about.names
    if label_only is not None and not label_only.views:
        return label_predictions(
            fitted.model,
            about.x,
            y=about.y,
            member=member,
            names=names,
            queries=label_only,
            seed=seed,
        )
    if isinstance(about.trainer, ByRows):
        by_rows = replace(about.trainer, names=names)
        said = finite_answers(*by_rows.answers(fitted.model, about.x.numbers, k), k)
        if label_only is not None:
            said = replace(said, values=told_of_views(said.values, k), logits=False)
    elif queries_of(about.trainer) > 1:
        views = getattr(about.trainer, "views", None)
        asked = about.x[:, None] if views is None else np.stack(list(views(about.x)), axis=1)
        # Views are asked about as further records, since a fitted model knows no queries.
        flat = asked.reshape(-1, *asked.shape[2:])
        said = answers_of(fitted.model, flat, k, names)
        said = replace(said, values=said.values.reshape(*asked.shape[:2], k))
    else:
        said = answers_of(fitted.model, about.x, k, names)
    given: dict[str, Any] = {"labels": about.y, "member": member, **said.named}
    return predictions(**given, name="target model").with_notes(said.notes)
