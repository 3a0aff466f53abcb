"""Labels stay hidden, budgets hold, and every analyst starts from nothing."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.errors import BudgetError, InputError, PrivacyGaugeError
from privacygauge.leaderboards.guards import Exact, Ladder, ParameterFreeLadder, guard_named
from privacygauge.leaderboards.metrics import metric_named
from privacygauge.leaderboards.oracle import Budget, Holdout, most_submissions

RNG = np.random.default_rng


@pytest.fixture
def holdout():
    return Holdout(RNG(0).integers(0, 7, 1_000), 7)


def test_an_exact_answer_is_the_share_of_right_labels(holdout):
    oracle = holdout.open(RNG(1))
    guess = RNG(2).integers(0, 7, 1_000)
    assert oracle.submit(guess) == np.mean(guess == holdout.labels) == holdout.score(guess)
    assert oracle.submit(holdout.labels) == 1.0
    assert oracle.used == 2


@given(st.integers(1, 700), st.integers(1, 5), st.sampled_from([np.uint8, np.int64]))
def test_layout_and_type_of_submissions_do_not_matter(n, b, dtype):
    rng = RNG(n)
    holdout = Holdout(rng.integers(0, 3, n), 3)
    rows = rng.integers(0, 3, (b, n)).astype(dtype)
    expected = (rows == holdout.labels).mean(axis=1)
    across = np.asfortranarray(rows)
    for layout in (rows, across, np.repeat(rows, 2, axis=1)[:, ::2]):
        assert np.array_equal(holdout.open(rng).submit_all(layout), expected)


def test_no_text_shows_a_label(holdout):
    texts = (
        repr(holdout),
        str(holdout),
        repr(holdout.open(RNG(1))),
        repr(vars(holdout.open(RNG(1)))),
    )
    for text in texts:
        assert "array(" not in text
    assert not [name for name in vars(holdout.open(RNG(1))) if not name.startswith("_")]


def test_nothing_that_an_oracle_holds_is_the_labels(holdout):
    oracle = holdout.open(RNG(1), guard=ParameterFreeLadder())
    oracle.submit(np.zeros(1_000, int))
    for value in vars(oracle).values():
        assert not isinstance(value, np.ndarray | Holdout)
    with pytest.raises((AttributeError, TypeError, pickle.PicklingError)):
        pickle.dumps(oracle)


def test_a_batch_is_answered_as_one_after_the_other(holdout):
    rows = RNG(3).integers(0, 7, (20, 1_000))
    for guard in (Exact(), Ladder(0.01), ParameterFreeLadder()):
        at_once = holdout.open(RNG(1), guard=guard).submit_all(rows)
        oracle = holdout.open(RNG(1), guard=guard)
        assert np.array_equal(at_once, [oracle.submit(row) for row in rows])


def test_the_budget_is_all_or_nothing(holdout):
    oracle = holdout.open(RNG(1), budget=Budget(total=3))
    guess = np.zeros((2, 1_000), int)
    oracle.submit_all(guess)
    with pytest.raises(BudgetError, match=r"^the budget leaves 1 submission, got 2: ask for no"):
        oracle.submit_all(guess)
    assert oracle.left() == 1
    oracle.submit(guess[0])
    with pytest.raises(PrivacyGaugeError):
        oracle.submit(guess[0])
    assert oracle.used == 3


def test_a_rejected_submission_costs_nothing(holdout):
    oracle = holdout.open(RNG(1), budget=Budget(total=1))
    for bad in (np.zeros(999, int), np.full(1_000, 7), np.full(1_000, -1), np.zeros(1_000)):
        with pytest.raises(InputError):
            oracle.submit(bad)
    with pytest.raises(InputError, match=r"^claimed must be an accuracy in \[0, 1\], got 2$"):
        oracle.submit(np.zeros(1_000, int), claimed=2)
    assert oracle.left() == 1


def test_every_oracle_starts_with_the_full_budget(holdout):
    budget = Budget(total=2)
    spent = holdout.open(RNG(1), guard=Ladder(), budget=budget)
    spent.submit_all(np.stack([holdout.labels, holdout.labels]))
    fresh = holdout.open(RNG(1), guard=Ladder(), budget=budget)
    assert (spent.left(), fresh.left()) == (0, 2)
    # The Ladder of the first oracle shows 1; a fresh one has nothing on display.
    assert fresh.submit((holdout.labels + 1) % 7) == 0.0


def test_accounts_share_the_total():
    oracle = Holdout([0, 1, 1], 2).open(RNG(0), budget=Budget(total=3, per_account=2))
    oracle.submit_all(np.zeros((2, 3), int), account="a")
    assert (oracle.left("a"), oracle.left("b")) == (0, 1)
    oracle.submit([0, 0, 0], account="b")
    assert (oracle.left("b"), oracle.left("c")) == (0, 0)


def test_an_account_begins_with_the_whole_of_its_own_budget():
    oracle = Holdout([0, 1, 1], 2).open(RNG(0), budget=Budget(per_account=2))
    for left in (2, 1, 0):
        assert oracle.left("a") == left
        assert oracle.left("b") == 2
        if left:
            oracle.submit([0, 0, 0], account="a")


def test_more_accounts_do_not_lift_a_limit_in_nats():
    n = 1_000
    budget = Budget(per_account=1, nats=2.5 * np.log(n + 1))
    oracle = Holdout(np.zeros(n, int), 2).open(RNG(0), budget=budget)
    for account in "ab":
        oracle.submit(np.zeros(n, int), account=account)
    with pytest.raises(BudgetError):
        oracle.submit(np.zeros(n, int), account="c")
    assert budget.submissions(Ladder(0.1), n, 2) > budget.submissions(Exact(), n, 2) == 2
    assert Budget(total=1, nats=1e3).submissions(Exact(), n, 2) == 1
    assert Budget(total=5).submissions(Exact(), n, 2) == 5
    assert Budget().submissions(Exact(), n, 2) is None


@given(st.floats(0, 500), st.floats(0.1, 10))
def test_most_submissions_is_the_last_affordable(most, each):
    k = most_submissions(lambda k: each * k, most)
    assert each * k <= most < each * (k + 1)


@pytest.mark.parametrize(
    ("labels", "m", "message"),
    [
        ([0, 1, 2], 2, r"^labels must be one or more integers in 0\.\.1: count"),
        ([], 2, r"^labels must be one or more integers"),
        ([0, 1], 1, r"^n_classes must be at least 2, got 1$"),
        ([0, -1], 2, r"^labels must be at least 0, got -1 in row 1$"),
    ],
)
def test_what_is_no_test_set(labels, m, message):
    with pytest.raises(InputError, match=message):
        Holdout(labels, m)


@pytest.mark.parametrize("name", ["total", "per_account", "nats"])
def test_budgets_are_not_negative(name):
    with pytest.raises(InputError, match=rf"^{name} must be at least 0, or None"):
        Budget(**{name: -1})


def test_a_holdout_keeps_its_own_copy():
    labels = np.array([0, 1, 1])
    holdout = Holdout(labels, 2)
    labels[:] = 0
    assert holdout.score([0, 1, 1]) == 1.0
    assert copy.copy(holdout).score([1, 0, 0]) == 0.0


@pytest.mark.parametrize(
    ("metric", "change"),
    [
        ("auc", lambda sent: 3 * sent + 1),
        ("auc", lambda sent: sent + 1e-9),
        ("mae:0:1", lambda sent: np.clip(sent + 1e-9, 0, 1)),
        ("brier", lambda sent: np.clip(sent + 1e-9, 0, 1)),
        ("brier", lambda sent: np.stack([1 - sent, sent], axis=1)),
    ],
)
def test_equivalent_submissions_get_the_same_noise(metric, change):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    scored = metric_named(metric)
    hidden, m = scored.truth(truth.astype(float) if scored.numbers else truth, None)
    holdout = Holdout(hidden, m, scored)
    guard = guard_named("noise:0.05")
    state = guard.start(bytes(16))
    sent = rng.random(200)
    answers = [guard.answer(holdout.marked(x), state)[0] for x in (sent, change(sent))]
    assert answers[0] == answers[1]
    other = guard.answer(holdout.marked(rng.random(200)), state)[0]
    assert other != answers[0]


@pytest.mark.parametrize("copies", [2, 3, 7, 33])
@pytest.mark.parametrize("members", [1, 2, 3])
def test_repeated_members_of_an_ensemble_get_the_same_noise(members, copies):
    rng = np.random.default_rng(members)
    holdout = Holdout(rng.random(200), 0, metric_named("crps:0:1"))
    guard = guard_named("noise:0.05")
    state = guard.start(bytes(16))
    sent = rng.random((200, members))
    same = [sent, np.tile(sent, copies), np.repeat(sent[:, ::-1], copies, axis=1)]
    if members == 1:
        same.append(sent[:, 0])
    answers = {guard.answer(holdout.marked(x), state)[0] for x in same}
    assert len(answers) == 1
    other = sent.copy()
    other[:20, 0] = rng.random(20)
    assert guard.answer(holdout.marked(other), state)[0] not in answers


def test_repeated_labels_of_a_top_list_get_the_same_noise():
    rng = np.random.default_rng(0)
    holdout = Holdout(rng.integers(0, 10, 200), 10, metric_named("top:3"))
    guard = guard_named("noise:0.05")
    state = guard.start(bytes(16))
    first, second = rng.integers(0, 10, (2, 200))
    answers = set()
    for _ in range(20):
        third = np.where(rng.random(200) < 0.5, first, second)
        sent = rng.permuted(np.stack([first, second, third], axis=1), axis=1)
        answers.add(guard.answer(holdout.marked(sent), state)[0])
    assert len(answers) == 1
