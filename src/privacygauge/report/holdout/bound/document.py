"""Findings on what submissions can buy as `report.json`, the schema ``privacygauge/1``."""

from __future__ import annotations

from privacygauge.report.document import SCHEMA, Json, as_text, estimate_dict, left_out
from privacygauge.report.holdout.bound.verdict import verdict
from privacygauge.report.holdout.findings import RATE, Allowed, Bias, BoundFindings


def to_dict(f: BoundFindings) -> Json:
    """Return the findings as plain values: dicts, lists, strings, numbers, None.

    Parameters
    ----------
    f : BoundFindings

    Returns
    -------
    dict
        ``nb``, ``majority`` and every further number under its own key, a bias above 1/m each
        (``honest_best_of_k``: above the true accuracy); what each assumes under ``assumptions``;
        rates, which are no biases, under ``rates`` alone.
    """
    found, strongest = verdict(f), f.strongest
    return {
        "schema": SCHEMA,
        "command": f.command,
        "version": f.version,
        "seed": int(f.seed),
        "level": float(f.level),
        "n": int(f.n),
        "classes": int(f.classes),
        "queries": int(f.queries),
        "accounts": int(f.accounts),
        "per_account": int(f.per_account),
        "guard": f.guard,
        "accuracy": float(f.accuracy),
        "correlation": float(f.correlation),
        **{b.key: float(b.value) for b in f.biases if b.kind != RATE},
        "nb_simulated": None if f.simulated is None else estimate_dict(f.simulated),
        "strongest": None if strongest is None else _named(strongest),
        "assumptions": {b.key: _bias(b) for b in f.biases},
        "rates": {b.key: float(b.value) for b in f.biases if b.kind == RATE},
        "reconstruction_queries": f.reconstruction,
        "transcript_nats": float(f.nats),
        "closed_form": {"trusted": bool(f.trusted), "draws_per_label": float(f.per_label)},
        "allowed_bias": float(f.allowed_bias),
        "allowed": {a.key: _allowed(a) for a in f.allowed},
        "curves": {
            c.key: {"queries": c.queries.tolist(), "bias": c.bias.tolist()} for c in f.curves
        },
        "verdict": {
            "grade": found.grade,
            "headline": found.headline,
            "sentences": list(found.sentences),
            "advice": list(found.advice),
        },
        "skipped": left_out(f.skipped),
        "warnings": list(f.warnings),
        "provenance": dict(sorted(f.provenance.items())),
    }


def to_json(f: BoundFindings) -> str:
    """Return `to_dict` as strict JSON in ASCII: equal findings give equal text."""
    return as_text(to_dict(f))


def _named(bias: Bias) -> Json:
    return {"name": bias.key, "bias": float(bias.value)}


def _bias(bias: Bias) -> Json:
    return {"kind": bias.kind, "assumption": bias.assumption, "applies": bool(bias.applies)}


def _allowed(allowed: Allowed) -> Json:
    return {
        "submissions": allowed.submissions,
        "examples": allowed.points,
        "assumption": allowed.assumption,
    }
