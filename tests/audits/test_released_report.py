"""The report of an audit of a released table: its verdict, words and numbers in every form."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console

from privacygauge.cli.output import exceeded_limits, parsed_limits
from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.evaluate.headline import Fact
from privacygauge.report.attacks.records import riskiest_records
from privacygauge.report.grades import GRADES, LARGE, MODERATE, NONE, UNTOLD
from privacygauge.report.numbers import plain as line
from privacygauge.report.numbers import shorten
from privacygauge.report.values import Table, query_names
from privacygauge.tables.command import OF_TABLE
from privacygauge.tables.released.people import People
from privacygauge.tables.released_audit import sections
from privacygauge.tables.released_audit import verdict as words
from privacygauge.tables.released_audit.audit import audit_released
from privacygauge.tables.released_audit.result import risk_name
from privacygauge.tables.released_audit.sections import game
from privacygauge.tables.released_audit.verdict import verdict
from tests.report.example import HOSTILE
from tests.report.test_document import ESTIMATE, strict
from tests.report.test_html import Page
from tests.tables.released.made_released import people

pytestmark = pytest.mark.usefixtures("undrawn")

BAD = "</desc></svg><script>alert(1)</script>$x_"
COLUMN = "<i>town</i>"
TOWN = "<script>alert('town')</script>"
NAMES = ["report.html", "report.json", "records.parquet", "roc.csv"]


def frames():
    """Return real records, copies of them, and a holdout, with names that attack the reader."""
    rng = np.random.default_rng(0)
    real, held = (people(rng, 60).rename(columns={"town": COLUMN}) for _ in range(2))
    real[COLUMN] = real[COLUMN].replace("p", TOWN)
    held[COLUMN] = held[COLUMN].replace("p", TOWN)
    return real, real.sample(frac=1.0, random_state=0), held


def audited(holdout=True, **options):
    real, made, held = frames()
    return audit_released(
        real, made, held if holdout else None, attempts=40, label="sex", **options
    )


@pytest.fixture(scope="module")
def found():
    ids = np.array([f"patient-{i:03d}" for i in range(60)], dtype=object)
    ids[: len(HOSTILE)] = HOSTILE
    given = {"show": [COLUMN, "pay"], "secrets": ["sex", "pay"]}
    return audited(ids=ids, provenance={"<b>file</b>": BAD}, **given)


@pytest.fixture(scope="module")
def alone():
    return audited(holdout=False, secrets=["sex", "pay"])


@pytest.fixture(scope="module")
def text(found):
    return found.to_html()


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


@pytest.fixture(scope="module")
def alone_text(alone):
    return alone.to_html()


def harmless(found):
    """Return findings in which no number goes beyond chance."""
    chance = Estimate(0.5, 0.4, 0.6, 0.95, 90, "made up")
    nothing = Estimate(0.0, -0.1, 0.1, 0.95, 90, "made up")
    evaluations = tuple(
        replace(e, accuracy=chance, auc=chance, best_accuracy=chance, tpr_at_fpr=())
        for e in found.evaluations
    )
    headline = replace(
        found.headline,
        auc=chance,
        attack=evaluations[0],
        accuracy=chance,
        epsilon=replace(nothing, low=0.0),
    )
    corrected = replace(
        found.corrected,
        risks=(nothing,) * len(found.risks),
        points=(nothing,) * len(found.risks),
        copies=nothing,
        alone=nothing,
        rows=nothing,
        unlikely=None,
        shared=(),
    )
    enough = replace(found.questions.detectable, average=0.54)
    return replace(
        found,
        evaluations=evaluations,
        headline=headline,
        corrected=corrected,
        proven=(),
        placebo=None,
        questions=replace(found.questions, tail=None, detectable=enough),
    )


def shown(text):
    return re.sub(r"\s+", " ", " ".join(Page(text).text))


# -- the verdict


@pytest.mark.slow
def test_the_gravest_of_three_makes_the_verdict(found):
    quiet = harmless(found)
    assert verdict(quiet).grade == NONE
    some = Estimate(0.2, 0.15, 0.3, 0.95, 90, "made up")
    by_risk = replace(
        quiet, corrected=replace(quiet.corrected, risks=(*quiet.corrected.risks[:-1], some))
    )
    told = verdict(by_risk)
    assert told.grade == MODERATE
    assert told.headline.startswith("Moderate leak: inference (")
    by_copies = replace(
        by_risk,
        corrected=replace(by_risk.corrected, copies=replace(some, low=0.4, value=0.5, high=0.6)),
    )
    assert verdict(by_copies).grade == LARGE
    assert "stand in the synthetic table as they are" in verdict(by_copies).headline
    strong = Estimate(0.9, 0.85, 0.95, 0.95, 90, "made up")
    by_attack = replace(quiet, headline=replace(quiet.headline, accuracy=strong))
    assert verdict(by_attack).headline == (
        "Large leak: guesses about who was in the data are right 90.0% of the time"
    )


@pytest.mark.slow
def test_what_the_headline_speaks_of_comes_first(found):
    assert "equal in every column" in verdict(found).sentences[0]
    rare = Estimate(0.01, 0.005, 0.02, 0.95, 90, "made up")
    few = replace(found.corrected, copies=rare, alone=rare, rows=rare, unlikely=None, shared=())
    told = verdict(replace(found, corrected=few))
    assert told.headline.startswith("Large leak: guesses about who")
    assert told.sentences[0].startswith("The strongest attack")
    assert "equal in every column" in " ".join(told.sentences[1:])


@pytest.mark.slow
def test_every_grade_has_something_to_say_and_to_do(found, alone):
    void = replace(found, blind=replace(found.blind, auc=Estimate(0.8, 0.7, 0.9, 0.95, 9, "m")))
    for f in (found, harmless(found), alone, void):
        told = verdict(f)
        assert told.sentences
        assert told.advice
        assert told.grade in (*GRADES, UNTOLD)
        assert not any("MOVER" in sentence for sentence in told.sentences)


def test_what_cannot_be_told_is_nowhere_stated_as_a_fact(found):
    """Bounds of epsilon and people who stand out hold only where the comparison is fair."""
    bare = replace(found.corrected, copies=None, alone=None, rows=None, unlikely=None, shared=())
    bare = replace(bare, order=None)
    void = replace(found, blind=replace(found.blind, auc=Estimate(0.95, 0.9, 1.0, 0.95, 9, "m")))
    void = replace(void, corrected=bare, proven=())
    quiet = harmless(found)
    inverted = replace(quiet, corrected=replace(quiet.corrected, inverted=("copying",)))
    for f in (void, inverted):
        told = f.report()
        assert told.verdict.grade == UNTOLD
        labels = {one.name: one.label for one in told.measures}
        for name in ("accuracy", "epsilon", "worst-records"):
            assert labels[name].endswith("if the sides differ in membership alone")
        parts = {part.name: part.blocks for part in told.sections}
        for name in ("attacks", "questions", "risks"):
            assert "hold only if" in parts[name][0].paragraphs[0]
    plain = found.report()
    assert plain.verdict.grade != UNTOLD
    assert not any("if the sides" in one.label for one in plain.measures)
    assert not any("hold only if" in str(part.blocks[0]) for part in plain.sections)


@pytest.mark.slow
def test_no_leak_found_is_no_promise(found):
    told = verdict(harmless(found))
    assert "does not say that nothing leaks" in told.unsaid
    assert any("may have gone unnoticed" in sentence for sentence in told.sentences)


@pytest.mark.slow
def test_far_from_every_record_is_never_safe(alone):
    far = Estimate(9.0, 8.0, 10.0, 0.95, 60, "made up")
    none = Estimate(0.0, 0.0, 0.0, 0.95, 60, "made up")
    f = replace(
        alone,
        closest=tuple(Fact(fact.label, far) for fact in alone.closest),
        copies=tuple(Fact(fact.label, none) for fact in alone.copies),
        corrected=replace(alone.corrected, alone=none, rows=none, unlikely=None),
    )
    assert verdict(f).grade == UNTOLD
    for name in (NONE.word, "safe"):
        assert name not in verdict(f).headline.lower()


def test_the_worst_risk_is_that_of_the_highest_corrected_lower_end(found):
    found = replace(found, placebo=None)
    assert found.worst.beyond.low == max(x.low for x in found.corrected.risks)
    nothing = Estimate(0.0, -0.001, 0.001, 0.95, 900, "fails everywhere")
    nearly = Estimate(0.05, -0.01, 0.11, 0.95, 900, "made up")
    of = (nothing, nearly, *(nothing,) * (len(found.risks) - 2))
    close = replace(found, corrected=replace(found.corrected, risks=of))
    assert close.worst.beyond == nearly
    bare = replace(found, corrected=replace(found.corrected, risks=(), points=()), risks=())
    assert bare.worst is None


# -- the page


def test_hostile_names_are_text(page, text):
    told = " ".join(page.text)
    for hostile in (*HOSTILE[:4], COLUMN, TOWN):
        assert hostile in told
    assert "<script" not in text
    assert "onerror" not in " ".join(name for _, name, _ in page.attributes)
    assert "\u202e" not in text
    assert "\x1b" not in text


@pytest.mark.slow
@pytest.mark.usefixtures("drawn")
def test_hostile_words_are_text(found):
    facts = tuple(Fact(BAD, fact.estimate) for fact in found.copies)
    evil = replace(
        found,
        copies=facts,
        risks=tuple(replace(r, variant=BAD, meaning=BAD, notes=(BAD,)) for r in found.risks),
        game=replace(found.game, name=BAD, question=BAD, adversary=BAD, secret=BAD),
        utility=replace(found.utility, notes=(BAD,)),
    )
    text = evil.to_html()
    assert "<script" not in text
    Page(text)


def test_distances_are_always_labelled(text, alone_text):
    for told in map(shown, (text, alone_text)):
        assert "No evidence of safety." in told
        assert "are no evidence of safety: a table may keep its distance" in told
    assert "Read them beside the attacks" in shown(text)


@pytest.mark.slow
def test_contents_are_shown_only_where_they_were_asked_for(found, text):
    assert "patient-010" in text
    assert COLUMN in found.records.contents
    plain = replace(found, records=replace(found.records, contents={}))
    told = shown(plain.to_html())
    assert "their contents are not in this file" in told
    assert TOWN not in told


def test_members_alone_are_listed_by_falling_score(found):
    title = found.headline.attack.title
    listed = riskiest_records(found.records, title, found.records.scores[title], members=True)
    assert listed.n == 60
    assert found.records.member[listed.rows].all()
    assert (np.diff(found.records.scores[title][listed.rows]) <= 0).all()
    assert found.report().worst == listed.worst


def test_the_most_outlying_records_are_listed_one_by_one(found):
    def listed(f):
        return [b for b in sections.risks(f) if isinstance(b, Table) and b.name == "outlying"]

    (table,) = listed(found)
    names = [line(shorten(name)) for name, _ in found.exposed]
    assert [row.cells[0] for row in table.rows] == names
    assert {row.cells[4] for row in table.rows} <= {f"{k} of 2" for k in range(3)}
    assert not listed(replace(found, exposed=()))
    said = " ".join(verdict(harmless(found)).sentences)
    assert re.search(
        r"On random records, less .* On the most outlying records alone, more .* out", said
    )


@pytest.mark.parametrize("said", ["What it could have found: 3 members.", "Nothing stands out."])
def test_what_could_have_been_found_holds_for_the_forms_that_are_looked_for(
    found, monkeypatch, said
):
    harmless_attacks = SimpleNamespace(grade=NONE, sentences=(said,))
    monkeypatch.setattr(words, "grade_attacks", lambda _: harmless_attacks)
    sentences = list(verdict(harmless(found)).sentences)
    named = [one for one in sentences if "forms that are looked for" in one]
    assert len(named) == ("could have found" in said)
    if named:
        assert sentences.index(named[0]) == sentences.index(said) + 1
        assert "recoded or rotated" in named[0]


def test_without_a_holdout_the_page_says_what_is_missing(alone, alone_text):
    told = shown(alone_text)
    assert "Without a holdout there is no control" in told
    assert "Beyond the control:" not in told
    assert "Not played: no holdout" in told
    assert "records.parquet" not in told
    assert alone.report().worst.reason == "there was no holdout"


def test_a_holdout_that_was_left_out_is_said_to_be_and_fails_a_limit(alone):
    left_out = replace(alone, people=People(n_real=12, n_holdout=12, shared=0))
    page = left_out.report()
    assert "; the holdout was left out" in page.intro
    assert "no holdout" not in page.intro
    assert page.worst.reason == "the holdout was left out"
    (beyond,) = (one for one in page.measures if one.name == "beyond")
    assert beyond.numbers["beyond"] is None
    assert exceeded_limits(page, parsed_limits(["beyond=0.99"], ["beyond"]))
    told = page.verdict
    assert any("People behind the real records: 12" in sentence for sentence in told.sentences)
    assert told.grade == LARGE
    assert "leak at least:" in told.headline


def test_a_wide_interval_is_no_sign_that_people_are_alike(found):
    def said(low, high):
        blind = replace(found.blind, auc=Estimate(0.5, low, high, 0.95, 9, "m"))
        first = next(iter(game(replace(found, blind=blind, placebo=None, drifted=()))))
        return first.paragraphs[0]

    assert "no sign" in said(0.45, 0.55)
    assert "cannot be told from so few" in said(0.28, 0.78)


@pytest.mark.slow
def test_a_void_result_is_marked(found):
    void = replace(found, blind=replace(found.blind, auc=Estimate(0.8, 0.7, 0.9, 0.95, 9, "m")))
    told = shown(void.to_html())
    assert "only as far as they go beyond that" in told
    note = "beyond an attack without the table"
    assert sum(note in card.text for card in void.report().cards) == 3
    assert not any(note in card.text for card in found.report().cards)


def test_a_leak_beside_a_holdout_of_another_source_is_the_least_of_it(found):
    """What goes beyond an attack without the table says how much leaks at least."""
    void = replace(found, blind=replace(found.blind, auc=Estimate(0.8, 0.7, 0.9, 0.95, 9, "m")))
    assert " leak at least: " in void.report().verdict.headline
    assert " at least: " not in found.report().verdict.headline


def test_the_use_of_the_table_is_on_the_page(found, text):
    told = shown(text)
    for one in found.utility.marginals:
        assert f"{one.mean:.3f}" in told
    for one in found.utility.learnt:
        assert f"{one.classes} classes, guessing gives 0.5" in told


# -- the document


def test_the_document_says_what_the_findings_say(found):
    document = strict(found.to_json())
    assert [a["name"] for a in document["attacks"]] == [
        "closest-distance", "distance-ratio", "density-ratio", "value-ratio",
    ]  # fmt: skip
    for attack in document["attacks"]:
        assert attack["thresholds"] == "global"
        assert set(attack["auc"]) == set(ESTIMATE)
        assert {"0.1", "0.01"} <= set(attack["tpr_at_fpr"])
    for risk, one in zip(document["risk"], found.risks, strict=True):
        for name in ("attack", "control", "baseline", "risk", "corrected"):
            assert set(risk[name]) == set(ESTIMATE)
        assert risk["risk"]["value"] == one.risk.value
    assert "no evidence of safety" in document["closest"]["warning"]


def test_without_a_holdout_what_needs_one_is_none(alone):
    document = strict(alone.to_json())
    assert document["attacks"] == []
    assert document["headline"] is document["blind"] is document["furthest"] is None
    assert "no holdout" in document["game"]["skipped"]
    assert all(risk["risk"] is risk["control"] is None for risk in document["risk"])
    assert document["copies"]["beyond"] is None


def test_no_record_is_in_the_document(found):
    text = found.to_json()
    assert "patient-010" not in text
    assert "alert('town')" not in text


# -- files, tables, terminal, plots


@pytest.mark.slow
def test_all_files_are_written(found, tmp_path):
    paths = found.write(tmp_path / "a" / "b")
    assert [path.name for path in paths] == NAMES
    frame = pd.read_parquet(paths[2])
    assert frame.shape[0] == 60 + 60
    assert list(frame.columns[:2]) == ["id", "member"]
    assert frame["member"].sum() == 60
    curve = pd.read_csv(paths[3])
    assert set(curve["attack"]) == {f"{e.name} ({e.variant})" for e in found.evaluations}
    frame.columns = query_names(frame.columns)
    pd.testing.assert_frame_equal(frame, found.to_frame(), check_dtype=False)


def test_without_a_holdout_there_are_two_files(alone, tmp_path):
    assert [p.name for p in alone.write(tmp_path)] == NAMES[:2]
    with pytest.raises(InputError, match="a holdout is needed to judge records"):
        alone.to_frame()
    with pytest.raises(InputError, match="a holdout is needed for a ROC curve"):
        alone.plot_roc()


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_terminal_fits_and_shows_no_markup(found, alone, width):
    for f in (found, alone, harmless(found)):
        file = io.StringIO()
        Console(file=file, width=width, color_system=None).print(f.terminal_summary())
        lines = file.getvalue().splitlines()
        assert max(map(len, lines)) <= width
        assert verdict(f).headline[:30] in file.getvalue()
        assert "\x1b" not in file.getvalue()


def test_the_summary_names_every_number(found, alone):
    text = found.summary()
    words = (
        "Right guesses about membership", "Right order without the table",
        "Furthest beyond its control", "of the holdout, by chance alone",
    )  # fmt: skip
    for word in words:
        assert word in text
    assert "Not done: membership attacks" in alone.summary()


def test_the_plot_of_the_risks_has_its_numbers(found, alone):
    ax = found.plot_risks()
    frame = sections.risks_frame(found)
    assert len(frame) == len(found.risks) == len(ax.get_yticks())
    drawn = [np.asarray(c.lines[0].get_xdata()) for c in ax.containers]
    for name, values in zip(("attack", "control", "baseline"), drawn, strict=True):
        np.testing.assert_allclose(values, 100 * frame[name].to_numpy(float), rtol=1e-12)
    labels = [" ".join(label.get_text().split()) for label in ax.get_yticklabels()]
    assert labels == [risk_name(risk) for risk in found.risks]
    assert max(map(len, labels)) > 34
    assert len(alone.plot_risks().containers) == 2
    own = Figure().subplots()
    assert sections.plot_risks(found, own) is own
    assert isinstance(found.plot_roc(), Axes)
    with pytest.raises(InputError, match="at least one risk"):
        sections.plot_risks(replace(found, risks=()))


def test_methods_name_every_level(found, alone):
    def names(f):
        (table,) = [block for block in sections.method_section(f) if isinstance(block, Table)]
        return [row[0] for row in table.rows]

    assert "Beyond the control, in the verdict" in names(found)
    assert len(names(alone)) == 4


# -- the gate and the register


def test_the_gate_names_what_the_report_measures(found, alone):
    for f in (found, alone):
        gated = {measure.name for measure in f.report().measures if measure.gate}
        assert {name.removesuffix(".low") for name in OF_TABLE} == gated
    numbers = found.report().numbers
    assert set(OF_TABLE) <= set(numbers)
    assert numbers["accuracy"] == found.headline.accuracy.value
    assert numbers["accuracy.low"] == found.headline.accuracy.low
    assert numbers["auc"] == found.headline.attack.auc.value
    # A bound on epsilon has one honest number: its lower end.
    assert numbers["epsilon"] == numbers["epsilon.low"] == found.headline.epsilon.low
    inference = [
        risk.risk for risk in found.risks if risk.name == "inference" and not risk.outlying
    ]
    assert numbers["inference"] == max(risk.value for risk in inference)
    assert numbers["inference.low"] == max(risk.low for risk in inference)


def test_a_register_has_what_goes_furthest_beyond_chance(found):
    found = replace(found, placebo=None)

    def main(**corrected):
        return replace(found, corrected=replace(found.corrected, **corrected)).report().main

    assert main().name == "beyond"
    assert "Copies" in main().label
    assert main().looks == 2
    few = Estimate(0.01, 0.005, 0.02, 0.95, 90, "made up")
    copied = dict.fromkeys(("copies", "alone", "rows", "unlikely"), few) | {"shared": ()}
    all_few = (few,) * len(found.risks)
    assert "membership" in main(**copied, risks=all_few).label
    sure = (Estimate(0.95, 0.94, 0.96, 0.95, 90, "made up"), *all_few[1:])
    assert risk_name(found.risks[0]) in main(**copied, risks=sure).label


def test_without_a_holdout_a_register_has_copies_only(alone):
    main = alone.report().main
    assert main.name == "copies"
    assert main.found == alone.copies[0].estimate
    assert "nothing to compare with" in main.guessing
