"""Loaders of data that the user brings, on made-up files of the same form."""

import hashlib

import numpy as np
import pytest

from privacygauge.datasets.local_copies import purchase100, texas100
from privacygauge.errors import InputError


def lines(values):
    return "".join(",".join(str(v) for v in row) + "\n" for row in np.atleast_2d(values))


@pytest.fixture
def made():
    rng = np.random.default_rng(0)
    return rng.integers(2, size=(7, 600)), np.array([1, 100, 3, 3, 57, 9, 2])


def test_purchases_come_back_as_they_were_written(made, tmp_path):
    x, y = made
    path = tmp_path / "dataset_purchase"
    path.write_text(lines(np.column_stack([y, x])))
    found, classes = purchase100(path)
    np.testing.assert_array_equal(found, x)
    np.testing.assert_array_equal(classes, y - 1)
    assert found.dtype == np.uint8
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    np.testing.assert_array_equal(purchase100(path, sha256=digest.upper())[1], classes)
    with pytest.raises(InputError, match=r"checksum of dataset_purchase must be 00, got .*leave"):
        purchase100(path, sha256="00")


def test_stays_come_back_as_they_were_written(made, tmp_path):
    x, y = made
    feats = tmp_path / "feats"
    labels = tmp_path / "labels"
    feats.write_text(lines(x))
    labels.write_text(lines(y[:, None]))
    found, classes = texas100(feats, labels)
    np.testing.assert_array_equal(found, x)
    np.testing.assert_array_equal(classes, y - 1)
    labels.write_text(lines(y[1:, None]))
    with pytest.raises(InputError, match="feats and labels must have as many lines, got 7 and 6"):
        texas100(feats, labels)
    labels.write_text(lines(np.column_stack([y, y])))
    with pytest.raises(InputError, match="labels must have one column, got 2"):
        texas100(feats, labels)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,0\n1,1\n", "must have 601 columns, the group first, got 2"),
        ("", "must hold lines of numbers, and it holds none"),
        ("1,0\n1\n", "as many in each"),
        ("1,x\n", r"whole numbers in 0\.\.255"),
        ("1," + ",".join(["0"] * 599) + ",2\n", "features of 0 and 1, got 2 in row 0"),
        ("101," + ",".join(["0"] * 600) + "\n", r"labels in 1\.\.100, got 101 in row 0"),
    ],
)
def test_another_file_is_refused_in_a_line(text, message, tmp_path):
    path = tmp_path / "dataset_purchase"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        purchase100(path)


def test_a_missing_file_is_refused_in_a_line(tmp_path):
    with pytest.raises(InputError, match=r"path must be a file, and .* is none: unpack"):
        purchase100(tmp_path / "dataset_purchase")
