from __future__ import annotations

import numpy as np
from scipy import stats

from privacygauge.core.attacks.threshold import Coin
from privacygauge.core.exact import GaussianGame
from privacygauge.core.game import play


def test_a_coin_is_uniform_whatever_leaks() -> None:
    dealt = GaussianGame(5000, 5.0).deal(1, np.random.default_rng(0))
    played = play(Coin(), dealt, [np.random.default_rng(1)])
    score = played.transcript.score
    secret = played.transcript.secret
    assert stats.kstest(score, "uniform").pvalue > 1e-4
    assert stats.ks_2samp(score[secret], score[~secret]).pvalue > 1e-4
    assert (played.decisions.guess == (score >= 0.5)).all()


def test_a_coin_sees_nothing_but_its_generator() -> None:
    rounds = [GaussianGame(50, effect).deal(1, np.random.default_rng(0))[0] for effect in (0, 5)]
    one, other = (Coin().score(r.observation, np.random.default_rng(7)).value for r in rounds)
    assert one.tolist() == other.tolist()
