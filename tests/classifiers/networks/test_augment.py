"""Networks whose records are altered in training, and which are asked about views of them."""

import json
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privacygauge as pg
from privacygauge.claims.defences.early_stopping import EarlyStopping
from privacygauge.classifiers.named import recorded_trainer
from privacygauge.classifiers.networks import MLP, ImageAugment, Networks, views
from privacygauge.classifiers.shadows import Execution, train_shadows
from privacygauge.core.attacks.lira import LiraOnline
from privacygauge.core.seeds import stream
from privacygauge.errors import InputError
from tests.classifiers.networks import made

SHAPE = (2, 4, 3)


def images(n=6, seed=0, shape=SHAPE):
    return np.random.default_rng(seed).normal(size=(n, *shape)).reshape(n, -1)


@given(seed=st.integers(0, 2**20), shift=st.integers(0, 2), flip=st.booleans())
def test_an_altered_image_is_one_of_the_shifted_and_mirrored_ones(seed, shift, flip):
    x = images(seed=seed)
    found = ImageAugment(SHAPE, shift, flip)(x, np.random.default_rng(seed))
    assert found.shape == x.shape
    for before, after in zip(x.reshape(-1, *SHAPE), found.reshape(-1, *SHAPE), strict=True):
        possible = []
        for down in range(-shift, shift + 1):
            for right in range(-shift, shift + 1):
                moved = np.zeros(SHAPE)
                for c, h, w in np.ndindex(SHAPE):
                    if 0 <= h - down < SHAPE[1] and 0 <= w - right < SHAPE[2]:
                        moved[c, h, w] = before[c, h - down, w - right]
                possible += [moved, moved[:, :, ::-1]] if flip else [moved]
        assert any(np.array_equal(after, one) for one in possible)


def test_all_shifts_and_both_sides_occur_and_noise_has_its_spread():
    x = np.tile(images(1), (2_000, 1))
    shifted = ImageAugment(SHAPE, 1)(x, np.random.default_rng(0))
    assert len(np.unique(shifted, axis=0)) == 9
    mirrored = ImageAugment(SHAPE, 0, flip=True)(x, np.random.default_rng(0))
    assert (mirrored == x).all(axis=1).mean() == pytest.approx(0.5, abs=0.05)
    noisy = ImageAugment(SHAPE, 0, noise=0.3)(x.astype(np.float32), np.random.default_rng(0))
    assert noisy.dtype == np.float32
    assert np.std(noisy - x) == pytest.approx(0.3, rel=0.02)
    assert np.array_equal(ImageAugment(SHAPE, 0)(x, np.random.default_rng(0)), x)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shape": (8, 8)}, "shape must be channels, height and width, got"),
        ({"shape": (1, 0, 8)}, "shape must be channels, height and width, got"),
        ({"shape": (1, 8, 4), "shift": 4}, r"shift must be in 0\.\.3 for images of this size"),
        ({"shape": (1, 8, 8), "noise": -1.0}, "noise must be finite and at least 0, got -1"),
    ],
)
def test_augmentations_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        ImageAugment(**options)


def test_views_begin_with_the_records_and_depend_on_nothing_else():
    x = images(300)
    found = list(views(x, ImageAugment(SHAPE, noise=0.1), 4))
    assert np.array_equal(found[0], x)
    again = list(views(x, ImageAugment(SHAPE, noise=0.1), 3))
    assert all(np.array_equal(a, b) for a, b in zip(found, again, strict=False))
    assert len({view.tobytes() for view in found}) == 4


torch = pytest.importorskip("torch")
AUGMENT = ImageAugment((1, 2, 3), 1, flip=True, noise=0.2)
NETWORKS = Networks(
    MLP((4,)), epochs=3, batch_size=7, dtype="float64", augment=AUGMENT, queries=3, stack=3
)


@pytest.mark.torch
def test_every_model_is_asked_about_the_same_views():
    cohort = replace(made.cohort(n=300, d=6), asked=np.arange(299, -1, -1))
    trained = NETWORKS.train_with_weights(cohort)
    assert trained.logits.shape == (4, 300, 3, 3)
    asked = np.stack(list(views(cohort.x[cohort.asked], AUGMENT, 3)), axis=1)
    for logits, weights in zip(trained.logits, trained.weights, strict=True):
        module = MLP((4,))(6, 3).double()
        module.load_state_dict({key: torch.tensor(value) for key, value in weights.items()})
        with torch.no_grad():
            np.testing.assert_allclose(logits, module(torch.tensor(asked)), atol=1e-12)


@pytest.mark.torch
def test_the_first_query_is_what_models_say_that_are_asked_once():
    cohort = made.cohort(d=6)
    several = NETWORKS.train(cohort)
    once = replace(NETWORKS, queries=1).train(cohort)
    assert once.shape == (4, 40, 3)
    assert np.array_equal(several[:, :, 0], once)


@pytest.mark.torch
def test_batches_are_altered_by_the_model_s_own_draws():
    cohort = made.cohort(d=6)
    whole = NETWORKS.train(cohort)
    assert np.array_equal(whole[2:3], NETWORKS.train(cohort[2:3]))
    assert not np.allclose(whole, replace(NETWORKS, augment=AUGMENT_MORE).train(cohort))
    plain = replace(NETWORKS, augment=None, queries=1)
    assert not np.allclose(whole[:, :, 0], plain.train(cohort))
    nothing = replace(NETWORKS, augment=unaltered, queries=2)
    same = nothing.train(cohort)
    assert np.array_equal(same[:, :, 0], same[:, :, 1])
    np.testing.assert_allclose(same[:, :, 0], plain.train(cohort), atol=1e-9)


AUGMENT_MORE = replace(AUGMENT, noise=0.5)


def unaltered(records, rng):
    return records


@pytest.mark.torch
def test_training_is_by_the_definition():
    @dataclass
    class Seen:
        """Remembers what it altered."""

        batches: list

        def __call__(self, records, rng):
            altered = AUGMENT(records, rng)
            self.batches.append(altered.copy())
            return altered

    cohort = made.cohort(m=1, d=6)
    seen = Seen([])
    replace(NETWORKS, augment=seen, queries=1, epochs=2).train(cohort)
    own = cohort.inside[0]
    expected = []
    for epoch in range(2):
        order = stream(0, "order", epoch).permutation(40)
        rng = stream(0, "augment", epoch)
        mine = order[own[order]]
        expected += [
            AUGMENT(cohort.x[mine[start : start + 7]], rng) for start in range(0, len(mine), 7)
        ]
    assert len(seen.batches) == len(expected)
    assert all(np.array_equal(a, b) for a, b in zip(seen.batches, expected, strict=True))


@pytest.mark.torch
def test_a_run_with_views_is_resumed_and_told_from_others(tmp_path):
    x = images(30, shape=(1, 2, 3))
    y = np.arange(30) % 3
    trained = train_shadows(NETWORKS, x, y, n_shadows=4, execution=Execution(run=tmp_path / "run"))
    assert trained.pool.answers.shape == (4, 30, 3, 3)
    again = train_shadows(NETWORKS, x, y, n_shadows=4, execution=Execution(run=tmp_path / "run"))
    assert np.array_equal(again.pool.answers, trained.pool.answers)
    stands = recorded_trainer(tmp_path / "run")
    told = train_shadows(stands, x, y, n_shadows=4, execution=Execution(run=tmp_path / "run"))
    assert np.array_equal(told.pool.answers, trained.pool.answers)
    other = replace(NETWORKS, augment=AUGMENT_MORE)
    with pytest.raises(InputError, match="augment"):
        train_shadows(other, x, y, n_shadows=4, execution=Execution(run=tmp_path / "run"))


@pytest.mark.slow
@pytest.mark.torch
def test_a_model_that_exists_is_asked_about_the_same_views():
    x = images(60, shape=(1, 2, 3))
    y = np.arange(60) % 3
    member = np.arange(60) % 2 == 0
    weights = np.random.default_rng(1).normal(size=(6, 3))
    asked = np.stack(list(NETWORKS.views(x)), axis=1)
    assert np.array_equal(asked, np.stack(list(views(x, AUGMENT, 3)), axis=1))
    given = [
        pg.Fitted(lambda rows: rows @ weights, member),
        pg.Fitted(pg.predictions(logits=asked @ weights, labels=y, member=member), member),
    ]
    one, other = (
        pg.audit_model(NETWORKS, x, y, fitted=each, n_shadows=4, attacks=[LiraOnline()])
        for each in given
    )
    assert one.evaluations[0].auc == other.evaluations[0].auc
    once = [pg.predictions(logits=x @ weights, labels=y, member=member), member]
    with pytest.raises(InputError, match="answer 3 queries a record, the target 1: ask all"):
        pg.audit_model(NETWORKS, x, y, fitted=pg.Fitted(*once), n_shadows=4)


@pytest.mark.torch
def test_without_augmentation_nothing_is_said_of_it():
    plain = Networks(MLP((4,)))
    assert not {"augment", "queries"} & set(plain.describe())
    described = json.loads(json.dumps(NETWORKS.describe()))
    assert described["augment"]["fields"]["noise"] == 0.2
    assert described["queries"] == 3
    assert pickle.loads(pickle.dumps(NETWORKS)) == NETWORKS  # noqa: S301
    assert NETWORKS.engine_for(made.cohort(d=6)).name == "loop"


@pytest.mark.torch
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"queries": 0}, "queries must be at least 1, got 0"),
        ({"queries": 2}, "queries must be 1 without augment, which makes the views, got 2"),
        ({"augment": 3}, "augment must be a callable, got 3"),
        ({"augment": AUGMENT, "engine": "vmap"}, "engine must be None or loop to augment"),
    ],
)
def test_settings_that_do_not_fit_are_named(options, message):
    with pytest.raises(InputError, match=message):
        Networks(**options)


@pytest.mark.torch
def test_augmentations_that_return_something_else_are_named():
    cohort = made.cohort(d=6)
    for augment, message in (
        (lambda records, rng: records[:1], r"augment must return as many records as it is given"),
        (ImageAugment((1, 2, 2)), r"images of the shape \(1, 2, 2\) have 4 features, got 6"),
    ):
        with pytest.raises(InputError, match=message):
            replace(NETWORKS, augment=augment).train(cohort)
    with pytest.raises(InputError, match="augment must be None for a training that is seen after"):
        EarlyStopping(NETWORKS).train(cohort)
