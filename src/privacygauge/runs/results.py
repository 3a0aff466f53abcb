"""Result files that never replace files of others, and hashes of input files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import stat
import time
from collections.abc import Collection, Iterator, Mapping
from os import PathLike
from pathlib import Path

from privacygauge.errors import InputError, OutputError, failure_sentence
from privacygauge.runs.folder import PRIVATE, Folder, place_text, url_of

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
    if (url := url_of(directory)) is not None:
        remote = Folder(url)
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
    probe = directory / f".probe.{secrets.token_hex(6)}.tmp"
    try:
        probe.open("xb").close()
    except OSError as error:
        raise OutputError(failure_sentence(f"no file can be made in {directory}", error)) from error
    finally:
        # If it cannot be removed, the first error says why.
        with contextlib.suppress(OSError):
            probe.unlink()


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
    if (url := url_of(directory)) is not None:
        for key, content in files.items():
            Folder(url).set(key, content)
        return final
    # All names are chosen before any file exists, so that the clean-up misses none.
    hidden = [path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp") for path in final]
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
            # It is mostly gone already; if it cannot be removed, the first error says why.
            with contextlib.suppress(OSError):
                path.unlink()
    return final


def _write(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        # On disk before the rename, or a power cut could leave an empty file under the final name.
        os.fsync(file.fileno())


LIST = ".privacygauge-files"
"""File in a result folder that lists the files written there, with their digests."""

ELSEWHERE = "choose another folder with --out, or move the file away"
"""Way out for files with names that the user cannot choose."""

_PATIENCE = 3.0
"""Seconds to wait for another process that writes to the same list."""


def folder_path(directory: str | PathLike[str]) -> Path:
    """Return the path of a folder to write to; anything else is refused in one line."""
    if not isinstance(directory, str | PathLike):
        raise InputError(f"directory must be a path of a folder, got {directory!r:.60}")
    return Path(directory)


def require_free(
    directory: Path,
    names: Collection[str],
    *,
    inputs: Collection[str | Path] = (),
    way_out: str = ELSEWHERE,
) -> None:
    """Refuse to replace files that PrivacyGauge did not write; call it before any work.

    A file may be replaced if PrivacyGauge wrote it and it has not changed since, or if it is empty.

    Parameters
    ----------
    directory : pathlib.Path
        Folder for results. It may stand for a URL, or not exist yet.
    names : collection of str
        Names of the files to write there.
    inputs : collection of str or pathlib.Path
        Input files, which are never replaced.
    way_out : str
        Advice at the end of the message.

    Raises
    ------
    OutputError
        One line: the first file that must stay, the reason, and the way out.
    """
    written = _written_digests(directory)
    for name in names:
        path = Path(directory) / name
        # Inputs first: PrivacyGauge may have written the input itself, in an earlier run.
        if any(_is_same(path, given) for given in inputs):
            raise OutputError(
                f"{place_text(path)} is an input, and a result of the same name would replace it: "
                f"{way_out}"
            )
        if url_of(path) is None and path.is_dir():
            raise OutputError(
                f"{place_text(path)} is a directory, and a file is to be written: {way_out}"
            )
        if (found := _digest(directory, name)) is None or found in written.get(name, ()):
            continue
        why = "has changed since PrivacyGauge wrote it" if name in written else "is there already"
        mine = "" if name in written else ", and PrivacyGauge did not write it"
        raise OutputError(f"{place_text(path)} {why}{mine}; it would be replaced: {way_out}")


def write_results(
    directory: Path, files: Mapping[str, bytes], *, way_out: str = ELSEWHERE
) -> list[Path]:
    """Write files as by `write_all`, but replace only files that PrivacyGauge wrote.

    Raises
    ------
    OutputError
        If a file must not be replaced (see `require_free`), before anything is written; or if a
        file cannot be written.
    """
    directory = Path(directory)
    with _exclusive_list(directory):
        require_free(directory, files, way_out=way_out)
        known = dict(_written_digests(directory))
        for name, content in files.items():
            # An interruption leaves the earlier content or the new one; both are listed as ours.
            earlier = _digest(directory, name)
            now = hashlib.sha256(content).hexdigest()
            known[name] = sorted({now} if earlier is None else {earlier, now})
        text = json.dumps(known, indent=1, sort_keys=True) + "\n"
        write_all(directory, {LIST: text.encode("ascii")})
        return write_all(directory, files)


def _written_digests(directory: Path) -> Mapping[str, list[str]]:
    """Return the digests of files that PrivacyGauge wrote to a folder, by name."""
    content = _read_bytes(directory, LIST)
    try:
        found = json.loads(content or b"{}")
    except ValueError:
        return {}  # damaged: no file is known to be ours, so none is replaced
    if not isinstance(found, dict):
        return {}
    return {name: known for name, known in found.items() if isinstance(known, list)}


def _digest(directory: Path, name: str) -> str | None:
    """Return the digest of a file; None if it does not exist or is empty."""
    path = Path(directory) / name
    if url_of(path) is None:
        try:
            kind = os.lstat(path).st_mode
        except OSError:
            return None
        if not stat.S_ISREG(kind):
            return "not a file of its own"  # a link, folder or device; equal to no digest
    content = _read_bytes(directory, name)
    return hashlib.sha256(content).hexdigest() if content else None


def _read_bytes(directory: Path, name: str) -> bytes | None:
    if (url := url_of(directory)) is not None:
        return Folder(url).get(name)
    path = Path(directory) / name
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise OutputError(failure_sentence(f"{path} cannot be read", error)) from error


def _is_same(path: Path, given: str | Path) -> bool:
    """Return whether two paths refer to the same file, which may not exist yet."""
    here = url_of(path)
    there = url_of(given)
    if here is not None or there is not None:
        return here == there
    try:
        return os.path.samefile(path, given)
    except OSError:
        return os.path.realpath(path) == os.path.realpath(given)


@contextlib.contextmanager
def _exclusive_list(directory: Path) -> Iterator[None]:
    """Lock the list against other processes for the ``with`` block, if the file system can."""
    if url_of(directory) is not None or os.name != "posix":
        yield
        return
    import fcntl

    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError as error:
        raise OutputError(failure_sentence(f"{directory} cannot be opened", error)) from error
    try:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_PATIENCE / 100)
            except OSError:
                break  # a network file system without locks
            else:
                break
        yield
    finally:
        os.close(descriptor)


def file_hashes(files: Mapping[str, Path | None]) -> dict[str, str]:
    """Return name and SHA-256 of each given file, by role."""
    found = {}
    for role, path in files.items():
        if path is None:
            continue
        found[role] = path.name  # a missing file gets its error message when it is loaded
        if path.is_dir():
            inside = sorted(inner for inner in path.rglob("*") if inner.is_file())
            listed = "".join(f"{one.relative_to(path)} {_file_digest(one)}\n" for one in inside)
            found[role] += f" sha256:{hashlib.sha256(listed.encode()).hexdigest()}"
        elif path.is_file():
            found[role] += f" sha256:{_file_digest(path)}"
    return found


def _file_digest(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except PermissionError as error:
        raise InputError(f"{path} cannot be read: permission denied") from error
