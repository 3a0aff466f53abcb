"""Groups of records: how exposed each is, those that stand out first."""

from __future__ import annotations

from collections.abc import Iterator

from privacygauge.evaluate.slices import Slice, SliceTable
from privacygauge.report.document import pick_values
from privacygauge.report.numbers import (
    count,
    p_value,
    percent,
    percent_estimate,
    plain,
    rate,
    shorten,
)
from privacygauge.report.values import Block, Cell, Json, Pairs, Rows, Section, note, table, text

_SLICES = 60
"""Largest number of slices shown; those that stand out come first."""


def group_label(found: Slice) -> str:
    """Return the name of a group in a sentence, such as ``icu = 1``."""
    return f"{plain(found.column)} = {shorten(plain(found.group))}"


def section(found: SliceTable) -> Section:
    """Return the section on groups."""
    return Section("slices", "Groups of records", tuple(_blocks(found)), "Groups")


def as_data(found: SliceTable) -> dict[str, Json]:
    """Return the groups for ``report.json``."""
    return {
        **pick_values(found, "attack", "level", "slices"),
        "skipped": [{"name": s.name, "reason": s.reason} for s in found.skipped],
    }


def _blocks(found: SliceTable) -> Iterator[Block]:
    n = len(found.slices)
    yield text(
        f"Right guesses of {found.attack} in each group. With {count(n)} groups some look bad by "
        f"luck alone, so the intervals are wide enough to hold together at {rate(found.level)}, "
        "and a group is marked only if it is more exposed than all other records after Holm's "
        "correction for the number of groups."
    )
    # A stable sort: groups that stand out come first, otherwise the order stays.
    shown = sorted(found.slices, key=lambda s: not s.announced)[:_SLICES]
    tags = {True: ("stands out",), False: ()}
    rows: Rows = [
        {
            "Group": Cell(f"{s.column} = {s.group}", tags=tags[s.announced]),
            "Right guesses": percent_estimate(s.accuracy, 1),
            "Against the others": f"{'+' if s.excess >= 0 else ''}{percent(s.excess)}",
            "Corrected p": p_value(s.p_value),
            "Members": count(s.n_in),
            "Non-members": count(s.n_out),
        }
        for s in shown
    ]
    best = [s.announced for s in shown]
    first = max(10, len(found.announced))
    title = "Groups, those that stand out first"
    if n:
        yield table("slices", title, rows, best=best, at_once=first)
    else:
        yield text("No group was large enough to judge.")
    if len(shown) < n:
        yield note(f"{count(len(shown))} of {count(n)} groups are shown; all are in report.json.")
    if found.skipped:
        yield Pairs(tuple((s.name, s.reason) for s in found.skipped))
