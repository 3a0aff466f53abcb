from dataclasses import replace

import pytest

from privacygauge.errors import InputError, OutputError
from privacygauge.papers import REPRODUCTIONS, Effort, Table, make
from privacygauge.papers.make import make_all
from privacygauge.runs.results import LIST
from tests.papers.made_tables import reproduction, table

EFFORT = Effort(quick=True, n_jobs=1)


@pytest.fixture(autouse=True)
def undrawn(monkeypatch):
    """A drawing takes longer than all else here."""
    monkeypatch.setattr(make, "figure_svg", lambda known, table: f"<svg>{table.name}</svg>")


@pytest.fixture
def counted():
    """A reproduction, and the efforts that it was made with."""
    asked = []

    def made(effort):
        asked.append(effort)
        return table("counted")

    return reproduction("counted", made), asked


def without_data(effort):
    raise InputError("data.npz is not in the folder")


def without_torch(effort):
    raise ModuleNotFoundError("No module named 'torch'")


def test_what_is_missing_is_named_and_the_next_one_follows(tmp_path, counted):
    known, asked = counted
    several = (
        reproduction("no-data", without_data),
        reproduction("no-torch", without_torch),
        known,
    )
    found = list(make_all(several, EFFORT, tmp_path))
    assert [one.name for one in found] == ["no-data", "no-torch", "counted"]
    assert found[0].line == "no-data: left out: data.npz is not in the folder"
    assert found[1].said == "No module named 'torch'"
    assert found[2].plain["state"] == "made"
    assert sorted(p.name for p in tmp_path.iterdir()) == [LIST, "counted.json", "counted.svg"]
    assert asked[0].run == tmp_path / "runs" / "quick" / "counted"


def test_a_share_is_made_only_of_what_has_parts(tmp_path, counted):
    """What cannot be made in part is made in full, and says so."""
    known, asked = counted
    (made,) = make_all([known], Effort(share=0.5), tmp_path)
    assert made.result.form == "full"
    assert asked[0].run == tmp_path / "runs" / "full" / "counted"
    assert {one.name for one in REPRODUCTIONS} >= make.IN_PARTS


def test_what_was_finished_alike_is_kept(tmp_path, counted, monkeypatch):
    monkeypatch.setattr(make, "IN_PARTS", {"counted"})
    known, asked = counted
    (first,), (second,) = (list(make_all([known], EFFORT, tmp_path)) for _ in range(2))
    assert (first.kept, second.kept, len(asked)) == (False, True, 1)
    assert second.said == first.said
    assert second.seconds == 0
    assert "kept" in second.line
    for other in (replace(EFFORT, seed=1), Effort(), Effort(share=0.5)):
        (made,) = make_all([known], other, tmp_path)
        assert not made.kept
    assert asked[-1].run == tmp_path / "runs" / "0.5-of-the-full-form" / "counted"
    assert len(asked) == 4
    monkeypatch.setattr(make, "own_version", lambda: "another")
    (made,) = make_all([known], Effort(share=0.5), tmp_path)
    assert not made.kept
    (tmp_path / "counted.json").write_text("not of this program")
    with pytest.raises(OutputError, match=r"counted\.json has changed since"):
        list(make_all([known], Effort(share=0.5), tmp_path))


def test_a_table_without_numbers_has_no_figure(tmp_path):
    empty = reproduction("empty", lambda effort: Table("empty", "Nothing", (), ()))
    (made,) = make_all([empty], EFFORT, tmp_path)
    assert made.said == "nothing to compare"
    assert sorted(p.name for p in tmp_path.iterdir()) == [LIST, "empty.json"]


def test_a_share_is_a_part_of_the_full_form():
    assert (Effort().form, EFFORT.form, Effort(share=0.1).form) == (
        "full",
        "quick",
        "0.1 of the full form",
    )
    assert Effort(share=0.1).some(400, 30) == 40
    assert Effort(share=0.01).some(400, 30) == 30
    assert EFFORT.some(400, 30) == 30
    for share in (0.0, 1.5):
        with pytest.raises(InputError, match=r"share must be in \(0, 1\], got"):
            Effort(share=share)
