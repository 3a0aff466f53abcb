"""The bytes of a run by key: the only place that knows whether a folder is local or remote."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import tempfile
import time
from collections.abc import Coroutine, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from privacygauge.errors import InputError, OutputError
from privacygauge.runs.atomic import sentence

if TYPE_CHECKING:
    from zarr.abc.store import Store

_FREE_SOME = "make room or allow writing there, then start again; what is done is kept"
# What an interrupted write leaves behind, as that of zarr's local store does.
_PARTIAL = ".partial"
# Seconds that a killed process's workers may need to die on a loaded machine.
_PATIENCE = 3.0


def located(path: str | Path) -> str:
    """Return the same place for every process, wherever it works: absolute, or a URL."""
    return str(path) if "://" in str(path) else os.path.abspath(path)


def kept_or_scratch(path: str | Path | None) -> AbstractContextManager[str]:
    """Return the place for a run that is to be kept, or a folder that is removed afterwards."""
    if path is None:
        return tempfile.TemporaryDirectory(prefix="privacygauge-")
    return contextlib.nullcontext(str(path))


@dataclass(frozen=True)
class Folder:
    """A place that holds bytes by key; every key is written whole or not at all."""

    path: str
    """A local folder, or a URL that fsspec knows, such as ``s3://bucket/run``."""

    @property
    def is_local(self) -> bool:
        """Whether it lies on a file system of this machine."""
        return "://" not in self.path

    def store(self, *, read_only: bool = True) -> Store:
        """Return the zarr store of the folder."""
        from zarr.storage import FsspecStore, LocalStore

        if self.is_local:
            return LocalStore(self.path, read_only=read_only)
        return FsspecStore.from_url(self.path, read_only=read_only)

    def get(self, key: str) -> bytes | None:
        """Return the bytes under `key`; None where there are none or the disk cannot read them.

        Raises
        ------
        InputError
            If they may not be read.
        """
        try:
            return _read(self._at(key)) if self.is_local else self._fetched(key)
        except OSError as error:
            # Whatever is gone or damaged is computed again; only a forbidden file needs the user.
            if error.errno in (None, errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EIO):
                return None
            way_out = "allow reading it, or choose another folder"
            raise InputError(
                sentence(f"{self.path}/{key} cannot be read", error, way_out)
            ) from error

    def _at(self, key: str) -> str:
        return os.path.join(self.path, *key.split("/"))

    def _fetched(self, key: str) -> bytes | None:
        from zarr.core.buffer import default_buffer_prototype

        buffer = _done(self.store().get(key, default_buffer_prototype()))
        return None if buffer is None else buffer.to_bytes()

    def _send(self, key: str, content: bytes) -> None:
        from zarr.core.buffer import default_buffer_prototype

        buffer = default_buffer_prototype().buffer.from_bytes(content)
        _done(self.store(read_only=False).set(key, buffer))

    def set(self, key: str, content: bytes) -> None:
        """Write `content` under `key`, whole or not at all.

        Raises
        ------
        OutputError
            If it cannot be written: a full disk, no permission.
        """
        try:
            if self.is_local:
                _write(self._at(key), content)
            else:
                self._send(key, content)
        except OSError as error:
            what = f"{self.path}/{key} cannot be written"
            raise OutputError(sentence(what, error, _FREE_SOME)) from error

    def remove(self, key: str) -> None:
        """Remove all that is below `key`, if anything is.

        Raises
        ------
        OutputError
            If it cannot be removed.
        """
        try:
            _done(self.store(read_only=False).delete_dir(key))
        except OSError as error:
            what = f"{self.path}/{key} cannot be removed"
            raise OutputError(sentence(what, error, _FREE_SOME)) from error

    def names(self, key: str = "") -> list[str]:
        """Return the names directly below `key`, sorted, without those of unfinished writes."""

        async def listed() -> list[str]:
            return [name async for name in self.store().list_dir(key)]

        try:
            found = os.listdir(self._at(key)) if self.is_local else _done(listed())
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            way_out = "allow reading it, or choose another folder"
            raise InputError(sentence(f"{self.path} cannot be read", error, way_out)) from error
        return sorted(name for name in found if not name.endswith(_PARTIAL))

    def remove_unfinished(self) -> None:
        """Remove what an interrupted write has left behind."""
        if self.is_local:
            for path in Path(self.path).rglob(f"*{_PARTIAL}"):
                with contextlib.suppress(OSError):
                    path.unlink()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep every other process from working on the folder, as far as its system can.

        Raises
        ------
        OutputError
            If another process works on it, some seconds on. A process that died holds nothing once
        its workers have died with it, which a loaded machine takes a moment to see to.
        """
        if not self.is_local or os.name != "posix":
            yield
            return
        descriptor = _opened(self.path)
        try:
            _lock(descriptor, self.path)
            yield
        finally:
            os.close(descriptor)


def folders_below(path: str) -> Iterator[Folder]:
    """Yield `path` and the local folders below it, parents first, sorted by name."""
    if not Path(path).is_dir():
        raise InputError(f"{path} is not a folder: name a folder that exists")
    for at, inner, _ in os.walk(path):
        # The inside of a store holds thousands of folders and no run.
        inner[:] = sorted(name for name in inner if not name.endswith(".zarr"))
        yield Folder(at)


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY)
    except OSError as error:
        raise OutputError(sentence(f"{path} cannot be opened", error)) from error


def _lock(descriptor: int, path: str) -> None:
    import fcntl

    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() < until:
                time.sleep(_PATIENCE / 50)
                continue
            raise OutputError(
                f"another process is working on {path}: wait for it, or choose another folder"
            ) from error
        except OSError:
            # A network file system without locks; the writes are atomic and equal all the same.
            pass
        return


def _read(file: str) -> bytes:
    with open(file, "rb") as content:
        return content.read()


def _write(file: str, content: bytes) -> None:
    """Write a file whole or not at all; a digest finds what a power cut takes."""
    unfinished = f"{file}.{secrets.token_hex(6)}{_PARTIAL}"
    try:
        with _created(unfinished) as written:
            written.write(content)
        os.replace(unfinished, file)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise


def _created(file: str) -> BinaryIO:
    try:
        return open(file, "xb")
    except FileNotFoundError:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        return open(file, "xb")


def _done(work: Coroutine[Any, Any, Any]) -> Any:
    from zarr.core.sync import sync

    return sync(work)
