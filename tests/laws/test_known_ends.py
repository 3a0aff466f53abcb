"""The oldest records, the least amounts and the records of one clinic are groups."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

import privacygauge as pg
from privacygauge.core.checks import Bools
from tests.classifiers.made import softmax
from tests.thorough import times

N = 4000


def age(rng: np.random.Generator) -> tuple[dict[str, np.ndarray], Bools]:
    """Return whole years, the oldest fiftieth exposed; few records share each of these ages."""
    years = np.rint(18 + rng.gamma(4, 8, size=N)).astype(int)
    return {"columns": {"age": years}}, years >= np.quantile(years, 0.98)


def income(rng: np.random.Generator) -> tuple[dict[str, np.ndarray], Bools]:
    """Return amounts, the least fiftieth exposed."""
    amounts = np.exp(rng.normal(size=N))
    return {"columns": {"income": amounts}}, amounts <= np.quantile(amounts, 0.02)


def clinic(rng: np.random.Generator) -> tuple[dict[str, np.ndarray], Bools]:
    """Return ids that begin with one of 60 clinics, of which one is exposed."""
    site = rng.integers(60, size=N)
    number = rng.permutation(N)
    ids = np.array([f"C{s:02d}-{k:05d}" for s, k in zip(site, number, strict=True)])
    return {"ids": ids}, site == 7


def headline(seed: int, known: Callable[..., tuple[dict, Bools]], leak: bool) -> str:
    rng = np.random.default_rng([seed, 977])
    given, exposed = known(rng)
    member = rng.permutation(N) < N // 2
    labels = rng.integers(4, size=N)
    logits = rng.normal(size=(N, 4))
    logits[np.arange(N), labels] += 1 + 2.5 * (exposed & member & leak)
    answers = pg.predictions(probs=softmax(logits), labels=labels, member=member, **given)
    return pg.audit_classifier(answers, seed=seed).summary().splitlines()[0]


@pytest.mark.slow
@pytest.mark.parametrize("known", [age, income, clinic], ids=lambda one: one.__name__)
def test_exposed_ends_and_clinics_are_found(known: Callable[..., tuple[dict, Bools]]) -> None:
    games = times(10)
    found = sum("eak:" in headline(seed, known, leak=True) for seed in range(games))
    assert found >= 0.9 * games


@pytest.mark.slow
@pytest.mark.parametrize("known", [age, income, clinic], ids=lambda one: one.__name__)
def test_ends_and_clinics_alarm_within_the_level(known: Callable[..., tuple[dict, Bools]]) -> None:
    games = times(20)
    wrong = sum("eak:" in headline(seed, known, leak=False) for seed in range(games))
    assert wrong <= binom.ppf(0.999, games, 0.05)
