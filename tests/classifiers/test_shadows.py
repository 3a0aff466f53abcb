from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from privacygauge.claims.defences.removal import RemoveRisky
from privacygauge.classifiers.estimators import as_trainer
from privacygauge.classifiers.shadows import (
    Execution,
    cohort_of,
    failed_shadows_warning,
    membership,
    train_all,
    train_shadows,
)
from privacygauge.classifiers.trainer import TASKS, Cohort, models_a_task, with_stack
from privacygauge.errors import InputError
from privacygauge.runs.store import plan_in, read_run
from tests.classifiers.trainers import Counted, records

X, Y = records()


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_coins_are_fair_and_further_models_change_none():
    few = membership(3, 40, 7)
    many = membership(9, 40, 7)
    assert np.array_equal(few, many[:4])
    assert np.array_equal(membership(3, 40, 7, target=False), few[1:])
    assert not np.array_equal(membership(3, 40, 8), few)
    coins = membership(200, 100, 0)
    assert abs(coins.mean() - 0.5) < 4.5 * 0.5 / np.sqrt(coins.size)
    # Coins, not exact halves: counts differ from record to record, and from model to model.
    assert len(np.unique(coins.sum(axis=0))) > 5
    assert len(np.unique(coins.sum(axis=1))) > 5
    together = np.corrcoef(coins[0], coins[1:].mean(axis=0))[0, 1]
    assert abs(together) < 4.5 / np.sqrt(100)


def test_predictions_are_those_of_models_trained_alone():
    trainer = as_trainer(DecisionTreeClassifier(max_depth=2))
    made = train_shadows(trainer, X, Y, n_shadows=3, seed=1)
    inside = membership(3, 40, 1)
    assert np.array_equal(made.target.member, inside[0])
    assert np.array_equal(made.pool.inside, inside[1:])
    for rows, values in zip(inside, [made.target.values, *made.pool.values], strict=True):
        alone = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[rows], Y[rows])
        np.testing.assert_allclose(values.sum(axis=1), 1)
        assert np.mean(values.argmax(axis=1) == alone.predict(X)) > 0.8


def test_further_shadow_models_change_no_earlier_one():
    few = train_shadows(Counted(), X, Y, n_shadows=2)
    many = train_shadows(Counted(), X, Y, n_shadows=5)
    assert np.array_equal(few.target.values, many.target.values)
    assert np.array_equal(few.pool.values, many.pool.values[:2])


def test_without_a_target_the_shadow_models_are_trained_on_the_same_records():
    both = train_shadows(Counted(), X, Y, n_shadows=3)
    alone = train_shadows(Counted(), X, Y, n_shadows=3, with_target=False)
    assert alone.target is None
    assert np.array_equal(alone.pool.inside, both.pool.inside)


def test_a_run_that_was_stopped_trains_only_what_is_missing(tmp_path):
    straight = tmp_path / "straight"
    whole = Counted()
    expected = train_shadows(whole, X, Y, n_shadows=5, execution=Execution(run=straight))
    assert len(whole.trained) == 6
    cut = Counted(stop_after=4)
    with pytest.raises(KeyboardInterrupt):
        train_shadows(cut, X, Y, n_shadows=5, execution=Execution(run=tmp_path / "cut"))
    assert read_run(tmp_path / "cut").n_done() == 4
    rest = Counted()
    told = []
    found = train_shadows(
        rest,
        X,
        Y,
        n_shadows=5,
        execution=Execution(run=tmp_path / "cut", progress=lambda *n: told.append(n)),
    )
    assert cut.trained + rest.trained == whole.trained
    assert told == [(4, 6), (5, 6), (6, 6)]
    assert np.array_equal(found.pool.values, expected.pool.values)
    assert content(tmp_path / "cut") == content(straight)
    idle = Counted()
    train_shadows(idle, X, Y, n_shadows=5, execution=Execution(run=straight))
    assert idle.trained == []


@pytest.mark.slow
def test_one_worker_and_two_write_the_same_bytes(tmp_path):
    # Workers train copies: nothing is counted here.
    trainer = as_trainer(DecisionTreeClassifier(max_depth=2))
    for jobs in (1, 2):
        train_shadows(
            trainer, X, Y, n_shadows=4, execution=Execution(run=tmp_path / str(jobs), n_jobs=jobs)
        )
    assert content(tmp_path / "1") == content(tmp_path / "2")


def test_a_folder_with_other_data_models_or_settings_is_refused(tmp_path):
    train_shadows(Counted(), X, Y, n_shadows=3, execution=Execution(run=tmp_path))
    others = [
        (Counted(), X + 1, Y, {"n_shadows": 3}),
        (Counted(), X, 1 - Y, {"n_shadows": 3}),
        (Counted(), X, Y, {"n_shadows": 2}),
        (Counted(), X, Y, {"n_shadows": 4, "unit": np.arange(len(Y)) // 2}),
        (Counted(), X, Y, {"n_shadows": 3, "seed": 1}),
        (replace(Counted(), name="other"), X, Y, {"n_shadows": 3}),
    ]
    for trainer, x, y, options in others:
        with pytest.raises(InputError, match="holds another run"):
            train_shadows(trainer, x, y, execution=Execution(run=tmp_path), **options)
        assert trainer.trained == []


def failing(numbers, seed=0, n_shadows=5):
    """Return a trainer that fails for some models, told by the size of their training sets."""
    sizes = membership(n_shadows, 40, seed).sum(axis=1)
    bad = tuple(int(sizes[number]) for number in numbers)
    assert [i for i, size in enumerate(sizes) if size in bad] == numbers
    return Counted(bad=bad)


def test_a_shadow_model_that_failed_is_named_left_out_and_never_averaged_in():
    whole = train_shadows(Counted(), X, Y, n_shadows=5, seed=SEED)
    made = train_shadows(failing([2, 4], SEED), X, Y, n_shadows=5, seed=SEED)
    # Models are counted with the target first, shadow models without it.
    assert made.failed.tolist() == [1, 3]
    kept = [0, 2, 4]
    assert np.array_equal(made.pool.values, whole.pool.values[kept])
    assert np.array_equal(made.pool.inside, whole.pool.inside[kept])
    assert np.array_equal(made.target.values, whole.target.values)
    (line,) = failed_shadows_warning(made.failed, 5)
    assert line.startswith("2 of 5 shadow models failed")
    assert line.endswith("left out: 1, 3")
    assert failed_shadows_warning(whole.failed, 5) == []


def test_a_failed_target_and_a_failed_pool_are_errors():
    with pytest.raises(InputError, match="training the target failed"):
        train_shadows(failing([0], SEED), X, Y, n_shadows=5, seed=SEED)
    with pytest.raises(InputError, match="training failed for all 5 shadow models"):
        train_shadows(failing([1, 2, 3, 4, 5], SEED), X, Y, n_shadows=5, seed=SEED)
    lone = np.zeros(40, int)
    with pytest.raises(InputError, match="a single class"):
        train_shadows(as_trainer(DecisionTreeClassifier()), X, lone, n_shadows=2)


# The first seed with six training sets of different sizes: failures are told by size.
SEED = next(s for s in range(1000) if len(set(membership(5, 40, s).sum(axis=1).tolist())) == 6)


def test_all_models_of_a_table_are_trained_and_only_what_is_asked_is_kept(tmp_path):
    inside = membership(2, 40, 0)
    asked = np.array([3, 5])
    states = (9, 8, 7)
    trainer = Counted()
    given = cohort_of(X, Y, inside, 0, asked=asked, states=states)
    values = train_all(trainer, given, seed=0, run=tmp_path)
    assert values.shape == (3, 2, 2)
    assert trainer.trained == [9, 8, 7]
    assert np.array_equal(read_run(tmp_path).array("member")[:], inside[:, asked])
    assert read_run(tmp_path).array("row")[:].tolist() == [3, 5]


def test_at_least_one_shadow_model_is_asked_for():
    with pytest.raises(InputError, match="n_shadows must be at least 1, got 0"):
        train_shadows(Counted(), X, Y, n_shadows=0)


def test_a_folder_without_a_run_has_no_plan(tmp_path):
    assert plan_in(tmp_path) is None
    assert plan_in(tmp_path / "absent") is None


@dataclass(frozen=True)
class Size:
    models: int


@dataclass(frozen=True)
class Together(Counted):
    """Trains several models as one; how many fit depends on the machine."""

    fit: int = 3
    stack: int | None = None

    def stack_size(self, cohort):
        return Size(self.fit)


def a_task(trainer, n_models):
    inside = np.ones((n_models, 40), bool)
    return models_a_task(trainer, Cohort(X, Y, inside, range(n_models), 2, np.arange(40)))


def test_models_are_written_in_small_enough_parts():
    assert a_task(Counted(), 17) == 1
    assert a_task(Counted(), TASKS + 1) == 2
    assert a_task(Together(), 64) == 3
    # There is work for several workers even where all models fit together.
    assert a_task(Together(fit=100), 64) == 8
    assert a_task(Together(fit=100), 5) == 1
    assert with_stack(Together(), 4).stack == 4
    assert with_stack(Counted(), 4) == Counted()


def test_a_defence_that_only_removes_records_leaves_models_together():
    assert a_task(RemoveRisky(Together()), 64) == 3
    assert a_task(RemoveRisky(Counted()), 17) == 1
    assert with_stack(RemoveRisky(Together(), rounds=2), 4) == RemoveRisky(
        Together(stack=4), rounds=2
    )


def test_a_run_goes_on_as_it_began_where_more_models_fit_by_now(tmp_path):
    small = Together(fit=2, stop_after=4)
    with pytest.raises(KeyboardInterrupt):
        train_shadows(small, X, Y, n_shadows=15, execution=Execution(run=tmp_path))
    assert plan_in(tmp_path).units_a_task == 2
    large = Together(fit=16)
    train_shadows(large, X, Y, n_shadows=15, execution=Execution(run=tmp_path))
    assert len(large.trained) == 12


@pytest.mark.slow
def test_weights_are_dropped_unless_asked_for(tmp_path):
    torch = pytest.importorskip("torch")
    load_file = pytest.importorskip("safetensors.numpy").load_file
    from privacygauge.classifiers.networks import MLP, Networks

    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 5))
    y = np.arange(40) % 3
    networks = Networks(MLP((4,)), epochs=2)
    kept = Execution(run=tmp_path / "run", weights=tmp_path / "weights")
    trained = train_shadows(networks, x, y, n_shadows=3, execution=kept)
    names = [f"model-{i:06}.safetensors" for i in range(4)]
    assert sorted(p.name for p in (tmp_path / "weights").iterdir()) == names
    module = networks.make(5, 3)
    state = load_file(tmp_path / "weights" / names[0])
    module.load_state_dict({key: torch.from_numpy(value) for key, value in state.items()})
    with torch.no_grad():
        logits = module(torch.from_numpy(x).float()).numpy()
    np.testing.assert_allclose(logits, trained.target.values, atol=1e-5)
    without = train_shadows(
        networks, x, y, n_shadows=3, execution=Execution(run=tmp_path / "other")
    )
    np.testing.assert_array_equal(without.pool.values, trained.pool.values)
    assert sorted(p.name for p in (tmp_path / "other").iterdir()) == [
        "observations.zarr",
        "run.json",
    ]
    with pytest.raises(InputError, match="weights can be kept of networks only, not of"):
        train_shadows(
            as_trainer(DecisionTreeClassifier()), x, y, execution=Execution(weights=tmp_path / "w")
        )


@pytest.mark.slow
def test_a_run_may_lie_where_fsspec_can_reach():
    pytest.importorskip("fsspec")
    trainer = as_trainer(DecisionTreeClassifier())
    there = "memory://test_a_run/here"
    first = train_shadows(trainer, X, Y, n_shadows=3, execution=Execution(run=there))
    assert plan_in(there).n_units == 4
    assert not Path("memory:").exists()
    np.testing.assert_array_equal(
        train_shadows(trainer, X, Y, n_shadows=3).pool.values, first.pool.values
    )
