"""Logging of an audit's numbers and page to a run of Weights & Biases."""

from __future__ import annotations

import re
from contextlib import nullcontext
from importlib import import_module

from privacygauge.errors import InputError
from privacygauge.hooks.measures import report_to_track, require_own_names, tracked_numbers
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
        If Weights & Biases is not installed, or the run has the same numbers from another audit
        under this prefix.

    Notes
    -----
    Numbers have the names that `log_to_mlflow` gives them, in the run's summary, where
    ``PREFIX/KIND/verdict`` is the verdict. The page is logged as ``PREFIX/KIND/report``, and
    ``report.json`` is an artefact of the type ``privacy-audit``. Rows of single records are not
    logged. Unless the run is offline, all of it is sent to the server of the run.
    """
    try:
        wandb = import_module("wandb")
    except ModuleNotFoundError as error:
        raise InputError(
            "logging to Weights & Biases needs wandb, which is not installed: "
            "pip install 'privacygauge[wandb]'"
        ) from error
    report = report_to_track(audit)
    numbers = tracked_numbers(report, prefix)
    verdict = f"{prefix}/{report.kind}/verdict"
    # An active run belongs to the caller and is left open.
    with wandb.init() if wandb.run is None else nullcontext(wandb.run) as run:
        verdicts = re.compile(rf"{re.escape(prefix)}/.+/verdict")
        require_own_names(numbers, run.summary.keys(), verdict=verdict, verdicts=verdicts)
        run.summary.update(numbers)
        run.summary[verdict] = report.verdict.headline
        run.log({f"{prefix}/{report.kind}/report": wandb.Html(render.page(report), inject=False)})
        artefact = wandb.Artifact(f"{prefix}-{report.kind}-{run.id}", type="privacy-audit")
        with artefact.new_file("report.json", encoding="utf-8") as file:
            file.write(render.as_json(report))
        run.log_artifact(artefact)
        return str(run.id)
