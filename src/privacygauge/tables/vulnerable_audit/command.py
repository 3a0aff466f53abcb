"""Options of `privacygauge vulnerable`, and its run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from privacygauge.errors import InputError
from privacygauge.kinds.command import Command
from privacygauge.kinds.dropped import DroppedFile, Recognised, options, person_question
from privacygauge.kinds.request import HelpGroup, amounts
from privacygauge.runs.options import Role, asks, option
from privacygauge.tables.options import COLUMNS, TableRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privacygauge.kinds.session import Work
    from privacygauge.tables.distance import Distance
    from privacygauge.tables.vulnerable_audit.audit import VulnerableRecords

METRICS = amounts("vulnerability")
"""Metrics that a table can be held to."""

_HELP = """Rank the records of a table by how far they are from their nearest neighbours.

Synthetic data gives such records away first: they are the ones to audit.

Example: privacygauge vulnerable people.csv -k 5 --top 10

Example: privacygauge vulnerable people.csv --categorical income,region --json -
"""


@dataclass(frozen=True, kw_only=True)
class VulnerableRequest(TableRequest):
    """Options of an audit for vulnerable records."""

    UNUSED: ClassVar[tuple[str, ...]] = ("level",)

    k: int = option(
        "-k", "K", "Number of nearest neighbours whose mean distance is the score.", default=5
    )
    top: int = asks("N", "Number of records to list.", default=10)
    unit: str | None = asks("COLUMN", "Column of the people behind the rows. Default: none.")
    distance: str = asks(
        "NAME",
        "cosine, or minkowski: of the categories and of the numbers scaled to 0..1.",
        default="cosine",
        offers=("cosine", "minkowski"),
    )
    p: int | None = asks("P", "Order of minkowski: 1, 2, 3 or 4. Default: 2.")
    reference: str | None = option(
        "--against",
        "FILE",
        "A further table, such as the one that DATA is a part of: numbers are scaled to the range "
        "of both together, so that scores can be compared.",
        panel=COLUMNS,
    )
    write_schema: str | None = asks(
        "FILE",
        "Write to this file what the columns are taken for.",
        panel=COLUMNS,
        role=Role.PLAIN,
    )

    def check(self, jobs: int) -> None:
        """Raise if a number or a name is wrong, before the table is read."""
        if self.top < 1:
            raise InputError(f"--top must be at least 1, got {self.top}")
        # Raises if the name or the order is wrong.
        _ = self.measure

    @property
    def measure(self) -> Distance:
        """The distance between records."""
        from privacygauge.tables.distance import written_distance

        return written_distance(self.distance, self.p)


def play(asked: VulnerableRequest, work: Work) -> VulnerableRecords:
    """Compute the requested ranking."""
    from privacygauge.runs.results import check_writable, file_hashes, require_free, write_results
    from privacygauge.tables.frames import column_named, read_beside, read_frame, read_table
    from privacygauge.tables.vulnerable_audit.audit import vulnerable_records

    schema_file = None if asked.write_schema is None else Path(asked.write_schema).absolute()
    if schema_file is not None:
        # Before any work: the schema must not overwrite a file, nor fail to be written.
        another = "name another file with --write-schema, or move the file away"
        read = asked.files().values()
        require_free(schema_file.parent, [schema_file.name], inputs=read, way_out=another)
        check_writable(schema_file.parent)
    data = read_frame(asked.data, asked.separator, names=(asked.unit,), missing=asked.missing)
    people = column_named(data, asked.unit, "--unit")
    apart = [x for x in (asked.unit,) if x]
    table = read_table(
        data.drop(columns=apart),
        schema=asked.given_schema,
        continuous=asked.continuous,
        categorical=asked.categorical,
        drop=asked.drop,
    )
    if schema_file is not None:
        write_results(schema_file.parent, {schema_file.name: table.schema.to_json().encode()})
    reference = None
    if asked.reference is not None:
        further = read_frame(asked.reference, asked.separator, missing=asked.missing)
        further = further.drop(columns=apart, errors="ignore")
        reference = read_beside(further, table.schema, drop=asked.drop)
    found = vulnerable_records(
        table,
        k=asked.k,
        distance=asked.measure,
        reference=reference,
        unit=people,
        seed=asked.seed,
        provenance=file_hashes(asked.files()),
    )
    return replace(found, listed=asked.top)


def recognise(files: Sequence[DroppedFile]) -> list[Recognised]:
    """Recognise one table of records."""
    (file, *others) = files
    if others or not file.columns:
        return []
    return [
        Recognised(
            "A table of records, to be ranked by how far each stands out",
            lambda answers: [file.name, *options(answers, unit="unit")],
            questions=person_question(tuple(file.columns)),
        )
    ]


COMMAND = Command(
    "vulnerable",
    group=HelpGroup.TABLE,
    request=VulnerableRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits="Exit with code 3 if the vulnerability, the mean score of all records, is above VALUE.",
    folder=None,
    tables=("records.parquet",),
    recognise=recognise,
)
