"""Training designs for canaries, and the lower bounds on epsilon that each gives."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from privacygauge.core import checks, seeds
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
    rates_bounds,
    rates_curve,
    sequential_bounds,
)
from privacygauge.evaluate.direction import InvertedAttack, inverted_attacks
from privacygauge.evaluate.headline import Fact
from privacygauge.evaluate.roc import auc
from privacygauge.evaluate.sampled_steps import SampledSteps


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
        return _one_run(transcript, design, claim=claim, seed=seed, level=level)
    if isinstance(design, ManyRuns):
        return _many_runs(transcript, design, claim=claim, seed=seed, level=level)
    bound, curve = sequential_bounds(transcript, claim.delta, level)
    skipped = () if claim.delta == 0 else (Skipped("Gaussian bound", "none holds at all times"),)
    return BoundsOfDesign(
        design="sequential", bounds=(bound,), guessed=None, rates=(), curve=curve, left_out=skipped
    )


def _one_run(
    transcript: Transcript, design: OneRun, claim: PrivacyClaim, seed: int, level: float
) -> BoundsOfDesign:
    found = guessed_by(transcript, design, claim=claim, seed=seed, level=level)
    # The curve shows all canaries, those that chose included: it is not a bound.
    shown = count_right_guesses(
        transcript, log_spaced_counts(len(transcript)), seeds.stream(seed, "ties")
    )
    bounds, skipped = one_run_bounds(found, claim.delta, level)
    curve = one_run_curve(len(transcript), shown, claim.delta, level)
    return BoundsOfDesign(
        design="one-run", bounds=bounds, guessed=found, rates=(), curve=curve, left_out=skipped
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


def _many_runs(
    transcript: Transcript, design: ManyRuns, claim: PrivacyClaim, seed: int, level: float
) -> BoundsOfDesign:
    found = held_out(transcript, claim.delta, level, seed)
    bounds, skipped = rates_bounds(found, claim.delta, level, design.mechanism)
    rates = [
        Fact("TPR, threshold for epsilon", decision.recall(found.for_epsilon, level)),
        Fact("FPR, threshold for epsilon", decision.false_positive_rate(found.for_epsilon, level)),
    ]
    # The bound of a known mechanism uses ranks, so there is no second threshold to report on.
    if claim.delta > 0 and design.mechanism is None:
        rates += [
            Fact("TPR, threshold for mu", decision.recall(found.for_mu, level)),
            Fact("FPR, threshold for mu", decision.false_positive_rate(found.for_mu, level)),
        ]
    curve = rates_curve(found, claim.delta, level)
    return BoundsOfDesign(
        design="many-runs",
        bounds=bounds,
        guessed=None,
        rates=tuple(rates),
        curve=curve,
        left_out=skipped,
    )


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
    if not _refutes(reverse, design, claim=claim, seed=seed, level=level):
        return ()
    return (InvertedAttack("score", auc(transcript, bonferroni_level(level, 2))),)


def _refutes(
    transcript: Transcript, design: Design, claim: PrivacyClaim, seed: int, level: float
) -> bool:
    if isinstance(design, ManyRuns):
        parts = held_out(transcript, claim.delta, level, seed)
        bounds, _ = rates_bounds(parts, claim.delta, level, design.mechanism)
    elif isinstance(design, Sequential):
        bounds = (sequential_bounds(transcript, claim.delta, level)[0],)
    else:
        found = guessed_by(transcript, design, claim=claim, seed=seed, level=level)
        # With at most half of the guesses right, no bound exceeds 0: save the computation.
        better = np.any(2 * found.n_right > found.n_guesses)
        bounds, _ = one_run_bounds(found, claim.delta, level) if better else ((), ())
    return any(bound.refutes(claim) for bound in bounds)
