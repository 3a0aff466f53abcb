"""Table 7 of Song & Mittal: the paper's convolutions on digits."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.papers import Effort, song2021_images
from privacygauge.papers.song2021_images import (
    CHANNELS,
    MEMBERS,
    NOISE,
    Convolutions,
    noisy_digits,
    song_table7,
)
from tests.papers.made_tables import measured


@pytest.mark.torch
def test_the_network_has_two_blocks_of_the_papers_channels():
    torch = pytest.importorskip("torch")
    network = Convolutions()(64, 10)
    found = [one.out_channels for one in network if isinstance(one, torch.nn.Conv2d)]
    assert tuple(found) == CHANNELS == (32, 64)
    assert network(torch.zeros(3, 64)).shape == (3, 10)


def test_no_digit_has_two_roles():
    x, y = noisy_digits(0.0, 0)
    assert len(y) >= 4 * MEMBERS
    # Noise changes the images, not their order.
    noisy, same = noisy_digits(0.4, 0)
    np.testing.assert_array_equal(y, same)
    assert 0.35 < float((noisy - x).std()) < 0.45


@pytest.mark.slow
@pytest.mark.torch
def test_attacks_on_few_epochs_are_made_for_both_kinds(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(song2021_images, "MEMBERS", 60)
    monkeypatch.setattr(song2021_images, "QUICK", 2)
    rows = measured(song_table7(Effort(quick=True, n_jobs=1)))
    assert set(rows) == set(NOISE)
    for cells in rows.values():
        assert cells["train accuracy"].ours.n == 60
        assert {"correctness", "modified-entropy", "neural-nasr"} <= set(cells)
        assert all(cell.published is None for cell in cells.values())
