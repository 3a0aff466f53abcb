"""Tables of attacks, main results, all numbers and interval methods; and the pages' glossary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Headline
from privacygauge.evaluate.played import Attacks, GameDescription
from privacygauge.evaluate.rate_at_fpr import FEW, RateAtFpr
from privacygauge.report.numbers import (
    DASH,
    count,
    decimal_estimate,
    lower_bound_text,
    percent_estimate,
    plain,
    rate,
    tpr_estimate,
)
from privacygauge.report.values import (
    Block,
    Cell,
    Column,
    FoldedBlocks,
    Pairs,
    Rows,
    Section,
    Table,
    Whisker,
    columns,
    pairs,
    table,
    text,
)
from privacygauge.report.values import note as remark

TOO_FEW = (
    "\N{DAGGER} Fewer than 10 false positives are expected at this rate, so there are too few "
    "non-members to tell: the value may be far off, the interval says how far."
)
"""Explanation of the dagger, for a page."""

_LINE = (
    "Where there is room, a line shows the share of right guesses between 40% and 100%; the thin "
    "mark is guessing, 50%."
)
"""Explanation of the drawn intervals."""

_FEW = "\N{DAGGER} too few non-members to tell: under 10 false positives expected"
"""Explanation of the dagger, for a terminal."""

# Ends of the line on which an accuracy is drawn.
_LOWEST = 0.4
_HIGHEST = 1.0


def section(a: Attacks) -> Section:
    """Return the section on all attacks: the main table, and all other numbers folded."""
    told = "Each attack guesses for every record whether it was in the data."
    return Section(
        "attacks",
        "Attacks",
        blocks(a.evaluations, a.best.title, a.level, told, headline=a.headline),
    )


def blocks(
    evaluations: Sequence[Evaluation],
    best: str,
    level: float,
    told: str,
    *,
    epsilon: bool = True,
    headline: Headline | None = None,
) -> tuple[Block, ...]:
    """Return the blocks of a section on all attacks, below the paragraph `told`.

    `best` is the title of the strongest attack. Without `epsilon`, bounds on epsilon, precisions at
    other shares of members and the table of scores are left out. `headline` has the bound on
    epsilon of the cards, which stands in the row of its attack.
    """
    note = f"Small figures: {rate(level)} intervals."
    chances = (priors(evaluations),) if epsilon else ()
    ranked = (scores(evaluations),) if epsilon else ()
    # The table of all numbers about the guesses.
    rows: Rows = [
        {
            "Attack": attack(e),
            "Accuracy": percent_estimate(e.accuracy, 1),
            "Advantage": percent_estimate(e.advantage, 1),
            "Precision": percent_estimate(e.precision, 1),
            "Recall (TPR)": percent_estimate(e.recall),
            "False-positive rate": percent_estimate(e.false_positive_rate),
            "Members hit": f"{count(e.true_positives)} of {count(e.n_in)}",
            "False alarms": f"{count(e.false_positives)} of {count(e.n_out)}",
        }
        for e in evaluations
    ]
    # Remarks below the main table.
    n = len(evaluations)
    remarks = []
    if headline is not None and headline.epsilon.low > 0:
        remarks.append(
            f"Epsilon of {plain(headline.epsilon_attack)}: with the threshold that half of the "
            "records chose, on the other half, as on the card; of other attacks: from their "
            "guesses."
        )
    if any(not r.resolved for e in evaluations for r in e.tpr_at_fpr):
        remarks.append(TOO_FEW)
    if n > 1:
        remarks.append(
            f"Each row holds individually. Among {n} attacks the best looks better than it is by "
            "luck; the verdict allows for that, these rows do not."
        )
    remarks += [f"{e.title}: {' '.join(e.notes)}" for e in evaluations if e.notes]
    half = "Precision: how often \u201cmember\u201d is right if half of those asked about are "
    # The table of interval methods, one row per kind of number.
    found = [r for e in evaluations for r in e.tpr_at_fpr]
    numbers: dict[str, list[Estimate | Skipped]] = {
        "Accuracy": [e.accuracy for e in evaluations],
        "Advantage": [e.advantage for e in evaluations],
        "Precision": [e.precision for e in evaluations],
        "Recall": [e.recall for e in evaluations],
        "False-positive rate": [e.false_positive_rate for e in evaluations],
        "AUC": [e.auc for e in evaluations],
        "Best accuracy in hindsight": [e.best_accuracy for e in evaluations],
        "TPR at FPR": [r.estimate for r in found],
        "TPR, threshold as given": [r.at_threshold for r in found],
        "Realised FPR": [r.realised_fpr for r in found],
        "Precision at a prior": [x for e in evaluations for _, x in e.predictive_values],
        "Epsilon": [e.epsilon for e in evaluations],
    }
    return (
        text(f"{told} {_LINE}"),
        main_table(evaluations, best, note=note, epsilon=epsilon, headline=headline),
        *((remark(*remarks),) if remarks else ()),
        FoldedBlocks(
            "Every number about the guesses",
            (table("guesses", "Guesses", rows, f"{half}members."), *chances),
        ),
        FoldedBlocks("Every number about the scores", (*ranked, rates(evaluations))),
        FoldedBlocks(
            "How the intervals were made",
            (
                methods_of(
                    numbers, "n counts targets: rows about the same target are not independent."
                ),
            ),
        ),
    )


def main_table(
    evaluations: Sequence[Evaluation],
    best: str,
    *,
    name: str = "main",
    title: str = "How well each attack did",
    note: str = "",
    fprs: Sequence[float] = FEW,
    epsilon: bool = True,
    headline: Headline | None = None,
) -> Table:
    """Return the main table of one or more attacks, evaluated at the same FPRs.

    `best` is the title of the strongest attack; the TPR is shown at each of `fprs`. The attack
    behind the bound on epsilon of the `headline` has that bound.
    """
    bounds = {}
    if headline is not None and headline.epsilon.low > 0:
        bounds = {headline.epsilon_attack: headline.epsilon}
    rows: Rows = [
        {
            "Attack": attack(e),
            "Right guesses": percent_estimate(e.accuracy, 1),
            "40% to 100%": whisker(e.accuracy),
            "AUC": decimal_estimate(e.auc),
            **{f"TPR at {rate(r.fpr)} FPR": tpr(r) for r in e.tpr_at_fpr if r.fpr in fprs},
            **({"Epsilon": lower_bound_text(bounds.get(e.title, e.epsilon))} if epsilon else {}),
        }
        for e in evaluations
    ]
    return table(name, title, rows, note, best=[e.title == best for e in evaluations])


def overview(a: Attacks) -> Table:
    """Return a table with one row per attack, for a terminal and a summary."""
    shown = [r.fpr for r in a.best.tpr_at_fpr if r.fpr in FEW]
    heads = {fpr: f"TPR at\n{rate(fpr)} FPR" for fpr in shown}
    found = {e.title: [r for r in e.tpr_at_fpr if r.fpr in shown] for e in a.evaluations}
    few = any(not r.resolved for rates in found.values() for r in rates)
    rows: Rows = [
        {
            "\nAttack": e.title,
            f"Accuracy\n({rate(a.level)})": percent_estimate(e.accuracy, 1),
            "\nAUC": decimal_estimate(e.auc).value,
            **{
                heads[r.fpr]: Cell(tpr_estimate(r.estimate, r.fpr).value, doubtful=not r.resolved)
                for r in found[e.title]
            },
        }
        for e in a.evaluations
    ]
    # Left out first where a terminal is narrow.
    spare = [heads[fpr] for fpr in shown if fpr < 0.01]
    best = [e.title == a.best.title for e in a.evaluations]
    note = _FEW if few else ""
    return table("overview", "How well each attack did", rows, note, spare=spare, best=best)


def priors(evaluations: Sequence[Evaluation]) -> Table:
    """Return the table of precisions at other shares of members, and of epsilon."""
    rows: Rows = [
        {
            "Attack": attack(e),
            **{
                f"If {rate(prior)} are members": percent_estimate(found, 1)
                for prior, found in e.predictive_values
            },
            "Epsilon at least": lower_bound_text(e.epsilon),
            "Threshold": e.rule,
        }
        for e in evaluations
    ]
    title = "How often \u201cmember\u201d is right, and epsilon"
    note = (
        "By the share of members among those asked about. Epsilon follows from the guesses at this "
        "threshold alone."
    )
    return table("priors", title, rows, note, prose=("Threshold",))


def scores(evaluations: Sequence[Evaluation]) -> Table:
    """Return the table of all numbers about the scores."""
    rows: Rows = [
        {
            "Attack": attack(e),
            "AUC": decimal_estimate(e.auc),
            "Best accuracy": percent_estimate(e.best_accuracy, 1),
            **{f"TPR at {rate(r.fpr)}": tpr(r) for r in e.tpr_at_fpr},
        }
        for e in evaluations
    ]
    note = "The best accuracy is that of the best threshold in hindsight, which no attacker knows."
    return table("scores", "Scores", rows, note)


def rates(evaluations: Sequence[Evaluation]) -> Table:
    """Return the table of true-positive rates."""
    heads = columns("Attack", "FPR asked for", "TPR", "Threshold as given", "Realised FPR")
    rows = (
        (
            attack(e),
            rate(r.fpr),
            tpr(r),
            tpr_estimate(r.at_threshold, r.fpr).interval,
            tpr_estimate(r.realised_fpr, r.fpr),
        )
        for e in evaluations
        for r in e.tpr_at_fpr
    )
    return Table(
        "rates",
        "True-positive rates, one by one",
        columns=heads,
        rows=tuple(rows),
        note=(
            "The first interval allows for not knowing the threshold of exactly that "
            "false-positive rate; the second takes the threshold as given."
        ),
    )


def methods_of(
    columns: Mapping[str, Sequence[Estimate | Skipped]],
    note: str = "",
    *,
    name: str = "methods",
    title: str = "Methods",
) -> Table:
    """Return the table of interval methods, from the estimates of each kind of number."""
    rows = []
    for number, found in columns.items():
        made = [x for x in found if isinstance(x, Estimate)]
        if not made:
            rows.append((number, DASH, DASH))
            continue
        # Attacks on the same targets share method, level and n, so that one row serves them all.
        sizes = sorted({x.n for x in made})
        n = count(sizes[0]) if len(sizes) == 1 else f"{count(sizes[0])} to {count(sizes[-1])}"
        levels = ", ".join(rate(x) for x in sorted({x.level for x in made}))
        rows.append((number, f"{'; '.join(sorted({x.method for x in made}))}, {levels}", n))
    return Table(
        name,
        title,
        columns=(Column("Number"), Column("Method and level", prose=True), Column("n")),
        rows=tuple(rows),
        note=note,
    )


def attack(e: Evaluation) -> Cell:
    """Return a cell with an attack's name, and below it the variant and kind of threshold."""
    thresholds = "" if e.thresholds == "none" else f"{e.thresholds} thresholds"
    return Cell(e.name, below=tuple(x for x in (e.variant, thresholds) if x))


def tpr(r: RateAtFpr) -> Cell:
    """Return a cell with a TPR, with a dagger if there are too few non-members to resolve it."""
    return Cell(tpr_estimate(r.estimate, r.fpr), doubtful=not r.resolved)


def whisker(accuracy: Estimate) -> Whisker:
    """Return an accuracy with its interval as positions on a line from 40% to 100%."""
    span = _HIGHEST - _LOWEST
    # Clipped: what is below 40% is no leak, however far. Two decimals are finer than a pixel.
    ends = (accuracy.low, accuracy.value, accuracy.high, 0.5)
    return Whisker(*(round(100 * min(max((x - _LOWEST) / span, 0), 1), 2) for x in ends))


def game(
    g: GameDescription,
    *,
    adversary: str = "The adversary has",
    thresholds: str = "Thresholds were learnt",
    targets: tuple[str, str] | None = None,
) -> Pairs:
    """Return the game as a block of names and values.

    `adversary` and `thresholds` are the names of two lines; `targets` is name and value of the last
    line, by default the numbers of members and non-members.
    """
    n = f"{count(g.n_in)} members, {count(g.n_out)} non-members"
    last, told = targets or ("Targets", n)
    return pairs(
        {
            "Game": g.name,
            "The adversary guesses": g.question,
            adversary: g.adversary,
            "Where the truth comes from": g.secret,
            thresholds: g.thresholds,
            last: told,
        }
    )


MEANINGS: Mapping[str, str] = {
    "Member": "A record that went into what is released. A non-member is a record of the same "
    "kind that did not.",
    "Attack": "A way to guess, from the release and what the adversary has, whether a record is a "
    "member. It gives a score; above a threshold the guess is \u201cmember\u201d.",
    "Shadow model": "A model that the adversary trains on data of its own, to learn how members "
    "and non-members look.",
    "Balanced accuracy": "The share of right guesses, where members and non-members count the "
    "same. Guessing gives 50%.",
    "Advantage": "True-positive rate minus false-positive rate: 0 for guessing, 100% for always "
    "being right.",
    "TPR, recall": "True-positive rate: the share of the members that are found.",
    "FPR": "False-positive rate: the share of the non-members that are taken for members.",
    "TPR at FPR": "The share of members found when so many false alarms are allowed. A high value "
    "at a low rate means that some members are given away almost for certain, even if the average "
    "is mild.",
    "\N{DAGGER} dagger": "Too few non-members for this false-positive rate: fewer than 10 false "
    "positives are expected.",
    "ROC, AUC": "The curve of TPR over FPR for all thresholds, and the area under it: the "
    "probability that a member scores higher than a non-member. Guessing gives 0.5.",
    "Precision": "How often \u201cmember\u201d is right. It depends on how many of those asked "
    "about are members at all: it is shown for one half, whatever the files hold, and for several "
    "other shares.",
    "Epsilon": "The strength of a differential-privacy guarantee; smaller protects more. An attack "
    "can show that epsilon is at least so much, never that it is small.",
}
"""Meanings by term, in the order of the glossary."""


def interval(level: float, unit: str = "records") -> str:
    """Return the definition of an interval, for the glossary."""
    return (
        f"The range that the true number lies in, in {rate(level)} of audits like this one. It "
        f"gets narrower with more {unit}."
    )


def terms(*names: str) -> dict[str, str]:
    """Return the meanings of the given terms, in the order of `names`."""
    return {name: MEANINGS[name] for name in names}
