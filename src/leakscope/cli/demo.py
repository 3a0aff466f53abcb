"""`leakscope demo`."""

from __future__ import annotations

import typer

from leakscope.cli import options


def demo(
    out: options.Out = None,
    seed: options.Seed = 0,
    json: options.Json = None,
    quiet: options.Quiet = False,
    fail_above: options.FailAbove = None,
) -> None:
    """Audit a real model on real data that needs no download.

    Trains a random forest on half of 1,797 handwritten digits, and shadow models on other
    halves; plays the suite; writes the report and both prediction files, so that
    "leakscope classifier" can be tried on them.

    Example: leakscope demo --out leakscope-demo
    """
    from leakscope.audit import audit_classifier
    from leakscope.classifier.files import save_predictions
    from leakscope.classifier.training import train_predictions
    from leakscope.cli.gate import exceeded, parse_limits
    from leakscope.cli.models import forest
    from leakscope.cli.output import destination, emit
    from leakscope.cli.progress import bar
    from leakscope.datasets.digits import digits

    limits = parse_limits(fail_above)
    folder = destination(out, json, "leakscope-demo")
    with bar("Training models", quiet) as progress:
        target, shadow = train_predictions(forest, *digits(), seed=seed, progress=progress)
    audit = audit_classifier(
        target,
        shadow,
        drawn=True,
        seed=seed,
        command="demo",
        provenance={"data": "digits (scikit-learn)", "model": "random forest, 8 shadow models"},
    )
    if folder is not None:
        save_predictions(target, folder / "target.npz")
        save_predictions(shadow, folder / "shadow.npz")
    raise typer.Exit(emit(audit, folder, json, quiet, exceeded(audit, limits)))
