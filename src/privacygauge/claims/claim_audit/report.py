"""The report of an audit of a privacy claim: its result, verdict, numbers, sections and words."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from privacygauge.core.estimate import Skipped
from privacygauge.datasets.canary_scores import (
    CanaryScores,
)
from privacygauge.evaluate.claim import GAUSSIAN, RECORD, ClaimUnit, PrivacyClaim
from privacygauge.evaluate.claim_designs import (
    BoundsOfDesign,
    Power,
)
from privacygauge.evaluate.direction import InvertedAttack
from privacygauge.report import direction
from privacygauge.report.axes import INK, OTHER, SERIES, axes, legend
from privacygauge.report.defended import claim_dict
from privacygauge.report.numbers import (
    Shown,
    count,
    lower_bound_text,
    percent,
    percent_estimate,
    rate,
    rounded_down,
)
from privacygauge.report.reported import Reported
from privacygauge.report.values import (
    About,
    Axes,
    Block,
    DataFrame,
    Gauge,
    Grade,
    Measure,
    Origin,
    Plot,
    Report,
    Rows,
    Section,
    Severity,
    Verdict,
    Worst,
    frame,
    gauge_limits,
    names_of,
    note,
    pick_values,
    table,
    text,
)

NO_CONTROL = Skipped(
    "power",
    "needs a control: the same attack's scores of the same training with its noise switched off",
)
"""Reason for an unknown power of the attack."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClaimResult(BoundsOfDesign, Reported):
    """Values that a `ClaimAudit` reports."""

    origin: Origin
    """Origin of the findings; its level is that of all bounds jointly."""
    claim: PrivacyClaim
    """Claim about the training, for all units that change with one coin together."""
    canaries: CanaryScores
    """The scores of the canaries, one row per unit."""
    of: ClaimUnit = RECORD
    """Unit whose privacy was claimed, and the adjacency of datasets."""
    apart: int = 1
    """Number of units that change with a coin; `claim` holds for all of them together."""
    inverted: tuple[InvertedAttack, ...] = ()
    """Attacks with scores that are higher for canaries that were left out, or that would refute the
    claim if reversed.
    """
    power: Power | Skipped = NO_CONTROL
    """Power of the same attack with the guarantee switched off."""
    controls: tuple[Power, ...] = ()
    """Power of the attack on trainings that are broken in other ways."""

    @property
    def blind_to(self) -> Power | None:
        """The control with the smallest detectable epsilon, if that does not refute the claim."""
        if isinstance(self.power, Skipped):
            return None
        # The positive control and the simulated ones: one that passes is enough to be blind.
        least = min((self.power, *self.controls), key=lambda x: x.detectable)
        return None if least.would_refute(self.claim) else least

    @property
    def n_in(self) -> int:
        """Number of rows with the canary put in."""
        return int(self.canaries.member.sum())

    @property
    def n_out(self) -> int:
        """Number of rows with the canary left out."""
        return len(self.canaries.member) - self.n_in


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

    The claim is refuted if the bound without assumptions is above the claimed epsilon, and refuted
    on an assumption if only the Gaussian bound is, which is never grave. Otherwise it stands only
    if the same attack would refute it in four of five audits of every control, such as the training
    with its guarantee switched off; if not, the audit could not have told. All bounds hold together
    at the level of the findings. An unrefuted claim does not stand if scores are higher for
    canaries that were left out: there is no grade.
    """
    found = grade(f)
    if found is REVERSED:
        return direction.verdict(direction.sentences(f.inverted), found)
    scale = (UNKNOWN,) if found is UNKNOWN else GRADES
    unsaid = AT_LEAST if found in (REFUTED, IF_GAUSSIAN) else NO_PROOF
    claim = f"{exact_text(f.claim.epsilon)}, at delta {exact_text(f.claim.delta)}"
    if found == REFUTED:
        bound = _bound(f, f.free.estimate.low)
        headline = f"The claim is refuted: epsilon is at least {bound}, not {claim}"
    elif found == IF_GAUSSIAN:
        assert f.gaussian is not None
        bound = _bound(f, f.gaussian.estimate.low)
        headline = (
            f"The claim is refuted if {f.gaussian.condition}: epsilon is then at least {bound}, "
            f"not {claim}"
        )
    elif found == UNKNOWN and f.free.could_refute(f.claim):
        if f.blind_to is None:
            headline = (
                "The audit could not have told: nothing shows that this attack finds a broken "
                "training"
            )
        else:
            whose = "even a perfect" if f.blind_to.simulated else "this"
            headline = (
                f"The audit could not have told: of a training with {f.blind_to.control} {whose} "
                f"attack shows an epsilon of {_bound(f, f.blind_to.detectable)}, and the claim is "
                f"{claim_text(f)}"
            )
    elif found == UNKNOWN:
        headline = (
            f"The audit could not have told: {size(f)} certify at most "
            f"{_bound(f, f.free.largest)}, and the claim is {claim_text(f)}"
        )
    else:
        headline = f"The claim stands: this audit did not refute {claim_text(f)}"
    said = tuple(_sentences(f, found))
    # The gauge runs upwards from the bound that decides the grade.
    # The bound that decides the grade.
    decisive = f.gaussian if found is IF_GAUSSIAN and f.gaussian is not None else f.free
    least = decisive.estimate.low
    claimed = f.claim.epsilon
    assumed = f", if {decisive.condition}" if decisive is f.gaussian else ""
    gauge_label = f"Epsilon that the attack shows{assumed}"
    shown = Shown(f"at least {_bound(f, least)}")
    rule = (
        f"The line runs from the bound upwards, at delta {exact_text(f.claim.delta)}: the true "
        f"epsilon lies on it with {rate(f.origin.level)} confidence."
    )
    gauge_ends = gauge_limits(claimed, least)
    zones = ("As claimed", "More than claimed")
    return Verdict(
        grade=found,
        scale=scale,
        headline=headline,
        sentences=said,
        unsaid=unsaid,
        advice=advice(f, found),
        gauge=Gauge(
            label=gauge_label,
            shown=shown,
            low=least,
            value=least,
            high=math.inf,  # an attack bounds epsilon from below alone
            limits=gauge_ends,
            ticks=(exact_text(claimed),),
            rule=rule,
            zones=zones,
        ),
    )


def grade(f: ClaimResult) -> Grade:
    """Return one of `GRADES`, or `UNKNOWN`, or `REVERSED`."""
    # A bound refutes whatever else is seen; only claims that are left need a control.
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

    A claim needs a positive control to stand. Without a claim, only a shown leak counts, and the
    number of canaries limits what its absence says.
    """
    return f.inverted != () or not f.free.could_refute(f.claim) or found.gauge is None


def exact_text(value: float) -> str:
    """Return a claimed number with up to ten significant digits.

    Examples
    --------
    >>> exact_text(2.0), exact_text(1e-05), exact_text(0.125), exact_text(1.99309140441)
    ('2', '1e-05', '0.125', '1.993091404')
    """
    return f"{value:.10g}"


def _bound(f: ClaimResult, value: float) -> str:
    """Return a bound on epsilon, with enough decimals to tell it from the claimed one."""
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
    look = (
        "Look for the error: is the noise switched on and scaled by the clipping norm, are "
        "gradients clipped one by one, is every random draw fresh, is the sampling that which "
        "the accountant assumes?"
    )
    if found == REFUTED:
        return (
            "The guarantee does not hold: withdraw the claim or the model.",
            look,
            "Audit again after the correction, with new canaries and new coins.",
        )
    more = "Use more canaries" if f.design == "one-run" else "Train more models"
    if found == IF_GAUSSIAN:
        assert f.gaussian is not None
        return (
            f"Find out whether {f.gaussian.condition}: if so, the guarantee does not hold. If not, "
            "the claim may be true; --assume nothing leaves this bound out.",
            look,
            f"{more}: enough of them refute a false claim without the assumption.",
        )
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
        blind = f.blind_to
        if blind is not None and blind.simulated and f.claim.delta > 0:
            # At a positive delta the simulated mechanism has normal noise.
            pure = (
                "If the mechanism promises its epsilon at delta 0, as randomised response and "
                "Laplace noise do, claim that (--delta 0): a few hundred canaries can then clear a "
                f"claim. At a delta of {exact_text(f.claim.delta)} the noise might be normal, and "
                "most of its epsilon comes from outcomes that are too rare to be seen in "
                f"{size(f)}."
            )
            # Simulated: at delta 1e-5 and epsilon 1 to 4, 100,000 rows are enough by either design.
            enough = (
                f"Otherwise {more[:1].lower()}{more[1:]}: it may take some 100,000 to tell half of "
                "the noise from all of it, and a stronger attack does not help, since the "
                "simulated one is perfect. What the audit would have caught is in the table of "
                "broken trainings."
            )
            return (pure, enough, again)
        return (stronger, f"{more}: bounds get tighter.", again)
    if found == UNKNOWN:
        return (f"{more}: the largest certifiable epsilon has to be above the claim.", again)
    return (stronger, f"{more}: bounds get tighter.", again)


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
            else f"every row comes from a training of its own{coin}, and the attack was fitted "
            "without these rows."
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
    """Yield the power of the attack, control by control."""
    if isinstance(f.power, Skipped):
        yield "What the attack would have shown of a broken training was not measured."
        return
    # The training without its guarantee first: whoever misses that misses all others.
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


_NAMES = {
    "one-run": "one run, no assumption",
    "one-run-gaussian": "one run, if Gaussian",
    "rates": "rates, no assumption",
    "rates-gaussian": "rates, if Gaussian",
    "ranks-dp-sgd": "ranks, if DP-SGD",
    "sequential": "at all times, no assumption",
}

_TOLD = 5
"""Approximate number of points of the curve that the text names."""

_PLAYED = {
    "one-run": "For every canary a fair coin of its own decides whether it is put into the "
    "training set. The model is trained once. From the training or the model, every canary gets a "
    "score; then the adversary guesses about the canaries that it is surest of. Differential "
    "privacy limits how many guesses can be right, however the scores depend on each other. That "
    "limit is inverted: the bound is the largest epsilon that makes this many right guesses too "
    "unlikely (Steinke, Nasr and Jagielski 2023). If the mechanism is Gaussian, its whole "
    "trade-off between the two errors limits them further (Mahloujifar, Melis and Chaudhuri 2024).",
    "many-runs": "Every row is a training run of its own, with or without the canary. Differential "
    "privacy limits how often a test finds the canary, given how often it raises a false alarm. "
    "Both rates are measured on runs that did not choose the threshold, with exact limits; the "
    "bound follows from those. If the mechanism is Gaussian, a single number, mu, describes that "
    "trade-off, and the two rates bound it (Nasr and others 2023).",
    "sequential": "Every row is a training run of its own, in the order of the rows; a fair coin "
    "decided before each whether its canary was put in. The threshold of a guess is chosen by "
    "earlier rows only. Who bets on right guesses does not get rich if the claim is true: the "
    "bound is the largest epsilon under which the capital grew too much. It holds after every "
    "training at once, so the audit may be repeated and stopped at any time (Ville's inequality).",
}
_ACROSS = {
    "one-run": "number of guesses",
    "many-runs": 'number of rows called "member"',
    "sequential": "number of trainings",
}


def report(f: ClaimResult) -> Report:
    """Return the report, as plain values."""
    canaries = f.canaries
    n = count(f.n_in + f.n_out)
    dealt = f"{n} made-up records were put in or left out by coins"
    if f.design != "one-run":
        dealt = f"In {n} trainings a made-up record was put in or left out by coins"
    columns = {"id": names_of(canaries.ids), "member": canaries.member, "score": canaries.score}
    played = text(
        _PLAYED[f.design],
        f"The claim is about {f.of.text}. The verdict compares the bounds with it at its delta, "
        f"all bounds together at {rate(f.level)}.",
    )
    protected = f"of {f.of.text}"
    if f.apart != 1:
        protected = f"which a claim about {f.of.text} promises of {f.apart} together"
    # Keys of ``report.json`` that only this kind of report has.
    guessed = f.guessed
    pairs = () if guessed is None else zip(guessed.n_guesses, guessed.n_right, strict=True)
    return Report(
        "privacy-claim",
        "Audit of a claim of differential privacy",
        about=About(
            "A claim of differential privacy",
            f"{dealt}; an attacker guesses which. Too many right guesses refute the claim.",
            "the scores of the canaries, as the owner measured them",
            "differential-privacy-audit",
        ),
        intro=f"The claim: {claim_text(f)}, {protected}. The sample: {_sample(f)}. "
        "A bound says that "
        "epsilon is at least this large; no attack can say that it is small.",
        origin=f.origin,
        verdict=verdict(f),
        measures=tuple(_measures(f)),
        sections=(
            Section("bounds", "Bound by bound", tuple(_bounds(f)), "Bounds"),
            Section("guesses", "How well the canaries were guessed", tuple(_guesses(f)), "Guesses"),
            Section("played", "How it was played", (played,)),
        ),
        terms={
            "Epsilon, delta": "The strength of a differential-privacy guarantee: with or without "
            "one record, no outcome gets more likely by more than a factor of e to the epsilon, "
            "but for a part of at most delta. Smaller protects more.",
            "Canary": "A record that was made for the audit, and put into the training set or "
            "left out by a coin.",
            "Bound": f"Epsilon is at least this large, in {rate(f.origin.level)} of audits like "
            "this one. 0 says nothing.",
            "Certifiable": "The bound that a perfect attack on the same canaries would reach. It "
            "grows with their number.",
            "Refuted": "A bound is above the claim: the training does not have the guarantee.",
            "Gaussian": "The mechanism hides a record as normal noise does; mu is the record's "
            "effect in standard deviations of it. An assumption, where it is made.",
            "TPR, FPR": "The share of the runs with the canary that are called so, and the share "
            "of the runs without it that are.",
            "Bonferroni": "Who looks often finds something by luck. The error is shared among all "
            "looks, so that all of them hold together.",
        },
        worst=Worst(reason="canaries are made up: nobody stands behind them"),
        data={
            "claim": claim_dict(f.claim),
            "claim_of": f.of.text,
            "together": f.apart,
            **pick_values(f, "design", "n_in", "n_out", "rates"),
            "bounds": [
                {
                    **pick_values(bound, "name", "assumption", "largest", epsilon="estimate"),
                    "refutes": bound.refutes(f.claim),
                    "could_refute": bound.could_refute(f.claim),
                }
                for bound in f.bounds
            ],
            "power": None
            if isinstance(f.power, Skipped)
            else pick_values(f.power, "control", "n", "bound", "detectable", "simulated"),
            "controls": [
                pick_values(x, "control", "n", "bound", "detectable", "simulated")
                for x in f.controls
            ],
            "n_choosing": 0 if guessed is None else guessed.n_choosing,
            "guesses": [{"n_guesses": int(r), "n_right": int(v)} for r, v in pairs],
            "curve": {
                "descriptive": f.design != "sequential",
                **pick_values(f.curve, "n_guesses", "largest", epsilon="low"),
            },
        },
        frames={"records.parquet": lambda: frame(columns), "curve.csv": lambda: curve_frame(f)},
        nothing_left_out="Nothing: every bound was computed.",
    )


def _sample(f: ClaimResult) -> str:
    where = " in one run" if f.design == "one-run" else ""
    return f"{size(f)}{where}: {count(f.n_in)} in, {count(f.n_out)} out"


def _measures(f: ClaimResult) -> Iterator[Measure]:
    by = f", by the accountant {f.claim.accountant}" if f.claim.accountant else ""
    epsilon = f.claim.epsilon
    note = f"at delta {exact_text(f.claim.delta)}{by}; {_sample(f)}"
    label = "Claimed epsilon"
    shown = Shown(exact_text(epsilon))
    yield Measure(
        name="claimed-epsilon", label=label, found=epsilon, shown=shown, note=note, gate=False
    )
    # There may be no bound with an assumption.
    for metric, bound in zip(("epsilon", "epsilon-gaussian"), f.bounds, strict=False):
        label = f"Epsilon ({_NAMES[bound.name]})"
        shown = Shown(lower_bound_text(bound.estimate, beyond=epsilon))
        note = f"certifiable: {rounded_down(bound.largest, beyond=epsilon)}"
        told = f"All bounds hold together with {rate(f.origin.level)} confidence."
        guessing = f"0; the claim is {claim_text(f)}"
        yield Measure(
            name=metric,
            label=label,
            found=bound.estimate,
            shown=shown,
            note=note,
            text=told,
            guessing=guessing,
        )
    if not isinstance(f.power, Skipped):
        yield Measure(
            name="detectable-epsilon",
            label="Epsilon that the attack shows of a control",
            found=f.power.detectable,
            shown=Shown(rounded_down(f.power.detectable, beyond=epsilon)),
            note="in four of five audits of a training whose guarantee is switched off",
            gate=False,
        )
    for fact in f.rates:
        name = fact.label.lower().replace(", threshold for ", "-of-")
        shown = percent_estimate(fact.estimate)
        yield Measure(name, fact.label, fact.estimate, shown, gate=False)


def _bounds(f: ClaimResult) -> Iterator[Block]:
    unit = "canaries" if f.design == "one-run" else "runs"
    epsilon = f.claim.epsilon
    rows: Rows = []
    for bound in f.bounds:
        answer = "could not have told"
        if bound.refutes(f.claim):
            answer = "refutes it, if that holds" if bound.assumption else "refutes the claim"
        elif bound.could_refute(f.claim):
            answer = "does not refute it"
        e = bound.estimate
        rows.append(
            {
                "Bound": _NAMES[bound.name][:1].upper() + _NAMES[bound.name][1:],
                "Epsilon": Shown(lower_bound_text(e, beyond=epsilon)),
                "Certifiable": rounded_down(bound.largest, beyond=epsilon),
                "The claim": answer,
                "Takes for granted": bound.assumption or "nothing",
                "Method": f"{e.method}, {rate(e.level)} together, n = {count(e.n)}",
            }
        )
    title = "Lower bounds on epsilon at the claimed delta"
    prose = ("The claim", "Takes for granted", "Method")
    yield table("bounds", title, rows, "All of them hold together.", prose=prose)
    if not isinstance(f.power, Skipped):
        broken: Rows = [
            {
                "Training with": power.control,
                "Attack": "perfect (simulated)" if power.simulated else "the same",
                "Detected": rounded_down(power.detectable, beyond=epsilon),
                "The claim": "refuted" if power.would_refute(f.claim) else "passes",
            }
            for power in (f.power, *f.controls)
        ]
        told = "Epsilon that the attack shows in four of five audits of this size."
        yield table("controls", "Trainings that are broken on purpose", broken, told)
    yield note(
        "Certifiable is the bound that a perfect attack would reach. A claim above it "
        f"cannot be refuted with this number of {unit}."
    )


def _guesses(f: ClaimResult) -> Iterator[Block]:
    if f.design == "sequential":
        yield text(
            "The bound after each number of trainings. All of them hold together, at any time."
        )
    elif f.guessed is None:
        interval = f"{rate(f.origin.level)} interval"
        yield text(
            "A threshold was chosen on a fifth of the runs; the rates are those of the rest."
        )
        judged: Rows = [{"Rate": x.label, interval: percent_estimate(x.estimate)} for x in f.rates]
        yield table("rates", "Rates of the judged runs", judged)
    else:
        numbers = (
            f"The number of guesses was chosen by {count(f.guessed.n_choosing)} other canaries, "
            f"which are not judged; {count(f.guessed.n_canaries)} are."
            if f.guessed.n_choosing
            else "Numbers of guesses were fixed before the scores were looked at, and are "
            "corrected for."
        )
        yield text(
            'Half of the guesses are about the highest scores, "was put in", half about the '
            f'lowest, "was left out". {numbers}'
        )
        pairs = zip(f.guessed.n_guesses.tolist(), f.guessed.n_right.tolist(), strict=True)
        yield table(
            "guesses",
            "Right guesses",
            [{"Guesses": count(r), "Right": count(v), "Share": percent(v / r)} for r, v in pairs],
            "By chance half of them are right.",
        )
    at_all_times = f.design == "sequential"
    unit = "trainings" if at_all_times else "guesses"
    columns = (f.curve.n_guesses.tolist(), f.curve.low.tolist(), f.curve.largest.tolist())
    # From the end, so that the largest number is among them.
    points = list(zip(*columns, strict=True))[:: -max(1, len(columns[0]) // _TOLD)]
    told = "; ".join(
        f"{rounded_down(low)} of {rounded_down(largest)} for {count(r)} {unit}"
        for r, low, largest in points
    )
    holds = "Descriptive: each point is a bound as if it were the only one, so the highest of them "
    holds = "All points hold together." if at_all_times else f"{holds}holds at no level."
    yield Plot(
        "curve",
        f"The bound by the number of {unit}",
        caption=(
            f"{holds} The dashed line is the bound of an attack that is always right; where the "
            "dotted line, the claim, lies above it, the claim cannot be refuted."
        ),
        words=f"The claim is {claim_text(f)}. Bound, of what a perfect attack would reach: {told}.",
        draw=lambda: plot_curve(f),
    )


def plot_curve(f: ClaimResult, ax: Axes | None = None) -> Axes:
    """Draw the bound and the largest possible one over the number of guesses; see `curve_frame`.

    The curve is descriptive: each point is a bound as if it were the only one.
    """
    ax = axes(ax)
    x = f.curve.n_guesses
    ax.plot(x, f.curve.largest, color=OTHER, ls=(0, (5, 1.6)), lw=1.4, label="perfect attack")
    ax.plot(x, f.curve.low, color=SERIES[0], lw=1.8, marker="o", ms=3, label="this attack")
    ax.axhline(f.claim.epsilon, color=INK, ls=(0, (1.2, 1.2)), lw=1.2, label="claim")
    ax.set_xscale("log")
    ax.set_ylim(bottom=0)
    ax.set(xlabel=_ACROSS[f.design], ylabel="epsilon, at least")
    legend(ax, loc="upper left")
    return ax


def curve_frame(f: ClaimResult) -> DataFrame:
    """Return the bound by the number of guesses.

    Columns: ``n_guesses``, ``epsilon`` (each bound as if it were the only one: to look at, not to
    choose from) and ``largest`` (the bound of a perfect attack).
    """
    curve = f.curve
    return frame({"n_guesses": curve.n_guesses, "epsilon": curve.low, "largest": curve.largest})
