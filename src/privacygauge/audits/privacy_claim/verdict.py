"""The verdict on a privacy claim, in words for somebody who has to decide about it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from privacygauge.audits.privacy_claim.result import ClaimResult
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.claim import GAUSSIAN
from privacygauge.report import direction
from privacygauge.report.numbers import Shown, count, rate, rounded_down
from privacygauge.report.values import Gauge, Grade, Severity, Verdict, gauge_limits

STANDS = Grade("not refuted", Severity.NOTHING)
IF_GAUSSIAN = Grade("refuted on an assumption", Severity.SMALL)
REFUTED = Grade("refuted", Severity.GRAVE)
GRADES = (STANDS, IF_GAUSSIAN, REFUTED)
"""Grades, from mild to grave."""

UNKNOWN = Grade("could not have told", Severity.UNTOLD)
"""The grade if no attack on this number of canaries could have refuted the claim, or if nothing
shows that this one would have found a broken training.
"""

AT_LEAST = "A bound says how large epsilon is at least; the true one may be larger still."
"""Limit of a refutation."""

REVERSED = Grade("cannot be told", Severity.UNTOLD)
"""The grade if scores are higher for canaries that were left out."""

NO_PROOF = (
    "That a claim is not refuted is no proof of it. A better attack, worse canaries or another "
    "access to the training may still refute it; only a proof and a correct implementation hold."
)
"""Limits of a claim that stands."""


def verdict(f: ClaimResult) -> Verdict:
    """Return the verdict on a privacy claim.

    Refuted where the bound that assumes nothing is above the claimed epsilon, refuted on an
    assumption where only the Gaussian one is: an assumption is never grave. Where neither is, the
    claim stands only if the same attack refutes it of every control, such as where the guarantee
    is switched off, in four of five audits; else the audit could not have told. All
    bounds hold together at the level of the findings. A claim that is not refuted does not
    stand where scores are higher for canaries that were left out: it cannot be told.
    """
    found = grade(f)
    if found is REVERSED:
        return direction.verdict(direction.sentences(f.inverted), found)
    scale = (UNKNOWN,) if found is UNKNOWN else GRADES
    unsaid = AT_LEAST if found in (REFUTED, IF_GAUSSIAN) else NO_PROOF
    headline = _headline(f, found)
    said = tuple(_sentences(f, found))
    return Verdict(
        grade=found,
        scale=scale,
        headline=headline,
        sentences=said,
        unsaid=unsaid,
        advice=advice(f, found),
        gauge=_gauge(f, found),
    )


def _gauge(f: ClaimResult, found: Grade) -> Gauge:
    """Return the gauge of the bound on epsilon, with the claimed epsilon."""
    bound = f.gaussian if found is IF_GAUSSIAN and f.gaussian is not None else f.free
    low = bound.estimate.low
    claim = f.claim.epsilon
    assumed = f", if {bound.condition}" if bound is f.gaussian else ""
    label = f"Epsilon that the attack shows{assumed}"
    shown = Shown(f"at least {_bound(f, low)}")
    rule = (
        f"The line runs from the bound upwards, at delta {exact_text(f.claim.delta)}: the true "
        "epsilon "
        f"lies on it with {rate(f.origin.level)} confidence."
    )
    limits = gauge_limits(claim, low)
    zones = ("As claimed", "More than claimed")
    return Gauge(
        label=label,
        shown=shown,
        low=low,
        value=low,
        high=math.inf,
        limits=limits,
        ticks=(exact_text(claim),),
        rule=rule,
        zones=zones,
    )


def grade(f: ClaimResult) -> Grade:
    """Return one of `GRADES`, or `UNKNOWN`, or `REVERSED`."""
    if f.free.refutes(f.claim):
        return REFUTED
    if f.gaussian is not None and f.gaussian.refutes(f.claim):
        return IF_GAUSSIAN
    if f.inverted:
        return REVERSED
    measured = not isinstance(f.power, Skipped) and f.blind_to is None
    return STANDS if measured and f.free.could_refute(f.claim) else UNKNOWN


def open_without_claim(f: ClaimResult, found: Verdict) -> bool:
    """Return whether the audit is inconclusive even without a claim.

    A positive control is what a claim needs to stand. Where there is none, a leak is one that is
    shown, and its absence is limited by what so many canaries could have shown.
    """
    return f.inverted != () or not f.free.could_refute(f.claim) or found.gauge is None


def exact_text(value: float) -> str:
    """Return a claimed number with its digits, at most ten of them that count.

    Examples
    --------
    >>> exact_text(2.0), exact_text(1e-05), exact_text(0.125), exact_text(1.99309140441)
    ('2', '1e-05', '0.125', '1.993091404')
    """
    return f"{value:.10g}"


def _bound(f: ClaimResult, value: float) -> str:
    """Return a bound on epsilon, with as many decimals as tell it from the claimed one."""
    return rounded_down(value, beyond=f.claim.epsilon)


def claim_text(f: ClaimResult) -> str:
    """Return the claim, such as ``epsilon 2 at delta 1e-05``."""
    return f"epsilon {exact_text(f.claim.epsilon)} at delta {exact_text(f.claim.delta)}"


def size(f: ClaimResult) -> str:
    """Return the sample's size with its unit, such as ``1,000 canaries``."""
    unit = "canaries" if f.design == "one-run" else "training runs"
    return f"{count(f.n_in + f.n_out)} {unit}"


def advice(f: ClaimResult, found: Grade) -> tuple[str, ...]:
    """Return the next steps, the most urgent first."""
    if found in (REFUTED, IF_GAUSSIAN):
        return (
            "The guarantee does not hold: withdraw the claim or the model.",
            "Look for the error: is the noise switched on and scaled by the clipping norm, are "
            "gradients clipped one by one, is every random draw fresh, is the sampling that which "
            "the accountant assumes?",
            "Audit again after the correction, with new canaries and new coins.",
        )
    more = "Use more canaries" if f.design == "one-run" else "Train more models"
    stronger = (
        "Attack harder: worst-case canaries, and scores from inside of the training (gradients, "
        "intermediate models) where you have them."
    )
    again = "Audit again whenever the training code, its settings or its libraries change."
    if found == UNKNOWN and isinstance(f.power, Skipped) and f.free.could_refute(f.claim):
        control = (
            "Run the same training with its noise switched off, score the same canaries by the "
            "same attack, and give these scores as a control (--control): only what finds a "
            "broken training can clear a sound one."
        )
        return (control, stronger, again)
    if found == UNKNOWN and f.free.could_refute(f.claim):
        return (stronger, f"{more}: bounds get tighter.", again)
    if found == UNKNOWN:
        return (f"{more}: the largest certifiable epsilon has to be above the claim.", again)
    return (stronger, f"{more}: bounds get tighter.", again)


def _headline(f: ClaimResult, found: Grade) -> str:
    claim = f"{exact_text(f.claim.epsilon)}, at delta {exact_text(f.claim.delta)}"
    if found == REFUTED:
        bound = _bound(f, f.free.estimate.low)
        return f"The claim is refuted: epsilon is at least {bound}, not {claim}"
    if found == IF_GAUSSIAN:
        assert f.gaussian is not None
        bound = _bound(f, f.gaussian.estimate.low)
        return (
            f"The claim is refuted if {f.gaussian.condition}: epsilon is then at least {bound}, "
            f"not {claim}"
        )
    if found == UNKNOWN and f.free.could_refute(f.claim):
        if f.blind_to is None:
            return (
                "The audit could not have told: nothing shows that this attack finds a broken "
                "training"
            )
        whose = "even a perfect" if f.blind_to.simulated else "this"
        return (
            f"The audit could not have told: of a training with {f.blind_to.control} {whose} "
            f"attack shows an epsilon of {_bound(f, f.blind_to.detectable)}, and the claim is "
            f"{claim_text(f)}"
        )
    if found == UNKNOWN:
        return (
            f"The audit could not have told: {size(f)} certify at most "
            f"{_bound(f, f.free.largest)}, and the claim is {claim_text(f)}"
        )
    return f"The claim stands: this audit did not refute {claim_text(f)}"


def _sentences(f: ClaimResult, found: Grade) -> Iterator[str]:
    shown = _bound(f, f.free.estimate.low)
    gaussian = f.gaussian
    fewer = (
        f"fewer than {rate(1 - f.origin.level)} of audits would find an attack as successful as "
        "this one."
    )
    if found == REFUTED:
        yield (
            f"If the claim were true, {fewer} The training gives away more about the canaries than "
            "it may."
        )
        coin = ", with a fair coin before each" if f.design == "sequential" else ""
        where = (
            "the canaries' coins were fair and independent and the scores were fixed without them."
            if f.design == "one-run"
            else f"every row comes from a training of its own{coin}."
        )
        yield f"This holds whatever the mechanism is, if {where}"
    elif found == IF_GAUSSIAN and gaussian is not None:
        yield (
            f"If {gaussian.condition} and the claim is true, {fewer} Of another mechanism the "
            f"claim may be true: without the assumption, epsilon is at least {shown} only."
        )
        if gaussian.assumption == GAUSSIAN:
            yield (
                "Many Gaussian steps together, as in training with noisy gradients, are Gaussian "
                "only where every step sees all records; with sampled batches it is an "
                "approximation."
            )
    elif found == UNKNOWN and f.free.could_refute(f.claim):
        yield (
            f"The attack shows an epsilon of at least {shown}, which does not refute the claim. "
            "Scores that say nothing about the canaries would look like this too."
        )
        yield from _power(f)
    elif found == UNKNOWN:
        yield (
            "Even if the attack had been right about every canary, the claim would not have been "
            f"refuted. What was shown is that epsilon is at least {shown}; that says nothing for "
            "the claim, nor against it."
        )
        if gaussian is not None and gaussian.could_refute(f.claim):
            yield (
                f"If {gaussian.condition}, the canaries could have told: up to "
                f"{_bound(f, gaussian.largest)}. Shown was "
                f"{_bound(f, gaussian.estimate.low)}, which does not refute the claim."
            )
    else:
        yield (
            f"The attack shows an epsilon of at least {shown}, with {rate(f.origin.level)} "
            f"confidence; a perfect one would have shown {_bound(f, f.free.largest)}."
        )
        yield from _power(f)
    if found in (REFUTED, STANDS) and gaussian is not None:
        bound = _bound(f, gaussian.estimate.low)
        yield f"If {gaussian.condition}, epsilon is at least {bound} by the same canaries."


def _power(f: ClaimResult) -> Iterator[str]:
    """Yield the power of the attack, by the control."""
    if isinstance(f.power, Skipped):
        yield "What the attack would have shown of a broken training was not measured."
        return
    for power in (f.power, *f.controls):
        told = (
            f"Of a training with {power.control} ({count(power.n)} rows) "
            f"{'a perfect attack (simulated)' if power.simulated else 'the same attack'} shows an "
            f"epsilon of at least {_bound(f, power.detectable)} in four of five audits of this "
            "size"
        )
        if power.would_refute(f.claim):
            yield f"{told}: so broken a training would have been caught."
        else:
            yield f"{told}, which does not refute the claim: so broken a training would pass too."
