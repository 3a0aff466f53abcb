import gzip

import numpy as np
import pytest

from privacygauge.datasets.public import CATEGORICAL, CONTINUOUS, adult, adult_binary
from privacygauge.errors import InputError


@pytest.fixture(scope="module")
def frame(data_folder):
    return adult()


def test_all_rows_of_both_files_are_there(frame):
    assert len(frame) == 48_842
    assert set(frame.columns) == {*CONTINUOUS, *CATEGORICAL, "income"}
    # 7,841 of the training file and 3,846 of the test file, whose labels end in a full stop.
    assert int(frame["income"].sum()) == 11_687
    assert int(frame["income"][:32_561].sum()) == 7_841
    assert frame.iloc[0]["workclass"] == "State-gov"
    assert int((frame["workclass"] == "?").sum()) == 2_799
    assert not frame.isna().any().any()


def test_networks_get_normalised_numbers_and_binary_categories(frame):
    x, y = adult_binary(frame[:500])
    assert x.dtype == np.float64
    numbers = x[:, :6]
    binary = x[:, 6:]
    np.testing.assert_allclose(numbers.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(numbers.std(axis=0), 1)
    assert set(np.unique(binary)) == {0.0, 1.0}
    assert (binary.sum(axis=1) == len(CATEGORICAL)).all()
    assert np.array_equal(y, frame["income"][:500])
    # A number that does not vary is no division by 0.
    assert np.isfinite(adult_binary(frame[:1])[0]).all()


def test_a_changed_file_is_refused(monkeypatch, tmp_path, data_folder):
    text = gzip.decompress((data_folder / "adult.data.gz").read_bytes())
    (tmp_path / "adult.data").write_bytes(text.replace(b"State-gov", b"State-gob", 1))
    monkeypatch.setenv("PRIVACYGAUGE_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"adult.data is not the adult.data that is meant"):
        adult()
