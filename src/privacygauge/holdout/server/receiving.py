"""The way of a submission that arrives: refused before it is read, parsed by few at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from privacygauge.holdout.server import bodies
from privacygauge.holdout.server.board import Board, Receipt

SECONDS_FOR_BODY = 60.0
"""Seconds within which a body must arrive."""
_DIGITS = 6
"""Decimals of a receipt's score, if they tell all scores of the board apart."""


async def receive_submission(
    request: Request,
    account: str,
    body: bytes,
    kind: str,
    *,
    key: str | None = None,
    claimed: float | None = None,
) -> Receipt:
    """Parse and score a body of this account; return its receipt."""
    board: Board = request.app.state.board
    # A body of text becomes many objects for a while: few at a time bound the memory.
    async with request.app.state.parsing:
        labels: Any = await run_in_threadpool(bodies.labels_in, body, kind, bodies.form_of(board))
    async with request.app.state.turn:
        receipt = await run_in_threadpool(
            partial(board.submit, account, labels, key=key, claimed=claimed)
        )
    return round_score(board, receipt)


def round_score(board: Board, receipt: Receipt) -> Receipt:
    """Return a receipt without digits of the score that only the arithmetic put there."""
    digits = max(_DIGITS, len(str(len(board.holdout))) + 1)
    return replace(receipt, score=round(receipt.score, digits))
