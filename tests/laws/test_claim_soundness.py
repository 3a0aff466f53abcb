"""Bounds on a claim exceed the truth no more often than their level, and come near it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binomtest

from privacygauge.claims.defences.dp_sgd import SubsampledGaussian
from privacygauge.core.exact import SIGNAL, GaussianGame, RandomisedResponse, SharedNoiseGame
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.claim import (
    CHOOSING,
    GuessCounts,
    PrivacyBound,
    PrivacyClaim,
    chosen_guesses,
    count_right_guesses,
    default_guesses,
)
from privacygauge.evaluate.claim_bounds import (
    held_out,
    one_run_bounds,
    rates_bounds,
    sequential_bounds,
)
from privacygauge.evaluate.claim_designs import Design, ManyRuns, OneRun, power_of
from privacygauge.evaluate.one_run import one_run_epsilon
from privacygauge.evaluate.sampled_steps import SampledSteps, gaussian_epsilon
from tests.thorough import quarter, times

QUICK = 50
FULL = quarter(1000)

few_or_full = [pytest.param(15), pytest.param(FULL, marks=pytest.mark.slow)]
in_full = [pytest.param(QUICK), pytest.param(FULL, marks=pytest.mark.slow)]


def transcripts(game, games: int, seed: int) -> list[Transcript]:
    rounds = game.deal(games, np.random.default_rng(seed))
    return [Transcript(d.observation.signals[SIGNAL], d.secret) for d in rounds]


def require_sound(above: int, games: int, error: float = 0.05) -> None:
    """Fail where a rate of at most `error` gives so many with a probability below 1%."""
    assert binomtest(above, games, error, alternative="greater").pvalue > 0.01, above


def right_of(played: list[Transcript], numbers) -> np.ndarray:
    rng = np.random.default_rng(9)
    return np.array([count_right_guesses(t, np.array(numbers), rng).n_right for t in played])


def bounds_of_one_run(played: list[Transcript], delta: float) -> np.ndarray:
    """The bounds of every game, (games, 2): assuming nothing, and assuming a Gaussian mechanism."""
    return each_once(played, default_guesses(len(played[0])), delta)


def each_once(played: list[Transcript], numbers: np.ndarray, delta: float) -> np.ndarray:
    """The same for some numbers of guesses; equal counts of right ones are judged once."""
    n = len(played[0])
    all_right = right_of(played, numbers).tolist()
    seen: dict[tuple[int, ...], list[float]] = {}
    for right in all_right:
        if tuple(right) not in seen:
            bounds = one_run_bounds(GuessCounts(n, numbers, right), delta)[0]
            seen[tuple(right)] = [b.estimate.low for b in bounds]
    return np.array([seen[tuple(right)] for right in all_right])


@pytest.mark.parametrize("games", in_full)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_one_run_of_randomised_response(epsilon: float, games: int) -> None:
    played = transcripts(RandomisedResponse(500, epsilon), games, 0)
    # Half of the canaries, and all: each bound alone holds at its level.
    low = one_run_epsilon(500, [[250, 500]], right_of(played, [250, 500]))
    for above in (low > epsilon).sum(axis=0):
        require_sound(int(above), games)
    assert low[:, 1].mean() > 0.6 * epsilon
    guessed = [
        count_right_guesses(t, default_guesses(500), np.random.default_rng(1)) for t in played
    ]
    chosen = [one_run_bounds(found, 0.0) for found in guessed]
    require_sound(sum(b[0].estimate.low > epsilon for b, _ in chosen), games)


@pytest.mark.slow
@pytest.mark.parametrize("games", in_full)
def test_one_run_that_gives_all_bits_away_now_and_then(games: int) -> None:
    # Exactly (1, 0.04)-private, with canaries that fail together: who forgets delta is wrong in
    # 4 of 100 games for that alone.
    game = RandomisedResponse(200, 1.0, failure=0.04)
    right = right_of(transcripts(game, games, 3), [200])[:, 0]
    low = one_run_epsilon(200, 200, right, 0.04, level=0.8)
    require_sound(int(np.sum(low > 1.0)), games, 0.2)
    assert np.mean(low) > 0.5
    forgotten = one_run_epsilon(200, 200, right, level=0.99) > 1.0
    if games == FULL:
        assert binomtest(int(forgotten.sum()), games, 0.01, alternative="greater").pvalue < 1e-3


@pytest.mark.parametrize(
    ("correlation", "games"),
    [(0.9, 6), *(pytest.param(c, FULL, marks=pytest.mark.slow) for c in (0.0, 0.9))],
)
def test_one_run_of_a_gaussian_mechanism(correlation: float, games: int) -> None:
    # Rank by rank, shared noise hides nothing: the mechanism's mu is that of the rest.
    game = SharedNoiseGame(60, np.sqrt(1 - correlation), correlation)
    assert game.mu == pytest.approx(1.0, abs=0.02)
    truth = gaussian_epsilon(game.mu, 1e-3)
    found = bounds_of_one_run(transcripts(game, games, 5), 1e-3)
    require_sound(int(np.sum((found > truth).any(axis=1))), games)
    assert found[:, 1].mean() > 0.05 * truth


@pytest.mark.slow
@pytest.mark.parametrize("games", few_or_full)
@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0])
def test_many_runs_of_a_gaussian_mechanism(mu: float, games: int) -> None:
    truth = gaussian_epsilon(mu, 1e-5)
    above = 0
    for seed, transcript in enumerate(transcripts(GaussianGame(400, mu), games, 6)):
        bounds, _ = rates_bounds(held_out(transcript, 1e-5, seed=seed), 1e-5)
        above += any(bound.estimate.low > truth for bound in bounds)
    require_sound(above, games)


@pytest.mark.slow
@pytest.mark.parametrize("games", few_or_full)
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_many_runs_of_randomised_response(epsilon: float, games: int) -> None:
    played = transcripts(RandomisedResponse(400, epsilon), games, 7)
    found = [rates_bounds(held_out(t, 0.0, seed=i), 0.0)[0][0] for i, t in enumerate(played)]
    require_sound(sum(bound.estimate.low > epsilon for bound in found), games)


def of_many_runs(played: list[Transcript]) -> np.ndarray:
    found = [rates_bounds(held_out(t, 1e-5), 1e-5)[0] for t in played]
    return np.array([[bound.estimate.low for bound in bounds] for bounds in found])


def of_one_run(played: list[Transcript]) -> np.ndarray:
    return each_once(played, np.array([len(played[0])]), 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("games", in_full)
@pytest.mark.parametrize("bounds", [of_one_run, of_many_runs])
def test_on_noise_nothing_is_shown_in_95_of_100_games(
    bounds: Callable[[list[Transcript]], np.ndarray], games: int
) -> None:
    found = bounds(transcripts(GaussianGame(60), games, 8)).max(axis=1)
    require_sound(int(np.sum(found > 0)), games)
    assert np.mean(found == 0.0) > 0.9


@pytest.mark.parametrize("delta", [0.0, pytest.param(1e-6, marks=pytest.mark.slow)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
def test_with_many_canaries_one_run_is_within_10_percent_of_randomised_response(
    epsilon: float, delta: float
) -> None:
    n = 100_000
    games = 4
    right = right_of(transcripts(RandomisedResponse(n, epsilon), games, 10), [n])[:, 0]
    low = one_run_epsilon(n, n, right, delta)
    assert np.all(low > 0.9 * epsilon)
    # Each may be above with probability 5%.
    assert np.sum(low > epsilon) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.5, 1.0, 2.0, 4.0])
def test_with_many_runs_the_gaussian_bound_is_within_10_percent(mu: float) -> None:
    truth = gaussian_epsilon(mu, 1e-5)
    for transcript in transcripts(GaussianGame(100_000, mu), times(4), 11):
        bounds, _ = rates_bounds(held_out(transcript, 1e-5), 1e-5)
        assert 0.9 * truth < bounds[1].estimate.low < 1.03 * truth
        assert bounds[0].estimate.low < truth


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "mu", "delta"),
    [
        (100_000, 1.0, 0.05),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [(10**6, 0.5, 0.01), (10**6, 1.0, 0.01), (10**6, 2.0, 0.05)]
        ),
    ],
)
def test_with_a_delta_that_can_be_seen_the_bound_needs_no_assumption(
    n: int, mu: float, delta: float
) -> None:
    truth = gaussian_epsilon(mu, delta)
    games = times(4)
    found = [
        rates_bounds(held_out(t, delta, seed=i), delta)[0][0].estimate.low
        for i, t in enumerate(transcripts(GaussianGame(n, mu), games, 12))
    ]
    assert np.mean(found) > 0.9 * truth
    require_sound(int(np.sum(np.array(found) > truth)), games)


DELTA = 1e-5
CANARIES = (100, 1000, 10_000)


class Sampled:
    """DP-SGD on canaries that hide nothing: each sampled step adds 1 to the canary's own sum.

    The score is the likelihood ratio of all noisy steps, the best that anybody can have. A step
    takes part with probability `rate`; its noise is normal with deviation `noise`.
    """

    rate = 0.2
    noise = 1.5
    steps = 20

    def __init__(self, n_targets: int) -> None:
        self.n = n_targets

    @property
    def epsilon(self) -> float:
        return SubsampledGaussian(self.noise, self.rate, self.steps).epsilon(DELTA)

    def transcript(self, rng: np.random.Generator) -> Transcript:
        secret = rng.random(self.n) < 0.5
        taken = (rng.random((self.steps, self.n)) < self.rate) & secret
        seen = rng.normal(size=taken.shape) * self.noise + taken
        ratio = self.rate * np.expm1((2 * seen - 1) / (2 * self.noise**2))
        return Transcript(np.log1p(ratio).sum(axis=0), secret)


def one_transcript(game: str, n: int, seed: int) -> tuple[Transcript, float]:
    """A play of a game, and its true epsilon."""
    if game == "sampled":
        sampled = Sampled(n)
        return sampled.transcript(np.random.default_rng([seed, n])), sampled.epsilon
    made = RandomisedResponse(n, 1.0) if game == "response" else GaussianGame(n, 1.0)
    truth = 1.0 if game == "response" else gaussian_epsilon(1.0, DELTA)
    return transcripts(made, 1, 1000 * seed + n)[0], truth


def judged(transcript: Transcript, delta: float, how: str, seed: int) -> list[PrivacyBound]:
    rng = np.random.default_rng(seed)
    if how == "steps":
        mechanism = SampledSteps(Sampled.rate, Sampled.steps)
        return list(rates_bounds(held_out(transcript, delta, seed=seed), delta, 0.95, mechanism)[0])
    if how == "many":
        return list(rates_bounds(held_out(transcript, delta, seed=seed), delta)[0])
    if how == "sequential":
        return [sequential_bounds(transcript, delta)[0]]
    if how == "split":
        found = chosen_guesses(transcript, delta, 0.95, CHOOSING, rng)
    else:
        found = count_right_guesses(transcript, default_guesses(len(transcript)), rng)
    return list(one_run_bounds(found, delta)[0])


def lows(game: str, n: int, how: str, games: int) -> np.ndarray:
    """The bounds of every play as a share of the truth: assuming nothing, and if Gaussian."""
    found = []
    delta = 0.0 if game == "response" else DELTA
    for seed in range(games):
        transcript, truth = one_transcript(game, n, seed)
        bounds = judged(transcript, delta, how, seed)
        found.append([bound.estimate.low / truth for bound in bounds])
    return np.array(found)


WAYS = ("split", "all", "many", "sequential")
BOTH = [
    (game, n, how, times(6) if n == 1000 and game != "response" else quarter(40))
    for game in ("response", "gaussian", "sampled")
    for n in CANARIES[:2]
    for how in WAYS
]


@pytest.mark.slow
@pytest.mark.parametrize(("game", "n", "how", "games"), BOTH)
def test_bounds_of_known_mechanisms_are_sound(game: str, n: int, how: str, games: int) -> None:
    """Sampled steps are not exactly Gaussian: only the bound that assumes nothing must hold."""
    found = lows(game, n, how, games)
    found = found[:, :1] if game == "sampled" else found
    require_sound(int((found > 1).any(axis=1).sum()), games)


@pytest.mark.slow
@pytest.mark.parametrize(("how", "share"), [("split", 0.9), ("many", 0.9), ("sequential", 0.8)])
def test_10_000_canaries_come_near_randomised_response(how: str, share: float) -> None:
    assert lows("response", 10_000, how, times(6)).mean() > share


@pytest.mark.slow
def test_10_000_runs_come_within_10_percent_of_a_gaussian_mechanism() -> None:
    assert lows("gaussian", 10_000, "many", times(6))[:, 1].mean() > 0.9


@pytest.mark.parametrize("games", few_or_full)
@pytest.mark.parametrize("n", [100, 1000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_runs_of_dp_sgd_whose_steps_are_known(n: int, games: int) -> None:
    found = lows("sampled", n, "steps", games)
    require_sound(int((found > 1).any(axis=1).sum()), games)
    # The area of 10,000 rows is within 10% of the truth, less the interval of 97.5% itself.
    assert found[:, 1].mean() > {100: 0.15, 1000: 0.65, 10_000: 0.88}[n]


@pytest.mark.parametrize("how", ["split", "all", "many", "steps"])
def test_noise_that_is_switched_off_is_caught(how: str) -> None:
    member = np.random.default_rng(0).random(200) < 0.5
    rng = np.random.default_rng(1)
    transcript = Transcript(member + 1e-6 * rng.normal(size=200), member)
    free = judged(transcript, DELTA, how, 0)[0]
    # Coins seldom put in half, so even this attack errs where nearly all canaries are guessed.
    assert free.estimate.low > max(2.0, 0.75 * free.largest)


@pytest.mark.slow
@pytest.mark.parametrize("design", [OneRun(), ManyRuns()])
def test_what_is_called_detectable_is_shown_in_four_of_five_audits(design: Design) -> None:
    """Of a new control too: what is known of the first one is itself a draw."""
    games = times(12)
    claim = PrivacyClaim(1.0, DELTA)
    shown = 0
    for seed in range(games):
        control, audit = transcripts(GaussianGame(150, 3.0), 2, 500 + seed)
        power = power_of(control, "no noise", design, claim, len(audit), seed, 0.95)
        assert power.detectable <= power.bound
        again = power_of(audit, "no noise", design, claim, len(audit), seed + 1, 0.95)
        shown += again.bound >= power.detectable
    assert binomtest(shown, games, 0.8, alternative="less").pvalue > 0.01, shown
