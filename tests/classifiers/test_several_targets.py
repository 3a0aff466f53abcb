"""Targets that are added until an interval is narrow, on runs that grow."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import privacygauge as pg
from privacygauge.classifiers.audit.models import audit_model
from privacygauge.classifiers.audit.result import Audit
from privacygauge.classifiers.estimators import as_trainer
from privacygauge.classifiers.fitted import Fitted, split
from privacygauge.classifiers.predictions import Pool
from privacygauge.classifiers.shadows import Execution, TrainedShadows, train_shadows
from privacygauge.core.attacks.bavaria import Bavaria
from privacygauge.core.attacks.calibrated import CalibratedOnline
from privacygauge.errors import InputError
from privacygauge.runs.store import plan_in
from tests.classifiers.test_shadows import content
from tests.classifiers.trainers import Counted, Noisy, records

pytestmark = pytest.mark.usefixtures("undrawn")

X, Y = records(n=60)
ATTACKS = (CalibratedOnline(), Bavaria())


def played(**options: object) -> Audit:
    return audit_model(Noisy(leak=1.0), X, Y, **{"n_shadows": 4, "attacks": ATTACKS, **options})


@pytest.fixture(scope="module")
def narrow() -> Audit:
    return played(half_width=0.05)


@pytest.mark.slow
def test_targets_are_added_until_the_interval_is_narrow(narrow: Audit) -> None:
    one = played()
    wide = played(half_width=0.4)
    assert one.targets is None
    assert wide.targets.n_targets == 8
    assert narrow.targets.n_targets > 8
    assert narrow.targets.half_width <= 0.05 < wide.targets.half_width
    # All else is the audit of the first target, as it is without further ones.
    plain, with_further = (json.loads(a.to_json()) for a in (one, narrow))
    assert with_further.pop("targets")["n_targets"] == narrow.targets.n_targets
    assert with_further == plain
    first = narrow.targets.attacks[0].targets[0]
    assert np.array_equal(first.score, narrow.records.scores[narrow.targets.attacks[0].title])


@pytest.mark.slow
def test_a_run_that_goes_on_gives_the_same_report_and_trains_nothing(
    tmp_path: Path, narrow: Audit
) -> None:
    first = played(half_width=0.05, run=tmp_path / "a")
    before = content(tmp_path / "a")
    again = played(half_width=0.05, run=tmp_path / "a")
    assert again.to_json() == first.to_json() == narrow.to_json()
    assert content(tmp_path / "a") == before
    # A run without further targets grows to one with them, and keeps its bytes.
    played(run=tmp_path / "b")
    assert played(half_width=0.05, run=tmp_path / "b").to_json() == first.to_json()
    assert content(tmp_path / "b") == before
    assert plan_in(tmp_path / "a").n_units == 4 + first.targets.n_targets


@pytest.mark.slow
def test_a_width_that_is_out_of_reach_is_said() -> None:
    audit = played(half_width=0.001)
    assert audit.targets.n_targets == 64
    assert not audit.targets.reached
    text = audit.to_html()
    assert "Over 64 targets" in text
    assert "there are no more than 64 targets" in text


def test_failed_models_are_in_neither_part() -> None:
    trained = train_shadows(Noisy(), X, Y, n_shadows=9)
    pool = trained.pool
    failed = np.array([1, 6])
    kept = np.delete(np.arange(9), failed)
    some = TrainedShadows(
        trained.target, Pool(pool.values[kept], False, pool.inside[kept], pool.labels), failed
    )
    first, rest = split(some, 4, 4)
    assert np.array_equal(first.pool.values, pool.values[[0, 2, 3]])
    assert first.failed.tolist() == [1]
    # Of the models 4, 5 and 6 the last has failed; model 7 is beyond.
    assert np.array_equal(rest.values, pool.values[[4, 5]])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"half_width": 0.0}, r"half_width must be in \(0, 0.5\), got 0.0"),
        ({"half_width": 0.5}, r"half_width must be in \(0, 0.5\), got 0.5"),
        (
            {"half_width": 0.1, "fitted": Fitted(lambda x: np.ones((len(x), 2)) / 2, Y == 0)},
            "a fitted model is one target",
        ),
        ({"half_width": 0.1, "attacks": (pg.prediction_attacks()[0],) * 2}, "two attacks"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        played(**options)


def test_a_grown_pool_has_the_bytes_of_one_trained_at_once(tmp_path: Path) -> None:
    few = Counted()
    rest = Counted()
    train_shadows(few, X, Y, n_shadows=3, execution=Execution(run=tmp_path / "grown"))
    grown = train_shadows(rest, X, Y, n_shadows=7, execution=Execution(run=tmp_path / "grown"))
    once = Counted()
    whole = train_shadows(once, X, Y, n_shadows=7, execution=Execution(run=tmp_path / "once"))
    assert few.trained + rest.trained == once.trained
    assert np.array_equal(grown.pool.values, whole.pool.values)
    assert content(tmp_path / "grown") == content(tmp_path / "once")


def test_a_growing_run_that_was_stopped_trains_only_what_is_missing(tmp_path: Path) -> None:
    train_shadows(Counted(), X, Y, n_shadows=3, execution=Execution(run=tmp_path / "cut"))
    cut = Counted(stop_after=2)
    rest = Counted()
    with pytest.raises(KeyboardInterrupt):
        train_shadows(cut, X, Y, n_shadows=7, execution=Execution(run=tmp_path / "cut"))
    train_shadows(rest, X, Y, n_shadows=7, execution=Execution(run=tmp_path / "cut"))
    assert (len(cut.trained), len(rest.trained)) == (2, 2)
    train_shadows(Counted(), X, Y, n_shadows=7, execution=Execution(run=tmp_path / "once"))
    assert content(tmp_path / "cut") == content(tmp_path / "once")


@pytest.mark.slow
def test_two_workers_grow_a_run_to_the_same_bytes(tmp_path: Path) -> None:
    trainer = as_trainer(DecisionTreeClassifier(max_depth=2))
    train_shadows(trainer, X, Y, n_shadows=2, execution=Execution(run=tmp_path / "grown", n_jobs=2))
    train_shadows(trainer, X, Y, n_shadows=5, execution=Execution(run=tmp_path / "grown", n_jobs=2))
    train_shadows(trainer, X, Y, n_shadows=5, execution=Execution(run=tmp_path / "once"))
    assert content(tmp_path / "grown") == content(tmp_path / "once")
