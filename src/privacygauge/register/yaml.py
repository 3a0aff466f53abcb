"""Plain values as YAML: blocks for lists and mappings, every scalar as JSON writes it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias

from privacygauge.report.numbers import plain

Plain: TypeAlias = "str | bool | int | float | Sequence[Plain] | Mapping[str, Plain]"
"""What can be written."""


def block(value: Mapping[str, Plain]) -> str:
    r"""Return a mapping as a YAML block.

    Parameters
    ----------
    value : mapping
        Keys are ours and are written as they are; texts are the user's and are quoted, on one
        line, without characters that steer.

    Returns
    -------
    str
        YAML 1.1 and 1.2 read the same from it. Infinity becomes the text ``infinite``: JSON, to
        which hubs turn it, has none.

    Examples
    --------
    >>> print(block({"name": 'a "b"', "metrics": [{"value": 1e-05}, {"value": 2.0}]}), end="")
    name: "a \"b\""
    metrics:
    - value: 0.00001
    - value: 2.0
    """
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Plain) -> list[str]:
    if isinstance(value, Mapping):
        return [line for key, x in value.items() for line in _entry(f"{key}:", x)]
    assert isinstance(value, Sequence)
    return [line for x in value for line in _item(x)]


def _entry(key: str, value: Plain) -> list[str]:
    if isinstance(value, str | bool | int | float):
        return [f"{key} {_scalar(value)}"]
    if not value:
        return [f"{key} {'{}' if isinstance(value, Mapping) else '[]'}"]
    indent = "  " if isinstance(value, Mapping) else ""
    return [key, *(indent + line for line in _lines(value))]


def _item(value: Plain) -> list[str]:
    if isinstance(value, str | bool | int | float):
        return [f"- {_scalar(value)}"]
    first, *others = _lines(value) or ["{}" if isinstance(value, Mapping) else "[]"]
    return [f"- {first}", *(f"  {line}" for line in others)]


def _scalar(value: str | bool | int | float) -> str:
    if isinstance(value, float):
        # YAML 1.1 takes 1e-05 for a text: it wants a point.
        return _decimal(value) if math.isfinite(value) else '"infinite"'
    if isinstance(value, str):
        # What YAML may not hold even escaped is not printable, and was replaced.
        return json.dumps(plain(value), ensure_ascii=False)
    return json.dumps(value)


def _decimal(value: float) -> str:
    text = f"{Decimal(repr(value)):f}"
    return text if "." in text else f"{text}.0"
