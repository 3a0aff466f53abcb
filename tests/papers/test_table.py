import json

import pytest

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.papers import REPRODUCTIONS, Cell, Row, Table, reproduction

TABLE = Table(
    "t",
    "A table",
    (
        Row("first", {"PDTP": Cell(1.5, Skipped("PDTP", "not measured"))}),
        Row("second", {"accuracy": Cell(None, Estimate(0.5, 0.4, 0.6, 0.95, 100, "Wilson"))}),
    ),
    ("small",),
)


def test_a_table_is_one_line_for_every_cell():
    lines = TABLE.lines()
    assert lines[0] == {
        "row": "first",
        "column": "PDTP",
        "published": 1.5,
        "ours": None,
        "skipped": "not measured",
    }
    assert lines[1]["published"] is None
    assert (lines[1]["low"], lines[1]["high"], lines[1]["n"]) == (0.4, 0.6, 100)
    assert TABLE.to_frame()["row"].tolist() == ["first", "second"]
    read = json.loads(TABLE.to_json())
    assert read["cells"] == lines
    assert read["notes"] == ["small"]


def test_a_skipped_cell_moves_no_other_number(capsys, monkeypatch):
    from privacygauge.cli.output import emit_rows

    monkeypatch.setenv("COLUMNS", "200")
    emit_rows(TABLE.lines(), None)
    head, first, second = capsys.readouterr().out.splitlines()
    assert first.index("not measured") == head.index("skipped")
    assert second.index("0.4") == head.index("low")
    assert second.index("Wilson") == head.index("method")
    assert "None" not in first + second


def test_every_reproduction_is_found_by_its_name():
    names = [known.name for known in REPRODUCTIONS]
    assert len(set(names)) == len(names)
    for known in REPRODUCTIONS:
        assert reproduction(known.name) is known
    with pytest.raises(InputError, match=f"there is no reproduction 'x'; there are {names[0]}"):
        reproduction("x")
