"""A report in each of its forms: page, terminal, plain text, JSON, files. None knows a kind."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from privacygauge.core.estimate import Estimate
from privacygauge.report import tables
from privacygauge.report.document import as_text, estimate_dict, finite
from privacygauge.report.html import environment
from privacygauge.report.numbers import plain
from privacygauge.report.svg import Picture, picture
from privacygauge.report.terminal import figures, opening, stacked, text
from privacygauge.report.values import Json, Measure, Plot, Report, Severity
from privacygauge.runs import atomic

if TYPE_CHECKING:
    import pandas as pd

    from privacygauge.report.terminal import RenderableType

SCHEMA = "privacygauge/2"
"""Names the format of ``report.json``; another number when a key is taken away or changes."""

COLOURS = {
    Severity.UNJUDGED: "default",
    Severity.NOTHING: "green",
    Severity.SMALL: "yellow",
    Severity.MODERATE: "dark_orange",
    Severity.UNTOLD: "yellow",
    Severity.GRAVE: "red",
}
"""Of severities, in a terminal."""

_PAGE_COLOURS = dict(zip(Severity, (0, 0, 1, 2, 1, 3), strict=True))


def page(report: Report) -> str:
    """Return the report as one self-contained HTML page.

    Everything from the user's data is escaped, and characters that steer a page are replaced. The
    page asks for nothing from outside and runs no script.
    """
    pictures = {
        block.name: _drawn(block)
        for section in report.sections
        for block in section.blocks
        if isinstance(block, Plot)
    }
    template = environment().get_template("value.html.j2")
    return template.render(
        r=report,
        f=report.origin,
        verdict=report.verdict,
        grades=[grade.word for grade in report.verdict.scale],
        severity=report.verdict.scale.index(report.verdict.grade),
        colour=_PAGE_COLOURS[report.verdict.grade.severity],
        cards=report.measures,
        pictures=pictures,
    )


def _drawn(plot: Plot) -> Picture:
    return picture(plot.name, plot.title, plot.caption, plot.words, plot.draw)


def summary(report: Report) -> str:
    """Return the verdict and the numbers as plain text."""
    origin = report.origin
    return tables.as_summary(report.verdict, _lines(report), origin.warnings, origin.skipped)


def terminal(report: Report) -> RenderableType:
    """Return the verdict and the numbers as a renderable of rich, made to fit 80 columns.

    Nothing in it is read as markup, so names from the user's data cannot style or forge lines.
    """
    colour = COLOURS[report.verdict.grade.severity]
    return stacked(
        *opening(report.verdict, colour, report.origin.warnings),
        figures(_lines(report)),
        *map(text, tables.not_done(report.origin.skipped)),
    )


def _lines(report: Report) -> list[tuple[str, str]]:
    return [(plain(x.label), plain(_beside(x))) for x in report.measures]


def _beside(measure: Measure) -> str:
    """Return the number with what stands beside it, such as ``0.71 (0.69 to 0.73; n = 900)``."""
    interval = measure.shown.interval
    inside = "; ".join(part for part in (interval, measure.note) if part)
    return f"{measure.shown.value} ({inside})" if inside else measure.shown.value


def document(report: Report) -> dict[str, Json]:
    """Return the report as plain values: the schema ``privacygauge/2``, then keys of its kind.

    An estimate is a dict of value, low, high, level, n and method; something that was not computed
    is ``{"skipped": reason}``; infinity is None. Scores of single records are not in it.
    """
    origin, verdict, about = report.origin, report.verdict, report.about
    return {
        "schema": SCHEMA,
        "kind": report.kind,
        "title": report.title,
        "made": origin.made,
        "command": origin.command,
        "version": origin.version,
        "seed": int(origin.seed),
        "level": float(origin.level),
        "about": {
            "audited": about.audited,
            "game": about.game,
            "knowledge": about.knowledge,
            "task": about.task,
        },
        "verdict": {
            "grade": verdict.grade.word,
            "severity": verdict.grade.severity.value,
            "headline": verdict.headline,
            "sentences": list(verdict.sentences),
            "unsaid": verdict.unsaid,
            "advice": list(verdict.advice),
        },
        "measures": {name: finite(x) for name, x in report.numbers.items()},
        "numbers": [_number(measure, origin.level) for measure in report.measures],
        "worst": {
            "what": report.worst.what,
            "ids": list(report.worst.ids),
            "reason": report.worst.reason,
        },
        "skipped": [{"name": s.name, "reason": s.reason} for s in origin.skipped],
        "warnings": list(origin.warnings),
        "provenance": dict(sorted(origin.provenance.items())),
        **report.data,
    }


def _number(measure: Measure, level: float) -> Json:
    found = measure.found
    return {
        "name": measure.name,
        "label": measure.label,
        "value": finite(measure.numbers[measure.name]),
        "shown": {"value": measure.shown.value, "interval": measure.shown.interval},
        "note": measure.note,
        "guessing": measure.guessing,
        "gate": measure.gate,
        "doubtful": measure.doubtful,
        "level": min(level, found.level) if isinstance(found, Estimate) else None,
        "looks": measure.looks,
        "estimate": None if isinstance(found, float) else estimate_dict(found),
    }


def as_json(report: Report) -> str:
    """Return `document` as strict JSON in ASCII: equal reports give equal text."""
    return as_text(document(report))


def files(report: Report) -> Mapping[str, bytes]:
    """Return the content of every file of the report by its name."""
    return {
        "report.html": page(report).encode("utf-8", "replace"),
        "report.json": as_json(report).encode("ascii"),
        **{name: _frame(name, frame()) for name, frame in report.frames.items()},
    }


def _frame(name: str, frame: pd.DataFrame) -> bytes:
    if name.endswith(".parquet"):
        return tables.parquet(frame)
    return frame.to_csv(index=False, lineterminator="\n").encode("utf-8")


def write(report: Report, directory: str | Path) -> list[Path]:
    """Write all files, whole or not at all, and return their paths.

    Raises
    ------
    OutputError
        Before anything is rendered, if no file can be made there; later, if the disk is full.
    """
    atomic.check_writable(Path(directory))
    return atomic.write_all(Path(directory), files(report))
