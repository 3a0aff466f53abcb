"""Further columns of a file of energies are groups of texts, one of which may leak alone."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from privacygauge.language.audit.audit import audit_language
from privacygauge.language.scores import as_text_scores, energies_frame, load_text_scores
from privacygauge.report.values import Severity
from tests.thorough import times

FOUND = {Severity.SMALL, Severity.MODERATE, Severity.GRAVE}


def of_languages(seed, *, leak=0.0, drift=0.0, n=2000):
    """Return energies of texts in five languages; members of the rarest are known by heart."""
    rng = np.random.default_rng(seed)
    which = rng.choice(5, n, p=[0.5, 0.25, 0.15, 0.07, 0.03])
    member = rng.random(n) < 0.5
    hard = 2.5 + 0.3 * which + 0.5 * rng.normal(size=n) - drift * member * (which == 4)
    gained = np.array([0.1, 0.3, 0.2, 0.6, 0.0])[which]
    target = hard - gained + 0.15 * rng.normal(size=n) - leak * member * (which == 4)
    return pd.DataFrame(
        {
            "sample": [f"t{i}" for i in range(n)],
            "energy_target": np.maximum(target, 0.02),
            "energy_reference": np.maximum(hard + 0.15 * rng.normal(size=n), 0.02),
            "member": member,
            "length": np.clip(rng.lognormal(3, 0.7, n), 4, 400).astype(int),
            "language": np.array(["en", "de", "fr", "es", "sw"])[which],
        }
    )


def test_the_rarest_language_may_leak_alone():
    """It read "no leak found" in 3 of 8 audits: the column was not looked at."""
    for seed in range(times(3)):
        found = audit_language(of_languages(seed, leak=0.8))
        told = found.report().verdict
        assert told.grade.severity in FOUND
        assert "language = sw" in told.headline
        [worst] = found.questions.groups
        assert (worst.column, worst.group) == ("language", "sw")


def test_the_page_and_the_measures_have_the_worst_group():
    report = audit_language(of_languages(0, leak=0.8)).report()
    measures = {x.name: x for x in report.measures}
    assert measures["worst-group"].found.low > 0.5
    assert "slices" in [section.name for section in report.sections]
    assert {x["group"] for x in report.data["slices"]["slices"]} == {"en", "de", "fr", "es", "sw"}
    assert isinstance(report.data["detectable"]["groups"], int)


def test_nothing_is_said_of_groups_where_there_is_no_column():
    report = audit_language(of_languages(0).drop(columns="language")).report()
    assert "slices" not in [section.name for section in report.sections]
    assert report.data["detectable"]["groups"] is None


@pytest.mark.slow
def test_languages_that_a_model_gains_on_differently_are_no_leak():
    games = times(40)
    told = [audit_language(of_languages(100 + i)).report().verdict for i in range(games)]
    assert sum(x.grade.severity in FOUND for x in told) <= max(2, 0.1 * games)


def test_a_group_whose_members_are_easier_to_the_reference_too_is_not_shown():
    """The target gains on what is hard; that says nothing of what it has memorised."""
    frame = of_languages(0, drift=-1.0)
    frame["energy_target"] = 0.5 * frame["energy_reference"]
    found = audit_language(frame)
    assert found.slices is not None
    assert found.questions.groups == ()


def test_numbers_of_few_values_are_groups_and_a_gap_is_one():
    frame = of_languages(1).assign(year=lambda f: 2000 + np.arange(len(f)) % 3)
    frame["year"] = frame["year"].astype("Int64").where(np.arange(len(frame)) % 7 > 0)
    found = audit_language(frame).slices
    assert {x.group for x in found.slices if x.column == "year"} == {
        *("2000", "2001", "2002", "missing")
    }


@pytest.mark.parametrize("name", ["s.csv", "s.jsonl", "s.parquet"])
def test_every_format_has_the_same_groups(tmp_path, name):
    frame = of_languages(2, n=60).assign(place=["a", None, "b"] * 20, ward=[1.0, np.nan, 3.0] * 20)
    path = tmp_path / name
    if name == "s.csv":
        frame.to_csv(path, index=False)
    elif name == "s.parquet":
        frame.to_parquet(path)
    else:
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    loaded, given = load_text_scores(path).columns, as_text_scores(frame).columns
    assert list(loaded) == list(given) == ["language", "place", "ward"]
    for column in given:
        assert loaded[column].tolist() == pytest.approx(given[column].tolist(), nan_ok=True)
    again = as_text_scores(energies_frame(load_text_scores(path)))
    assert list(again.columns) == list(given)


def test_ids_free_texts_and_lists_make_no_groups():
    n = 300
    frame = of_languages(3, n=n)
    given = frame.to_dict("list") | {
        "row": list(range(n)),
        "comment": [f"said {i}" for i in range(n)],
        "tokens": [[i] * (i % 3) for i in range(n)],
        "made by": "hand",
    }
    scores = as_text_scores(given)
    assert list(scores.columns) == ["language"]
    [note] = [note for note in scores.notes if "as groups" in note]
    for name in ("row", "comment", "tokens", "made by"):
        assert repr(name) in note
