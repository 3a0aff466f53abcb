"""Provenance of a result: hashes of its input files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from privacygauge.errors import InputError


def file_hashes(files: Mapping[str, Path | None]) -> dict[str, str]:
    """Return name and SHA-256 of every file that was given."""
    return {role: _describe(path) for role, path in files.items() if path is not None}


def _describe(path: Path) -> str:
    # Files that cannot be read get their message where they are loaded.
    if path.is_dir():
        files = sorted(inner for inner in path.rglob("*") if inner.is_file())
        listed = "".join(f"{inner.relative_to(path)} {_digest(inner)}\n" for inner in files)
        return f"{path.name} sha256:{hashlib.sha256(listed.encode()).hexdigest()}"
    return f"{path.name} sha256:{_digest(path)}" if path.is_file() else path.name


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except PermissionError as error:
        raise InputError(f"{path} cannot be read: permission denied") from error
