"""What the candidate-set game says: grades, record by record, and what PDTP tells."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sklearn.tree import DecisionTreeClassifier

from privacygauge.classifiers.audit.candidates import CandidateAudit, audit_candidates
from privacygauge.classifiers.candidates import SharedDesign
from privacygauge.core.attacks.lira import LiraOnline
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.direction import InvertedAttack
from privacygauge.report.grades import LARGE, NONE, SMALL, UNTOLD
from tests.classifiers.trainers import records
from tests.report.test_document import strict
from tests.report.test_html import Page

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(scope="module")
def found() -> CandidateAudit:
    return audit_candidates(
        DecisionTreeClassifier(max_depth=2),
        *records(n=24, k=2),
        iterations=2,
        n_targets=6,
        design=SharedDesign(8),
        measurements=1,
        attacks=(LiraOnline(), Threshold("confidence", per_class=False)),
    )


def right(found: CandidateAudit, value: float, low: float) -> CandidateAudit:
    return replace(found, accuracy=Estimate(value, low, 1.0, 0.95, 6, "example"))


@pytest.mark.parametrize(("low", "grade"), [(0.4, NONE), (0.5, NONE), (0.52, SMALL), (0.65, LARGE)])
def test_the_lower_end_of_all_guesses_decides(found, low, grade):
    told = right(found, 0.7, low).report().verdict
    assert told.grade == grade
    assert "guessing gives 50%" in told.sentences[0]
    assert ("70.0%" in told.headline) == (grade != NONE)
    assert "allows for having tried 2 attacks" in told.sentences[1]
    assert any("Reduce overfitting" in line for line in told.advice) == (grade != NONE)


def test_a_ranking_beyond_the_guesses_decides(found):
    ranked = replace(right(found, 0.5, 0.4), auc=Estimate(0.9, 0.86, 0.94, 0.95, 6, "example"))
    told = ranked.report()
    assert told.verdict.grade == LARGE
    assert "90.0% of the pairs" in told.verdict.headline
    assert any("the grade follows from it" in x for x in told.verdict.sentences)
    assert told.numbers["accuracy"] == pytest.approx(1 - 0.05**0.5)
    assert replace(ranked, auc=found.auc).report().verdict.grade == NONE


def test_attacks_the_wrong_way_round_leave_nothing_to_be_told(found):
    turned = (InvertedAttack("confidence", Estimate(0.3, 0.2, 0.4, 0.95, 6, "example")),)
    assert replace(right(found, 0.4, 0.3), inverted=turned).report().verdict.grade == UNTOLD
    assert replace(right(found, 0.9, 0.8), inverted=turned).report().verdict.grade == LARGE


def test_records_stand_by_falling_share_of_right_guesses(found):
    report = found.report()
    accuracy = found.per_target[found.best.title].accuracy
    shares = dict(zip(map(str, found.targets.tolist()), accuracy.tolist(), strict=True))
    ranked = [shares[name] for name in report.worst.ids]
    assert ranked == sorted(ranked, reverse=True)
    assert len(ranked) == 6
    shown = " ".join(Page(found.to_html()).text)
    assert "Each interval holds individually" in shown
    assert "Does PDTP tell which records attacks are right about?" in shown
    assert "6 of 6 records are shown" in shown


def test_numbers_are_those_of_the_findings(found):
    numbers = found.report().numbers
    document = strict(found.to_json())
    assert numbers["accuracy.low"] == found.accuracy.low
    assert numbers["mean-pdtp"] == found.mean_pdtp.value
    assert document["kind"] == "candidates"
    assert document["targets"] == found.targets.tolist()
    assert set(document["correlations"]) == set(found.per_target)
    assert [x["name"] for x in document["attacks"]] == [e.name for e in found.evaluations]
    bare = replace(found, measured=None, correlations={}).report()
    assert "mean-pdtp" not in bare.numbers
    assert "PDTP" not in dict(bare.terms)


def test_the_files(found, tmp_path):
    names = {path.name for path in found.write(tmp_path)}
    assert names == {"report.html", "report.json", "records.parquet", "roc.csv"}
