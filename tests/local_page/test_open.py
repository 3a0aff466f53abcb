"""The local page over HTTP: everyday files reach a report, broken ones a line, others nothing."""

from __future__ import annotations

import http.client
import json
import re
import stat
import subprocess
import sys
import time
from html import unescape
from threading import Thread
from types import SimpleNamespace
from urllib.parse import urlencode

import numpy as np
import pytest

from privacygauge.local_page import server as serving
from privacygauge.local_page.server import Page
from tests.local_page.everyday import BROKEN, BROKEN_LATER, EVERYDAY, csv, losses, predictions
from tests.releases.documents import document, estimate, number

SECONDS = 120
"""Longest time of an audit here."""


class Browser:
    """A visitor of a page, who has its cookie once the link was opened."""

    def __init__(self, link: str) -> None:
        self.host, _, self.path = link.removeprefix("http://").partition("/")
        self.cookie = ""

    def ask(self, method, path, body=b"", **headers):
        """Return status, headers and text of an answer; a header that is None is left out."""
        usual = {"Host": self.host, "Origin": f"http://{self.host}", "Cookie": self.cookie}
        if method == "GET":
            del usual["Origin"]
        given = {**usual, **{name.replace("_", "-"): x for name, x in headers.items()}}
        connection = http.client.HTTPConnection(self.host, timeout=SECONDS)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        if method == "POST":
            given.setdefault("Content-Length", str(len(body)))
        for name, value in given.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body or None)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, answer.headers, text.decode("utf-8", "replace")

    def open(self):
        """Open the link, and keep the cookie."""
        status, headers, _ = self.ask("GET", f"/{self.path}")
        assert status == 200
        self.cookie = headers["Set-Cookie"].partition(";")[0]
        return self

    def drop(self, files):
        """Drop files; return the answer."""
        parts = [
            f'--x\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n".encode()
            + content
            + b"\r\n"
            for name, content in (files.items() if isinstance(files, dict) else files)
        ]
        kind = "multipart/form-data; boundary=x"
        return self.ask("POST", "/drops", b"".join(parts) + b"--x--\r\n", Content_Type=kind)

    def send(self, path, **fields):
        """Send a form; return the answer."""
        return self.ask("POST", path, urlencode(fields, doseq=True).encode())

    def audited(self, place, **answers):
        """Begin an audit, wait until its page of progress ends; return the page behind it."""
        status, headers, text = self.send(f"{place}/audit", **answers)
        if status == 303:
            self.ask("GET", headers["Location"])
            text = self.ask("GET", place)[2]
        return text


@pytest.fixture
def page(tmp_path):
    found = Page(tmp_path / "copies", 0)
    thread = Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.end()


@pytest.fixture
def browser(page):
    return Browser(page.link).open()


def said(text):
    """Return what a page says went wrong."""
    found = re.search(r'role="alert">(.*?)</p>', text, re.DOTALL)
    return unescape(re.sub("<[^>]*>", "", found[1])) if found else ""


def placed(answer):
    """Return where dropped files are."""
    status, headers, text = answer
    assert status == 303, said(text)
    return headers["Location"]


def asked(text):
    """Return the answers that a page of questions shows at first."""
    found = {}
    for block in re.findall(r"<select.*?</select>", text, re.DOTALL):
        chosen = re.search(r'<option value="([^"]*)" selected', block)
        found[re.search('name="([^"]*)"', block)[1]] = unescape(chosen[1]) if chosen else ""
    for one in re.findall("<input[^>]*>", text):
        if "checkbox" not in one or "checked" in one:
            value = re.search('value="([^"]*)"', one)
            found[re.search('name="([^"]*)"', one)[1]] = unescape(value[1]) if value else ""
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERYDAY)
def test_everyday_files_reach_a_page(browser, page, tmp_path, name):
    files, answers, command = EVERYDAY[name]
    place = placed(browser.drop(files()))
    text = browser.ask("GET", place)[2]
    assert page.drops[1].found[0][0] == command
    # Only what is said here has to be said; all else is chosen already.
    shown = asked(text)
    assert {*answers} <= {*shown}
    result = browser.audited(place, **{**shown, **answers})
    assert not said(result)
    status, headers, report = browser.ask("GET", f"{place}/page")
    assert status == 200
    assert "sandbox" in headers["Content-Security-Policy"]
    assert '<section class="verdict' in report or 'id="verdict"' in report
    kept = tmp_path / "kept"
    assert "Kept in" in said(browser.send(f"{place}/keep", folder=str(kept))[2])
    assert (kept / "report.html").read_text("utf-8") == report
    assert (kept / "report.json").is_file()


@pytest.mark.slow
def test_other_answers_are_those_of_the_files_as_they_came(browser):
    frame = predictions(label="truth?", member="seen").assign(ward=np.arange(400) // 300)
    place = placed(browser.drop({"t.csv": csv(frame)}))
    numbers = []
    for column in ("ward", "seen", "ward"):
        assert not said(browser.audited(place, label="truth?", member=column))
        report = json.loads(browser.ask("GET", f"{place}/report.json?save=1")[2])
        numbers.append(report["measures"]["auc"])
    assert numbers[0] == numbers[2] != numbers[1]


@pytest.mark.slow
def test_reports_that_were_made_are_read_and_compared(browser, page):
    place = placed(browser.drop({"target.csv": csv(predictions())}))
    browser.audited(place, **asked(browser.ask("GET", place)[2]))
    report = browser.ask("GET", f"{place}/report.json?save=1")[2].encode()
    again = placed(browser.drop({"report.json": report}))
    assert not said(browser.audited(again))
    assert "register.html" in browser.ask("GET", again)[2]
    newer = report.replace(b'"made": "20', b'"made": "21')
    assert newer != report
    two = placed(browser.drop({"v1.json": report, "v2.json": newer}))
    assert page.drops[3].found[0][0] == "compare"
    assert not said(browser.audited(two, old="v1.json"))
    assert not said(browser.audited(two, **{"as": "1"}))


def test_two_reports_of_one_name_are_told_apart(browser, tmp_path):
    reports = {}
    for day, value in ((1, 0.6), (2, 0.8)):
        found = estimate(value, value - 0.03, value + 0.03, n=1000)
        one = document(
            "classifier", "small", number("accuracy", found, f"{value}; {value - 0.03} to 0.9")
        )
        one |= {"title": "Audit of <a> classifier", "made": f"2026-01-0{day}"}
        reports[day] = json.dumps(one).encode()
    place = placed(browser.drop([("report.json", reports[1]), ("report.json", reports[2])]))
    asks = browser.ask("GET", place)[2]
    for name, day in (("report.json", 1), ("report (2).json", 2)):
        told = f"Audit of &lt;a&gt; classifier (2026-01-0{day}): {one['verdict']['headline']}"
        assert f'value="{name}">{name}: {told}</option>' in asks
    assert not said(browser.audited(place, old="report.json"))
    found = json.loads(browser.ask("GET", f"{place}/report.json?save=1")[2])
    newer, older = (f"Audit of <a> classifier (2026-01-0{day})" for day in (2, 1))
    assert found["about"]["audited"].startswith(f"{older}, {newer}: ")
    assert "files" not in found["verdict"]["headline"]


@pytest.mark.slow
def test_the_command_line_says_which_columns_had_another_name(browser):
    place = placed(browser.drop({"t.csv": csv(losses().rename(columns={"member": "seen"}))}))
    first = browser.ask("GET", place)[2]
    result = browser.audited(place, **{**asked(first), "member": "seen"})
    assert not said(result)
    shown = re.search("The same from the command line.*?</details>", result, re.DOTALL)[0]
    assert "<bdi>seen</bdi> to <bdi>member</bdi>" in shown
    place = placed(browser.drop({"t.csv": csv(losses())}))
    result = browser.audited(place, **asked(browser.ask("GET", place)[2]))
    shown = re.search("The same from the command line.*?</details>", result, re.DOTALL)[0]
    assert "Rename" not in shown


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_get_one_clear_line(browser, page, name):
    files, line = BROKEN[name]
    status, _, text = browser.drop(files)
    assert status == 422
    assert said(text).startswith(line)
    assert str(page.folder) not in text
    assert not [*page.folder.glob("*")]


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN_LATER)
def test_files_that_an_audit_refuses_get_its_line(browser, name):
    files, answers, line = BROKEN_LATER[name]
    place = placed(browser.drop(files))
    text = browser.audited(place, **{**asked(browser.ask("GET", place)[2]), **answers})
    assert said(text).startswith(line)
    assert len(said(text)) < 400


def test_questions_are_checked(browser, page):
    place = placed(browser.drop({"t.csv": csv(predictions(label="Truth?", member="seen"))}))
    text = browser.ask("GET", place)[2]
    assert "Which column holds the true class?" in text
    for answers, line in (
        ({}, "An answer is missing"),
        ({"label": "nothing", "member": "seen"}, "This is not a possible answer"),
        ({"label": "Truth?", "member": "seen", "title": "a\nb"}, "An answer must be one line"),
        ({"label": "seen", "member": "seen"}, "the true class and the membership must be two"),
    ):
        status, _, text = browser.send(f"{place}/audit", **answers)
        assert status == 422
        assert said(text).startswith(line)
    assert page.drops[1].audit is None


NAMES = {
    "../../etc/passwd.csv": "passwd.csv",
    r"C:\temp\x.csv": "x.csv",
    "--out=here.csv": "out_here.csv",
    ".hidden.csv": "hidden.csv",
    "http:x.csv": "http_x.csv",
    "a\x00b\x1b[31m.csv": "a",
    "<b>bold</b>.csv": "b_.csv",
    "x" * 300 + ".csv": "x",
    "\u202egpj.csv": "",
}


@pytest.mark.parametrize("name", NAMES)
def test_names_of_files_stay_in_their_folder_and_are_escaped(browser, page, name):
    place = placed(browser.drop({name: csv(losses())}))
    (file,) = (page.folder / "1" / "given").iterdir()
    assert file.name.startswith(NAMES[name])
    assert file.name.endswith(".csv")
    assert len(file.name) <= 120
    text = browser.ask("GET", place)[2]
    assert "<b>" not in text
    assert "\u202e" not in text


def test_columns_are_escaped(browser):
    evil = '"><script>alert(1)</script>'
    place = placed(browser.drop({"t.csv": csv(losses().assign(**{evil: 1}))}))
    text = browser.ask("GET", place)[2]
    assert "<script" not in text
    assert "&lt;script" in text


def test_two_files_of_one_name_are_two_files(browser, page):
    placed(browser.drop({"t.csv": csv(losses()), "sub/t.csv": csv(losses())}))
    assert [file.name for file in page.drops[1].files] == ["t.csv", "t (2).csv"]


def test_the_link_works_once(page):
    link = page.link
    Browser(link).open()
    for path in (link.partition("/?")[2], "token=", "token=None"):
        status, headers, _ = Browser(link).ask("GET", f"/?{path}")
        assert status == 403
        assert "Set-Cookie" not in headers


REFUSED = {
    "another host": ("GET", "/", {"Host": "evil.example"}, 421),
    "another name of this machine": ("GET", "/", {"Host": "localhost"}, 421),
    "no host": ("GET", "/", {"Host": None}, 421),
    "no cookie": ("GET", "/", {"Cookie": None}, 403),
    "another cookie": ("GET", "/", {"Cookie": "privacygauge=x"}, 403),
    "a cookie that is none": ("GET", "/", {"Cookie": "\x01=;;"}, 403),
    "a link that is none, elsewhere": ("GET", "/drops/1?token=x", {"Cookie": None}, 403),
    "the like for a file": ("GET", "/drops/1/page?token=x", {"Cookie": None}, 403),
    "the like for another address": ("GET", "//?token=x", {"Cookie": None}, 403),
    "the like for a style sheet": ("GET", "/style.css?token=x", {"Cookie": None}, 403),
    "a page of another site": ("GET", "/", {"Sec_Fetch_Site": "cross-site"}, 403),
    "another port of this machine": ("GET", "/", {"Sec_Fetch_Site": "same-site"}, 403),
    "a form of another site": ("POST", "/end", {"Origin": "http://evil.example"}, 403),
    "a form of another port": ("POST", "/end", {"Origin": "http://127.0.0.1:1"}, 403),
    "a form of a page without an origin": ("POST", "/end", {"Origin": "null"}, 403),
    "a form without an origin": ("POST", "/end", {"Origin": None}, 403),
    "no length": ("POST", "/drops", {"Content_Length": None}, 411),
    "a length that is none": ("POST", "/drops", {"Content_Length": "-5"}, 411),
    "parts of unknown length": ("POST", "/drops", {"Transfer_Encoding": "chunked"}, 411),
    "a page that is not there": ("GET", "/drops/7", {}, 404),
    "a file elsewhere": ("GET", "/drops/1/../../etc/passwd", {}, 404),
    "an address that is none": ("GET", "//[", {}, 404),
    "a length without end": ("POST", "/drops", {"Content_Length": "9" * 5000}, 411),
    "another method": ("PUT", "/", {}, 501),
    "an empty form": ("POST", "/drops", {}, 422),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_hosts_origins_and_people_are_refused(browser, page, name):
    method, path, headers, expected = REFUSED[name]
    assert browser.drop({"t.csv": b"a,b\n1,2\n"})[1]["Location"] == "/drops/1"
    status, answered, text = browser.ask(method, path, **headers)
    assert status == expected
    assert "default-src 'none'" in answered["Content-Security-Policy"]
    assert "evil" not in text
    assert browser.ask("GET", "/")[0] == 200


def test_too_large_files_are_refused_with_a_page(browser, page, monkeypatch):
    monkeypatch.setattr(serving, "MOST_BYTES", 10_000)
    status, _, text = browser.drop({"t.csv": b"x" * 15_000})
    assert status == 413
    assert "too large" in said(text)
    monkeypatch.setattr(serving, "MOST_FILES", 2)
    status, _, text = browser.drop({f"{i}.csv": b"a,b\n1,2\n" for i in range(3)})
    assert said(text) == "One drop may have 2 files."
    assert not [*page.folder.glob("*")]


def test_files_are_kept_from_others_and_removed(browser, page):
    place = placed(browser.drop({"t.csv": csv(losses())}))
    assert browser.send(f"{place}/remove")[0] == 303
    assert not [*page.folder.glob("*")]
    assert browser.ask("GET", place)[0] == 404


def test_a_folder_that_cannot_be_gets_one_line(browser, page, tmp_path, monkeypatch):
    place = placed(browser.drop({"t.csv": csv(losses())}))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.html").write_text("made", "utf-8")
    page.drops[1].audit = SimpleNamespace(
        out=tmp_path / "out", code=0, finished=True, failure="", shown="", cancel=lambda: None
    )
    monkeypatch.chdir(tmp_path)
    for folder in ("~nosuchuser/x", "new\nx", "new\x1b[31m", "new\u202ex", "a\rb"):
        status, _, text = browser.send(f"{place}/keep", folder=folder)
        assert status == 422
        assert said(text) == "Not kept: name a folder on this machine."
    assert [*tmp_path.glob("*new*")] == []
    assert said(browser.send(f"{place}/keep", folder="here")[2]).startswith("Kept in")


BODIES = {
    "more fields than any form has": "&".join(f"a{i}=1" for i in range(1500)),
    "a place with more digits than any number": f"as={'9' * 5000}",
    "a place that is no number": "as=%C2%B2",
    "half of a character": "as=0&title=%ED%A0%80",
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("action", ["audit", "keep", "cancel"])
def test_odd_forms_get_an_answer(browser, page, name, action):
    frame = predictions(label="truth?")
    place = placed(browser.drop({"t.csv": csv(frame)}))
    assert browser.ask("POST", f"{place}/{action}", BODIES[name].encode())[0] in (
        303,
        404,
        413,
        422,
    )
    assert browser.ask("GET", place)[0] == 200
    assert page.drops[1].audit is None


def test_what_others_wrote_is_not_replaced(browser, page, tmp_path):
    place = placed(browser.drop({"t.csv": csv(losses())}))
    for folder in ("", "s3://bucket/x", "a\0b", str(tmp_path)):
        assert said(browser.send(f"{place}/keep", folder=folder)[2]).startswith("Not kept")


@pytest.mark.slow
def test_an_audit_can_be_cancelled(browser, page):
    rows = {"people.csv": csv(losses().assign(a=1, b=2))}
    place = placed(browser.drop(rows))
    place_of = [command for command, _ in page.drops[1].found].index("classifier")
    answers = {"as": place_of, "label": "member", "model": "random-forest"}
    status, _, _ = browser.send(f"{place}/audit", **answers)
    assert status == 303
    audit = page.drops[1].audit
    time.sleep(2)
    assert audit.code is None
    began = time.monotonic()
    assert browser.send(f"{place}/cancel")[0] == 303
    assert time.monotonic() - began < 10
    assert audit.code is not None
    assert said(browser.ask("GET", place)[2]) == "The audit was cancelled."


@pytest.mark.slow
@pytest.mark.parametrize("how", ["terminate", "form"])
def test_copies_and_audits_end_with_the_page(tmp_path, monkeypatch, how):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    command = [sys.executable, "-m", "privacygauge", "open", "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        link = re.search(r"http\S+", process.stderr.readline())[0]
        browser = Browser(link).open()
        place = placed(browser.drop({"t.csv": csv(losses())}))
        (copy,) = tmp_path.rglob("t.csv")
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        assert stat.S_IMODE(copy.parent.stat().st_mode) == 0o700
        answers = {"as": 1, "label": "member", "model": "random-forest"}
        assert browser.send(f"{place}/audit", **answers)[0] == 303
        time.sleep(1)
        if how == "terminate":
            process.terminate()
        else:
            assert "removed" in browser.send("/end")[2]
        assert process.wait(30) == (143 if how == "terminate" else 0)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("names", [("predictions",), ("a", "b")])
def test_files_without_members_get_a_line_and_no_question(browser, names):
    content = csv(predictions().drop(columns="member"))
    place = placed(browser.drop({f"{name}.csv": content for name in names}))
    text = browser.ask("GET", place)[2]
    assert "Nothing here says who is a member: add a column member" in text
    assert "<button>Audit</button>" not in text
    assert "Nothing here says who is a member" in said(browser.audited(place))
