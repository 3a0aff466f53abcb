"""What a request is told where something is wrong: a status and one line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import ClientDisconnect

from privacygauge.errors import BudgetError, InputError, PrivacyGaugeError
from privacygauge.holdout.server.board import KeyConflictError
from privacygauge.holdout.server.bodies import BodyError
from privacygauge.holdout.server.outside import HEADERS, LOGGER, too_often


@dataclass(frozen=True)
class Problem:
    """What is wrong with a request."""

    detail: str
    """One line."""


class RateError(PrivacyGaugeError):
    """A request too many in a minute."""

    def __init__(self, wait: float) -> None:
        super().__init__("too many requests")
        self.wait = wait


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the description of these answers, and of those that every request may get."""
    return {status: {"model": Problem} for status in (*statuses, 429, 503)}


_AGAIN, _LATER = "send it again, with the same Idempotency-Key", {"Retry-After": "5"}


def _answering(status: int, detail: str = "", headers: Mapping[str, str] | None = None) -> Any:
    """Return what answers an exception: with its own words where none are given."""

    async def answer(_request: Request, error: Exception) -> JSONResponse:
        if isinstance(error, SQLAlchemyError):
            LOGGER.error("database: %s", type(error).__name__)
        told = detail or " ".join(str(error).split())
        return JSONResponse(asdict(Problem(told)), status, headers)

    return answer


async def _of_rate(_request: Request, error: Any) -> JSONResponse:
    return too_often(error.wait)


async def _of_body(_request: Request, error: Any) -> JSONResponse:
    # The rest of the body is not read, so nothing else can follow on this connection.
    return JSONResponse({"detail": str(error)}, error.status, {"Connection": "close"})


async def _of_validation(_request: Request, error: Any) -> JSONResponse:
    first = error.errors()[0]
    return JSONResponse({"detail": f"{first['loc'][-1]}: {first['msg']}"}, 422)


ANSWERS: dict[type[Exception], Any] = {
    InputError: _answering(422),
    KeyConflictError: _answering(409),
    BudgetError: _answering(403),
    BodyError: _of_body,
    RateError: _of_rate,
    RequestValidationError: _of_validation,
    SQLAlchemyError: _answering(
        503, f"the database does not answer: {_AGAIN}", {"Retry-After": "5"}
    ),
    ClientDisconnect: _answering(400, "the body must arrive as a whole"),
    # Outside of all others, so that nothing else puts the headers on; the log has the error.
    Exception: _answering(500, f"the server failed: {_AGAIN}", HEADERS),
}
"""What answers which exception."""
