"""Half the bits for the same energies, where that is really faster."""

from __future__ import annotations

import time
from typing import Any, Literal

import numpy as np

from privacygauge.runs.threads import one_thread

Precision = Literal["float32", "bfloat16"]

# Below this, noise in a fraction of a second could decide.
_WORTH_IT = 1.2
_SECONDS = 0.4


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
    """Return the precision in which `model` passes a batch faster, by a trial of about a second.

    Parameters
    ----------
    model : torch module
        In float32, on the device; it is left as it is.
    device : str
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
    ids = torch.as_tensor(rng.integers(0, model.config.vocab_size, (8, min(48, limit))))
    ids = ids.to(device)
    with one_thread():
        full = _seconds(model.base_model, ids)
        half = _seconds(copy.deepcopy(model.base_model).to(torch.bfloat16), ids)
    return "bfloat16" if full > _WORTH_IT * half else "float32"


def _seconds(body: Any, ids: Any) -> float:
    """Return the shortest of several passes: whatever else the machine does only adds."""
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
