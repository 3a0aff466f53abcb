"""The public standings of a board, and the owner's log."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields

from sqlalchemy import Connection, Engine, RowMapping, false, func, select

from privacygauge.errors import InputError
from privacygauge.holdout.bounds import frequency_bias, transcript_nats
from privacygauge.holdout.honest import guard_cost
from privacygauge.holdout.metrics import ACCURACY, metric_bias
from privacygauge.holdout.server import contest
from privacygauge.holdout.server.accounts import known_account, owned_by
from privacygauge.holdout.server.board import Board, Receipt, receipt_of
from privacygauge.holdout.server.database import database_name, reading
from privacygauge.holdout.server.ending import Ending, ending_of
from privacygauge.holdout.server.schema import ACCOUNT, BOARD, EXACT, FINAL, SUBMISSION

_ROWS = 1_000
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Place:
    """One account on the board."""

    account: str
    """Its name."""
    score: float | None
    """The best answer that was about a submission of its own; None where there was none."""
    submissions: int
    """Number of submissions."""


@dataclass(frozen=True)
class Phase:
    """A time in which submissions are taken."""

    name: str
    """Name of the phase, as the page prints it."""
    opens: str
    """When it begins, in UTC."""
    closes: str
    """When it ends, in UTC."""


@dataclass(frozen=True)
class Standings:
    """What everybody may see: what the guard released, and what is left."""

    title: str
    """Title of the board."""
    rules: str | None
    """Its rules, in any number of lines."""
    n: int
    """Points that answers are about."""
    n_private: int
    """Points that no answer is about: they decide in the end."""
    metric: str
    """Metric of submissions."""
    n_classes: int
    """Classes."""
    guard: str
    """Guard between accuracy and submitter."""
    scope: str
    """Whether it remembers the submissions of each ``account``, or those of the ``board``."""
    accounts: int
    """Accounts, with those that have not submitted."""
    used: int
    """Submissions answered."""
    left: int | None
    """Submissions of all accounts that are left; None where nothing limits them."""
    nats: float | None
    """Information that all answers together may carry, in nats; None where nothing limits it."""
    per_account: int | None
    """Submissions that an account may make; None where nothing limits them."""
    per_day: int | None
    """Submissions that an account may make on one day in UTC."""
    finals: int
    """Submissions that an account may choose to be judged by in the end."""
    phases: tuple[Phase, ...]
    """Phases in which submissions are taken; without any, always."""
    last: str | None
    """When the last submission was answered, in UTC."""
    places: tuple[Place, ...]
    """The first 1,000 accounts, best first; of equal ones the earlier first."""
    ending: Ending | None
    """Every team's private score, once the owner has published it."""


def standings(board: Board) -> Standings:
    """Return the board's standings at this moment."""
    best = ACCOUNT.c.best.is_(None), ACCOUNT.c.best.desc(), ACCOUNT.c.best_number, ACCOUNT.c.id
    places = (
        select(ACCOUNT)
        .where(ACCOUNT.c.used > 0, ACCOUNT.c.hidden == false())
        .order_by(*best)
        .limit(_ROWS)
    )
    last = select(SUBMISSION.c.time).order_by(SUBMISSION.c.number.desc()).limit(1)
    with reading(board.engine) as connection:
        # Without a lock: those who look must not hold up those who submit.
        row = connection.execute(select(BOARD)).mappings().one()
        time = connection.execute(last).scalar_one_or_none()
        rows = connection.execute(places).mappings().all()
        accounts = connection.execute(select(func.count()).select_from(ACCOUNT)).scalar_one()
        phases = tuple(Phase(**phase) for phase in contest.phases(connection))
        result = ending_of(connection) if row["published"] else None
    same = ("rules", "metric", "n_classes", "guard", "scope", "used", "nats", "per_account",
            "per_day", "finals")  # fmt: skip
    return Standings(
        title=row["title"] or "Leaderboard",
        n=len(board.holdout),
        n_private=board.n - len(board.holdout),
        accounts=accounts,
        left=board.total_left(row),
        phases=phases,
        last=time,
        places=tuple(Place(each["name"], each["best"], each["used"]) for each in rows),
        ending=result,
        **{name: row[name] for name in same},
    )


def own_submissions(board: Board, account: str, after: int, most: int) -> list[Receipt]:
    """Return an account's receipts with numbers above `after`, in order, up to a limit."""
    query = (
        select(SUBMISSION, ACCOUNT.c.name)
        .join(ACCOUNT)
        .where(ACCOUNT.c.name == account, SUBMISSION.c.number > after)
        .order_by(SUBMISSION.c.number)
        .limit(most)
    )
    with reading(board.engine) as connection:
        known_account(connection, account)
        return [receipt_of(row) for row in connection.execute(query).mappings()]


def latest_submissions(board: Board, account: str, most: int) -> list[Receipt]:
    """Return an account's latest receipts, the last first."""
    with reading(board.engine) as connection:
        holder = known_account(connection, account)
        query = (
            select(SUBMISSION, ACCOUNT.c.name)
            .join(ACCOUNT)
            .where(SUBMISSION.c.account_id.in_(owned_by(connection, holder["id"])))
            .order_by(SUBMISSION.c.number.desc())
            .limit(most)
        )
        return [receipt_of(row) for row in connection.execute(query).mappings()]


def chosen_submissions(board: Board, account: str) -> set[int]:
    """Return the numbers of the submissions that an account chose for the end."""
    with reading(board.engine) as connection:
        holder = known_account(connection, account)
        own = select(FINAL.c.number).where(FINAL.c.account_id == holder["id"])
        return set(connection.execute(own).scalars())


def exact_scores(engine: Engine) -> dict[int, float]:
    """Return the exact scores of submissions on the points behind the guard, by number."""
    with reading(engine) as connection:
        rows = connection.execute(select(EXACT.c.number, EXACT.c.public))
        return {row.number: row.public for row in rows}


def log(engine: Engine) -> Iterator[Receipt]:
    """Yield every submission in order, a part at a time: for the owner, not for everybody.

    Raises
    ------
    InputError
        If the database holds no board.
    """
    into = ACCOUNT.alias()
    # One team under one name, also where it had two accounts for a while.
    name = func.coalesce(into.c.name, ACCOUNT.c.name).label("name")
    query = (
        select(SUBMISSION, name)
        .join(ACCOUNT, ACCOUNT.c.id == SUBMISSION.c.account_id)
        .outerjoin(into, into.c.id == ACCOUNT.c.merged_into)
        .order_by(SUBMISSION.c.number)
    )
    with reading(engine) as connection:
        _boards(connection, engine)
        rows = connection.execution_options(yield_per=1_000).execute(query).mappings()
        yield from (receipt_of(row) for row in rows)


def account_rows(engine: Engine) -> list[dict[str, object]]:
    """Return every account: its name, its submissions, whether it has a token, and is hidden."""
    with reading(engine) as connection:
        rows = connection.execute(select(ACCOUNT).order_by(ACCOUNT.c.name)).mappings().all()
    return [
        {
            "account": row["name"],
            "submissions": row["used"],
            "token": "yes" if row["token_id"] else "none",
            "hidden": "yes" if row["hidden"] else "no",
        }
        for row in rows
    ]


def entries(engine: Engine, *, exact: bool = False) -> Iterator[dict[str, object]]:
    """Return the log as rows: the fields of a receipt, and the guard's and the metric's names.

    With `exact` also what submissions really score, as ``exact``; it tells far more than the
    guard's answers, and is for the owner's own audit.
    """
    with reading(engine) as connection:
        board = _boards(connection, engine)
    scores = exact_scores(engine) if exact else {}
    for receipt in log(engine):
        row = {**asdict(receipt), "guard": board["guard"], "metric": board["metric"]}
        yield {**row, "exact": scores.get(receipt.number)} if exact else row


def as_json_lines(rows: Iterable[Mapping[str, object]]) -> str:
    """Return rows as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def as_csv(rows: Iterable[Mapping[str, object]]) -> str:
    """Return rows as CSV."""
    text = io.StringIO()
    found = list(rows)
    columns = found[0] if found else (*(field.name for field in fields(Receipt)), "guard", "metric")
    writer = csv.DictWriter(text, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    return text.getvalue()


def _boards(connection: Connection, engine: Engine) -> RowMapping:
    row = connection.execute(select(BOARD)).mappings().one_or_none()
    if row is None:
        raise InputError(f"{database_name(engine)} holds no board yet: start the server first")
    return row


def introduction(board: Board, url: str) -> str:
    """Return the lines that a server prints at its start."""
    now = standings(board)
    left = "no limit on what is left" if now.left is None else f"{now.left:,} left"
    guard = f"guard {now.guard} for {'each account' if now.scope == 'account' else 'the board'}"
    classes = f", {now.n_classes:,} classes" if now.n_classes else ""
    kept = f" and {now.n_private:,} for the end" if now.n_private else ""
    metric = "" if now.metric == "accuracy" else f", metric {now.metric}"
    return (
        f"{database_name(board.engine)}: {now.n:,} points{kept}{classes}{metric}, {guard}\n"
        f"{now.used:,} submissions so far, {left}{promise(board, now)}\n"
        f"Listening at {url}; Ctrl+C stops it"
    )


def promise(board: Board, now: Standings) -> str:
    """Describe the joint guarantee of the guard and the budget, if there is a budget."""
    hidden = board.holdout
    metric = board.holdout.metric

    def most_gained(nats: float) -> float:
        if metric == ACCURACY:
            return frequency_bias(nats, now.n, largest)
        return metric_bias(metric, hidden.labels, nats)

    largest = metric.chance(hidden.labels)
    accounts = max(1, now.accounts)
    most = None if now.left is None else now.used + now.left
    each = None if now.per_account is None else accounts * now.per_account
    k = min((limit for limit in (most, each) if limit is not None), default=0)
    if k == 0:
        return ": set --total, --nats or both, since every answer tells something"
    # The owner alone makes accounts; with more of them a guard for each promises less.
    apart = accounts if now.scope == "account" else None
    m = max(2, now.n_classes)
    bias = most_gained(transcript_nats(board.guard, k, now.n, m, accounts=apart))
    whose = f"{accounts:,} account{'s' * (accounts > 1)}"
    if apart is None and k == most:
        whose = "any number of accounts"
    elif now.nats is not None and (by_nats := most_gained(now.nats)) <= bias:
        bias = by_nats
        whose = "any number of accounts"
    points = f"{100 * bias:.2g} points {'of accuracy' if metric == ACCURACY else 'in a hundred'}"
    guess = f"the best guess of who knows how frequent each value is ({largest:.4g})"
    if bias >= 1 - largest - _ROUNDING:
        return (
            f": together they promise nothing, since {points} over {guess} is all there is to "
            "gain: lower --total, or set --nats"
        )
    return (
        f": in all they let no attack from {whose} without further knowledge of the points gain "
        f"more than {points} over {guess} (probability 0.95)"
    )


def cost(board: Board) -> str:
    """Describe the cost of the guard for honest teams, in a contest made up for these points."""
    found = guard_cost(board.holdout, board.guard)
    return (
        f"In a made-up contest of {found.teams} honest teams with {found.submissions} submissions "
        f"each the guard hides {100 * found.hidden:.2g} points, moves a team by "
        f"{found.places:.1f} places (rank correlation with exact scores {found.ranks:.2f})"
    )
