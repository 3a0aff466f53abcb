"""Options of the audit by bounds on the reuse of a test set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from privacygauge.errors import InputError
from privacygauge.kinds.request import Request
from privacygauge.leaderboards.names import GUARDS
from privacygauge.runs.options import Options, asks

if TYPE_CHECKING:
    from privacygauge.leaderboards.mechanism import Guard

_HONEST = "Honest submissions"


@dataclass(frozen=True, kw_only=True)
class BoundDesign(Options):
    """The guard that answers submissions, the acceptable bias, and the honest submissions."""

    guard: str | Guard = asks(
        "GUARD",
        "Guard that answers submissions: exact, round:2 (whole percent), noise:0.005, "
        "laplace:0.005, ladder, ladder:0.01 or thresholdout:0.04.",
        default="exact",
        offers=GUARDS,
    )
    bias: float = asks(
        "B",
        "Acceptable bias, in (0, 1 - 1/classes): the report says how many submissions, or "
        "examples, keep within it.",
        default=0.005,
    )
    probability: float = asks(
        "P", "Probability with which guarantees and intervals hold.", default=0.95
    )
    accuracy: float = asks(
        "P", "True accuracy of honest submissions, in (0, 1).", default=0.8, panel=_HONEST
    )
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


@dataclass(frozen=True, kw_only=True)
class BoundRequest(BoundDesign, Request):
    """Options of an audit by bounds on the reuse of a test set."""

    UNUSED: ClassVar[tuple[str, ...]] = ("level",)

    n: int = asks("N", "Number of examples in the test set.")
    classes: int = asks("M", "Number of classes.")
    queries: int | None = asks("N", "Number of submissions of all accounts together.")
    accounts: int | None = asks(
        "A", "Number of accounts, with --per-account in place of --queries."
    )
    per_account: int | None = asks("K", "Number of submissions that each account may make.")

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
