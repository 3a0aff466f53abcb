"""Findings on a language model as `report.json`, the schema ``privacygauge/1``."""

from __future__ import annotations

from dataclasses import replace

from privacygauge.core.estimate import Skipped
from privacygauge.language.matching import MatchedAttack
from privacygauge.report import document
from privacygauge.report.document import SCHEMA, Json, as_text, estimate_dict, finite, left_out
from privacygauge.report.language.findings import (
    ControlFinding,
    LanguageFindings,
    LengthFindings,
    PatientRows,
    ThresholdFinding,
    UnitFindings,
)
from privacygauge.report.language.units import NO_RISK, attacks_of
from privacygauge.report.language.verdict import verdict
from privacygauge.report.views import RECORDS


def to_dict(f: LanguageFindings) -> Json:
    """Return the findings as plain values: dicts, lists, strings, numbers, None.

    Parameters
    ----------
    f : LanguageFindings

    Returns
    -------
    dict
        As for an audit of attacks, an estimate is a dict of value, low, high, level, n and
        method, and infinity is None. ``attacks`` are those on samples; those on patients are
        under ``patients``, and those on short and long samples under ``lengths``. Texts are not
        in it.
    """
    found = verdict(f)
    return {
        "schema": SCHEMA,
        "command": f.command,
        "version": f.version,
        "seed": int(f.seed),
        "level": float(f.level),
        "verdict": {
            "grade": found.grade,
            "headline": found.headline,
            "sentences": list(found.sentences),
            "advice": list(found.advice),
        },
        "controls": _controls(f),
        **_unit(f, f.samples),
        "thresholds": [_threshold(x) for x in f.samples.thresholds],
        "patients": _patients(f),
        "lengths": [_length(f, x) for x in f.lengths],
        "risk": {"skipped": NO_RISK.reason},
        "skipped": left_out(f.skipped),
        "warnings": list(f.warnings),
        "provenance": dict(sorted(f.provenance.items())),
    }


def to_json(f: LanguageFindings) -> str:
    """Return `to_dict` as strict JSON in ASCII: equal findings give equal text."""
    return as_text(to_dict(f))


def _controls(f: LanguageFindings) -> Json:
    return {
        "honest": not f.controls.void if f.controls.played else None,
        "fired": list(f.controls.fired),
        "reference": _control(f.controls.reference),
        "blind": _control(f.controls.blind),
        "matched": _matched(f.controls.matched, f.energies.signal),
        "sizes": _control(f.controls.sizes),
    }


def _control(found: ControlFinding | Skipped) -> Json:
    if isinstance(found, Skipped):
        return {"skipped": found.reason}
    return {"auc": estimate_dict(found.auc), "fires": bool(found.fires), "meaning": found.meaning}


def _matched(found: MatchedAttack | Skipped, attack: str) -> Json:
    if isinstance(found, Skipped):
        return {"skipped": found.reason}
    return {
        "attack": attack,
        "before": float(found.before),
        "after": estimate_dict(found.after),
        "fall": estimate_dict(found.fall),
        "kept": float(found.kept),
        "n_bins": int(found.n_bins),
        "fires": bool(found.fires),
    }


def _unit(f: LanguageFindings, unit: UnitFindings) -> Json:
    plain = document.to_dict(attacks_of(f, unit))
    return {name: plain[name] for name in ("game", "headline", "attacks")}


def _threshold(found: ThresholdFinding) -> Json:
    return {
        "attack": found.attack,
        "kind": found.kind,
        "asked_fpr": None if found.asked is None else float(found.asked),
        "realised_fpr": estimate_dict(found.realised),
        "kept": bool(found.kept),
        "score": finite(found.score),
        "n": int(found.n),
    }


def _patients(f: LanguageFindings) -> Json:
    if isinstance(f.patients, Skipped):
        return {"skipped": f.patients.reason}
    assert f.rows is not None
    return {
        "n_in": int(f.patients.n_in),
        "n_out": int(f.patients.n_out),
        **{name: x for name, x in _unit(f, f.patients).items() if name != "game"},
        "thresholds": [_threshold(x) for x in f.patients.thresholds],
        "worst": _worst(f.rows),
        "notes": list(f.patients.notes),
    }


def _worst(rows: PatientRows) -> list[Json]:
    return [
        {
            "group": rows.names[i],
            "samples": int(rows.samples[i]),
            "score": float(rows.score[i]),
        }
        for i in rows.order[:RECORDS].tolist()
    ]


def _length(f: LanguageFindings, found: LengthFindings) -> Json:
    unit = replace(f.samples, n_in=found.n_in, n_out=found.n_out, evaluations=found.evaluations)
    return {
        "name": found.name,
        "fewest": int(found.fewest),
        "most": int(found.most),
        "n_in": int(found.n_in),
        "n_out": int(found.n_out),
        "attacks": _unit(f, unit)["attacks"],
    }
