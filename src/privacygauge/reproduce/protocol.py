"""What a paper states about how its experiments were made, beside what is done here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from privacygauge.errors import InputError

Value = int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]
"""Of a setting; ours is taken from the code's own constants."""


@dataclass(frozen=True)
class Entry:
    """One setting that a paper states, and ours."""

    names: str
    """The reproductions that it is about, as patterns parted by blanks."""
    section: str
    """Where the paper states it, such as `5.1`."""
    what: str
    """The setting, in a few words."""
    paper: Value | None
    """The paper's value; None where it leaves open what had to be chosen."""
    ours: Value
    """The value that the code uses."""
    why: str = ""
    """Why ours is another one, or how it was chosen; empty where both are equal."""

    def __post_init__(self) -> None:
        if self.same == "yes" and self.why:
            raise InputError(f"why must be empty where {self.what} is the paper's, got {self.why}")
        if self.same != "yes" and not self.why:
            raise InputError(f"why must say why {self.what} is not the paper's, got an empty text")

    @property
    def same(self) -> Literal["yes", "no", "open"]:
        """Whether our value is the paper's; `open` where the paper states none."""
        if self.paper is None:
            return "open"
        return "yes" if self.paper == self.ours else "no"

    @property
    def deviation(self) -> str:
        """The setting in a sentence, for the notes of a result."""
        stated = "not stated" if self.paper is None else value_text(self.paper)
        return f"{self.what}: {stated} in the paper, {value_text(self.ours)} here: {self.why}"

    @property
    def where(self) -> str:
        """The reproductions that it is about, without the paper's name."""
        keys = [pattern.partition("-")[2] for pattern in self.names.split()]
        return ", ".join("all" if key == "*" else key for key in keys)

    def about(self, name: str) -> bool:
        """Return whether it is about a reproduction."""
        return any(fnmatchcase(name, pattern) for pattern in self.names.split())


def value_text(value: Value) -> str:
    """Return a value as people read it.

    Examples
    --------
    >>> value_text(48842), value_text(0.01), value_text((1, 5, 10)), value_text("tanh")
    ('48,842', '0.01', '1, 5, 10', 'tanh')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return ", ".join(value_text(one) for one in value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def deviations(entries: Sequence[Entry], name: str) -> tuple[str, ...]:
    """Return what a reproduction does otherwise than its paper states, a sentence each."""
    return tuple(one.deviation for one in entries if one.about(name) and one.same == "no")
