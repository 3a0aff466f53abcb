"""A line of a risk register: one audit, as a release board has to see it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.register.reading import Columns, Part
from privacygauge.report.numbers import Shown, plain
from privacygauge.report.values import Severity
from privacygauge.report.verdict import GRADES
from privacygauge.report.views import shortened

SEVERITIES = tuple(severity.value for severity in reversed(Severity))
GRAVE, UNTOLD, MODERATE, SMALL, NOTHING, UNJUDGED = SEVERITIES
"""From grave to mild; an audit that cannot tell stands above what is known to be moderate."""

OF_GRADES: Mapping[str, str] = MappingProxyType(
    {**dict(zip(GRADES, (NOTHING, SMALL, MODERATE, GRAVE), strict=True)), UNTOLD: UNTOLD}
)
"""Severity of the grades that most verdicts give."""

WORST = 10
"""So many ids are named in a line."""


@dataclass(frozen=True)
class Number:
    """The one number of an audit, with its doubt and what to compare it with."""

    metric: str
    """Its name for programs, such as ``accuracy``."""
    label: str
    """What it is, in plain words."""
    value: float
    """The number; may be infinite."""
    shown: Shown
    """The number and its interval as the audit's own report rounds them."""
    guessing: str
    """What guessing, or nothing at all, would give."""
    method: str
    """How the interval was made, or why there is none."""
    estimate: Estimate | None = None
    """The interval; None where the number was computed and not estimated."""
    level: float | None = None
    """What is said of the number holds at least as often; None where nothing is said at a level."""
    looks: int = 1
    """Among so many numbers, each at that level, this one was chosen."""

    @property
    def risked(self) -> float:
        """The probability, at most, that what is said is wrong; 0 where nothing is."""
        return 0.0 if self.level is None else min(1.0, self.looks * (1 - self.level))


@dataclass(frozen=True)
class Worst:
    """Who is exposed most, by id, never by content."""

    what: str
    """What the ids are of, such as ``records``."""
    ids: tuple[str, ...]
    """The worst first, at most `WORST` of them."""
    reason: str = ""
    """Why there are none."""


@dataclass(frozen=True)
class Judged:
    """The verdict of an audit, in the words of its own report."""

    severity: str
    """One of `SEVERITIES`."""
    grade: str
    """The grade as the report gives it."""
    headline: str
    """The verdict in one line, as the report gives it."""
    unsaid: str
    """What the result does not say."""
    advice: tuple[str, ...]
    """What to do next, as the report gives it."""


@dataclass(frozen=True)
class Told:
    """What the report of one kind says, in the words that every kind shares."""

    audited: str
    """What was audited."""
    game: str
    """What was played, in a sentence for somebody who is no specialist."""
    knowledge: str
    """What the attacker sees and has."""
    number: Number
    """The number that the verdict speaks of."""
    judged: Judged
    """The verdict."""
    worst: Worst
    """Who is exposed most."""
    further: Mapping[str, float] = field(default_factory=dict)
    """Further metrics that a release may be held to, by name."""


@dataclass(frozen=True)
class Kind:
    """A kind of audit: how its report is known, and read."""

    name: str
    """What people call it."""
    package: str
    """The package or module that writes such reports."""
    keys: frozenset[str]
    """Keys that its `report.json` has, and that of no other kind."""
    task: str
    """The task in a model card: what an attacker does."""
    tell: Callable[[Part, Columns], Told]
    """From the report to what it says."""


@dataclass(frozen=True)
class RegisterLine:
    """One audit in a risk register."""

    name: str
    """What the owner calls it."""
    kind: Kind
    """Which kind of audit it is."""
    told: Told
    """What its report says."""
    files: tuple[str, ...]
    """Names of the files that were audited."""
    version: str
    """PrivacyGauge's version that made the report."""
    seed: int
    """What its random draws derive from."""
    warnings: tuple[str, ...]
    """What may mislead, as the report gives it."""
    sha256: str
    """Of its `report.json`."""

    @property
    def measures(self) -> dict[str, float]:
        """Return everything that a release may be held to, by name."""
        number, estimate = self.told.number, self.told.number.estimate
        own = {number.metric: number.value}
        if estimate is not None and estimate.low > -math.inf:
            own[f"{number.metric}.low"] = estimate.low
        return own | dict(self.told.further)


def of_estimate(
    metric: str,
    label: str,
    estimate: Estimate,
    shown: Shown,
    guessing: str,
    *,
    level: float,
    looks: int = 1,
) -> Number:
    """Return a number that was estimated.

    Parameters
    ----------
    metric, label, estimate, shown, guessing
        As in `Number`.
    level : float
        Of the audit. Where an interval allows for a choice, its own level is higher than what
        holds for the choice.
    looks : int
        Among so many numbers, each at that level, this one was chosen.
    """
    holds = min(estimate.level, level)
    return Number(
        metric, label, estimate.value, shown, guessing, estimate.method, estimate, holds, looks
    )


def judged(
    report: Part, severities: Mapping[str, str] = OF_GRADES, unsaid: str | None = None
) -> Judged:
    """Return the verdict that stands in a report.

    Parameters
    ----------
    report : Part
        With ``verdict``, which holds grade, headline, sentences and advice.
    severities : mapping of str to str
        From the grades of that kind to `SEVERITIES`.
    unsaid : str, optional
        What the result does not say; the last sentence of the verdict where it is not given.
    """
    found = report.part("verdict")
    grade, sentences = found.text("grade"), found.texts("sentences")
    if unsaid is None:
        unsaid = sentences[-1] if sentences else ""
    severity = severity_of(report, grade, severities)
    return Judged(severity, grade, found.text("headline"), unsaid, found.texts("advice"))


def severity_of(report: Part, grade: str, severities: Mapping[str, str]) -> str:
    """Return the severity of a grade, which must be one that this version knows."""
    if grade not in severities:
        raise InputError(
            f"{report.where}: no grade {plain(grade)!r} is known to this version of PrivacyGauge: "
            "write that report again"
        )
    return severities[grade]


def named(what: str, ids: tuple[object, ...]) -> Worst:
    """Return the first few ids, on one line each and without the middle of a very long one."""
    return Worst(what, tuple(shortened(plain(name)) for name in ids[:WORST]))
