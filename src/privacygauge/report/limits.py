"""`--fail-above`: whether a report lets a release pass."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from privacygauge.errors import InputError
from privacygauge.report.values import Report, Severity


@dataclass(frozen=True)
class Limit:
    """A number that a measure must not exceed."""

    metric: str
    """A name of the measure, with ``.low`` for the lower end of its interval."""
    value: float
    """The largest value that passes."""


def parsed_limits(texts: Collection[str] | None, metrics: Collection[str]) -> tuple[Limit, ...]:
    """Return the limits in texts such as ``accuracy=0.6``.

    Raises
    ------
    InputError
        For a name that is not among the metrics, or a value that is not a number.
    """
    return tuple(_parsed(text, metrics) for text in texts or ())


def exceeded(report: Report, limits: Collection[Limit]) -> list[str]:
    """Return a line for every limit that the report exceeds or that could not be checked.

    A further one where the verdict is that nothing can be told: a number below its limit is not
    evidence then.
    """
    lines = [line for limit in limits if (line := _checked(report, limit))]
    if limits and report.verdict.grade.severity is Severity.UNTOLD:
        return [f"{report.verdict.headline}: no limit can be checked", *lines]
    return lines


def _checked(report: Report, limit: Limit) -> str:
    found = report.numbers.get(limit.metric)
    if found is None:
        return f"{limit.metric} was not computed, so its limit cannot be checked"
    if found > limit.value:
        return f"{limit.metric} is {found:.4g}, above the limit of {limit.value:g}"
    return ""


def _parsed(text: str, metrics: Collection[str]) -> Limit:
    name, _, number = text.partition("=")
    if name not in metrics:
        known = [metric for metric in metrics if not metric.endswith(".low")]
        raise InputError(f"--fail-above: no metric {name!r}; there are {', '.join(known)}")
    try:
        value = float(number)
    except ValueError as error:
        raise InputError(
            f"--fail-above must be METRIC=VALUE, such as {name}=0.6, got {text!r}"
        ) from error
    if not value == value:  # not a number would let everything pass
        raise InputError("--fail-above: the value must be a number, got nan")
    return Limit(name, value)
