"""PEFT adapters: a folder of few weights, to be put onto a base model that stays as it is."""

from __future__ import annotations

import hashlib
import json
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from privacygauge.errors import InputError
from privacygauge.language.loading import ADAPTER, checked_folder, damaged, weights_sha256
from privacygauge.language.quiet import quiet_transformers

_WEIGHTS = "adapter_model.safetensors"
_BASE = "base_model_name_or_path"


def parts_of(path: str | Path, base: str | Path | None = None) -> tuple[Path, Path | None]:
    """Return the folder of a whole model, and that of the adapter to be put onto it, if any.

    Parameters
    ----------
    path : str or pathlib.Path
        The folder of a model, or of an adapter.
    base : str or pathlib.Path, optional
        The folder of an adapter's base; by default the one that adapter_config.json names.

    Raises
    ------
    InputError
        If a folder holds no model, the base is unknown, or the adapter cannot be put onto it.
    """
    folder = Path(path)
    if not (folder / ADAPTER).is_file():
        if base is not None:
            raise InputError(f"a base goes with a PEFT adapter, but {folder} has no {ADAPTER}")
        return checked_folder(folder), None
    settings = _settings(folder)
    if not (folder / _WEIGHTS).is_file():
        raise InputError(f"{folder} must hold its adapter as {_WEIGHTS}, which is not there")
    if settings.get("num_virtual_tokens") is not None:
        raise InputError(
            f"{folder} must hold an adapter of a model's weights, such as LoRA, got "
            f"{settings.get('peft_type')}, which adds tokens to every text: it is not supported"
        )
    if find_spec("peft") is None:
        raise InputError(
            f"{folder} holds a PEFT adapter, which needs peft, which is not installed: "
            "pip install 'privacygauge[peft]'"
        )
    named = str(base or settings.get(_BASE) or "")
    for place in (Path(named), folder / named):
        if named and place.is_dir():
            return checked_folder(place), folder
    if len(list(folder.glob("*.safetensors"))) > 1:
        # The weights of its base lie beside it, which this refuses.
        checked_folder(folder)
    raise InputError(
        f"{folder} holds a PEFT adapter, whose base must be a folder of this machine, got "
        f"{named!r}: name the folder with --base (base=)"
    )


def adapted(module: Any, folder: Path) -> Any:
    """Return a module with the adapter of a folder in it, in the module's own class.

    Adapter and weights stay apart: in few bits, merged weights would lose most of the adapter.
    """
    from peft import PeftModel

    try:
        with quiet_transformers(), warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            made = PeftModel.from_pretrained(module, str(folder), torch_device="cpu")
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, damaged()) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"{folder} must hold an adapter of its base, but: {first}") from error
    missing = [str(x.message) for x in told if "missing adapter keys" in str(x.message)]
    if missing:
        raise InputError(
            f"{folder} must hold all weights of its adapter, got some missing: save it again, or "
            "name the base that it was trained on"
        )
    return made.get_base_model().eval()


def sha256_of(folder: Path, adapter: Path | None) -> str:
    """Return the checksum of a model's weights and settings, those of its adapter included."""
    whole = weights_sha256(folder)
    if adapter is None:
        return whole
    settings = {name: value for name, value in _settings(adapter).items() if name != _BASE}
    digest = hashlib.sha256(f"{whole}\n{json.dumps(settings, sort_keys=True)}\n".encode())
    with (adapter / _WEIGHTS).open("rb") as file:
        digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _settings(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / ADAPTER).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{folder}/{ADAPTER} is damaged: save the adapter again") from error
    if not isinstance(found, dict):
        raise InputError(f"{folder}/{ADAPTER} is damaged: save the adapter again")
    return found
