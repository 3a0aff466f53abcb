"""Options that every command has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from privacygauge.cli import completion

RESULTS = "Results"
"""The heading of options that say where results go."""

WORKERS = "Workers"
"""The heading of options that say who does the work."""


def out(folder: str | None, files: str = "report.html, report.json and tables") -> Any:
    """Return the option of ``--out``, whose default is `folder`."""
    usual = f"{folder}, or none with --json" if folder else "none"
    return typer.Option(
        "--out",
        metavar="DIR",
        help=f"Folder for {files}; what is there is replaced. Default: {usual}.",
        show_default=False,
        rich_help_panel=RESULTS,
    )


def limits(text: str, metrics: tuple[str, ...]) -> Any:
    """Return the option of ``--fail-above`` for these metrics."""
    return typer.Option(
        "--fail-above",
        metavar="METRIC=VALUE",
        help=f"{text} May be given several times.",
        show_default=False,
        autocompletion=completion.names(*(f"{metric}=" for metric in metrics)),
        rich_help_panel=RESULTS,
    )


JSON = typer.Option(
    "--json",
    metavar="FILE|-",
    help="Write the result as JSON to this file, or to the standard output.",
    show_default=False,
    rich_help_panel=RESULTS,
)
QUIET = typer.Option(
    "--quiet", "-q", help="Print neither table nor progress.", rich_help_panel=RESULTS
)
POLICY = typer.Option(
    "--policy",
    metavar="FILE",
    help="Limits in a TOML file, as --fail-above: a table for each command, such as [classifier], "
    'of lines such as accuracy = 0.6 or "tpr@0.01" = 0.02.',
    show_default=False,
    rich_help_panel=RESULTS,
)
JOBS = typer.Option(
    "--jobs",
    metavar="N",
    help="Number of jobs at the same time; -1: one per core.",
    rich_help_panel=WORKERS,
)
BACKEND = typer.Option(
    "--backend",
    metavar="NAME[=ADDRESS]",
    autocompletion=completion.names(*completion.BACKENDS),
    help="Where jobs run: loky (processes here), threading, dask or ray.",
    rich_help_panel=WORKERS,
)

Out = Annotated[Path | None, out("privacygauge-report")]
Json = Annotated[str | None, JSON]
Quiet = Annotated[bool, QUIET]
Jobs = Annotated[int, JOBS]
Backend = Annotated[str, BACKEND]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of all random draws.")]

TRAINING = "Training shadow models"
"""The heading of options that concern training."""

ClassColumn = Annotated[
    str,
    typer.Option("--label", metavar="COLUMN", help="Column of classes.", rich_help_panel=TRAINING),
]
NamesColumn = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Column of the records' names.",
        show_default=False,
        rich_help_panel=TRAINING,
    ),
]
UnitColumn = Annotated[
    str | None,
    typer.Option(
        "--unit",
        metavar="COLUMN",
        help="Column of the people behind the rows: rows of one are never taken for independent. "
        "Default: unit where predictions or canaries have it, or equal ids.",
        show_default=False,
    ),
]
DropFeature = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        metavar="COLUMN",
        help="A column that is no feature. May be given several times.",
        show_default=False,
        rich_help_panel=TRAINING,
    ),
]
RecordsDrawn = Annotated[
    int | None,
    typer.Option(
        "--records",
        metavar="N",
        help="Use so many records, drawn at random; all where nothing is given.",
        show_default=False,
        rich_help_panel=TRAINING,
    ),
]
DpSgdDelta = Annotated[
    float | None,
    typer.Option(
        "--delta",
        metavar="D",
        help="Of DP-SGD; one over the number of records where nothing is given.",
        show_default=False,
        rich_help_panel=TRAINING,
    ),
]
Level = Annotated[float, typer.Option("--level", metavar="P", help="Level of every interval.")]
FailAbove = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-above",
        metavar="METRIC=VALUE",
        autocompletion=completion.metrics,
        help="Exit with code 3 if the highest METRIC of all attacks is above VALUE: accuracy, "
        "auc, advantage, tpr@0.1, tpr@0.01, tpr@0.001, epsilon or risk; add .low to look at the "
        "lower end of the interval (accuracy.low=0.6). May be given several times.",
        show_default=False,
    ),
]

COLUMNS = "Columns"
"""The heading of options that say what columns are."""

Continuous = Annotated[
    list[str] | None,
    typer.Option(
        "--continuous",
        metavar="A,B",
        help="Columns to take as numbers. Without it columns of numbers are numbers.",
        show_default=False,
        rich_help_panel=COLUMNS,
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical",
        metavar="A,B",
        help="Columns to take as categories, such as codes and classes. Without it all "
        "columns but those of numbers are.",
        show_default=False,
        rich_help_panel=COLUMNS,
    ),
]
SchemaFile = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="FILE",
        help="What the columns have to be: JSON that privacygauge vulnerable --write-schema wrote, "
        "edited or not.",
        show_default=False,
        rich_help_panel=COLUMNS,
    ),
]
DropColumn = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        metavar="COLUMN",
        help="A column to leave out, such as names. May be given several times.",
        show_default=False,
        rich_help_panel=COLUMNS,
    ),
]


def names_in(texts: list[str] | None) -> tuple[str, ...]:
    """Return the names in texts such as ``a,b``, each of which may hold several."""
    return tuple(name for text in texts or () for name in text.split(",") if name)
