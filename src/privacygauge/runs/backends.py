"""Backends for training: local processes, or a cluster through joblib."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import joblib

from privacygauge.errors import InputError

LOCAL = ("loky", "threading")


@contextmanager
def backend(text: str) -> Iterator[None]:
    """Use the backend named by `text`: loky, threading, dask[=ADDRESS] or ray[=ADDRESS]."""
    name, _, address = text.partition("=")
    # A local backend has no address: "loky=..." falls through to the error.
    if name in LOCAL and not address:
        with joblib.parallel_config(name):
            yield
    elif name == "dask":
        with _dask(address or None):
            yield
    elif name == "ray":
        with _ray(address or None):
            yield
    else:
        raise InputError(
            f"--backend must be loky, threading, dask[=ADDRESS] or ray[=ADDRESS], got {text!r}"
        )


@contextmanager
def _dask(address: str | None) -> Iterator[None]:
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError(_missing("dask")) from error
    make: Any = Client  # untyped
    try:
        client = make(address, set_as_default=True)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address}: {error}") from error
    # Silenced: the run itself reports a lost scheduler in one line, and workers that end late do
    # not matter.
    logs = [logging.getLogger(f"distributed.{part}") for part in ("client", "nanny")]
    levels = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL)
    try:
        with client, joblib.parallel_config("dask"):
            yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)


@contextmanager
def _ray(address: str | None) -> Iterator[None]:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError as error:
        raise InputError(_missing("ray")) from error
    try:
        ray.init(address=address, include_dashboard=False, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(f"no Ray cluster answers at {address}: {error}") from error
    register: Any = register_ray  # untyped
    register()
    try:
        with joblib.parallel_config("ray"):
            yield
    finally:
        ray.shutdown()


def _missing(name: str) -> str:
    return f"--backend {name} needs more packages: pip install 'privacygauge[scale]'"
