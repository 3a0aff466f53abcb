"""What the page shows of defences: cards and rows, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, field

from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.defences import AttackedDefence, WorstRecord
from privacygauge.report.defences.early import (
    claim_shown,
    epoch_named,
    epoch_shown,
    stopped_shown,
)
from privacygauge.report.defences.findings import BestAttack, ComparedDefence, ComparedDefences
from privacygauge.report.defences.verdict import adversary
from privacygauge.report.numbers import (
    DASH,
    Shown,
    count,
    decimal_estimate,
    fixed,
    percent,
    percent_estimate,
    plain,
    rate,
)
from privacygauge.report.views import Card, Method, shortened


@dataclass(frozen=True)
class Line:
    """The undefended model, or a defence, as a row of the table."""

    name: str
    """The defence."""
    variant: str
    """Its parameters."""
    undone: bool
    """Whether it can be undone."""
    best: bool
    """Whether it leaves least."""
    adaptive: Shown
    """Right guesses of the best attack."""
    attack: str
    """That attack."""
    auc: Shown
    """The highest AUC."""
    non_adaptive: Shown
    """Right guesses of the best attack that does not expect the defence."""
    model: Shown
    """The model's accuracy on non-members."""
    distance: Shown
    """Mean change of an answer."""
    risks: tuple[Shown, ...]
    """Quantiles of the members' risk."""
    stopped: Shown = field(default_factory=lambda: Shown(DASH))
    """Right guesses of the best attack after early stopping at the same accuracy."""
    epoch: str = ""
    """After which epoch that is."""
    claim: str = ""
    """What an accountant says of the defence."""


@dataclass(frozen=True)
class AttackLine:
    """One attack in the three games."""

    name: str
    """The attack."""
    best: bool
    """Whether it is the best adaptive one."""
    undefended: Shown
    """Right guesses without the defence."""
    non_adaptive: Shown
    """With it, unknown."""
    adaptive: Shown
    """With it, known."""
    lost: Shown
    """In points."""
    auc: Shown
    """Adaptive."""


@dataclass(frozen=True)
class RecordLine:
    """One of the records at the highest risk left."""

    id: str
    """The user's id."""
    member: bool
    """Whether it was in the training set."""
    before: str
    """Its risk without the defence."""
    after: str
    """With it."""


@dataclass(frozen=True)
class Full:
    """A defence in full."""

    title: str
    """Its name with its parameters."""
    best: bool
    """Whether it leaves least."""
    undone: bool
    """Whether it can be undone."""
    costs: tuple[tuple[str, Shown], ...]
    """What it costs."""
    attacks: tuple[AttackLine, ...]
    """Every attack."""
    records: tuple[RecordLine, ...]
    """The riskiest ones left."""


def cards(f: ComparedDefences) -> tuple[Card, ...]:
    """Return the numbers that come first."""
    best = f.best
    name = plain(best.title)
    tenth = next(q for q in best.judged.quantiles if q.share == 0.9)
    risk = tenth.undefended if best.undone else tenth.defended
    return (
        Card(
            "Right guesses without a defence",
            percent_estimate(f.none.accuracy, 1),
            f"By {plain(f.none.attack)}. Guessing gives 50%.",
        ),
        Card(
            "Right guesses that are left",
            percent_estimate(best.left.accuracy, 1),
            f"With {name}, by {plain(best.left.attack)}, {adversary(best)}.",
        ),
        Card(
            "Right guesses if it is a surprise",
            percent_estimate(best.non_adaptive.accuracy, 1),
            f"By an attacker who does not expect {name}. Non-adaptive: do not count on it.",
        ),
        Card(
            "The model's own accuracy with it",
            percent_estimate(best.after, 1),
            f"On records that it was not trained on; {percent(best.before.value)} without {name}.",
        ),
        _fifth(best),
        Card(
            "Risk of one member in ten, at least",
            percent_estimate(risk, 1),
            f"Privacy risk score; {percent(tenth.undefended.value)} without a defence. Guessing "
            "gives 50%.",
        ),
    )


def _fifth(best: ComparedDefence) -> Card:
    """Return what early stopping leaves or, of a defence on answers, how far they are changed."""
    if best.stopped is not None:
        return Card(
            "Right guesses after stopping early",
            stopped_shown(best),
            f"The undefended training, as accurate: {epoch_shown(best)}.",
        )
    what = "undefended" if best.at_training else "true"
    return Card(
        "Mean change of an answer",
        decimal_estimate(best.judged.distance, 2),
        f"L1 distance between the {what} and the released probabilities: 0 to 2.",
    )


def lines(f: ComparedDefences) -> tuple[Line, ...]:
    """Return a row for the undefended model and one for every defence."""
    quantiles = f.compared[0].judged.quantiles
    first = Line(
        "none",
        "the model as it is",
        False,
        False,
        percent_estimate(f.none.accuracy, 1),
        f.none.attack,
        decimal_estimate(f.none.auc),
        Shown(DASH),
        percent_estimate(f.compared[0].before, 1),
        Shown("0"),
        tuple(_risk(q.undefended) for q in quantiles),
    )
    return (first, *(_line(c, c is f.best) for c in f.compared))


def _line(c: ComparedDefence, best: bool) -> Line:
    judged, b = c.judged, c.adaptive
    return Line(
        judged.name,
        judged.variant,
        c.undone,
        best,
        percent_estimate(b.accuracy, 1),
        b.attack,
        decimal_estimate(b.auc),
        percent_estimate(c.non_adaptive.accuracy, 1),
        percent_estimate(c.after, 1),
        decimal_estimate(judged.distance, 2),
        tuple(_risk(q.defended) for q in judged.quantiles),
        stopped_shown(c),
        epoch_named(c),
        "" if c.claim is None else claim_shown(c.claim),
    )


def _risk(estimate: Estimate) -> Shown:
    return decimal_estimate(estimate, 2)


def in_full(f: ComparedDefences) -> tuple[Full, ...]:
    """Return every defence in full, the one that leaves least first."""
    ordered = sorted(f.compared, key=lambda c: c is not f.best)
    return tuple(
        Full(
            shortened(c.title),
            c is f.best,
            c.undone,
            tuple((x.label.capitalize(), percent_estimate(x.estimate, 1)) for x in c.judged.costs),
            tuple(_attack(a, c.adaptive) for a in c.judged.attacks),
            tuple(_record(r) for r in c.judged.worst),
        )
        for c in ordered
    )


def _attack(a: AttackedDefence, best: BestAttack) -> AttackLine:
    low, high = (fixed(100 * x, 1) for x in (a.lost.low, a.lost.high))
    return AttackLine(
        a.title,
        a.title == best.attack,
        percent_estimate(a.undefended.accuracy, 1),
        percent_estimate(a.non_adaptive.accuracy, 1),
        percent_estimate(a.adaptive.accuracy, 1),
        Shown(fixed(100 * a.lost.value, 1), low, high),
        decimal_estimate(a.adaptive.auc),
    )


def _record(r: WorstRecord) -> RecordLine:
    return RecordLine(shortened(r.id), r.member, fixed(r.undefended, 3), fixed(r.defended, 3))


def methods(f: ComparedDefences) -> tuple[Method, ...]:
    """Return how the intervals were made."""
    c = f.compared[0]
    one = c.judged.attacks[0]
    named = {
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
    return tuple(
        Method(name, f"{x.method}, {rate(x.level)}", count(x.n)) for name, x in named.items()
    )


def told(f: ComparedDefences) -> str:
    """Return what there is to see in the plot of defences."""
    rows = [f"none: advantage {_advantage(f.none)} points at a change of 0"]
    rows += [
        f"{plain(c.title)}: {_advantage(c.adaptive)} at {fixed(c.judged.distance.value, 2)}, "
        f"non-adaptive {_advantage(c.non_adaptive)}"
        for c in f.compared
    ]
    return "; ".join(rows) + "."


def told_of_accuracy(f: ComparedDefences) -> str:
    """Return what there is to see in the plot over the model's accuracy."""
    rows = [f"none: advantage {_advantage(f.none)} points at {percent(f.compared[0].before.value)}"]
    rows += [
        f"{plain(c.title)}: {_advantage(c.adaptive)} at {percent(c.after.value)}, non-adaptive "
        f"{_advantage(c.non_adaptive)}"
        for c in f.compared
    ]
    if f.curve:
        first, last = f.curve[0], f.curve[-1]
        rows.append(
            f"stopped early: from {_advantage(first.best)} at {percent(first.accuracy.value)} "
            f"after epoch {first.epoch} to {_advantage(last.best)} at "
            f"{percent(last.accuracy.value)} after epoch {last.epoch}"
        )
    return "; ".join(rows) + "."


def told_of_risk(f: ComparedDefences) -> str:
    """Return what there is to see in the plot of risks."""
    middle = f.compared[0].judged.quantiles[0]
    rows = [f"none {fixed(middle.undefended.value, 2)}"]
    rows += [
        f"{plain(c.title)} {fixed(c.judged.quantiles[0].defended.value, 2)}" for c in f.compared
    ]
    return f"Half of the members have at most a risk of: {'; '.join(rows)}."


def _advantage(b: BestAttack) -> str:
    return fixed(200 * b.accuracy.value - 100, 1)
