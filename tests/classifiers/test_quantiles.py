"""Quantile regression: its level where nothing leaks, and what it reaches where something does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

import privacygauge as pg
from privacygauge.classifiers.game import PoolGame, PredictionGame
from privacygauge.classifiers.predictions import Pool, Predictions, predictions
from privacygauge.classifiers.suite import Law, QuantileRegression, Regression, Trees
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Observation, Play, Round, play
from privacygauge.errors import InputError
from privacygauge.evaluate.decision import balanced_accuracy
from privacygauge.evaluate.roc import auc
from tests.classifiers.made import made_pool_game, made_up
from tests.thorough import THOROUGH

THRESHOLD = Threshold("scaled-logit", per_class=False)
QUICK = QuantileRegression(trees=5)
SOME = QuantileRegression(trees=25)


def predicted(signal: np.ndarray, labels: np.ndarray, member: np.ndarray) -> Predictions:
    """Return predictions of two classes whose scaled logit is `signal`."""
    logits = np.zeros((len(signal), 2))
    logits[np.arange(len(signal)), labels] = signal
    return predictions(logits=logits, labels=labels, member=member)


def dealt(n: int, effect: float, spread: float, seed: int) -> list[Round]:
    """Return a game in which a feature moves the signal by up to `spread`, a member by `effect`."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    labels = rng.integers(2, size=n)
    member = rng.random(n) < 0.5
    signal = spread * np.sin(2 * x[:, 0]) + effect * member + rng.normal(size=n)
    return PredictionGame(predicted(signal, labels, member), features=x).deal(1, rng)


def played(attack: Attack, rounds: list[Round]) -> Play:
    found = play(attack, rounds, [np.random.default_rng(i) for i in range(len(rounds))])
    assert isinstance(found, Play)
    return found


def area(attack: Attack, rounds: list[Round]) -> float:
    return auc(played(attack, rounds).transcript).value


@pytest.mark.slow
@pytest.mark.parametrize(("n", "spread"), [(60, 0.0), (200, 3.0)])
def test_it_holds_its_level_where_members_are_like_the_others(n: int, spread: float) -> None:
    games = 1000 if THOROUGH else 40
    found = [played(QUICK, dealt(n, 0.0, spread, seed)) for seed in range(games)]
    areas = [auc(one.transcript) for one in found]
    shares = [balanced_accuracy(one.decisions) for one in found]
    for estimates in (areas, shares):
        wrong = sum(not x.low <= 0.5 <= x.high for x in estimates)
        assert wrong <= binom.ppf(0.999, games, 0.05)
    # Bits that know nothing of n scores give an area with variance 1 / (3 n), halves of which
    # that share no rows do not add to.
    assert abs(np.mean([x.value for x in areas]) - 0.5) < 4 / np.sqrt(3 * n * games)


@pytest.mark.slow
def test_it_reaches_the_threshold_where_all_records_are_alike() -> None:
    games = [dealt(1_000, 1.0, 0.0, seed) for seed in range(2)]
    ours, theirs = (np.mean([area(a, g) for g in games]) for a in (SOME, THRESHOLD))
    assert abs(ours - theirs) < 0.01


@pytest.mark.slow
def test_it_reaches_who_knows_the_difficulty_where_records_differ() -> None:
    rounds = dealt(4_000, 1.0, 3.0, 0)
    best = float(ndtr(1 / np.sqrt(2)))
    ours, theirs = (area(attack, rounds) for attack in (SOME, THRESHOLD))
    assert theirs < 0.62
    assert best - 0.03 < ours < best + 0.025


@pytest.mark.slow
def test_without_features_the_other_classes_tell_how_hard_a_record_is() -> None:
    rng = np.random.default_rng(0)
    n = 3_000
    k = 5
    hard = rng.random(n) < 0.5
    labels = rng.integers(k, size=n)
    member = rng.random(n) < 0.5
    logits = np.where(hard, 0.3, 3.0)[:, None] * rng.normal(size=(n, k))
    rows = np.arange(n)
    logits[rows, labels] = -np.inf
    logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
    logits[rows, labels] = np.where(hard, -2.0, 2.0) + member + rng.normal(size=n)
    found = predictions(logits=logits, labels=labels, member=member)
    rounds = PredictionGame(found).deal(1, rng)
    assert area(SOME, rounds) > area(THRESHOLD, rounds) + 0.05


def test_no_judged_record_has_a_part_in_its_own_score() -> None:
    """Whatever the other records of its half score, a record's score stays."""
    rounds = dealt(200, 1.0, 1.0, 0)
    first = rounds[0]
    found = played(QUICK, [first]).transcript.score
    source = first.observation.rows.source
    values = source.values.copy()
    changed = first.observation.rows.index[1:]
    values[changed, source.labels[changed]] += 5.0
    again = PredictionGame(
        predictions(logits=values, labels=source.labels, member=source.member),
        features=first.observation.rows.features,
    )
    # The same halves: they depend on labels and members alone.
    rng = np.random.default_rng(0)
    rng.normal(size=(200, 3)), rng.integers(2, size=200), rng.random(200), rng.normal(size=200)
    rescored = played(QUICK, [again.deal(1, rng)[0]]).transcript
    assert np.array_equal(rescored.target, first.target)
    assert rescored.score[0] == found[0]
    assert (rescored.score[1:] != found[1:]).all()


@pytest.mark.slow
def test_a_shift_and_a_scale_of_all_signals_change_no_order() -> None:
    rounds = dealt(300, 1.0, 2.0, 1)
    found = played(QUICK, rounds).transcript.score
    source = rounds[0].observation.rows.source
    moved = predictions(logits=source.values * 2.0, labels=source.labels, member=source.member)
    rng = np.random.default_rng(1)
    rng.normal(size=(300, 3)), rng.integers(2, size=300), rng.random(300), rng.normal(size=300)
    again = PredictionGame(moved, features=rounds[0].observation.rows.features).deal(1, rng)
    assert np.allclose(played(QUICK, again).transcript.score, found, atol=1e-6)


def test_a_pool_with_features_tells_more_than_one_signal() -> None:
    rng = np.random.default_rng(0)
    n = 500
    k = 4
    x = rng.normal(size=(n, 2))
    labels = rng.integers(2, size=n)
    inside = rng.random((k + 1, n)) < 0.5
    signal = 3 * np.sin(2 * x[:, 0]) + inside + rng.normal(size=(k + 1, n))
    target, *models = [predicted(s, labels, m) for s, m in zip(signal, inside, strict=True)]
    pool = Pool(np.stack([m.values for m in models]), True, inside[1:], labels)
    rounds = PoolGame(target, pool, x).deal(1, rng)
    assert area(SOME, rounds) > area(THRESHOLD, rounds) + 0.08


@pytest.mark.slow
def test_the_audit_plays_it_where_records_are_known() -> None:
    # Two fifths are learnt from, of which half are no members.
    both = [dealt(600, 1.0, 3.0, seed)[0].observation.rows for seed in range(2)]
    x, other = (rows.features[:, :1] for rows in both)
    target, shadow = (replace(rows.source, columns={"x": rows.features[:, 0]}) for rows in both)
    audit = pg.audit_classifier(target, features=["x"])
    assert "quantile-regression" in {e.name for e in audit.evaluations}
    of_both = {"features": x, "shadow_features": other}
    alone, without, by_name, by_array = (
        list(
            pg.audit_classifier(target, *known, attacks=[QUICK], **features).records.scores.values()
        )
        for known, features in (
            ([], {"features": ["x"]}),
            ([], {}),
            ([shadow], {"features": ["x"]}),
            ([shadow], of_both),
        )
    )
    assert np.array_equal(by_name, by_array)
    assert not np.array_equal(alone, without)


def bad_features() -> Iterator[tuple[dict[str, object], str]]:
    yield {"features": np.ones((3, 2))}, r"features must have the shape \(400, d\)"
    yield {"features": np.full((400, 1), np.nan)}, "features must be finite numbers"
    yield {"features": np.full((400, 1), "a")}, "features must be finite numbers"
    yield {"features": ["height"]}, "no column 'height'; the columns are: age"
    yield {"features": np.ones((400, 1)), "shadow": made_up()}, "of the target and of the shadow"
    yield {"shadow_features": np.ones((400, 1))}, "without a shadow"


@pytest.mark.parametrize(("options", "said"), list(bad_features()))
def test_features_that_do_not_fit_are_refused(options: dict[str, object], said: str) -> None:
    target = made_up(seed=1, columns={"age": np.arange(400.0)})
    with pytest.raises(InputError, match=said):
        pg.audit_classifier(target, **options)


def test_where_it_cannot_be_played_it_says_why() -> None:
    rng = np.random.default_rng(0)
    seen = made_pool_game(n=60, k=2).round().observation
    alone = replace(seen, shadow=None)
    for observation in (Observation({}, np.zeros(3)), alone):
        assert isinstance(QUICK.score(observation, rng), Skipped)
    assert not isinstance(QUICK.score(seen, rng), Skipped)


@pytest.mark.slow
def test_where_trees_leave_next_to_no_variance_deviations_are_finite():
    """As of decision trees: most records get the same answer from all shadow models."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(100, 4))
    unit = np.repeat(np.arange(100), 10)
    value = np.where(x[:, 0] > np.quantile(x[:, 0], 0.9), -1.0, 1.0)[unit]
    value = np.where(rng.random(1000) < 0.01, -value, value)
    asked = np.column_stack([np.zeros(1000), x[unit]])
    law = Law.of(asked, value, unit, 60, True, 0)
    assert np.isfinite(law.held_out).all()
    assert np.isfinite(law.deviations(asked, -value)).all()


def test_variances_that_differ_by_hundreds_of_decades_overflow_nothing():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.integers(3, size=400), rng.normal(size=(400, 2))]).astype(float)
    value = np.exp(300 * (x[:, 1] > 1) * np.sign(x[:, 2]) * (x[:, 0] == 1) + rng.normal(size=400))
    folds = np.array_split(rng.permutation(400), 5)
    found = Regression.of(x, value, folds, Trees("gamma", 60, True, 0))
    assert np.isfinite(found.held_out).all()
    assert np.isfinite(found.at(1e3 * x)).all()
