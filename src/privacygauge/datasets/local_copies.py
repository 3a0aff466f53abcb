"""Data files with checksums: from the user's copies, the cache, or the official source."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import urllib.request
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.datasets import archives
from privacygauge.datasets.archives import check_size, read_npz
from privacygauge.errors import InputError
from privacygauge.runs.results import check_writable, write_all

if TYPE_CHECKING:
    import pandas as pd


VARIABLE = "PRIVACYGAUGE_DATA"
"""Environment variable with the folder of the user's own data files."""


_NAMED: ContextVar[Path | None] = ContextVar("_NAMED", default=None)


@contextmanager
def data_in(folder: Path | None) -> Iterator[None]:
    """Search `folder`, if there is one, before the folder of PRIVACYGAUGE_DATA."""
    token = _NAMED.set(folder)
    try:
        yield
    finally:
        _NAMED.reset(token)


def own_file(name: str) -> Path | None:
    """Return the user's file, plain or with .gz; None if absent.

    The folder of `data_in` comes first, then that of PRIVACYGAUGE_DATA.
    """
    found = (file_in(folder, name) for folder in data_folders())
    return next((path for path in found if path is not None), None)


def data_folders() -> list[Path]:
    """Return the folders of the user's files, in the order of search."""
    return [Path(folder) for folder in (_NAMED.get(), os.environ.get(VARIABLE)) if folder]


def file_in(folder: Path, name: str) -> Path | None:
    """Return a file of a folder, plain or with .gz; None if absent."""
    candidates = (folder / name, folder / f"{name}.gz")
    return next((path for path in candidates if path.is_file()), None)


def read_checked(name: str, url: str, sha256: str) -> bytes:
    """Return the content of a data file, from the user's folder, the cache, or its source.

    Parameters
    ----------
    name : str
        File name.
    url : str
        Official source, used only if there is no local copy.
    sha256 : str
        SHA-256 of the unpacked content.

    Raises
    ------
    InputError
        If the file cannot be fetched, or has another checksum.
    """
    # The cache of the XDG base directories, also where the variable is empty.
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "privacygauge"
    cached = cache / name
    path = own_file(name) or (cached if cached.is_file() else None)
    content: bytes
    if path is not None:
        content = content_of(path)
    else:
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                content = answer.read()
        except (OSError, HTTPException) as error:
            raise InputError(
                f"{name} is not in the folder that {VARIABLE} names and cannot be fetched from "
                f"{url} ({error}): save it there by hand"
            ) from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise InputError(
            f"{path or url} is not the {name} that is meant: its SHA-256 is {found[:12]}..., "
            f"expected {sha256[:12]}...; remove it, and it is fetched from {url}"
        )
    # Cached after the checksum, so that the cache never holds another file.
    if path is None:
        check_writable(cache)
        write_all(cache, {name: content})
    return content


def read_own(name: str, sha256: str, absent: str) -> bytes:
    """Return the content of a data file that is never fetched, from the user's folder.

    Parameters
    ----------
    name : str
        File name.
    sha256 : str
        SHA-256 of the unpacked content.
    absent : str
        End of the message after "is not in the folder ...", with the way out.

    Raises
    ------
    InputError
        If the file is missing, or has another checksum.
    """
    path = own_file(name)
    if path is None:
        raise InputError(f"{name} is not in the folder that {VARIABLE} names; {absent}")
    content = content_of(path)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise InputError(
            f"{path} is not the {name} that is meant: its checksum differs; get it again"
        )
    return content


def content_of(path: Path) -> bytes:
    """Return the content of a file, unpacked if its name ends in .gz."""
    size = path.stat().st_size
    with path.open("rb") as file:
        # Plain files are checked against the free memory only.
        if path.suffix.lower() != ".gz":
            check_size(path, size, size)
            return file.read()
        try:
            # A gzip file states no trustworthy size: the count of what has come so far is checked.
            stream = gzip.GzipFile(fileobj=file)
            content = io.BytesIO()
            while part := stream.read(archives.PART):
                content.write(part)
                if content.tell() > archives.SMALL:
                    check_size(path, size, content.tell())
            return content.getvalue()
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"{path} is damaged ({error}): remove it, or get it again") from error


Bytes = NDArray[np.uint8]


def _numbers(path: str | Path, sha256: str | None) -> Bytes:
    """Return a file's whole numbers in 0..255, (n, d): one row per line, commas between columns."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"path must be a file, and {path} is none: unpack the archive first")
    content = file.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if sha256 is not None and found != sha256.lower():
        raise InputError(
            f"the checksum of {file.name} must be {sha256.lower()}, got {found}: get the file "
            "again, or leave sha256 out to read it as it is"
        )
    # Other bytes become marks that no number holds, and are refused with their line.
    lines = content.decode("ascii", "replace").splitlines()
    if not any(line.strip() for line in lines):
        raise InputError(f"{file.name} must hold lines of numbers, and it holds none")
    try:
        # uint8 refuses values outside 0..255.
        return np.loadtxt(lines, np.uint8, delimiter=",", ndmin=2, comments=None)
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"{file.name} must hold lines of whole numbers in 0..255, as many in each: {error}"
        ) from error


def _features_and_classes(
    features: Bytes, labels: Bytes, names: tuple[str, str]
) -> tuple[Bytes, Ints]:
    """Return features that are all 0 or 1, and classes in 0..99 from labels in 1..100."""
    bad = np.argwhere(features > 1)
    if len(bad):
        row, column = bad[0]
        raise InputError(
            f"{names[0]} must hold features of 0 and 1, got {features[row, column]} in row {row}"
        )
    outside = np.flatnonzero((labels < 1) | (labels > _N_CLASSES))
    if len(outside):
        row = outside[0]
        raise InputError(
            f"{names[1]} must hold labels in 1..{_N_CLASSES}, got {labels[row]} in row {row}"
        )
    return features, labels.astype(np.int64) - 1


_N_CLASSES = 100
"""Number of groups in Purchase100, and of procedures in Texas100."""

N_FEATURES = 600
"""Number of products in Purchase100."""


def purchase100(path: str | Path, *, sha256: str | None = None) -> tuple[Bytes, Ints]:
    """Return Purchase100: 600 purchased products or not of 197,324 customers, and their 100 groups.

    Licence: that of Kaggle's challenge that it was made from; never redistributed.

    Parameters
    ----------
    path : str or Path
        The file ``dataset_purchase`` of Shokri et al. (2017), unpacked: one line per customer, the
        group (1 to 100) and then 600 zeros and ones, separated by commas.
    sha256 : str, optional
        Required checksum of the file.

    Returns
    -------
    tuple of ndarray, shapes (n, 600) and (n,)
        Features of 0 and 1, and classes in 0..99, in the order of the file.

    Raises
    ------
    InputError
        If the file is missing, has another checksum, or has another format.
    """
    name = Path(path).name
    table = _numbers(path, sha256)
    if table.shape[1] != 1 + N_FEATURES:
        raise InputError(
            f"{name} must have {1 + N_FEATURES} columns, the group first, got {table.shape[1]}"
        )
    return _features_and_classes(table[:, 1:], table[:, 0], (name, name))


def texas100(
    features: str | Path,
    labels: str | Path,
    *,
    features_sha256: str | None = None,
    labels_sha256: str | None = None,
) -> tuple[Bytes, Ints]:
    """Return Texas100: binary attributes of hospital stays, and their 100 procedures.

    The whole file has 67,330 patients. Licence: that of the Texas Department of State Health
    Services; never redistributed.

    Parameters
    ----------
    features : str or Path
        The file ``feats`` of Shokri et al. (2017), unpacked: one line per stay, more than 6,000
        zeros and ones, separated by commas.
    labels : str or Path
        The file ``labels`` that comes with it: one line per stay, the procedure (1 to 100).
    features_sha256, labels_sha256 : str, optional
        Required checksums of the files.

    Returns
    -------
    tuple of ndarray, shapes (n, d) and (n,)
        Features of 0 and 1, and classes in 0..99, in the order of the files.

    Raises
    ------
    InputError
        If a file is missing, has another checksum or format, or if their lengths differ.
    """
    names = Path(features).name, Path(labels).name
    known = _numbers(labels, labels_sha256)
    if known.shape[1] != 1:
        raise InputError(f"{names[1]} must have one column, got {known.shape[1]}")
    x = _numbers(features, features_sha256)
    if len(x) != len(known):
        raise InputError(
            f"{names[0]} and {names[1]} must have as many lines, got {len(x)} and {len(known)}"
        )
    return _features_and_classes(x, known[:, 0], names)


LOCATION30 = (5_010, 446, 30)
"""Numbers of people, binary attributes and groups of Location30."""


def location30() -> tuple[Floats, Ints]:
    """Return Location30: 446 visited places or not of 5,010 people, and their 30 groups.

    Foursquare check-ins, in the shuffled order of the authors of MemGuard (Jia et al. 2019).
    For tests and reproductions only, never redistributed.

    Returns
    -------
    tuple of ndarray, shapes (5010, 446) and (5010,)
        Features of 0 and 1, and classes in 0..29.

    Raises
    ------
    InputError
        If ``location30.npz`` is not in the folder that PRIVACYGAUGE_DATA names: the data carry no
        licence, so they are never fetched.
    """
    path = own_file("location30.npz")
    if path is None:
        raise InputError(
            f"location30.npz is not in the folder that {VARIABLE} names; the data carry no "
            "licence, so they are not fetched for you"
        )
    archive = read_npz(path)
    # 446 bits in 56 bytes: the last two are padding.
    x = np.unpackbits(archive["x_packed"], axis=1)[:, : LOCATION30[1]]
    order = archive["shuffle_index"]
    return x[order].astype(np.float64), archive["y"][order].astype(np.int64)


_SHA256 = {
    10: "e28c3eb88337675748dfee4a2705d528739a155a83ce600f52f713b901a905f5",
    100: "7f52f3b4202395e149864e4fb8979ba8268de28d238639efaf969ea7a8bdd15d",
}


def cifar_logits(n_classes: int) -> tuple[Floats, Ints]:
    """Return a ResNet-20's logits on the 10,000 test images of CIFAR, and the labels.

    Licence: MIT.

    Parameters
    ----------
    n_classes : int
        10 for CIFAR-10, 100 for CIFAR-100.

    Returns
    -------
    tuple of ndarray, shapes (10000, n_classes) and (10000,)
        Logits, and labels in 0..n_classes-1. The two models' rows are in different orders.

    Raises
    ------
    InputError
        If the file is not in the folder that PRIVACYGAUGE_DATA names, or has another checksum.
    """
    if n_classes not in _SHA256:
        raise InputError(f"n_classes must be one of {checks.short_list(_SHA256)}, got {n_classes}")
    name = f"logits_cifar{n_classes}_resnet-20.npz"
    absent = "it has no official source to be fetched from: save it there"
    content = read_own(name, _SHA256[n_classes], absent)
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return archive["logits"].astype(np.float64), archive["labels"].astype(np.int64)


PURCHASES = "purchases.npz"
"""File of purchases, prepared as by Long et al. (2017) from Kaggle's challenge."""


def purchases(path: str | Path) -> tuple[Floats, Ints]:
    """Return customers' products, bought or not, and the customers' groups.

    Parameters
    ----------
    path : str or Path
        An npz file with `x` (n, d), zeros and ones, and `y` (n,), groups counted from 0. Long et
        al. (2017) have 836 products and 10 groups, by k-means.

    Returns
    -------
    tuple of ndarray, shapes (n, d) and (n,)
        Features of 0 and 1, and classes from 0.

    Raises
    ------
    InputError
        If the file is missing or has another format.
    """
    x, y = _arrays(path, "x", "y")
    if x.ndim != 2 or not np.isin(x, (0, 1)).all():
        raise InputError(f"x of {Path(path).name} must be (n, d) zeros and ones")
    return x.astype(np.float64), _classes(y, len(x), Path(path).name)


LOGITS = "logits.npz"
"""File of a classifier's logits on a test set, such as ImageNet's."""


def own_logits(path: str | Path) -> tuple[Floats, Ints]:
    """Return a classifier's logits on a test set, and the labels.

    Parameters
    ----------
    path : str or Path
        An npz file with `logits` (n, m) and `labels` (n,) in 0..m-1; at least 10 points.

    Returns
    -------
    tuple of ndarray, shapes (n, m) and (n,)
        Logits, and labels in 0..m-1.

    Raises
    ------
    InputError
        If the file is missing or has another format.
    """
    logits, labels = _arrays(path, "logits", "labels")
    name = Path(path).name
    if logits.ndim != 2 or len(logits) < 10 or logits.shape[1] < 2:
        raise InputError(
            f"logits of {name} must be (n, m) with n >= 10 and m >= 2, got {logits.shape}"
        )
    if not np.isfinite(logits).all():
        raise InputError(f"logits of {name} must be finite")
    found = _classes(labels, len(logits), name)
    if found.max() >= logits.shape[1]:
        raise InputError(f"labels of {name} must be in 0..{logits.shape[1] - 1}, got {found.max()}")
    return logits.astype(np.float64), found


def _arrays(path: str | Path, *names: str) -> list[NDArray[Any]]:
    """Return the named arrays of an npz file; refuse a file without one of them."""
    archive = read_npz(Path(path))
    missing = [name for name in names if name not in archive]
    if missing:
        raise InputError(
            f"{Path(path).name} must hold the arrays {' and '.join(names)}, and lacks "
            f"{' and '.join(missing)}"
        )
    return [np.asarray(archive[name]) for name in names]


def _classes(labels: NDArray[Any], n: int, name: str) -> Ints:
    if labels.shape != (n,) or labels.dtype.kind not in "iu" or labels.min(initial=0) < 0:
        raise InputError(
            f"labels of {name} must be ({n},) whole numbers from 0, got {labels.shape} of "
            f"{labels.dtype}"
        )
    return labels.astype(np.int64)


WHOLE = "uk_census_2011.csv"
"""Name of the whole census file: 569,741 people, from the Office for National Statistics."""

SAMPLE = "uk_census_2011_first50000.csv"
"""Name of its first 50,000 rows. The file is sorted: they are people of six of ten regions."""

_SAMPLE_SHA256 = "183975c0ff42ae3a1cb14281a5776f58d73d6937f7c85bb82c3f5aa881ea1267"
_ID = "Person ID"
_ROWS = 569_741


def census() -> tuple[pd.DataFrame, bool]:
    """Return the 2011 census teaching file of England and Wales, and whether it is complete.

    Licence: Open Government Licence (Office for National Statistics).

    Returns
    -------
    tuple of pandas.DataFrame and bool
        17 columns of codes as texts, without the person's number; -9 where no code is required.
        False if only the first 50,000 rows of the sorted file are available.

    Raises
    ------
    InputError
        If neither file is in the folder that PRIVACYGAUGE_DATA names, or it has other content.
    """
    import pandas as pd

    name = WHOLE if own_file(WHOLE) is not None else SAMPLE
    path = own_file(name)
    if path is None:
        raise InputError(
            f"neither {WHOLE} nor {SAMPLE} is in the folder that {VARIABLE} names: get the 2011 "
            "Census Microdata Teaching File from the Office for National Statistics and save it "
            f"there as {WHOLE}"
        )
    content = content_of(path)
    if name == SAMPLE and hashlib.sha256(content).hexdigest() != _SAMPLE_SHA256:
        raise InputError(f"{path} is not the {SAMPLE} that is meant: its checksum differs")
    # As texts, since codes are categories; an empty field stays an empty text.
    try:
        frame = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
    except ValueError as error:
        raise InputError(f"{path} is damaged or no csv file ({error})") from error
    if _ID not in frame or (name == WHOLE and len(frame) != _ROWS):
        raise InputError(
            f"{path} is not the census teaching file: it must have the column {_ID!r}, and "
            f"{_ROWS:,} rows where it is the whole one, got {len(frame):,}"
        )
    return frame.drop(columns=_ID), name == WHOLE
