"""What trains models: estimators one by one, networks many at once, both behind one protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from leakscope.core.checks import Bools, Ints


@runtime_checkable
class Trainer(Protocol):
    """Trains models on subsets of the same records and returns their predictions only.

    Frozen, and safe to send to another process. Weights are dropped as soon as the predictions
    are made. A model depends on its rows and its seed alone: which others are trained beside
    it changes nothing but the rounding of floats.
    """

    @property
    def name(self) -> str:
        """What reports call the kind of model."""

    @property
    def logits(self) -> bool:
        """Whether `train` returns logits (float32 or float64) or probabilities (float64)."""

    def describe(self) -> Mapping[str, Any]:
        """Return everything that the result depends on beside the data, as JSON values."""

    def train(
        self,
        x: NDArray[Any],
        y: Ints,
        inside: Bools,
        seeds: Sequence[int],
        *,
        n_classes: int,
        asked: Ints,
    ) -> NDArray[Any]:
        """Return the predictions of m models, one for every row of `inside`.

        Parameters
        ----------
        x : ndarray, shape (n, d)
            Features.
        y : ndarray of int, shape (n,)
            Classes in 0..n_classes-1.
        inside : ndarray of bool, shape (m, n)
            True where the model is trained on the record.
        seeds : sequence of int, length m
            Each in 0..2**31-1; fixes initial weights and the order of the batches.
        n_classes : int
        asked : ndarray of int, shape (a,)
            The records to predict.

        Returns
        -------
        ndarray of float, shape (m, a, n_classes)
            NaN throughout for a model whose training failed.
        """
