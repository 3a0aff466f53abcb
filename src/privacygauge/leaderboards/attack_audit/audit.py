"""The audit of a test set by attacks on its labels, behind one guard or several; its report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core.estimate import Estimate
from privacygauge.kinds.one_line import one_line
from privacygauge.kinds.session import Session
from privacygauge.leaderboards.attack_audit.options import AttackDesign
from privacygauge.leaderboards.contest import (
    AttackResult,
    ContestFindings,
    contest_of,
    play_contest,
    summarise_contest,
)
from privacygauge.leaderboards.priors import Having, Prior
from privacygauge.leaderboards.sequential import Bisection
from privacygauge.leaderboards.words import (
    LAST,
    LIMIT,
    OF_METRIC,
    SCORES,
    SOURCES,
    guarantee_text,
    holdout_terms,
    points,
    points_estimate,
)
from privacygauge.report.axes import FAINT, OTHER, SERIES, axes, legend, plot_label
from privacygauge.report.grades import LARGE, MODERATE, SMALL, UNTOLD
from privacygauge.report.numbers import (
    DASH,
    Shown,
    count,
    percent,
    percent_estimate,
    plain,
    rate,
    several,
)
from privacygauge.report.reported import Reported
from privacygauge.report.values import (
    About,
    Block,
    Cell,
    Content,
    Gauge,
    Grade,
    Json,
    Measure,
    Origin,
    Pairs,
    Plot,
    Report,
    Section,
    Severity,
    Table,
    Verdict,
    Worst,
    caution,
    note,
    pairs,
    pick_values,
    table,
    text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class HoldoutAudit(ContestFindings, Reported):
    """Findings of attacks on a test set with known labels, with its report, tables and plots."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        gains = "What each attack gains behind each guard"
        return Report(
            "holdout-attack",
            "Reuse of a test set: attacks on its labels",
            about=About(
                f"A test set of {count(self.n)} hidden labels behind {plain(self.worst.guard)}",
                f"Somebody submits {count(self.queries)} times, looks at the scores only, and "
                "tries to find the hidden labels: how much better does the last submission look "
                "than it is?",
                self.knowledge,
                "test-set-reuse",
            ),
            intro=f"{_examples(self)}, scored by {plain(self.metric)}; {count(self.queries)} "
            f"submissions, {several(self.trials, 'trial')} of each attack behind each guard. "
            f"The attacker knows: {self.knowledge}. Small figures are {rate(self.level)} "
            "intervals.",
            origin=self.origin,
            verdict=verdict(self),
            measures=tuple(_measures(self)),
            sections=(
                Section("by-guard", gains, tuple(_by_guard(self)), "Attack by guard"),
                Section("each", "Each in full", (_each_table(self),)),
                Section("guards", "The guards", tuple(_guards(self))),
                Section("measured", "How it was measured", (_method_section(self),)),
            ),
            terms=holdout_terms(self.level)
            if self.scored == "accuracy"
            else holdout_terms(self.level) | _OF_SCORES,
            worst=Worst("labels", (), "labels are in no report"),
            data=_data(self),
            frames={},
            nothing_left_out="Nothing: every attack was played behind every guard.",
            overview=(
                _asked_table(self),
                _grid(self, "Bias, points", f"{FIXED} {about_scores(self)}"),
            ),
            sources=f"No label is in any of them. {SOURCES}",
        )

    def plot_biases(self, ax: Axes | None = None) -> Axes:
        """Plot the bias of every attack behind every guard."""
        return plot_biases(self, ax)


@dataclass(frozen=True, kw_only=True)
class HoldoutAttackOptions(AttackDesign):
    """An audit of a test set by attacks on its labels."""

    def run(
        self,
        labels: ArrayLike | str | Path,
        queries: int,
        *,
        logits: ArrayLike | str | Path | None = None,
        session: Session = Session("holdout attack"),
    ) -> HoldoutAudit:
        """Measure how much an attacker learns about a test set's labels from scores of submissions.

        All submissions are simulated: nothing is sent to anybody. The label file is fixed, so
        trials differ in the attacker's random queries and in the guard's noise.

        Parameters
        ----------
        labels : array_like of int, shape (n,), or a file
            The hidden labels in 0..m-1, or texts, as `read_labels` takes them; numbers if the
            metric needs them.
        queries : int
            Submissions of each attack, at least 0.
        logits : array_like of shape (n, m), or a file, optional
            Logits of a base model, from which the attacker starts.
        session : Session, optional
            Seed, level, run folder and workers.

        Returns
        -------
        HoldoutAudit
            Accuracies, or scores, in [0, 1] and biases above the baseline, in [-1, 1].

        Raises
        ------
        InputError
            If an argument is invalid: the problem and the way out, in one line.

        Notes
        -----
        Feldman, Frostig and Hardt (2019); guards after Blum and Hardt (2015). What the attacker
        knows of a model is explained at `privacygauge.leaderboards.priors.from_logits`.

        Examples
        --------
        >>> import numpy as np
        >>> from privacygauge.leaderboards.attack_audit.audit import attack_holdout
        >>> labels = np.random.default_rng(0).integers(0, 2, 400)
        >>> found = attack_holdout(labels, 200, trials=3)
        >>> found.worst.bias.value > 0.15
        True
        """
        having = Having(
            logits=logits,
            top=self.top,
            least_confident=self.least_confident,
            temperature=self.temperature,
            prior=cast("Prior | None", self.prior),
        )
        contest = contest_of(
            labels,
            queries,
            attacks=self.attacks,
            guards=self.guards,
            having=having,
            trials=self.trials,
            classes=self.classes,
            metric=self.metric,
            seed=session.seed,
        )
        plays = play_contest(
            contest,
            session.run,
            invocation=session.invocation,
            n_jobs=session.n_jobs,
            progress=session.progress,
        )
        found = summarise_contest(contest, having, plays, session.level)
        return HoldoutAudit(**vars(found), origin=session.origin(warnings=found.caveats()))


attack_holdout = one_line(HoldoutAttackOptions, HoldoutAttackOptions.run, "attack_holdout")


NONE = Grade("no gain found", Severity.NOTHING)
GRADES = (NONE, SMALL, MODERATE, LARGE)
"""Grades, from mild to grave."""

LIMITS = (0.01, 0.05)
"""Smallest biases of a moderate and of a large gain: one point, and five points."""

FIXED = (
    "The label file is fixed: trials differ in the attacker's random queries and in the guard's "
    "noise, and the intervals are about those, not about other label files."
)
"""Meaning of the intervals."""

UNSAID = (
    "It does not say that a stronger attack, or an attacker with a better model, would do no "
    "better; a guarantee for each guard is given beside."
)
"""Claims that the result does not make."""

_TITLES = {
    "nb": "naive Bayes",
    "majority-blum-hardt": "the majority of Blum and Hardt",
    "scan": "the linear scan",
    "hill-climbing": "hill climbing",
    "message-passing": "message passing",
    "linear-programming": "linear programming",
    "designed": "designed queries",
    "reconstruction": "reconstruction of a few labels",
}


def verdict(f: HoldoutAudit) -> Verdict:
    """Return the verdict on a test set behind the guards that were tried.

    The grade follows from the strongest attack behind any of the guards, by the lower end of its
    bias, which allows for the choice: none at 0, small below one point, moderate below five, large
    from five on. After a single trial there is no grade, nor where no gain is certain and an
    interval does not exclude a large one.
    """
    grade = grade_of_attack(f.worst)
    # One trial has no interval, so nothing tells luck from gain.
    if f.trials == 1 or (grade == NONE and (widest(f) is not None or few_hits_decide(f))):
        grade = UNTOLD
    scale = (UNTOLD,) if grade is UNTOLD else GRADES
    said = tuple(_sentences(f))
    todo = _advice(f, grade)
    return Verdict(
        grade=grade,
        scale=scale,
        headline=_headline(f, grade),
        sentences=said,
        unsaid=UNSAID,
        advice=todo,
        gauge=_gauge(f, grade),
    )


def _gauge(f: HoldoutAudit, grade: Grade) -> Gauge | None:
    """Return the gauge of the strongest attack's gain; None without a grade."""
    if grade is UNTOLD:
        return None
    bias = f.worst.bias
    found = f.worst.corrected
    return Gauge(
        f"Points of {f.scored} that the strongest attack gains",
        Shown(points(bias.value), points(found.low), points(found.high)),
        low=found.low,
        value=bias.value,
        high=found.high,
        limits=(-0.1, 0.0, *LIMITS, 0.5),
        ticks=("0", *(several(round(100 * limit), "point") for limit in LIMITS)),
        rule="The grade follows from the lower end of the interval. Its limits are a convention of "
        "PrivacyGauge: set your own with --fail-above or --policy.",
    )


def attack_title(name: str) -> str:
    """Return the name of an attack for use in a sentence."""
    return _TITLES.get(name, plain(name))


def guard_title(name: str) -> str:
    """Return the scores that a guard shows, for use in a sentence."""
    return "exact scores" if name == "exact" else f"scores behind {plain(name)}"


def grade_of_attack(r: AttackResult) -> Grade:
    """Return the grade of a result, by the lower end of its corrected bias."""
    low = r.corrected.low
    if low <= 0:
        return NONE
    return SMALL if low < LIMITS[0] else MODERATE if low < LIMITS[1] else LARGE


def widest(f: HoldoutAudit) -> AttackResult | None:
    """Return the result that may hide most, of those that exclude no large gain; None if none."""
    open_ended = [r for r in f.results if r.corrected.high >= LIMITS[1]]
    return max(open_ended, key=lambda r: r.corrected.high, default=None)


_FEW_RARE = 10
"""Largest number of examples of the rarer class of which one that is found decides the score."""


def few_hits_decide(f: HoldoutAudit) -> bool:
    """Return whether luck in a few trials may hide a large gain.

    Where the rarer class has few examples, an attack that meets one gains nearly all there is, and
    one that does not gains nothing. After t trials without, the probability of meeting one is at
    most 1 - (1 - level)^(1/t).
    """
    rare = round((1 - f.largest_class) * f.n)
    most = 1 - (1 - f.level) ** (1 / f.trials)
    return (
        Bisection.name in f.attacks
        and rare <= _FEW_RARE
        and most * (1 - f.worst.baseline) >= LIMITS[1]
    )


def about_scores(f: HoldoutAudit) -> str:
    """Return the scope of the numbers, with the kinds of score that they do not cover."""
    return SCORES if f.scored == "accuracy" else OF_METRIC


def having(f: HoldoutAudit, share: float) -> str:
    """Describe an accuracy or a score in words."""
    right = f.scored == "accuracy"
    return f"{percent(share)} of the labels right" if right else f"a score of {percent(share)}"


def each_with(f: HoldoutAudit) -> str:
    """Describe the quality of honest submissions."""
    share = percent(f.honest_accuracy)
    return f"that are all {share} right" if f.scored == "accuracy" else f"that all score {share}"


def _headline(f: HoldoutAudit, grade: Grade) -> str:
    worst = f.worst
    wide = widest(f)
    if f.trials == 1:
        return (
            f"It cannot be told from one trial, in which {count(f.queries)} submissions bought "
            f"{points(worst.bias.value)} points"
        )
    if grade is UNTOLD and wide is not None:
        return (
            f"It cannot be told from {several(f.trials, 'trial')}: {count(f.queries)} submissions "
            f"bought {points(wide.bias.value)} points from {guard_title(wide.guard)}, and up to "
            f"{points(wide.corrected.high)} are not excluded"
        )
    if grade is UNTOLD:
        most = 1 - (1 - f.level) ** (1 / f.trials)
        return (
            f"It cannot be told from {several(f.trials, 'trial')}: none gained anything, but "
            f"one of the few rare examples decides the score, and up to "
            f"{points(most * (1 - f.worst.baseline))} points are not excluded"
        )
    if grade == NONE:
        tried = len(f.results)
        what = f"none of {tried} attacks gained" if tried > 1 else "the attack did not gain"
        return f"No gain found: {what} anything for certain with {count(f.queries)} submissions"
    return (
        f"{grade.word.capitalize()} gain: {count(f.queries)} submissions can buy "
        f"{points(worst.bias.value)} points of {f.scored}, from {guard_title(worst.guard)}"
    )


def _sentences(f: HoldoutAudit) -> Iterator[str]:
    worst = f.worst
    tried = len(f.results)
    from_ = "what it knew before" if worst.informed else "a guess"
    told = f", {count(f.classes)} classes" if f.classes else ""
    yield (
        f"The strongest attack, {attack_title(worst.attack)}, has "
        f"{having(f, worst.accuracy.value)} after {count(round(worst.queries_used))} submissions "
        f"to {count(f.n)} examples ({guard_title(worst.guard)}{told}); {from_} has "
        f"{percent(worst.baseline)}. What it learnt is about these labels alone, and worth nothing "
        "on new data."
    )
    if len(f.guards) > 1:
        gains = []
        for guard in f.guards:
            best = f.worst_behind(guard.guard)
            gain = f"{points(best.bias.value)} ({attack_title(best.attack)})"
            if grade_of_attack(best) == NONE:
                gain = "nothing for certain"
            gains.append(f"{plain(best.guard)} {gain}")
        yield f"The most that was gained behind each guard, in points: {'; '.join(gains)}."
    if f.trials == 1:
        yield f"One trial says nothing about how much chance was in it. {FIXED}"
    else:
        allowing = f", which allows for having tried {tried} pairs" if tried > 1 else ""
        interval = points_estimate(worst.corrected).interval.replace(" to ", " and ")
        yield (
            f"With {rate(f.level)} confidence the gain lies between {interval} points{allowing} "
            f"({count(f.trials)} trials each). {FIXED}"
        )
    wide = widest(f)
    graver = wide is not None and worst.corrected.low < LIMITS[1]
    if f.trials > 1 and graver and wide is not None and wide is not worst:
        between = points_estimate(wide.corrected).interval.replace(" to ", " and ")
        yield (
            f"More trials may show more: the gain of {attack_title(wide.attack)}, "
            f"{guard_title(wide.guard)}, lies between {between} points."
        )
    yield (
        f"Nobody has to attack: the best of {count(f.queries)} honest submissions {each_with(f)} "
        f"looks up to {points(f.honest)} points better than it is, on average, if scores are exact."
    )
    yield about_scores(f)


def _advice(f: HoldoutAudit, grade: Grade) -> tuple[str, ...]:
    best = min(f.guards, key=lambda g: f.worst_behind(g.guard).bias.value).guard
    if grade is UNTOLD:
        # Half as wide an interval takes four times as many trials; of two or three, fewer.
        more = 10 if f.trials < 5 else 4 * f.trials
        return (f"Play more trials: --trials {more}.", LAST)
    if grade == NONE:
        if f.scored == "accuracy" and "hill-climbing" not in f.attacks:
            return (
                "Play hill climbing too, which gains behind a Ladder where other attacks do not: "
                "--attack hill-climbing.",
                LAST,
            )
        return (f"Keep {plain(f.worst.guard)} and the limits as they are.", LAST)
    if grade_of_attack(f.worst_behind(best)) in (NONE, SMALL):
        guard = (
            f"Score behind {plain(best)}, which left least to gain of the guards that were tried."
        )
    else:
        guard = (
            "Try a guard that shows a score only when it is clearly better than the best so far: "
            f"--guard exact,{'ladder' if f.scored == 'accuracy' else 'ladder:0.02'}."
        )
    if f.scored != "accuracy":
        return (guard, LIMIT, LAST)
    return (guard, LIMIT, "Try more attacks, and a good model's logits (--logits).", LAST)


_MARKERS = ("o", "s", "^", "D", "v", "x")
_OF_SCORES = {
    "Score": "What a submission has by the metric, from 0 to 1; an error is taken off 1, in units "
    "of its range.",
    "Point": "A hundredth of the score.",
    "Naive Bayes (NB)": "Submits random predictions, and then what the metric rewards most where "
    "each example's hidden value is as likely as the scores make it.",
}
"""Terms of the page that differ for another metric."""
_EACH = 0.16
"""Height per result, in inches."""
_ROOM = 1.0
"""Height of title and axis, in inches."""


def _measures(f: HoldoutAudit) -> Iterator[Measure]:
    worst = f.worst
    accuracy = _accuracy(f.worst)
    bias = points_estimate(worst.corrected)
    pairs = len(f.results)
    allowing = f" The interval allows for {pairs} pairs." if pairs > 1 else ""
    yield Measure(
        name="bias",
        label=f"{f.scored.capitalize()} gained by the strongest attack",
        found=worst.corrected,
        shown=replace(bias, value=f"{bias.value} points"),
        note=f"by {attack_title(worst.attack)}, {guard_title(worst.guard)}",
        text=allowing.strip(),
        guessing=f"0 points: {having(f, worst.baseline)}",
    )
    yield Measure(
        "accuracy",
        "Labels right" if f.scored == "accuracy" else "Score in the end",
        accuracy,
        _share(accuracy),
        text=f"Of the attack's final answer.{allowing}",
        guessing=f"{percent(worst.baseline)}, as before",
    )
    knew = "What it knew without a submission." if worst.informed else "What a guess has."
    before = Shown(percent(worst.baseline))
    label = "Right before" if f.scored == "accuracy" else "Score before"
    yield Measure("before", label, worst.baseline, before, text=knew, gate=False)
    yield Measure(
        "honest",
        "Honest selection gains",
        f.honest,
        Shown(f"{points(f.honest)} points"),
        text=f"The best of as many submissions {each_with(f)}, at most, behind exact scores.",
        gate=False,
    )


def _examples(f: HoldoutAudit) -> str:
    if not f.classes:
        return f"{count(f.n)} examples, numbers to be predicted"
    largest = percent(f.largest_class)
    return f"{count(f.n)} examples, {count(f.classes)} classes, the largest with {largest}"


def _accuracy(r: AttackResult) -> Estimate:
    """Return the accuracy with an interval that allows for the choice among all results."""
    value = r.accuracy.value
    found = r.corrected
    low = r.baseline + found.low
    high = r.baseline + found.high
    # The sum may be off by its last digit.
    return replace(found, value=value, low=min(low, value), high=max(high, value))


def _share(found: Estimate) -> Shown:
    """Return an estimated share as a percentage; without its interval if that is infinite."""
    return percent_estimate(found, 1) if math.isfinite(found.low) else Shown(percent(found.value))


def _by_guard(f: HoldoutAudit) -> Iterator[Block]:
    yield _grid(f, "Attack", f"Above the {f.scored} that the attack had before.")
    if len(f.results) > 1:
        yield note(
            f"All {count(len(f.results))} intervals hold together at {rate(f.level)} (Bonferroni), "
            "as in the verdict: among so many results one goes far by luck alone."
        )
    yield caution(about_scores(f))
    behind = (f.worst_behind(g.guard) for g in f.guards)
    told = "; ".join(
        f"{plain(r.guard)}: {points_estimate(r.corrected)} ({attack_title(r.attack)})"
        for r in behind
    )
    yield Plot(
        "biases",
        "Bias by attack and guard",
        caption=(
            f"How many points of {f.scored} each attack gained; bars are intervals over trials. "
            "The dotted line is no gain."
        ),
        words=f"The furthest behind each guard, in points: {told}.",
        draw=lambda: plot_biases(f),
    )


def _grid(f: HoldoutAudit, head: str, note: str) -> Table:
    rows: list[dict[str, Content]] = [
        {head: name, **{g.guard: points_estimate(f.of(name, g.guard).corrected) for g in f.guards}}
        for name in f.attacks
    ]
    return table("grid", f"Bias, in points of {f.scored}", rows, note)


def _each_table(f: HoldoutAudit) -> Table:
    return table(
        "each",
        f"{f.scored.capitalize()} of the final answer",
        [
            {
                "Attack": Cell(r.attack, (_begun(r),)),
                "Guard": r.guard,
                f.scored.capitalize(): _share(r.accuracy),
                "Before": percent(r.baseline),
                "Bias, points": points_estimate(r.corrected),
                "Expected": DASH if r.expected is None else points(r.expected),
                "Submissions": count(round(r.queries_used)),
            }
            for r in f.results
        ],
        "Expected: what theory says for an attacker without a model, where a formula holds.",
        best=[len(f.results) > 1 and r is f.worst for r in f.results],
    )


def _begun(r: AttackResult) -> str:
    apart = "; must tell examples apart" if r.needs_points else ""
    return f"starts from {'what it knows' if r.informed else 'a guess'}{apart}"


def _guards(f: HoldoutAudit) -> Iterator[Block]:
    yield text(
        "What no attack exceeds, however clever, with a probability of "
        f"{rate(f.level)}: for an attacker without a model who knows how frequent every hidden "
        "value is. It counts what the answers can tell, so noise earns it nothing."
    )
    yield table(
        "guards",
        "Guarantees",
        [
            {
                "Guard": g.guard,
                "Any attack at most, points": Shown(guarantee_text(g.kl, f.most)),
                "Typical error of an answer, points": points(g.error),
            }
            for g in f.guards
        ],
    )
    yield note(
        "The error is what honest teams pay for a guard. No limit: so many answers can "
        "tell, in theory, every label."
    )


def _method_section(f: HoldoutAudit) -> Pairs:
    together = f"{_interval(f.worst.corrected)}: all {count(len(f.results))} hold together"
    apart = f"apart from the {count(f.queries)} submissions"
    rows = {
        "Estimates": _interval(f.results[0].accuracy),
        "Trials": FIXED,
        "Final answer": f"Judged on all labels, {apart}.",
        "In the verdict": f"{together} (Bonferroni).",
    }
    if f.model_accuracy is not None:
        rows["Base model"] = (
            f"{percent(f.model_accuracy)} right on this test set. No attack is told; it is the "
            "accuracy before."
        )
    return pairs(rows)


def _interval(found: Estimate) -> str:
    """Return the method of an interval, such as ``t over trials, n = 10, 95%``."""
    if found.n == 1:
        return "one trial, no interval"
    return f"{found.method}, n = {count(found.n)}, {rate(found.level)}"


def _asked_table(f: HoldoutAudit) -> Table:
    """Return the options of the audit, for a terminal."""
    told = {
        "Test set": _examples(f),
        "Metric": f.metric,
        "Submissions": count(f.queries),
        "Attacker knows": f.knowledge,
    }
    if f.model_accuracy is not None:
        told["Base model"] = percent(f.model_accuracy)
    rows = [{"Played": name, "": value} for name, value in told.items()]
    return table("asked", "What was played", rows, prose=("",))


def plot_biases(f: HoldoutAudit, ax: Axes | None = None) -> Axes:
    """Draw the bias of every attack behind every guard with intervals; numbers: `HoldoutAudit`.

    The height of a new figure grows with the number of results.
    """
    new = ax is None
    ax = axes(ax)
    place = np.arange(len(f.attacks), dtype=float)
    for i, guard in enumerate(f.guards):
        found = [f.of(attack, guard.guard).corrected for attack in f.attacks]
        value, low, high = (
            100 * np.array([getattr(e, end) for e in found]) for end in ("value", "low", "high")
        )
        # An infinite interval, after a single trial, has no bars.
        reach = np.where(np.isfinite([value - low, high - value]), [value - low, high - value], 0)
        # Guards side by side within an attack's row, from -1/2 to 1/2.
        off = (i + 1) / (len(f.guards) + 1) - 0.5
        ax.errorbar(value, place + 0.8 * off, xerr=reach, fmt=_MARKERS[i % len(_MARKERS)],
                    color=SERIES[i % len(SERIES)], ms=4.5, elinewidth=1.2, lw=1.2,
                    label=plot_label(guard.guard))  # fmt: skip
    for between in place[1:] - 0.5:
        ax.axhline(between, color=FAINT, lw=0.6)
    ax.axvline(0, color=OTHER, lw=0.9, ls=(0, (1, 2)))
    ax.set_yticks(place, [plot_label(attack) for attack in f.attacks])
    ax.grid(visible=False, axis="y")
    ax.set(ylim=(len(place) - 0.5, -0.5), xlabel=f"Bias, points of {f.scored}")
    legend(ax, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3)
    figure = ax.get_figure(root=True)
    if new and figure is not None:
        figure.set_size_inches(4.6, _ROOM + _EACH * max(4, len(f.results)))
    return ax


def _data(f: HoldoutAudit) -> dict[str, Json]:
    """Return the keys of ``report.json`` that only this kind of report has.

    ``accuracy``, ``baseline``, ``bias`` and ``queries_used`` are those of the named ``attack`` and
    ``guard``: the strongest pair. The interval of ``bias_corrected`` allows for that choice. Every
    pair is in ``attacks``. Labels are nowhere.
    """
    return {
        "attack": f.worst.attack,
        **pick_values(f, "n", "metric", "most", "classes", "queries", "trials", "knowledge"),
        **pick_values(f, "largest_class", "model_accuracy"),
        **_result(f.worst),
        "attacks": [{"name": r.attack, **_result(r)} for r in f.results],
        "guards": [pick_values(g, "kl", "error", name="guard") for g in f.guards],
        "honest_best_of_k": pick_values(f, bias="honest", accuracy="honest_accuracy"),
    }


def _result(r: AttackResult) -> dict[str, Json]:
    estimates = pick_values(
        r, "accuracy", "bias", bias_corrected="corrected", bias_expected="expected"
    )
    return {
        **estimates,
        **pick_values(r, "guard", "baseline", "queries_used", "needs_points", "informed"),
    }
