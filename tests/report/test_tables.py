from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.classifiers.audit.result import Audit
from privacygauge.core.estimate import Estimate
from privacygauge.core.seeds import stream
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate import evaluation
from privacygauge.evaluate.rate_at_fpr import FPRS, tpr_at_fpr
from privacygauge.evaluate.roc import roc
from privacygauge.report.attacks.records import records_frame, roc_frame
from privacygauge.report.attacks.tables import whisker
from privacygauge.report.render import files
from tests.report.example import ATTACKS, HOSTILE, example


@pytest.fixture(scope="module")
def findings() -> Audit:
    return example()


def test_one_row_a_record(findings: Audit) -> None:
    frame = records_frame(findings.records)
    titles = [e.title for e in findings.evaluations]
    assert list(frame) == [
        "id", "member", *(f"score:{t}" for t in titles), *(f"guess:{t}" for t in titles), "risk",
    ]  # fmt: skip
    assert len(frame) == 2000
    assert frame["id"].tolist()[: len(HOSTILE)] == list(HOSTILE)


def test_parquet_keeps_every_value(findings: Audit) -> None:
    written = files(findings.report())["records.parquet"]
    read = pd.read_parquet(io.BytesIO(written))
    np.testing.assert_array_equal(read["risk"], findings.records.risk)
    np.testing.assert_array_equal(read["member"], findings.records.member)
    assert files(findings.report())["records.parquet"] == written


def test_ids_that_are_no_utf8_and_a_missing_risk_are_written(findings: Audit) -> None:
    ids = np.array(["\udcff", 3, None, *map(str, range(1997))], dtype=object)
    odd = replace(findings, records=replace(findings.records, ids=ids, risk=None))
    frames = {"records.parquet": lambda: records_frame(odd.records)}
    written = files(replace(findings.report(), frames=frames))["records.parquet"]
    read = pd.read_parquet(io.BytesIO(written))
    assert read["id"].tolist()[:3] == ["?", "3", "None"]
    assert read["risk"].isna().all()
    whole = replace(findings, records=replace(findings.records, ids=np.arange(2000)))
    assert records_frame(whole.records)["id"].dtype == np.int64


def reading(curve: pd.DataFrame, fpr: float) -> float:
    return float(curve.loc[curve["fpr"] <= fpr + 1e-12, "tpr"].max())


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 20_000])
def test_thin_curves_give_the_same_readings(n: int) -> None:
    findings = example(n)
    text = roc_frame(findings.evaluations).to_csv(index=False)
    frame = pd.read_csv(io.StringIO(text))
    assert list(frame) == [
        "attack", "thresholds", "threshold", "true_positives", "false_positives", "tpr", "fpr",
    ]  # fmt: skip
    groups = frame.groupby(["attack", "thresholds"], sort=False)
    assert len(groups) == len(ATTACKS)
    for e, (_, curve) in zip(findings.evaluations, groups, strict=True):
        assert len(curve) <= evaluation.POINTS
        assert curve[["tpr", "fpr"]].iloc[[0, -1]].to_numpy().tolist() == [[0, 0], [1, 1]]
        assert curve["threshold"].iloc[0] == np.inf
        assert (curve["tpr"] - curve["fpr"]).max() == pytest.approx(np.max(e.roc.tpr - e.roc.fpr))
        for rate in e.tpr_at_fpr:
            assert reading(curve, rate.fpr) == rate.estimate.value
        area = float(np.trapezoid(curve["tpr"], curve["fpr"]))
        assert area == pytest.approx(e.auc.value, abs=2e-3)


@pytest.mark.parametrize("n_in", [3, 50, 7000])
def test_a_lonely_corner_survives(n_in: int) -> None:
    # All members lie between two of very many non-members: the curve is one step.
    rng = stream(0, "corner")
    score = np.concatenate([np.full(n_in, 0.7) + rng.random(n_in) * 1e-9, rng.random(30_000)])
    curve = roc(Transcript(score, np.arange(len(score)) < n_in))
    kept = evaluation.kept_points(curve)
    assert len(kept) <= evaluation.POINTS
    fine = np.linspace(0, 1, 5001)
    full = np.interp(fine, curve.fpr, curve.tpr)
    thin = np.interp(fine, curve.fpr[kept], curve.tpr[kept])
    assert np.mean(np.abs(full - thin)) < 2e-3
    for fpr in FPRS:
        hits = curve.true_positives[kept][curve.fpr[kept] <= fpr + 1e-12].max()
        assert hits / n_in == tpr_at_fpr(curve, fpr).estimate.value


def test_few_points_are_all_kept() -> None:
    curve = roc(Transcript(np.array([1.0, 1.0, 0.0, 0.5]), np.array([True, False, True, False])))
    np.testing.assert_array_equal(evaluation.kept_points(curve), np.arange(4))


def test_score_shares_count_every_record(findings: Audit) -> None:
    shares = evaluation.score_shares(findings.headline.attack)
    assert shares.members.sum() == pytest.approx(1)
    assert shares.nonmembers.sum() == pytest.approx(1)
    discrete = evaluation.score_shares(
        next(e for e in findings.evaluations if e.title == "correctness (global)")
    )
    assert np.count_nonzero(discrete.members) == 2


@given(st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3).map(sorted))
def test_an_accuracy_stands_on_its_line_in_proportion(values: list[float]) -> None:
    """The line runs from 40% to 100%, so that guessing is at a sixth of it."""
    low, value, high = values
    drawn = whisker(Estimate(value, low, high, 0.95, 100, "exact"))
    assert drawn.chance == pytest.approx(100 / 6, abs=0.01)
    ends = [max(0.0, (x - 0.4) / 0.6) for x in values]
    assert [drawn.low, drawn.value, drawn.high] == pytest.approx([100 * x for x in ends], abs=0.01)
