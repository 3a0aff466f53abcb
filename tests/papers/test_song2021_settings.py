import gzip

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.papers import song2021
from privacygauge.papers.song2021 import LOCATION, PURCHASE, TEXAS, setting


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Three members a model instead of thousands, and a folder for copies."""
    monkeypatch.setattr(song2021, "MEMBERS", {PURCHASE: 3, TEXAS: 3, LOCATION: 3})
    monkeypatch.setenv("PRIVACYGAUGE_DATA", str(tmp_path))
    made = np.arange(20.0)[:, None], np.arange(20) % 4
    monkeypatch.setattr(song2021, "location30", lambda: made)
    return tmp_path


def purchases(n):
    """A line a customer: the group, counted from 1, and 600 zeros and ones that spell its row."""
    bits = (np.arange(n)[:, None] >> np.arange(600).clip(max=20)) & 1
    rows = np.column_stack([np.arange(n) % 100 + 1, bits])
    return "\n".join(",".join(map(str, row)) for row in rows) + "\n"


def test_without_a_copy_location30_stands_in_as_it_is(small):
    for wanted in (PURCHASE, TEXAS):
        found = setting(wanted, 1)
        assert found.name == LOCATION
        np.testing.assert_array_equal(found.x[:, 0], np.arange(20.0))
    # One of two files is no copy.
    (small / "feats").write_text("0,1\n")
    assert setting(TEXAS, 0).name == LOCATION


def test_a_copy_is_read_in_an_order_that_is_drawn(small):
    (small / "dataset_purchase").write_text(purchases(20))
    found = setting(PURCHASE, 0)
    other = setting(PURCHASE, 1)
    assert (found.name, found.activation) == (PURCHASE, "tanh")
    rows = found.x[:, :5] @ (1 << np.arange(5))
    np.testing.assert_array_equal(np.sort(rows), np.arange(20))
    np.testing.assert_array_equal(found.y, rows % 100)
    assert not np.array_equal(other.y, found.y)
    (small / "feats").write_text("0,1,1\n" * 20)
    (small / "labels").write_text("7\n" * 20)
    assert (setting(TEXAS, 0).name, setting(TEXAS, 0).activation) == (TEXAS, "relu")


def test_no_record_has_two_roles(small):
    found = setting(PURCHASE, 0)
    target, shadow = found.sides
    groups = [
        *(np.flatnonzero(side.inside(20)) for side in found.sides),
        *(side.rows[~side.inside(20)[side.rows]] for side in found.sides),
        *(np.array(side.reference) for side in found.sides),
    ]
    everyone = np.concatenate(groups)
    assert len(np.unique(everyone)) == len(everyone)
    assert [len(group) for group in groups] == [3] * 6
    assert found.n_asked == 12 == max(shadow.rows) + 1
    logits = np.arange(48.0).reshape(12, 4)
    seen = shadow.predictions(logits, found.y)
    np.testing.assert_array_equal(seen.values, logits[6:])
    np.testing.assert_array_equal(seen.member, [True] * 3 + [False] * 3)
    assert target.n_train == 3


def test_copies_that_cannot_be_used_say_why(small):
    (small / "dataset_purchase.gz").write_bytes(gzip.compress(purchases(20).encode()))
    with pytest.raises(InputError, match=r"must be unpacked, got dataset_purchase\.gz"):
        setting(PURCHASE, 0)
    (small / "dataset_purchase").write_text(purchases(13))
    with pytest.raises(InputError, match="must have more than 12 records, got 13"):
        setting(PURCHASE, 0)
