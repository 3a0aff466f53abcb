"""The owner's corrections: accounts merged into a team, and submissions scored again, in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sqlalchemy import (
    Connection,
    Engine,
    RowMapping,
    Table,
    delete,
    func,
    insert,
    select,
    text,
    update,
)

from privacygauge.errors import InputError
from privacygauge.leaderboards.guards import (
    ArcsineLadder,
    Calibrated,
    Exact,
    Ladder,
    RelativeLadder,
    Rounded,
)
from privacygauge.leaderboards.mechanism import MarkedSubmission
from privacygauge.leaderboards.metrics import Metric, chosen_metric, metric_named
from privacygauge.leaderboards.server.accounts import (
    VOID,
    checked_name,
    checked_reason,
    known_account,
    owned_by,
    write_action,
)
from privacygauge.leaderboards.server.board import Board, is_about_submission, unpack_submission
from privacygauge.leaderboards.server.database import (
    ACCOUNT,
    ACTION,
    BOARD,
    EXACT,
    FINAL,
    INVITATION,
    KEPT,
    NAMES,
    PHASE,
    STATE,
    SUBMISSION,
    UNFINISHED,
    VOIDED,
    begun_board,
    board_row,
    connect,
    database_name,
    lacking_board,
    reading,
    state_columns,
    wait_for_makers,
    writing,
)
from privacygauge.leaderboards.server.opening import (
    BoardOptions,
    board_of,
    first_row,
    in_board_order,
    public_of,
    require_code,
)
from privacygauge.leaderboards.server.request_parsing import HiddenLabels
from privacygauge.leaderboards.server.standings import shared_places

MERGE = "merge"


@dataclass(frozen=True)
class MergedAccount:
    """The remaining account after a merger."""

    submissions: int
    """Number of submissions that count as its own."""
    before: float | None
    """Better of the two accounts' scores on the board before; None for none."""
    best: float | None
    """Its score now: the one that a single account would have been shown; None for none."""
    not_chosen: tuple[int, ...] = ()
    """Choices for the end that the merger undid, since the board allows a team fewer."""


def merge_accounts(board: Board, name: str, other: str, reason: str) -> MergedAccount:
    """Merge account `other` into `name`; return the remaining account.

    The log stays as it is. The guard's state, the best score and the budget of `name` become those
    of one account that made all submissions of both, in their order. `other` cannot submit any more
    and leaves the board; answers it has received cannot be taken back.

    Parameters
    ----------
    board : Board
        A board of `server.open_board`.
    name, other : str
        The account that stays, and the one that becomes a part of it.
    reason : str
        Reason for the log of actions.

    Raises
    ------
    InputError
        If they are the same, one is hidden, or an answer depends on labels that were not kept.
    """
    check_merge(name, other, reason)
    with board.turn, writing(board.engine) as connection:
        begun_board(connection)
        stays, goes = (known_account(connection, each) for each in (name, other))
        for each in (stays, goes):
            if each["hidden"]:
                raise InputError(f"the account {each['name']} is hidden: show it first")
        used = stays["used"] + goes["used"]
        both = FINAL.c.account_id.in_([stays["id"], goes["id"]])
        choices = select(FINAL.c.number).where(both).order_by(FINAL.c.number)
        before = connection.execute(choices).scalars().all()
        best = absorb_account(board, connection, stays, goes)
        after = set(connection.execute(choices).scalars())
        write_action(connection, MERGE, goes["id"], f"into {name}: {reason}")
    shown = [each["best"] for each in (stays, goes) if each["best"] is not None]
    undone = tuple(number for number in before if number not in after)
    return MergedAccount(used, max(shown, default=None), best, undone)


def absorb_account(
    board: Board, connection: Connection, stays: RowMapping, goes: RowMapping
) -> float | None:
    """Return the best score of one account after it absorbed another, in a transaction."""
    moved = update(ACCOUNT).where(
        # Accounts that were merged into the other one before move along.
        (ACCOUNT.c.id == goes["id"]) | (ACCOUNT.c.merged_into == goes["id"])
    )
    connection.execute(moved.values(merged_into=stays["id"]))
    # Its daily limit goes over to the team.
    gone = {"hidden": True, "token_id": None, "token_digest": None, "per_day": None}
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == goes["id"]).values(gone))
    used = stays["used"] + goes["used"]
    # The team keeps both choices for the end, as far as the board allows, its own first.
    own, theirs = (
        connection.execute(
            select(FINAL.c.number).where(FINAL.c.account_id == row["id"]).order_by(FINAL.c.number)
        )
        .scalars()
        .all()
        for row in (stays, goes)
    )
    room = max(0, begun_board(connection)["finals"] - len(own))
    connection.execute(delete(FINAL).where(FINAL.c.account_id == goes["id"]))
    kept = [{"account_id": stays["id"], "number": number} for number in theirs[:room]]
    _insert(connection, FINAL, kept)
    best, number = _replay_account(board, connection, stays)
    # A limit that an alert set for one of them holds for the team.
    limits = [row["per_day"] for row in (stays, goes) if row["per_day"] is not None]
    connection.execute(
        update(ACCOUNT)
        .where(ACCOUNT.c.id == stays["id"])
        .values(used=used, best=best, best_number=number, per_day=min(limits, default=None))
    )
    return best


def void_submission(board: Board, number: int, reason: str) -> float | None:
    """Void one submission; return the best score that its account has without it.

    It stays in the log, and the budget that it used is not given back. The guard's state, the
    account's best score and its choice for the end are as if it had never been made; answers to
    later submissions stay as they were given.

    Parameters
    ----------
    board : Board
        A board of `server.open_board`.
    number : int
        Number of the submission, as on its receipt.
    reason : str
        Reason for the log of actions.

    Raises
    ------
    InputError
        If there is no such submission, it is void already, or an answer depends on labels that
        were not kept.
    """
    checked_reason(reason)
    with board.turn, writing(board.engine) as connection:
        begun_board(connection)
        own = select(SUBMISSION.c.account_id).where(SUBMISSION.c.number == number)
        account = connection.execute(own).scalar_one_or_none()
        if account is None:
            raise InputError(f"there is no submission {number}")
        if connection.execute(select(VOIDED).where(VOIDED.c.number == number)).first() is not None:
            raise InputError(f"submission {number} is void already")
        best = leave_out(board, connection, number, account)
        write_action(connection, VOID, account, f"{number}: {reason}")
        # The next watch looks at the rest at once.
        connection.execute(update(BOARD).values(looked_at=0))
    return best


def leave_out(board: Board, connection: Connection, number: int, account: int) -> float | None:
    """Void a submission of an account in a transaction; return its best score after that."""
    connection.execute(insert(VOIDED).values(number=number))
    connection.execute(delete(FINAL).where(FINAL.c.number == number))
    row = connection.execute(select(ACCOUNT).where(ACCOUNT.c.id == account)).mappings().one()
    # The account, or the one that it was merged into.
    held = row["merged_into"] or account
    holder = connection.execute(select(ACCOUNT).where(ACCOUNT.c.id == held)).mappings().one()
    best, best_number = _replay_account(board, connection, holder)
    values = {"best": best, "best_number": best_number}
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == held).values(values))
    return best


def check_merge(name: str, other: str, reason: str) -> None:
    """Raise if two names and a reason cannot be a merger, whatever the database holds."""
    if checked_name(name) == checked_name(other):
        raise InputError(f"an account cannot be merged with itself, got {name} twice")
    checked_reason(reason)


def _replay_account(
    board: Board, connection: Connection, stays: RowMapping
) -> tuple[float | None, int | None]:
    """Replay one account, writing its state; return its best score and the submission's number."""
    apart = board.scope == "account"
    held = int(stays["id"])
    # The state keeps its key, so that the same noise is drawn again.
    row = connection.execute(select(STATE).where(STATE.c.holder == held)).mappings().first()
    key = (
        board.first_key(bytes(begun_board(connection)["state_key"]), held, str(stays["name"]))
        if row is None
        else bytes(row["state_key"])
    )
    state = board.guard.start(key)
    about = 0
    best: tuple[float | None, int | None] = None, None
    # With one state for the board the recorded answers stand; the best of those left is looked for.
    for each, marked in _submissions(board, connection, held, apart):
        answer = each["score"]
        own = each["about"] == each["number"]
        if apart:
            before = state
            answer, state = board.guard.answer(marked, before)
            own = is_about_submission(before, state)
            # As in `Board`: an answer is about this submission, or about the one still shown, or a
            # claim.
            stays_shown = about if state.shown is not None else 0
            about = int(each["number"]) if own else stays_shown
        if own and (best[0] is None or answer > best[0]):
            best = float(answer), int(each["number"])
    if apart:
        values = {"about": about, **state_columns(state)}
        if row is None:
            connection.execute(STATE.insert().values(holder=held, **values))
        else:
            connection.execute(update(STATE).where(STATE.c.holder == held).values(values))
    return best


def _submissions(
    board: Board, connection: Connection, held: int, replayed: bool
) -> Iterator[tuple[RowMapping, MarkedSubmission]]:
    """Yield an account's submissions in order, with the true labels if they are replayed."""
    # Guards that need the score alone, so that the exact one is enough without kept labels.
    by_score = isinstance(
        board.guard, Exact | Rounded | Calibrated | Ladder | RelativeLadder | ArcsineLadder
    )
    query = (
        select(SUBMISSION, EXACT.c.public, KEPT.c.content)
        .outerjoin(EXACT, EXACT.c.number == SUBMISSION.c.number)
        .outerjoin(KEPT, KEPT.c.number == SUBMISSION.c.number)
        .where(SUBMISSION.c.account_id.in_(owned_by(connection, held)))
        .where(SUBMISSION.c.number.not_in(select(VOIDED.c.number)))
        .order_by(SUBMISSION.c.number)
    )
    hidden = board.holdout
    n = len(hidden)
    m = hidden.n_classes
    for row in connection.execute(query).mappings().all():
        if row["content"] is not None:
            sent = unpack_submission(bytes(row["content"]), board.n, m, hidden.metric.form)
            yield row, hidden.marked(board.part(sent, private=False), row["claimed"])
        elif not replayed:
            yield row, MarkedSubmission(0, n, m)
        elif by_score and row["public"] is not None:
            score = row["public"]
            yield row, MarkedSubmission(round(score * n), n, m, row["claimed"], score=score)
        else:
            raise InputError(
                f"submission {row['number']} was not kept, and the guard {board.guard.name} "
                "answers by its labels: hide one of the accounts instead"
            )


_OF_LABELS = (
    "label_key",
    "label_digest",
    "points",
    "private_points",
    "metric",
    "guard",
    "public",
)
"""Columns of `BOARD` that depend on labels, metric, guard and public part; all others are kept."""


@dataclass(frozen=True)
class MovedTeam:
    """A team with a new place or score on the board."""

    account: str
    """Name of the team."""
    before: float | None
    """Score on the old board; None for none."""
    after: float | None
    """Score on the new board; None for none."""
    place_before: int | None
    """Place on the old board, from 1; None without a score."""
    place_after: int | None
    """Place on the new board, from 1; None without a score."""


@dataclass(frozen=True)
class RescoredBoard:
    """Counts of the rows that were recomputed."""

    submissions: int
    """Number of submissions on the new board."""
    changed: int
    """Number of submissions with another answer than before."""
    left_out: tuple[str, ...]
    """Hidden accounts; their submissions are not on the new board."""
    moved: tuple[MovedTeam, ...] = ()
    """Teams with a new place or score, by their new place."""
    renumbered: int = 0
    """Submissions with another number, since those of hidden accounts are left out."""
    out_of_order: bool = False
    """Whether the teams together have lost three quarters of what they had above a constant answer,
    by the same metric: labels in another order than the board's points do that.
    """


_LEFT = 0.25
"""Share of what teams had above a constant answer that labels in another order may leave."""


def rescore(
    source: Engine,
    database: str | Path,
    labels: ArrayLike | HiddenLabels,
    *,
    metric: str | Metric | None = None,
    guard: str | None = None,
    public: float | None = None,
) -> RescoredBoard:
    """Score a board's submissions again on a new one, made in `database`; return the changes.

    The new board is the same contest: guard, scope, key, limits, phases, title, rules, accounts
    with their tokens and throttles, mergers, invitations, choices for the end and the log of
    actions; receipts keep their times and keys. Submissions of hidden accounts are left out: every
    guard's state is as if they had never been made. Answers of the old board stay known to those
    who saw them, so a bound on what answers tell has to count those of both boards.

    Everything is written in one transaction: a database with an interrupted rescore holds no board,
    and is refused until the board is scored into it again.

    Parameters
    ----------
    source : sqlalchemy.Engine
        Engine of the old board's database, with kept submissions.
    database : str or pathlib.Path
        A new database: SQLite or PostgreSQL, whatever the old one is.
    labels : array_like of shape (n,), or HiddenLabels
        Hidden labels, corrected or the same. Those with names of points and classes may be in any
        order; others are in the order of the old ones.
    metric, guard : str, optional
        Another metric of the same submissions, and another guard; default: the old ones. With
        another metric the default guard is that of a new board.
    public : float, optional
        Share of the points, in (0, 1), that answers are about on the new board, drawn again.
        Default: the same points.

    Raises
    ------
    InputError
        If submissions were not kept, the new database has a board already, the metric asks for
        other submissions, or labels are of other points or classes.
    """
    with reading(source) as old:
        row = old.execute(select(BOARD)).mappings().one_or_none()
        if row is None:
            raise lacking_board(old)
        if not row["keep"]:
            raise InputError(
                f"{database_name(source)} keeps no submissions: only a board that was begun with "
                "--keep can be scored again"
            )
        hidden = labels if isinstance(labels, HiddenLabels) else HiddenLabels(np.asarray(labels))
        if len(hidden.values) != row["n"]:
            raise InputError(
                f"labels must be of the board's {row['n']:,} points, got {len(hidden.values):,}"
            )
        before = metric_named(row["metric"])
        measure = before if metric is None else chosen_metric(metric)
        require_code(measure)
        # It must score the submissions that the old metric scored.
        same = measure.form == before.form and measure.numbers == before.numbers
        if not same or measure.width(row["n_classes"]) != before.width(row["n_classes"]):
            raise InputError(
                f"the metric {measure.name} asks for other submissions than {before.name}"
            )
        truth, _ = measure.truth(in_board_order(old, hidden), row["n_classes"] or None)
        wanted = BoardOptions(
            row["n_classes"] or None,
            guard=guard or (row["guard"] if measure.name == row["metric"] else None),
            metric_name=measure,
            public=public,
            mask=public_of(row),
        )
        of_labels = first_row(truth, wanted)
        # The old row with the columns that depend on the labels replaced, and with nothing used.
        begun = {**row, **{name: of_labels[name] for name in _OF_LABELS}, "used": 0, "asking": 0}
        engine = connect(database, unfinished=True)
        try:
            with writing(engine) as new:
                _require_no_board(new, database_name(engine))
                # Kept before the work begins: a database that it leaves empty is not to be opened
                # as a board without limits.
                new.execute(delete(NAMES).where(NAMES.c.of == UNFINISHED))
                new.execute(insert(NAMES).values(of=UNFINISHED, names=b""))
            with writing(engine) as new:
                # Somebody else may have made one meanwhile.
                _require_no_board(new, database_name(engine))
                new.execute(delete(NAMES).where(NAMES.c.of == UNFINISHED))
                new.execute(insert(BOARD).values(begun))
                _insert(new, NAMES, old.execute(select(NAMES)).mappings().all())
                board = board_of(begun_board(new), truth, engine, measure)
                found = _copy_contest(old, new, board)
                if measure.name != before.name or hidden.ids is not None:
                    return found
                return replace(found, out_of_order=_fell_to_guesses(old, new, board))
        finally:
            engine.dispose()


def _fell_to_guesses(old: Connection, new: Connection, board: Board) -> bool:
    """Return whether teams have hardly anything left above a constant answer that they had."""
    constant = board.holdout.metric.chance(board.holdout.labels)
    now = _places(new)
    # (before, after) of every team that was better than a constant.
    pairs = [
        (score - constant, (now[name][1] or 0.0) - constant)
        for name, (_, score) in _places(old).items()
        if score is not None and score > constant and name in now
    ]
    before, after = (sum(side) for side in zip(*pairs, strict=True)) if pairs else (0.0, 0.0)
    return after < _LEFT * before


def _require_no_board(connection: Connection, name: str) -> None:
    wait_for_makers(connection)
    if board_row(connection) is not None:
        raise InputError(f"{name} has a board already: name a new database")


def _copy_contest(old: Connection, new: Connection, board: Board) -> RescoredBoard:
    """Recompute the contest of one database into another; return the counts."""
    accounts = old.execute(select(ACCOUNT).order_by(ACCOUNT.c.id)).mappings().all()
    actions = old.execute(select(ACTION).order_by(ACTION.c.number)).mappings().all()
    by_id = {row["id"]: row for row in accounts}
    whose = {row["id"]: by_id[row["merged_into"] or row["id"]] for row in accounts}
    left_out = {number for number, row in whose.items() if row["hidden"]}
    # The state before the first submission; mergers are repeated at their time.
    fresh = {"used": 0, "best": None, "best_number": None, "merged_into": None}
    _insert(new, ACCOUNT, [{**row, **fresh} for row in accounts])
    replayed = [row for row in actions if row["kind"] in (MERGE, VOID)]
    numbers: dict[int, int] = {}
    changed = 0
    query = select(SUBMISSION, KEPT.c.content).join(KEPT, KEPT.c.number == SUBMISSION.c.number)
    query = query.order_by(SUBMISSION.c.number).execution_options(yield_per=100)
    form = board.holdout.metric.form
    for row in old.execute(query).mappings():
        while replayed and replayed[0]["time"] <= row["time"]:
            _act_again(board, new, replayed.pop(0), by_id=by_id, numbers=numbers)
        if row["account_id"] in left_out:
            continue
        sent = unpack_submission(bytes(row["content"]), board.n, board.holdout.n_classes, form)
        again = board.again(new, by_id[row["account_id"]]["name"], sent, row)
        numbers[row["number"]] = again.number
        changed += again.score != row["score"]
    for action in replayed:
        _act_again(board, new, action, by_id=by_id, numbers=numbers)
    for table in (PHASE, INVITATION):
        _insert(new, table, old.execute(select(table)).mappings().all())
    _insert(new, ACTION, _renumber_voids(actions, numbers))
    chosen = old.execute(select(FINAL)).mappings().all()
    kept = [row for row in chosen if row["number"] in numbers]
    _insert(new, FINAL, [{**row, "number": numbers[row["number"]]} for row in kept])
    if new.dialect.name == "postgresql":
        # Ids were given: the next account takes the one after them.
        last = "SELECT setval(pg_get_serial_sequence('account', 'id'), max(id)) FROM account"
        new.execute(text(last))
    looked = func.least if new.dialect.name == "postgresql" else func.min
    new.execute(update(BOARD).values(looked_at=looked(BOARD.c.looked_at, BOARD.c.used)))
    hidden = tuple(row["name"] for row in accounts if row["hidden"] and not row["merged_into"])
    # Teams with a new place or score, by their new place.
    before = _places(old)
    moved = []
    for name, (place, score) in _places(new).items():
        earlier = before.get(name, (None, None))
        if earlier != (place, score):
            team = MovedTeam(
                account=name,
                before=earlier[1],
                after=score,
                place_before=earlier[0],
                place_after=place,
            )
            moved.append(team)
    renumbered = sum(before != after for before, after in numbers.items())
    return RescoredBoard(len(numbers), changed, hidden, moved=tuple(moved), renumbered=renumbered)


def _renumber_voids(
    actions: Sequence[RowMapping], numbers: Mapping[int, int]
) -> list[Mapping[Any, Any]]:
    """Return the log of actions with the new numbers of void submissions.

    A board that is made again from the new one finds them by these. What was void and has been left
    out is no submission of the new board.
    """
    found: list[Mapping[Any, Any]] = []
    for action in actions:
        if action["kind"] != VOID:
            found.append(action)
            continue
        number, _, why = action["reason"].partition(":")
        if int(number) in numbers:
            found.append({**action, "reason": f"{numbers[int(number)]}:{why}"})
    return found


def _insert(connection: Connection, table: Table, rows: Sequence[Mapping[Any, Any]]) -> None:
    if rows:
        connection.execute(insert(table), [dict(row) for row in rows])


def _act_again(
    board: Board,
    connection: Connection,
    action: RowMapping,
    by_id: Mapping[int, RowMapping],
    numbers: Mapping[int, int],
) -> None:
    """Repeat a merger, or voiding a submission: the reason begins with its number."""
    if action["kind"] == VOID:
        number = int(action["reason"].partition(":")[0])
        if number in numbers:
            leave_out(board, connection, numbers[number], action["account_id"])
        return
    goes = by_id[action["account_id"]]["name"]
    named = [
        row["name"]
        for row in by_id.values()
        if action["reason"].startswith(f"into {row['name']}: ")
    ]
    # A name may begin with another name and ": ", so the longest match is meant.
    stays = max(named, key=len)
    rows = [known_account(connection, name) for name in (stays, goes)]
    absorb_account(board, connection, *rows)


def _places(connection: Connection) -> dict[str, tuple[int | None, float | None]]:
    """Return the place and the score of every team on the board, in their order."""
    order = ACCOUNT.c.best.is_(None), ACCOUNT.c.best.desc(), ACCOUNT.c.best_number, ACCOUNT.c.id
    shown_now = ACCOUNT.c.used > 0, ACCOUNT.c.hidden.is_(False)
    rows = connection.execute(select(ACCOUNT).where(*shown_now).order_by(*order)).mappings().all()
    shared = shared_places([row["best"] for row in rows])
    return {
        row["name"]: (None if row["best"] is None else place, row["best"])
        for place, row in zip(shared, rows, strict=True)
    }
