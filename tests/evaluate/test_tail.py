"""Few records, wholly exposed: found where they are, and not where they are not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.played import answer_questions
from privacygauge.evaluate.tail import Tail, smallest_tail, tail
from tests.thorough import times


def game(
    n: int,
    exposed: int = 0,
    *,
    seed: int = 0,
    attacks: int = 5,
    rounds: int = 2,
    unit: np.ndarray | None = None,
) -> list[tuple[str, Transcript]]:
    """Return correlated scores of n members, the first of which are exposed, and n others."""
    rng = np.random.default_rng(seed)
    secret = np.arange(2 * n) < n
    stage = rng.permutation(2 * n) % rounds
    common = rng.normal(size=2 * n)
    played = []
    for number in range(attacks):
        score = 0.7 * common + 0.7 * rng.normal(size=2 * n)
        score[:exposed] += 9
        if unit is not None:
            score = score[unit]
        own = np.arange(2 * n) if unit is None else unit
        played.append((str(number), Transcript(score, secret[own], round=stage[own], unit=own)))
    return played


def found_in(played: list[tuple[str, Transcript]], level: float = 0.9875) -> Tail:
    found = tail(played, np.random.default_rng(1), level)
    assert found is not None
    return found


@pytest.mark.slow
def test_chance_shows_nothing_more_often_than_its_level():
    games = times(400)
    shown = sum(found_in(game(200, seed=seed), 0.95).shown for seed in range(games))
    assert shown <= binom.ppf(1 - 1e-4, games, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("more", ["members", "others"])
def test_a_side_of_people_with_more_rows_has_no_one_stand_out(more: str) -> None:
    """The highest of eight scores is above one score by chance, whatever the release."""
    games = times(200)
    has_more = (np.arange(400) < 200) == (more == "members")
    unit = np.repeat(np.arange(400), np.where(has_more, 8, 1))
    shown = 0
    for seed in range(games):
        rng = np.random.default_rng(seed)
        score = rng.normal(size=400)[unit] + rng.normal(size=len(unit))
        played = [("noise", Transcript(score, unit < 200, unit=unit))]
        shown += found_in(played, 0.95).shown
    assert shown <= binom.ppf(1 - 1e-4, games, 0.05)


def test_people_who_are_wholly_exposed_stand_out_with_unequally_many_rows() -> None:
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(400), np.where(np.arange(400) < 200, 8, 1))
    score = rng.normal(size=len(unit)) + 9 * (unit < 12)
    found = found_in([("planted", Transcript(score, unit < 200, unit=unit))])
    assert found.shown
    assert found.members >= 8


@pytest.mark.slow
def test_what_could_have_been_shown_mostly_is():
    games = times(100)
    n = 500
    exposed = smallest_tail(found_in(game(n)))
    shown = sum(found_in(game(n, exposed, seed=seed)).shown for seed in range(games))
    assert exposed is not None
    assert exposed <= 12
    assert shown >= binom.ppf(1e-4, games, 0.8)


def test_a_hundredth_of_the_members_is_found_and_counted():
    for seed in range(times(6)):
        found = found_in(game(1000, 12, seed=seed))
        assert 0 < found.exposed <= 12
        assert found.members >= found.top - 2
        assert found.p_value <= 0.0125


def test_a_top_of_members_alone_has_the_chance_of_the_draw():
    # One attack and one top: the p-value is that of the hypergeometric law, to the luck of deals.
    played = game(50, 3, attacks=1, rounds=1)
    found = found_in(played, 0.5)
    order = np.argsort(-played[0][1].score)
    members = int(played[0][1].secret[order[: found.top]].sum())
    assert members == found.members
    assert found.expected == found.top / 2
    assert hypergeom.sf(members - 1, 100, 50, found.top) <= found.critical or not found.shown


def test_a_further_attack_and_the_order_of_the_rows_change_no_other_numbers():
    played = game(300, 10)
    turned = np.random.default_rng(3).permutation(600)
    shuffled = [
        (name, Transcript(t.score[turned], t.secret[turned], round=t.round[turned],
                          unit=t.unit[turned]))
        for name, t in played
    ]  # fmt: skip
    one = found_in(played)
    other = found_in(shuffled)
    assert (one.attack, one.top, one.members) == (other.attack, other.top, other.members)
    noise = Transcript(np.random.default_rng(5).normal(size=600), played[0][1].secret,
                       round=played[0][1].round)  # fmt: skip
    more = found_in([*played, ("noise", noise)])
    assert (more.attack, more.members) == (one.attack, one.members)


def test_ties_are_taken_whole():
    # All scores are equal in one attack: no top of it ends between two scores.
    secret = np.arange(200) < 100
    level = [("tied", Transcript(np.zeros(200), secret))]
    found = tail(level, np.random.default_rng(0))
    assert found is not None
    assert not found.shown
    # The members come first in the file, which must not count.
    assert found.p_value == 1.0


def test_rows_of_one_unit_count_once():
    unit = np.repeat(np.arange(400), 5)
    repeated = found_in(game(200, 10, unit=unit))
    once = found_in(game(200, 10))
    assert (repeated.n_in, repeated.n_out) == (once.n_in, once.n_out)
    assert repeated.members == once.members


def test_too_few_units_for_any_top_are_said():
    assert tail(game(3), np.random.default_rng(0), 0.9875) is None


def sharp_beside_noise(seed: int, exposed: int) -> list[tuple[str, Transcript]]:
    """Return one attack that sees the exposed first members, and eleven that do not."""
    rng = np.random.default_rng(seed)
    secret = np.arange(1_000) < 500
    score = rng.normal(size=1_000)
    score[:exposed] += 9
    noise = (rng.normal(size=1_000) for _ in range(11))
    scores = [("sharp", score), *((f"noise {i}", x) for i, x in enumerate(noise))]
    return [(title, Transcript(x, secret)) for title, x in scores]


HANDICAPS = {f"noise {i}": 8.0 for i in range(11)}


def test_handicaps_keep_the_error_for_the_attack_that_sees_few_records_best() -> None:
    games = 20
    shown = {True: 0, False: 0}
    for seed in range(games):
        played = sharp_beside_noise(seed, exposed=9)
        for handicapped in (True, False):
            rng = np.random.default_rng(seed)
            found = tail(played, rng, 0.9875, handicaps=HANDICAPS if handicapped else None)
            assert found is not None
            shown[handicapped] += found.shown
    assert shown[True] >= 18
    assert shown[False] <= 14


@pytest.mark.slow
def test_with_handicaps_chance_shows_nothing_more_often_than_its_level() -> None:
    games = times(400)
    shown = 0
    for seed in range(games):
        played = sharp_beside_noise(seed, exposed=0)
        found = tail(played, np.random.default_rng(seed), 0.95, handicaps=HANDICAPS)
        assert found is not None
        shown += found.shown
    assert shown <= binom.ppf(1 - 1e-4, games, 0.05)


def far_apart(seed: int, natural: float, exposed: int) -> tuple[int, int]:
    """Return how many of 300 members lie apart, without a placebo and with one.

    A share of all records is of a second kind, far beyond the others wherever one looks; exposed
    members are so in the release alone.
    """
    rng = np.random.default_rng(seed)

    def scores(n: int) -> np.ndarray:
        return rng.normal(size=n) + 30 * (rng.random(n) < natural)

    secret = np.arange(500) < 300
    score = scores(500)
    # Only games in which those of the second kind are members tempt to a wrong answer.
    score[300:] = np.minimum(score[300:], 4)
    score[:exposed] += 30
    played = [("one", Transcript(score, secret))]
    elsewhere = scores(1_500)
    found = [
        tail(played, np.random.default_rng(0), 0.9875, placebo=placebo)
        for placebo in (None, lambda title: elsewhere)
    ]
    without, beside = (0 if one is None or one.shown else one.apart for one in found)
    return without, beside


def test_what_a_placebo_shows_too_is_no_sign_of_members_known_by_heart() -> None:
    apart = np.array([far_apart(seed, 0.006, 0) for seed in range(40)]) >= 2
    assert apart[:, 0].sum() >= 6
    assert apart[:, 1].sum() <= 2
    # What is known of the members alone is not explained by it.
    known = [far_apart(seed, 0.0, 3) for seed in range(20)]
    assert all(without == beside for without, beside in known)
    assert known.count((3, 3)) >= 15


@pytest.mark.parametrize("side", [-1, 0, 1])
def test_members_below_all_others_are_counted_like_those_above(side):
    """A few of the members alone: the other way round is no safety."""
    rng = np.random.default_rng(0)
    secret = np.arange(2_000) < 1_000
    score = rng.normal(size=2_000)
    score[:30] += 9 * side
    asked = answer_questions([("attack", Transcript(score, secret))], None, rng, 0.95)
    assert (asked.exposed > 15) == (side > 0)
    assert (asked.below > 15) == (side < 0)
    assert min(asked.exposed, asked.below) == 0
