"""Findings on worst-case records as tables and as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.rate_at_fpr import RateAtFpr
from privacygauge.report import tables
from privacygauge.report.numbers import key, percent_estimate, plain, rate, tpr_estimate
from privacygauge.report.worst_case.findings import AttackedTraining, ComparedWorstCases
from privacygauge.report.worst_case.verdict import verdict

if TYPE_CHECKING:
    import pandas as pd

DAGGER = "\N{DAGGER}"
"""Marks a rate of which too few records tell."""


def records_frame(f: ComparedWorstCases) -> pd.DataFrame:
    """Return one row for every training, group, attack and rate, each interval for itself alone."""
    import pandas as pd

    return pd.DataFrame(f.lines())


def trainings_frame(f: ComparedWorstCases) -> pd.DataFrame:
    """Return one row for every training: what the best attack finds, and what the models cost.

    Parameters
    ----------
    f : ComparedWorstCases

    Returns
    -------
    pandas.DataFrame
        Columns: ``training``, ``model_accuracy``; for both groups and every false-positive rate
        ``canaries_tpr@0.01``, its ``_attack`` and whether it is ``_resolved``, and
        ``ordinary_tpr@0.01`` and so on; ``canaries_auc`` and ``ordinary_auc``; each number with
        ``_low`` and ``_high``, which but for the accuracy hold together; ``epsilon`` and
        ``delta`` of an accountant.
    """
    import pandas as pd

    return pd.DataFrame([_row(f, training) for training in f.trainings])


def summary(f: ComparedWorstCases) -> str:
    """Return the verdict and a line for every training as plain text."""
    rows = [(plain(t.title), _line(f, t)) for t in f.trainings]
    return tables.as_summary(verdict(f), rows, f.warnings, f.skipped)


def grid(f: ComparedWorstCases) -> tuple[tuple[str, ...], ...]:
    """Return training, rate of canaries and of ordinary records, and the model's accuracy."""
    return tuple(
        (
            t.title,
            str(shown(t.canaries(f.fpr))),
            str(shown(t.ordinary(f.fpr))),
            percent_estimate(t.accuracy, 1).value,
        )
        for t in f.trainings
    )


def short_grid(f: ComparedWorstCases) -> tuple[tuple[str, ...], ...]:
    """Return training and both rates without intervals."""
    return tuple(
        (t.title, *(tpr_estimate(x.estimate, x.fpr).value for x in _rates(f, t)))
        for t in f.trainings
    )


def shown(found: RateAtFpr) -> str:
    """Return a rate with its interval, with a dagger where too few records tell."""
    mark = "" if found.resolved else DAGGER
    return f"{tpr_estimate(found.estimate, found.fpr)}{mark}"


def _rates(f: ComparedWorstCases, training: AttackedTraining) -> tuple[RateAtFpr, RateAtFpr]:
    return training.canaries(f.fpr), training.ordinary(f.fpr)


def _line(f: ComparedWorstCases, training: AttackedTraining) -> str:
    canaries, ordinary = _rates(f, training)
    return (
        f"TPR at {rate(f.fpr)} FPR: canaries {shown(canaries)}, ordinary {shown(ordinary)}; "
        f"model's accuracy {percent_estimate(training.accuracy, 1).value}"
    )


def _row(f: ComparedWorstCases, training: AttackedTraining) -> dict[str, object]:
    row: dict[str, object] = {"training": training.title}
    row |= _ends("model_accuracy", training.accuracy)
    for group in training.found.groups:
        for fpr in f.fprs:
            attack, found = group.highest(fpr)
            name = f"{group.name}_tpr@{key(fpr)}"
            row |= {**_ends(name, found.estimate), f"{name}_attack": attack}
            row[f"{name}_resolved"] = found.resolved
        row |= _ends(f"{group.name}_auc", group.highest_auc)
    claim = training.claim
    row["epsilon"] = None if claim is None else claim.epsilon
    row["delta"] = None if claim is None else claim.delta
    return row


def _ends(name: str, found: Estimate) -> dict[str, object]:
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
