"""Dropout as an ordinary setting: units that are left out at random in training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.classifier.networks.extra import the_torch
from privacygauge.classifier.networks.factories import MLP
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Dropout:
    """Makes the networks of an `MLP` with dropout after every hidden activation.

    Examples
    --------
    >>> from privacygauge.classifier.networks import MLP
    >>> Dropout(MLP((64,)), 0.5).rate
    0.5
    """

    of: MLP
    """The network without dropout, with at least one hidden layer."""
    rate: float = 0.5
    """The share of units that is left out, in (0, 1)."""

    def __post_init__(self) -> None:
        if not 0.0 < self.rate < 1.0:
            raise InputError(f"rate must be in (0, 1), got {self.rate}: use the MLP for none")
        if not self.of.hidden:
            raise InputError("dropout needs a hidden layer, got an MLP without one")

    def __call__(self, n_features: int, n_classes: int) -> torch.nn.Module:
        """Return an untrained network, with the same first weights as without dropout."""
        nn = the_torch().nn
        layers: list[torch.nn.Module] = []
        for layer in self.of(n_features, n_classes).children():
            layers.append(layer)
            if not isinstance(layer, nn.Linear):
                layers.append(nn.Dropout(self.rate))
        module: torch.nn.Module = nn.Sequential(*layers)
        return module
