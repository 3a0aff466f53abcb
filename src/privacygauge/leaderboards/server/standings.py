"""The public standings of a board, the owner's log, and the end of a contest."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Engine, RowMapping, false, func, literal, select

from privacygauge.errors import InputError
from privacygauge.evaluate.slices import holm
from privacygauge.leaderboards.bounds import frequency_bias, transcript_nats
from privacygauge.leaderboards.history.overfitting import gap, rank_correlation
from privacygauge.leaderboards.history.scale import Scale
from privacygauge.leaderboards.honest import guard_cost
from privacygauge.leaderboards.metrics import ACCURACY, metric_bias, metric_named
from privacygauge.leaderboards.server import contest
from privacygauge.leaderboards.server.accounts import known_account, owned_by
from privacygauge.leaderboards.server.board import Board, Receipt, receipt_of
from privacygauge.leaderboards.server.database import (
    ACCOUNT,
    BOARD,
    EXACT,
    FINAL,
    SUBMISSION,
    VOIDED,
    database_name,
    lacking_board,
    reading,
)
from privacygauge.report.numbers import several

_NO_END = "the board keeps no points for the end: begin one with --public, such as --public 0.3"


@dataclass(frozen=True)
class TeamResult:
    """Final result of one team."""

    place: int
    """Rank by the private score, from 1; equal scores share it, the earlier submission first."""
    account: str
    """Name of the team."""
    submission: int
    """Submission that the team is judged by: of those it chose the best on the private points.
    Without a choice it is the one with the best exact public score or, if the owner judges by what
    was shown, the one that the guard showed as its best, or else its last.
    """
    private: float
    """Its exact score on the points that no answer was about."""
    public: float
    """Its exact score on the points that answers were about."""
    public_place: int
    """Rank by `public`, from 1; equal scores share it."""
    difference: float
    """`public` less `private`: overfitting to the public points, plus luck."""
    low: float
    """Lower limit of the difference."""
    high: float
    """Upper limit of the difference."""
    p_value: float
    """Two-sided p-value of "both parts are equally easy for it", after Holm's correction over
    teams.
    """


@dataclass(frozen=True)
class Ending:
    """All teams' results."""

    results: tuple[TeamResult, ...]
    """Results of all teams, by place."""
    level: float
    """Level of each interval."""

    @property
    def mean_difference(self) -> float:
        """Mean public less private score; without interval, as teams share the points."""
        return float(np.mean([each.difference for each in self.results]))

    @property
    def ranks(self) -> float:
        """Rank correlation of public and private scores; nan for a single team."""
        scores = np.array([(each.public, each.private) for each in self.results]).reshape(-1, 2)
        return rank_correlation(*scores.T)


def ending(engine: Engine, *, level: float = 0.95) -> Ending:
    """Return every team's public and private score, and the interval of their difference.

    The intervals are those of `history.overfitting.gap`.

    Parameters
    ----------
    engine : sqlalchemy.Engine
        Engine of a board that was begun with a public share.
    level : float
        In (0, 1), level of each team's interval.

    Raises
    ------
    InputError
        If no points were kept for the end.

    Sources
    -------
    Roelofs et al., "A Meta-Analysis of Overfitting in Machine Learning" (2019), which compares
    the public and the private accuracy of each submission.
    """
    with reading(engine) as connection:
        return ending_of(connection, level)


def ending_of(connection: Connection, level: float = 0.95) -> Ending:
    """Return `ending` within a transaction."""
    board = _board_of(connection)
    if board["public"] is None:
        raise InputError(_NO_END)
    # The submission by which each team is judged, in the order of submissions.
    shown = board["judged_by"] == "shown"
    teams = select(ACCOUNT).where(ACCOUNT.c.used > 0, ACCOUNT.c.hidden == false())
    counts = SUBMISSION.c.number.not_in(select(VOIDED.c.number))
    chosen: dict[int, list[int]] = {}
    for row in connection.execute(select(FINAL).where(FINAL.c.number.not_in(select(VOIDED)))):
        chosen.setdefault(row.account_id, []).append(row.number)
    judged: list[RowMapping] = []
    for team in connection.execute(teams).mappings().all():
        numbers = chosen.get(team["id"])
        # The submission with the team's best shown answer.
        if not numbers and shown and team["best_number"] is not None:
            numbers = [int(team["best_number"])]
        elif not numbers:
            of = owned_by(connection, team["id"])
            own = select(SUBMISSION.c.number).where(SUBMISSION.c.account_id.in_(of), counts)
            # A guard that has shown no score leaves no best submission: the last one counts.
            by: tuple[ColumnElement[Any], ...] = (SUBMISSION.c.number.desc(),)
            if not shown:
                own = own.join(EXACT, EXACT.c.number == SUBMISSION.c.number)
                by = (EXACT.c.public.desc(), SUBMISSION.c.number)
            numbers = [int(connection.execute(own.order_by(*by)).scalars().first() or 0)]
        # Among the candidates the best on the private points, the earlier of equal ones.
        query = (
            select(EXACT, literal(team["name"]).label("name"))
            .where(EXACT.c.number.in_(numbers))
            .order_by(EXACT.c.private.desc(), EXACT.c.number)
        )
        judged += connection.execute(query.limit(1)).mappings().all()
    rows = sorted(judged, key=lambda row: int(row["number"]))
    # Ties go to the earlier: sorting is stable, and rows are in the order of submissions.
    private = sorted(rows, key=lambda row: -row["private"])
    public = sorted(rows, key=lambda row: -row["public"])
    metric = metric_named(board["metric"])
    points = (board["points"], board["private_points"])
    gaps = [gap((row["public"], row["private"]), points, metric, level) for row in private]
    p_values = holm(np.array([p for _, p in gaps])) if gaps else np.empty(0)
    public_places = {
        row["number"]: place
        for row, place in zip(public, shared_places([row["public"] for row in public]), strict=True)
    }
    results = [
        TeamResult(
            place,
            row["name"],
            row["number"],
            row["private"],
            public=row["public"],
            public_place=public_places[row["number"]],
            difference=found.value,
            low=found.low,
            high=found.high,
            p_value=float(p),
        )
        for place, row, (found, _), p in zip(
            shared_places([row["private"] for row in private]),
            private,
            gaps,
            p_values,
            strict=True,
        )
    ]
    return Ending(tuple(results), level)


def shared_places(scores: Sequence[float | None]) -> list[int]:
    """Return the places, (k,), from 1, of scores in falling order: equal ones share theirs."""
    first: dict[float | None, int] = {}
    return [first.setdefault(score, place) for place, score in enumerate(scores, 1)]


_ROWS = 1_000
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Place:
    """One account on the board."""

    account: str
    """Name of the account."""
    score: float | None
    """Best answer about a submission of its own; None if there was none."""
    submissions: int
    """Number of submissions."""
    place: int | None
    """Rank by the score, from 1, which equal scores share; None without a score."""


@dataclass(frozen=True)
class Phase:
    """A period in which submissions are taken."""

    name: str
    """Name of the phase, as the page prints it."""
    opens: str
    """Time at which it begins, in UTC."""
    closes: str
    """Time at which it ends, in UTC."""


@dataclass(frozen=True)
class Standings:
    """Public view of a board: the guard's answers, and what is left of the budgets."""

    title: str
    """Title of the board."""
    rules: str | None
    """Rules of the board, in any number of lines."""
    n: int
    """Number of points that answers are about."""
    n_private: int
    """Number of points that no answer is about: they decide in the end."""
    metric: str
    """Metric of submissions."""
    worst: float | None
    """Largest error, where the metric is an error, which is 1 less the score in units of this; None
    if more is better.
    """
    n_classes: int
    """Number of classes."""
    guard: str
    """Guard between accuracy and submitter."""
    scope: str
    """Whether the guard remembers the submissions of each ``account``, or those of the
    ``board``."""
    accounts: int
    """Number of accounts, including those that have not submitted."""
    used: int
    """Number of submissions answered."""
    left: int | None
    """Number of submissions left to all accounts together; None if there is no limit."""
    nats: float | None
    """Information that all answers together may carry, in nats; None if there is no limit."""
    per_account: int | None
    """Number of submissions that an account may make; None if there is no limit."""
    per_day: int | None
    """Number of submissions that an account may make on one day in UTC; None if there is no
    limit."""
    finals: int
    """Number of submissions that an account may choose to be judged by in the end."""
    phases: tuple[Phase, ...]
    """Phases in which submissions are taken; if there are none, they always are."""
    last: str | None
    """Time at which the last submission was answered, in UTC; None before the first."""
    places: tuple[Place, ...]
    """The first 1,000 accounts, best first; equal ones by their submission, the earlier first."""
    ending: Ending | None
    """Every team's private score, once the owner has published it; None before."""

    @property
    def scale(self) -> Scale:
        """How errors are written."""
        return Scale(self.metric, self.worst)


def standings(board: Board) -> Standings:
    """Return the board's current standings."""
    # Accounts without a score come last.
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
        worst=board.holdout.metric.worst,
        accounts=accounts,
        left=board.total_left(row),
        phases=phases,
        last=time,
        places=tuple(
            Place(
                each["name"],
                each["best"],
                each["used"],
                place=None if each["best"] is None else place,
            )
            for each, place in zip(
                rows, shared_places([each["best"] for each in rows]), strict=True
            )
        ),
        ending=result,
        **{name: row[name] for name in same},
    )


def own_submissions(
    board: Board, account: str, most: int, *, after: int | None = None
) -> list[Receipt]:
    """Return an account's receipts: those with numbers above `after` in order, or the latest first.

    At most `most` of them.
    """
    number = SUBMISSION.c.number
    query = select(SUBMISSION, ACCOUNT.c.name).join(ACCOUNT).limit(most)
    if after is None:
        query = query.order_by(number.desc())
    else:
        query = query.where(number > after).order_by(number)
    with reading(board.engine) as connection:
        holder = known_account(connection, account)
        # Receipts of merged accounts belong to the team.
        own = SUBMISSION.c.account_id.in_(owned_by(connection, holder["id"]))
        return [receipt_of(row) for row in connection.execute(query.where(own)).mappings()]


def voided_submissions(board: Board) -> set[int]:
    """Return the numbers of the submissions that the owner has voided."""
    with reading(board.engine) as connection:
        return set(connection.execute(select(VOIDED.c.number)).scalars())


def chosen_submissions(board: Board, account: str) -> set[int]:
    """Return the numbers of the submissions that an account chose for the end."""
    with reading(board.engine) as connection:
        holder = known_account(connection, account)
        own = select(FINAL.c.number).where(FINAL.c.account_id == holder["id"])
        return set(connection.execute(own).scalars())


def log(engine: Engine) -> Iterator[Receipt]:
    """Yield every submission in order, in batches: for the owner, not for everybody.

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
        _board_of(connection)
        rows = connection.execution_options(yield_per=1_000).execute(query).mappings()
        yield from (receipt_of(row) for row in rows)


def account_rows(engine: Engine) -> list[dict[str, object]]:
    """Return every account: name, submissions, and whether it has a token and is hidden.

    Submissions of an account that was merged into another one are counted there.
    """
    with reading(engine) as connection:
        rows = connection.execute(select(ACCOUNT).order_by(ACCOUNT.c.name)).mappings().all()
        if not rows:
            _board_of(connection)
    names = {row["id"]: row["name"] for row in rows}
    return [
        {
            "account": row["name"],
            "submissions": 0 if row["merged_into"] else row["used"],
            "token": "yes" if row["token_id"] else "none",
            "hidden": "yes" if row["hidden"] else "no",
            "merged_into": names.get(row["merged_into"]),
        }
        for row in rows
    ]


def entries(
    engine: Engine, *, exact: bool = False, private: bool = False
) -> Iterator[dict[str, object]]:
    """Yield the log as rows: the fields of a receipt, and the names of guard and metric.

    ``voided`` says whether the owner has voided a submission, and ``sent_by`` which account sent
    it; ``account`` is the one that this was merged into.

    With `exact` the rows also hold the exact scores of submissions, as ``exact``. They reveal far
    more than the guard's answers, and are for the owner's own audit. Once results are published,
    ``private`` has the scores on the points for the end too, and ``selected`` says which
    submissions their team chose. With `private` the rows have all of these before as well.

    Raises
    ------
    InputError
        If the database holds no board, or `private` is asked of one without points for the end.
    """
    with reading(engine) as connection:
        board = _board_of(connection)
        if private and board["public"] is None:
            raise InputError(_NO_END)
        voided = set(connection.execute(select(VOIDED.c.number)).scalars())
        sent = select(SUBMISSION.c.number, ACCOUNT.c.name).join(
            ACCOUNT, ACCOUNT.c.id == SUBMISSION.c.account_id
        )
        sent_by = {row.number: row.name for row in connection.execute(sent)}
        scores = (
            {row.number: row for row in connection.execute(select(EXACT))}
            if exact or private
            else {}
        )
        chosen = set(connection.execute(select(FINAL.c.number)).scalars())
    for receipt in log(engine):
        row = {
            **asdict(receipt),
            "guard": board["guard"],
            "metric": board["metric"],
            "voided": receipt.number in voided,
            "sent_by": sent_by[receipt.number],
        }
        if exact or private:
            score = scores.get(receipt.number)
            row["exact"] = None if score is None else score.public
            if private or board["published"]:
                row["private"] = None if score is None else score.private
                row["selected"] = receipt.number in chosen
        yield row


def as_json_lines(rows: Iterable[Mapping[str, object]]) -> str:
    """Return rows as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


_BESIDE = ("guard", "metric", "voided", "sent_by")
"""Columns of the log beside those of a receipt."""


def as_csv(rows: Iterable[Mapping[str, object]]) -> str:
    """Return rows as CSV."""
    text = io.StringIO()
    # DictWriter needs the columns even if there are no rows.
    found = list(rows)
    columns = found[0] if found else (*(field.name for field in fields(Receipt)), *_BESIDE)
    writer = csv.DictWriter(text, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    return text.getvalue()


def _board_of(connection: Connection) -> RowMapping:
    # Without the lock of `begun_board`.
    row = connection.execute(select(BOARD)).mappings().one_or_none()
    if row is None:
        raise lacking_board(connection)
    return row


def introduction(board: Board) -> str:
    """Return the lines that a server prints at its start."""
    now = standings(board)
    left = "no limit on what is left" if now.left is None else f"{now.left:,} left"
    guard = f"guard {now.guard} for {'each account' if now.scope == 'account' else 'the board'}"
    classes = f", {now.n_classes:,} classes" if now.n_classes else ""
    # Labels that were counted from 1 make one class more than there are.
    if now.n_classes and not board.classes and int(np.min(board.holdout.labels)) > 0:
        classes += " (no label is 0: if yours begin at 1, subtract 1, and begin another board)"
    kept = f" and {now.n_private:,} for the end" if now.n_private else ""
    metric = "" if now.metric == "accuracy" else f", metric {now.metric}"
    return (
        f"{database_name(board.engine)}: {now.n:,} points{kept}{classes}{metric}, {guard}\n"
        f"{several(now.used, 'submission')} so far, {left}{promise(board, now)}"
    )


def promise(board: Board, now: Standings) -> str:
    """Describe the joint guarantee of the guard and the budget, if there is a budget."""
    hidden = board.holdout
    metric = board.holdout.metric

    def most_gained(nats: float) -> float:
        if metric == ACCURACY:
            return frequency_bias(nats, now.n, largest)
        return metric_bias(metric, hidden.labels, nats)

    if not metric.tail(hidden.labels):
        return (
            f": they promise nothing, since no bound is known of {metric.name}, a metric of one's "
            "own that is no mean"
        )
    largest = metric.chance(hidden.labels)
    accounts = max(1, now.accounts)
    most = None if now.left is None else now.used + now.left
    each = None if now.per_account is None else accounts * now.per_account
    # The tighter of the limits on all submissions; 0 stands for none.
    k = min((limit for limit in (most, each) if limit is not None), default=0)
    if k == 0:
        return ": set --total, --nats or both, since every answer tells something"
    # The owner alone makes accounts; with more of them a guard for each promises less.
    apart = accounts if now.scope == "account" else None
    m = max(2, now.n_classes)
    bias = most_gained(transcript_nats(board.guard, k, now.n, m, accounts=apart))
    # A bound on all submissions, or one in nats, holds however many accounts there are.
    whose = f"{accounts:,} account{'s' * (accounts > 1)}"
    if apart is None and k == most:
        whose = "any number of accounts"
    elif now.nats is not None and (by_nats := most_gained(now.nats)) <= bias:
        bias = by_nats
        whose = "any number of accounts"
    points = f"{100 * bias:.2g} points {'of accuracy' if metric == ACCURACY else 'in a hundred'}"
    guess = f"the best guess of who knows how frequent each value is ({largest:.4g})"
    # A bound as large as the whole distance to a perfect score promises nothing.
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
