"""The sections and plots of the report on a released table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.headline import Fact
from privacygauge.report.attacks import tables
from privacygauge.report.attacks.records import RECORDS, Riskiest
from privacygauge.report.attacks.records import table as records_table
from privacygauge.report.axes import FAINT, SERIES, axes, legend, plot_label
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
    Block,
    Content,
    FoldedBlocks,
    Pairs,
    Plot,
    Table,
    caution,
    ends,
    note,
    table,
    text,
)
from privacygauge.tables.generator_audit.sections import use_rows
from privacygauge.tables.released.copies import NO_EVIDENCE
from privacygauge.tables.released.hits import ReleaseRisk
from privacygauge.tables.released.outlying import VARIANT
from privacygauge.tables.released.release import CopiedRecord
from privacygauge.tables.released_audit.result import ReleasedResult, risk_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

KINDS = {"singling-out": "Singling out", "linkability": "Linkability", "inference": "Inference"}
"""The three risks, as headings."""

_WIDE = 0.25
"""Width of an interval of the AUC from which it says nothing about a difference."""
_AT_ONCE = 8
"""Number of forms of the risks shown before a fold, and printed in a terminal."""


def game(f: ReleasedResult) -> Iterator[Block]:
    """Yield the game of telling who was in the data."""
    if isinstance(f.game, Skipped):
        yield text(f"Not played: {f.game.reason}.")
        return
    if f.blind is not None:
        auc = f"AUC {decimal_estimate(f.blind.auc)}, {rate(f.level)} interval"
        told = f"stays at guessing ({auc}): no sign that real records and holdout are different "
        told += "people."
        if f.blind.auc.high - f.blind.auc.low > _WIDE:
            told = f"may be at guessing or not ({auc}): whether real records and holdout are "
            told += "different people cannot be told from so few."
        if f.differs:
            told = f"succeeds ({auc}), or its like does: real records and holdout differ, and the "
            told += "numbers below are a leak only as far as they go beyond that."
        yield text(f"An attack that never sees the synthetic table {told}")
    yield tables.game(f.game)


def risks(f: ReleasedResult) -> Iterator[Block]:
    """Yield the forms of the three risks, and the meaning of an attempt."""
    about = (
        "What it achieves on the holdout (the control) it achieves without a leak, from what the "
        "table says about people in general; a leak is what it achieves beyond that."
        if f.n_holdout
        else "Without a holdout there is no control: what the attack achieves from a leak cannot "
        "be told from what it achieves because the table describes people in general."
    )
    yield text(
        "European regulators ask three things of anonymous data: can a person be singled out, can "
        "two sources on a person be linked, can something secret be inferred about a person? An "
        f"attack tries each on the real records. {about}"
    )
    if not f.risks:
        yield text("None could be tried; the reasons are below.")
        return
    beyond = (
        "Beyond the control: (attack \N{MINUS SIGN} control) / (1 \N{MINUS SIGN} control). 0% is "
        "no leak, 100% is all that the control leaves open; below 0% the attack does better on the "
        "holdout. "
    )
    yield note(
        f"{beyond if f.n_holdout else ''}The baseline does without the attack: predicates from "
        "independent columns, a random candidate, the most frequent value."
    )
    yield note(f.tried.said)
    for name, title in KINDS.items():
        some = sorted((r for r in f.risks if r.name == name), key=_by_lower_end)
        if some:
            rows: list[dict[str, Content]] = []
            for risk in some:
                found = {
                    **({"Beyond the control": risk.risk} if f.n_holdout else {}),
                    "Real records": risk.attack,
                    **({"Holdout (control)": risk.control} if f.n_holdout else {}),
                    "Baseline": risk.baseline,
                }
                loses = " (loses to its baseline)" if risk.loses else ""
                shown = {
                    key: Shown(DASH) if one is None else percent_estimate(one, 1)
                    for key, one in found.items()
                }
                rows.append({"Form": f"{risk.variant}{loses}", **shown})
            yield table(f"risk-{name}", title, rows, at_once=_AT_ONCE)
    if f.corrected.looks > 1:
        yield note(
            f"Each row holds individually, at {rate(f.level)}. Among {f.corrected.looks} looks one "
            "goes far by luck alone: the verdict allows for that (Bonferroni), these rows do not."
        )
    if f.exposed:
        yield table(
            "outlying",
            f"The {VARIANT}",
            [
                {
                    "Id": plain(shorten(name)),
                    "Distance to others": decimal(one.score, 3),
                    "Singled out": _YES_OR_NO[one.singled_out],
                    "Linked": _YES_OR_NO[one.linked],
                    "Values inferred": f"{one.told} of {one.secrets}",
                }
                for name, one in f.exposed[:RECORDS]
            ],
            "A record that stands alone leaks first. The holdout's most outlying records, by the "
            "same ranking, are the control of these forms: what is achieved on one record alone "
            "may be chance.",
            at_once=_AT_ONCE,
        )
    meanings = tuple((risk_name(r), f"{r.meaning}. {' '.join(r.notes)}".strip()) for r in f.risks)
    yield FoldedBlocks("What an attempt is, form by form", (Pairs(meanings),))
    yield risks_plot(f)


_YES_OR_NO = {None: DASH, True: "yes", False: "no"}


def _by_lower_end(risk: ReleaseRisk) -> tuple[float, str]:
    if risk.risk is None:
        return risk.baseline.value - risk.attack.value, risk.variant
    return -risk.risk.low, risk.variant


def overview(f: ReleasedResult) -> Table:
    """Return the risks for a terminal, the one furthest beyond its control first."""
    shown = sorted(f.risks, key=_by_lower_end)[:_AT_ONCE]
    rest = len(f.risks) - len(shown)
    beyond = f"Beyond control ({rate(f.level)})"
    return table(
        "overview-risks",
        "The three risks",
        [
            {
                "Risk": risk_name(r),
                "Real": percent(r.attack.value),
                "Holdout": DASH if r.control is None else percent(r.control.value),
                "Baseline": percent(r.baseline.value),
                beyond: DASH if r.risk is None else percent_estimate(r.risk, 1),
            }
            for r in shown
        ],
        f"and {count(rest)} further in the report" if rest else "",
        spare=("Baseline", beyond),
    )


def copies(f: ReleasedResult) -> Iterator[Block]:
    """Yield the number of records that occur on both sides."""
    compare = "; without a holdout nothing says how many"
    if f.n_holdout:
        compare = ", so compare them with the holdout"
    yield text(
        "Records that occur on both sides, equal in every column. Records that many people "
        f"share are copied by chance{compare}. A table without copies may leak all the same."
    )
    equal = "Equal in every column"
    yield _facts("copies", equal, f.copies, lambda x: percent_estimate(x.estimate))
    if f.proven:
        yield _copied_records(
            "proven", "Copies that are proof, one by one", f.proven, "the least likely first"
        )
    if f.partly:
        yield _copied_records(
            "partly", "Copies but for a part, proof one by one", f.partly, "the least likely first"
        )
    if f.nearly:
        yield _copied_records(
            "nearly",
            "Near copies that are proof",
            f.nearly,
            "the least likely first",
            chance="How many synthetic rows would be as near to anybody by chance, as people are "
            "to each other",
        )
    if f.together is not None:
        least = f"at least {count(f.together.least)} of which chance does not explain"
        yield _copied_records("jointly", "Copies that are proof together", f.jointly, least)


def _copied_records(
    name: str,
    title: str,
    found: Sequence[CopiedRecord],
    which: str,
    *,
    chance: str = "How many copies of each chance would make: the frequency of its values, given "
    "up to three others, times the synthetic rows",
) -> Block:
    return table(
        name,
        title,
        [
            {
                "Id": plain(shorten(one.name)),
                "Row": count(one.row),
                **({"But for": plain(shorten(one.other))} if one.other else {}),
                "Expected by chance": f"{one.expected:.0e}",
            }
            for one in found[:RECORDS]
        ],
        f"{several(len(found), 'real record')}, {which}. {chance}. Ask for these people's records "
        "to be taken out, and the table made again.",
        at_once=_AT_ONCE,
    )


def closest(f: ReleasedResult) -> Iterator[Block]:
    """Yield the distances to the closest record, with the note that they are not evidence."""
    beside = (
        "Here there is not even an attack to read them beside."
        if f.membership is None
        else "Read them beside the attacks, which decide."
    )

    def shown(fact: Fact) -> Shown:
        is_share = fact.label.startswith("Rows")
        return percent_estimate(fact.estimate) if is_share else decimal_estimate(fact.estimate, 4)

    table = _facts("closest", "From each synthetic row", f.closest, shown)
    yield caution(f"No evidence of safety. {NO_EVIDENCE} {beside}")
    yield FoldedBlocks("The distances", (table,))


def _facts(name: str, title: str, facts: Sequence[Fact], shown: Callable[[Fact], Shown]) -> Table:
    rows: list[dict[str, Content]] = [
        {"What": fact.label, "Value": shown(fact), "n": count(fact.estimate.n)} for fact in facts
    ]
    return table(name, title, rows)


def utility_section(f: ReleasedResult) -> Iterator[Block]:
    """Yield the utility of the table, measure by measure."""
    if isinstance(f.utility, Skipped):
        yield text(f"Not measured: {f.utility.reason}.")
        return
    reference = "; the reference is how far the holdout is from them" if f.n_holdout else ""
    yield text(
        "A table that gives nothing away may also say nothing. Shares of values and correlations "
        f"are compared with the real records{reference}. A forest is taught with synthetic and "
        "with real records, and both tell the same real records."
    )
    yield table(
        "use",
        "Synthetic beside real",
        use_rows(f.utility, "Synthetic table", "Reference"),
        "Distances: 0 is perfect. Accuracy and AUC: more is better.",
    )
    if f.utility.notes:
        yield note(*(f"{told[:1].upper()}{told[1:]}." for told in f.utility.notes))


def changes_section(f: ReleasedResult) -> Iterator[Block]:
    """Yield what the changes that were tried do to the leak and to the use of the table."""
    yield text(
        "All tables were changed alike, and audited again. Columns are those that tell people "
        "apart best. A coarser column has ten values: steps with equally many synthetic rows, or "
        "the nine most frequent categories beside one for all others."
    )
    rows: list[dict[str, Content]] = [
        {
            "Change": plain(one.change),
            "Verdict": one.grade,
            "Beyond the holdout": percent_estimate(one.beyond),
            "Use before": DASH if one.auc_before is None else decimal(one.auc_before, 3),
            "Use after": DASH if one.auc is None else decimal(one.auc, 3),
        }
        for one in f.changes
    ]
    yield table(
        "changes",
        "What changes would do",
        rows,
        "Use: mean AUC of forests that learn from the synthetic table, tested on real records; of "
        "the labels that both tables have.",
        prose=("Change", "Verdict"),
    )
    yield note(
        "Intervals hold for each row alone: the mildest of several flatters. Audit the table that "
        "will be released, as it will be released."
    )


def records(shown: Riskiest) -> Iterator[Block]:
    """Yield the real records of which the strongest attack is surest."""
    unnamed = ", or by row of the real table; their contents are not in this file"
    yield text(
        f"Real records by falling score of {plain(shown.by)}. They are named by id"
        f"{'' if shown.records.contents else unnamed}. A high score alone is no proof: the "
        "false alarms above say how often it misleads."
    )
    yield records_table(shown, "Real records by falling score")
    yield note(
        f"{count(len(shown.rows))} of {count(shown.n)} real records are shown; all that "
        "were judged are in records.parquet."
    )


def method_section(f: ReleasedResult) -> Iterator[Block]:
    """Yield the methods of the intervals of risks, copies and distances."""
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
    yield text(
        "The intervals hold for these tables: they allow for the records and attempts that "
        "were drawn, not for another run of the generator."
    )
    yield tables.methods_of(
        {name: values for name, values in found.items() if values},
        name="risk-methods",
        title="Methods, number by number",
    )


_SIDES = (
    ("attack", "o", SERIES[1], -0.22, "real records"),
    ("control", "s", SERIES[0], 0.0, "holdout (control)"),
    ("baseline", "x", SERIES[2], 0.22, "baseline"),
)
_EACH = 0.36
"""Height per risk, in inches."""
_ROOM = 1.0
"""Height of title and axis, in inches."""


def plot_risks(f: ReleasedResult, ax: Axes | None = None) -> Axes:
    """Draw attack, control and baseline of each risk with intervals; numbers: `risks_frame`.

    A new figure is as high as there are risks; one is needed at least.
    """
    if not f.risks:
        raise InputError("at least one risk is needed to be drawn, got none")
    frame = risks_frame(f)
    new = ax is None
    ax = axes(ax)
    place = np.arange(len(frame))
    for name, marker, colour, off, title in _SIDES:
        value, low, high = (
            frame[column].to_numpy(float) * 100 for column in (name, f"{name}_low", f"{name}_high")
        )
        if np.isnan(value).all():
            continue
        ax.errorbar(value, place + off, xerr=[value - low, high - value], fmt=marker, color=colour,
                    ms=4.5, mfc="none" if marker == "s" else colour, elinewidth=1.2, lw=1.2,
                    label=title)  # fmt: skip
    for between in place[1:] - 0.5:
        ax.axhline(between, color=FAINT, lw=0.6)
    ax.set_yticks(place, [plot_label(risk_name(risk), lines=2) for risk in f.risks])
    ax.grid(visible=False, axis="y")
    ax.set(xlim=(-2, 102), ylim=(len(frame) - 0.5, -0.5), xlabel="Attempts that succeed, %")
    legend(ax, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)
    figure = ax.get_figure(root=True)
    if new and figure is not None:
        figure.set_size_inches(4.6, _ROOM + _EACH * len(frame))
    return ax


def risks_plot(f: ReleasedResult) -> Plot:
    """Return the plot of the three risks, form by form."""
    words = []
    for risk in f.risks:
        control = "" if risk.control is None else f", holdout {percent(risk.control.value)}"
        words.append(f"{risk_name(risk)}: real {percent(risk.attack.value)}{control}")
    return Plot(
        "risk-forms",
        "The three risks, form by form",
        caption=(
            "Circles: attempts on real records. Squares: the same on the holdout. Crosses: the "
            "baseline, without the attack. A leak is a circle to the right of its square; bars are "
            "intervals."
        ),
        words="; ".join(words) + ".",
        draw=lambda: plot_risks(f),
        wide=False,
    )


def risks_frame(f: ReleasedResult) -> pd.DataFrame:
    """Return one row per form of a risk.

    Columns: ``risk``, ``variant``, and of ``attack``, ``control``, ``baseline`` and
    ``beyond`` the value, ``_low`` and ``_high``; those of control and beyond are missing
    without a holdout.
    """
    import pandas as pd

    rows = [
        {
            "risk": risk.name,
            "variant": risk.variant,
            **ends("attack", risk.attack),
            **ends("control", risk.control),
            **ends("baseline", risk.baseline),
            **ends("beyond", risk.risk),
        }
        for risk in f.risks
    ]
    return pd.DataFrame(rows)
