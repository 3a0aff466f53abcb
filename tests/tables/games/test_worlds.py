"""Attacks on worlds play games on tables: they find a copy, and hold their level where none is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pytest
from scipy import stats

from privacygauge.core.attacks.bavaria import Bavaria
from privacygauge.core.attacks.lira import LiraOffline, LiraOnline
from privacygauge.core.attacks.rmia import RmiaOffline, RmiaOnline
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Play, play
from privacygauge.errors import InputError
from privacygauge.evaluate.by_target import mean_auc_of_records
from privacygauge.tables.attacks.attack import Answer, View
from privacygauge.tables.attacks.density import ClosestDistance, DensityRatio
from privacygauge.tables.games.audited import _scores, evaluate_attacks
from privacygauge.tables.games.games import GAMES, Average, Game, Setting, Shared, Sizes
from privacygauge.tables.games.releases import Making
from privacygauge.tables.games.scores import (
    OnWorlds,
    RecordsInWorlds,
    ScoredTarget,
    records_in_worlds,
    split_attacks,
)
from privacygauge.tables.generators.generator import Identity, Silence
from tests.tables.made_tables import table_of
from tests.thorough import crossed, quarter, times

CORE = (LiraOnline(), LiraOffline(), RmiaOnline(), RmiaOffline(), Bavaria())
EACH = pytest.mark.parametrize("attack", CORE, ids=lambda a: f"{a.name} {a.variant}")
BOTH = pytest.mark.parametrize("game", [Average(), Shared()], ids=lambda g: g.name)
SIZES = Sizes(shadows=12, tests=20, records=30)


@dataclass(frozen=True, eq=False)
class InMemory:
    """The scores of a game whose tables are made as they are needed, without a run on disk."""

    making: Making
    attacks: tuple[ClosestDistance | DensityRatio, ...] = (ClosestDistance(), DensityRatio())

    def of(self, attack: int) -> Iterator[ScoredTarget | Skipped]:
        return iter(_scored(self, attack))

    def scored(self, attack: int) -> Iterator[ScoredTarget | Skipped]:
        setting = self.making.setting
        game = self.making.game
        for target, row in enumerate(setting.targets):
            blocks = tuple(game.blocks(setting, target))
            views = (
                View(
                    setting.table.schema,
                    setting.table.values[row],
                    self._tables(block.shadows),
                    block.inside,
                    self._tables(block.released),
                    game.known(setting, target),
                )
                for block in blocks
            )
            rng = np.random.default_rng(0)
            answers = [self.attacks[attack].score(view, rng) for view in views]
            if isinstance(answers[0], Skipped):
                yield answers[0]
            else:
                yield ScoredTarget(blocks, tuple(x for x in answers if isinstance(x, Answer)))

    def _tables(self, numbers: slice) -> np.ndarray:
        numbered = range(numbers.start, numbers.stop)
        return np.stack([_made(self.making, number) for number in numbered])


@lru_cache(maxsize=8)
def _scored(scores: InMemory, attack: int) -> tuple[ScoredTarget | Skipped, ...]:
    return tuple(scores.scored(attack))


@lru_cache(maxsize=1000)
def _made(making: Making, number: int) -> np.ndarray:
    return making.table(number).values


@lru_cache(maxsize=4)
def game_of(
    game: Game, generator: object, *, seed: int = 0, sizes: Sizes = SIZES, n: int = 3
) -> InMemory:
    table = table_of(np.random.default_rng(5), 300, 2, 2)
    return InMemory(Making(game, Setting.of(table, np.arange(n), sizes, seed), generator))


def noise(
    rng: np.random.Generator, *, n_tables: int = 20, n_records: int = 3
) -> list[ScoredTarget]:
    """Return a signal of records whose own tables hold each in exactly half of them."""
    setting = Setting.of(
        table_of(rng, 60, 1, 1),
        np.arange(n_records),
        Sizes(n_tables, 2 * n_tables, 5),
        int(rng.integers(1 << 30)),
    )
    blocks = [tuple(Average().blocks(setting, record)) for record in range(n_records)]
    return [
        ScoredTarget(b, (Answer(rng.normal(size=n_tables), rng.normal(size=2 * n_tables)),))
        for b in blocks
    ]


@pytest.mark.parametrize(("game", "attack"), crossed([Average(), Shared()], CORE))
def test_a_generator_that_returns_its_records_is_found(game: Game, attack: LiraOnline) -> None:
    found = OnWorlds(attack, (ClosestDistance(),)).of(
        game_of(game, Identity(), sizes=Sizes(shadows=40, tests=20, records=30))
    )
    assert not isinstance(found, Skipped)
    for scored in found:
        assert scored.released[scored.secret].min() > scored.released[~scored.secret].max()


@pytest.mark.slow
@BOTH
def test_a_generator_that_sees_nothing_gives_nothing(game: Game) -> None:
    """All attacks of a game, on both signals, over many games with secrets of their own."""
    games = times(12)
    areas = {attack: [] for attack in CORE}
    for seed in range(games):
        scores = game_of(game, Silence(), seed=seed)
        for attack in CORE:
            found = OnWorlds(attack).of(scores)
            assert not isinstance(found, Skipped)
            areas[attack].append(mean_auc_of_records(list(_scores(found))))
    for attack, estimates in areas.items():
        values = np.array([found.value for found in estimates])
        assert sum(not e.excludes(0.5) for e in estimates) >= stats.binom.ppf(1e-4, games, 0.95)
        assert abs(values.mean() - 0.5) < 4.5 * values.std(ddof=1) / np.sqrt(games), attack.name


@pytest.mark.slow
@EACH
def test_on_noise_intervals_hold_chance(attack: LiraOnline) -> None:
    rng = np.random.default_rng(1)
    games = quarter(60)
    found = []
    for _ in range(games):
        scored = noise(rng)
        (block,) = records_in_worlds(["noise"], [scored])
        rank = [attack.score(dealt.observation, rng).value for dealt in block.rounds()]
        made = [
            ScoredTarget(x.blocks, (Answer(x.answers[0].own, values),))
            for x, values in zip(scored, np.column_stack(rank), strict=True)
        ]
        found.append(mean_auc_of_records(list(_scores(made))))
    values = np.array([e.value for e in found])
    assert sum(not e.excludes(0.5) for e in found) >= stats.binom.ppf(1e-4, games, 0.95)
    assert abs(values.mean() - 0.5) < 4.5 * values.std(ddof=1) / np.sqrt(games)


def test_the_number_of_tables_that_are_left_says_nothing() -> None:
    block = records_in_worlds(["a"], [noise(np.random.default_rng(0))])[0]
    seen = list(block.own_observations())
    assert len(seen) == 20
    for number, observation in enumerate(seen):
        worlds = observation.worlds
        assert worlds is not None
        assert worlds.inside.shape == (18, 3)
        assert (worlds.inside.sum(axis=0) == 9).all()
        np.testing.assert_array_equal(worlds.signal, block.own[number])
        for record in range(3):
            left = np.isin(block.own[:, record, 0], worlds.worlds[:, record, 0])
            assert not left[number]
            assert block.inside[~left, record].sum() == 1


def test_the_rounds_are_what_every_attack_plays() -> None:
    scores = game_of(Shared(), Identity(), n=20)
    signals = [list(scores.of(0)), list(scores.of(1))]
    (block,) = records_in_worlds(["closest-distance", "density-ratio"], signals)
    rounds = list(block.rounds())
    played = play(LiraOnline(), rounds, [np.random.default_rng(0)] * len(rounds))
    assert isinstance(played, Play)
    found = OnWorlds(LiraOnline()).of(scores)
    assert not isinstance(found, Skipped)
    by_record = np.column_stack([scored.released for scored in found])
    np.testing.assert_array_equal(played.transcript.score, by_record.ravel())
    # The records of a table are no independent rows: it counts once.
    assert played.transcript.n_units == SIZES.tests
    assert played.transcript.n_targets == 20
    assert list(rounds[0].observation.signals) == ["closest-distance", "density-ratio"]


def test_with_the_released_table_alone_each_has_worlds_of_its_own() -> None:
    sizes = Sizes(shadows=6, tests=4, records=30)
    scores = game_of(GAMES["average", "synthetic"], Identity(), sizes=sizes)
    signals = [[x for x in scores.of(0) if isinstance(x, ScoredTarget)]]
    blocks = records_in_worlds(["closest-distance"], signals)
    assert [block.own.shape for block in blocks] == [(6, 3, 1)] * 4
    found = OnWorlds(LiraOnline(), (ClosestDistance(),)).of(scores)
    assert not isinstance(found, Skipped)
    assert [scored.released.shape for scored in found] == [(4,)] * 3
    skipped = OnWorlds(LiraOnline()).of(scores)
    assert isinstance(skipped, Skipped)
    assert skipped.reason.startswith("has no signal density-ratio: it needs known records")


def test_they_are_judged_like_the_attacks_on_tables_and_change_none() -> None:
    scores = game_of(Average(), Identity())
    alone, _ = evaluate_attacks(scores, 0.95)
    found, skipped = evaluate_attacks(scores, 0.95, [OnWorlds(LiraOnline())])
    assert not skipped
    title = "lira-online (auto; on closest-distance, density-ratio)"
    assert [attack.title for attack in found] == [*(a.title for a in alone), title]
    assert [a.auc for a in found[:2]] == [a.auc for a in alone]
    assert found[2].notes == ("pooled variance, as there are 12 worlds",)


def test_an_attack_that_skips_says_why() -> None:
    table = table_of(np.random.default_rng(5), 300, 2, 2)
    making = Making(Average(), Setting.of(table, np.array([3]), SIZES, 0), Identity())
    found = OnWorlds(Bavaria()).of(InMemory(making))
    assert found == Skipped("bavaria", "needs at least 3 targets with worlds with and without them")


def test_their_signals_are_played_beside_them() -> None:
    on = OnWorlds(LiraOnline())
    assert split_attacks([on]) == ((ClosestDistance(), DensityRatio()), (on,))
    assert split_attacks([DensityRatio(), on])[0] == (DensityRatio(), ClosestDistance())
    with pytest.raises(InputError, match=r"two attacks are called 'lira-online .*other signals"):
        split_attacks([on, OnWorlds(LiraOnline())])
    with pytest.raises(InputError, match="signals must hold at least one attack on tables"):
        OnWorlds(LiraOnline(), ())


def test_arrays_are_read_only() -> None:
    block = records_in_worlds(["a"], [noise(np.random.default_rng(0))])[0]
    assert isinstance(block, RecordsInWorlds)
    with pytest.raises(ValueError, match="read-only"):
        block.own[0] = 0.0
