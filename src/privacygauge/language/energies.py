"""Energies of texts: the positions that a model masks, and how unlikely it finds their tokens."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints, frozen
from privacygauge.core.seeds import non_negative, stream
from privacygauge.errors import InputError

# Masks: the positions hidden in every copy of a text.

Pattern = Literal["balanced", "random", "single", "exhaustive"]
Unit = Literal["token", "word"]


@dataclass(frozen=True)
class MaskPlan:
    """Rule for masking texts; the masks of a text depend only on the rule and on the text.

    Examples
    --------
    >>> from privacygauge.language.energies import MaskPlan
    >>> MaskPlan("single").masks("a text's key", 4).ravel().tolist()
    [0, 1, 2, 3]
    >>> MaskPlan(n_masks=4).masks("a text's key", 20).shape
    (4, 3)
    """

    pattern: Pattern = "balanced"
    """Pattern. `random`: independent subsets, as in the paper. `balanced`: blocks cut from random
    permutations, so that the numbers of masks per unit differ by at most one. `single`: every unit
    once, alone (the normalised energy). `exhaustive`: every subset once."""
    n_masks: int = 10
    """K, the number of masks per text, at least 1; for `exhaustive` the most allowed. Not used by
    `single`."""
    fraction: float = 0.15
    """Share of a text's units in one mask, rounded up, in (0, 1]. Not used by `single`."""
    seed: int = 0
    """Seed of the masks, non-negative."""
    unit: Unit = "token"
    """Unit that is masked and scored as a whole: a token, or a word with all its tokens."""

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
        """Return l, the number of units in one mask of a text with `n_units` units."""
        if self.pattern == "single":
            return 1
        # In floating point 0.07 * 100 is slightly above 7, and ceil would return 8.
        return math.ceil(round(self.fraction * n_units, 9))

    def masks(self, key: str, n_units: int) -> Ints:
        """Return the masks of one text.

        Parameters
        ----------
        key : str
            Key of the text, equal for every model.
        n_units : int
            T, the number of its units, at least 1.

        Returns
        -------
        array of shape (k, l)
            Ascending positions in 0..T-1, one row per mask. `balanced` returns every subset once if
            there are at most K of them, which gives the exact energy in fewer passes.

        Raises
        ------
        InputError
            If the pattern is `exhaustive` and there are more than `n_masks` subsets.
        """
        if n_units < 1:
            raise InputError(f"a text must have at least one unit to mask, got {n_units}")
        size = self.n_masked(n_units)
        if self.pattern == "single":
            return frozen(np.arange(n_units)[:, None])
        n_subsets = math.comb(n_units, size)
        if self.pattern == "exhaustive" and n_subsets > self.n_masks:
            raise InputError(
                f"n_masks must be at least the number of masks for the pattern exhaustive, got "
                f"{self.n_masks} for the {n_subsets:,} ways to mask {size} of {n_units} units: use "
                "the pattern balanced"
            )
        rng = stream(self.seed, "masks", key, n_units, self.n_masks, self.pattern)
        if self.pattern == "random":
            # Sorting uniform numbers depends on fewer details of numpy than its shuffles do.
            drawn = [np.argsort(rng.random(n_units), kind="stable") for _ in range(self.n_masks)]
            return frozen(np.sort(np.stack(drawn)[:, :size], axis=1))
        if n_subsets <= self.n_masks:
            # Every subset once: no random choice of masks remains in the energy.
            subsets = itertools.combinations(range(n_units), size)
            return frozen(np.array(list(subsets), np.int64))
        masks = np.empty((self.n_masks, size), np.int64)
        left = np.empty(0, np.int64)
        for mask in masks:
            if len(left) >= size:
                mask[:] = left[:size]
                left = left[size:]
                continue
            # A permutation is used up before the next one starts, so that no unit is ever two masks
            # ahead of another; units already in the block are skipped and come first in the next
            # one.
            following = np.argsort(rng.random(n_units), kind="stable")
            fresh = following[~np.isin(following, left)][: size - len(left)]
            mask[:] = np.concatenate([left, fresh])
            left = following[~np.isin(following, fresh)]
        return frozen(np.sort(masks, axis=1))

    def describe(self) -> dict[str, Any]:
        """Return all settings other than the texts that the masks depend on, as JSON values."""
        shared = {"pattern": self.pattern, "unit": self.unit, "mask seed": self.seed}
        if self.pattern == "single":
            return shared
        # The pattern single uses neither number: plans that differ in them share its answers.
        return {**shared, "n_masks": int(self.n_masks), "fraction": float(self.fraction)}


ROUNDING = 1e-3
"""Largest log-probability above 0 that rounding can produce: it is a difference of float32
numbers."""


@dataclass(frozen=True, eq=False)
class Energies:
    """Log-probabilities of every scored token of every text, and energies computed from them.

    One row is one token in one masked copy of its text (or in the single pass of a causal model).
    """

    log_probability: Floats
    """(m,) Log-probability of the token in nats, at most 0."""
    text: Ints
    """(m,) Text of the token, from 0, ascending."""
    copy: Ints
    """(m,) Masked copy of the text, from 0."""
    unit: Ints
    """(m,) Unit of the text that the token belongs to, from 0."""
    position: Ints
    """(m,) Position of the token in its text, from 0, including the frame."""
    lengths: Ints
    """(n,) T, the number of units read of each text."""
    n_truncated: Ints
    """(n,) Number of tokens cut off from each text."""
    n_unknown: Ints
    """(n,) Number of unknown tokens in each text."""
    units: Unit = "token"
    """Unit that is masked and scored: a token or a word."""
    n_read: Ints | None = None
    """(n,) Number of tokens read of each text, without its frame; None if unknown."""
    n_windows: Ints | None = None
    """(n,) Number of windows of each text; None if unknown."""
    further: Mapping[str, Floats] = field(default_factory=dict)
    """(m,) each: `mean`, `sd` and `highest` of the log-probability over the vocabulary, for causal
    models."""
    token: Ints | None = None
    """(m,) Token id; None if unknown."""

    def __post_init__(self) -> None:
        log_probability = np.asarray(self.log_probability, np.float64)
        if not (np.isfinite(log_probability) & (log_probability <= ROUNDING)).all():
            raise InputError(
                "log_probability must be finite and at most 0: load the model with precision "
                "float32, or check its weights"
            )
        # A value just above 0 is rounding.
        object.__setattr__(self, "log_probability", frozen(np.minimum(log_probability, 0.0)))
        for name in ("text", "copy", "unit", "position"):
            values = checks.integers(getattr(self, name), name, length=len(log_probability))
            object.__setattr__(self, name, values)
        for name in ("lengths", "n_truncated", "n_unknown", "n_read", "n_windows"):
            given = getattr(self, name)
            if given is not None:
                values = checks.integers(given, name, length=len(self.lengths))
                object.__setattr__(self, name, values)
        rows = {name: checks.floats(part, name) for name, part in self.further.items()}
        object.__setattr__(self, "further", rows)
        if self.token is not None:
            token = checks.integers(self.token, "token", length=len(log_probability))
            object.__setattr__(self, "token", token)

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.lengths)

    def mean(self) -> Floats:
        """Return the mean form of each text's energy: nats per scored unit, lower is likelier.

        Returns
        -------
        array of shape (n,)
            ``-(1/K) sum_k (1/l) sum_{i in I_k} log p(s_i | s without I_k)``, at least 0. A unit is
            a token, or a word with the sum over its tokens. The published tables of Mireshghallah
            et al. (2022) use this form; their equation 2 prints the sum.
        """
        return -self._total() / self._n_masked()

    def sum(self) -> Floats:
        """Return the sum form of each text's energy: nats per mask, lower is likelier.

        Returns
        -------
        array of shape (n,)
            ``-(1/K) sum_k sum_{i in I_k} log p(s_i | s without I_k)``, at least 0; l times the
            mean form (Mireshghallah et al. 2022, equation 2). It grows with the text's length.
        """
        # The tokens of a copy stand side by side: a change of text or copy begins the next one.
        first = np.ones(len(self.text), np.bool_)
        first[1:] = (np.diff(self.text) != 0) | (np.diff(self.copy) != 0)
        return -self._total() / np.bincount(self.text[first], minlength=len(self))

    def pseudo_log_likelihood(self) -> Floats:
        """Return the pseudo-log-likelihood (n,): the sum over units, each masked once, in nats.

        Raises
        ------
        InputError
            If a unit was masked more than once or never: use the pattern `single`.
        """
        if not np.array_equal(self._n_masked(), self.lengths):
            raise InputError(
                "every unit must be masked once for a pseudo-log-likelihood: use the pattern single"
            )
        return self._total()

    def of_unit(self) -> tuple[Ints, Ints, Floats]:
        """Return the text, the number and the mean log-probability of every scored unit.

        Returns
        -------
        text, unit : arrays of shape (u,)
            Ascending; units that no mask covers are left out.
        log_probability : array of shape (u,)
            Sum over the unit's tokens, averaged over the copies that hide it, in nats.
        """
        keys, unit = np.unique(
            np.stack([self.text, self.unit], axis=1), axis=0, return_inverse=True
        )
        unit = unit.reshape(-1)
        # Distinct pairs of unit and copy: the tokens of a word count as one.
        pairs = np.unique(np.stack([unit, self.copy], axis=1), axis=0)
        n_copies = np.bincount(pairs[:, 0], minlength=len(keys))
        totals = np.bincount(unit, self.log_probability, len(keys))
        return keys[:, 0], keys[:, 1], totals / n_copies

    def long_texts(self) -> tuple[str, ...]:
        """Return a note on texts longer than the model's context; () if there are none."""
        if self.n_read is None or self.n_windows is None:
            return ()
        n_cut = int(np.count_nonzero(self.n_truncated))
        # If texts were cut, these are named; otherwise those that needed several windows.
        n_long = n_cut or int(np.count_nonzero(self.n_windows > 1))
        if not n_long:
            return ()
        n_read = int(self.n_read.sum())
        share = n_read / (n_read + int(self.n_truncated.sum()))
        how = (
            "their beginning is read"
            if n_cut
            else f"they are read in {int(self.n_windows[self.n_windows > 1].sum()):,} windows"
        )
        return (
            f"{n_long:,} of {len(self):,} texts are longer than the model reads at once: {how}, "
            f"{share:.1%} of the tokens of all texts.",
        )

    def rows(self, text: int) -> slice:
        """Return the rows of one text."""
        return slice(*np.searchsorted(self.text, [text, text + 1]).tolist())

    def _total(self) -> Floats:
        return np.bincount(self.text, self.log_probability, len(self)).astype(
            np.float64, copy=False
        )

    def _n_masked(self) -> Ints:
        """Return the number of scored units, summed over copies, (n,)."""
        # A row with the unit and copy of the row before is another token of the same unit.
        same = np.zeros(len(self.text), np.bool_)
        parts = (self.text, self.copy, self.unit)
        same[1:] = np.logical_and.reduce([np.diff(part) == 0 for part in parts])
        return np.bincount(self.text[~same], minlength=len(self))
