"""`privacygauge dp-audit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privacygauge.cli import completion, options

if TYPE_CHECKING:
    from privacygauge.audits.privacy_claim.play import ManyRuns, OneRun


def dp_audit(
    canaries: Annotated[
        Path,
        typer.Argument(
            metavar="CANARIES",
            help="Scores of canaries: .csv, .parquet, .jsonl or .npz with score (higher: more "
            "likely put in), member (0 or 1) and optionally id and unit.",
            show_default=False,
        ),
    ],
    epsilon: Annotated[
        float,
        typer.Option(
            "--epsilon", metavar="E", help="The claimed epsilon of adding or removing one record."
        ),
    ],
    delta: Annotated[float, typer.Option("--delta", metavar="D", help="The claimed delta.")] = 0.0,
    runs: Annotated[
        str,
        typer.Option(
            "--runs",
            metavar="one|many",
            autocompletion=completion.names("one", "many"),
            help="one: all canaries were in one training, each put in by a fair coin; many: every "
            "row is a training of its own.",
        ),
    ] = "one",
    guesses: Annotated[
        str,
        typer.Option(
            "--guesses",
            metavar="R|auto",
            help="How many canaries of one run are guessed, such as 100 or 100,1000; fixed before "
            "the scores are looked at. auto: 3%, 10%, 25%, 50% and 90%, corrected for.",
        ),
    ] = "auto",
    unit: options.UnitColumn = None,
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
            help="Exit with code 3 if a lower bound on epsilon is above VALUE: epsilon (assuming "
            "nothing) or epsilon-gaussian. May be given several times.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Audit a claim of differential privacy by what is guessed about canaries.

    Example: privacygauge dp-audit canaries.csv --epsilon 2 --delta 1e-5
    """
    from privacygauge.audits.privacy_claim.play import audit_privacy_claim
    from privacygauge.audits.privacy_claim.says import METRICS
    from privacygauge.cli.output import destination, emit
    from privacygauge.cli.provenance import file_hashes
    from privacygauge.report.limits import exceeded, parsed_limits

    limits = parsed_limits(fail_above, METRICS)
    design = _design(runs, guesses)
    folder = destination(out, json, "privacygauge-report")
    audit = audit_privacy_claim(
        canaries,
        epsilon,
        delta,
        design=design,
        unit=unit or "unit",
        seed=seed,
        level=level,
        command="dp-audit",
        provenance=file_hashes({"canaries": canaries}),
    )
    raise typer.Exit(emit(audit, folder, json, quiet, exceeded(audit.report(), limits)))


def _design(runs: str, guesses: str) -> OneRun | ManyRuns:
    from privacygauge.audits.privacy_claim.play import ManyRuns, OneRun
    from privacygauge.errors import InputError

    if runs not in ("one", "many"):
        raise InputError(f"--runs must be one or many, got {runs!r}")
    if runs == "many":
        if guesses != "auto":
            raise InputError("--guesses goes with --runs one; of many runs every row is judged")
        return ManyRuns()
    if guesses == "auto":
        return OneRun()
    try:
        return OneRun(tuple(int(number) for number in guesses.split(",")))
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"--guesses must be auto or whole numbers such as 100 or 100,1000, got {guesses!r}"
        ) from error
