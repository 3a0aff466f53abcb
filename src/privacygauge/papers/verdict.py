"""Judgements of published numbers and claims by a reproduction, and its result as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate import rates
from privacygauge.papers.table import Cell, Row, Table

Word = Literal[
    "agrees",
    "differs",
    "holds",
    "open",
    "the opposite",
    "by construction",
    "not claimed",
    "not measured",
    "other data",
]
"""Verdict on one number or one claim."""

MARGIN = 0.02
"""Default distance from the printed number within which ours agrees: two points of a rate. The
papers print no sampling error; none of their conclusions depends on less."""

RELATIVE = 0.2
"""Share of the printed number within which ours agrees, for deviations, errors, mean distances and
PDTP: numbers of one kind that differ by powers of ten, of which the smallest would agree with 0 by
a margin that is one for all."""

PRINTED = 0.0005
"""Half a unit of the last digit of a number printed with three decimals."""

Place = tuple[str, str]
"""Row and column of a cell."""


@dataclass(frozen=True)
class JudgedClaim:
    """A claim of a paper with its measured effect."""

    claim: str
    """Claim, in a few words."""
    effect: Estimate | Skipped
    """Effect, above 0 if the claim is true."""
    planted: bool = False
    """Whether the data were made to make the claim true."""
    decides: bool = True
    """Whether this form of the reproduction can decide the claim."""
    section: str = ""
    """Section, table or figure of the paper that says it; empty if the paper does not claim it."""

    @property
    def word(self) -> Word:
        """`holds` if the whole interval is above 0, `the opposite` if it is below, else `open`.

        `not measured`, `not claimed`, `by construction` and an undecided form come first.
        """
        if isinstance(self.effect, Skipped):
            return "not measured"
        if not self.section:
            return "not claimed"
        if self.planted:
            return "by construction"
        if not self.decides:
            return "open"
        if self.effect.low > 0:
            return "holds"
        return "the opposite" if self.effect.high < 0 else "open"


@dataclass(frozen=True)
class Claim:
    """A statement of a paper about its numbers, to be tested on a table."""

    what: str
    """Claim, in a few words."""
    effect: Callable[[Table], Estimate | Skipped]
    """Effect in a table, above 0 if the claim is true."""
    planted: bool = False
    """Whether the data were made to make it true; such a claim is shown but not judged."""
    section: str = ""
    """Section, table or figure of the paper that says it, as `stated_in` sets it. What the paper
    does not claim has none: it is shown but not judged."""

    def judged(self, table: Table, *, decides: bool = True) -> JudgedClaim:
        """Return the claim with its effect in a table."""
        return JudgedClaim(
            self.what,
            self.effect(table),
            planted=self.planted,
            decides=decides,
            section=self.section,
        )


@dataclass(frozen=True)
class Judgement:
    """Criteria by which a reproduction is judged."""

    same_data: tuple[str, ...] = ()
    """Shell patterns of the rows on the paper's own data: only their numbers can agree."""
    claims: tuple[Claim, ...] = ()
    """Claims judged on any data."""
    printed: float = PRINTED
    """Half a unit of the last printed digit: the most that the paper's rounding can hide."""
    margin: float = MARGIN
    """Distance from the printed number within which ours agrees."""
    margins: Mapping[str, float] = field(default_factory=dict)
    """Column to its own margin, for columns with another kind of number."""
    relative: tuple[str, ...] = ()
    """Shell patterns of columns whose margin is `RELATIVE` of the printed number."""
    beside_chance: tuple[str, ...] = ()
    """Shell patterns of columns with rates that are 1/2 by chance: their margin is `RELATIVE` of
    the printed number's distance from 1/2 where that is less than the usual one. Else a guess
    would agree with the smallest of them."""
    quick: bool = False
    """Whether the quick form measures the same as the full one, with wider intervals. A quick form
    with smaller models or data is a different experiment and decides nothing."""
    decides: bool = True
    """Whether the given form can decide anything."""
    on: Mapping[str, Callable[[Judgement], Judgement]] = field(default_factory=dict)
    """Name of data that a reader may supply, to the change of judgement on them."""
    given: tuple[Place, ...] = ()
    """Shell patterns of rows and columns whose numbers are the paper's by construction: shown, and
    not judged."""

    def within(self, column: str, published: float) -> float:
        """Return the margin of a printed number plus the most that its rounding can hide."""
        margin = self.margins.get(column, self.margin)
        if any(fnmatchcase(column, pattern) for pattern in self.relative):
            margin = RELATIVE * abs(published)
        if any(fnmatchcase(column, pattern) for pattern in self.beside_chance):
            margin = min(margin, RELATIVE * abs(published - 0.5))
        return margin + self.printed

    def of_cell(self, row: str, column: str, cell: Cell) -> Word | None:
        """Return the verdict on a cell; None if the paper prints no number.

        `agrees` if our whole interval is within the margin of the published number, `differs` if
        none of it is, else `open`. A wide interval therefore never agrees; one without width may.
        """
        if cell.published is None:
            return None
        if isinstance(cell.ours, Skipped):
            return "not measured"
        if not any(fnmatchcase(row, pattern) for pattern in self.same_data):
            return "other data"
        if any(fnmatchcase(row, at[0]) and fnmatchcase(column, at[1]) for at in self.given):
            return "by construction"
        # Tolerance for binary fractions: .52 must count as at a distance of .02 from .5.
        room = self.within(column, cell.published) + 1e-12
        # Open: the interval of the difference crosses an end of [-room, room].
        low = cell.ours.low - cell.published
        high = cell.ours.high - cell.published
        if not self.decides or (low < -room <= high) or (low <= room < high):
            return "open"
        return "agrees" if -room <= low and high <= room else "differs"

    def of(self, table: Table) -> Verdict:
        """Return the verdict on a table as a whole."""
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
    """Verdict on a table: on its numbers and on its claims."""

    numbers: tuple[Word, ...]
    """Verdicts on the numbers that the paper prints."""
    claims: tuple[JudgedClaim, ...]
    """Judged claims."""

    @property
    def word(self) -> str:
        """Verdict in a few words.

        `agrees` if all comparable numbers agree and all judged claims hold, `differs` if none
        does, `in part` if some do, `open in part` if some are open and none is against it, `open`
        if nothing is decided. On other data than the paper's only the claims count, and the
        verdict says so. Claims that hold by construction do not count, nor those that the paper
        does not make.
        """
        good = self._count("agrees", "holds")
        bad = self._count("differs", "the opposite")
        undecided = self._count("open")
        # Without a number on the paper's data the verdict is about claims alone.
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
        """Numbers of verdicts of each kind, in words."""
        parts = []
        # Numbers on other data or without a measurement are not among the judged.
        judged = [word for word in self.numbers if word in ("agrees", "differs", "open")]
        if judged:
            parts.append(f"{judged.count('agrees')} of {len(judged)} numbers agree")
        for word, (one, several) in _NUMBERS.items():
            if word in judged:
                n = judged.count(word)
                parts.append(f"{n} {one if n == 1 else several}")
        if "by construction" in self.numbers:
            parts.append(f"{self.numbers.count('by construction')} numbers by construction")
        words = [one.word for one in self.claims]
        counted = sum(word in ("holds", "open", "the opposite") for word in words)
        if counted:
            parts.append(f"{words.count('holds')} of {counted} claims hold")
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
    """Return the claim that all numbers in rows and columns that match patterns are above 0.

    The effect is the smallest value; its interval reaches from the lowest lower end to the lowest
    upper end.
    """

    def effect(table: Table) -> Estimate | Skipped:
        found = [
            cell.ours
            for one in table.rows
            if fnmatchcase(one.label, row)
            for name, cell in one.cells.items()
            if fnmatchcase(name, column) and isinstance(cell.ours, Estimate)
        ]
        return _least(found) if found else Skipped(what, "not in this form")

    return Claim(what, effect)


def _least(found: Sequence[Estimate]) -> Estimate:
    """Return the smallest of some numbers, with the lowest of either end of their intervals."""
    # A claim about all holds only if every interval is above 0, and fails if any is below: the
    # minimum of the lower ends and of the upper ends says both.
    least = min(found, key=lambda one: one.low)
    high = min(one.high for one in found)
    return replace(least, value=min(min(one.value for one in found), high), high=high)


def below(what: str, at: Place, value: float = 0.0) -> Claim:
    """Return the claim that a number is below a value."""

    def short_of(table: Table) -> Estimate | Skipped:
        found = _shift_estimate(what, _at(table, at), -value)
        if isinstance(found, Skipped):
            return found
        # Subtracted from 0, since negation would turn 0 into -0.
        return replace(found, value=0.0 - found.value, low=0.0 - found.high, high=0.0 - found.low)

    return Claim(what, short_of)


def larger(what: str, one: Place, other: Place, by: float = 0.0) -> Claim:
    """Return the claim that one number is larger than another, by more than `by`.

    The interval of the difference assumes independent numbers. Numbers on the same records move
    together, so that it is too wide for them, and a claim that holds would hold all the more.
    Equal estimates are taken to be on the same records, with a difference of exactly 0.
    """
    return Claim(what, lambda table: _less(what, _at(table, one), _at(table, other), by))


def stated_in(section: str, claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Return claims as those of a section, table or figure of the paper: only such are judged."""
    return tuple(replace(claim, section=section) for claim in claims)


def every(what: str, claims: Sequence[Claim]) -> Claim:
    """Return the claim that all of some claims are true; those that are not measured are left out.

    The effect is the smallest one. Its interval reaches from the lowest lower end to the lowest
    upper end: it holds only if every one does, and fails if any is certain to.
    """

    def effect(table: Table) -> Estimate | Skipped:
        effects = [claim.effect(table) for claim in claims]
        found = [one for one in effects if isinstance(one, Estimate)]
        return _least(found) if found else Skipped(what, "not in this form")

    return Claim(what, effect)


def on_average(what: str, claims: Sequence[Claim], least: float = 0.0) -> Claim:
    """Return the claim that the mean of some claims' effects is above `least`.

    The interval takes the effects for independent; the claim is not measured where one is not.
    """

    def effect(table: Table) -> Estimate | Skipped:
        found: list[Estimate] = []
        for claim in claims:
            one = claim.effect(table)
            if isinstance(one, Skipped):
                return Skipped(what, one.reason)
            found.append(one)
        down = np.hypot.reduce([one.value - one.low for one in found]) / len(found)
        up = np.hypot.reduce([one.high - one.value for one in found]) / len(found)
        value = float(np.mean([one.value for one in found])) - least
        return replace(
            found[0],
            value=value,
            low=value - float(down),
            high=value + float(up),
            n=min(one.n for one in found),
            method=f"{found[0].method}, mean of {len(found)}",
        )

    return Claim(what, effect)


def some(what: str, claims: Sequence[Claim]) -> Claim:
    """Return the claim that at least one of some claims is true.

    The effect is the largest one. Its interval reaches from the highest lower end to the highest
    upper end: it holds if one does for certain, and fails only if every one does.
    """

    def effect(table: Table) -> Estimate | Skipped:
        effects = [claim.effect(table) for claim in claims]
        found = [one for one in effects if isinstance(one, Estimate)]
        if not found:
            return Skipped(what, "not in this form")
        largest = max(found, key=lambda one: one.high)
        low = max(one.low for one in found)
        return replace(largest, value=max(max(one.value for one in found), low), low=low)

    return Claim(what, effect)


def planted_claim(claim: Claim) -> Claim:
    """Return the claim as one that is shown but not judged: the data were made to make it true."""
    return replace(claim, planted=True)


def paired_claim(difference: Place, claim: Claim, of: Callable[[str, Place], Claim]) -> Claim:
    """Return a claim about a paired difference if the table has it, else the other claim.

    Parameters
    ----------
    difference : Place
        Cell with the difference of two numbers on the same records.
    claim : Claim
        Claim for tables made before they had that cell.
    of : callable
        `above`, or another claim about a single number.
    """
    # Chosen by table: kept results of an earlier version lack the cell.
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


def near(what: str, at: Place, within: float, value: float = 0.0) -> Claim:
    """Return the claim that a number is less than `within` from a value."""
    return Claim(
        what, lambda table: _nearness(_shift_estimate(what, _at(table, at), -value), within)
    )


def _nearness(found: Estimate | Skipped, within: float) -> Estimate | Skipped:
    """Return `within` less the distance from 0, which is above 0 for a number near 0."""
    if isinstance(found, Skipped):
        return found
    # The farthest end of the interval gives the lower limit, the nearest one the upper.
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

    The effect is the last number less the first, or the first step with an interval below 0, if
    there is one.
    """

    def effect(table: Table) -> Estimate | Skipped:
        cells = [_at(table, place) for place in places if table.cell(*place) is not None]
        if len(cells) < 2:
            return Skipped(what, "fewer than two of the numbers are in this form")
        # A step is significant only if its whole interval is below 0.
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


def _less(
    what: str, one: Estimate | Skipped, other: Estimate | Skipped, by: float
) -> Estimate | Skipped:
    for known in (one, other):
        if isinstance(known, Skipped):
            return Skipped(what, known.reason)
    assert isinstance(one, Estimate)
    assert isinstance(other, Estimate)
    if one == other and one.low < one.high:
        # Equal to the last digit, interval included, can only be the same records.
        # Not -by: a 0 has no sign in a table.
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


# The result of a reproduction as it is kept: the table, its origin, and the verdict.

QUICK = "quick"
"""Name of the small form of a reproduction."""

FULL = "full"
"""Name of the form in the paper's size, or in the largest that the docstring names."""


@dataclass(frozen=True)
class ReproductionResult:
    """A reproduced table and its origin."""

    table: Table
    """Reproduced table."""
    form: str
    """`full`, `quick`, or the part of the full form."""
    seed: int
    """Root of all random draws."""
    seconds: float
    """Duration in seconds, without work kept from an earlier run."""
    version: str
    """Version of PrivacyGauge."""
    data: Mapping[str, str] = field(default_factory=dict)
    """Name of the reader's own data to their size and checksum."""

    def to_json(self, judgement: Judgement) -> str:
        """Return the result as JSON text, with the verdict on every number and claim."""
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
        """Return one mapping per claim: its effect and the verdict on it."""
        plain = []
        for one in judgement.of(self.table).claims:
            effect = one.effect
            measured = (
                {"skipped": effect.reason}
                if isinstance(effect, Skipped)
                else {"effect": effect.value, "low": effect.low, "high": effect.high}
            )
            plain.append(
                {"claim": one.claim, "section": one.section, "verdict": one.word, **measured}
            )
        return plain


def judged_lines(table: Table, judgement: Judgement) -> list[dict[str, Any]]:
    """Return one mapping per cell, with a verdict if the paper has a number."""
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
    """Return a kept result; its verdicts are not read but judged again.

    Raises
    ------
    InputError
        If the file is not such a result, or comes from an older version.
    """
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        # Rows and columns keep the order of their first cells.
        rows: dict[str, dict[str, Cell]] = {}
        for line in plain["cells"]:
            ours: Estimate | Skipped
            if line["ours"] is None:
                ours = Skipped(line["column"], line["skipped"])
            else:
                ours = Estimate(
                    value=line["ours"],
                    **{key: line[key] for key in ("low", "high", "level", "n", "method")},
                )
            cells = rows.setdefault(line["row"], {})
            cells[line["column"]] = Cell(line["published"], ours)
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


def claim_row(line: Mapping[str, Any]) -> dict[str, object]:
    """Return a row of the claims' table on the terminal, from a mapping of `claims`."""
    start = {"claim": line["claim"], "section": line["section"] or "-"}
    if "effect" not in line:
        return {**start, "effect": "-", "verdict": line["verdict"]}
    return {
        **start,
        "effect": f"{line['effect']:.3f} ({line['low']:.3f} to {line['high']:.3f})",
        "verdict": line["verdict"],
    }


def cell_row(line: Mapping[str, Any]) -> dict[str, object]:
    """Return a row of the numbers' table on the terminal, from a mapping of `judged_lines`."""
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
