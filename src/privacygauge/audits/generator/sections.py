"""The sections on attacks, records, groups and use of the report on a generator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from privacygauge.audits.generator.found import Group, SyntheticAudit
from privacygauge.audits.generator.plots import auc_plot, vulnerability_plot
from privacygauge.audits.generator.verdict import name_of
from privacygauge.audits.usefulness import use_rows
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.by_target import AttackEvaluation
from privacygauge.report.attacks.records import RECORDS
from privacygauge.report.attacks.tables import methods_of, whisker
from privacygauge.report.blocks import columns, note, pairs, text
from privacygauge.report.numbers import (
    DASH,
    at_least,
    count,
    decimal_estimate,
    fixed,
    percent,
    percent_estimate,
    plain,
    rate,
    several,
    shortened,
)
from privacygauge.report.values import Block, Cell, Column, Content, Folded, Row, Table, Tone

_PRINTED = 5
"""Number of of the riskiest records that are printed in a terminal."""

_LINE = Column("0.4 to 1")


def attacks(f: SyntheticAudit) -> tuple[Block, ...]:
    """Return what each attack did."""
    marked = (
        "The marked attack is the one that did best on the adversary's own tables: it was not "
        "chosen by these numbers."
    )
    return (
        text(
            "Each attack learns from synthetic tables of the adversary's own and gives a score to "
            "every table in question: the higher, the more likely it was made with the record. The "
            f"numbers are means over {several(len(f.targets), 'record')}. Where there is room, a "
            "line shows the AUC between 0.4 and 1; the thin mark is guessing, 0.5."
        ),
        attacks_table(f),
        note(
            "Mean true-positive rates have no interval here; those of single records do. A "
            "record counts as told if a rank test of its tables rules out luck, corrected for "
            f"the number of records (Holm). {marked if len(f.attacks) > 1 else ''}",
            *(f"{plain(e.title)}: {'; '.join(e.notes)}" for e in f.attacks if e.notes),
        ),
        Folded("Guesses, counted", (_guesses(f),)),
        Folded("How the intervals were made", (_methods(f),)),
    )


def _attack(e: AttackEvaluation) -> Cell:
    return Cell(e.name, (e.variant,) if e.variant else ())


def overview(f: SyntheticAudit) -> tuple[Table, Table]:
    """Return the attacks and the riskiest records as a terminal shows them."""
    epsilon = 3 + len(f.best.tpr_at_fpr)
    people = people_table(f, _PRINTED, contents=False)
    return (
        _columns(attacks_table(f), "Attack", (1, 3, epsilon + 1)),
        _columns(people, "Riskiest records", (1, epsilon)),
    )


def _columns(table: Table, first: str, others: Sequence[int]) -> Table:
    """Return a table with its first column, under another head, and some of the others."""
    rows = (Row((row.cells[0], *(row.cells[i] for i in others)), row.tone) for row in table.full)
    columns = (Column(first), *(table.columns[i] for i in others))
    return replace(table, columns=columns, rows=tuple(rows), note="")


def attacks_table(f: SyntheticAudit) -> Table:
    """Return a row for each attack."""
    fprs = [fpr for fpr, _ in f.best.tpr_at_fpr]
    return Table(
        "main",
        "How well each attack did",
        (
            Column("Attack"),
            Column("Mean AUC"),
            _LINE,
            Column("Right guesses", needed=False),
            *(Column(f"Mean TPR at {rate(fpr)} FPR") for fpr in fprs),
            Column("Records told", needed=False),
        ),
        tuple(_attack_row(e, Tone.BEST if e is f.best else Tone.PLAIN) for e in f.attacks),
        f"Small figures: {rate(f.level)} intervals.",
    )


def _attack_row(e: AttackEvaluation, tone: Tone) -> Row:
    cells: tuple[Content, ...] = (
        _attack(e),
        decimal_estimate(e.auc),
        whisker(e.auc),
        percent_estimate(e.accuracy, 1),
        *(percent(value) for _, value in e.tpr_at_fpr),
        f"{count(int(np.count_nonzero(e.told)))} of {count(len(e.targets))}",
    )
    return Row(cells, tone)


def _guesses(f: SyntheticAudit) -> Table:
    return Table(
        "guesses",
        "Guesses",
        columns(
            "Attack", "Made with it, and recognised", "Made without it, and taken for the other"
        ),
        tuple(
            (
                _attack(e),
                f"{count(e.true_positives)} of {count(e.n_in)}",
                f"{count(e.false_positives)} of {count(e.n_out)}",
            )
            for e in f.attacks
        ),
        "One guess for each record and table in question.",
    )


def _methods(f: SyntheticAudit) -> Table:
    targets = [target for attack in f.attacks for target in attack.targets]
    ranks = {} if isinstance(f.foreseen, Skipped) else {"Rank correlation": [f.foreseen]}
    return methods_of(
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


def records(f: SyntheticAudit) -> tuple[Block, ...]:
    """Return which records are given away most."""
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
    return (
        text(
            f"Ranked by the AUC of {plain(f.best.title)}. Records are named by id{contents}."
            f"{luck if n > 1 else ''}"
        ),
        people_table(f, n),
        note(
            f"{count(n)} of {count(len(f.targets))} attacked records are shown; all are in "
            f"records.parquet.{dagger if unresolved else ''}"
        ),
        *([Folded("What every attack does on them", (_each(f),))] if len(f.attacks) > 1 else []),
        *_plots(f),
    )


def people_table(f: SyntheticAudit, most: int, *, contents: bool = True) -> Table:
    """Return the records that the headline's attack does best on."""
    columns = f.targets.contents if contents else {}
    return Table(
        "records",
        "Records by falling AUC",
        (
            Column("Id"),
            Column("AUC"),
            _LINE,
            *(Column(f"TPR at {rate(fpr)} FPR", needed=False) for fpr, _ in f.best.tpr_at_fpr),
            Column("Epsilon, of at most", needed=False),
            Column("Vulnerability score", needed=False),
            *(Column(plain(name), prose=True) for name in columns),
        ),
        tuple(
            _person(f, i, tuple(shortened(str(x[i])) for x in columns.values()))
            for i in f.order[:most].tolist()
        ),
        at_once=10,
    )


def _person(f: SyntheticAudit, i: int, contents: tuple[str, ...]) -> Row:
    target, headline = f.best.targets[i], i == f.headline.target
    cells: tuple[Content, ...] = (
        _who(f, i),
        decimal_estimate(target.auc),
        whisker(target.auc),
        *(
            Cell(percent_estimate(r.estimate, 1), doubtful=not r.resolved)
            for r in target.tpr_at_fpr
        ),
        Cell(at_least(target.epsilon), (f"of {fixed(target.epsilon_limit, 2)}",)),
        Cell(
            fixed(float(f.targets.scores[i]), 3),
            (f"rank {count(int(f.targets.ranks[i]))} of {count(f.n_records)}",),
        ),
        *contents,
    )
    return Row(cells, Tone.BEST if headline else Tone.PLAIN)


def _who(f: SyntheticAudit, i: int) -> Cell:
    name, row = name_of(f, i)
    tags = ("verdict",) if i == f.headline.target else ()
    return Cell(name, (f"row {row}",) if row else (), tags)


def _each(f: SyntheticAudit) -> Table:
    return Table(
        "each",
        "AUC of every attack",
        (Column("Id"), *(Column(plain(f"{e.name} {e.variant}".strip())) for e in f.attacks)),
        tuple(
            (_who(f, i), *(fixed(e.targets[i].auc.value, 3) for e in f.attacks))
            for i in f.order[:10].tolist()
        ),
        "Values; their intervals are in report.json.",
    )


def _plots(f: SyntheticAudit) -> Iterator[Block]:
    if len(f.targets) == 1:
        return
    yield auc_plot(f)
    yield vulnerability_plot(f)
    if isinstance(f.foreseen, Skipped):
        reason = f"No rank correlation of score and AUC: {f.foreseen.reason}."
        yield note(reason)


def groups(f: SyntheticAudit) -> tuple[Block, ...]:
    """Return what the way of choosing records has to do with their risk."""
    every = Folded("The same for every attack", (_every_group(f),))
    return (
        text(
            "Risk is not spread evenly: a few records stand far from all others, and a table gives "
            "them away first. The mean of records drawn at random says little about them. Numbers "
            f"are those of {plain(f.best.title)}; here the interval is for other records that are "
            "chosen in the same way; that of a single record is for other tables."
        ),
        Table(
            "groups",
            "Mean AUC by the way of choosing",
            (
                Column("Chosen by"),
                Column("Mean AUC"),
                _LINE,
                Column("Standard deviation"),
                Column("Records"),
            ),
            tuple(_group(group, f.headline.attack, drawn=True) for group in f.groups),
        ),
        *([every] if len(f.attacks) > 1 else []),
    )


def _every_group(f: SyntheticAudit) -> Table:
    return Table(
        "groups-all",
        "Mean AUC by the way of choosing, and by attack",
        columns(
            "Chosen by", Column("Attack", prose=True), "Mean AUC", "Standard deviation", "Records"
        ),
        tuple(
            (method, attack.title, *numbers)
            for group in f.groups
            for place, attack in enumerate(f.attacks)
            for method, *numbers in [_group(group, place)]
        ),
    )


def _group(group: Group, attack: int, *, drawn: bool = False) -> tuple[Content, ...]:
    n, mean = len(group.positions), group.means[attack]
    return (
        group.method,
        decimal_estimate(mean),
        *([whisker(mean)] if drawn else []),
        fixed(group.deviations[attack], 3) if n > 1 else DASH,
        count(n),
    )


def use(f: SyntheticAudit) -> tuple[Block, ...]:
    """Return what a synthetic table is good for."""
    found = f.utility
    if isinstance(found, Skipped):
        return (text(f"Not measured: {found.reason}."),)
    beforehand = "" if found.holdout_marginals else " beforehand"
    skipped = (
        (f"No predictions: {found.learnt.reason}.",) if isinstance(found.learnt, Skipped) else ()
    )
    return (
        text(
            "What one synthetic table of this generator is good for, beside what real records "
            "come to. A distance or a difference of 0 would be perfect, but two samples of "
            "real people differ too: that is the last column. Predictions are made by forests "
            "that learn from synthetic and from real records, and are tested on real records "
            f"that neither saw{beforehand}."
        ),
        pairs(
            {
                "Privacy: mean AUC (0.5 gives nothing away)": decimal_estimate(f.headline.auc),
                "Privacy: worst record": decimal_estimate(f.headline.worst.auc),
            }
        ),
        Table(
            "use",
            "Use",
            columns("Measure", "Synthetic records", "Real records"),
            use_rows(found),
            "Of a single table, so without an interval.",
        ),
        *([note(*found.notes, *skipped)] if (*found.notes, *skipped) else []),
    )
