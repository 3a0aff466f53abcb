"""The networks of the papers: frozen values that make modules and can be sent to a process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.classifier.networks.extra import the_torch
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch


from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


_ACTIVATIONS = {"tanh": "Tanh", "relu": "ReLU", "sigmoid": "Sigmoid"}


@dataclass(frozen=True)
class MLP:
    """Makes fully connected networks with the same activation after every hidden layer.

    Examples
    --------
    >>> from privacygauge.classifier.networks import MLP
    >>> MLP((64,), "tanh")
    MLP(hidden=(64,), activation='tanh', initial='torch')
    """

    hidden: tuple[int, ...] = (64,)
    """Units of each hidden layer, each at least 1; empty for multinomial regression."""
    activation: str = "tanh"
    """tanh, relu or sigmoid."""
    initial: str = "torch"
    """Initial weights: torch's own, or glorot (uniform, biases 0) as in Keras."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(int(units) for units in self.hidden))
        if any(units < 1 for units in self.hidden):
            raise InputError(f"hidden must hold numbers of at least 1, got {self.hidden}")
        if self.activation not in _ACTIVATIONS:
            raise InputError(
                f"activation must be one of {', '.join(_ACTIVATIONS)}, got {self.activation!r}"
            )
        if self.initial not in ("torch", "glorot"):
            raise InputError(f"initial must be torch or glorot, got {self.initial!r}")

    def __call__(self, n_features: int, n_classes: int) -> torch.nn.Module:
        """Return an untrained network."""
        nn = the_torch().nn
        layers, width = [], n_features
        for units in self.hidden:
            layers += [nn.Linear(width, units), getattr(nn, _ACTIVATIONS[self.activation])()]
            width = units
        module: torch.nn.Module = nn.Sequential(*layers, nn.Linear(width, n_classes))
        if self.initial == "glorot":
            for layer in module.children():
                if isinstance(layer, nn.Linear):
                    nn.init.xavier_uniform_(layer.weight)
                    nn.init.zeros_(layer.bias)
        return module


LONG_2017 = MLP((64,), "tanh")
"""64 units of tanh: Long, Bindschaedler & Gunter, arXiv:1712.09136 (2017)."""

SONG_MITTAL_2021 = MLP((1024, 512, 256, 128), "tanh", "glorot")
"""Purchase, Texas and location networks: Song & Mittal, USENIX Security (2021), section 5.1."""

SONG_MITTAL_2021_RELU = MLP((1024, 512, 256, 128), "relu", "glorot")
"""The same layers with relu. Their Keras code starts from Glorot's weights: on Location30 torch's
smaller ones cost 10 points of test accuracy."""

ATTACK_RELU_32 = MLP((32,), "relu")
"""A small network for attacks that learn from predictions."""


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
