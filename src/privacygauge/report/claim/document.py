"""Findings on a privacy claim as `report.json`, the schema ``privacygauge/1``."""

from __future__ import annotations

from privacygauge.evaluate.claim import PrivacyBound
from privacygauge.report.claim.findings import ClaimFindings
from privacygauge.report.claim.verdict import verdict
from privacygauge.report.document import SCHEMA, Json, as_text, estimate_dict, finite, left_out


def to_dict(f: ClaimFindings) -> Json:
    """Return the findings as plain values: dicts, lists, strings, numbers, None.

    Parameters
    ----------
    f : ClaimFindings

    Returns
    -------
    dict
        The bound of an entry of ``bounds`` is the ``low`` of its ``epsilon``; all of them hold
        together at ``level``. ``curve`` is descriptive: its largest value holds at no level.
        Scores of single canaries are not in it.
    """
    found = verdict(f)
    return {
        "schema": SCHEMA,
        "command": f.command,
        "version": f.version,
        "seed": int(f.seed),
        "level": float(f.level),
        "claim": {"epsilon": float(f.claim.epsilon), "delta": float(f.claim.delta)},
        "design": f.design,
        "n_in": f.n_in,
        "n_out": f.n_out,
        "verdict": {
            "grade": found.grade,
            "headline": found.headline,
            "sentences": list(found.sentences),
            "advice": list(found.advice),
        },
        "bounds": [_bound(f, bound) for bound in f.bounds],
        "guesses": _guesses(f),
        "rates": [{"label": x.label, "estimate": estimate_dict(x.estimate)} for x in f.rates],
        "curve": {
            "descriptive": True,
            "n_guesses": f.curve.n_guesses.tolist(),
            "epsilon": [finite(x) for x in f.curve.low.tolist()],
            "largest": [finite(x) for x in f.curve.largest.tolist()],
        },
        "skipped": left_out(f.skipped),
        "warnings": list(f.warnings),
        "provenance": dict(sorted(f.provenance.items())),
    }


def to_json(f: ClaimFindings) -> str:
    """Return `to_dict` as strict JSON in ASCII: equal findings give equal text."""
    return as_text(to_dict(f))


def _bound(f: ClaimFindings, bound: PrivacyBound) -> Json:
    return {
        "name": bound.name,
        "assumption": bound.assumption,
        "epsilon": estimate_dict(bound.estimate),
        "largest": finite(bound.largest),
        "refutes": bound.refutes(f.claim),
        "could_refute": bound.could_refute(f.claim),
    }


def _guesses(f: ClaimFindings) -> list[Json]:
    if f.guessed is None:
        return []
    pairs = zip(f.guessed.n_guesses.tolist(), f.guessed.n_right.tolist(), strict=True)
    return [{"n_guesses": r, "n_right": v} for r, v in pairs]
