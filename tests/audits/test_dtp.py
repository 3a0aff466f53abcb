"""The audit of differential training privacy as one call."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from privacygauge.claims.dtp.indirect import Planted, nearest_example
from privacygauge.claims.dtp.measure import CLOSED, TRAINED
from privacygauge.claims.dtp.naive_bayes import NaiveBayes
from privacygauge.claims.dtp.nearest import NearestNeighbours
from privacygauge.claims.dtp_audit.audit import DtpAudit, audit_dtp
from privacygauge.classifiers.learner import logs
from privacygauge.classifiers.ratios import cap, log_ratio
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError


def records(n: int = 40, seed: int = 0) -> tuple[Floats, Ints]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return x, (x[:, 0] + 0.7 * rng.normal(size=n) > 0).astype(np.int64)


def categories(n: int = 60) -> tuple[NaiveBayes, Ints, Ints]:
    rng = np.random.default_rng(5)
    x = np.column_stack([rng.integers(0, 3, n), rng.integers(0, 2, n)])
    return NaiveBayes((3, 2)), x, (rng.random(n) < 0.3).astype(np.int64)


@pytest.mark.parametrize("apart", [20, 30, 60])
@pytest.mark.parametrize(
    ("model", "rows"),
    [(GaussianNB(), range(60)), (make_pipeline(FunctionTransformer(), GaussianNB()), [6, 23, 54])],
)
def test_the_verdict_does_not_turn_where_probabilities_vanish(
    model: object, rows: Sequence[int], apart: int
) -> None:
    x = np.random.default_rng(0).normal(size=(60, 2))
    x[30:, 0] += apart
    found = audit_dtp(model, x, np.repeat([0, 1], 30), bin_width=0, queries=20, rows=rows)
    assert round(float(found.pdtp.max()), 4) == 1.0324
    assert np.count_nonzero(found.pdtp > 1) == 1
    assert np.isfinite(found.dtp.low).all()
    assert found.decision == "do not publish"


def test_iris_has_no_infinite_value() -> None:
    found = audit_dtp(GaussianNB(), *load_iris(return_X_y=True), bin_width=0)
    assert np.isfinite(found.dtp.high).all()
    assert (found.dtp.low <= found.dtp.high).all()


def test_pdtp_is_that_of_honest_refits() -> None:
    x, y = records()
    for model, method in ((GaussianNB(), CLOSED), (DecisionTreeClassifier(max_depth=2), TRAINED)):
        found = audit_dtp(model, x, y, bin_width=0.01, rows=[3, 8, 11])
        assert found.method.startswith(method)
        whole = type(model)(**model.get_params()).fit(x, y) if method == CLOSED else None
        for row, value in zip(found.rows, found.pdtp, strict=True):
            if whole is None:
                continue
            refit = GaussianNB().fit(np.delete(x, row, 0), np.delete(y, row))
            told = whole.predict_log_proba(x[[row]]), refit.predict_log_proba(x[[row]])
            expected = log_ratio(*told, 0.01)
            assert_allclose(value, expected[0])


def test_the_range_holds_the_pdtp_and_is_exact_where_it_says_so() -> None:
    learner, x, y = categories()
    found = audit_dtp(learner, x, y, bin_width=0)
    assert found.dtp.method.startswith("exact")
    assert (found.dtp.low >= found.pdtp).all()
    assert_allclose(found.dtp.low, found.dtp.high)
    assert found.complete
    assert found.certified == (found.dtp.high.max() <= 1)
    assert found.mean.method.startswith("exact")
    assert found.mean.low == found.mean.value == found.mean.high == found.pdtp.mean()
    assert found.n_above == (found.pdtp > 1).sum()


def test_equal_calls_give_equal_reports_and_order_does_not_matter() -> None:
    learner, x, y = categories()
    first = audit_dtp(learner, x, y)
    assert first.to_json() == audit_dtp(learner, x, y).to_json()
    shuffled = np.random.default_rng(0).permutation(len(y))
    again = audit_dtp(learner, x[shuffled], y[shuffled])
    assert_allclose(again.pdtp, first.pdtp[shuffled], atol=1e-12)


def test_small_pdtp_and_large_dtp_is_called_indirect() -> None:
    # Section 6.3: k nearest neighbours; attributes that are no whole numbers.
    example = nearest_example()
    near = audit_dtp(NearestNeighbours(1), example.x + 0.5, example.y, bin_width=0)
    assert near.pdtp[example.row] == 0
    assert near.dtp.low[example.row] == np.inf
    assert near.indirect[example.row]
    # Section 6.1: c*, which gives one record away at the query 0.
    learner, x, y = categories()
    unique = np.vstack([x, [2, 1]])
    labels = np.append(y, 1)
    keep = np.append(~((x == [2, 1]).all(axis=1) & (y == 1)), True)
    planted = audit_dtp(Planted(learner, (2.0, 1.0), 1), unique[keep], labels[keep], bin_width=0)
    assert planted.pdtp[-1] < 1
    assert planted.dtp.low[-1] == np.inf
    assert planted.indirect[-1]
    assert planted.decision == "do not publish"


def test_the_decision_follows_the_rule_of_1() -> None:
    learner, x, y = categories(400)
    assert audit_dtp(learner, x, y, bin_width=0).decision == "publish"
    one = np.append(np.zeros(30, np.int64), 1)
    found = audit_dtp(NaiveBayes((3, 2)), x[:31], one, bin_width=0)
    assert found.decision == "do not publish"
    assert found.n_infinite == 1
    assert found.highest == np.inf
    assert any("has a single record" in line and "rows 30" in line for line in found.warnings)
    binned = audit_dtp(NaiveBayes((3, 2)), x[:31], one)
    assert binned.highest <= cap(0.01)


@pytest.mark.parametrize("model", [GaussianNB(), GaussianNB(priors=[0.4, 0.3, 0.3])])
def test_what_a_class_of_one_record_puts_above_1_is_said(model: object) -> None:
    """The spread of a class seen once is made of all records, so each moves its probability."""
    x, y = records(60)
    named = np.array(["no", "sí", "único"])[np.where(np.arange(60) == 7, 2, y)]
    found = audit_dtp(model, x, named, bin_width=0, queries=5)
    alone = np.arange(60) != 7
    others = audit_dtp(GaussianNB(), x[alone], named[alone], bin_width=0, queries=5)
    assert found.n_above > 40
    assert found.lone_classes == (2,)
    assert found.n_above - found.n_by_lone_classes == 1 + others.n_above
    told = found.report()
    n = f"{found.n_by_lone_classes} of them only in the probability of a class with a single record"
    assert f"{n} (único)" in told.verdict.headline
    said = " ".join(told.verdict.sentences)
    assert "In the probabilities of other classes, 1 of 60 records is above the limit" in said
    assert told.verdict.advice[1].startswith("Merge a class with a single record (único)")
    assert not any("Too many records" in line for line in told.verdict.advice)
    (line,) = [line for line in found.warnings if "a class has a single record" in line]
    assert "(único; rows 7)" in line
    # A learner with smoothed counts: no other record changes that class much.
    codes = audit_dtp(NaiveBayes((3, 2)), *categories(60)[1:], bin_width=0)
    assert codes.lone_classes == ()
    assert codes.n_by_lone_classes == 0


def test_a_class_of_one_person_is_a_lone_class() -> None:
    x, y = records(40)
    y[:2] = 2
    unit = np.append(0, np.arange(39))
    found = audit_dtp(GaussianNB(), x, y, bin_width=0, queries=5, unit=unit)
    assert found.lone_classes == (2,)
    assert any("the records of a single person (2; rows 0)" in line for line in found.warnings)
    assert found.shared is not None
    assert len(found.shared) == 39
    assert (found.shared <= found.pdtp).all()


def test_values_that_bins_make_are_named() -> None:
    x = np.array([[0]] * 120 + [[1]] * 60)
    y = np.append(np.zeros(119, np.int64), np.ones(61, np.int64))
    plain, binned = (audit_dtp(NaiveBayes((2,)), x, y, bin_width=w) for w in (0, 0.01))
    # The one record of class 1 among 120: from 0.0167 to 0.0083 beside smoothing.
    assert binned.highest == pytest.approx(np.log(3))
    assert plain.highest < 1
    assert any("the step between the two lowest bins" in line for line in binned.warnings)
    assert not any("bins" in line for line in plain.warnings)


def test_a_sample_says_so_and_has_intervals() -> None:
    learner, x, y = categories()
    found = audit_dtp(learner, x, y, rows=np.arange(20))
    assert not found.complete
    assert not found.certified
    assert found.mean.low < found.mean.value < found.mean.high
    assert found.share_above.method == "Clopper-Pearson"
    assert "20 of 60 records were measured" in found.warnings[-1]
    # None of 20 above it: 1 - 0.05^(1/20) of the others at most.
    assert "0.14 of all records" in found.warnings[-1]


def test_repeated_measurements_are_those_in_halves() -> None:
    learner, x, y = categories()
    found = audit_dtp(learner, x, y, training_sets=4, bin_width=0)
    assert found.repeated is not None
    assert found.repeated.shape == (4, 60)
    assert len(found.averages) == 60
    assert_allclose(found.averages[7].value, found.repeated[:, 7].mean())
    assert found.averages[7].low < found.averages[7].value
    # In a half each record moves the classifier further than in the whole.
    assert found.repeated.mean() > found.pdtp.mean()
    trained = audit_dtp(GaussianNB(), *records(), training_sets=2, rows=[0, 5])
    assert trained.repeated is not None
    assert np.isfinite(trained.repeated).all()


@pytest.mark.slow
def test_removal_and_variation_are_there_when_asked_for() -> None:
    learner, x, y = categories()
    found = audit_dtp(learner, x, y, bin_width=0, remove=3, vary=4)
    assert found.removal is not None
    assert_allclose(found.removal.highest[0], found.dtp.low.max())
    assert [one.row for one in found.variation] == found.order[:2].tolist()
    tree = audit_dtp(DecisionTreeClassifier(max_depth=2), *records(), rows=[1, 2], remove=2)
    assert tree.removal is None
    assert "train the classifier without each record again" in tree.skipped[0].reason
    binned = audit_dtp(learner, x, y, remove=2)
    assert binned.removal is not None
    assert_allclose(binned.removal.highest[0], binned.highest)


@pytest.mark.slow
def test_a_run_is_kept_and_gone_on_with(tmp_path: object) -> None:
    x, y = records()
    model = DecisionTreeClassifier(max_depth=2)
    kept = f"{tmp_path}/run"
    first = audit_dtp(model, x, y, training_sets=1, vary=3, run=kept)
    told: list[tuple[int, int]] = []
    again = audit_dtp(
        model, x, y, training_sets=1, vary=3, run=kept, progress=lambda a, b: told.append((a, b))
    )
    assert again.to_json() == first.to_json()
    assert all(done == total for done, total in told)


def test_json_has_the_fields_that_others_read() -> None:
    learner, x, y = categories()
    found = json.loads(audit_dtp(learner, x, y, bin_width=0).to_json())
    assert set(found["pdtp"]) >= {"max", "mean", "above_1"}
    assert found["decision"] in ("publish", "do not publish")
    frame = audit_dtp(learner, x, y).to_frame()
    assert {"row", "pdtp", "dtp_lower", "dtp_upper"} <= set(frame.columns)
    assert len(frame) == 60


def test_an_audit_says_what_it_is() -> None:
    learner, x, y = categories()
    found = audit_dtp(learner, x, y)
    assert isinstance(found, DtpAudit)
    assert repr(found) == f"<DtpAudit: {found.report().verdict.headline}>"


@pytest.mark.slow
def test_a_run_and_its_parts_may_lie_where_fsspec_can_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a path made of the URL would be a folder here
    rng = np.random.default_rng(0)
    x = rng.normal(size=(24, 2))
    y = np.arange(24) % 2
    model = DecisionTreeClassifier(max_depth=2, random_state=0)
    asked = {"training_sets": 1, "vary": 2, "queries": 4}
    kept = audit_dtp(model, x, y, run="memory://dtp/here", **asked)
    assert kept.to_json() == audit_dtp(model, x, y, **asked).to_json()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [0] * 40}, "at least two classes are needed"),
        ({"y": ["a"] * 40}, "at least two classes are needed"),
        ({"y": [None] * 40}, "y must have a value in every row"),
        ({"bin_width": 0.3}, "bin must be 1 over a whole number"),
        ({"rows": [40]}, r"rows must lie in 0\.\.39, got 40"),
        ({"rows": []}, "rows must name at least one record"),
        ({"queries": -1}, "queries must be at least 0, got -1"),
        ({"training_sets": -1}, "training_sets must be at least 0, got -1"),
        ({"level": 1.0}, r"level must be in \(0, 1\)"),
        ({"order": "other"}, "order must be"),
        ({"remove": -1}, "remove must be at least 0, got -1"),
        ({"vary": 1}, "vary must be 0 or at least 2, got 1"),
        ({"class_names": ("a",)}, "class_names must name 2 classes, got 1"),
    ],
)
def test_bad_input_is_named(change: dict[str, object], message: str) -> None:
    x, y = records()
    given: dict[str, object] = {"y": y, **change}
    with pytest.raises(InputError, match=message):
        audit_dtp(LogisticRegression(), x, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["unit", "ids"])
def test_all_records_of_a_person_are_left_out_together(name: str) -> None:
    """Three copies of everybody, smoothed as much for three, are the same people as before."""
    learner, x, y = categories()
    once = audit_dtp(learner, x, y, bin_width=0)
    people = np.arange(len(y))
    order = np.random.default_rng(1).permutation(3 * len(y))
    copied = [np.tile(values, (3, 1) if values.ndim == 2 else 3)[order] for values in (x, y)]
    given = {name: np.tile(people, 3)[order]}
    found = audit_dtp(NaiveBayes(learner.sizes, 3 * learner.alpha), *copied, bin_width=0, **given)
    alone = audit_dtp(NaiveBayes(learner.sizes, 3 * learner.alpha), *copied, bin_width=0)
    number = np.tile(people, 3)[order][found.rows]
    assert_allclose(found.pdtp[np.argsort(number)], once.pdtp, atol=1e-12)
    assert found.highest > 2 * alone.highest
    assert found.n_train == len(people) == len(found.rows)
    assert found.complete
    assert "180 records belong to 60 people" in found.origin.warnings[0]


@pytest.mark.parametrize("model", [GaussianNB(), DecisionTreeClassifier(random_state=0)])
def test_a_person_shows_what_the_riskiest_of_its_records_shows(model: object) -> None:
    x, y = records(24, 3)
    people = np.random.default_rng(2).integers(0, 9, len(y))
    found = audit_dtp(model, x, y, unit=people, bin_width=0.01, queries=20)
    whole = model.fit(x, y).predict_proba(x)
    most = []
    for person in np.unique(people):
        own = people == person
        without = model.fit(x[~own], y[~own]).predict_proba(x[own])
        most.append(log_ratio(logs(whole[own]), logs(without), 0.01).max())
    assert_allclose(found.pdtp[np.argsort(people[found.rows])], most, atol=1e-9)
    assert (found.dtp.low >= found.pdtp).all()


def test_a_unit_of_one_record_each_changes_nothing() -> None:
    x, y = records()
    usual = audit_dtp(GaussianNB(), x, y)
    assert audit_dtp(GaussianNB(), x, y, unit=np.arange(len(y))[::-1]).to_json() == usual.to_json()


def test_equal_records_are_named_where_nothing_says_whose_they_are() -> None:
    x, y = records()
    found = audit_dtp(GaussianNB(), np.tile(x, (2, 1)), np.tile(y, 2))
    assert any("80 of 80 records equal another one" in text for text in found.origin.warnings)
    learner, codes, labels = categories()
    quiet = audit_dtp(learner, codes, labels)  # categories are equal by chance
    assert not any("equal another" in text for text in quiet.origin.warnings)


def test_of_a_person_all_records_are_measured() -> None:
    x, y = records()
    people = np.arange(len(y)) // 2
    every = audit_dtp(GaussianNB(), x, y, unit=people, queries=0)
    some = audit_dtp(GaussianNB(), x, y, unit=people, rows=[3, 20], queries=0)
    assert people[some.rows].tolist() == [1, 10]
    assert some.pdtp.tolist() == every.pdtp[[1, 10]].tolist()
    assert not some.complete
    assert "2 of 20 records were measured" in str(some.origin.warnings)


def test_halves_keep_people_together() -> None:
    x, y = records(30)
    people = np.arange(len(y)) // 2
    found = audit_dtp(GaussianNB(), x, y, unit=people, training_sets=2, queries=0, remove=3)
    assert found.repeated is not None
    assert found.repeated.shape == (2, 15)
    assert np.isfinite(found.repeated).all()
    assert found.removal is None


@pytest.mark.parametrize(
    "model", [GaussianNB(), LinearDiscriminantAnalysis(), LogisticRegression()], ids=repr
)
def test_the_lower_end_is_at_least_what_other_training_records_show(model: object) -> None:
    """Binned answers at the records that a model was trained on."""
    shown = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(90, 4))
        y = (x[:, 0] + rng.normal(size=90) > 0).astype(int)
        x[0], y[0] = [9, 0, 0, 9], 0
        found = audit_dtp(clone(model), x, y, rows=np.arange(6), bin_width=0.01)
        lower = found.to_frame()["dtp_lower"].to_numpy()
        whole = clone(model).fit(x, y).predict_log_proba(x)
        for record in range(6):
            rest = np.arange(90) != record
            without = clone(model).fit(x[rest], y[rest]).predict_log_proba(x)
            at_records = log_ratio(whole, without, 0.01).max()
            assert lower[record] >= at_records - 1e-9
            shown += at_records > found.to_frame()["pdtp"][record] + 1e-9
    # Otherwise it says nothing about other records.
    assert shown
