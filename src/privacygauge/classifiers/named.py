"""Models by their names on the command line, models of the user, and those of a finished run."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.answers import is_askable
from privacygauge.classifiers.estimators import ProbabilisticClassifier, as_trainer, n_required
from privacygauge.classifiers.networks import Networks
from privacygauge.classifiers.predictions import Predictions, predictions
from privacygauge.classifiers.trainer import Cohort, Trainer
from privacygauge.core.checks import Bools, Ints
from privacygauge.errors import InputError
from privacygauge.runs.named import import_object, names_code
from privacygauge.runs.plugins import names_with_plugins
from privacygauge.runs.source import Code, RecordedCode
from privacygauge.runs.store import read_run

if TYPE_CHECKING:
    import torch


def forest(random_state: int) -> ProbabilisticClassifier:
    """Return an untrained random forest with scikit-learn's defaults."""
    from sklearn.ensemble import RandomForestClassifier

    model: ProbabilisticClassifier = RandomForestClassifier(random_state=random_state, n_jobs=1)
    return model


def boosting(random_state: int) -> ProbabilisticClassifier:
    """Return untrained gradient boosting with scikit-learn's defaults."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model: ProbabilisticClassifier = HistGradientBoostingClassifier(random_state=random_state)
    return model


def logistic(random_state: int) -> ProbabilisticClassifier:
    """Return an untrained logistic regression on standardised features."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    steps = (StandardScaler(), LogisticRegression(max_iter=1000, random_state=random_state))
    model: ProbabilisticClassifier = make_pipeline(*steps)
    return model


def naive_bayes(random_state: int) -> ProbabilisticClassifier:
    """Return an untrained Gaussian naive Bayes classifier."""
    from sklearn.naive_bayes import GaussianNB

    model: ProbabilisticClassifier = GaussianNB()
    return model


def nearest(random_state: int) -> ProbabilisticClassifier:
    """Return an untrained classifier by the five nearest neighbours in standardised features."""
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model: ProbabilisticClassifier = make_pipeline(StandardScaler(), KNeighborsClassifier())
    return model


# Models of ``--model``.
ESTIMATORS: dict[str, Callable[[int], ProbabilisticClassifier]] = {
    "random-forest": forest,
    "gradient-boosting": boosting,
    "logistic": logistic,
    "naive-bayes": naive_bayes,
    "nearest": nearest,
}
NETWORKS = ("network", "network-large")
"""Networks of ``--model``: one hidden layer of 64 tanh units (Long et al. 2017), and four layers of
ReLU (Song & Mittal 2021)."""


def fitted_model(name: str, *, labels: bool = False, anything: bool = False) -> object:
    """Return the trained model called FILE.py:NAME, or returned by a function of that name.

    With `labels`, a model that predicts only classes is accepted; with `anything`, any object is.
    """
    found = import_object(name)
    made = inspect.isroutine(found) and n_required(found) == 0
    model = found() if made else found
    enough = anything or (labels and hasattr(model, "predict"))
    if not enough and not is_askable(model):
        raise InputError(
            f"--fitted must name a model with predict_proba, or a function that returns one; "
            f"{name} gives {type(model).__name__}"
        )
    return model


# Settings in a plan that are not part of a trainer's description, and those of `Networks`.
_NOT_DESCRIBED = frozenset(
    {"trainer", "steps", "data", "training sets", "asked", "training set", "bins", "answers"}
    | {"versions"}
)
_SETTINGS = ("epochs", "batch_size", "optimiser", "learning_rate", "momentum", "weight_decay")


@dataclass(frozen=True)
class RecordedTrainer(RecordedCode):
    """Placeholder for the trainer of a finished run, without the user's code."""

    name: str
    """Name of the kind of model, as reports print it."""
    logits: bool
    """Whether the run holds logits."""
    description: Mapping[str, Any]
    """The trainer's own description, as the plan records it."""
    code: Code
    """The user's code behind it."""
    dtype: str = "float32"
    """Dtype of the logits."""
    queries: int = 1
    """Queries per record, at least 1."""
    steps: str = ""
    """Steps of a pipeline; empty for other models."""

    def describe(self) -> Mapping[str, Any]:
        """Return the recorded description of the trainer."""
        return self.description

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Raise: there is nothing to train with."""
        _refuse(self.name)


@dataclass(frozen=True, repr=False)
class RecordedMake(RecordedCode):
    """Placeholder for the network factory of a run."""

    name: str
    """Name of the kind of model, as reports print it."""
    description: Mapping[str, Any] = field(compare=False)
    """Identifying settings, as `Networks.describe` writes them."""
    code: Code = field(compare=False)
    """The user's code behind it."""

    def __repr__(self) -> str:
        return self.name

    def __call__(self, n_features: int, n_classes: int) -> torch.nn.Module:
        """Raise: there is nothing to make networks with."""
        _refuse(self.name)


def trainer_named(name: str, run: Path | None) -> Trainer:
    """Return the trainer that a name refers to, or its placeholder if `run` is a finished run.

    A name is built in, or FILE.py:NAME or MODULE:NAME; with a run, the user's code is not run
    again.
    """
    if run is not None and names_code(name):
        return recorded_trainer(run)
    named: object
    if name in ESTIMATORS:
        named = ESTIMATORS[name]
    elif name in NETWORKS:
        from privacygauge.classifiers.networks import LONG_2017, SONG_MITTAL_2021_RELU, Networks

        named = Networks(LONG_2017 if name == "network" else SONG_MITTAL_2021_RELU)
    else:
        if ":" not in name:
            known = names_with_plugins("models", ", ".join([*ESTIMATORS, *NETWORKS]))
            raise InputError(
                f"--model must be one of {known}, or FILE.py:NAME or MODULE:NAME of your own, got "
                f"{name!r}"
            )
        named = import_object(name)
    return as_trainer(named)


def recorded_trainer(run: str | Path) -> Trainer:
    """Return the placeholder for a run's trainer: the undefended one if there are several.

    Raises
    ------
    InputError
        If the folder holds no run, or one that trained no classifiers.
    """
    plan = read_run(run).plan
    known: dict[str, Any] = json.loads(plan.to_json())["settings"]
    # A run of several trainings keeps the undefended one's settings apart.
    settings = known.get("undefended", known)
    said = {name: value for name, value in settings.items() if name not in _NOT_DESCRIBED}
    name = str(settings.get("trainer", ""))
    if not name:
        raise InputError(f"{run} holds no trained models")
    # Networks of this package can be trained again; others stay placeholders.
    if {"make", *_SETTINGS, "dtype", "device"} <= set(said) and "augment" not in said:
        given = {key: said[key] for key in (*_SETTINGS, "dtype", "device")}
        scaled = bool(said.get("own_scale", False))
        return Networks(RecordedMake(name, said["make"], plan.code), own_scale=scaled, **given)
    spec = plan.arrays.get("prediction") or next(iter(plan.arrays.values()))
    queries = dict(zip(spec.dims, spec.shape, strict=True)).get("query", 1)
    steps = str(settings.get("steps", ""))
    # A trainer that gives logits adds the version of torch to its plan.
    logits = "torch" in plan.settings.get("versions", {})
    return RecordedTrainer(
        name,
        logits=logits,
        description=said,
        code=plan.code,
        dtype=spec.dtype,
        queries=queries,
        steps=steps,
    )


def recorded_target(run: str | Path, member: Bools, y: Ints) -> Predictions:
    """Return a run's recorded predictions of the existing model that was given to it.

    Raises
    ------
    InputError
        If the run does not hold them.
    """
    opened = read_run(run)
    logits = "target_logits" in opened.static
    if not logits and "target" not in opened.static:
        raise InputError(
            f"{run} does not hold the predictions of the model that it audits: start it again in "
            "another folder"
        )
    values = np.asarray(opened.array("target_logits" if logits else "target")[:])
    given: dict[str, Any] = {"logits" if logits else "probs": values}
    return predictions(labels=y, member=member, name="target model", **given)


def _refuse(name: str) -> NoReturn:
    raise InputError(
        f"the run does not hold all that its report needs of {name}: privacygauge resume goes on, "
        "given the model"
    )
