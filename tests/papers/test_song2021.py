import numpy as np
import pytest

from privacygauge.core.estimate import Skipped
from privacygauge.papers import Effort, song2021
from privacygauge.papers.song2021 import TABLE_4, song_table4
from tests.papers.made_tables import measured
from tests.thorough import only_thorough


def test_the_interval_is_students():
    pairs = [{"correctness": value} for value in (0.6, 0.7, 0.8)]
    found = song2021._row("correctness", None, {"alike": pairs}).cells["alike shadow"].ours
    half = 4.302652729749464 * 0.1 / np.sqrt(3)
    assert found.value == pytest.approx(0.7)
    assert found.high == pytest.approx(0.7 + half)
    assert found.low == pytest.approx(0.7 - half)
    assert found.n == 3


def test_a_tiny_form_puts_the_papers_numbers_beside_ours(monkeypatch, data_folder):
    """Models that know their members by heart, in place of networks."""
    trained = []

    def remembered(trainer, models, **options):
        y = models.y
        inside = models.inside
        trained.append(inside)
        logits = np.zeros((len(inside), len(y), 30), np.float32)
        logits[:, np.arange(len(y)), y] = np.where(inside, 9.0, 1.0)
        return logits

    monkeypatch.setattr(song2021, "train_all", remembered)
    table = song_table4(Effort(quick=True, n_jobs=1))
    rows = measured(table)
    assert list(rows) == list(TABLE_4)
    for label, cells in rows.items():
        first, *others = cells.values()
        assert first.published == TABLE_4[label]
        assert [cell.published for cell in others] == [None] * len(others)
        # Right on all records, and far surer of members: every metric but correctness tells.
        expected = 0.5 if label == "correctness" else 1.0
        assert all(cell.ours.value == expected for cell in cells.values())
    inside = np.vstack(trained)
    targets = inside[:, :1000].any(axis=1)
    assert inside[targets, :1000].all()
    assert not inside[targets, 1000:].any()
    # No shadow model saw a record of the targets, member or not.
    assert not inside[~targets, :2000].any()
    assert inside[~targets].any(axis=1).all()


@only_thorough
@pytest.mark.slow
@pytest.mark.torch
def test_the_quick_form_can_be_made(data_folder):
    pytest.importorskip("torch")
    for cells in measured(song_table4(Effort(quick=True, n_jobs=1))).values():
        for cell in cells.values():
            assert not isinstance(cell.ours, Skipped)
            assert 0 <= cell.ours.value <= 1
