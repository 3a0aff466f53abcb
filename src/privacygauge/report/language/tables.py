"""Findings on a language model as tables and as plain text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.findings import Headline
from privacygauge.report import tables
from privacygauge.report.language.findings import ControlFinding, LanguageFindings, UnitFindings
from privacygauge.report.language.units import attacks_of, signals_of, units_of
from privacygauge.report.language.verdict import measured_on, verdict
from privacygauge.report.numbers import (
    DASH,
    decimal_estimate,
    fixed,
    percent,
    percent_estimate,
    plain,
    rate,
)
from privacygauge.report.tables import as_summary, epsilon_line, names_of, parquet

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def records_frame(f: LanguageFindings) -> pd.DataFrame:
    """Return one row for every judged sample.

    Parameters
    ----------
    f : LanguageFindings

    Returns
    -------
    pandas.DataFrame
        Columns: ``sample``, ``group`` and ``energy_reference`` (missing where not given),
        ``energy_target``, ``score`` (the likelihood ratio, or the loss without a reference; higher
        means more likely a member), ``member``, and ``guess:TITLE`` of every attack.
    """
    import pandas as pd

    energies, n = f.energies, len(f.records.member)
    group = pd.array([None] * n if energies.group is None else list(energies.group), "string")
    reference = np.full(n, np.nan) if energies.reference is None else energies.reference
    columns: dict[str, Any] = {
        "sample": names_of(f.records.ids),
        "group": group,
        "energy_target": energies.target,
        "energy_reference": reference,
        "score": energies.score,
        "member": f.records.member,
    }
    guesses: dict[str, NDArray[np.bool_]] = {
        f"guess:{title}": guess for title, guess in f.records.guesses.items()
    }
    return pd.DataFrame(columns | guesses)


def records_parquet(f: LanguageFindings) -> bytes:
    """Return `records_frame` as a Parquet file."""
    return parquet(records_frame(f))


def roc_csv(f: LanguageFindings) -> str:
    """Return the ROC curves of every signal, on samples and on patients, as text with commas."""
    evaluations = tuple(e for unit in units_of(f) for e in signals_of(unit))
    return tables.roc_csv(attacks_of(f, replace(f.samples, evaluations=evaluations)))


def summary(f: LanguageFindings) -> str:
    """Return the verdict and the main numbers as plain text."""
    return as_summary(verdict(f), lines(f), f.warnings, f.skipped)


def lines(f: LanguageFindings) -> tuple[tuple[str, str], ...]:
    """Return the main numbers, each with its name."""
    areas = [
        (f"AUC, {e.title}", str(decimal_estimate(e.auc)))
        for unit in units_of(f)
        for e in signals_of(unit)
    ]
    # All samples of a patient are in or out together.
    epsilon = "Epsilon" if f.energies.group is None else "Epsilon, of a patient"
    patients = () if isinstance(f.patients, Skipped) else _guesses(f.patients)
    return (
        ("Judged", measured_on(f)),
        *_guesses(f.samples),
        *patients,
        *areas,
        (epsilon, epsilon_line(attacks_of(f, f.samples))),
        ("Control: reference", _control(f.controls.reference)),
        ("Control: words", _control(f.controls.blind)),
        ("Control: matched", _matched(f)),
        ("Control: sizes", _control(f.controls.sizes)),
    )


def _guesses(unit: UnitFindings) -> tuple[tuple[str, str], ...]:
    best: Headline = unit.headline
    shown = f"{percent_estimate(best.accuracy)}, {plain(best.attack.title)}"
    return ((f"Right guesses, by {unit.unit}", shown),)


def _control(found: ControlFinding | Skipped) -> str:
    if isinstance(found, Skipped):
        return DASH
    fires = "FIRES" if found.fires else "quiet"
    return f"AUC {decimal_estimate(found.auc)}, {fires}"


def _matched(f: LanguageFindings) -> str:
    found = f.controls.matched
    if isinstance(found, Skipped):
        return DASH
    fires = "FIRES" if found.fires else "quiet"
    return f"AUC {fixed(found.before, 3)} before, {decimal_estimate(found.after)} after, {fires}"


def threshold_rows(unit: UnitFindings) -> tuple[tuple[str, ...], ...]:
    """Return attack, asked and realised rate, precision and recall of every threshold."""
    return tuple(
        (
            f"{e.name} ({t.kind})",
            DASH if t.asked is None else rate(t.asked),
            str(percent_estimate(t.realised, 1)),
            DASH if isinstance(e.precision, Skipped) else percent(e.precision.value),
            percent(e.recall.value),
        )
        for t, e in zip(unit.thresholds, unit.evaluations, strict=True)
    )
