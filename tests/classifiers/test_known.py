"""What else is known of records: columns that answers follow, trends, placebos."""

from __future__ import annotations

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.classifiers.known import (
    _continues_a_trend,
    _dependence,
    _placebo,
    digits_differ,
)
from privacygauge.core.release import Worlds
from tests.classifiers.made import made_up

N = 600


@pytest.mark.parametrize("as_text", [False, True])
def test_answers_that_follow_numbered_groups_are_seen_whatever_the_numbers(as_text):
    """Every other clinic is of the members; its number has no order that answers could follow."""
    rng = np.random.default_rng(0)
    clinic = rng.integers(0, 20, N)
    member = rng.random(N) < np.where(clinic % 2, 0.8, 0.2)
    values = np.array([f"clinic {number}" for number in clinic]) if as_text else clinic
    follows = (clinic % 2 + 0.1 * rng.normal(size=N))[:, None]
    assert _dependence(values, follows, member) > 0.3
    assert _dependence(values, rng.normal(size=(N, 1)), member) < 0.1


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("jump", [0.0, -1.5])
def test_a_gap_is_a_trend_s_only_where_the_trend_explains_it(seed, jump):
    """Members are of other years; with a jump between the sides the line leaves a gap."""
    rng = np.random.default_rng(seed)
    target = made_up(n=2_000, k=2, seed=seed)
    year = rng.integers(0, 20, 2_000) + np.where(target.member, 8, 0)
    signal = 0.1 * year + rng.normal(size=2_000) + jump * target.member
    assert _continues_a_trend(year, {"confidence": signal}, target) == (jump == 0.0)
    without = signal - 0.1 * year
    assert not _continues_a_trend(year, {"confidence": without}, target)


@pytest.mark.parametrize("gap", [0.0, 1.0])
@pytest.mark.parametrize("n_models", [1, 20])
def test_the_placebo_asks_models_that_were_not_trained_on_the_record(gap, n_models):
    """What they say of the target's members they know from elsewhere; what they learnt is apart."""
    rng = np.random.default_rng(0)
    target = made_up(n=N)
    inside = rng.random((n_models, N)) < 0.5
    signal = rng.normal(size=(n_models, N)) + gap * target.member - 9 * inside
    found = _placebo(Worlds(rng.normal(size=N), signal, inside), target, np.ones(N, np.bool_), 0.95)
    assert found.value == pytest.approx({0.0: 0.5, 1.0: 0.76}[gap], abs=0.06)
    assert found.method == f"mean over {min(n_models, 16)} shadow models"
    assert found.low < found.value < found.high


@pytest.mark.parametrize("made", ["bins", "noisy"])
def test_a_feature_made_from_the_answers_hides_no_leak(made):
    rng = np.random.default_rng(0)
    member = rng.random(1_500) < 0.5
    label = rng.integers(0, 2, 1_500)
    loss = rng.gamma(1, 1, 1_500) * np.where(member, 0.3, 1)
    sure = np.exp(-loss)[:, None]
    target = {
        "predictions": np.where(np.arange(2) == label[:, None], sure, 1 - sure),
        "labels": label,
        "member": member,
    }
    column = {
        "bins": np.argsort(np.argsort(loss)) // 150,
        "noisy": np.log(loss) + 0.3 * rng.normal(size=1_500),
    }[made]
    features = np.column_stack([column, rng.normal(size=1_500)])
    verdict = pg.audit_classifier(target, features=features).report().verdict
    assert "'feature 0'" in verdict.headline or any(
        "that is the leak" in text for text in verdict.sentences
    )


WRITTEN = {
    "two decimals": lambda x: x.round(2),
    "six decimals": lambda x: x.round(6),
    "six digits": lambda x: np.array([float(f"{value:.6g}") for value in x]),
    "32 bits": lambda x: x.astype(np.float32).astype(np.float64),
    "16 bits": lambda x: x.astype(np.float16).astype(np.float64),
}


@pytest.mark.parametrize("leak", [1.0, 0.5, 0.1])
@pytest.mark.parametrize("written", WRITTEN)
def test_a_side_that_was_written_with_fewer_digits_is_seen_beside_any_leak(written, leak):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        member = rng.random(N) < 0.5
        loss = rng.exponential(size=N) * np.where(member, leak, 1)
        for values in (loss, np.exp(-loss), loss * np.sign(rng.normal(size=N))):
            assert digits_differ(values, member) is None
            for side in (member, ~member):
                short = np.where(side, WRITTEN[written](values), values)
                assert digits_differ(short, member) is not None


@pytest.mark.parametrize("offset", [1.0, 100.0, 1e6])
@pytest.mark.parametrize(
    "signal",
    [
        np.abs,
        np.square,
        np.positive,
        lambda x: np.exp(-(x**2)),
        lambda x: 0.5 - x**2,
        lambda x: -np.log1p(x**2),
    ],
)
def test_last_bits_of_a_model_that_fits_its_members_exactly_are_no_digits(offset, signal):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        member = rng.random(N) < 0.5
        truth = offset * (1 + rng.random(N))
        error = np.where(member, 1e-14, 0.3) * offset * rng.normal(size=N)
        assert digits_differ(signal((truth + error) - truth), member) is None
