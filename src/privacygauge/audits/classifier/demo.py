"""What `privacygauge demo` asks, and how it is played."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.audits.asking import Command, Group, Request
from privacygauge.audits.classifier.asks import LIMITS, METRICS

if TYPE_CHECKING:
    from privacygauge.audits.classifier.found import Audit
    from privacygauge.audits.work import Work

_HELP = """Audit a real model on real data that needs no download.

Trains a random forest on half of 1,797 handwritten digits, and shadow models on other halves;
plays the suite; writes the report and both prediction files, so that "privacygauge classifier" can
be tried on them.

Example: privacygauge demo --out privacygauge-demo
"""


@dataclass(frozen=True, kw_only=True)
class DemoRequest(Request):
    """What was asked."""


def play(asked: DemoRequest, work: Work) -> Audit:
    """Return the audit, and write the predictions that it is of beside the report."""
    from privacygauge.audits.classifier.predictions import audit_classifier
    from privacygauge.audits.named_models import forest
    from privacygauge.classifier.files import save_predictions
    from privacygauge.classifier.training import train_predictions
    from privacygauge.datasets.digits import digits

    with work.bar("Training models") as progress:
        target, shadow = train_predictions(forest, *digits(), seed=asked.seed, progress=progress)
    if work.folder is not None:
        save_predictions(target, work.folder / "target.npz")
        save_predictions(shadow, work.folder / "shadow.npz")
    return audit_classifier(
        target,
        shadow,
        drawn=True,
        seed=asked.seed,
        level=asked.level,
        command="demo",
        provenance={"data": "digits (scikit-learn)", "model": "random forest, 8 shadow models"},
    )


COMMAND = Command(
    "demo",
    Group.START,
    DemoRequest,
    play,
    _HELP,
    METRICS,
    LIMITS,
    folder="privacygauge-demo",
)
