"""The audit of a claimed (epsilon, delta) by canaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from privacygauge.audits.privacy_claim.found import ClaimAudit
from privacygauge.audits.running import Running
from privacygauge.core import seeds
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.transcript import Transcript, tied
from privacygauge.datasets.canary_scores import CanariesLike, CanaryScores, as_canaries, by_unit
from privacygauge.errors import InputError
from privacygauge.evaluate import decision
from privacygauge.evaluate.claim import (
    CHOOSE_FROM,
    CHOOSING,
    Guessed,
    PrivacyBound,
    PrivacyClaim,
    chosen_guesses,
    coins_p_value,
    default_guesses,
    divided,
    guessed,
)
from privacygauge.evaluate.claim_bounds import (
    BoundCurve,
    held_out,
    one_run_bounds,
    one_run_curve,
    rates_bounds,
    rates_curve,
    sequential_bounds,
    steps,
)
from privacygauge.evaluate.direction import Inverted, inverted
from privacygauge.evaluate.headline import Fact
from privacygauge.evaluate.roc import auc
from privacygauge.report import direction

_UNFAIR, _DOUBTFUL = 1e-6, 0.01
"""Below such a probability of the share of members coins are refused, or doubted."""

_FEW = 30
"""Below so many rows an audit certifies next to nothing."""


@dataclass(frozen=True)
class OneRun:
    """All canaries in one training run, each put in by a fair coin of its own."""

    n_guesses: tuple[int, ...] = ()
    """How many canaries are guessed, fixed before the scores were seen; several are corrected
    for. By default a fifth of the canaries chooses the number (`choosing`); of fewer than 150
    canaries 3%, 10%, 25%, 50% and 90% are guessed, corrected for."""
    choosing: float | None = None
    """The share of the canaries that chooses the number of guesses and is not judged, in [0, 1);
    0: none. Not together with `n_guesses`."""

    def __post_init__(self) -> None:
        if self.choosing is not None and not 0 <= self.choosing < 1:
            raise InputError(f"choosing must be in [0, 1), got {self.choosing}")
        if self.choosing and self.n_guesses:
            raise InputError("choosing must not be given where n_guesses are fixed")
        for number in self.n_guesses:
            if number < 1:
                raise InputError(f"n_guesses must be at least 1, got {number}")


@dataclass(frozen=True)
class ManyRuns:
    """A training run of its own for every row, with or without a canary."""


@dataclass(frozen=True)
class Sequential:
    """A training run of its own for every row, in the order of the rows.

    A fair coin decides before each training whether its canary is put in. The audit may be
    repeated after every training and stopped whenever one likes, such as once the claim is refuted.
    """


Design = OneRun | ManyRuns | Sequential
"""How the canaries were trained on."""

ONE_RUN = OneRun()
"""The default: it is valid for many runs too, if coins were drawn."""


@dataclass(frozen=True, eq=False)
class _Found:
    """What one of the designs gives."""

    name: str
    """``one-run``, ``many-runs`` or ``sequential``."""
    bounds: tuple[PrivacyBound, ...]
    """As in `ClaimAudit`."""
    guessed: Guessed | None
    """As in `ClaimAudit`."""
    rates: tuple[Fact, ...]
    """As in `ClaimAudit`."""
    curve: BoundCurve
    """As in `ClaimAudit`."""
    skipped: tuple[Skipped, ...]
    """As in `ClaimAudit`."""


def audit_privacy_claim(
    canaries: CanariesLike,
    epsilon: float,
    delta: float = 0.0,
    *,
    design: Design = ONE_RUN,
    unit: str = "unit",
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_privacy_claim",
    provenance: Mapping[str, str] | None = None,
) -> ClaimAudit:
    """Compare a claimed (epsilon, delta) with what is guessed about canaries.

    Parameters
    ----------
    canaries : path, mapping of arrays, or data frame
        ``score``, higher for members, ``member``, 0 or 1, and optionally ``id``; see
        `as_canaries`. A score may use all that the adversary sees, but not the bits.
    epsilon : float
        Claimed, at least 0; of adding or removing one record.
    delta : float
        Claimed, in [0, 1).
    design : OneRun, ManyRuns or Sequential
        Whether all rows come from one training, or each from its own; and whether they may be
        looked at while trainings go on.
    unit : str
        The column that names the person behind each canary, where there is one; in one run equal
        ids are one person otherwise. A person's canaries share one coin and are guessed together,
        by their mean score.
    seed : int
        Orders equal scores, and draws the rows that choose thresholds.
    level : float
        Of all bounds together, in (0, 1).
    command, provenance
        As in `audit_model`.

    Returns
    -------
    ClaimAudit

    Raises
    ------
    InputError
        One line: what is wrong, and the way out; also where the bits of one run cannot be fair
        coins, since nothing would hold.

    Notes
    -----
    One run: `one_run_bounds`. Many runs: `rates_bounds`, or `sequential_bounds`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> member = rng.random(1000) < 0.5
    >>> noisy = rng.normal(size=1000) + 3 * member
    >>> audit_privacy_claim({"score": noisy, "member": member}, 1.0, 1e-5)
    <ClaimAudit: The claim is refuted: epsilon is at least ...>
    """
    running = Running(command, seed, level, provenance)
    claim = PrivacyClaim(epsilon, delta)
    rows = by_unit(as_canaries(canaries, unit=unit), equal_ids=isinstance(design, OneRun))
    if tied(rows.score):
        raise InputError(
            "canaries: every score is the same, which ranks nothing and can refute no claim: give "
            "the scores of an attack"
        )
    transcript = Transcript(rows.score, rows.member)
    p_value = 1.0 if isinstance(design, ManyRuns) else _checked_coins(rows)
    found = _found(transcript, design, claim, seed, level)
    refuted = any(bound.refutes(claim) for bound in found.bounds)
    turned = () if refuted else _inverted(transcript, design, claim, seed, level)
    warnings = (*_warnings(rows, p_value), *direction.warnings(turned))
    origin = running.origin("pandas", skipped=found.skipped, warnings=warnings)
    return ClaimAudit(
        origin,
        claim,
        design=found.name,
        bounds=found.bounds,
        guessed=found.guessed,
        rates=found.rates,
        curve=found.curve,
        canaries=rows,
        inverted=turned,
    )


def _inverted(
    transcript: Transcript, design: Design, claim: PrivacyClaim, seed: int, level: float
) -> tuple[Inverted, ...]:
    """Return the scores where they are higher for canaries that were left out.

    Where few canaries are guessed, their area may say nothing: reversed scores that refute the
    claim do.
    """
    # Two looks: the area, and the bounds.
    if turned := inverted([("score", transcript)], level, looks=2):
        return turned
    reverse = replace(transcript, score=np.negative(transcript.score))
    if not _refutes(reverse, design, claim, seed, level):
        return ()
    return (Inverted("score", auc(transcript, divided(level, 2))),)


def _refutes(
    transcript: Transcript, design: Design, claim: PrivacyClaim, seed: int, level: float
) -> bool:
    if isinstance(design, ManyRuns):
        bounds, _ = rates_bounds(held_out(transcript, claim.delta, level, seed), claim.delta, level)
    elif isinstance(design, Sequential):
        bounds = (sequential_bounds(transcript, claim.delta, level)[0],)
    else:
        found = _guessed(transcript, design, claim, seed, level)
        # Where no more than half of the guesses are right, nothing is refuted.
        better = np.any(2 * found.n_right > found.n_guesses)
        bounds, _ = one_run_bounds(found, claim.delta, level) if better else ((), ())
    return any(bound.refutes(claim) for bound in bounds)


def _found(
    transcript: Transcript, design: Design, claim: PrivacyClaim, seed: int, level: float
) -> _Found:
    if isinstance(design, OneRun):
        return _one_run(transcript, design, claim, seed, level)
    if isinstance(design, ManyRuns):
        return _many_runs(transcript, claim, seed, level)
    bound, curve = sequential_bounds(transcript, claim.delta, level)
    skipped = () if claim.delta == 0 else (Skipped("Gaussian bound", "none holds at all times"),)
    return _Found("sequential", (bound,), None, (), curve, skipped)


def _one_run(
    transcript: Transcript, design: OneRun, claim: PrivacyClaim, seed: int, level: float
) -> _Found:
    found = _guessed(transcript, design, claim, seed, level)
    shown = guessed(transcript, steps(len(transcript)), seeds.stream(seed, "ties"))
    bounds, skipped = one_run_bounds(found, claim.delta, level)
    curve = one_run_curve(len(transcript), shown, claim.delta, level)
    return _Found("one-run", bounds, found, (), curve, skipped)


def _guessed(
    transcript: Transcript, design: OneRun, claim: PrivacyClaim, seed: int, level: float
) -> Guessed:
    n, share = len(transcript), design.choosing
    if share is None:
        share = CHOOSING if n >= CHOOSE_FROM and not design.n_guesses else 0.0
    if share:
        rng = seeds.stream(seed, "choosing")
        return chosen_guesses(transcript, claim.delta, level, share, rng)
    return guessed(transcript, _numbers(design, n), seeds.stream(seed, "ties"))


def _many_runs(transcript: Transcript, claim: PrivacyClaim, seed: int, level: float) -> _Found:
    found = held_out(transcript, claim.delta, level, seed)
    bounds, skipped = rates_bounds(found, claim.delta, level)
    rates = [
        Fact("TPR, threshold for epsilon", decision.recall(found.for_epsilon, level)),
        Fact("FPR, threshold for epsilon", decision.false_positive_rate(found.for_epsilon, level)),
    ]
    if claim.delta > 0:
        rates += [
            Fact("TPR, threshold for mu", decision.recall(found.for_mu, level)),
            Fact("FPR, threshold for mu", decision.false_positive_rate(found.for_mu, level)),
        ]
    curve = rates_curve(found, claim.delta, level)
    return _Found("many-runs", bounds, None, tuple(rates), curve, skipped)


def _numbers(design: OneRun, n: int) -> Ints:
    if not design.n_guesses:
        return default_guesses(n)
    largest = max(design.n_guesses)
    if largest > n:
        raise InputError(f"n_guesses must be at most {n} (the canaries), got {largest}")
    return np.unique(design.n_guesses).astype(np.int64)


def _checked_coins(rows: CanaryScores) -> float:
    """Return how likely fair coins give so many members; refuse what they cannot give."""
    n_in, n = int(rows.member.sum()), len(rows.member)
    p_value = coins_p_value(n_in, n)
    if p_value < _UNFAIR:
        raise InputError(
            f"member must come from fair coins, got {n_in:,} of {n:,} put in; if every row is a "
            "training run of its own and all are done, say so (many runs)"
        )
    return p_value


def _warnings(rows: CanaryScores, p_value: float) -> tuple[str, ...]:
    n = len(rows.member)
    told = []
    if p_value < _DOUBTFUL:
        told.append(
            f"{int(rows.member.sum()):,} of {n:,} canaries were put in: fair coins give so uneven "
            f"a share with probability {p_value:.1g}. Without fair coins no bound holds."
        )
    if n < _FEW:
        told.append(f"There are {n:,} rows only: hardly any claim can be refuted with so few.")
    return tuple(told)
