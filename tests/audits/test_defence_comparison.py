"""Defences beside each other: intervals that hold together, and who counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import privacygauge as pg
from privacygauge.claims.defence_audit.audit import audit_defences
from privacygauge.claims.defence_audit.verdict import verdict
from privacygauge.claims.defences.defence import LabelOnly, Rounding, Temperature
from privacygauge.claims.defences.judging import can_be_undone
from privacygauge.classifiers.game import PredictionGame
from privacygauge.classifiers.predictions import predictions
from privacygauge.core import seeds
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.decision import balanced_accuracy
from privacygauge.evaluate.headline import BestAttack, best_attack, left_of
from privacygauge.evaluate.playing import audit
from privacygauge.evaluate.roc import auc
from privacygauge.report.attacks.verdict import grade_attacks
from privacygauge.report.grades import LARGE, NONE, UNTOLD, grade_of
from tests.audits.example_defences import example
from tests.claims.defences.catalogue import DEFENCES, label
from tests.classifiers.made import made_up
from tests.thorough import times

ATTACKS = tuple(Threshold(x) for x in ("correctness", "confidence", "entropy"))


@pytest.fixture(scope="module")
def played():
    game = PredictionGame(made_up(n=300, leak=2.0), made_up(n=300, leak=2.0, seed=1))
    return audit(game.deal(1, seeds.stream(0, "deal")), ATTACKS)


@pytest.mark.parametrize("n_compared", [1, 40])
def test_the_best_of_several_is_as_if_made_from_the_rows(played, n_compared):
    """Naive reference: both numbers from the transcripts, at the level that each one needs."""
    found = best_attack([e for _, e in played], n_compared, 0.95)
    each = 1 - 0.05 / n_compared
    accuracies = {e.title: balanced_accuracy(p.decisions, each) for p, e in played}
    areas = {e.title: auc(p.transcript, each) for p, e in played}
    for title, made, told in (
        (found.attack, accuracies, found.accuracy),
        (found.auc_attack, areas, found.auc),
    ):
        assert made[title].low == max(x.low for x in made.values())
        # The rows come in another order, so sums differ in the last digits.
        for name in ("value", "low", "high"):
            assert getattr(told, name) == pytest.approx(getattr(made[title], name), abs=1e-12)
        assert told.level == 0.95
        assert told.method.endswith(f"Bonferroni over {n_compared} results")


def test_what_is_left_is_never_less_than_what_either_adversary_reaches():
    f = example()
    for c in f.compared:
        reached = [c.adaptive, c.non_adaptive, *([f.none] if c.undone else [])]
        assert c.left.accuracy.low == max(x.accuracy.low for x in reached)
        assert c.left.auc.low == max(x.auc.low for x in reached)
        # The label alone tells them apart where one adversary is as good as the other.
        assert c.left.accuracy in [x.accuracy for x in reached]


def test_all_intervals_allow_for_all_that_was_compared():
    f = example()
    n = f.n_attacks * (2 * len(f.compared) + 1)
    for best in (f.none, *(c.adaptive for c in f.compared), *(c.non_adaptive for c in f.compared)):
        assert best.accuracy.method.endswith(f"Bonferroni over {n} results")
        assert best.auc.method.endswith(f"Bonferroni over {n} results")
    for c in f.compared:
        assert c.adaptive.accuracy.low <= c.judged.headline.accuracy.low


@pytest.mark.parametrize("defence", DEFENCES, ids=label)
def test_what_is_said_to_be_undone_can_be(defence):
    """Temperature t is undone by 1/t, while no probability is lost in rounding."""
    if not can_be_undone(defence):
        return
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(5), size=50)
    back = Temperature(1 / defence.t).answer(defence.answer(p, rng), rng)
    # A temperature of a million leaves ten of the sixteen digits.
    assert back == pytest.approx(p, abs=1e-8)


def ranked(leak, base, seed):
    """Return predictions whose confidence is `leak` standard deviations higher on members."""
    rng = np.random.default_rng(seed)
    member = np.arange(400) % 2 == 0
    labels = rng.integers(5, size=400)
    logits = rng.normal(scale=0.01, size=(400, 5))
    logits[np.arange(400), labels] += rng.normal(base + 0.3 * leak * member, 0.3)
    return predictions(logits=logits, labels=labels, member=member)


@pytest.mark.parametrize("defence", DEFENCES, ids=label)
def test_a_leak_that_only_the_ranking_shows_is_a_leak(defence):
    """The shadow model is less sure of all records: its thresholds call each one a member."""
    target = ranked(2.0, 3.2, 0)
    shadow = ranked(2.0, 1.2, 1)
    attacks = [Threshold("confidence", per_class=False)]
    f = audit_defences(target, shadow, [defence], attacks=attacks)
    left = f.best.left
    found = verdict(f)
    if left.auc.low <= 0.5:  # nothing of the ranking is left
        assert defence.name in ("label-only", "top-k", "rounding", "binning", "memguard")
        return
    assert left.accuracy.low <= 0.5
    assert found.grade == grade_of(1 - np.sqrt((1 - left.auc.low) / 2))
    assert found.grade != NONE
    if defence.name in ("none", "temperature"):  # they keep the order
        assert found.grade == LARGE
        assert (
            grade_attacks(pg.audit_classifier(target, shadow, attacks=attacks).attacks).grade
            == LARGE
        )


@pytest.mark.slow
def test_models_that_tell_nothing_rarely_seem_to():
    """Accuracies hold together at 95%, AUCs too: one in ten games at most shows either.

    Both err together, so that the graver of the two is called a leak in 5% of games at most.
    """
    n = times(60)
    wrong = 0
    called = 0
    for seed in range(n):
        target = made_up(n=200, seed=1000 + seed)
        shadow = made_up(n=200, seed=2000 + seed)
        f = audit_defences(target, shadow, [Rounding(1), LabelOnly()], attacks=ATTACKS, seed=seed)
        found = [f.none, *(c.left for c in f.compared)]
        called += verdict(f).grade not in (NONE, UNTOLD)
        wrong += any(b.accuracy.low > 0.5 or b.auc.low > 0.5 for b in found)
    assert wrong <= binom.ppf(0.999, n, 0.1)
    assert called <= binom.ppf(0.999, n, 0.05)


def test_progress_counts_every_game():
    seen: list[tuple[int, int]] = []
    audit_defences(
        made_up(n=60),
        made_up(n=60, seed=1),
        [LabelOnly(), Rounding()],
        attacks=ATTACKS[:1],
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_surprised_attackers_count_only_where_they_clearly_go_further():
    """A higher lower end alone may come from a narrower interval."""

    def reached(value, half):
        estimate = Estimate(value, value - half, value + half, 0.95, 100, "made up")
        return BestAttack("one", estimate, "one", estimate)

    wide = reached(0.54, 0.05)
    narrow = reached(0.5, 0.005)
    high = reached(0.6, 0.05)
    assert left_of(wide, narrow, None).accuracy == wide.accuracy
    assert left_of(wide, high, None).accuracy == high.accuracy
    assert left_of(high, wide, None).auc == high.auc
    assert left_of(wide, narrow, high).accuracy == high.accuracy
