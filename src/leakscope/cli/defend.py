"""`leakscope defend`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakscope.cli import options

if TYPE_CHECKING:
    from leakscope.classifier.defences.defence import Defence


def defend(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="TARGET",
            help="Undefended predictions of the audited model: .npz with probs (or logits), "
            "labels, member; .csv or .parquet with p_0 ... (or z_0 ...), label, member.",
            show_default=False,
        ),
    ],
    shadow: Annotated[
        Path,
        typer.Option(
            "--shadow",
            metavar="SHADOW",
            help="Undefended predictions of a model of your own, trained alike on other records; "
            "it is defended in the same way.",
            show_default=False,
        ),
    ],
    defence: Annotated[
        list[str],
        typer.Option(
            "--defence",
            metavar="NAME[:N]",
            help="memguard:BUDGET (L1, up to 2), binning:WIDTH, rounding:DIGITS, top-k:K, "
            "temperature:T or label-only; several with commas, or by giving it several times.",
            show_default=False,
        ),
    ],
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
            help="Exit with code 3 if METRIC of the best attack is above VALUE behind "
            "any of the defences: accuracy or auc; add .low to look at the lower end of the "
            "interval (accuracy.low=0.6). May be given several times.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Compare defences of a classifier, by attackers who know them.

    Example: leakscope defend target.npz --shadow shadow.npz --defence memguard:1,label-only
    """
    from leakscope.audit.defences import audit_defences
    from leakscope.cli.gate import METRICS_OF_DEFENCES, exceeded_by_defences, parse_limits
    from leakscope.cli.output import destination, emit
    from leakscope.cli.progress import bar
    from leakscope.cli.provenance import file_hashes

    limits = parse_limits(fail_above, METRICS_OF_DEFENCES)
    named = _defences(defence)
    _require_both(owner_target, owner_shadow)
    folder = destination(out, json, "leakscope-report")
    files = {
        "target": target,
        "shadow": shadow,
        "owner target": owner_target,
        "owner shadow": owner_shadow,
    }
    with bar("Attacking", quiet) as progress:
        audit = audit_defences(
            target,
            shadow,
            named,
            target_owner=owner_target,
            shadow_owner=owner_shadow,
            seed=seed,
            level=level,
            command="defend",
            provenance=file_hashes(files),
            progress=progress,
        )
    raise typer.Exit(emit(audit, folder, json, quiet, exceeded_by_defences(audit, limits)))


def _defences(texts: list[str]) -> list[Defence]:
    from leakscope.classifier.defences.named import defence_named

    return [defence_named(text) for text in options.names_in(texts)]


def _require_both(target: Path | None, shadow: Path | None) -> None:
    from leakscope.errors import InputError

    if (target is None) != (shadow is None):
        raise InputError(
            "--owner-target and --owner-shadow go together: both defences must be fitted alike"
        )
