"""Limits on measures, set by `--fail-above` or `--policy`."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from privacygauge.errors import InputError
from privacygauge.report.values import CheckedLimit, Report, Severity


@dataclass(frozen=True)
class Limit:
    """Largest value that a measure may have."""

    metric: str
    """Name of the measure, with ``.low`` for the lower limit of its interval."""
    value: float
    """The largest value that passes."""


def parsed_limits(texts: Collection[str] | None, metrics: Collection[str]) -> tuple[Limit, ...]:
    """Parse limits such as ``accuracy=0.6`` or ``accuracy=60%``.

    Raises
    ------
    InputError
        If a name is not among the metrics, or a value is not a number in the metric's range: a
        limit outside it would be exceeded never, or always.
    """
    pairs = (text.partition("=") for text in texts or ())
    return tuple(_limit(x.strip(), y, metrics, "--fail-above") for x, _, y in pairs)


def check_limits(report: Report, limits: Collection[Limit]) -> tuple[CheckedLimit, ...]:
    """Return each limit with the result of its check, for the page and the JSON of a report."""
    # An audit that cannot tell keeps no limit: its numbers are no evidence.
    told = report.verdict.grade.severity is not Severity.UNTOLD
    return tuple(
        CheckedLimit(
            x.metric, x.value, report.numbers.get(x.metric), told and not _exceeded_text(report, x)
        )
        for x in limits
    )


def policy_limits(path: str | Path, command: str, metrics: Collection[str]) -> tuple[Limit, ...]:
    """Return the limits that a policy file sets for a command.

    Parameters
    ----------
    path : str or Path
        TOML file with a table per command, such as ``[classifier]``, and lines such as
        ``accuracy = 0.6``, ``accuracy = "60%"`` or ``"tpr@0.01" = 0.02``.
    command : str
        Name of the command, with hyphens for spaces.
    metrics : collection of str
        Names of the measures that may have limits.

    Raises
    ------
    InputError
        If the file cannot be read, has no table for the command, or holds an invalid limit.
    """
    from privacygauge.datasets.reading import read_toml
    from privacygauge.runs.folder import place_text

    file = place_text(path)
    table = read_toml(Path(path), "policy").get(command)
    if not isinstance(table, dict) or not table:
        raise InputError(f"{file} sets no limit for {command}: add a table [{command}]")
    for name, value in table.items():
        # TOML's `true` is a Python bool, which is an int, and would pass as 1.
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise InputError(f"{file}: {command}.{name} must be a number, got {value!r}")
    where = f"{file}: [{command}]"
    return tuple(_limit(name, str(value), metrics, where) for name, value in table.items())


def exceeded_limits(report: Report, limits: Collection[Limit]) -> list[str]:
    """Return a line for each limit that the report exceeds or that could not be checked.

    If the grade is `UNTOLD`, another line comes first: a number below its limit is then not
    evidence.
    """
    lines = [line for limit in limits if (line := _exceeded_text(report, limit))]
    if limits and report.verdict.grade.severity is Severity.UNTOLD:
        return [f"{report.verdict.headline}: no limit can be checked", *lines]
    return lines


def never_exceeded(limits: Collection[Limit]) -> list[str]:
    """Return a line for each limit of 1, which is 100%: some users mean 1%."""
    return [
        f"a limit of 1 on {limit.metric} is 100% and is never exceeded: 1% is {limit.metric}=1%"
        for limit in limits
        if limit.value == getattr(limit.metric, "most", math.inf) == 1
    ]


def _exceeded_text(report: Report, limit: Limit) -> str:
    found = report.numbers.get(limit.metric)
    if found is None:
        return f"{limit.metric} was not computed, so its limit cannot be checked"
    if found > limit.value:
        return f"{limit.metric} is {found:.4g}, above the limit of {limit.value:g}"
    return ""


def _limit(name: str, number: str, metrics: Collection[str], where: str) -> Limit:
    """Parse a limit; error messages begin with `where`, the place it was given."""
    if name not in metrics:
        known = [metric for metric in metrics if not metric.endswith(".low")]
        raise InputError(f"{where}: no metric {name!r}; there are {', '.join(known)}")
    # The equal name among the metrics, not the given text, knows its largest value.
    known_as = next(metric for metric in metrics if metric == name)
    # A metric that does not state its largest value has none.
    most: float = getattr(known_as, "most", math.inf)
    digits = number.strip().removesuffix("%")
    try:
        value = float(digits)
    except ValueError as error:
        example = f"{name}=60%" if most == 1 else f"{name}=0.6"
        rule = f"a limit must be METRIC=VALUE, such as {example}"
        raise InputError(f"{where}: {rule}, got {name}={number}") from error
    if digits != number.strip():
        if most != 1:
            raise InputError(f"{where}: {name} is not a share, and {number} is one: give a number")
        value /= 100
    if not 0 <= value <= most or math.isinf(value):
        # A limit above all values is never exceeded, nor is NaN, which fails the comparison above.
        rule = f"in [0, {most:g}]" if math.isfinite(most) else "finite and at least 0"
        meant = f": did you mean {value / 100:g}?" if most == 1 < value <= 100 else ""
        raise InputError(f"{where}: a limit of {name} must be {rule}, got {number}{meant}")
    return Limit(known_as, value)
