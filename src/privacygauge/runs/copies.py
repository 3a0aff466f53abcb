"""Files and folders of an object store, copied to this machine to be read."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from privacygauge.errors import InputError, failure_sentence
from privacygauge.runs.folder import REACH_IT, reaching


def copy_object(url: str, to: Path) -> Path:
    """Return a local file with the content of an object.

    Parameters
    ----------
    url : str
        URL of an object store, or another that fsspec supports.
    to : Path
        The file, in a folder that is made where it is missing.

    Raises
    ------
    InputError
        One line: the unreadable object, the reason, and the way out.
    """
    with _readable(url) as (system, path):
        _copy(system, path, to)
    return to


def copied_folder(url: str, to: Path) -> Path:
    """Return a local folder with the content of all objects below a URL.

    Parameters
    ----------
    url : str
        URL of an object store, or another that fsspec supports.
    to : Path
        The folder, which is made.

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
