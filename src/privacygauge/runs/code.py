"""The user's code behind a run, as its plan records it: a digest per piece, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Code:
    """Pieces of the user's code that a run depends on."""

    digests: Mapping[str, str] = field(default_factory=dict)
    """Digest of each function, method, class, constant and closure value, by name; also versions,
    by ``package NAME``."""
    unchecked: tuple[str, ...] = ()
    """Pieces that cannot be compared, each with the reason, sorted."""

    def to_mapping(self) -> dict[str, Any]:
        """Return the code as JSON values; empty if there is no user code."""
        found = {"digests": dict(self.digests), "unchecked": list(self.unchecked)}
        return {name: value for name, value in found.items() if value}

    @classmethod
    def of_mapping(cls, stored: Mapping[str, Any]) -> Code:
        """Return the code from a mapping made by `to_mapping`."""
        return cls(dict(stored.get("digests", {})), tuple(stored.get("unchecked", ())))


class RecordedCode:
    """Stand-in for code that is known only from the record of a run."""

    code: Code
    """Recorded code."""
    description: Mapping[str, Any]
    """The code's description of itself, as JSON values."""


def changed_pieces(there: Mapping[str, str], here: Mapping[str, str]) -> str | None:
    """Return a clause on the pieces that differ between two runs; None if none differs."""
    # Pieces on one side only are reported by `on_one_side`.
    differing = [name for name in there if name in here and there[name] != here[name]]
    names = sorted(differing, key=lambda name: (" " in name, name))  # definitions first
    return (
        f"{_first_three(names)} {'has' if len(names) == 1 else 'have'} changed" if names else None
    )


def on_one_side(there: Mapping[str, str], here: Mapping[str, str]) -> str | None:
    """Return a clause on a piece that only one of two runs has; None if there is none."""
    if here and not there:
        return f"it does not say what code made it, and here it is {_first_three(list(here))}"
    name = next(
        iter([*(n for n in here if n not in there), *(n for n in there if n not in here)]), ""
    )
    where = "here and not there" if name in here else "there and not here"
    return f"{name} is part of the code {where}" if name else None


def _first_three(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


NOT_CHECKED = "code not checked: "
"""Prefix of the names of unchecked pieces."""

PROGRAM = "command:"
"""Prefix of an option that names a program."""


def absolute(name: str) -> str:
    """Return a name of code with an absolute path, if it names a file.

    Examples
    --------
    >>> absolute("sklearn.svm:SVC")
    'sklearn.svm:SVC'
    """
    place, colon, attribute = name.rpartition(":")
    return f"{Path(place).absolute()}:{attribute}" if colon and place.endswith(".py") else name
