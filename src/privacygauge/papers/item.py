"""Tables and figures of the papers with their status here, and the papers' settings with ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from typing import Literal

from privacygauge.errors import InputError


class Status(Enum):
    """Status of a published table or figure in this library."""

    DONE = "done"
    """Reproduced on the paper's own data, or on data that the paper draws at random."""
    STAND_IN = "stand-in"
    """Reproduced on other data: only claims can be compared, not numbers."""
    PARTLY = "partly"
    """Some of its rows or points are reproduced."""
    NOT_POSSIBLE = "not possible"
    """Its data or models are not available."""
    NO_RESULT = "no result"
    """No measurement to reproduce: notation, settings, a drawing of the method."""


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper."""

    name: str
    """Name, equal to that of its reproduction unless `by` names others."""
    paper: str
    """Authors and year."""
    number: str
    """Number in the paper, such as `Table 4`."""
    what: str
    """Content, in a few words."""
    status: Status
    """Status of the reproduction."""
    why: str
    """Data that stand in, part that is made, or why none is; empty only if done."""
    by: tuple[str, ...] = ()
    """Reproductions that cover it under another name; empty if one has its name."""

    def __post_init__(self) -> None:
        if self.status is not Status.DONE and not self.why:
            raise InputError(f"why must say why {self.name} is not done, got an empty text: say it")

    @property
    def title(self) -> str:
        """Paper, number and content."""
        return f"{self.paper}, {self.number}: {self.what}"

    @property
    def told(self) -> str:
        """Reproductions under another name and the reason for the status, if there are any."""
        by = f"made by {', '.join(self.by)}" if self.by else ""
        return "; ".join(part for part in (by, self.why) if part)


def item_title(key: str) -> str:
    """Return a paper's name for a table or figure; `in its text` for any other key.

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
        First part of the items' names, without the hyphen.
    *rows : tuple
        Rest of the name, content, status, and optionally the reason and the reproductions that
        cover the item under another name; as in `Item`.
    """
    # A row ends early where it has no reason; names in `by` come after the reason.
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
"""Value of a setting; ours are the constants that the code itself uses."""


@dataclass(frozen=True)
class Entry:
    """A setting of a paper beside ours."""

    names: str
    """Reproductions that use it, as shell patterns separated by blanks."""
    section: str
    """Section of the paper, such as `5.1`."""
    what: str
    """Setting, in a few words."""
    paper: Value | None
    """Value in the paper; None if the paper states none."""
    ours: Value
    """Value in the code."""
    why: str = ""
    """Reason for another value, or for the choice where the paper states none; empty if equal."""

    def __post_init__(self) -> None:
        if self.same == "yes" and self.why:
            raise InputError(f"why must be empty where {self.what} is the paper's, got {self.why}")
        if self.same != "yes" and not self.why:
            raise InputError(f"why must say why {self.what} is not the paper's, got an empty text")

    @property
    def same(self) -> Literal["yes", "no", "open"]:
        """`yes` if our value is the paper's, `no` if not, `open` if the paper states none."""
        if self.paper is None:
            return "open"
        return "yes" if self.paper == self.ours else "no"

    @property
    def deviation(self) -> str:
        """Setting, both values and the reason, in a sentence for the notes of a result."""
        stated = "not stated" if self.paper is None else value_text(self.paper)
        return f"{self.what}: {stated} in the paper, {value_text(self.ours)} here: {self.why}"

    @property
    def where(self) -> str:
        """Reproductions that use it, without the paper's name; `all` for every one."""
        keys = [pattern.partition("-")[2] for pattern in self.names.split()]
        return ", ".join("all" if key == "*" else key for key in keys)

    def about(self, name: str) -> bool:
        """Return whether a reproduction uses this setting."""
        return any(fnmatchcase(name, pattern) for pattern in self.names.split())


def value_text(value: Value) -> str:
    """Return a value as text: thousands separated, tuples joined by commas.

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
    """Return one sentence for each stated setting in which a reproduction differs."""
    return tuple(one.deviation for one in entries if one.about(name) and one.same == "no")
