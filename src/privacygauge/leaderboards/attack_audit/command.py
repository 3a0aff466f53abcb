"""The command `privacygauge holdout attack`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.kinds.command import Command
from privacygauge.kinds.request import HelpGroup, shares, with_low
from privacygauge.leaderboards.attack_audit.options import AttackRequest

if TYPE_CHECKING:
    from privacygauge.kinds.session import Work
    from privacygauge.leaderboards.attack_audit.audit import HoldoutAudit

METRICS = with_low(*shares("bias", "accuracy"))
"""Metrics that a test set can be held to."""


_NAME = "holdout attack"

_HELP = """Attack your own label file through the scores of submissions; nothing is submitted.

Example: privacygauge holdout attack --labels labels.npy --queries 2000

Example: privacygauge holdout attack --labels labels.npy --queries 2000 --attack nb,designed
--guard exact,round:2,ladder
"""


def play(asked: AttackRequest, work: Work) -> HoldoutAudit:
    """Run the requested audit, playing the trials that the run does not hold yet."""
    from privacygauge.leaderboards.attack_audit.audit import HoldoutAttackOptions

    with work.resumable(asked), work.bar("Playing attacks") as progress:
        running = work.running(_NAME, asked, progress)
        return asked.part(HoldoutAttackOptions).run(
            asked.labels, asked.queries, logits=asked.logits, session=running
        )


COMMAND = Command(
    _NAME,
    group=HelpGroup.TEST_SET,
    request=AttackRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits=(
        "Exit with code 3 if METRIC is above VALUE: bias or accuracy of the strongest attack; add "
        ".low for the lower end of the interval."
    ),
    trains=True,
    jobs=1,
    keeps=True,
)
