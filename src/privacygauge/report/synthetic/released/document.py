"""Findings on a released table as `report.json`, the schema ``privacygauge/1``."""

from __future__ import annotations

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.findings import Fact
from privacygauge.report import document
from privacygauge.report.document import SCHEMA, Json, as_text, estimate_dict, left_out
from privacygauge.report.synthetic.released.membership import attacks_of
from privacygauge.report.synthetic.released.verdict import named, verdict, worst
from privacygauge.report.synthetic.released_findings import ReleasedFindings, ReleaseRisk
from privacygauge.synthetic.released.copies import NO_EVIDENCE


def to_dict(f: ReleasedFindings) -> Json:
    """Return the findings as plain values: dicts, lists, strings, numbers, None.

    Parameters
    ----------
    f : ReleasedFindings

    Returns
    -------
    dict
        As for an audit of attacks; ``risk`` is a list of the forms of the three risks. Without a
        holdout there are no attacks, and what needs one is None. Scores and contents of single
        records are not in it.
    """
    found = verdict(f)
    return {
        "schema": SCHEMA,
        "command": f.command,
        "version": f.version,
        "seed": int(f.seed),
        "level": float(f.level),
        "n_real": int(f.n_real),
        "n_synthetic": int(f.n_synthetic),
        "n_holdout": int(f.n_holdout),
        **_attacks(f),
        "verdict": {
            "grade": found.grade,
            "headline": found.headline,
            "sentences": list(found.sentences),
            "advice": list(found.advice),
        },
        "blind": _blind(f),
        "risk": [
            _risk(risk, beyond) for risk, beyond in zip(f.risks, f.corrected.risks, strict=True)
        ],
        "furthest": _furthest(f),
        "copies": {
            "facts": [_fact(fact) for fact in f.copies],
            "beyond": _or_none(f.corrected.copies),
        },
        "closest": {"warning": NO_EVIDENCE, "facts": [_fact(fact) for fact in f.closest]},
        "utility": (
            {"skipped": f.utility.reason} if isinstance(f.utility, Skipped) else f.utility.to_dict()
        ),
        "skipped": left_out(f.skipped),
        "warnings": list(f.warnings),
        "provenance": dict(sorted(f.provenance.items())),
    }


def to_json(f: ReleasedFindings) -> str:
    """Return `to_dict` as strict JSON in ASCII: equal findings give equal text."""
    return as_text(to_dict(f))


def _attacks(f: ReleasedFindings) -> Json:
    attacks = attacks_of(f)
    if attacks is None:
        assert isinstance(f.game, Skipped)
        return {"game": {"skipped": f.game.reason}, "headline": None, "attacks": []}
    plain = document.to_dict(attacks)
    return {name: plain[name] for name in ("game", "headline", "attacks")}


def _blind(f: ReleasedFindings) -> Json | None:
    if f.blind is None:
        return None
    return {
        "name": f.blind.name,
        "variant": f.blind.variant,
        "auc": estimate_dict(f.blind.auc),
    }


def _risk(risk: ReleaseRisk, corrected: Estimate | None) -> Json:
    return {
        "name": risk.name,
        "variant": risk.variant,
        "meaning": risk.meaning,
        "attack": estimate_dict(risk.attack),
        "control": _or_none(risk.control),
        "baseline": estimate_dict(risk.baseline),
        "risk": _or_none(risk.risk),
        "corrected": _or_none(corrected),
        "notes": list(risk.notes),
    }


def _furthest(f: ReleasedFindings) -> Json | None:
    found = worst(f)
    if found is None:
        return None
    return {"risk": named(found.risk), "beyond": estimate_dict(found.beyond)}


def _fact(fact: Fact) -> Json:
    return {"label": fact.label, "estimate": estimate_dict(fact.estimate)}


def _or_none(found: Estimate | None) -> Json | None:
    return None if found is None else estimate_dict(found)
