"""Which kind of language model a folder holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from privacygauge.core.checks import listed
from privacygauge.errors import InputError
from privacygauge.language.adapters import parts_of
from privacygauge.language.loading import settings_of

Kind = Literal["masked", "causal"]
"""The kinds of language model; an encoder-decoder is asked as a causal one, for its decoder."""

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
    found, heads = _found(settings_of(parts_of(path, base)[0]))
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
    return _found(settings_of(parts_of(path, base)[0]))[0]


def kind_of(heads: Sequence[str]) -> Kind | None:
    """Return the kind of a model by the names of its classes, or None for neither kind."""
    kinds = (kind for kind, endings in _HEADS.items() if any(x.endswith(endings) for x in heads))
    return next(kinds, None)


def _found(settings: Mapping[str, Any]) -> tuple[Kind | None, list[str]]:
    """Return the kind of a model by its settings, and the classes it was saved as."""
    heads = settings.get("architectures") or []
    heads = [str(name) for name in heads] if isinstance(heads, list) else []
    # The decoder reads from left to right.
    return ("causal" if settings.get("is_encoder_decoder") is True else kind_of(heads)), heads
