"""The algorithm that was given, all of it: whatever is fitted is fitted again without the record.

Each pipeline is compared with brute force: a copy of it is trained without the record, on records
of the very kind that was given, and asked about the record and about every query that was made up.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from privacygauge.claims.dtp.indirect import queries_within
from privacygauge.claims.dtp.naive_bayes import NaiveBayes
from privacygauge.claims.dtp_audit.audit import audit_dtp
from privacygauge.classifiers.held import is_frame, take_records
from privacygauge.classifiers.learner import logs
from privacygauge.classifiers.ratios import log_ratio
from privacygauge.core import seeds
from privacygauge.core.checks import Floats, Ints

N = 60
ROWS = (0, 7, 23, 41, 59)
QUERIES = 24


def linear() -> LogisticRegression:
    return LogisticRegression(tol=1e-10, max_iter=10_000)


def classes() -> Ints:
    y = np.random.default_rng(2).integers(0, 2, N)
    y[:4] = (0, 1, 0, 1)
    return y


def numbers() -> Floats:
    """Columns of unlike size, one with an outlier, none of which holds a 0."""
    rng = np.random.default_rng(3)
    x = rng.lognormal(size=(N, 4)) * (1, 100, 0.01, 5) + (0, 1000, 0, 2)
    x[7, 1] = 9000
    x[:, 0] += classes()
    return x


def with_gaps() -> Floats:
    x = numbers()
    x[5::9, 2] = np.nan
    return x


def codes() -> Floats:
    """Codes of categories 10, 20, 30, the last of which stands in two rows of a column."""
    rng = np.random.default_rng(4)
    x = rng.choice([10.0, 20.0], size=(N, 3))
    x[[7, 30], 0] = 30.0
    return x


def counts() -> Ints:
    return np.random.default_rng(5).poisson(1.5, size=(N, 5))


def words() -> np.ndarray:
    rng = np.random.default_rng(6)
    return rng.choice(np.array(["red", "green", "blue"], object), size=(N, 3))


def frame() -> pd.DataFrame:
    """Texts, categories, truth values, whole numbers, numbers with gaps, and dates."""
    rng = np.random.default_rng(7)
    ward = pd.Categorical(rng.choice(["a", "b", "c"], N), categories=["a", "b", "c", "never"])
    return pd.DataFrame(
        {
            "job": rng.choice(["nurse", "cook", "clerk"], N),
            "ward": ward,
            "smokes": rng.random(N) < 0.3,
            "age": rng.integers(18, 90, N),
            "dose": with_gaps()[:, 2],
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), "D"),
        },
        index=[f"patient {i}" for i in range(N)],
    )


def polars_frame() -> pl.DataFrame:
    rng = np.random.default_rng(8)
    job = rng.choice(["nurse", "cook", "clerk"], N)
    return pl.DataFrame({"job": job, "age": rng.integers(18, 90, N), "dose": numbers()[:, 2]})


def texts() -> list[str]:
    rng = np.random.default_rng(9)
    known = np.array(["pain", "fever", "cough", "rash", "none", "well"])
    return [" ".join(rng.choice(known, rng.integers(2, 6))) for _ in range(N)]


def mixed(last: object, *, age: object = None) -> object:
    """Return a pipeline of columns by name, each with an encoder or a scaler of its own."""
    parts = [
        ("texts", OneHotEncoder(), ["job", "ward"]),
        ("age", StandardScaler() if age is None else age, ["age"]),
        ("dose", make_pipeline(SimpleImputer(strategy="median"), RobustScaler()), ["dose"]),
        ("smokes", "passthrough", ["smokes"]),
    ]
    return make_pipeline(ColumnTransformer(parts), last)


class YearOf(BaseEstimator, TransformerMixin):
    """The year of a date: it refuses what does not look like one."""

    def fit(self, x: pd.DataFrame, y: object = None) -> YearOf:
        return self

    def transform(self, x: pd.DataFrame) -> Floats:
        return np.column_stack([x[name].dt.year for name in x]).astype(float)


class NamedColumns(ClassifierMixin, BaseEstimator):
    """Naive Bayes of two columns that it finds by their names, at training and when asked."""

    def fit(self, x: pd.DataFrame, y: Ints) -> NamedColumns:
        self.classes_ = np.unique(y)
        self.inner_ = GaussianNB().fit(x[["age", "smokes"]].to_numpy(float), y)
        return self

    def predict_proba(self, x: pd.DataFrame) -> Floats:
        return self.inner_.predict_proba(x[["age", "smokes"]].to_numpy(float))


class Case(NamedTuple):
    name: str
    model: object
    records: Callable[[], Any]


CASES = [
    Case("standard scaler", make_pipeline(StandardScaler(), linear()), numbers),
    Case("min-max scaler", make_pipeline(MinMaxScaler(), linear()), numbers),
    Case("robust scaler", make_pipeline(RobustScaler(), KNeighborsClassifier()), numbers),
    Case(
        "quantiles",
        make_pipeline(QuantileTransformer(n_quantiles=10, random_state=0), linear()),
        numbers,
    ),
    Case("bins", make_pipeline(KBinsDiscretizer(5, quantile_method="linear"), linear()), numbers),
    Case(
        "polynomials",
        make_pipeline(StandardScaler(), PolynomialFeatures(2), linear()),
        numbers,
    ),
    Case("components", make_pipeline(StandardScaler(), PCA(2), linear()), numbers),
    Case("k best", make_pipeline(SelectKBest(k=2), StandardScaler(), linear()), numbers),
    Case(
        "selected by a model",
        make_pipeline(StandardScaler(), SelectFromModel(linear()), GaussianNB()),
        numbers,
    ),
    Case(
        "eliminated",
        make_pipeline(StandardScaler(), RFE(linear(), n_features_to_select=2), linear()),
        numbers,
    ),
    Case(
        "variance threshold",
        make_pipeline(VarianceThreshold(0.01), LinearDiscriminantAnalysis()),
        numbers,
    ),
    Case("median of gaps", make_pipeline(SimpleImputer(), StandardScaler(), linear()), with_gaps),
    Case("neighbours of gaps", make_pipeline(KNNImputer(), StandardScaler(), linear()), with_gaps),
    Case("gaps as they are", HistGradientBoostingClassifier(max_iter=3, random_state=0), with_gaps),
    Case("one-hot codes", make_pipeline(OneHotEncoder(), linear()), codes),
    Case("ordinal codes", make_pipeline(OrdinalEncoder(), CategoricalNB()), codes),
    Case("one-hot texts", make_pipeline(OneHotEncoder(), BernoulliNB()), words),
    Case(
        "ordinal texts",
        make_pipeline(OrdinalEncoder(), DecisionTreeClassifier(random_state=0)),
        words,
    ),
    Case("target encoding", make_pipeline(TargetEncoder(random_state=0), linear()), words),
    Case("counts", make_pipeline(VarianceThreshold(), MultinomialNB()), counts),
    Case("one-hot counts", make_pipeline(OneHotEncoder(handle_unknown="ignore"), linear()), counts),
    Case("columns by name", mixed(linear()), frame),
    Case("one-hot ages", mixed(linear(), age=KBinsDiscretizer(4, quantile_method="linear")), frame),
    Case("trees of a frame", mixed(RandomForestClassifier(5, random_state=0)), frame),
    Case(
        "columns by type",
        make_pipeline(
            ColumnTransformer(
                [
                    ("t", OneHotEncoder(), make_column_selector(dtype_include="category")),
                    ("n", MinMaxScaler(), make_column_selector(dtype_include="int64")),
                ]
            ),
            linear(),
        ),
        frame,
    ),
    Case(
        "dates",
        make_pipeline(ColumnTransformer([("y", YearOf(), ["seen"])]), OrdinalEncoder(), linear()),
        frame,
    ),
    Case("own model of named columns", NamedColumns(), frame),
    Case(
        "polars",
        make_pipeline(
            ColumnTransformer(
                [("t", OneHotEncoder(), ["job"]), ("n", StandardScaler(), ["age", "dose"])]
            ),
            linear(),
        ),
        polars_frame,
    ),
    Case("words of texts", make_pipeline(CountVectorizer(), MultinomialNB()), texts),
    Case("weights of texts", make_pipeline(TfidfVectorizer(), linear()), texts),
    Case(
        "lengths beside words",
        make_pipeline(
            FeatureUnion(
                [
                    ("words", CountVectorizer()),
                    ("length", FunctionTransformer(lambda x: np.array([[len(t)] for t in x]))),
                ]
            ),
            MaxAbsScaler(),
            linear(),
        ),
        texts,
    ),
    Case(
        "calibrated",
        CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC(kernel="linear")), cv=2),
        numbers,
    ),
    Case(
        "calibrated by steps",
        make_pipeline(
            OneHotEncoder(), CalibratedClassifierCV(BernoulliNB(), method="isotonic", cv=2)
        ),
        codes,
    ),
    Case(
        "stacking",
        StackingClassifier(
            [("nb", GaussianNB()), ("scaled", make_pipeline(StandardScaler(), linear()))], cv=2
        ),
        numbers,
    ),
    Case(
        "stacking of texts",
        make_pipeline(OneHotEncoder(), StackingClassifier([("nb", BernoulliNB())], linear(), cv=2)),
        words,
    ),
    Case(
        "voting",
        VotingClassifier(
            [("a", make_pipeline(MinMaxScaler(), linear())), ("b", GaussianNB())], voting="soft"
        ),
        numbers,
    ),
    Case(
        "grid search",
        GridSearchCV(
            make_pipeline(StandardScaler(), linear()), {"logisticregression__C": [0.1, 1]}, cv=2
        ),
        numbers,
    ),
    Case(
        "bagging",
        BaggingClassifier(make_pipeline(StandardScaler(), linear()), 3, random_state=0),
        numbers,
    ),
    Case(
        "boosting",
        make_pipeline(OneHotEncoder(), AdaBoostClassifier(n_estimators=3, random_state=0)),
        codes,
    ),
]


def answers(model: Any, x: Any, y: Ints, asked: Any) -> Floats:
    """Return log probabilities that a copy trained on the records gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(model).fit(x, y)
        if hasattr(fitted, "predict_log_proba"):
            return fitted.predict_log_proba(asked)  # probabilities may round to 0
        return logs(fitted.predict_proba(asked))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_pipeline_equals_brute_force(case: Case) -> None:
    records = case.records()
    held = np.array(records, object) if isinstance(records, list) else records
    y = classes()
    found = audit_dtp(case.model, records, y, rows=ROWS, bin_width=0, queries=QUERIES, seed=1)
    assert found.rows.tolist() == list(ROWS)
    queries = queries_within(held, QUERIES, seeds.stream(1, "dtp", "queries"))
    everybody = np.arange(N)
    whole = answers(case.model, held, y, held)
    told = answers(case.model, held, y, queries)
    own = []
    shown = []
    for row in ROWS:
        rest = np.delete(everybody, row)
        without = answers(case.model, take_records(held, rest), y[rest], take_records(held, [row]))
        asked = answers(case.model, take_records(held, rest), y[rest], queries)
        own.append(log_ratio(whole[row], without[0]))
        shown.append(max(own[-1], log_ratio(told, asked).max()))
    assert_allclose(found.pdtp, own, atol=1e-6, rtol=1e-6)
    assert_allclose(found.dtp.low, shown, atol=1e-6, rtol=1e-6)
    assert not any("cannot be trained" in line for line in found.origin.warnings)


@pytest.mark.parametrize(
    "records", [numbers, with_gaps, codes, counts, words, frame, polars_frame, texts]
)
def test_queries_are_of_the_kind_of_the_records(records: Callable[[], Any]) -> None:
    """Every value is one that its column has, or lies between two of numbers that all differ."""
    given = records()
    x = np.array(given, object) if isinstance(given, list) else given
    queries = queries_within(x, 30, np.random.default_rng(0))
    assert type(queries) is type(x)
    assert 10 <= len(queries) <= 31
    columns = [x[name] for name in x.columns] if is_frame(x) else list(x.reshape(N, -1).T)
    asked = (
        [queries[name] for name in x.columns]
        if is_frame(x)
        else list(queries.reshape(len(queries), -1).T)
    )
    assert len(columns) == len(asked)
    for column, values in zip(columns, asked, strict=True):
        assert values.dtype == column.dtype
        known = {value for value in column if value == value}
        new = [value for value in values if value == value and value not in known]
        if not new:
            continue
        assert column.dtype in (np.float64, pl.Float64)
        assert min(known) <= min(new) <= max(new) <= max(known)
        assert len(known) > len(column) / 2


@pytest.mark.parametrize("model", [GaussianNB(), KNeighborsClassifier(3), NaiveBayes((None,) * 4)])
@pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame])
def test_frames_of_numbers_give_what_their_arrays_give(
    model: Any, frame_of: Callable[..., Any]
) -> None:
    """Also where a shortcut spares the refits, or a learner leaves records out itself."""
    x = numbers()
    columns = {f"column {j}": column for j, column in enumerate(x.T)}
    framed = audit_dtp(model, frame_of(columns), classes(), rows=ROWS, queries=QUERIES)
    plain = audit_dtp(model, x, classes(), rows=ROWS, queries=QUERIES)
    assert_allclose(framed.pdtp, plain.pdtp, atol=1e-12)
    assert_allclose(framed.dtp.low, plain.dtp.low, atol=1e-12)
    assert framed.method == plain.method


def test_class_weights_name_the_classes_as_the_labels_do() -> None:
    y = np.where(classes() == 1, "yes", "no")
    model = LogisticRegression(class_weight={"yes": 3.0, "no": 1.0}, tol=1e-10, max_iter=10_000)
    x = numbers()[:, :1]
    found = audit_dtp(model, x, y, rows=[0, 7], bin_width=0, queries=0)
    whole = model.fit(x, y).predict_log_proba(x)
    for row, value in zip(found.rows, found.pdtp, strict=True):
        rest = np.delete(np.arange(N), row)
        without = model.fit(x[rest], y[rest]).predict_log_proba(x[[row]])
        assert_allclose(value, log_ratio(whole[row], without[0]), atol=1e-6)


def test_the_page_names_the_steps_of_a_pipeline() -> None:
    model = make_pipeline(OneHotEncoder(), CalibratedClassifierCV(BernoulliNB(), cv=2))
    found = audit_dtp(model, codes(), classes(), rows=[0], queries=0)
    assert found.model == "Pipeline: OneHotEncoder, CalibratedClassifierCV (BernoulliNB)"
    assert found.model in found.to_html()
    assert audit_dtp(GaussianNB(), numbers(), classes(), rows=[0]).model == "GaussianNB"
