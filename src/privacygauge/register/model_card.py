"""The snippet of a model card: metadata, then a section in Markdown."""

from __future__ import annotations

import re

from privacygauge.register.line import Number, RegisterLine
from privacygauge.register.says import sure
from privacygauge.register.yaml import Plain, block
from privacygauge.report.numbers import plain, rate

_STEERS = re.compile(r"([\\`*_{}\[\]<>#|~$@&])")
_LINKS = re.compile(r"(?i)(?<=:)(?=//)|(?<=www)(?=\.)")
_LISTS = re.compile(r"^([-+=]|\d+(?=[.)]\s))")


def render(line: RegisterLine, dataset: str) -> str:
    """Return the snippet: metadata between ``---``, then the section "Privacy audit".

    Parameters
    ----------
    line : RegisterLine
        What the audit's report says.
    dataset : str
        What the data is called.

    Returns
    -------
    str
        Markdown. Ids of records are not in it: a model card is public.
    """
    return f"---\n{block(metadata(line, dataset))}---\n\n{section(line)}"


def metadata(line: RegisterLine, dataset: str) -> dict[str, Plain]:
    """Return a ``model-index`` with one result: the audit's number and the ends of its interval.

    Parameters
    ----------
    line : RegisterLine
    dataset : str
        What the data is called.

    Returns
    -------
    dict
        Task, dataset and metrics of the result. Types of metrics begin with the task, such as
        ``membership-inference-accuracy``, so that nobody takes an attack's accuracy for the
        model's. ``verified`` is false: it is the hub's to say.

    Notes
    -----
    Keys as the Hugging Face Hub documents them for model cards.
    """
    task = {"type": line.task, "name": f"Privacy audit: {line.kind}"}
    return {
        "model-index": [
            {
                "name": line.name,
                "results": [
                    {
                        "task": task,
                        "dataset": {"type": "private", "name": dataset},
                        "metrics": _metrics(line),
                    }
                ],
            }
        ]
    }


def _metrics(line: RegisterLine) -> list[Plain]:
    number, start = line.number, f"{line.task}-{line.number.metric}"
    name = f"{number.label}; guessing: {number.guessing}"
    found: list[Plain] = [_metric(start, name, number.value)]
    if number.estimate is None:
        return found
    sure = f"of its {rate(number.estimate.level)} interval"
    return [
        *found,
        _metric(f"{start}-low", f"Lower end {sure}", number.estimate.low),
        _metric(f"{start}-high", f"Upper end {sure}", number.estimate.high),
    ]


def _metric(kind: str, name: str, value: float) -> dict[str, Plain]:
    return {"type": kind, "name": name, "value": value, "verified": False}


def section(line: RegisterLine) -> str:
    """Return the section "Privacy audit" of a model card, in Markdown."""
    number = line.number
    rows = (
        ("Audited", line.audited),
        ("Game", line.game),
        ("Attacker's knowledge", line.knowledge),
        (number.label, f"{_shown(number)} ({sure(number)})"),
        ("Guessing gives", number.guessing),
        ("Grade", line.grade),
        ("It cannot say", line.unsaid),
        ("Made with", f"PrivacyGauge {line.version}, seed {line.seed}"),
        ("Report", f"report.json, sha256 {line.sha256}"),
    )
    table = "".join(f"| {escaped(name)} | {escaped(text)} |\n" for name, text in rows)
    text = f"## Privacy audit\n\n{escaped(line.headline)}.\n\n| | |\n|---|---|\n{table}"
    if not line.warnings:
        return text
    warnings = "".join(f"- {escaped(warning)}\n" for warning in line.warnings)
    return f"{text}\nRead the numbers with this in mind:\n\n{warnings}"


def _shown(number: Number) -> str:
    shown = number.shown
    return f"{shown.value}, {shown.interval}" if shown.interval else shown.value


def escaped(text: str) -> str:
    r"""Return a text on one line in which Markdown finds nothing to do.

    Examples
    --------
    >>> print(escaped("<b> | [a](https://x.y)"))
    \<b\> \| \[a\](https:\//x.y)
    """
    safe = _STEERS.sub(r"\\\1", plain(text))
    safe = _LINKS.sub(lambda _: "\\", safe)
    return _LISTS.sub(lambda m: f"\\{m[0]}" if not m[0].isdigit() else f"{m[0]}\\", safe)
