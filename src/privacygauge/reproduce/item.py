"""A table or figure that a paper prints, what became of it here, and the settings of both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from typing import Literal

from privacygauge.errors import InputError


class Status(Enum):
    """What became of a published table or figure."""

    DONE = "done"
    """Made again on the paper's own data, or on data that it draws at random."""
    STAND_IN = "stand-in"
    """Made again on other data: what can be compared are claims, not numbers."""
    PARTLY = "partly"
    """Some of its rows or points are made again."""
    NOT_POSSIBLE = "not possible"
    """Its data or models are not to be had."""
    NO_RESULT = "no result"
    """It shows no measurement: notation, settings, a drawing of the method."""


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper."""

    name: str
    """Its name; that of the reproduction where it has one of its own."""
    paper: str
    """Authors and year."""
    number: str
    """Such as `Table 4`."""
    what: str
    """What it shows, in a few words."""
    status: Status
    """What became of it."""
    why: str
    """Which data stand in, which part is made, or why none is; may be empty where it is done."""
    by: tuple[str, ...] = ()
    """The reproductions that make it, where none has its name."""

    def __post_init__(self) -> None:
        if self.status is not Status.DONE and not self.why:
            raise InputError(f"why must say why {self.name} is not done, got an empty text: say it")

    @property
    def title(self) -> str:
        """Paper, number and what it shows."""
        return f"{self.paper}, {self.number}: {self.what}"

    @property
    def told(self) -> str:
        """Why it is as it is, and what makes it where that has another name."""
        by = f"made by {', '.join(self.by)}" if self.by else ""
        return "; ".join(part for part in (by, self.why) if part)


def item_title(key: str) -> str:
    """Return what a paper calls a table or figure.

    Examples
    --------
    >>> item_title("table4-defences"), item_title("fig3a"), item_title("claims")
    ('Table 4', 'Figure 3(a)', 'in its text')
    """
    found = re.match(r"(table|fig)(\d+)([a-z]?)", key)
    if found is None:
        return "in its text"
    kind, number, part = found.groups()
    return f"{'Table' if kind == 'table' else 'Figure'} {number}{f'({part})' if part else ''}"


def items(paper: str, prefix: str, *rows: tuple[str, str, Status, *tuple[str, ...]]) -> list[Item]:
    """Return the items of a paper.

    Parameters
    ----------
    paper : str
        Authors and year.
    prefix : str
        Of their names.
    *rows : tuple
        What follows the prefix, what it shows, what became of it, why, and what makes it where
        none has its name; as in `Item`.
    """
    return [
        Item(
            f"{prefix}-{key}",
            paper=paper,
            number=item_title(key),
            what=what,
            status=status,
            why="".join(told[:1]),
            by=told[1:],
        )
        for key, what, status, *rest in rows
        for told in (tuple(rest),)
    ]


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
