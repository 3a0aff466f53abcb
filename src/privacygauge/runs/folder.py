"""Storage of bytes by key in a local or remote folder; the only module that knows which it is."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

from privacygauge.errors import InputError, OutputError, failure_sentence
from privacygauge.runs.sharing import Way, computing

PRIVATE = 0o700
"""Mode of a new folder for results: only its owner can enter it."""

_FREE_SOME = "make room or allow writing there, then start again; what is done is kept"
REACH_IT = "check the name, the credentials and AWS_ENDPOINT_URL, then start again"
# Suffix of files that an interrupted write leaves behind, as in zarr's local store.
_PARTIAL = ".partial"
# URL options by kind: small objects are sent in one request, and retries end after 15 seconds.
_ASKED = {"s3": "?allow_delayed_open=true"} | dict.fromkeys(
    ("gs", "gcs"), "?retry_limit_seconds=15"
)
# Seconds that the workers of a killed process may take to end on a loaded machine.
_PATIENCE = 3.0


_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(?=[^/])")
"""Start of a URL, even after `Path` has replaced two slashes by one."""


def url_of(path: str | Path) -> str | None:
    """Return the URL that a text or path stands for; None for a local path.

    Examples
    --------
    >>> url_of(Path("s3://bucket/report") / "run")
    's3://bucket/report/run'
    """
    begun = _URL.match(str(path))
    if begun is None:
        return None
    place = str(path)[begun.end() :]
    # Refuse a key or password in a URL, which every record of the URL would leak.
    kind = begun[1]
    host = place.partition("/")[0]
    # In object stores any colon or @ in the bucket's place is a secret; elsewhere a colon may also
    # begin a port, and only one before an @ is a password.
    known = (
        ":" in host or "@" in host
        if kind.lower() in _STORES
        else ":" in host.rpartition("@")[0] or ("@" in host and kind.lower() in _WEB)
    )
    # Links that are signed in advance hand over a secret in a part of their query.
    parts = (part.partition("=") for part in re.split(r"[?&;#]", place)[1:])
    names = [unquote(name) for name, given, _ in parts if given]
    words = {word.lower().removesuffix("s") for name in names for word in _WORD.findall(name)}
    joined = any(_JOINED.fullmatch(name) for name in names)
    if known or joined or not words.isdisjoint(_SECRET_WORDS):
        raise InputError(
            f"the URL {kind}://... holds a user's name, key or password, which files beside the "
            "report would tell: leave it out and set it in the environment, such as "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in the store's settings"
        )
    return f"{begun[1]}://{place}"


_SECRET_WORDS = frozenset(
    ["key", "secret", "token", "password", "passwd", "pwd", "signature", "sig", "credential"]
)
"""Words in the name of a part of a URL's query that hands over a secret, in lower case."""
_JOINED = re.compile(
    r"(api|access|account|auth|private|subscription|shared)(key|token|secret)s?", re.IGNORECASE
)
"""Matches such names that are written as one word."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""Matches the words of a name such as aws_secret, X-Amz-Signature or accountKey."""
_STORES = ("s3", "gs", "gcs")
"""Kinds of URLs in which bucket names contain neither a colon nor an at sign."""
_WEB = ("http", "https")
"""Kinds of URLs in which a user's name alone is mostly a token."""


def absolute_place(path: str | Path) -> str:
    """Return an absolute path or a URL, valid in every process."""
    return url_of(path) or os.path.abspath(path)


def place_text(path: str | Path) -> str:
    """Return a path or URL as the user wrote it, for messages."""
    return url_of(path) or str(path)


def require_local(path: str | Path, what: str) -> None:
    """Refuse a URL for something that must be on this machine.

    Raises
    ------
    InputError
        One line: the URL, and the way out.
    """
    if url := url_of(path):
        raise InputError(f"{url} is a URL, and {what} of this machine: copy it to this machine")


@contextlib.contextmanager
def kept_or_scratch(path: str | Path | None) -> Iterator[str]:
    """Yield the given folder for a run, or without one a scratch folder that is removed afterwards.

    A run in a scratch folder is never shared.
    """
    if path is not None:
        yield str(path)
        return
    with scratch() as folder, computing(Way.ALONE):
        yield folder


_SCRATCH = "privacygauge-"
"""Prefix of scratch folders."""
_HELD = ".held"
"""File in a scratch folder that its process keeps locked while it lives."""
_YOUNG = 60.0
"""Seconds for which a new scratch folder may be unlocked."""


@contextlib.contextmanager
def scratch() -> Iterator[str]:
    """Yield a folder that is removed afterwards; first remove folders of killed processes."""
    import tempfile

    if os.name != "posix":
        with tempfile.TemporaryDirectory(prefix=_SCRATCH) as folder:
            yield folder
        return
    import fcntl
    import shutil

    for place in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*/{_HELD}"):
        with contextlib.suppress(OSError), open(place, "rb+") as file:
            if time.time() - place.stat().st_mtime > _YOUNG:
                # Succeeds only if the process that created the folder has ended.
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(place.parent, ignore_errors=True)
    with (
        tempfile.TemporaryDirectory(prefix=_SCRATCH) as around,
        open(Path(around, _HELD), "wb") as held,
    ):
        with contextlib.suppress(OSError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # until this process ends
        folder = os.path.join(around, "files")
        os.mkdir(folder)
        yield folder


@dataclass(frozen=True)
class Folder:
    """A store of bytes by key; each value is written completely or not at all."""

    path: str
    """A local folder, or a URL that fsspec knows, such as ``s3://bucket/run``."""

    @property
    def is_local(self) -> bool:
        """Whether the folder is on a file system of this machine."""
        return "://" not in self.path

    @contextlib.contextmanager
    def _changing(self, key: str, how: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            way_out = _FREE_SOME if self.is_local else REACH_IT
            what = f"{self.path}/{key} cannot be {how}"
            raise OutputError(failure_sentence(what, error, way_out)) from error

    def _unread(self, key: str, error: OSError) -> InputError:
        way_out = "allow reading it, or choose another folder" if self.is_local else REACH_IT
        return InputError(failure_sentence(f"{self.path}{key} cannot be read", error, way_out))

    def get(self, key: str) -> bytes | None:
        """Return the bytes under `key`; None if there are none or the disk cannot read them.

        Raises
        ------
        InputError
            If permission is denied, or the store cannot be reached.
        """
        gone = (errno.ENOTDIR, errno.EISDIR, errno.EIO)
        try:
            if not self.is_local:
                with (
                    reaching(self.path) as (system, path),
                    system.open_input_file(f"{path}/{key}") as stream,
                ):
                    content: bytes = stream.read()
                return content
            with open(self._at(key), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            # Missing or damaged content is computed again; only denied permissions and unreachable
            # stores need the user.
            if error.errno in gone or (self.is_local and error.errno is None):
                return None
            raise self._unread(f"/{key}", error) from error

    def _at(self, key: str) -> str:
        return os.path.join(self.path, *key.split("/"))

    def set(self, key: str, content: bytes) -> None:
        """Write `content` under `key`, completely or not at all.

        Raises
        ------
        OutputError
            If it cannot be written: a full disk, no permission.
        """
        with self._changing(key, "written"):
            if self.is_local:
                file = self._at(key)
                unfinished = f"{file}.{secrets.token_hex(6)}{_PARTIAL}"
                try:
                    # Not forced to disk: digests detect what a power cut loses.
                    with _create_file(unfinished) as written:
                        written.write(content)
                    os.replace(unfinished, file)
                except OSError:
                    with contextlib.suppress(OSError):
                        os.unlink(unfinished)
                    raise
            else:
                # An object appears only once it is complete; folders are part of its name, not
                # created.
                with (
                    reaching(self.path) as (system, path),
                    system.open_output_stream(f"{path}/{key}") as stream,
                ):
                    stream.write(content)

    def create(self, key: str, content: bytes) -> bool:
        """Create `key` in a local folder with `content`; return False if it exists.

        If several processes try, exactly one succeeds, also on network file systems. An interrupted
        write may leave part of `content`.

        Raises
        ------
        OutputError
            If it cannot be written: a full disk, no permission.
        """
        with self._changing(key, "written"):
            try:
                with _create_file(self._at(key)) as written:
                    written.write(content)
            except FileExistsError:
                return False
        return True

    def remove(self, key: str) -> None:
        """Remove `key` and everything below it, if it exists.

        Raises
        ------
        OutputError
            If it cannot be removed.
        """
        with self._changing(key, "removed"), contextlib.suppress(FileNotFoundError):
            if not self.is_local:
                from pyarrow.fs import FileType

                with reaching(self.path) as (system, path):
                    at = f"{path}/{key}"
                    found = system.get_file_info(at).type
                    if found != FileType.NotFound:
                        (system.delete_file if found == FileType.File else system.delete_dir)(at)
            elif os.path.isdir(self._at(key)):
                import shutil

                shutil.rmtree(self._at(key))
            else:
                os.unlink(self._at(key))

    def names(self, key: str = "") -> list[str]:
        """Return the names directly below `key`, sorted, without unfinished writes.

        Folders that hold nothing else are left out, since object stores have no empty folders.
        """
        try:
            if self.is_local:
                with os.scandir(self._at(key)) as entries:
                    # An interrupted write may have left a folder empty.
                    found = [x.name for x in entries if not x.is_dir() or _holds(x.path)]
            else:
                from pyarrow.fs import FileSelector

                with reaching(self.path) as (system, path):
                    infos = system.get_file_info(FileSelector(f"{path}/{key}".rstrip("/")))
                found = [info.base_name for info in infos if info.base_name]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise self._unread("", error) from error
        return sorted(name for name in found if not name.endswith(_PARTIAL))

    def remove_unfinished(self) -> None:
        """Remove the partial files of interrupted writes."""
        if self.is_local:
            for path in Path(self.path).rglob(f"*{_PARTIAL}"):
                with contextlib.suppress(OSError):
                    path.unlink()

    @contextlib.contextmanager
    def held(self, *, shared: bool = False) -> Iterator[None]:
        """Lock the folder against other processes for a ``with`` block, if the file system can.

        Parameters
        ----------
        shared : bool
            Whether other processes that also share the folder may work on it; default: none may.

        Raises
        ------
        OutputError
            If another process still works on it after some seconds. The lock of a killed process
            ends with its workers, which may take a moment on a loaded machine.
        """
        if not self.is_local or os.name != "posix":
            yield
            return
        try:
            descriptor = os.open(self.path, os.O_RDONLY)
        except OSError as error:
            raise OutputError(failure_sentence(f"{self.path} cannot be opened", error)) from error
        try:
            import fcntl

            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            until = time.monotonic() + _PATIENCE
            while True:
                try:
                    fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    if time.monotonic() >= until:
                        raise OutputError(
                            f"another process is working on {self.path}: wait for it, or choose "
                            "another folder"
                        ) from error
                    time.sleep(_PATIENCE / 50)
                except OSError:
                    # A network file system without locks; writes are atomic, and equal in every
                    # process.
                    break
                else:
                    break
            yield
        finally:
            os.close(descriptor)


def _holds(path: str) -> bool:
    try:
        return any(not name.endswith(_PARTIAL) for name in os.listdir(path))
    except OSError:  # unreadable, so it is not ours to ignore
        return True


def _create_file(file: str) -> BinaryIO:
    try:
        return open(file, "xb")
    except FileNotFoundError:
        os.makedirs(os.path.dirname(file), PRIVATE, exist_ok=True)
        return open(file, "xb")


@contextlib.contextmanager
def reaching(url: str) -> Iterator[tuple[Any, str]]:
    """Yield the file system of a URL and the path in it; turn any exception into an OSError."""
    found = _system(url)
    try:
        yield found
    except OSError:
        raise
    # Drivers of file systems raise exceptions of their own.
    except Exception as error:
        raise OSError(str(error)) from error


@functools.cache
def _system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it; refuse unknown kinds of URLs."""
    from pyarrow import ArrowInvalid
    from pyarrow.fs import FileSystem, FSSpecHandler, PyFileSystem

    kind = url.partition("://")[0]
    if kind == "file" or "?" in url:
        raise InputError(f"{url} is not a URL of an object store: use s3://BUCKET/FOLDER or a path")
    try:
        found: tuple[Any, str] = FileSystem.from_uri(url + _ASKED.get(kind, ""))
        return found
    except ArrowInvalid as error:
        if "Unrecognized filesystem" not in str(error):
            raise InputError(f"{url} cannot be used ({error}): check how it is written") from error
    try:
        # pyarrow does not know this kind of URL, but fsspec may.
        from fsspec.core import url_to_fs

        system, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise InputError(
            f"{url} cannot be used ({error}): use s3://, gs:// or abfs://, or install the package "
            "that fsspec needs for such URLs"
        ) from error
    return PyFileSystem(FSSpecHandler(system)), path


def copy_object(url: str, to: Path) -> Path:
    """Copy an object to a local file.

    Parameters
    ----------
    url : str
        URL of an object store, or another that fsspec supports.
    to : Path
        Local file; missing folders are created.

    Raises
    ------
    InputError
        One line: the unreadable object, the reason, and the way out.
    """
    with _readable(url) as (system, path):
        _copy(system, path, to)
    return to


def copied_folder(url: str, to: Path) -> Path:
    """Copy all objects below a URL to a local folder.

    Parameters
    ----------
    url : str
        URL of an object store, or another that fsspec supports.
    to : Path
        Local folder; it is created.

    Raises
    ------
    InputError
        One line: the unreadable object, the reason, and the way out.
    """
    from pyarrow.fs import FileSelector, FileType

    with _readable(url) as (system, path):
        root = path.rstrip("/")
        found = system.get_file_info(FileSelector(root, recursive=True))
        names = [x.path.removeprefix(f"{root}/") for x in found if x.type == FileType.File]
        if not names:
            raise InputError(f"{url} holds no files: name the folder of a model")
        # Or an object could be written outside the folder.
        if any(".." in name.split("/") for name in names):
            raise InputError(f"{url} holds names with '..': rename them")
        for name in names:
            _copy(system, f"{root}/{name}", to / name)
    return to


@contextlib.contextmanager
def _readable(url: str) -> Iterator[tuple[Any, str]]:
    """Yield the file system of a URL and the path in it; turn errors into one line."""
    try:
        with reaching(url) as found:
            yield found
    except FileNotFoundError as error:
        raise InputError(f"{url} does not exist") from error
    except OSError as error:
        raise InputError(failure_sentence(f"{url} cannot be read", error, REACH_IT)) from error


def _copy(system: Any, path: str, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    with system.open_input_file(path) as stream, to.open("wb") as file:
        shutil.copyfileobj(stream, file)
