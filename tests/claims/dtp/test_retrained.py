"""Training once more without each record: same draws, same runs, honest about failures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from privacygauge.claims.dtp import retrained as retrained_module
from privacygauge.claims.dtp.discriminant import LinearDiscriminant, QuadraticDiscriminant
from privacygauge.claims.dtp.naive_bayes import NaiveBayes
from privacygauge.claims.dtp.retrained import (
    failed_records_warning,
    zero_probability_warning,
)
from privacygauge.classifiers.estimators import as_given, as_trainer
from privacygauge.classifiers.learner import Learner
from privacygauge.classifiers.ratios import log_ratio, own_log_p
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.runs.plan import Plan
from tests.claims.dtp.leaving import retrained


def records(n: int = 30, seed: int = 0) -> tuple[Floats, Ints]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return x, (x[:, 0] + rng.normal(size=n) > 0).astype(np.int64)


def test_it_equals_exact_leave_one_out() -> None:
    x, y = records()
    rows = np.array([3, 7, 29])
    queries = np.array([0, 1, 2])
    found = retrained(as_trainer(GaussianNB()), x, y, rows, n_classes=2, queries=queries)
    fitted = NaiveBayes((None,) * 3).fit(x, y, n_classes=2)
    assert_allclose(found.with_it, fitted.log_p(x[rows]), atol=1e-9)
    assert_allclose(found.without, fitted.log_p_without(rows), atol=1e-9)
    asked = fitted.log_p_without_at(rows, x[queries])
    there = log_ratio(fitted.log_p(x[queries]), asked).max(axis=1)
    own = log_ratio(found.with_it, found.without)
    assert_allclose(found.searched, np.maximum(own, there), atol=1e-9)
    assert not len(found.failed)


def test_only_members_are_trained_on() -> None:
    x, y = records()
    members = np.arange(30) < 20
    rows = np.array([3, 7])
    found = retrained(as_trainer(GaussianNB()), x, y, rows, n_classes=2, members=members)
    alone = retrained(as_trainer(GaussianNB()), x[:20], y[:20], rows, n_classes=2)
    assert_allclose(found.without, alone.without, atol=1e-12)
    assert_allclose(found.with_it, alone.with_it, atol=1e-12)


def test_models_differ_by_the_record_alone() -> None:
    # A record that nothing depends on: a tree with random features draws the same ones.
    x, y = records()
    x = np.vstack([x, x[:1]])
    y = np.append(y, y[:1])
    tree = DecisionTreeClassifier(max_features=1, splitter="random")
    found = retrained(as_trainer(tree), x, y, np.array([30]), n_classes=2)
    assert log_ratio(found.with_it, found.without).tolist() == [0.0]


@pytest.mark.slow
def test_a_run_goes_on_and_changes_nothing(tmp_path: object) -> None:
    x, y = records()
    model = as_trainer(LogisticRegression())
    rows = np.arange(30)
    first = retrained(model, x, y, rows, n_classes=2, run=f"{tmp_path}/run")
    told = []
    again = retrained(
        model,
        x,
        y,
        rows,
        n_classes=2,
        run=f"{tmp_path}/run",
        progress=lambda n, total: told.append((n, total)),
    )
    assert told == [(30, 30)]
    assert np.array_equal(first.without, again.without)
    with pytest.raises(InputError, match="another"):
        retrained(model, x, y, rows, n_classes=2, run=f"{tmp_path}/run", width=0.01)


def test_an_emptied_class_is_an_infinite_value_and_no_exception() -> None:
    x, y = records()
    y = np.where(np.arange(30) == 4, 2, y)
    found = retrained(as_trainer(GaussianNB()), x, y, np.array([4, 5]), n_classes=3)
    ratio = log_ratio(found.with_it, found.without)
    assert np.isinf(ratio).tolist() == [True, False]
    # Two classes: without one of them scikit-learn has nothing to train.
    few = retrained(
        as_trainer(GaussianNB()), x[:9], (np.arange(9) == 4) * 1, np.array([4]), n_classes=2
    )
    assert few.failed.tolist() == [0]
    assert np.isinf(few.searched).tolist() == [True]
    (line,) = failed_records_warning(few.failed, np.array([4]))
    assert line.startswith("without one record the classifier cannot be trained")
    assert line.endswith("its value is infinite; rows 4")
    assert failed_records_warning(np.zeros(0, np.int64), np.array([4])) == []


def test_a_single_class_is_trained_on_where_the_algorithm_takes_it() -> None:
    x, y = records(9)
    y = (np.arange(9) == 4) * 1
    taken = retrained(as_given(GaussianNB()), x, y, np.array([4]), n_classes=2)
    assert taken.without.tolist() == [[0.0, -np.inf]]
    refused = retrained(as_given(LogisticRegression()), x, y, np.arange(9), n_classes=2)
    assert refused.failed.tolist() == [4]


def test_one_class_alone_cannot_be_trained() -> None:
    x, _ = records()
    with pytest.raises(InputError, match="cannot be trained on all 30 records"):
        retrained(as_trainer(GaussianNB()), x, np.zeros(30, np.int64), np.arange(3), n_classes=2)


@pytest.mark.slow
@pytest.mark.torch
def test_networks_are_trained_many_at_once_with_the_same_draws() -> None:
    pytest.importorskip("torch")
    from privacygauge.classifiers.networks import MLP, Networks

    x, y = records(40)
    made = Networks(MLP((8,), "tanh"), epochs=3, batch_size=8, learning_rate=0.1, optimiser="sgd")
    rows = np.arange(12)
    found = retrained(made, x, y, rows, n_classes=2, queries=np.arange(20, 25))
    one = retrained(made, x, y, rows[3:4], n_classes=2, queries=np.arange(20, 25))
    assert_allclose(found.with_it[3], one.with_it[0], atol=1e-5)
    assert_allclose(found.without[3], one.without[0], atol=1e-5)
    assert (log_ratio(found.with_it, found.without) > 0).all()
    # What the weights certify holds for every query, tried or not.
    assert np.isfinite(found.bound).all()
    assert (found.searched <= found.bound + 1e-5).all()
    assert (found.bound < 20 * found.searched).all()
    again = retrained(made, x, y, rows, n_classes=2, queries=np.arange(40))
    assert (again.searched <= found.bound + 1e-5).all()
    assert np.isinf(retrained(as_trainer(GaussianNB()), x, y, rows, n_classes=2).bound).all()


def test_of_a_finished_run_nothing_is_trained_again(tmp_path: object) -> None:
    x, y = records()
    rows = np.arange(5)
    kept = f"{tmp_path}/run"
    first = retrained(as_trainer(GaussianNB()), x, y, rows, n_classes=2, run=kept)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GaussianNB, "fit", lambda *_: pytest.fail("trained"))
        again = retrained(as_trainer(GaussianNB()), x, y, rows, n_classes=2, run=kept)
    assert np.array_equal(again.without, first.without)
    # Without a folder nothing is written, and the numbers are the same.
    told: list[tuple[int, int]] = []
    here = retrained(
        as_trainer(GaussianNB()), x, y, rows, n_classes=2, progress=lambda *at: told.append(at)
    )
    assert np.array_equal(here.without, first.without)
    assert np.array_equal(here.searched, first.searched)
    assert (told[0], told[-1]) == ((0, 5), (5, 5))
    # What was damaged since is made again, the same.
    next(Path(kept).rglob("without/c/0/0")).write_bytes(b"")
    mended = retrained(as_trainer(GaussianNB()), x, y, rows, n_classes=2, run=kept)
    assert np.array_equal(mended.without, first.without)
    assert np.array_equal(mended.with_it, first.with_it)


def far_apart() -> tuple[Floats, Ints]:
    """Return three clusters of which the nearest two are 60 deviations apart."""
    y = np.arange(36, dtype=np.int64) % 3
    return np.random.default_rng(0).normal(size=(36, 2)) + 60 * y[:, None], y


@pytest.mark.parametrize(
    ("estimator", "learner"),
    [
        (GaussianNB(), NaiveBayes((None, None))),
        (make_pipeline(FunctionTransformer(), GaussianNB()), NaiveBayes((None, None))),
        (QuadraticDiscriminantAnalysis(), QuadraticDiscriminant(0.0, "records")),
        (LinearDiscriminantAnalysis(), LinearDiscriminant("records")),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_refits_give_their_own_logarithms(
    estimator: object, learner: Learner, n_classes: int
) -> None:
    x, y = far_apart()
    x = x[y < n_classes]
    y = y[y < n_classes]
    rows = np.array([0, 7, 20])
    queries = np.arange(5)
    found = retrained(as_trainer(estimator), x, y, rows, n_classes=n_classes, queries=queries)
    fitted = learner.fit(x, y, n_classes=n_classes)
    assert found.with_it.min() < -1000
    assert_allclose(found.with_it, fitted.log_p(x[rows]), rtol=1e-9, atol=1e-9)
    assert_allclose(found.without, fitted.log_p_without(rows), rtol=1e-9, atol=1e-9)
    there = log_ratio(fitted.log_p(x[queries]), fitted.log_p_without_at(rows, x[queries]))
    own = log_ratio(fitted.log_p(x[rows]), fitted.log_p_without(rows))
    assert_allclose(found.searched, np.maximum(own, there.max(axis=1)), rtol=1e-6)
    assert zero_probability_warning(found, own, rows) == []


def by_means(x: Floats, y: Ints, state: int) -> Callable[[Floats], Floats]:
    """Return a function that gives logits: the squared distances from the classes' means."""
    means = np.array([x[y == label].mean(axis=0) for label in range(3)])
    return lambda queries: -((queries[:, None] - means) ** 2).sum(axis=2)


def test_logits_of_a_function_are_not_made_probabilities_first() -> None:
    x, y = far_apart()
    found = retrained(as_trainer(by_means), x, y, np.arange(3), n_classes=3)
    assert_allclose(found.with_it, log_softmax(by_means(x, y, 0)(x[:3]), axis=1), rtol=1e-12)
    assert found.with_it.min() < -1000
    assert np.isfinite(log_ratio(found.with_it, found.without)).all()


def test_a_learner_as_a_trainer_keeps_its_logarithms() -> None:
    x, y = far_apart()
    learner = NaiveBayes((None, None))
    found = retrained(as_trainer(learner), x, y, np.arange(3), n_classes=3)
    fitted = learner.fit(x, y, n_classes=3)
    assert_allclose(found.with_it, fitted.log_p(x[:3]), rtol=1e-12)
    assert_allclose(found.without, fitted.log_p_without(np.arange(3)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(),
        LinearDiscriminantAnalysis(),
        QuadraticDiscriminantAnalysis(),
        LogisticRegression(),
        HistGradientBoostingClassifier(max_iter=20),
        GradientBoostingClassifier(n_estimators=20),
        AdaBoostClassifier(n_estimators=5),
        RandomForestClassifier(5),
        DecisionTreeClassifier(),
        KNeighborsClassifier(3),
        MLPClassifier((4,), tol=0.01, max_iter=2000, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("apart", [1, 60])
def test_the_logarithms_of_an_estimator_are_those_of_its_probabilities(
    estimator: object, n_classes: int, apart: int
) -> None:
    x, y = far_apart()
    x = (x - 60 * y[:, None] + apart * y[:, None])[y < n_classes]
    y = y[y < n_classes]
    fitted = clone(estimator).fit(x, y)
    p = fitted.predict_proba(x)
    found = own_log_p(fitted, x, p)
    assert_allclose(np.exp(found), p, rtol=0, atol=1e-12)
    # Nothing is made up where a model says no more than its probabilities do.
    if isinstance(estimator, (RandomForestClassifier, DecisionTreeClassifier, MLPClassifier)):
        assert np.array_equal(np.isneginf(found), p == 0)


def test_probabilities_that_an_estimator_rounds_to_0_are_told() -> None:
    x, y = far_apart()
    found = retrained(as_trainer(KNeighborsClassifier(1)), x, y, np.arange(3), n_classes=3)
    assert (
        zero_probability_warning(found, log_ratio(found.with_it, found.without), np.arange(3)) == []
    )
    x[0] = x[1] + 1e-3  # its neighbour's class takes over
    found = retrained(as_trainer(KNeighborsClassifier(1)), x, y, np.arange(3), n_classes=3)
    (told,) = zero_probability_warning(found, log_ratio(found.with_it, found.without), np.arange(3))
    assert "may have rounded a small probability to 0; rows 0" in told


def test_a_run_that_kept_probabilities_is_refused(tmp_path: object) -> None:
    x, y = records()
    plan = retrained_module._plan
    kept = f"{tmp_path}/run"

    def older(*given: object) -> Plan:
        made = plan(*given)
        return replace(made, settings={k: v for k, v in made.settings.items() if k != "answers"})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retrained_module, "_plan", older)
        retrained(as_trainer(GaussianNB()), x, y, np.arange(3), n_classes=2, run=kept)
    with pytest.raises(InputError, match="answers is not set there and log prob"):
        retrained(as_trainer(GaussianNB()), x, y, np.arange(3), n_classes=2, run=kept)


class UnseededNB(GaussianNB):
    """Naive Bayes on nine tenths of the records, drawn without a random state."""

    def fit(self, x: Floats, y: Ints, sample_weight: None = None) -> UnseededNB:
        some = np.random.default_rng().permutation(len(y))[: 9 * len(y) // 10]
        super().fit(x[some], y[some], sample_weight)
        return self


def test_draws_outside_the_random_state_are_refused() -> None:
    x, y = records()
    with pytest.raises(InputError, match="the same records and the same random state"):
        retrained(as_trainer(UnseededNB()), x, y, np.arange(3), n_classes=2)
