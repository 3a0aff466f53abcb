"""What is wrong with what an audit said, given the truth of its world."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.proving.played import CRASHED, HUNG, Oracle, Played, Truth, squeezed
from tests.proving.world import Grammar, Relation

FALSE_ALARM = "false alarm"
MISSED = "missed leak"
MILD = "grade too low"
UNTOLD = "cannot be told on a fair comparison"
REFUSED = "refused"
TRACEBACK = "traceback"
HANG = "hang"
CONTRADICTION = "contradiction"
RELATION = "relation"

KINDS = (FALSE_ALARM, MISSED, MILD, UNTOLD, REFUSED, TRACEBACK, HANG, CONTRADICTION, RELATION)
"""The gravest first where people look for them; see `SURE`."""
SURE = frozenset({REFUSED, TRACEBACK, HANG, CONTRADICTION, RELATION})
"""Kinds that one game shows; the others are shown by their rate."""

STEPS = ("nothing found", "small", "moderate", "grave")
"""Severities that say something, from mild to grave."""
_ALL = frozenset({*STEPS, "not judged", "cannot be told"})

UNPRINTED = {"average": 0.55, "tail": 2e-3, "groups": 1e-4}
"""What counts as a leak to be found while the page prints no size: the least lower end of the
oracle's balanced accuracy, or the largest p-value of its exact test."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong."""

    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


def judged(
    played: Played, truth: Truth, folder: Path, domain: Grammar | None = None
) -> list[Finding]:
    """Return everything that is wrong; nothing where the audit said what is the case."""
    if played.exit_code == HUNG:
        return [Finding(HANG, f"stopped after {played.seconds:.0f} CPU seconds")]
    if played.exit_code == CRASHED or "Traceback (most recent call last)" in played.stderr:
        return [Finding(TRACEBACK, _last(played.stderr))]
    found = [Finding(CONTRADICTION, text) for text in (*played.broken, *contradictions(played))]
    if played.report is None:
        if not truth.may_refuse:
            found.append(Finding(REFUSED, _last(played.stderr)))
        return found
    if domain is not None:
        found += [Finding(CONTRADICTION, text) for text in domain.contradictions(played.report)]
    return [*found, *_against(played, truth, folder)]


def _against(played: Played, truth: Truth, folder: Path) -> Iterator[Finding]:
    report = played.report
    assert report is not None
    said = f"{report['verdict']['grade']}: {report['verdict']['headline']}"
    severity = played.severity
    if severity in STEPS[STEPS.index(truth.most) + 1 :] and not truth.leak:
        yield Finding(FALSE_ALARM, said)
    if severity == STEPS[0] and truth.leak and truth.oracle is not None:
        oracle = truth.oracle(folder)
        if is_beyond(oracle, report):
            yield Finding(MISSED, f"{said}; the oracle has {told(oracle)}")
    milder = () if truth.least is None else STEPS[: STEPS.index(truth.least)]
    if severity in milder:
        yield Finding(MILD, f"{said}; {truth.least} is right")
    if severity == "cannot be told" and truth.fair and not _too_few(report):
        yield Finding(UNTOLD, said)


def _too_few(report: Mapping[str, Any]) -> bool:
    """Whether the report says that records are too few, and the size that it prints bears it out.

    Whoever is shown nothing by an audit that could not have shown a moderate leak is told so.
    """
    printed = detectable(report, "average")
    sizes = report.get("detectable")
    open_size = isinstance(sizes, Mapping) and sizes.get("average") is None
    said = "too few records" in report["verdict"]["headline"]
    return said and (open_size or (printed is not None and printed > UNPRINTED["average"]))


def is_beyond(oracle: Oracle, report: Mapping[str, Any]) -> bool:
    """Whether what the oracle surely has is more than the page says that it would have found."""
    printed = detectable(report, oracle.question)
    if oracle.question == "average":
        return oracle.low > (UNPRINTED["average"] if printed is None else printed)
    # A size alone is no evidence: those who leak may leak little.
    sure = oracle.p is not None and oracle.p < UNPRINTED[oracle.question]
    return sure and (printed is None or oracle.low > printed)


def detectable(report: Mapping[str, Any], question: str) -> float | None:
    """Return the size that the report says it would have found; None where it says none.

    It is read from ``detectable``, numbers (or objects with a ``value``) by question.
    """
    found = report.get("detectable")
    if not isinstance(found, Mapping) or found.get(question) is None:
        return None
    size = found[question]
    return float(size["value"] if isinstance(size, Mapping) else size)


def told(oracle: Oracle) -> str:
    """Return the oracle's number in words."""
    sure = "" if oracle.p is None else f", p = {oracle.p:.1e}"
    span = f"{oracle.value:.4g} ({oracle.low:.4g} to {oracle.high:.4g})"
    return f"{span} for the {oracle.question}{sure}"


def contradictions(played: Played) -> Iterator[str]:
    """Yield what the exit code, the terminal, the JSON and the page say against each other."""
    lines = played.stderr.strip().splitlines()
    if "Warning:" in played.stderr:
        yield f"a warning of Python reaches the user: {_warning(played.stderr)}"
    if played.report is None:
        if played.exit_code not in (0, 2, 3):
            yield f"exit code {played.exit_code}"
        if played.exit_code in (0, 3):
            yield f"exit code {played.exit_code} without a report"
        if played.exit_code == 2 and not (
            len(lines) == 1 and lines[0].startswith("privacygauge: error:")
        ):
            yield f"{len(lines)} lines on stderr where one says it: {_last(played.stderr)}"
        if played.exit_code == 2 and played.html_text:
            yield "refused, but a page was written"
        return
    if played.exit_code not in (0, 3):
        yield f"exit code {played.exit_code} beside a report"
    verdict = played.report["verdict"]
    headline = squeezed(verdict["headline"])
    if verdict["severity"] not in _ALL:
        yield f"the severity {verdict['severity']!r} is not on the scale"
    for where, text in (("page", played.html_text), ("terminal", played.stdout)):
        if text and headline not in squeezed(text):
            yield f"the headline {headline!r} is not on the {where}"
    if verdict["severity"] != STEPS[0] and headline.lower().startswith("no leak"):
        yield f"the severity is {verdict['severity']}, the headline {headline!r}"
    yield from _limits(played)
    for number in played.report.get("numbers", ()):
        text = squeezed((number.get("shown") or {}).get("value") or "")
        if played.html_text and text not in played.html_text:
            yield f"{number['name']} = {text} is not on the page"
    yield from _numbers(played.report)


def _limits(played: Played) -> Iterator[str]:
    """Yield where limits, measures and the exit code disagree."""
    assert played.report is not None
    limits = played.report.get("limits", ())
    untold = played.severity == "cannot be told"  # keeps no limit
    for limit in limits:
        found = played.report["measures"].get(limit["metric"])
        if found != limit["found"]:
            yield f"{limit['metric']} is {found}, and {limit['found']} beside its limit"
        elif found is not None and limit["kept"] != (found <= limit["limit"]) and not untold:
            yield f"{limit['metric']} is {found}, its limit {limit['limit']}, kept {limit['kept']}"
    exceeded = not all(limit["kept"] for limit in limits)
    if (played.exit_code == 3) != exceeded:
        yield f"exit code {played.exit_code}, limits {'exceeded' if exceeded else 'kept'}"


def _numbers(report: Mapping[str, Any]) -> Iterator[str]:
    measures = report.get("measures", {})
    for name, value in measures.items():
        low = measures.get(f"{name}.low")
        if value is not None and low is not None and low > value + 1e-9:
            yield f"{name} is {value}, its lower end {low}"
    for number in report.get("numbers", ()):
        measure = measures.get(number["name"])
        if measure is not None and not math.isclose(measure, number["value"], abs_tol=1e-12):
            yield f"{number['name']} is {measure} in measures, {number['value']} in numbers"
        estimate = (number.get("estimate") or {}).get("value")
        if estimate is not None and not math.isclose(estimate, number["value"], abs_tol=1e-12):
            yield f"{number['name']} is {number['value']}, its interval that of {estimate}"
    for path, found in _estimates(report, ""):
        low = found["low"]
        high = found["high"]
        value = found["value"]
        if value is None:
            continue
        if (low is not None and low > value + 1e-9) or (high is not None and high < value - 1e-9):
            yield f"{path}: {value} is outside of {low} to {high}"


def _estimates(value: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(value, Mapping):
        if {"value", "low", "high", "method"} <= set(value):
            yield path, value
        for name, inner in value.items():
            yield from _estimates(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _estimates(inner, f"{path}[{i}]")


def kept(relation: Relation, before: Played, after: Played) -> Iterator[Finding]:
    """Yield what a change that must change nothing has changed."""
    if before.report is None:
        return
    said = f"{relation.name}: {before.severity!r} became "
    if after.report is None:
        if relation.keeps == "everything or refused" and after.exit_code == 2:
            return
        yield Finding(RELATION, f"{said}exit code {after.exit_code}: {_last(after.stderr)}")
        return
    first = before.severity
    second = after.severity
    if relation.keeps == "everything or refused" and second == "cannot be told":
        return
    if relation.keeps.startswith("everything"):
        if first != second:
            yield Finding(RELATION, f"{said}{second!r}")
        for name, value in before.report["measures"].items():
            other = after.report["measures"].get(name)
            if other != value and not _close(other, value):
                yield Finding(RELATION, f"{relation.name}: {name} was {value}, and is {other}")
                return
    elif first in STEPS and second in STEPS:
        fell = STEPS.index(first) - STEPS.index(second)
        hidden = fell > 1 and second == STEPS[0]
        if hidden or (relation.keeps == "grade" and abs(fell) > 1):
            yield Finding(RELATION, f"{said}{second!r}")
    elif relation.keeps == "grade" and {first, second} & {"moderate", "grave"}:
        yield Finding(RELATION, f"{said}{second!r}")


def _close(a: Any, b: Any) -> bool:
    return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)


def _last(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "nothing on stderr"


def _warning(text: str) -> str:
    return next((line for line in text.splitlines() if "Warning:" in line), "")[-160:]
