"""Writing of files completely or not at all, so that interruptions leave no partial files."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from privacygauge.errors import OutputError, failure_sentence
from privacygauge.runs.folder import PRIVATE, Folder, url_of

PROBE = ".privacygauge-probe"
"""File that is created and removed to test that a URL is writable."""


def check_writable(directory: Path) -> None:
    """Create `directory` if it is missing, and check that it is writable.

    Call it before any work, so that an hour of training does not end in "no permission".

    Parameters
    ----------
    directory : pathlib.Path
        Folder for results, created with its parents; it may stand for a URL. A new folder has mode
        `PRIVATE`; the mode of an existing one is not changed.

    Raises
    ------
    OutputError
        If the path is a file, the directory cannot be created, or no file can be created in it.
    InputError
        If it stands for a URL that no installed package can write to.
    """
    directory = Path(directory)
    if (remote := _remote(directory)) is not None:
        remote.set(PROBE, b"")
        remote.remove(PROBE)
        return
    try:
        # Private, since results name people and say who was in the data.
        directory.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    except FileExistsError as error:
        raise OutputError(
            f"{directory} is a file, not a directory: choose another folder"
        ) from error
    except OSError as error:
        raise OutputError(failure_sentence(f"{directory} cannot be created", error)) from error
    probe = _sibling(directory / "probe")
    try:
        probe.open("xb").close()
    except OSError as error:
        raise OutputError(failure_sentence(f"no file can be made in {directory}", error)) from error
    finally:
        _remove(probe)


def write_all(directory: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write all files under hidden names first, then rename them to their final names.

    Parameters
    ----------
    directory : pathlib.Path
        An existing folder. It may stand for a URL; each file is then written as a whole, one after
        the other.
    files : mapping of str to bytes
        Content by file name; files are renamed in this order.

    Returns
    -------
    list of pathlib.Path
        The files written, in the order given.

    Raises
    ------
    OutputError
        If a file cannot be written. Then, as after an interruption, each final name holds its
        earlier or its new content in full, and no hidden files are left.
    """
    final = [Path(directory) / name for name in files]
    if (remote := _remote(Path(directory))) is not None:
        for key, content in files.items():
            remote.set(key, content)
        return final
    # All names are chosen before any file exists, so that the clean-up misses none.
    hidden = [_sibling(path) for path in final]
    at = Path(directory)
    try:
        for at, content in zip(hidden, files.values(), strict=True):
            _write(at, content)
        for source, at in zip(hidden, final, strict=True):
            os.replace(source, at)
    except OSError as error:
        name = final[hidden.index(at)] if at in hidden else at
        raise OutputError(failure_sentence(f"{name} cannot be written", error)) from error
    finally:
        for path in hidden:
            _remove(path)
    return final


def _remote(directory: Path) -> Folder | None:
    """Return the remote folder of a path that stands for a URL; None for a local path."""
    url = url_of(directory)
    return None if url is None else Folder(url)


def _sibling(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")


def _write(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        # On disk before the rename, or a power cut could leave an empty file under the final name.
        os.fsync(file.fileno())


def _remove(path: Path) -> None:
    # It is mostly gone already; if it cannot be removed, the first error says why.
    with contextlib.suppress(OSError):
        path.unlink()
