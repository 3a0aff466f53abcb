"""Kinds of dropped files, by their beginnings, and the audits that they are enough for."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from privacygauge.datasets import archives
from privacygauge.datasets.columns import NAMING, membership_in
from privacygauge.datasets.reading import (
    CSV,
    LINES,
    csv_text,
    fields_of_any_length,
    first_rows,
    read_content,
    read_json,
    read_json_lines,
    require_utf8,
    separator_of,
)
from privacygauge.errors import InputError
from privacygauge.kinds.dropped import (
    HELD_OUT,
    IN_TRAINING,
    DroppedFile,
    Recognised,
    Sides,
    says,
)
from privacygauge.report.numbers import plain
from privacygauge.report.render import SCHEMA

if TYPE_CHECKING:
    import pandas as pd

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

    readings: list[tuple[Sequence[DroppedFile], Sides | None]] = [(files, None)]
    if (both := _as_one(files)) is not None:
        readings.insert(0, ([both[0]], both[1]))
    found = [
        (command.name, one if sides is None else replace(one, joined=sides))
        for seen, sides in readings
        for command in COMMANDS
        if command.recognise is not None
        for one in command.recognise(seen)
        if sides is None or one.fit > _OF_ANY_TABLE
    ]
    if all(file.report for file in files):
        several = "Reports of finished audits" if len(files) > 1 else "The report of an audit"
        named = [f"{Path(file.name).stem}={file.name}" for file in files]
        found.append(("register", Recognised(several, lambda answers: named)))
    return sorted(found, key=lambda pair: -pair[1].fit)


_OF_ANY_TABLE = 2
"""Largest fit of an audit of tables whose columns have no plain meaning."""


def _as_one(files: Sequence[DroppedFile]) -> tuple[DroppedFile, Sides] | None:
    """Return the table of files whose names say train or test; None for other files.

    All have the same columns. Either none says who is a member, or all say it, each of one side.
    """
    members = {}
    for file in files:
        outside = says(file.name, f"{HELD_OUT}|nonmembers?|non|out")
        if outside == says(file.name, f"{IN_TRAINING}|members?|in") and not says(file.name, "non"):
            return None
        members[file.name] = not outside
    names = [*files[0].columns]
    if len({*members.values()}) < 2 or any({*file.columns} != {*names} for file in files):
        return None
    try:
        said = membership_in(names, "")
    except InputError:
        return None
    values = [{str(x).strip().lower() for x in file.columns.get(said or "", ())} for file in files]
    if said is not None and (any(len(x) != 1 for x in values) or len(set.union(*values)) < 2):
        return None
    # The end that keeps lists of numbers as they are.
    ending = ".parquet" if all(x.lower().endswith(".parquet") for x in members) else ".csv"
    free = (f"joined{'-' * i}{ending}" for i in range(len(files) + 1))
    name = next(x for x in free if x not in members)
    columns = {x: [value for file in files for value in file.columns[x]] for x in names}
    if said is None:
        columns["member"] = [
            int(members[file.name]) for file in files for _ in file.columns[names[0]]
        ]
    return DroppedFile(name, columns), Sides(name, members, None if said else "member")


def join_files(folder: Path, sides: Sides) -> None:
    """Write the table of files of members and of others beside them.

    A column id that numbers the rows of each file from the first on is left out: the first records
    of two files are not of one person.
    """
    import pandas as pd

    tables = [_table_in(folder / name) for name in sides.members]
    for key in tables[0].columns:
        numbered = (
            [str(x) for x in table[key]] == [str(i + first) for i in range(len(table))]
            for table in tables
            for first in (0, 1)
        )
        if str(key).lower() in (*NAMING, "") and sum(numbered) == len(tables):
            tables = [table.drop(columns=key) for table in tables]
    if sides.column is not None:
        inside = sides.members.values()
        tables = [
            table.assign(**{sides.column: int(x)}) for table, x in zip(tables, inside, strict=True)
        ]
    _write_table(folder / sides.name, pd.concat(tables, ignore_index=True))


def add_residuals(path: Path, pairs: Mapping[str, tuple[str, str]]) -> None:
    """Add columns to a table in place: each is the size of the difference of two others.

    The second of these, the answer of a model, is left out: nobody knows it without the model, and
    beside the first it would say as much as the difference.
    """
    table = _table_in(path) if pairs else None
    if table is None:
        return
    for name, (first, second) in pairs.items():
        try:
            table[name] = (table[first].astype(float) - table[second].astype(float)).abs()
        except ValueError as error:
            raise InputError(f"{path.name}: {first} and {second} must be numbers") from error
    answers = {second for _, second in pairs.values()}
    _write_table(path, table.drop(columns=[*answers]))


def _table_in(path: Path) -> pd.DataFrame:
    """Return a table whose names of records are texts as they were written."""
    names = [x for x in first_rows(path) if x.lower() in NAMING]
    with _named_alone(path):
        found = read_content(path, "table", names=names)
    if isinstance(found, Mapping):
        raise InputError(f"{path.name} holds arrays and is no table")
    return found


def _write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table in the form that its path ends in; a file that was linked keeps its content."""
    copy = path.with_name(f".{path.name}")
    if path.name.lower().endswith(".parquet"):
        table.to_parquet(copy, index=False)
    elif path.name.lower().endswith(LINES):
        _write_text(copy, str(table.to_json(orient="records", lines=True, double_precision=15)))
    else:
        separator = separator_of(path) if path.exists() else ","
        _write_text(copy, table.to_csv(index=False, sep=separator))
    copy.replace(path)


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
