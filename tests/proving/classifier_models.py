"""Worlds of real small models: made-up tables or digits, and models that are trained on them.

Where nothing leaks the model was trained on other records than those of the audit, whose membership
is a coin: no attack can know it. Where it leaks the model was trained on the members.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tests.proving.classifier_rows import SHARE, Rows
from tests.proving.world import World

Array = NDArray[np.float64]


class Model(Protocol):
    """What is trained."""

    def fit(self, x: Array, y: NDArray[np.int64]) -> Model: ...

    def predict_proba(self, x: Array) -> Array: ...


MODELS: Mapping[str, Callable[[int], Any]] = {
    "tree": lambda seed: DecisionTreeClassifier(min_samples_leaf=3, random_state=seed),
    "forest": lambda seed: RandomForestClassifier(25, random_state=seed, n_jobs=1),
    "boosting": lambda seed: GradientBoostingClassifier(n_estimators=15, random_state=seed),
    "logistic": lambda seed: make_pipeline(StandardScaler(), LogisticRegression(C=100)),
    "weighted": lambda seed: make_pipeline(
        StandardScaler(), LogisticRegression(C=100, class_weight="balanced")
    ),
    "bayes": lambda seed: GaussianNB(),
    "neighbours": lambda seed: KNeighborsClassifier(5),
    "calibrated": lambda seed: CalibratedClassifierCV(
        RandomForestClassifier(25, random_state=seed, n_jobs=1), method="isotonic", cv=3
    ),
    "stacking": lambda seed: StackingClassifier(
        [("tree", DecisionTreeClassifier(max_depth=4, random_state=seed)), ("bayes", GaussianNB())],
        cv=3,
    ),
}
"""Small models by name, each from a random state."""


def records(
    world: World, chosen: Mapping[str, str], role: str, n: int
) -> tuple[Array, NDArray[np.int64]]:
    """Return features (n, d) and classes of records that any role draws independently."""
    rng = world.rng(f"{role} features")
    if chosen["data"] == "digits":
        x, y = _digits()
        third = {"target": 0, "shadow": 1, "other": 2}.get(role, 0)
        some = np.array_split(world.rng("digits").permutation(len(x)), 3)[third]
        return x[some[:n]], y[some[:n]]
    k = min(int(chosen["classes"]), 10)
    d = 8
    centres = world.rng("centres").normal(size=(k, d))
    y = rng.integers(k, size=n)
    x = centres[y] * 0.9 + rng.normal(size=(n, d))
    if chosen["data"] == "adult":  # numbers beside codes, as in a census
        x[:, 4] = np.digitize(x[:, 4], [-1, 0, 1])
        x[:, 5] = np.round(np.exp(x[:, 5] / 2 + 3))
        x[:, 6] = x[:, 6] > 0.5
        flipped = rng.random(n) < 0.1
        y = np.where(flipped, rng.integers(k, size=n), y)
    return x, y.astype(np.int64)


@cache
def _digits() -> tuple[Array, NDArray[np.int64]]:
    x, y = load_digits(return_X_y=True)
    return x, y


def frame(x: Array, y: NDArray[np.int64]) -> pd.DataFrame:
    """Return the records as a table with a column `label`."""
    found = pd.DataFrame(x, columns=[f"f{i}" for i in range(x.shape[1])])
    found["label"] = y
    return found


def trained(
    world: World, chosen: Mapping[str, str], x: Array, y: NDArray[np.int64], role: str
) -> Any:
    """Return a model that was trained on records."""
    seed = int(world.rng(f"{role} model").integers(1 << 31))
    return MODELS[chosen["source"]](seed).fit(x, y)


def rows(
    world: World,
    chosen: Mapping[str, str],
    role: str = "target",
    *,
    of: str | None = None,
    split: str | None = None,
) -> Rows:
    """Return the rows of a trained model's file: about its own records, or those `of` another role.

    With `split` its members are those of that role.
    """
    x, y = records(world, chosen, of or role, int(chosen["n"]))
    n = len(y)
    n_in = round(n * SHARE.get(chosen["share"], 0.5))
    member = world.rng(f"{split or role} bits").permutation(n) < max(n_in, 10)
    seen_x = x[member]
    seen_y = y[member]
    if chosen["release"] == "none":
        # Digits are too few for others of its own; a made-up table is drawn anew.
        others = "other" if chosen["data"] == "digits" else f"{role} other"
        seen_x, seen_y = records(world, chosen, others, n)
    if role == "target" and chosen["release"] != "none":
        if chosen["mistake"] == "refit-on-all":
            seen_x = x
            seen_y = y
        elif chosen["mistake"] == "other-model":
            other = world.rng("other model").permutation(member)
            seen_x = x[other]
            seen_y = y[other]
    answers = _answers(trained(world, chosen, seen_x, seen_y, role), x, chosen)
    if role == "target" and chosen["mistake"] == "cross-validated":
        answers = _crossed(world, chosen, x, y)
    person = np.arange(n)
    margin = np.maximum(answers[person, y], -60.0)
    found = Rows(
        person,
        y,
        member,
        answers,
        margin,
        np.ones(n, bool),
        np.maximum(answers, -60.0),
        np.zeros(n),
    )
    if chosen["repeats"] == "appended":
        return found.taken(np.concatenate([person, person]))
    return found.taken(np.repeat(person, 5)) if chosen["repeats"] == "five" else found


def _crossed(world: World, chosen: Mapping[str, str], x: Array, y: NDArray[np.int64]) -> Array:
    """Return what each half's model says of the other half, as cross_val_predict does."""
    half = world.rng("halves").permutation(len(y)) < len(y) // 2
    found = np.zeros((len(y), _n_classes(chosen)))
    for side in (half, ~half):
        found[~side] = _answers(trained(world, chosen, x[side], y[side], "half"), x[~side], chosen)
    return found


def pool(world: World, chosen: Mapping[str, str], inside: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the log-probabilities (k, n, c) of models trained on those who are inside each."""
    x, y = records(world, chosen, "target", int(chosen["n"]))
    other_x, other_y = records(world, chosen, "other", len(y))
    found = []
    for number, own in enumerate(inside):
        seen = (x[own], y[own])
        if chosen["release"] == "none":  # trained on others, as the target was
            some = world.rng(f"pool{number} others").random(len(other_y)) < 0.7
            seen = (other_x[some], other_y[some])
        found.append(_answers(trained(world, chosen, *seen, f"pool{number}"), x, chosen))
    return np.array(found)


def _n_classes(chosen: Mapping[str, str]) -> int:
    return 10 if chosen["data"] == "digits" else min(int(chosen["classes"]), 10)


def _answers(model: Any, x: Array, chosen: Mapping[str, str]) -> Array:
    """Return log-probabilities of all classes; one that the training did not have has none."""
    k = _n_classes(chosen)
    probs = np.zeros((len(x), k))
    probs[:, model.classes_.astype(int)] = model.predict_proba(x)
    with np.errstate(divide="ignore"):  # trees and naive Bayes are sure: no chance at all
        found: Array = np.log(probs)
    return found
