"""Which kind of language model a folder holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from privacygauge.core.checks import listed
from privacygauge.errors import InputError
from privacygauge.language.loading import checked_folder

Kind = Literal["masked", "causal"]
"""The kinds of language model."""

_HEADS: Mapping[Kind, tuple[str, ...]] = {
    "masked": ("ForMaskedLM", "ForPreTraining"),
    "causal": ("ForCausalLM", "LMHeadModel"),
}


def model_kind(path: str | Path) -> Kind:
    """Return what kind of language model a folder holds, by the head it was saved with.

    Raises
    ------
    InputError
        If it holds no model, or one of neither kind.
    """
    found = known_kind(path)
    if found is None:
        raise InputError(
            f"{path} must hold a masked or a causal language model, got "
            f"{listed(_heads(Path(path))) or 'no architecture'}: save it with its language-model "
            "head"
        )
    return found


def known_kind(path: str | Path) -> Kind | None:
    """Return the same, or None for a model of neither kind.

    Raises
    ------
    InputError
        If the folder holds no model.
    """
    return kind_of(_heads(checked_folder(path)))


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
