"""`--fail-above` and `--policy`: whether a report lets a release pass."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from privacygauge.errors import InputError
from privacygauge.report.values import Held, Report, Severity


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


def held(report: Report, limits: Collection[Limit]) -> tuple[Held, ...]:
    """Return each limit with what was found, for the page and the JSON of a report."""
    told = report.verdict.grade.severity is not Severity.UNTOLD
    return tuple(
        Held(x.metric, x.value, report.numbers.get(x.metric), told and not _checked(report, x))
        for x in limits
    )


def policy_limits(path: str | Path, command: str, metrics: Collection[str]) -> tuple[Limit, ...]:
    """Return the limits that a policy sets for a command.

    Parameters
    ----------
    path : str or Path
        A TOML file with a table for each command, such as ``[classifier]``, of lines such as
        ``accuracy = 0.6`` or ``"tpr@0.01" = 0.02``.
    command : str
        The command's name, with hyphens for spaces.
    metrics : collection of str
        What a release can be held to.

    Raises
    ------
    InputError
        If the file cannot be read, has no table for the command, or a limit is not one.
    """
    import tomllib

    from privacygauge.datasets.reading import read_text
    from privacygauge.runs.folder import shown

    file = shown(path)
    try:
        table = tomllib.loads(read_text(Path(path), "policy")).get(command)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file} is not TOML: {error}") from error
    if not isinstance(table, dict) or not table:
        raise InputError(f"{file} sets no limit for {command}: add a table [{command}]")
    for name, value in table.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{file}: {command}.{name} must be a number, got {value!r}")
    return tuple(_parsed(f"{name}={value}", metrics, file) for name, value in table.items())


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


def _parsed(text: str, metrics: Collection[str], where: str = "--fail-above") -> Limit:
    name, _, number = text.partition("=")
    if name not in metrics:
        known = [metric for metric in metrics if not metric.endswith(".low")]
        raise InputError(f"{where}: no metric {name!r}; there are {', '.join(known)}")
    try:
        value = float(number)
    except ValueError as error:
        raise InputError(
            f"--fail-above must be METRIC=VALUE, such as {name}=0.6, got {text!r}"
        ) from error
    if not value == value:  # not a number would let everything pass
        raise InputError("--fail-above: the value must be a number, got nan")
    return Limit(name, value)
