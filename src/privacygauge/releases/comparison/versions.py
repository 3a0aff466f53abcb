"""Finished audits to compare: numbers, kept records, and other changes between two of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.datasets.reading import read_content, read_text
from privacygauge.errors import InputError
from privacygauge.releases.comparison.differences import Judged
from privacygauge.releases.line import REPORT, Part, RegisterLine, line_of
from privacygauge.report.numbers import Shown, first_names, plain, shorten
from privacygauge.report.values import Measure
from privacygauge.runs.folder import place_text, url_of

KIND = "comparison"
"""Kind of the report of a comparison."""

RECORDS = "records.parquet"
"""Name of the file with the records, beside a report."""

PEOPLE = ("unit", "group", "patient", "person", "id", "sample", "row")
"""Columns that may name a record's person, in order of preference."""

_LONG = 300
"""Longest text that is shown whole."""

_NAMED = 6
"""Most names of attacks that are listed."""


@dataclass(frozen=True, eq=False)
class Version:
    """One of the compared audits."""

    name: str
    """Name of the version: that of its folder, or given."""
    line: RegisterLine
    """The audit, as a register describes it."""
    numbers: Mapping[str, Measure]
    """All measures of the report by name."""
    document: Mapping[str, Any]
    """The report as JSON values."""
    records: Judged | Skipped
    """The kept records, or the reason why they cannot be paired."""

    @property
    def content(self) -> dict[str, Any]:
        """The report without its date, its names and the limits that it was held to."""
        named = ("made", "name", "note", "limits")
        return {key: x for key, x in self.document.items() if key not in named}


def report_file(path: str | Path) -> Path:
    """Return the ``report.json`` of an audit's folder; any other path is returned as it is."""
    place = Path(path)
    if url_of(place):
        return place if place.suffix == ".json" else place / REPORT
    return place / REPORT if place.is_dir() else place


def own_names(reports: Iterable[str | Path]) -> list[str | None]:
    """Return the names that reports bring along; None where that of the folder is to be used.

    A file of another name than ``report.json`` names its version. One without a folder in its path,
    also under the name of a second download, is named by the title and the date in it: such files
    are passed around, and the folder where they lie says nothing. Of one title and date, they keep
    the names of their files.

    Raises
    ------
    InputError
        One line: a report is damaged, foreign or of another version.
    """
    places = [Path(path) for path in reports]
    names = [place.stem if place.name.endswith(".json") else None for place in places]
    titles = {}
    for i, place in enumerate(places):
        if place.name == str(place) and _DOWNLOADED.fullmatch(place.name) and not place.is_dir():
            text = read_text(place, "report")
            line_of(text, place.stem, where=place_text(place))
            titles[i] = title_and_date(json.loads(text))
        elif place.name == REPORT:
            names[i] = None
    if len({*titles.values()}) == len(titles):
        names = [titles.get(i, name) for i, name in enumerate(names)]
    return names


_DOWNLOADED = re.compile(r"report ?(\(\d+\))?\.json")


def title_and_date(document: Mapping[str, Any]) -> str:
    """Return the title that the user gave, or else that of the kind, and the date of a report."""
    return plain(f"{document.get('name') or document.get('title')} ({document.get('made')})")


def read_version(path: str | Path, name: str) -> Version:
    """Read a finished audit of any kind, with its records if they lie beside the report.

    Raises
    ------
    InputError
        One line: the report or its records are damaged, foreign or of another version.
    """
    file = report_file(path)
    where = place_text(file)
    text = read_text(file, "report")
    line = line_of(text, name, where=where)
    document = json.loads(text)
    if document["kind"] == KIND:
        raise InputError(f"{where} is a comparison already: give the reports of the audits")
    report = Part(where, document, "write that report again")
    numbers = {x.name: x for x in map(_measure, report.parts("numbers"))}
    for skipped in report.parts("skipped"):
        skipped.text("name")
    records = _records(file, numbers)
    return Version(plain(name), line, numbers, document, records=records)


def _measure(part: Part) -> Measure:
    shown = part.part("shown")
    low, _, high = shown.text("interval").partition(" to ")
    name = part.text("name")
    found: Estimate | float | Skipped
    if "estimate" not in part:
        found = part.or_infinite("value")
    elif "skipped" in part.part("estimate"):
        found = Skipped(name, part.part("estimate").text("skipped"))
    else:
        found = part.estimate("estimate")
    return Measure(
        name,
        part.text("label"),
        found,
        Shown(shown.text("value"), low, high),
        gate=part.flag("gate"),
        level=part.number("level") if "level" in part else None,
        doubtful=part.flag("doubtful"),
    )


def _records(report: Path, numbers: Mapping[str, Measure]) -> Judged | Skipped:
    file = report.parent / RECORDS
    if url_of(report) or not file.is_file():
        return Skipped(RECORDS, f"no {RECORDS} lies beside the report")
    import pandas as pd

    table = read_content(file, "record")
    assert isinstance(table, pd.DataFrame)
    if "compared" in table.columns and table["compared"].dtype == np.bool_:
        table = table[table["compared"]].drop(columns="compared")
    # The number of people behind the first estimate tells which column names them.
    stated = (x.found.n for x in numbers.values() if x.gate and isinstance(x.found, Estimate))
    n_units = next(stated, None)
    names = (name for name in PEOPLE if name in table.columns and table[name].notna().all())
    people = next((name for name in names if table[name].nunique() == n_units), None)
    if people is None:
        return Skipped(RECORDS, "no column of its records names the people behind its numbers")
    columns: dict[str, Any] = {}
    for name in table.columns:
        values = table[name].to_numpy()
        # Numbers with gaps, such as a risk that was not estimated, and texts are left out.
        if values.dtype == np.bool_ or (
            values.dtype.kind in "iuf" and np.isfinite(values.astype(np.float64)).all()
        ):
            columns[str(name)] = values
    member = columns.get("member")
    if member is not None and (member.dtype != np.bool_ or member.all() or not member.any()):
        member = None
    score = {name.removeprefix("score:"): x for name, x in columns.items() if _is(name, "score", x)}
    guess = {name.removeprefix("guess:"): x for name, x in columns.items() if _is(name, "guess", x)}
    others = {
        name: x
        for name, x in columns.items()
        if name not in (*PEOPLE, "member") and not name.startswith(("score:", "guess:"))
    }
    labels = np.array(list(map(str, table[people])), dtype=object)
    return Judged(labels, member, scores=score, guesses=guess, values=others)


def _is(column: str, what: str, values: Any) -> bool:
    """Return whether a column holds an attack's scores, or its guesses, as `what` says."""
    named = column == what or column.startswith(f"{what}:")
    return named and (values.dtype == np.bool_) == (what == "guess")


@dataclass(frozen=True)
class Change:
    """Something other than a measure in which two audits differ."""

    group: str
    """Heading: data, software, settings, attacks or warnings."""
    what: str
    """Name of the changed thing."""
    old: str
    """Its value in the old audit; empty if it had none."""
    new: str
    """Its value in the new audit; empty if it has none."""


_VERSION = re.compile(r"\d+(\.\w+)+([ +].*)?")
_DIGEST = re.compile(r"\b[0-9a-f]{16,}\b")
_RESULTS = (
    *("schema", "kind", "title", "made", "verdict", "measures", "numbers", "limits", "worst"),
    *("skipped", "provenance", "warnings", "note", "about", "command", "version", "seed", "level"),
    *("attacks", "game"),
)
"""Keys of a report that are results, or that are compared on their own."""


def changes(old: Version, new: Version) -> tuple[Change, ...]:
    """Return the differences between two audits beside their measures: data, software, settings."""
    return tuple(x for x in _all_pairs(old.document, new.document) if x.old != x.new)


def _all_pairs(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    documents = (old, new)
    made_of: list[dict[str, Any]] = [dict(x["provenance"]) for x in documents]
    for key in sorted({*made_of[0], *made_of[1]}):
        texts = [_text(x.get(key)) for x in made_of]
        if any("sha256" in x or _DIGEST.search(x) for x in (key, *texts)):
            group = "data"
        elif key in ("python", "platform") or all(_VERSION.fullmatch(x) for x in texts if x):
            group = "software"
        else:
            group = "settings"
        yield Change(group, plain(key), *(_DIGEST.sub(lambda m: m[0][:12], x) for x in texts))
    yield _change("data", "audited", old["about"], new["about"], key="audited")
    yield _change("software", "PrivacyGauge", old, new, key="version")
    for key in ("command", "seed", "level"):
        yield _change("settings", key, old, new, key=key)
    for key in ("game", "knowledge"):
        yield _change("settings", key, old["about"], new["about"], key=key)
    games = [x["game"] if isinstance(x.get("game"), dict) else {} for x in documents]
    for key in ("n_in", "n_out", "secret", "thresholds"):
        group = "data" if key in ("n_in", "n_out") else "settings"
        yield _change(group, _GAME.get(key, f"game: {key}"), *games, key=key)
    measured = {name for x in documents for name in x["measures"]}
    own = [key for key in dict.fromkeys((*old, *new)) if key not in (*_RESULTS, *measured)]
    for key in own:
        if all(isinstance(x.get(key), str | bool | int | None) for x in documents):
            yield _change("settings", key.replace("_", " "), old, new, key=key)
    yield _names_in_one("attacks", "attacks played", *(map(_attacks, documents)))
    yield _names_in_one(
        "attacks", "not done", *([s["name"] for s in x["skipped"]] for x in documents)
    )
    yield _names_in_one("warnings", "warnings", *(x["warnings"] for x in documents))


_GAME = {"n_in": "members", "n_out": "non-members"}


def _change(
    group: str, what: str, old: Mapping[str, Any], new: Mapping[str, Any], *, key: str
) -> Change:
    return Change(group, plain(what), _text(old.get(key)), _text(new.get(key)))


def _text(value: object) -> str:
    text = "" if value is None else plain(value)
    return text if len(text) <= _LONG else shorten(text)


def _attacks(document: Mapping[str, Any]) -> list[str]:
    given = document.get("attacks")
    played = [x for x in given if isinstance(x, dict)] if isinstance(given, list) else []
    found = []
    for x in played:
        extra = [str(x[key]) for key in ("variant", "thresholds") if x.get(key) not in (None, "")]
        found.append(" ".join((str(x.get("name", "")), *extra)).strip())
    return [name for name in found if name]


def _names_in_one(group: str, what: str, old: list[str], new: list[str]) -> Change:
    """Return which names only one of two lists has, whatever the numbers in them."""
    words = [{re.sub(r"[\d.,]+", "#", x) for x in names} for names in (old, new)]
    sides = (
        [x for x in old if re.sub(r"[\d.,]+", "#", x) not in words[1]],
        [x for x in new if re.sub(r"[\d.,]+", "#", x) not in words[0]],
    )
    texts = [first_names(list(map(plain, names)), _NAMED) for names in sides]
    return Change(group, f"{what} in one alone", *texts)
