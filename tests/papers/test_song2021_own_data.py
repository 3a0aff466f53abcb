"""Song & Mittal's tables on a reader's copy of Purchase100 or Texas100: made-up files here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.papers import (
    Effort,
    make,
    reproduction,
    song2021,
    song2021_risk,
    song2021_tables,
    song2021_training,
)
from privacygauge.papers.catalogue import judgement
from privacygauge.papers.make import data_in_folder
from privacygauge.papers.song2021 import LOCATION, PURCHASE, TEXAS, available

MEMBERS = 100
CLASSES = 5


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Fewer members and epochs, and a folder without the stand-in."""
    monkeypatch.setenv("PRIVACYGAUGE_DATA", str(tmp_path / "nothing"))
    members = {PURCHASE: MEMBERS, TEXAS: MEMBERS, LOCATION: MEMBERS}
    monkeypatch.setattr(song2021, "MEMBERS", members)
    monkeypatch.setattr(song2021, "EPOCHS", 20)
    monkeypatch.setattr(song2021_risk, "QUICK", 20)
    monkeypatch.setattr(song2021_training, "RECORDED", (1, 5))
    short = replace(song2021_training.NETWORKS, epochs=5)
    monkeypatch.setattr(song2021_training, "NETWORKS", short)
    short = replace(song2021_tables.NETWORKS, epochs=20, learning_rate=0.1)
    monkeypatch.setattr(song2021_tables, "NETWORKS", short)
    return tmp_path


def records(d):
    rng = np.random.default_rng(0)
    y = rng.integers(CLASSES, size=5 * MEMBERS)
    x = rng.random((len(y), d)) < rng.random((CLASSES, d))[y]
    return x.astype(int), y + 1


def purchases_in(folder):
    x, y = records(600)
    np.savetxt(folder / "dataset_purchase", np.column_stack([y, x]), "%d", ",")


def texas_in(folder):
    x, y = records(60)
    np.savetxt(folder / "feats", x, "%d", ",")
    np.savetxt(folder / "labels", y, "%d")


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("song-table2", PURCHASE),
        ("song-table2", TEXAS),
        ("song-table3", TEXAS),
        ("song-table4", TEXAS),
        ("song-table5", PURCHASE),
        ("song-table6", PURCHASE),
        ("song-table6", TEXAS),
        ("song-fig2", PURCHASE),
        ("song-fig7", TEXAS),
        ("song-fig10", PURCHASE),
        ("song-fig11", TEXAS),
    ],
)
def test_every_table_is_made_on_the_readers_copy(small, name, data):
    pytest.importorskip("torch")
    (purchases_in if data == PURCHASE else texas_in)(small)
    effort = Effort(quick=True, n_jobs=1, data=small)
    result = make.make_result(reproduction(name), effort)
    assert list(result.data) == [data]
    assert result.table.measured
    assert data in result.table.title
    assert result.table.notes[0].startswith(f"Made on the reader's copy of {data}")
    # What the paper prints of these data stands beside ours, and is compared in the full form.
    if name not in ("song-table5", "song-fig2", "song-fig7"):
        lines = result.table.lines()
        assert any(line["published"] is not None and line["ours"] is not None for line in lines)
        words = judgement(name, data=result.data).of(result.table).numbers
        assert set(words) & {"agrees", "differs", "open"}
        assert "other data" not in words


def test_one_data_set_at_a_time_where_a_table_has_one(small):
    purchases_in(small)
    texas_in(small)
    with pytest.raises(InputError, match="song-table2 is made on one data set at a time"):
        data_in_folder("song-table2", small)


def test_the_named_folder_decides_which_copy_is_taken(small, tmp_path_factory, monkeypatch):
    """A copy of other data in the usual folder does not take the place of the one that is given."""
    from privacygauge.datasets.local_copies import data_in

    usual = tmp_path_factory.mktemp("usual")
    purchases_in(usual)
    texas_in(small)
    monkeypatch.setenv("PRIVACYGAUGE_DATA", str(usual))
    assert available(PURCHASE, TEXAS) == PURCHASE
    with data_in(small):
        assert available(PURCHASE, TEXAS) == TEXAS


def test_the_stand_in_is_not_named_where_the_papers_data_lie(small):
    texas_in(small)
    (small / "location30.npz").write_bytes(b"not read")
    assert list(data_in_folder("song-table6", small)) == [TEXAS]
