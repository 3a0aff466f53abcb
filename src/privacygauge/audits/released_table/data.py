"""Keys of ``report.json`` that audits of a released table alone have."""

from __future__ import annotations

from privacygauge.audits.released_table.found import ReleasedAudit, ReleaseRisk
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.report.attacks.data import facts, of_attacks
from privacygauge.report.document import estimate_dict
from privacygauge.report.values import Json
from privacygauge.synthetic.released.copies import NO_EVIDENCE


def data(f: ReleasedAudit) -> dict[str, Json]:
    """Return the keys that reports of this kind alone have.

    ``risk`` is a list of the forms of the three risks. Without a holdout there are no attacks, and
    what needs one is None. Scores and contents of single records are not in it.
    """
    pairs = zip(f.risks, f.corrected.risks, strict=True)
    return {
        "n_real": int(f.n_real),
        "n_synthetic": int(f.n_synthetic),
        "n_holdout": int(f.n_holdout),
        **_attacks(f),
        "blind": _blind(f),
        "risk": [_risk(risk, beyond) for risk, beyond in pairs],
        "furthest": _furthest(f),
        "copies": {
            "facts": facts(f.copies),
            "beyond": _or_none(f.corrected.copies),
            "alone": _or_none(f.corrected.alone),
        },
        "overlap": None if f.overlap is None else dict(vars(f.overlap)),
        "closest": {"warning": NO_EVIDENCE, "facts": facts(f.closest)},
        "utility": (
            {"skipped": f.utility.reason} if isinstance(f.utility, Skipped) else f.utility.to_dict()
        ),
    }


def _attacks(f: ReleasedAudit) -> dict[str, Json]:
    if f.membership is not None:
        return of_attacks(f.membership)
    assert isinstance(f.game, Skipped)
    return {"game": {"skipped": f.game.reason}, "headline": None, "attacks": []}


def _blind(f: ReleasedAudit) -> Json:
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


def _furthest(f: ReleasedAudit) -> Json:
    found = f.worst
    if found is None:
        return None
    return {"risk": found.risk.title, "beyond": estimate_dict(found.beyond)}


def _or_none(found: Estimate | None) -> Json:
    return None if found is None else estimate_dict(found)
