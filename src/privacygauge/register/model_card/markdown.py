"""The snippet of a model card: metadata, then a section in Markdown."""

from __future__ import annotations

import re

from privacygauge.register.line import Number, RegisterLine
from privacygauge.register.model_card.metadata import metadata
from privacygauge.register.model_card.yaml import block
from privacygauge.register.tables import sure
from privacygauge.report.numbers import plain

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


def section(line: RegisterLine) -> str:
    """Return the section "Privacy audit" of a model card, in Markdown."""
    told, number = line.told, line.told.number
    rows = (
        ("Audited", told.audited),
        ("Game", told.game),
        ("Attacker's knowledge", told.knowledge),
        (number.label, f"{_shown(number)} ({sure(number)})"),
        ("Guessing gives", number.guessing),
        ("Grade", told.judged.grade),
        ("It cannot say", told.judged.unsaid),
        ("Made with", f"PrivacyGauge {line.version}, seed {line.seed}"),
        ("Report", f"report.json, sha256 {line.sha256}"),
    )
    table = "".join(f"| {escaped(name)} | {escaped(text)} |\n" for name, text in rows)
    text = f"## Privacy audit\n\n{escaped(told.judged.headline)}.\n\n| | |\n|---|---|\n{table}"
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
