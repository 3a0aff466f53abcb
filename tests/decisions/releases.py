"""Small releases, for tests that need many."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from privacygauge.decisions.check import ReleaseCheck, check_release, sign_release
from privacygauge.decisions.record import Decision
from tests.releases.documents import changed, document, estimate, number, written

LATER = "2999-12-31"

_ACCURACY = number("accuracy", estimate(0.51, 0.49, 0.53), "51.0%; 49.0 to 53.0")
_LEAST = number("detectable", 0.55, "55.0%", level=None)
MEMBERSHIP = {
    **document("classifier", "nothing found", _ACCURACY, _LEAST),
    "detectable": {"average": 0.55, "power": 0.8},
}
ATTRIBUTES = changed(
    document("attribute", "small", number("attribute-advantage", estimate(0.02, 0.01, 0.03), "2%")),
    "about",
    "task",
    to="attribute-inference",
)

POLICY = """
[classifier]
"accuracy.low" = "50%"

[release-check.not-applicable]
extraction = "It writes no texts."
contents = "The file stays here."
claims = "Nothing is claimed."
"""


def made(folder: Path, policy: str | None = POLICY, /, **reports: dict[str, Any]) -> Path:
    """Return a release folder with an artefact, reports and a policy."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "artefact").mkdir()
    (folder / "artefact" / "weights.bin").write_bytes(bytes(range(64)))
    (folder / "artefact" / "notes.txt").write_text("version 3\n")
    for name, found in (reports or {"members": MEMBERSHIP, "values": ATTRIBUTES}).items():
        written(folder / "reports" / name, found)
    if policy is not None:
        (folder / "policy.toml").write_text(policy, encoding="utf-8")
    return folder


def signed(folder: Path, **given: Any) -> Decision:
    """Sign a release as somebody does."""
    usual = {"decision": "release", "by": "A. Berg", "role": "head of data", "until": LATER}
    return sign_release(folder, **{**usual, "because": "all was tested", **given})


def rewritten(folder: Path, name: str, document: dict[str, Any]) -> None:
    """Write a report again."""
    path = folder / "reports" / name / "report.json"
    path.write_text(json.dumps(document), encoding="utf-8")


def example(decision: str = "", policy: str | None = POLICY, **reports: Any) -> ReleaseCheck:
    """Return the check of a release that somebody signed, or nobody did."""
    with TemporaryDirectory() as place:
        folder = made(Path(place, "triage"), policy, **reports)
        if decision:
            signed(folder, decision=decision, because="<b>x</b> | `y`")
        return check_release(folder)
