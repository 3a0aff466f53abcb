"""Pages that load nothing from elsewhere and run no script: the board's, and each team's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from functools import cache, partial
from importlib.resources import files
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from privacygauge.errors import BudgetError, InputError, PrivacyGaugeError
from privacygauge.leaderboards.server import contest, request_parsing
from privacygauge.leaderboards.server.accounts import account_of_token
from privacygauge.leaderboards.server.board import Board, now
from privacygauge.leaderboards.server.request_parsing import SECONDS_FOR_BODY, receive_submission
from privacygauge.leaderboards.server.running import RateError
from privacygauge.leaderboards.server.standings import (
    Standings,
    chosen_submissions,
    latest_submissions,
    standings,
)

if TYPE_CHECKING:
    from jinja2 import Template


_TEMPLATES = files("privacygauge.leaderboards.server") / "templates"


def render_page(standings: Standings) -> str:
    """Return the page; all user input is escaped."""
    return _template("board.html.j2").render(board=standings)


def render_team(told: Mapping[str, object]) -> str:
    """Return the page of a team, or the form to sign in; all user input is escaped."""
    return _template("team.html.j2").render(**told)


@cache
def style() -> str:
    """Return the page's style sheet."""
    return (_TEMPLATES / "board.css").read_text(encoding="utf-8")


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {
        "whole": "{:,}".format,
        # An accuracy of n points has no more digits than these for n below a million.
        "share": lambda score: f"{score:.6f}".rstrip("0").ljust(5, "0"),
        "minute": lambda time: f"{time[:10]} {time[11:16]}",
    }
    text = (_TEMPLATES / name).read_text(encoding="utf-8")
    return environment.from_string(text)


_COOKIE = "privacygauge_token"
_PATH = "/team"
# Bytes for the fields of a form and the lines between its parts, besides a file.
_FORM = 10_000
_KINDS = {".csv": request_parsing.CSV, ".json": request_parsing.JSON, ".npy": request_parsing.NPY}
_SHOWN = 200
"""Number of a team's latest submissions on its page."""


def add_team_page(app: FastAPI) -> None:
    """Add the routes of the team's page; they are for people, and not part of the API."""
    for path, answer, methods in (
        (_PATH, show_team, ["GET", "HEAD"]),
        (f"{_PATH}/sign-in", sign_in, ["POST"]),
        (f"{_PATH}/sign-out", sign_out, ["POST"]),
        (f"{_PATH}/submissions", upload, ["POST"]),
        (f"{_PATH}/finals", choose, ["POST"]),
    ):
        app.add_api_route(path, answer, methods=methods, include_in_schema=False)


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
    told: dict[str, Any] = {"board": standings(board), "name": name, "said": said}
    if name is not None:
        chosen = chosen_submissions(board, name)
        rows = [(each, each.number in chosen) for each in latest_submissions(board, name, _SHOWN)]
        # Sent again by a reload, the form's key brings the same answer and costs nothing.
        told |= {"left": board.left(name), "submissions": rows, "key": token_urlsafe(16)}
    return HTMLResponse(render_team(told), status)


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
    head = Message()
    head["content-type"] = request.headers.get("content-type", "")
    boundary = head.get_param("boundary")
    if head.get_content_type() != "multipart/form-data" or not isinstance(boundary, str):
        raise InputError("the form must be multipart/form-data")
    most = request.app.state.most_bytes + _FORM
    body = await request_parsing.read_body(request.stream(), most, SECONDS_FOR_BODY)
    found = {}
    # A boundary begins with a new line, also the first one; the part before it is no field.
    for part in (b"\r\n" + body).split(b"\r\n--" + boundary.encode("latin-1", "replace"))[1:]:
        lines, _, content = part.partition(b"\r\n\r\n")
        about = Message()
        for line in lines.decode("utf-8", "replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip().lower() == "content-disposition":
                about["content-disposition"] = value.strip()
        field = about.get_param("name", header="content-disposition")
        if isinstance(field, str):
            found[field] = _Part(content, about.get_filename())
    return found
