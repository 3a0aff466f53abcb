"""Unlearning: retraining is quiet, and what is left of a record, or avoided, is told."""

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.evaluate.unlearning import measure_unlearning

N = 250
COLUMNS = 150


def descended(weights, x, y, steps, sign=-1.0, rate=0.5):
    """Return the weights of a logistic regression after steps of gradient descent, or ascent."""
    for _ in range(steps):
        wrong = 1 / (1 + np.exp(-x @ weights)) - y
        weights = weights + sign * rate * x.T @ wrong / len(x)
    return weights


def log_probability(weights, x, y):
    return -np.logaddexp(0.0, -(2 * y - 1) * (x @ weights))


def game(seed):
    """Return the log-probabilities of forgotten and fresh records under five models."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(3 * N, COLUMNS))
    y = (rng.random(3 * N) < 1 / (1 + np.exp(-x[:, :5].sum(1)))).astype(float)
    rest = slice(0, N)
    gone = slice(N, 2 * N)
    start = np.zeros(COLUMNS)
    before = descended(start, x[: 2 * N], y[: 2 * N], 400)
    models = {
        "before": before,
        "retrained": descended(start, x[rest], y[rest], 400),
        # A second retraining, as whoever forgets by retraining would make it.
        "again": descended(0.05 * rng.normal(size=COLUMNS), x[rest], y[rest], 400),
        "ascent": descended(before, x[gone], y[gone], 40, sign=1.0),
        "further": descended(before, x[rest], y[rest], 5),
    }
    judged = slice(N, 3 * N)
    return {name: log_probability(w, x[judged], y[judged]) for name, w in models.items()}


FORGOTTEN = np.arange(2 * N) < N


def states(name, n):
    found = [game(seed) for seed in range(n)]
    return [
        measure_unlearning(x["before"], x[name], FORGOTTEN, retrained=x["retrained"]).state
        for x in found
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("ascent", "known to be forgotten"), ("further", "still known")],
)
def test_what_overshoots_and_what_falls_short_are_told_apart(name, expected):
    assert states(name, 6).count(expected) >= 5


def test_retraining_is_quiet_in_forty_games():
    found = states("again", 40)
    # At a level of 95% two of forty are expected, and more than six come once in two hundred.
    assert sum(state in ("still known", "known to be forgotten") for state in found) <= 6
    assert "nothing found" in found


@pytest.mark.parametrize(("shift", "expected"), [(4, "still known"), (-4, "known to be forgotten")])
def test_a_few_records_that_were_not_forgotten_are_found_though_the_average_is_silent(
    shift, expected
):
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        hard = rng.normal(-2, 1, 1000)
        noise = rng.normal(0, 0.3, (3, 1000))
        forgotten = np.arange(1000) < 500
        few = np.arange(1000) < 15
        after = hard + noise[1] + shift * few
        found.append(
            measure_unlearning(
                hard + forgotten + noise[0], after, forgotten, retrained=hard + noise[2], seed=seed
            )
        )
    assert sum(x.after.low <= 0.5 <= x.after.high for x in found) >= 18
    assert sum(x.state == expected for x in found) >= 18
    # A lower bound: chance could put some of the 15 where they are.
    assert sum(5 <= x.exposed <= 15 for x in found) >= 17


def test_a_few_records_that_the_first_model_knew_are_enough_to_compare():
    rng = np.random.default_rng(2)
    noise = rng.normal(0, 0.3, (3, 1000))
    forgotten = np.arange(1000) < 500
    before = noise[0] + 5 * (np.arange(1000) < 12)
    found = measure_unlearning(before, noise[1], forgotten, retrained=noise[2])
    assert found.before.low <= 0.5
    assert found.state == "nothing found"


def test_records_that_differ_are_no_finding():
    rng = np.random.default_rng(1)
    easy = rng.normal(size=400) + 2.0 * (np.arange(400) < 200)
    found = measure_unlearning(easy + 1, easy, np.arange(400) < 200, retrained=easy)
    assert found.state == "cannot be told"
    assert "differ in more than training" in found.reason


def test_a_model_that_never_knew_the_records_and_too_few_of_them():
    rng = np.random.default_rng(6)
    side = np.arange(400) < 200
    noise = rng.normal(size=(3, 400))
    found = measure_unlearning(noise[0], noise[1], side, retrained=noise[2])
    assert found.state == "cannot be told"
    assert "does not show that it knew the records" in found.reason
    few = np.arange(24) < 12
    noise = rng.normal(size=(2, 24))
    found = measure_unlearning(noise[0] + 5 * few, noise[0], few, retrained=noise[1] * 1e-3)
    assert found.state == "cannot be told"


def test_rows_of_one_person_count_once():
    rng = np.random.default_rng(3)
    one = rng.normal(size=60)
    side = np.repeat(np.arange(60) < 30, 20)
    score = np.repeat(one, 20)
    alone = measure_unlearning(score, score, side)
    people = measure_unlearning(score, score, side, unit=np.repeat(np.arange(60), 20))
    assert people.after.high - people.after.low > 3 * (alone.after.high - alone.after.low)
    assert people.after.n == 60


@pytest.mark.parametrize("bad", [[1.0], [np.nan] * 4])
def test_bad_scores_are_refused(bad):
    with pytest.raises(InputError, match="after must hold a finite number for each of the 4"):
        measure_unlearning([0.0] * 4, bad, [True, True, False, False])
