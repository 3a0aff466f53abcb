"""Small tables for tests of what is done with tables."""

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.papers import Cell, Reproduction, Row, Table


def estimate(value, half=0.1, n=20):
    return Estimate(value, value - half, value + half, 0.95, n, "Wilson")


def table(name="made-up"):
    return Table(
        name,
        "A paper, Table 9",
        (
            Row("first", {"x": Cell(0.55, estimate(0.5)), "y": Cell(None, estimate(0.7))}),
            Row("second", {"x": Cell(0.9, estimate(0.6)), "y": Cell(0.7, Skipped("y", "no data"))}),
            Row("third", {"x": Cell(None, estimate(0.9, 0.0))}),
        ),
        ("a note",),
    )


def reproduction(name="made-up", make=None):
    return Reproduction(name, "A paper, Table 9", make or (lambda effort: table(name)))


def measured(table):
    """Return the cells of every row that has a number of ours; the paper's other rows are last."""
    ours = [any(isinstance(c.ours, Estimate) for c in row.cells.values()) for row in table.rows]
    assert ours == sorted(ours, reverse=True)
    return {row.label: row.cells for row, own in zip(table.rows, ours, strict=True) if own}
