"""Units of privacy and neighbouring relations of claims, with the consequences for canaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from privacygauge.core import checks
from privacygauge.errors import InputError

Adjacency = Literal["add-remove", "replace"]
"""Neighbouring relation: data sets differ by one unit added or removed, or by one replaced."""

LeftOut = Literal["removed", "replaced"]
"""Substitute for a canary that is left out: nothing (removed) or another record (replaced)."""


@dataclass(frozen=True)
class ClaimUnit:
    """The unit of privacy of a claim, and its neighbouring relation."""

    records: int | None = 1
    """Records per unit, at least 1; None for a person with any number of records."""
    adjacency: Adjacency = "add-remove"
    """Neighbouring relation of the claim."""

    def __post_init__(self) -> None:
        if self.records is not None:
            checks.at_least(1, claim_of=self.records)
        if self.adjacency not in ("add-remove", "replace"):
            raise InputError(f"adjacency must be add-remove or replace, got {self.adjacency!r}")

    @property
    def text(self) -> str:
        """The unit, as reports print it.

        Examples
        --------
        >>> ClaimUnit(3, "replace").text, ClaimUnit(None).text
        ('3 records replaced', 'a person added or removed')
        """
        who = {None: "a person", 1: "one record"}.get(self.records, f"{self.records} records")
        return f"{who} {'replaced' if self.adjacency == 'replace' else 'added or removed'}"

    def steps(self, canaries: int, left_out: LeftOut) -> int:
        """Return the number of neighbouring steps between the data sets with and without a canary.

        Parameters
        ----------
        canaries : int
            Largest number of canaries that share a coin, at least 1.
        left_out : {"removed", "replaced"}
            Substitute for a canary that is left out: nothing, or another record.

        Raises
        ------
        InputError
            If the claim is about replaced records and canaries are removed: it says nothing about
            data sets of different sizes.

        Notes
        -----
        Replacing a record removes one and adds another, so a claim about adding or removing covers
        it in two steps (Dwork & Roth 2014, section 2.3). The converse does not hold: a mechanism
        that is private under replacement may reveal the number of records.

        Examples
        --------
        >>> ClaimUnit(2).steps(5, "removed"), ClaimUnit(None).steps(5, "replaced")
        (3, 2)
        """
        if left_out not in ("removed", "replaced"):
            raise InputError(f"left_out must be removed or replaced, got {left_out!r}")
        # Canaries under one coin fill this many units, rounded up.
        units = 1 if self.records is None else -(-canaries // self.records)
        if self.adjacency == "replace":
            if left_out == "removed":
                raise InputError(
                    "a claim about replaced records promises nothing of records that are added or "
                    "removed: put another record in the place of each canary that is left out, "
                    "and say so (--left-out replaced)"
                )
            return units
        return 2 * units if left_out == "replaced" else units


RECORD = ClaimUnit()
"""One record added or removed, the neighbouring relation of accountants for DP-SGD."""


def claim_unit(of: str | int, adjacency: Adjacency) -> ClaimUnit:
    """Return the unit named by ``record``, ``person`` or a number of records."""
    text = str(of)
    if text == "person":
        return ClaimUnit(None, adjacency)
    if text == "record":
        return ClaimUnit(1, adjacency)
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"claim_of must be record, person or a number of records, got {of!r}")
    return ClaimUnit(int(text), adjacency)
