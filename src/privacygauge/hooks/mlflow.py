"""Logging of an audit's numbers and page to a run of MLflow."""

from __future__ import annotations

import re
import textwrap
from contextlib import nullcontext
from importlib import import_module

from privacygauge.errors import InputError
from privacygauge.hooks.measures import report_to_track, require_own_names, tracked_numbers
from privacygauge.report import render
from privacygauge.report.reported import Reported


def log_to_mlflow(audit: Reported, prefix: str = "privacy") -> str:
    """Log the measures and the page of an audit to MLflow; return the id of the run.

    Parameters
    ----------
    audit : Audit, LanguageAudit, ...
        Result of any audit.
    prefix : str
        Prefix of every metric, and first folder of the artefacts.

    Returns
    -------
    str
        Id of the active run, or of a new one, which is ended.

    Raises
    ------
    InputError
        If MLflow is not installed or cannot keep the run, or the run has the same numbers from
        another audit under this prefix.

    Notes
    -----
    Every measure becomes the metric ``PREFIX/NAME``, and the ends of its interval become
    ``PREFIX/NAME.low`` and ``PREFIX/NAME.high``; ``tpr@0.01`` becomes ``tpr_at_0.01``. Numbers
    that were not computed, or are infinite, are left out. The tag ``PREFIX.KIND.verdict``, such as
    ``privacy.classifier.verdict``, is the verdict. The artefacts are ``PREFIX/KIND/report.html``
    and ``PREFIX/KIND/report.json``; rows of single records are not logged. An audit of
    the same kind under the same prefix replaces the earlier one.
    """
    try:
        mlflow = import_module("mlflow")
    except ModuleNotFoundError as error:
        raise InputError(
            "logging to MLflow needs mlflow, which is not installed: "
            "pip install 'privacygauge[mlflow]'"
        ) from error
    report = report_to_track(audit)
    numbers = tracked_numbers(report, prefix)
    verdict = f"{prefix}.{report.kind}.verdict"
    try:
        # An active run belongs to the caller and is left open.
        active = mlflow.active_run()
        with mlflow.start_run() if active is None else nullcontext(active) as run:
            # The object of an active run is as old as the run.
            kept = mlflow.get_run(run.info.run_id).data
            verdicts = re.compile(rf"{re.escape(prefix)}\..+\.verdict")
            known = (*kept.metrics, *kept.tags)
            require_own_names(numbers, known, verdict=verdict, verdicts=verdicts)
            mlflow.log_metrics(numbers)
            mlflow.set_tag(verdict, report.verdict.headline)
            mlflow.log_text(render.page(report), f"{prefix}/{report.kind}/report.html")
            mlflow.log_text(render.as_json(report), f"{prefix}/{report.kind}/report.json")
    except (ImportError, mlflow.exceptions.MlflowException) as error:
        # mlflow-skinny lacks what the store needs that MLflow takes where none is named.
        reason = textwrap.shorten(str(error), 160, placeholder=" ...")
        raise InputError(
            f"MLflow cannot log to {mlflow.get_tracking_uri()} ({reason}): name a tracking server "
            "that answers, with MLFLOW_TRACKING_URI or mlflow.set_tracking_uri, or pip install "
            "mlflow, which brings what its own store needs"
        ) from error
    return str(run.info.run_id)
