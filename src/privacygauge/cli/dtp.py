"""`privacygauge dtp`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacygauge.cli import completion, options

DIFFERENT_MODEL = "The classifier"
"""The heading of options that concern the classifier."""

FURTHER = "Further measurements"
"""The heading of options that ask for more than one value a record."""


def dtp(
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            metavar="FILE",
            help="The training set: .csv or .parquet with a header, or .npz with x and y.",
            show_default=False,
        ),
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="NAME|FILE.py:NAME",
            autocompletion=completion.names(*completion.DTP_MODELS),
            help="naive-bayes, bayes-inference, random-trees (on categories); logistic, lda, qda, "
            "least-squares, nearest: exact without training. random-forest, gradient-boosting, "
            "network, network-large, or a callable of your own: trained once more for each record.",
            rich_help_panel=DIFFERENT_MODEL,
        ),
    ] = "naive-bayes",
    label: Annotated[str, typer.Option("--label", metavar="COLUMN", help="Column of classes.")] = (
        "label"
    ),
    continuous: Annotated[
        list[str] | None,
        typer.Option(
            "--continuous",
            metavar="A,B",
            help="Columns of numbers, for models on categories; all others are categories.",
            show_default=False,
            rich_help_panel=DIFFERENT_MODEL,
        ),
    ] = None,
    alpha: Annotated[
        float,
        typer.Option(
            "--alpha",
            metavar="A",
            help="Laplace smoothing of models on categories; 0 for none.",
            rich_help_panel=DIFFERENT_MODEL,
        ),
    ] = 1.0,
    l2: Annotated[
        float,
        typer.Option(
            "--l2",
            metavar="L",
            help="Weight of the squared coefficients in logistic and least-squares.",
            rich_help_panel=DIFFERENT_MODEL,
        ),
    ] = 1.0,
    neighbours: Annotated[
        int,
        typer.Option(
            "--neighbours", metavar="K", help="Of nearest.", rich_help_panel=DIFFERENT_MODEL
        ),
    ] = 5,
    bin_width: Annotated[
        float,
        typer.Option(
            "--bin", metavar="W", help="Width of the bins of published probabilities; 0 for none."
        ),
    ] = 0.01,
    measure: Annotated[
        int | None,
        typer.Option(
            "--measure",
            metavar="N",
            help="Measure so many records, drawn at random; all where nothing is given.",
            show_default=False,
        ),
    ] = None,
    queries: Annotated[
        int,
        typer.Option(
            "--queries",
            metavar="N",
            help="Records to ask about beside the one left out, in search of a larger change, "
            "where the largest is not known.",
        ),
    ] = 500,
    training_sets: Annotated[
        int,
        typer.Option(
            "--training-sets",
            metavar="N",
            help="Measure again in both halves of the data, cut so many times; 10 in the paper.",
            rich_help_panel=FURTHER,
        ),
    ] = 0,
    remove: Annotated[
        int,
        typer.Option(
            "--remove",
            metavar="N",
            help="Remove so many of the riskiest records, one at a time.",
            rich_help_panel=FURTHER,
        ),
    ] = 0,
    order: Annotated[
        str,
        typer.Option(
            "--order",
            metavar="NAME",
            autocompletion=completion.names("recomputed", "initial"),
            help="Of removal: recomputed (the riskiest of those left) or initial.",
            rich_help_panel=FURTHER,
        ),
    ] = "recomputed",
    vary: Annotated[
        int,
        typer.Option(
            "--vary",
            metavar="N",
            help="Train so many models each with other initial weights and on other records, to "
            "see whether the two riskiest records stand out.",
            rich_help_panel=FURTHER,
        ),
    ] = 0,
    ids: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="COLUMN", help="Column of the records' names.", show_default=False
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            "--drop",
            metavar="COLUMN",
            help="A column that is no feature. May be given several times.",
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
            help="Exit with code 3 if METRIC is above VALUE: pdtp (largest), mean, share (of "
            "records above 1), dtp (largest that a query shows) or dtp-upper (largest that none "
            "exceeds). May be given several times.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Measure how far each training record moves a classifier: differential training privacy.

    Example: privacygauge dtp --data people.csv --label income --model naive-bayes

    Example: privacygauge dtp --data people.csv --label income --model logistic --bin 0
    """
    from privacygauge.audits.dtp.says import METRICS
    from privacygauge.cli import backends
    from privacygauge.cli.dtp_request import DtpRequest, dtp_of_request
    from privacygauge.cli.output import destination, emit
    from privacygauge.cli.runs import RUN
    from privacygauge.report.limits import exceeded, parsed_limits

    limits = parsed_limits(fail_above, METRICS)
    request = DtpRequest(
        model,
        str(data),
        label,
        options.names_in(continuous),
        alpha,
        l2,
        neighbours,
        bin_width,
        measure,
        queries,
        training_sets,
        remove,
        order,
        vary,
        ids,
        tuple(drop or ()),
        seed,
        level,
    )
    folder = destination(out, json, "privacygauge-report")
    run = None if folder is None else folder / RUN
    with backends.backend(backend):
        audit = dtp_of_request(request, run, jobs=jobs, quiet=quiet)
    raise typer.Exit(emit(audit, folder, json, quiet, exceeded(audit.report(), limits)))
