"""How much is repeated: less than in full unless PRIVACYGAUGE_TESTS says thorough."""

from __future__ import annotations

import os

import pytest

THOROUGH = os.environ.get("PRIVACYGAUGE_TESTS") == "thorough"


def times(number: int) -> int:
    """Return how often something is repeated of the number that the thorough suite takes."""
    return number if THOROUGH else number // 2


def quarter(number: int) -> int:
    """Return how often a long test repeats what takes minutes in the thorough suite."""
    return number if THOROUGH else number // 4


only_thorough = pytest.mark.skipif(not THOROUGH, reason="takes many minutes: make test-slow")
"""For the full or quick form of a whole reproduction."""
