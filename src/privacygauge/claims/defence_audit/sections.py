"""The sections and plots of the page on defences: values in, blocks and Axes out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from privacygauge.claims.defence_audit.verdict import DefenceResult
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.defences import AfterEpoch, ComparedDefence
from privacygauge.evaluate.headline import BestAttack
from privacygauge.report.axes import DASHES, INK, OTHER, SERIES, axes, legend_above, plot_label
from privacygauge.report.defended import (
    Point,
    claim_shown,
    methods,
    one_by_one,
    over_accuracy,
    plot_points,
)
from privacygauge.report.numbers import (
    DASH,
    Shown,
    count,
    decimal,
    decimal_estimate,
    percent,
    percent_estimate,
    plain,
    rate,
    several,
    shorten,
)
from privacygauge.report.values import (
    Axes,
    Block,
    Cell,
    Column,
    FoldedBlocks,
    Plot,
    Row,
    Rows,
    Section,
    Table,
    Tone,
    columns,
    note,
    pairs,
    table,
    text,
)

_CURVE = (
    " The line is the undefended training, epoch by epoch: a point above it leaves more than "
    "stopping early at the same accuracy."
)


def mark_undone(c: ComparedDefence) -> str:
    """Return a defence's name, with a dagger if it can be undone."""
    return c.title + (" \N{DAGGER}" if c.undone else "")


def cost_plots(f: DefenceResult) -> Iterator[Plot]:
    """Yield the plots of the remaining leak over the cost.

    The cost is the change of answers, for defences on one model only, since answers of other models
    differ anyway; and the accuracy, if it changes.
    """
    changed = any(c.before.value != c.after.value for c in f.compared)
    if not f.trained:
        undone = " \N{DAGGER} can be undone." if any(c.undone for c in f.compared) else ""
        rows = [f"none: advantage {_advantage(f.none)} points at a change of 0"]
        rows += [
            f"{plain(c.title)}: {_advantage(c.adaptive)} at {decimal(c.judged.distance.value, 2)}, "
            f"non-adaptive {_advantage(c.non_adaptive)}"
            for c in f.compared
        ]
        yield Plot(
            "trade-off",
            "Privacy against what it costs",
            caption=(
                "Down is private, left is cheap. Filled points: the attacker knows the defence, "
                "with intervals that hold together. Hollow points: it does not. The dotted line "
                "is guessing; an advantage of 100 points is always being right, by the guesses "
                f"or at least by the ranking, whichever goes further.{undone}"
            ),
            words="; ".join(rows) + ".",
            draw=lambda: plot_trade_off(f),
        )
    if f.trained or changed:
        undefended = f.compared[0].before
        points = [f"none: advantage {_advantage(f.none)} points at {percent(undefended.value)}"]
        points += [
            f"{plain(c.title)}: {_advantage(c.adaptive)} at {percent(c.after.value)}, non-adaptive "
            f"{_advantage(c.non_adaptive)}"
            for c in f.compared
        ]
        if f.curve:
            first, last = (
                f"{_advantage(x.best)} at {percent(x.accuracy.value)} after epoch {x.epoch}"
                for x in (f.curve[0], f.curve[-1])
            )
            points.append(f"stopped early: from {first} to {last}")
        yield Plot(
            "accuracy",
            "Privacy against the model's accuracy",
            caption=(
                "Down is private, right is accurate: the best attack over the model's accuracy "
                "on records that it was not trained on. Filled points: the attacker knows the "
                "defence. Hollow points: it does not." + (_CURVE if f.curve else "")
            ),
            words="; ".join(points) + ".",
            draw=lambda: plot_accuracy(f),
        )


def _advantage(b: BestAttack) -> str:
    return decimal(b.advantage[0], 1)


def plot_trade_off(f: DefenceResult, ax: Axes | None = None) -> Axes:
    """Draw the best attack's advantage over the change of answers.

    Filled: the adversary knows the defence. Hollow: it does not. Bars are intervals that
    hold together. The numbers are those of ``defences.csv``.
    """
    start = Estimate(
        value=0.0, low=0.0, high=0.0, level=f.level, n=f.n_in + f.n_out, method="exact"
    )
    ax = _plot(f, ax, start, [c.judged.distance for c in f.compared])
    ax.set(xlabel="Mean change of an answer (L1 distance)", xlim=(-0.04, None))
    return ax


def plot_accuracy(f: DefenceResult) -> Axes:
    """Draw the best attack's advantage over the model's accuracy on non-members.

    A defence costs accuracy, and so does early stopping: a line joins its recorded epochs (Song &
    Mittal 2021, section 3.2).
    """
    ax = axes(None)
    if f.curve:
        # The undefended training epoch by epoch.
        x = [point.accuracy.value for point in f.curve]
        y, low, high = zip(*(point.best.advantage for point in f.curve), strict=True)
        ax.plot(x, y, color=OTHER, lw=1.0, marker=".", ms=4, label="stopped early")
        ax.vlines(x, low, high, color=OTHER, lw=0.7, alpha=0.45)
        # Names only where they do not run into each other: a tenth of the accuracies' range apart.
        least = (max(x) - min(x)) / 10
        last = -np.inf
        for point, across, up in zip(f.curve, x, y, strict=True):
            if abs(across - last) >= least:
                last = across
                ax.annotate(f"{point.epoch}", (across, up), xytext=(0, 5),
                            textcoords="offset points", ha="center", fontsize=6.5,
                            color=OTHER)  # fmt: skip
    return over_accuracy(_plot(f, ax, f.compared[0].before, [c.after for c in f.compared]))


def plot_risk(f: DefenceResult) -> Axes:
    """Draw the distribution of the members' risk without a defence and with each of them."""
    ax = axes(None)
    curves = [("no defence", f.risk, INK)]
    for i, c in enumerate(f.compared):
        curves.append((plot_label(c.title), c.judged.risk, SERIES[i % len(SERIES)]))
    for i, (name, found, colour) in enumerate(curves):
        x = np.concatenate([[0.0], found.member_scores, [1.0]])
        # Share of the members with at most each score, from 0% at 0 to 100% at 1.
        y = np.concatenate([[0.0], np.arange(1, len(x) - 1) / (len(x) - 2), [1.0]])
        ax.plot(x, 100 * y, color=colour, ls=DASHES[i % len(DASHES)], lw=1.5,
                drawstyle="steps-post", label=name)  # fmt: skip
    ax.axvline(0.5, color=OTHER, lw=0.9, ls=(0, (1, 2)))
    ax.set(xlabel="Privacy risk score", ylabel="Members with at most this risk, %")
    ax.set(xlim=(0, 1), ylim=(0, 101))
    legend_above(ax, len(curves), 3.2)
    return ax


def _plot(f: DefenceResult, ax: Axes | None, before: Estimate, after: list[Estimate]) -> Axes:
    """Draw the undefended model and all defences, each over its cost."""
    points = [Point("no defence", before, f.none.advantage)]
    for c, cost in zip(f.compared, after, strict=True):
        surprised = c.non_adaptive.advantage[0]
        points.append(Point(mark_undone(c), cost, c.adaptive.advantage, surprised))
    ax = plot_points(points, ax, 0, more=bool(f.curve))
    ax.set(ylabel="Advantage of the best attack, points")
    return ax


_TRAINED = (
    "on records that fair coins put into each model's training set; the target has the same "
    "records every time. Three games on the same records. Undefended: the target and the "
    "attacker's shadow models are trained without the defence. Non-adaptive: the target is "
    "defended, the shadow models are not. Adaptive: all are defended. A defence has to be judged "
    "by the last (Song and Mittal 2021, section 3.2). A defence on answers stands before the "
    "undefended models."
)
_ANSWERS = (
    "Three games on the same records. Undefended: the model answers as it is, and the attacker "
    "learns on the answers of a shadow model. Non-adaptive: the model's answers are defended, the "
    "shadow model's are not. Adaptive: both are defended, each by a defence of its own that was "
    "fitted and drawn apart. A defence has to be judged by the last (Song and Mittal 2021, section "
    "3.2)."
)


_RISK = text(
    "The privacy risk score is the probability that a record is a member, given what an attacker "
    "who knows the defence sees, at even odds beforehand. A defence can lower the mean and leave "
    "some members exposed."
)


def sections(f: DefenceResult) -> tuple[Section, ...]:
    """Return the sections of the page below the numbers."""
    which = text(
        f"With {shorten(f.best.title)}. Records are named by id; their contents are not in this "
        "file. A non-member in this list is a false alarm."
    )
    worst = _worst("records", "By falling risk with the defence", f.best)
    middle = f.compared[0].judged.quantiles[0]
    rows = [f"none {decimal(middle.undefended.value, 2)}"]
    rows += [
        f"{plain(c.title)} {decimal(c.judged.quantiles[0].defended.value, 2)}" for c in f.compared
    ]
    caption = (
        "The further left a curve rises, the fewer members are at risk. The dotted line, 0.5, is "
        "no risk. By attackers who know the defence."
    )
    told = f"Half of the members have at most a risk of: {'; '.join(rows)}."
    title = "How the members' risk is distributed"
    method: list[Block] = []
    first = f.compared[0]
    one = first.judged.attacks[0]
    trained = (
        f"A target and {several(f.n_shadows, 'shadow model')} were trained without a defence, and "
        f"again with each defence at training, {_TRAINED}"
    )
    settings = {
        "Defences were fitted": f"{f.fitted.capitalize()}.",
        "Each record": "was asked about once. Where a defence draws at random, whoever gets "
        "several answers about one record learns more.",
        "Attacks": f"{count(f.n_attacks)}, the same in every game; each learns on the shadow "
        "model's records and is judged on the target's.",
        **methods(
            {
                "Right guesses, in the comparison": first.adaptive.accuracy,
                "AUC, in the comparison": first.adaptive.auc,
                "Right guesses, attack by attack": one.adaptive.accuracy,
                "Points lost": one.lost,
                "AUC, attack by attack": one.adaptive.auc,
                "The model's accuracy": first.after,
                "Mean change of an answer": first.judged.distance,
                **({"Early stopping": f.curve[0].best.accuracy} if f.curve else {}),
                "Quantiles of the risk": first.judged.quantiles[0].defended,
            }
        ),
    }
    method.append(text(trained if f.n_shadows else _ANSWERS))
    method.append(pairs(settings))
    return (
        Section("compared", "Defences compared", tuple(_comparison_section(f)), "Compared"),
        Section(
            "risk",
            "How the risk is distributed",
            (
                _RISK,
                Plot("risk-cdf", title, caption=caption, words=told, draw=lambda: plot_risk(f)),
            ),
            "Risk",
        ),
        Section("records", "The records with the highest risk left", (which, worst), "Records"),
        Section("each", "Each defence in full", tuple(_defence_sections(f)), "Each in full"),
        Section("played", "How it was played", tuple(method)),
    )


def right(estimate: Estimate) -> Shown:
    """Return a share of right guesses or answers."""
    return percent_estimate(estimate, 1)


def early_stopping_result(c: ComparedDefence) -> Shown:
    """Return the leak left by early stopping at the same accuracy; a dash if there is none."""
    if not isinstance(c.stopped, AfterEpoch):
        return Shown(DASH)
    return right(c.stopped.best.reached.accuracy)


def claim(c: ComparedDefence) -> tuple[str, ...]:
    """Return the accountant's claim about a defence; empty without one."""
    return () if c.claim is None else (claim_shown(c.claim),)


def _comparison_section(f: DefenceResult) -> Iterator[Block]:
    yield text(
        "Each row is what the best of all attacks still reaches. Adaptive attackers know "
        "the defence and learn on a model of their own that they defended in the same way: "
        "these numbers say what a defence is worth. Non-adaptive ones learnt on undefended "
        "answers and are taken by surprise; they stand beside for comparison, and count "
        "only where they reach more, since whoever knows a defence is free to ignore it."
    )
    attack = "Best attack, adaptive"
    cost = "What it costs"
    costs = (
        columns("Stopped early, as accurate", "Model right")
        if f.n_shadows
        else (Column("Model right", group=cost), Column("Mean change", group=cost))
    )
    risk = "Risk that so many members do not exceed"
    rows = []
    # The undefended model first, as None.
    for c in (None, *f.compared):
        first = c or f.compared[0]
        left = f.none if c is None else c.adaptive
        name = Cell("none", ("the model as it is",))
        if c is not None:
            variant = (c.judged.variant,) if c.judged.variant else ()
            tags = {"leaves least": c is f.best, "can be undone": c.undone}
            below = (*variant, *claim(c))
            name = Cell(c.judged.name, below, tuple(x for x in tags if tags[x]))
        epoch = () if c is None or c.stopped is None else ("none is as accurate",)
        if c is not None and isinstance(c.stopped, AfterEpoch):
            epoch = (f"epoch {c.stopped.epoch}",)
        early = Shown(DASH) if c is None else Cell(early_stopping_result(c), epoch)
        model = right(first.before if c is None else first.after)
        moved = Shown("0") if c is None else decimal_estimate(c.judged.distance, 2)
        risks = [q.undefended if c is None else q.defended for q in first.judged.quantiles]
        cells = (
            name,
            right(left.accuracy),
            decimal_estimate(left.auc),
            Shown(DASH) if c is None else right(c.non_adaptive.accuracy),
            *((early, model) if f.n_shadows else (model, moved)),
            *(decimal_estimate(x, 2) for x in risks),
        )
        rows.append(Row(cells, Tone.BEST if c is f.best else Tone.PLAIN))
    yield Table(
        "compared",
        "What is left to attack, and what the defence costs",
        columns=(
            Column("Defence"),
            Column("Right guesses", group=attack),
            Column("AUC", group=attack),
            Column("Right guesses, non-adaptive", aside=True),
            *costs,
            *(Column(rate(q.share), group=risk) for q in f.compared[0].judged.quantiles),
        ),
        rows=tuple(rows),
        note=(
            f"{rate(f.level)} intervals that allow for the choice among all attacks, defences and "
            "kinds of attackers; those of the model's accuracy, of the change and of the risk "
            "hold individually."
        ),
    )
    notes: list[str] = []
    change = "Mean change: L1 distance between true and released probabilities, 0 to 2. "
    notes.append(
        "Right guesses: members and non-members count the same, guessing gives 50%. Model right: "
        f"on records that it was not trained on. {'' if f.n_shadows else change}Risk: privacy risk "
        "score by an attacker who knows the defence, 0.5 is none."
    )
    if any(c.undone for c in f.compared):
        notes.append(
            "Can be undone: who knows or guesses the parameter computes the true answers. Its row "
            "says what the attacks of this audit made of it; it counts as the first row, no "
            "defence."
        )
    if f.curve:
        notes.append(
            "Stopped early: the undefended training, ended after the first epoch at which shadow "
            "models are as accurate as behind the defence. A defence at training is worth its "
            "trouble if it leaves less than that (Song and Mittal 2021, section 3.2.1). A dash: "
            "there is nothing to compare, or no recorded epoch is as accurate."
        )
    yield note(*notes)
    yield from cost_plots(f)


def _worst(name: str, title: str, c: ComparedDefence) -> Table:
    rows: Rows = [
        {
            "Id": shorten(record.id),
            "Member": "yes" if record.member else "no",
            "Risk without": decimal(record.undefended, 3),
            "Risk with": Shown(decimal(record.defended, 3)),
        }
        for record in c.judged.worst
    ]
    return table(name, title, rows)


def _defence_sections(f: DefenceResult) -> Iterator[Block]:
    yield one_by_one(f.level)
    # The best defence first and unfolded; the others keep their order.
    for number, c in enumerate(sorted(f.compared, key=lambda c: c is not f.best), 1):
        best = c is f.best
        title = shorten(c.title)
        rows: Rows = [
            {
                "Attack": a.title,
                "Undefended": right(a.undefended.accuracy),
                "Non-adaptive": right(a.non_adaptive.accuracy),
                "Adaptive": right(a.adaptive.accuracy),
                "Lost": Shown(
                    *(decimal(100 * x, 1) for x in (a.lost.value, a.lost.low, a.lost.high))
                ),
                "AUC, adaptive": decimal_estimate(a.adaptive.auc),
            }
            for a in c.judged.attacks
        ]
        attacks = table(
            f"attacks-{number}",
            f"Right guesses of every attack: {title}",
            rows,
            "Lost: what the defence takes from the adaptive attack, in points, on the same "
            "records.",
            best=[a.title == c.adaptive.attack for a in c.judged.attacks],
        )
        interval = f"{rate(f.level)} interval"
        changed: Rows = [
            {"Measure": x.label.capitalize(), interval: right(x.estimate)} for x in c.judged.costs
        ]
        costs = table(f"costs-{number}", f"What it changes: {title}", changed)
        records = _worst(f"records-{number}", f"Records with the highest risk left: {title}", c)
        yield FoldedBlocks(title, (attacks, costs) if best else (attacks, costs, records), best)
