"""The sections of the report on a released table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from privacygauge.audits.released_table.found import ReleasedAudit, ReleaseRisk
from privacygauge.audits.released_table.plots import risks_plot
from privacygauge.audits.usefulness import use_rows
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.headline import Fact
from privacygauge.report.attacks import tables
from privacygauge.report.attacks.records import Riskiest
from privacygauge.report.attacks.records import table as records_table
from privacygauge.report.blocks import caution, columns, note, text
from privacygauge.report.numbers import (
    DASH,
    Shown,
    count,
    decimal_estimate,
    percent,
    percent_estimate,
    plain,
    rate,
)
from privacygauge.report.values import Block, Column, Content, Folded, Pairs, Table, Text, Tone
from privacygauge.synthetic.released.copies import NO_EVIDENCE

KINDS = {"singling-out": "Singling out", "linkability": "Linkability", "inference": "Inference"}
"""The three risks, as headings."""

_AT_ONCE = 8
"""Number of forms of the risks that are shown before a fold, and printed in a terminal."""


def game(f: ReleasedAudit) -> tuple[Block, ...]:
    """Return what was played to tell who was in the data."""
    if isinstance(f.game, Skipped):
        return (text(f"Not played: {f.game.reason}."),)
    return (*((text(_blind_says(f)),) if f.blind is not None else ()), tables.game(f.game))


def _blind_says(f: ReleasedAudit) -> str:
    assert f.blind is not None
    auc = f"AUC {decimal_estimate(f.blind.auc)}, {rate(f.level)} interval"
    if f.same_source:
        return (
            f"An attack that never sees the synthetic table stays at guessing ({auc}): no sign "
            "that real records and holdout are different people."
        )
    return (
        f"An attack that never sees the synthetic table succeeds ({auc}): real records and "
        "holdout are different people, and the numbers below are void."
    )


def risks(f: ReleasedAudit) -> tuple[Block, ...]:
    """Return the forms of the three risks, and what each attempt is."""
    about = (
        "What it achieves on the holdout (the control) it achieves without a leak, from what the "
        "table says about people in general; a leak is what it achieves beyond that."
        if f.n_holdout
        else "Without a holdout there is no control: what the attack achieves from a leak cannot "
        "be told from what it achieves because the table describes people in general."
    )
    asked = text(
        "European regulators ask three things of anonymous data: can a person be singled out, "
        "can two sources on a person be linked, can something secret be inferred about a "
        f"person? An attack tries each on the real records. {about}"
    )
    if not f.risks:
        return (asked, text("None could be tried; the reasons are below."))
    beyond = (
        "Beyond the control: (attack \N{MINUS SIGN} control) / (1 \N{MINUS SIGN} control). 0% is "
        "no leak, 100% is all that the control leaves open; below 0% the attack does better on the "
        "holdout. "
    )
    baseline = (
        "The baseline does without the attack: predicates from independent columns, a random "
        "candidate, the most frequent value."
    )
    meanings = tuple((r.title, f"{r.meaning}. {' '.join(r.notes)}".strip()) for r in f.risks)
    return (
        asked,
        note(f"{beyond if f.n_holdout else ''}{baseline}"),
        note(f.tried.said),
        *_forms(f),
        *_looks(f),
        Folded("What an attempt is, form by form", (Pairs(meanings),)),
        risks_plot(f),
    )


def _forms(f: ReleasedAudit) -> Iterator[Table]:
    """Return a table for each of the three risks, the form furthest beyond its control first."""
    heads = ("Form", "Beyond the control", "Real records", "Holdout (control)", "Baseline")
    shown = heads if f.n_holdout else ("Form", "Real records", "Baseline")
    for name, title in KINDS.items():
        some = sorted((r for r in f.risks if r.name == name), key=_by_lower_end)
        if some:
            rows = tuple(_form(r, r.variant, compared=f.n_holdout > 0) for r in some)
            columns = tuple(map(Column, shown))
            yield Table(f"risk-{name}", title, columns, rows, at_once=_AT_ONCE)


def _form(risk: ReleaseRisk, called: str, *, compared: bool) -> tuple[Content, ...]:
    found = (risk.risk, risk.attack, risk.control, risk.baseline)
    shown = found if compared else (risk.attack, risk.baseline)
    if risk.loses:
        called = f"{called} (loses to its baseline)"
    return (called, *(Shown(DASH) if x is None else percent_estimate(x, 1) for x in shown))


def _by_lower_end(risk: ReleaseRisk) -> tuple[float, str]:
    if risk.risk is None:
        return risk.baseline.value - risk.attack.value, risk.variant
    return -risk.risk.low, risk.variant


def _looks(f: ReleasedAudit) -> tuple[Text, ...]:
    if f.corrected.looks <= 1:
        return ()
    return (
        note(
            f"Each row holds individually, at {rate(f.level)}. Among {f.corrected.looks} looks one "
            "goes far by luck alone: the verdict allows for that (Bonferroni), these rows do not."
        ),
    )


def overview(f: ReleasedAudit) -> Table:
    """Return the risks as a terminal shows them, the one furthest beyond its control first."""
    shown = sorted(f.risks, key=_by_lower_end)[:_AT_ONCE]
    rest = len(f.risks) - len(shown)
    return Table(
        "overview-risks",
        "The three risks",
        columns(
            "Risk",
            "Real",
            "Holdout",
            Column("Baseline", needed=False),
            Column(f"Beyond control ({rate(f.level)})", needed=False),
        ),
        tuple(
            (
                r.title,
                percent(r.attack.value),
                DASH if r.control is None else percent(r.control.value),
                percent(r.baseline.value),
                DASH if r.risk is None else percent_estimate(r.risk, 1),
            )
            for r in shown
        ),
        f"and {count(rest)} further in the report" if rest else "",
    )


def copies(f: ReleasedAudit) -> tuple[Block, ...]:
    """Return how many records occur on both sides."""
    compare = (
        ", so compare them with the holdout"
        if f.n_holdout
        else "; without a holdout nothing says how many"
    )
    return (
        text(
            "Records that occur on both sides, equal in every column. Records that many people "
            f"share are copied by chance{compare}. A table without copies may leak all the same."
        ),
        _facts(
            "copies",
            "Equal in every column",
            f.copies,
            lambda fact: percent_estimate(fact.estimate),
        ),
    )


def closest(f: ReleasedAudit) -> tuple[Block, ...]:
    """Return the distances to the closest record, and that they are no evidence."""
    beside = (
        "Here there is not even an attack to read them beside."
        if f.membership is None
        else "Read them beside the attacks, which decide."
    )
    table = _facts("closest", "From each synthetic row", f.closest, _distance)
    return (
        caution(f"No evidence of safety. {NO_EVIDENCE} {beside}"),
        Folded("The distances", (table,)),
    )


def _distance(fact: Fact) -> Shown:
    is_share = fact.label.startswith("Rows")
    return percent_estimate(fact.estimate) if is_share else decimal_estimate(fact.estimate, 4)


def _facts(name: str, title: str, facts: Sequence[Fact], shown: Callable[[Fact], Shown]) -> Table:
    rows = tuple((fact.label, shown(fact), count(fact.estimate.n)) for fact in facts)
    return Table(name, title, columns("What", "Value", "n"), rows)


def use(f: ReleasedAudit) -> tuple[Block, ...]:
    """Return what the table is good for, measure by measure."""
    if isinstance(f.utility, Skipped):
        return (text(f"Not measured: {f.utility.reason}."),)
    reference = "; the reference is how far the holdout is from them" if f.n_holdout else ""
    notes = tuple(f"{note[:1].upper()}{note[1:]}." for note in f.utility.notes)
    return (
        text(
            "A table that gives nothing away may also say nothing. Shares of values and "
            f"correlations are compared with the real records{reference}. A forest is taught "
            "with synthetic and with real records, and both tell the same real records."
        ),
        Table(
            "use",
            "Synthetic beside real",
            columns("Measure", "Synthetic table", "Reference"),
            use_rows(f.utility),
            "Distances: 0 is perfect. Accuracy and AUC: more is better.",
        ),
        *((Text(notes, Tone.NOTE),) if notes else ()),
    )


def records(shown: Riskiest) -> tuple[Block, ...]:
    """Return the real records that the strongest attack is surest of."""
    unnamed = ", or by row of the real table; their contents are not in this file"
    return (
        text(
            f"Real records by falling score of {plain(shown.by)}. They are named by id"
            f"{'' if shown.records.contents else unnamed}. A high score alone is no proof: the "
            "false alarms above say how often it misleads."
        ),
        records_table(shown, "Real records by falling score"),
        note(
            f"{count(len(shown.rows))} of {count(shown.n)} real records are shown; all that "
            "were judged are in records.parquet."
        ),
    )


def measured(f: ReleasedAudit) -> tuple[Block, ...]:
    """Return how the intervals of risks, copies and distances were made."""
    columns: dict[str, list[Estimate | None]] = {
        "Attack, control, baseline": [
            x for r in f.risks for x in (r.attack, r.control, r.baseline)
        ],
        "Beyond the control": [r.risk for r in f.risks],
        "Beyond the control, in the verdict": list(f.corrected.risks),
        "Copies": [fact.estimate for fact in f.copies],
        "Copies beyond chance, in the verdict": [f.corrected.copies, f.corrected.alone],
        "Distances": [fact.estimate for fact in f.closest],
    }
    found = {name: [x for x in values if x is not None] for name, values in columns.items()}
    return (
        text(
            "The intervals hold for these tables: they allow for the records and attempts that "
            "were drawn, not for another run of the generator."
        ),
        tables.methods_of(
            {name: values for name, values in found.items() if values},
            name="risk-methods",
            title="Methods, number by number",
        ),
    )
