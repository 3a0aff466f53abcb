"""The level at which intervals of several attacks hold together: laws, and null games."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.core.checks import Bools, Floats
from privacygauge.core.game import Play
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.decision import balanced_accuracy
from privacygauge.evaluate.playing import simultaneous_level
from privacygauge.evaluate.roc import Roc, auc, roc

LEVEL = 0.95


def attack(score: Floats, secret: Bools, unit: np.ndarray | None = None) -> tuple[Play, Roc]:
    """Return an attack that calls everybody above 0 a member."""
    owner = np.arange(len(score)) if unit is None else unit
    transcript = Transcript(score, secret, unit=owner)
    return Play(transcript, transcript.decided(score > 0, "above 0")), roc(transcript)


def sides(n: int, rng: np.random.Generator) -> Bools:
    """Return n bits, half of them members."""
    return rng.permutation(np.arange(n) % 2 == 0)


def errors(played: list[tuple[Play, Roc]]) -> list[float]:
    """Return the errors that the correction allows each result: of several, and of the first."""
    return [1 - simultaneous_level(some, LEVEL) for some in (played, played[:1])]


def test_attacks_that_rank_alike_cost_no_more_than_one_of_them() -> None:
    rng = np.random.default_rng(1)
    secret = sides(600, rng)
    score = rng.normal(size=600)
    same = [attack(scale * score, secret) for scale in (1.0, 2.0, 5.0, 0.1)]
    several, one = errors(same)
    assert several == pytest.approx(one, rel=0.05)
    # A guess and the ranking it comes from have much in common, too.
    assert (1 - LEVEL) / 2 < one < 1 - LEVEL


def test_independent_attacks_cost_what_bonferroni_takes_but_never_more() -> None:
    rng = np.random.default_rng(2)
    secret = sides(4_000, rng)
    drawn = [attack(rng.normal(size=4_000), secret) for _ in range(8)]
    error = 1 - simultaneous_level(drawn, LEVEL)
    bonferroni = (1 - LEVEL) / 16
    assert bonferroni <= error < 2 * bonferroni


def test_few_people_on_a_side_get_bonferronis_level() -> None:
    rng = np.random.default_rng(3)
    secret = sides(60, rng)
    score = rng.normal(size=60)
    one_unit_for_four = np.arange(60) // 4
    both = [attack(score, secret, one_unit_for_four), attack(2 * score, secret, one_unit_for_four)]
    assert simultaneous_level(both, LEVEL) == pytest.approx(1 - (1 - LEVEL) / 4)


def test_a_perfect_attack_and_a_constant_one_leave_a_level() -> None:
    secret = np.arange(100) < 50
    perfect = attack(np.where(secret, 1.0, -1.0), secret)
    constant = attack(np.ones(100), secret)
    found = simultaneous_level([perfect, constant], LEVEL)
    assert found == pytest.approx(1 - (1 - LEVEL) / 4)


def test_order_of_rows_and_equal_copies_of_everybodys_rows_change_nothing() -> None:
    rng = np.random.default_rng(4)
    secret = sides(300, rng)
    scores = rng.normal(size=(2, 300))
    once = simultaneous_level([attack(s, secret) for s in scores], LEVEL)
    order = rng.permutation(300)
    shuffled = simultaneous_level([attack(s[order], secret[order]) for s in scores], LEVEL)
    unit = np.repeat(np.arange(300), 3)
    thrice = simultaneous_level(
        [attack(np.repeat(s, 3), np.repeat(secret, 3), unit) for s in scores], LEVEL
    )
    assert shuffled == pytest.approx(once, abs=1e-9)
    assert thrice == pytest.approx(once, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("common", [0.0, 0.7, 0.98])
@pytest.mark.parametrize("n", [60, 400])
def test_intervals_hold_together_where_nothing_leaks(common: float, n: int) -> None:
    games = 400
    attacks = 6
    above = 0
    for seed in range(games):
        rng = np.random.default_rng([n, int(100 * common), seed])
        secret = sides(n, rng)
        shared = rng.normal(size=n)
        scores = (
            np.sqrt(common) * shared + np.sqrt(1 - common) * rng.normal(size=n)
            for _ in range(attacks)
        )
        played = [attack(score, secret) for score in scores]
        each = simultaneous_level(played, LEVEL)
        above += any(
            max(balanced_accuracy(play.decisions, each).low, auc(play.transcript, each).low) > 0.5
            for play, _ in played
        )
    # One side of a 95% statement: 2.5% of 400, whose upper end at 99.9% is 21.
    assert above <= 21
