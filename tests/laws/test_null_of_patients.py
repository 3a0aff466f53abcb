"""However many texts a patient has: no leak is found where there is none, one is where it is."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, norm

from privacygauge.core.estimate import Skipped
from privacygauge.language.audit.audit import LanguageAudit, audit_language
from privacygauge.language.audit.verdict import verdict
from privacygauge.report.grades import NONE, UNTOLD
from tests.language.made_scores import Sizes, sized_scores
from tests.thorough import quarter

SIZES = [
    (2, 20, 5),
    (5, 10, 20),
    (20, 2, 5),
    ((1, 2, 20), (10, 20), (2, 40)),
    ((1, 20, 20, 20, 20), 20, (1, 2, 3)),
]
"""Texts of a member, of a non-member and of the population."""


def audited(
    seed: int, sizes: tuple[Sizes, Sizes, Sizes], correlation: float, population: int, leak: float
) -> LanguageAudit:
    rng = np.random.default_rng([seed, population])
    patients = (100, 100, population)
    made = sized_scores(rng, sizes, patients=patients, correlation=correlation, leak=leak)
    return audit_language(made, seed=seed)


def alarms(found: LanguageAudit) -> set[str]:
    """Return which numbers of an audit say that there is a leak, or that chance is left out."""
    result = {"verdict"} if verdict(found).grade not in (NONE, UNTOLD) else set()
    result |= {"control"} if set(found.controls.fired) - {"sizes"} else set()
    for unit in (found.samples, found.patients):
        assert not isinstance(unit, Skipped)
        first = unit.evaluations[0]
        numbers = {
            "accuracy": first.accuracy.excludes(0.5),
            "AUC": first.auc.excludes(0.5),
            "TPR at 10%": first.tpr_at_fpr[0].estimate.excludes(0.1),
            "TPR at 1%": first.tpr_at_fpr[1].estimate.excludes(0.01),
            "headline": unit.headline.accuracy.low > 0.5,
            "epsilon": unit.headline.epsilon.low > 0,
            "best accuracy": any(e.best_accuracy.low > 0.5 for e in unit.evaluations),
        }
        result |= {f"{unit.unit}: {name}" for name, alarm in numbers.items() if alarm}
    return result


@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES)
def test_unequal_numbers_of_texts_are_no_leak(sizes: tuple[Sizes, Sizes, Sizes]) -> None:
    """Correlation and population take turns in the games of all sizes."""
    games = quarter(240)
    turns = list(product([0.0, 0.5], [0, 100]))
    found = Counter[str]()
    for seed in range(games):
        found.update(alarms(audited(seed, sizes, *turns[seed % len(turns)], 0.0)))
    # Every interval may leave chance out in 5% of games, the verdict of two units in 5% as well.
    most = binom.ppf(1 - 1e-4, games, 0.05)
    assert {name: n for name, n in found.items() if n > most} == {}


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize(("sizes", "compared"), [((2, 20, 5), 2), ((10, 5, 20), 5), ((4, 4, 4), 4)])
def test_a_leak_is_found_as_far_as_the_texts_that_are_compared_show_it(
    sizes: tuple[int, int, int], compared: int, correlation: float
) -> None:
    games = quarter(200)
    leak = 0.6
    truth = norm.cdf(leak / np.sqrt(2 * (correlation + (1 - correlation) / compared)))
    found = [audited(seed, sizes, correlation, 100, leak) for seed in range(games)]
    areas = [audit.patients.evaluations[0].auc for audit in found]
    covered = sum(not area.excludes(truth) for area in areas)
    assert covered >= binom.ppf(1e-4, games, 0.95)
    error = np.std([area.value for area in areas]) / np.sqrt(games)
    assert abs(np.mean([area.value for area in areas]) - truth) < 4.5 * error
    assert sum(verdict(audit).grade not in (NONE, UNTOLD) for audit in found) >= 0.9 * games
