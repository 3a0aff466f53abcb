"""Figure 9 of Song & Mittal (2021), on made-up networks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.classifiers.networks import SONG_MITTAL_2021_RELU
from privacygauge.classifiers.white_box import WhiteBoxSide, WhiteBoxSignals
from privacygauge.errors import InputError
from privacygauge.papers import Effort, song2021_embedding
from privacygauge.papers.song2021 import LOCATION, DataSetting, Side
from privacygauge.papers.song2021_embedding import (
    HIGH,
    LOW,
    draw_fig9,
    extreme_classes,
    kept_class,
    song_fig9,
)
from privacygauge.papers.table import Table
from tests.thorough import only_thorough, times

K = 10
N = 9


def made_side(seed, n=N):
    """Ten classes apart; members of the last five are known by heart, others of them lost."""
    rng = np.random.default_rng(seed)
    labels = np.tile(np.arange(K), 2 * n)
    member = np.arange(2 * n * K) < n * K
    risky = labels >= K // 2
    centres = 20 * np.eye(K)
    places = np.where((risky & ~member)[:, None], 10.0, centres[labels])
    hidden = places + rng.normal(size=(len(labels), K))
    logits = rng.normal(size=(len(labels), K))
    logits[np.arange(len(labels)), labels] += 3.0 + 4.0 * (risky & member)
    signals = WhiteBoxSignals(("a",), np.ones((len(labels), 1)), logits, labels, hidden, "loop")
    return WhiteBoxSide(signals, member)


@pytest.fixture
def made(monkeypatch):
    sides = Side(0, 1, range(0)), Side(0, 1, range(0))
    data = DataSetting(LOCATION, np.zeros((4, 1)), np.zeros(4, np.int64), sides, "tanh")
    monkeypatch.setattr(song2021_embedding, "setting", lambda wanted, seed: data)
    monkeypatch.setattr(
        song2021_embedding,
        "_sides",
        lambda data, effort, n: [(made_side(i), made_side(50 + i)) for i in range(n)],
    )
    monkeypatch.setattr(song2021_embedding, "PAIRS", 2)
    monkeypatch.setattr(song2021_embedding, "LEAST", {LOCATION: N})
    monkeypatch.setattr(song2021_embedding, "PERPLEXITY", 5.0)


@pytest.mark.slow
def test_others_of_risky_classes_lie_apart_from_their_members(made):
    table = song_fig9(Effort(quick=True))
    rows = {row.label: row.cells for row in table.rows}
    risk = rows["mean risk score"]
    assert (risk[LOW].published, risk[HIGH].published) == (0.528, 0.846)
    assert risk[LOW].ours.high < risk[HIGH].ours.low
    assert set(table.embedding.classes[HIGH]) == set(range(5, 10))
    together = rows["members among members keep their class"]
    apart = rows["others among members keep their class"]
    for space in ("features", "map"):
        assert together[f"{space}, {LOW}"].ours.value >= 0.95
        assert together[f"{space}, {HIGH}"].ours.value >= 0.95
        assert apart[f"{space}, {LOW}"].ours.value >= 0.95
        assert apart[f"{space}, low less high"].ours.low > 0.5
        assert rows["rank correlation of risk and neighbours"][space].ours.high < -0.3
    figure = draw_fig9(table)
    members, others = figure.axes
    for ax in (members, others):
        assert sum(len(part.get_offsets()) for part in ax.collections) == N * K
    assert len(others.get_legend().get_texts()) == K


@only_thorough
@pytest.mark.slow
def test_the_full_form_is_over_pairs(made):
    table = song_fig9(Effort())
    row = next(row for row in table.rows if row.label == "mean risk score")
    assert row.cells[LOW].ours.method.endswith("t over 2 fits")


def test_only_a_table_with_its_points_can_be_drawn():
    with pytest.raises(InputError, match="make song-fig9 again"):
        draw_fig9(Table("song-fig9", "", (), ()))


@settings(max_examples=times(60), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.booleans())
def test_neighbours_are_those_of_a_loop(seed, n, equal):
    rng = np.random.default_rng(seed)
    points = rng.integers(3, size=(14, 2)).astype(float) if equal else rng.random((14, 2))
    labels = rng.integers(3, size=14)
    asked = rng.random(14) < 0.7
    among = rng.random(14) < 0.7
    among[: n + 1] = True
    found = kept_class(points, labels, asked, among, n)
    for place, row in enumerate(np.flatnonzero(asked)):
        others = [j for j in np.flatnonzero(among) if j != row]
        away = np.array([np.linalg.norm(points[row] - points[j]) for j in others])
        same = labels[others] == labels[row]
        # Of equally far ones any may count: the share lies between the least and the most.
        last = np.sort(away)[n - 1]
        sure = away < last - 1e-12
        tied = np.abs(away - last) <= 1e-12
        open_places = n - sure.sum()
        most = same[sure].sum() + min(open_places, same[tied].sum())
        least = same[sure].sum() + max(0, open_places - (~same[tied]).sum())
        assert least / n - 1e-12 <= found[place] <= most / n + 1e-12


def test_too_few_records_or_classes_are_refused():
    labels = np.arange(30) % 10
    member = np.ones(30, np.bool_)
    with pytest.raises(InputError, match="must hold more than 5 records, got 3"):
        kept_class(np.zeros((30, 2)), labels, member, np.arange(30) < 3)
    with pytest.raises(InputError, match="10 classes must have at least 4 members, got 0"):
        extreme_classes(np.zeros(30), labels, member, 4)
    found = extreme_classes(labels / 10, labels, member, 3)
    assert found == {LOW: (0, 1, 2, 3, 4), HIGH: (5, 6, 7, 8, 9)}


@pytest.mark.slow
@pytest.mark.torch
def test_features_are_those_of_the_weights_that_were_kept(monkeypatch, tmp_path):
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    y = np.arange(48) % 3
    x = np.eye(3)[y] + 0.1 * rng.normal(size=(48, 3))
    sides = Side(0, 12, range(48, 48)), Side(24, 12, range(48, 48))
    data = DataSetting(LOCATION, x, y, sides, "tanh")
    short = replace(song2021_embedding.NETWORKS, epochs=2)
    monkeypatch.setattr(song2021_embedding, "NETWORKS", short)
    (first,) = song2021_embedding._sides(data, Effort(run=tmp_path), 1)
    again = song2021_embedding._sides(data, Effort(run=tmp_path), 1)[0]
    for side, other in zip(first, again, strict=True):
        assert side.signals.hidden.shape == (24, SONG_MITTAL_2021_RELU.hidden[-1])
        np.testing.assert_array_equal(side.signals.hidden, other.signals.hidden)
        np.testing.assert_array_equal(side.member, np.arange(24) < 12)
    np.testing.assert_array_equal(first[1].signals.labels, y[24:])
    assert not np.array_equal(first[0].signals.hidden, first[1].signals.hidden)
