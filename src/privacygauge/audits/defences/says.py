"""What an audit of defences says: its numbers, sections and words, as a report."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from privacygauge.audits.defences.found import AfterEpoch, ComparedDefence, DefenceAudit
from privacygauge.audits.defences.frames import data, defences_frame, epochs_frame
from privacygauge.audits.defences.plots import marked
from privacygauge.audits.defences.sections import claim, right, sections, stopped
from privacygauge.audits.defences.verdict import adversary, verdict
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.report.attacks.measures import GUESSING
from privacygauge.report.blocks import columns
from privacygauge.report.defended import AUC, MEMBER, limited
from privacygauge.report.grades import right_of
from privacygauge.report.numbers import (
    DASH,
    count,
    decimal_estimate,
    percent,
    percent_estimate,
    plain,
    rate,
    shortened,
)
from privacygauge.report.values import About, Cell, Column, Content, Measure, Report, Table, Worst

if TYPE_CHECKING:
    import pandas as pd


def report(f: DefenceAudit) -> Report:
    """Return everything that the audit says, as plain values."""
    frames: dict[str, Callable[[], pd.DataFrame]] = {
        "defences.csv": lambda: defences_frame(f),
        "attacks.csv": f.to_frame,
    }
    if f.curve:
        frames["epochs.csv"] = lambda: epochs_frame(f)
    return Report(
        "defences",
        "Defences of a classifier, compared",
        about=_about(f),
        intro=_intro(f),
        origin=f.origin,
        verdict=verdict(f),
        measures=(*_cards(f), *_limits(f)),
        sections=sections(f),
        terms=_terms(f),
        worst=Worst(ids=tuple(plain(shortened(record.id)) for record in f.best.judged.worst)),
        data=data(f),
        frames=frames,
        nothing_left_out="Nothing: every attack was played against every defence.",
        overview=(_overview(f),),
        sources="Song and Mittal, Systematic Evaluation of Privacy Risks of Machine Learning "
        "Models (2021); Jia and others, MemGuard (2019).",
    )


def _about(f: DefenceAudit) -> About:
    return About(
        f"A model behind a defence: {plain(f.best.title)}",
        "Somebody who holds a record and knows the defence guesses: was it in the model's training "
        "data?",
        "the defended answers, a model of its own behind the same defence, and the choice to undo "
        "or to ignore it",
        "membership-inference",
    )


def _intro(f: DefenceAudit) -> str:
    n = len(f.compared)
    return (
        f"{count(f.n_in)} members and {count(f.n_out)} non-members; {count(f.n_attacks)} attacks "
        "on the undefended model and behind "
        f"{'the defence' if n == 1 else f'{count(n)} defences'}. Small figures are "
        f"{rate(f.level)} intervals, wide enough to hold together."
    )


def _cards(f: DefenceAudit) -> tuple[Measure, ...]:
    best, name = f.best, plain(f.best.title)
    return (
        _card(
            "accuracy-without",
            "Right guesses without a defence",
            f.none.accuracy,
            f"by {plain(f.none.attack)}",
            "Guessing gives 50%.",
        ),
        _card(
            "accuracy-left",
            f"{right_of(best.left.reached)} that are left",
            best.left.reached.accuracy,
            f"with {name}, by {plain(best.left.leading)}, {adversary(best)}",
            gate=True,
        ),
        _card(
            "accuracy-non-adaptive",
            "Right guesses if it is a surprise",
            best.non_adaptive.accuracy,
            f"by an attacker who does not expect {name}",
            "Non-adaptive: do not count on it.",
        ),
        Measure(
            "model-accuracy",
            "The model's own accuracy with it",
            best.after,
            percent_estimate(best.after, 1),
            f"on records that it was not trained on; {percent(best.before.value)} without {name}",
            gate=False,
        ),
        _price(best),
        _tenth(best),
    )


def _card(
    name: str, label: str, found: Estimate, note: str, text: str = "", *, gate: bool = False
) -> Measure:
    return Measure(name, label, found, percent_estimate(found, 1), note, text, GUESSING, gate=gate)


def _price(best: ComparedDefence) -> Measure:
    """Return what early stopping leaves or, of a defence on answers, how far they are changed."""
    if best.stopped is not None:
        early = best.stopped
        return Measure(
            "accuracy-stopped-early",
            "Right guesses after stopping early",
            early if isinstance(early, Skipped) else early.best.reached.accuracy,
            stopped(best),
            f"the undefended training, as accurate: {_epoch_shown(best.stopped)}",
            guessing=GUESSING,
            gate=False,
        )
    what = "undefended" if best.at_training else "true"
    return Measure(
        "mean-change",
        "Mean change of an answer",
        best.judged.distance,
        decimal_estimate(best.judged.distance, 2),
        text=f"L1 distance between the {what} and the released probabilities: 0 to 2.",
        gate=False,
    )


def _epoch_shown(stopped: AfterEpoch | Skipped) -> str:
    """Return after which epoch that is, or that there is none."""
    if isinstance(stopped, Skipped):
        return "no epoch is as accurate"
    return f"after epoch {stopped.epoch}, model right {percent(stopped.accuracy.value)}"


def _tenth(best: ComparedDefence) -> Measure:
    tenth = next(q for q in best.judged.quantiles if q.share == 0.9)
    risk = tenth.undefended if best.undone else tenth.defended
    return Measure(
        "risk-of-tenth",
        "Risk of one member in ten, at least",
        risk,
        percent_estimate(risk, 1),
        f"privacy risk score; {percent(tenth.undefended.value)} without a defence",
        "Guessing gives 50%.",
        gate=False,
    )


def _limits(f: DefenceAudit) -> tuple[Measure, ...]:
    """Return what is left with the best of the defences, and the highest with any of them."""
    turned = [c.title for c in f.compared if c.left.untold]
    area = f.best.left.auc
    reached = [c.left.reached for c in f.compared]
    accuracies, which = [x.accuracy for x in reached], "with the least private defence"
    gravest = max(reached, key=lambda x: x.accuracy.value)
    return (
        Measure(
            "auc-left",
            "AUC that is left with the best defence",
            area,
            decimal_estimate(area),
            guessing="0.5",
            card=False,
        ),
        limited("accuracy", f"{right_of(gravest)} {which}", accuracies, right, GUESSING, turned),
        limited(
            "auc", f"AUC {which}", [c.left.auc for c in f.compared], decimal_estimate, "0.5", turned
        ),
    )


def _overview(f: DefenceAudit) -> Table:
    title, first = "Right guesses of the best attack; guessing gives 50%", f.compared[0].before
    notes = {
        "\N{DAGGER} can be undone by who knows it: counts as no defence.": any(
            c.undone for c in f.compared
        ),
        "Stopped early: the undefended training, stopped at the same accuracy.": bool(f.curve),
    }
    return Table(
        "overview",
        title,
        columns(
            "Defence",
            "Adaptive",
            "Non-adaptive",
            Column("Stopped early" if f.curve else "Moved", needed=False),
            Column("Model right", needed=False),
        ),
        (
            ("none", right(f.none.accuracy), DASH, DASH if f.curve else "0", _value(first)),
            *(
                (
                    Cell(marked(c), claim(c)),
                    right(c.adaptive.accuracy),
                    _value(c.non_adaptive.accuracy),
                    _beside(f, c),
                    _value(c.after),
                )
                for c in f.compared
            ),
        ),
        " ".join((f"{title}.", *(note for note, holds in notes.items() if holds))),
    )


def _value(estimate: Estimate) -> str:
    return percent_estimate(estimate).value


def _beside(f: DefenceAudit, c: ComparedDefence) -> Content:
    if not f.curve:
        return decimal_estimate(c.judged.distance, 2).value
    epoch = (f"epoch {c.stopped.epoch}",) if isinstance(c.stopped, AfterEpoch) else ()
    return Cell(stopped(c).value, epoch)


def _terms(f: DefenceAudit) -> dict[str, str]:
    defence = (
        "Another way to train the model, or a change of its answers before anybody sees them."
        if f.n_shadows
        else "A change of the model's answers before anybody sees them. The model stays as it is."
    )
    return {"Defence": defence, **_TERMS}


_TERMS = {
    "Member": MEMBER,
    "Attack": "A way to guess from an answer whether a record is a member.",
    "Shadow model": "A model that the attacker trains on data of its own, to learn how members and "
    "non-members look.",
    "Adaptive": "The attacker knows the defence and uses it on the shadow model before learning. "
    "What counts.",
    "Non-adaptive": "The attacker learnt on undefended answers. Flatters the defence.",
    "Right guesses": "Balanced accuracy: members and non-members count the same. Guessing gives "
    "50%.",
    "Advantage": "True-positive rate minus false-positive rate: 0 for guessing, 100 points for "
    "always being right.",
    "AUC": AUC,
    "Mean change": "How far released answers are from the true ones: the sum of the absolute "
    "differences of all probabilities, between 0 and 2.",
    "Can be undone": "The true answers follow from the released ones for whoever knows the "
    "parameter, such as a temperature.",
    "Privacy risk score": "The probability that a record is a member, given what the attacker "
    "sees, at even odds beforehand.",
    "Bonferroni": "Who looks often finds something by luck. The error is shared among all looks, "
    "so that all of them hold together.",
}
