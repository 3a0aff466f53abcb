"""The sections of the page on a language model, and what a terminal prints of them."""

from __future__ import annotations

from privacygauge.audits.language.found import ControlFinding, LanguageAudit, UnitFindings
from privacygauge.audits.language.verdict import measured_on
from privacygauge.core.estimate import Skipped
from privacygauge.language.matching import MatchedAttack
from privacygauge.report.attacks import plots, records, tables
from privacygauge.report.attacks.records import RECORDS, Riskiest
from privacygauge.report.blocks import columns, note, text
from privacygauge.report.numbers import (
    DASH,
    count,
    decimal_estimate,
    fixed,
    percent,
    percent_estimate,
    plain,
    rate,
    shortened,
)
from privacygauge.report.values import (
    Block,
    Cell,
    Column,
    Content,
    Heading,
    Plot,
    Row,
    Section,
    Table,
    Text,
    Tone,
)

_RATES = (0.1, 0.01)
"""False-positive rates that smaller tables of attacks show."""

_LOG = (
    "How many members an attack finds (up) for how many false alarms (right), enlarged at few "
    "false alarms: a curve far above the dotted diagonal on the left gives some members away "
    "almost for certain."
)


def every(f: LanguageAudit) -> tuple[Section, ...]:
    """Return the page below the numbers."""
    game = tables.game(
        f.game,
        adversary="The adversary",
        thresholds="Thresholds were taken",
        targets=("Judged", measured_on(f)),
    )
    return (
        Section("controls", "Is the test honest?", _controls(f)),
        Section("game", "What was played", (game,), "The game"),
        tables.section(f.attacks(f.samples)),
        Section("thresholds", "Thresholds", _thresholds(f)),
        Section("patients", "Patient by patient", _patients(f), "Patients"),
        Section("lengths", "Short and long samples", _lengths(f), "Short and long"),
        Section("curves", "Curves", _curves(f)),
        Section("records", "The riskiest samples", _riskiest(f), "Riskiest samples"),
    )


def overview(f: LanguageAudit) -> tuple[Table, ...]:
    """Return what a terminal prints below the numbers."""
    areas = Table(
        "areas",
        "Areas under the ROC curves",
        (Column("Attack", prose=True), Column(f"AUC ({rate(f.level)} interval)")),
        tuple((e.title, decimal_estimate(e.auc)) for unit in f.units for e in unit.signals),
        f"Judged: {measured_on(f)}.",
    )
    controls = Table(
        "controls-in-short",
        "Controls",
        columns(
            Column("Control", prose=True),
            Column("AUC, or its fall", needed=False),
            Column("Says", prose=True),
        ),
        tuple(Row(row.cells[:3], row.tone) for row in _control_rows(f)),
    )
    return (areas, controls, *(_thresholds_in_short(unit) for unit in f.units))


def riskiest(f: LanguageAudit) -> Riskiest:
    """Return the members' samples of the highest score."""
    return records.riskiest(f.records, f.energies.signal, f.energies.score, members=True)


def _controls(f: LanguageAudit) -> tuple[Block, ...]:
    return (
        text(
            "If members and non-members differ in more than membership, such as topic or "
            "style, an attack tells them apart without any leak. Controls that never saw what "
            "the model memorised look for such differences. Their intervals hold together at "
            f"{rate(f.level)}: in an honest test all of them stay quiet that often. Silence "
            "does not prove that there is no difference."
        ),
        Table(
            "controls",
            "Controls",
            columns(
                "Control", "Value", Column("Says", prose=True), Column("What it is", prose=True)
            ),
            _control_rows(f),
        ),
    )


def _control_rows(f: LanguageAudit) -> tuple[Row, ...]:
    return (
        _area(
            "Reference model alone",
            f.controls.reference,
            "AUC of the energies under a model that saw none of the samples; 0.5 in an honest test",
        ),
        _area(
            "Words alone",
            f.controls.blind,
            "AUC of a classifier that sees the words and no model, on people that it did not learn "
            "from; at most 0.5 in an honest test, but for chance",
        ),
        _matched(f.controls.matched, f.energies.signal),
        _area(
            "Number of texts alone",
            f.controls.sizes,
            "AUC of how many texts a patient has; 0.5 where both sides were drawn alike. The "
            "numbers stand even if it fires: patients are compared on equally many texts",
        ),
    )


def _area(name: str, found: ControlFinding | Skipped, text: str) -> Row:
    if isinstance(found, Skipped):
        return _not_played(name, found)
    return _played(name, decimal_estimate(found.auc), found.fires, text)


def _matched(found: MatchedAttack | Skipped, attack: str) -> Row:
    name = "Attack after matching"
    if isinstance(found, Skipped):
        return _not_played(name, found)
    text = (
        f"Fall of the AUC of {attack}, from {fixed(found.before, 3)} to "
        f"{decimal_estimate(found.after)} among samples that the reference model finds equally "
        "hard; 0 in an honest test"
    )
    return _played(name, decimal_estimate(found.fall), found.fires, text)


def _played(name: str, value: Content, fires: bool, text: str) -> Row:
    says, tone = ("FIRES", Tone.BEST) if fires else ("quiet", Tone.PLAIN)
    return Row((name, value, says, text), tone)


def _not_played(name: str, found: Skipped) -> Row:
    return Row((name, DASH, "not played", f"Not played: {found.reason}"))


def _thresholds(f: LanguageAudit) -> tuple[Block, ...]:
    return (
        text(
            "A threshold is chosen for a rate of false positives. What it gives on the judged "
            "non-members may differ, and precision and recall hold for what it gives. An "
            "oracle threshold is taken from those very non-members: no attacker has it, but "
            "published tables are often of that kind."
        ),
        _thresholds_of(f.samples, "thresholds", "Sample by sample"),
    )


def _thresholds_of(unit: UnitFindings, name: str, title: str) -> Table:
    heads = (
        "Attack",
        "False positives asked for",
        "Realised",
        "Members found (recall)",
        "Right when it says \u201cmember\u201d (precision)",
        "Taken from",
    )
    return Table(
        name,
        title,
        columns(*heads),
        tuple(
            (
                Cell(e.name, (t.kind,)),
                DASH if t.asked is None else rate(t.asked),
                Cell(percent_estimate(t.realised, 1), tags=() if t.kept else ("differs",)),
                percent_estimate(e.recall, 1),
                percent_estimate(e.precision, 1),
                count(t.n),
            )
            for t, e in zip(unit.thresholds, unit.evaluations, strict=True)
        ),
    )


def _thresholds_in_short(unit: UnitFindings) -> Table:
    """Return asked and realised rate, precision and recall of every threshold."""
    return Table(
        f"thresholds-by-{unit.unit}",
        f"Thresholds, {unit.unit} by {unit.unit}",
        columns(
            Column(f"\nBy {unit.unit}", prose=True),
            "FPR\nasked",
            Column("FPR\nrealised", needed=False),
            "\nPrecision",
            "\nRecall",
        ),
        tuple(
            (
                f"{e.name} ({t.kind})",
                DASH if t.asked is None else rate(t.asked),
                percent_estimate(t.realised, 1),
                DASH if isinstance(e.precision, Skipped) else percent(e.precision.value),
                percent(e.recall.value),
            )
            for t, e in zip(unit.thresholds, unit.evaluations, strict=True)
        ),
    )


def _patients(f: LanguageAudit) -> tuple[Block, ...]:
    unit = f.patients
    if isinstance(unit, Skipped):
        return (text(f"Not played: {unit.reason}."),)
    return (
        text(
            "The score of a patient is the mean over the patient's samples. A claim about "
            "privacy is about people: this is what somebody who holds several notes of a "
            "person can tell."
        ),
        tables.main(
            unit.evaluations,
            unit.headline.attack.title,
            name="patients",
            title=f"How well each attack did on {count(unit.n_in)} members and "
            f"{count(unit.n_out)} non-members",
            fprs=_RATES,
            epsilon=False,
        ),
        _thresholds_of(unit, "patient-thresholds", "Thresholds, patient by patient"),
        *((Text(unit.notes, Tone.NOTE),) if unit.notes else ()),
        Heading("Patients most at risk"),
        text(
            "Members by falling mean score, named by id. A high score alone is no proof: the "
            "false positives above say how often it misleads."
        ),
        _people(f),
    )


def _people(f: LanguageAudit) -> Table:
    assert f.rows is not None
    rows = f.rows
    return Table(
        "worst",
        "Patients by falling mean score",
        columns("Patient", "Mean score", "Samples"),
        tuple(
            (
                shortened(rows.names[i]),
                fixed(float(rows.score[i]), 3),
                count(int(rows.samples[i])),
            )
            for i in rows.order[:RECORDS].tolist()
        ),
        at_once=10,
    )


def _lengths(f: LanguageAudit) -> tuple[Block, ...]:
    if not f.lengths:
        return (text("Not looked at; the reason is below."),)
    return (
        text(
            "The same attacks on samples of some lengths alone, with thresholds taken from "
            "samples of those lengths. Each table holds individually."
        ),
        *(
            tables.main(
                part.evaluations,
                f.headline.attack.title,
                name=f"length-{part.name}",
                title=f"{part.name.capitalize()} samples ({part.fewest} to {part.most} tokens), "
                f"{count(part.n_in)} members and {count(part.n_out)} non-members",
                fprs=_RATES,
                epsilon=False,
            )
            for part in f.lengths
        ),
    )


def _curves(f: LanguageAudit) -> tuple[Plot, ...]:
    signals, name = f.samples.signals, plain(f.headline.attack.name)
    patients: tuple[Plot, ...] = ()
    if not isinstance(f.patients, Skipped):
        title = "ROC curves, patient by patient"
        by_patient = plots.roc_log(
            f.patients.signals, name="roc-patients", title=title, caption=_LOG
        )
        patients = (by_patient,)
    words = f"The scores of {name} for members and non-members. {plots.areas(f.samples.signals)}"
    return (
        plots.roc_log(signals, caption=_LOG),
        plots.roc(signals, caption="The same on plain axes. The dotted diagonal is guessing."),
        *patients,
        plots.scores(f.headline.attack, title=name, words=words, wide=False),
    )


def _riskiest(f: LanguageAudit) -> tuple[Block, ...]:
    found = riskiest(f)
    hidden = "" if f.records.contents else "; their texts are not in this file"
    return (
        text(f"Members by falling score of {found.by}, named by id{hidden}."),
        records.table(
            found,
            "Samples by falling score",
            heads=("Sample", "Score"),
            attacks="",
            whole=True,
        ),
        note(
            f"{count(len(found.rows))} of {count(found.n)} members' samples are shown; all "
            "judged samples are in records.parquet."
        ),
    )
