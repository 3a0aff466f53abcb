"""The same predictions in fewer digits give every attack what their logits give.

The models are overfit as networks are: logits about 8 with a spread between records of 3.5, so that
0.65% of all float32 probabilities of the true class are exactly 1.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from privacygauge.classifiers.game import PoolGame, PredictionGame
from privacygauge.classifiers.learned import Learned
from privacygauge.classifiers.neural import Network, NeuralNasr, NeuralShokri, Untargeted
from privacygauge.classifiers.predictions import Pool, Predictions, predictions
from privacygauge.classifiers.signals import SIGNALS
from privacygauge.classifiers.targeted import Distance, Frequency
from privacygauge.core.attacks.posterior import RiskScore
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Floats
from privacygauge.core.game import Attack, Round
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.roc import auc
from tests.laws.catalogue import ON_WORLDS, label
from tests.laws.numbers import of_scores
from tests.thorough import crossed

Form = Callable[[Floats], np.ndarray]
N = 2500
SHADOWS = 12
SMALL = Network(hidden=16, epochs=10)

ON_ROWS: tuple[Attack, ...] = (
    *(Threshold(name, per_class) for name in SIGNALS for per_class in (True, False)),
    *(RiskScore(name) for name in ("modified-entropy", "scaled-logit")),
    Learned(most=5000),
    NeuralShokri(network=SMALL),
    NeuralNasr(network=SMALL),
)
ON_POOLS: tuple[Attack, ...] = (
    *ON_WORLDS,
    Distance(),
    Distance(bin=0),
    Frequency(),
    Untargeted(network=SMALL),
)


def softmax(logits: Floats) -> Floats:
    """Return probabilities along the last axis."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def complement(logits: Floats) -> Floats:
    """Return what binary models of one float32 output give: it, and 1 less it."""
    p = softmax(logits)[..., 1].astype(np.float32)
    return np.stack([1 - p, p], axis=-1).astype(np.float64)


def digits(logits: Floats) -> Floats:
    """Return probabilities as a CSV file of 6 digits holds them."""
    return np.round(softmax(logits), 6)


FORMS: dict[str, tuple[Form, float]] = {
    "float64": (softmax, 0.01),
    "float32": (lambda z: softmax(z).astype(np.float32), 0.01),
    "float32 as float64": (lambda z: softmax(z).astype(np.float32).astype(np.float64), 0.01),
    "float16": (lambda z: softmax(z).astype(np.float16), 0.03),
    "csv": (digits, 0.03),
}
CLASSES = (2, 10)


@cache
def logits(c: int) -> tuple[Floats, np.ndarray, np.ndarray]:
    """Return what 1 + SHADOWS models give N records, who was inside each, and the labels.

    Of the confidence in the true class, most differs between records; some differs between models;
    and 1.2 is memory.
    """
    rng = np.random.default_rng(c)
    labels = rng.integers(c, size=N)
    inside = rng.random((1 + SHADOWS, N)) < 0.5
    z = rng.normal(size=(N, c)) + 0.3 * rng.normal(size=(*inside.shape, c))
    z[:, np.arange(N), labels] = 0.0
    others = np.log(np.exp(z).sum(axis=2) - 1.0)
    own = 7.8 + 3.4 * rng.normal(size=N) + rng.normal(size=inside.shape) + 1.2 * inside
    z[:, np.arange(N), labels] = others + own
    return z, inside, labels


@cache
def seen(c: int, form: Form | None, others: Form | None) -> tuple[Round, ...]:
    """Return the game against the pool, and the games with one shadow and without any.

    The target's predictions come in one form, the adversary's models' in another one.
    """
    z, inside, labels = logits(c)

    def one(model: int, form: Form | None) -> Predictions:
        values, key = (z[model], "logits") if form is None else (form(z[model]), "probs")
        given = {key: values, "labels": labels, "member": inside[model]}
        return predictions(**given)  # type: ignore[arg-type]

    pool = Pool(z[1:] if others is None else others(z[1:]), others is None, inside[1:], labels)
    features = np.random.default_rng(1).normal(size=(N, 3))
    rng = np.random.default_rng(2)
    return (
        *PoolGame(one(0, form), pool, features).deal(1, rng),
        *PredictionGame(one(0, form), one(1, others)).deal(1, rng),
        *PredictionGame(one(0, form)).deal(1, rng),
    )


def area(attack: Attack, round_: Round) -> float:
    """Return the area under the attack's curve."""
    scores = of_scores(attack.score(round_.observation, np.random.default_rng(3)))
    return auc(Transcript(scores.value, round_.secret)).value


@cache
def of_logits(attack: Attack, c: int, number: int) -> float:
    """Return what the attack reaches on logits."""
    return area(attack, seen(c, None, None)[number])


def test_the_setting_is_the_overfit_one() -> None:
    for c in CLASSES:
        z, _, labels = logits(c)
        p = softmax(z)[:, np.arange(N), labels].astype(np.float32)
        assert 0.005 < np.mean(p == 1) < 0.008


@pytest.mark.parametrize("attack", ON_WORLDS, ids=label)
def test_float32_costs_attacks_on_single_records_nothing(attack: Attack) -> None:
    form, allowed = FORMS["float32"]
    assert abs(area(attack, seen(10, form, form)[0]) - of_logits(attack, 10, 0)) < allowed


CASES = [
    (attack, games)
    for attacks, games in ((ON_ROWS, (0, 1, 2)), (ON_POOLS, (0,)))
    for attack in attacks
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "games", "c", "name"),
    [
        pytest.param(*case, c, name, id=f"{label(case[0])}-{c}-{name}")
        for case, c, name in crossed(CASES, CLASSES, list(FORMS))
    ],
)
def test_fewer_digits_cost_no_attack_anything(
    attack: Attack, games: tuple[int, ...], c: int, name: str
) -> None:
    form, allowed = FORMS[name]
    for game in games:
        found = area(attack, seen(c, form, form)[game])
        known = of_logits(attack, c, game)
        assert abs(found - known) < allowed, (game, found, known)


@pytest.mark.slow
@pytest.mark.parametrize("attack", ON_WORLDS, ids=label)
def test_binary_models_of_one_output_lose_nothing(attack: Attack) -> None:
    found = area(attack, seen(2, complement, complement)[0])
    assert abs(found - of_logits(attack, 2, 0)) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "c", "name"),
    [
        pytest.param(attack, c, name, id=f"{label(attack)}-{c}-{name}")
        for attack, c, name in crossed(
            [*ON_WORLDS, Learned(most=5000), Distance(bin=0)], CLASSES, ["float16", "csv"]
        )
    ],
)
def test_a_target_in_fewer_digits_than_the_shadow_models_is_compared_with_them(
    attack: Attack, c: int, name: str
) -> None:
    form, allowed = FORMS[name]
    for others in (softmax, None):
        found = area(attack, seen(c, form, others)[0])
        assert abs(found - of_logits(attack, c, 0)) < allowed, (found, others)
