"""Views of a record are nearly the same question: attacks that take them all hold their level."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from privacygauge.core.attacks import groups
from privacygauge.core.attacks.bavaria import Bavaria
from privacygauge.core.attacks.calibrated import CalibratedOffline, CalibratedOnline
from privacygauge.core.attacks.lira import LiraOffline, LiraOnline, PerRecordVariance
from privacygauge.core.attacks.rmia import RmiaOffline, RmiaOnline
from privacygauge.core.game import Attack, Observation
from privacygauge.core.release import Worlds, coin_flips
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.roc import auc
from tests.laws.catalogue import label
from tests.laws.numbers import of_scores
from tests.thorough import crossed, quarter

QUERIES = 8
ATTACKS: tuple[Attack, ...] = (
    LiraOnline(),
    LiraOnline(PerRecordVariance()),
    LiraOffline(),
    RmiaOnline(),
    RmiaOffline(),
    RmiaOffline(None),
    Bavaria(),
    CalibratedOnline(),
    CalibratedOffline(),
)


def null_game(k: int, n: int, rng: np.random.Generator) -> tuple[Observation, np.ndarray]:
    """Return views whose signals have a correlation of 0.95 in a model, and who was inside it.

    Queries have scales and levels of their own; membership moves none of them.
    """
    inside = coin_flips(k + 1, n, rng)
    alike = rng.normal(size=(k + 1, n, 1))
    noise = np.sqrt(0.95) * alike + np.sqrt(0.05) * rng.normal(size=(k + 1, n, QUERIES))
    record = rng.normal(size=(n, 1)) + 0.5 * rng.normal(size=(n, QUERIES))
    signal = 2 * record + np.linspace(0.5, 2.0, QUERIES) * noise
    worlds = Worlds(signal[0], signal[1:], inside[1:])
    return Observation({}, np.zeros(n, np.int64), worlds=worlds), inside[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "k"),
    [pytest.param(attack, k, id=f"{label(attack)}-{k}") for attack, k in crossed(ATTACKS, [4, 16])],
)
def test_strongly_correlated_queries_keep_the_level(
    attack: Attack, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Areas need no threshold.
    monkeypatch.setattr(groups, "MOST_PLAYED", 0)
    games = quarter(400)
    n = 120
    areas = []
    outside = 0
    for seed in range(games):
        rng = np.random.default_rng(seed)
        seen, secret = null_game(k, n, rng)
        area = auc(Transcript(of_scores(attack.score(seen, rng)).value, secret))
        areas.append(area.value)
        outside += not area.low <= 0.5 <= area.high
    assert abs(np.mean(areas) - 0.5) < 4.5 / np.sqrt(3 * n * games)
    assert outside <= stats.binom.ppf(0.9999, games, 0.05)
