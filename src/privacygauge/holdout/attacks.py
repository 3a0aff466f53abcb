"""The attacks on a test set by their names on the command line: one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from privacygauge.core.checks import short_list
from privacygauge.errors import InputError
from privacygauge.holdout.analysts import Analyst
from privacygauge.holdout.closed_form import blum_hardt_bias, majority_bias, nb_bias, scan_bias
from privacygauge.holdout.decoding import LinearProgramming, MessagePassing
from privacygauge.holdout.designed import DesignedQueries, designed_bias
from privacygauge.holdout.majority import BlumHardt, LinearScan, Majority
from privacygauge.holdout.naive_bayes import NaiveBayes
from privacygauge.holdout.priors import Knowledge
from privacygauge.holdout.reconstruction import Reconstruction


@dataclass(frozen=True)
class NamedAttack:
    """An attack by its name."""

    name: str
    """Name on the command line and in reports."""
    make: Callable[[Knowledge | None], Analyst]
    """Returns the attack, given the attacker's prior knowledge."""
    informed: bool = True
    """Whether it uses prior knowledge."""
    expected: Callable[[int, int, int], float] | None = None
    """Bias after k exact answers about n uniform labels of m classes, from (n, m, k)."""


_EVERY = (
    NamedAttack("nb", NaiveBayes, expected=nb_bias),
    NamedAttack("majority", lambda _: Majority(), informed=False, expected=majority_bias),
    NamedAttack(
        "majority-blum-hardt", lambda _: BlumHardt(), informed=False, expected=blum_hardt_bias
    ),
    NamedAttack("scan", LinearScan, expected=scan_bias),
    NamedAttack("message-passing", MessagePassing),
    NamedAttack("linear-programming", LinearProgramming),
    NamedAttack("designed", DesignedQueries, expected=designed_bias),
    NamedAttack("reconstruction", lambda _: Reconstruction(), informed=False),
)
ATTACKS: Mapping[str, NamedAttack] = {attack.name: attack for attack in _EVERY}
"""Every attack by its name."""


def attacks_named(names: Sequence[str]) -> tuple[NamedAttack, ...]:
    """Return the attacks of these names, in their order.

    Raises
    ------
    InputError
        If an attack does not exist, none is named, or one is named twice.
    """
    for name in names:
        if name not in ATTACKS:
            raise InputError(f"attack must be one of {', '.join(ATTACKS)}, got {name!r}")
    if not names or len(set(names)) < len(names):
        raise InputError(f"attacks must be at least one, each named once, got {short_list(names)}")
    return tuple(ATTACKS[name] for name in names)
