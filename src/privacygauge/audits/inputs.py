"""Files at URLs of object storage: copied to this machine for as long as an audit is played."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from privacygauge.audits.asking import Request, Role
from privacygauge.errors import InputError
from privacygauge.runs.folder import copied, url_of

R = TypeVar("R", bound=Request)

COPIED = (".csv", ".parquet", ".npz", ".npy", ".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
"""What the names of files end in that are read once, from their beginning to their end."""


def is_copied(text: str) -> bool:
    """Return whether a text is the URL of a file that is copied to be read."""
    at_server = text.startswith(("http:", "https:"))
    return url_of(text) is not None and not at_server and text.lower().endswith(COPIED)


@contextmanager
def with_copies(request: R) -> Iterator[R]:
    """Give a request whose files at URLs are copies on this machine, removed afterwards.

    Messages name the URLs, and so does what a run keeps: it reads them again when it is resumed.

    Raises
    ------
    InputError
        One line: what cannot be read, why, and the way out.
    """
    files = [f.name for f, asked in request.asked() if asked.role is Role.FILE]
    named = {name: getattr(request, name) for name in files}
    urls = {name: x for name, x in named.items() if isinstance(x, str) and is_copied(x)}
    if not urls:
        yield request
        return
    with tempfile.TemporaryDirectory(prefix="privacygauge-") as folder:
        here = {
            name: copied(url, Path(folder, name, url.rpartition("/")[2]))
            for name, url in urls.items()
        }
        texts: dict[str, Any] = {name: str(path) for name, path in here.items()}
        try:
            yield replace(request, **texts, urls=tuple(urls.items()))
        except InputError as error:
            told = str(error)
            for name, text in texts.items():
                told = told.replace(text, urls[name])
            raise InputError(told) from error
