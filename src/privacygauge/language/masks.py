"""Masks: the positions hidden in every copy of a text."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from privacygauge.core.checks import Ints, frozen
from privacygauge.core.seeds import non_negative, stream
from privacygauge.errors import InputError

Pattern = Literal["balanced", "random", "single", "exhaustive"]
Unit = Literal["token", "word"]


@dataclass(frozen=True)
class MaskPlan:
    """Rule for masking texts; the masks of a text depend on this and on the text alone.

    Examples
    --------
    >>> from privacygauge.language.masks import MaskPlan
    >>> MaskPlan("single").masks("a text's key", 4).ravel().tolist()
    [0, 1, 2, 3]
    >>> MaskPlan(n_masks=4).masks("a text's key", 20).shape
    (4, 3)
    """

    pattern: Pattern = "balanced"
    """`random`: independent subsets, as in the paper. `balanced`: blocks cut from random
    permutations, so that every unit is masked equally often, give or take one. `single`: every
    unit once, alone (the normalised energy). `exhaustive`: every subset once."""
    n_masks: int = 10
    """K, the number of masks per text, at least 1; for `exhaustive` the most allowed. Not used by
    `single`."""
    fraction: float = 0.15
    """The share of a text's units in one mask, rounded up, in (0, 1]. Not used by `single`."""
    seed: int = 0
    """Seed of the masks, non-negative."""
    unit: Unit = "token"
    """Unit that is masked and scored as a whole: a token, or a word with all of its tokens."""

    def __post_init__(self) -> None:
        for name, value, known in (
            ("pattern", self.pattern, get_args(Pattern)),
            ("unit", self.unit, get_args(Unit)),
        ):
            if value not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}, got {value!r}")
        if isinstance(self.n_masks, bool) or int(self.n_masks) != self.n_masks or self.n_masks < 1:
            raise InputError(f"n_masks must be an integer of at least 1, got {self.n_masks}")
        if not 0.0 < self.fraction <= 1.0:
            raise InputError(f"fraction must be in (0, 1], got {self.fraction}")
        non_negative(self.seed)

    def n_masked(self, n_units: int) -> int:
        """Return l, the number of units in one mask of a text of `n_units`."""
        if self.pattern == "single":
            return 1
        # 0.07 * 100 is a little more than 7, and means 7.
        return math.ceil(round(self.fraction * n_units, 9))

    def masks(self, key: str, n_units: int) -> Ints:
        """Return the masks of one text.

        Parameters
        ----------
        key : str
            Key of the text, the same for every model.
        n_units : int
            T, the number of its units, at least 1.

        Returns
        -------
        array of shape (k, l)
            Ascending positions in 0..T-1, one row per mask. `balanced` gives every subset once
            where there are at most K of them: that is the whole energy, for fewer passes.

        Raises
        ------
        InputError
            If the pattern is `exhaustive` and there are more than `n_masks` subsets.
        """
        if n_units < 1:
            raise InputError(f"a text must have at least one unit to mask, got {n_units}")
        size = self.n_masked(n_units)
        rng = stream(self.seed, "masks", key, n_units, self.n_masks, self.pattern)
        return frozen(_DRAW[self.pattern](n_units, size, self.n_masks, rng))

    def describe(self) -> dict[str, Any]:
        """Return everything other than the texts that the masks depend on, as JSON values."""
        shared = {"pattern": self.pattern, "unit": self.unit, "mask seed": self.seed}
        if self.pattern == "single":
            return shared
        return {**shared, "n_masks": int(self.n_masks), "fraction": float(self.fraction)}


def _random(n: int, size: int, k: int, rng: np.random.Generator) -> Ints:
    return np.sort(np.stack([_permutation(n, rng)[:size] for _ in range(k)]), axis=1)


def _balanced_masks(n: int, size: int, k: int, rng: np.random.Generator) -> Ints:
    if math.comb(n, size) <= k:
        return _subsets(n, size)
    masks = np.empty((k, size), np.int64)
    left = np.empty(0, np.int64)
    for mask in masks:
        if len(left) >= size:
            mask[:], left = left[:size], left[size:]
            continue
        # The rest of one permutation is used up before the next one goes on, so that no unit
        # is ever two ahead of another; the next one first gives those not in the block yet.
        following = _permutation(n, rng)
        fresh = following[~np.isin(following, left)][: size - len(left)]
        mask[:] = np.concatenate([left, fresh])
        left = following[~np.isin(following, fresh)]
    return np.sort(masks, axis=1)


def _single(n: int, size: int, k: int, rng: np.random.Generator) -> Ints:
    return np.arange(n)[:, None]


def _exhaustive(n: int, size: int, k: int, rng: np.random.Generator) -> Ints:
    if math.comb(n, size) > k:
        raise InputError(
            f"n_masks must be at least the number of masks for the pattern exhaustive, got {k} for "
            f"the {math.comb(n, size):,} ways to mask {size} of {n} units: use the pattern balanced"
        )
    return _subsets(n, size)


def _subsets(n: int, size: int) -> Ints:
    return np.array(list(itertools.combinations(range(n), size)), np.int64)


def _permutation(n: int, rng: np.random.Generator) -> Ints:
    # Sorting uniform numbers depends on less of numpy than its own shuffles do.
    return np.argsort(rng.random(n), kind="stable")


_DRAW: dict[str, Callable[[int, int, int, np.random.Generator], Ints]] = {
    "random": _random,
    "balanced": _balanced_masks,
    "single": _single,
    "exhaustive": _exhaustive,
}
