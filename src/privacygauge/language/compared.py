"""A target and its reference, loaded together: two different models of one kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from privacygauge.errors import InputError
from privacygauge.language.adapters import parts_of
from privacygauge.language.endpoints import AnyModel
from privacygauge.language.kinds import known_kind
from privacygauge.language.model import CausalModel, MaskedModel, Model, load_causal, load_masked
from privacygauge.language.precision import Asked

_M = TypeVar("_M", bound=AnyModel)


def compared_models(
    target: str | Path | _M,
    reference: str | Path | _M | None,
    load: Callable[..., _M],
    base: str | Path | None = None,
) -> list[_M]:
    """Return the target and, where there is one, the reference; those given as folders loaded.

    Parameters
    ----------
    target, reference : path or model
        Without a reference (None) that of a PEFT adapter is its base.
    load : callable
        Returns the model in a folder; takes ``base=``.
    base : str or pathlib.Path, optional
        The folder of the target's base, where the target is a PEFT adapter; by default the one
        that the adapter names.

    Raises
    ------
    InputError
        If a folder holds no model, the base belongs to no adapter, or both are the same model.
    """
    # Of both, before the first is read: that may take minutes.
    if isinstance(target, str | Path):
        folder, adapter = parts_of(target, base)
        if reference is None and adapter is not None:
            reference = folder
    elif base is not None:
        raise InputError(f"a base goes with the folder of a PEFT adapter, got the model and {base}")
    folders = [
        Path(model).resolve() for model in (target, reference) if isinstance(model, str | Path)
    ]
    _require_different(folders)
    if isinstance(reference, str | Path):
        parts_of(reference)
    models = [load(target, base=base) if isinstance(target, str | Path) else target]
    if reference is not None:
        models.append(load(reference) if isinstance(reference, str | Path) else reference)
    _require_different([model.source.weights for model in models])
    return models


def load_either(
    path: str | Path,
    *,
    device: str = "cpu",
    precision: Asked = "float32",
    base: str | Path | None = None,
) -> Model:
    """Return the masked language model in a folder, or the causal one.

    Parameters
    ----------
    path, device, precision, base
        As in `load_masked`.

    Raises
    ------
    InputError
        As in `load_masked` and `load_causal`.
    """
    load = load_masked if known_kind(path, base) == "masked" else load_causal
    return load(path, device=device, precision=precision, base=base)


def check_one_kind(models: Sequence[CausalModel | MaskedModel]) -> None:
    """Raise where one model is masked and the other causal."""
    if len({isinstance(model, MaskedModel) for model in models}) > 1:
        raise InputError(
            "target and reference must both be causal or both be masked, got one of each kind"
        )


def _require_different(found: Sequence[object]) -> None:
    """Refuse a reference with the target's own folder or weights."""
    if len(found) > 1 and found[0] == found[1]:
        raise InputError(
            "target and reference are the same model: give a reference that was not trained on "
            "the members, or none"
        )
