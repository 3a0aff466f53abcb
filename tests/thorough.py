"""How much is repeated: less than in full unless PRIVACYGAUGE_TESTS says thorough."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

THOROUGH = os.environ.get("PRIVACYGAUGE_TESTS") == "thorough"


def times(number: int) -> int:
    """Return how often something is repeated of the number that the thorough suite takes."""
    return number if THOROUGH else number // 2


def quarter(number: int) -> int:
    """Return how often a long test repeats what takes minutes in the thorough suite."""
    return number if THOROUGH else number // 4


def crossed(*levels: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return all combinations of levels in the thorough suite, and half of them here.

    Each level is among them, and so is each pair of levels where there are three kinds or more.
    """
    places = product(*map(enumerate, levels))
    return [
        tuple(value for _, value in found)
        for found in places
        if THOROUGH or sum(place for place, _ in found) % 2 == 0
    ]


only_thorough = pytest.mark.skipif(not THOROUGH, reason="takes many minutes: make test-slow")
"""For the full or quick form of a whole reproduction."""
