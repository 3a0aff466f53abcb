"""The command `privacygauge holdout bound`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.kinds.command import Command
from privacygauge.kinds.request import HelpGroup, amounts, shares
from privacygauge.leaderboards.bound_audit.options import BoundRequest

if TYPE_CHECKING:
    from privacygauge.kinds.session import Work
    from privacygauge.leaderboards.bound_audit.audit import HoldoutBounds

METRICS = (
    *shares("bias", "honest", "nb", "majority", "scan", "kl"),
    *amounts("theorem-3-1"),  # a bound, which may be above 1
)
"""Metrics that the reuse of a test set can be held to."""

_NAME = "holdout bound"

_HELP = """Bound what submissions to a test set can gain: by attacks, by selection, by any means.

Example: privacygauge holdout bound --n 10000 --classes 2 --queries 2000

Example: privacygauge holdout bound --n 50000 --classes 1000 --accounts 52 --per-account 100
"""


def play(asked: BoundRequest, work: Work) -> HoldoutBounds:
    """Compute the requested bounds."""
    from privacygauge.kinds.session import Session
    from privacygauge.leaderboards.bound_audit.audit import HoldoutBoundOptions

    queries, accounts = asked.submissions
    return asked.part(HoldoutBoundOptions).run(
        asked.n, asked.classes, queries, accounts=accounts, session=Session(_NAME, asked.seed)
    )


COMMAND = Command(
    _NAME,
    group=HelpGroup.TEST_SET,
    request=BoundRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits=(
        "Exit with code 3 if METRIC is above VALUE: bias (the strongest known attack), honest, nb, "
        "majority, scan, kl or theorem-3-1."
    ),
    folder=None,
)
