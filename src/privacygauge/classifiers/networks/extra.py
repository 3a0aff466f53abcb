"""Careful use of torch: its import, threads, random state and devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from privacygauge.errors import InputError
from privacygauge.runs.threads import device_of, number_of_worker

if TYPE_CHECKING:
    import torch


def the_torch() -> ModuleType:
    """Return the module torch.

    Raises
    ------
    InputError
        If it is not installed.
    """
    try:
        return import_module("torch")
    except ModuleNotFoundError as error:
        raise InputError(
            "training networks needs torch, which is not installed: "
            "pip install 'privacygauge[torch]'"
        ) from error


def checked_device(device: str) -> torch.device:
    """Return the device of that name, after a check that it can hold tensors.

    With several GPUs "cuda" is the worker's own, or the current one in any other process.
    """
    the_torch()
    import torch

    try:
        found = torch.device(device)
    except RuntimeError as error:
        raise InputError(f"device must be 'cpu' or 'cuda', got {device!r}") from error
    if found.type not in ("cpu", "cuda"):
        raise InputError(f"device must be 'cpu' or 'cuda', got {device!r}")
    if found.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device must be there, got {device!r} without a GPU: use device='cpu'")
    if device != "cuda":
        return torch.device(found.type, found.index)
    # Workers take the GPUs in turn.
    own = device_of(number_of_worker(), torch.cuda.device_count())
    return torch.device("cuda", torch.cuda.current_device() if own is None else own)


@contextmanager
def one_torch_thread(device: torch.device) -> Iterator[None]:
    """Limit torch to one CPU thread inside the context.

    Processes around it give the parallelism; small matrices only lose by threads.
    """
    torch = the_torch()
    before = torch.get_num_threads()
    if device.type == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)


def out_of_memory(error: RuntimeError | MemoryError) -> bool:
    """Return whether an error says that memory ran out."""
    # torch has no class for host memory that ran out: only the text tells.
    told = ("not enough memory", "can't allocate memory")
    known = isinstance(error, MemoryError | the_torch().cuda.OutOfMemoryError)
    return known or any(text in str(error) for text in told)


@contextmanager
def seeded_torch(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's random numbers inside the context, and restore their state after it."""
    torch = the_torch()
    cuda = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda):
        # torch.manual_seed would reach GPUs whose state is not kept.
        torch.default_generator.manual_seed(seed)
        if cuda:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield
