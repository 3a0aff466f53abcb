"""The names of signals: those made of the energies, and further ones beside them."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.errors import InputError

LIKELIHOOD_RATIO = "likelihood-ratio"
"""The attack of Mireshghallah et al. (2022)."""
LOSS = "loss"
"""The baseline: the audited model's energy alone (Yeom et al. 2018)."""
REFERENCE = "reference"
"""No attack: the reference model never saw a member, so it can tell a shift only."""

_OF_ENERGIES = (LOSS, LIKELIHOOD_RATIO, REFERENCE)


def further_signals(given: Mapping[str, ArrayLike], n: int) -> dict[str, Floats]:
    """Return further signals of n samples, checked: (n,) values each, higher for members.

    Raises
    ------
    InputError
        If a name is empty or that of a signal made of the energies, or values are not n finite
        numbers.
    """
    for name in given:
        if not name.strip() or name in _OF_ENERGIES:
            raise InputError(
                f"a further signal must have a name of its own, got {name!r}: "
                f"{checks.listed(_OF_ENERGIES)} are made of the energies"
            )
    return {
        name: checks.floats(values, f"signal {name}", length=n) for name, values in given.items()
    }
