"""Models from a local folder: never from a hub, never from a pickle, never incomplete.

A folder holds a whole model, or a PEFT adapter: a few weights added to a base model that stays
unchanged.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from privacygauge.core.checks import short_list
from privacygauge.errors import InputError
from privacygauge.runs.threads import one_thread


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence transformers' progress bars and its reports of missing weights; restore both."""
    from transformers.utils import logging as untyped

    logging: Any = untyped

    verbosity = logging.get_verbosity()
    bars = logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


ADAPTER = "adapter_config.json"
"""Settings file of a PEFT adapter."""

_PICKLES = ("pytorch_model*.bin", "*.pt", "*.pth", "*.ckpt")
# Settings that record a model's origin but do not affect its output.
_ORIGIN = ("_name_or_path", "transformers_version", "torch_dtype", "dtype")
# Kinds of models in messages, by the transformers class that loads them.
_TAKEN_FROM = {
    "AutoModelForMaskedLM": "masked",
    "AutoModelForCausalLM": "causal",
    "AutoModelForSeq2SeqLM": "encoder-decoder",
    "AutoModelForImageTextToText": "causal",
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
        # Read as a model, the folder could yield the base model, which never saw the texts.
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
    if not any(folder.glob("*.safetensors")):
        # The weights may be there in a format that is never read.
        pickled = sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern))
        if pickled:
            raise InputError(
                f"{folder} must hold its weights as safetensors, got the pickle {pickled[0]}, "
                "which could run code when read: convert it where you trust it, with "
                "save_pretrained"
            )
        raise InputError(
            f"{folder} must hold weights, but has no *.safetensors: save the model there again"
        )
    return folder


def model_settings(folder: Path) -> dict[str, Any]:
    """Return the contents of a model's config.json.

    Raises
    ------
    InputError
        If it is not a JSON object.
    """
    return _object(folder / "config.json", "model")


def weights_sha256(folder: Path) -> str:
    """Return the SHA-256 of the weights and of the settings that affect the computation."""
    kept = {name: value for name, value in model_settings(folder).items() if name not in _ORIGIN}
    digest = hashlib.sha256(json.dumps(kept, sort_keys=True).encode())
    for path in sorted(folder.glob("*.safetensors")):
        digest.update(f"\n{path.name} {path.stat().st_size}\n".encode())
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()


def read_module(folder: Path, auto_class: str, **options: Any) -> Any:
    """Return the torch module in a folder, with its weights as saved, in evaluation mode.

    Parameters
    ----------
    folder : pathlib.Path
        Folder from `checked_folder`.
    auto_class : str
        "AutoModelForMaskedLM", "AutoModelForCausalLM" or "AutoModelForSeq2SeqLM".
    **options
        Options for transformers, from `load_masked` and `load_causal`.

    Raises
    ------
    InputError
        If it is another kind of model, cannot be read, or lacks a part of its weights.
    """
    import transformers
    from safetensors import SafetensorError

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
    except (OSError, ImportError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise InputError(
            f"{folder} must hold a {kind} language model that transformers can read, but: "
            f"{first_line(error)}"
        ) from error
    # Missing weights are drawn at random: such a head gives about log V to every word.
    absent = sorted([*info["missing_keys"], *(str(key) for key in info["mismatched_keys"])])
    if absent:
        raise InputError(
            f"the weights in {folder} must be complete, got {len(absent)} missing or of another "
            f"shape ({absent[0]}, ...): save the model with the head it was trained with"
        )
    if kind == "masked" and getattr(module.config, "is_encoder_decoder", False):
        raise InputError(f"{folder} must hold a {kind} language model, got an encoder-decoder")
    return module.eval()


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its type if the message is empty."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def most_tokens(module: Any, wanted: int) -> int:
    """Return the most tokens that both model and tokenizer allow, including the frame."""
    from torch.nn import Embedding

    config = module.config
    known = [wanted] if wanted > 0 else []
    for name in ("max_position_embeddings", "n_positions"):
        # Models of images and text keep the settings of their language model apart.
        value = getattr(config.get_text_config(decoder=True), name, None)
        if isinstance(value, int) and value > 0:
            # RoBERTa's positions begin after its padding index.
            reserved = (
                0 if part.padding_idx is None else int(part.padding_idx) + 1
                for part_name, part in module.named_modules()
                if part_name.endswith("position_embeddings") and isinstance(part, Embedding)
            )
            known.append(value - next(reserved, 0))
            break
    return min(known, default=wanted)


# For a PEFT adapter: the file of its weights, and the setting that names its base model.
_WEIGHTS = "adapter_model.safetensors"
_BASE = "base_model_name_or_path"


def parts_of(path: str | Path, base: str | Path | None = None) -> tuple[Path, Path | None]:
    """Return the folder of a whole model, and that of the adapter to add to it, if any.

    Parameters
    ----------
    path : str or pathlib.Path
        Folder of a model, or of an adapter.
    base : str or pathlib.Path, optional
        Folder of an adapter's base; by default the one named in adapter_config.json.

    Raises
    ------
    InputError
        If a folder holds no model, the base is unknown, or the adapter does not fit it.
    """
    folder = Path(path)
    if not (folder / ADAPTER).is_file():
        if base is not None:
            raise InputError(f"a base goes with a PEFT adapter, but {folder} has no {ADAPTER}")
        return checked_folder(folder), None
    settings = _object(folder / ADAPTER, "adapter")
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
    # A base named by the user wins over that in the adapter's settings.
    named = str(base or settings.get(_BASE) or "")
    # The name may be relative to the working folder or to the adapter's own.
    for place in (Path(named), folder / named):
        if named and place.is_dir():
            return checked_folder(place), folder
    if len(list(folder.glob("*.safetensors"))) > 1:
        # The weights of the base are in the same folder, which this rejects.
        checked_folder(folder)
    raise InputError(
        f"{folder} holds a PEFT adapter, whose base must be a folder of this machine, got "
        f"{named!r}: name the folder with --base (base=)"
    )


def add_adapter(module: Any, folder: Path) -> Any:
    """Add the adapter in a folder to a module; the module keeps its class.

    Adapter and weights stay separate: merged into quantised weights, most of the adapter would be
    lost.
    """
    import torch
    from peft import PeftModel
    from safetensors import SafetensorError, safe_open

    try:
        with quiet_transformers(), warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            # The rows of the embeddings that an adapter holds; 0 if it holds none.
            embeddings = module.get_input_embeddings()
            name = next(name for name, part in module.named_modules() if part is embeddings)
            with safe_open(folder / _WEIGHTS, framework="pt") as weights:
                shapes = [
                    weights.get_slice(key).get_shape()
                    for key in weights.keys()  # noqa: SIM118 - the file is no mapping
                    if key.endswith((f"{name}.weight", f"{name}.modules_to_save.weight"))
                ]
            n_rows = max((int(shape[0]) for shape in shapes), default=0)
            if n_rows > int(module.get_input_embeddings().weight.shape[0]):
                # The adapter was trained with additional tokens; it holds their rows.
                with torch.random.fork_rng(devices=[]):
                    torch.manual_seed(0)  # for a head that the adapter does not hold
                    module.resize_token_embeddings(n_rows, mean_resizing=False)
            made = PeftModel.from_pretrained(module, str(folder), torch_device="cpu")
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise InputError(
            f"{folder} must hold an adapter of its base, but: {first_line(error)}"
        ) from error
    missing = [str(x.message) for x in told if "missing adapter keys" in str(x.message)]
    if missing:
        raise InputError(
            f"{folder} must hold all weights of its adapter, got some missing: save it again, or "
            "name the base that it was trained on"
        )
    return made.get_base_model().eval()


def sha256_of(folder: Path, adapter: Path | None) -> str:
    """Return the SHA-256 of a model's weights and settings, including those of its adapter."""
    whole = weights_sha256(folder)
    if adapter is None:
        return whole
    own = _object(adapter / ADAPTER, "adapter")
    settings = {name: value for name, value in own.items() if name != _BASE}
    digest = hashlib.sha256(f"{whole}\n{json.dumps(settings, sort_keys=True)}\n".encode())
    with (adapter / _WEIGHTS).open("rb") as file:
        digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _object(path: Path, what: str) -> dict[str, Any]:
    told = f"{path} is damaged: save the {what} again"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(told) from error
    if not isinstance(found, dict):
        raise InputError(told)
    return found


Kind = Literal["masked", "causal"]
"""Kinds of language models; an encoder-decoder counts as causal, by its decoder."""

_HEADS: Mapping[Kind, tuple[str, ...]] = {
    "masked": ("ForMaskedLM", "ForPreTraining"),
    "causal": ("ForCausalLM", "LMHeadModel"),
}


def model_kind(path: str | Path, base: str | Path | None = None) -> Kind:
    """Return the kind of language model in a folder, by the head it was saved with.

    Parameters
    ----------
    path : str or pathlib.Path
        Folder of a model or of a PEFT adapter.
    base : str or pathlib.Path, optional
        Folder of the adapter's base; by default the one that it names.

    Raises
    ------
    InputError
        If it holds no model, or a model of neither kind.
    """
    found, heads = known_kind(path, base)
    if any(name.endswith("ForSequenceClassification") for name in heads):
        raise InputError(
            f"{path} must hold a masked or a causal language model, got a classifier of texts "
            f"({heads[0]}): save its probabilities for both sides, and audit these with "
            "privacygauge classifier"
        )
    if found is None:
        raise InputError(
            f"{path} must hold a masked or a causal language model, got "
            f"{short_list(heads) or 'no architecture'}: save it with its language-model head"
        )
    return found


def known_kind(path: str | Path, base: str | Path | None = None) -> tuple[Kind | None, list[str]]:
    """Return the kind as `model_kind` does, None for neither kind, and the classes it was saved as.

    Raises
    ------
    InputError
        If the folder holds no model.
    """
    # Of an adapter, its base tells the kind.
    settings = model_settings(parts_of(path, base)[0])
    heads = settings.get("architectures") or []
    heads = [str(name) for name in heads] if isinstance(heads, list) else []
    # A decoder reads from left to right, and so does the language model of one that reads images.
    reads_on = settings.get("is_encoder_decoder") is True or has_language_model_inside(settings)
    return ("causal" if reads_on else kind_of(heads)), heads


def kind_of(heads: Sequence[str]) -> Kind | None:
    """Return the kind of a model by the names of its classes, or None for neither kind."""
    kinds = (kind for kind, endings in _HEADS.items() if any(x.endswith(endings) for x in heads))
    return next(kinds, None)


def has_language_model_inside(settings: Mapping[str, Any]) -> bool:
    """Return whether a model also reads images, and contains a language model for texts."""
    heads = settings.get("architectures") or [""]
    nested = isinstance(settings.get("text_config"), dict)
    return nested and str(heads[0]).endswith("ForConditionalGeneration")


# Lower precision for the same energies, if it is really faster.

Precision = Literal["float32", "bfloat16", "float16", "int8", "int4"]
"""Precision of the computation; for the last two, bitsandbytes stores the weights in as many
bits."""
Asked = Precision | Literal["own", "faster"]
"""Values of the option: a precision, ``own`` for that of the saved weights, or ``faster``."""

PRECISIONS = ("float32", "bfloat16", "float16", "own", "int8", "int4")
"""Choices that a command offers."""
BITS = {"int8": "load_in_8bit", "int4": "load_in_4bit"}
"""Precisions of quantised weights, with their options of BitsAndBytesConfig."""

# Speed-up from which bfloat16 is chosen: below, noise in a fraction of a second could decide.
_WORTH_IT = 1.2
_SECONDS = 0.4


def check_precision(precision: str, device: str) -> None:
    """Raise if a device does not support a precision."""
    import torch

    if precision not in (*PRECISIONS, "faster"):
        raise InputError(f"precision must be {', '.join(PRECISIONS)} or faster, got {precision!r}")
    on_gpu = device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())
    if precision == "float16" and not on_gpu:
        raise InputError(
            "precision float16 needs a GPU (device cuda): on a processor take own or float32, in "
            "which such weights lose nothing"
        )
    if precision in BITS:
        if find_spec("bitsandbytes") is None:
            raise InputError(
                f"precision {precision} needs bitsandbytes, which is not installed: install it, or "
                "take own"
            )
        if not (on_gpu and torch.cuda.is_available()):
            raise InputError(f"precision {precision} needs a GPU (device cuda), got {device}")


def move_to_device(module: Any, device: str) -> None:
    """Move a module to a device."""
    import torch

    try:
        module.to(torch.device(device))
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device must be one that torch can use, got {device!r}") from error


def stored_as(module: Any) -> str:
    """Return the precision of most of a module's weights, such as ``"bfloat16"``."""
    sizes: dict[str, int] = {}
    for weights in module.parameters():
        name = str(weights.dtype).removeprefix("torch.")
        sizes[name] = sizes.get(name, 0) + weights.numel()
    return max(sizes, key=lambda name: sizes[name])


def supports_bfloat16(device: str) -> bool:
    """Return whether the device has bfloat16 instructions, without which it is slower."""
    import torch

    if torch.device(device).type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    probes = (
        getattr(torch.cpu, name, None)
        for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    )
    return any(probe() for probe in probes if probe is not None)


def faster_precision(model: Any, device: str, limit: int) -> Precision:
    """Return the precision in which `model` passes a batch faster, by a trial of about a second.

    Parameters
    ----------
    model : torch module
        Module in float32, on the device; it is left unchanged.
    limit : int
        Most tokens that it reads.

    Returns
    -------
    "float32" or "bfloat16"
        "bfloat16" if it is at least 1.2 times as fast.
    """
    import copy

    import torch

    if not supports_bfloat16(device):
        return "float32"
    # Random tokens: the time of a pass does not depend on them.
    rng = np.random.default_rng(0)
    ids = torch.as_tensor(
        rng.integers(0, model.config.get_text_config(decoder=True).vocab_size, (8, min(48, limit)))
    )
    ids = ids.to(device)
    with one_thread():
        full = _seconds(model.base_model, ids)
        half = _seconds(copy.deepcopy(model.base_model).to(torch.bfloat16), ids)
    return "bfloat16" if full > _WORTH_IT * half else "float32"


def _seconds(body: Any, ids: Any) -> float:
    """Return the shortest of several passes, since other load on the machine only adds time."""
    import torch

    taken: list[float] = []
    with torch.inference_mode():
        # The first pass only warms up.
        body(input_ids=ids)
        began = time.perf_counter()
        while len(taken) < 3 or time.perf_counter() - began < _SECONDS:
            at = time.perf_counter()
            body(input_ids=ids)
            if ids.is_cuda:
                torch.cuda.synchronize()
            taken.append(time.perf_counter() - at)
    return min(taken)
