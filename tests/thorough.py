"""How much is repeated: half in the fast suite, in full where LEAKSCOPE_TESTS says thorough."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("LEAKSCOPE_TESTS") == "thorough"


def times(number: int) -> int:
    """Return how often something is repeated of the number that the thorough suite takes."""
    return number if THOROUGH else number // 2
