"""Sections of the page on a language model, and its tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from privacygauge.audits.language.result import LanguageResult
from privacygauge.audits.language.verdict import measured_on
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.language.controls import ControlFinding, MatchedAttack
from privacygauge.language.units import UnitFindings
from privacygauge.report.attacks import measures, plots, records, tables
from privacygauge.report.attacks.records import RECORDS, Riskiest
from privacygauge.report.blocks import note, table, text
from privacygauge.report.numbers import (
    DASH,
    count,
    decimal,
    decimal_estimate,
    percent,
    percent_estimate,
    plain,
    rate,
    shorten,
)
from privacygauge.report.values import Block, Cell, Content, Heading, Plot, Section, Table

_RATES = (0.1, 0.01)
"""False-positive rates of the smaller tables of attacks."""

_FIRES = "FIRES"
"""Mark of a control that tells members from non-members."""

_LOG = (
    "How many members an attack finds (up) for how many false alarms (right), enlarged at few "
    "false alarms: a curve far above the dotted diagonal on the left gives some members away "
    "almost for certain."
)


def all_sections(f: LanguageResult) -> tuple[Section, ...]:
    """Return the page below the numbers."""
    game = tables.game(
        f.game,
        adversary="The adversary",
        thresholds="Thresholds were taken",
        targets=("Judged", measured_on(f)),
    )
    questions = measures.questions_section(f.questions)
    return (
        Section("controls", "Is the test honest?", tuple(_controls(f))),
        Section("game", "What was played", (game,), "The game"),
        tables.section(f.attacks(f.samples)),
        Section("thresholds", "Thresholds", tuple(_thresholds(f))),
        Section("patients", "Patient by patient", tuple(_patients(f)), "Patients"),
        *(() if questions is None else (questions,)),
        Section("lengths", "Short and long samples", tuple(_lengths(f)), "Short and long"),
        Section("curves", "Curves", tuple(_curves(f))),
        Section("records", "The riskiest samples", tuple(_riskiest(f)), "Riskiest samples"),
    )


def overview(f: LanguageResult) -> Iterator[Table]:
    """Yield the tables of a terminal below the numbers."""
    area = f"AUC ({rate(f.level)} interval)"
    yield table(
        "areas",
        "Areas under the ROC curves",
        [
            {"Attack": e.title, area: decimal_estimate(e.auc)}
            for unit in f.units
            for e in unit.signals
        ],
        f"Judged: {measured_on(f)}.",
        prose=("Attack",),
    )
    rows = list(_control_rows(f))
    yield table(
        "controls-in-short",
        "Controls",
        [
            {"Control": x["Control"], "AUC, or its fall": x["Value"], "Says": x["Says"]}
            for x in rows
        ],
        prose=("Control", "Says"),
        spare=("AUC, or its fall",),
        best=[x["Says"] == _FIRES for x in rows],
    )
    yield from map(_thresholds_in_short, f.units)


def riskiest(f: LanguageResult) -> Riskiest:
    """Return the members' samples with the highest scores."""
    return records.riskiest_records(f.records, f.energies.signal, f.energies.score, members=True)


def _controls(f: LanguageResult) -> Iterator[Block]:
    yield text(
        "If members and non-members differ in more than membership, such as topic or style, an "
        "attack tells them apart without any leak. Controls that never saw what the model "
        "memorised look for such differences. Their intervals hold together at "
        f"{rate(f.level)}: in an honest test all of them stay quiet that often. Silence does not "
        "prove that there is no difference."
    )
    rows = list(_control_rows(f))
    fired = [x["Says"] == _FIRES for x in rows]
    yield table("controls", "Controls", rows, prose=("Says", "What it is"), best=fired)


def _control_rows(f: LanguageResult) -> Iterator[dict[str, Content]]:
    yield _control(
        "Reference model alone",
        f.controls.reference,
        "AUC of the energies under a model that saw none of the samples; 0.5 in an honest test",
    )
    yield _control(
        "Spread under the reference model",
        f.controls.spread,
        "AUC of how far a sample's energy under that model is from the middle; 0.5 in an honest "
        "test",
    )
    yield _control(
        "Words alone",
        f.controls.blind,
        "AUC of a classifier that sees the words and no model, on people that it did not learn "
        "from; at most 0.5 in an honest test, but for chance",
    )
    matched = f.controls.matched
    fall = ""
    if not isinstance(matched, Skipped):
        fall = (
            f"Fall of the AUC of {f.energies.signal}, from {decimal(matched.before, 3)} to "
            f"{decimal_estimate(matched.after)} among samples that the reference model finds "
            "equally hard; 0 in an honest test"
        )
    yield _control("Attack after matching", matched, fall)
    yield _control(
        "Number of texts alone",
        f.controls.sizes,
        "AUC of how many texts a patient has; 0.5 where both sides were drawn alike. The numbers "
        "stand even if it fires: patients are compared on equally many texts",
    )


def _control(
    name: str, found: ControlFinding | MatchedAttack | Skipped, text: str
) -> dict[str, Content]:
    value: Content = DASH
    if isinstance(found, Skipped):
        says = "not played"
        text = f"Not played: {found.reason}"
    else:
        value = decimal_estimate(found.fall if isinstance(found, MatchedAttack) else found.auc)
        says = _FIRES if found.fires else "quiet"
    return {"Control": name, "Value": value, "Says": says, "What it is": text}


def _thresholds(f: LanguageResult) -> Iterator[Block]:
    yield text(
        "A threshold is chosen for a rate of false positives. What it gives on the judged "
        "non-members may differ, and precision and recall hold for what it gives. An oracle "
        "threshold is taken from those very non-members: no attacker has it, but published tables "
        "are often of that kind."
    )
    yield _thresholds_of(f.samples, "thresholds", "Sample by sample")


def _thresholds_of(unit: UnitFindings, name: str, title: str) -> Table:
    return table(
        name,
        title,
        [
            {
                "Attack": Cell(e.name, (t.kind,)),
                "False positives asked for": DASH if t.asked is None else rate(t.asked),
                "Realised": Cell(
                    percent_estimate(t.realised, 1), tags=() if t.kept else ("differs",)
                ),
                "Members found (recall)": percent_estimate(e.recall, 1),
                "Right when it says \u201cmember\u201d (precision)": percent_estimate(
                    e.precision, 1
                ),
                "Taken from": count(t.n),
            }
            for t, e in zip(unit.thresholds, unit.evaluations, strict=True)
        ],
    )


def _thresholds_in_short(unit: UnitFindings) -> Table:
    """Return asked and realised rate, precision and recall of every threshold."""
    return table(
        f"thresholds-by-{unit.unit}",
        f"Thresholds, {unit.unit} by {unit.unit}",
        [
            {
                f"\nBy {unit.unit}": f"{e.name} ({t.kind})",
                "FPR\nasked": DASH if t.asked is None else rate(t.asked),
                "FPR\nrealised": percent_estimate(t.realised, 1),
                "\nPrecision": DASH
                if isinstance(e.precision, Skipped)
                else percent(e.precision.value),
                "\nRecall": percent(e.recall.value),
            }
            for t, e in zip(unit.thresholds, unit.evaluations, strict=True)
        ],
        prose=(f"\nBy {unit.unit}",),
        spare=("FPR\nrealised",),
    )


def _patients(f: LanguageResult) -> Iterator[Block]:
    unit = f.patients
    if isinstance(unit, Skipped):
        yield text(f"Not played: {unit.reason}.")
        return
    yield text(
        "The score of a patient is the mean over the patient's samples. A claim about privacy is "
        "about people: this is what somebody who holds several notes of a person can tell."
    )
    sizes = f"{count(unit.n_in)} members and {count(unit.n_out)} non-members"
    title = f"How well each attack did on {sizes}"
    best = unit.headline.attack.title
    yield _attacks(unit.evaluations, best, "patients", title)
    yield _thresholds_of(unit, "patient-thresholds", "Thresholds, patient by patient")
    if unit.notes:
        yield note(*unit.notes)
    yield Heading("Patients most at risk")
    yield text(
        "Members by falling mean score, named by id. A high score alone is no proof: the false "
        "positives above say how often it misleads."
    )
    assert f.rows is not None
    rows = f.rows
    yield table(
        "worst",
        "Patients by falling mean score",
        [
            {
                "Patient": shorten(rows.names[i]),
                "Mean score": decimal(float(rows.score[i]), 3),
                "Samples": count(int(rows.samples[i])),
            }
            for i in rows.order[:RECORDS].tolist()
        ],
        at_once=10,
    )


def _attacks(evaluations: Sequence[Evaluation], best: str, name: str, title: str) -> Table:
    return tables.main_table(evaluations, best, name=name, title=title, fprs=_RATES, epsilon=False)


def _lengths(f: LanguageResult) -> Iterator[Block]:
    if not f.lengths:
        yield text("Not looked at; the reason is below.")
        return
    yield text(
        "The same attacks on samples of some lengths alone, with thresholds taken from samples of "
        "those lengths. Each table holds individually."
    )
    for part in f.lengths:
        which = f"{part.name.capitalize()} samples ({part.fewest} to {part.most} tokens)"
        title = f"{which}, {count(part.n_in)} members and {count(part.n_out)} non-members"
        best = f.headline.attack.title
        yield _attacks(part.evaluations, best, f"length-{part.name}", title)


def _curves(f: LanguageResult) -> Iterator[Plot]:
    signals = f.samples.signals
    name = plain(f.headline.attack.name)
    yield plots.roc_log(signals, caption=_LOG)
    yield plots.roc(signals, caption="The same on plain axes. The dotted diagonal is guessing.")
    if not isinstance(f.patients, Skipped):
        title = "ROC curves, patient by patient"
        yield plots.roc_log(f.patients.signals, name="roc-patients", title=title, caption=_LOG)
    words = f"The scores of {name} for members and non-members. {plots.areas(signals)}"
    yield plots.scores(f.headline.attack, title=name, words=words, wide=False)


def _riskiest(f: LanguageResult) -> Iterator[Block]:
    found = riskiest(f)
    hidden = "" if f.records.contents else "; their texts are not in this file"
    yield text(f"Members by falling score of {found.by}, named by id{hidden}.")
    title = "Samples by falling score"
    heads = ("Sample", "Score")
    yield records.table(found, title, heads=heads, attacks="", whole=True)
    yield note(
        f"{count(len(found.rows))} of {count(found.n)} members' samples are shown; all judged "
        "samples are in records.parquet."
    )
