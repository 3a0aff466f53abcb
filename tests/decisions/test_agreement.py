"""A report that contradicts itself or its page clears no release."""

from __future__ import annotations

import ast
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.decisions.check import check_release
from privacygauge.decisions.record import SEVERITY_OF, _of_number
from privacygauge.errors import InputError
from privacygauge.report.values import Severity
from tests.decisions.releases import ATTRIBUTES, MEMBERSHIP, made, signed
from tests.releases.documents import HOSTILE, changed, number
from tests.test_docs import ROOT

NOBODY = ("Nobody has signed a decision",)


def test_every_grade_of_the_house_has_its_severity():
    found = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Grade":
                word, severity = node.args
                # The check itself is no audit, and a register takes the words of its severities.
                of_check = path.parent.name == "decisions"
                if isinstance(word, ast.Constant) and not of_check:
                    found[word.value] = getattr(Severity, ast.unparse(severity).partition(".")[2])
    assert {**{x.value: x for x in Severity}, **found} == SEVERITY_OF


@pytest.mark.parametrize(
    ("grade", "severity", "told"),
    [
        ("large", "nothing found", "its severity is nothing found, but its grade, large, is grave"),
        ("cannot be told", "small", "but its grade, cannot be told, is cannot be told"),
        ("no leak found", "nothing found", ""),
    ],
)
def test_a_severity_that_is_not_that_of_the_grade_is_named(tmp_path, grade, severity, told):
    edited = changed(MEMBERSHIP, "verdict", "severity", to=severity)
    edited = changed(edited, "verdict", "grade", to=grade)
    folder = made(tmp_path / "triage", members=edited, values=ATTRIBUTES)
    if not told:
        assert check_release(folder).failures == NOBODY
        return
    assert told in "\n".join(check_release(folder).failures)
    with pytest.raises(InputError, match="members: its severity is"):
        signed(folder)


@pytest.mark.parametrize("headline", ["A leak of 5% & <more>", HOSTILE, "a\ud800b"])
def test_a_page_of_another_report_is_named(tmp_path, headline):
    from markupsafe import escape

    from privacygauge.report.numbers import plain

    said = changed(MEMBERSHIP, "verdict", "headline", to=headline)
    folder = made(tmp_path / "triage", members=said, values=ATTRIBUTES)
    page = folder / "reports" / "members" / "report.html"
    numbers = "<p>51.0% 49.0 to 53.0 55.0%</p>"
    page.write_bytes(f"<h1>{escape(plain(headline))}</h1>{numbers}".encode("utf-8", "replace"))
    assert check_release(folder).failures == NOBODY
    page.write_text(f"<h1>Large leak</h1>{numbers}")
    (_, told) = check_release(folder).failures
    assert told.startswith("members: its report.html does not say what its report.json does: ")
    with pytest.raises(InputError, match=r"members: its report\.html does not say"):
        signed(folder)


def test_what_cannot_be_compared_is_said(tmp_path):
    foreign = changed(MEMBERSHIP, "verdict", "grade", to="so so")
    folder = made(tmp_path / "triage", members=foreign, values=ATTRIBUTES)
    told = check_release(folder).report().verdict.unsaid
    assert "Of members it does not say whether the grade so so is nothing found or whether" in told
    assert "Of values it does not say whether its page says the same, as it has none." in told


@pytest.mark.parametrize(
    ("path", "to", "told"),
    [
        (("measures", "accuracy"), 0.4, "accuracy is 0.4 among its measures, and 0.51 in its"),
        (("measures", "accuracy.low"), 0.4, "accuracy.low is 0.4 among its measures, and 0.49"),
        (("numbers", 0, "value"), 0.4, "accuracy is 0.51 among its measures, and 0.4 in its"),
        (("numbers", 0, "estimate", "value"), 0.5, "but its interval is that of 0.5"),
        (("numbers", 0, "estimate", "high"), 0.6, "accuracy is 0.6, but shown as 53.0"),
        (("numbers", 0, "shown", "value"), "41.0%", "accuracy is 0.51, but shown as 41.0%"),
        (("numbers", 0, "shown", "interval"), "39.0 to 53.0", "accuracy is 0.49, but shown as 39"),
        (
            ("verdict", "headline"),
            "Large leak: all",
            "its headline begins with large leak, but its",
        ),
        (("verdict", "headline"), "Cannot be told: few", "begins with cannot be told, but its"),
    ],
)
def test_what_stands_twice_in_a_report_and_differs_is_named(tmp_path, path, to, told):
    folder = made(tmp_path / "triage", members=changed(MEMBERSHIP, *path, to=to), values=ATTRIBUTES)
    failures = check_release(folder).failures
    assert any(x.startswith("members: ") and told in x for x in failures), failures
    with pytest.raises(InputError, match="members: "):
        signed(folder)


def test_a_page_with_other_numbers_is_named(tmp_path):
    folder = made(tmp_path / "triage")
    page = folder / "reports" / "members" / "report.html"
    page.write_text("<h1>What was found</h1> 50.0% 49.0 to 53.0 55.0%")
    told = "members: its report.html does not show accuracy as 51.0% (49.0 to 53.0)"
    assert check_release(folder).failures == (*NOBODY, told)


@given(st.floats(-2, 2), st.integers(0, 4), st.sampled_from(["%", ""]))
def test_a_number_agrees_with_itself_however_it_is_rounded(value, decimals, unit):
    for way in (ROUND_HALF_UP, ROUND_FLOOR, ROUND_CEILING):
        scaled = Decimal(value) * (100 if unit else 1)
        text = str(scaled.quantize(Decimal(1).scaleb(-decimals), rounding=way))
        shown = {**number("x", value, f"{text}{unit}"), "gate": True}
        assert not [*_of_number(shown, {"x": value})]
