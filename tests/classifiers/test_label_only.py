"""Label-only queries and what their answers tell, against answers counted one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import privacygauge as pg
from privacygauge.classifiers.estimators import Training, as_trainer
from privacygauge.classifiers.fitted import HardLabels, Says, class_codes, label_predictions
from privacygauge.classifiers.label_only import (
    LabelOnlyQueries,
    LabelOnlyTrainer,
    category_groups,
    label_scores,
)
from privacygauge.classifiers.shadows import cohort_of
from privacygauge.errors import InputError
from privacygauge.report.values import Severity
from tests.thorough import THOROUGH

SMALL = LabelOnlyQueries(levels=(0.2, 0.8), copies=4, neighbours=2, steps=5)


def people(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return two numbers, a category of three values and a flag, and three classes."""
    rng = np.random.default_rng(seed)
    hot = np.eye(3)[rng.integers(3, size=n)]
    x = np.column_stack([rng.normal(size=n), 5 * rng.normal(size=n), hot, rng.random(n) < 0.3])
    up = x[:, 0] + 0.2 * x[:, 1] + x[:, 3] + rng.normal(size=n) > 0
    return x, up.astype(np.int64) + (rng.random(n) < 0.2)


@pytest.fixture(scope="module")
def model():
    x, y = people()
    return KNeighborsClassifier(1).fit(x[::2], y[::2])


def test_every_query_is_counted(model):
    x, y = people()
    points, kinds = SMALL.points(x, y, 0)
    assert len(points) == len(x) * SMALL.n_queries == len(x) * (1 + sum(kind.n for kind in kinds))
    assert len(SMALL.names) == len(kinds) == 3


@pytest.mark.slow
def test_shares_and_distances_are_those_of_one_query_after_another(model):
    x, y = people()
    points, kinds = SMALL.points(x, y, 0)
    found = label_scores(model.predict(points), kinds, y, 3)
    own = model.predict(x)
    scale = x.std(axis=0)
    *noise, ways = kinds
    longest = np.median([np.linalg.norm((p[j] - x[i]) / scale) for i, p in enumerate(ways.points)
                         for j in (4, 9)])  # fmt: skip
    for i in range(len(x)):
        for kind, values in zip(noise, found[:-1], strict=True):
            share = np.bincount(model.predict(kind.points[i]), minlength=3) / kind.n
            naive = (1.01 * (own[i] == np.arange(3)) + share) / 2.01
            assert np.allclose(values[i], naive)
        nearest = []
        for way in ways.points[i].reshape(2, 5, -1):
            others = model.predict(way) != y[i]
            step = way[others.argmax() if others.any() else -1]
            nearest.append(np.linalg.norm((step - x[i]) / scale))
        share = min(nearest) / (min(nearest) + longest)
        assert np.isclose(found[-1, i, y[i]], (1.01 * (own[i] == y[i]) + share) / 2.01)
    assert np.allclose(found.sum(axis=2), 1)


def test_what_is_classified_wrongly_is_below_all_that_is_classified_rightly(model):
    x, y = people()
    points, kinds = SMALL.points(x, y, 0)
    found = label_scores(model.predict(points), kinds, y, 3)
    right = model.predict(x) == y
    for values in found:
        of_class = values[np.arange(len(y)), y]
        assert of_class[right].min() > of_class[~right].max()


def test_queries_stay_records():
    x, y = people(300)
    for asked in LabelOnlyQueries().asked(x, y, 0).values():
        hot = asked.points[..., 2:5]
        assert np.isin(hot, (0, 1)).all()
        assert (hot.sum(axis=-1) == 1).all()
        assert np.isin(asked.points[..., 5], (0, 1)).all()


@pytest.mark.parametrize("level", [0.1, 0.8])
def test_noise_is_as_large_as_its_level(level):
    x, y = people(2000)
    points = LabelOnlyQueries(levels=(level,)).asked(x, y, 0)[f"noise-{level:g}"].points
    off = (points - x[:, None])[..., :2] / x.std(axis=0)[:2]
    assert np.allclose(off.std(axis=(0, 1)), level, rtol=0.03)
    # A category that is drawn again is the same one in a third of the draws.
    changed = (points[..., 2:5] != x[:, None, 2:5]).any(axis=-1).mean()
    assert abs(changed - level / 4 * 2 / 3) < 0.01


def test_ways_lead_to_the_nearest_records_of_other_classes():
    x, y = people(200)
    x = x[:, :2]
    ends = (
        LabelOnlyQueries(neighbours=2, steps=4).asked(x, y, 0)["boundary-distance"].points[:, 3::4]
    )
    scale = x.std(axis=0)
    for i in range(len(x)):
        far = np.linalg.norm((x - x[i]) / scale, axis=1)
        far[y == y[i]] = np.inf
        assert np.allclose(ends[i], x[np.argsort(far)[:2]])


def test_images_are_shifted_by_a_pixel_and_turned():
    image = np.arange(12.0).reshape(1, 1, 3, 4)
    x = np.concatenate([image, image + 1]).reshape(2, -1)
    asked = LabelOnlyQueries(levels=(), neighbours=0, image=(1, 3, 4)).asked(x, np.array([0, 1]), 0)
    moved = asked["augmentation"].points[0].reshape(-1, 3, 4)
    assert np.array_equal(moved[0][:, :3], image[0, 0][:, 1:])
    assert np.array_equal(moved[2][:2], image[0, 0][1:])
    assert len(moved) == 6
    assert moved.min() >= 0
    assert moved.max() <= 11


def test_categories_are_found_by_what_they_sum_to():
    x, _ = people(100)
    assert [group.tolist() for group in category_groups(x)] == [[2, 3, 4], [5]]
    assert category_groups(x[:, :2]) == []


def test_a_shadow_model_is_asked_what_a_given_model_is_asked():
    x, y = people()
    inside = np.zeros((1, 60), bool)
    inside[0, ::2] = True
    tree = DecisionTreeClassifier()
    trainer = LabelOnlyTrainer(as_trainer(tree), SMALL, 7)
    cohort = cohort_of(x, y, inside, 0, asked=np.tile(np.arange(60), 3))
    shadow = trainer.train(cohort)[0]
    fitted = clone(tree).set_params(random_state=cohort.seeds[0]).fit(x[::2], y[::2])
    given = label_predictions(fitted, x, y, inside[0], (), SMALL, 7)
    assert np.array_equal(shadow, given.values)


@pytest.mark.slow
def test_an_estimator_without_probabilities_is_audited():
    x, y = people(100)
    found = pg.audit_model(LinearSVC(), x, y, label_only=SMALL, n_shadows=4)
    assert found.origin.provenance["queries per record"] == str(SMALL.n_queries) == "19"
    assert "the class that the model predicts" in found.game.adversary
    hard = HardLabels(LinearSVC(random_state=0)).fit(x, y)
    assert np.array_equal(hard.predict_proba(x).argmax(axis=1), hard.estimator.predict(x))
    assert clone(hard).estimator.get_params() == hard.estimator.get_params()


@pytest.mark.slow
def test_a_model_that_exists_is_asked_for_classes_alone():
    x, y = people(60)
    member = np.random.default_rng(0).random(60) < 0.5
    soft = DecisionTreeClassifier(random_state=0).fit(x[member], y[member])

    def hard(asked):
        return np.eye(3)[soft.predict(asked)]

    given = {"label_only": SMALL, "n_shadows": 2}
    first, second = (
        pg.audit_model(soft, x, y, fitted=pg.Fitted(model, member), **given)
        for model in (soft, hard)
    )
    assert [e.auc for e in first.evaluations] == [e.auc for e in second.evaluations]


@pytest.mark.slow
def test_without_a_leak_nothing_is_found():
    games = 80 if THOROUGH else 10
    found = 0
    for seed in range(games):
        x, y = people(120, seed)
        member = np.random.default_rng(seed + 10_000).random(120) < 0.5
        other = DecisionTreeClassifier(max_depth=4, random_state=0).fit(*people(120, seed + 20_000))
        asked = {"label_only": SMALL, "n_shadows": 4, "seed": seed}
        tree = DecisionTreeClassifier(max_depth=4)
        audit = pg.audit_model(tree, x, y, fitted=pg.Fitted(other, member), **asked)
        severity = audit.report().verdict.grade.severity
        found += severity not in (Severity.NOTHING, Severity.UNTOLD)
    # The guesses, the ranking and the few most exposed records are looked at, each at 2.5%.
    assert found <= stats.binom.isf(1e-4, games, 0.075)


@pytest.mark.slow
def test_a_model_that_remembers_is_told_better_than_by_its_errors():
    for seed in range(12 if THOROUGH else 2):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(300, 8))
        y = (x[:, 0] + x[:, 1] + rng.normal(size=300) > 0).astype(np.int64)
        nearest = KNeighborsClassifier(1)
        audit = pg.audit_model(nearest, x, y, label_only=LabelOnlyQueries(), n_shadows=4, seed=seed)
        area = {evaluation.title: evaluation.auc for evaluation in audit.evaluations}
        gap = area["correctness (global)"].value
        assert area["boundary-distance (global)"].low > gap
        assert area["learned (label-only)"].low > gap


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"copies": 0}, "at least 1"),
        ({"levels": (0.0,)}, "above 0"),
        ({"image": (1, 2, 2)}, "has 4 numbers, not 6"),
    ],
)
def test_bad_queries_are_one_line(given, message):
    x, y = people()
    with pytest.raises(InputError, match=message):
        LabelOnlyQueries(**given).asked(x, y, 0)


def test_records_that_cannot_be_changed_are_refused():
    for x, message in ((np.array([[np.inf], [0.0]]), "finite"), (np.array([{}, {}]), "texts")):
        with pytest.raises(InputError, match=message):
            LabelOnlyQueries().asked(x, np.array([0, 1]), 0)


class OnlyPredicts:
    """A classifier that says classes, and not which there are."""

    def __init__(self, depth=None):
        self.depth = depth

    def get_params(self, deep=True):
        return {"depth": self.depth}

    def set_params(self, **given):
        self.__dict__.update(given)
        return self

    def fit(self, x, y):
        self.tree = DecisionTreeClassifier(max_depth=self.depth, random_state=0)
        self.tree.fit(numbers_of(x), y)
        return self

    def predict(self, x):
        return self.tree.predict(numbers_of(x))


def numbers_of(x):
    """Return numbers of records of any kind."""
    if isinstance(x, pd.DataFrame):
        coded = x["colour"].map({"red": 1.0, "blue": 2.0}).astype(float).fillna(0.0)
        return np.column_stack([x["age"].fillna(-9.0), x["n"], coded])
    if x.dtype == object:
        return np.array([[text.count("a"), len(text.split())] for text in x])
    return np.nan_to_num(x.reshape(len(x), -1), nan=-9.0)


def of_kind(kind, n=80, seed=0):
    """Return records of a kind, and their classes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    y = (x[:, 0] + rng.normal(size=n) > 0).astype(np.int64)
    missing = np.where(rng.random((n, 3)) < 0.2, np.nan, x)
    words = np.array(["a", "bb", "c", "dd"])
    return {
        "numbers": x,
        "missing": missing,
        "integers": rng.integers(9, size=(n, 3)),
        "images": rng.random((n, 4, 5)),
        "channels last": rng.random((n, 4, 5, 3)),
        "frame": pd.DataFrame(
            {
                "age": missing[:, 0],
                "n": rng.integers(5, size=n),
                "colour": np.where(x[:, 1] > 0.5, None, np.where(x[:, 2] > 0, "red", "blue")),
            }
        ),
        "texts": np.array(
            [" ".join(words[rng.integers(4, size=rng.integers(1, 9))]) for _ in range(n)], object
        ),
    }[kind], y


KINDS = ("numbers", "missing", "integers", "images", "channels last", "frame", "texts")


@pytest.mark.parametrize("kind", KINDS)
def test_queries_about_records_of_any_kind_are_such_records(kind):
    x, y = of_kind(kind, 30)
    queries = SMALL.fitting(x)
    points, kinds = queries.points(x, y, 0)
    assert len(points) == len(x) * queries.n_queries
    assert len(kinds) == len(queries.names)
    assert ("augmentation" in queries.names) == (kind in ("images", "channels last"))
    if kind == "frame":
        pd.testing.assert_frame_equal(points[: len(x)].reset_index(drop=True), x)
        assert points["age"].isna().mean() == pytest.approx(x["age"].isna().mean(), abs=0.02)
        return
    assert points.shape[1:] == x.shape[1:]
    assert points.dtype == x.dtype
    assert np.array_equal(points[: len(x)], x, equal_nan=kind == "missing")
    assert not np.array_equal(points[len(x) : 2 * len(x)], x)


def test_a_column_of_texts_without_any_value_stays_one():
    x, y = of_kind("frame", 30)
    x["remark"] = np.full(30, None, object)
    points, _ = SMALL.fitting(x).points(x, y, 0)
    assert points["remark"].isna().all()
    assert points["remark"].dtype == x["remark"].dtype


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_deployed_is_audited_by_its_classes(kind):
    """A function that predicts, of an estimator that does not even say which classes there are."""
    x, y = of_kind(kind)
    member = np.random.default_rng(1).random(len(y)) < 0.5
    deployed = OnlyPredicts().fit(x[member], y[member])
    names = np.array(["no", "yes"])
    given = {"label_only": SMALL, "n_shadows": 4, "fitted": pg.Fitted(deployed.predict, member)}
    numbers = pg.audit_model(OnlyPredicts(), x, y, **given)
    assert {e.name for e in numbers.evaluations} >= {"correctness", "noise-0.2", "learned"}

    def train(records, classes, random_state):
        fitted = OnlyPredicts().fit(records, classes)
        return lambda asked: names[fitted.predict(asked)]

    by_name = {**given, "fitted": pg.Fitted(lambda asked: names[deployed.predict(asked)], member)}
    named = pg.audit_model(train, x, names[y], **by_name)
    assert [e.auc for e in named.evaluations] == [e.auc for e in numbers.evaluations]


@pytest.mark.slow
def test_a_training_is_audited_by_the_classes_that_it_predicts():
    x, y = of_kind("numbers", 100)
    member = np.random.default_rng(1).random(100) < 0.5

    def train(rows, seed):
        return OnlyPredicts().fit(x[rows], y[rows])

    def predict(model, rows):
        return model.predict(x[rows])

    training = Training(train, predict, labels=y)
    audit = pg.audit_model(training, label_only=LabelOnlyQueries(), n_shadows=4)
    area = {e.title: e.auc.value for e in audit.evaluations}
    assert area["correctness (global)"] > 0.6
    fitted = pg.Fitted(train(np.flatnonzero(member), 0), member)
    found = pg.audit_model(training, label_only=LabelOnlyQueries(), n_shadows=4, fitted=fitted)
    right = {e.title: e.auc.value for e in found.evaluations}["correctness (global)"]
    wrong = train(np.flatnonzero(member), 0).predict(x) != y
    assert right == pytest.approx(0.5 + (wrong[~member].mean() - wrong[member].mean()) / 2)


def test_classes_are_numbers_or_names():
    assert class_codes([1.0, 0.0], 2, 2).tolist() == [1, 0]
    assert class_codes(np.array([[True], [False]]), 2, 2).tolist() == [1, 0]
    assert class_codes(["b", "a"], 2, 2, ("a", "b")).tolist() == [1, 0]
    assert class_codes([1, 0], 2, 2, ("a", "b")).tolist() == [1, 0]
    said = Says(lambda x: [0, 2], 3).predict_proba(np.array([7, 8]))
    assert said.tolist() == [[1, 0, 0], [0, 0, 1]]
    for said, message in ((["c", "a"], "says 'c'"), ([0.5, 0.2], "says '0.5'"), ([0], "one per")):
        with pytest.raises(InputError, match=message):
            class_codes(said, 2, 2, ("a", "b"))
