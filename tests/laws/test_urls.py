"""A URL is used as one, or refused in one line: never is a folder made that is called like it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from privacygauge.cli import main
from privacygauge.runs.plan import ArraySpec, Plan
from privacygauge.runs.store import open_run

URL = "nosuch://bucket/made/x.csv"
PLACES = re.compile(
    r"\[?(CANARIES|DATA|DIR|FILE|FILE\|-|FOLDER|HISTORY|POOL|REAL|REPORT|RUN|SHADOW|SUBMISSIONS"
    r"|TABLE|TARGET|TEXTS|SCORES|LABELS|STATS)\]?"
)
NO_PLACES = {
    *("DIR|URL", "FILE|URL", "FILE.py:NAME", "NAME|FILE.py:NAME", "OPTION=FILE.py:NAME"),
}
"""Models and databases, which have URLs of their own, and code."""


def _leaves(command: Any, name: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for word, inner in getattr(command, "commands", {}).items():
        yield from _leaves(inner, (*name, word))
    yield name, command


def _cases() -> Iterator[Any]:
    for name, command in _leaves(typer.main.get_command(main.app)):
        for asked in command.params:
            if PLACES.fullmatch(asked.metavar or ""):
                yield pytest.param(
                    name, command, asked, id=f"{'-'.join(name)}:{_called(asked) or asked.metavar}"
                )


def _called(asked: Any) -> str:
    return next((x for x in asked.opts if x.startswith("--")), "")


WHOLE = {
    "classifier": ["here.csv"],
    "defend": ["here.csv", "--defence", "label-only", "--shadow", "here.csv"],
    "synthetic": ["here.csv", "--synthetic", "here.csv"],
    "language": ["--scores", "here.csv"],
    "attribute": ["--data", "here.csv", "--fitted", "a:b", "--member", "a", "--sensitive", "a"],
    "worst-case": ["--data", "here.csv", "--model", "logistic"],
    "dtp": ["--data", "here.csv"],
    "dp-audit": ["here.csv", "--epsilon", "1"],
    "language extract": ["--target", "here", "--members", "here.csv", "--nonmembers", "here.csv"],
    "language canaries make": ["{digits:9}", "--out", "made"],
    "language canaries measure": ["here.csv", "--target", "here"],
    "unlearning": [
        "--before",
        "here",
        "--after",
        "here",
        "--forgotten",
        "here.csv",
        "--fresh",
        "here.csv",
    ],
    "report": ["run"],
    "resume": ["run"],
    "worker": ["run"],
    "reproduce": ["long-table1"],
    "holdout attack": ["--labels", "here.csv", "--classes", "2", "--queries", "9"],
    "holdout serve void": ["1", "--labels", "here.csv", "--reason", "leaked"],
    "holdout bound": ["--n", "9", "--classes", "2", "--queries", "9"],
}
"""What makes a command whole beside the place that a case gives."""

_TEXTS = ["--members", "here.csv", "--nonmembers", "here.csv"]
_OWNERS = ["--owner-target", "here.csv", "--owner-shadow", "here.csv"]
INSTEAD = {
    "classifier": {"--data": ["--model", "logistic"]},
    "defend": {
        "--data": ["--model", "logistic", "--defence", "label-only"],
        "--owner-target": [*WHOLE["defend"], *_OWNERS[2:]],
        "--owner-shadow": [*WHOLE["defend"], *_OWNERS[:2]],
    },
    "language": {
        "--target": _TEXTS,
        "--reference": ["--target", "here", *_TEXTS],
        "--answers": ["--target", "here", *_TEXTS],
        "--base": ["--target", "here", *_TEXTS],
        "--template": ["--target", "here", *_TEXTS],
        "--population": ["--target", "here", *_TEXTS],
        "--members": ["--target", "here", *_TEXTS[2:]],
        "--nonmembers": ["--target", "here", *_TEXTS[:2]],
        "--page": [],
    },
}
"""What an option goes with that does not go with the rest."""


def _texts(name: str, command: Any, asked: Any) -> list[str]:
    """Return a command line, whole but for the URL."""
    flag = _called(asked)
    if flag in INSTEAD.get(name, {}):
        return [*INSTEAD[name][flag], flag, URL]
    places = [p for p in command.params if not _called(p) and p.required]
    usual = ["here.csv" for _ in places]
    for p in command.params:
        if p.required and _called(p):
            usual += [_called(p), "here.csv"]
    texts = WHOLE.get(name, usual)
    if flag in texts:
        at = texts.index(flag)
        return [*texts[:at], flag, URL, *texts[at + 2 :]]
    if flag:
        return [*texts, flag, URL]
    number = places.index(asked) if asked in places else 0
    found = list(texts)
    at = [i for i, x in enumerate(texts) if x == "here.csv" or x == "run"]
    if at:
        found[at[number]] = URL
    return found if at else [URL]


def test_every_place_is_known() -> None:
    """A metavar that looks like one of a file is in the pattern, or named as none."""
    found = {
        p.metavar or "" for _, c in _leaves(typer.main.get_command(main.app)) for p in c.params
    }
    files = {metavar for metavar in found if re.search("FILE|DIR|FOLDER|PATH", metavar)}
    assert {metavar for metavar in files if not PLACES.fullmatch(metavar)} <= NO_PLACES


@pytest.mark.parametrize("suffix", [".csv", pytest.param("", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "command", "asked"), [*_cases()])
def test_a_url_is_used_or_refused(
    name, command, asked, suffix, tmp_path, monkeypatch, capsys
) -> None:
    (tmp_path / "here.csv").write_text("a,label\n1,0\n")
    monkeypatch.chdir(tmp_path)
    spec = ArraySpec(("model", "record"), (1, 1), "float32")
    work = Plan("x", 0, 1, "model", 1, {"x": spec})
    options = {"data": "here.csv", "model": "logistic", "label": "label"}
    invocation = {"command": "worst-case", "options": options}
    started = open_run(tmp_path / "run", work, invocation=invocation)
    started.write(work.tasks[0], {"x": [[1.0]]})
    url = URL.removesuffix(".csv") + suffix
    texts = [url if x == URL else x for x in _texts(" ".join(name), command, asked)]
    monkeypatch.setattr("sys.argv", ["privacygauge", *name, *texts])
    code = main.run()
    said = capsys.readouterr()
    assert code == 2, (texts, said)
    assert "nosuch://bucket/made" in said.err, texts
    assert said.err.count("\n") == 1, texts
    assert not [place.name for place in tmp_path.iterdir() if place.name.startswith("nosuch")]
