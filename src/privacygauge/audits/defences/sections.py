"""The sections of the page on defences."""

from __future__ import annotations

from privacygauge.audits.defences import plots
from privacygauge.audits.defences.found import AfterEpoch, BestAttack, ComparedDefence, DefenceAudit
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.defences import AttackedDefence
from privacygauge.report.blocks import columns, pairs, text
from privacygauge.report.defended import claim_shown, methods, one_by_one
from privacygauge.report.numbers import (
    DASH,
    Shown,
    count,
    decimal_estimate,
    fixed,
    percent_estimate,
    rate,
    shortened,
)
from privacygauge.report.values import (
    Block,
    Cell,
    Column,
    Content,
    Folded,
    Row,
    Section,
    Table,
    Text,
    Tone,
)

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


def sections(f: DefenceAudit) -> tuple[Section, ...]:
    """Return the page below the numbers."""
    return (
        Section("compared", "Defences compared", _compared(f), "Compared"),
        Section("risk", "How the risk is distributed", _risk(f), "Risk"),
        Section("records", "The records with the highest risk left", _records(f), "Records"),
        Section("each", "Each defence in full", _each(f), "Each in full"),
        Section("played", "How it was played", _played(f)),
    )


def right(estimate: Estimate) -> Shown:
    """Return a share of right guesses or answers."""
    return percent_estimate(estimate, 1)


def stopped(c: ComparedDefence) -> Shown:
    """Return what early stopping at the same accuracy leaves; a dash where there is no such."""
    if not isinstance(c.stopped, AfterEpoch):
        return Shown(DASH)
    return right(c.stopped.best.reached.accuracy)


def stopped_cell(c: ComparedDefence) -> Cell:
    """Return the same for a table, with the epoch."""
    if isinstance(c.stopped, AfterEpoch):
        return Cell(stopped(c), (f"epoch {c.stopped.epoch}",))
    return Cell(stopped(c), ("none is as accurate",) if c.stopped is not None else ())


def claim(c: ComparedDefence) -> tuple[str, ...]:
    """Return what an accountant says of a defence; nothing where none does."""
    return () if c.claim is None else (claim_shown(c.claim),)


def _compared(f: DefenceAudit) -> tuple[Block, ...]:
    return (
        text(
            "Each row is what the best of all attacks still reaches. Adaptive attackers know "
            "the defence and learn on a model of their own that they defended in the same way: "
            "these numbers say what a defence is worth. Non-adaptive ones learnt on undefended "
            "answers and are taken by surprise; they stand beside for comparison, and count "
            "only where they reach more, since whoever knows a defence is free to ignore it."
        ),
        Table(
            "compared",
            "What is left to attack, and what the defence costs",
            _columns(f),
            (_first(f), *(_line(f, c) for c in f.compared)),
            f"{rate(f.level)} intervals that allow for the choice among all attacks, defences and "
            "kinds of attackers; those of the model's accuracy, of the change and of the risk "
            "hold individually.",
        ),
        Text(_notes(f), Tone.NOTE),
        *plots.costs(f),
    )


def _columns(f: DefenceAudit) -> tuple[Column, ...]:
    attack, cost = "Best attack, adaptive", "What it costs"
    costs = (
        columns("Stopped early, as accurate", "Model right")
        if f.n_shadows
        else (Column("Model right", group=cost), Column("Mean change", group=cost))
    )
    risk = "Risk that so many members do not exceed"
    return (
        Column("Defence"),
        Column("Right guesses", group=attack),
        Column("AUC", group=attack),
        Column("Right guesses, non-adaptive", aside=True),
        *costs,
        *(Column(rate(q.share), group=risk) for q in f.compared[0].judged.quantiles),
    )


def _first(f: DefenceAudit) -> tuple[Content, ...]:
    """Return the row of the undefended model."""
    model = right(f.compared[0].before)
    costs = (Shown(DASH), model) if f.n_shadows else (model, Shown("0"))
    quantiles = f.compared[0].judged.quantiles
    return (
        Cell("none", ("the model as it is",)),
        right(f.none.accuracy),
        decimal_estimate(f.none.auc),
        Shown(DASH),
        *costs,
        *(decimal_estimate(q.undefended, 2) for q in quantiles),
    )


def _line(f: DefenceAudit, c: ComparedDefence) -> Row:
    best = c is f.best
    name = Cell(
        c.judged.name,
        (*((c.judged.variant,) if c.judged.variant else ()), *claim(c)),
        (*(("leaves least",) if best else ()), *(("can be undone",) if c.undone else ())),
    )
    model = right(c.after)
    change = decimal_estimate(c.judged.distance, 2)
    costs: tuple[Content, ...] = (stopped_cell(c), model) if f.n_shadows else (model, change)
    return Row(
        (
            name,
            right(c.adaptive.accuracy),
            decimal_estimate(c.adaptive.auc),
            right(c.non_adaptive.accuracy),
            *costs,
            *(decimal_estimate(q.defended, 2) for q in c.judged.quantiles),
        ),
        Tone.BEST if best else Tone.PLAIN,
    )


def _notes(f: DefenceAudit) -> tuple[str, ...]:
    change = "Mean change: L1 distance between true and released probabilities, 0 to 2. "
    undone = (
        "Can be undone: who knows or guesses the parameter computes the true answers. Its row says "
        "what the attacks of this audit made of it; it counts as the first row, no defence."
    )
    early = (
        "Stopped early: the undefended training, ended after the first epoch at which shadow "
        "models are as accurate as behind the defence. A defence at training is worth its trouble "
        "if it leaves less than that (Song and Mittal 2021, section 3.2.1). A dash: there is "
        "nothing to compare, or no recorded epoch is as accurate."
    )
    return (
        "Right guesses: members and non-members count the same, guessing gives 50%. Model right: "
        f"on records that it was not trained on. {'' if f.n_shadows else change}Risk: privacy risk "
        "score by an attacker who knows the defence, 0.5 is none.",
        *((undone,) if any(c.undone for c in f.compared) else ()),
        *((early,) if f.curve else ()),
    )


def _risk(f: DefenceAudit) -> tuple[Block, ...]:
    return (
        text(
            "The privacy risk score is the probability that a record is a member, given what "
            "an attacker who knows the defence sees, at even odds beforehand. A defence can "
            "lower the mean and leave some members exposed."
        ),
        plots.risk(f),
    )


def _records(f: DefenceAudit) -> tuple[Block, ...]:
    return (
        text(
            f"With {shortened(f.best.title)}. Records are named by id; their contents are not "
            "in this file. A non-member in this list is a false alarm."
        ),
        _worst("records", "By falling risk with the defence", f.best),
    )


def _worst(name: str, title: str, c: ComparedDefence) -> Table:
    return Table(
        name,
        title,
        columns("Id", "Member", "Risk without", "Risk with"),
        tuple(
            (
                shortened(record.id),
                "yes" if record.member else "no",
                fixed(record.undefended, 3),
                Shown(fixed(record.defended, 3)),
            )
            for record in c.judged.worst
        ),
    )


def _each(f: DefenceAudit) -> tuple[Block, ...]:
    ordered = sorted(f.compared, key=lambda c: c is not f.best)
    return (
        one_by_one(f.level),
        *(
            Folded(shortened(c.title), _in_full(f, c, number), c is f.best)
            for number, c in enumerate(ordered, 1)
        ),
    )


def _in_full(f: DefenceAudit, c: ComparedDefence, number: int) -> tuple[Block, ...]:
    title = shortened(c.title)
    records = _worst(f"records-{number}", f"Records with the highest risk left: {title}", c)
    return (
        Table(
            f"attacks-{number}",
            f"Right guesses of every attack: {title}",
            columns("Attack", "Undefended", "Non-adaptive", "Adaptive", "Lost", "AUC, adaptive"),
            tuple(_attack(a, c.adaptive) for a in c.judged.attacks),
            "Lost: what the defence takes from the adaptive attack, in points, on the same "
            "records.",
        ),
        Table(
            f"costs-{number}",
            f"What it changes: {title}",
            columns("Measure", f"{rate(f.level)} interval"),
            tuple((x.label.capitalize(), right(x.estimate)) for x in c.judged.costs),
        ),
        *(() if c is f.best else (records,)),
    )


def _attack(a: AttackedDefence, best: BestAttack) -> Row:
    value, low, high = (fixed(100 * x, 1) for x in (a.lost.value, a.lost.low, a.lost.high))
    games = (a.undefended, a.non_adaptive, a.adaptive)
    return Row(
        (
            a.title,
            *(right(game.accuracy) for game in games),
            Shown(value, low, high),
            decimal_estimate(a.adaptive.auc),
        ),
        Tone.BEST if a.title == best.attack else Tone.PLAIN,
    )


def _played(f: DefenceAudit) -> tuple[Block, ...]:
    c = f.compared[0]
    one = c.judged.attacks[0]
    models = f"{count(f.n_shadows)} shadow model{'' if f.n_shadows == 1 else 's'}"
    trained = (
        f"A target and {models} were trained without a defence, and again with each defence at "
        f"training, {_TRAINED}"
    )
    rows = {
        "Defences were fitted": f"{f.fitted.capitalize()}.",
        "Each record": "was asked about once. Where a defence draws at random, whoever gets "
        "several answers about one record learns more.",
        "Attacks": f"{count(f.n_attacks)}, the same in every game; each learns on the shadow "
        "model's records and is judged on the target's.",
        **methods(
            {
                "Right guesses, in the comparison": c.adaptive.accuracy,
                "AUC, in the comparison": c.adaptive.auc,
                "Right guesses, attack by attack": one.adaptive.accuracy,
                "Points lost": one.lost,
                "AUC, attack by attack": one.adaptive.auc,
                "The model's accuracy": c.after,
                "Mean change of an answer": c.judged.distance,
                **({"Early stopping": f.curve[0].best.accuracy} if f.curve else {}),
                "Quantiles of the risk": c.judged.quantiles[0].defended,
            }
        ),
    }
    return text(trained if f.n_shadows else _ANSWERS), pairs(rows)
