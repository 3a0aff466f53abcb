"""Lower precision for the same energies, where it is really faster."""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import Any, Literal, cast

import numpy as np

from privacygauge.errors import InputError
from privacygauge.runs.threads import one_thread

Precision = Literal["float32", "bfloat16", "float16", "int8", "int4"]
"""Precision of the computation; for the last two, bitsandbytes stores the weights in as many
bits."""
Asked = Precision | Literal["own", "faster"]
"""Values of the option: a precision, ``own`` for that of the saved weights, or ``faster``."""

PRECISIONS = ("float32", "bfloat16", "float16", "own", "int8", "int4")
"""Choices that a command offers."""
# Options of BitsAndBytesConfig.
_BITS = {"int8": "load_in_8bit", "int4": "load_in_4bit"}

# Below this, noise in a fraction of a second could decide.
_WORTH_IT = 1.2
_SECONDS = 0.4


def check_precision(precision: str, device: str) -> None:
    """Raise where a device does not support a precision."""
    import torch

    if precision not in (*PRECISIONS, "faster"):
        raise InputError(f"precision must be {', '.join(PRECISIONS)} or faster, got {precision!r}")
    on_gpu = device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())
    if precision == "float16" and not on_gpu:
        raise InputError(
            "precision float16 needs a GPU (device cuda): on a processor take own or float32, in "
            "which such weights lose nothing"
        )
    if precision in _BITS:
        if find_spec("bitsandbytes") is None:
            raise InputError(
                f"precision {precision} needs bitsandbytes, which is not installed: install it, or "
                "take own"
            )
        if not (on_gpu and torch.cuda.is_available()):
            raise InputError(f"precision {precision} needs a GPU (device cuda), got {device}")


def loading_options(precision: str, device: str) -> dict[str, Any]:
    """Return options for `from_pretrained` that load no weight wider than it was saved."""
    from transformers import BitsAndBytesConfig

    options: dict[str, Any] = {"torch_dtype": "auto"}
    if precision in _BITS:
        settings: Any = BitsAndBytesConfig
        options["quantization_config"] = settings(**{_BITS[precision]: True})
        options["device_map"] = {"": device}
    if device == "auto":
        options["device_map"] = "auto"
    return options


def widen_weights(module: Any, asked: str, device: str) -> str:
    """Return the precision of a module's saved weights; widen them to float32 where asked."""
    stored = stored_as(module)
    on_processor = device == "cpu" or (device == "auto" and module.device.type == "cpu")
    if asked in ("float32", "faster") or (asked == "own" and stored == "float16" and on_processor):
        module.float()
    return stored


def move_to_device(module: Any, device: str) -> None:
    """Move a module to a device."""
    import torch

    try:
        module.to(torch.device(device))
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device must be one that torch can use, got {device!r}") from error


def settle_precision(module: Any, asked: str, device: str, limit: int) -> Precision:
    """Return the precision in which a module is run, and convert its weights to it."""
    import torch

    found = stored_as(module) if asked == "own" else asked
    if asked == "faster":
        plain = not module.config.is_encoder_decoder and device != "auto"
        found = faster_precision(module, device, limit) if plain else "float32"
    if found not in _BITS and found != stored_as(module):
        module.to(getattr(torch, found))
    return cast(Precision, found)


def stored_as(module: Any) -> str:
    """Return the precision of most of a module's weights, such as ``"bfloat16"``."""
    sizes: dict[str, int] = {}
    for weights in module.parameters():
        name = str(weights.dtype).removeprefix("torch.")
        sizes[name] = sizes.get(name, 0) + weights.numel()
    return max(sizes, key=lambda name: sizes[name])


def supports_bfloat16(device: str) -> bool:
    """Return whether the device has instructions for bfloat16: without them it is slower."""
    import torch

    if torch.device(device).type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    probes = (
        getattr(torch.cpu, name, None)
        for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    )
    return any(probe() for probe in probes if probe is not None)


def faster_precision(model: Any, device: str, limit: int) -> Precision:
    """Return the precision in which `model` passes a batch faster, from a trial of about a second.

    Parameters
    ----------
    model : torch module
        Module in float32, on the device; it is left unchanged.
    limit : int
        The most tokens it reads.

    Returns
    -------
    "float32" or "bfloat16"
        The latter if it is at least 1.2 times as fast.
    """
    import copy

    import torch

    if not supports_bfloat16(device):
        return "float32"
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
    """Return the shortest of several passes: other load on the machine only adds to it."""
    import torch

    taken: list[float] = []
    with torch.inference_mode():
        body(input_ids=ids)
        began = time.perf_counter()
        while len(taken) < 3 or time.perf_counter() - began < _SECONDS:
            at = time.perf_counter()
            body(input_ids=ids)
            if ids.is_cuda:
                torch.cuda.synchronize()
            taken.append(time.perf_counter() - at)
    return min(taken)
