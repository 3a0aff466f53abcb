"""Signals of token log-probabilities: silent where nothing leaks, loud where something does."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

import privacygauge as pg
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.playing import audit
from privacygauge.language.attacks import PopulationThreshold, energy_attacks, energy_round
from privacygauge.language.audit.verdict import verdict
from privacygauge.language.patients import by_patient
from privacygauge.report.grades import UNTOLD
from tests.language.made_tokens import Made, made, scores_of
from tests.laws.catalogue import TEXT_SIGNALS
from tests.thorough import quarter, times


def played(seed: int, lift: float, patients: bool = False) -> dict[str, Evaluation]:
    rng = np.random.default_rng(seed)
    scores = scores_of(made(rng, lift), seed)
    if patients:
        scores = by_patient(scores)
    attacks = energy_attacks(scores, (PopulationThreshold(0.1),))
    results = audit([energy_round(scores)], attacks, seed=seed)
    return {found.name: found for _, found in results}


def test_all_signals_are_there() -> None:
    assert set(played(0, 0.0)) == set(TEXT_SIGNALS)


@pytest.mark.parametrize("patients", [False, True])
def test_what_was_memorised_is_found(patients: bool) -> None:
    areas = {name: found.auc.low for name, found in played(0, 1.5, patients).items()}
    assert {name: low for name, low in areas.items() if low <= 0.5} == {}
    assert min(areas[name] for name in ("likelihood-ratio", "ez-mia", "wbc", "learned")) > 0.8


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_swapped_sides_are_never_a_small_leak(seed: int) -> None:
    """The learned attack finds its way either way round; all others take one side for the other."""
    found = made(np.random.default_rng(seed), 1.5)
    first, second, population = found.sides
    n = len(first.texts)
    m = len(second.texts)
    owner = np.concatenate([found.patient[n : n + m], found.patient[:n], found.patient[n + m :]])
    turned = Made((second, first, population), found.conditional, owner)
    for sides, words in ((found, {"large"}), (turned, {"large", UNTOLD.word})):
        told = verdict(pg.audit_language(scores_of(sides, seed, recall=False)))
        assert told.grade.word in words


@pytest.mark.slow
def test_without_a_leak_intervals_hold_chance() -> None:
    games = times(quarter(240))
    alarms = Counter[str]()
    areas = dict.fromkeys(TEXT_SIGNALS, 0.0)
    false = Counter[str]()
    for seed in range(games):
        for name, found in played(seed, 0.0).items():
            areas[name] += found.auc.value / games
            alarms[f"{name}: AUC"] += found.auc.excludes(0.5)
            alarms[f"{name}: accuracy"] += found.accuracy.excludes(0.5)
            alarms[f"{name}: epsilon"] += found.epsilon.low > 0
            false[name] += found.false_positive_rate.low > 0.2
    most = binom.ppf(1 - 1e-4, games, 0.05)
    assert {name: n for name, n in alarms.items() if n > most} == {}
    # An area of 80 patients has a deviation of about .05.
    assert {n: a for n, a in areas.items() if abs(a - 0.5) > 4.5 * 0.06 / np.sqrt(games)} == {}
    # Thresholds of 40 people's texts: the rate that comes out is near the one asked for.
    assert {name: n for name, n in false.items() if n > most} == {}
