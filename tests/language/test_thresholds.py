"""Thresholds of energies, the attacks they make, and what they let through."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.core.estimate import Skipped
from privacygauge.core.game import play
from privacygauge.errors import InputError
from privacygauge.evaluate.decision import false_positive_rate, positive_predictive_value, recall
from privacygauge.evaluate.roc import auc
from privacygauge.language.attacks import (
    FPRS,
    EnergyAttack,
    MeanTrainThreshold,
    OracleThreshold,
    PopulationThreshold,
    cut_at_share,
    energy_attacks,
    energy_round,
    energy_transcript,
    signal,
    statistic,
)
from privacygauge.language.scores import TextScores, text_scores
from privacygauge.language.units import Suite, asked_for, suite_of
from tests.language.made_scores import few_scores, made_scores


def suite(scores: TextScores) -> Suite:
    """Return the attacks that are played by default."""
    return suite_of(scores, asked_for(None, FPRS, 0, 0.95))


TIED = st.lists(st.integers(-4, 4), min_size=1, max_size=40)
SHARES = st.sampled_from([0.5, 0.25, 0.1, 1 / 3, 0.29, 0.01])


@given(TIED, SHARES)
def test_the_cut_is_the_largest_statistic_with_at_most_that_share_at_or_below_it(values, share):
    # In the paper's sign: L = -value, member where L <= t.
    allowed = [
        t for t in (-v for v in values) if sum(-v <= t for v in values) / len(values) <= share
    ]
    expected = max(allowed) if allowed else -math.inf
    assert cut_at_share(np.array(values, float), share) == -expected


@given(few_scores(), SHARES, st.sampled_from(["loss", "likelihood-ratio"]))
def test_the_realised_rate_on_the_population_is_at_most_alpha(scores: TextScores, share, name):
    cut = PopulationThreshold(share).cut(scores, name).threshold
    values = signal(scores, name)[scores.population]
    let_in = int(np.count_nonzero(values >= cut))
    # The share that is meant: the float of a third is a little less than a third.
    assert Fraction(let_in, len(values)) <= Fraction(share).limit_denominator(1000)
    # And it is the best of the kind: with the next lower value let in, it is not.
    lower = values[values < cut]
    if len(lower):
        assert np.count_nonzero(values >= lower.max()) / len(values) > share


@given(TIED, SHARES, st.randoms())
def test_order_and_increasing_maps_change_no_guess(values, share, random):
    values = np.array(values, float)
    guess = values >= cut_at_share(values, share)
    shuffled = values.copy()
    random.shuffle(shuffled)
    assert cut_at_share(shuffled, share) == cut_at_share(values, share)
    mapped = np.exp(values) * 3 - 7
    assert np.array_equal(mapped >= cut_at_share(mapped, share), guess)


def test_hand_worked():
    values = np.arange(1.0, 11.0)
    assert cut_at_share(values, 0.1) == 10
    assert cut_at_share(values, 0.29) == 9
    assert cut_at_share(np.array([3.0, 3.0, 1.0]), 0.5) == math.inf
    for share in (0.0, 1.0):
        with pytest.raises(InputError, match="share must be in"):
            cut_at_share(values, share)
    with pytest.raises(InputError, match="at least one sample"):
        cut_at_share(np.array([]), 0.1)


@given(few_scores())
def test_the_oracle_is_the_population_rule_on_the_judged_nonmembers(scores: TextScores):
    dealt = energy_round(scores)
    attack = EnergyAttack("loss", OracleThreshold(0.25).cut(scores, "loss"), "oracle")
    decisions = play(attack, [dealt], [np.random.default_rng(0)]).decisions
    assert decisions.false_positives <= 0.25 * decisions.n_out
    assert "oracle" in decisions.rule
    assert "published" in decisions.rule


def test_mean_train_is_the_mean_loss():
    scores = text_scores(list("abcd"), [1, 3, 2, 2.5], [1, 1, 0, 0])
    cut = MeanTrainThreshold().cut(scores, "loss")
    # Member where the loss is at most the members' mean of 2.
    guess = cut.decide(energy_transcript(scores, "loss")).guess
    assert guess.tolist() == [True, False, True, False]
    assert "mean-train" in cut.origin


def test_no_population():
    scores = text_scores(list("ab"), [1, 3], [1, 0])
    with pytest.raises(InputError, match=r"needs samples of the population, got none: .*oracle"):
        energy_attacks(scores, [PopulationThreshold()])
    assert [t.name for t in suite(scores).thresholds] == ["oracle", "oracle", "mean-train"]


def test_a_population_that_is_too_small_lets_nobody_in_and_says_so():
    scores = made_scores(np.random.default_rng(0), patients=(5, 5, 5))
    attacks = [a for a in suite(scores).attacks if a.variant == "population, FPR 1%"]
    assert len(attacks) == 2
    for attack in attacks:
        played = play(attack, [energy_round(scores)], [np.random.default_rng(0)])
        assert not played.decisions.guess.any()
        assert "nobody is guessed to be a member" in played.notes[0]


def test_the_attacks_and_their_titles():
    scores = made_scores(np.random.default_rng(0), patients=(5, 5, 50))
    titles = [(attack.name, attack.variant) for attack in suite(scores).attacks]
    assert titles == [
        ("likelihood-ratio", "population, FPR 10%"),
        ("likelihood-ratio", "population, FPR 1%"),
        ("loss", "population, FPR 10%"),
        ("loss", "population, FPR 1%"),
        ("loss", "mean-train"),
    ]


def test_without_a_reference_model_only_the_loss_is_played():
    scores = text_scores(list("abc"), [1, 3, 2], [1, 0, 0])
    found = suite(scores)
    [first] = found.skipped
    others = found.attacks
    assert first == Skipped("likelihood-ratio", "needs energies of a reference model")
    assert {attack.name for attack in others} == {"loss"}
    ratio = EnergyAttack("likelihood-ratio", others[0].cut, "given")
    skipped = ratio.score(energy_round(scores).observation, np.random.default_rng(0))
    assert isinstance(skipped, Skipped)
    for name in ("likelihood-ratio", "reference"):
        with pytest.raises(InputError, match=f"{name} needs the reference model: .*energy_ref"):
            signal(scores, name)
    with pytest.raises(InputError, match="signal must be loss, likelihood-ratio or reference"):
        signal(scores, "confidence")


@given(few_scores())
def test_the_statistic_has_one_sign(scores: TextScores):
    expected = [t - r for t, r in zip(scores.energy_target, scores.energy_reference, strict=True)]
    assert statistic(scores.energy_target, scores.energy_reference).tolist() == expected
    assert (-signal(scores, "likelihood-ratio")).tolist() == expected
    assert (-signal(scores, "loss")).tolist() == scores.energy_target.tolist()
    assert (-signal(scores, "reference")).tolist() == scores.energy_reference.tolist()


def test_a_constant_in_either_models_energies_changes_no_ranking():
    scores = made_scores(np.random.default_rng(0), patients=(20, 20, 20))
    moved = text_scores(
        scores.sample,
        scores.energy_target + 8,
        scores.member,
        energy_reference=scores.energy_reference - 4,
        group=scores.group,
        population=scores.population,
    )
    for name in ("loss", "likelihood-ratio"):
        first, second = (auc(energy_transcript(s, name)).value for s in (scores, moved))
        assert first == pytest.approx(second, abs=1e-9)


def test_intervals_count_patients():
    scores = made_scores(np.random.default_rng(0), patients=(20, 30, 10))
    dealt = energy_round(scores)
    assert len(dealt.secret) == np.count_nonzero(scores.judged)
    assert len(np.unique(dealt.target)) == 50
    assert auc(energy_transcript(scores, "loss")).n == 50


def test_the_rate_on_fresh_nonmembers_is_that_of_the_population():
    rates = []
    hits = []
    values = []
    for seed in range(20):
        scores = made_scores(np.random.default_rng(seed), patients=(100, 100, 200), leak=0.8)
        attack = suite(scores).attacks[0]
        played = play(attack, [energy_round(scores)], [np.random.default_rng(0)])
        rates.append(false_positive_rate(played.decisions).value)
        hits.append(recall(played.decisions).value)
        values.append(positive_predictive_value(played.decisions, 0.1).value)
    # The mean of 20 games of some 650 samples in 100 patients has a spread of about 0.005.
    assert np.mean(rates) == pytest.approx(0.1, abs=0.02)
    assert np.mean(hits) > 0.4
    # At one member in ten instead of one in two: 0.1 TPR / (0.1 TPR + 0.9 FPR).
    share = 0.1 * np.mean(hits) / (0.1 * np.mean(hits) + 0.9 * np.mean(rates))
    assert np.mean(values) == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("fpr", [0.0, 1.0, -0.1])
def test_rates(fpr):
    for kind in (PopulationThreshold, OracleThreshold):
        with pytest.raises(InputError, match=r"fpr must be in \(0, 1\)"):
            kind(fpr)
