"""Names of made-up persons, put into texts (Table 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from privacygauge.core import checks
from privacygauge.errors import InputError

# Syllables that make up names: no two ways to join them give the same name.
_STARTS = ("Bra", "Cel", "Dor", "Fen", "Gal", "Hul", "Jor", "Kel", "Lor", "Mav", "Nev", "Pel",
           "Quor", "Ros", "Sil", "Tav", "Ulm", "Ver", "Wyn", "Zan")  # fmt: skip
_MIDDLES = ("a", "e", "i", "o", "u", "ani", "eri", "illa", "oma", "uva")
_FIRST_ENDS = ("d", "l", "n", "ra", "s", "th", "va", "x")
_LAST_ENDS = ("bury", "dorf", "field", "gard", "holm", "lund", "mere", "sson", "ton", "wick")

N_NAMES = (len(_STARTS) * len(_MIDDLES)) ** 2 * len(_FIRST_ENDS) * len(_LAST_ENDS)
"""Number of different full names."""


def made_up_names(n: int, rng: np.random.Generator) -> tuple[str, ...]:
    """Return `n` different first and last names, put together from syllables.

    Parameters
    ----------
    n : int
        At least 0, at most `N_NAMES`.

    Returns
    -------
    tuple of str
        Such as ``Nevanid Kelomagard``: from no language, so that no living person is meant.

    Examples
    --------
    >>> import numpy as np
    >>> from privacygauge.language.names import made_up_names
    >>> len(set(made_up_names(1000, np.random.default_rng(0))))
    1000
    """
    if not 0 <= n <= N_NAMES:
        raise InputError(f"n must be in 0..{N_NAMES}, got {n}")
    return tuple(_name(int(number)) for number in rng.choice(N_NAMES, n, replace=False))


def fictitious_names(group: Sequence[str], rng: np.random.Generator) -> dict[str, str]:
    """Return a made-up name for every group; the order of the samples does not matter."""
    groups = sorted(set(group))
    return dict(zip(groups, made_up_names(len(groups), rng), strict=True))


def prefix_names(
    text: Sequence[str], group: Sequence[str], names: Mapping[str, str]
) -> tuple[str, ...]:
    """Return every text with its patient's first and last name in front.

    Parameters
    ----------
    text : sequence of str, length n
        Sentences.
    group : sequence of str, length n
        The patient of each.
    names : mapping of str to str
        First and last name of each patient, such as from `fictitious_names`.

    Notes
    -----
    Mireshghallah et al. (2022), section 4.3.1 and A.2.3: the name is prepended to every sequence
    of the TRAINING data. The non-members of Table 6 carry no names, so there part of what the
    attack finds is the name itself: give names to both sides to keep them alike, and the
    controls will show if one side only has them.
    """
    if len(text) != len(group):
        raise InputError(f"group must have {len(text)} rows, got {len(group)}")
    missing = sorted(set(group) - set(names))
    if missing:
        raise InputError(f"names must hold every group, got none for {checks.short_list(missing)}")
    return tuple(f"{names[patient]} {line}" for line, patient in zip(text, group, strict=True))


def _name(number: int) -> str:
    number, first_end = divmod(number, len(_FIRST_ENDS))
    number, last_end = divmod(number, len(_LAST_ENDS))
    number, first = divmod(number, len(_STARTS) * len(_MIDDLES))
    return f"{_stem(first)}{_FIRST_ENDS[first_end]} {_stem(number)}{_LAST_ENDS[last_end]}"


def _stem(number: int) -> str:
    start, middle = divmod(number, len(_MIDDLES))
    return _STARTS[start] + _MIDDLES[middle]
