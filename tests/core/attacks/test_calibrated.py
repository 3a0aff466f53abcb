from __future__ import annotations

from statistics import median

import numpy as np
import pytest
from hypothesis import given

from privacygauge.core.attacks.calibrated import CalibratedOffline, CalibratedOnline
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Observation, Scores
from privacygauge.core.release import Worlds
from tests.laws import naive
from tests.laws.draws import worlds

ANY = np.random.default_rng(0)


@pytest.mark.parametrize("attack", [CalibratedOnline(), CalibratedOffline()], ids=str)
@given(shown=worlds())
def test_it_is_the_difference_to_the_medians(attack: Attack, shown: Worlds) -> None:
    result = attack.score(Observation({}, np.zeros(len(shown.signal)), worlds=shown), ANY)
    online = attack == CalibratedOnline()
    if isinstance(result, Skipped):
        assert shown.inside.all() or (online and not shown.inside.any())
        return

    def score(query: int) -> list[float]:
        signal, both = naive.sides(shown, query)
        inside, outside = naive.filled(both, median)
        upper = inside if online else outside
        middle = [(a + b) / 2 for a, b in zip(upper, outside, strict=True)]
        return [x - m for x, m in zip(signal, middle, strict=True)]

    expected = naive.over_queries(shown, score)
    np.testing.assert_allclose(result.value, expected, rtol=1e-10, atol=1e-10)


def test_one_world_is_enough_and_the_cut_is_the_natural_one() -> None:
    shown = Worlds(np.array([3.0, 3.0]), np.array([[2.0, 0.0]]), np.array([[True, False]]))
    observation = Observation({}, np.zeros(2), worlds=shown)
    # The gap is 2: the first record's worlds without it would be at 0, the second's with it at 2.
    online, offline = (a.score(observation, ANY) for a in (CalibratedOnline(), CalibratedOffline()))
    assert isinstance(online, Scores)
    assert isinstance(offline, Scores)
    assert online.value.tolist() == [2.0, 2.0]
    assert offline.value.tolist() == [3.0, 3.0]
    assert online.rule.threshold == 0.0
    assert online.rule.origin == "natural: no shadow model could be played as the target"


def test_it_is_named() -> None:
    for attack, variant in ((CalibratedOnline(), "online"), (CalibratedOffline(), "offline")):
        assert (attack.name, attack.variant) == ("calibrated", variant)
        assert attack.thresholds == "global"
