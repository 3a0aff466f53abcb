"""Every report, whatever its kind: a sound page, words that stay words, one name for one number.

A kind of audit is held to these by a line in `REPORTS`.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from html import unescape
from importlib.resources import files

import jsonschema
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.tree import DecisionTreeClassifier

import privacygauge as pg
from privacygauge.classifiers.audit.result import AttackAudit
from privacygauge.classifiers.candidates import SharedDesign
from privacygauge.cli.output import Limit, check_limits, exceeded_limits
from privacygauge.core.attacks.lira import LiraOnline
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.claim_designs import ManyRuns
from privacygauge.language.canaries import made_canaries
from privacygauge.language.canary_audit import canary_audit
from privacygauge.leaderboards.history.made import attacked_history, contest_history, honest_history
from privacygauge.leaderboards.history.record import History, in_time
from privacygauge.releases.line import line_of
from privacygauge.report import render
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Plot, Report, Severity
from privacygauge.tables.released_audit.audit import ReleasedAudit
from tests.audits import example_attribute as column
from tests.audits import example_defences as defended
from tests.audits import example_extraction as extraction
from tests.audits import example_generator as generator
from tests.audits import example_generator_attribute as attribute_of
from tests.audits import example_trained_defences as trained
from tests.audits import example_unlearning as unlearning
from tests.audits import example_worst_case as worst
from tests.audits import test_released_report as released_report
from tests.audits.example_dtp import example as dtp
from tests.classifiers.made import made_up
from tests.classifiers.trainers import records
from tests.decisions import releases
from tests.inspection import example as inspected
from tests.language.made_scores import made_scores
from tests.laws import turned
from tests.releases.compared import compared
from tests.report.test_html import Page
from tests.scores.made import numbers
from tests.thorough import THOROUGH

BAD = '</desc></svg><script>alert(1)</script>$x_\u202e\x1b[31m"'


def canaries(leak: float, n: int = 400) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    member = rng.random(n) < 0.5
    return {"score": rng.normal(size=n) + leak * member, "member": member}


def hostile_table(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({BAD: rng.choice(["a", BAD], n), "pay": rng.normal(size=n)})


def language(leak: float, shift: float = 0.0) -> pg.LanguageAudit:
    made = made_scores(
        np.random.default_rng(3), patients=(30, 30, 30), sizes=(1, 8), leak=leak, shift=shift
    )
    return pg.audit_language(made)


def submissions(queries: int = 60) -> History:
    sizes = {"n": 400, "m": 2, "teams": 3, "submissions": 8}
    return attacked_history(np.random.default_rng(0), "nb", queries=queries, **sizes)


def untestable() -> History:
    bare = replace(submissions(), answers=None, labels=None, n_classes=None)
    return replace(bare, scores=np.minimum(bare.scores + 0.0011, 1))


def attack(*guards: str, trials: int = 3) -> pg.HoldoutAudit:
    labels = np.random.default_rng(0).integers(0, 2, 100)
    return pg.attack_holdout(labels, 40, attacks=["nb", "scan"], guards=guards, trials=trials)


def of_records(leak: float, n: int = 400) -> Reported:
    return pg.audit_classifier(made_up(n, leak=leak, seed=1), seed=0)


def of_repeated_members() -> Reported:
    target = made_up(300, leak=3.0, seed=1)
    members = np.flatnonzero(target.member)
    return pg.audit_classifier(target[np.concatenate([np.arange(300), members, members])], seed=0)


def of_unlike_sides() -> Reported:
    made, _ = numbers(0, n=300, effect=2.0)
    size = np.arange(300) % np.where(made["member"], 50, 90)
    return pg.audit_scores({**made, "size": size})


def of_swapped_sides() -> Reported:
    target = made_up(400, leak=3.0, seed=1)
    shadow = made_up(400, leak=3.0, seed=2)
    swapped = replace(target, member=~target.member)
    return pg.audit_classifier(swapped, shadow, seed=0)


def of_canaries(leak: float, epsilon: float = 0.0) -> Reported:
    made = made_canaries("The code is {digits:9}.", 200, compared=100)
    loss = np.random.default_rng(0).normal(30.0, 5.0, 300)
    loss[:200] -= leak * made.inside
    return canary_audit(made, -loss[:200], loss, epsilon)


def released(holdout: bool) -> ReleasedAudit:
    """Return an audit that guesses two columns, of categories and of numbers, and not all six."""
    return released_report.audited(holdout=holdout, secrets=["sex", "pay"])


def of_candidates(measurements: int) -> Reported:
    x, y = records(n=24, k=2)
    model = DecisionTreeClassifier(max_depth=2)
    given = {"iterations": 2, "n_targets": 6, "design": SharedDesign(8), "attacks": (LiraOnline(),)}
    return pg.audit_candidates(model, x, y, measurements=measurements, **given)


def of_numbers(effect: float, models: int = 0, *, n: int = 90, scores: int = 1) -> Reported:
    target, shadows = numbers(0, n=n, effect=effect, models=models, scores=scores)
    renamed = {
        "score": f"score_{BAD}", "score_0": f"score_{BAD}", "id": "id"
    }  # fmt: skip
    tables = [{renamed.get(key, key): x for key, x in one.items()} for one in (target, *shadows)]
    tables[0][BAD] = np.where(np.arange(n) % 3 == 0, BAD, "other")
    return pg.audit_scores(tables[0], tables[1:] or None)


REPORTS: dict[str, Callable[[], Reported]] = {
    "a release that is cleared": lambda: releases.example("release"),
    "a release on conditions": lambda: releases.example("conditions"),
    "a release that is held back": lambda: releases.example("hold"),
    "a release without a policy or a decision": lambda: releases.example(policy=None),
    "a claim refuted": lambda: pg.audit_privacy_claim(canaries(3.0), 0.5, 1e-5),
    "a claim that stands": lambda: pg.audit_privacy_claim(canaries(1.0), 3.0, 1e-5),
    "a claim too large": lambda: pg.audit_privacy_claim(canaries(1.0), 20.0),
    "a claim, reversed": lambda: pg.audit_privacy_claim(canaries(-2.0), 0.5),
    "a claim, many runs": lambda: pg.audit_privacy_claim(
        canaries(1.0), 3.0, 1e-5, design=ManyRuns()
    ),
    "a language model, a leak": lambda: language(leak=1.0),
    "a language model, no leak": lambda: language(leak=0.0),
    "a language model, a control fired": lambda: language(shift=1.0, leak=1.0),
    "a language model, reversed": lambda: language(leak=-1.0),
    "a language model, energies alone": lambda: pg.audit_language(
        {
            "sample": range(8),
            "energy_target": [1.0, 1.1, 1.4, 1.2, 1.3, 1.6, 1.5, 1.7],
            "member": [1, 1, 1, 1, 0, 0, 0, 0],
        }
    ),
    "dtp, above the limit": lambda: dtp(200),
    "dtp, certified": lambda: dtp(200, scale=0.02, indirect=0, upper="exact", extras=False),
    "dtp, a sample": lambda: dtp(200, scale=0.02, indirect=0, measured=50, extras=False),
    "dtp, infinite": lambda: dtp(200, infinite=2, extras=False),
    "canaries in a fit": lambda: pg.audit_few_fits("identity", hostile_table(120)),
    "canaries in fits that say nothing": lambda: pg.audit_few_fits(
        "silence", hostile_table(160), fits=3
    ),
    "canaries in a fit, beside a claim": lambda: pg.audit_few_fits(
        "identity", hostile_table(160), epsilon=1.0
    ),
    "canaries that a model knows": lambda: of_canaries(20.0),
    "canaries that a model does not know": lambda: of_canaries(0.0),
    "canaries, beside a claim": lambda: of_canaries(20.0, 1.0),
    "canaries, reversed": lambda: of_canaries(-20.0),
    "a claim of nothing": lambda: pg.audit_privacy_claim(canaries(1.0), 0.0),
    "dtp, one record of two": lambda: dtp(2, measured=1, extras=False),
    "dtp, many classes": lambda: dtp(300, n_classes=100, scale=3.0, extras=False),
    "a history that is attacked": lambda: pg.audit_leaderboard(submissions()),
    "an honest history": lambda: pg.audit_leaderboard(
        honest_history(np.random.default_rng(1), n=400, teams=3, submissions=8)
    ),
    "a contest that has ended": lambda: pg.audit_leaderboard(
        contest_history(np.random.default_rng(1), n=300, teams=3, submissions=8, overfitted=1)
    ),
    "a history without a test": lambda: pg.audit_leaderboard(untestable()),
    "two submissions": lambda: pg.audit_leaderboard(in_time([1, 2], ["a", "a"], [0.5, 0.6], n=100)),
    "a test set with too many submissions": lambda: pg.holdout_bounds(10_000, 2, 2_000),
    "a test set that is safe": lambda: pg.holdout_bounds(10**9, 2, 1),
    "a test set behind a ladder": lambda: pg.holdout_bounds(10**5, 10, 50, guard="ladder"),
    "a test set, simulated": lambda: pg.holdout_bounds(300, 2, 60, guard="noise:0.01", simulate=3),
    "a test set of one example": lambda: pg.holdout_bounds(1, 2, 1),
    "a test set that is attacked": lambda: attack("exact", "ladder"),
    "a test set that is attacked in vain": lambda: attack("ladder"),
    "a test set that is attacked once": lambda: attack("exact", trials=1),
    "defences": lambda: defended.example.__wrapped__(),
    "defences without a leak": lambda: defended.example.__wrapped__(0.0),
    "defences at training": lambda: trained.example.__wrapped__(),
    "defences, reversed": lambda: turned.defended(turned.SCORES, 1.5, 0),
    "worst cases compared": lambda: worst.example(),
    "a worst case alone": lambda: worst.compared(worst.NONE),
    "a worst case of too few": lambda: worst.compared(worst.FEW),
    "worst cases without a leak": lambda: worst.compared(worst.PRIVATE, worst.PRIVATE),
    "worst cases, reversed": lambda: turned.worst_case(turned.SCORES, 1.5, 0),
    "a generator": lambda: generator.example(),
    "a generator that leaks nothing": lambda: generator.example(4, shift=0.0, tests=60),
    "a generator, reversed": lambda: generator.example(3, shift=-1.0),
    "a generator, one record": lambda: generator.example(
        1, tests=60, shadows=60, attacks=generator.ATTACKS[:1], extras=False
    ),
    "a value from a generator": lambda: attribute_of.example(),
    "a value from a generator, no leak": lambda: attribute_of.example(1, leak=0.0),
    "a value from a generator, reversed": lambda: attribute_of.example(leak=-0.6),
    "a value from a generator, too few tables": lambda: attribute_of.example(
        2, leak=0.0, tests=4, values=("a", "b")
    ),
    "a released table": lambda: released(True),
    "a released table, no leak": lambda: released_report.harmless(released(True)),
    "a released table, no holdout": lambda: released(False),
    "extraction": lambda: extraction.example(show_texts=True),
    "extraction of nothing": lambda: extraction.example(leak=0.0, n=12, tries=1),
    "extraction, no more than from others": lambda: extraction.example(leak=0.0, n=400),
    "extraction from a masked model": lambda: extraction.example(masked=True),
    "extraction in every way": lambda: extraction.example(every=True),
    "extraction without a reference": lambda: extraction.example(reference=False),
    "extraction, reversed": lambda: extraction.example(leak=0.9, swapped=True),
    "unlearning, still known": lambda: unlearning.example(left=1.0),
    "unlearning, avoided": lambda: unlearning.example(left=-1.0, retrained=False),
    "unlearning, few records": lambda: unlearning.example(few=12, thing="text"),
    "unlearning, nothing left": lambda: unlearning.example(),
    "unlearning, unlike kinds": lambda: unlearning.example(unlike=0.5),
    "an inspection, rows": lambda: inspected.example("neighbours", BAD),
    "an inspection, values and groups": lambda: inspected.example("tree", BAD),
    "an inspection, nothing found": lambda: inspected.example("logistic", BAD),
    "an inspection, rows by their form": lambda: inspected.example("neighbours", BAD, table=False),
    "an inspection that cannot tell": lambda: inspected.example("logistic", BAD, table=False),
    "numbers per record": lambda: of_numbers(2.0, 6),
    "numbers per record, several": lambda: of_numbers(0.0, scores=3),
    "numbers per record, of few": lambda: of_numbers(1.0, n=24),
    "numbers per record, some compared": of_unlike_sides,
    "vulnerable records": lambda: pg.vulnerable_records(hostile_table(40)),
    "vulnerable records, two of them": lambda: pg.vulnerable_records(hostile_table(2), k=1),
    "a classifier that leaks": lambda: of_records(3.0),
    "a classifier without a leak": lambda: of_records(0.0),
    "a classifier, reversed": of_swapped_sides,
    "a classifier, few records": lambda: of_records(1.0, 24),
    "a classifier, repeated members": of_repeated_members,
    "an attribute that leaks": lambda: column.audited(0),
    "an attribute without a leak": lambda: column.audited(0, leak=False),
    "an attribute, reversed": lambda: column.audited(0, swapped=True),
    "an attribute, few others": lambda: column.audited(1, n=60, share=0.9),
    "versions compared": lambda: compared(0.5, 3.0, 0.6),
    "versions compared, one worse": lambda: compared(0.0, 3.0),
    "versions compared, the same": lambda: compared(1.0, 1.0),
    "single candidates": lambda: of_candidates(0),
    "single candidates, measured": lambda: of_candidates(1),
}


DRAWN_AGAIN = frozenset(
    {
        "a claim refuted",
        "a classifier that leaks",
        "a generator",
        "a history that is attacked",
        "a language model, a leak",
        "a released table",
        "a test set that is attacked",
        "a test set, simulated",
        "a value from a generator",
        "an attribute that leaks",
        "canaries in a fit",
        "canaries that a model knows",
        "defences",
        "dtp, above the limit",
        "an inspection, rows",
        "extraction",
        "vulnerable records",
        "worst cases compared",
    }
)
assert REPORTS.keys() >= DRAWN_AGAIN


# Of a module: all laws of one report run in a row, and share what was rendered.
@pytest.fixture(scope="module", params=REPORTS)
def name(request) -> str:
    return request.param


@cache
def result(name: str) -> Reported:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1769904000")
        return REPORTS[name]()


@cache
def of(name: str) -> Report:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1769904000")
        return result(name).report()


@cache
def files_of(name: str) -> dict[str, bytes]:
    """Return the files of a report whose plots are left out: they take longest to draw."""
    return render.files(without_plots(of(name)))


@cache
def drawn(name: str) -> dict[str, bytes]:
    return render.files(of(name))


def page_of(name: str) -> str:
    return files_of(name)["report.html"].decode("utf-8")


@cache
def parsed(name: str) -> Page:
    return Page(page_of(name))


def without_plots(report: Report) -> Report:
    sections = tuple(
        replace(section, blocks=tuple(b for b in section.blocks if not isinstance(b, Plot)))
        for section in report.sections
    )
    return replace(report, sections=sections)


def flat(text: str) -> str:
    return " ".join(text.split())


def text_of(report: Report) -> str:
    console = Console(width=100, file=io.StringIO())
    console.print(render.terminal(report))
    return console.file.getvalue()


@pytest.mark.parametrize("made", [files_of, pytest.param(drawn, marks=pytest.mark.slow)])
def test_the_page_is_sound(name, made):
    page = Page(made(name)["report.html"].decode("utf-8"))
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    for attribute in ("aria-labelledby", "href"):
        for value in page.values(attribute):
            assert all(x == "data:," or x.lstrip("#") in ids for x in value.split())
    assert page.tags["h1"] == page.tags["main"] == page.tags["nav"] == 1
    assert page.tags["caption"] == page.tags["table"]
    assert page.tags["script"] == page.tags["img"] == 0


@pytest.mark.parametrize("made", [files_of, pytest.param(drawn, marks=pytest.mark.slow)])
def test_at_most_600_words_can_be_read_before_anything_is_unfolded(name, made):
    page = Page(made(name)["report.html"].decode("utf-8"))
    assert 80 < len(page.visible_words) <= 600


def test_titles_are_words_and_no_names_of_the_code(name):
    assert not re.search("[a-z][A-Z]", of(name).title)


def test_every_number_is_the_same_in_all_forms(name):
    report = of(name)
    page = " ".join(parsed(name).text)
    forms = [flat(form) for form in (page, text_of(report), render.summary(report))]
    document = render.document(report)
    for form in forms:
        assert flat(report.verdict.headline) in form
        for measure in report.cards:
            assert flat(measure.label) in form
            assert flat(measure.shown.value) in form
    assert document["measures"] == {k: render.finite(v) for k, v in report.numbers.items()}


def test_the_frame_says_which_rows_the_roc_curves_count(name):
    found = result(name)
    if not isinstance(found, AttackAudit):
        return
    frame = found.to_frame()
    rows = frame[frame["compared"]] if "compared" in frame else frame
    assert (len(rows) < len(frame)) == ("compared" in frame)
    columns = [x for x in frame.columns if x.startswith("score_")]
    of_attack = dict(zip(found.records.scores, columns, strict=True))
    for one in found.ranking_attacks:
        score = rows[of_attack[one.title]]
        assert np.array_equal(np.sort(score[rows["member"]]), one.roc.members)
        assert np.array_equal(np.sort(score[~rows["member"]]), one.roc.nonmembers)


def estimates(found):
    """Yield every estimate of a document."""
    if isinstance(found, dict):
        if {"value", "low", "high", "level"} <= found.keys():
            yield found
        for below in found.values():
            yield from estimates(below)
    elif isinstance(found, list):
        for below in found:
            yield from estimates(below)


def test_the_value_of_a_bound_is_the_bound(name):
    for estimate in estimates(json.loads(files_of(name)["report.json"])):
        if estimate["high"] is None and estimate["low"] is not None:
            assert estimate["value"] == estimate["low"], estimate


def test_a_notebook_shows_the_verdict_and_three_numbers_on_a_part_of_a_screen(name):
    found = result(name)
    report = of(name)
    text = found._repr_html_()
    page = Page(text)
    shown = flat(" ".join(page.text))
    assert flat(report.verdict.headline)[:180] in shown
    assert page.tags["tr"] == min(3, len({report.main.name, *(x.name for x in report.cards)}))
    assert flat(report.main.shown.value) in shown
    assert len(page.visible_words) <= 130
    # Nothing that reaches beyond the cell: no style sheet, no script, no ids, nothing to load.
    assert not {"script", "style", "img", "link", "iframe", "svg"} & page.tags.keys()
    assert not {"id", "class", "href", "src"} & {name for _, name, _ in page.attributes}


def test_results_are_short_in_a_console(name):
    found = result(name)
    for value in (found, found.report(), found.verdict):
        assert len(repr(value)) < 300 + 80 * (value is not found)
        assert repr(value).isprintable()
    assert repr(found).startswith(f"<{type(found).__name__}: ")
    assert flat(render.plain(of(name).verdict.headline))[:150] in repr(found)


def kinds(base: type = Reported) -> list[type]:
    return [cls for one in base.__subclasses__() for cls in (one, *kinds(one))]


SHARED = {"__repr__", "_repr_html_", "verdict", "page", "plot", "tables"}


def test_results_are_shown_in_one_place_alone():
    ours = [cls for cls in kinds() if cls.__module__.startswith("privacygauge")]
    assert len(ours) > 20
    assert {cls: SHARED & vars(cls).keys() for cls in ours} == {cls: set() for cls in ours}


def test_the_verdict_of_a_result_is_that_of_its_report(name):
    found = result(name).verdict
    assert (found.headline, found.grade) == (of(name).verdict.headline, of(name).verdict.grade)


def test_columns_of_tables_can_be_asked_for_in_a_query(name):
    report = of(name)
    tables = result(name).tables()
    assert tables.keys() == {file.rpartition(".")[0] for file in report.frames}
    for file, make in report.frames.items():
        table = tables[file.rpartition(".")[0]]
        assert table.columns.is_unique
        saved = make()
        pd.testing.assert_frame_equal(table, saved.set_axis(table.columns, axis=1))
        for one in table:
            assert len(table.query(f"{one} == {one}")) == int(table[one].notna().sum())


def test_records_come_as_a_frame_or_one_line_says_why_not(name):
    frame, line = None, ""
    try:
        frame = result(name).to_frame()
    except pg.InputError as error:
        line = str(error)
    assert "\n" not in line
    assert line or (frame is not None and all(one.isidentifier() for one in frame))


def test_a_plot_that_there_is_not_costs_one_line(name):
    with pytest.raises(pg.InputError, match=r"^(no plot 'nothing'; the plots are|this result)"):
        result(name).plot("nothing")


@pytest.mark.slow
def test_every_plot_of_a_report_can_be_drawn_by_its_name(name):
    for plot in of(name).plots:
        ax = result(name).plot(plot.name)
        assert ax.has_data()
        plt.close(ax.get_figure(root=True))


@cache
def schema() -> jsonschema.Draft202012Validator:
    found = json.loads((files("privacygauge.report") / "schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


def test_the_document_keeps_to_the_schema(name):
    schema().validate(json.loads(files_of(name)["report.json"]))


def test_the_register_and_the_gate_use_the_names_of_the_document(name):
    report = of(name)
    line = line_of(files_of(name)["report.json"].decode("ascii"), "release")
    assert set(line.measures) <= set(report.numbers)
    assert all(line.measures[key] == report.numbers[key] for key in line.measures)
    assert line.severity is report.verdict.grade.severity
    assert line.severity == report.verdict.grade.severity
    assert line.headline == report.verdict.headline
    for measure in (measure for measure in report.measures if measure.gate):
        told = exceeded_limits(report, [Limit(measure.name, -1.0)])
        assert any(measure.name in text for text in told)


def test_no_limit_is_kept_where_nothing_can_be_told(name):
    report = of(name)
    kept = not exceeded_limits(report, [Limit(report.main.name, 1e9)])
    told = report.verdict.grade.severity is not Severity.UNTOLD
    assert kept == (told and report.numbers[report.main.name] <= 1e9)
    assert exceeded_limits(report, []) == []


def test_keys_of_a_kind_hide_none_that_all_kinds_have(name):
    report = of(name)
    assert not report.data.keys() & render.document(replace(report, data={})).keys()


def test_the_first_screen_has_a_picture_or_nothing_can_be_told(name):
    found = of(name).verdict
    assert found.gauge is not None or found.grade.severity is Severity.UNTOLD
    page = page_of(name)
    first = page[page.index('id="verdict"') : page.index('id="numbers"')]
    assert first.count("<svg") == (found.gauge is not None)
    if found.gauge is not None:
        assert found.gauge.label in unescape(first)
        assert all(zone in first for zone in found.gauge.zones)


def test_the_grade_is_that_of_the_picture_or_the_next(name):
    found = of(name).verdict
    gauge = found.gauge
    if gauge is None:
        return
    inner = gauge.limits[1:-1]
    assert list(gauge.limits) == sorted(set(gauge.limits))
    assert len(gauge.ticks) == len(inner)
    places = [gauge.at(x) for x in (gauge.low, gauge.value, gauge.high)]
    assert places == sorted(places)
    assert 0 <= places[0] <= places[2] <= 100
    # In true proportions: equal steps of the number are equal steps of the picture.
    steps = [gauge.at(x) for x in np.linspace(gauge.limits[0], gauge.limits[-1], 11)]
    assert np.allclose(steps, np.linspace(0, 100, 11), atol=0.011)
    assert gauge.at(gauge.value) < 100 or gauge.value in (np.inf, gauge.limits[-1])
    if gauge.zones:
        # Two zones, parted by the limit that the rule of the kind compares the number with.
        assert len(gauge.zones) == len(gauge.limits) - 1 <= 2
        for limit in inner:
            assert found.grade.severity is not Severity.GRAVE or gauge.low > limit
            assert found.grade.severity is not Severity.NOTHING or gauge.low <= limit
        return
    base = (gauge.low > inner[0]) + sum(gauge.low >= limit for limit in inner[1:])
    assert found.scale.index(found.grade) - base in (0, 1)


def test_limits_stand_on_the_page_and_in_the_document(name):
    report = of(name)
    limits = [Limit(measure.name, 1e9) for measure in report.measures if measure.gate]
    asked = replace(without_plots(report), held=check_limits(report, limits))
    kept = {x["metric"]: x["kept"] for x in render.document(asked)["limits"]}
    failed = exceeded_limits(report, limits)
    assert all(kept.values()) == (not failed)
    assert set(kept) <= set(report.numbers)
    assert "Limits that this release was held to" in " ".join(Page(render.page(asked)).text)


def test_hostile_words_are_text(name):
    report = of(name)
    origin = Origin(BAD, "0", 0, 0.95, "2026-01-31", (Skipped(BAD, BAD),), (BAD,), {BAD: BAD})
    evil = replace(without_plots(report), origin=origin)
    page = render.page(evil)
    Page(page)
    for form in (page, text_of(evil), render.summary(evil)):
        assert "\u202e" not in form
        assert "\x1b" not in form
    assert "<script" not in page


def test_of_one_thing_there_is_no_plural(name):
    page = " ".join(parsed(name).text)
    things = "accounts|attacks|examples|nearest others|submissions|tests|times|records"
    assert not re.search(rf"(?<![\d.,/%-])(?<!of )1 ({things})\b", " ".join(page.split()))


@pytest.mark.slow
def test_equal_audits_give_equal_reports(name, monkeypatch):
    """With their plots, whose drawing takes longest: here those of one report of a kind."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1769904000")
    assert of(name).origin.made == "2026-02-01"
    again = REPORTS[name]().report()
    if THOROUGH or name in DRAWN_AGAIN:
        assert render.files(again) == drawn(name)
    else:
        assert render.files(without_plots(again)) == files_of(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a classifier, few records", "dtp, above the limit"])
def test_a_plot_is_the_same_however_often_it_is_drawn(name):
    page = drawn(name)["report.html"].decode("utf-8")
    assert render.page(of(name)) == page
    assert page.count("<svg") > page_of(name).count("<svg")
