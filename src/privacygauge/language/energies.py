"""Energies of texts: how unlikely a language model finds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints, frozen
from privacygauge.errors import InputError
from privacygauge.language.masks import Unit

ROUNDING = 1e-3
"""Largest log-probability above 0 that rounding can give: it is a difference of float32 numbers."""


@dataclass(frozen=True, eq=False)
class Energies:
    """Log-probabilities of every scored token of every text, and the energies made of them.

    One row is one token in one masked copy of its text (or in the one pass of a causal model).
    """

    log_probability: Floats
    """(m,) Log-probability of the token in nats, at most 0."""
    text: Ints
    """(m,) Text of the token, ascending from 0."""
    copy: Ints
    """(m,) Copy of the text, from 0."""
    unit: Ints
    """(m,) Unit of the text that the token belongs to, from 0."""
    position: Ints
    """(m,) Position of the token in its text, frame included, from 0."""
    lengths: Ints
    """(n,) T, the number of units read of every text."""
    n_truncated: Ints
    """(n,) Number of tokens cut off from every text."""
    n_unknown: Ints
    """(n,) Number of unknown tokens of every text."""
    units: Unit = "token"
    """Unit that is masked and scored: a token or a word."""
    n_read: Ints | None = None
    """(n,) Number of tokens read of every text, without its frame; None if unknown."""
    n_windows: Ints | None = None
    """(n,) Number of windows of every text; None if unknown."""
    further: Mapping[str, Floats] = field(default_factory=dict)
    """(m,) each: `mean`, `sd` and `highest` log-probability over the vocabulary, for causal
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
        """Return the mean form of every text's energy: nats per scored unit, lower is likelier.

        Returns
        -------
        array of shape (n,)
            ``-(1/K) sum_k (1/l) sum_{i in I_k} log p(s_i | s without I_k)``, at least 0. The
            unit is a token, or a word with the sum of its tokens. The published tables of
            Mireshghallah et al. (2022) use this form; equation 2 prints the sum.
        """
        return -self._total() / self._n_masked()

    def sum(self) -> Floats:
        """Return the energy of every text in its sum form: nats per mask, lower is likelier.

        Returns
        -------
        array of shape (n,)
            ``-(1/K) sum_k sum_{i in I_k} log p(s_i | s without I_k)``, at least 0; l times the
            mean form (Mireshghallah et al. 2022, equation 2). It grows with the text's length.
        """
        return -self._total() / self._n_copies()

    def pseudo_log_likelihood(self) -> Floats:
        """Return the pseudo-log-likelihood (n,): the sum over units, each masked once, in nats.

        Raises
        ------
        InputError
            If a unit was masked twice or never: ask with the pattern `single`.
        """
        if not np.array_equal(self._n_masked(), self.lengths):
            raise InputError(
                "every unit must be masked once for a pseudo-log-likelihood: use the pattern single"
            )
        return self._total()

    def of_unit(self) -> tuple[Ints, Ints, Floats]:
        """Return the text, the number and the mean log-probability in nats of every scored unit.

        Returns
        -------
        text, unit : arrays of shape (u,)
            Ascending; a unit that no mask covers is left out.
        log_probability : array of shape (u,)
            The sum over the unit's tokens, averaged over the copies that hide it.
        """
        keys, unit = np.unique(
            np.stack([self.text, self.unit], axis=1), axis=0, return_inverse=True
        )
        unit = unit.reshape(-1)
        pairs = np.unique(np.stack([unit, self.copy], axis=1), axis=0)
        n_copies = np.bincount(pairs[:, 0], minlength=len(keys))
        totals = np.bincount(unit, self.log_probability, len(keys))
        return keys[:, 0], keys[:, 1], totals / n_copies

    def long_texts(self) -> tuple[str, ...]:
        """Return a note on the texts that do not fit into the model's context; () without any."""
        if self.n_read is None or self.n_windows is None:
            return ()
        n_cut = int(np.count_nonzero(self.n_truncated))
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
        # A row that goes on with the unit of the row before, in the same copy, is not counted.
        same = np.zeros(len(self.text), np.bool_)
        parts = (self.text, self.copy, self.unit)
        same[1:] = np.logical_and.reduce([np.diff(part) == 0 for part in parts])
        return np.bincount(self.text[~same], minlength=len(self))

    def _n_copies(self) -> Ints:
        first = np.ones(len(self.text), np.bool_)
        first[1:] = (np.diff(self.text) != 0) | (np.diff(self.copy) != 0)
        return np.bincount(self.text[first], minlength=len(self))
