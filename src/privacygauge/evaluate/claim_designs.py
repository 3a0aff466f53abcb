"""Training designs for canaries, the lower bounds on epsilon that each gives, and their power.

Also two checks before a claim is compared: its unit of privacy, and whether the scores look like
those of the assumed mechanism.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Skipped
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate import decision
from privacygauge.evaluate.claim import (
    CHOOSE_FROM,
    CHOOSING,
    GuessCounts,
    PrivacyBound,
    PrivacyClaim,
    bonferroni_level,
    chosen_guesses,
    count_right_guesses,
    default_guesses,
)
from privacygauge.evaluate.claim_bounds import (
    BoundCurve,
    held_out,
    log_spaced_counts,
    one_run_bounds,
    one_run_curve,
    one_run_low,
    rates_bounds,
    rates_curve,
    rates_low,
    sequential_bounds,
)
from privacygauge.evaluate.direction import InvertedAttack, inverted_attacks
from privacygauge.evaluate.headline import Fact
from privacygauge.evaluate.roc import auc
from privacygauge.evaluate.sampled_steps import SampledSteps, gaussian_mu


@dataclass(frozen=True)
class OneRun:
    """All canaries in one training run, each put in by an independent fair coin."""

    n_guesses: tuple[int, ...] = ()
    """Numbers of canaries to guess, fixed before the scores were seen; several are corrected for.
    Default: a fifth of the canaries chooses the number (`choosing`); with fewer than 500 canaries,
    3%, 10%, 25%, 50% and 90% of them, corrected for."""
    choosing: float | None = None
    """Share of the canaries that choose the number of guesses and are not judged, in [0, 1); 0:
    none choose. None: 1/5 from 500 canaries on, else 0. Not together with `n_guesses`."""

    def __post_init__(self) -> None:
        if self.choosing is not None and not 0 <= self.choosing < 1:
            raise InputError(f"choosing must be in [0, 1), got {self.choosing}")
        if self.choosing and self.n_guesses:
            raise InputError("choosing must not be given where n_guesses are fixed")
        for number in self.n_guesses:
            checks.at_least(1, n_guesses=number)


@dataclass(frozen=True)
class ManyRuns:
    """One training run per row, with or without a canary."""

    mechanism: SampledSteps | None = None
    """Mechanism assumed by the second bound. Default: a Gaussian mechanism."""


@dataclass(frozen=True)
class Sequential:
    """One training run per row, in the order of the rows.

    Before each run, a fair coin decides whether its canary is put in. The audit may be repeated
    after every run and stopped at any time, such as once the claim is refuted.
    """


Design = OneRun | ManyRuns | Sequential
"""A design of training runs with canaries."""

ONE_RUN = OneRun()
"""The default design; also valid for many runs, if fair coins were drawn."""


@dataclass(frozen=True, eq=False, repr=False)
class BoundsOfDesign:
    """Lower bounds on epsilon from one design, and the counts behind them."""

    design: str
    """``one-run``: all canaries in one training run; ``many-runs``: one training run per row;
    ``sequential``: one training run per row, evaluated in order."""
    bounds: tuple[PrivacyBound, ...]
    """Jointly valid bounds: first the assumption-free one, then that for a Gaussian mechanism."""
    guessed: GuessCounts | None
    """Right guesses at each number of guesses; None where every row is a training run."""
    rates: tuple[Fact, ...]
    """TPR and FPR behind the bounds of many runs; empty for the other designs."""
    curve: BoundCurve
    """The bound by the number of guesses or of training runs so far; for plots only."""
    left_out: tuple[Skipped, ...] = ()
    """Bounds that were skipped, with reasons."""

    @property
    def free(self) -> PrivacyBound:
        """The assumption-free bound."""
        return self.bounds[0]

    @property
    def gaussian(self) -> PrivacyBound | None:
        """The bound that assumes a Gaussian mechanism or DP-SGD; None if the design has none.

        That is the case at a delta of 0, and for `Sequential`.
        """
        return self.bounds[1] if len(self.bounds) > 1 else None


def bounds_by(
    design: Design, transcript: Transcript, claim: PrivacyClaim, seed: int, level: float
) -> BoundsOfDesign:
    """Return the lower bounds on epsilon from one design, with the counts behind them.

    Parameters
    ----------
    design : OneRun, ManyRuns or Sequential
    transcript : Transcript
        One row per canary or per training run; in training order for `Sequential`.
    claim : PrivacyClaim
        The bounds are at its delta.
    seed : int
        Breaks ties between scores, and draws the rows that choose thresholds.
    level : float
        Joint level of all bounds, in (0, 1).
    """
    if isinstance(design, OneRun):
        guessed = guessed_by(transcript, design, claim=claim, seed=seed, level=level)
        # The curve shows all canaries, those that chose included: it is not a bound.
        shown = count_right_guesses(
            transcript, log_spaced_counts(len(transcript)), seeds.stream(seed, "ties")
        )
        bounds, skipped = one_run_bounds(guessed, claim.delta, level)
        return BoundsOfDesign(
            design="one-run",
            bounds=bounds,
            guessed=guessed,
            rates=(),
            curve=one_run_curve(len(transcript), shown, claim.delta, level),
            left_out=skipped,
        )
    if isinstance(design, Sequential):
        bound, curve = sequential_bounds(transcript, claim.delta, level)
        reason = Skipped("Gaussian bound", "none holds at all times")
        return BoundsOfDesign(
            design="sequential",
            bounds=(bound,),
            guessed=None,
            rates=(),
            curve=curve,
            left_out=() if claim.delta == 0 else (reason,),
        )
    parts = held_out(transcript, claim.delta, level, seed)
    bounds, skipped = rates_bounds(parts, claim.delta, level, design.mechanism)
    rates = [
        Fact("TPR, threshold for epsilon", decision.recall(parts.for_epsilon, level)),
        Fact("FPR, threshold for epsilon", decision.false_positive_rate(parts.for_epsilon, level)),
    ]
    # The bound of a known mechanism uses ranks, so there is no second threshold to report on.
    if claim.delta > 0 and design.mechanism is None:
        rates += [
            Fact("TPR, threshold for mu", decision.recall(parts.for_mu, level)),
            Fact("FPR, threshold for mu", decision.false_positive_rate(parts.for_mu, level)),
        ]
    return BoundsOfDesign(
        design="many-runs",
        bounds=bounds,
        guessed=None,
        rates=tuple(rates),
        curve=rates_curve(parts, claim.delta, level),
        left_out=skipped,
    )


def guessed_by(
    transcript: Transcript, design: OneRun, claim: PrivacyClaim, seed: int, level: float
) -> GuessCounts:
    """Count the right guesses about the canaries of one run under a design."""
    n = len(transcript)
    share = design.choosing
    # Few canaries would choose the number badly: below CHOOSE_FROM all default numbers are tried.
    if share is None:
        share = CHOOSING if n >= CHOOSE_FROM and not design.n_guesses else 0.0
    if share:
        rng = seeds.stream(seed, "choosing")
        return chosen_guesses(transcript, claim.delta, level=level, share=share, rng=rng)
    largest = max(design.n_guesses, default=0)
    if largest > n:
        raise InputError(f"n_guesses must be at most {n} (the canaries), got {largest}")
    numbers = np.unique(design.n_guesses).astype(np.int64) if largest else default_guesses(n)
    return count_right_guesses(transcript, numbers, seeds.stream(seed, "ties"))


def inverted_by(
    design: Design, transcript: Transcript, claim: PrivacyClaim, seed: int, level: float
) -> tuple[InvertedAttack, ...]:
    """Return the scores as an inverted attack if they are higher for canaries left out, else ().

    Either their AUC is significantly below 1/2, or the reversed scores refute the claim: an AUC
    over all canaries may miss the few that are guessed. Parameters as in `bounds_by`.
    """
    # Two looks: the AUC, and the bounds from reversed scores.
    if turned := inverted_attacks([("score", transcript)], level, looks=2):
        return turned
    reverse = replace(transcript, score=np.negative(transcript.score))
    if isinstance(design, ManyRuns):
        parts = held_out(reverse, claim.delta, level, seed)
        bounds, _ = rates_bounds(parts, claim.delta, level, design.mechanism)
    elif isinstance(design, Sequential):
        bounds = (sequential_bounds(reverse, claim.delta, level)[0],)
    else:
        found = guessed_by(reverse, design, claim=claim, seed=seed, level=level)
        # With at most half of the guesses right, no bound exceeds 0: save the computation.
        better = np.any(2 * found.n_right > found.n_guesses)
        bounds, _ = one_run_bounds(found, claim.delta, level) if better else ((), ())
    if not any(bound.refutes(claim) for bound in bounds):
        return ()
    return (InvertedAttack("score", auc(transcript, bonferroni_level(level, 2))),)


# Power of an attack on canaries: the claims it would refute with the guarantee switched off.


OFTEN = 0.8
"""Power at which a violation is called detectable."""
DRAWS = 20
"""Audits drawn to estimate power, by bootstrap of the control or by simulation."""


NOT_NORMAL = 0.05
"""P-value below which scores count as not normal, so that normality is not assumed."""
_FEWEST = 20
_LOGISTIC_RATIO = 2 * np.log(2) * np.sqrt(3) / np.pi
"""Mean absolute deviation of logistic noise in standard deviations, 0.764; of normal 0.798."""
_QUANTILE = 0.5
"""Square root of n times the excess over `_LOGISTIC_RATIO` that the ratio of n logistic scores
reaches in 5% of draws: 0.48 to 0.50 from 20 to 2,000 scores per side, by simulation."""


def looks_gaussian(transcript: Transcript, *, sampled: bool = False) -> bool:
    """Return whether the scores of both sides may come from a Gaussian mechanism.

    Parameters
    ----------
    transcript : Transcript
    sampled : bool
        Whether each training step samples its records; then only non-members' scores are normal.

    Notes
    -----
    Two tests, since few scores contradict nothing. The skewness and kurtosis test of D'Agostino &
    Pearson (1973), its statistics summed over members and non-members, must not reject normal
    noise. And the ratio of mean absolute to standard deviation (Geary 1935) must reject logistic
    noise at 5%. So mechanisms with tails at least as heavy, such as Laplace noise or sums of a few
    Laplace variables, pass in at most 5% of audits of any size. Normal noise passes in half of
    audits with 200 scores, three quarters with 400 and 93% with 1,000.

    If the scores are a non-normal function of a Gaussian mechanism's output, the assumption cannot
    be checked and is not made; nor is it made for fewer than 20 scores on a side.
    """
    from scipy.stats import chi2, normaltest

    score = transcript.score
    secret = transcript.secret
    if min(np.count_nonzero(secret), np.count_nonzero(~secret)) < _FEWEST:
        return False
    views = [score]
    if score.max() < 0:
        # Log-probabilities p of a classifier: their logit, log(p / (1 - p)), may be normal.
        views.append(score - np.log(-np.expm1(score)))
    sides = (~secret,) if sampled else (secret, ~secret)
    for view in views:
        parts = [view[side] for side in sides]
        if any(part.std() == 0 for part in parts):
            continue
        # Standardised, so that fourth powers neither overflow nor underflow.
        standard = [(part - part.mean()) / part.std() for part in parts]
        n = sum(map(len, standard))
        ratio = sum(float(np.abs(part).sum()) for part in standard) / n
        if ratio < _LOGISTIC_RATIO + _QUANTILE / np.sqrt(n):
            continue
        found = sum(normaltest(part).statistic for part in standard)
        # Each side's statistic is chi-squared with 2 degrees of freedom.
        if chi2.sf(found, 2 * len(standard)) >= NOT_NORMAL:
            return True
    return False


def claim_of_group(claim: PrivacyClaim, k: int) -> PrivacyClaim:
    """Return the claim about groups of k records that follows from a claim about one record.

    Notes
    -----
    Group privacy: ``k epsilon``, at a delta of ``delta (e^(k epsilon) - 1) / (e^epsilon - 1)``
    (Dwork & Roth 2014, theorem 2.2; Vadhan 2017, lemma 2.2), below 1.

    Examples
    --------
    >>> claim_of_group(PrivacyClaim(1.0, 0.0), 3).epsilon
    3.0
    """
    if k == 1:
        return claim
    together = k * claim.epsilon
    # Capped at 700, before exp overflows; delta is clipped below 1 anyway.
    times = k if claim.epsilon == 0 else np.expm1(min(together, 700.0)) / np.expm1(claim.epsilon)
    delta = min(float(claim.delta * times), 1 - 1e-9)
    return PrivacyClaim(together, delta, claim.accountant)


@dataclass(frozen=True)
class Power:
    """Power of the same attack on a control: training with the guarantee switched off."""

    control: str
    """Name of the part of the guarantee that was switched off."""
    n: int
    """Canaries or training runs of the control."""
    bound: float
    """Assumption-free lower bound on epsilon from the control's own scores."""
    detectable: float
    """Epsilon exceeded by the bound in four of five audits of the control: the attack would have
    refuted any smaller claim."""
    simulated: bool = False
    """Whether the control is a mechanism simulated with a perfect attack, not a training run."""

    def would_refute(self, claim: PrivacyClaim) -> bool:
        """Return whether at least four of five audits of the control would refute the claim."""
        return self.detectable > claim.epsilon


def power_of(
    control: Transcript,
    name: str,
    design: Design,
    claim: PrivacyClaim,
    n: int,
    seed: int,
    level: float,
) -> Power:
    """Return the power of audits with `n` canaries on a control, by a double bootstrap.

    Parameters
    ----------
    control : Transcript
        Scores of the same attack with the guarantee switched off, one row per canary or training
        run.
    name : str
        Name of the part of the guarantee that was switched off.
    design, claim, level
        As in `bounds_by`.
    n : int
        Canaries or training runs of the audit.
    seed : int
        Seed of the bootstrap.

    Notes
    -----
    The control is itself one draw, so a new control is drawn from its rows with replacement, and
    an audit from that one. Coins are drawn as the design draws them; rows of a sequential audit
    keep their order. A row drawn twice may both choose a threshold and be judged by it, which
    biases the bounds upwards; the bias is estimated on audits as large as the control, whose bound
    is known, and subtracted.
    """
    own = _free(design, control, claim=claim, seed=seed, level=level)
    bounds = _simulate_bounds(control, design, claim=claim, n=n, seed=seed, level=level)
    alike = (
        bounds
        if n == len(control)
        else _simulate_bounds(control, design, claim=claim, n=len(control), seed=seed, level=level)
    )
    # Audits as large as the control should give its own bound: any excess comes from reused rows.
    flattered = max(0.0, float(np.median(alike)) - own)
    shown = float(np.quantile(bounds, 1 - OFTEN, method="lower"))
    return Power(name, len(control), own, max(0.0, shown - flattered))


def half_noise(design: Design, claim: PrivacyClaim, n: int, seed: int, level: float) -> Power:
    """Return the power of a perfect attack on a mechanism with half of the claimed noise.

    The simulation needs no training, and no attack on a Gaussian mechanism shows more. If even this
    does not refute the claim, no audit of this size can clear it.

    Parameters
    ----------
    design, claim, level
        As in `bounds_by`. At a delta of 0 no Gaussian mechanism is private; randomised response at
        twice the epsilon is simulated instead.
    n : int
        Canaries or training runs of the audit.
    seed : int
        Seed of the simulation.
    """
    # Half of the noise doubles mu, the distance of the two normals in standard deviations.
    gaussian = claim.delta > 0
    mu = 2 * gaussian_mu(claim.epsilon, claim.delta) if gaussian else 0.0
    bounds = np.zeros(DRAWS)
    for draw in range(DRAWS):
        rng = seeds.stream(seed, "half of the noise", draw)
        member = rng.random(n) < 0.5
        if member.all() or not member.any():
            continue  # one side alone shows nothing
        if gaussian:
            score = rng.normal(size=n) + mu * member
        else:
            honest = rng.random(n) < expit(2 * claim.epsilon)
            score = np.where(honest, member, ~member).astype(np.float64)
        played = Transcript(score, member)
        bounds[draw] = _free(design, played, claim=claim, seed=seed, level=level)
    broken = "half of the claimed noise" if gaussian else "twice the claimed epsilon"
    # A quantile at 1 - OFTEN is exceeded in OFTEN of the audits.
    shown = float(np.quantile(bounds, 1 - OFTEN, method="lower"))
    return Power(broken, n, float(np.median(bounds)), shown, simulated=True)


def _simulate_bounds(
    control: Transcript, design: Design, claim: PrivacyClaim, n: int, seed: int, level: float
) -> Floats:
    """Return ascending bounds of audits of n rows, by a double bootstrap of the control."""
    bounds = np.zeros(DRAWS)
    sides = [np.flatnonzero(control.secret), np.flatnonzero(~control.secret)]
    fair = isinstance(design, OneRun | Sequential)
    share = 0.5 if fair else len(sides[0]) / len(control)
    for draw in range(DRAWS):
        rng = seeds.stream(seed, "control", draw)
        n_in = int(rng.binomial(n, share))
        if not 0 < n_in < n or not min(map(len, sides)):
            continue  # one side alone shows nothing
        # First the new control, then the audit from it.
        known = [rng.choice(side, len(side)) for side in sides]
        rows = np.concatenate([rng.choice(known[0], n_in), rng.choice(known[1], n - n_in)])
        rows = np.sort(rows) if isinstance(design, Sequential) else rng.permutation(rows)
        member = control.secret[rows]
        played = Transcript(control.score[rows], member)
        bounds[draw] = _free(design, played, claim=claim, seed=seed, level=level)
    return np.sort(bounds)


def _free(
    design: Design, played: Transcript, claim: PrivacyClaim, seed: int, level: float
) -> float:
    """Return the assumption-free bound of `bounds_by`, without its curve."""
    if isinstance(design, Sequential):
        return sequential_bounds(played, claim.delta, level)[0].estimate.low
    if isinstance(design, ManyRuns):
        parts = held_out(played, claim.delta, level, seed)
        return rates_low(parts, claim.delta, level)
    found = guessed_by(played, design, claim=claim, seed=seed, level=level)
    return one_run_low(found, claim.delta, level)
