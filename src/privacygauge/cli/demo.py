"""`privacygauge demo`."""

from __future__ import annotations

import typer

from privacygauge.cli import options


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
    "privacygauge classifier" can be tried on them.

    Example: privacygauge demo --out privacygauge-demo
    """
    from privacygauge.audits.classifier.predictions import audit_classifier
    from privacygauge.audits.classifier.says import METRICS
    from privacygauge.audits.named_models import forest
    from privacygauge.classifier.files import save_predictions
    from privacygauge.classifier.training import train_predictions
    from privacygauge.cli.output import destination, emit
    from privacygauge.cli.progress import bar
    from privacygauge.datasets.digits import digits
    from privacygauge.report.limits import exceeded, parsed_limits

    limits = parsed_limits(fail_above, METRICS)
    folder = destination(out, json, "privacygauge-demo")
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
    raise typer.Exit(emit(audit, folder, json, quiet, exceeded(audit.report(), limits)))
