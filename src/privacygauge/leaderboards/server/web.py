"""The board over HTTP: thin, since `Board` does the work."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from privacygauge.core.versions import own_version
from privacygauge.errors import InputError
from privacygauge.leaderboards.server import contest, request_parsing, team
from privacygauge.leaderboards.server.accounts import account_of_token
from privacygauge.leaderboards.server.board import Board, Receipt, RemainingBudget, now
from privacygauge.leaderboards.server.database import reading
from privacygauge.leaderboards.server.request_parsing import (
    SECONDS_FOR_BODY,
    receive_submission,
    round_score,
)
from privacygauge.leaderboards.server.running import (
    ANSWERS,
    Outside,
    RateError,
    RateLimit,
    problems,
)
from privacygauge.leaderboards.server.standings import (
    Standings,
    own_submissions,
    standings,
    voided_submissions,
)
from privacygauge.leaderboards.server.team import add_team_page

_MOST_RECEIPTS = 100
_LAST = 2**31 - 1
_PARSERS = 2
"""Number of bodies that are parsed at the same time."""


@dataclass(frozen=True)
class Health:
    """State of the server."""

    status: str
    """``ok``."""


@dataclass(frozen=True)
class Invited:
    """Invitation to use: in the body of a request, since addresses are logged."""

    invitation: Annotated[str, Field(min_length=1, max_length=100)]
    """Invitation code."""
    name: Annotated[str, Field(min_length=1, max_length=64)]
    """Name of the account."""


@dataclass(frozen=True)
class SignedUp:
    """Result of using an invitation."""

    token: str
    """Token of the new account; only a digest of it is stored."""


@dataclass(frozen=True)
class Rates:
    """Number of requests that are answered per minute."""

    account: int = 1_000
    """Number of submissions per account."""
    address: int = 10_000
    """Number of requests per address."""

    def __post_init__(self) -> None:
        for value in (self.account, self.address):
            if value < 1:
                raise InputError(f"requests a minute must be at least 1, got {value}")


def application(board: Board, rates: Rates | None = None) -> FastAPI:
    """Return the server's application.

    Parameters
    ----------
    board : Board
        A board of `server.open_board`.
    rates : Rates, optional
        Limits on requests per minute.
    """
    rates = rates or Rates()
    app = FastAPI(
        title="PrivacyGauge scoring server",
        version=own_version(),
        description="A leaderboard that keeps the labels.",
        # Their pages load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        # A redirect would name the host that the request claims.
        redirect_slashes=False,
        # Newer versions send records to where the environment says; older ones ignore this.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.board = board
    # Once, not with every request: it looks at the name of every point.
    app.state.most_bytes = request_parsing.most_bytes(board)
    app.state.rate = RateLimit(rates.account)
    # First come, first served: those who wait for a lock of threads, or of SQLite, have no order.
    app.state.turn = asyncio.Lock()
    app.state.parsing = asyncio.Semaphore(_PARSERS)
    app.add_middleware(Outside, rate=RateLimit(rates.address))
    _add_routes(app, board)
    for kind, answer in ANSWERS.items():
        app.add_exception_handler(kind, answer)
    return app


def _add_routes(app: FastAPI, board: Board) -> None:
    app.add_api_route(
        "/submissions",
        submit,
        methods=["POST"],
        responses=problems(400, 401, 403, 408, 409, 413, 415, 422),
        openapi_extra={"requestBody": _request_body(board)},
    )
    signed = problems(401, 422)
    app.add_api_route("/submissions", receipts, methods=["GET"], responses=signed)
    app.add_api_route("/account", account, methods=["GET"], responses=signed)
    app.add_api_route(
        "/account/finals", finals, methods=["PUT"], responses=problems(400, 401, 403, 422)
    )
    app.add_api_route("/accounts", sign_up, methods=["POST"], responses=problems(400, 403, 422))
    app.add_api_route("/board", show_standings, methods=["GET"], responses=problems())
    app.add_api_route("/health", health, methods=["GET"], responses=problems())
    app.add_api_route("/", front, methods=["GET"], response_class=HTMLResponse)
    app.add_api_route("/style.css", style, methods=["GET"], include_in_schema=False)
    for path, answer in (("/board", show_standings), ("/health", health), ("/", front),
                         ("/style.css", style)):  # fmt: skip
        app.add_api_route(path, answer, methods=["HEAD"], include_in_schema=False)
    add_team_page(app)


def _request_body(board: Board) -> dict[str, Any]:
    n = board.n
    m = board.holdout.n_classes
    metric = board.holdout.metric
    each: dict[str, Any] = {"type": "number"}
    what = f"What the metric {metric.name} asks for"
    if metric.form == "i":
        each = {"type": "integer", "minimum": 0, "maximum": m - 1}
        what = f"A label in 0..{m - 1}"
    return {
        "required": True,
        "description": f"{what} for each of the {n} points, as a JSON list, as a file that "
        "numpy.save wrote, or as CSV with the head id,label.",
        "content": {
            request_parsing.JSON: {
                "schema": {"type": "array", "items": each, "minItems": n, "maxItems": n}
            },
            request_parsing.NPY: {"schema": {"type": "string", "format": "binary"}},
            request_parsing.CSV: {"schema": {"type": "string"}},
        },
    }


_bearer = HTTPBearer(auto_error=False, description="The token that the board's owner gave you.")


def _signed_in(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> str:
    """Return the account of the request's token."""
    token = "" if credentials is None else credentials.credentials
    name = account_of_token(request.app.state.board.engine, token)
    if name is None:
        raise HTTPException(
            401,
            "the header must be 'Authorization: Bearer TOKEN' with a token of this board",
            {"WWW-Authenticate": "Bearer"},
        )
    # For the line of the log.
    request.state.account = name
    return name


Account = Annotated[str, Depends(_signed_in)]
Number = Annotated[int, Query(ge=1, le=_LAST)]


async def submit(
    request: Request,
    account: Account,
    idempotency_key: Annotated[
        str | None,
        Header(
            description="A name of your own for this submission: sent again with the same labels "
            "it gets the same answer and is not charged.",
            min_length=1,
            max_length=200,
            pattern="^[ -~]+$",
        ),
    ] = None,
    claimed: Annotated[
        float | None,
        Query(description="Accuracy on your own data; only Thresholdout asks.", ge=0, le=1),
    ] = None,
) -> Receipt:
    """Submit labels, and get the guard's answer."""
    board: Board = request.app.state.board
    wait = request.app.state.rate.wait(account)
    if wait:
        raise RateError(wait)
    most = request.app.state.most_bytes
    headers = request.headers
    kind = request_parsing.check_head(
        headers.get("content-type"), headers.get("content-length"), most
    )
    # What would not be scored is not read.
    await run_in_threadpool(board.check_allowed, account, idempotency_key)
    with await request_parsing.receive_body(request.stream(), most, SECONDS_FOR_BODY) as body:
        return await receive_submission(
            request, account, body.read, kind, key=idempotency_key, claimed=claimed
        )


@dataclass(frozen=True)
class ListedReceipt(Receipt):
    """Receipt of an earlier submission."""

    voided: bool
    """Whether the owner has voided it since: it counts for nothing."""


def receipts(
    request: Request,
    account: Account,
    after: Annotated[int, Query(description="Only those with higher numbers.", ge=0, le=_LAST)] = 0,
) -> list[ListedReceipt]:
    """Return your own submissions in order, at most 100 at once."""
    board: Board = request.app.state.board
    voided = voided_submissions(board)
    return [
        ListedReceipt(**asdict(round_score(board, each)), voided=each.number in voided)
        for each in own_submissions(board, account, after, _MOST_RECEIPTS)
    ]


def account(request: Request, account: Account) -> RemainingBudget:
    """Return what the budgets have left for you; null if there is no limit."""
    board: Board = request.app.state.board
    return board.left(account)


def finals(
    request: Request,
    account: Account,
    number: Annotated[list[Number], Query(description="Of your receipts.", max_length=100)],
) -> list[int]:
    """Choose the submissions that you are judged by in the end; your best one by default."""
    return contest.choose_submissions(request.app.state.board.engine, account, number, now())


def sign_up(request: Request, invited: Invited) -> SignedUp:
    """Create an account with an invitation, and get its token, which is shown only once."""
    engine = request.app.state.board.engine
    return SignedUp(contest.sign_up(engine, invited.invitation, invited.name))


def show_standings(request: Request) -> Standings:
    """Return the public standings: the guard's answers, and what is left of the budgets."""
    return standings(request.app.state.board)


def health(request: Request) -> Health:
    """Return whether the database answers."""
    with reading(request.app.state.board.engine) as connection:
        connection.exec_driver_sql("SELECT 1")
    return Health("ok")


def front(request: Request) -> HTMLResponse:
    """Return the board as a page."""
    return HTMLResponse(team.render_page(standings(request.app.state.board)))


def style() -> Response:
    """Return the page's style sheet."""
    return Response(team.style(), media_type="text/css")
