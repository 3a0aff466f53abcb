"""Records of any kind: rows, equal records, fingerprints, numbers."""

import numpy as np
import pandas as pd
import pytest

from privacygauge.classifiers.held import (
    RecordNumbers,
    check_records,
    digest_of,
    keys,
    numeric,
    take_records,
)
from privacygauge.classifiers.units_of_rows import twice
from privacygauge.errors import InputError

FRAME = pd.DataFrame(
    {"age": [1.0, np.nan, 1.0, 2.0], "town": ["a", "b", "a", "a"], "day": [1, 2, 1, 1]}
).astype({"town": "category"})


def kinds():
    polars = pytest.importorskip("polars")
    plain = FRAME.astype({"town": str})
    return {
        "pandas": FRAME,
        "polars": polars.from_pandas(plain),
        "objects": plain.to_numpy(),
        "numbers": np.array([[1.0, 0], [0, 2], [1, 0], [2, 0]]),
        "images": np.array([1, 2, 1, 3]).reshape(4, 1, 1, 1) * np.ones((4, 3, 2, 2)),
        "texts": np.array(["p", "q", "p", "r"], object),
        "lists of lists": np.array(
            [[["a"], {"b": 1}], [["c"], 2], [["a"], {"b": 1}], [[], 0]], object
        ),
    }


def test_rows_stay_of_their_kind_and_equal_records_are_found():
    rows = np.array([3, 0])
    for name, x in kinds().items():
        some = take_records(x, rows)
        assert type(some) is type(x), name
        assert len(some) == 2
        same = keys(x)
        assert same[0] == same[2], name
        assert len(set(same.tolist())) == 3, name
        assert keys(some).tolist() == same[rows].tolist(), name
        (warning,) = twice(x, np.zeros(4, int))
        assert "2 of 4 records equal another" in warning
    assert (take_records(FRAME, rows).dtypes == FRAME.dtypes).all()


def test_a_change_of_any_kind_of_records_changes_their_digest():
    seen = set()
    for x in kinds().values():
        before = digest_of(x)
        assert before == digest_of(take_records(x, np.arange(4)))
        assert before != digest_of(take_records(x, np.array([1, 0, 2, 3])))
        seen.add(before)
    changed = [
        FRAME.rename(columns={"age": "years"}),
        FRAME.astype({"day": float}),
        FRAME.fillna(0),
    ]
    seen |= {digest_of(frame) for frame in changed}
    seen |= {digest_of(RecordNumbers(np.arange(4))), digest_of(RecordNumbers(np.arange(4)[::-1]))}
    assert len(seen) == 7 + 3 + 2


def test_only_finite_numbers_are_features_for_attacks():
    found = {name: numeric(x) is not None for name, x in kinds().items()}
    assert [name for name, known in found.items() if known] == ["numbers"]
    numbers = FRAME[["day"]].assign(b=[1.5, 2, 3, 4])
    np.testing.assert_array_equal(numeric(numbers), numbers.to_numpy())
    assert numeric(numbers.astype({"day": "category"})) is None
    assert numeric(RecordNumbers(np.arange(4))) is None


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1, 2, 3, 4], r"x must have the shape \(n, d\) with n = 4, got \(4,\)"),
        (FRAME[:3], "x must hold as many records as y, 4, got 3"),
        (["a"], r"x must have the shape \(n, d\) with n = 4, got \(1,\)"),
        (object(), r"got object: give Training\(train, predict\)"),
    ],
)
def test_what_are_no_records_is_named(x, message):
    with pytest.raises(InputError, match=message):
        check_records(x, 4)
