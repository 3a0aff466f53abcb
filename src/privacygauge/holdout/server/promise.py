"""What a server says when it starts: the board, its budget, and what both promise."""

from __future__ import annotations

from privacygauge.holdout.bounds import kl_bias, transcript_nats
from privacygauge.holdout.metrics import ACCURACY, metric_bias
from privacygauge.holdout.server.board import Board
from privacygauge.holdout.server.database import shown
from privacygauge.holdout.server.standings import Standings, standings


def introduction(board: Board, url: str) -> str:
    """Return the lines that a server begins with."""
    now = standings(board)
    left = "no limit on what is left" if now.left is None else f"{now.left:,} left"
    guard = f"guard {now.guard} for {'each account' if now.scope == 'account' else 'the board'}"
    classes = f", {now.n_classes:,} classes" if now.n_classes else ""
    kept = f" and {now.n_private:,} for the end" if now.n_private else ""
    metric = "" if now.metric == "accuracy" else f", metric {now.metric}"
    return (
        f"{shown(board.engine)}: {now.n:,} points{kept}{classes}{metric}, {guard}\n"
        f"{now.used:,} submissions so far, {left}{promise(board, now)}\n"
        f"Listening at {url}; Ctrl+C stops it"
    )


def promise(board: Board, now: Standings) -> str:
    """Return what the guard and the budget promise together, where there is a budget."""
    hidden, metric = board.holdout, board.holdout.metric

    def most_gained(nats: float) -> float:
        if metric == ACCURACY:
            return kl_bias(nats, now.n, now.n_classes)
        return metric_bias(metric, hidden.labels, nats)

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
        bias, whose = by_nats, "any number of accounts"
    return (
        f": in all they let no attack from {whose} without knowledge of the points gain more than "
        f"{100 * bias:.2g} points {'of accuracy' if metric == ACCURACY else 'in a hundred'} over "
        "guessing (probability 0.95)"
    )
