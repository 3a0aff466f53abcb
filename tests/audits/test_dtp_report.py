"""The report on differential training privacy: its verdict, words, tables, plots and files."""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console

from privacygauge.claims.dtp.measure import RemovalPath
from privacygauge.claims.dtp_audit import sections
from privacygauge.claims.dtp_audit import verdict as words
from privacygauge.claims.dtp_audit.audit import DtpAudit
from privacygauge.claims.dtp_audit.options import METRICS
from privacygauge.claims.dtp_audit.verdict import ABOVE, CERTAIN, SEEN, verdict
from privacygauge.classifiers.learner import DtpRange
from privacygauge.cli.output import Limit, exceeded_limits
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.releases.line import line_of
from privacygauge.report.render import files
from privacygauge.report.values import Block, FoldedBlocks, Items, Section, Table
from privacygauge.runs.results import LIST
from tests.audits.example_dtp import example
from tests.report.example import HOSTILE
from tests.report.test_document import ESTIMATE, strict
from tests.report.test_html import Page

pytestmark = pytest.mark.usefixtures("undrawn")

NAMES = ["report.html", "report.json", "records.parquet", "removal.csv"]


@pytest.fixture(scope="module")
def findings() -> DtpAudit:
    return example()


@pytest.fixture(scope="module")
def text(findings: DtpAudit) -> str:
    return findings.to_html()


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def shown(page: Page) -> str:
    return re.sub(r"\s+", " ", " ".join(page.text))


def quiet(upper: str = "bounded", **options: object) -> DtpAudit:
    """Return findings without a record above 1."""
    found = example(200, scale=0.02, indirect=0, upper=upper, extras=False, **options)
    assert found.pdtp.max() < 0.8
    return found


# -- the verdict


def test_the_verdict_is_the_rule_on_every_query(findings: DtpAudit) -> None:
    assert verdict(findings).grade == ABOVE
    assert verdict(findings).headline == (
        f"Above the limit: {findings.n_above} of 1,000 records change the model's answer about "
        "themselves by more than a factor of 2.7"
    )
    assert verdict(quiet()).grade == CERTAIN
    assert verdict(quiet("exact")).grade == CERTAIN
    assert verdict(quiet("unknown")).grade == SEEN
    assert verdict(quiet(measured=50)).grade == SEEN


def test_a_value_of_exactly_1_is_published() -> None:
    at = np.where(np.arange(200) == 3, 1.0, 0.1)
    found = replace(quiet(), pdtp=at, dtp=DtpRange(at, at, "exact"))
    assert verdict(found).grade == CERTAIN
    above = np.where(np.arange(200) == 3, np.nextafter(1.0, 2.0), 0.1)
    assert verdict(replace(found, pdtp=above, dtp=DtpRange(above, above, ""))).grade == ABOVE


def test_a_leak_through_other_queries_alone_is_said_so() -> None:
    found = quiet("exact")
    low = found.pdtp.copy()
    low[[3, 5]] = 2.0, 3.0
    found = replace(found, dtp=DtpRange(low, low, "exact: every query"))
    told = verdict(found)
    assert told.headline.startswith(
        "Above the limit: 2 of 200 records change the model's answer to"
    )
    assert "PDTP is at most 1 there, while some other query shows up to 3.000" in " ".join(
        told.sentences
    )
    assert "Here PDTP is small while DTP is large for 2 records" in shown(Page(found.to_html()))
    assert strict(found.to_json())["dtp"]["indirect"] == {"count": 2, "rows": [5, 3]}


@pytest.mark.parametrize(
    ("upper", "phrase"),
    [
        ("exact", "was found exactly"),
        ("bounded", "it is certified that none shows more than"),
        ("unknown", "is not known for any record"),
    ],
)
def test_how_well_other_queries_are_known_is_told(upper: str, phrase: str) -> None:
    found = quiet(upper)
    assert phrase in " ".join(verdict(found).sentences)
    assert getattr(found.reach, upper) == 200


def test_no_verdict_promises_a_guarantee() -> None:
    for found in (example(), quiet(), quiet("unknown"), quiet(measured=50)):
        assert "guarantee" in verdict(found).unsaid


def test_bins_are_part_of_the_advice() -> None:
    told = " ".join(verdict(replace(quiet(), width=0.01)).advice)
    assert "rounded to bins of 0.01" in told
    assert "Publish probabilities in bins" in " ".join(verdict(example()).advice)


@pytest.mark.parametrize(
    ("highest", "phrase"),
    [
        ([3.0, 0.6, 2.8], "Train without the one record"),
        ([3.0, 2.0, 0.5], "Train without the 2 records"),
        ([3.0, 2.0, 2.5], "is not enough: after 1 of 2"),
        ([3.0, 3.5, 4.0], "is no way out"),
        ([0.9, 0.5, 2.0], "was judged by their own queries"),
        ([np.inf, 2.0, 0.5], "falls from ∞ to 0.500"),
    ],
)
def test_the_advice_on_removal_follows_the_path(highest: list[float], phrase: str) -> None:
    two = np.array([2.0, 2.0])
    path = RemovalPath(np.array([4, 7]), np.array(highest), two, two, "recomputed")
    advice = " ".join(verdict(replace(example(50), removal=path)).advice)
    assert phrase in advice
    assert ("Stop there" in advice) == (highest == [3.0, 0.6, 2.8])


@pytest.mark.parametrize("value", [0.99951, 0.9999999, 1.00049, 1.0000001])
def test_what_is_not_the_limit_does_not_look_like_it(value: float) -> None:
    assert float(words.nats(value)) != 1
    assert (float(words.nats(value)) > 1) == (value > 1)
    assert float(words.nats(value)) == pytest.approx(value, abs=5e-4)


def test_upper_ends_never_promise_too_much() -> None:
    for high in (0.4321, 0.99999, 1.00001):
        assert float(words.between(0.1, high).split()[-1]) >= high
    assert words.between(0.5, math.inf).endswith("0.500")
    assert words.factor(math.inf) == words.between(math.inf, math.inf) == "∞"


# -- report.json


def test_the_contract_of_the_interface(findings: DtpAudit) -> None:
    found = strict(findings.to_json())
    assert set(found) >= {
        "model", "method", "bin", "n_train", "n_measured", "pdtp", "dtp", "decision", "certified",
        "removal", "variation", "repeated",
    }  # fmt: skip
    assert found["decision"] == "do not publish"
    pdtp = found["pdtp"]
    assert set(pdtp["mean_estimate"]) == set(pdtp["share_above_1"]) == ESTIMATE
    assert pdtp["max"] == findings.pdtp.max()
    assert pdtp["mean"] == findings.pdtp.mean()
    assert pdtp["above_1"] == np.count_nonzero(findings.pdtp > 1)
    assert isinstance(pdtp["above_1"], int)
    assert [r["pdtp"] for r in pdtp["riskiest"]] == sorted(findings.pdtp, reverse=True)[:50]
    assert set(pdtp["riskiest"][0]) == {"row", "id", "label", "pdtp", "dtp_lower", "dtp_upper"}
    assert found["dtp"]["above_1"] == np.count_nonzero(findings.dtp.low > 1)
    assert found["removal"]["best"] == 1
    assert len(found["variation"][0]["sampling"]) == 100
    assert found["repeated"]["training_sets"] == 10


def test_infinity_is_null() -> None:
    found = strict(example(100, infinite=2, extras=False).to_json())
    assert found["pdtp"]["max"] is found["pdtp"]["mean"] is found["dtp"]["upper"] is None
    assert found["pdtp"]["infinite"] == 2
    assert found["pdtp"]["riskiest"][1]["pdtp"] is None
    assert found["pdtp"]["riskiest"][2]["pdtp"] > 0
    assert found["removal"] is found["repeated"] is None
    assert found["variation"] == []


# -- tables


def test_one_row_a_record() -> None:
    found = example(300, measured=40, infinite=1)
    frame = found.to_frame()
    assert list(frame) == [
        "row", "pdtp", "dtp_lower", "dtp_upper", "id", "label",
        "averaged", "averaged_low", "averaged_high",
    ]  # fmt: skip
    assert frame["row"].tolist() == found.rows.tolist()
    assert frame["label"].tolist() == [found.class_names[i] for i in found.labels]
    assert list(quiet().to_frame()) == list(frame)[:6]
    read = pd.read_parquet(io.BytesIO(files(found.report())["records.parquet"]))
    np.testing.assert_array_equal(read["pdtp"], found.pdtp)
    np.testing.assert_array_equal(read["dtp_upper"], found.dtp.high)
    assert list(read) == list(frame)


def test_ids_that_are_no_utf8_are_written() -> None:
    odd = replace(quiet(), ids=np.array(["\udcff", *range(199)], dtype=object))
    assert pd.read_parquet(io.BytesIO(files(odd.report())["records.parquet"]))["id"][0] == "?"
    whole = replace(odd, ids=np.arange(200))
    assert whole.to_frame()["id"].dtype == np.int64
    assert strict(whole.to_json())["pdtp"]["riskiest"][0]["id"] in range(200)


def test_a_removal_is_a_row_a_step(findings: DtpAudit) -> None:
    path = findings.removal
    frame = pd.read_csv(io.BytesIO(files(findings.report())["removal.csv"]))
    np.testing.assert_array_equal(frame["highest"], path.highest)
    np.testing.assert_array_equal(frame["removed"][1:], path.removed)
    assert frame["step"][frame["best"]].tolist() == [path.best]


def test_summary_is_plain_text(findings: DtpAudit) -> None:
    told = findings.summary()
    assert told.startswith("Above the limit: ")
    assert "no upper bound is known" in told
    assert "Not done: <u>search</u>" in told
    for found in (quiet(), quiet("exact"), quiet(measured=50), example(3, measured=1)):
        assert "\x1b" not in found.summary()
    assert ", 95% interval" in quiet(measured=50).summary()


# -- the terminal


def printed(f: DtpAudit, width: int, *, colour: bool = False) -> str:
    file = io.StringIO()
    system = "truecolor" if colour else None
    console = Console(file=file, width=width, force_terminal=colour, color_system=system)
    console.print(f.terminal_summary())
    return file.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_a_terminal_holds_every_number_whole(width: int, findings: DtpAudit) -> None:
    told = printed(findings, width)
    assert max(map(len, told.splitlines())) <= width
    assert words.nats(findings.highest) in told
    assert told.startswith("Above the limit")


def test_names_are_not_markup_and_send_no_control_codes(findings: DtpAudit) -> None:
    bad = "[red]x[/red]\x1b[2J"
    odd = replace(
        findings,
        ids=np.array([bad] * 1000, dtype=object),
        class_names=("[/]", "[bold]", "[link=x]"),
        origin=replace(
            findings.origin,
            warnings=("[bold]\x1b]0;title\x07 line\nline",),
            skipped=(Skipped("[/nothing]", bad),),
        ),
        model="[/model]\x1b[2J",
        method="[/how]",
    )
    told = printed(odd, 120)
    for part in ("[red]x[/red]", "[/nothing]", "[/model]", "[/how]"):
        assert part in told
    assert "\x1b" not in told
    assert "\x1b[2J" not in printed(odd, 120, colour=True)


# -- the page


def test_hostile_names_are_text(page: Page, text: str) -> None:
    told = " ".join(page.text)
    for hostile in (*HOSTILE[:4], "<i>2</i>", "<b>none</b>", "naive Bayes <b>of</b>", "<income>"):
        assert hostile in told
    assert "<script" not in text
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert page.tags["b"] == page.tags["i"] == page.tags["u"] == 0


@pytest.mark.slow
@pytest.mark.usefixtures("drawn")
def test_hostile_words_are_text(findings: DtpAudit) -> None:
    bad = "</desc></svg><script>alert(1)</script>$x_"
    evil = replace(
        findings,
        ids=np.array([bad] * 1000, dtype=object),
        class_names=(bad,) * 3,
        model=bad,
        method=bad,
        dtp=DtpRange(findings.dtp.low, findings.dtp.high, bad),
        averages=tuple(replace(x, method=bad) for x in findings.averages),
    )
    told = evil.to_html()
    assert "<script" not in told
    Page(told)


def test_every_plot_is_on_the_page(page: Page) -> None:
    roles = [value for tag, name, value in page.attributes if tag == "svg" and name == "role"]
    assert roles == ["img"] * 4


def test_the_order_is_that_of_the_reader(text: str) -> None:
    order = [
        'id="verdict"', 'id="numbers"', 'id="warnings"', 'id="meaning"', 'id="records"',
        'id="queries"', 'id="removal"', 'id="averages"', 'id="variation"', 'id="measured"',
        'id="left-out"', 'id="glossary"', 'id="provenance"',
    ]  # fmt: skip
    places = [text.index(x) for x in order]
    assert places == sorted(places)


@pytest.mark.slow
def test_estimates_stand_with_interval_level_n_and_method() -> None:
    found = replace(example(5000, measured=200), removal=None, variation=())
    told = shown(Page(found.to_html()))
    share = found.share_above
    assert f"{share.method}, 95%" in told
    assert "95% interval, n = 200" in told
    assert "t over training sets, n = 10" in told
    low, high = (f"{x:.3f}" for x in (found.mean.low, found.mean.high))
    assert f"{low} to {high}" in told
    whole = shown(Page(quiet().to_html()))
    assert "without an interval is exact" in whole
    assert "Small figures" not in whole


@pytest.mark.parametrize(
    "found",
    [
        example(100, infinite=3, upper="exact", extras=False),
        example(100, infinite=3, upper="bounded", measured=20, extras=False),
        quiet(),
        quiet("unknown"),
        example(2, measured=1, extras=False),
        example(300, n_classes=100, scale=3.0, extras=False),
        replace(quiet(), width=0.01, class_names=("a", "b", "c")),
    ],
    ids=["infinite", "sample", "certified", "unknown", "single", "100 classes", "bins"],
)
def test_every_case_renders_everywhere(found: DtpAudit) -> None:
    told = shown(Page(found.to_html()))
    assert not re.search(r"\b(nan|None|Estimate|inf)\b", told)
    assert verdict(found).headline in told
    strict(found.to_json())
    assert max(map(len, printed(found, 80).splitlines())) <= 80


def test_sections_that_were_not_asked_for_are_absent() -> None:
    told = quiet().to_html()
    for part in ("removal", "averages", "variation"):
        assert f'"#{part}"' not in told
        assert f'id="{part}"' not in told
    assert "everything that was asked for was measured" in told


def section(f: DtpAudit, name: str) -> Section:
    return next(section for section in f.report().sections if section.name == name)


def table(f: DtpAudit, name: str) -> Table:
    """Return the table of that name, wherever it stands on the page."""

    def within(blocks: tuple[Block, ...]) -> Iterator[Table]:
        for block in blocks:
            if isinstance(block, Table):
                yield block
            elif isinstance(block, FoldedBlocks):
                yield from within(block.blocks)

    every = (table for section in f.report().sections for table in within(section.blocks))
    return next(table for table in every if table.name == name)


def test_classes_and_groups_are_counted_as_by_hand(findings: DtpAudit) -> None:
    for row in table(findings, "classes").full:
        name, n, above, _ = map(str, row.cells)
        here = findings.pdtp[findings.labels == int(name[3])]
        assert (int(n), int(above)) == (len(here), np.count_nonzero(here > 1))
    groups = [block for block in section(findings, "removal").blocks if isinstance(block, Items)]
    assert len(groups[0].lines) == len(findings.removal.groups) > 0
    assert findings.n_above_on_average == sum(x.value > 1 for x in findings.averages)


def test_what_is_not_on_the_page_is_said_to_be_in_a_file() -> None:
    value = np.full(60, 2.0)
    before = np.where(np.arange(60) % 2, 0.1, 2.0)
    path = RemovalPath(np.arange(60), np.append(value, 0.5), value, before, "recomputed")
    told = shown(Page(replace(example(200), removal=path).to_html()))
    assert "10 of 30 groups are shown; all are in report.json." in told
    assert "50 of 60 removals are shown; all are in removal.csv." in told


def test_an_average_over_one_set_has_no_ends() -> None:
    one = replace(
        quiet(), averages=(Estimate(0.5, -np.inf, np.inf, 0.95, 1, "t over training sets"),) * 200
    )
    assert "-∞ to ∞" in shown(Page(one.to_html()))
    assert strict(one.to_json())["repeated"]["riskiest"][0]["mean"]["low"] is None


# -- plots


def test_every_plot_draws_on_the_axes_given(findings: DtpAudit) -> None:
    for draw in (
        lambda ax: sections.plot_pdtp(findings, ax),
        lambda ax: sections.plot_pdtp(example(20, infinite=2, upper="bounded"), ax),
        lambda ax: sections.plot_removal(findings, ax),
        lambda ax: sections.plot_variation(findings.variation[0], ax),
    ):
        ax = Figure().subplots()
        assert draw(ax) is ax
        new = draw(None)
        assert isinstance(new, Axes)
        new.get_figure().canvas.draw()
        assert new.get_xlabel()
        assert new.get_ylabel()


def test_the_riskiest_stay_single_points_and_none_is_lost(findings: DtpAudit) -> None:
    found = sections.rank_by_pdtp(findings.pdtp, findings.dtp, findings.order, 60)
    by_hand = np.sort(findings.pdtp)[::-1]
    np.testing.assert_array_equal(found.pdtp, by_hand[found.rank - 1])
    assert found.rank[:5].tolist() == [1, 2, 3, 4, 5]
    assert len(found.rank) <= 60
    assert found.low.max() == findings.dtp.low.max()
    found = quiet()
    every = sections.rank_by_pdtp(found.pdtp, found.dtp, found.order, 200)
    assert len(every.rank) == 200


def test_infinite_values_are_drawn_and_named() -> None:
    ax = sections.plot_pdtp(example(50, infinite=2, extras=False))
    line = next(x for x in ax.get_lines() if x.get_label() == "infinite")
    assert line.get_xdata().tolist() == [1, 2]
    assert all(np.isfinite(x.get_ydata()).all() for x in ax.get_lines())


def test_the_sawtooth_marks_the_best_point(findings: DtpAudit) -> None:
    lines = sections.plot_removal(findings).get_lines()
    np.testing.assert_array_equal(lines[0].get_ydata(), findings.removal.highest)
    (best,) = [x for x in lines if x.get_label() == "best point to stop"]
    assert best.get_xdata()[0] == findings.removal.best


def test_equal_predictions_can_be_drawn() -> None:
    still = np.full(5, 0.5)
    v = replace(
        example(50).variation[0], initialisation=still, sampling=still, with_it=0.5, without=0.5
    )
    sections.plot_variation(v).get_figure().canvas.draw()


def test_nothing_removed_is_an_error() -> None:
    with pytest.raises(InputError, match="removal must have been asked for"):
        sections.plot_removal(quiet())


# -- files, gate and register


@pytest.mark.slow
def test_all_files_are_written(tmp_path: Path, text: str) -> None:
    # The page of the fixture is another rendering of equal findings: equal bytes.
    paths = example().write(tmp_path / "out")
    assert [p.name for p in paths] == NAMES
    assert sorted(os.listdir(tmp_path / "out")) == sorted([LIST, *NAMES])
    assert (tmp_path / "out" / "report.html").read_text() == text
    assert [p.name for p in quiet().write(tmp_path / "two")] == NAMES[:3]


def test_every_metric_is_a_measure_with_the_number_of_the_findings(findings: DtpAudit) -> None:
    report = findings.report()
    assert {measure.name for measure in report.measures if measure.gate} == set(METRICS)
    assert report.numbers["dtp"] == findings.dtp.low.max()
    assert report.numbers["dtp-upper"] == findings.dtp.high.max() == math.inf
    assert report.numbers["pdtp"] == findings.pdtp.max()
    assert report.numbers["mean"] == findings.pdtp.mean()
    assert report.numbers["share"] == (findings.pdtp > 1).mean()
    assert exceeded_limits(report, [Limit("dtp-upper", 1e9)]) == [
        "dtp-upper is inf, above the limit of 1e+09"
    ]


def test_a_register_reads_what_is_infinite() -> None:
    found = line_of(example(100, infinite=2, extras=False).to_json(), "release")
    assert found.measures["dtp"] == found.measures["pdtp"] == math.inf
    assert str(found.number.shown) == "\N{INFINITY}"
