"""The commands `privacygauge classifier` and `privacygauge demo`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from privacygauge.classifiers.audit.options import METRICS, NAME, ClassifierRequest
from privacygauge.kinds.command import Command
from privacygauge.kinds.request import (
    HelpGroup,
    Request,
)

if TYPE_CHECKING:
    from privacygauge.classifiers.audit.result import Audit
    from privacygauge.kinds.session import Work


LIMITS = (
    "Exit with code 3 if METRIC of any attack is above VALUE: accuracy, auc, advantage, tpr@0.1, "
    "tpr@0.01, tpr@0.001, epsilon, risk, worst-group (right guesses in the worst group that is "
    "shown), worst-records (members that stand out) or detectable (the least accuracy that would "
    "have been found). Add .low for the lower end of the interval (accuracy.low=0.6)."
)
"""Help text of ``--fail-above``, on `METRICS`."""

TABLES = ("records.parquet", "roc.csv")
"""Names of the files written next to the report."""


_HELP = """Audit a classifier: from its predictions alone, or by training shadow models.

Example: privacygauge classifier target.npz --shadow shadow.npz --out report

Example: privacygauge classifier --model random-forest --data people.csv --label income
"""


def play(asked: ClassifierRequest, work: Work) -> Audit:
    """Run the requested audit."""
    if asked.target is not None:
        from privacygauge.classifiers.audit.models import audit_pool
        from privacygauge.classifiers.audit.predictions import audit_classifier
        from privacygauge.classifiers.files import as_pool, load_predictions
        from privacygauge.core.attacks.posterior import ESTIMATORS

        names = () if asked.unit is None else (asked.unit,)
        read = partial(
            load_predictions,
            classes=asked.classes,
            names=names,
            columns=(*asked.slices, *asked.show_columns, *asked.features),
            missing=asked.missing,
        )
        released = read(asked.target)
        if asked.pool is not None:
            pool = as_pool(asked.pool, classes=asked.classes, target_classes=released.classes)
            audit = partial(audit_pool, released, pool)
        else:
            audit = partial(
                audit_classifier,
                released,
                None if asked.shadow is None else read(asked.shadow),
                features=asked.features,
                allow_missing_classes=asked.allow_missing_classes,
            )
        return audit(
            attacks=asked.attacks or None,
            estimator=ESTIMATORS[asked.risk],
            slices=asked.slices or None,
            show_columns=asked.show_columns,
            unit=asked.unit,
            **asked.told(NAME),
        )
    from privacygauge.classifiers.audit.models import audit_trained

    return audit_trained(asked, work)


COMMAND = Command(
    NAME,
    group=HelpGroup.CLASSIFIER,
    request=ClassifierRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits=LIMITS,
    trains=True,
    keeps=True,
    tables=TABLES,
)

_DEMO = """Audit a real model on real data that needs no download.

Trains a random forest on half of 1,797 handwritten digits, and shadow models on other halves;
plays the suite; writes the report and both prediction files, so that "privacygauge classifier" can
be tried on them.

Example: privacygauge demo --out privacygauge-demo
"""


@dataclass(frozen=True, kw_only=True)
class DemoRequest(Request):
    """Options of the demonstration."""


def play_demo(asked: DemoRequest, work: Work) -> Audit:
    """Return the audit, and write its predictions next to the report."""
    from privacygauge.classifiers.audit.predictions import audit_classifier
    from privacygauge.classifiers.files import save_predictions
    from privacygauge.classifiers.named import forest
    from privacygauge.classifiers.shadows import train_predictions
    from privacygauge.datasets.public import digits

    with work.bar("Training models") as progress:
        target, shadow = train_predictions(forest, *digits(), seed=asked.seed, progress=progress)
    if work.folder is not None:
        for name, made in zip(_PREDICTIONS, (target, shadow), strict=True):
            save_predictions(made, work.folder / name)
    return audit_classifier(
        target,
        shadow,
        drawn=True,
        seed=asked.seed,
        level=asked.level,
        command="demo",
        provenance={"data": "digits (scikit-learn)", "model": "random forest, 8 shadow models"},
    )


_FOLDER = "privacygauge-demo"
_PREDICTIONS = ("target.npz", "shadow.npz")
DEMO = Command(
    "demo",
    group=HelpGroup.START,
    request=DemoRequest,
    play=play_demo,
    help=_DEMO,
    metrics=METRICS,
    limits=LIMITS,
    folder=_FOLDER,
    tables=(*TABLES, *_PREDICTIONS),
)
