"""Kinds of dropped files, by their beginnings, and the audits that they are enough for."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from privacygauge.datasets import archives
from privacygauge.datasets.reading import (
    CSV,
    LINES,
    csv_text,
    fields_of_any_length,
    first_rows,
    read_json,
    read_json_lines,
    require_utf8,
    separator_of,
)
from privacygauge.errors import InputError
from privacygauge.kinds.dropped import DroppedFile, Recognised
from privacygauge.report.numbers import plain
from privacygauge.report.render import SCHEMA

ENDINGS = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson", ".gz", ".npz", ".npy", ".json")
"""Endings of files that can be dropped."""


def look_at(path: Path) -> DroppedFile:
    """Return the columns, arrays or report in a file, by its beginning.

    Raises
    ------
    InputError
        One line: the file, the fault, and the way out.
    """
    name = path.name.lower()
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty")
    with _named_alone(path):
        if name.endswith((".npz", ".npy")):
            return DroppedFile(path.name, shapes=archives.shapes_in(path))
        if name.endswith(".json"):
            content = read_json(path, "report")
            schema = content.get("schema") if isinstance(content, dict) else None
            if isinstance(schema, str) and schema.startswith(SCHEMA.partition("/")[0] + "/"):
                return DroppedFile(path.name, report=str(content.get("kind") or "report"))
            raise InputError(
                f"{path.name} is not a report of PrivacyGauge: give a report.json, or a table as "
                ".jsonl"
            )
        if name.endswith((".parquet", *CSV, *LINES)):
            if not name.endswith(".parquet"):
                require_utf8(path)
            return DroppedFile(path.name, columns=first_rows(path))
    if name.endswith((".html", ".htm")):
        raise InputError(f"{path.name} is a page already: give the report.json beside it")
    if name.endswith((".xlsx", ".xls", ".ods")):
        raise InputError(f"{path.name} is a spreadsheet: save it as .csv")
    raise InputError(
        f"{path.name} is not a file that an audit begins with: give .csv, .tsv, .parquet, .jsonl, "
        ".npz, or a report.json"
    )


@contextmanager
def _named_alone(path: Path) -> Iterator[None]:
    """Leave the folder of a file out of messages: the place of a copy tells the reader nothing."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error).replace(f"{path.parent}/", "")) from error


def report_words(path: Path) -> str:
    """Return title, date and verdict of a dropped ``report.json``."""
    from privacygauge.releases.comparison.versions import title_and_date

    content = read_json(path, "report")
    verdict = content.get("verdict")
    headline = verdict.get("headline") if isinstance(verdict, dict) else None
    return ": ".join((title_and_date(content), *([plain(headline)] if headline else ())))


def fitting_audits(files: Sequence[DroppedFile]) -> list[tuple[str, Recognised]]:
    """Return the audits that files are enough for, each with its command, the best fit first."""
    from privacygauge.cli.commands import COMMANDS

    found = [
        (command.name, one)
        for command in COMMANDS
        if command.recognise is not None
        for one in command.recognise(files)
    ]
    if all(file.report for file in files):
        several = "Reports of finished audits" if len(files) > 1 else "The report of an audit"
        named = [f"{Path(file.name).stem}={file.name}" for file in files]
        found.append(("register", Recognised(several, lambda answers: named)))
    return sorted(found, key=lambda pair: -pair[1].fit)


def rename_columns(path: Path, names: Mapping[str, str]) -> None:
    """Rename columns of a table, or arrays of an .npz file, in place; others stay as they are.

    Raises
    ------
    InputError
        If the file has a column of a new name already.
    """
    with _named_alone(path):
        _rename(path, names)


def _rename(path: Path, names: Mapping[str, str]) -> None:
    if path.name.lower().endswith(".npz"):
        present = tuple(archives.shapes_in(path))
    elif path.name.lower().endswith((".parquet", *CSV, *LINES)):
        present = tuple(first_rows(path))
    else:
        return
    changed = {old: new for old, new in names.items() if old in present and old != new}
    if taken := [new for new in changed.values() if new in present]:
        raise InputError(f"{path.name} has another column called {taken[0]}: rename it first")
    if not changed:
        return
    name = path.name.lower()
    copy = path.with_name(f".{path.name}")
    if name.endswith(".npz"):
        with zipfile.ZipFile(path) as given, zipfile.ZipFile(copy, "w") as written:
            for info in given.infolist():
                stem = info.filename.removesuffix(".npy")
                with (
                    given.open(info) as source,
                    written.open(f"{changed.get(stem, stem)}.npy", "w", force_zip64=True) as to,
                ):
                    while part := source.read(archives.PART):
                        to.write(part)
    elif name.endswith(".parquet"):
        import pyarrow.parquet as pq

        table = archives.read_parquet(path)
        pq.write_table(table.rename_columns([changed.get(x, x) for x in table.column_names]), copy)
    elif name.endswith(LINES):
        rows = [row for _, row in read_json_lines(path, "table")]
        lines = [json.dumps({changed.get(key, key): x for key, x in row.items()}) for row in rows]
        _write_text(copy, "\n".join(lines))
    else:
        text = csv_text(path, "table")
        separator = separator_of(path)
        records = io.StringIO(text, newline="")
        with fields_of_any_length():
            header = next(csv.reader(records, delimiter=separator))
        first = io.StringIO()
        csv.writer(first, delimiter=separator, lineterminator="\n").writerow(
            [changed.get(x, x) for x in header]
        )
        # Records after the head stay as they were written.
        _write_text(copy, first.getvalue() + records.read())
    copy.replace(path)


def _write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8, packed if the name ends in .gz."""
    import gzip

    content = text.encode()
    path.write_bytes(gzip.compress(content) if path.name.lower().endswith(".gz") else content)
