"""The page in a real browser: it shows the board, at the width of a desk and of a telephone."""

from __future__ import annotations

import shutil
import subprocess
import urllib.request

import numpy as np
import pytest

from privacygauge.leaderboards.server import contest, open_board
from tests.leaderboards.server.serving import labels_of, npy, served

TRUTH = labels_of(0, 400, 5)
NAMES = (
    "Ann & <b>friends</b>",
    "bea",
    "A name of sixty-four characters that goes on and on to the end",
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "labels.npy").write_bytes(npy(TRUTH))
    board = open_board(folder / "board.sqlite", TRUTH, guard="ladder", public=0.3)
    rng = np.random.default_rng(0)
    for j, name in enumerate(NAMES):
        board.admit(name)
        board.submit(name, np.where(rng.random(400) < 0.2 * (3 - j), TRUTH, (TRUTH + 1) % 5))
    contest.describe(board.engine, title="x" * 200, rules="https://example.org/" + "a" * 300)
    contest.publish(board.engine)
    board.close()
    arguments = ("--labels", str(folder / "labels.npy"), "--database", str(folder / "board.sqlite"))
    with served(*arguments, "--total", "1200") as server:
        yield server.url


def browser(*arguments: str, folder) -> str:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium to open the page with")
    plain = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    profile = f"--user-data-dir={folder / 'profile'}"
    done = subprocess.run(
        [program, *plain, profile, *arguments], capture_output=True, text=True, timeout=120
    )
    return done.stdout + done.stderr


@pytest.mark.slow
def test_the_browser_shows_the_board(page, tmp_path):
    shown = browser("--dump-dom", "--enable-logging=stderr", page, folder=tmp_path)
    assert "Ann &amp; &lt;b&gt;friends&lt;/b&gt;" in shown
    assert "1,197" in shown  # left in total
    assert "Content Security Policy" not in shown  # the style sheet is not refused


SAYS = "<script>parent.postMessage(document.documentElement.scrollWidth, '*')</script>"
HEARS = "<script>onmessage = said => { document.title = 'wide ' + said.data }</script>"


def framed(url: str, width: int, folder) -> str:
    """Return a page of our own around the board's: no window of Chromium is so narrow."""
    texts = [urllib.request.urlopen(url + path).read().decode() for path in ("/", "/style.css")]
    link = '<link rel="stylesheet" href="style.css">'
    assert link in texts[0]
    inside = texts[0].replace(link, f"<style>{texts[1]}</style>").replace("</body>", SAYS)
    (folder / "inside.html").write_text(inside, encoding="utf-8")
    style = f"border:0;width:{width}px;height:900px"
    frame = f"<body style='margin:0'>{HEARS}<iframe src=inside.html style='{style}'></iframe>"
    (folder / "frame.html").write_text(frame, encoding="utf-8")
    return (folder / "frame.html").as_uri()


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window(page, tmp_path, width):
    shown = browser(
        "--dump-dom", "--window-size=1400,900", framed(page, width, tmp_path), folder=tmp_path
    )
    assert f"<title>wide {width}</title>" in shown
