"""A risk register: its order, what holds at once, its files, and what it refuses to read."""

from __future__ import annotations

import csv
import io
import json
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from privacygauge.errors import InputError
from privacygauge.releases.audit import RULE, SCALE, RiskRegister, risk_register
from privacygauge.releases.line import SEVERITIES, joint_statement, line_of, report_names
from tests.releases.documents import (
    CLASSIFIER,
    EVERY,
    HOSTILE,
    RANKING,
    UNTOLD,
    changed,
    document,
    written,
)
from tests.report.test_document import strict
from tests.report.test_html import Page

FORMULA = "=HYPERLINK(1)"


def line(document, name):
    return line_of(json.dumps(document), name)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("audits")
    return {kind: written(root / kind, document) for kind, document in EVERY.items()}


@pytest.fixture(scope="module")
def register(folders) -> RiskRegister:
    return risk_register(folders, title=f"Triage {HOSTILE}")


def severities(found):
    return [SEVERITIES.index(x.severity) for x in found.lines]


@given(st.permutations(list(EVERY)))
def test_lines_are_sorted_by_severity_and_else_as_given(folders, order):
    found = risk_register({kind: folders[kind] for kind in order})
    assert severities(found) == sorted(severities(found))
    for severity in SEVERITIES:
        same = [x.name for x in found.lines if x.severity == severity]
        assert same == [kind for kind in order if kind in same]
    assert len(found.lines) == len(EVERY)


@given(
    st.lists(st.floats(0.5, 0.999), min_size=1, max_size=30),
    st.floats(0.5, 0.999),
    st.booleans(),
)
def test_all_lines_hold_together_by_bonferroni(levels, asked, ranked):
    lines = [
        line(changed(CLASSIFIER, "numbers", 0, "level", to=x), str(i)) for i, x in enumerate(levels)
    ]
    if ranked:
        lines.append(line(RANKING, "ranking"))
    found = joint_statement([replace(x.number.stated, name=x.name) for x in lines], asked)
    wrong = sum(1 - x for x in levels)
    if wrong < 1:
        assert found.level == pytest.approx(1 - wrong)
    else:
        assert found.level is None
    # Run at the level that is named, all of them hold at the one that was asked for.
    assert len(levels) * (1 - found.needed) == pytest.approx(1 - asked)
    assert found.names == tuple(map(str, range(len(levels))))


def test_the_choice_between_two_units_costs_twice():
    lines = [line(UNTOLD, "text"), line(CLASSIFIER, "model")]
    found = joint_statement([x.number.stated for x in lines], 0.95)
    assert found.level == pytest.approx(0.85)
    assert found.needed == pytest.approx(1 - 0.05 / 3)


def test_a_register_of_rankings_has_nothing_to_correct(tmp_path):
    found = risk_register([written(tmp_path / "table", RANKING)])
    assert found.together.level is None
    assert "Not judged" in found.summary()
    assert "nothing to correct" in strict(found.to_json())["together"]["sentence"]


@pytest.mark.parametrize(
    ("grades", "headline"),
    [
        (["grave", "small"], "Grave findings in 1 of 2 audits: a"),
        (["grave", "grave"], "Grave findings in 2 of 2 audits"),
        (["small"], "Small findings in the only audit"),
        (["cannot be told", "moderate"], "Not settled: it cannot be told in 1 of 2 audits: a"),
        (["nothing found", "nothing found"], "Nothing found, in 2 of 2 audits"),
        (["nothing found"], "Nothing found"),
    ],
)
def test_the_headline_speaks_of_the_gravest(grades, headline, tmp_path):
    accuracy = CLASSIFIER["numbers"][0]
    given = {
        name: written(tmp_path / name, document("classifier", x, accuracy, seed=i))
        for i, (name, x) in enumerate(zip("ab", grades, strict=False))
    }
    assert strict(risk_register(given).to_json())["verdict"]["headline"] == headline


def test_the_top_speaks_of_three_lines_and_names_the_others(register):
    found = strict(register.to_json())
    waiting = [x["name"] for x in found["lines"] if SEVERITIES.index(x["severity"]) < 3]
    assert len(waiting) > 3
    for texts in (found["verdict"]["sentences"], found["verdict"]["advice"]):
        said = [text.partition(":")[0] for text in texts]
        assert [name for name in waiting if name in said] == waiting[:3]
        (others,) = [text for text in texts if text.startswith("What was found in")]
        assert all(name in others for name in waiting[3:])


def test_the_page_is_sound_and_everything_is_escaped(tmp_path):
    hostile = document(
        "classifier", "grave", CLASSIFIER["numbers"][0], ids=(HOSTILE, FORMULA), headline=HOSTILE
    ) | {
        "warnings": [HOSTILE],
        "about": dict.fromkeys(("audited", "game", "knowledge", "task"), HOSTILE),
        "provenance": {HOSTILE: f"{HOSTILE} sha256:00"},
        "version": HOSTILE,
    }
    folder = written(tmp_path / "a", hostile)
    found = risk_register({HOSTILE: folder}, title=HOSTILE)
    text = found.to_html()
    page = Page(text)
    assert page.tags["script"] == 0
    assert page.tags["a"] == 1 + 6
    assert not {"\x1b", "\u202e"} & set(text)
    assert "alert(1)" in "".join(page.text)
    targets = {href[1:] for href in page.values("href") if href.startswith("#")}
    assert targets <= set(page.values("id"))
    assert [x for x in page.values("href") if not x.startswith("#")] == ["data:,"]


def test_the_page_shows_every_line(register):
    page = Page(register.to_html())
    text = " ".join("".join(page.text).split())
    assert page.headings[0] == 1
    assert all(b - a <= 1 for a, b in zip(page.headings, page.headings[1:], strict=False))
    for found in register.lines:
        for words in (found.headline, found.game, found.number.guessing, *found.worst.ids):
            assert words in text
    assert RULE in text


def test_the_document_is_strict_and_says_the_same(register):
    found = strict(register.to_json())
    assert (found["schema"], found["kind"]) == ("privacygauge/2", "register")
    assert [x["name"] for x in found["lines"]] == [x.name for x in register.lines]
    assert [x["severity"] for x in found["lines"]] == [SEVERITIES[i] for i in severities(register)]
    for told in found["lines"]:
        estimate = told["number"]["estimate"]
        assert estimate is None or set(estimate) >= {"low", "high", "level", "n", "method"}
        assert told["sha256"]
        assert told["advice"]


def test_the_table_runs_nothing_in_a_spreadsheet(tmp_path):
    folder = written(tmp_path / "a", changed(CLASSIFIER, "worst", "ids", to=[FORMULA]))
    found = risk_register({"@me": folder})
    assert found.to_frame()["worst"][0] == FORMULA
    (path,) = [x for x in found.write(tmp_path / "out") if x.suffix == ".csv"]
    (row,) = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    assert (row["name"], row["worst"]) == ("'@me", f"'{FORMULA}")
    assert float(row["low"]) == 0.66


def test_files_are_written_together(register, tmp_path):
    assert [path.name for path in register.write(tmp_path)] == [
        "register.html", "register.json", "register.csv",
    ]  # fmt: skip
    assert (tmp_path / "register.json").read_text(encoding="ascii") == register.to_json()
    assert repr(register) == "<RiskRegister: Grave findings in 2 of 7 audits>"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_terminals_of_every_width_are_served(register, width):
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(register.terminal_summary())
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert "Grave findings" in lines[0]


def test_names_are_those_of_the_folders_and_told_apart(tmp_path):
    first, second = (written(tmp_path / x / "audit", CLASSIFIER | {"seed": x}) for x in "ab")
    assert list(report_names([(None, first), (None, second), ("x", first)])) == [
        "audit", "audit (2)", "x",
    ]  # fmt: skip
    written(second, CLASSIFIER | {"seed": 8})
    written(first, CLASSIFIER)
    found = risk_register([first, second / "report.json"])
    assert [x.name for x in found.lines] == ["audit", "audit (2)"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is damaged or not JSON"),
        ("{", "is damaged or not JSON"),
        ("[" * 100_000, "is damaged or not JSON"),
        ('{"schema": "privacygauge/2", "level": NaN}', "NaN is not JSON"),
        ("[]", "is not a report of PrivacyGauge"),
        ("3", "is not a report of PrivacyGauge"),
        ('{"schema": "privacygauge/1"}', "write that report again with privacygauge report"),
        ('{"schema": "privacygauge/3"}', "the version of PrivacyGauge that wrote it"),
        ('{"schema": "privacygauge/2", "kind": "register"}', "is a register already"),
        ('{"schema": "other"}', "is not a report of PrivacyGauge (its schema must be"),
        ('{"schema": ["privacygauge/2"]}', "is not a report of PrivacyGauge"),
        ('{"schema": "privacygauge/2"}', "about is missing"),
        (json.dumps({**CLASSIFIER, "version": None}), "version must be a text"),
    ],
)
def test_what_is_no_report_is_refused_in_one_line(content, message, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(message)) as error:
        risk_register([tmp_path])
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_nothing_is_unpickled(tmp_path):
    (tmp_path / "report.json").write_bytes(pickle.dumps(CLASSIFIER))
    with pytest.raises(InputError, match="is not UTF-8"):
        risk_register([tmp_path])


def test_missing_folders_and_reports_given_twice_are_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        risk_register([tmp_path / "nowhere"])
    with pytest.raises(InputError, match=r"has no report\.json"):
        risk_register([tmp_path])
    with pytest.raises(InputError, match="at least one"):
        risk_register([])
    with pytest.raises(InputError, match="single path"):
        risk_register(str(tmp_path))
    folder = written(tmp_path / "a", CLASSIFIER)
    with pytest.raises(InputError, match=r"a \(2\) and a are the same report"):
        risk_register([folder, folder])
    with pytest.raises(InputError, match="level"):
        risk_register([folder], level=1.0)


def test_a_scale_has_its_severities_in_order():
    graded = [x for x in SEVERITIES if x in SCALE]
    assert graded == list(reversed(SCALE))
    assert np.unique(SEVERITIES).size == len(SEVERITIES)
