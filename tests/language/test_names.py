"""Made-up names, and putting them into texts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.language.canaries import (
    N_NAMES,
    fictitious_names,
    made_up_names,
    prefix_names,
)


def test_names_differ_and_come_again():
    first, again = (made_up_names(5000, np.random.default_rng(0)) for _ in range(2))
    assert first == again
    assert len(set(first)) == 5000
    assert all(len(name.split()) == 2 and name.istitle() for name in first)
    assert made_up_names(0, np.random.default_rng(0)) == ()
    with pytest.raises(InputError, match=r"n must be in 0\.\."):
        made_up_names(N_NAMES + 1, np.random.default_rng(0))


@given(st.lists(st.text(min_size=1), max_size=10), st.randoms())
def test_a_patients_name_does_not_depend_on_the_order_of_samples(groups, random):
    shuffled = list(groups)
    random.shuffle(shuffled)
    found = fictitious_names(groups, np.random.default_rng(0))
    assert found == fictitious_names(shuffled, np.random.default_rng(0))
    assert len(set(found.values())) == len(set(groups))


def test_every_sample_gets_its_own_patients_name_in_front():
    names = {"p1": "Nevad Galabury", "p2": "Rosel Fenoholm"}
    texts = ("Has a cough.", "Is well.", "Went home.")
    assert prefix_names(texts, ("p1", "p2", "p1"), names) == (
        "Nevad Galabury Has a cough.",
        "Rosel Fenoholm Is well.",
        "Nevad Galabury Went home.",
    )
    with pytest.raises(InputError, match="names must hold every group, got none for p3"):
        prefix_names(("x",), ("p3",), names)
    with pytest.raises(InputError, match="group must have 3 rows, got 1"):
        prefix_names(texts, ("p1",), names)
