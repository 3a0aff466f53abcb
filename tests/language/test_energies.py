"""Energies as values: sums over tokens, copies and units."""

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.language.energies import Energies


def energies(**changed):
    # Text 0 has words of two and of one token and two copies; text 1 one token in one copy.
    parts = {
        "log_probability": [-1.0, -2.0, -4.0, -3.0, -2.0, -0.5],
        "text": [0, 0, 0, 0, 0, 1],
        "copy": [0, 0, 1, 1, 1, 0],
        "unit": [0, 0, 0, 0, 1, 0],
        "position": [1, 2, 1, 2, 3, 1],
        "lengths": [2, 1],
        "n_truncated": [0, 0],
        "n_unknown": [0, 0],
        "units": "word",
    }
    return Energies(**{**parts, **changed})


def test_forms_of_the_energy():
    made = energies()
    # Three words were scored in text 0, in two masks; their tokens add up to 12 nats.
    assert made.mean() == pytest.approx([4.0, 0.5])
    assert made.sum() == pytest.approx([6.0, 0.5])
    text, unit, logs = made.of_unit()
    assert text.tolist() == [0, 0, 1]
    assert unit.tolist() == [0, 1, 0]
    assert logs == pytest.approx([-5.0, -2.0, -0.5])
    assert made.rows(1) == slice(5, 6)
    assert len(made) == 2


def test_the_same_word_in_the_next_copy_is_another():
    made = energies(
        log_probability=[-1.0, -3.0],
        text=[0, 0],
        copy=[0, 1],
        unit=[0, 0],
        position=[1, 1],
        lengths=[1],
        n_truncated=[0],
        n_unknown=[0],
    )
    assert made.mean() == pytest.approx([2.0])
    assert made.of_unit()[2] == pytest.approx([-2.0])
    with pytest.raises(InputError, match="every unit must be masked once"):
        made.pseudo_log_likelihood()


def test_numbers_are_kept_as_they_are_and_read_only():
    made = energies(log_probability=np.array([-1, -2, -4, -3, -2, 1e-6], np.float32))
    assert made.log_probability[-1] == 0.0
    assert not made.log_probability.flags.writeable
    assert made.log_probability.dtype == np.float64


@pytest.mark.parametrize("wrong", [0.5, np.nan, -np.inf])
def test_bad_log_probabilities(wrong):
    with pytest.raises(InputError, match="log_probability must be finite and at most 0: load the"):
        energies(log_probability=[-1.0, -2.0, -4.0, -3.0, -2.0, wrong])


def test_bad_lengths():
    with pytest.raises(InputError, match="unit must have 6 rows, got 1"):
        energies(unit=[0])
    with pytest.raises(InputError, match="n_unknown must have 2 rows, got 1"):
        energies(n_unknown=[0])
