"""Training without each record, with the settings that most tests share."""

from __future__ import annotations

from typing import Any

import numpy as np

from privacygauge.claims.dtp.retrained import (
    LeaveOneOutAnswers,
    LeavingOut,
    retrain_without_each,
)
from privacygauge.classifiers.held import Held
from privacygauge.classifiers.shadows import Execution
from privacygauge.classifiers.trainer import Trainer
from privacygauge.core.checks import Ints


def retrained(trainer: Trainer, x: Held, y: Ints, rows: Ints, **more: Any) -> LeaveOneOutAnswers:
    """Return predictions with and without each record; `more` names fields of either class."""
    how = {name: more.pop(name) for name in ("run", "n_jobs", "progress") if name in more}
    usual: dict[str, Any] = {
        "members": np.ones(len(y), np.bool_),
        "unit": np.arange(len(y)),
        "queries": np.zeros(0, np.int64),
    }
    work = LeavingOut(trainer=trainer, x=x, y=y, rows=rows, **(usual | more))
    return retrain_without_each(work, Execution(**how))
