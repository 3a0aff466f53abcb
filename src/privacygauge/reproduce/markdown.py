"""Tables of results as Markdown: the paper's number, ours with its interval, and what is said."""

from __future__ import annotations

import math
from collections.abc import Sequence

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.report.numbers import DASH, decimal
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
