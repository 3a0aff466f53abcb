"""The attacks of a language audit in the form that the pages on attacks take."""

from __future__ import annotations

from dataclasses import replace

from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.findings import Findings
from privacygauge.report.language.findings import LanguageFindings, UnitFindings

NO_RISK = Skipped("privacy risk score", "needs shadow records with known membership")
"""Stands where an audit of a classifier has risk scores."""

_NO_GROUPS = Skipped("groups of records", "short and long samples are looked at instead")


def attacks_of(f: LanguageFindings, unit: UnitFindings) -> Findings:
    """Return the attacks on samples, or on patients, as findings of their own."""
    return Findings(
        f.command,
        f.version,
        f.seed,
        f.level,
        replace(f.game, n_in=unit.n_in, n_out=unit.n_out),
        unit.evaluations,
        unit.headline,
        NO_RISK,
        _NO_GROUPS,
        f.records,
        (),
        f.skipped,
        f.warnings,
        f.provenance,
    )


def units_of(f: LanguageFindings) -> tuple[UnitFindings, ...]:
    """Return what was played: samples, and patients where there are some."""
    return (f.samples,) if isinstance(f.patients, Skipped) else (f.samples, f.patients)


def signals_of(unit: UnitFindings) -> tuple[Evaluation, ...]:
    """Return one evaluation a signal, named by the signal, and by the unit if that is no sample.

    What concerns scores, such as the ROC curve, is the same for every threshold of a signal.
    """
    variant = "" if unit.unit == "sample" else f"by {unit.unit}"
    found: dict[str, Evaluation] = {}
    for e in unit.evaluations:
        found.setdefault(e.name, replace(e, variant=variant, thresholds="none"))
    return tuple(found.values())
