"""`privacygauge holdout log`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacygauge.cli import completion, options


def log(
    history: Annotated[
        Path,
        typer.Argument(
            metavar="HISTORY",
            help="The history: .jsonl, .csv or .parquet with the columns time, account and score "
            "(accuracy, or right answers); in .jsonl and .parquet also predictions, lists of "
            "labels.",
            show_default=False,
        ),
    ],
    n: Annotated[
        int | None,
        typer.Option(
            "--n",
            metavar="N",
            help="Examples of the test set; told by --labels or --predictions.",
            show_default=False,
        ),
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(
            "--classes",
            metavar="M",
            help="Classes; counted in the labels where they are given.",
            show_default=False,
        ),
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(
            "--predictions",
            metavar="FILE",
            help="Submitted labels: .npy of shape (submissions, N) in the order of HISTORY, or "
            ".npz with an array under each name in its column submission.",
            show_default=False,
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="Hidden labels, .npy or .npz: to replay the history under every guard. They are "
            "in no output.",
            show_default=False,
        ),
    ] = None,
    guard: Annotated[
        list[str] | None,
        typer.Option(
            "--guard",
            metavar="GUARD",
            autocompletion=completion.names(*completion.GUARDS),
            help="Replay under this guard, such as round:2 or ladder:0.01; by default under five. "
            "May be given several times.",
            show_default=False,
        ),
    ] = None,
    out: options.Out = None,
    seed: options.Seed = 0,
    json: options.Json = None,
    quiet: options.Quiet = False,
    level: Annotated[
        float,
        typer.Option(
            "--level", metavar="P", help="Honest histories have no finding this often, at least."
        ),
    ] = 0.95,
    fail_above: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-above",
            metavar="METRIC=VALUE",
            autocompletion=completion.metrics,
            help="Exit with code 3 if METRIC is above VALUE: findings (how many), suspects "
            "(accounts in them) or explained (share of the lead that selection alone explains). "
            "May be given several times.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Look for attacks in a leaderboard's history, and replay it under guards.

    Example: privacygauge holdout log history.csv --n 10000 --classes 10

    Example: privacygauge holdout log history.jsonl --labels labels.npy --fail-above findings=0
    """
    from privacygauge.audits.leaderboard.play import GUARDS, audit_leaderboard
    from privacygauge.audits.leaderboard.says import METRICS
    from privacygauge.audits.provenance import file_hashes
    from privacygauge.cli.output import destination, emit
    from privacygauge.holdout.history.reading import read_history
    from privacygauge.report.limits import exceeded, parsed_limits

    limits = parsed_limits(fail_above, METRICS)
    folder = destination(out, json, "privacygauge-report")
    audit = audit_leaderboard(
        read_history(history, n=n, n_classes=classes, predictions=predictions, labels=labels),
        guards=tuple(guard or GUARDS),
        seed=seed,
        level=level,
        command="holdout log",
        provenance=file_hashes({"history": history, "predictions": predictions, "labels": labels}),
    )
    raise typer.Exit(emit(audit, folder, json, quiet, exceeded(audit.report(), limits)))
