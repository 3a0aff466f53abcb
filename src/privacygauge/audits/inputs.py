"""Files and models at URLs of object storage: copied here while an audit is played."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from privacygauge.audits.asking import Request, Role
from privacygauge.errors import InputError
from privacygauge.runs.copies import copied, copied_folder
from privacygauge.runs.folder import url_of

R = TypeVar("R", bound=Request)

COPIED = (".csv", ".parquet", ".npz", ".npy", ".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
"""What the names of files end in that are read once, from their beginning to their end."""


def is_copied(text: str, role: Role) -> bool:
    """Return whether a text is the URL of a file, or of a model's folder, that is copied."""
    if url_of(text) is None or text.startswith(("http:", "https:")):
        return False
    return role is Role.MODEL or (role is Role.FILE and text.lower().endswith(COPIED))


@contextmanager
def with_copies(request: R) -> Iterator[R]:
    """Give a request whose files at URLs are copies on this machine, removed afterwards.

    Messages name the URLs, and so does what a run keeps: it reads them again when it is resumed.

    Raises
    ------
    InputError
        One line: what cannot be read, why, and the way out.
    """
    named = {f.name: (getattr(request, f.name), asked.role) for f, asked in request.asked()}
    read = {name: x for name, x in named.items() if isinstance(x[0], str) and is_copied(*x)}
    urls = {name: url for name, (url, _) in read.items()}
    if not urls:
        yield request
        return
    with tempfile.TemporaryDirectory(prefix="privacygauge-") as folder:
        here = {
            name: (copied_folder if role is Role.MODEL else copied)(
                url, Path(folder, name, url.rstrip("/").rpartition("/")[2])
            )
            for name, (url, role) in read.items()
        }
        texts: dict[str, Any] = {name: str(path) for name, path in here.items()}
        try:
            yield replace(request, **texts, urls=tuple(urls.items()))
        except InputError as error:
            told = str(error)
            for name, text in texts.items():
                told = told.replace(text, urls[name])
            raise InputError(told) from error
