"""`privacygauge vulnerable`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privacygauge.cli import completion, options
from privacygauge.errors import InputError

if TYPE_CHECKING:
    from privacygauge.synthetic.distance import Distance


def vulnerable(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="The table: .csv or .parquet with a header.",
            show_default=False,
        ),
    ],
    k: Annotated[
        int, typer.Option("-k", metavar="K", help="Neighbours to take the mean distance to.")
    ] = 5,
    top: Annotated[int, typer.Option("--top", metavar="N", help="Records to list.")] = 10,
    distance: Annotated[
        str,
        typer.Option(
            "--distance",
            metavar="NAME",
            autocompletion=completion.names("cosine", "minkowski"),
            help="cosine, or minkowski: of the categories and of the numbers scaled to 0..1.",
        ),
    ] = "cosine",
    p: Annotated[
        int | None,
        typer.Option(
            "--p",
            metavar="P",
            help="Of minkowski: 1, 2, 3 or 4; 2 where it is not given.",
            show_default=False,
        ),
    ] = None,
    continuous: options.Continuous = None,
    categorical: options.Categorical = None,
    schema: options.SchemaFile = None,
    write_schema: Annotated[
        str | None,
        typer.Option(
            "--write-schema",
            metavar="FILE",
            help="Write what the columns were taken for.",
            show_default=False,
            rich_help_panel=options.COLUMNS,
        ),
    ] = None,
    drop: options.DropColumn = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for report.html, report.json and records.parquet (row, score, rank of all "
            "records); earlier ones are replaced.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Only noted in the report: nothing is drawn.")
    ] = 0,
    json: options.Json = None,
    quiet: options.Quiet = False,
) -> None:
    """Rank the records of a table by how far they are from their nearest neighbours.

    Synthetic data gives such records away first: they are the ones to audit.

    Example: privacygauge vulnerable people.csv -k 5 --top 10

    Example: privacygauge vulnerable people.csv --categorical income,region --json -
    """
    from privacygauge.audits.provenance import file_hashes
    from privacygauge.audits.vulnerable.play import vulnerable_records
    from privacygauge.cli.output import check_json, emit_report, emit_text
    from privacygauge.runs.atomic import check_writable
    from privacygauge.synthetic.frames import read_schema, read_table

    measure = _distance(distance, p)
    if top < 1:
        raise InputError(f"--top must be at least 1, got {top}")
    if out is not None:
        check_writable(out)
    check_json(json)
    check_json(write_schema)
    table = read_table(
        data,
        schema=None if schema is None else read_schema(schema),
        continuous=options.names_in(continuous),
        categorical=options.names_in(categorical),
        drop=tuple(drop or ()),
    )
    if write_schema is not None:
        emit_text(table.schema.to_json(), write_schema)
    provenance = file_hashes({"data": data, "schema": schema})
    found = vulnerable_records(table, k=k, distance=measure, seed=seed, provenance=provenance)
    raise typer.Exit(emit_report(found.report(top), out, json, quiet, ()))


def _distance(name: str, p: int | None) -> Distance:
    from privacygauge.synthetic.distance import Cosine, Minkowski

    if name == "minkowski":
        return Minkowski(2 if p is None else p)
    if name != "cosine":
        raise InputError(f"--distance must be cosine or minkowski, got {name!r}")
    if p is not None:
        raise InputError(f"--p {p} goes with --distance minkowski only: the cosine has no p")
    return Cosine()
