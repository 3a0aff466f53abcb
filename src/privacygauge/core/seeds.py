"""Random generators derived by role, never by order.

A generator derived from the names of its roles stays the same if work is added, left out or done in
parallel, so that a further attack changes no other attack's numbers.
"""

from __future__ import annotations

import hashlib
from typing import TypeAlias

import numpy as np

from privacygauge.errors import InputError


def stream(seed: int, *roles: str | int) -> np.random.Generator:
    """Return the generator that belongs to `roles` under `seed`.

    Parameters
    ----------
    seed : int
        Non-negative.
    *roles : str or int
        Purpose of the generator, from the general to the particular, such as
        ``("demo", "shadow", 3)``.

    Returns
    -------
    numpy.random.Generator
        The same for equal arguments on every machine, independent for different ones.

    Examples
    --------
    >>> from privacygauge.core.seeds import stream
    >>> int(stream(0, "coins").integers(100)) == int(stream(0, "coins").integers(100))
    True
    """
    # With type and length of every part, so that ("a", "b") differs from ("ab",) and 1 from "1".
    plain = [int(role) if isinstance(role, np.integer) else role for role in roles]
    text = "".join(f"{type(role).__name__}:{len(str(role))}:{role}" for role in plain)
    digest = hashlib.sha256(text.encode()).digest()
    key = [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 32, 4)]
    return np.random.default_rng(np.random.SeedSequence([non_negative(seed), *key]))


Seed: TypeAlias = "int | np.random.Generator | np.random.RandomState"
"""A seed, or a generator of numpy that draws one."""


def drawn_seed(seed: Seed) -> int:
    """Return a seed as an integer; a generator of numpy draws it, and so gives another each time.

    Examples
    --------
    >>> import numpy as np
    >>> drawn_seed(7)
    7
    >>> drawn_seed(np.random.default_rng(0)) == drawn_seed(np.random.default_rng(0))
    True
    """
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**32))
    if isinstance(seed, np.random.RandomState):
        return int(seed.randint(2**32, dtype=np.uint32))
    return non_negative(seed)


def non_negative(seed: int) -> int:
    """Return `seed` if it is an integer of at least 0."""
    # A bool is an int for Python, and never meant as a seed.
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed must be an integer of at least 0, got {seed!r}")
    return int(seed)
