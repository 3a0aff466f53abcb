"""What an audit of defences says: its numbers, sections and words, as a report."""

from __future__ import annotations

from collections.abc import Iterator

from privacygauge.audits.defences.found import AfterEpoch, ComparedDefence, DefenceAudit
from privacygauge.audits.defences.frames import data, defences_frame, epochs_frame
from privacygauge.audits.defences.plots import marked
from privacygauge.audits.defences.sections import claim, right, sections, stopped
from privacygauge.audits.defences.verdict import adversary, verdict
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.report.attacks.measures import GUESSING
from privacygauge.report.blocks import table
from privacygauge.report.defended import AUC, MEMBER, limited
from privacygauge.report.grades import right_of
from privacygauge.report.numbers import (
    DASH,
    count,
    decimal_estimate,
    percent,
    plain,
    rate,
    shortened,
)
from privacygauge.report.values import About, Cell, Content, Measure, Report, Table, Worst


def report(f: DefenceAudit) -> Report:
    """Return everything that the audit says, as plain values."""
    epochs = {"epochs.csv": lambda: epochs_frame(f)} if f.curve else {}
    n = len(f.compared)
    defence = (
        "Another way to train the model, or a change of its answers before anybody sees them."
        if f.n_shadows
        else "A change of the model's answers before anybody sees them. The model stays as it is."
    )
    return Report(
        "defences",
        "Defences of a classifier, compared",
        about=About(
            f"A model behind a defence: {plain(f.best.title)}",
            "Somebody who holds a record and knows the defence guesses: was it in the model's "
            "training data?",
            "the defended answers, a model of its own behind the same defence, and the choice to "
            "undo or to ignore it",
            "membership-inference",
        ),
        intro=f"{count(f.n_in)} members and {count(f.n_out)} non-members; {count(f.n_attacks)} "
        "attacks on the undefended model and behind "
        f"{'the defence' if n == 1 else f'{count(n)} defences'}. Small figures are "
        f"{rate(f.level)} intervals, wide enough to hold together.",
        origin=f.origin,
        verdict=verdict(f),
        measures=tuple(_measures(f)),
        sections=sections(f),
        terms={"Defence": defence, **_TERMS},
        worst=Worst(ids=tuple(plain(shortened(record.id)) for record in f.best.judged.worst)),
        data=data(f),
        frames={"defences.csv": lambda: defences_frame(f), "attacks.csv": f.to_frame, **epochs},
        nothing_left_out="Nothing: every attack was played against every defence.",
        overview=(_overview(f),),
        sources="Song and Mittal, Systematic Evaluation of Privacy Risks of Machine Learning "
        "Models (2021); Jia and others, MemGuard (2019).",
    )


def _measures(f: DefenceAudit) -> Iterator[Measure]:
    best, name = f.best, plain(f.best.title)
    found, reached = best.left.reached, [c.left.reached for c in f.compared]
    label, note = "Right guesses without a defence", f"by {plain(f.none.attack)}"
    yield _card("accuracy-without", label, f.none.accuracy, note, "Guessing gives 50%.")
    note = f"with {name}, by {plain(best.left.leading)}, {adversary(best)}"
    label = f"{right_of(found)} that are left"
    yield _card("accuracy-left", label, found.accuracy, note, gate=True)
    label, surprised = "Right guesses if it is a surprise", best.non_adaptive.accuracy
    note, text = f"by an attacker who does not expect {name}", "Non-adaptive: do not count on it."
    yield _card("accuracy-non-adaptive", label, surprised, note, text)
    note = f"on records that it was not trained on; {percent(best.before.value)} without {name}"
    label, after = "The model's own accuracy with it", best.after
    yield Measure("model-accuracy", label, after, right(after), note, gate=False)
    yield _price(best)
    tenth = next(q for q in best.judged.quantiles if q.share == 0.9)
    risk = tenth.undefended if best.undone else tenth.defended
    note = f"privacy risk score; {percent(tenth.undefended.value)} without a defence"
    label, text = "Risk of one member in ten, at least", "Guessing gives 50%."
    yield Measure("risk-of-tenth", label, risk, right(risk), note, text, gate=False)
    area = best.left.auc
    label, shown = "AUC that is left with the best defence", decimal_estimate(area)
    yield Measure("auc-left", label, area, shown, guessing="0.5", card=False)
    turned = [c.title for c in f.compared if c.left.untold]
    which, gravest = "with the least private defence", max(reached, key=lambda x: x.accuracy.value)
    highest, areas = [x.accuracy for x in reached], [c.left.auc for c in f.compared]
    yield limited("accuracy", f"{right_of(gravest)} {which}", highest, right, GUESSING, turned)
    yield limited("auc", f"AUC {which}", areas, decimal_estimate, "0.5", turned)


def _card(
    name: str, label: str, found: Estimate, note: str, text: str = "", *, gate: bool = False
) -> Measure:
    return Measure(name, label, found, right(found), note, text, GUESSING, gate=gate)


def _price(best: ComparedDefence) -> Measure:
    """Return what early stopping leaves or, of a defence on answers, how far they are changed."""
    early = best.stopped
    if early is None:
        what, moved = "undefended" if best.at_training else "true", best.judged.distance
        text = f"L1 distance between the {what} and the released probabilities: 0 to 2."
        label, shown = "Mean change of an answer", decimal_estimate(moved, 2)
        return Measure("mean-change", label, moved, shown, "", text, gate=False)
    name, label = "accuracy-stopped-early", "Right guesses after stopping early"
    note, as_accurate = "no epoch is as accurate", "the undefended training, as accurate"
    found: Estimate | Skipped = early if isinstance(early, Skipped) else early.best.reached.accuracy
    if not isinstance(early, Skipped):
        note = f"after epoch {early.epoch}, model right {percent(early.accuracy.value)}"
    note, shown = f"{as_accurate}: {note}", stopped(best)
    return Measure(name, label, found, shown, note, guessing=GUESSING, gate=False)


def _overview(f: DefenceAudit) -> Table:
    title = "Right guesses of the best attack; guessing gives 50%"
    notes = {
        f"{title}.": True,
        "\N{DAGGER} can be undone by who knows it: counts as no defence.": any(
            c.undone for c in f.compared
        ),
        "Stopped early: the undefended training, stopped at the same accuracy.": bool(f.curve),
    }
    beside = "Stopped early" if f.curve else "Moved"
    first: dict[str, Content] = {
        "Defence": "none",
        "Adaptive": right(f.none.accuracy),
        "Non-adaptive": DASH,
        beside: DASH if f.curve else "0",
        "Model right": right(f.compared[0].before).value,
    }
    rows: list[dict[str, Content]] = [
        {
            "Defence": Cell(marked(c), claim(c)),
            "Adaptive": right(c.adaptive.accuracy),
            "Non-adaptive": right(c.non_adaptive.accuracy).value,
            beside: _beside(f, c),
            "Model right": right(c.after).value,
        }
        for c in f.compared
    ]
    note = " ".join(note for note, holds in notes.items() if holds)
    return table("overview", title, [first, *rows], note, spare=(beside, "Model right"))


def _beside(f: DefenceAudit, c: ComparedDefence) -> Content:
    if not f.curve:
        return decimal_estimate(c.judged.distance, 2).value
    epoch = (f"epoch {c.stopped.epoch}",) if isinstance(c.stopped, AfterEpoch) else ()
    return Cell(stopped(c).value, epoch)


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
