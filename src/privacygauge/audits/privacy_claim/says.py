"""The report of an audit of a privacy claim: its numbers, sections and words."""

from __future__ import annotations

from collections.abc import Iterator

from privacygauge.audits.privacy_claim.result import ClaimResult
from privacygauge.audits.privacy_claim.verdict import claim_text, exact_text, size, verdict
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.claim import PrivacyBound
from privacygauge.report.axes import INK, OTHER, SERIES, axes, legend
from privacygauge.report.blocks import Rows, note, table, text
from privacygauge.report.defended import claim_dict
from privacygauge.report.document import DataFrame, frame, names_of, pick_values
from privacygauge.report.numbers import (
    Shown,
    count,
    lower_bound_text,
    percent,
    percent_estimate,
    rate,
    rounded_down,
)
from privacygauge.report.values import (
    About,
    Axes,
    Block,
    Json,
    Measure,
    Plot,
    Report,
    Section,
    Worst,
)

_NAMES = {
    "one-run": "one run, no assumption",
    "one-run-gaussian": "one run, if Gaussian",
    "rates": "rates, no assumption",
    "rates-gaussian": "rates, if Gaussian",
    "ranks-dp-sgd": "ranks, if DP-SGD",
    "sequential": "at all times, no assumption",
}

_POWER = ("control", "n", "bound", "detectable", "simulated")

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
        terms=_terms(f),
        worst=Worst(reason="canaries are made up: nobody stands behind them"),
        data=_data(f),
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
    rows: Rows = [
        {
            "Bound": _NAMES[bound.name][:1].upper() + _NAMES[bound.name][1:],
            "Epsilon": Shown(lower_bound_text(e, beyond=epsilon)),
            "Certifiable": rounded_down(bound.largest, beyond=epsilon),
            "The claim": _answer(f, bound),
            "Takes for granted": bound.assumption or "nothing",
            "Method": f"{e.method}, {rate(e.level)} together, n = {count(e.n)}",
        }
        for bound in f.bounds
        for e in [bound.estimate]
    ]
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


def _answer(f: ClaimResult, bound: PrivacyBound) -> str:
    if bound.refutes(f.claim):
        return "refutes it, if that holds" if bound.assumption else "refutes the claim"
    return "does not refute it" if bound.could_refute(f.claim) else "could not have told"


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
    yield _curve(f)


def _curve(f: ClaimResult) -> Plot:
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
    return Plot(
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
    """Draw the bound by the number of guesses, and the largest possible one; `curve_frame`.

    Descriptive: each point is a bound as if it were the only one.
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


def _terms(f: ClaimResult) -> dict[str, str]:
    return {
        "Epsilon, delta": "The strength of a differential-privacy guarantee: with or without one "
        "record, no outcome gets more likely by more than a factor of e to the epsilon, but for a "
        "part of at most delta. Smaller protects more.",
        "Canary": "A record that was made for the audit, and put into the training set or left out "
        "by a coin.",
        "Bound": f"Epsilon is at least this large, in {rate(f.origin.level)} of audits like this "
        "one. 0 says nothing.",
        "Certifiable": "The bound that a perfect attack on the same canaries would reach. It grows "
        "with their number.",
        "Refuted": "A bound is above the claim: the training does not have the guarantee.",
        "Gaussian": "The mechanism hides a record as normal noise does; mu is the record's effect "
        "in standard deviations of it. An assumption, where it is made.",
        "TPR, FPR": "The share of the runs with the canary that are called so, and the share of "
        "the runs without it that are.",
        "Bonferroni": "Who looks often finds something by luck. The error is shared among all "
        "looks, so that all of them hold together.",
    }


def curve_frame(f: ClaimResult) -> DataFrame:
    """Return the bound by the number of guesses.

    Columns: ``n_guesses``, ``epsilon`` (the bound, each as if it were the only one: to look
    at, not to choose from) and ``largest`` (that of a perfect attack).
    """
    curve = f.curve
    return frame({"n_guesses": curve.n_guesses, "epsilon": curve.low, "largest": curve.largest})


def _data(f: ClaimResult) -> dict[str, Json]:
    """Return the keys of ``report.json`` that only this kind of report has."""
    guessed = f.guessed
    pairs = () if guessed is None else zip(guessed.n_guesses, guessed.n_right, strict=True)
    return {
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
            pick_values(x, "control", "n", "bound", "detectable", "simulated") for x in f.controls
        ],
        "n_choosing": 0 if guessed is None else guessed.n_choosing,
        "guesses": [{"n_guesses": int(r), "n_right": int(v)} for r, v in pairs],
        "curve": {
            "descriptive": f.design != "sequential",
            **pick_values(f.curve, "n_guesses", "largest", epsilon="low"),
        },
    }
