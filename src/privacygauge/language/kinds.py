"""Which kind of language model a folder holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from privacygauge.core.checks import listed
from privacygauge.errors import InputError
from privacygauge.language.adapters import parts_of

Kind = Literal["masked", "causal"]
"""The kinds of language model."""

_HEADS: Mapping[Kind, tuple[str, ...]] = {
    "masked": ("ForMaskedLM", "ForPreTraining"),
    "causal": ("ForCausalLM", "LMHeadModel"),
}


def model_kind(path: str | Path, base: str | Path | None = None) -> Kind:
    """Return what kind of language model a folder holds, by the head it was saved with.

    Parameters
    ----------
    path : str or pathlib.Path
        The folder of a model or of a PEFT adapter.
    base : str or pathlib.Path, optional
        The folder of the adapter's base; by default the one that it names.

    Raises
    ------
    InputError
        If it holds no model, or one of neither kind.
    """
    heads = _heads(parts_of(path, base)[0])
    found = kind_of(heads)
    if found is None:
        raise InputError(
            f"{path} must hold a masked or a causal language model, got "
            f"{listed(heads) or 'no architecture'}: save it with its language-model head"
        )
    return found


def known_kind(path: str | Path, base: str | Path | None = None) -> Kind | None:
    """Return the same, or None for a model of neither kind.

    Raises
    ------
    InputError
        If the folder holds no model.
    """
    return kind_of(_heads(parts_of(path, base)[0]))


def kind_of(heads: Sequence[str]) -> Kind | None:
    """Return the kind of a model by the names of its classes, or None for neither kind."""
    kinds = (kind for kind, endings in _HEADS.items() if any(x.endswith(endings) for x in heads))
    return next(kinds, None)


def _heads(folder: Path) -> list[str]:
    try:
        saved_as = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return [str(name) for name in saved_as.get("architectures") or ()]
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise InputError(f"{folder}/config.json is damaged: save the model again") from error
