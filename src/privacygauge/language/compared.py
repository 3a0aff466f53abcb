"""A target and its reference: loaded together, checked before use, and named in a report."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from privacygauge.core import checks
from privacygauge.core.versions import versions
from privacygauge.errors import InputError
from privacygauge.language.audited import SHOWN
from privacygauge.language.coins import Coins, read_coins
from privacygauge.language.endpoints import AnyModel, EndpointModel
from privacygauge.language.loading import known_kind, parts_of
from privacygauge.language.model import (
    CausalModel,
    MaskedModel,
    Model,
    load_causal,
    load_masked,
    tokenizer_for,
)
from privacygauge.language.precision import Asked as AskedPrecision
from privacygauge.language.scores import energies_place
from privacygauge.language.text_files import SIDES, Columns, TextRecords, TextRecordsLike, sides_of
from privacygauge.language.units import ThresholdOptions, require_two

_M = TypeVar("_M", bound=AnyModel)


def compared_models(
    target: str | Path | _M,
    reference: str | Path | _M | None,
    load: Callable[..., _M],
    base: str | Path | None = None,
) -> list[_M]:
    """Return the target and, if given, the reference; folders are loaded.

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
    precision: AskedPrecision = "float32",
    base: str | Path | None = None,
) -> Model:
    """Return the masked language model in a folder, or the causal one.

    Raises
    ------
    InputError
        As in `load_masked` and `load_causal`.
    """
    load = load_masked if known_kind(path, base) == "masked" else load_causal
    return load(path, device=device, precision=precision, base=base)


def with_chat(
    columns: Columns | None, target: str | Path | AnyModel, base: str | Path | None
) -> Columns:
    """Return columns whose conversations are written by the target's chat template."""
    columns = columns or Columns()
    if isinstance(target, EndpointModel):
        return columns
    training = columns.training
    chat = replace(training.chat, read=functools.partial(tokenizer_for, target, base))
    return replace(columns, training=replace(training, chat=chat))


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


def check_asked(
    asked: ThresholdOptions, show: Sequence[str], energies: str | Path | None, population: bool
) -> None:
    """Check the options that can be checked before any model is run.

    Parameters
    ----------
    show : sequence of str
        Columns to print beside samples, of `SHOWN`.
    energies : str or pathlib.Path, optional
        Where energies are to be kept.
    population : bool
        Whether there are texts of a population.
    """
    if energies is not None:
        energies_place(energies)
    if asked.kinds and "population" in asked.kinds and not population:
        raise InputError(
            "the population threshold needs texts of the population, got none: give them, or take "
            "the threshold oracle or mean-train"
        )
    for name in show:
        if name not in SHOWN:
            raise InputError(f"show must be some of {checks.short_list(SHOWN)}, got {name!r}")


def judged_texts(
    members: TextRecordsLike,
    nonmembers: TextRecordsLike,
    population: TextRecordsLike | None,
    columns: Columns | None,
    coins: Coins | str | Path | None,
) -> tuple[list[TextRecords], Coins | None]:
    """Return the texts of each side, and the coins if they assigned these texts.

    They are read before a model is loaded, so that bad ones are reported at once.

    Raises
    ------
    InputError
        As in `sides_of` and `Coins.require`, or if a side has a single text or patient.
    """
    sides = [x.records for x in sides_of(members, nonmembers, population, columns=columns)]
    n_in, n_out = (len(set(texts.group or range(len(texts)))) for texts in sides[:2])
    require_two(n_in, n_out, "text" if sides[0].group is None else "patient")
    found = read_coins(coins) if isinstance(coins, str | Path) else coins
    if found is not None:
        found.require(dict(zip(SIDES, sides, strict=False)))
    return sides, found


def origin_of(models: Sequence[AnyModel]) -> dict[str, str]:
    """Return the models' names and the settings that they ran with, by label."""
    first = models[0].source
    packages = versions("torch", "transformers")
    return {
        **dict(zip(("target", "reference"), map(_model_name, models), strict=False)),
        **({} if first.base is None else {"base of the target": Path(first.base).name}),
        **({"source of the encoder": "empty"} if getattr(models[0], "empty_source", ()) else {}),
        "computed in": "a server"
        if isinstance(models[0], EndpointModel)
        else f"{first.precision} on {first.device}"
        + (f", weights saved in {first.stored}" if first.stored != first.precision else ""),
        **{name: packages[name] for name in ("torch", "transformers")},
    }


def _model_name(model: AnyModel) -> str:
    """Return a model's identity: the hash of its weights, or the address of its server."""
    if isinstance(model, EndpointModel):
        return f"{model.name} at {model.url}, whose weights cannot be hashed"
    return f"{Path(model.source.path).name} sha256:{model.source.weights}"
