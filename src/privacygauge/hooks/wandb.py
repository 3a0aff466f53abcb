"""Logging of an audit's numbers and page to a run of Weights & Biases."""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module

from privacygauge.errors import InputError
from privacygauge.hooks.measures import tracked_numbers
from privacygauge.report import render
from privacygauge.report.reported import Reported


def log_to_wandb(audit: Reported, prefix: str = "privacy") -> str:
    """Log the measures and the page of an audit to Weights & Biases; return the id of the run.

    Parameters
    ----------
    audit : Audit, LanguageAudit, ...
        Result of any audit.
    prefix : str
        Prefix of every number.

    Returns
    -------
    str
        Id of the active run, or of a new one, which is ended.

    Raises
    ------
    InputError
        If Weights & Biases is not installed.

    Notes
    -----
    Numbers have the names that `log_to_mlflow` gives them, in the run's summary, where
    ``PREFIX/verdict`` is the verdict. The page is logged as ``PREFIX/report``, and ``report.json``
    is an artefact of the type ``privacy-audit``. Rows of single records are not logged. Unless the
    run is offline, all of it is sent to the server of the run.
    """
    try:
        wandb = import_module("wandb")
    except ModuleNotFoundError as error:
        raise InputError(
            "logging to Weights & Biases needs wandb, which is not installed: "
            "pip install 'privacygauge[wandb]'"
        ) from error
    report = audit.report()
    # An active run belongs to the caller and is left open.
    with wandb.init() if wandb.run is None else nullcontext(wandb.run) as run:
        run.summary.update(tracked_numbers(report, prefix))
        run.summary[f"{prefix}/verdict"] = report.verdict.headline
        run.log({f"{prefix}/report": wandb.Html(render.page(report), inject=False)})
        artefact = wandb.Artifact(f"{prefix}-{run.id}", type="privacy-audit")
        with artefact.new_file("report.json", encoding="utf-8") as file:
            file.write(render.as_json(report))
        run.log_artifact(artefact)
        return str(run.id)
