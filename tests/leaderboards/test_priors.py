"""What logits tell an analyst, and that it never learns what the base model scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from privacygauge.errors import InputError
from privacygauge.leaderboards.analysts import trials
from privacygauge.leaderboards.naive_bayes import NaiveBayes, centre_accuracies, query_probabilities
from privacygauge.leaderboards.oracle import Budget, Holdout
from privacygauge.leaderboards.priors import Knowledge, classes_worth_trying, from_logits

RNG = np.random.default_rng


def made(n, m, rng, sharpness=1.5):
    """Logits, and labels drawn from their softmax: the prior is right."""
    logits = sharpness * rng.normal(size=(n, m))
    labels = (softmax(logits, axis=1).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    return logits, Holdout(np.minimum(labels, m - 1), m)


@given(st.integers(1, 40), st.integers(2, 6), st.data())
def test_candidates_are_the_most_likely_labels_of_the_least_certain_points(n, m, data):
    logits = RNG(n * m).normal(size=(n, m))
    top = data.draw(st.integers(2, m))
    some = data.draw(st.integers(1, n))
    known = from_logits(logits, top=top, least_confident=some, temperature=2.0)
    prior = softmax(logits / 2, axis=1)
    largest = prior.max(axis=1)
    assert np.array_equal(known.base, prior.argmax(axis=1))
    assert np.array_equal(known.points, np.sort(np.argsort(largest)[:some]))
    assert np.array_equal(known.candidates, np.argsort(-prior[known.points], axis=1)[:, :top])
    assert np.allclose(np.exp(known.log_prior), -np.sort(-prior[known.points], axis=1)[:, :top])
    inside = np.take_along_axis(prior[known.points], known.candidates, axis=1).sum(axis=1)
    assert known.mass == pytest.approx(inside.mean())
    assert known.whole == (top == m and some == n)
    codes = RNG(1).integers(0, top, (some, 3))
    labels = known.labels(codes)
    assert np.array_equal(labels[known.points, 2], known.candidates[np.arange(some), codes[:, 2]])
    assert np.array_equal(known.labels(codes[:, 0]), labels[:, 0])
    outside = np.setdiff1d(np.arange(n), known.points)
    assert np.all(labels[outside] == known.base[outside, None])


def test_what_was_right_elsewhere_does_not_matter():
    # The base model right everywhere outside, or nowhere: the same centred accuracies.
    known = from_logits(RNG(0).normal(size=(400, 5)), top=2, least_confident=100)
    answers = RNG(1).uniform(0.1, 0.2, 30)
    assert np.allclose(
        centre_accuracies(answers, 400, known), centre_accuracies(answers + 0.75, 400, known)
    )
    assert centre_accuracies(answers, 400, known).mean() == pytest.approx(known.mass / 2)


def test_centred_accuracies_estimate_the_right_probability():
    rng = RNG(2)
    logits, holdout = made(4_000, 6, rng)
    known = from_logits(logits, top=3, least_confident=3_000)
    codes = rng.integers(0, 3, (3_000, 200))
    oracle = holdout.open(rng, budget=Budget(200))
    found = query_probabilities(oracle.submit_all(known.labels(codes).T), oracle, known)
    truth = holdout.labels[known.points]
    inside = (known.candidates == truth[:, None]).any(axis=1)
    right = known.candidates[np.arange(3_000)[:, None], codes] == truth[:, None]
    # Among points whose label is a candidate. The mean of 200 answers and the mass r are
    # estimates, each off by about .001.
    assert np.abs(found - right[inside].mean(axis=0)).max() < 0.01


def gain(logits, holdout, k, seed, level=0.8, n=3, **restriction):
    analyst = NaiveBayes(from_logits(logits, **restriction))
    return trials(analyst, lambda rng: holdout, k, RNG(seed).spawn(n)).bias(level)


def test_knowledge_is_never_worse_than_none_on_a_right_prior():
    logits, holdout = made(1_000, 4, RNG(3))
    assert gain(logits, holdout, 300, 4).low > 0


# On CIFAR-10 the model is right more often, so that restrictions add less: more trials tell.
@pytest.mark.parametrize(
    ("dataset", "points", "n"),
    [("cifar100", 3_000, 4), pytest.param("cifar10", 5_000, 10, marks=pytest.mark.slow)],
)
def test_gains_are_ordered_as_in_figure_1(data_folder, dataset, points, n):
    # A fifth of the points is attacked, with half a query for each, as in the paper.
    k = points // 10
    some = points // 5
    with np.load(data_folder / f"logits_{dataset}_resnet-20.npz", allow_pickle=False) as file:
        logits = file["logits"][:points]
        labels = file["labels"][:points].astype(np.int64)
    holdout = Holdout(labels, logits.shape[1])
    prior = gain(logits, holdout, k, 5, n=n)
    labels_only = gain(logits, holdout, k, 6, n=n, top=2)
    points_only = gain(logits, holdout, k, 7, n=n, least_confident=some)
    both = gain(logits, holdout, k, 8, n=n, top=2, least_confident=some)
    assert both.low > points_only.high
    assert points_only.low > prior.value
    assert points_only.value > labels_only.value > prior.low


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_logits([1.0, 2.0]), r"logits must be numbers of the shape \(n, m\), m >= 2"),
        (lambda: from_logits([[1.0, np.nan]]), "logits must be finite: clip them"),
        (lambda: from_logits([[1.0, 2.0]], top=3), r"top must be in 2\.\.2, got 3$"),
        (
            lambda: from_logits([[1.0, 2.0]], least_confident=0),
            r"least_confident must be in 1\.\.1",
        ),
        (lambda: from_logits([[1.0, 2.0]], temperature=0), "temperature must be above 0, got 0$"),
        (
            lambda: Knowledge(np.zeros(2, int), np.array([0]), np.zeros((1, 1), int), [[0.0]], 2),
            r"candidates must have the shape \(p, r\)",
        ),
    ],
)
def test_what_is_no_knowledge(call, message):
    with pytest.raises(InputError, match=f"^{message}"):
        call()


def gained(share, n, k, top, trials):
    """Return the mean accuracy that the attack adds to the largest class, over several games."""
    found = []
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        holdout = Holdout(rng.choice(len(share), n, p=share), len(share))
        counts = np.bincount(holdout.labels, minlength=len(share)) + 0.5
        every = np.broadcast_to(np.log(counts / counts.sum()), (n, len(share)))
        oracle = holdout.open(rng, budget=Budget(total=k))
        attack = NaiveBayes(from_logits(every, top=top))
        found.append(holdout.score(attack.answer(oracle, rng)) - counts.max() / n)
    return float(np.mean(found))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "n", "k"),
    [
        (np.r_[0.45, 0.45, np.full(8, 0.1 / 8)], 1000, 100),
        (np.r_[0.3, 0.25, 0.2, np.full(17, 0.25 / 17)], 2000, 300),
        (np.full(10, 0.1), 1000, 100),
    ],
    ids=["two frequent", "three frequent", "even"],
)
def test_as_many_classes_are_tried_as_gain_most(share, n, k):
    chosen = classes_worth_trying(share, n, k)
    best = max(gained(share, n, k, top, trials=40) for top in (2, 3, 5, len(share)))
    assert gained(share, n, k, chosen, trials=40) >= 0.9 * best


def test_without_queries_or_with_very_many_the_choice_is_still_one():
    share = np.array([0.5, 0.3, 0.2])
    assert 2 <= classes_worth_trying(share, 100, 0) <= 3
    # Nearly every label is known then, but for those of classes that are not tried.
    assert classes_worth_trying(share, 100, 10**6) == 3
