"""Members whom a model knows less than anybody are no sign of safety."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import privacygauge as pg
from tests.classifiers.made import softmax
from tests.thorough import quarter, times


def verdict(seed: int, few: int = 0, group: float = 0.0) -> str:
    """Return the headline on 1,000 members and 1,000 others.

    The answers to `few` members are wholly wrong; those to members of one site of twenty are worse
    by `group` logits.
    """
    rng = np.random.default_rng(seed)
    n = 2000
    member = np.arange(n) < n // 2
    labels = rng.integers(4, size=n)
    site = rng.integers(20, size=n)
    logits = rng.normal(size=(n, 4))
    logits[np.arange(n), labels] += 2 - group * (member & (site == 7))
    wrong = np.arange(few)
    logits[wrong, labels[wrong]] -= 14
    answers = pg.predictions(
        probs=softmax(logits), labels=labels, member=member, columns={"site": site}
    )
    return pg.audit_classifier(answers, seed=seed).summary().splitlines()[0]


@pytest.mark.slow
@pytest.mark.parametrize("planted", [{"few": 12}, {"group": 4.0}], ids=str)
def test_members_known_less_than_all_others_are_never_no_leak(planted: dict[str, float]) -> None:
    games = times(8)
    said = [verdict(seed, **planted) for seed in range(games)]
    assert sum("No leak" in headline for headline in said) <= games // 8
    # An attack that learns sees some of them as a leak.
    assert any("less than all other" in headline or "leak:" in headline for headline in said)


@pytest.mark.slow
def test_nobody_is_known_less_where_nothing_leaks() -> None:
    games = quarter(40)
    said = ["less than all other" in verdict(seed) for seed in range(games)]
    # Two questions at a quarter of 5% each.
    assert sum(said) <= binom.ppf(0.999, games, 0.025)
