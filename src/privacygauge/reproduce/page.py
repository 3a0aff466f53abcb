"""Kept results as Markdown: one of them, all of them, and the table of what the papers print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.reproduce.catalogue import ITEMS, PROTOCOLS, REPRODUCTIONS, judgement
from privacygauge.reproduce.item import Item, Status
from privacygauge.reproduce.markdown import claims_table, numbers_tables, table_of
from privacygauge.reproduce.protocol import value_text
from privacygauge.reproduce.result import FULL, ReproductionResult, read_result

MOST_LINES = 30
"""Lines of tables of numbers; of longer ones a reader sees the claims, and opens the numbers."""


def page(results: Path) -> str:
    """Return all results of a folder, below the table of everything that the papers print.

    Parameters
    ----------
    results : Path
        Folder of ``NAME.json`` files, as `privacygauge reproduce` writes them.

    Raises
    ------
    InputError
        If a result cannot be read.
    """
    known = results_in(results)
    parts = ["# Reproduction\n", index(known)]
    parts += [
        f"## {name}\n\n{result_markdown(result, f'{name}.json')}" for name, result in known.items()
    ]
    return "\n".join(parts)


def results_in(folder: Path) -> Mapping[str, ReproductionResult]:
    """Return the results of a folder by name, in the catalogue's order."""
    paths = {known.name: folder / f"{known.name}.json" for known in REPRODUCTIONS}
    return {name: read_result(path) for name, path in paths.items() if path.is_file()}


def index(known: Mapping[str, ReproductionResult], paper: str | None = None) -> str:
    """Return a table of everything that the papers print and what became of it.

    Parameters
    ----------
    known : mapping of str to Result
    paper : str or None, default None
        Authors and year: the items of one paper, with the data that stand in or are missing.
    """
    if paper is None:
        return table_of(
            ("paper", "item", "shows", "status", "verdict"),
            [(item.paper, *_entry(item, known)) for item in ITEMS],
        )
    return table_of(
        ("item", "shows", "status", "verdict", "which data, which part"),
        [(*_entry(item, known), item.why) for item in ITEMS if item.paper == paper],
    )


def protocol(paper: str) -> str:
    """Return a table of every setting that a paper states, ours, and why it is another one."""
    return table_of(
        ("setting", "section", "the paper", "here", "same", "in"),
        [
            (
                one.what,
                one.section,
                "not stated" if one.paper is None else value_text(one.paper),
                value_text(one.ours),
                f"{one.same}: {one.why}" if one.why else one.same,
                one.where,
            )
            for one in PROTOCOLS[paper]
        ],
    )


def result_markdown(result: ReproductionResult, link: str) -> str:
    """Return a result: its form, its verdict, its claims and its numbers.

    Parameters
    ----------
    result : Result
    link : str
        The page's link to the file with every number.
    """
    name = result.table.name
    judged = judgement(name, result.form, result.data)
    verdict = judged.of(result.table)
    numbers = "\n".join(numbers_tables(result.table, judged))
    parts = [
        f"**`{name}`**, {_form(result)}{_own_data_text(result)}, seed {result.seed}, "
        f"{_intervals(result)}"
        f"{result.seconds:,.0f} s, version {result.version}; "
        f"[every number]({link}). Verdict: **{verdict}**.",
        claims_table(verdict.claims),
        _collapsible(numbers) if numbers.count("\n") > MOST_LINES else numbers,
        _left_out(result),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def _collapsible(text: str) -> str:
    """Return a text that a reader opens, in GitHub's Markdown too."""
    return f"<details><summary>The numbers</summary>\n\n{text}\n</details>"


def _entry(item: Item, known: Mapping[str, ReproductionResult]) -> Sequence[str]:
    """Return number, content, status and verdict; the number links to the result."""
    results = [known[name] for name in item.by or (item.name,) if name in known]
    made = item.status not in (Status.NOT_POSSIBLE, Status.NO_RESULT)
    if not results:
        return (item.number, item.what, item.status.value, "not judged" if made else "")
    verdicts = dict.fromkeys(map(_verdict, results))
    number = f"[{item.number}](#{results[0].table.name})"
    return (number, item.what, item.status.value, "; ".join(verdicts))


def _verdict(result: ReproductionResult) -> str:
    """Return a result's verdict, with its form where that is not the full one."""
    told = str(judgement(result.table.name, result.form, result.data).of(result.table))
    return told if result.form == FULL else f"{told}, {result.form}"


def _units(result: ReproductionResult) -> str:
    """Return how many independent units its numbers rest on: the fewest and the most."""
    found = [
        cell.ours.n
        for row in result.table.rows
        for cell in row.cells.values()
        if isinstance(cell.ours, Estimate) and cell.ours.low < cell.ours.high
    ]
    if not found:
        return ""
    low = f"{min(found):,}"
    high = f"{max(found):,}"
    return low if low == high else f"{low} to {high}"


def _form(result: ReproductionResult) -> str:
    if result.form == FULL:
        return "full form"
    return "quick form: small, with wide intervals" if result.form == "quick" else result.form


def _own_data_text(result: ReproductionResult) -> str:
    """Return which of the paper's own data were given."""
    return "".join(f", on {name} ({size})" for name, size in result.data.items())


def _intervals(result: ReproductionResult) -> str:
    """Return the level of the intervals and the units behind them."""
    units = _units(result)
    if not units:
        return "exact numbers, "
    levels = {
        cell.ours.level
        for row in result.table.rows
        for cell in row.cells.values()
        if isinstance(cell.ours, Estimate)
    }
    said = ", ".join(f"{100 * level:g}%" for level in sorted(levels))
    return f"{said} intervals, n = {units}, "


def _left_out(result: ReproductionResult) -> str:
    """Return why numbers are missing, each reason once."""
    reasons = {
        cell.ours.reason
        for row in result.table.rows
        for cell in row.cells.values()
        if isinstance(cell.ours, Skipped)
    }
    return f"Not measured: {'; '.join(sorted(reasons))}." if reasons else ""
