"""A test set behind a guard, kept in a database: one submission is one transaction.

The log's row, the guard's new state and the remaining budgets are written together, before anybody
sees the answer. A process that is killed has therefore either answered nothing, or given the answer
that the database holds.
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sqlalchemy import Connection, Engine, RowMapping, insert, select, update

from privacygauge.core.checks import Bools
from privacygauge.errors import BudgetError, InputError
from privacygauge.leaderboards.guards import guard_named
from privacygauge.leaderboards.mechanism import (
    Guard,
    GuardState,
    MarkedSubmission,
    Memoryless,
    content,
)
from privacygauge.leaderboards.metrics import Values
from privacygauge.leaderboards.oracle import Budget, Holdout
from privacygauge.leaderboards.server import accounts, contest
from privacygauge.leaderboards.server.database import (
    ACCOUNT,
    BOARD,
    EXACT,
    KEPT,
    STATE,
    SUBMISSION,
    board_row,
    guard_state,
    reading,
    state_columns,
    writing,
)
from privacygauge.report.numbers import several

SCOPES = "account", "board"
"""Groups of submissions that share a guard's state; the first is the default."""

_LONGEST_KEY = 200


class KeyConflictError(InputError):
    """An idempotency key that was used for another submission."""


class HiddenError(BudgetError):
    """An account that the board's owner has hidden."""


@dataclass(frozen=True)
class Receipt:
    """Receipt of a submission."""

    number: int
    """Number of the submission on the board, from 1."""
    time: str
    """Time at which it was answered, in UTC."""
    account: str
    """Account of the submitter."""
    score: float
    """The guard's answer, in [0, 1]."""
    about: int | None
    """Number of the submission with this score: this one, or an earlier one that a Ladder still
    shows; None if the answer is the submitter's own claim.
    """
    digest: str
    """SHA-256 of the labels, each as four bytes, the lowest first."""


@dataclass(frozen=True)
class RemainingBudget:
    """Submissions that limits have left; None if there is no limit."""

    account: int | None
    """Number of submissions left to this account."""
    total: int | None
    """Number of submissions left to all accounts together."""
    per_day: int | None = None
    """Number of submissions that this account may make on one day in UTC."""
    today: int | None = None
    """Number of these left today."""


@dataclass(frozen=True, eq=False)
class _CheckedSubmission:
    """A submission that was checked."""

    sent: Values
    """(n,) or (n, columns) Submitted labels or values, on all points."""
    marked: MarkedSubmission
    """The part of it on the points that the guard sees, with the true labels."""
    digest: str
    """Digest of the content."""
    key: str | None
    """Submitter's name for it; None without one."""


@dataclass(frozen=True, eq=False)
class Board:
    """A test set, its guard, and the database with the history; see `server.open_board`."""

    holdout: Holdout = field(repr=False)
    """Hidden labels that the guard answers about."""
    guard: Guard
    """Guard between accuracy and submitter."""
    scope: str
    """One of `SCOPES`: the submissions that share a state of the guard."""
    engine: Engine = field(repr=False)
    """Engine of the board's database."""
    private: Holdout | None = field(default=None, repr=False)
    """Points of the final score, on which no answer depends; None if the guard sees all."""
    public: Bools | None = field(default=None, repr=False)
    """(n,) Mask of the labels that are in `holdout`; None for all."""
    ids: tuple[str, ...] | None = field(default=None, repr=False)
    """(n,) Names of the points, for submissions in CSV; None for 0, 1, 2 and on."""
    classes: tuple[str, ...] | None = field(default=None, repr=False)
    """Names of the classes from 0, as submissions may write them; None for the numbers."""
    turn: Lock = field(default_factory=Lock, repr=False)
    """Lock for which threads wait: fairer and faster than waiting for SQLite."""

    def submit(
        self,
        account: str,
        labels: ArrayLike,
        *,
        key: str | None = None,
        claimed: float | None = None,
    ) -> Receipt:
        """Record and answer one submission; return its receipt, which is then in the database.

        Parameters
        ----------
        account : str
            Submitting account. The caller has verified its identity.
        labels : array_like of shape (n,)
            A label in 0..n_classes-1 for every point, or the values that the metric asks for.
        key : str, optional
            The submitter's name for this submission, at most 200 printable ASCII characters. Sent
            again with the same labels, it returns the same receipt and costs nothing.
        claimed : float, optional
            Accuracy on the submitter's own data, in [0, 1], for `Thresholdout`.

        Raises
        ------
        InputError
            If the labels, the key or the claim break a rule, or the account does not exist.
        KeyConflictError
            If the key was used for other labels, or another claim.
        BudgetError
            If nothing is left.
        HiddenError
            If the owner has hidden the account.
        """
        if key is not None and (
            not 1 <= len(key) <= _LONGEST_KEY or not (key.isascii() and key.isprintable())
        ):
            raise InputError(
                f"key must be 1 to {_LONGEST_KEY} printable ASCII characters, got {len(key)} "
                "characters: a random UUID is a good one"
            )
        sent = self.holdout.metric.submission(labels, self.n, self.holdout.n_classes)
        marked = self.holdout.marked(self.part(sent, private=False), claimed)
        asked = _CheckedSubmission(sent, marked, hashlib.sha256(content(sent)).hexdigest(), key)
        with self.turn, writing(self.engine) as connection:
            # Before the limits: a submission that was answered costs nothing when it is sent again.
            board = _row(connection)
            holder = accounts.known_account(connection, account)
            earlier = None
            if key is not None:
                own = SUBMISSION.c.account_id == holder["id"], SUBMISSION.c.key == key
                query = select(SUBMISSION, ACCOUNT.c.name).join(ACCOUNT).where(*own)
                earlier = connection.execute(query).mappings().one_or_none()
            if earlier is not None:
                # The key must not become a way to score other labels for free.
                if (earlier["digest"], earlier["claimed"]) != (asked.digest, claimed):
                    raise KeyConflictError(
                        f"the key {key} stands for submission {earlier['number']}, which had other "
                        "content: take a new key for a new submission"
                    )
                return receipt_of(earlier)
            self._check_limits(connection, board, holder)
            return self._answered(connection, board, holder, asked, time=now())

    def check_allowed(self, account: str, key: str | None = None) -> None:
        """Raise if any submission of this account would be refused.

        So nobody has to send a file that will not be scored, and the server need not read it. A key
        that was answered before is answered again.

        Raises
        ------
        BudgetError
            If nothing is left, the contest is closed, or the account is hidden.
        """
        with reading(self.engine) as connection:
            board = connection.execute(select(BOARD)).mappings().one()
            holder = accounts.known_account(connection, account)
            if key is not None:
                own = SUBMISSION.c.account_id == holder["id"], SUBMISSION.c.key == key
                if connection.execute(select(SUBMISSION.c.number).where(*own)).first() is not None:
                    return
            self._check_limits(connection, board, holder)

    def _check_limits(self, connection: Connection, board: RowMapping, holder: RowMapping) -> None:
        time = now()
        contest.check_open(connection, time)
        left = self._left(board, holder)
        if holder["hidden"]:
            raise HiddenError(f"{holder['name']} was taken off this board: ask its owner")
        if left.account == 0:
            used = holder["used"]
            raise BudgetError(
                f"the budget of {holder['name']} is used up: {used:,} of "
                f"{several(board['per_account'], 'submission')} {_were(used)} answered"
            )
        if left.total == 0:
            used = board["used"]
            raise BudgetError(
                f"the budget of this board is used up: {several(used, 'submission')} "
                f"{_were(used)} answered"
            )
        contest.check_day(connection, board, holder, time)

    def again(
        self, connection: Connection, account: str, labels: Values, row: RowMapping
    ) -> Receipt:
        """Repeat a submission within a transaction; return its receipt.

        No limit is checked, as none was exceeded when it was made.

        Parameters
        ----------
        connection : sqlalchemy.Connection
        account : str
            Account that made the submission.
        labels : ndarray
            Submitted labels, as they were kept.
        row : mapping
            Row of `SUBMISSION` with the time, the key and the claim.
        """
        marked = self.holdout.marked(self.part(labels, private=False), row["claimed"])
        asked = _CheckedSubmission(labels, marked, row["digest"], row["key"])
        holder = accounts.known_account(connection, account)
        return self._answered(connection, _row(connection), holder, asked, time=row["time"])

    def _answered(
        self,
        connection: Connection,
        board: RowMapping,
        holder: RowMapping,
        asked: _CheckedSubmission,
        *,
        time: str,
    ) -> Receipt:
        """Answer a submission, write everything, and return the receipt."""
        marked = asked.marked
        # Holder 0 is the board as a whole.
        held = 0 if self.scope == "board" else int(holder["id"])
        # The state, and the number of the submission on display; -1 if the state is new.
        row = connection.execute(select(STATE).where(STATE.c.holder == held)).mappings().first()
        if row is None:
            key = self.first_key(bytes(board["state_key"]), held, holder["name"])
            before = self.guard.start(key)
            shown = -1
        else:
            before = guard_state(row, len(self.holdout))
            shown = int(row["about"])
        score, after = self.guard.answer(marked, before)
        number = board["used"] + 1
        own = is_about_submission(before, after)
        # The submission still shown; 0 if none is, as for a claim.
        stays = max(shown, 0) if after.shown is not None else 0
        about = number if own else stays
        receipt = Receipt(
            number=number,
            time=time,
            account=holder["name"],
            score=float(score),
            about=about or None,
            digest=asked.digest,
        )
        # The same rows are written whatever the answer, so that timing tells nothing further.
        state = {"about": about, **state_columns(after)}
        if shown < 0:
            connection.execute(insert(STATE).values(holder=held, **state))
        else:
            connection.execute(update(STATE).where(STATE.c.holder == held).values(state))
        logged = asdict(receipt) | {"claimed": marked.claimed, "key": asked.key}
        del logged["account"]
        connection.execute(insert(SUBMISSION).values(account_id=holder["id"], **logged))
        best = holder["best"]
        best_number = holder["best_number"]
        # Only an answer about this submission can be the account's best.
        if own and (best is None or receipt.score > best):
            best = receipt.score
            best_number = number
        values = {"used": holder["used"] + 1, "best": best, "best_number": best_number}
        connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == holder["id"]).values(values))
        # The exact scores on both parts, for the owner alone.
        metric = self.holdout.metric
        public = metric.score(marked.labels, marked.truth)
        private = None
        if self.private is not None:
            part = self.part(asked.sent, private=True)
            private = metric.score(part, self.private.labels)
        connection.execute(insert(EXACT).values(number=number, public=public, private=private))
        if board["keep"]:
            kept = pack_submission(asked.sent, marked.n_classes)
            connection.execute(insert(KEPT).values(number=number, content=kept))
        # A first submission adds one to the accounts that have submitted.
        asking = board["asking"] + (holder["used"] == 0)
        connection.execute(update(BOARD).values(used=number, asking=asking))
        return receipt

    def left(self, account: str) -> RemainingBudget:
        """Return the submissions that budgets and the daily limit leave to an account."""
        with reading(self.engine) as connection:
            board = _row(connection)
            holder = accounts.known_account(connection, account)
            per_day, today = contest.daily_limit(connection, board, holder, now())
            return replace(self._left(board, holder), per_day=per_day, today=today)

    def admit(self, account: str) -> None:
        """Create an account without a token, unless one of this name exists."""
        accounts.admit(self.engine, account)

    @property
    def n(self) -> int:
        """Number of points that a submission is about."""
        return len(self.holdout) + (0 if self.private is None else len(self.private))

    def close(self) -> None:
        """Close every connection to the database."""
        self.engine.dispose()

    def first_key(self, key: bytes, held: int, account: str) -> bytes:
        """Return the key of a new state, of the account's or the board's (`held` 0).

        `key` is the board's.
        """
        if isinstance(self.guard, Memoryless):
            return key
        # Noise drawn by number and not by content: each account gets numbers of its own.
        whose = account.encode() if held else b""
        return hashlib.blake2b(whose, key=key, digest_size=16).digest()

    def part(self, sent: Values, *, private: bool) -> Values:
        """Return the part of a checked submission on the private points, or on the public ones."""
        return sent if self.public is None else sent[self.public != private]

    def _left(self, board: RowMapping, holder: RowMapping) -> RemainingBudget:
        return RemainingBudget(
            None if (k := board["per_account"]) is None else max(0, k - holder["used"]),
            self.total_left(board, further=holder["used"] == 0),
        )

    def total_left(self, board: RowMapping, *, further: bool = False) -> int | None:
        """Return the number of submissions left to all accounts, from the board's row.

        Accounts that have submitted are counted, plus a `further` one if requested: each has its
        own state, so a budget in nats allows fewer submissions to more accounts.
        """
        budget = Budget(total=board["total"], nats=board["nats"])
        accounts = None if self.scope == "board" else max(1, board["asking"] + further)
        n = len(self.holdout)
        m = board["n_classes"]
        most = _most_submissions(self.guard.name, budget, n, m, accounts=accounts)
        return None if most is None else max(0, most - board["used"])


def _were(n: int) -> str:
    return "was" if n == 1 else "were"


def pack_submission(sent: Values, n_classes: int) -> bytes:
    """Pack a submission into few bytes, by the smallest type that holds its labels."""
    return zlib.compress(sent.astype(_dtype(sent.dtype.kind, n_classes)).tobytes(), 1)


def unpack_submission(content: bytes, n: int, n_classes: int, kind: str = "i") -> Values:
    """Undo `pack_submission`: a submission about n points, integers or (`kind` "f") floats."""
    found: Values = np.frombuffer(zlib.decompress(content), _dtype(kind, n_classes))
    return found if len(found) == n else found.reshape(n, -1)


# Little-endian on every machine, so that a database can move.
def _dtype(kind: str, n_classes: int) -> np.dtype[Any]:
    return np.dtype("<f8") if kind == "f" else np.min_scalar_type(n_classes - 1).newbyteorder("<")


def receipt_of(row: RowMapping) -> Receipt:
    """Return the receipt of a row of the log that is joined with its account."""
    return Receipt(
        number=row["number"],
        time=row["time"],
        account=row["name"],
        score=row["score"],
        about=row["about"],
        digest=row["digest"],
    )


# Searching for the largest number of submissions takes a while, and the arguments rarely change.
@lru_cache(maxsize=16)
def _most_submissions(
    guard: str, budget: Budget, n: int, n_classes: int, accounts: int | None
) -> int | None:
    return budget.submissions(guard_named(guard), n, n_classes, accounts)


def _row(connection: Connection) -> RowMapping:
    row = board_row(connection)
    if row is None:
        raise InputError("the database holds no board any more: start the server again")
    return row


def is_about_submission(before: GuardState, after: GuardState) -> bool:
    """Return whether an answer is about the submission, not about an earlier one or a claim.

    Which of these it is follows from the answers so far, and so reveals nothing further. A guard
    without memory returns the state that it was given.
    """
    return after is before or after.spent > before.spent


def now() -> str:
    """Return the time in UTC, in the notation of the log."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
