"""Work for the workers of a cluster, with the files of the user's code that it needs.

Workers start in folders of their own, where the user's modules are not found. So their source
goes along, and workers import it under its name from there, before any file of theirs.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import io
import pickle
import pickletools
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder, SourceLoader
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privacygauge.errors import InputError
from privacygauge.runs.source import files_beside, files_of_module, is_installed, is_theirs

_MAIN = "__main__"
_PACKAGE = "__init__.py"

PACKAGES = ("privacygauge", "numpy", "scipy", "scikit-learn", "torch")
"""Packages of which every worker must have the version of the process that began."""

_IMPORTING = threading.Lock()


class _File(NamedTuple):
    """A file of the user's code."""

    path: str
    content: bytes


@dataclass(frozen=True)
class Shipped:
    """A function of one argument that unpacks itself in a worker, once."""

    files: Mapping[str, _File]
    """Files of the user's code by module."""
    versions: Mapping[str, str]
    """Versions of `PACKAGES` in the process that began, by name."""
    content: bytes
    """The function, pickled without its arrays."""
    buffers: Sequence[NDArray[np.uint8]]
    """The bytes of its arrays."""

    def __call__(self, asked: Any) -> Any:
        """Return the result of the function.

        Raises
        ------
        InputError
            If the worker has another version of a package, or of a file of the user's code.
        """
        return self._function(asked)

    @functools.cached_property
    def _function(self) -> Any:
        require_versions(self.versions, versions_here())
        _make_importable(self.files)
        # Pickled in `ship` by the process that sent it, as all that engines send is.
        return pickle.loads(self.content, buffers=self.buffers)  # noqa: S301

    def __reduce__(self) -> tuple[Any, ...]:
        return Shipped, (dict(self.files), dict(self.versions), self.content, self.buffers)


def ship(function: Any) -> Shipped:
    """Return a function that workers in any folder can call, with the user's code behind it.

    Raises
    ------
    InputError
        If it cannot be pickled: one line that says why.
    """
    import cloudpickle

    buffers: list[pickle.PickleBuffer] = []
    stream = io.BytesIO()
    try:
        # Without the arrays, which are then neither copied here nor searched for names.
        cloudpickle.Pickler(stream, protocol=5, buffer_callback=buffers.append).dump(function)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise InputError(
            f"the code cannot be sent to other machines ({error}): make what it holds inside the "
            "function that trains"
        ) from error
    content = stream.getvalue()
    return Shipped(
        _files_behind(content),
        versions_here(),
        content,
        [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers],
    )


def versions_here() -> dict[str, str]:
    """Return the versions of `PACKAGES` in this process, without those that are not installed."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def require_versions(here: Mapping[str, str], there: Mapping[str, str]) -> None:
    """Refuse a worker with other versions: its results would be other bytes, or none.

    Raises
    ------
    InputError
        One line: the package, both versions, and the way out.
    """
    for name, version in here.items():
        found = there.get(name)
        if found != version:
            raise InputError(
                f"a worker has {name} {found or '(not installed)'}, and here it is "
                f"{version}: install the same versions on all machines"
            )


def _files_behind(content: bytes) -> dict[str, _File]:
    """Return the files of the user's code that a pickled object names, and that they import."""
    texts = {text for _, text, _ in pickletools.genops(content) if isinstance(text, str)}
    found: dict[str, Path] = {}
    for name in sorted(texts & {*sys.modules}):
        path = Path(getattr(sys.modules[name], "__file__", None) or "")
        if path.suffix != ".py" or not is_theirs(name) or is_installed(str(path)):
            continue
        if name == _MAIN:
            # Its own functions are pickled whole; what they import is not.
            beside = files_beside(path)
            found |= {other: beside[other] for other in beside if beside[other] != path}
        else:
            found |= files_of_module(name) or {name: path}
    for module, path in [*found.items()]:
        folder = path.parent.parent if path.name == _PACKAGE else path.parent
        parents = module.split(".")[:-1]
        while parents:
            found.setdefault(".".join(parents), folder / _PACKAGE)
            folder = folder.parent
            parents.pop()
    return {
        name: _File(str(path), path.read_bytes() if path.is_file() else b"")
        for name, path in found.items()
    }


def _make_importable(files: Mapping[str, _File]) -> None:
    """Let this process import modules from the source that came with the work.

    Raises
    ------
    InputError
        If it has imported another file by the same name.
    """
    with _IMPORTING:
        if any(_CARRIED.files.get(name, files[name]) != files[name] for name in files):
            # A worker that goes on has modules of an earlier run: each may hold what has changed.
            for name in _CARRIED.files:
                if getattr(sys.modules.get(name), "__loader__", None) is _CARRIED:
                    del sys.modules[name]
        _CARRIED.files.update(files)
        for name, file in files.items():
            module = sys.modules.get(name)
            at = Path(getattr(module, "__file__", None) or "")
            if module is None or getattr(module, "__loader__", None) is _CARRIED:
                continue
            if file.content and not (at.is_file() and at.read_bytes() == file.content):
                raise InputError(
                    f"a worker has imported another {name} ({at}) than {file.path}: rename the "
                    "file, or start the workers again"
                )
        if _CARRIED not in sys.meta_path:
            sys.meta_path.insert(0, _CARRIED)


class _Carried(MetaPathFinder, SourceLoader):  # type: ignore[misc]  # of the standard library
    """Finds and loads modules from source that came with work."""

    def __init__(self) -> None:
        self.files: dict[str, _File] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.files:
            return None
        return spec_from_file_location(fullname, self.files[fullname].path, loader=self)

    def get_filename(self, fullname: str) -> str:
        return self.files[fullname].path

    def get_data(self, path: str) -> bytes:
        carried = {file.path: file.content for file in self.files.values()}
        return carried[path] if path in carried else Path(path).read_bytes()


_CARRIED = _Carried()
