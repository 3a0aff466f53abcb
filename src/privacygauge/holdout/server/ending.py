"""The end of a contest: each team's chosen submission on the private points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Engine, RowMapping, false, literal, select

from privacygauge.errors import InputError
from privacygauge.evaluate.slices import holm
from privacygauge.holdout.history.overfitting import gap, rank_correlation
from privacygauge.holdout.metrics import metric_named
from privacygauge.holdout.server.accounts import owned_by
from privacygauge.holdout.server.database import reading
from privacygauge.holdout.server.schema import ACCOUNT, BOARD, EXACT, FINAL, SUBMISSION, VOIDED


@dataclass(frozen=True)
class TeamResult:
    """What one team ends with."""

    place: int
    """Rank by the private score, from 1; ties go to the earlier submission."""
    account: str
    """The team."""
    submission: int
    """Which one it is judged by: of those it chose the best on the private points; without a
    choice the one with the best exact public score, or the one that the guard showed as its best,
    or its last, where the owner judges by what was shown."""
    private: float
    """Its exact score on the points that no answer was about."""
    public: float
    """On those that answers were about."""
    public_place: int
    """Rank by `public`, from 1."""
    difference: float
    """`public` less `private`: overfitting to the public points, plus luck."""
    low: float
    """Lower limit of the difference."""
    high: float
    """Upper limit."""
    p_value: float
    """p-value of "both parts are equally easy for it", two-sided, after Holm's correction over
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
        """Public less private score, averaged over teams. They share the points: no interval."""
        return float(np.mean([each.difference for each in self.results]))

    @property
    def ranks(self) -> float:
        """The rank correlation of public and private scores; not a number for one team."""
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
        In (0, 1), of each team's interval.

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
    board = connection.execute(select(BOARD)).mappings().one_or_none()
    if board is None or board["public"] is None:
        raise InputError(
            "the board keeps no points for the end: begin one with --public, such as --public 0.3"
        )
    rows = _final_submissions(connection, board["judged_by"])
    # Ties go to the earlier: sorting is stable, and rows are in the order of submissions.
    private = sorted(rows, key=lambda row: -row["private"])
    public = sorted(rows, key=lambda row: -row["public"])
    metric = metric_named(board["metric"])
    points = (board["points"], board["private_points"])
    gaps = [gap((row["public"], row["private"]), points, metric, level) for row in private]
    p_values = holm(np.array([p for _, p in gaps])) if gaps else np.empty(0)
    results = [
        TeamResult(
            place,
            row["name"],
            row["number"],
            row["private"],
            public=row["public"],
            public_place=public.index(row) + 1,
            difference=found.value,
            low=found.low,
            high=found.high,
            p_value=float(p),
        )
        for place, (row, (found, _), p) in enumerate(zip(private, gaps, p_values, strict=True), 1)
    ]
    return Ending(tuple(results), level)


def _final_submissions(connection: Connection, judged_by: str) -> list[RowMapping]:
    """Return the submission by which each team is judged, in the order of submissions."""
    teams = select(ACCOUNT).where(ACCOUNT.c.used > 0, ACCOUNT.c.hidden == false())
    counts = SUBMISSION.c.number.not_in(select(VOIDED.c.number))
    chosen: dict[int, list[int]] = {}
    for row in connection.execute(select(FINAL).where(FINAL.c.number.not_in(select(VOIDED)))):
        chosen.setdefault(row.account_id, []).append(row.number)
    rows: list[RowMapping] = []
    for team in connection.execute(teams).mappings().all():
        numbers = chosen.get(team["id"])
        shown = judged_by == "shown"
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
        query = (
            select(EXACT, literal(team["name"]).label("name"))
            .where(EXACT.c.number.in_(numbers))
            .order_by(EXACT.c.private.desc(), EXACT.c.number)
        )
        rows += connection.execute(query.limit(1)).mappings().all()
    return sorted(rows, key=lambda row: int(row["number"]))
