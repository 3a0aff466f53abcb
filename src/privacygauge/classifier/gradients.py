"""White-box signals of a torch module: the gradient of every record's loss, layer by layer."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifier.estimators import require_records
from privacygauge.classifier.networks.extra import the_torch
from privacygauge.classifier.networks.layers import layers_of
from privacygauge.classifier.white_box import WhiteBoxSide, WhiteBoxSignals
from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch

    Tensors = dict[str, torch.Tensor]

_NUMBERS = 1 << 24
"""Values that the gradients of one block of records may hold: 128 MiB."""

_RECORDS = 4096
"""Records whose activations are held at once."""

# Exceptions of modules that torch.func cannot run, raised by them or by torch.func.
_REFUSALS = (RuntimeError, TypeError, ValueError, AttributeError, LookupError)


def white_box_signals(
    model: torch.nn.Module, x: ArrayLike, y: ArrayLike, *, engine: str | None = None
) -> WhiteBoxSignals:
    """Return the norm of every record's loss gradient, layer by layer, and the model's outputs.

    The model is copied, in float64 and in evaluation mode; it is not changed. No gradient is kept:
    for a linear layer with inputs a and output gradient d, the gradient by the weights is the outer
    product of d and a, and its norm the product of theirs.

    Parameters
    ----------
    model : torch.nn.Module
        Takes (n, d) features and returns (n, k) logits.
    x : array_like, shape (n, d)
    y : array_like of int, shape (n,)
        Classes in 0..k-1.
    engine : str, optional
        dense (a Sequential of linear layers and activations), vmap (torch.func, any module that
        it can run) or loop (record by record). By default the fastest that agrees with the loop on
        two records.

    Returns
    -------
    WhiteBoxSignals
        Norms are at least 0; they are small if the model is certain of a record.

    Raises
    ------
    InputError
        If the model is not a module with weights, its answers are not finite (n, k) logits, a class
        is missing from them, or the engine cannot run it.

    Notes
    -----
    Nasr, Shokri & Houmansadr (2019), "Comprehensive privacy analysis of deep learning", IEEE S&P,
    section III: the gradient of the loss by the parameters, layer by layer, of one record.
    """
    torch = the_torch()
    if not isinstance(model, torch.nn.Module):
        raise InputError(
            f"model must be a torch.nn.Module, got {type(model).__name__}: audit models that are "
            "seen from outside only with audit_model"
        )
    features, labels = require_records(x, y)
    own = copy.deepcopy(model).double().eval().requires_grad_(True)
    first = next(own.parameters(), None)
    if first is None:
        raise InputError(f"model must have weights, and {type(model).__name__} has none")
    asked = torch.as_tensor(features).to(first)
    classes = torch.as_tensor(np.array(labels)).to(first.device)
    seen = [_answers(own, some) for some in asked.split(_RECORDS)]
    logits, hidden = (np.concatenate(part) for part in zip(*seen, strict=True))
    if int(labels.max()) >= logits.shape[1]:
        raise InputError(
            f"y must be in 0..{logits.shape[1] - 1} for {logits.shape[1]} logits, got "
            f"{int(labels.max())}: are classes counted from 1?"
        )
    name = _choice(own, asked, classes) if engine is None else engine
    if name not in _ENGINES:
        raise InputError(f"engine must be one of {', '.join(_ENGINES)}, got {name!r}")
    if name == "dense" and layers_of(own) is None:
        raise InputError(
            "engine dense needs a Sequential of linear layers and activations: use vmap or loop"
        )
    # The dense engine never holds a gradient; the others hold one per record.
    n_weights = sum(p.numel() for p in own.parameters())
    block = _RECORDS if name == "dense" else max(1, _NUMBERS // n_weights)
    parts = [
        _ENGINES[name](own, some, true)
        for some, true in zip(asked.split(block), classes.split(block), strict=True)
    ]
    return WhiteBoxSignals(
        layers=_layers(own),
        norms=np.concatenate(parts),
        logits=logits,
        labels=np.array(labels),
        hidden=hidden,
        engine=name,
    )


def _answers(own: torch.nn.Module, asked: torch.Tensor) -> tuple[Floats, Floats]:
    """Return the logits, and the inputs of the linear layer that gives them."""
    import torch

    last: list[tuple[torch.Tensor, torch.Tensor]] = []

    def remember(_: object, given: tuple[torch.Tensor, ...], answer: torch.Tensor) -> None:
        last[:] = [(given[0], answer)]

    linear = [part for part in own.modules() if type(part) is torch.nn.Linear]
    handles = [part.register_forward_hook(remember) for part in linear]
    try:
        with torch.no_grad():
            logits = own(asked)
    finally:
        for handle in handles:
            handle.remove()
    if not isinstance(logits, torch.Tensor) or logits.ndim != 2 or len(logits) != len(asked):
        shape = tuple(getattr(logits, "shape", ()))
        raise InputError(f"model must return logits of the shape (n, k), got {shape}")
    hidden = last[0][0] if last and last[0][1] is logits else logits[:, :0]
    return logits.cpu().numpy(), hidden.flatten(1).cpu().numpy()


def _layers(own: torch.nn.Module) -> tuple[str, ...]:
    """Return the names of the modules that own weights, in the order of the parameters."""
    return tuple(dict.fromkeys(_layer(name) for name, _ in own.named_parameters()))


def _layer(parameter: str) -> str:
    return parameter.rpartition(".")[0] or parameter


def _choice(own: torch.nn.Module, asked: torch.Tensor, classes: torch.Tensor) -> str:
    if layers_of(own) is not None:
        return "dense"
    expected = _norms_by_loop(own, asked[:2], classes[:2])
    try:
        found = _norms_by_vmap(own, asked[:2], classes[:2])
    except _REFUSALS:
        return "loop"
    return "vmap" if np.allclose(found, expected, rtol=1e-9, atol=1e-12) else "loop"


def _dense(own: torch.nn.Module, asked: torch.Tensor, classes: torch.Tensor) -> Floats:
    import torch

    inputs = []
    outputs = []
    biases = []
    values = asked
    for child in own.children():
        if isinstance(child, torch.nn.Linear):
            inputs.append(values)
            values = child(values)
            outputs.append(values)
            biases.append(0.0 if child.bias is None else 1.0)
        else:
            # A copy: an activation that works in place would change the layer's output.
            values = child(values.clone())
    loss = torch.nn.functional.cross_entropy(values, classes, reduction="sum")
    slopes = torch.autograd.grad(loss, outputs)
    squares = [
        slope.square().sum(1) * (given.square().sum(1) + bias)
        for slope, given, bias in zip(slopes, inputs, biases, strict=True)
    ]
    return _numpy(torch.stack(squares, 1).detach().sqrt())


def _norms_by_vmap(own: torch.nn.Module, asked: torch.Tensor, classes: torch.Tensor) -> Floats:
    import torch
    from torch.func import functional_call, grad, vmap

    weights = {name: value.detach() for name, value in own.named_parameters()}
    fixed = dict(own.named_buffers())

    def loss(learnt: Tensors, record: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        logits = functional_call(own, {**learnt, **fixed}, (record[None],))
        return torch.nn.functional.cross_entropy(logits, label[None])

    slopes = vmap(grad(loss), in_dims=(None, 0, 0))(weights, asked, classes)
    names = list(slopes)
    return _by_layer(names, [slopes[name].flatten(1).square().sum(1) for name in names])


def _norms_by_loop(own: torch.nn.Module, asked: torch.Tensor, classes: torch.Tensor) -> Floats:
    import torch

    names, weights = zip(*own.named_parameters(), strict=True)
    rows = []
    for record, label in zip(asked, classes, strict=True):
        loss = torch.nn.functional.cross_entropy(own(record[None]), label[None])
        slopes = torch.autograd.grad(loss, weights, allow_unused=True)
        zero = loss.detach().new_zeros(())
        rows.append(torch.stack([zero if g is None else g.square().sum() for g in slopes]))
    return _by_layer(list(names), list(torch.stack(rows).unbind(1)))


def _by_layer(names: Sequence[str], squares: Sequence[torch.Tensor]) -> Floats:
    """Return (n, l) norms of layers from the squared norms of their parameters."""
    total: dict[str, Any] = {}
    for name, square in zip(names, squares, strict=True):
        total[_layer(name)] = total.get(_layer(name), 0.0) + square
    return _numpy(the_torch().stack(list(total.values()), 1).sqrt())


def _numpy(values: torch.Tensor) -> NDArray[Any]:
    array: NDArray[Any] = values.detach().cpu().numpy()
    return array


_ENGINES: dict[str, Callable[[torch.nn.Module, torch.Tensor, torch.Tensor], Floats]] = {
    "dense": _dense,
    "vmap": _norms_by_vmap,
    "loop": _norms_by_loop,
}


@dataclass(frozen=True, eq=False)
class ShadowModule:
    """A network of the adversary's own, and records with known membership in it."""

    model: torch.nn.Module
    """Module with the same layers as the audited one."""
    x: ArrayLike
    """(m, d) Features of the records."""
    y: ArrayLike
    """(m,) Classes of the records, in 0..k-1."""
    member: ArrayLike
    """(m,) True where the record was in its training set; both kinds must occur."""


def white_box_side(
    model: torch.nn.Module, x: ArrayLike, y: ArrayLike, member: ArrayLike
) -> WhiteBoxSide:
    """Return the white-box signals of records whose membership is known."""
    signals = white_box_signals(model, x, y)
    return WhiteBoxSide(signals, checks.bools(member, "member", length=len(signals)))
