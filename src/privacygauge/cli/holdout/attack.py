"""`privacygauge holdout attack`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacygauge.cli import completion, options

KNOWLEDGE = "What the attacker knows"
"""The heading of options that say what the attacker starts from."""


def attack(
    labels: Annotated[
        Path,
        typer.Option(
            "--labels",
            metavar="LABELS",
            help="The hidden labels, integers from 0: .npy, .npz (no pickle), or .csv or .parquet "
            "with one column.",
            show_default=False,
        ),
    ],
    queries: Annotated[
        int,
        typer.Option(
            "--queries",
            metavar="K",
            help="Submissions that each attack may make.",
            show_default=False,
        ),
    ],
    attacks: Annotated[
        list[str] | None,
        typer.Option(
            "--attack",
            metavar="A,B",
            autocompletion=completion.names(*completion.HOLDOUT_ATTACKS),
            help="nb (naive Bayes), majority, majority-blum-hardt, scan, message-passing, "
            "linear-programming (small test sets), designed, reconstruction (of 40 labels; "
            "needs the extra solver). Default: nb.",
            show_default=False,
        ),
    ] = None,
    guards: Annotated[
        list[str] | None,
        typer.Option(
            "--guard",
            metavar="G,H",
            autocompletion=completion.names(*completion.GUARDS),
            help="What answers submissions: exact, round:2 (whole percent), noise:0.005, "
            "laplace:0.005, ladder, ladder:0.01, thresholdout:0.04. Default: exact.",
            show_default=False,
        ),
    ] = None,
    trials: Annotated[
        int,
        typer.Option("--trials", metavar="T", help="Plays of each attack against each guard."),
    ] = 10,
    classes: Annotated[
        int | None,
        typer.Option(
            "--classes",
            metavar="M",
            help="Classes. Default: as many as --logits has columns, or one more than the largest "
            "label.",
            show_default=False,
        ),
    ] = None,
    logits: Annotated[
        Path | None,
        typer.Option(
            "--logits",
            metavar="LOGITS",
            help="A base model's logits for the examples, (n, m): .npy or .npz.",
            show_default=False,
            rich_help_panel=KNOWLEDGE,
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            metavar="R",
            help="Try only the model's R likeliest labels of each example.",
            show_default=False,
            rich_help_panel=KNOWLEDGE,
        ),
    ] = None,
    least_confident: Annotated[
        int | None,
        typer.Option(
            "--least-confident",
            metavar="N",
            help="Attack only the N examples of which the model is least sure.",
            show_default=False,
            rich_help_panel=KNOWLEDGE,
        ),
    ] = None,
    temperature: Annotated[
        float,
        typer.Option(
            "--temperature",
            metavar="T",
            help="Logits are divided by it: above 1 for a model that is too sure.",
            rich_help_panel=KNOWLEDGE,
        ),
    ] = 1.0,
    prior: Annotated[
        str,
        typer.Option(
            "--prior",
            metavar="NAME",
            autocompletion=completion.names("uniform", "classes"),
            help="Without --logits: uniform, or classes (the attacker knows how frequent each "
            "class is).",
            rich_help_panel=KNOWLEDGE,
        ),
    ] = "uniform",
    jobs: Annotated[
        int,
        typer.Option("--jobs", metavar="N", help="Plays at the same time; -1 for one a core."),
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for report.html and report.json; earlier ones are replaced. Default: "
            "privacygauge-report, or none where --json is given.",
            show_default=False,
        ),
    ] = None,
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
            help="Exit with code 3 if METRIC of the strongest attack is above VALUE: bias or "
            "accuracy; add .low for the lower end of the interval. May be given several times.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Attack your own label file through the scores of submissions, here and nowhere else.

    Example: privacygauge holdout attack --labels labels.npy --queries 2000

    Example: privacygauge holdout attack --labels labels.npy --queries 2000 --attack nb,designed
    --guard exact,round:2,ladder
    """
    from privacygauge.audits.holdout_attack.says import METRICS
    from privacygauge.cli.holdout.attack_request import AttackRequest, attack_of_request
    from privacygauge.cli.output import destination, emit
    from privacygauge.cli.runs import RUN
    from privacygauge.report.limits import exceeded, parsed_limits

    limits = parsed_limits(fail_above, METRICS)
    folder = destination(out, json, "privacygauge-report")
    request = AttackRequest(
        str(labels),
        queries,
        options.names_in(attacks) or ("nb",),
        options.names_in(guards) or ("exact",),
        trials,
        classes,
        None if logits is None else str(logits),
        top,
        least_confident,
        temperature,
        prior,
        seed,
        level,
    )
    run = None if folder is None else folder / RUN
    found = attack_of_request(request, run, jobs=jobs, quiet=quiet)
    raise typer.Exit(emit(found, folder, json, quiet, exceeded(found.report(), limits)))
