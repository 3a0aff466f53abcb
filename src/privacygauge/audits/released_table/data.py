"""Keys of ``report.json`` that audits of a released table alone have."""

from __future__ import annotations

from privacygauge.audits.released_table.found import ReleasedAudit
from privacygauge.core.estimate import Skipped
from privacygauge.report.attacks.data import of_attacks
from privacygauge.report.document import picked, values_of
from privacygauge.report.values import Json
from privacygauge.synthetic.released.copies import NO_EVIDENCE

_RISK = ("name", "variant", "meaning", "attack", "control", "baseline", "risk", "notes")


def data(f: ReleasedAudit) -> dict[str, Json]:
    """Return the keys that reports of this kind alone have.

    ``risk`` is a list of the forms of the three risks. Without a holdout there are no attacks, and
    what needs one is None. Scores and contents of single records are not in it.
    """
    pairs = zip(f.risks, f.corrected.risks, f.corrected.points, strict=True)
    used = f.utility if isinstance(f.utility, Skipped) else f.utility.to_dict()
    return {
        **picked(f, "n_real", "n_synthetic", "n_holdout", "overlap"),
        **_attacks(f),
        "blind": None if f.blind is None else picked(f.blind, "name", "variant", "auc"),
        "risk": [
            {**picked(x, *_RISK), "corrected": values_of(beyond), "points": values_of(points)}
            for x, beyond, points in pairs
        ],
        "attempts": {
            **picked(f.tried.attempts, "real", "holdout"),
            **picked(f.tried, "reached", half_width="asked"),
        },
        "furthest": None
        if f.worst is None
        else {"risk": f.worst.risk.title, **picked(f.worst, "beyond")},
        "copies": {"facts": values_of(f.copies), **picked(f.corrected, "alone", beyond="copies")},
        "closest": {"warning": NO_EVIDENCE, "facts": values_of(f.closest)},
        "utility": values_of(used),
    }


def _attacks(f: ReleasedAudit) -> dict[str, Json]:
    if f.membership is not None:
        return of_attacks(f.membership)
    assert isinstance(f.game, Skipped)
    return {"game": {"skipped": f.game.reason}, "headline": None, "attacks": []}
