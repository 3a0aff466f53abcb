"""Augmentation: random changes of records in training, and views of records as queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import seeds
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch

Augment = Callable[[NDArray[Any], np.random.Generator], NDArray[Any]]
"""Takes records (b, d) and a generator, and returns as many altered records, (b, d)."""

BLOCK = 256
"""Number of records that are augmented or predicted at once."""


@dataclass(frozen=True)
class ImageAugment:
    """Augments images at random: shifts them, mirrors half of them, and adds noise.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.array([[1.0, 2.0, 3.0, 4.0]])
    >>> ImageAugment((1, 2, 2), shift=0, flip=True)(image, np.random.default_rng(2))
    array([[2., 1., 4., 3.]])
    """

    shape: tuple[int, int, int]
    """Channels, height and width; a record is an image in this order, flattened."""
    shift: int = 1
    """Largest shift in pixels, vertical and horizontal, at least 0; uncovered pixels become 0."""
    flip: bool = False
    """Whether each image is mirrored, left to right, with probability 1/2."""
    noise: float = 0.0
    """Standard deviation of normal noise in every pixel, at least 0."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(size) for size in self.shape))
        if len(self.shape) != 3 or min(self.shape) < 1:
            raise InputError(f"shape must be channels, height and width, got {self.shape}")
        if not 0 <= self.shift < min(self.shape[1:]):
            raise InputError(
                f"shift must be in 0..{min(self.shape[1:]) - 1} for images of this size, got "
                f"{self.shift}"
            )
        if not 0 <= self.noise < np.inf:
            raise InputError(f"noise must be finite and at least 0, got {self.noise}")

    def __call__(self, records: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Return augmented images, (b, d), each by its own draws."""
        b, d = records.shape
        if d != prod(self.shape):
            raise InputError(
                f"images of the shape {self.shape} have {prod(self.shape)} features, got {d}"
            )
        images = records.reshape(b, *self.shape)
        if self.shift:
            # Each image is padded with zeros, and a window of the old size is cut at a drawn place.
            _, c, h, w = images.shape
            start = rng.integers(2 * self.shift + 1, size=(b, 2))
            margin = (self.shift, self.shift)
            padded = np.pad(images, ((0, 0), (0, 0), margin, margin))
            # Index arrays that broadcast to (b, c, h, w): one window per image.
            record = np.arange(b)[:, None, None, None]
            channel = np.arange(c)[:, None, None]
            row = (start[:, :1] + np.arange(h))[:, None, :, None]
            column = (start[:, 1:] + np.arange(w))[:, None, None, :]
            images = padded[record, channel, row, column]
        if self.flip:
            mirrored = np.asarray(rng.random(b) < 0.5)
            images = np.where(mirrored.reshape(-1, 1, 1, 1), images[..., ::-1], images)
        altered = images.reshape(b, d)
        if self.noise:
            altered = (altered + self.noise * rng.normal(size=(b, d))).astype(records.dtype)
        return altered


def views(x: NDArray[Any], augment: Augment, queries: int) -> Iterator[NDArray[Any]]:
    """Yield the records themselves and then views of them, `queries` arrays (n, d) in all.

    `Networks` queries its models at the same views, so an existing model can be queried at them
    too. A view depends only on the record's place and the view's number.

    Parameters
    ----------
    x : ndarray of float, shape (n, d)
    augment : callable
    queries : int
        At least 1.
    """
    for number in range(queries):
        starts = range(0, len(x), BLOCK)
        parts = [view(x[start : start + BLOCK], augment, number, start) for start in starts]
        yield np.concatenate(parts)


def view(x: NDArray[Any], augment: Augment, number: int, start: int) -> NDArray[Any]:
    """Return a view of the block of records that begins at `start`; view 0 is the original."""
    if number == 0:
        return x
    # Seeded without the model: all models see the same views.
    return augment_records(x, augment, seeds.stream(0, "view", number, start))


def augment_records(x: NDArray[Any], augment: Augment, rng: np.random.Generator) -> NDArray[Any]:
    """Return records augmented at random, in their own dtype.

    Raises
    ------
    InputError
        If the callable returns another shape.
    """
    found = np.asarray(augment(x.copy(), rng))
    if found.shape != x.shape or found.dtype.kind not in "biuf":
        raise InputError(
            f"augment must return as many records as it is given, numbers of the shape {x.shape}, "
            f"got {found.dtype} of {found.shape}"
        )
    return np.ascontiguousarray(found, x.dtype)


def on_tensor(x: torch.Tensor, change: Callable[[NDArray[Any]], NDArray[Any]]) -> torch.Tensor:
    """Apply a function of arrays to a tensor; return the result on the tensor's device."""
    import torch

    return torch.from_numpy(change(x.cpu().numpy())).to(x.device)
