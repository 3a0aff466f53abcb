"""Canaries of classifiers: what each form promises, and how trainings are scored."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge import audit_dp_sgd
from privacygauge.claims.canaries import CanaryGame
from privacygauge.claims.claim_audit.report import REFUTED, UNKNOWN, verdict
from privacygauge.designs import make_canaries
from privacygauge.errors import InputError

pytestmark = pytest.mark.usefixtures("undrawn")


def records(n=60, d=40, k=3):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.integers(k, size=n)


def test_mislabelled_canaries_are_records_with_another_class():
    x, y = records()
    made = make_canaries(x, y, 20)
    np.testing.assert_array_equal(made.x, x)
    assert made.canary.sum() == 20
    np.testing.assert_array_equal(made.y != y, made.canary)
    assert set(made.y) <= {0, 1, 2}


def test_orthogonal_canaries_are_at_right_angles_to_each_other_and_to_records():
    x, y = records(n=15)
    made = make_canaries(x, y, 25, kind="orthogonal", length=2)
    canaries = made.x[made.canary]
    longest = np.linalg.norm(x, axis=1).max()
    np.testing.assert_allclose(canaries @ canaries.T, (2 * longest) ** 2 * np.eye(25), atol=1e-9)
    np.testing.assert_allclose(canaries @ x.T, 0, atol=1e-9)


def test_canaries_out_of_the_distribution_are_far_in_every_column():
    x, y = records()
    made = make_canaries(x, y, 5, kind="out-of-distribution")
    far = (made.x[made.canary] - x.mean(axis=0)) / x.std(axis=0)
    np.testing.assert_allclose(np.abs(far), 3.0)
    assert made.x.shape == (65, 40)
    assert made.y.shape == made.canary.shape == (65,)


@pytest.mark.parametrize(
    ("n", "kind", "message"),
    [
        (41, "orthogonal", "n must be at most 40"),
        (61, "mislabelled", "n must be at most 60"),
        (2, "blank", "n must be 1 for blank canaries"),
        (0, "mislabelled", "n must be at least 1"),
        (1, "odd", "kind must be mislabelled"),
    ],
)
def test_what_cannot_be_made_is_refused(n, kind, message):
    with pytest.raises(InputError, match=message):
        make_canaries(*records(), n, kind=kind)


def mean_of(x, y, random_state, noise=1.0):
    """Release the sum of the records, with noise."""
    return x.sum(axis=0) + 5 * noise * np.random.default_rng(random_state).normal(size=x.shape[1])


def inner_product(released, x, y):
    return x @ released


def test_a_score_of_ones_own_sees_what_a_training_returns():
    x, y = records(d=400)
    made = make_canaries(x, y, 300, kind="orthogonal")
    broken = audit_dp_sgd(
        lambda x, y, random_state: mean_of(x, y, random_state, noise=0.01),
        made.x,
        made.y,
        canary=made.canary,
        epsilon=1.0,
        score=inner_product,
    )
    assert verdict(broken).grade == REFUTED


def test_a_training_that_takes_its_noise_is_its_own_control():
    x, y = records(d=400)
    made = make_canaries(x, y, 300, kind="orthogonal")
    found = audit_dp_sgd(
        lambda x, y, random_state, noise=1.0: mean_of(x, y, random_state, noise=20 * noise),
        made.x,
        made.y,
        canary=made.canary,
        epsilon=3.0,
        score=inner_product,
    )
    assert found.power.would_refute(found.claim)
    assert [one.control for one in found.controls] == [
        "half of the noise",
        "half of the claimed noise",
    ]
    assert verdict(found).grade == UNKNOWN
    assert "half of the claimed noise" in found.to_html()


def test_many_runs_share_one_coin_in_each():
    x, y = records()
    made = make_canaries(x, y, 1, kind="blank")
    seen = []

    def train(x, y, random_state):
        seen.append((len(x), random_state))
        return len(x)

    def count(released, x, y):
        return np.full(len(x), float(released))

    game = CanaryGame(made.x, made.y, made.canary, runs=50, score=count)
    scores = game.scores(train)
    np.testing.assert_array_equal(scores["member"], scores["score"] == 61)
    assert 0 < scores["member"].sum() < 50
    assert len({state for _, state in seen}) == 50
    audit = audit_dp_sgd(
        train, made.x, made.y, canary=made.canary, epsilon=1.0, runs=200, score=count
    )
    assert audit.design == "many-runs"
    assert verdict(audit).grade == REFUTED


def test_losses_of_many_runs_are_those_of_each_training():
    from sklearn.neighbors import KNeighborsClassifier

    x, y = records(n=30)
    canary = np.arange(30) == 3

    def train(x, y, random_state):
        return KNeighborsClassifier(3).fit(x, y)

    found = CanaryGame(x, y, canary, runs=12).scores(train)
    for member, score in zip(found["member"], found["score"], strict=True):
        rows = np.flatnonzero(~canary | member)
        p = train(x[rows], y[rows], 0).predict_proba(x[canary])[0, y[3]]
        assert score == pytest.approx(np.log(max(p, np.finfo(float).tiny)))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"runs": 5}, "canary must name few"),
        ({"runs": 0}, "runs must be at least 1"),
        ({"canary": np.zeros(60, bool)}, "canary must name at least one"),
        ({"score": lambda released, x, y: [1.0]}, "score must have 60"),
        ({"score": lambda released: 1.0}, "lambda> failed on 60 canaries: TypeError"),
        ({"canary": np.arange(60) == 0}, "all coins of 1 canaries fell (in|out): use more"),
        ({"canary": np.arange(60) == 0, "runs": 2, "seed": 1}, "all coins of 2 runs fell"),
    ],
)
def test_what_cannot_be_scored_is_refused(more, message):
    with pytest.raises(InputError, match=message):
        CanaryGame(*records(), **more).scores(mean_of)


def test_own_scores_go_with_functions():
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(InputError, match="score= goes with a training that is a function"):
        CanaryGame(*records(), score=inner_product).scores(LogisticRegression())
