"""Models that hold training rows, and models that hold none, with the table of their training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import DBSCAN
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, KernelPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.impute import KNNImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, LocalOutlierFactor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

N = 200
NUMBERS = ["age", "income", "bmi", "dose"]


def people(seed: int = 0, n: int = N) -> pd.DataFrame:
    """Return made-up people with a label: whole numbers, decimals and texts."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.gamma(2.0, 15_000, n).round(2),
            "bmi": rng.normal(25, 4, n).round(1),
            "dose": rng.normal(size=n),
            "town": rng.choice(["Leeds", "York", "Hull"], n),
        }
    )
    frame["sick"] = (frame["income"] + rng.normal(0, 10_000, n) > 30_000).astype(int)
    return frame


HOLD: dict[str, Any] = {
    "neighbours": lambda: [KNeighborsClassifier()],
    "support vectors": lambda: [SVC()],
    "kernel ridge": lambda: [KernelRidge(kernel="rbf")],
    "a Gaussian process": lambda: [GaussianProcessClassifier(random_state=0)],
    "local outliers": lambda: [LocalOutlierFactor(novelty=True)],
    "label spreading": lambda: [LabelSpreading()],
    "an imputer": lambda: [KNNImputer(), LogisticRegression(max_iter=5000)],
    "Nystroem": lambda: [Nystroem(n_components=30, random_state=0), LogisticRegression()],
    # A width that suits columns that are not scaled: else all eigenvalues are alike, and LAPACK may
    # return none of the largest.
    "kernel PCA": lambda: [KernelPCA(3, kernel="rbf", gamma=1e-4), LogisticRegression()],
    "DBSCAN": lambda: [DBSCAN(eps=1.0, min_samples=1)],
}
"""Steps at the end of a pipeline, the first of which holds rows."""

LEAST = {"Nystroem": 30, "support vectors": 20}
"""Fewest rows that each holds, where it is not all."""

HOLD_NONE: dict[str, Any] = {
    "logistic regression": lambda: LogisticRegression(max_iter=5000),
    "linear regression": LinearRegression,
    "a forest with large leaves": lambda: RandomForestClassifier(
        20, min_samples_leaf=20, random_state=0
    ),
    "naive Bayes": GaussianNB,
    "a network": lambda: MLPClassifier((30,), max_iter=20, random_state=0),
    "PCA": lambda: PCA(3),
    "boosting with large leaves": lambda: GradientBoostingClassifier(
        n_estimators=20, min_samples_leaf=20, random_state=0
    ),
    "ridge": Ridge,
    "discriminant analysis": LinearDiscriminantAnalysis,
    "gradient descent": lambda: SGDClassifier(random_state=0),
}
"""Models whose arrays hold no row."""


def encoded() -> Any:
    """Return an encoder of numbers and texts, of a kind that most pipelines begin with."""
    return make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), ["town"]))


BEGINNINGS: dict[str, Any] = {
    "alone": lambda: [],
    "scaled": lambda: [StandardScaler()],
    "scaled and one-hot": lambda: [encoded()],
    "projected": lambda: [StandardScaler(), PCA(3)],
}
"""Beginnings of a pipeline."""


def fitted(name: str, beginning: str = "alone") -> tuple[Any, pd.DataFrame]:
    """Return a model that holds rows, and its table with the label ``sick``."""
    frame = people()
    columns = [*NUMBERS, "town"] if "one-hot" in beginning else NUMBERS
    steps = [*BEGINNINGS[beginning](), *HOLD[name]()]
    model = make_pipeline(*steps) if len(steps) > 1 else steps[0]
    return model.fit(frame[columns], frame["sick"]), frame[[*columns, "sick"]]
