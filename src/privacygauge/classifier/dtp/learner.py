"""Classification algorithms that know what they would predict without any one record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError


class Fitted(Protocol):
    """A trained classifier A(T), and with it every A(T without one record).

    Nothing is trained again: what the record contributed is taken out. Answers are natural
    logarithms of probabilities, which do not vanish where a probability is too small for a
    number: -inf says that it is exactly 0. Where the classifier has no answer (no record of the
    kind is left), the row is NaN.
    """

    def log_p(self, queries: NDArray[Any]) -> Floats:
        """Return the log probability of every class, (q, k), for queries (q, d)."""

    def log_p_without(self, rows: Ints) -> Floats:
        """Return what each record would be told had it been left out, (r, k)."""

    def log_p_without_at(self, rows: Ints, queries: NDArray[Any]) -> Floats:
        """Return what every query would be told, had each record been left out, (r, q, k)."""


@runtime_checkable
class Learner(Protocol):
    """A classification algorithm with exact leave-one-out predictions.

    Frozen. What it has to know of the records beside the training set, such as the categories
    of an attribute, is a field: it stays the same when a record is left out.
    """

    @property
    def name(self) -> str:
        """What reports call the kind of model."""

    def describe(self) -> Mapping[str, Any]:
        """Return everything that the result depends on beside the data, as JSON values."""

    def fit(self, x: NDArray[Any], y: Ints, *, n_classes: int) -> Fitted:
        """Return the classifier trained on records (n, d) of the classes (n,) in 0..k-1."""


@dataclass(frozen=True, eq=False)
class Box:
    """Every query whose attributes lie between two ends: the domain of numeric attributes."""

    low: Floats
    """(d,) Smallest values."""
    high: Floats
    """(d,) Largest values."""

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, checks.floats(getattr(self, name), name))
        if len(self.low) != len(self.high) or (self.low > self.high).any():
            raise InputError("low must be at most high in every attribute")


def box_of(x: NDArray[Any]) -> Box:
    """Return the smallest box that holds all records."""
    return Box(np.min(x, axis=0), np.max(x, axis=0))


@dataclass(frozen=True, eq=False)
class DtpRange:
    """Between which numbers each record's DTP lies."""

    low: Floats
    """(r,) Some query shows so much."""
    high: Floats
    """(r,) No query of the domain shows more; infinity where nothing is known."""
    method: str
    """How both were found, and over which domain."""
    own: Floats | None = None
    """(r,) What the records' own queries show, where that was computed on the way."""

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, checks.frozen(np.asarray(getattr(self, name), float)))
        if np.isnan(self.low).any() or np.isnan(self.high).any() or (self.low > self.high).any():
            raise InputError("low must be at most high for every record")


@runtime_checkable
class Bounded(Protocol):
    """A trained classifier that bounds the DTP of its records over all queries."""

    def dtp(self, rows: Ints, width: float, box: Box) -> DtpRange:
        """Return the range of each record's DTP over the domain.

        Parameters
        ----------
        rows : ndarray of int, shape (r,)
            Records of the training set.
        width : float
            Of the bins of published probabilities; 0 for none.
        box : Box
            The domain of numeric attributes; that of categories is known to the classifier.
        """
