"""The report of an audit of a language model: verdict, document, tables, page, terminal, plots."""

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
from privacygauge.errors import OutputError
from privacygauge.language.audit.audit import audit_language
from privacygauge.language.audit.command import METRICS
from privacygauge.language.audit.report import riskiest
from privacygauge.language.audit.verdict import verdict
from privacygauge.language.controls import ControlFinding
from privacygauge.language.scores import text_scores
from privacygauge.releases.line import line_of
from privacygauge.report.grades import LARGE, MODERATE, NONE, SMALL, UNTOLD
from privacygauge.report.render import files
from privacygauge.report.values import Table
from privacygauge.runs.results import LIST
from tests.language.made_scores import made_scores
from tests.report.example import HOSTILE
from tests.report.test_document import ESTIMATE, strict
from tests.report.test_html import Page

pytestmark = pytest.mark.usefixtures("undrawn")

NAMES = ["report.html", "report.json", "records.parquet", "roc.csv"]
SECRET = "</td><script>alert('a secret text')</script>"


def scores(**options):
    """Return energies with ids, groups and texts that attack the reader."""
    made = made_scores(
        np.random.default_rng(3), patients=(30, 30, 30), sizes=(1, 8), **{"leak": 1.0} | options
    )
    # The first names belong to the members of the highest scores, which are shown.
    value = np.where(made.member, made.energy_reference - made.energy_target, -np.inf)
    order = np.argsort(-value)
    sample = list(made.sample)
    group = list(made.group)
    for row, name in zip(order, HOSTILE, strict=False):
        sample[row] = f"sample {name}"
    firsts = dict.fromkeys(group[row] for row in order)
    renamed = dict(zip(firsts, (f"patient {name}" for name in HOSTILE), strict=False))
    group = [renamed.get(name, name) for name in group]
    text = tuple(f"{SECRET} {row % 9}" for row in range(len(made)))
    return replace(made, sample=tuple(sample), group=tuple(group), text=text)


@pytest.fixture(scope="module")
def found():
    return audit_language(scores(), provenance={"<b>file</b>": HOSTILE[0]})


@pytest.fixture(scope="module")
def void():
    """Return findings on energies with a shift, of which as little as possible is known."""
    made = scores(shift=1.0)
    bare = text_scores(
        made.sample,
        made.energy_target,
        made.member,
        energy_reference=made.energy_reference,
        population=made.population,
    )
    return audit_language(bare)


@pytest.fixture(scope="module")
def folder(found, tmp_path_factory):
    out = tmp_path_factory.mktemp("language") / "deep" / "out"
    found.write(out)
    return out


@pytest.fixture(scope="module")
def text(folder):
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


@pytest.fixture(scope="module")
def void_text(void):
    return void.to_html()


def shown(text):
    return re.sub(r"\s+", " ", " ".join(Page(text).text))


def chance(unit, low=0.45, value=0.5):
    """Return findings on a unit in which no number goes beyond chance, but for the headline's."""
    flat = Estimate(0.5, 0.45, 0.55, 0.95, 90, "made up")
    nothing = Estimate(0.0, 0.0, np.inf, 0.95, 90, "made up")
    accuracy = Estimate(value, low, value + 0.05, 0.95, 90, "made up")
    evaluations = tuple(
        replace(e, accuracy=accuracy, auc=flat, best_accuracy=flat, tpr_at_fpr=())
        for e in unit.evaluations
    )
    headline = replace(
        unit.headline, attack=evaluations[0], accuracy=accuracy, auc=flat, epsilon=nothing
    )
    return replace(unit, evaluations=evaluations, spoken=evaluations, headline=headline)


def of_chance(found, samples, patients):
    """Return an audit of many people, none of whom stands out, with these lower ends."""
    enough = replace(found.questions.detectable, average=0.52)
    return replace(
        found,
        samples=chance(found.samples, samples, samples + 0.02),
        patients=chance(found.patients, patients, patients + 0.02),
        questions=replace(found.questions, tail=None, detectable=enough),
    )


# -- the verdict


@pytest.mark.parametrize(
    ("samples", "patients", "grade", "leading"),
    [
        (0.45, 0.48, NONE, ""),
        (0.52, 0.48, SMALL, "sample by sample"),
        (0.45, 0.52, SMALL, "patient by patient"),
        (0.52, 0.60, MODERATE, "patient by patient"),
        (0.70, 0.60, LARGE, "sample by sample"),
    ],
)
def test_the_graver_of_samples_and_patients_makes_the_verdict(
    found, samples, patients, grade, leading
):
    told = verdict(of_chance(found, samples, patients))
    assert told.grade == grade
    assert told.headline.endswith(leading)
    assert (grade == NONE) == told.headline.startswith("No leak found")
    if leading:
        assert told.sentences[0].lower().startswith(leading)
        assert any("People behind" in s or "people behind" in s for s in told.sentences)


def test_a_control_that_fires_voids_the_verdict_whatever_the_numbers_are(void):
    quiet = replace(void, samples=chance(void.samples))
    for f in (void, quiet):
        told = verdict(f)
        assert told.grade == UNTOLD
        assert told.headline == (
            "The test is not honest (fired: reference, matched): members and non-members differ in "
            "more than membership"
        )
        assert "is no evidence of a leak" in told.sentences[0]
        assert told.advice[0].startswith("Draw the non-members again")
        assert not any(line.startswith("Hold") for line in told.advice)


def test_every_control_that_fires_is_named_first(void):
    assert {"reference", "matched"} <= set(void.controls.fired)
    first = verdict(void).sentences[0]
    assert first.startswith("The reference model, which saw none of the samples")
    assert "finds equally hard" in first
    area = Estimate(0.8, 0.7, 0.9, 0.98, 60, "made up")
    blind = ControlFinding("blind", area, True, "made up")
    alone = replace(
        void.controls, reference=Skipped("r", "x"), blind=blind, matched=Skipped("m", "y")
    )
    first = verdict(replace(void, controls=alone)).sentences[0]
    assert first.startswith("A classifier that sees the words and no model tells members")


def test_advice_asks_for_what_is_missing(found):
    assert not any(line.startswith("Add") for line in verdict(found).advice)
    bare = replace(scores(), group=None, text=None, energy_reference=None)
    lines = " ".join(verdict(audit_language(bare, threshold="oracle")).advice)
    for column in ("energy_reference", "column group", "column text", "column population"):
        assert column in lines


# -- the document


def test_the_contract_of_the_interface(found):
    told = strict(found.to_json())
    assert set(told) >= {
        "controls", "game", "headline", "attacks", "thresholds", "patients", "lengths", "risk",
    }  # fmt: skip
    for attack in (*told["attacks"], *told["patients"]["attacks"]):
        assert attack["name"] in ("likelihood-ratio", "loss")
        assert attack["thresholds"] == "global"
        for key in ("accuracy", "auc", "recall", "false_positive_rate"):
            assert set(attack[key]) == ESTIMATE
        assert set(attack["tpr_at_fpr"]) >= {"0.1", "0.01", "0.001"}
        assert {"precision", "true_positives", "false_positives", "ppv"} <= set(attack)
    assert [x["name"] for x in told["lengths"]] == ["short", "long"]
    assert (
        told["lengths"][1]["attacks"][0]["auc"]["value"]
        == found.lengths[1].evaluations[0].auc.value
    )
    asked = [x["asked_fpr"] for x in told["thresholds"]]
    assert asked == [0.1, 0.01, 0.1, 0.01, None]
    assert all(set(x["realised_fpr"]) == ESTIMATE for x in told["thresholds"])


def test_controls_in_the_document(found, void):
    for f, honest in ((found, True), (void, False)):
        controls = strict(f.to_json())["controls"]
        assert controls["honest"] is honest
        assert controls["fired"] == list(f.controls.fired)
        assert controls["reference"]["auc"]["value"] == f.controls.reference.auc.value
        assert set(controls["matched"]["after"]) == ESTIMATE
    unplayed = Skipped("x", "no texts")
    none = replace(
        found.controls,
        reference=unplayed,
        spread=unplayed,
        blind=unplayed,
        form=unplayed,
        matched=unplayed,
    )
    controls = strict(replace(found, controls=none).to_json())["controls"]
    assert controls["honest"] is None
    assert controls["blind"] == {"skipped": "no texts"}


def test_patients_are_named_and_texts_are_not_in_it(found):
    told = found.to_json()
    assert "secret text" not in told
    worst = strict(told)["patients"]["worst"]
    values = [row["score"] for row in worst]
    assert values == sorted(values, reverse=True)
    assert any(row["group"].startswith("patient <script>") for row in worst)


# -- tables


def test_records_hold_every_judged_sample(found):
    frame = found.to_frame()
    assert list(frame.columns)[:6] == [
        "sample", "group", "energy_target", "energy_reference", "score", "member",
    ]  # fmt: skip
    assert len(frame) == found.samples.n_in + found.samples.n_out
    ratio = frame["energy_reference"] - frame["energy_target"]
    assert np.allclose(frame["score"], ratio, atol=1e-12)
    first = next(name for name in frame if name.startswith("guess_"))
    hits = frame.loc[frame["member"], first].sum()
    assert hits == found.evaluations[0].true_positives


def test_without_groups_and_reference_the_columns_stay(found):
    bare = replace(scores(), group=None, energy_reference=None, text=None)
    audit = audit_language(bare)
    frame = pd.read_parquet(io.BytesIO(files(audit.report())["records.parquet"]))
    assert list(frame.columns)[:6] == list(found.to_frame().columns)[:6]
    assert frame["group"].isna().all()
    assert frame["energy_reference"].isna().all()


def test_curves_are_named_by_signal(found):
    frame = found.report().frames["roc.csv"]()
    assert set(frame["attack"]) == {
        "likelihood-ratio",
        "loss",
        "likelihood-ratio (by patient)",
        "loss (by patient)",
    }


@pytest.mark.slow
def test_the_files_and_nothing_half(found, folder, tmp_path):
    assert sorted(path.name for path in folder.iterdir()) == sorted([LIST, *NAMES])
    assert (folder / "report.json").read_text() == found.to_json()
    assert len(pd.read_parquet(folder / "records.parquet")) == len(found.to_frame())
    (tmp_path / "file").touch()
    with pytest.raises(OutputError):
        found.write(tmp_path / "file")


# -- the page


def test_names_are_text(text, page):
    told = " ".join(page.text)
    for hostile in HOSTILE[:4]:
        assert f"sample {hostile}" in told
        assert f"patient {hostile}" in told
    assert page.tags["script"] == 0
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "secret text" not in text


def test_texts_are_shown_only_where_asked_for():
    asked = audit_language(scores(), show=["text", "length"])
    (table,) = [x for x in section(asked, "records").blocks if isinstance(x, Table)]
    assert [column.title for column in table.columns][-2:] == ["text", "length"]
    assert str(table.full[0].cells[-2]).startswith(SECRET)
    told = asked.to_html()
    assert "secret text" in told
    assert "<script" not in told


def test_a_void_audit_shows_samples_by_id(void):
    assert riskiest(void).n == void.samples.n_in


def section(f, name):
    return next(section for section in f.report().sections if section.name == name)


def test_the_verdict_comes_first_and_a_control_in_its_first_lines(void_text, text):
    told = shown(void_text)
    assert told.index("The test is not honest") < told.index("The reference model, which saw none")
    assert told.index("The reference model, which saw none") < told.index("The numbers in short")
    assert "A control fired: the numbers of the attacks are void" in told
    assert told.index("Control: reference model alone") < told.index("Right guesses, sample by")
    quiet = shown(text)
    assert "A control fired" not in quiet
    assert quiet.index("Large leak") < quiet.index("The numbers in short")


def test_what_was_left_out_is_on_the_page(void_text):
    told = shown(void_text)
    assert "Not played: needs groups: give a column group" in told
    assert "needs the length of every sample" in told
    assert "needs the texts" in told
    assert "No groups were given" in told


# -- terminal and plots


@pytest.mark.parametrize("width", [40, 80])
def test_the_terminal_fits(found, void, width):
    for f, first in ((found, "Large leak"), (void, "The test is not honest")):
        console = Console(width=width, file=io.StringIO(), force_terminal=False)
        console.print(f.terminal_summary())
        lines = console.file.getvalue().splitlines()
        assert lines[0].startswith(first)
        assert max(map(len, lines)) <= width
        assert "\x1b" not in console.file.getvalue()


def test_the_summary_names_controls_and_patients(found, void):
    assert "FIRES" not in found.summary()
    assert "FIRES" in void.summary()
    assert "Right guesses, patient by patient" in found.summary()


def test_curves_are_logarithmic_unless_asked_otherwise(found):
    ax = found.plot_roc()
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert found.plot_roc(log=False).get_xscale() == "linear"
    own = Figure().subplots()
    assert found.plot_roc(own) is own


def test_one_curve_a_signal(found):
    assert [e.title for e in found.samples.signals] == ["likelihood-ratio", "loss"]
    assert found.attacks(found.patients).game.n_in == found.patients.n_in


# -- gate and register


def test_every_metric_is_a_measure_with_the_number_of_the_findings(found, void):
    report = found.report()
    gated = {name for x in report.measures if x.gate for name in x.numbers}
    assert gated == set(METRICS)
    samples = found.samples
    patients = found.patients
    assert report.numbers["accuracy"] == max(e.accuracy.value for e in samples.evaluations)
    assert report.numbers["accuracy.low"] == samples.headline.accuracy.low
    assert report.numbers["patient-accuracy.low"] == patients.headline.accuracy.low
    assert report.numbers["patient-auc"] == max(e.auc.value for e in patients.evaluations)
    assert report.numbers["epsilon"] == samples.headline.epsilon.low
    assert void.report().numbers["patient-auc"] is None


@pytest.mark.parametrize(
    ("samples", "patients", "name"),
    [(0.45, 0.48, "accuracy"), (0.52, 0.60, "patient-accuracy"), (0.70, 0.60, "accuracy")],
)
def test_a_register_has_the_number_that_the_verdict_speaks_of(found, samples, patients, name):
    line = line_of(of_chance(found, samples, patients).to_json(), "release")
    assert line.number.name == name
    assert line.number.estimate.low == max(samples, patients if "patient" in name else 0)
    # Samples or patients: the graver of two numbers was chosen.
    assert line.number.stated.risked == pytest.approx(0.1)
    assert {"accuracy", "patient-accuracy"} <= set(line.measures)
    assert line.worst.what == "patients"


def test_a_register_of_samples_alone_has_one_number_and_texts(void):
    line = line_of(void.to_json(), "release")
    assert line.number.name == "accuracy"
    assert line.number.stated.risked == pytest.approx(0.05)
    assert "patient-accuracy" not in line.measures
    assert line.worst.what == "texts"
    first = int(riskiest(void).rows[0])
    assert line.worst.ids[0] == str(void.records.ids[first])
