"""A release that ignores the data gives no attack anything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from privacygauge.core.attacks import groups
from privacygauge.core.attacks.lira import LiraOnline
from privacygauge.core.exact import OffsetGame
from privacygauge.core.game import Attack, Observation, Round, Scores, play
from privacygauge.core.release import Worlds, coin_flips
from privacygauge.core.rules import Cut
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.evaluation import evaluate
from privacygauge.evaluate.roc import auc
from tests.laws.catalogue import ATTACKS, ON_WORLDS, deal, label
from tests.laws.numbers import of_play, of_scores
from tests.thorough import quarter

GAMES = quarter(100)


@pytest.mark.parametrize("attack", ATTACKS, ids=label)
def test_on_noise_every_interval_holds_chance(attack: Attack) -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(GAMES):
        played = of_play(play(attack, [deal(100, rng, n_shadow=150)], [rng]))
        found.append(evaluate(attack.name, played.transcript, played.decisions))
    least = stats.binom.ppf(1e-5, GAMES, 0.95)
    assert sum(not e.auc.excludes(0.5) for e in found) >= least
    assert sum(not e.accuracy.excludes(0.5) for e in found) >= least
    assert sum(not e.advantage.excludes(0.0) for e in found) >= least
    assert sum(not e.best_accuracy.excludes(0.5) for e in found) >= least
    assert sum(e.epsilon.low == 0.0 for e in found) >= least
    for i, fpr in enumerate((0.1, 0.01)):
        assert sum(not e.tpr_at_fpr[i].estimate.excludes(fpr) for e in found) >= least
    # And there is no bias: what is gained here is lost there.
    for values in ([e.auc.value for e in found], [e.accuracy.value for e in found]):
        assert abs(np.mean(values) - 0.5) < 4.5 * max(np.std(values), 1e-3) / np.sqrt(GAMES)


def areas(
    attack: Attack, game: OffsetGame, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> np.ndarray:
    """Return the area of every round, without the cost of learning a threshold."""
    monkeypatch.setattr(groups, "MOST_PLAYED", 0)
    dealt = game.deal(rounds, np.random.default_rng(0))
    scores = [of_scores(attack.score(d.observation, np.random.default_rng(1))) for d in dealt]
    return np.array(
        [auc(Transcript(s.value, d.secret)).value for s, d in zip(scores, dealt, strict=True)]
    )


@pytest.mark.parametrize(
    "n_worlds", [4, *(pytest.param(k, marks=pytest.mark.slow) for k in (8, 16, 64))]
)
@pytest.mark.parametrize("attack", ON_WORLDS, ids=label)
def test_whatever_the_number_of_worlds_chance_is_the_mean_area(
    attack: Attack, n_worlds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = areas(attack, OffsetGame(2000, 0.0, n_worlds), 20, monkeypatch)
    # The standard error is 0.003 in theory, so that a gain of 0.013 would show.
    error = 1 / np.sqrt(3 * 2000) / np.sqrt(20)
    assert abs(found.mean() - 0.5) < 4.5 * error


@dataclass(frozen=True)
class Counts:
    """The attack that looks at no signal: the fewer worlds hold a record, the likelier a member."""

    name: str = "counts"
    variant: str = ""
    thresholds: str = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores:
        assert observation.worlds is not None
        return Scores(-observation.worlds.inside.sum(axis=0), Cut(-4.0))


def without_leak(halves: bool, n: int, rng: np.random.Generator) -> Round:
    """Return noise from eight models, the first of which is the target."""
    inside = coin_flips(8, n, rng)
    if halves:
        inside = rng.permuted(np.arange(8)[:, None] < np.full(n, 4), axis=0)
    signal = rng.normal(size=(8, n))
    worlds = Worlds(signal[0], signal[1:], inside[1:])
    return Round(Observation({}, np.zeros(n), worlds=worlds), inside[0], np.arange(n))


@pytest.mark.slow
def test_exact_halves_would_give_the_bit_away_and_coins_do_not() -> None:
    rng = np.random.default_rng(0)
    n = 30_000
    error = 1 / np.sqrt(3 * n)
    found = {
        (halves, attack): auc(
            of_play(play(attack, [without_leak(halves, n, rng)], [rng])).transcript
        ).value
        for halves in (True, False)
        for attack in (Counts(), LiraOnline())
    }
    assert found[True, Counts()] == 1.0
    assert abs(found[False, Counts()] - 0.5) < 4.5 * error
    # An honest attack is biased by them too: a member is in fewer of the other models, whose
    # mean is then the less certain one, which counts against it.
    assert found[True, LiraOnline()] < 0.5 - 4.5 * error
    assert abs(found[False, LiraOnline()] - 0.5) < 4.5 * error
