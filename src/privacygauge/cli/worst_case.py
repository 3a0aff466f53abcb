"""`privacygauge worst-case`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacygauge.cli import completion, options
from privacygauge.cli.runs import RUN

CANARIES = "Canaries"
"""The heading of options that say whose membership is asked about."""


def worst_case(
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            metavar="FILE",
            help="The records: .csv or .parquet with a header, or .npz with x and y.",
            show_default=False,
        ),
    ],
    defence: Annotated[
        list[str] | None,
        typer.Option(
            "--defence",
            metavar="NAME[:N]",
            autocompletion=completion.names(*completion.TRAINING_DEFENCES),
            help="To compare with the training without a defence: early-stopping:EPOCH, l2:DECAY, "
            "dropout:RATE, adversarial-regularisation:LAMBDA, dp-sgd:EPSILON, "
            "dp-sgd-opacus:EPSILON or removal:RECORDS. Several with commas, or by giving it "
            "several times.",
            show_default=False,
        ),
    ] = None,
    canaries: Annotated[
        int,
        typer.Option(
            "--canaries",
            metavar="N",
            help="Records that get a wrong label; a few percent of all.",
            rich_help_panel=CANARIES,
        ),
    ] = 100,
    ordinary: Annotated[
        int | None,
        typer.Option(
            "--ordinary",
            metavar="N",
            help="Records with their own label that are asked about too; all others where nothing "
            "is given. The rest is in every training set.",
            show_default=False,
            rich_help_panel=CANARIES,
        ),
    ] = None,
    wrong_label: Annotated[
        str,
        typer.Option(
            "--wrong-label",
            metavar="NAME",
            autocompletion=completion.names(*completion.WRONG_LABELS),
            help="uniform (any other class) or least-likely (the class that a model without the "
            "record finds the least likely).",
            rich_help_panel=CANARIES,
        ),
    ] = "uniform",
    fpr: Annotated[
        list[str] | None,
        typer.Option(
            "--fpr",
            metavar="P",
            help="False-positive rates, with commas; 0.1,0.01,0.001 where nothing is given.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="NAME|FILE.py:NAME",
            autocompletion=completion.names(*completion.MODELS),
            help="What is trained: network (64 tanh), network-large (1024-512-256-128 ReLU), "
            "Networks of your own; without a defence, or with removal, any model of privacygauge "
            "classifier.",
            rich_help_panel=options.TRAINING,
        ),
    ] = "network",
    label: options.ClassColumn = "label",
    ids: options.NamesColumn = None,
    unit: options.UnitColumn = None,
    drop: options.DropFeature = None,
    records: options.RecordsDrawn = None,
    models: Annotated[
        int,
        typer.Option(
            "--models",
            metavar="N",
            help="Models to train, each in every way; each is the target once.",
            rich_help_panel=options.TRAINING,
        ),
    ] = 32,
    delta: options.DpSgdDelta = None,
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
            help="Exit with code 3 if METRIC of the canaries is above VALUE with any of the "
            "defences (without one where none is given): tpr (at the verdict's false-positive "
            "rate), tpr@0.1, tpr@0.01, tpr@0.001 or auc; with the best of them: tpr-left or "
            "auc-left. Add .low to look at the lower end of the interval (tpr.low=0.05). May be "
            "given several times.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Compare ways to train by the records most at risk, for which mislabelled canaries stand.

    Example: privacygauge worst-case --data people.csv --label income

    Example: privacygauge worst-case --data people.csv --label income --defence dropout:0.5,dp-sgd:8
    """
    from privacygauge.audits.worst_case.says import METRICS
    from privacygauge.cli import backends
    from privacygauge.cli.output import destination, emit
    from privacygauge.cli.worst_case_request import (
        WorstCaseRequest,
        fprs_in,
        worst_case_of_request,
    )
    from privacygauge.report.limits import exceeded, parsed_limits

    limits = parsed_limits(fail_above, METRICS)
    request = WorstCaseRequest(
        str(data),
        options.names_in(defence),
        model,
        label,
        ids,
        tuple(drop or ()),
        records,
        canaries,
        ordinary,
        models,
        wrong_label,
        fprs_in(options.names_in(fpr)),
        delta,
        seed,
        level,
        unit,
    )
    folder = destination(out, json, "privacygauge-report")
    run = None if folder is None else folder / RUN
    with backends.backend(backend):
        found = worst_case_of_request(request, run, jobs=jobs, quiet=quiet)
    raise typer.Exit(emit(found, folder, json, quiet, exceeded(found.report(), limits)))
