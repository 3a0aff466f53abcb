"""A line of a register says what the audit's own report says; its kind need not be known."""

from __future__ import annotations

import json
import math
from importlib.resources import files

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.releases.line import line_of
from privacygauge.report.values import Severity
from tests.releases.documents import (
    CLASSIFIER,
    COMPUTED,
    ENDLESS,
    EVERY,
    HOSTILE,
    UNTOLD,
    changed,
)


def line(document):
    return line_of(json.dumps(document), "model")


@pytest.mark.parametrize("name", EVERY)
def test_the_documents_of_these_tests_keep_to_the_schema(name):
    schema = json.loads((files("privacygauge.report") / "schema.json").read_text("utf-8"))
    jsonschema.validate(EVERY[name], schema)


@pytest.mark.parametrize("name", EVERY)
def test_the_words_are_those_of_the_report(name):
    found = line(EVERY[name])
    given = EVERY[name]
    assert found.kind == given["kind"].replace("-", " ")
    assert found.severity is Severity(given["verdict"]["severity"])
    assert found.grade == given["verdict"]["grade"]
    assert found.headline == given["verdict"]["headline"]
    assert found.unsaid == given["verdict"]["unsaid"]
    assert found.advice == tuple(given["verdict"]["advice"])
    assert bool(found.worst.ids) != bool(found.worst.reason)
    assert (found.version, found.seed, found.files) == ("0.1.0", given["seed"], ("people.csv",))
    assert found.warnings == ("mind this",)


def test_measures_are_those_that_a_release_can_be_held_to():
    assert line(CLASSIFIER).measures == {
        "accuracy": 0.7, "accuracy.low": 0.66, "auc": 0.75, "auc.low": 0.7,
        "epsilon": 0.9, "epsilon.low": 0.9,
    }  # fmt: skip
    assert line(COMPUTED).measures == {"dtp": 0.5}
    assert line(ENDLESS).measures == {"dtp": math.inf}


def test_the_first_of_them_stands_for_the_audit():
    number = line(UNTOLD).number
    assert (number.name, str(number.shown)) == ("accuracy", "70.0% (66.0 to 74.0)")
    assert number.stated.risked == pytest.approx(0.1)
    assert line(COMPUTED).number.stated.risked == 0
    assert line(COMPUTED).number.method == "computed, not estimated"


def test_a_number_that_was_not_computed_has_no_value():
    skipped = changed(CLASSIFIER, "numbers", 1, "estimate", to={"skipped": "no reason"})
    assert "auc" not in line(changed(skipped, "measures", "auc", to=None)).measures


def test_what_holds_no_number_or_no_known_severity_is_refused():
    with pytest.raises(InputError, match="no number to hold a release to"):
        line(changed(COMPUTED, "numbers", to=COMPUTED["numbers"][1:]))
    with pytest.raises(InputError, match=r"severity must be one of not judged, .*, got 'huge'"):
        line(changed(CLASSIFIER, "verdict", "severity", to="huge"))


def test_ten_ids_are_named_each_on_one_line():
    found = line(changed(COMPUTED, "worst", "ids", 0, to=HOSTILE)).worst.ids
    assert len(found) == 10
    assert not {"\x1b", "\u202e"} & set(found[0])


def paths(value, begin=()):
    """Return the way to every value of a document, by keys and places."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*begin, key)
        if isinstance(inner, dict | list):
            yield from paths(inner, (*begin, key))


WAYS = [(name, way) for name, document in EVERY.items() for way in paths(document)]
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.lists(st.one_of(st.none(), st.integers(), st.just({})), max_size=2),
    st.dictionaries(st.sampled_from(["value", "low", "id"]), st.integers(), max_size=2),
)


@given(st.sampled_from(WAYS), ANYTHING)
@example(("classifier", ("measures", "accuracy.low")), 10**400)
def test_a_damaged_report_is_read_or_refused_in_one_line(way, value):
    name, path = way
    damaged = changed(EVERY[name], *path, to=value)
    said = ""
    try:
        found = line(damaged)
    except InputError as error:
        said = str(error)
    else:
        assert 0 <= found.number.stated.risked <= 1
    assert "\n" not in said
