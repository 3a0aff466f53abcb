"""A leaderboard that keeps the labels: a guard, budgets and a log behind one transaction.

Needs the extra ``serve``; with PostgreSQL, also ``postgresql``.
"""

from __future__ import annotations

from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.errors import InputError
from privacygauge.leaderboards.oracle import Budget
from privacygauge.runs.folder import scratch

if TYPE_CHECKING:
    from privacygauge.leaderboards.metrics import Metric
    from privacygauge.leaderboards.server.board import Board
    from privacygauge.leaderboards.server.request_parsing import HiddenLabels


def require_extra() -> None:
    """Raise if a package of the extra ``serve`` cannot be imported.

    Raises
    ------
    InputError
        One line that names the packages and how to install them.
    """
    absent = [name for name in ("fastapi", "uvicorn", "sqlalchemy") if find_spec(name) is None]
    if absent:
        raise InputError(
            f"the scoring server needs {', '.join(absent)}: pip install 'privacygauge[serve]'"
        )


def open_board(
    database: str | Path,
    labels: ArrayLike | HiddenLabels,
    *,
    n_classes: int | None = None,
    guard: str | None = None,
    scope: str | None = None,
    budget: Budget | None = None,
    keep: bool | None = None,
    metric: str | Metric | None = None,
    public: float | None = None,
) -> Board:
    """Return the board that a database keeps for these labels, creating it if there is none.

    Parameters
    ----------
    database : str or pathlib.Path
        An SQLite file, or a URL such as ``postgresql://user@host/name``.
    labels : array_like of shape (n,), or HiddenLabels
        Hidden labels, integers from 0; or numbers, if the metric compares numbers. They stay in
        memory: the database keeps a digest. `request_parsing.HiddenLabels` also has names of the
        points and the classes, which are kept: later the points may be in any order, and others
        are refused.
    n_classes : int, optional
        Default: that of the database, or one more than the largest label.
    guard : str, optional
        Guard between accuracy and submitter, as `guards.guard_named` reads it; default: that of the
        database, or a Ladder with a step of the size of chance. It cannot be changed later.
    scope : {"account", "board"}, optional
        Whether the guard remembers each account's submissions separately, or all of them together;
        default: that of the database, or ``account``. It cannot be changed later.
    budget : Budget, optional
        Limits to set; limits that are None stay as they were.
    keep : bool, optional
        Whether the submitted labels are kept, so that `rescoring.rescore` can score them again;
        default: as in the database, or not. It cannot be changed later.
    metric : str or Metric, optional
        Metric of submissions, as `metrics.chosen_metric` reads it; default: that of the database,
        or ``accuracy``. It cannot be changed later.
    public : float, optional
        Share of the points, in (0, 1), that answers are about; the others are for the end. Default:
        all. The points are drawn when the board is begun.

    Raises
    ------
    InputError
        If the extra is missing, the database cannot be used, or it belongs to other labels,
        another number of classes or another guard.
    """
    # Imported here, so that the error about a missing extra comes first.
    require_extra()
    from privacygauge.leaderboards.server.opening import BoardOptions, open_or_begin
    from privacygauge.leaderboards.server.request_parsing import HiddenLabels

    hidden = labels if isinstance(labels, HiddenLabels) else HiddenLabels(np.asarray(labels))
    wanted = BoardOptions(
        n_classes=n_classes,
        guard=guard,
        scope=scope,
        keep=keep,
        metric_name=metric,
        public=public,
        classes=hidden.classes,
    )
    return open_or_begin(database, hidden, wanted, budget or Budget())


class BoardSettings(TypedDict, total=False):
    """Settings of a board that a scoring script may give, as `open_board` takes them."""

    n_classes: int | None
    guard: str | None
    scope: str | None
    budget: Budget | None
    metric: str | Metric | None


def score(
    submitted: ArrayLike,
    *,
    account: str,
    labels: ArrayLike,
    database: str | Path,
    key: str | None = None,
    trial: bool = False,
    **settings: Unpack[BoardSettings],
) -> float:
    """Return the guard's answer to one submission, in [0, 1]: the server's work without HTTP.

    For the scoring script of a platform that knows its submitters. The answer, the guard's new
    state and the budgets are in the database before this returns.

    Parameters
    ----------
    submitted : array_like of shape (n,)
        A label in 0..n_classes-1 for every point.
    account : str
        Submitter, as the platform names them; a new account is created.
    labels, database
        As for `open_board`.
    key : str, optional
        The platform's number of this submission: scored again, it gets the same answer and is
        not charged.
    trial : bool, default False
        For the owner, to try a scoring script: return the answer that the first submission of a new
        board would get. The database is neither read nor made, and nothing is charged.
    **settings
        n_classes, guard, scope, budget and metric, as for `open_board`.

    Raises
    ------
    InputError
        As by `open_board`; or if the submission, the name or the key breaks a rule.
    BudgetError
        If nothing is left for this account.
    """
    if trial:
        settings["budget"] = None
    with scratch() if trial else nullcontext() as folder:
        place = database if folder is None else Path(folder) / "trial.sqlite"
        board = open_board(place, labels, **settings)
        try:
            board.admit(account)
            return board.submit(account, submitted, key=None if trial else key).score
        finally:
            board.close()
