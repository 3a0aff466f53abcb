"""Small documents of the schema that a register reads, for tests that need many."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

HOSTILE = "</td><script>alert(1)</script> | `x` [a](http://b) \u202e\x1b[31m"
"""What an attacker of the reader would call something."""


def estimate(value, low, high, level=0.95, n=100, method="Wilson") -> dict[str, Any]:
    return {"value": value, "low": low, "high": high, "level": level, "n": n, "method": method}


def number(name, found, shown, *, gate=True, level=0.95, looks=1) -> dict[str, Any]:
    value, _, interval = shown.partition("; ")
    return {
        "name": name,
        "label": f"The {name}",
        "value": found["value"] if isinstance(found, dict) else found,
        "shown": {"value": value, "interval": interval},
        "note": "",
        "guessing": "50%",
        "gate": gate,
        "doubtful": False,
        "level": level,
        "looks": looks,
        "estimate": found if isinstance(found, dict) else None,
    }


def document(kind, severity, *numbers, ids=(), seed=7, headline="What was found") -> dict[str, Any]:
    measures = {}
    for one in numbers:
        measures[one["name"]] = one["value"]
        if one["estimate"] is not None:
            measures[f"{one['name']}.low"] = one["estimate"].get("low")
    return {
        "schema": "privacygauge/2",
        "kind": kind,
        "title": f"Audit of {kind}",
        "name": "",
        "note": "",
        "made": "2026-01-31",
        "command": "made",
        "version": "0.1.0",
        "seed": seed,
        "level": 0.95,
        "about": {
            "audited": "A model",
            "game": "Somebody guesses who was in the data",
            "knowledge": "sees the answers",
            "task": "membership-inference",
        },
        "verdict": {
            "grade": severity,
            "severity": severity,
            "headline": headline,
            "sentences": ["It was found."],
            "unsaid": "It does not say more.",
            "advice": ["Do this first.", "Then that."],
        },
        "measures": measures,
        "numbers": list(numbers),
        "limits": [],
        "worst": {
            "what": "records",
            "ids": list(ids),
            "reason": "" if ids else "nobody was looked at",
        },
        "skipped": [],
        "warnings": ["mind this"],
        "provenance": {"data": "people.csv sha256:00ff", "numpy": "2.0"},
    }


_ACCURACY = number("accuracy", estimate(0.7, 0.66, 0.74), "70.0%; 66.0 to 74.0")
CLASSIFIER = document(
    "classifier",
    "grave",
    _ACCURACY,
    number("auc", estimate(0.75, 0.7, 0.8), "0.750; 0.700 to 0.800"),
    number("epsilon", estimate(0.9, 0.9, None), "\u2265 0.90"),
)
COMPUTED = document(
    "dtp",
    "nothing found",
    number("dtp", 0.5, "0.50", level=None),
    number("share", 0.0, "0%", gate=False),
    ids=tuple(f"r{i}" for i in range(20)),
)
RANKING = document(
    "vulnerable", "not judged", number("vulnerability", 0.125, "0.125", level=None), ids=("4", "2")
)
UNTOLD = document(
    "language",
    "cannot be told",
    number("accuracy", estimate(0.7, 0.66, 0.74), "70.0%; 66.0 to 74.0", looks=2),
    ids=("patient 1",),
)
SMALL = document(
    "generator", "small", number("auc", estimate(0.6, 0.55, 0.65), "0.600; 0.550 to 0.650")
)
MODERATE = document("released-table", "moderate", _ACCURACY, seed=8)
ENDLESS = document("dtp", "grave", number("dtp", None, "\u221e", level=None), seed=9)

EVERY: dict[str, dict[str, Any]] = {
    "classifier": CLASSIFIER,
    "computed": COMPUTED,
    "ranking": RANKING,
    "untold": UNTOLD,
    "small": SMALL,
    "moderate": MODERATE,
    "endless": ENDLESS,
}
"""One of every severity, with and without intervals and ids."""


def changed(document: dict[str, Any], *path: Any, to: Any) -> dict[str, Any]:
    """Return the document with another value at a path of keys and places."""
    found = deepcopy(document)
    inner: Any = found
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return found


def written(folder: Path, document: dict[str, Any]) -> Path:
    """Return a folder with the document as its `report.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps(document), encoding="utf-8")
    return folder
