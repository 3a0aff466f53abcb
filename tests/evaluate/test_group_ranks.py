"""Groups that any attack ranks: shown where they are known, and not by chance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.group_ranks import DEALS, RankedGroups, ranked_groups
from privacygauge.evaluate.roc import auc
from tests.thorough import times

Columns = dict[str, np.ndarray]


def game(
    n: int,
    seed: int,
    *,
    known: int = 0,
    everybody: float = 0.0,
    attacks: int = 5,
    kind: str = "ranks",
    unit: np.ndarray | None = None,
) -> tuple[list[tuple[str, Transcript]], Columns]:
    """Return scores of n members and n others, of whom the first and the last are one group.

    `known` records of that group, half of them members, have their members above its others.
    """
    rng = np.random.default_rng(seed)
    secret = np.arange(2 * n) < n
    size = max(known, 40) // 2
    island = np.zeros(2 * n, np.bool_)
    island[:size] = island[-size:] = True
    columns = {
        "site": np.where(island, "island", np.array(["a", "b"])[rng.integers(2, size=2 * n)]),
        "class": rng.integers(8, size=2 * n),
        "half": rng.integers(2, size=2 * n),
    }
    stage = rng.permutation(2 * n) % 5
    common = rng.normal(size=2 * n)
    own = np.arange(2 * n) if unit is None else unit
    played = []
    for number in range(attacks):
        score = 0.7 * common + 0.7 * rng.normal(size=2 * n) + everybody * secret
        if known and number == attacks - 1:
            score[: known // 2] += 9
        if kind == "few values":
            score = (score > 1.0).astype(np.float64)
        seen = score[own] + (0.1 * rng.normal(size=len(own)) if unit is not None else 0.0)
        played.append((str(number), Transcript(seen, secret[own], round=stage[own], unit=own)))
    return played, {name: values[own] for name, values in columns.items()}


def found_in(
    given: tuple[list[tuple[str, Transcript]], Columns],
    level: float = 0.9875,
    handicaps: dict[str, float] | None = None,
    fixed: tuple[str, ...] = (),
) -> RankedGroups:
    rng = np.random.default_rng(1)
    return ranked_groups(*given, rng, level, handicaps=handicaps, fixed=fixed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("handicaps", "fixed"),
    [(None, ()), ({"0": 8.0, "1": 8.0, "3": 8.0}, ()), ({"0": 8.0, "1": 8.0}, ("2", "3", "4"))],
)
@pytest.mark.parametrize("kind", ["ranks", "few values", "people"])
def test_chance_shows_no_group_more_often_than_its_level(
    kind: str, handicaps: dict[str, float] | None, fixed: tuple[str, ...]
) -> None:
    games = times(200)
    shown = 0
    for seed in range(games):
        rows = np.random.default_rng(seed).integers(1, 5, size=400)
        unit = np.repeat(np.arange(400), rows) if kind == "people" else None
        shown += bool(found_in(game(200, seed, kind=kind, unit=unit), 0.95, handicaps, fixed).shown)
    assert shown <= binom.ppf(1 - 1e-4, games, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("sign", [1, -1])
def test_scores_that_were_learnt_on_bits_of_other_rounds_show_no_group(sign: int) -> None:
    """Each round is scored by what the others' bits say of its groups: their level differs.

    Where many of a group are members in the other rounds, fewer are in this one.
    """
    games = times(200)
    n = 200
    shown = 0
    for seed in range(games):
        rng = np.random.default_rng(seed)
        secret = rng.permutation(2 * n) < n
        stage = rng.permutation(2 * n) % 5
        group = rng.integers(4, size=2 * n)
        score = 1e-3 * rng.normal(size=2 * n)
        for number in range(5):
            rest = stage != number
            share = [secret[rest & (group == g)].mean() for g in range(4)]
            score[~rest] += sign * np.array(share)[group[~rest]]
        given = [("learnt", Transcript(score, secret, round=stage))], {"group": group}
        shown += bool(found_in(given, 0.95).shown)
    assert shown <= binom.ppf(0.999, games, 0.05)


def test_a_group_that_one_of_five_attacks_knows_is_shown() -> None:
    for seed in range(times(5)):
        found = found_in(game(600, seed, known=40))
        assert [(group.column, group.group) for group in found.shown] == [("site", "island")]
        [group] = found.shown
        assert group.attack == "4"
        assert group.auc.low > 0.6
        assert group.p_value == 1 / (1 + DEALS)


def test_members_below_the_others_of_their_group_are_shown_like_those_above() -> None:
    played, columns = game(600, 0, known=40)
    turned = [
        (title, Transcript(-scores.score, scores.secret, round=scores.round, unit=scores.unit))
        for title, scores in played
    ]
    above, below = found_in((played, columns)), found_in((turned, columns))
    assert [group.group for group in above.shown] == ["island"]
    assert [(group.group, group.attack) for group in below.below] == [("island", "4")]
    assert not above.below
    assert not below.shown
    assert below.below[0].auc.value == pytest.approx(1 - above.shown[0].auc.value)


def test_fixed_scores_are_compared_across_rounds_which_shows_smaller_groups() -> None:
    given = game(600, 0, known=40)
    everybody = tuple(title for title, _ in given[0])
    within, across = found_in(given), found_in(given, fixed=everybody)
    assert within.smallest is not None
    assert across.smallest is not None
    assert across.smallest < within.smallest
    # One round is the same either way.
    [(title, transcript), *_] = given[0]
    one = [(title, Transcript(transcript.score, transcript.secret))], given[1]
    assert found_in(one) == found_in(one, fixed=(title,))


def test_a_handicap_of_the_attacks_that_know_nothing_makes_smaller_groups_visible() -> None:
    given = game(600, 0, known=40)
    noise = {str(number): 8.0 for number in range(4)}
    with_them = found_in(given, handicaps=noise)
    without = found_in(given)
    assert with_them.smallest is not None
    assert without.smallest is not None
    assert with_them.smallest <= without.smallest
    # Attacks that all have the same handicap are as they were.
    everybody = {str(number): 8.0 for number in range(5)}
    assert found_in(given, handicaps=everybody).shown[0].auc == without.shown[0].auc


@pytest.mark.slow
def test_the_smallest_group_that_could_be_shown_mostly_is() -> None:
    games = times(40)
    smallest = found_in(game(600, 0)).smallest
    assert smallest is not None
    assert smallest <= 30
    # A group of whom only some are known is harder to see: all of the plant's are.
    shown = 0
    for seed in range(games):
        played, columns = game(600, seed, known=smallest)
        rows = np.zeros(1200, np.bool_)
        rows[: smallest // 2] = rows[-(smallest // 2) :] = True
        columns["site"] = np.where(rows, "island", "elsewhere")
        shown += "island" in {g.group for g in found_in((played, columns)).shown}
    assert shown >= binom.ppf(1e-4, games, 0.8)


def test_what_leaks_alike_everywhere_is_no_group() -> None:
    found = [found_in(game(600, seed, everybody=0.5)).shown for seed in range(times(8))]
    assert sum(map(bool, found)) <= 1


def test_ranks_depend_on_no_scale_and_on_no_names() -> None:
    played, columns = game(300, 3, known=40)
    first = found_in((played, columns))
    stretched = [
        (title, Transcript(np.exp(t.score), t.secret, round=t.round, unit=t.unit))
        for title, t in played
    ]
    assert found_in((stretched, columns)) == first
    renamed = {name: np.char.add("x", values.astype(str)) for name, values in columns.items()}
    again = found_in((played, renamed))
    assert [group.group for group in again.shown] == ["xisland"]
    assert [group.auc for group in again.shown] == [group.auc for group in first.shown]


def test_without_groups_nothing_is_shown_and_nothing_could_be() -> None:
    played, columns = game(30, 0)
    assert found_in((played, {})) == RankedGroups((), None)
    assert found_in((played, {"one": np.zeros(60)})) == RankedGroups((), None)
    assert found_in((played, {"each": np.arange(60)})) == RankedGroups((), None)
    assert columns["site"].shape == (60,)


def test_a_shown_group_is_above_chance_over_all_rounds():
    """Within each round members rank above others, over all rounds below: no leak to tell of."""
    rng = np.random.default_rng(0)
    stage = np.repeat(np.arange(5), 200)
    # Rounds with higher levels have fewer members.
    secret = rng.random(1_000) < 0.9 - 0.2 * stage
    score = 3.0 * stage + 0.5 * secret + rng.normal(size=1_000)
    transcript = Transcript(score, secret, round=stage)
    group = np.where(np.arange(1_000) % 2 == 0, "a", "b")
    flat = Transcript(np.where(group == "a", score, 0.0), secret, round=stage)
    assert auc(transcript.part(group == "a")).value < 0.5
    found = ranked_groups([("learned", flat)], {"g": group}, np.random.default_rng(1))
    assert not found.shown
