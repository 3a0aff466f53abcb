"""`privacygauge synthetic`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacygauge.cli import completion, options

GAME = "The privacy game"
"""The heading of options that concern the game."""

RELEASED = "A table that was released already"
"""The heading of options that concern a table that exists."""


def synthetic(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="REAL",
            help="Records that a generator learns from: .csv or .parquet with a header.",
            show_default=False,
        ),
    ],
    generator: Annotated[
        str | None,
        typer.Option(
            "--generator",
            metavar="NAME",
            autocompletion=completion.names(*completion.GENERATORS),
            help="What to audit: baynet, privbayes:epsilon=1, synthpop, independent, identity, "
            "silence; your own FILE.py:NAME or MODULE:NAME (fit and sample, or a function of "
            "frame, n and seed); or 'command: PROGRAM ...', which reads CSV and writes CSV.",
            show_default=False,
        ),
    ] = None,
    released: Annotated[
        Path | None,
        typer.Option(
            "--synthetic",
            metavar="FILE",
            help="A synthetic table made from REAL: it is audited as it is.",
            show_default=False,
            rich_help_panel=RELEASED,
        ),
    ] = None,
    holdout: Annotated[
        Path | None,
        typer.Option(
            "--holdout",
            metavar="FILE",
            help="Records of the same source as REAL that the table was not made from: without "
            "them general knowledge and leakage cannot be told apart.",
            show_default=False,
            rich_help_panel=RELEASED,
        ),
    ] = None,
    attempts: Annotated[
        int,
        typer.Option(
            "--attempts",
            metavar="N",
            help="Attempts at singling out, linking and inferring.",
            rich_help_panel=RELEASED,
        ),
    ] = 500,
    targets: Annotated[
        str,
        typer.Option(
            "--targets",
            metavar="N|all|ROWS",
            help="Records to attack: so many, all, or the rows 17,4 (one row: 17,).",
            rich_help_panel=GAME,
        ),
    ] = "10",
    select: Annotated[
        list[str] | None,
        typer.Option(
            "--select",
            metavar="A,B",
            autocompletion=completion.names(*completion.SELECTORS),
            help="How N records are chosen: distance (the most vulnerable), random, rare, "
            "likelihood; several give N each, side by side. Default: distance.",
            show_default=False,
            rich_help_panel=GAME,
        ),
    ] = None,
    game: Annotated[
        str | None,
        typer.Option(
            "--game",
            metavar="NAME",
            autocompletion=completion.names(*completion.GAMES),
            help="average (a fresh data set for every table), specific (one data set), or shared "
            "(one pool of tables for all records). Default: average; above 50 records shared.",
            show_default=False,
            rich_help_panel=GAME,
        ),
    ] = None,
    knowledge: Annotated[
        str | None,
        typer.Option(
            "--knowledge",
            metavar="NAME",
            autocompletion=completion.names(*completion.KNOWLEDGE),
            help="What the adversary has: auxiliary records, exact (all others of the data set; "
            "game specific) or synthetic (the released table alone; game average).",
            show_default=False,
            rich_help_panel=GAME,
        ),
    ] = None,
    shadows: Annotated[
        int,
        typer.Option(
            "--shadows",
            metavar="N",
            help="Synthetic tables that the adversary makes, for each record or for all.",
            rich_help_panel=GAME,
        ),
    ] = 1000,
    tests: Annotated[
        int | None,
        typer.Option(
            "--tests",
            metavar="N",
            help="Synthetic tables that it is asked about. Default: as --half-width needs.",
            show_default=False,
            rich_help_panel=GAME,
        ),
    ] = None,
    half_width: Annotated[
        float,
        typer.Option(
            "--half-width",
            metavar="H",
            help="Half of the width that a record's interval shall have, for an AUC near 1/2.",
            rich_help_panel=GAME,
        ),
    ] = 0.05,
    size: Annotated[
        int | None,
        typer.Option(
            "--size",
            metavar="N",
            help="Records that a generator learns from. Default: 1,000, or a sixth of a small "
            "table.",
            show_default=False,
            rich_help_panel=GAME,
        ),
    ] = None,
    made: Annotated[
        int | None,
        typer.Option(
            "--made",
            metavar="N",
            help="Records of a synthetic table. Default: as many as it was learnt from.",
            show_default=False,
            rich_help_panel=GAME,
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(
            "--label",
            metavar="COLUMN",
            help="Column to predict where the table's use is measured. Default: several in turn.",
            show_default=False,
        ),
    ] = None,
    continuous: options.Continuous = None,
    categorical: options.Categorical = None,
    schema: options.SchemaFile = None,
    drop: options.DropColumn = None,
    ids: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="Column of the records' names; it is left out of the table.",
            show_default=False,
            rich_help_panel=options.COLUMNS,
        ),
    ] = None,
    unit: options.UnitColumn = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            "--show",
            metavar="COLUMN",
            help="A column to print beside the riskiest records (default: rows only).",
            show_default=False,
        ),
    ] = None,
    jobs: options.Jobs = -1,
    backend: options.Backend = "loky",
    out: options.Out = None,
    seed: options.Seed = 0,
    json: options.Json = None,
    quiet: options.Quiet = False,
    level: options.Level = 0.95,
    fail_above: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-above",
            metavar="METRIC=VALUE",
            autocompletion=completion.metrics,
            help="Exit with code 3 if METRIC is above VALUE: auc (mean over the records), worst "
            "(AUC of the record at most risk) or epsilon; add .low for the lower end of the "
            "interval. Of a released table: beyond (whatever goes furthest beyond the "
            "holdout), accuracy, auc, epsilon, copies, singling-out, linkability, inference. May "
            "be given several times.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Audit a generator of synthetic tables, or a table that was released already.

    Example: privacygauge synthetic people.csv --generator baynet --targets 10

    Example: privacygauge synthetic people.csv --synthetic released.csv --holdout others.csv
    """
    from privacygauge.audits.generator.says import METRICS
    from privacygauge.cli import backends
    from privacygauge.cli.output import destination, emit
    from privacygauge.cli.runs import RUN
    from privacygauge.cli.synthetic_request import SyntheticRequest, synthetic_of_request
    from privacygauge.errors import InputError
    from privacygauge.report.limits import exceeded, parsed_limits

    if (generator is None) == (released is None):
        raise InputError(
            "give either --generator, to audit what makes tables, or --synthetic, to audit a "
            "table that was made"
        )
    if released is None and holdout is not None:
        raise InputError("--holdout goes with --synthetic, a table that was made")
    columns = (options.names_in(continuous), options.names_in(categorical))
    if released is not None:
        from privacygauge.audits.released_table.says import METRICS as METRICS_OF_TABLE
        from privacygauge.cli.released import ReleasedRequest, released_of_request

        limits = parsed_limits(fail_above, METRICS_OF_TABLE)
        folder = destination(out, json, "privacygauge-report")
        asked = ReleasedRequest(
            data,
            released,
            holdout,
            attempts,
            label,
            schema,
            *columns,
            tuple(drop or ()),
            ids,
            tuple(show or ()),
            seed,
            level,
            unit,
        )
        audit = released_of_request(asked)
        raise typer.Exit(emit(audit, folder, json, quiet, exceeded(audit.report(), limits)))
    limits = parsed_limits(fail_above, METRICS)
    request = SyntheticRequest(
        str(generator),
        str(data),
        targets,
        options.names_in(select) or ("distance",),
        game,
        knowledge,
        shadows,
        tests,
        half_width,
        size,
        made,
        label,
        None if schema is None else str(schema),
        *columns,
        tuple(drop or ()),
        ids,
        tuple(show or ()),
        seed,
        level,
        unit,
    )
    folder = destination(out, json, "privacygauge-report")
    run = None if folder is None else folder / RUN
    with backends.backend(backend):
        found = synthetic_of_request(request, run, jobs=jobs, quiet=quiet)
    raise typer.Exit(emit(found, folder, json, quiet, exceeded(found.report(), limits)))
