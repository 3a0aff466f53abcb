"""The report of an audit of a generator: its verdict, words and numbers in every form."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from rich.console import Console

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.by_target import rank_by_auc
from privacygauge.report import render
from privacygauge.report.grades import GRADES, LARGE, MODERATE, NONE, SMALL, UNTOLD, grade_of
from privacygauge.report.numbers import decimal_estimate
from privacygauge.report.render import flat
from privacygauge.report.values import Grade, Table, Tone
from privacygauge.tables.command import OF_GENERATOR
from privacygauge.tables.generator_audit import sections
from privacygauge.tables.generator_audit.audit import SyntheticAudit, records_frame
from privacygauge.tables.generator_audit.verdict import CUTS, settings_text, verdict
from tests.audits.example_generator import ATTACKS, COLUMN, example, repeated
from tests.report.example import HOSTILE
from tests.report.test_document import ESTIMATE, strict
from tests.report.test_html import Page

pytestmark = pytest.mark.usefixtures("undrawn")

ONE_ATTACK = ATTACKS[:1]


@pytest.fixture(scope="module")
def findings() -> SyntheticAudit:
    return example()


@pytest.fixture(scope="module")
def many() -> SyntheticAudit:
    few = example(50, shift=0.6, tests=60, shadows=60, attacks=ONE_ATTACK, shared=True)
    return repeated(few, 20)


@pytest.fixture(scope="module")
def single() -> SyntheticAudit:
    return example(1, shift=0.0, tests=400, attacks=ONE_ATTACK, extras=False)


@pytest.fixture(scope="module")
def text(findings: SyntheticAudit) -> str:
    return findings.to_html()


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def shown(page: Page) -> str:
    return re.sub(r"\s+", " ", " ".join(page.text))


def at(low: float) -> Estimate:
    """Return an AUC with this lower end."""
    return Estimate(low + 0.02, low, low + 0.04, 0.95, 500, "example")


def headed(f: SyntheticAudit, mean: float, worst: float, epsilon: float = 0.0):
    """Return the findings with other lower ends of the headline, and no other record told."""
    quiet = tuple(replace(t, auc=at(0.4)) for t in f.best.targets)
    bound = Estimate(max(epsilon, 0.5), epsilon, np.inf, 0.95, 500, "example")
    first = replace(quiet[f.headline.target], auc=at(worst), epsilon=bound)
    targets = tuple(first if i == f.headline.target else t for i, t in enumerate(quiet))
    attack = replace(f.best, targets=targets, auc=at(mean))
    attacks = tuple(attack if a is f.best else a for a in f.attacks)
    return replace(f, attacks=attacks, headline=replace(f.headline, auc=at(mean), worst=first))


# -- the verdict


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mean", "worst", "epsilon", "grade"),
    [
        (0.45, 0.48, 0.0, NONE),
        (0.5, 0.5, 0.0, NONE),
        (0.45, 0.48, 0.3, SMALL),
        (0.51, 0.48, 0.0, SMALL),
        (0.45, 0.51, 0.0, SMALL),
        (0.45, 0.6, 0.0, MODERATE),
        (0.65, 0.55, 0.0, MODERATE),
        (0.45, 0.71, 0.0, LARGE),
        (0.70, 0.45, 0.9, LARGE),
    ],
)
def test_the_grade_is_that_of_the_graver_lower_end(
    findings: SyntheticAudit, mean: float, worst: float, epsilon: float, grade: Grade
) -> None:
    found = verdict(headed(findings, mean, worst, epsilon))
    assert found.grade == grade
    assert found.headline.lower().startswith(grade.word)
    only = "rules out that nothing leaks" in " ".join(found.sentences)
    assert only == (epsilon > 0 and max(mean, worst) <= 0.5)


def test_grades_rise_with_the_lower_end() -> None:
    grades = [GRADES.index(grade_of(x, CUTS)) for x in np.linspace(0, 1, 101)]
    assert grades == sorted(grades)
    assert set(grades) == {0, 1, 2, 3}


def test_what_a_non_specialist_reads_first(findings: SyntheticAudit) -> None:
    assert findings.best.told.sum() == 10
    found = verdict(findings)
    assert found.headline == (
        "Large leak: for 10 of 12 attacked records it can be told whether they were in the data"
    )
    assert found.sentences[0].startswith(
        "Somebody who sees the synthetic table can tell for 10 of 12 attacked records"
    )
    sure = np.ones(12, np.bool_)
    attacks = tuple(replace(a, told=sure) if a is findings.best else a for a in findings.attacks)
    every = verdict(replace(findings, attacks=attacks))
    assert "for all 12 attacked records" in every.headline


@pytest.mark.slow
def test_where_no_record_is_told_the_headline_counts_none(many: SyntheticAudit) -> None:
    quiet = headed(many, 0.52, 0.62)
    attack = replace(quiet.best, told=np.zeros(1000, np.bool_))
    found = verdict(replace(quiet, attacks=(attack,)))
    assert found.grade == MODERATE
    assert "of 1,000" not in found.headline
    assert "with and without one record" in found.headline
    assert "none of 1,000" in found.sentences[0]
    assert "corrected for looking at 1,000 records" in " ".join(found.sentences)


def test_nothing_found_says_what_was_missed(single: SyntheticAudit) -> None:
    found = verdict(single)
    assert found.grade == NONE
    told = " ".join(found.sentences)
    assert "could have missed" in told
    assert "45,221 records that were not attacked" in found.unsaid
    assert not any(line.startswith(("Hold", "Remove")) for line in found.advice)
    for f in (single, example(3, attacks=ONE_ATTACK)):
        assert any("distances to the closest record" in x for x in verdict(f).advice)


def test_a_promise_of_epsilon_is_held_against_what_was_shown(
    findings: SyntheticAudit,
) -> None:
    low = findings.headline.worst.epsilon.low
    assert low > 0.5

    def told(**settings: object) -> str:
        found = verdict(replace(findings, settings=settings))
        return " ".join((*found.sentences, *found.advice))

    broken = told(epsilon=low / 1.5)
    assert "breaks its promise" in broken
    assert "twice as much is allowed" in broken
    assert "twice as much" not in told(epsilon=low / 2.5)
    for kept in (
        told(epsilon=low),
        told(epsilon=np.inf),
        told(epsilon=None),
        told(epsilon=True),
        told(epsilon=0.1, delta=1e-5),
        told(degree=1),
    ):
        assert "breaks its promise" not in kept
    assert "Set a smaller epsilon" in broken
    assert "such as PrivBayes" in told(degree=1)


def test_the_advice_asks_for_the_records_that_were_left_out(findings: SyntheticAudit) -> None:
    def told(f: SyntheticAudit) -> str:
        return " ".join(verdict(f).advice)

    assert "Audit more records" in told(findings)
    later = replace(findings, targets=replace(findings.targets, ranks=np.arange(2, 14)))
    assert "highest score was not among the 12 attacked" in told(later)
    every = replace(findings, n_records=12)
    assert "Audit more" not in told(every)
    assert "not attacked" not in verdict(every).unsaid


# -- report.json


def test_the_document_says_what_the_findings_say(findings: SyntheticAudit) -> None:
    found = strict(findings.to_json())
    assert found["generator"]["settings"]["order"] is None
    assert len(found["attacks"]) == len(ATTACKS)
    for told, attack in zip(found["attacks"], findings.attacks, strict=True):
        assert told["auc"]["value"] == attack.auc.value
        assert set(told["auc"]) == set(told["accuracy"]) == ESTIMATE
        assert list(told["tpr_at_fpr"]) == ["0.1", "0.01"]
        assert told["tpr_at_fpr"]["0.1"]["value"] == attack.tpr_at_fpr[0][1]
        assert told["true_positives"] == attack.true_positives
        assert told["thresholds"] == "none"
    assert found["headline"]["target"]["row"] == findings.targets.rows[findings.headline.target]
    assert found["sizes"]["made"] == 1000


def test_every_target_has_every_attacks_numbers(findings: SyntheticAudit) -> None:
    found = strict(findings.to_json())["targets"]
    titles = [attack.title for attack in findings.attacks]
    assert [x["row"] for x in found] == findings.targets.rows.tolist()
    assert [x["id"] for x in found] == findings.targets.ids.tolist()
    for i, told in enumerate(found):
        assert told["vulnerability"] == findings.targets.scores[i]
        assert told["rank"] == i + 1
        assert told["chosen"] == ["distance" if i < 6 else "random"]
        assert list(told["attacks"]) == titles
        for attack in findings.attacks:
            target = attack.targets[i]
            numbers = told["attacks"][attack.title]
            assert numbers["auc"]["low"] == target.auc.low
            assert numbers["accuracy"]["value"] == target.accuracy.value
            assert numbers["epsilon"] == {
                "low": target.epsilon.low,
                "limit": target.epsilon_limit,
            }
            assert set(numbers["tpr_at_fpr"]["0.01"]) == ESTIMATE | {"resolved"}


def test_groups_and_use_are_told(findings: SyntheticAudit, single: SyntheticAudit) -> None:
    found = strict(findings.to_json())
    assert list(found["groups"]) == ["distance", "random"]
    group = found["groups"]["distance"][findings.best.title]
    assert group["n"] == 6
    assert group["sd"] == pytest.approx(findings.best.aucs[:6].std(ddof=1), abs=1e-15)
    assert group["mean"]["value"] == pytest.approx(findings.best.aucs[:6].mean(), abs=1e-15)
    assert found["utility"] == findings.utility.to_dict()
    bare = strict(single.to_json())
    assert bare["groups"]["distance"][single.best.title]["sd"] is None
    assert bare["utility"] == {"skipped": "too few <u>records</u>"}
    assert bare["foreseen"] == {"skipped": "one side <u>does not</u> vary"}


def test_settings_of_any_kind_are_json(findings: SyntheticAudit) -> None:
    odd = {"a": np.float32(0.5), "b": (1, np.inf), "c": {"d": np.arange(2)}, "e": object, 3: True}
    found = strict(replace(findings, settings=odd).to_json())["generator"]["settings"]
    assert found == {"a": 0.5, "b": [1, None], "c": {"d": [0, 1]}, "e": str(object), "3": True}
    assert "b = (1, inf)" in settings_text(odd)


# -- tables


def test_one_row_a_target(findings: SyntheticAudit) -> None:
    frame = records_frame(findings)
    assert list(frame)[:4] == ["row", "id", "vulnerability", "rank"]
    for attack in findings.attacks:
        np.testing.assert_array_equal(frame[f"auc:{attack.title}"], attack.aucs)
        lows = [t.epsilon.low for t in attack.targets]
        np.testing.assert_array_equal(frame[f"epsilon_low:{attack.title}"], lows)
        tprs = [t.tpr_at_fpr[1].estimate.value for t in attack.targets]
        np.testing.assert_array_equal(frame[f"tpr_at_0.01:{attack.title}"], tprs)
    asked = findings.to_frame()
    pd.testing.assert_frame_equal(asked.set_axis(frame.columns, axis=1), frame)
    assert "auc_query_based_at_most_on_numbers" in asked
    assert len(frame.columns) == 4 + 8 * len(ATTACKS)


def test_ids_that_are_no_utf8_are_written(findings: SyntheticAudit) -> None:
    ids = np.array(["\udcff", *range(11)], dtype=object)
    odd = replace(findings, targets=replace(findings.targets, ids=ids))
    written = render.files(odd.report())["records.parquet"]
    assert pd.read_parquet(io.BytesIO(written))["id"][0] == "?"
    whole = replace(findings, targets=replace(findings.targets, ids=findings.targets.rows))
    assert records_frame(whole)["id"].dtype == np.int64
    row = whole.targets.rows[whole.headline.target]
    assert f"own tables, is row {row}:" in " ".join(verdict(whole).sentences)


def test_summary_is_plain_text(findings: SyntheticAudit, single: SyntheticAudit) -> None:
    told = findings.summary()
    assert told.startswith("Large leak: ")
    low, high = (f"{x:.3f}" for x in (findings.headline.auc.low, findings.headline.auc.high))
    assert f"({low} to {high}; mean over 12 records)" in told
    assert "Not done: <u>groundhog</u>" in told
    assert "0 of 1" in single.summary()


# -- the terminal


def printed(f: SyntheticAudit, width: int, *, colour: bool = False) -> str:
    file = io.StringIO()
    system = "truecolor" if colour else None
    console = Console(file=file, width=width, force_terminal=colour, color_system=system)
    console.print(f.terminal_summary())
    return file.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_a_terminal_holds_every_number_whole(width: int, findings: SyntheticAudit) -> None:
    told = printed(findings, width)
    assert max(map(len, told.splitlines())) <= width
    assert told.startswith("Large leak")
    for attack in findings.attacks:
        assert f"{attack.auc.value:.3f}" in told


def test_names_are_not_markup_and_send_no_control_codes(findings: SyntheticAudit) -> None:
    bad = "[red]x[/red]\x1b[2J"
    odd = replace(
        findings,
        targets=replace(findings.targets, ids=np.array([bad] * 12, dtype=object)),
        attacks=tuple(replace(a, name="[/name]", variant=bad) for a in findings.attacks),
    )
    told = printed(odd, 120)
    for part in ("[red]x[/red]", "[/name]"):
        assert part in told
    assert "\x1b" not in told
    assert "\x1b[2J" not in printed(odd, 120, colour=True)


# -- the page


def test_hostile_names_are_text(page: Page, text: str) -> None:
    told = " ".join(page.text)
    hostile = (*HOSTILE[:4], COLUMN, "<b>town</b>", "BayNet <b>of</b>", "<s> = </s>", "<baynet>")
    for name in hostile:
        assert name in told
    assert "<script" not in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert page.tags["b"] == page.tags["i"] == page.tags["u"] == page.tags["s"] == 0


@pytest.mark.slow
@pytest.mark.usefixtures("drawn")
def test_hostile_words_are_text(findings: SyntheticAudit) -> None:
    bad = "</desc></svg><script>alert(1)</script>$x_"
    columns = {bad: np.array([bad] * 12, dtype=object)}
    ids = np.array([bad] * 12, dtype=object)
    words = dict.fromkeys(("name", "question", "adversary", "secret", "thresholds"), bad)
    evil = replace(
        findings,
        targets=replace(findings.targets, ids=ids, contents=columns),
        groups=tuple(replace(g, method=f"{bad}{i}") for i, g in enumerate(findings.groups)),
        attacks=tuple(replace(a, name=bad, variant=bad, notes=(bad,)) for a in findings.attacks),
        game=replace(findings.game, **words),
        utility=replace(
            findings.utility,
            notes=(bad,),
            learnt=tuple(replace(x, label=bad) for x in findings.utility.learnt),
        ),
        generator=bad,
        settings={bad: bad},
    )
    skipped = replace(evil.utility, learnt=Skipped(bad, bad))
    for found in (evil, replace(evil, utility=skipped, foreseen=Skipped(bad, bad))):
        told = found.to_html()
        assert "<script" not in told
        Page(told)


@pytest.mark.slow
@pytest.mark.usefixtures("drawn")
def test_a_page_with_plots_is_sound(findings: SyntheticAudit) -> None:
    text = findings.to_html()
    page = Page(text)
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(page.values("id"))
    assert all(b - a <= 1 for a, b in zip(page.headings, page.headings[1:], strict=False))
    scoped = [tag for tag, name, _ in page.attributes if tag == "th" and name == "scope"]
    assert len(scoped) == page.tags["th"]
    roles = [value for tag, name, value in page.attributes if tag == "svg" and name == "role"]
    assert roles == ["img"] * 2


def test_sections_are_in_the_order_of_the_reader(findings: SyntheticAudit) -> None:
    names = [section.name for section in findings.report().sections]
    assert names == ["game", "attacks", "records", "groups", "use"]


def test_the_pages_numbers_are_those_of_the_findings(findings: SyntheticAudit, page: Page) -> None:
    told = shown(page)
    for attack in findings.attacks:
        low = attack.auc.low
        value = attack.auc.value
        high = attack.auc.high
        assert f"{value:.3f} {low:.3f} to {high:.3f}" in told
        assert f"{attack.true_positives:,} of {attack.n_in:,}" in told
    for i in findings.order:
        target = findings.best.targets[int(i)]
        assert f"{target.auc.value:.3f} {target.auc.low:.3f} to {target.auc.high:.3f}" in told
        assert f"of {target.epsilon_limit:.2f}" in told
    for group in findings.groups:
        mean = group.means[findings.headline.attack]
        assert f"{mean.value:.3f} {mean.low:.3f} to {mean.high:.3f}" in told
        assert f"{group.deviations[findings.headline.attack]:.3f} 6" in told
    for marginals in findings.utility.marginals:
        assert f"{marginals.mean:.3f}" in told
    assert "DeLong over releases, 95%" in told
    assert "4,800 synthetic tables" in told


def test_the_riskiest_come_first_and_the_verdicts_record_is_marked(
    findings: SyntheticAudit, text: str
) -> None:
    found = sections.people_table(findings, 50).full
    values = [flat(row.cells[1]) for row in found]
    assert values == [
        str(decimal_estimate(findings.best.targets[int(i)].auc)) for i in findings.order
    ]
    (marked,) = [row for row in found if row.tone is Tone.BEST]
    assert flat(marked.cells[1]) == str(decimal_estimate(findings.headline.worst.auc))
    assert f"row {findings.targets.rows[findings.headline.target]}" in flat(marked.cells[0])
    for row, i in zip(found, findings.order, strict=True):
        assert f"rank {i + 1} of 45,222" in flat(row.cells[-1])
    first = findings.order[0]
    others = [f"{a.aucs[findings.order[0]]:.3f}" for a in findings.attacks]
    assert f"row {findings.targets.rows[first]} {' '.join(others)}" in shown(Page(text))


def test_contents_are_shown_only_where_asked_for(findings: SyntheticAudit, text: str) -> None:
    assert "their contents are not in this file" in text
    secret = np.array([f"secret {i}" for i in range(12)], dtype=object)
    targets = replace(findings.targets, contents={"<diagnosis>": secret})
    asked = replace(findings, targets=targets)
    told = asked.to_html()
    assert all(value in told for value in secret)
    assert "&lt;diagnosis&gt;" in told
    assert "their contents are not in this file" not in told
    assert "secret 1" not in text
    assert "secret 1" not in asked.to_json()


@pytest.mark.slow
def test_many_targets_stay_a_small_page(many: SyntheticAudit) -> None:
    told = many.to_html()
    assert len(told) < 400_000
    seen = shown(Page(told))
    assert "50 of 1,000 attacked records are shown" in seen
    assert seen.count("row ") < 150
    assert "corrected for the number of records (Holm)" in seen
    assert len(strict(many.to_json())["targets"]) == 1000
    assert len(records_frame(many)) == 1000
    assert "for all targets" in seen
    assert max(map(len, printed(many, 80).splitlines())) <= 80


@pytest.mark.parametrize("extras", [True, False])
def test_one_target_and_nothing_but_the_attack(extras: bool) -> None:
    found = example(1, tests=60, shadows=60, attacks=ONE_ATTACK, extras=extras)
    found = replace(found, foreseen=Skipped("foreseen", "fewer than 4 records"))
    told = found.to_html()
    seen = shown(Page(told))
    assert ("too few <u>records</u>" in seen) != extras
    assert 'role="img"' not in told
    assert not re.search(r"\b(nan|Estimate|Skipped|inf)\b", seen)
    assert ("everything that was asked for was done" in seen) != extras
    assert ('id="warnings"' in told) == extras
    assert verdict(found).headline in seen
    assert max(map(len, printed(found, 80).splitlines())) <= 80


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 8.0])
def test_every_strength_renders_everywhere(shift: float) -> None:
    found = example(5, shift=shift, tests=40, shadows=40, attacks=ATTACKS[:2])
    seen = shown(Page(found.to_html()))
    assert verdict(found).headline in seen
    assert not re.search(r"\b(nan|Estimate|Skipped|inf)\b", seen)
    strict(found.to_json())
    assert found.summary()


def test_tables_are_counted_as_the_game_makes_them(findings: SyntheticAudit) -> None:
    def told(f: SyntheticAudit) -> str:
        return shown(Page(f.to_html()))

    assert "200 synthetic tables for each target" in told(findings)
    assert "for all targets" in told(replace(findings, n_tables=400))
    blocks = replace(findings, n_tables=12 * 200 * 201)
    assert "200 synthetic tables for each table in question" in told(blocks)


def test_use_without_a_holdout_has_no_reference(findings: SyntheticAudit) -> None:
    def use(f: SyntheticAudit) -> list[list[str]]:
        (found,) = [
            block for block in sections.utility_section(f.utility, {}) if isinstance(block, Table)
        ]
        return [[flat(cell) for cell in row.cells] for row in found.full]

    bare = replace(findings.utility, holdout_marginals=(), holdout_associations=None)
    bare_of = replace(findings, utility=bare)
    whole = use(findings)
    told = use(bare_of)
    assert [row[0] for row in told] == [row[0] for row in whole]
    assert [row[2] for row in told][:3] == ["-"] * 3
    assert whole[0][2] == f"{findings.utility.holdout_marginals[0].mean:.3f}"


# -- plots


@pytest.mark.slow
def test_every_plot_draws_on_the_axes_given(
    findings: SyntheticAudit, many: SyntheticAudit, single: SyntheticAudit
) -> None:
    for draw in (sections.plot_auc, sections.plot_vulnerability):
        for found in (findings, many, single):
            ax = Figure().subplots()
            assert draw(found, ax) is ax
        new = draw(findings)
        new.get_figure().canvas.draw()
        assert new.get_xlabel()
        assert new.get_ylabel()


def test_the_plot_shows_every_target_in_order(
    findings: SyntheticAudit, many: SyntheticAudit
) -> None:
    for found in (findings, many):
        lines = {x.get_label(): x for x in sections.plot_auc(found).get_lines()}
        falling = np.sort(found.best.aucs)[::-1]
        np.testing.assert_array_equal(lines["AUC"].get_ydata(), falling)
        (place,) = lines["named in the verdict"].get_xdata()
        assert found.order[place - 1] == found.headline.target
        assert lines["mean"].get_ydata()[0] == found.headline.auc.value


def test_thinning_keeps_both_ends(many: SyntheticAudit) -> None:
    found = rank_by_auc(many.best, 100)
    assert len(found.rank) == 100
    assert found.rank[[0, -1]].tolist() == [1, 1000]
    assert found.auc[0] == many.best.aucs.max()
    np.testing.assert_array_equal(found.auc, many.best.aucs[found.position])
    assert (found.low <= found.auc).all()
    assert (found.auc <= found.high).all()


def test_groups_are_drawn_apart(findings: SyntheticAudit) -> None:
    ax = sections.plot_vulnerability(findings)
    assert ax.get_title().startswith(f"Rank correlation {findings.foreseen.value:.2f}")
    lines = {x.get_label(): x for x in ax.get_lines()}
    assert lines["distance"].get_marker() != lines["random"].get_marker()
    for group in findings.groups:
        drawn = lines[group.method]
        np.testing.assert_array_equal(drawn.get_xdata(), findings.targets.scores[group.positions])
        np.testing.assert_array_equal(drawn.get_ydata(), findings.best.aucs[group.positions])


# -- the gate


def test_the_gate_names_what_the_report_measures(findings: SyntheticAudit) -> None:
    for f in (findings, example(1, attacks=ONE_ATTACK)):
        gated = [x for measure in f.report().measures if measure.gate for x in measure.numbers]
        assert tuple(gated) == OF_GENERATOR
        assert f.report().numbers["worst"] == f.headline.worst.auc.value
        # A bound on epsilon has one honest number: its lower end.
        assert f.report().numbers["epsilon"] == f.headline.worst.epsilon.low


def test_reversed_attacks_tell_nothing() -> None:
    found = verdict(example(3, shift=-1.0, attacks=ONE_ATTACK))
    assert found.grade is UNTOLD
    assert "no evidence of safety" in " ".join(found.sentences)
