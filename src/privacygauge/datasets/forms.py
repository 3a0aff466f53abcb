"""Forms with files as browsers send them: multipart/form-data (RFC 7578)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from mmap import mmap

from privacygauge.errors import InputError


@dataclass(frozen=True)
class FormPart:
    """A field of a form, or a file, by its place in the body."""

    field: str
    """Name of the field."""
    name: str | None
    """Name of the file; None for a field."""
    begin: int
    """Place of the first byte of the content."""
    end: int
    """Place after the last byte."""


def form_parts(content_type: str, body: bytes | mmap) -> Iterator[FormPart]:
    """Yield the parts of a form; a part without a name is left out.

    Parameters
    ----------
    content_type : str
        Content type of the body, with its boundary.
    body : bytes or mmap
        The whole body; a mapped file takes no memory.

    Raises
    ------
    InputError
        If the body is not such a form.
    """
    head = Message()
    head["content-type"] = content_type
    boundary = head.get_param("boundary")
    if head.get_content_type() != "multipart/form-data" or not isinstance(boundary, str):
        raise InputError("the form must be multipart/form-data")
    line = b"--" + boundary.encode("latin-1", "replace")
    between = b"\r\n" + line
    # The first boundary may begin the body; what is before it is no field.
    place = 0 if body[: len(line)] == line else body.find(between)
    while place >= 0:
        end = body.find(between, place + len(line))
        head_end = body.find(b"\r\n\r\n", place)
        if 0 <= head_end < end:
            about = Message()
            for text in body[place:head_end].decode("utf-8", "replace").splitlines():
                key, _, value = text.partition(":")
                if key.strip().lower() == "content-disposition":
                    about["content-disposition"] = value.strip()
            field = about.get_param("name", header="content-disposition")
            if isinstance(field, str):
                yield FormPart(field, about.get_filename(), head_end + 4, end)
        place = end
