"""The board over HTTP, thin, since `Board` does the work: for programs, and as pages for people.

The pages load nothing from elsewhere and run no script; all user input in them is escaped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache, partial
from importlib.resources import files
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import parse_qs

from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import Field
from starlette.concurrency import run_in_threadpool

from privacygauge.core.versions import own_version
from privacygauge.datasets.forms import form_parts
from privacygauge.errors import BudgetError, InputError, PrivacyGaugeError
from privacygauge.leaderboards.history.scale import Scale
from privacygauge.leaderboards.server import contest, request_parsing
from privacygauge.leaderboards.server.accounts import account_of_token
from privacygauge.leaderboards.server.board import Board, Receipt, RemainingBudget, now
from privacygauge.leaderboards.server.database import reading
from privacygauge.leaderboards.server.request_parsing import (
    SECONDS_FOR_BODY,
    receive_submission,
    round_score,
)
from privacygauge.leaderboards.server.running import (
    ANSWERED,
    Outside,
    RateError,
    RateLimit,
    answer_problem,
    problems,
)
from privacygauge.leaderboards.server.standings import (
    Standings,
    chosen_submissions,
    own_submissions,
    standings,
    voided_submissions,
)

if TYPE_CHECKING:
    from jinja2 import Template


_TEMPLATES = files("privacygauge.leaderboards.server") / "templates"
_MOST_RECEIPTS = 100
_LAST = 2**31 - 1
_PARSERS = 2
"""Number of bodies that are parsed at the same time."""
_COOKIE = "privacygauge_token"
_PATH = "/team"
# Bytes for the fields of a form and the lines between its parts, besides a file.
_FORM = 10_000
_KINDS = {".csv": request_parsing.CSV, ".json": request_parsing.JSON, ".npy": request_parsing.NPY}
_SHOWN = 200
"""Number of a team's latest submissions on its page."""


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
    hidden = board.holdout
    app.state.most_bytes = request_parsing.largest_body(
        board.n, hidden.n_classes, metric=hidden.metric, ids=board.ids, classes=board.classes
    )
    app.state.rate = RateLimit(rates.account)
    # First come, first served: those who wait for a lock of threads, or of SQLite, have no order.
    app.state.turn = asyncio.Lock()
    app.state.parsing = asyncio.Semaphore(_PARSERS)
    app.add_middleware(Outside, rate=RateLimit(rates.address))
    for kind in ANSWERED:
        app.add_exception_handler(kind, answer_problem)
    # The form of a submission, for the description of the API.
    n = board.n
    m = hidden.n_classes
    metric = hidden.metric
    each: dict[str, Any] = {"type": "number"}
    content = f"What the metric {metric.name} asks for"
    if metric.form == "i":
        each = {"type": "integer", "minimum": 0, "maximum": m - 1}
        content = f"A label in 0..{m - 1}"
    labels = {"type": "array", "items": each, "minItems": n, "maxItems": n}
    body = {
        "required": True,
        "description": f"{content} for each of the {n} points, as a JSON list, as a file that "
        "numpy.save wrote, or as CSV with the head id,label.",
        "content": {
            request_parsing.JSON: {"schema": labels},
            request_parsing.NPY: {"schema": {"type": "string", "format": "binary"}},
            request_parsing.CSV: {"schema": {"type": "string"}},
        },
    }
    app.add_api_route(
        "/submissions",
        submit,
        methods=["POST"],
        responses=problems(400, 401, 403, 408, 409, 413, 415, 422),
        openapi_extra={"requestBody": body},
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
    # The team's page is for people, and not part of the API.
    pages: tuple[tuple[str, Any, list[str]], ...] = (
        (_PATH, show_team, ["GET", "HEAD"]),
        (f"{_PATH}/sign-in", sign_in, ["POST"]),
        (f"{_PATH}/sign-out", sign_out, ["POST"]),
        (f"{_PATH}/submissions", upload, ["POST"]),
        (f"{_PATH}/finals", choose, ["POST"]),
    )
    for path, page, methods in pages:
        app.add_api_route(path, page, methods=methods, include_in_schema=False)
    return app


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
    with await request_parsing.receive_body(
        request.stream(), most, SECONDS_FOR_BODY, kind=kind
    ) as body:
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
        for each in own_submissions(board, account, _MOST_RECEIPTS, after=after)
    ]


def account(request: Request, account: Account) -> RemainingBudget:
    """Return what is left for you, in all and today; null if there is no limit."""
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
    page = _template("board.html.j2").render(board=standings(request.app.state.board))
    return HTMLResponse(page)


def style() -> Response:
    """Return the page's style sheet."""
    return Response((_TEMPLATES / "board.css").read_text(encoding="utf-8"), media_type="text/css")


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {
        "whole": "{:,}".format,
        "value": _value,
        "minute": lambda time: f"{time[:10]} {time[11:16]}",
    }
    text = (_TEMPLATES / name).read_text(encoding="utf-8")
    return environment.from_string(text)


def _value(score: float, scale: Scale) -> str:
    """Return a score, and of a metric that is an error the error too, as HTML."""
    from markupsafe import Markup

    # An accuracy of n points has no more digits than these for n below a million.
    share = f"{score:.6f}".rstrip("0").ljust(5, "0")
    if scale.worst is None:
        return share
    return Markup('{} <span class="earlier">error {}</span>').format(share, scale.number(score))


def show_team(request: Request) -> HTMLResponse:
    """Return the page of the team that is signed in, or the form to sign in."""
    return _page(request, _team_of(request))


async def sign_in(request: Request) -> Response:
    """Keep the token in a cookie that is kept from scripts and from other sites."""
    fields = await _fields(request)
    token = fields.get("token", [""])[0].strip()
    board: Board = request.app.state.board
    if await run_in_threadpool(account_of_token, board.engine, token) is None:
        return await run_in_threadpool(
            partial(_page, request, None, "This is not a token of this board.", status=401)
        )
    answer = RedirectResponse(_PATH.removeprefix("/"), 303)
    # If the page itself came over HTTPS, the cookie must not travel without it.
    secure = request.url.scheme == "https"
    answer.set_cookie(_COOKIE, token, path=_PATH, httponly=True, samesite="strict", secure=secure)
    answer.headers["location"] = _PATH
    return answer


async def sign_out(request: Request) -> Response:
    """Forget the token."""
    answer = RedirectResponse(_PATH, 303)
    answer.delete_cookie(_COOKIE, path=_PATH, httponly=True, samesite="strict")
    return answer


async def upload(request: Request) -> Response:
    """Score the file of a form."""
    name = await run_in_threadpool(_team_of, request)
    if name is None or _is_foreign(request):
        return RedirectResponse(_PATH, 303)
    request.state.account = name
    try:
        # As for submissions without a browser.
        if wait := request.app.state.rate.wait(name):
            raise RateError(wait)
        form = await _parts(request, name)
        file = form.get("file")
        if file is None or not file.name:
            raise InputError("choose a file: .csv, .json or .npy")
        kind = _KINDS.get(f".{file.name.rpartition('.')[2].lower()}")
        if kind is None:
            raise InputError("the file must end in .csv, .json or .npy")
        key = form["key"].content.decode("ascii", "replace") if "key" in form else None
        await receive_submission(request, name, lambda: file.content, kind, key=key)
    except PrivacyGaugeError as error:
        said = f"Not scored: {error}."
        status = getattr(error, "status", 403 if isinstance(error, BudgetError) else 422)
        answer = await run_in_threadpool(partial(_page, request, name, said, status=status))
        # The rest of the body may not have been read, so nothing else can follow on this
        # connection.
        answer.headers["connection"] = "close"
        return answer
    return RedirectResponse(_PATH, 303)


async def choose(request: Request) -> Response:
    """Set the submissions by which the team is judged."""
    name = await run_in_threadpool(_team_of, request)
    if name is None or _is_foreign(request):
        return RedirectResponse(_PATH, 303)
    numbers = [x for x in (await _fields(request)).get("number", []) if x.isdecimal()]
    engine = request.app.state.board.engine
    try:
        # Longer numbers are no submission's, and a database could not store them.
        chosen = [int(x) for x in numbers if len(x) < 10]
        await run_in_threadpool(
            partial(contest.choose_submissions, engine, name, chosen, now=now())
        )
    except PrivacyGaugeError as error:
        said = f"Not chosen: {error}."
        return await run_in_threadpool(partial(_page, request, name, said, status=422))
    return RedirectResponse(_PATH, 303)


def _page(
    request: Request, name: str | None, said: str | None = None, *, status: int = 200
) -> HTMLResponse:
    board: Board = request.app.state.board
    shown: dict[str, Any] = {"board": standings(board), "name": name, "said": said}
    if name is not None:
        chosen = chosen_submissions(board, name)
        voided = voided_submissions(board)
        rows = [
            (each, each.number in chosen, each.number in voided)
            for each in own_submissions(board, name, _SHOWN)
        ]
        # Sent again by a reload, the form's key brings the same answer and costs nothing.
        shown |= {"left": board.left(name), "submissions": rows, "key": token_urlsafe(16)}
    return HTMLResponse(_template("team.html.j2").render(**shown), status)


def _team_of(request: Request) -> str | None:
    token = request.cookies.get(_COOKIE, "")
    return account_of_token(request.app.state.board.engine, token) if token else None


def _is_foreign(request: Request) -> bool:
    """Return whether a browser says that another site's page sent the form."""
    return request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")


async def _fields(request: Request) -> Mapping[str, list[str]]:
    body = await request_parsing.read_body(request.stream(), _FORM, SECONDS_FOR_BODY)
    return parse_qs(body.decode("utf-8", "replace"))


@dataclass(frozen=True)
class _Part:
    """A field of a form, or a file."""

    content: bytes
    """Text that was entered, or content of the file."""
    name: str | None
    """Name of the file; None for a field."""


async def _parts(request: Request, account: str) -> dict[str, _Part]:
    """Return the parts of a form with a file by their names (RFC 7578)."""
    board: Board = request.app.state.board
    # A form that would be refused is not read.
    await run_in_threadpool(board.check_allowed, account)
    most = request.app.state.most_bytes + _FORM
    body = await request_parsing.read_body(request.stream(), most, SECONDS_FOR_BODY)
    parts = form_parts(request.headers.get("content-type", ""), body)
    return {part.field: _Part(body[part.begin : part.end], part.name) for part in parts}
