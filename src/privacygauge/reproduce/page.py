"""The page on reproductions, from results that are kept and remarks that were written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.reproduce.catalogue import ITEMS, REPRODUCTIONS, judgement
from privacygauge.reproduce.item import Item
from privacygauge.reproduce.markdown import claims_table, numbers_tables, table_of
from privacygauge.reproduce.result import FULL, Result, read_result

MARK = re.compile(r"^<!-- (index|result: [\w-]+) -->$", re.MULTILINE)
"""Where generated text goes."""
RESULTS = "results"
"""Folder of the results, as the page names it in links."""
ORDER = "order.txt"
"""The remarks' file that lists the others, one a line, in the page's order."""
_MADE_BY = (
    "<!-- Made by `privacygauge reproduce --page`: edit docs/reproduction/, not this file. -->\n"
)


def page(results: Path, remarks: Path) -> str:
    """Return the page as Markdown text.

    Parameters
    ----------
    results : Path
        Folder of ``NAME.json`` files, as `privacygauge reproduce` writes them.
    remarks : Path
        Folder of text files and of ``order.txt``. ``<!-- result: NAME -->`` in them stands for a
        result's verdict and tables, ``<!-- index -->`` for the table of everything that the papers
        print.

    Raises
    ------
    InputError
        If a remark is missing, a result cannot be read, or a kept result is shown nowhere.
    """
    known = results_in(results)
    text = _remarks(remarks)
    shown = set(re.findall(r"^<!-- result: ([\w-]+) -->$", text, re.MULTILINE))
    nowhere = sorted(set(known) - shown)
    if nowhere:
        raise InputError(
            f"{', '.join(nowhere)}: a result is kept and the page shows it nowhere; put "
            f"<!-- result: {nowhere[0]} --> where it belongs in {remarks}"
        )
    return _MADE_BY + MARK.sub(lambda match: _generated(match[1], known), text)


def results_in(folder: Path) -> Mapping[str, Result]:
    """Return the results of a folder by name, in the catalogue's order."""
    paths = {known.name: folder / f"{known.name}.json" for known in REPRODUCTIONS}
    return {name: read_result(path) for name, path in paths.items() if path.is_file()}


def index(known: Mapping[str, Result]) -> str:
    """Return a table of everything that the papers print: status, verdict, form, why.

    Parameters
    ----------
    known : mapping of str to Result
    """
    head = ("paper", "shows", "name", "status", "verdict", "form", "n", "which data, which part")
    return table_of(head, [_entry(item, known) for item in ITEMS])


def _entry(item: Item, known: Mapping[str, Result]) -> Sequence[str]:
    names = item.by or (item.name,)
    found = next((known[name] for name in names if name in known), None)
    made = any(one.name in names for one in REPRODUCTIONS)
    name = ", ".join(f"`{name}`" for name in names) if made else ""
    start = (f"{item.paper}, {item.number}", item.what, name, item.status.value)
    if found is None:
        return (*start, "not judged" if made else "", "", "", item.why)
    return (*start, _verdict(found), found.form, _units(found), item.why)


def _verdict(found: Result) -> str:
    return str(judgement(found.table.name).of(found.table))


def _units(result: Result) -> str:
    """Return how many independent units its numbers rest on: the fewest and the most."""
    found = [
        cell.ours.n
        for row in result.table.rows
        for cell in row.cells.values()
        if isinstance(cell.ours, Estimate) and cell.ours.low < cell.ours.high
    ]
    if not found:
        return ""
    low, high = f"{min(found):,}", f"{max(found):,}"
    return low if low == high else f"{low} to {high}"


def _generated(what: str, known: Mapping[str, Result]) -> str:
    if what == "index":
        return index(known).rstrip("\n")
    name = what.removeprefix("result: ")
    if name not in known:
        return f"*No result of `{name}` is kept: it was not run for this page.*"
    result = known[name]
    verdict = judgement(name).of(result.table)
    parts = [
        f"**`{name}`**, {_form(result)}, seed {result.seed}, {_intervals(result)}"
        f"{result.seconds:,.0f} s, version {result.version}; "
        f"[every number]({RESULTS}/{name}.json). Verdict: **{verdict}**.",
        *numbers_tables(result.table, judgement(name)),
    ]
    if verdict.claims:
        parts.append(claims_table(verdict.claims))
    parts.append(_left_out(result))
    return "\n\n".join(part.rstrip("\n") for part in parts if part)


def _form(result: Result) -> str:
    if result.form == FULL:
        return "full form"
    return "quick form: small, with wide intervals" if result.form == "quick" else result.form


def _intervals(result: Result) -> str:
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


def _left_out(result: Result) -> str:
    """Return why numbers are missing, each reason once."""
    reasons = {
        cell.ours.reason
        for row in result.table.rows
        for cell in row.cells.values()
        if isinstance(cell.ours, Skipped)
    }
    return f"Not measured: {'; '.join(sorted(reasons))}." if reasons else ""


def _remarks(folder: Path) -> str:
    names = [line.strip() for line in _text(folder / ORDER).splitlines() if line.strip()]
    return "\n".join(_text(folder / name).rstrip("\n") + "\n" for name in names)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: remarks lie beside the page, in a folder of its name"
        ) from error
