"""Logging of an audit's numbers and page to a run of MLflow."""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module

from privacygauge.errors import InputError
from privacygauge.hooks.measures import tracked_numbers
from privacygauge.report import render
from privacygauge.report.reported import Reported


def log_to_mlflow(audit: Reported, prefix: str = "privacy") -> str:
    """Log the measures and the page of an audit to MLflow; return the id of the run.

    Parameters
    ----------
    audit : Audit, LanguageAudit, ...
        Result of any audit.
    prefix : str
        Prefix of every metric, and folder of the artefacts.

    Returns
    -------
    str
        Id of the active run, or of a new one, which is ended.

    Raises
    ------
    InputError
        If MLflow is not installed.

    Notes
    -----
    Every measure becomes the metric ``PREFIX/NAME``, and the ends of its interval become
    ``PREFIX/NAME.low`` and ``PREFIX/NAME.high``; ``tpr@0.01`` becomes ``tpr_at_0.01``. Numbers
    that were not computed, or are infinite, are left out. The tag ``PREFIX.verdict`` is the
    verdict. The artefacts are ``report.html`` and ``report.json``; rows of single records are not
    logged.
    """
    try:
        mlflow = import_module("mlflow")
    except ModuleNotFoundError as error:
        raise InputError(
            "logging to MLflow needs mlflow, which is not installed: "
            "pip install 'privacygauge[mlflow]'"
        ) from error
    report = audit.report()
    # An active run belongs to the caller and is left open.
    active = mlflow.active_run()
    with mlflow.start_run() if active is None else nullcontext(active) as run:
        mlflow.log_metrics(tracked_numbers(report, prefix))
        mlflow.set_tag(f"{prefix}.verdict", report.verdict.headline)
        mlflow.log_text(render.page(report), f"{prefix}/report.html")
        mlflow.log_text(render.as_json(report), f"{prefix}/report.json")
    return str(run.info.run_id)
