"""`privacygauge classifier`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privacygauge.cli import completion, options
from privacygauge.cli.runs import RUN

if TYPE_CHECKING:
    from privacygauge.audits.classifier.found import Audit


def classifier(
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="TARGET",
            help="Predictions of the audited model: .npz with probs (or logits), labels, member; "
            ".csv or .parquet with p_0 ... (or z_0 ...), label, member.",
            show_default=False,
        ),
    ] = None,
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
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME|FILE.py:NAME",
            autocompletion=completion.names(*completion.MODELS),
            help="Train models instead: random-forest, gradient-boosting, logistic, naive-bayes, "
            "nearest, network (64 tanh), network-large (1024-512-256-128 ReLU), or a callable of "
            "your own that takes a random state and returns an untrained model.",
            show_default=False,
            rich_help_panel=options.TRAINING,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="Candidate records: .csv or .parquet with a header, or .npz with x and y.",
            show_default=False,
            rich_help_panel=options.TRAINING,
        ),
    ] = None,
    label: options.ClassColumn = "label",
    fitted: Annotated[
        str | None,
        typer.Option(
            "--fitted",
            metavar="FILE.py:NAME",
            help="A trained model to audit (or a function that returns it); with --member. "
            "Without it a target is trained.",
            show_default=False,
            rich_help_panel=options.TRAINING,
        ),
    ] = None,
    member: Annotated[
        str | None,
        typer.Option(
            "--member",
            metavar="COLUMN",
            help="Column that says which records the --fitted model was trained on.",
            show_default=False,
            rich_help_panel=options.TRAINING,
        ),
    ] = None,
    ids: options.NamesColumn = None,
    unit: options.UnitColumn = None,
    drop: options.DropFeature = None,
    records: options.RecordsDrawn = None,
    shadows: Annotated[
        int | None,
        typer.Option(
            "--shadows",
            metavar="N",
            help="Shadow models to train; 16 where neither this nor a budget is given.",
            show_default=False,
            rich_help_panel=options.TRAINING,
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="Train as many shadow models as fit in this time, such as 10m.",
            show_default=False,
            rich_help_panel=options.TRAINING,
        ),
    ] = None,
    jobs: options.Jobs = -1,
    backend: options.Backend = "loky",
    pool: Annotated[
        Path | None,
        typer.Option(
            "--pool",
            metavar="POOL",
            help="Predictions of many shadow models on TARGET's records, for attacks on single "
            "records: .npz with probs (or logits) (k, n, c), labels (n,), member (k, n).",
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
            "--risk",
            metavar="NAME",
            autocompletion=completion.names(*completion.RISKS),
            help="Estimator of the risk score: isotonic or histogram.",
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
    """Audit a classifier: from its predictions alone, or by training shadow models.

    Example: privacygauge classifier target.npz --shadow shadow.npz --out report

    Example: privacygauge classifier --model random-forest --data people.csv --label income
    """
    from privacygauge.audits.classifier.says import METRICS
    from privacygauge.cli.output import destination, emit
    from privacygauge.core.attacks.posterior import ESTIMATORS
    from privacygauge.errors import InputError
    from privacygauge.report.limits import exceeded, parsed_limits

    if estimator not in ESTIMATORS:
        raise InputError(f"--risk must be {' or '.join(ESTIMATORS)}, got {estimator!r}")
    limits = parsed_limits(fail_above, METRICS)
    if target is not None and (model is not None or data is not None):
        raise InputError("give either TARGET, or --model and --data, not both")
    if target is None and (model is None or data is None):
        raise InputError(
            "give TARGET, a file of predictions, or both --model and --data to train models"
        )
    if target is None:
        _require_no_predictions(
            {"--shadow": shadow, "--pool": pool, "--slice": slice_by, "--show": show}
        )
    if shadow is not None and pool is not None:
        raise InputError("give either --shadow or --pool, not both")
    folder = destination(out, json, "privacygauge-report")
    if target is not None:
        audit = _from_predictions(
            target,
            shadow,
            pool,
            allow_missing_classes=allow_missing_classes,
            estimator=ESTIMATORS[estimator],
            slices=slice_by,
            show_columns=show or (),
            unit=unit,
            seed=seed,
            level=level,
        )
    else:
        from privacygauge.cli import backends
        from privacygauge.cli.training import TrainingRequest, audit_request

        request = TrainingRequest(
            str(model),
            str(data),
            label,
            member,
            fitted,
            ids,
            tuple(drop or ()),
            records,
            shadows,
            budget,
            seed,
            level,
            estimator,
            unit,
        )
        run = None if folder is None else folder / RUN
        with backends.backend(backend):
            audit = audit_request(request, run, jobs=jobs, quiet=quiet)
    raise typer.Exit(emit(audit, folder, json, quiet, exceeded(audit.report(), limits)))


def _require_no_predictions(options: Mapping[str, object]) -> None:
    from privacygauge.errors import InputError

    for name, value in options.items():
        if value:
            raise InputError(f"{name} goes with TARGET, a file of predictions, not with --model")


def _from_predictions(
    target: Path,
    shadow: Path | None,
    pool: Path | None,
    *,
    allow_missing_classes: bool,
    **options: Any,
) -> Audit:
    from privacygauge.audits.classifier.models import audit_pool
    from privacygauge.audits.classifier.predictions import audit_classifier
    from privacygauge.audits.provenance import file_hashes

    files = file_hashes({"target": target, "shadow": shadow, "pool": pool})
    if pool is not None:
        return audit_pool(target, pool, command="classifier", provenance=files, **options)
    return audit_classifier(
        target,
        shadow,
        allow_missing_classes=allow_missing_classes,
        command="classifier",
        provenance=files,
        **options,
    )
