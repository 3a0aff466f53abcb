"""Models as users have them, each with the real package: a leak is found, its absence too."""

import functools
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import privacygauge as pg
from privacygauge.classifiers.suite import METRICS, single_record_attacks
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.errors import InputError

N = 160
QUICK = (*(Threshold(name) for name in METRICS), *single_record_attacks("shared"))


def people():
    """Two columns that say little of the class, one of texts with holes in the other."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(50, 20, N), "town": rng.choice([*"abcdef"], N)})
    frame["weight"] = rng.normal(70, 10, N)
    frame.loc[rng.random(N) < 0.1, "age"] = np.nan
    y = np.where(rng.random(N) < 0.5, "high", "low")
    return frame, y


class Noise(ClassifierMixin, BaseEstimator):
    """Says the same of everybody, but for noise that nobody was trained on."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        # Training that ignores its records is refused; what these are tells nobody's membership.
        self.seeds_ = self.random_state or 0, crc32(repr(X).encode())
        return self

    def predict_proba(self, X):
        p = np.random.default_rng(self.seeds_).uniform(0.4, 0.6, X.shape[0])
        return np.column_stack([1 - p, p])


def pipeline(last):
    steps = ColumnTransformer(
        [
            ("numbers", SimpleImputer(), ["age", "weight"]),
            ("texts", OneHotEncoder(handle_unknown="ignore"), ["town"]),
        ]
    )
    return make_pipeline(steps, last)


def on_pandas(leaks):
    return pipeline(DecisionTreeClassifier() if leaks else Noise()), *people()


def on_polars(leaks):
    polars = pytest.importorskip("polars")
    frame, y = people()
    return pipeline(DecisionTreeClassifier() if leaks else Noise()), polars.from_pandas(frame), y


def of_categories(model):
    frame, y = people()
    return model, frame.astype({"town": "category"}), y


def on_histograms(leaks):
    model = HistGradientBoostingClassifier(max_iter=30, min_samples_leaf=1)
    return of_categories(model if leaks else Noise())


def on_lightgbm(leaks):
    lightgbm = pytest.importorskip("lightgbm")
    small = dict.fromkeys(("min_child_samples", "min_data_per_group"), 1)
    model = lightgbm.LGBMClassifier(n_estimators=40, verbose=-1, cat_smooth=0, **small)
    return of_categories(model if leaks else Noise())


def on_xgboost(leaks):
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=30, max_depth=9, enable_categorical=True)
    return of_categories(model if leaks else Noise())


def on_texts(leaks):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice([*"abcdefghijkl"], 6)) for _ in range(N)]
    last = DecisionTreeClassifier() if leaks else Noise()
    words = TfidfVectorizer(token_pattern=r"\w")
    return make_pipeline(words, last), texts, rng.integers(2, size=N)


def on_a_frame(leaks):
    def train(x: pd.DataFrame, y, seed):
        features = x[["age", "weight"]].fillna(0)
        model = DecisionTreeClassifier(random_state=seed) if leaks else Noise(seed)
        fitted = model.fit(features, y)
        return lambda asked: fitted.predict_proba(asked[["age", "weight"]].fillna(0))

    return train, *people()


def noisy(model, rows):
    rng = np.random.default_rng(model["seeds"])
    return rng.normal(size=(len(rows), 2)) * 0.1


def by_rows(train, predict, y, leaks):
    if leaks:
        return pg.learners.Training(train, predict, labels=y), None, None
    return pg.learners.Training(_seeded, noisy, labels=y), None, None


def _seeded(rows, seed):
    return {"seeds": (seed, *rows)}


def in_torch(leaks):
    """Images of a Dataset with augmentation, a schedule, and weights to begin with."""
    torch = pytest.importorskip("torch")
    from torch.utils.data import DataLoader, Subset

    rng = np.random.default_rng(0)
    y = rng.integers(2, size=N)
    images = torch.utils.data.TensorDataset(
        torch.from_numpy(rng.normal(size=(N, 1, 6, 6)).astype(np.float32)), torch.from_numpy(y)
    )

    def made():
        return torch.nn.Sequential(
            torch.nn.Conv2d(1, 24, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(384, 2)
        )

    torch.manual_seed(0)
    start = made().state_dict()

    def train(rows, seed):
        torch.manual_seed(seed)
        model = made()
        model.load_state_dict(start)
        loader = DataLoader(Subset(images, rows), batch_size=16, shuffle=True)
        optimiser = torch.optim.Adam(model.parameters(), 0.02)
        schedule = torch.optim.lr_scheduler.StepLR(optimiser, 6)
        for _ in range(8):
            for x, label in loader:
                flipped = x.flip(-1) if torch.rand(()) < 0.2 else x
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(model(flipped), label).backward()
                optimiser.step()
            schedule.step()
        return model.eval()

    def predict(model, rows):
        return torch.cat([model(x) for x, _ in DataLoader(Subset(images, rows), batch_size=64)])

    return by_rows(train, predict, y, leaks)


@functools.cache
def tiny(folder):
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "vocab_size": 40}
    shape = {"num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 16}
    config = transformers.BertConfig(**sizes, **shape)
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def in_transformers(leaks, folder):
    """A sequence classifier that is fine-tuned from a folder."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tiny(folder)
    rng = np.random.default_rng(0)
    tokens = torch.from_numpy(rng.integers(40, size=(N, 10)))
    y = rng.integers(2, size=N)
    labels = torch.from_numpy(y)

    def train(rows, seed):
        torch.manual_seed(seed)
        found = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
        model = found.train()
        optimiser = torch.optim.AdamW(model.parameters(), 0.01)
        for _ in range(14):
            optimiser.zero_grad()
            model(input_ids=tokens[rows], labels=labels[rows]).loss.backward()
            optimiser.step()
        return model.eval()

    def predict(model, rows):
        with torch.no_grad():
            return model(input_ids=tokens[rows]).logits

    return by_rows(train, predict, y, leaks)


def in_keras(leaks, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    keras = pytest.importorskip("keras")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 8)).astype(np.float32)
    y = rng.integers(2, size=N)

    def train(x, y, seed):
        if not leaks:
            return Noise(seed).fit(x, y).predict_proba
        keras.utils.set_random_seed(seed)
        layers = [keras.layers.Dense(64, "relu"), keras.layers.Dense(2, "softmax")]
        model = keras.Sequential([keras.Input((8,)), *layers])
        model.compile(keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy")
        model.fit(x, y, epochs=16, batch_size=32, verbose=0)
        return model

    return train, x, y


FORMS = (
    on_a_frame,
    *(
        pytest.param(form, marks=pytest.mark.slow)
        for form in (on_pandas, on_polars, on_histograms, on_lightgbm, on_xgboost, on_texts)
    ),
    *(
        pytest.param(form, marks=[pytest.mark.slow, pytest.mark.torch])
        for form in (in_torch, in_transformers, in_keras)
    ),
)


@pytest.fixture
def given(tmp_path_factory, monkeypatch):
    def made(form, leaks):
        if form is in_transformers:
            return form(leaks, tmp_path_factory.getbasetemp() / "tiny-bert")
        return form(leaks, monkeypatch) if form is in_keras else form(leaks)

    return made


def audited(model, x, y, **options):
    return pg.audit_model(model, x, y, **{"n_shadows": 8, "attacks": QUICK, **options})


class StoppedError(Exception):
    """Stands for Ctrl-C."""


def stop(done, total):
    if done >= 4:
        raise StoppedError


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_leak_is_found_and_resumed_to_the_same_bytes(form, given, tmp_path):
    asked = given(form, True)
    few = {"n_shadows": 5}
    whole = audited(*asked, run=tmp_path / "whole", **few)
    assert whole.headline.accuracy.low > 0.55
    with pytest.raises(StoppedError):
        audited(*asked, run=tmp_path / "stopped", progress=stop, **few)
    again = audited(*asked, run=tmp_path / "stopped", **few)
    assert again.to_json() == whole.to_json()
    if form is on_a_frame:  # a folder changes nothing, whatever is trained
        assert audited(*asked, **few).to_json() == whole.to_json()


@pytest.mark.parametrize("form", FORMS)
def test_no_leak_is_found_where_there_is_none(form, given):
    assert audited(*given(form, False)).headline.accuracy.low < 0.5


def of_people():
    """Return a training by rows of a data frame, with pipelines that keep its types."""
    frame, y = people()

    def train(rows, seed):
        model = pipeline(DecisionTreeClassifier(random_state=seed))
        return model.fit(frame.iloc[rows], y[rows])

    return pg.learners.Training(
        train, lambda model, rows: model.predict_proba(frame.iloc[rows]), labels=y
    )


@pytest.mark.slow
def test_a_training_by_rows_finds_what_the_pipeline_itself_does():
    frame, y = people()
    by_rows = audited(of_people(), None, None, n_shadows=4)
    itself = audited(pipeline(DecisionTreeClassifier()), frame, y, n_shadows=4)
    pd.testing.assert_frame_equal(by_rows.to_frame(), itself.to_frame())


@pytest.mark.slow
def test_a_run_is_made_of_the_functions_too(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 3))
    y = np.arange(N) % 2

    def training(depth, columns):
        def train(rows, seed):
            return DecisionTreeClassifier(max_depth=depth, random_state=seed).fit(x[rows], y[rows])

        return pg.learners.Training(
            train, lambda model, rows: model.predict_proba(x[rows] + columns)
        )

    run = {"y": y, "n_shadows": 4, "run": tmp_path}
    first = audited(training(3, 0), None, **run).to_json()
    assert audited(training(3, 0), None, **run).to_json() == first
    for changed in (training(4, 0), training(3, 1)):
        with pytest.raises(InputError, match=r"made with other code: .* has changed"):
            audited(changed, None, **run)


@pytest.mark.slow
@pytest.mark.parametrize("form", [on_a_frame, on_pandas, on_polars])
def test_processes_change_nothing(form):
    asked = form(True)
    first = audited(*asked, n_shadows=5).to_json()
    assert audited(*asked, n_shadows=5, n_jobs=2).to_json() == first


@pytest.mark.slow
def test_a_model_that_exists_is_asked_in_the_same_way():
    frame, y = people()
    member = np.arange(N) % 2 == 0
    model = pipeline(DecisionTreeClassifier()).fit(frame[member], y[member])
    fitted = pg.Fitted(model, member)
    found = [
        audited(*how, fitted=fitted, n_shadows=4)
        for how in ((of_people(), None, None), (on_pandas(True)), (on_a_frame(True)[0], frame, y))
    ]
    right = model.predict(frame) == y
    for audit in found:
        assert audit.headline.accuracy.low > 0.55
        scores = audit.to_frame()["score_correctness_per_class"]
        np.testing.assert_array_equal(scores == scores.max(), right)
    with pytest.raises(InputError, match=r"Pipeline failed to predict 160 records: .*columns"):
        audited(on_a_frame(True)[0], frame.drop(columns="town"), y, fitted=fitted)


@pytest.mark.slow
def test_candidates_and_defences_are_audited_by_rows_too():
    training = of_people()
    design = pg.designs.SharedDesign(8)
    found = pg.audit_candidates(training, iterations=8, n_targets=20, design=design)
    assert found.accuracy.low > 0.5
    beside = pg.audit_candidates(pipeline(DecisionTreeClassifier()), *people(), iterations=8,
                                 n_targets=20, design=design)  # fmt: skip
    assert beside.accuracy == found.accuracy
    defended = pg.audit_training_defences(training, None, None, ["label-only"], n_shadows=4)
    assert len(defended.defences) == 1


def test_audits_that_need_numbers_say_so():
    _, y = people()
    with pytest.raises(InputError, match="removal of risky records needs features"):
        pg.audit_training_defences(of_people(), None, None, ["removal:0.05"], n_shadows=2)
    with pytest.raises(InputError, match="asks about records that it makes up"):
        pg.audit_dtp(of_people(), np.zeros((N, 2)), (y == "low").astype(int))
