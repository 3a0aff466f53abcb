"""Mechanisms that are functions: known epsilons are kept, and broken ones found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from privacygauge import audit_mechanism
from privacygauge.claims.claim_audit.report import REFUTED, STANDS, verdict
from privacygauge.designs import query_neighbours
from privacygauge.errors import InputError, PrivacyGaugeError
from tests.thorough import times

pytestmark = pytest.mark.usefixtures("undrawn")

QUICK = {"runs": 1000, "search": 400}


def laplace(data, rng, scale=1.0):
    return np.asarray(data, float) + rng.laplace(0, scale, len(data))


def noisy_max(data, rng):
    """Epsilon 1: the index of the largest count with Laplace noise of scale 2."""
    return int(np.argmax(np.asarray(data) + rng.laplace(0, 2, len(data))))


def response(data, rng):
    """Epsilon 1, in words."""
    honest = rng.random() < 1 / (1 + np.exp(-1))
    return "yes" if honest == bool(data) else "no"


def gaussian(data, rng):
    """Epsilon 4.38 at delta 1e-5 for one answer that differs by 1."""
    return float(np.sum(data)) + rng.normal()


def counts_only(data, rng):
    """Noise on all counts but the last one."""
    noisy = laplace(data, rng, scale=20)
    noisy[-1] = data[-1]
    return noisy


def sparse_vector(data, rng):
    """A sparse vector without noise on its threshold, whose answers are not limited."""
    return ["above" if a + rng.laplace(0, 1) > 1.5 else "below" for a in data]


ONE = [(np.ones(1), np.zeros(1))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "neighbours", "epsilon", "delta"),
    [
        (laplace, ONE, 1.0, 0.0),
        (noisy_max, query_neighbours(3), 1.0, 0.0),
        (response, [(0, 1)], 1.0, 0.0),
        (gaussian, ONE, 4.38, 1e-5),
    ],
)
def test_true_claims_are_refuted_in_no_more_than_5_percent(mechanism, neighbours, epsilon, delta):
    games = times(20)
    found = [
        audit_mechanism(mechanism, neighbours, epsilon, delta, seed=seed, **QUICK)
        for seed in range(games)
    ]
    refuted = sum(one.free.refutes(one.claim) for one in found)
    assert refuted <= binom.isf(0.003, games, 0.05)


@pytest.mark.parametrize(
    ("mechanism", "neighbours", "epsilon"),
    [
        (laplace, query_neighbours(4), 1.0),
        (counts_only, query_neighbours(3), 1.0),
        (sparse_vector, query_neighbours(6), 1.0),
    ],
)
def test_broken_mechanisms_are_found(mechanism, neighbours, epsilon):
    found = audit_mechanism(mechanism, neighbours, epsilon, **QUICK)
    assert verdict(found).grade == REFUTED
    assert "of 8" in found.origin.provenance["neighbours"]


def test_neighbours_may_be_drawn_and_mechanisms_draw_themselves():
    rng = np.random.default_rng(0)

    def leak(data):
        return "all" if sum(data) % 2 and rng.random() < 0.9 else None

    def neighbours(rng):
        data = rng.integers(0, 2, 80)
        return data, data[1:]

    found = audit_mechanism(leak, neighbours, 0.5, **QUICK)
    assert verdict(found).grade == REFUTED


def test_a_control_clears_a_sound_mechanism():
    found = audit_mechanism(
        response, [(0, 1)], 1.0, control=lambda data, rng: "yes" if data else "no", **QUICK
    )
    assert verdict(found).grade == STANDS
    alone = audit_mechanism(response, [(0, 1)], 1.0, **QUICK)
    assert "could not have told" in verdict(alone).headline


def test_what_cannot_be_audited_is_refused():
    with pytest.raises(InputError, match="neighbours must be pairs"):
        audit_mechanism(laplace, [1.0], 1.0)
    with pytest.raises(InputError, match="at least one pair"):
        audit_mechanism(laplace, [], 1.0)
    with pytest.raises(InputError, match="runs must be at least 100"):
        audit_mechanism(laplace, ONE, 1.0, runs=5)

    def fails(data, rng):
        raise ValueError("no data")

    with pytest.raises(PrivacyGaugeError, match="fails failed on one of the neighbouring data"):
        audit_mechanism(fails, ONE, 1.0)


def test_outputs_of_several_parts_are_read_by_their_numbers():
    """A dictionary, or a tuple of a number and an array, with half of the claimed noise."""

    def named(data, rng):
        return {"b": rng.normal(), "a": float(np.sum(data)) + rng.laplace(0, 0.25)}

    def parts(data, rng):
        return 1.0, laplace(data, rng, 0.25), [rng.normal()]

    for mechanism in (named, parts):
        found = audit_mechanism(mechanism, [([1.0], [2.0])], epsilon=1.0, runs=1000)
        assert verdict(found).grade == REFUTED


@pytest.mark.parametrize(
    "mechanism", [lambda data, rng: None, lambda data, rng: f"{sum(data) + rng.normal()}"]
)
def test_outputs_that_tell_nothing_apart_are_named(mechanism):
    with pytest.raises(InputError, match="no attack tells any two of 1,000 outputs apart"):
        audit_mechanism(mechanism, [([1.0], [2.0])], epsilon=1.0, **QUICK)


def suppressed(data, rng, scale=0.1, instead=None):
    """A count with noise, or half of the time something else: epsilon 1 / scale."""
    return instead if rng.random() < 0.5 else float(np.sum(data)) + rng.laplace(0, scale)


def by_name(data, rng):
    """Counts with noise enough, under the names that occur: whose they are is not hidden."""
    return {str(name): 1 + float(rng.laplace(0, 2)) for name in data}


def named_index(data, rng):
    import pandas as pd

    return pd.Series(by_name(data, rng))


def winner(data, rng):
    """The name of the largest count and its value, with noise of a tenth of what is claimed."""
    noisy = np.asarray(data, float) + rng.laplace(0, 0.2, len(data))
    return ["a", "b", "c"][int(np.argmax(noisy))], float(noisy.max())


@pytest.mark.parametrize(
    ("mechanism", "pair"),
    [
        (suppressed, ([1] * 9, [1] * 10)),
        (lambda data, rng: suppressed(data, rng, instead="<5"), ([1] * 9, [1] * 10)),
        (by_name, (["ann", "bea"], ["ann", "cat"])),
        (named_index, (["ann", "bea"], ["ann", "cat"])),
        (winner, ([5, 5, 5], [6, 5, 5])),
    ],
)
def test_numbers_beside_words_and_names_are_looked_at(mechanism, pair):
    found = audit_mechanism(mechanism, [pair], 1.0, **QUICK)
    assert verdict(found).grade == REFUTED


def test_a_true_claim_with_suppressed_answers_stands():
    pair = ([1] * 9, [1] * 10)
    wrong = sum(
        verdict(
            audit_mechanism(
                lambda data, rng: suppressed(data, rng, 1.0), [pair], 1.0, seed=seed, **QUICK
            )
        ).grade
        == REFUTED
        for seed in range(times(8))
    )
    assert wrong <= binom.ppf(0.999, times(8), 0.05)
