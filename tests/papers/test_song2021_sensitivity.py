import numpy as np
import pytest

from privacygauge.core.estimate import Skipped
from privacygauge.papers import Effort, song2021_risk
from privacygauge.papers.song2021 import LOCATION, TARGET, DataSetting, Side
from privacygauge.papers.song2021_risk import _folds, song_fig7


def test_every_member_is_removed_once():
    folds = _folds(4, TARGET, 0)
    assert [len(fold) for fold in folds] == [250] * 4
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.arange(TARGET.n_train))
    assert not np.array_equal(_folds(4, TARGET, 1)[0], folds[0])


def test_only_the_members_own_removal_counts_for_its_net_influence(monkeypatch):
    """Models that know their members by heart, the first half better; noise that all share."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=4000)
    by_heart = np.where(np.arange(4000) % 2000 < 500, 6.0, 3.0)
    noise = rng.normal(size=4000)
    states = []

    def remembered(trainer, models, **options):
        y = models.y
        inside = models.inside
        states.append(models.seeds)
        logits = np.zeros((len(inside), len(y), 3))
        logits[:, np.arange(len(y)), y] = noise + inside * by_heart
        return logits

    sides = Side(0, 1000), Side(2000, 1000)
    data = DataSetting(LOCATION, np.zeros((4000, 1)), y, sides, "relu")
    monkeypatch.setattr(song2021_risk, "setting", lambda *_: data)
    monkeypatch.setattr(song2021_risk, "train_all", remembered)
    rows = {row.label: row.cells for row in song_fig7(Effort(quick=True)).rows}
    assert len(set(states[0])) == 1
    assert len(states[0]) == 2 + 4
    last = rows["rank correlation with the score"]
    assert last["net"].ours.low > 0.3
    assert isinstance(last["another removed"].ours, Skipped)
    found = [cells for label, cells in rows.items() if label.startswith("score in")]
    filled = [cells for cells in found if not isinstance(cells["net"].ours, Skipped)]
    assert 0 < len(filled) <= len(found)
    for cells in filled:
        assert cells["another removed"].ours.value == 0.0
        assert cells["net"].ours.value == pytest.approx(cells["removed"].ours.value)
        assert cells["removed"].ours.low > 1.0
        quarter, three = (cells[f"removed, quantile {q}"].ours.value for q in (0.25, 0.75))
        assert quarter <= three


def test_bins_with_few_members_say_so(monkeypatch):
    made = song2021_risk._Sensitivity(np.full(30, 0.95), np.ones(30), np.zeros(30))
    row = song2021_risk._bin(made, 0.5, 0.6)
    assert row.cells["net"].ours == Skipped(
        "score in [0.5, 0.6)", "0 members, and at least 20 are needed"
    )
    assert song2021_risk._bin(made, 0.9, 1.0).cells["net"].ours.value == 1.0
