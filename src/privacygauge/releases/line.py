"""A risk register as values: one line per audit, read from a `report.json` of any kind."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any, NoReturn

from privacygauge.core.estimate import Estimate
from privacygauge.datasets.reading import read_text
from privacygauge.errors import InputError
from privacygauge.report.numbers import Shown, plain
from privacygauge.report.render import SCHEMA
from privacygauge.report.values import Measure, Severity, Worst
from privacygauge.runs.folder import absolute_place, place_text, url_of

SEVERITIES = tuple(reversed(Severity))
"""From grave to mild; an audit that cannot tell ranks above a leak known to be moderate."""

REPORT = "report.json"
"""Name of the file that a register reads from a folder."""

WORST = 10
"""Number of ids that are named in a line."""


@dataclass(frozen=True)
class Number(Measure):
    """One number of an audit, as its own report rounds it."""

    found: Estimate | float
    """The number, with its interval where it was estimated and not computed; may be infinite."""

    @property
    def estimate(self) -> Estimate | None:
        """The interval; None where the number was computed and not estimated."""
        return self.found if isinstance(self.found, Estimate) else None

    @property
    def value(self) -> float:
        """The number without its interval."""
        return self.found.value if isinstance(self.found, Estimate) else self.found

    @property
    def method(self) -> str:
        """Method of the interval, or the text "computed, not estimated"."""
        return "computed, not estimated" if self.estimate is None else self.estimate.method

    @property
    def stated(self) -> Statement:
        """The number as a statement at its level."""
        return Statement(self.name, self.level, self.looks)


@dataclass(frozen=True)
class RegisterLine:
    """One audit in a risk register, in the words of its own report."""

    name: str
    """Name of the line, given by the owner."""
    kind: str
    """Kind of audit, in words."""
    task: str
    """The attacker's task, as a model card names it."""
    audited: str
    """The audited release."""
    game: str
    """The game, in a sentence for readers who are not specialists."""
    knowledge: str
    """The attacker's access and knowledge."""
    number: Number
    """The number that the verdict is based on."""
    further: tuple[Number, ...]
    """The other computed numbers that limits apply to."""
    measures: Mapping[str, float]
    """All numbers that limits apply to, by name."""
    severity: Severity
    """Severity of the grade."""
    grade: str
    """The grade as the report gives it."""
    headline: str
    """The verdict in one line."""
    unsaid: str
    """The limits of the result."""
    advice: tuple[str, ...]
    """Advice, the most urgent first."""
    worst: Worst
    """The most exposed records: at most `WORST` ids."""
    files: tuple[str, ...]
    """Names of the files that were audited."""
    made: str
    """The date of the audit, such as ``2026-01-31``."""
    version: str
    """PrivacyGauge's version that made the report."""
    seed: int
    """Seed of all random draws."""
    warnings: tuple[str, ...]
    """Warnings about the result."""
    sha256: str
    """The sha256 of its `report.json`, in hexadecimal."""


def read_line(path: str | Path, name: str | None = None) -> RegisterLine:
    """Read the report of a finished audit as a line of a register.

    `path` is its folder or its ``report.json``; `name` defaults to the folder's name.
    """
    file = _file(Path(path))
    text = read_text(file, "report")
    folder = Path(absolute_place(file)).parent.name
    return line_of(text, name or folder or "report", where=place_text(file))


def report_names(reports: Iterable[tuple[str | None, str | Path]]) -> dict[str, str | Path]:
    """Return unique name to path: the given name, or that of the folder."""
    found: dict[str, str | Path] = {}
    for given, path in reports:
        base = given or Path(absolute_place(_file(Path(path)))).parent.name or "report"
        name = base
        number = 1
        # A second "model" becomes "model (2)".
        while name in found:
            number += 1
            name = f"{base} ({number})"
        found[name] = path
    return found


def _file(path: Path) -> Path:
    if url_of(path):
        return path if path.suffix == ".json" else path / REPORT
    if not path.is_dir():
        return path
    file = path / REPORT
    if not file.is_file():
        raise InputError(
            f"{path} has no {REPORT}: give the folder that an audit wrote with --out, once it is "
            "finished"
        )
    return file


def line_of(text: str, name: str, *, where: str = "report.json") -> RegisterLine:
    """Parse the text of a ``report.json`` of any kind.

    `where` names the report in messages.

    Raises
    ------
    InputError
        If the report is damaged, foreign or of another version; one line, with the way out.
    """

    # Python's json accepts NaN and Infinity, which are not JSON.
    def no_constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    try:
        document = json.loads(text, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{where} is damaged or not JSON ({error}): give a folder that an audit wrote with "
            "--out"
        ) from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if isinstance(schema, str) and schema != SCHEMA and schema.startswith("privacygauge/"):
        raise InputError(
            f"{where} has the schema {plain(schema)}, and this version reads {SCHEMA}: write that "
            "report again with privacygauge report, or use the version of PrivacyGauge that wrote "
            "it"
        )
    if schema != SCHEMA:
        raise InputError(
            f"{where} is not a report of PrivacyGauge (its schema must be {SCHEMA}, got "
            f"{plain(schema)}): give a folder that an audit wrote with --out"
        )
    if document.get("kind") == "register":
        raise InputError(f"{where} is a register already: give the reports of the audits")
    report = Part(where, document, "write that report again")
    about = report.part("about")
    verdict = report.part("verdict")
    # The numbers that limits apply to; the first is the one behind the verdict.
    gated = [number for number in report.parts("numbers") if number.flag("gate")]
    if not gated:
        raise InputError(f"{where}: no number to hold a release to: write that report again")
    severity = verdict.text("severity")
    exposed = report.part("worst")
    if severity not in set(Severity):
        known = ", ".join(Severity)
        raise InputError(f"{verdict.where}: severity must be one of {known}, got {severity!r}")
    ids = tuple(map(plain, exposed.texts("ids")[:WORST]))
    all_measures = report.part("measures")
    measures: dict[str, float] = {}
    for number in gated:
        metric = number.text("name")
        # Of a skipped number there is nothing to compare with a limit.
        if _is_computed(number):
            measures[metric] = number.or_infinite("value")
        if f"{metric}.low" in all_measures:
            measures[f"{metric}.low"] = all_measures.number(f"{metric}.low")
    # Files are the entries of the provenance with a digest: "NAME sha256:...".
    made_of = [x for x in report.part("provenance").value.values() if isinstance(x, str)]
    return RegisterLine(
        plain(name),
        report.text("kind").replace("-", " "),
        task=about.text("task"),
        audited=about.text("audited"),
        game=about.text("game"),
        knowledge=about.text("knowledge"),
        number=_number(gated[0]),
        further=tuple(_number(number) for number in gated[1:] if _is_computed(number)),
        measures=measures,
        severity=Severity(severity),
        grade=verdict.text("grade"),
        headline=verdict.text("headline"),
        unsaid=verdict.text("unsaid"),
        advice=verdict.texts("advice"),
        worst=Worst(exposed.text("what"), ids, "" if ids else exposed.text("reason")),
        files=tuple(plain(x.rpartition(" sha256:")[0]) for x in made_of if " sha256:" in x),
        made=report.text("made"),
        version=report.text("version"),
        seed=report.whole("seed"),
        warnings=report.texts("warnings"),
        # "surrogatepass": JSON may hold half of a surrogate pair, which UTF-8 does not.
        sha256=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
    )


def _number(part: Part) -> Number:
    shown = part.part("shown")
    # Reports print an interval as "low to high".
    low, _, high = shown.text("interval").partition(" to ")
    # A computed number has no estimate; that of a skipped one holds the reason only.
    estimated = "estimate" in part and _is_computed(part)
    return Number(
        part.text("name"),
        part.text("label"),
        part.estimate("estimate") if estimated else part.or_infinite("value"),
        Shown(shown.text("value"), low, high),
        guessing=part.text("guessing"),
        looks=part.whole("looks"),
        level=part.number("level") if "level" in part else None,
        doubtful=part.flag("doubtful"),
    )


def _is_computed(number: Part) -> bool:
    return "estimate" not in number or "skipped" not in number.part("estimate")


_LARGEST = 1e15


@dataclass(frozen=True)
class Part:
    """An object of a JSON document, with typed access to its values by key."""

    where: str
    """Its name in messages: the file, and the keys that lead to it."""
    value: Mapping[str, Any]
    """Content of the object."""
    mend: str
    """Way out of a damaged document, for messages."""

    def __contains__(self, key: str) -> bool:
        return self.value.get(key) is not None

    def text(self, key: str) -> str:
        """Return the text at a key."""
        return str(self._found(key, str, "a text"))

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the texts in the list at a key."""
        return tuple(self._all(key, str, "a list of texts"))

    def number(self, key: str) -> float:
        """Return the number at a key."""
        found = self._found(key, int | float, "a number")
        # No document of ours has a larger number, and it could not be rounded for people.
        return float(found) if abs(found) < _LARGEST else self._refuse(key, "a number")

    def whole(self, key: str) -> int:
        """Return the whole number at a key."""
        return int(self._found(key, int, "a whole number"))

    def or_infinite(self, key: str) -> float:
        """Return the number at a key; null is infinity."""
        if key in self.value and self.value[key] is None:
            return math.inf
        return self.number(key)

    def flag(self, key: str) -> bool:
        """Return the truth value at a key."""
        return bool(self._found(key, bool, "true or false"))

    def part(self, key: str) -> Part:
        """Return the object at a key."""
        return Part(f"{self.where}: {key}", self._found(key, dict, "an object"), self.mend)

    def parts(self, key: str) -> tuple[Part, ...]:
        """Return the objects in the list at a key."""
        found = self._all(key, dict, "a list of objects")
        return tuple(Part(f"{self.where}: {key}", x, self.mend) for x in found)

    def estimate(self, key: str) -> Estimate:
        """Return the estimate at a key; null ends are infinite."""
        part = self.part(key)
        low = -math.inf if part.value.get("low") is None else part.number("low")
        try:
            value = part.or_infinite("value")
            high = part.or_infinite("high")
            level = part.number("level")
            n = part.whole("n")
            method = part.text("method")
            return Estimate(value=value, low=low, high=high, level=level, n=n, method=method)
        except InputError as error:
            raise InputError(f"{part.where} is not an estimate: {error}") from error

    def _found(self, key: str, kind: type | UnionType, what: str) -> Any:
        if key not in self.value:
            raise InputError(f"{self.where}: {key} is missing: {self.mend}")
        found = self.value[key]
        # In Python, bool is a subclass of int.
        if isinstance(found, kind) and (kind is bool or not isinstance(found, bool)):
            return found
        return self._refuse(key, what)

    def _all(self, key: str, kind: type, what: str) -> list[Any]:
        found: list[Any] = self._found(key, list, what)
        return found if all(isinstance(x, kind) for x in found) else self._refuse(key, what)

    def _refuse(self, key: str, what: str) -> NoReturn:
        text = repr(self.value[key])
        shown = text if len(text) <= 40 else f"{text[:37]}..."
        raise InputError(f"{self.where}: {key} must be {what}, got {shown}: {self.mend}")


# Statements that hold for several lines together.


@dataclass(frozen=True)
class Statement:
    """A finding and the level at which it is stated."""

    name: str
    """Name of the audit or test that made the statement."""
    level: float | None
    """Level of the statement, in (0, 1); None if it was computed exactly."""
    looks: int = 1
    """Number of comparisons at that level from which this one was chosen, at least 1."""

    @property
    def risked(self) -> float:
        """Upper bound on the probability that the statement is wrong; 0 if it was computed."""
        return 0.0 if self.level is None else min(1.0, self.looks * (1 - self.level))


@dataclass(frozen=True)
class JointStatement:
    """Joint level of several statements, by Bonferroni's inequality."""

    level: float | None
    """Lower bound on the probability that all statements at a level hold; None if the inequality is
    vacuous or there is no such statement."""
    asked: float
    """Requested joint level, in (0, 1)."""
    needed: float | None
    """Level that each statement needs to reach `asked`; None without such statements."""
    names: tuple[str, ...]
    """Names of the statements at a level, without those that were computed."""


def joint_statement(found: Sequence[Statement], asked: float) -> JointStatement:
    """Return the joint level of statements, and the level each needs for the joint level `asked`.

    Examples
    --------
    >>> both = joint_statement(
    ...     [Statement("a", 0.95), Statement("b", 0.99), Statement("c", None)], 0.9
    ... )
    >>> round(both.level, 2), round(both.needed, 2), both.names
    (0.94, 0.95, ('a', 'b'))
    """
    at_level = [x for x in found if x.level is not None]
    if not at_level:
        return JointStatement(None, asked, None, ())
    risked = sum(x.risked for x in at_level)
    looks = sum(x.looks for x in at_level)
    left = 1 - risked if risked < 1 else None
    return JointStatement(left, asked, 1 - (1 - asked) / looks, tuple(x.name for x in at_level))
