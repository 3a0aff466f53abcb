"""Lower bounds on epsilon that an audit compares with a claim, jointly valid at one level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
from scipy.special import betaincinv, ndtri

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.rules import halves
from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import (
    CHOOSE_FROM,
    CHOOSING,
    GAUSSIAN,
    GuessCounts,
    PrivacyBound,
    bonferroni_level,
    chosen_guesses,
    count_right_guesses,
    default_guesses,
    stepwise_bound,
)
from privacygauge.evaluate.one_run import largest_one_run_epsilon, one_run_epsilon, one_run_mu
from privacygauge.evaluate.sampled_steps import SampledSteps, gaussian_epsilon
from privacygauge.evaluate.two_rates import (
    ChosenCut,
    Counts,
    bounds_at_all_times,
    epsilon_cut,
    exact_epsilon,
    exact_mu,
    guesses_in_order,
    mu_line,
)

_POINTS = 16
"""Largest number of points of a curve."""

_NO_GAUSSIAN = Skipped(
    "Gaussian bound", "at delta 0 no Gaussian mechanism is private for any epsilon"
)

_CUTS = 512
"""Largest number of candidate thresholds for mu."""

_EXACT = "exact test of both counts"

_CHOOSING = 0.2
"""Share of the rows that choose the thresholds; the others are judged."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Guesses about most of the rows, by thresholds that the remaining rows chose."""

    rows: Transcript
    """All rows."""
    for_epsilon: Decisions
    """Guesses by the threshold chosen for the bound on epsilon."""
    for_mu: Decisions
    """Guesses by the threshold chosen for the bound on mu."""
    score: Floats
    """(j,) Scores of the judged rows."""
    epsilon_choice: ChosenCut
    """Threshold and line for epsilon, chosen by the other rows."""
    mu_choice: ChosenCut
    """Threshold and line for mu, chosen by the other rows."""

    def epsilon(self, decisions: Decisions, delta: float, level: float) -> float:
        """Return the bound on epsilon from guesses about the judged rows."""
        counts = Counts.of(decisions)
        counts = counts.turned if self.epsilon_choice.turned else counts
        return exact_epsilon(counts, self.epsilon_choice.line, delta, level)

    def mu(self, decisions: Decisions, level: float) -> float:
        """Return the bound on mu from guesses about the judged rows."""
        return exact_mu(Counts.of(decisions), self.mu_choice.line, level)


@dataclass(frozen=True, eq=False)
class BoundCurve:
    """The bound by the number of guesses or training runs; for plots only, not to choose from."""

    n_guesses: Ints
    """(p,) Numbers of guesses or of training runs, ascending."""
    low: Floats
    """(p,) Bounds, each valid on its own; their maximum is not a valid bound."""
    largest: Floats
    """(p,) Bound of a perfect attack at each number of guesses."""


def one_run_bounds(
    found: GuessCounts, delta: float, level: float = 0.95
) -> tuple[tuple[PrivacyBound, ...], tuple[Skipped, ...]]:
    """Return the bounds from one run, jointly valid at `level`, and those that were skipped.

    Parameters
    ----------
    found : GuessCounts
    delta : float
        In [0, 1); at 0 there is no Gaussian bound.
    level : float
        In (0, 1).

    Notes
    -----
    `one_run_epsilon` and `one_run_mu`, corrected for several numbers of guesses by
    `stepwise_bound`. The pair itself needs no correction: both bounds limit the same probability,
    and the Gaussian one is the larger of the two at each number of guesses. If the mechanism is
    Gaussian, the Gaussian bound refutes everything that the other refutes; if not, only the other
    is claimed to hold.
    """
    if delta == 0.0:
        return (_one_run_bound("one-run", found, delta, level),), (_NO_GAUSSIAN,)
    bounds = [_one_run_bound(name, found, delta, level) for name in ("one-run", "one-run-gaussian")]
    return tuple(bounds), ()


def one_run_low(found: GuessCounts, delta: float, level: float) -> float:
    """Return the assumption-free bound of `one_run_bounds` alone."""
    # The Gaussian family shares the correction for several numbers of guesses.
    reach = partial(_free_bounds if delta == 0.0 else _gaussian_bounds, found, delta)
    return stepwise_bound(partial(_free_bounds, found, delta), found, level, reach)


def bound_of(played: Transcript, seed: int, level: float) -> PrivacyBound:
    """Return the lower bound on epsilon from one training run, at delta 0.

    Parameters
    ----------
    played : Transcript
        One row per coin of a single training run.
    seed : int
        Draws the coins that choose the number of guesses.
    level : float
        In (0, 1).
    """
    rng = seeds.stream(seed, "language", "one run")
    # Few canaries would choose the number of guesses badly: all default numbers are tried.
    if len(played) >= CHOOSE_FROM:
        found = chosen_guesses(played, 0.0, level=level, share=CHOOSING, rng=rng)
    else:
        found = count_right_guesses(played, default_guesses(len(played)), rng)
    return one_run_bounds(found, 0.0, level)[0][0]


def _one_run_bound(name: str, found: GuessCounts, delta: float, level: float) -> PrivacyBound:
    m = found.n_canaries
    # A perfect attack would choose to guess about every canary.
    most = np.array([m]) if found.n_choosing else found.n_guesses
    perfect = replace(found, n_guesses=most, n_right=most)
    # The Gaussian family reaches as far as either bound: corrected for it, both hold together.
    kind = _free_bounds if name == "one-run" else _gaussian_bounds
    reach = _free_bounds if delta == 0.0 else _gaussian_bounds
    low, largest = (
        stepwise_bound(partial(kind, x, delta), x, level, partial(reach, x, delta))
        for x in (found, perfect)
    )
    numbers = len(found.n_guesses)
    if found.n_choosing:
        method = f"one run, number of guesses chosen by {found.n_choosing} other canaries"
    elif numbers == 1:
        method = "one run, number of guesses fixed"
    else:
        method = f"one run, {numbers} numbers of guesses corrected for (Tarone)"
    estimate = _lower_bound(low, level, m, method)
    return PrivacyBound(name, "" if name == "one-run" else GAUSSIAN, estimate, largest)


def _free_bounds(found: GuessCounts, delta: float, right: Ints, level: float) -> Floats:
    numbers = tuple(found.n_guesses.tolist()), tuple(right.tolist())
    return np.array(_free(found.n_canaries, *numbers, delta, level))


def _gaussian_bounds(found: GuessCounts, delta: float, right: Ints, level: float) -> Floats:
    m = found.n_canaries
    pairs = zip(found.n_guesses.tolist(), right.tolist(), strict=True)
    mu = [one_run_mu(m, r, v, level) for r, v in pairs]
    free = _free_bounds(found, delta, right, level)
    # The mechanism's assumption can only add to what holds without it.
    return np.maximum(free, [gaussian_epsilon(x, delta) for x in mu])


# Cached: both bounds, and those of a perfect attack, repeat the same arguments many times.
@lru_cache(maxsize=4096)
def _free(
    m: int, r: tuple[int, ...], v: tuple[int, ...], delta: float, level: float
) -> tuple[float, ...]:
    return tuple(one_run_epsilon(m, r, n_right=v, delta=delta, level=level).tolist())


def held_out(transcript: Transcript, delta: float, level: float = 0.95, seed: int = 0) -> HeldOut:
    """Guess four fifths of the rows by thresholds that the other fifth chooses.

    Parameters
    ----------
    transcript : Transcript
        One row per training run: rows must be independent.
    delta, level : float
        As in `epsilon_lower_bound`.
    seed : int
        Draws the rows that choose.
    """
    score = transcript.score
    secret = transcript.secret
    chosen = halves(np.arange(len(secret)), secret, _CHOOSING, seed)
    judged = ~chosen
    if any(part.all() or not part.any() for part in (secret[chosen], secret[judged])):
        raise InputError("too few rows: both parts need members and non-members")
    chooses = score[chosen], secret[chosen]
    for_epsilon = epsilon_cut(*chooses, delta)
    # Compared at the level corrected for the candidates, so that luck does not choose.
    cut, mu = best_mu_cut(*chooses, bonferroni_level(level, _CUTS))
    for_mu = ChosenCut(cut, mu_line(*chooses, cut, mu))
    guesses = [
        Decisions(score[judged] >= found.cut, secret[judged], rule="chosen on other rows")
        for found in (for_epsilon, for_mu)
    ]
    return HeldOut(
        rows=transcript,
        for_epsilon=guesses[0],
        for_mu=guesses[1],
        score=score[judged],
        epsilon_choice=for_epsilon,
        mu_choice=for_mu,
    )


def rates_bounds(
    found: HeldOut, delta: float, level: float = 0.95, mechanism: SampledSteps | None = None
) -> tuple[tuple[PrivacyBound, ...], tuple[Skipped, ...]]:
    """Return the bounds from true- and false-positive rates, jointly valid at `level`.

    Parameters
    ----------
    found : HeldOut
        Independent rows, one per training run.
    delta : float
        In [0, 1); at 0 there is no Gaussian bound.
    level : float
        In (0, 1).
    mechanism : SampledSteps, optional
        Mechanism assumed by the second bound. Default: a Gaussian mechanism.
    """
    methods = 1 if delta == 0.0 else 2
    each = bonferroni_level(level, methods)
    perfect = Decisions(found.for_epsilon.secret, found.for_epsilon.secret)
    low = rates_low(found, delta, level)
    largest = found.epsilon(perfect, delta, each)
    n = len(perfect)
    method = f"{_EXACT}, Bonferroni over {methods}"
    rates = PrivacyBound("rates", "", _lower_bound(low, level, n, method), largest)
    if delta == 0.0:
        return (rates,), (_NO_GAUSSIAN,)
    if mechanism is not None:
        # Ranks need no threshold, so no row is held out and all are judged.
        rows = found.rows
        # A perfect attack's ranks: the bound that these canaries could give at most.
        perfect_rows = replace(rows, score=np.where(rows.secret, 1.0, 0.0))
        low, largest = (
            mechanism.epsilon(mechanism.noise_ruled_out(x, each), delta)
            for x in (rows, perfect_rows)
        )
        method = "area of known steps, Bonferroni over 2"
        estimate = _lower_bound(low, level, len(rows), method)
        return (rates, PrivacyBound("ranks-dp-sgd", mechanism.assumption, estimate, largest)), ()
    mu = found.mu(found.for_mu, each)
    best = found.mu(perfect, each)
    estimate = _lower_bound(gaussian_epsilon(mu, delta), level, n, method)
    gaussian = PrivacyBound("rates-gaussian", GAUSSIAN, estimate, gaussian_epsilon(best, delta))
    return (rates, gaussian), ()


def rates_low(found: HeldOut, delta: float, level: float) -> float:
    """Return the assumption-free bound of `rates_bounds` alone."""
    # At a positive delta a bound for known mechanisms stands beside it.
    each = bonferroni_level(level, 1 if delta == 0.0 else 2)
    return found.epsilon(found.for_epsilon, delta, each)


def sequential_bounds(
    transcript: Transcript, delta: float, level: float = 0.95
) -> tuple[PrivacyBound, BoundCurve]:
    """Return the bound from successive training runs, and its curve by their number.

    Parameters
    ----------
    transcript : Transcript
        One row per training run, in order; each bit is an independent fair coin.
    delta : float
        In [0, 1).
    level : float
        Joint level of the bounds after every number of training runs, in (0, 1).

    Notes
    -----
    `bounds_at_all_times` of `guesses_in_order`.
    """
    n = len(transcript)
    low = bounds_at_all_times(guesses_in_order(transcript, delta), delta, level)
    # A perfect attack learns its thresholds from earlier rows too: the first rows guess nothing.
    perfect = Transcript(np.where(transcript.secret, 1.0, 0.0), transcript.secret)
    largest = bounds_at_all_times(guesses_in_order(perfect, delta), delta, level)
    estimate = Estimate(
        value=low[-1], low=low[-1], high=np.inf, level=level, n=n, method="betting, at all times"
    )
    shown = log_spaced_counts(n)
    curve = BoundCurve(shown, low[shown - 1], np.maximum(largest, low)[shown - 1])
    return PrivacyBound("sequential", "", estimate, float(curve.largest[-1])), curve


def one_run_curve(n_canaries: int, found: GuessCounts, delta: float, level: float) -> BoundCurve:
    """Return the bound of `one_run_epsilon` at each number of guesses of `found`."""
    r = found.n_guesses
    low = one_run_epsilon(n_canaries, r, n_right=found.n_right, delta=delta, level=level)
    return BoundCurve(r, low, largest_one_run_epsilon(n_canaries, r, delta, level))


def rates_curve(found: HeldOut, delta: float, level: float) -> BoundCurve:
    """Return the bound of the judged rows by the number of them guessed to be members."""
    secret = found.for_epsilon.secret
    cuts = -np.sort(-found.score)
    # Ties move a count past the one asked for: the numbers that the cuts really reach.
    numbers = np.unique(
        np.count_nonzero(found.score >= cuts[log_spaced_counts(len(secret)) - 1][:, None], 1)
    )
    numbers = numbers[numbers < len(secret)]
    # cuts[k - 1] is the k-th highest score; exactly k rows are guessed to be members.
    low = [
        found.epsilon(Decisions(found.score >= cuts[k - 1], secret), delta, level) for k in numbers
    ]
    perfect = found.epsilon(Decisions(secret, secret), delta, level)
    return BoundCurve(
        numbers.astype(np.int64), np.array(low, np.float64), np.full(len(low), perfect)
    )


def log_spaced_counts(largest: int) -> Ints:
    """Return distinct integers from 1 to `largest` at nearly equal ratios, for a curve."""
    checks.at_least(1, largest=largest)
    return np.unique(np.geomspace(1, largest, _POINTS).round()).astype(np.int64)


def best_mu_cut(score: Floats, secret: Bools, level: float = 0.95) -> tuple[float, float]:
    """Return the cut with the largest bound on mu on these rows, and that bound, at least 0.

    The bound is not valid, since these rows chose the cut: use the cut on other rows.

    Parameters
    ----------
    score : ndarray of float, shape (n,)
    secret : ndarray of bool, shape (n,)
        Some are members and some are not.
    level : float
        As in `mu_lower_bound`.
    """
    # Cuts at members' scores suffice: lowered between two of them, TPR stays and FPR only grows.
    inside = np.sort(score[secret])
    outside = np.sort(score[~secret])
    cuts = np.unique(inside)
    cuts = cuts[np.unique(np.linspace(0, len(cuts) - 1, _CUTS).astype(int))]
    hits = len(inside) - np.searchsorted(inside, cuts, side="left")
    false = len(outside) - np.searchsorted(outside, cuts, side="left")
    tail = (1.0 - level) / 2.0
    tpr_low = betaincinv(hits, len(inside) - hits + 1.0, tail)
    # One minus the FPR's upper limit, taken from the other tail to keep its digits; 0 where every
    # non-member is above the cut.
    rest = np.where(
        false < len(outside),
        betaincinv(np.maximum(len(outside) - false, 1), false + 1.0, tail),
        0.0,
    )
    # mu = Phi^-1(TPR) - Phi^-1(FPR) (Dong, Roth & Su 2022), at the limits of both rates.
    found = ndtri(tpr_low) + ndtri(rest)
    best = int(np.argmax(found))
    return float(cuts[best]), max(0.0, float(found[best]))


def _lower_bound(low: float, level: float, n: int, method: str) -> Estimate:
    return Estimate(value=low, low=low, high=np.inf, level=level, n=n, method=method)
