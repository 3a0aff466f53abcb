"""`leakscope language`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakscope.cli import options


def language(
    scores: Annotated[
        Path,
        typer.Option(
            "--scores",
            metavar="FILE",
            help="Energies of samples: .jsonl, .jsonl.gz, .csv or .parquet with the columns "
            "sample, energy_target and member (0 or 1), and as far as known group (the patient), "
            "energy_reference, population (0 or 1), length (tokens) and text.",
            show_default=False,
        ),
    ],
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold",
            metavar="NAME",
            help="Where thresholds come from: population, oracle (the judged non-members "
            "themselves) or mean-train (the members' mean); several as a,b. Default: population, "
            "or oracle without one; the loss also with mean-train.",
            show_default=False,
        ),
    ] = None,
    fpr: Annotated[
        list[str] | None,
        typer.Option(
            "--fpr",
            metavar="RATE",
            help="False-positive rate that thresholds are chosen for; several as 0.1,0.01, which "
            "is the default.",
            show_default=False,
        ),
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            "--show",
            metavar="COLUMN",
            help="Print text or length beside the samples most at risk (default: ids only).",
            show_default=False,
        ),
    ] = None,
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
            help="Exit with code 3 if METRIC is above VALUE, or if a control says that the test "
            "is not honest: accuracy, auc, advantage, tpr@0.1, tpr@0.01, tpr@0.001 (the highest "
            "of all attacks, sample by sample), epsilon, patient-auc, patient-accuracy; add .low "
            "for the lower end of the interval. May be given several times.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Audit a language model from the energies of texts.

    Example: leakscope language --scores energies.jsonl --threshold population --fpr 0.1
    """
    from leakscope.cli.gate import METRICS_OF_LANGUAGE, exceeded_by_language, parse_limits
    from leakscope.cli.language_request import LanguageRequest, language_of_request, rates_in
    from leakscope.cli.output import destination, emit

    limits = parse_limits(fail_above, METRICS_OF_LANGUAGE)
    request = LanguageRequest(
        scores,
        options.names_in(threshold) or None,
        rates_in(options.names_in(fpr)),
        options.names_in(show),
        seed,
        level,
    )
    folder = destination(out, json, "leakscope-report")
    found = language_of_request(request)
    raise typer.Exit(emit(found, folder, json, quiet, exceeded_by_language(found, limits)))
