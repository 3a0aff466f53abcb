"""Every attack that the laws must hold for. A further one: one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from privacygauge.classifiers.learned import Learned
from privacygauge.classifiers.neural import NeuralNasr, NeuralShokri, Untargeted
from privacygauge.classifiers.suite import QuantileRegression
from privacygauge.classifiers.white_box import PARTS, WhiteBox
from privacygauge.core.attacks.bavaria import Bavaria
from privacygauge.core.attacks.calibrated import CalibratedOffline, CalibratedOnline
from privacygauge.core.attacks.lira import (
    LiraOffline,
    LiraOnline,
    PerRecordVariance,
    PooledVariance,
    TwoSided,
)
from privacygauge.core.attacks.posterior import Estimator, Histogram, Isotonic, RiskScore
from privacygauge.core.attacks.rmia import RmiaOffline, RmiaOnline
from privacygauge.core.attacks.threshold import Coin, Threshold
from privacygauge.core.exact import SIGNAL, GaussianGame
from privacygauge.core.game import Attack, Observation, Round

ESTIMATORS: tuple[Estimator, ...] = (
    Isotonic(),
    Isotonic(shrinkage=0.0),
    Isotonic(shrinkage=20.0),
    Histogram(),
)

ON_SHADOW: tuple[Attack, ...] = (
    Threshold(SIGNAL, per_class=True),
    Threshold(SIGNAL, per_class=False),
    *(RiskScore(SIGNAL, estimator) for estimator in ESTIMATORS),
)
"""Attacks that learn from records with known membership."""

ON_WORLDS: tuple[Attack, ...] = (
    LiraOnline(),
    LiraOnline(PooledVariance()),
    LiraOnline(PerRecordVariance()),
    LiraOffline(),
    LiraOffline(variance=PerRecordVariance()),
    LiraOffline(TwoSided()),
    CalibratedOnline(),
    CalibratedOffline(),
    RmiaOnline(),
    RmiaOffline(),
    RmiaOffline(a=1.0),
    RmiaOffline(a=None),
    Bavaria(),
)
"""Attacks that learn from the adversary's own models, trained with and without the targets."""

LEARNT: tuple[Attack, ...] = (*ON_SHADOW, *ON_WORLDS)
"""Attacks that draw nothing: equal observations give equal scores."""

ATTACKS: tuple[Attack, ...] = (*LEARNT, Coin())

TRAINED: tuple[Attack, ...] = (
    Learned(),
    NeuralShokri(),
    NeuralShokri(sorted=True),
    NeuralNasr(),
    Untargeted(),
    QuantileRegression(),
)
"""Attacks on predictions that are trained on records with known membership."""

TRAINED_FROM_INSIDE: tuple[Attack, ...] = (WhiteBox(), WhiteBox(PARTS))
"""The same of attacks on gradients."""

TEXT_SIGNALS = (
    "likelihood-ratio",
    "loss",
    "zlib",
    "min-k",
    "min-k++",
    "ez-mia",
    "wbc",
    "length-calibrated",
    "dc-pdd",
    "recall",
    "learned",
)
"""What token log-probabilities of a causal model and of a reference are made into."""


def label(attack: object) -> str:
    """Return how pytest names an attack or an estimator."""
    return repr(attack).replace("signal='modified-entropy', ", "")


def deal(
    n_targets: int,
    rng: np.random.Generator,
    *,
    effect: float = 0.0,
    n_shadow: int = 200,
    n_classes: int = 3,
    n_worlds: int = 6,
) -> Round:
    """Return a round of the Gaussian game whose signals are negative, as entropies are.

    The worlds' signals are logits, of any sign: the Gaussian ones as they are.
    """
    game = GaussianGame(n_targets, effect, n_shadow, n_classes, n_worlds)
    return mapped(game.deal(1, rng)[0], lambda signal: -np.exp(-signal))


def mapped(dealt: Round, function: Callable[[np.ndarray], np.ndarray]) -> Round:
    """Return the round with `function` applied to all signals, the shadow's too.

    The worlds keep their logits, which are a signal of their own.
    """
    seen = dealt.observation
    shadow = dealt.observation.shadow
    assert shadow is not None
    return replace(
        dealt,
        observation=Observation(
            {name: function(x) for name, x in seen.signals.items()},
            seen.stratum,
            replace(shadow, signals={name: function(x) for name, x in shadow.signals.items()}),
            seen.worlds,
        ),
    )
