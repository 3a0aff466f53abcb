"""The paper's rows without ours were typed once and agree where the paper prints them twice."""

import pytest

from privacygauge.core.estimate import Skipped
from privacygauge.papers import song2021 as printed
from privacygauge.papers.catalogue import judgement
from privacygauge.papers.page import numbers_tables
from privacygauge.papers.table import Table

ALL = [
    ("song-table2", printed.TABLE_2),
    ("song-table3", printed.TABLE_3),
    ("song-table4", printed.TABLE_4_UNDEFENDED),
    ("song-table4-defences", printed.TABLE_4_DEFENDED),
    ("song-table5", printed.TABLE_5),
]


def numbers(given):
    return {row.label: {name: cell.published for name, cell in row.cells.items()}
            for row in printed.printed_rows(given)}  # fmt: skip


def test_tables_2_3_and_5_repeat_each_other():
    two, three, five = (
        numbers(given) for given in (printed.TABLE_2, printed.TABLE_3, printed.TABLE_5)
    )
    for column in printed.TABLE_3[0]:
        for signal in ("confidence", "entropy", "modified-entropy"):
            one = three[f"Texas100: {signal}, one for each class"][column]
            assert one == two[f"Texas100, {column}"][signal]
            assert one > three[f"Texas100: {signal}, one threshold"][column]
    for data in ("Purchase100", "Texas100"):
        inside = five[data].pop("white-box")
        assert five[data] == two[f"{data}, no defence"]
        assert inside > max(five[data][name] for name in ("confidence", "network"))
    # The text of section 3.3.4 has these differences to the best attack from outside.
    gains = []
    for row in numbers(printed.TABLE_5).values():
        outside = max(row[name] for name in ("network", "confidence", "modified-entropy"))
        gains.append(round(row["white-box"] - outside, 3))
    assert gains == [0.058, 0.005, 0.006]


def test_memguard_keeps_every_class():
    [before], [after] = (
        numbers(given).values() for given in (printed.TABLE_4_UNDEFENDED, printed.TABLE_4_DEFENDED)
    )
    for name in ("train accuracy", "test accuracy", "correctness"):
        assert before[name] == after[name]


@pytest.mark.parametrize(("name", "given"), ALL)
def test_they_are_shown_and_not_judged(name, given):
    table = Table(name, "", tuple(printed.printed_rows(given)), ())
    assert all(isinstance(c.ours, Skipped) for row in table.rows for c in row.cells.values())
    verdict = judgement(name).of(table)
    assert set(verdict.numbers) == {"not measured"}
    text = "\n".join(numbers_tables(table, judgement(name)))
    for row in table.rows:
        for cell in row.cells.values():
            assert f"{cell.published:.3f}".rstrip("0") in text
