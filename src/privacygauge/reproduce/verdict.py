"""What a reproduction says about the published table: numbers and claims judged, and kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate import rates
from privacygauge.reproduce.table import Cell, Row, Table

Word = Literal[
    "agrees",
    "differs",
    "holds",
    "open",
    "the opposite",
    "by construction",
    "not measured",
    "other data",
]
"""What is said of one number or one claim."""

MARGIN = 0.02
"""How far a number may be from the printed one and still agree, where nothing else is said: two
points of a rate. The papers print no sampling error; no conclusion of theirs turns on less."""

PRINTED = 0.0005
"""Half of the last digit of a number that is printed with three decimals."""

Place = tuple[str, str]
"""Row and column of a cell."""


@dataclass(frozen=True)
class JudgedClaim:
    """A claim of the paper with the effect that was measured."""

    claim: str
    """In a few words."""
    effect: Estimate | Skipped
    """Above 0 where the claim is true."""
    planted: bool = False
    """Whether the data were made so that it is true."""
    decides: bool = True
    """Whether this form of the reproduction can decide it."""

    @property
    def word(self) -> Word:
        """`holds` if the whole interval is above 0, `the opposite` if it is below, else `open`."""
        if isinstance(self.effect, Skipped):
            return "not measured"
        if self.planted:
            return "by construction"
        if not self.decides:
            return "open"
        if self.effect.low > 0:
            return "holds"
        return "the opposite" if self.effect.high < 0 else "open"


@dataclass(frozen=True)
class Claim:
    """Something that a paper says of its numbers, other than the numbers themselves."""

    what: str
    """In a few words."""
    effect: Callable[[Table], Estimate | Skipped]
    """Returns a number that is above 0 where the claim is true."""
    planted: bool = False
    """Whether the data were made so that it is true: then it is shown, and not judged."""

    def judged(self, table: Table, *, decides: bool = True) -> JudgedClaim:
        """Return the claim with its effect in a table."""
        return JudgedClaim(self.what, self.effect(table), self.planted, decides)


@dataclass(frozen=True)
class Judgement:
    """How a reproduction is judged."""

    same_data: tuple[str, ...] = ()
    """Patterns of the rows that are about the paper's own data: their numbers can agree."""
    claims: tuple[Claim, ...] = ()
    """What is judged on any data."""
    printed: float = PRINTED
    """Half of the last digit that the paper prints: what its rounding may hide."""
    margin: float = MARGIN
    """How far a number may be from the printed one and still agree."""
    margins: Mapping[str, float] = field(default_factory=dict)
    """The same by column, where that is another kind of number."""
    quick: bool = False
    """Whether the quick form measures the same as the full one, if less surely. Where it is another
    experiment, of smaller models or data, it decides nothing."""
    decides: bool = True
    """Whether the form in question can decide anything."""
    on: Mapping[str, Callable[[Judgement], Judgement]] = field(default_factory=dict)
    """The paper's own data that a reader may give, to how it is judged on them."""

    def within(self, column: str) -> float:
        """Return the margin of a column, with what the paper's rounding may hide."""
        return self.margins.get(column, self.margin) + self.printed

    def of_cell(self, row: str, column: str, cell: Cell) -> Word | None:
        """Return what is said of a cell; None where the paper prints nothing.

        `agrees` means that our whole interval is within the margin of the published number,
        `differs` that none of it is; what is neither for certain is `open`. A wide interval
        therefore never agrees, and one without width may.
        """
        if cell.published is None:
            return None
        if isinstance(cell.ours, Skipped):
            return "not measured"
        if not any(fnmatchcase(row, pattern) for pattern in self.same_data):
            return "other data"
        # Rounding of binary fractions: .52 is at a distance of .02 from .5.
        room = self.within(column) + 1e-12
        low = cell.ours.low - cell.published
        high = cell.ours.high - cell.published
        if not self.decides or (low < -room <= high) or (low <= room < high):
            return "open"
        return "agrees" if -room <= low and high <= room else "differs"

    def of(self, table: Table) -> Verdict:
        """Return what is said of a table as a whole."""
        words = [
            word
            for row in table.rows
            for column, cell in row.cells.items()
            if (word := self.of_cell(row.label, column, cell)) is not None
        ]
        claims = tuple(claim.judged(table, decides=self.decides) for claim in self.claims)
        return Verdict(tuple(words), claims)


@dataclass(frozen=True)
class Verdict:
    """What is said of a table."""

    numbers: tuple[Word, ...]
    """Of every number that the paper prints."""
    claims: tuple[JudgedClaim, ...]
    """Of its claims."""

    @property
    def word(self) -> str:
        """The shortest verdict.

        `agrees` if all comparable numbers agree and all judged claims hold, `differs` if none
        does, `in part` if some do; `open` if nothing is decided. On other data than the paper's
        it is about the claims alone and says so. What holds by construction does not count.
        """
        good = self._count("agrees", "holds")
        bad = self._count("differs", "the opposite")
        undecided = self._count("open")
        comparable = {"agrees", "differs", "open"} & set(self.numbers)
        if good + bad == 0:
            return "open" if undecided else "nothing to compare"
        if bad == 0:
            word = ("agrees" if comparable else "holds") if undecided == 0 else "open in part"
        else:
            word = "in part" if good else "differs" if comparable else "does not hold"
        return word if comparable else f"claims: {word}"

    @property
    def counts(self) -> str:
        """How many numbers and claims there are of each kind, in words."""
        parts = []
        judged = [word for word in self.numbers if word in ("agrees", "differs", "open")]
        if judged:
            parts.append(f"{judged.count('agrees')} of {len(judged)} numbers agree")
        for word, (one, several) in _NUMBERS.items():
            if word in judged:
                n = judged.count(word)
                parts.append(f"{n} {one if n == 1 else several}")
        words = [one.word for one in self.claims if one.word != "not measured"]
        given = words.count("by construction")
        if len(words) > given:
            parts.append(f"{words.count('holds')} of {len(words) - given} claims hold")
        said: tuple[Word, ...] = ("open", "the opposite", "by construction")
        parts += [f"{words.count(word)} {word}" for word in said if word in words]
        if "other data" in self.numbers:
            parts.append(f"{self.numbers.count('other data')} numbers of other data")
        return ", ".join(parts)

    def __str__(self) -> str:
        return f"{self.word} ({self.counts})" if self.counts else self.word

    def _count(self, *words: str) -> int:
        said = [*self.numbers, *(one.word for one in self.claims)]
        return sum(word in words for word in said)


_NUMBERS = {"differs": ("differs", "differ"), "open": ("is open", "are open")}


def above(what: str, at: Place, value: float = 0.0) -> Claim:
    """Return the claim that a number is above a value."""
    return Claim(what, lambda table: _shift_estimate(what, _at(table, at), -value))


def of_rows(what: str, row: str, column: str = "*") -> Claim:
    """Return the claim that all numbers of some rows and columns, by patterns, are above 0.

    The effect is the smallest of them, its interval that of the lowest end.
    """

    def effect(table: Table) -> Estimate | Skipped:
        found = [
            cell.ours
            for one in table.rows
            if fnmatchcase(one.label, row)
            for name, cell in one.cells.items()
            if fnmatchcase(name, column) and isinstance(cell.ours, Estimate)
        ]
        if not found:
            return Skipped(what, "not in this form")
        least = min(found, key=lambda one: one.low)
        high = min(one.high for one in found)
        return replace(least, value=min(least.value, high), high=max(high, least.low))

    return Claim(what, effect)


def below(what: str, at: Place, value: float = 0.0) -> Claim:
    """Return the claim that a number is below a value."""
    return Claim(
        what, lambda table: _negate_estimate(_shift_estimate(what, _at(table, at), -value))
    )


def larger(what: str, one: Place, other: Place, by: float = 0.0) -> Claim:
    """Return the claim that one number is larger than another, by more than `by`.

    The interval of the difference is that of independent numbers. Where both are about the same
    records it is too wide, as those move together: a claim that holds would hold all the more.
    Equal estimates are of the same records, and differ by nothing.
    """
    return Claim(what, lambda table: _less(what, _at(table, one), _at(table, other), by))


def planted_claim(claim: Claim) -> Claim:
    """Return a claim that is shown and not judged: the data were made so that it is true."""
    return replace(claim, planted=True)


def paired_claim(difference: Place, claim: Claim, of: Callable[[str, Place], Claim]) -> Claim:
    """Return a claim about a paired difference where the table has it, else another one.

    Parameters
    ----------
    difference : Place
        The cell of the difference of two numbers of the same records.
    claim : Claim
        What is judged in tables that were made before they had that cell.
    of : callable
        `above`, or another claim about a single number.
    """
    own = of(claim.what, difference)

    def effect(table: Table) -> Estimate | Skipped:
        return (own if table.cell(*difference) is not None else claim).effect(table)

    return Claim(claim.what, effect)


def smaller(what: str, one: Place, other: Place) -> Claim:
    """Return the claim that one number is smaller than another."""
    return larger(what, other, one)


def claim_of_equality(what: str, one: Place, other: Place, within: float) -> Claim:
    """Return the claim that two numbers differ by less than `within`."""

    def effect(table: Table) -> Estimate | Skipped:
        return _nearness(_less(what, _at(table, one), _at(table, other), 0.0), within)

    return Claim(what, effect)


def near(what: str, at: Place, within: float) -> Claim:
    """Return the claim that a number is less than `within` from 0."""
    return Claim(what, lambda table: _nearness(_at(table, at), within))


def _nearness(found: Estimate | Skipped, within: float) -> Estimate | Skipped:
    """Return `within` less the distance from 0."""
    if isinstance(found, Skipped):
        return found
    farthest = max(abs(found.low), abs(found.high))
    crosses = found.low <= 0 <= found.high
    nearest = 0.0 if crosses else min(abs(found.low), abs(found.high))
    values = within - farthest, within - abs(found.value), within - nearest
    method = f"{within:g} less the distance; {found.method}"
    return Estimate(
        value=values[1], low=values[0], high=values[2], level=found.level, n=found.n, method=method
    )


def grows(what: str, places: Sequence[Place]) -> Claim:
    """Return the claim that numbers grow from the first place to the last.

    The effect is the last less the first; where a step between falls by more than its interval,
    it is that step, which is below 0.
    """

    def effect(table: Table) -> Estimate | Skipped:
        cells = [_at(table, place) for place in places if table.cell(*place) is not None]
        if len(cells) < 2:
            return Skipped(what, "fewer than two of the numbers are in this form")
        steps = [_less(what, after, before, 0.0) for before, after in pairwise(cells)]
        fallen = [x for x in steps if isinstance(x, Estimate) and x.high < 0]
        return fallen[0] if fallen else _less(what, cells[-1], cells[0], 0.0)

    return Claim(what, effect)


def falls(what: str, places: Sequence[Place]) -> Claim:
    """Return the claim that numbers fall from the first place to the last."""
    return grows(what, list(reversed(places)))


def _at(table: Table, place: Place) -> Estimate | Skipped:
    cell = table.cell(*place)
    return Skipped(place[0], "not in this form") if cell is None else cell.ours


def _shift_estimate(what: str, found: Estimate | Skipped, by: float) -> Estimate | Skipped:
    if isinstance(found, Skipped):
        return Skipped(what, found.reason)
    ends = found.low + by, found.high + by
    return Estimate(found.value + by, *ends, level=found.level, n=found.n, method=found.method)


def _negate_estimate(found: Estimate | Skipped) -> Estimate | Skipped:
    if isinstance(found, Skipped):
        return found
    # From 0, so that no zero is negative.
    value, low, high = (0.0 - x for x in (found.value, found.high, found.low))
    return Estimate(
        value=value, low=low, high=high, level=found.level, n=found.n, method=found.method
    )


def _less(
    what: str, one: Estimate | Skipped, other: Estimate | Skipped, by: float
) -> Estimate | Skipped:
    for known in (one, other):
        if isinstance(known, Skipped):
            return Skipped(what, known.reason)
    assert isinstance(one, Estimate)
    assert isinstance(other, Estimate)
    if one == other and one.low < one.high:
        # Equal to the last digit, doubt included: of the same records.
        value = 0.0 - by
        return Estimate(
            value=value,
            low=value,
            high=value,
            level=one.level,
            n=one.n,
            method="of the same records",
        )
    return rates.less(one, other, by)


# A reproduction that was run, as it is kept: the table, how it was made, and the verdict.

QUICK = "quick"
"""The small form of a reproduction."""

FULL = "full"
"""The form of a reproduction in the paper's size, or in the largest that its docstring names."""


@dataclass(frozen=True)
class ReproductionResult:
    """A table that was made, and how."""

    table: Table
    """What came out."""
    form: str
    """`full`, `quick`, or which part of the full form."""
    seed: int
    """All random draws derive from it."""
    seconds: float
    """How long it took, less what was kept from an earlier run."""
    version: str
    """PrivacyGauge's."""
    data: Mapping[str, str] = field(default_factory=dict)
    """The paper's own data that a reader gave, by name: size and checksum."""

    def to_json(self, judgement: Judgement) -> str:
        """Return it as JSON text, with what the judgement says of every number and claim."""
        verdict = judgement.of(self.table)
        plain = {
            "name": self.table.name,
            "title": self.table.title,
            "form": self.form,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "version": self.version,
            "verdict": verdict.word,
            "counts": verdict.counts,
            "notes": list(self.table.notes),
            **({"data": dict(self.data)} if self.data else {}),
            "claims": self.claims(judgement),
            "cells": judged_lines(self.table, judgement),
        }
        return json.dumps(plain, indent=1, allow_nan=False) + "\n"

    def claims(self, judgement: Judgement) -> list[dict[str, Any]]:
        """Return one mapping for every claim: its effect and what is said of it."""
        return [_plain_claim(one) for one in judgement.of(self.table).claims]


def judged_lines(table: Table, judgement: Judgement) -> list[dict[str, Any]]:
    """Return one mapping for every cell, with what is said of it where the paper has a number."""
    words = [
        judgement.of_cell(row.label, column, cell)
        for row in table.rows
        for column, cell in row.cells.items()
    ]
    lines = table.lines()
    return [
        line if word is None else {**line, "verdict": word}
        for line, word in zip(lines, words, strict=True)
    ]


def read_result(path: Path) -> ReproductionResult:
    """Return a kept result; the verdict is not read but judged again.

    Raises
    ------
    InputError
        If the file is none.
    """
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        rows: dict[str, dict[str, Cell]] = {}
        for line in plain["cells"]:
            rows.setdefault(line["row"], {})[line["column"]] = _cell(line)
        table = Table(
            plain["name"],
            plain["title"],
            tuple(Row(label, cells) for label, cells in rows.items()),
            tuple(plain["notes"]),
        )
        return ReproductionResult(
            table=table,
            form=plain["form"],
            seed=plain["seed"],
            seconds=plain["seconds"],
            version=plain["version"],
            data=plain.get("data", {}),
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{path} is not a result of `privacygauge reproduce`, or of an older version: make it "
            "again, or remove it"
        ) from error


def _cell(line: Mapping[str, Any]) -> Cell:
    if line["ours"] is None:
        return Cell(line["published"], Skipped(line["column"], line["skipped"]))
    numbers = (line[key] for key in ("ours", "low", "high", "level", "n", "method"))
    return Cell(line["published"], Estimate(*numbers))


def _plain_claim(one: JudgedClaim) -> dict[str, Any]:
    plain: dict[str, Any] = {"claim": one.claim, "verdict": one.word}
    if isinstance(one.effect, Skipped):
        return {**plain, "skipped": one.effect.reason}
    effect = one.effect
    return {**plain, "effect": effect.value, "low": effect.low, "high": effect.high}


def claim_row(line: Mapping[str, Any]) -> dict[str, object]:
    """Return a claim as people read it."""
    if "effect" not in line:
        return {"claim": line["claim"], "effect": "-", "verdict": line["verdict"]}
    return {
        "claim": line["claim"],
        "effect": f"{line['effect']:.3f} ({line['low']:.3f} to {line['high']:.3f})",
        "verdict": line["verdict"],
    }


def cell_row(line: Mapping[str, Any]) -> dict[str, object]:
    """Return a cell as people read it."""
    start = {"": line["row"], " ": line["column"], "paper": line["published"]}
    if line["ours"] is None:
        return {**start, "ours": "-", "from": line["skipped"]}
    return {
        **start,
        "ours": f"{line['ours']:.3f}",
        f"{100 * line['level']:g}% interval": f"{line['low']:.3f} to {line['high']:.3f}",
        "verdict": line.get("verdict"),
        "from": f"n = {line['n']}, {line['method']}",
    }
