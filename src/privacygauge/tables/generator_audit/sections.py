"""The sections on attacks, records, groups and use of the report on a generator, and plots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.by_target import AttackEvaluation, rank_by_auc
from privacygauge.report.attacks.records import RECORDS
from privacygauge.report.attacks.tables import methods_of, whisker
from privacygauge.report.axes import INK, OTHER, SERIES, axes, legend, plot_label
from privacygauge.report.numbers import (
    DASH,
    Shown,
    count,
    decimal,
    decimal_estimate,
    lower_bound_text,
    percent,
    percent_estimate,
    plain,
    rate,
    several,
    shorten,
)
from privacygauge.report.values import (
    Block,
    Cell,
    Column,
    Content,
    FoldedBlocks,
    Plot,
    Row,
    Table,
    Tone,
    columns,
    note,
    pairs,
    table,
    text,
)
from privacygauge.tables.games.audited import TargetGroup
from privacygauge.tables.generator_audit.verdict import SyntheticResult, target_id_and_row
from privacygauge.tables.utility import Utility

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Plots of an audit of a generator: values in, Axes out; nothing is shown or saved.

POINTS = 1000
"""Largest number of records drawn; of more, a sample at even steps of their order."""

FEW = 60
"""Largest number of records drawn with an interval each; more are drawn as a band."""

MARKERS = ("o", "s", "^", "D", "v", "P")
"""Markers of the groups, so that colour is not the only difference."""


def plot_auc(f: SyntheticResult, ax: Axes | None = None) -> Axes:
    """Draw the AUC of every target with its interval, the largest first; numbers: `rank_by_auc`.

    The attack is that of the verdict, and each interval holds individually. At most 1,000 targets
    are drawn.
    """
    ax = axes(ax)
    found = rank_by_auc(f.best, POINTS)
    few = len(found.rank) <= FEW
    if few:
        ax.vlines(found.rank, found.low, found.high, color=SERIES[0], lw=2.2, alpha=0.55,
                  label="interval")  # fmt: skip
    else:
        ax.fill_between(found.rank, found.low, found.high, color=SERIES[0], alpha=0.25, lw=0,
                        label="interval")  # fmt: skip
    ax.plot(found.rank, found.auc, color=SERIES[0], marker="o" if few else "", ms=4.5,
            ls="none" if few else "solid", lw=1.8, label="AUC")  # fmt: skip
    ax.axhline(f.headline.auc.value, color=SERIES[1], lw=1.3, ls=(0, (5, 1.6)), label="mean")
    _chance(ax)
    place = np.flatnonzero(found.position == f.headline.target)
    if len(place):
        ax.plot(found.rank[place], found.auc[place], color=SERIES[1], marker="D", ms=6.5,
                ls="none", zorder=4, label="named in the verdict")  # fmt: skip
    ax.set(xlabel="Records, the largest AUC first", ylabel="AUC (0.5 is guessing)")
    ax.set(xlim=(0.5, len(f.targets) + 0.5), ylim=(min(0.4, float(found.low.min()) - 0.02), 1.01))
    ax.locator_params(axis="x", integer=True)
    legend(ax, loc="best")
    return ax


def plot_vulnerability(f: SyntheticResult, ax: Axes | None = None) -> Axes:
    """Draw every target's AUC over its vulnerability score; numbers: `rank_by_auc`, ``f.targets``.

    The first six groups, by selection, have markers of their own.
    """
    ax = axes(ax)
    drawn = np.zeros(len(f.targets), dtype=np.bool_)
    drawn[rank_by_auc(f.best, POINTS).position] = True
    many = len(f.targets) > FEW
    for place, group in enumerate(f.groups[: len(MARKERS)]):
        shown = group.positions[drawn[group.positions]]
        ax.plot(f.targets.scores[shown], f.best.aucs[shown], color=SERIES[place], ls="none",
                marker="." if many else MARKERS[place], ms=4 if many else 6,
                mfc=SERIES[place] if many else "none", mew=0 if many else 1.4,
                alpha=0.6 if many else 1.0,
                label=plot_label(group.method))  # fmt: skip
    _chance(ax)
    ax.set(xlabel="Vulnerability score", ylabel="AUC (0.5 is guessing)")
    ax.set_ylim(min(0.4, float(f.best.aucs.min()) - 0.02), 1.02)
    if not isinstance(f.foreseen, Skipped):
        ax.set_title(f"Rank correlation {decimal_estimate(f.foreseen, 2)}", fontsize=8.5, color=INK)
    legend(ax, loc="best")
    return ax


def _chance(ax: Axes) -> None:
    ax.axhline(0.5, color=OTHER, lw=1.1, ls=(0, (1, 1.5)), zorder=1, label="guessing")


_PRINTED = 5
"""Number of the riskiest records that are printed in a terminal."""

_LINE = "0.4 to 1"


def attacks(f: SyntheticResult) -> Iterator[Block]:
    """Yield the results of each attack."""
    marked = (
        "The marked attack is the one that did best on the adversary's own tables: it was not "
        "chosen by these numbers."
    )
    guesses = table(
        "guesses",
        "Guesses",
        [
            {
                "Attack": _attack(e),
                "Made with it, and recognised": f"{count(e.true_positives)} of {count(e.n_in)}",
                "Made without it, and taken for the other": f"{count(e.false_positives)} of "
                f"{count(e.n_out)}",
            }
            for e in f.attacks
        ],
        "One guess for each record and table in question.",
    )
    yield text(
        "Each attack learns from synthetic tables of the adversary's own and gives a score to "
        "every table in question: the higher, the more likely it was made with the record. The "
        f"numbers are means over {several(len(f.targets), 'record')}. Where there is room, a "
        "line shows the AUC between 0.4 and 1; the thin mark is guessing, 0.5."
    )
    yield attacks_table(f)
    yield note(
        "Mean true-positive rates have no interval here; those of single records do. A "
        "record counts as told if a rank test of its tables rules out luck, corrected for "
        f"the number of records (Holm). {marked if len(f.attacks) > 1 else ''}",
        *(f"{plain(e.title)}: {'; '.join(e.notes)}" for e in f.attacks if e.notes),
    )
    yield FoldedBlocks("Guesses, counted", (guesses,))
    targets = [target for attack in f.attacks for target in attack.targets]
    ranks = {} if isinstance(f.foreseen, Skipped) else {"Rank correlation": [f.foreseen]}
    methods = methods_of(
        {
            "Mean AUC of an attack": [attack.auc for attack in f.attacks],
            "Mean balanced accuracy": [attack.accuracy for attack in f.attacks],
            "Mean AUC of a group": [mean for group in f.groups for mean in group.means],
            "AUC of a record": [target.auc for target in targets],
            "TPR at FPR of a record": [r.estimate for target in targets for r in target.tpr_at_fpr],
            "Epsilon of a record": [target.epsilon for target in targets],
            **ranks,
        },
        "n counts tables for a record or a mean over the targets, and records for a mean over a "
        "group.",
    )
    yield FoldedBlocks("How the intervals were made", (methods,))


def _attack(e: AttackEvaluation) -> Cell:
    return Cell(e.name, (e.variant,) if e.variant else ())


def overview(f: SyntheticResult) -> tuple[Table, Table]:
    """Return the tables of attacks and of the riskiest records, for a terminal."""
    # Columns of `people_table`: id, AUC, line, the rates at each FPR, then epsilon.
    epsilon = 3 + len(f.best.tpr_at_fpr)
    people = people_table(f, _PRINTED, contents=False)
    return (
        _columns(attacks_table(f), "Attack", (1, 3, epsilon + 1)),
        _columns(people, "Riskiest records", (1, epsilon)),
    )


def _columns(table: Table, first: str, others: Sequence[int]) -> Table:
    """Return a table's first column, under another heading, and its columns at these places."""
    rows = (Row((row.cells[0], *(row.cells[i] for i in others)), row.tone) for row in table.full)
    columns = (Column(first), *(table.columns[i] for i in others))
    return replace(table, columns=columns, rows=tuple(rows), note="")


def attacks_table(f: SyntheticResult) -> Table:
    """Return one row per attack."""
    return table(
        "main",
        "How well each attack did",
        [
            {
                "Attack": _attack(e),
                "Mean AUC": decimal_estimate(e.auc),
                _LINE: whisker(e.auc),
                "Right guesses": percent_estimate(e.accuracy, 1),
                **{f"Mean TPR at {rate(fpr)} FPR": percent(value) for fpr, value in e.tpr_at_fpr},
                "Records told": f"{count(int(np.count_nonzero(e.told)))} of "
                f"{count(len(e.targets))}",
            }
            for e in f.attacks
        ],
        f"Small figures: {rate(f.level)} intervals.",
        spare=("Right guesses", "Records told"),
        best=[e is f.best for e in f.attacks],
    )


def records(f: SyntheticResult) -> Iterator[Block]:
    """Yield the most exposed records."""
    n = min(RECORDS, len(f.targets))
    contents = "" if f.targets.contents else "; their contents are not in this file"
    luck = (
        " The first of many looks worse than it is by luck. The one that the verdict speaks of is "
        "marked: it was chosen on other tables."
    )
    unresolved = any(not r.resolved for target in f.best.targets for r in target.tpr_at_fpr)
    dagger = (
        " † Fewer than 10 false alarms are expected at this rate, so there are too few tables to "
        "tell: the value may be far off, the interval says how far."
    )
    yield text(
        f"Ranked by the AUC of {plain(f.best.title)}. Records are named by id{contents}."
        f"{luck if n > 1 else ''}"
    )
    yield people_table(f, n)
    yield note(
        f"{count(n)} of {count(len(f.targets))} attacked records are shown; all are in "
        f"records.parquet.{dagger if unresolved else ''}"
    )
    if len(f.attacks) > 1:
        every = Table(
            "each",
            "AUC of every attack",
            columns=columns("Id", *(plain(f"{e.name} {e.variant}".strip()) for e in f.attacks)),
            rows=tuple(
                (_target_cell(f, i), *(decimal(e.targets[i].auc.value, 3) for e in f.attacks))
                for i in f.order[:10].tolist()
            ),
            note="Values; their intervals are in report.json.",
        )
        yield FoldedBlocks("What every attack does on them", (every,))
    if len(f.targets) > 1:
        values = np.sort(f.best.aucs)[::-1]
        shown = [decimal(float(values[i]), 3) for i in (0, len(values) // 2, -1)]
        yield Plot(
            "aucs",
            "Every attacked record",
            caption="How often each record is told, with its interval. On the dotted line there is "
            "nothing but guessing; where a whole interval lies above it, the record is given away.",
            words=f"The AUC is {shown[0]} for the first record, {shown[1]} in "
            f"the middle, {shown[2]} for the last; {count(f.n_told)} of "
            f"{count(len(values))} records are told beyond luck.",
            draw=lambda: plot_auc(f),
            wide=False,
        )
        words = "The rank correlation was not computed."
        if not isinstance(f.foreseen, Skipped):
            words = f"The rank correlation is {decimal_estimate(f.foreseen, 2)}."
        yield Plot(
            "vulnerability",
            "Was the risk foreseen?",
            caption="The vulnerability score is how far a record is from those most like it: it "
            "needs neither a generator nor an attack. If points rise to the right, the score finds "
            "the records at risk beforehand.",
            words=f"{several(len(f.targets), 'record')} by score and AUC. {words}",
            draw=lambda: plot_vulnerability(f),
            wide=False,
        )
        if isinstance(f.foreseen, Skipped):
            yield note(f"No rank correlation of score and AUC: {f.foreseen.reason}.")


def people_table(f: SyntheticResult, most: int, *, contents: bool = True) -> Table:
    """Return the records on which the headline's attack does best."""
    columns = f.targets.contents if contents else {}
    rows = []
    for i in f.order[:most].tolist():
        target = f.best.targets[i]
        rank = f"rank {count(int(f.targets.ranks[i]))} of {count(f.n_records)}"
        cells: tuple[Content, ...] = (
            _target_cell(f, i),
            decimal_estimate(target.auc),
            whisker(target.auc),
            *(
                Cell(percent_estimate(r.estimate, 1), doubtful=not r.resolved)
                for r in target.tpr_at_fpr
            ),
            Cell(lower_bound_text(target.epsilon), (f"of {decimal(target.epsilon_limit, 2)}",)),
            Cell(decimal(float(f.targets.scores[i]), 3), (rank,)),
            *(shorten(str(x[i])) for x in columns.values()),
        )
        rows.append(Row(cells, Tone.BEST if i == f.headline.target else Tone.PLAIN))
    return Table(
        "records",
        "Records by falling AUC",
        (
            Column("Id"),
            Column("AUC"),
            Column(_LINE),
            *(Column(f"TPR at {rate(fpr)} FPR", needed=False) for fpr, _ in f.best.tpr_at_fpr),
            Column("Epsilon, of at most", needed=False),
            Column("Vulnerability score", needed=False),
            *(Column(plain(name), prose=True) for name in columns),
        ),
        tuple(rows),
        at_once=10,
    )


def _target_cell(f: SyntheticResult, i: int) -> Cell:
    name, row = target_id_and_row(f, i)
    tags = ("verdict",) if i == f.headline.target else ()
    return Cell(name, (f"row {row}",) if row else (), tags)


def groups(f: SyntheticResult) -> Iterator[Block]:
    """Yield the risk of records by their selection."""
    yield text(
        "Risk is not spread evenly: a few records stand far from all others, and a table gives "
        "them away first. The mean of records drawn at random says little about them. Numbers "
        f"are those of {plain(f.best.title)}; here the interval is for other records that are "
        "chosen in the same way; that of a single record is for other tables."
    )
    rows = [_group(group, f.headline.attack, {}, drawn=True) for group in f.groups]
    yield table("groups", "Mean AUC by the way of choosing", rows)
    if len(f.attacks) > 1:
        every = table(
            "groups-all",
            "Mean AUC by the way of choosing, and by attack",
            [
                _group(group, place, {"Attack": attack.title})
                for group in f.groups
                for place, attack in enumerate(f.attacks)
            ],
            prose=("Attack",),
        )
        yield FoldedBlocks("The same for every attack", (every,))


def _group(
    group: TargetGroup, attack: int, beside: dict[str, str], *, drawn: bool = False
) -> dict[str, Content]:
    n = len(group.positions)
    mean = group.means[attack]
    return {
        "Chosen by": group.method,
        **beside,
        "Mean AUC": decimal_estimate(mean),
        **({_LINE: whisker(mean)} if drawn else {}),
        "Standard deviation": decimal(group.deviations[attack], 3) if n > 1 else DASH,
        "Records": count(n),
    }


def utility_section(found: Utility | Skipped, privacy: Mapping[str, Shown]) -> Iterator[Block]:
    """Yield the utility of a synthetic table beside lines about privacy."""
    if isinstance(found, Skipped):
        yield text(f"Not measured: {found.reason}.")
        return
    beforehand = "" if found.holdout_marginals else " beforehand"
    yield text(
        "What one synthetic table of this generator is good for, beside what real records come to. "
        "A distance or a difference of 0 would be perfect, but two samples of real people differ "
        "too: that is the last column. Predictions are made by forests that learn from synthetic "
        f"and from real records, and are tested on real records that neither saw{beforehand}."
    )
    yield pairs(privacy)
    heads = ("Synthetic records", "Real records")
    alone = "Of a single table, so without an interval."
    yield table("use", "Use", use_rows(found, *heads), alone)
    told = list(found.notes)
    if isinstance(found.learnt, Skipped):
        told.append(f"No predictions: {found.learnt.reason}.")
    if told:
        yield note(*told)


def use_rows(found: Utility, made: str, real: str) -> list[dict[str, Content]]:
    """Return the measures of utility, each for the synthetic table and for real records.

    `made` and `real` are the headings of the two columns of numbers.
    """
    rows: list[dict[str, Content]] = []

    def add(name: str, below: str, ours: str, theirs: str) -> None:
        rows.append({"Measure": Cell(name, (below,)), made: ours, real: theirs})

    wide = found.holdout_marginals
    for i, one in enumerate(found.marginals):
        n = len(one.sets)
        sets = several(n, "column") if one.k == 1 else f"{several(n, 'set')} of {one.k} columns"
        name = "Shares of single values" if one.k == 1 else f"Shares of combinations of {one.k}"
        theirs = decimal(wide[i].mean, 3) if wide else DASH
        add(name, f"distance, mean over {sets}", decimal(one.mean, 3), theirs)
    if len(found.names) >= 2:
        name = "Associations of two columns"
        mean = decimal(found.correlation_mean, 3)
        reference = found.holdout_correlation_mean
        theirs = DASH if reference is None else decimal(reference, 3)
        add(name, "difference, mean over all pairs", mean, theirs)
        largest = decimal(found.correlation_largest, 3)
        add(name, "difference, largest of all pairs", largest, DASH)
    for learnt in () if isinstance(found.learnt, Skipped) else found.learnt:
        told = f"{shorten(learnt.label)}, {count(learnt.classes)} classes, guessing gives"
        guessing = f"{told} {percent(1 / learnt.classes)}"
        ours = percent(learnt.synthetic_accuracy)
        add("Predictions: balanced accuracy", guessing, ours, percent(learnt.real_accuracy))
        ours = decimal(learnt.synthetic_auc, 3)
        add("Predictions: AUC", f"{told} 0.5", ours, decimal(learnt.real_auc, 3))
    return rows
