"""The attack after matching on reference energy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from privacygauge.core.estimate import Skipped
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.roc import auc
from privacygauge.language.attacks import energy_transcript
from privacygauge.language.controls import matched_attack, matched_control
from tests.language.made_scores import made_scores


def drawn(seed: int, n: int = 80, shift: float = 0.7) -> tuple[Transcript, np.ndarray]:
    rng = np.random.default_rng(seed)
    secret = np.arange(n) % 2 == 0
    reference = rng.normal(0, 1, n) + shift * secret
    score = np.round(reference + rng.normal(0, 1, n), 1)
    return Transcript(score, secret, rng.integers(0, n, n) * 2 + secret), reference


def slow_area(score, secret, weight) -> float:
    inside = score[secret][:, None]
    outside = score[~secret]
    pairs = np.outer(weight[secret], weight[~secret])
    return np.sum(pairs * ((inside > outside) + (inside == outside) / 2)) / np.sum(pairs)


def slow_weights(reference, secret, mass, n_bins) -> np.ndarray:
    edges = np.quantile(reference, np.linspace(0, 1, n_bins + 1)[1:-1])
    bins = np.array([sum(value >= edge for edge in edges) for value in reference])
    weight = np.empty(len(reference))
    for row in range(len(reference)):
        here = bins == bins[row]
        a = mass[here & secret].sum()
        b = mass[here & ~secret].sum()
        weight[row] = (b if secret[row] else a) / (a + b)
    return weight


@given(st.integers(0, 1000))
def test_the_areas_are_those_of_a_slow_loop(seed):
    transcript, reference = drawn(seed)
    found = matched_attack(transcript, reference)
    weight = slow_weights(reference, transcript.secret, np.ones(80), found.n_bins)
    assert found.weight == pytest.approx(weight)
    before = slow_area(transcript.score, transcript.secret, np.ones(80))
    after = slow_area(transcript.score, transcript.secret, weight)
    assert found.before == pytest.approx(before)
    assert found.after.value == pytest.approx(after)
    assert found.fall.value == pytest.approx(before - after)
    assert found.before == pytest.approx(auc(transcript).value)


def test_the_error_is_the_slope_in_every_groups_mass():
    transcript, reference = drawn(0)
    n_bins = matched_attack(transcript, reference).n_bins
    secret = transcript.secret
    unit = np.unique(transcript.target, return_inverse=True)[1]
    step = 1e-6
    slopes = []
    for group in range(unit.max() + 1):
        ends = []
        for sign in (1, -1):
            mass = 1 + sign * step * (unit == group)
            weight = slow_weights(reference, secret, mass, n_bins)
            before = slow_area(transcript.score, secret, mass)
            ends.append(before - slow_area(transcript.score, secret, weight * mass))
        slopes.append((ends[0] - ends[1]) / (2 * step))
    n = len(slopes)
    error = np.sqrt(np.sum(np.square(slopes)) * n / (n - 1))
    found = matched_attack(transcript, reference, 0.95)
    # Central differences of step 1e-6 are right to about 1e-8.
    assert found.fall.high - found.fall.value == pytest.approx(
        error * t.ppf(0.975, n - 1), rel=1e-5
    )


def test_both_sides_weigh_the_same_in_every_bin():
    transcript, reference = drawn(1, 400, 1.0)
    found = matched_attack(transcript, reference)
    secret = transcript.secret
    weighted = slow_area(-reference, secret, found.weight)
    plain = slow_area(-reference, secret, np.ones(400))
    assert plain < 0.3
    # Inside a bin members still lie a little higher.
    assert weighted == pytest.approx(0.5, abs=0.02)
    assert found.weight[secret].sum() == pytest.approx(found.weight[~secret].sum())


@given(st.integers(0, 1000), st.randoms())
def test_order_and_increasing_maps_change_nothing(seed, random):
    transcript, reference = drawn(seed)
    order = list(range(len(reference)))
    random.shuffle(order)
    first = matched_attack(transcript, reference)
    other = Transcript(
        np.exp(transcript.score[order]), transcript.secret[order], transcript.target[order]
    )
    second = matched_attack(other, reference[order])
    assert second.fall.value == pytest.approx(first.fall.value, abs=1e-12)
    assert second.fall.high == pytest.approx(first.fall.high, abs=1e-12)
    assert second.after.low == pytest.approx(first.after.low, abs=1e-12)


def test_a_shift_without_a_leak_is_all_taken_away():
    scores = made_scores(np.random.default_rng(3), patients=(300, 300, 0), leak=0.0, shift=1.0)
    found = matched_control(scores, "loss")
    assert found.before > 0.7
    assert found.fires
    assert not found.after.excludes(0.5)
    assert found.after.value == pytest.approx(0.5, abs=0.02)


def test_a_leak_without_a_shift_is_left():
    scores = made_scores(np.random.default_rng(3), patients=(300, 300, 0), leak=0.5)
    found = matched_control(scores)
    assert not found.fires
    assert found.after.low > 0.7
    assert found.kept == 1.0


def test_a_shift_that_hides_a_leak_fires_too():
    scores = made_scores(np.random.default_rng(3), patients=(100, 100, 0), leak=0.5, shift=-0.8)
    found = matched_control(scores, "loss")
    assert found.fires
    assert found.fall.high < 0


def test_what_cannot_be_matched():
    scores = made_scores(np.random.default_rng(0), patients=(30, 19, 0))
    assert "got 19" in matched_control(scores).reason
    secret = np.arange(80) < 40
    apart = matched_attack(Transcript(np.zeros(80), secret), np.where(secret, 0.0, 1.0))
    assert apart == Skipped("matched attack", "no range of reference energies holds both sides")
    transcript = energy_transcript(scores, "loss")
    with pytest.raises(InputError, match="reference must have"):
        matched_attack(transcript, np.zeros(3))


def test_equal_energies_and_perfect_attacks_have_intervals():
    secret = np.arange(80) < 40
    perfect = matched_attack(Transcript(secret.astype(float), secret), np.ones(80))
    assert perfect.n_bins == 1
    assert perfect.after.value == perfect.after.high == 1
    assert 0.85 < perfect.after.low < 0.95
    assert not perfect.fires
