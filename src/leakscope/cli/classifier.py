"""`leakscope classifier`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakscope.cli import options


def classifier(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="TARGET",
            help="Predictions of the audited model: .npz with probs (or logits), labels, member; "
            ".csv or .parquet with p_0 ... (or z_0 ...), label, member.",
            show_default=False,
        ),
    ],
    shadow: Annotated[
        Path | None,
        typer.Option(
            "--shadow",
            metavar="SHADOW",
            help="Predictions of a model of your own, trained alike on other records. Without it "
            "thresholds are cross-fitted on the target.",
            show_default=False,
        ),
    ] = None,
    out: options.Out = None,
    seed: options.Seed = 0,
    json: options.Json = None,
    quiet: options.Quiet = False,
    level: options.Level = 0.95,
    slice_by: Annotated[
        list[str] | None,
        typer.Option(
            "--slice",
            metavar="COLUMN",
            help="A column of TARGET whose groups are looked at; all columns where none is given.",
            show_default=False,
        ),
    ] = None,
    estimator: Annotated[
        str,
        typer.Option(
            "--risk", metavar="NAME", help="Estimator of the risk score: isotonic or histogram."
        ),
    ] = "isotonic",
    show: Annotated[
        list[str] | None,
        typer.Option(
            "--show",
            metavar="COLUMN",
            help="A column of TARGET to print beside the riskiest records (default: ids only).",
            show_default=False,
        ),
    ] = None,
    allow_missing_classes: Annotated[
        bool,
        typer.Option(
            "--allow-missing-classes",
            help="Use the global threshold for classes without shadow records.",
        ),
    ] = False,
    fail_above: options.FailAbove = None,
) -> None:
    """Audit a classifier from its predictions alone.

    Example: leakscope classifier target.npz --shadow shadow.npz --out report
    """
    from leakscope.audit import audit_classifier
    from leakscope.cli.gate import parse_limits
    from leakscope.cli.output import destination, emit
    from leakscope.cli.provenance import file_hashes
    from leakscope.core.attacks.posterior import Estimator, Histogram, Isotonic
    from leakscope.errors import InputError

    estimators: dict[str, Estimator] = {"isotonic": Isotonic(), "histogram": Histogram()}
    if estimator not in estimators:
        raise InputError(f"--risk must be isotonic or histogram, got {estimator!r}")
    limits = parse_limits(fail_above)
    folder = destination(out, json, "leakscope-report")
    audit = audit_classifier(
        target,
        shadow,
        estimator=estimators[estimator],
        slices=slice_by,
        allow_missing_classes=allow_missing_classes,
        show_columns=show or (),
        seed=seed,
        level=level,
        command="classifier",
        provenance=file_hashes({"target": target, "shadow": shadow}),
    )
    raise typer.Exit(emit(audit, folder, json, quiet, limits))
