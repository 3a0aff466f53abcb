"""Networks that scale features by their own records: a record that is left out leaves the scale."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from privacygauge.classifiers.ratios import log_ratio
from privacygauge.classifiers.trainer import Cohort
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from tests.claims.dtp.leaving import retrained

pytest.importorskip("torch")

from privacygauge.claims.defences.dp_sgd import DpSgd
from privacygauge.classifiers.networks import MLP, Networks

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def records(n: int = 30) -> tuple[Floats, Ints]:
    """Columns of unlike size, one equal for all, and one record far away."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 4)) * (1, 50, 0.1, 0) + (0, 100, 0, 7)
    x[3, 0] = 400.0
    return x, rng.integers(0, 2, n)


def made(*, own_scale: bool, engine: str | None = None) -> Networks:
    return Networks(
        MLP((6,), "tanh"),
        epochs=3,
        batch_size=8,
        learning_rate=0.05,
        dtype="float64",
        own_scale=own_scale,
        engine=engine,
    )


@pytest.mark.parametrize("engine", ["dense", "vmap", "loop"])
def test_each_model_has_the_scale_of_its_own_records(engine: str) -> None:
    x, y = records()
    inside = np.random.default_rng(1).random((5, len(y))) < 0.6
    asked = np.arange(len(y))
    together = made(own_scale=True, engine=engine).train(Cohort(x, y, inside, range(5), 2, asked))
    for model, own in enumerate(inside):
        spread = x[own].std(axis=0)
        scaled = (x - x[own].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        cohort = Cohort(scaled, y, own[None], (model,), 2, asked)
        alone = made(own_scale=False, engine="loop").train(cohort)[0]
        assert_allclose(together[model], alone, atol=1e-9)


def test_an_outlier_takes_its_part_of_the_scale_along() -> None:
    x, y = records()
    rows = np.arange(6)
    found = retrained(made(own_scale=True), x, y, rows, n_classes=2, queries=np.arange(30))
    whole = retrained(made(own_scale=False), x / x.std(axis=0).clip(1), y, rows, n_classes=2)
    moved = log_ratio(found.with_it, found.without)
    assert moved[3] > log_ratio(whole.with_it, whole.without)[3]
    # What the weights certify holds for the features as they are given.
    assert (found.searched <= found.bound + 1e-6).all()
    assert np.isfinite(found.bound).all()


def test_trainings_that_do_not_scale_refuse_it() -> None:
    x, y = records()
    cohort = Cohort(x, y, np.ones((1, 30), np.bool_), (0,), 2, np.arange(30))
    with pytest.raises(InputError, match="own_scale must be False"):
        DpSgd(made(own_scale=True), 1.0, 0.5).train(cohort)
