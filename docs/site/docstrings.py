"""Shows docstrings and signatures as they were written, formulas and fields word for word."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FIELDS = ("attribute", "property")
CALLED = ("class", "function", "method")
LONGEST_DEFAULT = 40
"""Letters of a default; of a longer one only dots are shown."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Register what happens before napoleon, whose priority is 500, and after it."""
    kept: dict[str, list[str]] = {}

    def before(
        _app: Sphinx, what: str, name: str, _object: Any, _opt: Any, lines: list[str]
    ) -> None:
        lines[:] = with_literal_blocks(lines)
        if what in FIELDS:
            kept[name] = list(lines)

    def after(
        _app: Sphinx, what: str, name: str, _object: Any, _opt: Any, lines: list[str]
    ) -> None:
        # Napoleon takes what stands before a colon for the type of a field.
        if what in FIELDS:
            lines[:] = kept.pop(name)

    app.connect("autodoc-process-docstring", before, priority=400)
    app.connect("autodoc-process-docstring", after, priority=600)
    app.connect("autodoc-process-signature", as_written)
    return {"parallel_read_safe": True}


def with_literal_blocks(lines: list[str]) -> list[str]:
    """Return the lines with indented paragraphs marked as literal blocks: they are formulas."""
    result: list[str] = []
    last = ""
    for line in lines:
        begins = bool(line.strip() and result and not result[-1].strip())
        if begins and indent(line) > indent(last) and not marked(last):
            result += [" " * indent(last) + "::", ""]
        result.append(line)
        last = line if line.strip() else last
    return result


def indent(line: str) -> int:
    """Return how far a line is indented."""
    return len(line) - len(line.lstrip())


def marked(line: str) -> bool:
    """Return whether a block below this line has a meaning already."""
    return line.rstrip().endswith("::") or line.lstrip().startswith((".. ", "* ", "- "))


@dataclass(frozen=True)
class Text:
    """Shown without quotes in a signature."""

    text: str
    """What is shown."""

    def __repr__(self) -> str:
        return self.text


def as_written(
    _app: Sphinx, what: str, _name: str, found: Any, _options: Any, arguments: str | None, _r: Any
) -> tuple[str, str | None] | None:
    """Return a signature with the types as in the code: their aliases are long."""
    if what not in CALLED or arguments is None:
        return None
    if getattr(found, "_is_protocol", False):
        return "", None
    signature = inspect.signature(found)
    returned = signature.return_annotation
    shown = [
        parameter.replace(annotation=text(parameter.annotation), default=short(parameter.default))
        for name, parameter in signature.parameters.items()
        if name != "self"
    ]
    plain = signature.replace(parameters=shown, return_annotation=inspect.Signature.empty)
    with_result = what != "class" and returned is not inspect.Signature.empty
    return str(plain), str(returned) if with_result else None


def text(annotation: Any) -> Any:
    """Return a type as it is written, where it is."""
    return Text(annotation) if isinstance(annotation, str) else annotation


def short(default: Any) -> Any:
    """Return a default, or dots in place of one that takes much space."""
    shown = repr(default)
    return Text("...") if len(shown) > LONGEST_DEFAULT or shown == "<factory>" else default
