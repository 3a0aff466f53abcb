import numpy as np
import pytest

from privacygauge.core.estimate import Skipped
from privacygauge.papers import Effort, song2021_thresholds
from privacygauge.papers.song2021 import LOCATION, TABLE_3, TEXAS, DataSetting, Side
from privacygauge.papers.song2021_calibration import CLASSIFIERS, STOPPED, UNDEFENDED, Pair
from privacygauge.papers.song2021_thresholds import AUTHORS, SIGNALS, song_table3
from tests.classifiers.made import made_up
from tests.papers.made_tables import measured


def made_pair(seed, leak):
    return Pair(*(made_up(n=300, leak=leak, seed=seed + role) for role in range(2)))


@pytest.fixture
def models(monkeypatch):
    """Return what stands in for the three classifiers, two pairs of each."""
    given = {
        "tc_output": (made_up(n=300, leak=2.0), made_up(n=300, leak=2.0, seed=1)),
        "defense_output": (made_up(n=300, seed=2), made_up(n=300, seed=3)),
    }
    sides = Side(0, 5, range(20, 25)), Side(10, 5, range(25, 30))
    data = DataSetting(LOCATION, np.zeros((30, 1)), np.arange(30) % 3, sides, "tanh")
    found = {kind: [made_pair(4 + 4 * i, 2.5) for i in range(2)] for kind in CLASSIFIERS}
    monkeypatch.setattr(song2021_thresholds, "available", lambda *_: LOCATION)
    monkeypatch.setattr(song2021_thresholds, "authors_predictions", given.get)
    monkeypatch.setattr(song2021_thresholds, "setting", lambda *_: data)
    monkeypatch.setattr(song2021_thresholds, "classifiers", lambda *_: found)
    return found


def test_the_gain_is_the_difference_of_the_two_accuracies(models):
    cells = measured(song_table3(Effort()))
    assert len(cells) == 3 * len(SIGNALS)
    for signal in SIGNALS:
        for view in (*AUTHORS, *CLASSIFIERS):
            one, each, gain = (
                cells[f"{signal}, {form}"][view].ours
                for form in ("one threshold", "one for each class", "gain")
            )
            assert gain.value == pytest.approx(each.value - one.value, abs=1e-12)
            assert gain.low <= gain.value <= gain.high


def test_what_leaks_is_found_and_what_does_not_is_not(models):
    table = song_table3(Effort())
    accuracy = {row.label: row.cells for row in table.rows}["confidence, one threshold"]
    assert accuracy["authors"].ours.low > 0.5
    assert accuracy[UNDEFENDED].ours.low > 0.5
    assert accuracy["MemGuard"].ours.low < 0.5 < accuracy["MemGuard"].ours.high


def test_without_an_epoch_to_stop_at_the_column_says_so(models):
    models[STOPPED] = Skipped("early stopping", "no epoch is as accurate")
    rows = {row.label: row.cells for row in song_table3(Effort()).rows}
    for form in ("one threshold", "one for each class", "gain"):
        assert rows[f"entropy, {form}"][STOPPED].ours is models[STOPPED]


def test_on_a_copy_the_papers_three_columns_stand_beside_ours(models, monkeypatch):
    monkeypatch.setattr(song2021_thresholds, "available", lambda *_: TEXAS)
    rows = {row.label: row.cells for row in song_table3(Effort()).rows}
    columns, printed = TABLE_3
    assert columns == CLASSIFIERS
    for label, values in printed.items():
        cells = rows[label.removeprefix(f"{TEXAS}: ")]
        assert tuple(cells[column].published for column in columns) == values
        # Nobody published predictions for it.
        assert set(cells) == set(columns)
