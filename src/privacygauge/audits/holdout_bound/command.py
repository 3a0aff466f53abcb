"""Options of `privacygauge holdout bound`, and its run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from privacygauge.audits.asking import HelpGroup, Request, amounts, asks, shares
from privacygauge.audits.command import Command
from privacygauge.errors import InputError
from privacygauge.holdout.names import GUARDS

if TYPE_CHECKING:
    from privacygauge.audits.holdout_bound.audit import HoldoutBounds
    from privacygauge.audits.work import Work

METRICS = (
    *shares("bias", "honest", "nb", "majority", "scan", "kl"),
    *amounts("theorem-3-1"),  # a bound, which may be above 1
)
"""Metrics that the reuse of a test set can be held to."""

_NAME = "holdout bound"
_HONEST = "Honest submissions"

_HELP = """Bound what submissions to a test set can gain: by attacks, by selection, by any means.

Example: privacygauge holdout bound --n 10000 --classes 2 --queries 2000

Example: privacygauge holdout bound --n 50000 --classes 1000 --accounts 52 --per-account 100
"""


@dataclass(frozen=True, kw_only=True)
class BoundRequest(Request):
    """Options of an audit by bounds on the reuse of a test set."""

    UNUSED: ClassVar[tuple[str, ...]] = ("level",)

    n: int = asks("N", "Number of examples in the test set.")
    classes: int = asks("M", "Number of classes.")
    queries: int | None = asks("N", "Number of submissions of all accounts together.")
    accounts: int | None = asks(
        "A", "Number of accounts, with --per-account in place of --queries."
    )
    per_account: int | None = asks("K", "Number of submissions that each account may make.")
    guard: str = asks(
        "GUARD",
        "Guard that answers submissions: exact, round:2 (whole percent), noise:0.005, "
        "laplace:0.005, ladder, ladder:0.01 or thresholdout:0.04.",
        default="exact",
        offers=GUARDS,
    )
    bias: float = asks(
        "B",
        "Acceptable bias: the report says how many submissions, or examples, keep within it.",
        default=0.005,
    )
    probability: float = asks(
        "P", "Probability with which guarantees and intervals hold.", default=0.95
    )
    accuracy: float = asks("P", "True accuracy of honest submissions.", default=0.8, panel=_HONEST)
    correlation: float = asks(
        "R",
        "Correlation between the errors of two honest submissions: 0 for unrelated models.",
        default=0.0,
        panel=_HONEST,
    )
    simulate: int = asks(
        "T",
        "Number of plays of naive Bayes on random labels: a check of the formulas, and the only "
        "way for a ladder.",
        default=0,
    )

    @property
    def submissions(self) -> tuple[int, int]:
        """The submissions of each account, and the number of accounts."""
        queries = self.queries
        accounts = self.accounts
        per_account = self.per_account
        if queries is not None and accounts is None and per_account is None:
            return queries, 1
        if queries is None and accounts is not None and per_account is not None:
            return per_account, accounts
        raise InputError(
            "give either --queries, the submissions of all accounts together, or both --accounts "
            "and --per-account"
        )


def play(asked: BoundRequest, work: Work) -> HoldoutBounds:
    """Compute the requested bounds."""
    from privacygauge.audits.holdout_bound.audit import holdout_bounds

    queries, accounts = asked.submissions
    return holdout_bounds(
        asked.n,
        asked.classes,
        queries,
        accounts=accounts,
        guard=asked.guard,
        accuracy=asked.accuracy,
        correlation=asked.correlation,
        bias=asked.bias,
        probability=asked.probability,
        simulate=asked.simulate,
        seed=asked.seed,
        command=_NAME,
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
