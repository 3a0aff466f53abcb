"""Models by their names on the command line, and the user's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from privacygauge.classifier.answers import is_askable
from privacygauge.classifier.estimators import ProbabilisticClassifier, n_required
from privacygauge.errors import InputError
from privacygauge.runs.user_code import import_object


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
    """Return an untrained classifier by the five nearest standardised neighbours."""
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
"""One hidden layer of 64 tanh units (Long et al. 2017); four of ReLU (Song & Mittal 2021)."""


def trainer_by_name(name: str) -> object:
    """Return the trainer or model that `name` refers to: built in, FILE.py:NAME or MODULE:NAME."""
    if name in ESTIMATORS:
        return ESTIMATORS[name]
    if name in NETWORKS:
        from privacygauge.classifier.networks import LONG_2017, SONG_MITTAL_2021_RELU, Networks

        return Networks(LONG_2017 if name == "network" else SONG_MITTAL_2021_RELU)
    if ":" not in name:
        known = ", ".join([*ESTIMATORS, *NETWORKS])
        raise InputError(
            f"--model must be one of {known}, or FILE.py:NAME or MODULE:NAME of your own, got "
            f"{name!r}"
        )
    return import_object(name)


def fitted_model(name: str, *, labels: bool = False, anything: bool = False) -> object:
    """Return the trained model that FILE.py:NAME names, or that a function of that name returns.

    A model that predicts only classes is accepted with `labels`; any object with `anything`.
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
