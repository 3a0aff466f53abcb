import dataclasses
import functools
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from privacygauge.classifiers.answers import answers_of
from privacygauge.classifiers.estimators import Estimators, Function, as_given, as_trainer
from privacygauge.classifiers.trainer import Cohort, Trainer
from privacygauge.errors import InputError


def data(n=60, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, 4)) + y[:, None], y


def trained(trainer, x, y, inside, seeds=None, k=3):
    seeds = range(len(inside)) if seeds is None else seeds
    return trainer.train(Cohort(x, y, inside, list(seeds), k, np.arange(len(y))))


def frequencies(x, y, random_state):
    """A user's training function: returns a function from features to probabilities."""
    shares = np.bincount(y, minlength=3) / len(y)
    return functools.partial(_constant, shares)


def _constant(shares, x):
    return np.tile(shares, (len(x), 1))


def not_a_number(x, y, random_state):
    return functools.partial(_constant, np.full(3, np.nan if random_state == 1 else 1 / 3))


def test_an_estimator_predicts_what_it_predicts_alone():
    x, y = data()
    inside = np.random.default_rng(0).random((3, 60)) < 0.5
    values = trained(as_trainer(GaussianNB()), x, y, inside)
    for rows, probs in zip(inside, values, strict=True):
        alone = GaussianNB().fit(x[rows], y[rows]).predict_proba(x)
        np.testing.assert_array_equal(probs, alone)


def test_every_random_state_inside_a_pipeline_is_set():
    model = make_pipeline(StandardScaler(), RandomForestClassifier(5))
    x, y = data()
    inside = np.ones((3, 60), bool)
    a, b, c = trained(as_trainer(model), x, y, inside, seeds=(1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert (a != c).any()


@pytest.mark.slow
def test_random_states_that_were_given_stay_where_the_algorithm_is_audited_as_given():
    x, y = data()
    inside = np.ones((2, 60), bool)
    steps = (StandardScaler(), RandomForestClassifier(5, random_state=7))
    for model in (
        steps[1],
        make_pipeline(*steps),
        VotingClassifier([("a", steps[1])], voting="soft"),
    ):
        a, b = trained(as_given(as_trainer(model)), x, y, inside, seeds=(1, 2))
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, clone(model).fit(x, y).predict_proba(x))
        a, b = trained(as_trainer(model), x, y, inside, seeds=(1, 2))
        assert (a != b).any()
    a, b = trained(as_given(RandomForestClassifier(5)), x, y, inside, seeds=(1, 2))
    assert (a != b).any()


def test_a_class_that_is_missing_from_a_subset_has_probability_0():
    x, y = data()
    inside = (y != 1)[None]
    for model in (GaussianNB(), RandomForestClassifier(5)):
        (probs,) = trained(as_trainer(model), x, y, inside)
        assert (probs[:, 1] == 0).all()
        np.testing.assert_allclose(probs.sum(axis=1), 1)


@pytest.mark.parametrize("missing", [None, 0, 1, 2])
@pytest.mark.parametrize("names", [(), ("a", "b", "c"), ("1", "2", "3")])
def test_weights_of_classes_stay_with_their_classes(missing, names):
    x, y = data()
    x = x / 4  # classes overlap, so that weights matter
    rows = np.ones(60, bool) if missing is None else y != missing
    weight = {0: 1.0, 1: 20.0, 2: 400.0}
    known = {c: w for c, w in weight.items() if c != missing}
    alone = LogisticRegression(class_weight=known).fit(x[rows], y[rows])
    keys = [int(name) if name.isdigit() else name for name in names] or [0, 1.0, np.int64(2)]
    given = dict(zip(keys, weight.values(), strict=True))
    inside = make_pipeline(StandardScaler(with_mean=False, with_std=False), LogisticRegression())
    inside.set_params(logisticregression__class_weight=given)
    for model in (LogisticRegression(class_weight=given), inside):
        trainer = dataclasses.replace(as_trainer(model), names=names)
        (probs,) = trained(trainer, x, y, rows[None])
        np.testing.assert_allclose(probs[:, alone.classes_], alone.predict_proba(x), atol=1e-6)
    with pytest.raises(InputError, match="class_weight has the class 'other', but the classes are"):
        trained(as_trainer(LogisticRegression(class_weight={"other": 1})), x, y, rows[None])


def test_a_single_class_trains_nothing_and_the_other_models_are_untouched():
    x, y = data()
    inside = np.stack([y == 1, y >= 0])
    lone, other = trained(as_trainer(GaussianNB()), x, y, inside)
    assert np.isnan(lone).all()
    assert np.isfinite(other).all()


def test_what_is_not_finite_is_marked_whole():
    x, y = data()
    values = trained(as_trainer(not_a_number), x, y, np.ones((3, 60), bool))
    assert [bool(np.isnan(v).all()) for v in values] == [False, True, False]
    assert np.isfinite(values[[0, 2]]).all()


def test_functions_and_factories_are_told_apart():
    x, y = data()
    inside = np.ones((1, 60), bool)
    assert isinstance(as_trainer(frequencies), Function)
    assert isinstance(as_trainer(lambda state: GaussianNB()), Estimators)
    np.testing.assert_allclose(trained(as_trainer(frequencies), x, y, inside)[0], 1 / 3)
    assert isinstance(as_trainer(GaussianNB()), Trainer)
    trainer = as_trainer(GaussianNB())
    assert as_trainer(trainer) is trainer


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LinearSVC(), "LinearSVC has no predict_proba, and attacks need probabilities"),
        (Ridge(), "Ridge predicts numbers, not classes: audit it with pg.audit_regressor"),
        (make_pipeline(StandardScaler(), Ridge()), "Pipeline predicts numbers, not classes"),
        (lambda state: Ridge(), "Ridge predicts numbers, not classes"),
        (GaussianNB, "give an instance, GaussianNB"),
        (3, "a model must be an estimator with fit and predict_proba, or a callable, got int"),
        (lambda: GaussianNB(), "takes 0 arguments"),
        (lambda state: LinearSVC(), "LinearSVC has no predict_proba"),
    ],
)
def test_what_cannot_be_trained_is_named(model, message):
    with pytest.raises(InputError, match=message):
        as_trainer(model)


def test_the_description_tells_models_apart_and_holds_no_address():
    texts = [
        dict(as_trainer(model).describe())
        for model in (LogisticRegression(C=1), LogisticRegression(C=2), frequencies, not_a_number)
    ]
    assert len({str(text) for text in texts}) == 4
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    assert " at 0x" not in str(as_trainer(pipeline).describe())
    assert as_trainer(pipeline).describe() == as_trainer(pipeline).describe()


@pytest.mark.parametrize("package", ["lightgbm.LGBMClassifier", "xgboost.XGBClassifier"])
def test_other_libraries_estimators_work(package):
    module, name = package.split(".")
    maker = getattr(pytest.importorskip(module), name)
    quiet = {"verbose": -1} if module == "lightgbm" else {}
    x, y = data()
    # XGBoost alone would refuse a subset without class 0.
    inside = np.stack([y > 0, np.arange(60) % 4 > 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = trained(as_trainer(maker(n_estimators=5, **quiet)), x, y, inside)
    np.testing.assert_allclose(values.sum(axis=2), 1, rtol=1e-6)
    assert (values[0, :, 0] == 0).all()


def test_a_trained_model_is_asked_for_all_classes():
    x, y = data()
    model = GaussianNB().fit(x[y != 2], y[y != 2])
    probs = answers_of(model, x, 3).named["probs"]
    assert (probs[:, 2] == 0).all()
    names = np.array(["a", "b", "c"])[y]
    with pytest.raises(InputError, match="trained on the classes a, b, c, and the labels are 0, 1"):
        answers_of(GaussianNB().fit(x, names), x, 3)
    found = answers_of(GaussianNB().fit(x, names), x, 3, ["c", "a", "b"]).named["probs"]
    expected = answers_of(GaussianNB().fit(x, y), x, 3).named["probs"]
    np.testing.assert_array_equal(found, expected[:, [2, 0, 1]])
    with pytest.raises(InputError, match=r"must predict probabilities of the shape \(60, 3\)"):
        answers_of(lambda x: np.full((len(x), 2), 0.5), x, 3)
    with pytest.raises(InputError, match="predictions are not finite, first in row 0"):
        answers_of(lambda x: np.full((len(x), 3), np.nan), x, 3)


def test_estimators_that_would_take_all_cores_are_given_one():
    from privacygauge.classifiers.estimators import _one_thread

    forest = _one_thread(make_pipeline(StandardScaler(), RandomForestClassifier(n_jobs=-1)))
    assert forest[-1].n_jobs == 1
    # Left alone where it takes one core anyway: scikit-learn warns about the parameter.
    assert _one_thread(LogisticRegression()).get_params()["n_jobs"] is None


def test_a_trained_module_gives_logits_and_cannot_say_how_it_is_trained():
    torch = pytest.importorskip("torch")
    x, _ = data()
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout(0.5))
    found = answers_of(module, x, 3).named["logits"]
    np.testing.assert_array_equal(found, answers_of(module, x, 3).named["logits"])
    assert module.training
    with torch.no_grad():
        logits = module[0](torch.as_tensor(x, dtype=torch.float32))
    np.testing.assert_array_equal(found, logits.numpy())
    above = torch.nn.Sequential(module, torch.nn.ReLU())
    assert answers_of(above, x, 3).logits
    # A softmax of its own is not taken twice.
    module.append(torch.nn.Softmax(dim=1))
    probs = answers_of(module, x, 3).named["probs"]
    np.testing.assert_allclose(probs, logits.softmax(dim=1).numpy(), rtol=1e-6)
    with pytest.raises(InputError, match="does not say how it is trained: give Networks"):
        as_trainer(module)


def test_what_a_function_returns_may_be_logits():
    x, y = data()
    weights = np.random.default_rng(0).normal(size=(x.shape[1], 3))
    z = 9 * x @ weights

    def log_probabilities(x):
        z = 9 * x @ weights
        return z - np.log(np.exp(z).sum(axis=1, keepdims=True))

    softmax = np.exp(log_probabilities(x))
    np.testing.assert_array_equal(answers_of(lambda x: 9 * x @ weights, x, 3).named["logits"], z)
    np.testing.assert_array_equal(answers_of(lambda x: softmax, x, 3).named["probs"], softmax)
    inside = np.stack([y > 0, np.arange(60) % 4 > 0])
    for function in (lambda x: 9 * x @ weights, log_probabilities, lambda x: softmax[: len(x)]):
        values = trained(as_trainer(lambda x, y, seed, f=function: f), x, y, inside)
        np.testing.assert_allclose(values, np.stack([softmax, softmax]), rtol=1e-9)


def test_the_logits_of_classes_that_a_function_knows_leave_the_others_0():
    class Scores:
        classes_ = (0, 2)

        def __call__(self, x):
            return np.column_stack([x[:, 0], -x[:, 0]])

    x, _ = data()
    probs = answers_of(Scores(), x, 3).named["probs"]
    assert (probs[:, 1] == 0).all()
    np.testing.assert_allclose(np.log(probs[:, 0] / probs[:, 2]), 2 * x[:, 0], rtol=1e-6)


def test_counts_are_neither_probabilities_nor_logits():
    x, _ = data()
    with pytest.raises(InputError, match="divide counts or votes by their sum"):
        answers_of(lambda x: np.ones((len(x), 3)), x, 3)


def test_a_training_function_may_return_a_module():
    torch = pytest.importorskip("torch")
    x, y = data()
    module = torch.nn.Linear(4, 3)
    values = trained(as_trainer(lambda x, y, seed: module), x, y, np.ones((1, 60), bool))
    logits = module(torch.as_tensor(x, dtype=torch.float32)).detach().double()
    np.testing.assert_allclose(values[0], logits.softmax(dim=1).numpy(), rtol=1e-12)


def test_a_random_state_may_have_a_default():
    def make(random_state=0):
        return GaussianNB()

    assert isinstance(as_trainer(make), Estimators)
