"""A metric of one's own: its scale, what is known of it, and the code that a name stands for."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics as naive

import privacygauge as pg
from privacygauge.errors import InputError
from privacygauge.leaderboards.guards import guard_for, guard_named
from privacygauge.leaderboards.history.record import in_time
from privacygauge.leaderboards.honest import default_guard_of, guard_cost
from privacygauge.leaderboards.metrics import chosen_metric, metric_bias, metric_named
from privacygauge.leaderboards.naive_bayes import LinearBayes
from privacygauge.leaderboards.oracle import Budget, Holdout
from privacygauge.leaderboards.own_metric import OwnMetric
from privacygauge.leaderboards.server import open_board, rescoring
from tests.thorough import times

RNG = np.random.default_rng


def pinball(truth, sent):
    """Return the mean pinball loss at 0.8, of numbers in [0, 1]."""
    off = truth - sent
    return float(np.maximum(0.8 * off, -0.2 * off).mean())


def costs(truth, sent):
    """Return the mean cost of a label, 0 to 5."""
    return float(np.array([[0, 1, 5], [2, 0, 2], [5, 1, 0]])[truth, sent].mean())


def recall_at_nine_tenths(truth, sent):
    """Return the share of positives above nine tenths of the negatives."""
    return float((sent[truth == 1] > np.quantile(sent[truth == 0], 0.9)).mean())


LABELS = RNG(0).choice(3, 1_000, p=[0.5, 0.3, 0.2])
NUMBERS = RNG(0).beta(2, 5, 1_000)
OWN = {
    "mcc": (OwnMetric(naive.matthews_corrcoef), LABELS),
    "costs": (OwnMetric(costs, 5.0, 0.0, mean=True), LABELS),
    "pinball": (OwnMetric(pinball, 0.8, 0.0, "numbers", mean=True), NUMBERS),
    "logloss": (OwnMetric(naive.log_loss, 10.0, 0.0, "probabilities"), LABELS),
    "recall": (OwnMetric(recall_at_nine_tenths, submitted="scores"), LABELS % 2),
}
every_own = pytest.mark.parametrize("name", OWN)


def holdout_of(name):
    metric, hidden = OWN[name]
    truth, m = metric.truth(hidden, None)
    return Holdout(truth, m, metric)


def test_an_error_is_1_less_its_share_of_the_largest():
    metric, hidden = OWN["pinball"]
    sent = RNG(1).random(len(hidden))
    expected = 1 - naive.mean_pinball_loss(hidden, sent, alpha=0.8) / 0.8
    assert metric.score(sent, hidden) == pytest.approx(expected)
    assert metric.worst == 0.8
    assert OwnMetric(naive.matthews_corrcoef).score(1 - LABELS % 2, LABELS % 2) == 0


@every_own
def test_an_honest_board_ranks_as_exact_scores_do(name):
    holdout = holdout_of(name)
    assert guard_cost(holdout, default_guard_of(holdout)).ranks >= 0.9


@every_own
def test_random_submissions_learn_something_of_it(name):
    holdout = holdout_of(name)
    told = LinearBayes.told(holdout)
    gains = []
    for seed in range(times(4)):
        oracle = holdout.open(RNG(seed), budget=Budget(total=300))
        answer = told.answer(oracle, RNG([seed, 1]))
        gains.append(holdout.score(answer) - holdout.score(told.unaided()))
    assert np.mean(gains) > 0.003


def test_effects_of_a_mean_are_those_of_the_examples():
    metric, hidden = OWN["costs"]
    found = metric.effects(np.arange(3), np.bincount(hidden))
    expected = -np.array([[0, 1, 5], [2, 0, 2], [5, 1, 0]]) / 5 / len(hidden)
    found, expected = (each - each.mean(axis=1, keepdims=True) for each in (found, expected))
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_a_mean_keeps_to_its_tail():
    metric, hidden = OWN["costs"]
    n = 100
    above = []
    for seed in range(times(400)):
        truth = RNG(seed).choice(hidden, n)
        above.append(metric.score(np.full(n, 1), truth) - metric.chance(hidden))
    for e in (0.02, 0.05, 0.1):
        assert np.mean(np.array(above) >= e) <= np.exp(-2 * metric.tail(truth) * e**2) + 0.05


def test_without_structure_nothing_is_promised():
    metric, hidden = OWN["mcc"]
    assert metric.tail(hidden) == 0
    assert metric.points(hidden) == 1
    assert metric_bias(metric, hidden, 0.0) == 1 - metric.chance(hidden)
    with pytest.raises(InputError, match=r"^guard calibrated needs the chance in a score, .* step"):
        guard_for(guard_named("calibrated"), metric, hidden)
    costly = OWN["costs"][0]
    assert guard_for(guard_named("calibrated"), costly, LABELS).points == len(LABELS)


@pytest.mark.parametrize(
    ("metric", "says"),
    [
        (lambda: OwnMetric(costs, 1.0, 1.0), "needs two different numbers that score 0 and 1"),
        (lambda: OwnMetric(costs, submitted="label"), "submitted must be one of"),
        (
            lambda: OwnMetric(naive.matthews_corrcoef, mean=True).truth(LABELS, None),
            "matthews_corrcoef is no mean over the examples of values from 0 to 1",
        ),
        (lambda: OwnMetric(costs, 3.0, 0.0, mean=True).truth(LABELS, None), "no mean"),
        (
            lambda: OwnMetric(lambda _, __: RNG().random()).chance(LABELS),
            "must return the same number",
        ),
        (
            lambda: OwnMetric(lambda y, _: 1 // int(y[0] - y[0])).score(LABELS, LABELS),
            "cannot score this submission",
        ),
        (lambda: OwnMetric(lambda *_: np.nan).score(LABELS, LABELS), "has no finite value"),
    ],
)
def test_what_is_no_metric(metric, says):
    with np.errstate(all="ignore"), pytest.raises(InputError, match=says):
        metric()


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "path", [*sys.path])
    # A module of this name is imported once.
    file = tmp_path / f"contest_{tmp_path.name}.py"
    file.write_text(
        "from privacygauge.leaderboards.own_metric import OwnMetric\n"
        "def share(truth, sent):\n    return float((truth == sent).mean())\n"
        "error = OwnMetric(lambda y, s: float((y != s).mean()), 1.0, 0.0, mean=True)\n"
        "word = 'none'\n"
    )
    return f"{file}:share"


def test_a_name_stands_for_code(named):
    metric = chosen_metric(named)
    assert metric.name.startswith(f"{Path(named).name}#labels-")
    assert metric.score(LABELS, LABELS) == 1
    assert chosen_metric(named.replace("share", "error")).tail(LABELS) == len(LABELS)
    with pytest.raises(InputError, match="must be a function or an OwnMetric, got 'none'"):
        chosen_metric(named.replace("share", "word"))
    recorded = metric_named(metric.name)
    assert recorded.form == "i"
    with pytest.raises(InputError, match="is code of your own: name it again with --metric"):
        recorded.score(LABELS, LABELS)
    with pytest.raises(InputError, match="metric must be one of"):
        metric_named(named)


def test_a_board_is_scored_by_code_that_is_named_again(named, tmp_path):
    database = tmp_path / "board.sqlite"
    sent = np.where(RNG(3).random(1_000) < 0.7, LABELS, 0)
    board = open_board(database, LABELS, metric=named, guard="exact", public=0.5, keep=True)
    board.admit("a")
    receipt = board.submit("a", sent)
    assert 0.7 < receipt.score < 1
    board.close()
    with pytest.raises(InputError, match="is code of your own: name it again with --metric"):
        open_board(database, LABELS)
    open_board(database, LABELS, metric=named).close()
    changed = Path(named.rpartition(":")[0])
    changed.write_text(changed.read_text().replace("==", ">="))
    with pytest.raises(InputError, match="belongs to the metric contest_"):
        open_board(database, LABELS, metric=named)
    new = tmp_path / "new.sqlite"
    changed.write_text(changed.read_text().replace(">=", "=="))
    board = open_board(database, LABELS, metric=named)
    with pytest.raises(InputError, match="name it again"):
        rescoring.rescore(board.engine, new, LABELS)
    found = rescoring.rescore(board.engine, new, LABELS, metric=named)
    assert not found.changed
    assert open_board(new, LABELS, metric=named).part(sent, private=False).shape == (500,)
    board.close()


def test_attacks_and_histories_take_it(named):
    found = pg.attack_holdout(LABELS, 40, attacks=["nb"], trials=2, metric=named)
    assert found.of("nb", "exact").bias.value > -0.1
    history = in_time(None, ["a", "b"], [0.5, 0.7], n=100, metric=chosen_metric(named).name)
    assert list(history.scores) == [0.5, 0.7]
