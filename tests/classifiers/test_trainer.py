from dataclasses import replace

import numpy as np
import pytest

from privacygauge.classifiers.trainer import Cohort
from privacygauge.errors import InputError
from tests.classifiers.trainers import Counted, records

X, Y = records()
INSIDE = np.random.default_rng(0).random((5, 40)) < 0.5
COHORT = Cohort(X, Y, INSIDE, (7, 8, 9, 10, 11), 2, np.array([3, 5, 8]))


def test_a_cohort_is_trained_part_by_part_like_as_a_whole():
    whole = Counted().train(COHORT)
    parts = [COHORT[:2], COHORT[2:4], COHORT[4:]]
    assert [part.shape for part in parts] == [(2, 3, 2), (2, 3, 2), (1, 3, 2)]
    assert np.array_equal(np.concatenate([Counted().train(part) for part in parts]), whole)
    assert whole.shape == COHORT.shape == (len(COHORT), 3, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": Y[:39]}, "y must have 40 rows, got 39"),
        ({"inside": INSIDE.astype(int)}, "inside must hold booleans, got int64"),
        ({"inside": INSIDE[0]}, r"inside must have the shape \(m, n\) with n = 40, got \(40,\)"),
        ({"inside": INSIDE[:, 1:]}, r"with n = 40, got \(5, 39\)"),
        ({"seeds": (1, 2)}, "seeds must be as many as rows of inside, 5, got 2"),
    ],
)
def test_what_does_not_belong_together_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(COHORT, **change)
