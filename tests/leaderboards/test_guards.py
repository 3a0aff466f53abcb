"""What guards show, what they remember, and how many transcripts they can produce."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.leaderboards.bounds import transcript_nats
from privacygauge.leaderboards.guards import (
    ArcsineLadder,
    Calibrated,
    Exact,
    GaussianNoise,
    Ladder,
    LaplaceNoise,
    ParameterFreeLadder,
    Rounded,
    Thresholdout,
    guard_named,
    root_ladder,
)
from privacygauge.leaderboards.mechanism import MarkedSubmission
from privacygauge.leaderboards.oracle import Holdout

RNG = np.random.default_rng
NAMES = (
    "exact",
    "round:2",
    "calibrated",
    "noise:0.005",
    "laplace:0.005",
    "ladder",
    "ladder:0.01",
    "ladder:1.3se",
    "thresholdout:0.04",
)
every_guard = pytest.mark.parametrize("name", NAMES)


@every_guard
def test_the_name_names_the_guard(name):
    assert guard_named(name).name == name


@given(st.integers(1, 10**12))
def test_a_ladder_of_the_root_is_named_and_of_the_size_of_chance(n):
    guard = root_ladder(n)
    assert guard_named(guard.name) == guard
    assert guard.step == pytest.approx(n**-0.5, rel=0.05)


@pytest.mark.parametrize("text", ["", "round", "round:2.5", "exact:1", "noise:", "ladder:x", "off"])
def test_what_names_no_guard(text):
    with pytest.raises(InputError, match=rf"^guard must be one of exact, .*, got '{text}'$"):
        guard_named(text)


@pytest.mark.parametrize("text", ["round:0", "noise:-1", "noise:nan", "ladder:2", "thresholdout:0"])
def test_numbers_out_of_range(text):
    with pytest.raises(InputError, match=r"must be (in|above)"):
        guard_named(text)


@every_guard
def test_answers_are_shares_and_the_same_in_a_replay(name):
    rng = RNG(0)
    holdout = Holdout(rng.integers(0, 2, 60), 2)
    rows = rng.integers(0, 2, (40, 60))
    first, again = (holdout.open(RNG(5), guard=guard_named(name)).submit_all(rows) for _ in "ab")
    assert np.array_equal(first, again)
    assert first.min() >= 0.0
    assert first.max() <= 1.0


@every_guard
def test_a_state_can_be_answered_from_twice(name):
    guard = guard_named(name)
    truth = RNG(1).integers(0, 2, 30)
    labels = RNG(2).integers(0, 2, 30)
    marked = MarkedSubmission(int((labels == truth).sum()), 30, 2, None, labels, truth)
    state = guard.start(b"key")
    assert guard.answer(marked, state)[0] == guard.answer(marked, state)[0]


@pytest.mark.parametrize("guard", [GaussianNoise(0.05), LaplaceNoise(0.05)])
def test_noise_belongs_to_the_content(guard):
    holdout = Holdout(RNG(0).integers(0, 2, 10_000), 2)
    oracle, other = (holdout.open(RNG(seed), guard=guard) for seed in (1, 2))
    guess = RNG(3).integers(0, 2, 10_000)
    shown = oracle.submit(guess)
    assert shown == oracle.submit(guess.astype(np.uint8)) == oracle.submit(guess[::-1][::-1])
    changed = guess.copy()
    changed[0] = 1 - changed[0]
    # Another content, or another key, has noise of its own: equal by chance about once in 1,000.
    assert shown != oracle.submit(changed)
    assert shown != other.submit(guess)


@pytest.mark.parametrize(
    "guard", [GaussianNoise(0.02), LaplaceNoise(0.02), Rounded(1), Calibrated()]
)
def test_the_error_is_the_standard_deviation(guard):
    rng = RNG(4)
    holdout = Holdout(np.zeros(5_000, int), 2)
    shares = rng.uniform(0.3, 0.7, 400)
    rows = (rng.random((400, 5_000)) > shares[:, None]).astype(int)
    off = holdout.open(rng, guard=guard).submit_all(rows) - (rows == 0).mean(axis=1)
    # 400 errors: their root mean square is within 20% (Laplace, five standard errors).
    assert np.sqrt(np.mean(off**2)) == pytest.approx(guard.error(5_000), rel=0.2)


def plain_ladder(losses, step):
    """The Ladder of Blum and Hardt in their words, on losses."""
    best = math.inf
    shown = []
    for loss in losses:
        if loss < best - step:
            best = step * round(loss / step)
        shown.append(1 - best)
    return shown


@given(st.lists(st.integers(0, 37), min_size=1, max_size=30))
def test_the_ladder_is_the_papers(counts):
    holdout = Holdout(np.zeros(37, int), 2)
    step = 1 / 8
    rows = np.array([[0] * c + [1] * (37 - c) for c in counts])
    answers = holdout.open(RNG(0), guard=Ladder(step)).submit_all(rows)
    assert answers == pytest.approx(plain_ladder(1 - np.array(counts) / 37, step), abs=1e-12)


@given(st.integers(0, 2**32), st.integers(3, 25))
def test_the_parameter_free_ladder_is_the_papers(seed, n):
    rng = RNG(seed)
    truth = rng.integers(0, 2, n)
    rows = rng.integers(0, 2, (12, n))
    shown = []
    best = math.inf
    loss_vector = np.zeros(n)
    for row in rows:
        losses = (row != truth).astype(float)
        s = np.std(losses - loss_vector, ddof=1)
        if losses.mean() < best - s / math.sqrt(n) - 1e-12:
            best = losses.mean()
            loss_vector = losses
        shown.append(1 - best)
    answers = Holdout(truth, 2).open(rng, guard=ParameterFreeLadder()).submit_all(rows)
    assert answers == pytest.approx(shown, abs=1e-12)


@pytest.mark.parametrize(
    "guard", [Ladder(0.03), Ladder(0.4), ArcsineLadder(), ParameterFreeLadder()]
)
def test_a_ladder_only_rises(guard):
    rows = RNG(0).integers(0, 2, (200, 50))
    answers = Holdout(np.zeros(50, int), 2).open(RNG(0), guard=guard).submit_all(rows)
    assert np.all(np.diff(answers) >= 0)
    assert len(set(answers)) > 1 or guard == Ladder(0.4)


def test_thresholdout_shows_the_claim_while_it_is_true():
    holdout = Holdout(RNG(0).integers(0, 2, 10_000), 2)
    oracle = holdout.open(RNG(1), guard=Thresholdout(threshold=0.2, scale=0.005, releases=2))
    guess = RNG(2).integers(0, 2, 10_000)
    assert oracle.submit(guess, claimed=0.51) == 0.51
    assert oracle.submit(guess) == 0.5
    # Far from the claim: the noisy truth, twice; then the claim again.
    answers = [oracle.submit(guess, claimed=1.0) for _ in range(4)]
    assert answers[0] == pytest.approx(0.5, abs=0.1)
    assert answers[1] == pytest.approx(0.5, abs=0.1)
    assert answers[2:] == [1.0, 1.0]


def distinct_transcripts(guard, n, k):
    """Every transcript of k fixed submissions of all kinds over all labellings of n points."""
    labellings = [np.array(bits) for bits in itertools.product((0, 1), repeat=n)]
    found = set()
    for rows in itertools.product(labellings, repeat=k):
        for truth in labellings:
            oracle = Holdout(truth, 2).open(RNG(0), guard=guard)
            found.add(tuple(oracle.submit_all(np.array(rows))))
    return len(found)


@pytest.mark.parametrize(
    "guard",
    [
        Exact(),
        Rounded(1),
        Calibrated(),
        Ladder(0.5),
        Ladder(0.3),
        Ladder(0.6),
        ArcsineLadder(0.4),
        ArcsineLadder(1.3),
        ArcsineLadder(3.0),
        ParameterFreeLadder(),
    ],
    ids=repr,
)
def test_there_are_no_more_transcripts_than_counted(guard):
    # Of all strategies together: the count for two classes is of one, as in test_transcripts.
    for n, k in ((2, 2), (3, 2), (2, 3)):
        assert distinct_transcripts(guard, n, k) <= math.exp(guard.nats(k, n, 3)) * (1 + 1e-9)


def test_transcripts_of_a_ladder_are_rising_sequences():
    for values, k in ((3, 1), (3, 4), (11, 3)):
        rising = [s for s in itertools.product(range(values), repeat=k) if list(s) == sorted(s)]
        guard = Ladder(1 / (values - 1))
        assert transcript_nats(guard, k, 100, 2) == pytest.approx(math.log(len(rising)))


@pytest.mark.parametrize("step", [0.4, 1.3, 3.0])
def test_a_ladder_in_standard_errors_shows_whole_steps_of_the_arcsine(step):
    n = 400
    unit = step / (2 * math.sqrt(n))
    guard = ArcsineLadder(step)
    truth = np.zeros(n, int)
    rows = np.array([[0] * c + [1] * (n - c) for c in RNG(0).permutation(n + 1)])
    answers = Holdout(truth, 2).open(RNG(0), guard=guard).submit_all(rows)
    assert np.all(np.diff(answers) >= 0)
    rungs = np.arcsin(np.sqrt(1 - np.unique(answers))) / unit
    # Nothing right at all may lie between two rungs.
    whole = rungs[rungs < math.pi / 2 / unit - 0.5]
    np.testing.assert_allclose(whole, whole.round(), atol=0.05)
    assert len(set(answers)) <= math.exp(guard.nats(1, n, 2)) + 1e-9
    # One account: the first answer is near its score, and a rise is more than a standard error.
    single = Holdout(truth, 2).open(RNG(0), guard=guard)
    first = single.submit(rows[np.count_nonzero(rows == 0, axis=1) == 300][0])
    assert abs(math.asin(math.sqrt(first)) - math.asin(math.sqrt(0.75))) <= unit / 2 + 1e-9


def test_transcripts_of_thresholdout():
    # At most one of three answers comes from the four values of three points.
    assert Thresholdout(releases=1).nats(3, 3, 2) == pytest.approx(math.log(1 + 3 * 4))
    assert Thresholdout().nats(3, 3, 2) == pytest.approx(3 * math.log(5))


@every_guard
def test_no_question_tells_nothing(name):
    assert transcript_nats(guard_named(name), 0, 10, 2) == 0.0
    nats = [transcript_nats(guard_named(name), k, 1_000, 2) for k in range(50)]
    assert np.all(np.diff(nats) > 0)


def test_counts_of_transcripts_need_points():
    with pytest.raises(InputError, match=r"^k must be at least 0 and n at least 1, got -1 and 5$"):
        transcript_nats(Exact(), -1, 5, 2)


def test_neither_key_nor_truth_is_in_a_text():
    marked = MarkedSubmission(1, 2, 2, None, np.array([0, 1]), np.array([0, 0]))
    state = GaussianNoise().start(b"secret")
    assert "secret" not in repr(state)
    assert "array" not in repr(marked)
