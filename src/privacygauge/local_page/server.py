"""The page over HTTP: for one person on this machine, who has the link that the terminal showed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from mmap import ACCESS_READ, mmap
from pathlib import Path
from secrets import compare_digest, token_urlsafe
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from privacygauge.errors import InputError, PrivacyGaugeError
from privacygauge.kinds.dropped import Answers, DroppedFile, Question, Recognised
from privacygauge.local_page.audits import Audit
from privacygauge.local_page.recognition import (
    ENDINGS,
    add_residuals,
    fitting_audits,
    join_files,
    look_at,
    rename_columns,
    report_words,
)
from privacygauge.report.numbers import plain
from privacygauge.runs.results import check_writable, write_results

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_BYTES = 2**31
"""Most bytes of all files that were dropped and not removed; larger ones go to the command line."""
MOST_FILES = 20
"""Most files of one drop."""
_FORM = 100_000
"""Most bytes of a form without files."""
_PART = 2**20
_DIGITS = 18
"""Most digits of a number in a request; Python refuses to read thousands of them."""
_BEAT = 5.0
"""Seconds after which a page of progress says that the audit goes on."""
_HOME = "127.0.0.1"
_PAGES = ("report.html", "register.html")
"""Names of pages of results."""

_TITLE = Question("title", "What should the report call it?", needed=False)
_OWN = (
    "default-src 'none'; style-src 'self'; frame-src 'self'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_REPORT = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'self'; sandbox"
)
"""Policy of a page of results: it runs nothing and belongs to no site."""
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    # With "no-referrer" browsers would hide the origin of a form.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Connection": "close",
}


class Refused(PrivacyGaugeError):  # noqa: N818  # what a visitor reads, not what a caller catches
    """A request that is not answered, with its status."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass
class Drop:
    """Files that were dropped together, and their audit; the object is mutable."""

    number: int
    """Number in addresses."""
    folder: Path
    """Folder of the copies and of the results."""
    files: tuple[DroppedFile, ...]
    """The files, as they begin."""
    found: Sequence[tuple[str, Recognised]]
    """Audits that they are enough for, each with its command."""
    size: int
    """Bytes of the files."""
    audit: Audit | None = None
    """The audit that was begun last."""
    answers: Answers = field(default_factory=dict)
    """Answers to the questions of that audit."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Columns that had another name in that audit: the given name to that name."""
    lock: Lock = field(default_factory=Lock)
    """Held while an audit begins."""

    @property
    def words(self) -> dict[str, str]:
        """Title, date and verdict of each report among the files, by the file's name."""
        reports = [file.name for file in self.files if file.report]
        return {name: report_words(self.folder / "given" / name) for name in reports}

    @property
    def results(self) -> dict[str, Path]:
        """Files of a finished audit by name, the page first."""
        if self.audit is None or not self.audit.finished:
            return {}
        inside = sorted(self.audit.out.iterdir(), key=lambda path: (path.name not in _PAGES, path))
        return {x.name: x for x in inside if x.is_file() and not x.name.startswith(".")}


class Page(ThreadingHTTPServer):
    """The server of one person's page, with all that was dropped; the object is mutable."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int) -> None:
        try:
            super().__init__((_HOME, port), _Visit)
        except (OSError, OverflowError) as error:
            raise InputError(
                f"port {port} cannot be used ({error}): choose another with --port"
            ) from error
        self.folder = folder
        self.host = f"{_HOME}:{self.server_address[1]}"
        self.drops: dict[int, Drop] = {}
        self.lock = Lock()
        self._link: str | None = token_urlsafe(32)
        self._session = token_urlsafe(32)
        self._last = 0

    @property
    def link(self) -> str:
        """The address that opens the page once."""
        return f"http://{self.host}/?token={self._link}"

    @property
    def cookie(self) -> str:
        """Name of the cookie: all servers of this machine share them, whatever their port."""
        return f"privacygauge_{self.server_address[1]}"

    def opened_by(self, token: str) -> str | None:
        """Return the session of the one who has the link; the link works once."""
        with self.lock:
            if self._link is None or not _same(token, self._link):
                return None
            self._link = None
            return self._session

    def knows(self, session: str) -> bool:
        """Return whether a session is that of the link."""
        return _same(session, self._session)

    def new_folder(self) -> tuple[int, Path]:
        """Return the number and the folder of a new drop."""
        with self.lock:
            self._last += 1
            folder = self.folder / str(self._last)
        (folder / "given").mkdir(parents=True)
        return self._last, folder

    def remove(self, drop: Drop) -> None:
        """Remove the copies and the results of a drop."""
        if drop.audit is not None:
            drop.audit.cancel()
        self.drops.pop(drop.number, None)
        shutil.rmtree(drop.folder, ignore_errors=True)

    def end(self) -> None:
        """Cancel running audits, and remove everything."""
        for drop in list(self.drops.values()):
            self.remove(drop)
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore visitors who went away; report everything else."""
        import sys

        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


def _place(fields: Mapping[str, list[str]]) -> int:
    """Return the place of an audit among those that files are enough for; 0 unless one is named."""
    given = fields.get("as", ["0"])[0]
    return int(given) if given.isdecimal() and len(given) <= _DIGITS else 0


def _same(given: str, known: str) -> bool:
    return compare_digest(given.encode(), known.encode())


class _Visit(BaseHTTPRequestHandler):
    """One request."""

    server: Page
    server_version = "PrivacyGauge"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        """Show a page or a file."""
        self._answer(self._show)

    def do_POST(self) -> None:
        """Take files or a form."""
        self._answer(self._act)

    def _answer(self, act: Any) -> None:
        path = urlsplit(self.path).path
        try:
            self._require_own()
            act(path)
        except Refused as error:
            self._discard()
            self._page("refused.html.j2", error.status, said=str(error))
        except PrivacyGaugeError as error:
            self._discard()
            self._start(str(error), HTTPStatus.UNPROCESSABLE_ENTITY)

    @property
    def _link_token(self) -> str:
        """The token of a visit by the link, which alone needs no cookie; empty of any other."""
        asked = urlsplit(self.path)
        if self.command != "GET" or asked.path != "/":
            return ""
        return parse_qs(asked.query).get("token", [""])[0]

    def _require_own(self) -> None:
        """Refuse other hosts (DNS rebinding), other origins (forged forms) and other people."""
        if self.headers.get_all("Host") != [self.server.host]:
            raise Refused(HTTPStatus.MISDIRECTED_REQUEST, "this page has another address")
        if self._link_token:
            return
        if self.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            raise Refused(HTTPStatus.FORBIDDEN, "another page asked for this")
        origin = f"http://{self.server.host}"
        if self.command == "POST" and self.headers.get_all("Origin") != [origin]:
            raise Refused(HTTPStatus.FORBIDDEN, "another page sent this form")
        try:
            cookies = SimpleCookie(self.headers.get("Cookie", ""))
        except CookieError:
            cookies = SimpleCookie()
        session = cookies.get(self.server.cookie)
        if session is None or not self.server.knows(session.value):
            raise Refused(
                HTTPStatus.FORBIDDEN,
                "open the link that privacygauge open printed. It works once, in one browser; for "
                "another one start privacygauge open again",
            )

    # Pages.

    def _show(self, path: str) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if self._link_token:
            session = self.server.opened_by(self._link_token)
            if session is None:
                raise Refused(
                    HTTPStatus.FORBIDDEN,
                    "this link was used already, and works once: start privacygauge open again",
                )
            cookie = f"{self.server.cookie}={session}; Path=/; HttpOnly; SameSite=Strict"
            # Not a redirect: after a link from elsewhere the browser would keep the cookie back.
            self._page("opened.html.j2", headers={"Set-Cookie": cookie})
        elif path == "/":
            self._start()
        elif path == "/style.css":
            self._send(HTTPStatus.OK, style_sheet(), "text/css")
        else:
            drop, rest = self._drop_at(path)
            if rest == "":
                place = _place(query)
                self._show_drop(drop, place if place < len(drop.found) else 0)
            elif rest == "progress":
                self._show_progress(drop)
            else:
                self._show_result(drop, rest)

    def _start(self, said: str = "", status: HTTPStatus = HTTPStatus.OK) -> None:
        shown = list(self.server.drops.values())
        self._page("start.html.j2", status, said=said, drops=shown, endings=",".join(ENDINGS))

    def _show_drop(
        self, drop: Drop, place: int, said: str = "", status: HTTPStatus = HTTPStatus.OK
    ) -> None:
        audit = drop.audit
        if audit is not None and audit.code is None:
            self._redirect(f"/drops/{drop.number}/progress")
            return
        said = said or ("" if audit is None else audit.failure)
        results = list(drop.results)
        self._page(
            "drop.html.j2", status, drop=drop, place=place, said=said, audit=audit, results=results
        )

    def _show_progress(self, drop: Drop) -> None:
        """Send the page of an audit, which grows while it runs, and leads on at its end."""
        audit = drop.audit
        if audit is None or audit.code is not None:
            self._redirect(f"/drops/{drop.number}")
            return
        # The end of the page comes last.
        page = _render("progress.html.j2", drop=drop, audit=audit)
        before, _, after = page.partition("<!-- progress -->")
        self._head(HTTPStatus.OK, "text/html; charset=utf-8", _OWN)
        self.wfile.write(before.encode())
        seen = 0
        said = -_BEAT
        while audit.code is None:
            for line in audit.wait(seen, _BEAT):
                seen += 1
                self.wfile.write(_render("line.html.j2", line=line).encode())
            if audit.code is None and audit.seconds - said >= _BEAT:
                said = audit.seconds
                self.wfile.write(_render("line.html.j2", line=f"{said} s so far").encode())
            self.wfile.flush()
        self.wfile.write(after.encode())

    def _show_result(self, drop: Drop, name: str) -> None:
        results = drop.results
        if name == "page":
            name = next((x for x in _PAGES if x in results), "")
        attached = name not in _PAGES or "save" in parse_qs(urlsplit(self.path).query)
        if name not in results:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")
        kind = "application/octet-stream" if attached else "text/html; charset=utf-8"
        save = {"Content-Disposition": f'attachment; filename="{name}"'} if attached else {}
        with results[name].open("rb") as stream:
            self._head(HTTPStatus.OK, kind, _REPORT, save)
            shutil.copyfileobj(stream, self.wfile)

    # What is sent.

    def _act(self, path: str) -> None:
        if path == "/drops":
            drop = self._take()
            self._redirect(f"/drops/{drop.number}")
            return
        if path == "/end":
            self._page("ended.html.j2")
            # From another thread, since the server waits for its loop to end.
            Thread(target=self.server.shutdown, daemon=True).start()
            return
        drop, action = self._drop_at(path)
        try:
            fields = parse_qs(self._body(_FORM).decode("utf-8", "replace"), max_num_fields=1_000)
        except ValueError as error:
            too_many = "the form has too many fields"
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, too_many) from error
        if action == "audit":
            self._begin(drop, fields)
        elif action == "cancel":
            if drop.audit is not None:
                drop.audit.cancel()
            self._redirect(f"/drops/{drop.number}")
        elif action == "keep":
            self._keep(drop, fields.get("folder", [""])[0].strip())
        elif action == "remove":
            self.server.remove(drop)
            self._redirect("/")
        else:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")

    def _take(self) -> Drop:
        """Return a new drop of the files in the form."""
        length = self._length()
        used = sum(drop.size for drop in self.server.drops.values())
        if used + length > MOST_BYTES:
            raise Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"These files are too large for this page ({length / 1e9:.1f} GB, with "
                f"{used / 1e9:.1f} GB from before, of {MOST_BYTES / 1e9:.1f}): remove earlier "
                "ones, or use the command line",
            )
        number, folder = self.server.new_folder()
        try:
            body = folder / "form"
            with body.open("wb") as to:
                while part := self._read(_PART):
                    to.write(part)
                    length -= len(part)
            if length:
                raise InputError("The files did not arrive as a whole: drop them again")
            names = _unpack(self.headers.get("Content-Type", ""), body, folder / "given")
            body.unlink()
            seen = tuple(look_at(folder / "given" / name) for name in names)
            found = fitting_audits(seen)
            if not found:
                listed = ", ".join(names)
                raise InputError(
                    f"No audit begins with {listed} together: drop predictions, scores, a "
                    "leaderboard's history, a table with its synthetic twin, or reports"
                )
        except (PrivacyGaugeError, OSError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, OSError) and not isinstance(error, ConnectionError | TimeoutError):
                reason = error.strerror or str(error)
                raise InputError(f"The files cannot be kept ({reason})") from error
            raise
        size = sum(path.stat().st_size for path in (folder / "given").iterdir())
        drop = Drop(number, folder, files=seen, found=found, size=size)
        self.server.drops[number] = drop
        return drop

    def _begin(self, drop: Drop, fields: Mapping[str, list[str]]) -> None:
        """Begin the audit that a form asks for."""
        place = _place(fields)
        if place >= len(drop.found):
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such audit")
        command, audited = drop.found[place]
        try:
            if audited.lacks:
                raise InputError(audited.lacks)
            answers = {x.name: x.checked(fields.get(x.name, [])) for x in audited.questions}
            drop.answers = answers
            arguments = audited.arguments(answers)
            if title := "".join(_TITLE.checked(fields.get("title", []))):
                arguments = [*arguments, f"--title={title}"]
            renamed = audited.renamed(answers)
            residuals = audited.residuals(answers)
        except InputError as error:
            self._show_drop(drop, place, str(error), HTTPStatus.UNPROCESSABLE_ENTITY)
            return
        with drop.lock:
            if drop.audit is None or drop.audit.code is not None:
                for name in ("out", "files"):
                    shutil.rmtree(drop.folder / name, ignore_errors=True)
                (drop.folder / "files").mkdir()
                try:
                    for file in drop.files:
                        # The files as they came stay, for an audit with other answers.
                        copy = drop.folder / "files" / file.name
                        copy.hardlink_to(drop.folder / "given" / file.name)
                    if audited.joined is not None:
                        join_files(drop.folder / "files", audited.joined)
                    for copy in [*(drop.folder / "files").iterdir()]:
                        add_residuals(copy, residuals)
                        rename_columns(copy, renamed)
                except InputError as error:
                    self._show_drop(drop, place, str(error), HTTPStatus.UNPROCESSABLE_ENTITY)
                    return
                present = {name for file in drop.files for name in file.names}
                drop.renamed = {old: x for old, x in renamed.items() if old in present - {x}}
                drop.audit = Audit(
                    command, arguments, files=drop.folder / "files", out=drop.folder / "out"
                )
        self._redirect(f"/drops/{drop.number}/progress")

    def _keep(self, drop: Drop, folder: str) -> None:
        """Write the results where the user says."""
        results = {name: path.read_bytes() for name, path in drop.results.items()}
        try:
            if not results:
                raise InputError("there is nothing to keep yet")
            elsewhere = "name a folder on this machine"
            if not folder or "://" in folder or not folder.isprintable():
                raise InputError(elsewhere)
            try:
                place = Path(folder).expanduser().absolute()
            except RuntimeError as error:  # the home of nobody
                raise InputError(elsewhere) from error
            check_writable(place)
            write_results(place, results)
        except PrivacyGaugeError as error:
            self._show_drop(drop, 0, f"Not kept: {error}", HTTPStatus.UNPROCESSABLE_ENTITY)
            return
        self._show_drop(drop, 0, f"Kept in {place}: {', '.join(results)}")

    def _drop_at(self, path: str) -> tuple[Drop, str]:
        found = re.fullmatch(r"/drops/(\d{1,9})(?:/([A-Za-z0-9._-]{1,100}))?", path)
        drop = self.server.drops.get(int(found[1])) if found else None
        if found is None or drop is None:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")
        return drop, found[2] or ""

    # Requests and answers.

    _left: int | None = None
    """Bytes of the body that were not read; None before its length is known."""

    def _length(self) -> int:
        """Return the length of the body, which must be said."""
        given = self.headers.get_all("Content-Length") or []
        sure = len(given) == 1 and given[0].isdecimal() and len(given[0]) <= _DIGITS
        if not sure or "Transfer-Encoding" in self.headers:
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "the length of the form must be said")
        self._left = int(given[0])
        return self._left

    def _read(self, most: int) -> bytes:
        """Return the next bytes of the body; none at its end, or where it was cut off."""
        part = self.rfile.read(min(most, self._left or 0))
        self._left = (self._left or 0) - len(part) if part else 0
        return part

    def _body(self, most: int) -> bytes:
        length = self._length()
        if length > most:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the form is too long")
        return self._read(length)

    def _discard(self) -> None:
        """Read a refused body and forget it: browsers read no answer before they have sent it."""
        if self.command != "POST":
            return
        if self._left is None:
            length = self.headers.get("Content-Length", "")
            sure = length.isdecimal() and len(length) <= _DIGITS
            self._left = int(length) if sure else 0
        self._left = min(self._left, 2 * MOST_BYTES)
        while self._read(_PART):
            pass

    def _head(
        self, status: HTTPStatus, kind: str, policy: str, headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        about = {"Content-Type": kind, "Content-Security-Policy": policy}
        for name, value in {**about, **_HEADERS, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(
        self, status: HTTPStatus, text: str, kind: str, headers: Mapping[str, str] | None = None
    ) -> None:
        content = text.encode()
        length = {"Content-Length": str(len(content))}
        self._head(status, f"{kind}; charset=utf-8", _OWN, {**length, **(headers or {})})
        self.wfile.write(content)

    def _page(
        self,
        template: str,
        status: HTTPStatus = HTTPStatus.OK,
        headers: Mapping[str, str] | None = None,
        **shown: Any,
    ) -> None:
        self._send(status, _render(template, **shown), "text/html", headers)

    def _redirect(self, path: str) -> None:
        self._send(HTTPStatus.SEE_OTHER, "", "text/plain", {"Location": path})

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that is not one of ours, without repeating any of it."""
        self.close_connection = True
        status = HTTPStatus(code)
        self._send(status, f"{status.phrase}\n", "text/plain")

    def log_message(self, format: str, *args: Any) -> None:  # the name of the base
        """Log nothing: addresses would name dropped files."""


def _unpack(content_type: str, body: Path, folder: Path) -> list[str]:
    """Write the files of a form to a folder, and return their names there."""
    from privacygauge.datasets.forms import form_parts

    if not body.stat().st_size:
        raise InputError("Choose a file first")
    names: list[str] = []
    with body.open("rb") as stream, mmap(stream.fileno(), 0, access=ACCESS_READ) as mapped:
        for part in form_parts(content_type, mapped):
            if not part.name:
                continue
            if len(names) == MOST_FILES:
                raise InputError(f"One drop may have {MOST_FILES} files")
            name = _file_name(part.name, names)
            with (folder / name).open("xb") as to:
                for begin in range(part.begin, part.end, _PART):
                    to.write(mapped[begin : min(begin + _PART, part.end)])
            names.append(name)
    if not names:
        raise InputError("Choose a file first")
    return names


def _file_name(given: str, taken: Sequence[str]) -> str:
    """Return the name to keep a file under: the last part of its own, with nothing unusual."""
    last = re.split(r"[/\\]", given)[-1]
    # A name never begins an option or a hidden file, and is no address.
    usual = re.sub(r'[\x00-\x1f\x7f<>:"|?*=]', "_", plain(last)).strip().lstrip(".-") or "file"
    stem, dot, ending = usual[-120:].rpartition(".")
    found = usual[-120:]
    number = 1
    while found.lower() in {name.lower() for name in taken}:
        number += 1
        found = f"{stem} ({number}){dot}{ending}"
    return found


@cache
def style_sheet() -> str:
    """Return the style sheet: that of reports, and some rules for forms."""
    own = files("privacygauge.local_page") / "templates" / "page.css"
    shared = files("privacygauge.report") / "templates" / "style.css"
    return shared.read_text(encoding="utf-8") + own.read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("privacygauge.local_page"),
        autoescape=True,
        undefined=StrictUndefined,
        # Names of files and columns may hold anything.
        finalize=lambda x: plain(x) if isinstance(x, str) and not hasattr(x, "__html__") else x,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _render(template: str, **shown: Any) -> str:
    return _environment().get_template(template).render(**shown)
