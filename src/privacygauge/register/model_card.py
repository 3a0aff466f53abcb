"""The snippet of a model card: metadata in YAML, then a section in Markdown.

Lists and mappings are YAML blocks; scalars are written as in JSON.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias

from privacygauge.register.line import Number, RegisterLine
from privacygauge.register.says import sure
from privacygauge.report.numbers import count, plain, rate

Plain: TypeAlias = "str | bool | int | float | Sequence[Plain] | Mapping[str, Plain]"
"""A value that can be written as YAML."""

# Characters with a meaning in Markdown, GitHub's included.
_STEERS = re.compile(r"([\\`*_{}\[\]<>#|~$@&])")
# Places within https:// and www. at which a backslash stops automatic links.
_LINKS = re.compile(r"(?i)(?<=:)(?=//)|(?<=www)(?=\.)")
# A bullet, a heading's underline, or a list's number such as "1." at the start of a line.
_LISTS = re.compile(r"^([-+=]|\d+(?=[.)]\s))")


def render(line: RegisterLine, dataset: str) -> str:
    """Return the snippet: metadata between ``---``, then the section "Privacy audit", in Markdown.

    It has no ids of records, since a model card is public.
    """
    return f"---\n{block(metadata(line, dataset))}---\n\n{section(line)}"


def metadata(line: RegisterLine, dataset: str) -> dict[str, Plain]:
    """Return a ``model-index`` with one result: the audit's numbers with their intervals.

    Types of metrics begin with the task, such as ``membership-inference-accuracy``, so that an
    attack's accuracy is not mistaken for the model's. The first is the number behind the verdict.
    ``args`` has the level, n, method, date, version and seed of each. ``verified`` is false, since
    only the hub can verify.

    Notes
    -----
    Keys as the Hugging Face Hub documents them for model cards.
    """
    result: dict[str, Plain] = {
        "task": {"type": line.task, "name": f"Privacy audit: {line.kind}"},
        "dataset": {"type": "private", "name": dataset},
        "metrics": [x for number in (line.number, *line.further) for x in _metrics(line, number)],
    }
    return {"model-index": [{"name": line.name, "results": [result]}]}


def _metrics(line: RegisterLine, number: Number) -> list[Plain]:
    start = f"{line.task}-{number.name}"
    found = number.estimate
    name = f"{number.label}; guessing: {number.guessing}" if number.guessing else number.label
    made: dict[str, Plain] = {"made": line.made, "version": line.version, "seed": line.seed}
    if found is None:
        return [_metric(start, name, number.value, {"method": number.method, **made})]
    args = {"level": found.level, "n": found.n, "method": plain(found.method), **made}
    sure = f"of its {rate(found.level)} interval"
    return [
        _metric(start, name, number.value, args),
        _metric(f"{start}-low", f"Lower end {sure}", found.low, args),
        _metric(f"{start}-high", f"Upper end {sure}", found.high, args),
    ]


def _metric(kind: str, name: str, value: float, args: dict[str, Plain]) -> dict[str, Plain]:
    return {"type": kind, "name": name, "value": value, "args": args, "verified": False}


def section(line: RegisterLine) -> str:
    """Return the section "Privacy audit" of a model card, in Markdown."""
    number = line.number
    interval = line.number.shown.interval
    shown = f"{number.shown.value}, {interval}" if interval else number.shown.value
    rows = (
        ("Audited", line.audited),
        ("Game", line.game),
        ("Attacker's knowledge", line.knowledge),
        (number.label, f"{shown} ({sure(number)})"),
        ("Guessing gives", number.guessing),
        ("Grade", line.grade),
        ("It cannot say", line.unsaid),
        ("Made", f"{line.made}, with PrivacyGauge {line.version}, seed {line.seed}"),
        ("Report", f"report.json, sha256 {line.sha256}"),
    )
    table = "".join(
        f"| {escape_markdown(name)} | {escape_markdown(text)} |\n" for name, text in rows
    )
    text = f"## Privacy audit\n\n{escape_markdown(line.headline)}.\n\n| | |\n|---|---|\n{table}"
    text += _further_numbers_table(line.further)
    if not line.warnings:
        return text
    warnings = "".join(f"- {escape_markdown(warning)}\n" for warning in line.warnings)
    return f"{text}\nRead the numbers with this in mind:\n\n{warnings}"


def _further_numbers_table(numbers: Sequence[Number]) -> str:
    """Return a table of the further numbers; an empty text if there are none."""
    rows = ("".join(f"| {escape_markdown(cell)} " for cell in _cells(x)) + "|\n" for x in numbers)
    head = "| Number | Found | Interval | n | Guessing gives |\n|---|---|---|---|---|\n"
    return f"\n{head}{''.join(rows)}" if numbers else ""


def _cells(number: Number) -> tuple[str, ...]:
    shown = number.shown
    found = number.estimate
    doubt = " (too few records to tell)" if number.doubtful else ""
    sure = ("computed", "") if found is None else (
        f"{shown.interval} ({rate(found.level)})" if shown.interval else rate(found.level),
        count(found.n),
    )  # fmt: skip
    return number.label, f"{shown.value}{doubt}", *sure, number.guessing


def escape_markdown(text: str) -> str:
    r"""Return a text on one line with Markdown syntax escaped.

    Examples
    --------
    >>> print(escape_markdown("<b> | [a](https://x.y)"))
    \<b\> \| \[a\](https:\//x.y)
    """
    safe = _STEERS.sub(r"\\\1", plain(text))
    safe = _LINKS.sub(lambda _: "\\", safe)
    return _LISTS.sub(lambda m: f"\\{m[0]}" if not m[0].isdigit() else f"{m[0]}\\", safe)


def block(value: Mapping[str, Plain]) -> str:
    r"""Return a mapping as a YAML block that YAML 1.1 and 1.2 parse alike.

    Keys are ours and are written unquoted; texts may be the user's and are quoted, on one line,
    without control characters. Infinity becomes the text ``infinite``, since the hub converts the
    block to JSON.

    Examples
    --------
    >>> print(block({"name": 'a "b"', "metrics": [{"value": 1e-05}, {"value": 2.0}]}), end="")
    name: "a \"b\""
    metrics:
    - value: 0.00001
    - value: 2.0
    """
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Plain) -> list[str]:
    if isinstance(value, str | bool | int | float):
        return [_scalar(value)]
    if not value:
        return ["{}" if isinstance(value, Mapping) else "[]"]
    # A list is a mapping without keys: each item begins with a dash, and its other lines are
    # indented below it.
    found: list[str] = []
    for key, x in value.items() if isinstance(value, Mapping) else (("", x) for x in value):
        first, *others = _lines(x)
        if not key:
            found += [f"- {first}", *(f"  {line}" for line in others)]
        elif isinstance(x, str | bool | int | float) or not x:
            found.append(f"{key}: {first}")
        else:
            # A list below a key needs no indent of its own.
            indent = "  " if isinstance(x, Mapping) else ""
            found += [f"{key}:", *(indent + line for line in (first, *others))]
    return found


def _scalar(value: str | bool | int | float) -> str:
    if isinstance(value, float):
        if not math.isfinite(value):
            return '"infinite"'
        # YAML 1.1 reads 1e-05 as a text, as it has no point: digits instead of an exponent.
        text = f"{Decimal(repr(value)):f}"
        return text if "." in text else f"{text}.0"
    if isinstance(value, str):
        # `plain` replaced all characters that YAML does not allow, since they are not printable.
        return json.dumps(plain(value), ensure_ascii=False)
    return json.dumps(value)
