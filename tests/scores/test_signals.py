"""Signals of models that are no classifiers: naive references, symmetries, wrong input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacygauge as pg
from tests.scores.families import KEPT, exact_denoiser

seeds = st.integers(0, 10_000)


@given(seeds, st.integers(2, 6))
def test_answers_equal_their_formulas_and_know_no_class_by_its_place(seed, k):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), size=5)
    found = pg.signals.answers(p)
    for i, row in enumerate(p):
        top = np.sort(row)
        assert np.isclose(found["confidence"][i], np.log(top[-1] / (1 - top[-1])), atol=1e-6)
        assert np.isclose(found["margin"][i], np.log(top[-1] / top[-2]))
        assert np.isclose(found["entropy"][i], -sum(x * np.log(x) for x in row if x > 1e-12))
    turned = pg.signals.answers(p[:, rng.permutation(k)])
    for key, values in found.items():
        assert np.allclose(values, turned[key])


@given(seeds)
def test_partial_likelihoods_of_people_add_up_to_coxs(seed):
    rng = np.random.default_rng(seed)
    n = 12
    time = rng.integers(1, 6, size=n).astype(float)
    event = rng.random(n) < 0.7
    risk = rng.normal(size=n)
    found = pg.signals.survival(time, event, risk)
    cox = sum(risk[i] - np.log(np.exp(risk[time >= time[i]]).sum()) for i in range(n) if event[i])
    hazard = np.array([
        np.exp(risk[i]) * sum(
            1 / np.exp(risk[time >= time[j]]).sum()
            for j in range(n) if event[j] and time[j] <= time[i]
        ) for i in range(n)
    ])  # fmt: skip
    assert np.allclose(found["martingale"], event - hazard)
    # Breslow's martingale residuals add up to 0, so that people's parts add up to Cox's less one
    # for each event.
    assert np.isclose(found["partial likelihood"].sum(), cox - event.sum())
    assert abs(found["martingale"].sum()) < 1e-9
    # Only differences of risks count.
    moved = pg.signals.survival(time, event, risk + 3)
    for key, values in found.items():
        assert np.allclose(values, moved[key])


@given(seeds, st.integers(2, 20))
def test_errors_of_series_equal_their_formulas(seed, length):
    rng = np.random.default_rng(seed)
    true, said = rng.normal(size=(2, length, 2))
    found = pg.signals.series([true], [said], season=3)
    residual = true - said
    assert np.isclose(found["mse"][0], (residual**2).mean())
    assert np.isclose(found["mae"][0], np.abs(residual).mean())
    lines = [np.polyval(np.polyfit(range(length), x, 1), range(length)) for x in residual.T]
    assert np.isclose(found["trend"][0], np.abs(lines).mean())
    # Parseval: the residual's power is the same in both domains.
    power = np.abs(np.fft.fft(residual, axis=0)) ** 2 / length
    assert np.isclose(power.sum(), (residual**2).sum())
    half = np.log(np.maximum(power[: length // 2 + 1], 1e-12))
    assert np.isclose(found["spectral"][0], half.mean())
    # A shift in time changes no spectrum.
    shifted = pg.signals.series([np.roll(true, 1, 0)], [np.roll(said, 1, 0)])
    for key in ("mse", "spectral", "spectrum"):
        assert np.isclose(found[key][0], shifted[key][0])


@given(seeds)
def test_items_are_compared_pair_by_pair(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(5, size=(3, 8)).astype(float)
    own = [rng.permutation(8)[: rng.integers(1, 8)] for _ in range(3)]
    found = pg.signals.items(scores, own)
    for i, mine in enumerate(own):
        others = np.setdiff1d(np.arange(8), mine)
        pairs = np.sign(scores[i, mine][:, None] - scores[i, others])
        assert np.isclose(found["rank"][i], (1 + pairs.mean()) / 2)


@given(seeds)
def test_views_are_compared_by_cosine(seed):
    z = np.random.default_rng(seed).normal(size=(3, 4, 5))
    found = pg.signals.view_similarity(z * 7)
    for i in range(4):
        pairs = [
            z[a, i] @ z[b, i] / np.linalg.norm(z[a, i]) / np.linalg.norm(z[b, i])
            for a, b in ((0, 1), (0, 2), (1, 2))
        ]
        assert np.isclose(found["similarity"][i], np.mean(pairs))
        assert np.isclose(found["nearest"][i], min(pairs))


def test_a_model_that_sees_all_noise_has_no_denoising_loss():
    x = np.random.default_rng(0).normal(size=(5, 3))
    # With a single clean record everything else in a noisy one is noise.
    found = pg.signals.denoising(exact_denoiser(x[:1], 0.0), x[:1], KEPT, steps=(4,), draws=3)
    assert np.allclose(found["loss 4"], 0)
    assert np.allclose(found["secmi 4"], 0)
    # A record that the model does not know has an error.
    other = pg.signals.denoising(exact_denoiser(x[:1], 0.0), x, KEPT, steps=(4,))
    assert (other["loss 4"][1:] > 0.1).all()
    again = pg.signals.denoising(exact_denoiser(x[:1], 0.0), x, KEPT, steps=(4,))
    assert all((other[key] == again[key]).all() for key in other)


@settings(max_examples=20)
@given(seeds, st.integers(1, 6), st.floats(0, 0.99))
def test_a_range_has_the_mean_of_its_lowest_losses(seed, samples, trim):
    drawn = []

    def loss(model, x):
        drawn.append(x)
        return x.sum(axis=1)

    records = np.arange(12.0).reshape(4, 3)
    sample = pg.signals.unknown_values(records, unknown=(1,))
    found = pg.signals.over_range(loss, sample, samples=samples, trim=trim, seed=seed)(None, 4)
    kept = max(1, round((1 - trim) * samples))
    assert np.allclose(found, np.sort([x.sum(axis=1) for x in drawn], axis=0)[:kept].mean(axis=0))
    for x in drawn:
        assert (x[:, [0, 2]] == records[:, [0, 2]]).all()
        assert np.isin(x[:, 1], records[:, 1]).all()


WRONG = {
    "answers": (lambda s: s.answers([0.2, 0.8]), "probabilities must have the shape"),
    "series": (lambda s: s.series([[1, 2]], [[1]]), "series 0 must have the shape"),
    "fewer": (lambda s: s.series([[1, 2]], []), "as many predicted as true series"),
    "items": (lambda s: s.items([[1.0, 2.0]], [[0, 1]]), "person 0 must have an item and lack one"),
    "views": (lambda s: s.view_similarity([[[1.0]]]), "v at least 2"),
    "steps": (lambda s: s.denoising(None, [[1.0]], KEPT, steps=(0,)), "steps must be in 1..19"),
    "noise": (
        lambda s: s.denoising(lambda x, t: 0.0, [[1.0]], KEPT, steps=(1,)), "noise of the shape"
    ),
    "trim": (lambda s: s.over_range(len, len, trim=1.0), "trim must be in"),
    "unknown": (lambda s: s.unknown_values([[1, 2]], [2]), "unknown must name columns in 0..1"),
    "event": (lambda s: s.survival([1.0], [2], [0.0]), "event"),
    "no probabilities": (
        lambda s: s.answers([[0.5, 0.5], [2, 3]]), "must be in \\[0, 1\\], got 2 in row 1"
    ),
    "probabilities' sum": (
        lambda s: s.answers([[0.5, 0.5], [0.5, 0.1]]), "must sum to 1, row 1 sums to 0.6"
    ),
    "nan among probabilities": (lambda s: s.answers([[0.5, np.nan]]), "finite, got nan in row 0"),
    "logits in words": (lambda s: s.answers([["a", "b"]]), "probabilities must hold numbers"),
    "temperature": (lambda s: s.answers([[0.5, 0.5]], temperature=0), "temperature must be"),
    "time": (
        lambda s: s.survival([1, -2], [1, 1], [0, 0]), "time must be at least 0, got -2 in row 1"
    ),
    "hazard": (
        lambda s: s.survival([1, 2], [1, 1], [0, 0], hazard=[1, -1]), "hazard must be at least 0"
    ),
    "nobody": (lambda s: s.survival([], [], []), "time holds no records"),
    "nan in a series": (
        lambda s: s.series([[1.0, 2.0], [1.0, np.nan]], [[1.0, 2.0]] * 2),
        "true series 1 must be finite, got nan in step 1",
    ),
    "texts in a series": (lambda s: s.series([["a"]], [[1.0]]), "true series 0 must hold"),
    "negative season": (lambda s: s.series([[1.0]], [[1.0]], season=-1), "season must be at"),
    "items beyond": (
        lambda s: s.items([[1.0, 2.0, 3.0]], [[7]]), "person 0: items must be in 0..2, got 7"
    ),
    "negative items": (lambda s: s.items([[1.0, 2.0, 3.0]], [[-1]]), "in 0..2, got -1"),
    "half an item": (lambda s: s.items([[1.0, 2.0, 3.0]], [[0.5]]), "must be integers, got 0.5"),
    "masks for items": (
        lambda s: s.items([[1.0, 2.0, 3.0]], [[True, False, False]]), "numbers of items, got bool"
    ),
    "nan scores": (lambda s: s.items([[1.0, np.nan]], [[0]]), "scores must be finite, got nan"),
    "nan views": (
        lambda s: s.view_similarity([[[1.0]], [[np.nan]]]), "embeddings must be finite, got nan"
    ),
    "nan records": (
        lambda s: s.denoising(lambda x, t: x, [[np.nan]], KEPT, steps=(1,)), "x must be finite"
    ),
    "kept": (
        lambda s: s.denoising(lambda x, t: x, [[1.0]], [1.2, 0.5], steps=(1,)),
        "kept must be in \\(0, 1\\], got 1.2 in row 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_input_ends_in_one_line(fault):
    call, told = WRONG[fault]
    with pytest.raises(pg.InputError, match=told) as caught:
        call(pg.signals)
    assert "\n" not in str(caught.value)
