"""Bounds on the gain from submissions to a test set, and their report.

Attacks, honest selection, and guarantees that hold against any attack.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.core.estimate import Skipped
from privacygauge.kinds.one_line import KEEPING, one_line
from privacygauge.kinds.session import Session
from privacygauge.leaderboards.bias_bounds import (
    ATTACK,
    GUARANTEE,
    HONEST,
    KINDS,
    RATE,
    Bias,
    ReuseBounds,
    ReuseQuestion,
    bound_reuse,
    caveats,
    total_of,
)
from privacygauge.leaderboards.bound_audit.options import BoundDesign
from privacygauge.leaderboards.guards import guard_named
from privacygauge.leaderboards.words import (
    LAST,
    LIMIT,
    SCORES,
    SOURCES,
    guarantee_text,
    holdout_terms,
    is_limiting,
    points,
    points_estimate,
)
from privacygauge.report.axes import DASHES, INK, OTHER, SERIES, axes, legend
from privacygauge.report.numbers import DASH, Shown, count, decimal, percent, plain, rate, several
from privacygauge.report.reported import Reported
from privacygauge.report.values import (
    About,
    Block,
    Cell,
    Column,
    Gauge,
    Grade,
    Json,
    Measure,
    Origin,
    Plot,
    Report,
    Row,
    Section,
    Severity,
    Table,
    Text,
    Tone,
    Verdict,
    Worst,
    caution,
    columns,
    gauge_limits,
    note,
    pick_values,
    table,
    text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class HoldoutBounds(ReuseBounds, Reported):
    """Bounds on the gain from submissions to a test set, with its report, tables and plots."""

    origin: Origin
    """Origin of the numbers; a guarantee holds with at least the probability of its level."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        submitted = several(self.queries, "submission")
        within = f"Within {points(self.allowed_bias)} points"
        inverse = text(
            "The same question turned round: what keeps the bias within "
            f"{points(self.allowed_bias)} points?"
        )
        allowed = (inverse, _allowed_table(self, "Against"))
        return Report(
            "holdout-bound",
            "Reuse of a test set: what submissions can buy",
            about=About(
                f"A test set of {count(self.n)} hidden labels behind {plain(self.guard)}, by "
                "formulas",
                f"How much better can the best of {submitted} look than it is, by luck or by an "
                "attack on the scores?",
                "scores of submissions, and no model",
                "test-set-reuse",
            ),
            intro=f"{several(self.n, 'example')}, {count(self.classes)} classes, "
            f"{submitted}{_accounts(self)}, answered by {self.guard}. "
            "A point is a percentage point of accuracy.",
            origin=self.origin,
            verdict=verdict(self),
            measures=tuple(_measures(self)),
            sections=(
                Section("bias", f"What {submitted} buy", tuple(_bias(self)), "What they buy"),
                Section("allowed", "How many submissions are safe", allowed, "How many are safe"),
                Section("check", "Do the formulas hold?", (_check(self),)),
                Section("rates", "Rates", tuple(_rates(self))),
            ),
            terms=holdout_terms(self.level),
            worst=Worst("labels", (), "no labels were looked at"),
            data=_data(self),
            frames={},
            nothing_left_out="Nothing: every formula was evaluated.",
            overview=(
                _asked_table(self),
                replace(_bias_table(self), note=SCORES),
                replace(_allowed_table(self, within), note=""),
            ),
            sources=SOURCES,
        )

    def plot_curves(self, ax: Axes | None = None) -> Axes:
        """Plot bias against submissions, both axes logarithmic."""
        return plot_curves(self, ax)


@dataclass(frozen=True, kw_only=True)
class HoldoutBoundOptions(BoundDesign):
    """Bounds on the gain from submissions to a test set."""

    def run(
        self,
        n: int,
        classes: int,
        queries: int,
        *,
        accounts: int = 1,
        session: Session = Session("holdout bound"),
    ) -> HoldoutBounds:
        """Bound the gain from submissions to a test set: by attack, by honest selection, at most.

        Parameters
        ----------
        n, classes : int
            Numbers of points (at least 1) and of classes (at least 2) of the test set.
        queries : int
            Submissions of each account, at least 1.
        accounts : int, default 1
            Accounts, at least 1; a guard with a memory has one per account.
        session : Session, optional
            Seed of the simulation; the level is `probability`.

        Returns
        -------
        HoldoutBounds
            Biases above 1/m, in 0..1 - 1/m; a bound may be larger, and then says nothing.

        Raises
        ------
        InputError
            If an argument is invalid: the problem and the way out, in one line.

        Notes
        -----
        Feldman, Frostig and Hardt (2019); see `privacygauge.leaderboards.bounds` for the formulas.
        A simulation takes n times `queries` steps for each of its plays.

        Examples
        --------
        >>> from privacygauge.leaderboards.bound_audit.audit import holdout_bounds
        >>> found = holdout_bounds(10_000, 2, 2_000)
        >>> round(found.bias("nb").value, 3)
        0.173
        """
        asked = ReuseQuestion(
            n=n,
            m=classes,
            k=total_of(queries, accounts),
            guard=guard_named(self.guard) if isinstance(self.guard, str) else self.guard,
            accuracy=self.accuracy,
            correlation=self.correlation,
            probability=self.probability,
            bias=self.bias,
            accounts=accounts if accounts > 1 else None,
        )
        found = bound_reuse(asked, self.simulate, session.seed)
        running = replace(session, level=self.probability)
        return HoldoutBounds(**vars(found), origin=running.origin(warnings=caveats(asked)))


holdout_bounds = one_line(
    HoldoutBoundOptions, HoldoutBoundOptions.run, "holdout_bounds", without=("level", *KEEPING)
)


SAFE = Grade("safe against any attack", Severity.NOTHING)
SOUND = Grade("safe against known attacks", Severity.SMALL)
OPEN = Grade("open to attack", Severity.MODERATE)
WORN = Grade("too many submissions", Severity.GRAVE)
GRADES = (SAFE, SOUND, OPEN, WORN)
"""Grades, from mild to grave."""

UNKNOWN = Grade("to be measured", Severity.UNTOLD)
"""The grade if no formula covers the guard and nothing was simulated."""

UNINFORMED = (
    "An attacker who starts from a good model of its own gains on top of that model; privacygauge "
    "holdout attack --logits measures it."
)
"""Limits of numbers for an attacker without a model."""


def verdict(f: HoldoutBounds) -> Verdict:
    """Return the verdict on the size of a test set and the number of submissions to it.

    The grade compares with the bias that the owner allows: too many submissions if honest selection
    alone exceeds it; safe if the guarantee is within it; otherwise by the strongest known attack,
    and to be measured if none is known to apply to the guard.
    """
    found = grade(f)
    scale = (UNKNOWN,) if found is UNKNOWN else GRADES
    headline = _headline(f, found)
    said = tuple(_sentences(f))
    todo = _advice(f, found)
    return Verdict(
        grade=found,
        scale=scale,
        headline=headline,
        sentences=said,
        unsaid=SCORES,
        advice=todo,
        gauge=_gauge(f),
    )


def _gauge(f: HoldoutBounds) -> Gauge:
    """Return the gauge from honest selection to the guarantee, with the allowed bias."""
    honest = f.bias("honest_best_of_k").value
    known = f.strongest
    most = f.allowed_bias
    value = honest if known is None else max(0.0, known.value)
    said = "attacks: not known" if known is None else f"{points(value)} by attack"
    return Gauge(
        "Points of accuracy that submissions can gain",
        Shown(f"{points(honest)} by honest selection, {said}"),
        low=min(honest, value),
        value=value,
        high=max(f.bias("kl").value, honest, value),
        limits=gauge_limits(most, honest, value),
        ticks=(f"{points(most)} points",),
        rule="The line runs from what honest selection gains to what no attack can exceed; the "
        "mark is the strongest known attack. What is allowed is the owner's choice (--bias).",
        zones=("Allowed", "Too much"),
    )


def grade(f: HoldoutBounds) -> Grade:
    """Return one of `GRADES`, or `UNKNOWN`."""
    most = f.allowed_bias
    strongest = f.strongest
    # Honest teams come first: no guard against attacks helps against their own selection.
    if f.bias("honest_best_of_k").value > most:
        return WORN
    if f.bias("kl").value <= most:
        return SAFE
    if strongest is None:
        return UNKNOWN
    # A simulated bias counts by the upper end of its interval.
    high = -1.0 if f.simulated is None else f.simulated.high
    return SOUND if max(strongest.value, high) <= most else OPEN


def submissions_text(number: int | None) -> str:
    """Return a number of submissions or points; a dash if unknown."""
    if number is None:
        return "-"
    return "10\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT TWO} or more" if number >= 10**12 else count(number)


def _headline(f: HoldoutBounds, found: Grade) -> str:
    k = several(f.queries, "submission")
    most = points(f.allowed_bias)
    honest = points(f.bias("honest_best_of_k").value)
    gain = "" if f.strongest is None else _points(f.strongest.value)
    if found == WORN:
        attacker = f", an attacker {gain}" if gain else ""
        gained = f"{count(f.queries)} gain an honest team up to {honest} points"
        return f"Too many submissions: {gained}{attacker}"
    if found == SAFE:
        return f"Safe: no attack gains more than {most} points with {k}"
    if found == UNKNOWN:
        return f"To be measured: no formula says what attacks gain behind {plain(f.guard)}"
    if found == SOUND:
        return f"No known attack gains more than {gain} points with {k}"
    return f"Open to attack: {k} can buy {gain} points without any model"


def _sentences(f: HoldoutBounds) -> Iterator[str]:
    honest = f.bias("honest_best_of_k")
    strongest = f.strongest
    kl = f.bias("kl").value
    begin = (
        f"With {several(f.queries, 'submission')} to {several(f.n, 'example')} of "
        f"{count(f.classes)} classes, an honest team whose submissions are all "
        f"{percent(f.accuracy)} right gains up to {points(honest.value)} points, merely "
        "because the best score is chosen"
    )
    if strongest is None:
        yield (
            f"{begin}. What an attacker gains behind {plain(f.guard)} no formula says: "
            "privacygauge holdout attack measures it on your labels, "
            "--simulate here on made-up ones."
        )
    else:
        yield (
            f"{begin}; an attacker without any model gains {_points(strongest.value)} points above "
            f"chance ({plain(strongest.title)})."
        )
    if is_limiting(kl, 1 - f.chance):
        yield (
            f"No attack without a model gains more than {points(kl)} points, with a probability "
            f"of {rate(f.level)}; below that there is no guarantee against attacks that nobody "
            "knows yet."
        )
    else:
        yield (
            "No guarantee holds against every conceivable attack: what so many answers can tell "
            "is enough, in theory, for all labels."
        )
    yield _allowed_text(f)
    yield (
        f"An attack's gain counts from {percent(f.chance)}, which a guess has, and holds for "
        "labels that are equally frequent. A point is a percentage point."
    )
    yield UNINFORMED


def _points(bias: float) -> str:
    # A simulated bias may be below 0 by chance.
    return points(max(0.0, bias))


def _allowed_text(f: HoldoutBounds) -> str:
    honest = f.allowed[0]
    every = f.allowed[-1]
    known = [a.submissions for a in f.allowed[1:-1] if a.submissions is not None]
    attacked = (
        f"; {_several(min(known))} by the strongest known attack, on average" if known else ""
    )
    most = f"{points(f.allowed_bias)} points"
    none = every.submissions == 0
    surely = "not even one is" if none else f"{_several(every.submissions)} are"
    return (
        f"What stays within {most} on such a test set: {_several(honest.submissions)} by honest "
        f"teams, with a probability of {rate(f.level)}{attacked}. Against every attack that there "
        f"may be, {surely} guaranteed."
    )


def _several(number: int | None) -> str:
    return f"{submissions_text(number)} submission{'' if number == 1 else 's'}"


def _advice(f: HoldoutBounds, found: Grade) -> tuple[str, ...]:
    if found is SAFE:
        return ("Keep the limits and the guard as they are.", LAST)
    ladder = (
        "Show a score only when it is clearly better than the best so far (a Ladder); random "
        "queries then learn next to nothing."
    )
    digits = "Show fewer digits: it costs honest teams nothing that is not noise."
    guards = () if "ladder" in f.guard else (ladder, digits) if f.guard == "exact" else (ladder,)
    measure = "Measure it on your own labels: privacygauge holdout attack."
    size = f.allowed[0].points
    larger: tuple[str, ...] = ()
    # A larger test set is the way out only where honest selection alone goes too far.
    if found is WORN and size is not None and size > f.n:
        examples = submissions_text(size)
        larger = (f"Use at least {examples} examples if honest teams are to submit as often.",)
    return (*larger, *guards, LIMIT, measure, LAST)


_HEADS = {ATTACK: "Known attacks", HONEST: "Honest selection", GUARANTEE: "Guarantees"}

_GRANTED = "Taken for granted"

_FURTHER = {"nb": "nb", "majority": "majority", "scan": "linear_scan", "theorem-3-1": "theorem_3_1"}
"""Names of the measures without a card, and of their biases."""


def _accounts(f: HoldoutBounds) -> str:
    return f" ({count(f.accounts)} accounts, {count(f.per_account)} each)" if f.accounts > 1 else ""


def _measures(f: HoldoutBounds) -> Iterator[Measure]:
    # If no attack is known, the gain from luck stands for the bounds.
    first = (_strongest(f), _honest(f)) if f.strongest else (_honest(f), _strongest(f))
    yield from first
    kl = f.bias("kl").value
    text = "No guarantee: so many answers can tell every label."
    shown = "no limit"
    if is_limiting(kl, 1 - f.chance):
        text = f"With probability {rate(f.level)}, on uniform labels."
        shown = f"{points(kl)} points"
    yield Measure("kl", "Any attack gains at most", kl, Shown(shown), text=text)
    for name, key in _FURTHER.items():
        found = f.bias(key)
        gain = Shown(_gain(f, found))
        yield Measure(name, f"Gain of {found.title}", found.value, gain, card=False)


def _strongest(f: HoldoutBounds) -> Measure:
    strongest = f.strongest
    label = "Strongest known attack gains"
    if strongest is None:
        reason = f"No formula covers attacks behind {plain(f.guard)}, and none was simulated"
        return Measure("bias", label, Skipped("bias", reason), Shown(DASH), text=f"{reason}.")
    return Measure(
        name="bias",
        label=label,
        found=strongest.value,
        shown=Shown(f"{points(max(0.0, strongest.value))} points"),
        note=f"by {strongest.title}",
        text=f"Without a model; above {percent(f.chance)}, which a guess has.",
        guessing=f"0 points; {points(f.allowed_bias)} are allowed",
    )


def _honest(f: HoldoutBounds) -> Measure:
    found = f.bias("honest_best_of_k").value
    return Measure(
        "honest",
        "Honest selection gains",
        found,
        Shown(f"{points(found)} points"),
        text=f"Expected of the best of all submissions that are {percent(f.accuracy)} right.",
        guessing=f"0 points; {points(f.allowed_bias)} are allowed",
    )


def _gain(f: HoldoutBounds, bias: Bias) -> str:
    return (
        guarantee_text(bias.value, 1 - f.chance) if bias.kind == GUARANTEE else points(bias.value)
    )


def _bias(f: HoldoutBounds) -> Iterator[Block]:
    told = "; ".join(f"{b.title} {_gain(f, b)}" for b in f.biases if b.kind != RATE and b.applies)
    yield text(
        "A bias is how much better a submission looks on this test set than it is. Attacks "
        "are what is known to be possible without a model; a guarantee is what no such "
        "attack can exceed. The truth lies between them. Honest selection counts from the "
        "submissions' own accuracy, and the guarantees do not cover it."
    )
    yield caution(f"Accuracy only. {SCORES}")
    yield _bias_table(f)
    yield note(
        f"No limit: the formula allows {decimal((1 - f.chance) * 100, 1)} points or more, "
        "which is all there is to gain, so it says nothing. The answers of this guard can "
        f"have at most {decimal(f.nats, 0)} nats of information in all."
    )
    yield Plot(
        "curves",
        "Bias against submissions",
        caption=(
            "Both axes are logarithmic. The upright line is what was asked about, the dotted line "
            "what is allowed. Between an attack and the guarantee nothing is known; honest "
            "selection counts from another accuracy, and the guarantee does not cover it."
        ),
        words=f"At {several(f.queries, 'submission')}, in points: {told}.",
        draw=lambda: plot_curves(f),
    )


def _bias_table(f: HoldoutBounds) -> Table:
    rows: list[Row] = []
    for kind in KINDS:
        if kind in _HEADS:
            rows.append(Row((_HEADS[kind],)))
            if kind == ATTACK and f.simulated is not None:
                told = (
                    f"played on uniform labels against {f.guard}; {f.simulated.method}, "
                    f"n = {f.simulated.n}, {rate(f.simulated.level)}"
                )
                simulated = ("naive Bayes, simulated", points_estimate(f.simulated), told)
                rows.append(Row(simulated, Tone.BEST))
            rows += [_row(f, bias) for bias in f.biases if bias.kind == kind]
    return Table(
        "bias",
        "Bias, in points of accuracy",
        columns=columns("What", "Points", Column(_GRANTED, prose=True, needed=False)),
        rows=tuple(rows),
        note="Attacks count from a guess, honest selection from the true accuracy.",
    )


def _row(f: HoldoutBounds, bias: Bias) -> Row:
    if bias.applies:
        return Row((bias.title, Shown(_gain(f, bias)), bias.assumption))
    title = Cell(bias.title, ("does not apply here",))
    return Row((title, Shown(_gain(f, bias)), bias.assumption), Tone.FAINT)


def _allowed_table(f: HoldoutBounds, head: str) -> Table:
    return table(
        "allowed",
        f"Within {points(f.allowed_bias)} points",
        [
            {
                head: a.title,
                "Submissions": Shown(submissions_text(a.submissions)),
                "or examples": Shown(submissions_text(a.points)),
                _GRANTED: a.assumption,
            }
            for a in f.allowed
        ],
        f"Either so many submissions to {several(f.n, 'example')}, or so many examples for "
        f"{several(f.queries, 'submission')}.",
        prose=(_GRANTED,),
        spare=(_GRANTED,),
    )


def _asked_table(f: HoldoutBounds) -> Table:
    """Return the options of the audit, for a terminal."""
    told = {
        "Test set": f"{several(f.n, 'example')}, {count(f.classes)} classes",
        "Submissions": f"{count(f.queries)}{_accounts(f)}",
        "Guard": f"{f.guard}, {decimal(f.nats, 0)} nats in all answers",
        "Draws per label": f"{decimal(f.per_label, 1)} ({_CLOSED_FORM[f.trusted]})",
    }
    rows = [{"Asked about": name, "": value} for name, value in told.items()]
    return table("asked", "What was asked about", rows, prose=("",))


_CLOSED_FORM = {
    True: "the closed form holds",
    False: "too few for the closed form: 20 are needed",
}


def _check(f: HoldoutBounds) -> Text:
    poisson = " The row with Poisson counts does without." if f.classes >= 10 else ""
    return text(
        "The closed forms of naive Bayes and of the majority take sums over queries for "
        "normal. That needs each label to be drawn often, at an example and in a query: 20 "
        f"times or more. Here it is drawn {decimal(f.per_label, 1)} times; "
        f"{_CLOSED_FORM[f.trusted]}.{poisson} The guarantees hold for any numbers.",
        "All of them are about labels that the analyst does not know and that are equally "
        "frequent. With a good model an attacker starts higher and gains less on top of it, or "
        "more where the model narrows each example to a few labels: measure it with "
        "privacygauge holdout attack.",
    )


def _rates(f: HoldoutBounds) -> Iterator[Block]:
    yield text(
        "How the best possible attacks grow, up to a constant factor that nobody knows. These are "
        "not biases."
    )
    rows = [
        {"Rate": b.title, "Value": f"{b.value:.3g}", "Formula": b.assumption}
        for b in f.biases
        if b.kind == RATE
    ]
    yield table("rates", "Rates, without constants", rows, prose=("Formula",))
    if f.reconstruction is not None:
        yield note(
            f"{count(f.reconstruction)} random queries determine every label with a probability of "
            "one half (Theorem 4.5). Determined is not found: the theorem gives no fast way."
        )


def plot_curves(f: HoldoutBounds, ax: Axes | None = None) -> Axes:
    """Draw bias against submissions, both axes logarithmic; the numbers are ``f.curves``."""
    ax = axes(ax)
    low = 1.0
    for place, curve in enumerate(f.curves):
        shown = curve.bias > 0
        ax.plot(curve.queries[shown], curve.bias[shown] * 100, color=SERIES[place % len(SERIES)],
                ls=DASHES[place % len(DASHES)], lw=1.6, label=curve.title)  # fmt: skip
        # The axis begins a tenth below the lowest curve at the number that was asked about.
        here = np.interp(f.queries, curve.queries, curve.bias) * 100
        low = min(low, here / 10) if here > 0 else low
    ax.axhline(f.allowed_bias * 100, color=OTHER, lw=0.9, ls=(0, (1, 2)))
    ax.annotate("allowed", (1, f.allowed_bias * 100), (2, 2), textcoords="offset points",
                color=INK, fontsize=7.5)  # fmt: skip
    ax.axvline(f.queries, color=OTHER, lw=0.9)
    last = max(int(curve.queries[-1]) for curve in f.curves)
    ax.set(xscale="log", yscale="log", xlim=(1, last), ylim=(max(low, 1e-3), 100))
    ax.set(xlabel="Submissions", ylabel="Bias, points of accuracy")
    legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    return ax


def _data(f: HoldoutBounds) -> dict[str, Json]:
    """Return the keys of ``report.json`` that only this kind of report has.

    ``nb``, ``majority`` and every other number have their own keys; each is a bias above 1/m
    (``honest_best_of_k``: above the true accuracy). Their assumptions are under ``assumptions``.
    Rates, which are not biases, are under ``rates`` only.
    """
    return {
        **pick_values(f, "n", "classes", "queries", "accounts", "per_account", "guard"),
        **pick_values(f, "accuracy", "correlation", "allowed_bias", nb_simulated="simulated"),
        **{b.key: float(b.value) for b in f.biases if b.kind != RATE},
        "strongest": None
        if f.strongest is None
        else pick_values(f.strongest, name="key", bias="value"),
        "assumptions": {b.key: pick_values(b, "kind", "assumption", "applies") for b in f.biases},
        "rates": {b.key: float(b.value) for b in f.biases if b.kind == RATE},
        **pick_values(f, reconstruction_queries="reconstruction", transcript_nats="nats"),
        "closed_form": pick_values(f, "trusted", draws_per_label="per_label"),
        "allowed": {
            a.key: pick_values(a, "submissions", "assumption", examples="points") for a in f.allowed
        },
        "curves": {c.key: pick_values(c, "queries", "bias") for c in f.curves},
    }
