"""Views of one record are on one side, whatever a release leaks of different people."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import privacygauge as pg
from privacygauge.classifiers.neighbours import clustered_points


def answers(people, each, noise, leak="none", seed=0, classes=4):
    """Return answers about noisy views of people, classes, sides and a signal of what leaks."""
    rng = np.random.default_rng(seed)
    member = rng.random(people) < 0.5
    label = rng.integers(classes, size=people)
    rows = np.arange(people)
    z = rng.normal(size=(people, classes))
    z[rows, label] += 2
    if leak == "own":
        z[rows, label] += 3.0 * member
    elif leak == "top":
        z[rows, z.argmax(axis=1)] += 3.0 * member
    elif leak == "temperature":
        z *= np.where(member, 2.2, 1.0)[:, None]
    elif leak == "neighbour":
        z[rows, (label + 1) % classes] += 3.0 * member
    elif leak == "wholly":  # one answer for all who were left out, but for the last digits
        z = np.where(member[:, None], 6.0 + z, 1e-3 * z)
    views = np.repeat(rows, each)
    z = z[views] + noise * rng.normal(size=(len(views), classes))
    z -= z.mean(axis=1, keepdims=True)
    top = np.sort(z, axis=1)
    seen = np.column_stack([top[:, -1] - top[:, -2], z.std(axis=1)])
    return z, label[views], member[views], seen


@pytest.mark.slow
def test_views_that_differ_as_much_as_people_do_are_seen_by_their_sides():
    points, label, member, seen = answers(600, 5, 0.12)
    assert clustered_points(points, label, member, seen)
    bits = np.random.default_rng(1).permutation(member)
    assert not clustered_points(points, label, bits, seen)


@pytest.mark.slow
@pytest.mark.parametrize("classes", [4, 10])
def test_views_of_a_tenth_of_the_spread_are_seen(classes):
    found = [
        clustered_points(*answers(600, 5, 0.1, seed=seed, classes=classes)) for seed in range(30)
    ]
    assert sum(found) >= 29


@pytest.mark.slow
@pytest.mark.parametrize("leak", ["none", "own", "top", "temperature", "neighbour", "wholly"])
@pytest.mark.parametrize("people", [400, 1500])
def test_whatever_leaks_of_different_people_is_not_taken_for_views(leak, people):
    found = [clustered_points(*answers(people, 1, 0.0, leak, seed)) for seed in range(40)]
    assert sum(found) <= 1


def test_few_points_or_one_axis_are_of_nobody():
    points, label, member, seen = answers(60, 1, 0.0)
    assert not clustered_points(points, label, member, seen)
    points, label, member, seen = answers(400, 1, 0.0)
    assert not clustered_points(points[:, :1], label, member, seen)


@pytest.mark.parametrize("seed", range(2))
def test_a_machine_that_knows_each_training_image_leaks_and_is_not_of_a_few_people(seed):
    images, digit = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(digit))
    member = np.arange(len(digit)) < 900
    # Pixels from 0 to 16: each image is far from all others.
    model = CalibratedClassifierCV(SVC(gamma="auto"), ensemble=False)
    model.fit(images[order[member]], digit[order[member]])
    probs = model.predict_proba(images[order])
    found = pg.audit_classifier(pg.predictions(probs=probs, labels=digit[order], member=member))
    assert found.summary().startswith("Large leak")
