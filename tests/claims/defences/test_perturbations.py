"""What each rule does to an answer, by hand."""

import numpy as np
import pytest

from privacygauge.claims.defences.defence import Binning, LabelOnly, Rounding, Temperature, TopK
from privacygauge.errors import InputError
from tests.classifiers.made import softmax

RNG = np.random.default_rng(0)


def answer(defence, *rows):
    p = np.array(rows)
    return defence.fit(p, np.array([True]), RNG).answer(p, RNG)


@pytest.mark.parametrize(
    ("defence", "row", "released"),
    [
        (Binning(0.1), [0.62, 0.38], np.array([0.65, 0.35])),
        (Binning(0.1), [0.72, 0.28, 0.0], np.array([0.75, 0.25, 0.05]) / 1.05),
        # Both in [0.3, 0.4): the second stays the prediction, one bin higher.
        (Binning(0.1), [0.31, 0.38, 0.31], np.array([0.35, 0.45, 0.35]) / 1.15),
        (Rounding(1), [0.74, 0.26], np.array([0.7, 0.3])),
        (Rounding(1), [0.32, 0.34, 0.34], np.array([0.3, 0.4, 0.3])),
        (TopK(1), [0.1, 0.6, 0.3], np.array([0.2, 0.6, 0.2])),
        (TopK(2), [0.5, 0.3, 0.15, 0.05], np.array([0.5, 0.3, 0.1, 0.1])),
        (TopK(3), [0.1, 0.6, 0.3], np.array([0.1, 0.6, 0.3])),
        (Temperature(2.0), [0.8, 0.2], np.array([2.0, 1.0]) / 3.0),
        (LabelOnly(), [0.1, 0.6, 0.3], np.array([0.0, 1.0, 0.0])),
    ],
)
def test_by_hand(defence, row, released):
    assert answer(defence, row)[0] == pytest.approx(released, abs=1e-12)


def test_rounding_to_nothing_leaves_the_predicted_class():
    row = np.full(1000, 0.000999)
    row[7] = 1 - 0.000999 * 999
    assert answer(Rounding(1), row)[0].argmax() == 7
    assert answer(Rounding(1), row)[0, 7] == 1


def test_a_temperature_is_undone_by_its_inverse():
    p = softmax(3 * np.random.default_rng(1).normal(size=(50, 6)))
    hidden = answer(Temperature(5.0), *p)
    assert answer(Temperature(1 / 5.0), *hidden) == pytest.approx(p, abs=1e-12)


def test_a_hidden_rest_is_never_above_what_is_released():
    """The mean of eleven twelfths rounds above one twelfth."""
    even = np.full(12, 1 / 12)
    assert even[None, 1:].mean(axis=1)[0] > even[0]
    assert answer(TopK(1), even)[0].argmax() == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Binning(0.3), "bin must be 1 over a whole number"),
        (lambda: Rounding(0), r"digits must be in 1\.\.15, got 0"),
        (lambda: TopK(0), "k must be at least 1, got 0"),
        (lambda: Temperature(0.0), "t must be finite and above 0, got 0"),
    ],
)
def test_wrong_parameters_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
