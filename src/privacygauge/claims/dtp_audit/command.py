"""Options of `privacygauge dtp`, and its run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.claims.dtp_audit.options import (
    METRICS,
    NAME,
    DtpRequest,
)
from privacygauge.kinds.command import Command
from privacygauge.kinds.request import HelpGroup

if TYPE_CHECKING:
    from privacygauge.claims.dtp_audit.audit import DtpAudit
    from privacygauge.kinds.session import Work


_HELP = """Measure how far each training record moves a classifier: differential training privacy.

Example: privacygauge dtp --data people.csv --label income --model naive-bayes

Example: privacygauge dtp --data people.csv --label income --model logistic --bin 0
"""

_LIMITS = (
    "Exit with code 3 if METRIC is above VALUE: pdtp (largest), mean, share (of records above 1), "
    "dtp (largest that a query shows) or dtp-upper (largest that none exceeds)."
)


def play(asked: DtpRequest, work: Work) -> DtpAudit:
    """Run the requested audit, training the models that the run does not hold yet."""
    from privacygauge.claims.dtp_audit.audit import audit_training_set

    return audit_training_set(asked, work)


COMMAND = Command(
    NAME,
    group=HelpGroup.CLASSIFIER,
    request=DtpRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits=_LIMITS,
    trains=True,
    keeps=True,
    tables=("records.parquet", "removal.csv"),
)
