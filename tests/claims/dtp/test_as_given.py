"""DTP is that of the algorithm that was given: every value against refits made here."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from privacygauge.claims.dtp.measure import CLOSED, TRAINED, DtpMeasurement, TrainingSet
from privacygauge.claims.dtp.naive_bayes import NaiveBayes
from privacygauge.claims.dtp.named import Shortcut
from privacygauge.claims.dtp.nearest import are_tie_free
from privacygauge.claims.dtp_audit.audit import audit_dtp
from privacygauge.core.checks import Floats, Ints
from tests.thorough import THOROUGH

pytestmark = pytest.mark.usefixtures("undrawn")

WIDTHS = (0.0, 0.01)


def refits(model: object, x: Floats, y: Ints, width: float) -> Floats:
    """Return PDTP by scikit-learn alone; infinite where it refuses what is left."""
    both = zip(*answers(model, x, y), strict=True)
    return np.array([ratio(with_it, without, width) for with_it, without in both])


def answers(model: object, x: Floats, y: Ints) -> tuple[Floats, Floats]:
    """Return what each record is told by the model of all records, and by that of all others."""
    everyone = np.arange(len(y))
    k = int(y.max()) + 1
    without = [told(model, x, y, np.delete(everyone, i), k)[i] for i in everyone]
    return told(model, x, y, everyone, k), np.array(without)


def told(model: object, x: Floats, y: Ints, rows: Ints, k: int) -> Floats:
    """Return log probabilities of all records, (n, k); NaN where the model refuses the rows."""
    said = np.full((len(x), k), -np.inf)
    with warnings.catch_warnings(), np.errstate(divide="ignore"):
        warnings.simplefilter("ignore")
        try:
            fitted = clone(model).fit(x[rows], y[rows])
            said[:, fitted.classes_] = logs(fitted, x)
        except (ValueError, IndexError):
            said[:] = np.nan
    return said


def logs(fitted: Any, x: Floats) -> Floats:
    """Return log probabilities, from the scores of a trained estimator where they say the same."""
    p = np.asarray(fitted.predict_proba(x))
    if hasattr(fitted, "predict_joint_log_proba"):
        scores = fitted.predict_joint_log_proba(x)
    elif hasattr(fitted, "decision_function"):
        scores = fitted.decision_function(x)
    else:
        return np.log(p)
    if scores.ndim == 1:
        scores = np.stack([np.zeros(len(x)), scores], axis=1)
    found = np.asarray(log_softmax(scores, axis=1))
    return found if np.allclose(np.exp(found), p, rtol=0, atol=1e-12) else np.log(p)


def ratio(with_it: Floats, without: Floats, width: float) -> float:
    """Return the largest change of a log probability, of bins' centres where there are bins."""
    if np.isnan(with_it).any() or np.isnan(without).any():
        return float("inf")
    changes = [
        0.0 if a == b else abs(centre(a, width) - centre(b, width))
        for a, b in zip(with_it.tolist(), without.tolist(), strict=True)
    ]
    return max(changes)


def centre(log_p: float, width: float) -> float:
    """Return the log of the centre of a probability's bin; itself without bins."""
    if not width:
        return log_p
    number = min(int((np.exp(log_p) + 1e-7) / width), round(1 / width) - 1)
    return float(np.log((number + 0.5) * width))


MODELS = (
    CategoricalNB(),
    CategoricalNB(alpha=0.5, min_categories=12),
    BernoulliNB(),
    MultinomialNB(alpha=0.3),
    GaussianNB(),
    LinearDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(reg_param=0.1),
    KNeighborsClassifier(),
    KNeighborsClassifier(3, algorithm="brute"),
    KNeighborsClassifier(1, algorithm="kd_tree"),
    LogisticRegression(),
)
KINDS = ("plain", "tied", "rounded", "duplicated", "scaled", "moved", "constant")


def table(kind: str, seed: int) -> tuple[Floats, Ints]:
    """Return few records, of up to four classes, as hard as the kind says."""
    rng = np.random.default_rng((seed, KINDS.index(kind)))
    n = int(rng.integers(8, 31))
    d = int(rng.integers(1, 5))
    k = int(rng.integers(2, 5))
    y = np.concatenate([np.arange(k), np.arange(k), rng.integers(0, k, n - 2 * k)])
    if seed % 3 == 0:
        y[0] = 1  # the second of two records of class 0 is its only one now
    x = rng.normal(size=(n, d)) + 2 * rng.random() * y[:, None]
    if kind == "tied":
        x = np.round(x)
    elif kind == "rounded":
        x = np.round(x, 1)
    elif kind == "duplicated":
        x = x[rng.integers(0, n // 3, n)]
    elif kind == "scaled":
        x = x * 10.0 ** rng.integers(-6, 7, d)
    elif kind == "moved":
        x = x * 10.0 ** rng.integers(-3, 4, d) + 10.0 ** rng.integers(-3, 6, d)
    elif kind == "constant":
        x[:, 0] = rng.choice([0.0, 0.1, 1 / 3, 1e5])
        x[rng.integers(0, n), 0] += rng.choice([0.0, 1.0, 1e3])
    return x, y


def suited(model: object, x: Floats) -> Floats:
    """Return the table as the model takes it: codes, bits, counts or numbers."""
    if isinstance(model, CategoricalNB):
        return np.clip(np.abs(np.round(x)), 0, 9)
    if isinstance(model, BernoulliNB):
        return (x > np.median(x)).astype(np.float64)
    return np.abs(x) if isinstance(model, MultinomialNB) else x


def measured(
    model: object, x: Floats, y: Ints, width: float = 0.0, queries: int = 20
) -> DtpMeasurement:
    """Return what is found of all records; what the estimator warns of is known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TrainingSet(model, x, y, width, queries, 0).measured(np.arange(len(y)))


def cases(model: object, seeds: Iterable[int]) -> Iterator[tuple[Floats, Ints, float]]:
    """Yield the tables that the model can be trained on as a whole, with widths of bins."""
    for seed in seeds:
        for kind in KINDS:
            x, y = table(kind, seed)
            x = suited(model, x)
            if not np.isnan(told(model, x, y, np.arange(len(y)), int(y.max()) + 1)).any():
                yield x, y, WIDTHS[(seed + len(x)) % 2]


def assert_as_given(model: object, seeds: Iterable[int]) -> None:
    """Compare with refits, and require that many shortcuts are taken: else nothing is shown."""
    n_cases = n_exact = 0
    for x, y, width in cases(model, seeds):
        found = measured(model, x, y, width)
        # A change of 1e8 is itself rounded to 1e-7 by the scores that it is a difference of.
        assert_allclose(found.pdtp, refits(model, x, y, width), rtol=1e-9, atol=1e-6)
        n_cases = n_cases + 1
        n_exact = n_exact + found.method.startswith(CLOSED)
        assert found.method == TRAINED or (found.checked is not None and found.checked.holds)
    assert n_exact >= n_cases / 3 or isinstance(model, LogisticRegression)


each_model = pytest.mark.parametrize("model", MODELS, ids=repr)


@pytest.mark.slow
@each_model
def test_every_value_is_that_of_a_refit(model: object) -> None:
    few = isinstance(model, LogisticRegression)  # its refits take long
    # In the third table a record is the last but one of its class.
    assert_as_given(model, range(1, 9) if THOROUGH and not few else (3,))


IRIS = load_iris(return_X_y=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "numbers"),
    [
        (
            # Trained to the optimum: a loose tolerance stops lbfgs elsewhere on another processor,
            # and the mean over iris was .0392 on one machine and .0418 on another.
            LogisticRegression(solver="newton-cholesky", tol=1e-12),
            [(0.01, 0.042994281860958085, np.log(5 / 3), 0), (0.0, 0.0374153, 0.2991299, 0)],
        ),
        (
            DecisionTreeClassifier(random_state=0),
            [(0.01, 0.24702089182047635, 5.293304824724492, 7)],
        ),
    ],
)
def test_the_numbers_of_iris(model: object, numbers: list[tuple[float, float, float, int]]) -> None:
    both = [*zip(*answers(model, *IRIS), strict=True)]
    for width, mean, largest, above in numbers:
        found = audit_dtp(model, *IRIS, bin_width=width)
        assert found.mean.value == pytest.approx(mean, abs=5e-7 if width == 0 else 1e-12)
        assert found.highest == pytest.approx(largest, abs=5e-7 if width == 0 else 1e-12)
        assert found.n_above == above
        assert found.method == TRAINED
        assert_allclose(found.pdtp, [ratio(*one, width) for one in both], rtol=0, atol=1e-12)


def test_ties_of_neighbours_are_those_of_scikit_learn() -> None:
    # Ten records at one place: which five of them answer is scikit-learn's own choice.
    x = np.append(np.zeros((10, 1)), np.arange(105.0, 125.0)[:, None], axis=0)
    y = np.arange(30) % 2
    model = KNeighborsClassifier(5)
    found = measured(model, x, y)
    assert_allclose(found.pdtp, refits(model, x, y, 0.0), rtol=0, atol=1e-12)
    assert "20 of 20 refits agree (largest difference 0)" in found.method
    assert "10 further records were refitted" in found.method
    assert found.dtp.method.endswith("queries that ties decide were left out")


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 4])
def test_settled_answers_are_those_of_every_order_of_ties(k: int) -> None:
    rng = np.random.default_rng(k)
    seen = set()
    for _ in range(30):
        x = rng.integers(0, 4, size=(9, 2)).astype(float)
        y = rng.integers(0, 3, size=9)
        queries = rng.integers(0, 7, size=(12, 2)) / 2
        answers = [_answers(x, y, queries, k, rng.permutation(9)) for _ in range(40)]
        known = np.all(np.array(answers) == answers[0], axis=(0, 1, 3))
        found = are_tie_free(x, y, queries, k)
        assert not (found & ~known).any()
        seen.update(found.tolist())
    assert seen == {True, False}


def _answers(x: Floats, y: Ints, queries: Floats, k: int, order: Ints) -> list[list[list[int]]]:
    """Return the counts of classes with all records, then without each, ties in this order."""
    rank = np.argsort(order)
    near = [np.lexsort((rank, ((x - q) ** 2).sum(axis=1))).tolist() for q in queries]
    return [
        [np.bincount(y[[j for j in n if j != gone][:k]], minlength=3).tolist() for n in near]
        for gone in (-1, *range(len(y)))
    ]


@pytest.mark.slow
def test_a_category_that_one_record_alone_has_is_gone_without_it() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, size=(24, 2))
    y = np.arange(24) % 2
    x[7, 1] = 3
    found = measured(CategoricalNB(), x, y)
    assert_allclose(found.pdtp, refits(CategoricalNB(), x, y, 0.0), rtol=0, atol=1e-9)
    assert np.flatnonzero(np.isinf(found.pdtp)).tolist() == [7]  # scikit-learn has no answer
    assert "rows 7" in found.warnings[0]
    declared = measured(CategoricalNB(min_categories=4), x, y)
    assert np.isfinite(declared.pdtp).all()
    assert declared.warnings == ()


class Moody(GaussianNB):
    """Naive Bayes that says nothing of a training set of fewer than 30 records."""

    def predict_proba(self, X: Floats) -> Floats:
        p = np.asarray(super().predict_proba(X))
        return p if self.class_count_.sum() == 30 else np.full_like(p, 0.5)


def test_a_shortcut_that_refits_contradict_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 2))
    y = np.arange(30) % 2
    learner = Shortcut(NaiveBayes((None, None)), np.zeros(30, np.bool_))
    monkeypatch.setattr("privacygauge.claims.dtp.measure.find_shortcut", lambda *_: learner)
    found = measured(Moody(), x, y)
    assert found.method == TRAINED
    assert found.learner is None
    assert found.checked is not None
    assert found.checked.agree < found.checked.n == 20
    line = f"the shortcut to Moody was not taken: {found.checked}; all were refitted"
    assert line in found.warnings
    assert_allclose(found.pdtp, refits(Moody(), x, y, 0.0), rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("wrapped", [False, True])
def test_random_states_that_were_given_stay_and_others_are_drawn(wrapped: bool) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 4))
    y = rng.integers(0, 2, 12)

    def drawing(state: int | None) -> object:
        tree = DecisionTreeClassifier(max_depth=2, max_features=1, random_state=state)
        return make_pipeline(StandardScaler(), tree) if wrapped else tree

    found = measured(drawing(3), x, y, 0.01, queries=0).pdtp
    assert_allclose(found, refits(drawing(3), x, y, 0.01), rtol=0, atol=1e-12)
    drawn = measured(drawing(None), x, y, 0.01, queries=0).pdtp
    assert (drawn != found).any()
    assert (drawn == measured(drawing(None), x, y, 0.01, queries=0).pdtp).all()


@pytest.mark.slow
def test_halves_are_those_of_refits() -> None:
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(size=(16, 1)), 1)
    y = np.arange(16) % 2
    rows = np.arange(16)
    for model in (KNeighborsClassifier(3), GaussianNB()):
        task = TrainingSet(model, x, y, 0.01, 0, 0)
        found = task.repeated(rows, 1, task.measured(rows).learner)
        trained = task.repeated(rows, 1, None)
        assert_allclose(found, trained, rtol=0, atol=1e-9)


def test_the_result_and_its_reports_say_how_many_refits_agree() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(24, 2))
    y = np.arange(24) % 2
    found = audit_dtp(GaussianNB(), x, y)
    assert found.checked is not None
    assert (found.checked.n, found.checked.agree) == (20, 20)
    assert found.checked.largest < 1e-9
    line = f"20 of 20 refits agree (largest difference {found.checked.largest:.1g})"
    assert line in found.method
    assert line in found.to_html()
    data = found.report().data
    assert data["refits"] == {
        "compared": 20, "agree": 20, "largest_difference": found.checked.largest
    }  # fmt: skip
    assert audit_dtp(NaiveBayes((None, None)), x, y).checked is None


def test_the_optimum_is_named_where_a_solver_may_stop_before_it() -> None:
    found = audit_dtp(LogisticRegression(max_iter=500), *IRIS, rows=[0], bin_width=0)
    assert any("pg.learners.Logistic(l2)" in line for line in found.warnings)
    assert found.method == TRAINED
