"""What further shadow models would buy, held against what they do buy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from privacygauge.core.attacks import groups
from privacygauge.core.attacks.bavaria import Bavaria
from privacygauge.core.attacks.calibrated import CalibratedOnline
from privacygauge.core.attacks.lira import LiraOnline
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Skipped
from privacygauge.core.exact import SIGNAL, OffsetGame
from privacygauge.core.game import Attack, Round
from privacygauge.core.release import Worlds
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.over_targets import Foretold, foretold, what_more_buy
from privacygauge.evaluate.roc import auc
from tests.laws.numbers import of_scores
from tests.thorough import crossed, quarter


@pytest.fixture(autouse=True)
def no_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "MOST_PLAYED", 0)


def deal(n: int, k: int, effect: float, seed: int) -> Round:
    return OffsetGame(n, effect, k).deal(1, np.random.default_rng(seed))[0]


def cut(dealt: Round, k: int) -> Round:
    """Return the round with the first k worlds only."""
    worlds = dealt.observation.worlds
    some = Worlds(worlds.signal, worlds.worlds[:k], worlds.inside[:k])
    return replace(dealt, observation=replace(dealt.observation, worlds=some))


def area(attack: Attack, dealt: Round) -> float:
    scores = of_scores(attack.score(dealt.observation, np.random.default_rng(0)))
    return auc(Transcript(scores.value, dealt.secret)).value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "effect"), crossed([LiraOnline(), CalibratedOnline(), Bavaria()], [1.0, 0.0])
)
def test_the_interval_holds_what_twice_as_many_models_reach(attack: Attack, effect: float) -> None:
    games = quarter(240)
    k = 16
    missed = 0
    errors = []
    for seed in range(games):
        whole = deal(200, 2 * k, effect, seed)
        found = foretold(attack, cut(whole, k), 2 * k, np.random.default_rng(seed))
        assert isinstance(found, Foretold)
        reached = area(attack, whole)
        missed += found.auc.excludes(reached)
        errors.append([abs(reached - found.auc.value), abs(reached - found.now)])
    assert missed <= binom.ppf(0.999, games, 0.05)
    # Where there is much to gain, it tells more than that nothing changes.
    foretelling, as_now = np.mean(errors, axis=0)
    assert foretelling < as_now or not effect or not isinstance(attack, LiraOnline)


def test_numbers_are_of_the_models_there_are() -> None:
    dealt = deal(300, 16, 1.0, 0)
    found = foretold(LiraOnline(), dealt, 40, np.random.default_rng(0))
    assert found.now == area(LiraOnline(), dealt)
    assert found.half < found.now < found.auc.value
    assert found.n_models == 40
    assert found.auc.n == 16
    again = foretold(LiraOnline(), dealt, 40, np.random.default_rng(0))
    assert (again.auc, again.half) == (found.auc, found.half)


def test_more_models_are_foretold_to_buy_more_and_less_surely() -> None:
    dealt = deal(300, 16, 1.0, 0)
    found = [foretold(LiraOnline(), dealt, n, np.random.default_rng(0)) for n in (20, 32, 60)]
    values, widths = ([f(x.auc) for x in found] for f in (lambda a: a.value, lambda a: a.high))
    assert values == sorted(values)
    assert widths == sorted(widths)


def test_what_cannot_be_foretold_is_said() -> None:
    rng = np.random.default_rng(0)
    cases = [
        (Bavaria(), deal(50, 15, 1.0, 0), 30, "at least 16"),
        (LiraOnline(), deal(50, 40, 1.0, 0), 80, "change their form at 64"),
        (LiraOnline(), deal(50, 64, 1.0, 0), 128, "change their form at 64"),
        (Threshold(SIGNAL), deal(50, 16, 1.0, 0), 32, "cannot be played"),
    ]
    for attack, dealt, n, said in cases:
        found = foretold(attack, dealt, n, rng)
        assert isinstance(found, Skipped)
        assert said in found.reason


@pytest.mark.parametrize(("k", "n_models"), [(16, 32), (32, 63), (62, 63), (128, 256)])
def test_twice_as_many_are_asked_about_or_as_many_as_form_alike(k: int, n_models: int) -> None:
    [found] = what_more_buy([CalibratedOnline()], deal(40, k, 1.0, 0), np.random.default_rng(0))
    assert isinstance(found, Foretold)
    assert found.n_models == n_models
