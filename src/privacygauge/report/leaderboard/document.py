"""Findings on a leaderboard's history as `report.json`, the schema ``privacygauge/1``."""

from __future__ import annotations

from privacygauge.report.document import SCHEMA, Json, as_text, left_out
from privacygauge.report.leaderboard.findings import CorrectedTest, LeaderboardFindings
from privacygauge.report.leaderboard.verdict import verdict


def to_dict(f: LeaderboardFindings) -> Json:
    """Return the findings as plain values: dicts, lists, strings, numbers, None.

    Submitted answers and labels are not in it, only numbers of submissions in time from 0.
    """
    found, s = verdict(f), f.submissions
    return {
        "schema": SCHEMA,
        "command": f.command,
        "version": f.version,
        "seed": int(f.seed),
        "level": float(f.level),
        "n": int(f.n),
        "classes": f.n_classes,
        "submissions": len(s.accounts),
        "accounts": int(f.n_accounts),
        "evidence": f.evidence,
        "verdict": {
            "grade": found.grade,
            "headline": found.headline,
            "sentences": list(found.sentences),
            "advice": list(found.advice),
        },
        "findings": [_test(test) | {"submissions": test.rows.tolist()} for test in f.findings],
        "suspects": list(f.suspects),
        "tests": [_test(test) for test in f.tests],
        "winner": {
            "account": f.winner.account,
            "submissions": int(f.winner.submissions),
            "best": float(f.winner.best),
            "margin": f.winner.margin,
            "correlation": float(f.winner.correlation),
            "selection": float(f.winner.selection),
            "explained": f.winner.explained,
        },
        "improvements": int(s.record.sum()),
        "ladder": {
            "guard": f.ladder,
            "improvements": (
                None if s.ladder is None else int((s.ladder[1:] > s.ladder[:-1]).sum())
            ),
        },
        "copies": f.copies,
        "copies_of_others": f.shared_copies,
        "near_copies_of_others": f.near_copies,
        "guards": [
            {
                "guard": r.guard,
                "improvements": int(r.improvements),
                "best": float(r.best),
                "mean_error": float(r.error),
                "nats": float(r.nats),
                "approximate": bool(r.approximate),
            }
            for r in f.replays
        ],
        "skipped": left_out(f.skipped),
        "warnings": list(f.warnings),
        "provenance": dict(sorted(f.provenance.items())),
    }


def to_json(f: LeaderboardFindings) -> str:
    """Return `to_dict` as strict JSON in ASCII: equal findings give equal text."""
    return as_text(to_dict(f))


def _test(test: CorrectedTest) -> Json:
    return {
        "detector": test.detector.name,
        "title": test.detector.title,
        "accounts": list(test.accounts),
        "p_value": float(test.p_value),
        "adjusted": float(test.adjusted),
        "says": test.says,
        "null": test.detector.null,
    }
