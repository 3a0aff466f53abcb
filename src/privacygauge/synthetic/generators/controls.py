"""Draws whose leak is known: of whole records, and of single values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Floats


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Draws whole records with replacement: the largest leak there is."""

    values: Floats
    """(n, F) The records."""

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Return n of the records, (n, F)."""
        return self.values[rng.integers(len(self.values), size=n)]


@dataclass(frozen=True, eq=False)
class Independent:
    """Draws every column on its own from its values: no record stays together."""

    values: Floats
    """(n, F) The records."""

    def sample(self, n: int, rng: np.random.Generator) -> Floats:
        """Return n records, (n, F)."""
        rows = rng.integers(len(self.values), size=(n, self.values.shape[1]))
        return self.values[rows, np.arange(self.values.shape[1])]
