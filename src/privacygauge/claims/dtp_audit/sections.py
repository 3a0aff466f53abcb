"""The sections and plots of the page on differential training privacy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from privacygauge.claims.dtp.findings import rank_by_pdtp
from privacygauge.claims.dtp.measure import LIMIT, RemovalPath
from privacygauge.claims.dtp.retrained import Variation
from privacygauge.claims.dtp_audit.verdict import (
    AT_LEAST,
    MOST,
    DtpResult,
    between,
    factor,
    measured_records_text,
    nats,
    record_of,
)
from privacygauge.classifiers.ratios import cap
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.report.axes import INK, OTHER, SERIES, axes, legend
from privacygauge.report.numbers import (
    Shown,
    count,
    decimal,
    decimal_estimate,
    plain,
    rate,
    rounded_up,
    several,
    shorten,
)
from privacygauge.report.values import (
    Axes,
    Block,
    Cell,
    FoldedBlocks,
    Heading,
    Items,
    Plot,
    Rows,
    Section,
    Table,
    note,
    pairs,
    table,
    text,
)

LONG = 100
"""Number of records above which their axis is logarithmic."""
HIGH = 10.0
"""Largest finite log ratio above which its axis is logarithmic."""


def plot_pdtp(f: DtpResult, ax: Axes | None = None) -> Axes:
    """Draw the records by falling PDTP, with the range of DTP; numbers: `rank_by_pdtp`.

    The rank is logarithmic for more than 100 records. Infinite values are triangles at the upper
    edge.
    """
    ax = axes(ax)
    found = rank_by_pdtp(f.pdtp, f.dtp, f.order)
    # Infinite values are cut to the top, where `_mark_limits` marks them.
    top = _scale(ax, (found.pdtp, found.low, found.high))
    x = found.rank
    known = np.isfinite(found.high)
    if (known & (found.high > found.low)).any():
        ax.fill_between(x, found.low, np.minimum(found.high, top), where=known, color=SERIES[1],
                        alpha=0.2, lw=0, label="DTP, range")  # fmt: skip
    exact = np.array_equal(found.low, found.high)
    ax.plot(x, np.minimum(found.low, top), color=SERIES[1], lw=1.2, ls=(0, (3, 1)),
            marker="_" if len(x) <= 30 else "",
            label="DTP, exact" if exact else "DTP, at least")  # fmt: skip
    ax.plot(x, np.minimum(found.pdtp, top), color=SERIES[0], lw=1.8, label="PDTP",
            marker="o" if len(x) <= 30 else "", ms=3.5)  # fmt: skip
    _mark_limits(ax, x, np.maximum(found.pdtp, found.low), top)
    if len(f.rows) > LONG:
        ax.set_xscale("log")
        ax.minorticks_off()
        ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set(xlabel="Records, the riskiest first", ylabel="Log ratio (1 is a factor of 2.7)")
    ax.set(xlim=(0.9 if len(f.rows) > LONG else 0.5, max(len(f.rows), 1.5)))
    legend(ax, loc="upper right")
    return ax


def plot_removal(f: DtpResult, ax: Axes | None = None) -> Axes:
    """Draw the largest value as the riskiest records are removed; numbers: ``f.removal``.

    Long et al. (2017), Figure 6.
    """
    if f.removal is None:
        raise InputError(
            "removal must have been asked for to be drawn, got none: audit with remove=1"
        )
    ax = axes(ax)
    path: RemovalPath = f.removal
    top = _scale(ax, (path.highest,))
    x = np.arange(len(path.highest))
    shown = np.minimum(path.highest, top)
    ax.plot(x, shown, color=SERIES[0], lw=1.5, marker="o" if len(x) <= 60 else "", ms=3)
    _mark_limits(ax, x, path.highest, top)
    ax.plot([path.best], [shown[path.best]], color=SERIES[1], marker="D", ms=7, ls="none",
            label="best point to stop", zorder=4)  # fmt: skip
    ax.set(xlabel="Records removed", ylabel=f"Largest {path.measure} of those left")
    ax.set_xlim(-0.02 * len(x) - 0.2, len(x) - 1 + 0.02 * len(x) + 0.2)
    ax.locator_params(axis="x", integer=True)
    legend(ax, loc="best")
    return ax


def plot_variation(v: Variation, ax: Axes | None = None) -> Axes:
    """Draw the record's own effect on its prediction against other causes of change; numbers: `v`.

    Notes
    -----
    Long et al. (2017), Figures 7 and 8.
    """
    ax = axes(ax)
    edges = v.edges.tolist()
    ax.hist(v.sampling, edges, color=SERIES[1], alpha=0.45, lw=0, label="other training sets")
    ax.hist(v.initialisation, edges, color=SERIES[0], histtype="step", lw=1.6,
            label="other random states")  # fmt: skip
    # Below the legend: room is made above the histograms.
    ax.axvline(v.with_it, ymax=0.7, color=SERIES[2], lw=1.8, label="with the record")
    ax.axvline(v.without, ymax=0.7, color=SERIES[3], lw=1.8, ls=(0, (4, 1.5)), label="without it")
    ax.set(xlabel="Probability of the record's own class", ylabel="Models")
    ax.set_ylim(0, 1.45 * ax.get_ylim()[1])
    legend(ax, loc="upper left", ncols=2)
    return ax


def _scale(ax: Axes, values: tuple[Floats, ...]) -> float:
    """Set the limits of the vertical axis; return the height at which infinity is drawn."""
    together = np.concatenate(values)
    finite = together[np.isfinite(together)]
    most = max(float(finite.max()) if len(finite) else 0.0, LIMIT)
    # Room for the triangles above the largest finite value; a log scale needs more.
    top = 1.15 * most
    if most > HIGH:
        ax.set_yscale("symlog", linthresh=LIMIT, linscale=0.6)
        ax.yaxis.set_major_formatter("{x:g}")
        top = 1.6 * most
    ax.set_ylim(0, top)
    return top


def _mark_limits(ax: Axes, x: Ints, values: Floats, top: float) -> None:
    """Draw infinite values as triangles at the top, and the limit of the DTP-1 rule as a line."""
    places = np.flatnonzero(np.isinf(values))
    if len(places):
        ax.plot(x[places], np.full(len(places), top), color=INK, marker="^", ms=6, ls="none",
                clip_on=False, zorder=5, label="infinite")  # fmt: skip
    ax.axhline(LIMIT, color=OTHER, lw=1.1, ls=(0, (1, 1.5)), zorder=2, label="limit, 1")


CLASSES = 20
"""Number of classes shown, those with the most records above 1 first."""

GROUPS = 10
"""Number of groups of records shown, and of records in each."""

_PRINTED = 5
"""Number of the riskiest records that are printed in a terminal."""

_AT_ONCE = 10
"""Number of rows of a table shown before a fold."""


def all_sections(f: DtpResult) -> Iterator[Section]:
    """Yield the sections of the page below the numbers."""
    meaning: list[Block] = []
    factors = {f"{value:g}": factor(value) for value in (0.1, 0.5, 1.0, 2.0, 4.0)}
    row = {"Log ratio": "A probability changes by a factor of", **factors}
    meaning.append(
        text(
            "A record is left out of the training set, the model is trained without it, and "
            "both models are asked the same question. If their answers differ much, the answer "
            "gives away whether the record was in. The largest factor between the two, over "
            "all classes, is what is reported, as its natural logarithm."
        )
    )
    meaning.append(table("factors", "How to read a log ratio", [row]))
    meaning.append(
        note(
            "PDTP asks about the record itself only. DTP is the largest over every question "
            "that can be asked, so it is never smaller. The rule DTP-1 says: do not publish a "
            "model if some record is above 1. It is a rule of thumb. A small effect can still "
            "be seen by somebody who knows most other records, or where training involves no "
            "chance, or by putting several answers together."
        )
    )
    yield Section("meaning", "What the numbers mean", tuple(meaning), "What it means")
    yield Section("records", "The riskiest records", tuple(_riskiest(f)), "Riskiest records")
    title = "The record's own query, and all others"
    yield Section("queries", title, tuple(_queries(f)), "Other queries")
    if f.removal is not None:
        blocks = tuple(_removal(f, f.removal))
        yield Section("removal", "Removing the riskiest records", blocks, "Removal")
    if f.averages:
        averages: list[Block] = []
        n = f.averages[0].n
        above = f.n_above_on_average
        methods = "; ".join(sorted({x.method for x in f.averages}))
        averages.append(
            text(
                "PDTP belongs to one training set. To see how much of it belongs to the record, "
                f"it was measured again in {count(n)} further training "
                f"{'set' if n == 1 else 'sets'}, random halves of the data: "
                f"{several(above, 'record')} {'has' if above == 1 else 'have'} a mean above 1, "
                f"and for {count(f.n_surely_above)} of them the whole {rate(f.averages[0].level)} "
                f"interval lies above ({methods}, n = {count(n)}). Halves are smaller than the "
                "whole, so a record weighs more in them."
            )
        )
        rows: Rows = [
            {
                "Id": _record_cell(f, i),
                "Mean over training sets": decimal_estimate(f.averages[i]),
                "PDTP in this one": nats(float(f.pdtp[i])),
            }
            for i in f.by_average[:MOST].tolist()
        ]
        averages.append(table("averages", "Records of the largest mean", rows, at_once=_AT_ONCE))
        blocks = tuple(averages)
        yield Section("averages", "Over several training sets", blocks, "Several training sets")
    if f.variation:
        blocks = tuple(_variation(f))
        yield Section("variation", "What else moves a prediction", blocks, "Variation")
    yield Section("measured", "How it was measured", tuple(_method_section(f)))


def _riskiest(f: DtpResult) -> Iterator[Block]:
    shown = f.order[:MOST]
    yield text(
        "Ranked by PDTP, then by DTP. Records are named by id; their contents are not in "
        "this file. The factor is that of PDTP."
    )
    yield _people(f, "records", "Records by falling PDTP", shown)
    yield note(
        f"{count(len(shown))} of {count(len(f.rows))} measured records are shown; all are "
        "in records.parquet."
    )
    infinite = f" {count(f.n_infinite)} are infinite." if f.n_infinite else ""
    above = f"{count(f.n_above)} of {several(len(f.rows), 'record')} above 1.{infinite}"
    told = f"The largest PDTP is {nats(f.highest)}; {above}"
    title = "All measured records, the riskiest first"
    caption = (
        "How far each record moves the model's answer about itself (PDTP), and at least, or at "
        "most, its answer to any query (DTP). Above the dotted line the rule says: do not publish."
    )
    yield Plot("ranks", title, caption=caption, words=told, draw=lambda: plot_pdtp(f))
    rows = [
        {
            "Class": shorten(f.class_names[found.label]),
            "Measured records": count(found.n),
            "Above 1": count(found.above),
            "Largest PDTP": nats(found.largest),
        }
        for found in f.classes[:CLASSES]
    ]
    heading = "Classes, those with the most records above 1 first"
    some = f"{count(len(rows))} of {count(len(f.class_names))} classes."
    yield FoldedBlocks("Class by class", (table("classes", heading, rows, some),))


def overview(f: DtpResult) -> tuple[Table, ...]:
    """Return the tables that a terminal shows below the numbers: first records, and method."""
    how = {
        "Model": f.model,
        "Method": f.method,
        "Bins": f"width {f.width:g}" if f.width else "none",
    }
    prose = ("Model", "Method")
    spare = ("Bins",)
    settings = table("settings", "How it was measured", [how], prose=prose, spare=spare)
    first = _people(
        f, "first", title="The riskiest records", places=f.order[:_PRINTED], head="Riskiest records"
    )
    return (first, settings)


def _people(f: DtpResult, name: str, title: str, places: Ints, head: str = "Id") -> Table:
    spare = ("DTP, all queries", "Factor", "Mean over training sets")
    rows: Rows = [
        {
            head: _record_cell(f, i),
            "PDTP": Shown(nats(float(f.pdtp[i]))),
            "DTP, all queries": between(float(f.dtp.low[i]), float(f.dtp.high[i])),
            "Factor": factor(float(f.pdtp[i])),
            **({"Mean over training sets": decimal_estimate(f.averages[i])} if f.averages else {}),
        }
        for i in places.tolist()
    ]
    return table(name, title, rows, spare=spare, at_once=_AT_ONCE)


def _record_cell(f: DtpResult, i: int) -> Cell:
    name = shorten(str(f.ids[i]))
    row = str(int(f.rows[i]))
    where = "" if name == row else f"row {row}, "
    tags = ("other queries",) if f.indirect[i] else ()
    return Cell(name, (f"{where}class {shorten(f.class_names[int(f.labels[i])])}",), tags)


def _queries(f: DtpResult) -> Iterator[Block]:
    found = f.reach
    measured = len(f.rows)
    if found.exact == measured:
        certainty = "Exact for every record: the lower and the upper end are equal."
    elif found.unknown == measured:
        certainty = (
            f"Unknown above: what stands after {AT_LEAST.strip()} is the largest that was found, "
            "and queries that nobody tried may show more."
        )
    else:
        parts = (
            (found.exact, "exact"),
            (found.bounded, "bounded on both sides, with a certified upper end"),
            (found.unknown, "unknown above"),
        )
        told = ", ".join(f"{what} for {count(k)}" for k, what in parts if k)
        certainty = f"{told[0].upper()}{told[1:]} of {several(measured, 'record')}."
    yield text(
        "Asking about the record itself is the direct way to find out. An answer to some other "
        "query may show more (an indirect attack).",
        f"How well that is known: {certainty}",
        f"Method: {f.dtp.method}.",
    )
    if not f.n_indirect:
        yield text("No record was found that other queries give away while its own does not.")
        return
    yield text(
        f"Here PDTP is small while DTP is large for {several(f.n_indirect, 'record')}: at most 1 "
        "at the own query, above 1 at some other one. Looking at PDTP alone would have missed "
        f"{'it' if f.n_indirect == 1 else 'them'}."
    )
    title = "Given away by other queries alone, the largest first"
    yield _people(f, "indirect", title, f.by_other_queries[:MOST])


_ORDERS = {
    "initial": "in the order of the first values",
    "recomputed": "always the riskiest of those left",
}


def _removal(f: DtpResult, path: RemovalPath) -> Iterator[Block]:
    yield text(
        f"Records were taken out of the training set one at a time, {_ORDERS[path.order]}, and "
        f"every record's {path.measure} was computed again each time. Removing a record can expose "
        "another one that it had shielded, so more is not always better."
    )
    first, lowest, last = (nats(float(path.highest[i])) for i in (0, path.best, -1))
    n = len(path.removed)
    shown = range(1, 1 + min(MOST, len(path.removed)))
    yield Plot(
        "sawtooth",
        f"Largest {path.measure} while records are removed",
        caption=(
            "It falls when a risky record goes, and rises again where that record had shielded "
            "another one. The diamond is the best point to stop."
        ),
        words=(
            f"{first} before any removal, {lowest} after {path.best}, {last} after all {count(n)}."
        ),
        draw=lambda: plot_removal(f),
    )
    tags = {path.best: ("stop here",)}
    best = [i == path.best for i in shown]
    steps: Rows = [
        {
            "Removed": Cell(record_of(f, int(path.removed[i - 1])), tags=tags.get(i, ())),
            "Removal": str(i),
            "Its value": nats(float(path.value[i - 1])),
            "Largest value of those left": Shown(nats(float(path.highest[i]))),
        }
        for i in shown
    ]
    yield table("steps", "Removals in their order", steps, best=best, at_once=_AT_ONCE)
    if len(shown) < n:
        some = f"{count(len(shown))} of {count(n)} removals"
        yield note(f"{some} are shown; all are in removal.csv.")
    if not path.groups:
        yield text("No group of records that shield each other was seen.")
        return
    yield Heading("Records that shield each other")
    yield text(
        "Each of these rose by more than 0.1 when the one before it was removed: together they "
        "keep each other's influence down, and they should stay, or go, together."
    )
    named = (
        plain(", ".join(record_of(f, int(row)) for row in rows[:GROUPS]))
        + (f" and {count(len(rows) - GROUPS)} more" if len(rows) > GROUPS else "")
        for rows in path.groups[:GROUPS]
    )
    yield Items(tuple(named), numbered=True)
    if len(path.groups) > GROUPS:
        some = f"{GROUPS} of {count(len(path.groups))} groups"
        yield note(f"{some} are shown; all are in report.json.")


def _variation(f: DtpResult) -> Iterator[Block]:
    n = count(len(f.variation[0].sampling))
    yield text(
        "Random start weights and the choice of the other records move predictions too. "
        "Somebody who knows neither sees a record only where its own effect stands out. "
        "That an effect does not stand out is no protection from somebody who knows both."
    )
    for i, v in enumerate(f.variation):
        yield Plot(
            f"variation-{i}",
            f"Record {plain(record_of(f, v.row))}",
            caption=(
                "The gap between the two upright lines is the record's own effect. Where it is "
                "narrower than the histograms, it drowns in them."
            ),
            words=(
                f"With the record {decimal(v.with_it, 3)}, without {decimal(v.without, 3)}. Random "
                f"states alone: {_range(v.initialisation)}; other training sets: "
                f"{_range(v.sampling)} ({count(len(v.sampling))} models each)."
            ),
            draw=partial(plot_variation, v),
            wide=False,
        )
    yield table(
        "variation",
        "The record's own effect, and the others'",
        [
            {
                "Record": Cell(record_of(f, v.row), (shorten(f.class_names[v.label]),)),
                "With it": decimal(v.with_it, 3),
                "Without it": decimal(v.without, 3),
                "Own effect": Shown(decimal(v.own, 3)),
                "Random states": _range(v.initialisation),
                "Other training sets": _range(v.sampling),
                "In standard deviations": Shown(decimal(v.stands_out, 1)),
            }
            for v in f.variation
        ],
        "Probability of the record's own class, on training sets drawn for this comparison. "
        f"From the smallest to the largest of {n} models each.",
    )
    yield note(
        "The last column divides the own effect by the standard deviation of the larger of "
        "both variations: above about 2 it stands out."
    )


def _range(values: Floats) -> str:
    return f"{decimal(float(values.min()), 3)} to {decimal(float(values.max()), 3)}"


def _method_section(f: DtpResult) -> Iterator[Block]:
    if not f.width:
        bins = "No bins: every digit of a probability is published."
    else:
        bins = (
            f"Width {f.width:g}, the centre is published. So no log ratio exceeds "
            f"{rounded_up(cap(f.width), 3)}, whatever a record does."
        )
    yield pairs(
        {
            "Model": f.model,
            "Training set": f"{several(f.n_train, 'record')}, {count(len(f.class_names))} classes",
            "Records measured": measured_records_text(f),
            "Bins of probabilities": bins,
            "Logarithm": "Natural; a log ratio of 1 is a factor of 2.7.",
        }
    )
    heads = ("Number", "Method, level of its interval", "n")
    n = several(len(f.rows), "record")
    # Over all records the mean and the share are computed, not estimated: no level.
    mean, share = (
        x.method if f.complete else f"{x.method}, {rate(x.level)}" for x in (f.mean, f.share_above)
    )
    methods = [
        ("PDTP of a record", f.method, n),
        ("Mean PDTP", mean, several(f.mean.n, "record")),
        ("Share above 1", share, n),
        ("DTP over all queries", f.dtp.method, n),
    ]
    if f.averages:
        one = f.averages[0]
        how = f"{one.method}, {rate(one.level)}"
        methods.append(("Mean over training sets", how, several(one.n, "training set")))
    if (path := f.removal) is not None:
        by = "" if f.checked is None else " by the shortcut, without further refits"
        how = f"every value computed again after each removal{by}; {_ORDERS[path.order]}"
        methods.append(("Removal", how, f"{count(len(path.removed))} removals"))
    if f.variation:
        models = f"{count(len(f.variation[0].sampling))} models each"
        methods.append(("What else moves a prediction", "trained again each time", models))
    rows = [dict(zip(heads, row, strict=True)) for row in methods]
    yield table("methods", "Methods, number by number", rows, prose=heads[1:2])
