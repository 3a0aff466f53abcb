"""Comparisons: equal, worse, better or untold; what else changed; what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import privacygauge as pg
from privacygauge.cli.main import app
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError, PrivacyGaugeError
from privacygauge.evaluate.rates import clopper_pearson, share
from privacygauge.releases.comparison.audit import Direction
from privacygauge.releases.comparison.differences import at_level, difference, pair_of, statistics
from privacygauge.releases.comparison.versions import changes
from tests.releases.compared import audit, compared, game
from tests.releases.documents import HOSTILE, document, estimate, number, written


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("versions")
    for name, leak, seed in (("low", 0.3, 1), ("high", 3.0, 1), ("other", 0.3, 2)):
        audit(leak, seed=seed).write(root / name)
    return root


def made(folder, name, /, *numbers, kind="classifier", **changed):
    folder = folder / name
    written(folder, {**document(kind, "small", *numbers), **changed})
    return folder


def accuracy(value, half=0.03, name="accuracy", **options):
    found = estimate(value, value - half, value + half, n=1000)
    shown = f"{100 * value:.1f}%; {100 * (value - half):.1f} to {100 * (value + half):.1f}"
    return number(name, found, shown, **options)


def directions(found):
    return {x.name: x.direction for x in found.last.measures}


def test_equal_reports_show_no_difference(folders, tmp_path):
    again = tmp_path / "again"
    audit(0.3).write(again)
    for other in (folders / "low", again):
        found = pg.compare_reports([folders / "low", other])
        assert found.grade.word == "no difference"
        assert all(x.found.found == replace(x.found.found, value=0, low=0, high=0)
                   for x in found.last.measures)  # fmt: skip
        assert {x.direction for x in found.last.judged} == {Direction.SAME}
        assert not changes(*found.versions)
        assert found.report().numbers["worse"] == 0


def test_a_name_a_date_and_a_limit_are_no_difference(tmp_path):
    old = made(tmp_path, "old", accuracy(0.7))
    new = made(tmp_path, "new", accuracy(0.7), made="2031-01-01", name="B", note="a remark")
    assert pg.compare_reports([old, new]).grade.word == "no difference"


def test_more_is_worse_and_the_other_way_round_is_better(folders):
    worse = pg.compare_reports([folders / "low", folders / "high"])
    better = pg.compare_reports([folders / "high", folders / "low"])
    assert worse.grade.word == "clearly worse"
    assert better.grade.word == "better"
    turned = {Direction.WORSE: Direction.BETTER, Direction.BETTER: Direction.WORSE}
    for name, direction in directions(worse).items():
        assert directions(better)[name] is turned.get(direction, direction)
    assert directions(worse)["auc"] is Direction.WORSE
    for x in worse.last.measures:
        if not isinstance(x.found, Skipped) and not x.found.paired:
            (other,) = (y for y in better.last.measures if y.name == x.name)
            assert other.found.found.low == pytest.approx(-x.found.found.high)


def test_the_same_records_are_paired_and_the_interval_is_narrower(folders):
    same = pg.compare_reports([folders / "low", folders / "high"])
    found = {x.name: x.found for x in same.last.measures}
    assert found["auc"].paired
    assert found["auc"].shared == 400
    (folders / "low" / "records.parquet").rename(folders / "kept")
    try:
        apart = pg.compare_reports([folders / "low", folders / "high"])
    finally:
        (folders / "kept").rename(folders / "low" / "records.parquet")
    alone = {x.name: x.found for x in apart.last.measures}
    assert not alone["auc"].paired
    assert found["auc"].found.value == pytest.approx(alone["auc"].found.value)
    assert "no records.parquet lies beside the report" in apart.to_html()


def test_records_that_give_another_number_are_not_paired(folders, tmp_path):
    audit(0.3).write(tmp_path / "shuffled")
    file = tmp_path / "shuffled" / "records.parquet"
    table = pd.read_parquet(file)
    table["member"] = np.roll(table["member"].to_numpy(), 7)
    table.to_parquet(file)
    found = pg.compare_reports([tmp_path / "shuffled", folders / "high"])
    judged = {x.name: x.found for x in found.last.judged}
    assert not any(judged[name].paired for name in ("accuracy", "advantage", "auc", "tpr@0.1"))


def test_without_what_a_limit_applies_to_there_is_no_direction(tmp_path):
    utility = {"name": "model-accuracy", "gate": False}
    old = made(tmp_path, "old", accuracy(0.6), accuracy(0.5, **utility))
    new = made(tmp_path, "new", accuracy(0.6), accuracy(0.9, **utility), seed=8)
    found = pg.compare_reports([old, new])
    assert directions(found)["model-accuracy"] is Direction.UNJUDGED
    assert found.report().numbers["worse"] == 0


def test_what_could_be_found_is_not_what_is_given_away(tmp_path):
    old = made(tmp_path, "old", accuracy(0.6), number("detectable", 0.53, "53.0%", level=None))
    new = made(tmp_path, "new", accuracy(0.6), number("detectable", 0.58, "58.0%", level=None))
    found = pg.compare_reports([old, new])
    assert found.report().numbers["worse"] == 0


@pytest.mark.parametrize(
    ("old", "new", "half", "grade", "severity"),
    [
        (0.60, 0.60, 0.01, "not worse", "nothing found"),
        (0.60, 0.60, 0.05, "cannot be told", "cannot be told"),
        (0.60, 0.62, 0.005, "slightly worse", "small"),
        (0.60, 0.65, 0.02, "worse", "moderate"),
        (0.60, 0.80, 0.02, "clearly worse", "grave"),
        (0.80, 0.60, 0.02, "better", "nothing found"),
    ],
)
def test_the_grade_follows_from_the_interval_and_the_margin(
    tmp_path, old, new, half, grade, severity
):
    places = [
        made(tmp_path, "old", accuracy(old, half)),
        made(tmp_path, "new", accuracy(new, half), seed=8),
    ]
    found = pg.compare_reports(places).report()
    assert found.verdict.grade.word == grade
    assert found.verdict.grade.severity == severity


def test_a_measure_that_is_worse_decides_whatever_the_first_says(tmp_path):
    old = made(tmp_path, "old", accuracy(0.8), accuracy(0.1, name="worst-group"))
    new = made(tmp_path, "new", accuracy(0.6), accuracy(0.4, name="worst-group"))
    found = pg.compare_reports([old, new])
    assert found.grade.word == "clearly worse"
    assert "worst-group" in found.report().verdict.headline


def test_decisions_hold_together(tmp_path):
    """Ten measures, each a little above 0 at 95%: none is certain at 99.5%."""
    names = [f"m{i}" for i in range(10)]
    first = [accuracy(0.6, 0.02, name=name) for name in names]
    second = [accuracy(0.63, 0.02, name=name) for name in names]
    old = made(tmp_path, "old", *first)
    new = made(tmp_path, "new", *second)
    found = pg.compare_reports([old, new])
    assert found.last.each == pytest.approx(0.995)
    assert all(x.found.found.low > 0 > x.found.decided.low for x in found.last.judged)
    assert found.report().numbers["worse"] == 0
    alone = pg.compare_reports([made(tmp_path, "a", *first[:1]), made(tmp_path, "b", *second[:1])])
    assert alone.report().numbers["worse"] == 1


def test_bounds_and_infinite_numbers_cannot_be_subtracted(tmp_path):
    bound = {**estimate(1.0, 1.0, 2.0), "high": None}
    more = {**estimate(2.0, 2.0, 3.0), "high": None}
    old = made(
        tmp_path, "old", number("epsilon", bound, "1.00"), number("dtp", None, "x", level=None),
        number("records", 3, "3", level=0.99), number("upper", 3.0, "\u2265 3", level=None),
        number("copies", 3, "3", level=None),
    )  # fmt: skip
    new = made(
        tmp_path, "new", number("epsilon", more, "2.00"), number("dtp", None, "x", level=None),
        number("records", 9, "9", level=0.99), number("upper", 5.0, "\u2265 5", level=None),
        number("copies", 4, "4", level=None),
    )  # fmt: skip
    found = pg.compare_reports([old, new])
    untold = Direction.UNTOLD
    assert directions(found) == {
        "epsilon": untold, "dtp": untold, "records": untold, "upper": untold,
        "copies": Direction.MORE,
    }  # fmt: skip
    assert found.grade.word == "worse"
    assert found.report().numbers["difference"] is None


@pytest.mark.parametrize("which", ["old", "new", "both"])
def test_an_audit_that_could_not_tell_makes_no_version_better_or_worse(tmp_path, which):
    """Reversed scores or a fired control: such numbers are no findings, and no safety."""
    for value in (0.2, 0.6, 0.9):
        places = []
        for name, found_value in (("old", 0.6), ("new", value)):
            severity = "cannot be told" if which in (name, "both") else "small"
            made_up = document("classifier", severity, accuracy(found_value, 0.01))
            places.append(written(tmp_path / f"{name}{value}", {**made_up, "seed": len(places)}))
        found = pg.compare_reports(places)
        assert found.grade.severity == "cannot be told"
        assert directions(found) == {"accuracy": Direction.UNTOLD}
        assert "could not tell by itself" in found.summary()


def test_numbers_of_every_record_are_exact_and_not_paired(tmp_path):
    exact = "exact: every record of the training set"
    shares = [estimate(x, x, x, n=200, method=exact) for x in (0.1, 0.2)]
    old, new = (made(tmp_path, str(x["value"]), number("share", x, "x")) for x in shares)
    for place, column in ((old, 20), (new, 40)):
        marks = np.arange(200) < column
        pd.DataFrame({"row": np.arange(200), "above": marks}).to_parquet(place / "records.parquet")
    found = pg.compare_reports([old, new])
    assert directions(found) == {"share": Direction.MORE}
    assert not found.last.main.found.paired


def test_what_only_one_report_has_is_said(tmp_path):
    old = made(tmp_path, "old", accuracy(0.6), accuracy(0.7, name="gone"))
    new = made(tmp_path, "new", accuracy(0.6), accuracy(0.7, name="added"))
    found = pg.compare_reports([old, new])
    assert found.last.only == (("gone",), ("added",))
    assert "Only in old: gone." in found.to_html()
    nothing = pg.compare_reports([made(tmp_path, "a", accuracy(0.6)),
                                  made(tmp_path, "b", accuracy(0.7, name="added"))])  # fmt: skip
    assert nothing.grade.word == "cannot be told"
    assert "share no measure" in nothing.summary()


def test_what_else_changed_is_in_words(tmp_path):
    first = {"data": "people.csv sha256:" + "a" * 64, "numpy": "2.0.1", "model": "forest"}
    second = {"data": "people.csv sha256:" + "b" * 64, "numpy": "2.1.0", "model": "network"}
    attacks = [{"name": name, "variant": "", "thresholds": "global"} for name in ("loss", "lira")]
    old = made(tmp_path, "old", accuracy(0.6), provenance=first, attacks=attacks[:1],
               game={"n_in": 10, "n_out": 20})  # fmt: skip
    new = made(tmp_path, "new", accuracy(0.6), provenance=second, attacks=attacks,
               game={"n_in": 11, "n_out": 20}, seed=8, version="0.9.0",
               warnings=["mind this", "and that"])  # fmt: skip
    found = pg.compare_reports([old, new])
    seen = {(x.group, x.what): (x.old, x.new) for x in changes(*found.versions)}
    assert seen == {
        ("data", "data"): ("people.csv sha256:" + "a" * 12, "people.csv sha256:" + "b" * 12),
        ("settings", "model"): ("forest", "network"),
        ("software", "numpy"): ("2.0.1", "2.1.0"),
        ("software", "PrivacyGauge"): ("0.1.0", "0.9.0"),
        ("settings", "seed"): ("7", "8"),
        ("data", "members"): ("10", "11"),
        ("attacks", "attacks played in one alone"): ("", "lira global"),
        ("warnings", "warnings in one alone"): ("", "and that"),
    }
    page = found.to_html()
    assert "different versions of PrivacyGauge" in page
    assert "Beside the numbers, these changed: data, settings, software, attacks" in page


def test_several_versions_have_a_chart_and_the_last_one_decides():
    found = compared(0.3, 3.0, 0.3)
    assert [step.grade.word for step in found.steps] == ["clearly worse", "no difference"]
    assert found.grade.word == "no difference"
    page = found.to_html()
    assert "Over the versions" in page
    assert page.count("<svg") >= 1
    told = json.loads(found.to_json())
    assert told["grades"] == ["clearly worse", "no difference"]
    assert len(told["versions"]) == 3
    table = found.to_frame()
    assert set(table["version"]) == {"v1", "v2"}
    # What changed is under a heading for each step, where there are several.
    assert (page.count(">From v0 to v1<"), page.count(">From v1 to v2<")) == (1, 1)
    assert ">From v0 to v1<" not in compared(0.3, 3.0).to_html()


def test_a_register_takes_a_comparison_for_a_report_like_others(folders, tmp_path):
    pg.compare_reports([folders / "low", folders / "high"]).write(tmp_path / "compared")
    line = pg.risk_register([tmp_path / "compared"]).lines[0]
    assert (line.kind, line.severity) == ("comparison", "grave")
    assert line.number.name == "difference"
    assert line.number.value > 0.2


def test_hostile_words_stay_words(tmp_path):
    one = accuracy(0.6)
    one["label"] = HOSTILE
    places = {
        HOSTILE: made(tmp_path, "old", one),
        "=HYPERLINK(1)": made(tmp_path, "new", one, seed=8, provenance={HOSTILE: HOSTILE}),
    }
    found = pg.compare_reports(places)
    assert "<script>alert" not in found.to_html()
    assert "\x1b" not in found.to_html() + found.summary()
    assert found.to_frame()["version"][0].startswith("'=")


def test_equal_folders_names_are_told_apart(tmp_path):
    places = [made(tmp_path / side, "audit", accuracy(value)) for side, value in
              (("a", 0.6), ("b", 0.9))]  # fmt: skip
    assert [x.name for x in pg.compare_reports(places).versions] == ["audit", "audit (2)"]
    one = (tmp_path / "a" / "audit" / "report.json").rename(tmp_path / "old.json")
    two = (tmp_path / "b" / "audit" / "report.json").rename(tmp_path / "new.json")
    assert [x.name for x in pg.compare_reports([one, two]).versions] == ["old", "new"]


# The command line.


def run(*arguments):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


def refused(*arguments):
    with pytest.raises(PrivacyGaugeError) as found:
        CliRunner().invoke(app, ["compare", *map(str, arguments)], catch_exceptions=False)
    assert "\n" not in str(found.value)
    return str(found.value)


def test_the_command_writes_its_files_and_stops_a_pipeline(folders, tmp_path):
    out = tmp_path / "out"
    done = run(folders / "low", folders / "high", "--out", out, "--fail-above", "worse=0")
    assert done.exit_code == 3
    assert "above the limit of 0" in done.stderr
    assert {x.name for x in out.iterdir()} >= {"report.html", "report.json", "differences.csv"}
    assert json.loads((out / "report.json").read_text())["kind"] == "comparison"
    fine = run(folders / "high", folders / "low", "--json", "-", "--fail-above", "worse=0")
    assert fine.exit_code == 0
    assert json.loads(fine.stdout)["verdict"]["grade"] == "better"


def test_a_comparison_that_cannot_tell_keeps_no_limit(tmp_path):
    old = made(tmp_path, "old", accuracy(0.6, 0.1))
    new = made(tmp_path, "new", accuracy(0.6, 0.1), seed=8)
    done = run(old, new, "--out", tmp_path / "out", "--fail-above", "worse=0")
    assert done.exit_code == 3
    assert "no limit can be checked" in done.stderr


def test_reports_are_never_replaced(folders):
    before = (folders / "low" / "report.json").read_bytes()
    assert "report.json" in refused(folders / "low", folders / "high", "--out", folders / "low")
    assert (folders / "low" / "report.json").read_bytes() == before


def test_odd_files_are_refused_in_one_line(folders, tmp_path):
    other = made(tmp_path, "table", accuracy(0.6), kind="synthetic")
    assert "compare reports of one kind" in refused(folders / "low", other)
    assert "does not exist" in refused(folders / "low", tmp_path / "missing" / "report.json")
    (tmp_path / "empty").mkdir()
    assert "report.json" in refused(folders / "low", tmp_path / "empty")
    for text in ("", "{", "[]", "null", '{"schema": "privacygauge/2"}', "NaN", "[" * 100_000):
        (tmp_path / "odd.json").write_text(text)
        assert refused(folders / "low", tmp_path / "odd.json")
    assert "margin must be in (0, 1)" in refused(folders / "low", folders / "high", "--margin", 5)
    found = pg.compare_reports([folders / "low", folders / "high"])
    found.write(tmp_path / "compared")
    assert "a comparison already" in refused(folders / "low", tmp_path / "compared")
    with pytest.raises(InputError, match="at least two reports"):
        pg.compare_reports([folders / "low"])


@pytest.mark.parametrize(
    "broken",
    [
        {"skipped": [{"name": 1}]},
        {"provenance": 3},
        {"numbers": [{"name": "accuracy"}]},
        {"numbers": [accuracy(0.6) | {"estimate": {"value": 0.6}}]},
        {"numbers": [accuracy(0.6) | {"estimate": {"skipped": 3}}]},
        {"warnings": "none"},
        {"kind": 7},
    ],
)
def test_damaged_reports_are_refused_in_one_line(folders, tmp_path, broken):
    odd = made(tmp_path, "odd", accuracy(0.6), **broken)
    assert refused(folders / "low", odd)


@pytest.mark.parametrize(
    "odd", [{"game": 3}, {"game": {"n_in": [1]}}, {"attacks": [3, {"name": {}}]}, {"attacks": {}}]
)
def test_keys_of_a_kind_may_be_anything(tmp_path, odd):
    old = made(tmp_path, "old", accuracy(0.6))
    new = made(tmp_path, "new", accuracy(0.6), **odd)
    assert pg.compare_reports([old, new]).to_html()


def test_odd_records_are_refused_or_not_paired(folders, tmp_path):
    audit(0.3).write(tmp_path / "v")
    file = tmp_path / "v" / "records.parquet"
    whole = pd.read_parquet(file)
    file.write_bytes(b"PAR1 no table")
    assert "records.parquet" in refused(tmp_path / "v", folders / "high")
    score = next(name for name in whole if name.startswith("score:"))
    for column, values in {
        "member": True,
        "id": 3,
        score: np.nan,
        "score:odd": "text",
        "guess:odd": 0.5,
    }.items():
        whole.assign(**{column: values}).to_parquet(file)
        assert pg.compare_reports([tmp_path / "v", folders / "high"]).grade.word == "clearly worse"
    whole.iloc[:0].to_parquet(file)
    assert pg.compare_reports([tmp_path / "v", folders / "high"]).grade.word == "clearly worse"


# The statistics.


@pytest.mark.parametrize("measure", ["accuracy", "advantage", "auc", "tpr@0.1", "called"])
def test_the_number_is_that_of_the_records_and_an_audit_equals_itself(measure):
    rng = np.random.default_rng(0)
    records = game(rng, 200, (1.0, 1.0), rho=0.5, size=2, same=True)[0]
    (found,) = statistics(measure, records)
    assert found.influence.sum() == pytest.approx(0, abs=1e-9)
    pair = pair_of(measure, (found.value, found.value), (records, records), rng)
    same = pair.at(0.95)
    assert same.value == 0
    assert same.low < 0 < same.high  # equal guesses of few people do not show equal models
    assert pair.shared == 100
    assert pair_of(measure, (found.value, 0.123), (records, records), rng) is None


def test_the_influences_give_the_variance_that_resampling_gives():
    rng = np.random.default_rng(1)
    values = {name: [] for name in ("accuracy", "auc", "called")}
    stated = {name: [] for name in values}
    for _ in range(300):
        records = game(rng, 300, (1.0, 1.0), rho=0.0, size=3, same=True)[0]
        for name in values:
            (found,) = statistics(name, records)
            values[name].append(found.value)
            stated[name].append(np.sum(np.bincount(records.unit, found.influence) ** 2))
    for name in values:
        assert np.mean(stated[name]) == pytest.approx(np.var(values[name]), rel=0.25)


@pytest.mark.parametrize("hits", [0, 3, 50, 97, 100])
def test_an_interval_at_a_higher_level_is_about_the_one_made_at_it(hits):
    found = at_level(share(hits, 100, 0.95), 0.995)
    low, high = clopper_pearson(hits, 100, 0.995)
    assert found.low == pytest.approx(low, abs=0.02)
    assert found.high == pytest.approx(high, abs=0.02)
    if hits in (0, 100):
        assert (found.low, found.high) == pytest.approx((low, high))
    assert at_level(found, 0.9) == found


def test_independent_estimates_are_combined_as_newcombe_does():
    a = Estimate(0.5, 0.4, 0.6, 0.95, 100, "Wilson")
    b = Estimate(0.7, 0.6, 0.78, 0.95, 100, "Wilson")
    found = difference(a, b, level=0.95, each=0.99)
    assert found.found.low == pytest.approx(0.2 - math.hypot(0.1, 0.1))
    assert found.found.high == pytest.approx(0.2 + math.hypot(0.08, 0.1))
    assert found.decided.low < found.found.low
    assert found.detectable > 0.2


def test_an_interval_without_width_is_no_certainty():
    sure = Estimate(0.2, 0.2, 0.2, 0.95, 200, "exact: every record of the training set")
    single = replace(sure, n=1, method="t over records")
    other = replace(sure, value=0.3, low=0.3, high=0.3)
    found = difference(sure, other, level=0.95, each=0.99)
    assert found.exact
    assert found.found.low == found.found.high == pytest.approx(0.1)
    assert isinstance(difference(single, other, level=0.95, each=0.99), Skipped)
    assert isinstance(difference(other, single, level=0.95, each=0.99), Skipped)


@pytest.mark.parametrize("of", [int, str])
def test_people_that_an_array_names_are_paired(tmp_path, of):
    """The second audit has them in another order, and half of them are others."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(60), 3)
    for name, first in (("old", 0), ("new", 30)):
        member = (person + first) % 2 == 0
        p = np.clip(0.6 + 0.2 * member + 0.1 * rng.normal(size=len(person)), 0.01, 0.99)
        order = rng.permutation(len(person))
        given = pg.predictions(
            labels=np.ones(len(person), int),
            member=member[order],
            probs=np.column_stack([1 - p, p])[order],
            unit=[of(x) for x in (person + first)[order]],
        )
        pg.audit_classifier(given, attacks=["confidence"]).write(tmp_path / name)
    found = pg.compare_reports([tmp_path / "old", tmp_path / "new"])
    assert {x.found.shared for x in found.last.measures if x.name == "auc"} == {30}


@pytest.mark.parametrize("second", ["report (2).json", "report(1).json", "report.json"])
def test_reports_without_a_folder_are_named_by_title_and_date(tmp_path, monkeypatch, second):
    told = [{"title": "Audit of a classifier", "made": f"2026-01-0{day}"} for day in (1, 2)]
    old = made(tmp_path, "files", accuracy(0.6), **told[0]) / "report.json"
    new = made(tmp_path, "newer", accuracy(0.8), **{**told[1], "name": "Second | try"})
    monkeypatch.chdir(old.parent)
    path = "../newer/report.json"
    if second != "report.json":
        (new / "report.json").rename(second)
        path = second
    found = pg.compare_reports(["report.json", path])
    by_folder = second == "report.json"
    names = ["Audit of a classifier (2026-01-01)", "Second | try (2026-01-02)"]
    assert [x.name for x in found.versions] == ([names[0], "newer"] if by_folder else names)
    assert "files" not in found.report().verdict.headline
    old.write_text("{")
    with pytest.raises(InputError, match="damaged"):
        pg.compare_reports(["report.json", path])


def test_reports_of_one_title_and_date_keep_the_names_of_their_files(tmp_path, monkeypatch):
    monkeypatch.chdir(made(tmp_path, "files", accuracy(0.6)))
    (made(tmp_path, "newer", accuracy(0.8)) / "report.json").rename("report (2).json")
    found = pg.compare_reports(["report (2).json", "report.json"])
    assert [x.name for x in found.versions] == ["report (2)", "report"]
