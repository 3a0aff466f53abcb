import pytest

from privacygauge.reproduce import Effort, song2021_tables
from privacygauge.reproduce.song2021_tables import SIGNALS, song_table3
from tests.classifier.made import made_up
from tests.reproduce.made_tables import measured


class Side:
    """What stands in for a trained model: its predictions alone."""

    def __init__(self, seed, leak):
        self.predictions = made_up(n=300, leak=leak, seed=seed)


@pytest.fixture
def table(monkeypatch):
    given = {
        "tc_output": (made_up(n=300, leak=2.0), made_up(n=300, leak=2.0, seed=1)),
        "defense_output": (made_up(n=300, seed=2), made_up(n=300, seed=3)),
    }
    pairs = [(Side(4, 2.5), Side(5, 2.5)), (Side(6, 2.5), Side(7, 2.5))]
    monkeypatch.setattr(song2021_tables, "authors_predictions", given.get)
    monkeypatch.setattr(song2021_tables, "trained_sides", lambda *_: pairs)
    return song_table3(Effort())


def test_the_gain_is_the_difference_of_the_two_accuracies(table):
    cells = measured(table)
    assert len(cells) == 3 * len(SIGNALS)
    for signal in SIGNALS:
        for view in ("authors", "MemGuard", "alike"):
            one, each, gain = (
                cells[f"{signal}, {form}"][view].ours
                for form in ("one threshold", "one for each class", "gain")
            )
            assert gain.value == pytest.approx(each.value - one.value, abs=1e-12)
            assert gain.low <= gain.value <= gain.high


def test_what_leaks_is_found_and_what_does_not_is_not(table):
    accuracy = {row.label: row.cells for row in table.rows}["confidence, one threshold"]
    assert accuracy["authors"].ours.low > 0.5
    assert accuracy["alike"].ours.low > 0.5
    assert accuracy["MemGuard"].ours.low < 0.5 < accuracy["MemGuard"].ours.high
