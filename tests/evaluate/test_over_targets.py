"""The mean over several targets: its interval, and stopping when it is narrow enough."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from privacygauge.core.attacks import groups
from privacygauge.core.attacks.bavaria import Bavaria
from privacygauge.core.attacks.calibrated import CalibratedOnline
from privacygauge.core.attacks.lira import LiraOnline
from privacygauge.core.game import Attack, Observation
from privacygauge.core.release import Worlds, coin_flips
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.over_targets import (
    LOOKS,
    OverTargets,
    SeveralTargets,
    half_width,
    mean_auc_of_models,
)
from privacygauge.evaluate.roc import auc, roc
from tests.laws.numbers import of_scores
from tests.thorough import quarter

K = 8


def models(
    n: int, m: int, effect: float, differ: float, rng: np.random.Generator, between: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    """Return signals of m models and who is inside: the first K are the adversary's own.

    Records differ in difficulty and, by `differ`, in how much they leak; models leak more or less.
    """
    inside = coin_flips(m, n, rng)
    leak = effect * (1 + differ * rng.normal(size=n)) * (1 + between * rng.normal(size=(m, 1)))
    return 3 * rng.normal(size=n) + leak * inside + rng.normal(size=(m, n)), inside


def attacked(
    attack: Attack, signal: np.ndarray, inside: np.ndarray, numbers: range
) -> list[Transcript]:
    rng = np.random.default_rng(0)
    records = np.arange(inside.shape[1])
    found = []
    for t in numbers:
        worlds = Worlds(signal[K + t], signal[:K], inside[:K])
        scores = of_scores(attack.score(Observation({}, 0 * records, worlds=worlds), rng))
        found.append(Transcript(scores.value, inside[K + t], records))
    return found


def truth(attack: Attack, effect: float, differ: float) -> float:
    """Return the mean AUC of an attack over many pools, targets and records."""
    areas = []
    for game in range(25):
        made = models(1_000, K + 4, effect, differ, np.random.default_rng(10**6 + game))
        areas += [auc(x).value for x in attacked(attack, *made, range(4))]
    return float(np.mean(areas))


@pytest.fixture(autouse=True)
def no_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "MOST_PLAYED", 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "effect", "differ", "width"),
    [
        (CalibratedOnline(), 1.0, 1.0, 0.045),
        (LiraOnline(), 1.0, 0.0, 0.03),
        (Bavaria(), 1.0, 1.0, 0.04),
        (CalibratedOnline(), 0.0, 0.0, 0.02),
    ],
    ids=["calibrated", "lira", "bavaria", "nothing leaks"],
)
def test_the_interval_covers_where_targets_are_added_until_it_is_narrow(
    attack: Attack, effect: float, differ: float, width: float
) -> None:
    games = quarter(200)
    wanted = truth(attack, effect, differ) if effect else 0.5
    wrong = 0
    stopped = []
    for game in range(games):
        made = models(100, K + LOOKS[-1], effect, differ, np.random.default_rng(game))
        targets: list[Transcript] = []
        for n in LOOKS:
            targets += attacked(attack, *made, range(len(targets), n))
            found = mean_auc_of_models(targets)
            if (found.high - found.low) / 2 <= width:
                break
        wrong += found.excludes(wanted)
        stopped.append(n)
    assert wrong <= binom.ppf(0.999, games, 0.05)
    # The rule is at work: it stops early, and not always at the same look.
    assert min(stopped) < LOOKS[-1]


def transcripts(t: int, n: int, rng: np.random.Generator) -> list[Transcript]:
    return [
        Transcript(rng.normal(size=n) + member, member, np.arange(n))
        for member in coin_flips(t, n, rng)
    ]


def test_the_value_is_the_mean_of_the_targets_areas_and_scores_are_compared_within() -> None:
    targets = transcripts(5, 60, np.random.default_rng(0))
    found = mean_auc_of_models(targets)
    assert np.isclose(found.value, np.mean([auc(x).value for x in targets]))
    moved = [
        Transcript(x.score * (i + 1) + 10 * i, x.secret, x.target) for i, x in enumerate(targets)
    ]
    again = mean_auc_of_models(moved)
    assert np.allclose([again.low, again.value, again.high], [found.low, found.value, found.high])


def test_four_times_the_targets_of_records_alike_halve_the_interval() -> None:
    rng = np.random.default_rng(0)
    few, many = (
        np.mean(
            [
                x.high - x.low
                for x in (mean_auc_of_models(transcripts(t, 100, rng)) for _ in range(10))
            ]
        )
        for t in (16, 64)
    )
    assert 1.8 < few / many < 2.5


def test_the_same_target_again_narrows_nothing() -> None:
    one = transcripts(1, 200, np.random.default_rng(0))[0]
    single = auc(one)
    again = mean_auc_of_models([one] * 10)
    assert again.value == pytest.approx(single.value)
    assert (again.high - again.low) / (single.high - single.low) == pytest.approx(1, abs=0.05)


def test_rows_of_a_person_are_no_further_persons() -> None:
    rng = np.random.default_rng(0)
    targets = transcripts(8, 50, rng)
    twice = [
        Transcript(np.tile(x.score, 2), np.tile(x.secret, 2), unit=np.tile(np.arange(50), 2))
        for x in targets
    ]
    found = mean_auc_of_models(targets)
    again = mean_auc_of_models(twice)
    assert again.n == found.n == 50
    assert (again.low, again.high) == pytest.approx((found.low, found.high), abs=2e-3)


def test_targets_that_differ_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    alike = [mean_auc_of_models(transcripts(8, 400, rng)) for _ in range(5)]
    coins = coin_flips(8, 400, rng)
    unlike = mean_auc_of_models(
        [
            Transcript(rng.normal(size=400) + m * leak, m)
            for m, leak in zip(coins, np.linspace(0, 2, 8), strict=True)
        ]
    )
    assert unlike.high - unlike.low > 3 * max(x.high - x.low for x in alike)


def test_where_nothing_varies_the_interval_is_that_of_pairs() -> None:
    member = np.arange(40) % 2 == 0
    found = mean_auc_of_models([Transcript(member * 1.0, member)] * 4)
    assert found.value == found.high == 1.0
    assert 0.7 < found.low < 0.9


def test_several_targets_say_what_was_reached() -> None:
    targets = tuple(transcripts(8, 60, np.random.default_rng(0)))
    over = OverTargets("a", targets, 0.95)
    found = SeveralTargets((over,), 0.01, 8, 4)
    assert found.half_width == half_width([over]) > 0.01
    assert not found.reached
    assert SeveralTargets((over,), 0.3, 8, 4).reached
    # At 1% and below, so few non-members would give not even one false positive.
    assert list(over.tpr_at_fpr) == [0.1]
    curves = [roc(x) for x in targets]
    assert over.tpr_at_fpr[0.1] == np.mean([c.tpr[c.fpr <= 0.1].max(initial=0) for c in curves])


def test_one_target_is_too_few() -> None:
    with pytest.raises(InputError, match="at least 2 targets"):
        mean_auc_of_models(transcripts(1, 20, np.random.default_rng(0)))
