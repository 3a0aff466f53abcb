import numpy as np
import pytest

from privacygauge.datasets.local_copies import location30
from privacygauge.errors import InputError


def test_the_data_are_those_of_the_paper(data_folder):
    x, y = location30()
    assert (x.shape, y.shape) == ((5010, 446), (5010,))
    assert set(np.unique(x)) == {0.0, 1.0}
    assert np.array_equal(np.unique(y), np.arange(30))
    # Shuffled by the authors: no class comes in one piece.
    assert (np.diff(y) != 0).mean() > 0.9


@pytest.mark.parametrize("folder", [None, "", "absent"])
def test_without_the_file_nothing_is_fetched(monkeypatch, tmp_path, folder):
    if folder is None:
        monkeypatch.delenv("PRIVACYGAUGE_DATA", raising=False)
    else:
        monkeypatch.setenv("PRIVACYGAUGE_DATA", folder and str(tmp_path / folder))
    with pytest.raises(
        InputError, match=r"location30.npz is not in the folder that PRIVACYGAUGE_DATA"
    ):
        location30()
