"""Kept results as Markdown: one of them, all of them, and the table of what the papers print."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.report.numbers import DASH, decimal
from privacygauge.reproduce.catalogue import ITEMS, PROTOCOLS, REPRODUCTIONS, judgement
from privacygauge.reproduce.item import Item, Status, value_text
from privacygauge.reproduce.result import FULL, ReproductionResult, read_result
from privacygauge.reproduce.table import Cell, Table
from privacygauge.reproduce.verdict import JudgedClaim, Judgement

WIDEST = 4
"""Columns of numbers side by side; more go into a further table."""
_MOST_DECIMALS = 6


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    r"""Return a Markdown table.

    Examples
    --------
    >>> print(table_of(("a", "b"), [("1", "x|y")]), end="")
    | a | b |
    |---|---|
    | 1 | x\|y |
    """
    lines = [_line(head), "|" + "---|" * len(head), *(_line(row) for row in rows)]
    return "\n".join(lines) + "\n"


def numbers_tables(table: Table, judgement: Judgement) -> list[str]:
    """Return a table's numbers, one part for rows of the same columns, none of them too wide."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in table.rows:
        groups.setdefault(tuple(row.cells), []).append(row.label)
    return [
        text
        for columns, labels in groups.items()
        for text in _parts(table, judgement, columns, labels)
    ]


def _parts(
    table: Table, judgement: Judgement, columns: Sequence[str], labels: Sequence[str]
) -> list[str]:
    """Return rows and columns, turned where that takes fewer lines, and cut where too wide."""
    turned = _lines_of(len(columns), len(labels)) < _lines_of(len(labels), len(columns))
    across, down = (labels, columns) if turned else (columns, labels)
    found = []
    for start in range(0, len(across), WIDEST):
        part = across[start : start + WIDEST]
        places = [[(name, other) if turned else (other, name) for name in part] for other in down]
        found.append(_one_table(table, judgement, across=part, down=down, places=places))
    return found


def claims_table(claims: Sequence[JudgedClaim]) -> str:
    """Return the claims with their effects, which are above 0 where a claim is true.

    An empty text where none of them was measured.
    """
    if all(isinstance(one.effect, Skipped) for one in claims):
        return ""
    return table_of(
        ("claim", "effect, above 0 if true", "verdict"),
        [(one.claim, number(one.effect), one.word) for one in claims],
    )


def number(found: Estimate | Skipped) -> str:
    """Return a number with its interval in as many decimals as the interval needs.

    Examples
    --------
    >>> number(Estimate(0.81234, 0.7, 0.9, 0.95, 10, "Wilson"))
    '0.812 (0.700 to 0.900)'
    >>> number(Estimate(1234.0, 1000.0, 1500.0, 0.95, 10, "t")), number(Skipped("a", "b"))
    ('1,234 (1,000 to 1,500)', '-')
    >>> number(Estimate(0.00021, 0.0001, 0.0004, 0.95, 38_821, "Wilson"))
    '0.00021 (0.00010 to 0.00040)'
    """
    if isinstance(found, Skipped):
        return DASH
    ends = found.low, found.high
    if ends == (found.value, found.value) and found.value.is_integer():
        return f"{found.value:,.0f}"
    largest = max(abs(x) for x in (found.value, *ends) if not math.isinf(x))
    decimals = _decimals(largest, found.high - found.low)
    value, low, high = (_decimal(x, decimals) for x in (found.value, *ends))
    return value if low == high else f"{value} ({low} to {high})"


def _one_table(
    table: Table,
    judgement: Judgement,
    across: Sequence[str],
    down: Sequence[str],
    places: Sequence[Sequence[tuple[str, str]]],
) -> str:
    """Return one table; a column has the paper's numbers beside it where there are any."""
    cells = [[table.cell(*place) for place in line] for line in places]
    known = [
        any(cell is not None and cell.published is not None for cell in column)
        for column in zip(*cells, strict=True)
    ]
    head = [""]
    rows = [[name] for name in down]
    for place, name in enumerate(across):
        head += [name, "paper"] if known[place] else [name]
        for line, row in enumerate(rows):
            cell = cells[line][place]
            row.append("" if cell is None else number(cell.ours))
            if known[place]:
                row.append(_published_text(*places[line][place], cell, judgement))
    return table_of(head, rows)


def _published_text(row: str, column: str, cell: Cell | None, judgement: Judgement) -> str:
    if cell is None or cell.published is None:
        return ""
    word = judgement.of_cell(row, column, cell)
    said = f" {word}" if word in ("agrees", "differs", "open") else ""
    decimals = _decimals(abs(cell.published), abs(cell.published))
    return f"{_decimal(cell.published, decimals)}{said}"


def _lines_of(rows: int, columns: int) -> int:
    return -(-columns // WIDEST) * (rows + 3)


def _decimals(largest: float, width: float) -> int:
    """Return how many decimals tell numbers of this size and an interval of this width apart."""
    usual = 3 if largest < 10 else 1 if largest < 1000 else 0
    if not 0 < width < math.inf:
        return usual
    return max(usual, min(_MOST_DECIMALS, 1 - math.floor(math.log10(width))))


def _decimal(value: float, decimals: int) -> str:
    if math.isinf(value):
        return decimal(value, 0)
    whole, _, rest = decimal(value, decimals).partition(".")
    sign, digits = ("-", whole[1:]) if whole.startswith("-") else ("", whole)
    grouped = f"{sign}{int(digits):,}"
    return f"{grouped}.{rest}" if rest else grouped


def _line(cells: Sequence[str]) -> str:
    # A pipe within a cell would end it.
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


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
