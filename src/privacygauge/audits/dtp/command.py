"""Options of `privacygauge dtp`, and its run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.audits.asking import HelpGroup
from privacygauge.audits.command import Command
from privacygauge.audits.dtp.options import (
    METRICS,
    NAME,
    DtpRequest,
)

if TYPE_CHECKING:
    from privacygauge.audits.dtp.audit import DtpAudit
    from privacygauge.audits.work import Work


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
    from privacygauge.audits.dtp.audit import audit_training_set

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
