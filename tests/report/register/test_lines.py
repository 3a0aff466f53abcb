"""A line of a register says what the audit's own report says, for every kind of report."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privacygauge
from privacygauge.errors import InputError
from privacygauge.register.kinds import KINDS, kind_of
from privacygauge.register.line import GRAVE, MODERATE, NOTHING, SMALL, UNJUDGED, UNTOLD
from privacygauge.register.reading import Part
from privacygauge.register.reports import line_of
from tests.report.register.documents import (
    ATTACK,
    BOUND,
    CLAIM,
    CLASSIFIER,
    DEFENCES,
    DTP,
    EVERY,
    HISTORY,
    HOSTILE,
    LANGUAGE,
    RELEASED,
    SYNTHETIC,
    changed,
    verdict,
)


def line(document, columns=None):
    return line_of(json.dumps(document), "model", columns or (lambda names: None))


@pytest.mark.parametrize(
    ("kind", "severity", "shown", "risked", "ids"),
    [
        ("classifier", GRAVE, "70.0% (66.0 to 74.0)", 0.05, ("b", "c", "a")),
        (
            "differential training privacy", NOTHING, "at least 0.50, at most 0.75 for any query",
            0, tuple(f"r{i}" for i in range(10)),
        ),
        ("vulnerable records", UNJUDGED, "0.125", 0, ("4", "2")),
        ("synthetic tables", SMALL, "0.600 (0.550 to 0.650)", 0.05, ("worst", "next", "calm")),
        ("released table", MODERATE, "40.0% (32.0 to 48.0)", 0.1, ()),
        ("language model", UNTOLD, "70.0% (66.0 to 74.0)", 0.1, ("patient 1",)),
        ("privacy claim", GRAVE, "\u2265\u202f2.45", 0.05, ()),
        ("defences", SMALL, "60.0% (52.0 to 68.0)", 0.05, ("17", "4")),
        ("worst-case records", SMALL, "5.0% (2.0 to 11.0)", 0.05, ()),
        ("bounds on a test set", GRAVE, "17.3 points", 0, ()),
        ("attacks on a test set", GRAVE, "10.0 points (5.0 to 15.0)", 0.05, ()),
        ("leaderboard history", MODERATE, "1 of 2", 0.05, ("attacker-0",)),
    ],
)  # fmt: skip
def test_every_kind_is_read(kind, severity, shown, risked, ids):
    found = line(EVERY[kind])
    assert found.kind.name == kind
    assert found.told.judged.severity == severity
    assert str(found.told.number.shown) == shown
    assert found.told.number.risked == pytest.approx(risked)
    assert found.told.worst.ids == ids
    assert bool(ids) != bool(found.told.worst.reason)
    assert (found.version, found.seed, found.files) == ("0.1.0", 7, ("people.csv",))
    assert found.warnings == ("mind this",)
    for text in (found.told.audited, found.told.game, found.told.number.guessing):
        assert text


def test_the_words_are_those_of_the_report():
    for document in EVERY.values():
        judged = line(document).told.judged
        if isinstance(document.get("verdict"), dict):
            assert judged.grade == document["verdict"]["grade"]
            assert judged.headline == document["verdict"]["headline"]
            assert judged.advice == tuple(document["verdict"]["advice"])


def test_every_package_that_writes_reports_has_a_kind():
    source = Path(privacygauge.__file__).parent
    writes = re.compile(r'"schema": (SCHEMA|"privacygauge/1")')
    own = re.compile(r'^SCHEMA = "privacygauge/(register/|2)', re.MULTILINE)
    texts = {path: path.read_text(encoding="utf-8") for path in source.rglob("*.py")}
    packages = {
        ".".join(path.relative_to(source.parent).with_suffix("").parts).removesuffix(".document")
        for path, text in texts.items()
        if writes.search(text) and not own.search(text)
    }
    known = {kind.package for kind in KINDS}
    assert packages == known, "write a line for the register's KINDS"


def test_each_report_is_of_one_kind_only():
    for name, document in EVERY.items():
        assert kind_of(Part(name, document)).name == name


def test_a_limit_of_dtp_is_exact_where_both_ends_agree():
    exact = line(changed(DTP, "dtp", "upper", to=0.5))
    assert str(exact.told.number.shown) == "0.50"
    endless = line(changed(changed(DTP, "dtp", "upper", to=None), "dtp", "lower", to=None))
    assert str(endless.told.number.shown) == "\N{INFINITY}"
    assert math.isinf(endless.told.number.value)
    above = line(changed(changed(DTP, "verdict", to="do not publish"), "certified", to=False))
    assert above.told.judged.severity == GRAVE
    seen = line(changed(DTP, "certified", to=False))
    assert seen.told.judged.severity == SMALL


def test_a_released_table_names_the_risk_that_goes_furthest():
    worse = changed(RELEASED, "furthest", "beyond", "low", to=0.29)
    assert "inference (pay)" not in line(worse).told.number.label
    worst = changed(RELEASED, "furthest", "beyond", to={**RELEASED["furthest"]["beyond"]} | {
        "low": 0.33, "value": 0.4,
    })  # fmt: skip
    assert "inference (pay)" in line(worst).told.number.label
    copied = changed(RELEASED, "copies", "beyond", to={**RELEASED["copies"]["beyond"]} | {
        "low": 0.8, "value": 0.9, "high": 1.0,
    })  # fmt: skip
    assert "copied" in line(copied).told.number.label


def test_a_released_table_without_a_holdout_has_copies_only():
    alone = RELEASED | {"game": {"skipped": "no holdout"}, "headline": None, "furthest": None}
    found = line(changed(alone, "copies", "beyond", to=None))
    assert found.told.number.metric == "copies"
    assert found.told.worst.reason == "there was no holdout"
    assert set(found.measures) == {"copies", "copies.low"}


def test_a_language_model_has_the_number_that_its_verdict_speaks_of():
    words = verdict("large", "Large leak: right 80.0% of the time, patient by patient")
    found = line(changed(LANGUAGE, "verdict", to=words))
    assert str(found.told.number.shown) == "80.0% (70.0 to 90.0)"
    assert found.told.number.risked == pytest.approx(0.1)


def test_a_language_model_without_patients_has_samples():
    found = line(changed(LANGUAGE, "patients", to={"skipped": "no groups"}))
    assert str(found.told.number.shown) == "70.0% (66.0 to 74.0)"
    assert found.told.number.risked == pytest.approx(0.05)


def test_one_trial_of_an_attack_has_no_interval():
    single = {"value": 0.1, "low": None, "high": None, "level": 0.95, "n": 1, "method": "one"}
    found = line(changed(changed(ATTACK, "bias_corrected", to=single), "accuracy", to=single))
    assert str(found.told.number.shown) == "10.0 points"


def test_bounds_without_a_known_attack_speak_of_luck():
    found = line(changed(BOUND, "strongest", to=None))
    assert found.told.number.label == "Accuracy that luck gains"
    assert found.told.number.value == 0.0137


def test_the_epsilon_of_a_claim_is_its_lower_end():
    found = line(CLAIM)
    assert found.measures == {"epsilon": 2.451, "epsilon.low": 2.451}
    with pytest.raises(InputError, match="no number to hold a release to"):
        line(changed(CLAIM, "numbers", to=CLAIM["numbers"][:1]))
    with pytest.raises(InputError, match=r"severity must be one of not judged, .*, got 'huge'"):
        line(changed(CLAIM, "verdict", "severity", to="huge"))


def test_measures_are_the_metrics_of_the_audits():
    assert line(CLASSIFIER).measures == {
        "accuracy": 0.7, "accuracy.low": 0.66, "auc": 0.75, "auc.low": 0.7, "epsilon": 0.9,
        "epsilon.low": 0.9,
    }  # fmt: skip
    assert line(SYNTHETIC).measures == {
        "auc": 0.6, "auc.low": 0.55, "worst": 0.75, "worst.low": 0.7, "epsilon": 0.1,
    }  # fmt: skip
    assert line(HISTORY).measures == {"findings": 1, "suspects": 1}


def columns(**given):
    return lambda names: {name: np.array(given[name]) for name in names if name in given}


def test_ids_are_ranked_as_on_the_page():
    members = columns(
        id=["a", "b", "c"], member=[True, False, True], **{"score:entropy": [1.0, 9.0, 2.0]}
    )
    assert line(RELEASED, members).told.worst.ids == ("c", "a")
    texts = columns(sample=["s", "t"], score=[1.0, 2.0], member=[True, True])
    alone = changed(LANGUAGE, "patients", to={"skipped": "no groups"})
    assert line(alone, texts).told.worst.ids == ("t", "s")


@pytest.mark.parametrize(
    "given",
    [{}, {"id": ["a"]}, {"id": ["a"], "score:entropy": ["text"]}, {"score:entropy": [1.0]}],
)
def test_a_file_of_records_without_scores_names_nobody(given):
    found = line(RELEASED, columns(**given)).told.worst
    assert not found.ids
    assert "no scores" in found.reason


def test_hostile_and_endless_ids_are_shortened_and_on_one_line():
    found = line(changed(CLASSIFIER, "worst", "ids", to=[HOSTILE, "x" * 300])).told.worst.ids
    assert "\x1b" not in found[0]
    assert "\u202e" not in found[0]
    assert len(found[1]) < 100


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
def test_a_damaged_report_is_read_or_refused_in_one_line(way, value):
    name, path = way
    damaged = changed(EVERY[name], *path, to=value)
    said = ""
    try:
        found = line(damaged)
    except InputError as error:
        said = str(error)
    else:
        assert 0 <= found.told.number.risked <= 1
    assert "\n" not in said


@pytest.mark.parametrize("grade", ["enormous", ""])
def test_an_unknown_grade_is_refused(grade):
    with pytest.raises(InputError, match="no grade"):
        line(changed(RELEASED, "verdict", "grade", to=grade))


def test_the_best_defence_must_be_among_them():
    with pytest.raises(InputError, match="best defence is not among them"):
        line(changed(DEFENCES, "best", to="memguard"))
