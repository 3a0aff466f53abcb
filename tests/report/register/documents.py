"""The smallest `report.json` of every kind that a register reads, for tests that need many."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

HOSTILE = "</td><script>alert(1)</script> | `x` [a](http://b) \u202e\x1b[31m"
"""What an attacker of the reader would call something."""


def estimate(value, low, high, level=0.95, n=100, method="Wilson") -> dict[str, Any]:
    return {"value": value, "low": low, "high": high, "level": level, "n": n, "method": method}


def verdict(grade: str, headline: str = "What was found") -> dict[str, Any]:
    return {
        "grade": grade,
        "headline": headline,
        "sentences": ["It was found.", "It does not say more."],
        "advice": ["Do this first.", "Then that."],
    }


SEVERITIES = {
    "no leak found": "nothing found",
    "small": "small",
    "moderate": "moderate",
    "large": "grave",
    "cannot be told": "cannot be told",
}
"""Of the grades of a leak."""


def judged(grade: str, headline: str = "What was found") -> dict[str, Any]:
    """Return a verdict of the schema ``privacygauge/2``."""
    unsaid = {"severity": SEVERITIES[grade], "unsaid": "It does not say more."}
    return {**verdict(grade, headline), **unsaid}


def _of(**content: Any) -> dict[str, Any]:
    return {
        "schema": "privacygauge/1",
        "command": "made",
        "version": "0.1.0",
        "seed": 7,
        "level": 0.95,
        **content,
        "skipped": [],
        "warnings": ["mind this"],
        "provenance": {"data": "people.csv sha256:00ff", "numpy": "2.0"},
    }


_GAME = {"question": "Was this record in the data?", "adversary": "sees the answers"}
_HEADLINE = {
    "attack": "entropy",
    "accuracy": estimate(0.7, 0.66, 0.74),
    "epsilon": estimate(None, 0.9, None),
}
_AUC = {"auc": estimate(0.75, 0.7, 0.8)}

CLASSIFIER = _of(
    schema="privacygauge/2",
    kind="classifier",
    about={
        "audited": "A model, by what it answers about single records",
        "game": "Somebody who holds a record guesses: was this record in the data?",
        "knowledge": "sees the answers",
        "task": "membership-inference",
    },
    verdict=judged("large"),
    measures={
        "accuracy": 0.7,
        "accuracy.low": 0.66,
        "auc": 0.75,
        "auc.low": 0.7,
        "epsilon": 0.9,
        "epsilon.low": 0.9,
    },
    numbers=[
        {
            "name": "accuracy",
            "label": "Right guesses of the strongest attack",
            "value": 0.7,
            "shown": {"value": "70.0%", "interval": "66.0 to 74.0"},
            "guessing": "50%: members and non-members count the same",
            "gate": True,
            "level": 0.95,
            "looks": 1,
            "estimate": estimate(0.7, 0.66, 0.74),
        },
        {"name": "auc", "gate": True},
        {"name": "epsilon", "gate": True},
    ],
    worst={"what": "records", "ids": ["b", "c", "a"], "reason": ""},
    game=_GAME,
    headline=_HEADLINE,
    attacks=[_AUC],
    facts=[],
    slices={},
)
DTP = _of(
    model="naive Bayes",
    n_train=50,
    n_measured=50,
    pdtp={"max": 0.4, "riskiest": [{"id": f"r{i}"} for i in range(20)]},
    dtp={"lower": 0.5, "upper": 0.75},
    verdict="publish",
    certified=True,
    sentences=["Publish: no record changes any answer", "It does not say more."],
    advice=["Do this first."],
)
VULNERABLE = {
    **{key: value for key, value in _of().items() if key not in ("level", "skipped")},
    "n": 30,
    "k": 5,
    "distance": "cosine",
    "top": [{"row": 4, "score": 0.5}, {"row": 2, "score": 0.25}],
    "mean_score": 0.125,
}
SYNTHETIC = _of(
    game=_GAME,
    generator={"name": "baynet"},
    verdict=verdict("small"),
    headline={
        "attack": "query-based",
        "auc": estimate(0.6, 0.55, 0.65),
        "target": _AUC,
        "epsilon": estimate(0.5, 0.1, None),
    },
    targets=[
        {"id": name, "attacks": {"query-based": {"auc": {"value": auc}}}}
        for name, auc in (("calm", 0.5), ("worst", 0.9), ("next", 0.8))
    ],
)
RELEASED = _of(
    n_synthetic=60,
    game=_GAME,
    headline=_HEADLINE,
    attacks=[_AUC],
    verdict=verdict("moderate"),
    furthest={"risk": "inference (pay)", "beyond": estimate(0.3, 0.1, 0.5, 0.995)},
    copies={
        "facts": [{"label": "Copies", "estimate": estimate(0.02, 0.0, 0.1)}],
        "beyond": estimate(0.0, -0.1, 0.1, 0.995),
    },
)
LANGUAGE = _of(
    game=_GAME,
    headline=_HEADLINE,
    attacks=[_AUC],
    verdict=verdict("cannot be told"),
    controls={"fired": ["reference"]},
    patients={
        "headline": {"accuracy": estimate(0.8, 0.7, 0.9)},
        "worst": [{"group": "patient 1"}],
    },
)
CLAIM = _of(
    claim={"epsilon": 2.0, "delta": 1e-05},
    design="one-run",
    n_in=480,
    n_out=520,
    schema="privacygauge/2",
    kind="privacy-claim",
    about={
        "audited": "A claim of differential privacy",
        "game": "1,000 made-up records were put in or left out by coins",
        "knowledge": "the scores of the canaries",
        "task": "differential-privacy-audit",
    },
    verdict={**verdict("refuted"), "severity": "grave", "unsaid": "Not that it is proven."},
    measures={"claimed-epsilon": 2.0, "epsilon": 2.451, "epsilon.low": 2.451},
    numbers=[
        {"name": "claimed-epsilon", "gate": False},
        {
            "name": "epsilon",
            "label": "Epsilon (one run, no assumption)",
            "value": 2.451,
            "shown": {"value": "\u2265\u202f2.45", "interval": ""},
            "guessing": "0; the claim is epsilon 2 at delta 1e-05",
            "gate": True,
            "level": 0.95,
            "looks": 1,
            "estimate": estimate(2.451, 2.451, None),
        },
    ],
    worst={"what": "records", "ids": [], "reason": "canaries are made up"},
)
DEFENCES = _of(
    best="rounding (1 digit)",
    verdict=verdict("small"),
    undefended={},
    defences=[
        {"name": "top-k", "variant": "", "left": {}, "worst": []},
        {
            "name": "rounding",
            "variant": "1 digit",
            "left": {"accuracy": estimate(0.6, 0.52, 0.68), **_AUC},
            "worst": [{"id": "17"}, {"id": "4"}],
        },
    ],
)
WORST_CASE = _of(
    fpr=0.01,
    best="private",
    changed_places=[],
    verdict=verdict("small"),
    trainings=[
        {"title": "no defence", "targets": []},
        {
            "title": "private",
            "targets": [
                {
                    "name": "canaries",
                    "highest": {"0.01": estimate(0.05, 0.02, 0.11, 0.9996)},
                    "highest_auc": estimate(0.6, 0.55, 0.65, 0.9996),
                },
            ],
        },
    ],
) | {"schema": "privacygauge/worst-case/1"}
BOUND = _of(
    n=10_000,
    classes=2,
    queries=2000,
    guard="exact",
    honest_best_of_k=0.0137,
    strongest={"name": "nb", "bias": 0.1726},
    allowed_bias=0.005,
    transcript_nats=9.0,
    verdict=verdict("too many submissions"),
)
ATTACK = _of(
    n=200,
    queries=80,
    trials=3,
    guard="ladder",
    knowledge="nothing",
    accuracy=estimate(0.6, 0.55, 0.65),
    baseline=0.5,
    bias_corrected=estimate(0.1, 0.05, 0.15, 0.9875),
    honest_best_of_k={},
    verdict=verdict("large"),
)
HISTORY = _of(
    submissions=85,
    evidence="scores",
    findings=[{}],
    tests=[{}, {}],
    suspects=["attacker-0"],
    winner={},
    verdict=verdict("something stands out"),
)

EVERY: dict[str, dict[str, Any]] = {
    "classifier": CLASSIFIER,
    "differential training privacy": DTP,
    "vulnerable records": VULNERABLE,
    "synthetic tables": SYNTHETIC,
    "released table": RELEASED,
    "language model": LANGUAGE,
    "privacy claim": CLAIM,
    "defences": DEFENCES,
    "worst-case records": WORST_CASE,
    "bounds on a test set": BOUND,
    "attacks on a test set": ATTACK,
    "leaderboard history": HISTORY,
}
"""By the name of the kind."""


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
