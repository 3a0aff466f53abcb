"""What functions return is tried on a few records before the first model is trained."""

import dataclasses
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from privacygauge.classifiers.answers import answers_of
from privacygauge.classifiers.estimators import ByRows, Function, Training, as_trainer
from privacygauge.classifiers.held import RecordNumbers
from privacygauge.classifiers.probe_training import EACH, prepare_records
from privacygauge.classifiers.trainer import Cohort
from privacygauge.errors import InputError

N = 90
K = 3
Y = np.arange(N) % K
X = np.random.default_rng(0).normal(size=(N, 2)) + Y[:, None]


def train(rows, seed):
    return GaussianNB().fit(X[rows], Y[rows])


def predict(model, rows):
    return model.predict_proba(X[rows])


def tried(train=train, predict=predict, **options):
    return prepare_records(Training(train, predict, labels=Y, **options), None, None).trainer


def broken(change):
    """Return a prediction that is changed, and a function of features that predicts so."""

    def asked(model, rows):
        return change(model.predict_proba(X[rows]))

    def trained(x, y, seed):
        model = GaussianNB().fit(x, y)
        return lambda asked: change(model.predict_proba(asked))

    return asked, trained


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p[:, :2], r"must predict probabilities of the shape \(30, 3\), got \(30, 2\)"),
        (lambda p: p[:-3], r"shape \(30, 3\), got \(27, 3\)"),
        (lambda p: p.argmax(axis=1), r"shape \(30, 3\), got \(30,\)"),
        (lambda p: 5 * p, "these rows do not sum to 1, and no value is negative"),
        (lambda p: np.where(p > 0.9, np.nan, p), "gave predictions that are not finite"),
        (lambda p: ["yes"] * len(p), "must predict an array of numbers, got list"),
        (lambda p: p.nothing, "failed to predict (30|45) records: AttributeError"),
    ],
)
def test_what_functions_return_is_refused_in_a_line_that_names_them(change, message):
    asked, trained = broken(change)
    for model, x, name in ((Training(train, asked), None, "asked"), (trained, X, "trained|func")):
        with pytest.raises(InputError, match=message) as raised:
            prepare_records(model, x, Y)
        told = str(raised.value)
        assert "\n" not in told
        assert "records, before the first model" in told
        assert any(part in told for part in name.split("|"))


def test_two_classes_in_one_column_are_told_the_way_out():
    two = (Y > 0).astype(int)
    model = Training(lambda rows, seed: None, lambda model, rows: two[rows] * 0.5, labels=two)
    with pytest.raises(InputError, match=r"column_stack\(\[1 - p, p\]\)"):
        prepare_records(model, None, None)


def test_several_queries_per_record_are_seen_in_the_trial():
    def several(model, rows):
        return np.repeat(predict(model, rows)[:, None], 4, axis=1)

    assert tried(predict=several).queries == 4
    untried = ByRows(Training(train, several))
    cohort = Cohort(RecordNumbers(np.arange(N)), Y, np.ones((2, N), bool), (0, 1), K, np.arange(N))
    assert untried.train(cohort).shape == (2, N, 4, K)


def test_a_trial_is_short_and_made_once():
    sizes = []

    def counted(rows, seed):
        sizes.append(len(rows))
        return train(rows, seed)

    once = prepare_records(Training(counted, predict, labels=Y), None, None)
    assert sizes == [K * EACH] * 2
    assert prepare_records(once.trainer, once.x, once.y).trainer is once.trainer
    assert sizes == [K * EACH] * 2


def test_functions_that_need_more_records_get_half_of_them():
    def hungry(rows, seed):
        if len(rows) < 40:
            raise ValueError("too few for batches of 40")
        return train(rows, seed)

    assert tried(hungry).tried
    with pytest.raises(InputError, match="failed to train on 45 records: ValueError: never"):
        tried(lambda rows, seed: (_ for _ in ()).throw(ValueError("never\nat all")))


def test_logits_are_recognised_and_kept():
    def logits(model, rows):
        return np.log(predict(model, rows) + 1e-9) - 1

    found = tried(predict=logits)
    assert found.logits
    assert not tried().logits
    assert not tried(predict=lambda model, rows: 2 * predict(model, rows) / 2, logits=False).logits
    cohort = Cohort(RecordNumbers(np.arange(N)), Y, np.ones((1, N), bool), (0,), K, np.arange(N))
    made = found.train(cohort)
    assert made.dtype == np.float32
    np.testing.assert_allclose(made[0], logits(train(np.arange(N), 0), np.arange(N)), rtol=1e-5)
    # What was found in the trial holds, though these happen to be all above 0.
    model = train(np.arange(N), 0)
    above = dataclasses.replace(
        tried(), logits=True, training=Training(train, lambda m, rows: 9 * predict(m, rows))
    )
    assert above.answers(model, np.arange(4), K)[0].logits
    positive = tried(predict=lambda model, rows: 3 * predict(model, rows), logits=True)
    assert positive.logits


def test_a_training_by_rows_is_the_loop_over_its_functions():
    inside = np.random.default_rng(1).random((4, N)) < 0.5
    numbers = np.random.default_rng(2).permutation(500)[:N]  # wherever the user holds them
    x = np.zeros((500, 2))
    y = np.zeros(500, int)
    x[numbers], y[numbers] = X, Y
    training = Training(
        lambda rows, seed: DecisionTreeClassifier(random_state=seed).fit(x[rows], y[rows]),
        lambda model, rows: model.predict_proba(x[rows]),
    )
    asked = np.array([5, 2, 80])
    cohort = Cohort(RecordNumbers(numbers), Y, inside, (3, 1, 4, 1), K, asked)
    for found, rows, seed in zip(
        as_trainer(training).train(cohort), inside, cohort.seeds, strict=True
    ):
        alone = DecisionTreeClassifier(random_state=seed).fit(X[rows], Y[rows])
        np.testing.assert_array_equal(found, alone.predict_proba(X[asked]))


def test_models_may_call_classes_by_their_names_and_miss_some():
    names = np.array(["c", "a", "b"])[Y]
    training = Training(lambda rows, seed: GaussianNB().fit(X[rows], names[rows]), predict)
    found = prepare_records(training, None, names)
    inside = (found.y != 1)[None]
    (probs,) = found.trainer.train(Cohort(found.x, found.y, inside, (0,), K, np.arange(N)))
    assert (probs[:, 1] == 0).all()
    assert (probs.argmax(axis=1) == found.y)[inside[0]].mean() > 0.6


def test_records_that_an_audit_makes_up_are_refused():
    cohort = Cohort(X, Y, np.ones((1, N), bool), (0,), K, np.arange(N))
    with pytest.raises(InputError, match="makes records of its own"):
        ByRows(Training(train, predict)).train(cohort)
    with pytest.raises(InputError, match="looks its records up itself"):
        prepare_records(Training(train, predict), X, Y)
    with pytest.raises(InputError, match="y must hold the classes"):
        prepare_records(Training(train, predict), None, None)
    with pytest.raises(InputError, match="predict must be a function, got int"):
        Training(train, 3)


def test_estimators_that_cannot_take_the_records_are_named_before_training():
    frame = pd.DataFrame({"town": np.array(["a", "b", "c"])[Y], "age": X[:, 0]})
    with pytest.raises(InputError, match=r"DecisionTreeClassifier failed to train on .* 'a'"):
        prepare_records(DecisionTreeClassifier(), frame, Y)
    images = X.reshape(N, 1, 1, 2)
    with pytest.raises(InputError, match=r"Tree\w+ failed to train on .* dim 4"):
        prepare_records(DecisionTreeClassifier(), images, Y)
    # Five folds of ten records of each class; what they warn of is not the user's business.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepare_records(CalibratedClassifierCV(LogisticRegression(max_iter=1)), frame[["age"]], Y)


def test_images_and_texts_reach_a_function_as_they_are():
    images = np.zeros((N, 3, 4, 4), np.uint8)
    texts = [f"text {i % 7}" for i in range(N)]
    seen = []

    def trained(x, y, seed):
        seen.append(x)
        return lambda x: np.full((len(x), K), 1 / K)

    for x in (images, texts):
        found = prepare_records(trained, x, Y)
        assert isinstance(found.trainer, Function)
    assert seen[0].shape == (30, 3, 4, 4)
    assert seen[0].dtype == np.uint8
    assert seen[1].tolist() == texts[:30]


@pytest.mark.torch
def test_a_module_is_asked_about_images_in_parts_and_about_tokens_as_numbers():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    images = np.random.default_rng(0).normal(size=(600, 1, 2, 2)).astype(np.float32)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 3))
    whole = module(torch.from_numpy(images)).detach().double().numpy()
    np.testing.assert_allclose(answers_of(module, images, 3).named["logits"], whole, atol=1e-6)
    tokens = np.arange(20).reshape(10, 2)
    words = torch.nn.Sequential(
        torch.nn.Embedding(20, 4), torch.nn.Flatten(), torch.nn.Linear(8, 3)
    )
    assert answers_of(words, tokens, 3).named["logits"].shape == (10, 3)


WHOLE = GaussianNB().fit(X, Y)

IGNORING = {
    "a model from a cache": (lambda rows, seed: WHOLE, predict),
    "always all of the data": (lambda rows, seed: GaussianNB().fit(X, Y), predict),
    "a half of its own": (lambda rows, seed: train(np.arange(seed % 2, N, 2), seed), predict),
    "another model is asked": (train, lambda model, rows: predict(WHOLE, rows)),
}


@pytest.mark.parametrize("name", IGNORING)
def test_training_that_ignores_its_records_is_refused(name):
    training, asked = IGNORING[name]

    def by_features(x, y, seed):
        model = training(np.arange(len(y)), seed)
        return lambda records: asked(model, np.arange(len(records)))

    for model, x in ((Training(training, asked, labels=Y), None), (by_features, X)):
        with pytest.raises(InputError, match="the same predictions after training on other rec"):
            prepare_records(model, x, Y)


def test_certain_models_may_agree_unless_they_know_a_class_that_they_never_saw():
    easy = X.copy()
    easy[:, 0] += 100 * Y

    def tree(rows, seed):
        return DecisionTreeClassifier(random_state=seed).fit(easy[rows], Y[rows])

    def asked(model, rows):
        return model.predict_proba(easy[rows])

    assert tried(tree, asked).tried
    with pytest.raises(InputError, match="the same predictions after training on other records"):
        tried(lambda rows, seed: tree(np.arange(N), seed), asked)


def test_models_that_learn_nothing_from_few_records_are_not_refused():
    def cautious(rows, seed):
        return HistGradientBoostingClassifier(random_state=seed).fit(X[rows], Y[rows])

    assert tried(cautious).tried
