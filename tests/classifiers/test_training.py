import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from privacygauge.classifiers.shadows import train_predictions
from privacygauge.errors import InputError


def nearest(random_state):
    return KNeighborsClassifier(1)


def data(n=60, k=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)), np.arange(n) % k


def test_members_are_the_records_that_were_trained_on():
    x, y = data()
    target, shadow = train_predictions(nearest, x, y, n_shadows=3, n_jobs=1)
    # A one-nearest-neighbour model knows its members by heart.
    for found in (target, shadow):
        right = found.values.argmax(axis=1) == found.labels
        assert right[found.member].all()
        assert right[~found.member].mean() < 0.7


def test_coins_are_independent_of_each_other_and_of_the_number_of_models():
    x, y = data()
    few = train_predictions(nearest, x, y, n_shadows=2, n_jobs=1)
    many = train_predictions(nearest, x, y, n_shadows=5, n_jobs=1)
    assert np.array_equal(few[0].member, many[0].member)
    assert np.array_equal(few[1].member, many[1].member[: len(few[1])])
    inside = many[1].member.reshape(5, -1)
    # Exact halves would give every record the same count.
    assert len(set(inside.sum(axis=0).tolist())) > 2


@pytest.mark.slow
def test_workers_change_no_number_and_progress_is_told():
    x, y = data()
    told = []
    one = train_predictions(nearest, x, y, n_shadows=3, n_jobs=1)
    two = train_predictions(
        nearest,
        x,
        y,
        n_shadows=3,
        n_jobs=2,
        progress=lambda done, total: told.append((done, total)),
    )
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a.values, b.values)
        assert np.array_equal(a.member, b.member)
    assert told[0] == (0, 4)
    assert told[-1] == (4, 4)
    assert told == sorted(told)


def test_bad_input_is_named():
    x, y = data()
    with pytest.raises(InputError, match="n_shadows must be at least 1, got 0"):
        train_predictions(nearest, x, y, n_shadows=0)
    with pytest.raises(InputError, match=r"x must have the shape \(n, d\) with n = 60"):
        train_predictions(nearest, x[:5], y)
