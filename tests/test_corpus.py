"""Folders of reports are compared byte by byte, dates aside."""

from __future__ import annotations

from tests.corpus import differences


def test_what_differs_is_named_and_dates_do_not_count(tmp_path):
    for side, day, line in (("old", "2026-01-02", "same"), ("new", "2027-03-04", "other")):
        folder = tmp_path / side
        folder.mkdir()
        (folder / "a.json").write_text(f'{{"made": "{day}",\n"x": 1}}')
        (folder / "b.csv").write_text(f"head\n{line}\n")
        (folder / "c.parquet").write_bytes(b"12" if side == "old" else b"1")
    (tmp_path / "new" / "d.txt").write_text("")
    assert differences(tmp_path / "old", tmp_path / "new") == [
        "b.csv: line 2 differs",
        "c.parquet: 2 and 1 bytes differ",
        f"d.txt: in {tmp_path / 'new'} only",
    ]
    assert differences(tmp_path / "old", tmp_path / "old") == []
