from __future__ import annotations

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.papers import Cell, Row, Table
from privacygauge.papers.page import Lines, draw_dots, figure_svg
from tests.papers.made_tables import estimate, reproduction, table


def test_dots_are_the_cells_numbers_and_diamonds_the_papers():
    first = draw_dots(table())
    panels = first.get_figure().axes
    assert [ax.get_title(loc="left") for ax in panels] == ["x", "y"]
    marks = {
        (line.get_marker(), float(line.get_xdata()[0]), float(line.get_ydata()[0]))
        for line in first.get_lines()
        if line.get_marker() in ("o", "D")
    }
    ours = {("o", 0.5, 0.0), ("o", 0.6, 1.0), ("o", 0.9, 2.0)}
    assert marks == ours | {("D", 0.55, 0.0), ("D", 0.9, 1.0)}
    assert [text.get_text() for text in first.get_yticklabels()] == ["first", "second", "third"]


def test_lines_stand_over_the_number_in_a_name():
    rows = tuple(
        Row(f"k {k:,}, m {m}", {"bias": Cell(0.2 if m == 2 else None, estimate(m * k / 1e4))})
        for m in (2, 10)
        for k in (100, 1_000)
    )
    made = Table("t", "T", (*rows, Row("slope", {"bias": Cell(None, estimate(1.0))})), ())
    series = Lines(r"k ([\d,]+), ", "k", "bias").series(made)
    assert list(series) == ["m 2, bias", "m 10, bias"]
    assert [x for x, _ in series["m 10, bias"]] == [100.0, 1000.0]
    ax = Lines(r"k ([\d,]+), ", "k", "bias", xscale="log")(made)
    drawn = [line for line in ax.get_lines() if line.get_marker() == "o"]
    np.testing.assert_allclose(drawn[1].get_ydata(), [0.1, 1.0])
    assert ax.get_xscale() == "log"
    across = Table("t", "T", (Row("one", {"k 5": Cell(None, estimate(0.5))}),), ())
    assert list(Lines(r"k (\d+)", "k", "", across=True).series(across)) == ["one"]


@pytest.mark.slow
def test_a_figure_is_the_same_text_at_every_call():
    known = reproduction()
    assert figure_svg(known, table()) == figure_svg(known, table())
    assert "<svg" in figure_svg(known, table())


@pytest.mark.parametrize("draw", [draw_dots, Lines("x(1)", "", "")])
def test_nothing_measured_is_nothing_to_draw(draw):
    with pytest.raises(InputError, match="t has no number to draw"):
        draw(Table("t", "T", (), ()))
