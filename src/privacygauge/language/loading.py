"""Models from a folder of this machine: never from a hub, never from a pickle, never in part."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, cast

from privacygauge.errors import InputError
from privacygauge.language.quiet import quiet_transformers

ADAPTER = "adapter_config.json"
"""The settings of a PEFT adapter."""

_PICKLES = ("pytorch_model*.bin", "*.pt", "*.pth", "*.ckpt")
# What says where a model comes from and not what it computes.
_ORIGIN = ("_name_or_path", "transformers_version", "torch_dtype", "dtype")
_TAKEN_FROM = {
    "AutoModelForMaskedLM": "masked",
    "AutoModelForCausalLM": "causal",
    "AutoModelForSeq2SeqLM": "encoder-decoder",
}
_BLOCK = 1 << 20


def checked_folder(path: str | Path) -> Path:
    """Return `path` if it is a local folder that holds a model in safetensors.

    Raises
    ------
    InputError
        If it is not a folder, holds an adapter, or its weights are missing or pickled.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(
            f"the model must be a folder of this machine, got {str(path)!r}: download it first and "
            "name its folder"
        )
    if (folder / ADAPTER).is_file():
        # Read as it is, the folder could give the base model, which never saw the texts.
        raise InputError(
            f"{folder} must hold a whole model, got a PEFT adapter: where the weights of its base "
            "lie beside it, move adapter_config.json and adapter_model.safetensors to a folder of "
            "their own, and name that one, with this one as its base"
        )
    if not (folder / "config.json").is_file():
        raise InputError(
            f"{folder} must hold a model, but has no config.json: name a folder made by "
            "save_pretrained"
        )
    if not _weight_files(folder):
        raise InputError(_no_weights(folder))
    return folder


def _no_weights(folder: Path) -> str:
    pickled = sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern))
    if pickled:
        return (
            f"{folder} must hold its weights as safetensors, got the pickle {pickled[0]}, which "
            "could run code when read: convert it where you trust it, with save_pretrained"
        )
    return f"{folder} must hold weights, but has no *.safetensors: save the model there again"


def _weight_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors"))


def settings_of(folder: Path) -> dict[str, Any]:
    """Return what stands in the config.json of a model.

    Raises
    ------
    InputError
        If it is not a JSON object.
    """
    try:
        found = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{folder}/config.json is damaged: save the model again") from error
    if not isinstance(found, dict):
        raise InputError(f"{folder}/config.json is damaged: save the model again")
    return found


def weights_sha256(folder: Path) -> str:
    """Return the checksum of the weights and of the settings that decide what they compute."""
    kept = {name: value for name, value in settings_of(folder).items() if name not in _ORIGIN}
    digest = hashlib.sha256(json.dumps(kept, sort_keys=True).encode())
    for path in _weight_files(folder):
        digest.update(f"\n{path.name} {path.stat().st_size}\n".encode())
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()


def read_module(folder: Path, auto_class: str, **options: Any) -> Any:
    """Return the torch module in a folder, its weights as they are, ready to be asked.

    Parameters
    ----------
    folder : pathlib.Path
        From `checked_folder`.
    auto_class : str
        "AutoModelForMaskedLM", "AutoModelForCausalLM" or "AutoModelForSeq2SeqLM".
    **options
        For transformers, from `loading_options`.

    Raises
    ------
    InputError
        If it is another kind of model, cannot be read, or a part of its weights is missing.
    """
    import transformers

    kind = _TAKEN_FROM[auto_class]
    try:
        with quiet_transformers():
            module, info = getattr(transformers, auto_class).from_pretrained(
                folder,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                output_loading_info=True,
                **options,
            )
    except (OSError, ImportError, ValueError, KeyError, RuntimeError, damaged()) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"{folder} must hold a {kind} language model that transformers can read, but: {first}"
        ) from error
    _check_whole(folder, info)
    if kind == "masked" and getattr(module.config, "is_encoder_decoder", False):
        raise InputError(f"{folder} must hold a {kind} language model, got an encoder-decoder")
    return module.eval()


def damaged() -> type[Exception]:
    """Return what safetensors raises where a file is damaged."""
    from safetensors import SafetensorError

    return cast(type[Exception], SafetensorError)


def _check_whole(folder: Path, info: dict[str, Any]) -> None:
    # Whatever is missing is drawn at random, and such a head gives about log V to every word.
    absent = sorted([*info["missing_keys"], *(str(key) for key in info["mismatched_keys"])])
    if absent:
        raise InputError(
            f"the weights in {folder} must be complete, got {len(absent)} missing or of another "
            f"shape ({absent[0]}, ...): save the model with the head it was trained with"
        )


def most_tokens(module: Any, wanted: int) -> int:
    """Return the most tokens the model can read, frame included, and its tokenizer wants it to."""
    config = module.config
    known = [wanted] if wanted > 0 else []
    for name in ("max_position_embeddings", "n_positions"):
        value = getattr(config, name, None)
        if isinstance(value, int) and value > 0:
            known.append(value - _offset(module))
            break
    return min(known, default=wanted)


def _offset(module: Any) -> int:
    """Return how many positions are reserved: RoBERTa's count from the one after its filling."""
    import torch

    for name, part in module.named_modules():
        if name.endswith("position_embeddings") and isinstance(part, torch.nn.Embedding):
            return 0 if part.padding_idx is None else int(part.padding_idx) + 1
    return 0
