"""`privacygauge holdout bound`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacygauge.cli import completion, options
from privacygauge.errors import InputError

HONEST = "Honest submissions"
"""The heading of options that concern submissions that nobody meant as an attack."""


def bound(
    n: Annotated[
        int, typer.Option("--n", metavar="N", help="Examples of the test set.", show_default=False)
    ],
    classes: Annotated[
        int, typer.Option("--classes", metavar="M", help="Classes.", show_default=False)
    ],
    queries: Annotated[
        int | None,
        typer.Option(
            "--queries",
            metavar="K",
            help="Submissions of all accounts together.",
            show_default=False,
        ),
    ] = None,
    accounts: Annotated[
        int | None,
        typer.Option(
            "--accounts",
            metavar="A",
            help="Accounts, where --per-account is given in place of --queries.",
            show_default=False,
        ),
    ] = None,
    per_account: Annotated[
        int | None,
        typer.Option(
            "--per-account",
            metavar="L",
            help="Submissions that each account may make.",
            show_default=False,
        ),
    ] = None,
    guard: Annotated[
        str,
        typer.Option(
            "--guard",
            metavar="GUARD",
            autocompletion=completion.names(*completion.GUARDS),
            help="What is shown: exact, round:2 (whole percent), noise:0.005, laplace:0.005, "
            "ladder, ladder:0.01, thresholdout:0.04.",
        ),
    ] = "exact",
    bias: Annotated[
        float,
        typer.Option(
            "--bias",
            metavar="B",
            help="Bias that can be lived with: how many submissions, or examples, keep it?",
        ),
    ] = 0.005,
    probability: Annotated[
        float,
        typer.Option(
            "--probability", metavar="P", help="How often, at least, a guarantee shall hold."
        ),
    ] = 0.95,
    accuracy: Annotated[
        float,
        typer.Option(
            "--accuracy",
            metavar="P",
            help="True accuracy of honest submissions.",
            rich_help_panel=HONEST,
        ),
    ] = 0.8,
    correlation: Annotated[
        float,
        typer.Option(
            "--correlation",
            metavar="R",
            help="Between the errors of two of them: 0 for unrelated models.",
            rich_help_panel=HONEST,
        ),
    ] = 0.0,
    simulate: Annotated[
        int,
        typer.Option(
            "--simulate",
            metavar="T",
            help="Play naive Bayes so many times on made-up labels: a check of the formulas, and "
            "the only way for a ladder.",
        ),
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for report.html and report.json; earlier ones are replaced.",
            show_default=False,
        ),
    ] = None,
    seed: options.Seed = 0,
    json: options.Json = None,
    quiet: options.Quiet = False,
    fail_above: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-above",
            metavar="METRIC=VALUE",
            autocompletion=completion.metrics,
            help="Exit with code 3 if METRIC is above VALUE: bias (the strongest known attack), "
            "honest, nb, majority, scan, kl or theorem-3-1. May be given several times.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Tell what submissions to a test set can buy: by attack, by honest selection, at most.

    Example: privacygauge holdout bound --n 10000 --classes 2 --queries 2000

    Example: privacygauge holdout bound --n 50000 --classes 1000 --accounts 52 --per-account 100
    """
    from privacygauge.audits.holdout_bound.play import holdout_bounds
    from privacygauge.audits.holdout_bound.says import METRICS
    from privacygauge.cli.output import check_json, emit
    from privacygauge.report.limits import exceeded, parsed_limits
    from privacygauge.runs.atomic import check_writable

    limits = parsed_limits(fail_above, METRICS)
    each, many = _submissions(queries, accounts, per_account)
    if out is not None:
        check_writable(out)
    check_json(json)
    found = holdout_bounds(
        n,
        classes,
        each,
        accounts=many,
        guard=guard,
        accuracy=accuracy,
        correlation=correlation,
        bias=bias,
        probability=probability,
        simulate=simulate,
        seed=seed,
        command="holdout bound",
    )
    raise typer.Exit(emit(found, out, json, quiet, exceeded(found.report(), limits)))


def _submissions(
    queries: int | None, accounts: int | None, per_account: int | None
) -> tuple[int, int]:
    """Return the submissions of each account, and the number of accounts."""
    if queries is not None and accounts is None and per_account is None:
        return queries, 1
    if queries is None and accounts is not None and per_account is not None:
        return per_account, accounts
    raise InputError(
        "give either --queries, the submissions of all accounts together, or both --accounts and "
        "--per-account"
    )
