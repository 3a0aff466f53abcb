"""`privacygauge defend`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privacygauge.cli import completion, options
from privacygauge.cli.runs import RUN

if TYPE_CHECKING:
    from privacygauge.audits.defences.found import DefenceAudit
    from privacygauge.classifier.defences.defence import Defence


def defend(
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="TARGET",
            help="Undefended predictions of the audited model: .npz with probs (or logits), "
            "labels, member; .csv or .parquet with p_0 ... (or z_0 ...), label, member.",
            show_default=False,
        ),
    ] = None,
    shadow: Annotated[
        Path | None,
        typer.Option(
            "--shadow",
            metavar="SHADOW",
            help="Undefended predictions of a model of your own, trained alike on other records; "
            "it is defended in the same way.",
            show_default=False,
        ),
    ] = None,
    defence: Annotated[
        list[str] | None,
        typer.Option(
            "--defence",
            metavar="NAME[:N]",
            help="On answers: memguard:BUDGET (L1, up to 2), binning:WIDTH, rounding:DIGITS, "
            "top-k:K, temperature:T or label-only. At training, with --data: early-stopping:EPOCH, "
            "l2:DECAY, dropout:RATE, adversarial-regularisation:LAMBDA, dp-sgd:EPSILON, "
            "dp-sgd-opacus:EPSILON or removal:RECORDS. Several with commas, or by giving it "
            "several times.",
            show_default=False,
        ),
    ] = None,
    owner_target: Annotated[
        Path | None,
        typer.Option(
            "--owner-target",
            metavar="FILE",
            help="Predictions of the audited model on records that its defence is fitted on: its "
            "members, and non-members that are not in TARGET. Without it TARGET is cross-fitted.",
            show_default=False,
        ),
    ] = None,
    owner_shadow: Annotated[
        Path | None,
        typer.Option(
            "--owner-shadow",
            metavar="FILE",
            help="The same of the shadow model; goes with --owner-target.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="Train a target and shadow models on these records, without a defence and with "
            "each: .csv or .parquet with a header, or .npz with x and y.",
            show_default=False,
            rich_help_panel=options.TRAINING,
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="NAME|FILE.py:NAME",
            autocompletion=completion.names(*completion.MODELS),
            help="What is trained: network (64 tanh), network-large (1024-512-256-128 ReLU), "
            "Networks of your own or, for defences on answers, what the command classifier takes.",
            rich_help_panel=options.TRAINING,
        ),
    ] = "network",
    label: options.ClassColumn = "label",
    ids: options.NamesColumn = None,
    unit: options.UnitColumn = None,
    drop: options.DropFeature = None,
    records: options.RecordsDrawn = None,
    shadows: Annotated[
        int,
        typer.Option(
            "--shadows",
            metavar="N",
            help="Shadow models to train, each in every way.",
            rich_help_panel=options.TRAINING,
        ),
    ] = 8,
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
            help="Exit with code 3 if METRIC of the best attack is above VALUE behind "
            "any of the defences: accuracy or auc; behind the best of them: accuracy-left or "
            "auc-left. Add .low to look at the lower end of the interval (accuracy.low=0.6). May "
            "be given several times.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Compare defences of a classifier, by attackers who know them.

    Example: privacygauge defend target.npz --shadow shadow.npz --defence memguard:1,label-only

    Example: privacygauge defend --data people.csv --label income --defence dropout:0.5,dp-sgd:8
    """
    from privacygauge.audits.defences.says import METRICS
    from privacygauge.cli import backends
    from privacygauge.cli.output import destination, emit
    from privacygauge.report.limits import exceeded, parsed_limits

    limits = parsed_limits(fail_above, METRICS)
    names = options.names_in(defence)
    _require_some(names)
    if data is None:
        files = _Files(*_both(target, shadow), owner_target, owner_shadow)
        named = _on_answers(names)
        folder = destination(out, json, "privacygauge-report")
        audit = _from_predictions(files, named, unit=unit, seed=seed, level=level, quiet=quiet)
    else:
        from privacygauge.cli.defend_request import DefendRequest, defend_of_request

        given = (target, shadow, owner_target, owner_shadow)
        _require_no_predictions(given)
        request = DefendRequest(
            str(data),
            names,
            model,
            label,
            ids,
            tuple(drop or ()),
            records,
            shadows,
            delta,
            seed,
            level,
            unit,
        )
        folder = destination(out, json, "privacygauge-report")
        run = None if folder is None else folder / RUN
        with backends.backend(backend):
            audit = defend_of_request(request, run, jobs=jobs, quiet=quiet)
    raise typer.Exit(emit(audit, folder, json, quiet, exceeded(audit.report(), limits)))


@dataclass(frozen=True)
class _Files:
    """Files of predictions."""

    target: Path
    shadow: Path
    owner_target: Path | None
    owner_shadow: Path | None


def _from_predictions(
    files: _Files,
    named: list[Defence],
    *,
    unit: str | None,
    seed: int,
    level: float,
    quiet: bool,
) -> DefenceAudit:
    from privacygauge.audits.defences.play import audit_defences
    from privacygauge.audits.provenance import file_hashes
    from privacygauge.cli.progress import bar
    from privacygauge.errors import InputError

    if (files.owner_target is None) != (files.owner_shadow is None):
        raise InputError(
            "--owner-target and --owner-shadow go together: both defences must be fitted alike"
        )
    hashes = file_hashes({name.replace("_", " "): path for name, path in vars(files).items()})
    with bar("Attacking", quiet) as progress:
        return audit_defences(
            files.target,
            files.shadow,
            named,
            target_owner=files.owner_target,
            shadow_owner=files.owner_shadow,
            unit=unit,
            seed=seed,
            level=level,
            command="defend",
            provenance=hashes,
            progress=progress,
        )


def _on_answers(names: tuple[str, ...]) -> list[Defence]:
    """Return the defences of these names, none of which trains a model."""
    from privacygauge.classifier.defences.named import DEFENCES, defence_named, is_at_training
    from privacygauge.errors import InputError

    trained = next((name for name in names if is_at_training(name)), None)
    if trained is not None:
        raise InputError(
            f"defence must be one of {DEFENCES} for predictions, got {trained!r}: give --data, "
            "and models are trained with it"
        )
    return [defence_named(name) for name in names]


def _both(target: Path | None, shadow: Path | None) -> tuple[Path, Path]:
    from privacygauge.errors import InputError

    if target is None or shadow is None:
        raise InputError(
            "give TARGET and --shadow SHADOW, files of predictions, or --data FILE to train models"
        )
    return target, shadow


def _require_no_predictions(given: tuple[Path | None, ...]) -> None:
    from privacygauge.errors import InputError

    if any(path is not None for path in given):
        raise InputError("give either files of predictions, or --data, not both")


def _require_some(names: tuple[str, ...]) -> None:
    from privacygauge.errors import InputError

    if not names:
        raise InputError("at least one defence is needed, got none: --defence label-only")
