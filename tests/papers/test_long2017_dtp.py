"""Figures 3, 6, 7 and 8 and Table 3 of Long et al. (2017), in forms that are quick."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from privacygauge.claims.dtp.indirect import nearest_example
from privacygauge.claims.dtp.measure import RemovalPath
from privacygauge.claims.dtp.nearest import NearestNeighbours
from privacygauge.claims.dtp.retrained import Variation
from privacygauge.classifiers.audit.candidates import audit_candidates
from privacygauge.classifiers.candidates import PerTargetDesign
from privacygauge.classifiers.ratios import log_ratio
from privacygauge.core.estimate import Skipped
from privacygauge.datasets.public import adult
from privacygauge.papers import Effort, long2017, long2017_figures
from privacygauge.papers.long2017 import (
    CLASSIFIERS,
    SmallData,
    leave_each_out,
    long_table3,
    small_data,
)
from privacygauge.papers.long2017_figures import (
    complete_adult,
    deviation,
    long_fig3,
    long_fig6,
    long_fig7,
    long_fig8,
    made_up,
    removal_numbers,
)
from tests.claims.dtp.honest import honest_without_at
from tests.thorough import only_thorough

QUICK = Effort(quick=True, n_jobs=1)


def ours(table, row, column):
    (cells,) = [known.cells for known in table.rows if known.label == row]
    return cells[column].ours


# Figure 3.


@pytest.fixture
def played(monkeypatch, data_folder):
    """Play few iterations with few candidates; keep what was found."""
    monkeypatch.setattr(long2017, "CANDIDATES", 80)
    kept = []

    def small(model, x, y, **options):
        fewer = {"iterations": 10, "n_targets": 8, "measurements": 10}
        kept.append(
            audit_candidates(model, x, y, **{**options, **fewer, "design": PerTargetDesign(1, 1)})
        )
        return kept[0]

    monkeypatch.setattr(long2017_figures, "audit_candidates", small)
    return kept


@pytest.mark.slow
def test_figure_3_averages_the_first_measurements(played):
    table = long_fig3(QUICK)
    (found,) = played
    (accuracy,) = found.per_target.values()
    assert [row.label for row in table.rows] == [f"mean of {m}" for m in (1, 2, 5, 10)]
    published = [row.cells["correlation"].published for row in table.rows]
    assert published == [None, None, None, 0.9239]
    for number, row in zip((1, 2, 5, 10), table.rows, strict=True):
        mean = found.measured[:number].mean(axis=0)
        expected = stats.pearsonr(accuracy.accuracy, mean)
        interval = expected.confidence_interval(0.95)
        cell = row.cells["correlation"].ours
        assert_allclose(
            (cell.value, cell.low, cell.high), (expected.statistic, *interval), rtol=1e-9
        )
        assert cell.n == 8
    assert any("stands in for the purchase data" in note for note in table.notes)


# Figure 6.


def test_figure_6_is_said_in_numbers():
    path = RemovalPath(
        removed=np.array([7, 3, 4, 9, 1]),
        highest=np.array([3.0, 0.6, 2.9, 0.5, 0.55, 2.0]),
        value=np.array([3.0, 0.6, 2.9, 0.5, 0.55]),
        before=np.array([np.nan, 0.6, 0.6, 0.5, 0.5]),
        order="initial",
    )
    assert removal_numbers(path) == {
        "DTP": 3.0,
        "after one removal": 0.6,
        "at the best stopping point": 0.6,
        "removals until then": 1.0,
        "highest afterwards": 2.9,
        "rises": 2.0,  # to 2.9 and to 2.0; 0.05 is none
        "groups that shield each other": 1.0,  # 3 and 4
        "records in them": 2.0,
    }


@pytest.mark.slow
def test_figure_6_has_a_saw(monkeypatch, data_folder):
    monkeypatch.setattr(long2017_figures, "MADE_UP", 400_000)
    told = []
    table = long_fig6(replace(QUICK, progress=lambda *n: told.append(n)))
    assert told[-1] == (6, 6)
    json.loads(table.to_json())  # no infinite number
    by_label = {row.label: row.cells for row in table.rows}
    for data, alpha in (("Adult", "0.05"), ("Adult", "1"), ("made up", "0.05")):
        first, again = (
            by_label[f"{data}, alpha {alpha}, {order} order"] for order in ("initial", "recomputed")
        )
        assert first["DTP"].published == 3.09
        assert all(cell.published is None for cell in again.values())
        assert first["DTP"].ours == again["DTP"].ours
        # The riskiest is the first of the list, whatever the order.
        assert first["after one removal"].ours == again["after one removal"].ours
        # No more than a lone value in each of the four attributes.
        assert first["DTP"].ours.value < 4 * np.log(1 + 1 / float(alpha)) + 1e-3
        assert first["rises"].ours.value >= 3
    for data in ("Adult", "made up"):
        cells = by_label[f"{data}, alpha 0.05, initial order"]
        best, after = (
            cells[name].ours.value for name in ("at the best stopping point", "highest afterwards")
        )
        assert best < 1 < 2.9 < after


@pytest.mark.slow
def test_records_of_infinite_dtp_are_the_last_of_their_class_with_a_value(data_folder):
    people = complete_adult()
    assert len(people.income) == 45_222
    alone = np.zeros(len(people.income), bool)
    for column in people.codes.T:
        _, place, number = np.unique(
            np.column_stack([column, people.income]),
            axis=0,
            return_inverse=True,
            return_counts=True,
        )
        alone |= (number == 1)[place.ravel()]
    row = long2017_figures._row_without_smoothing(people)
    assert row.cells["records of infinite DTP"].ours.value == alone.sum() > 0
    assert isinstance(row.cells["DTP"].ours, Skipped)


@pytest.mark.slow
def test_made_up_people_are_drawn_from_adult_but_for_the_rare_ages(data_folder):
    people = made_up(20_000, np.random.default_rng(0))
    assert people.codes.shape == (20_045, 4)
    assert people.sizes == (100, 5, 9, 2)
    assert (people.codes < people.sizes).all()
    assert (people.codes >= 0).all()
    ages, numbers = np.unique(people.codes[people.codes[:, 0] > 90, 0], return_counts=True)
    assert dict(zip(ages.tolist(), numbers.tolist(), strict=True)) == {
        90 + k: k for k in range(1, 10)
    }
    assert (people.income[people.codes[:, 0] > 90] == 1).all()
    frame = adult()
    frame = frame[~frame.eq("?").any(axis=1)]
    # Shares within five standard errors.
    for drawn, share in (
        (people.income[:20_000], frame["income"].mean()),
        (people.codes[:20_000, 3], (frame["sex"] == "Male").mean()),
        (people.codes[:20_000, 1] == 4, (frame["marital-status"] == "Never-married").mean()),
    ):
        assert abs(drawn.mean() - share) < 5 * np.sqrt(share * (1 - share) / 20_000)


# Figures 7 and 8.


def test_the_interval_of_a_deviation_is_that_of_normal_values():
    values = np.random.default_rng(0).normal(3, 2, size=30)
    found = deviation(values, 0.9)
    quantiles = stats.chi2.ppf([0.95, 0.05], 29)
    assert found.value == pytest.approx(values.std(ddof=1))
    expected = found.value * np.sqrt(29 / quantiles)
    assert_allclose((found.low, found.high), expected, rtol=1e-9)
    assert found.n == 30


def test_the_interval_of_a_deviation_covers():
    rng = np.random.default_rng(1)
    found = [deviation(values) for values in rng.normal(0, 2, size=(2_000, 10))]
    held = np.mean([e.low <= 2 <= e.high for e in found])
    assert abs(held - 0.95) < 5 * np.sqrt(0.95 * 0.05 / 2_000)


def test_an_individuals_own_effect_is_measured_in_deviations():
    spread = np.array([0.3, 0.5, 0.7])
    one = Variation(5, 1, spread, np.array([0.4, 0.5, 0.6]), with_it=0.8, without=0.5)
    cells = {k: c.ours for k, c in long2017_figures.variation_cells(one, spread).items()}
    assert cells["deviation"].value == pytest.approx(0.2)
    assert cells["own effect"].value == pytest.approx(0.3)
    ratio = cells["own effect in deviations"]
    assert ratio.value == pytest.approx(one.stands_out) == pytest.approx(1.5)
    assert ratio.low == pytest.approx(0.3 / deviation(spread).high)


@pytest.mark.slow
@pytest.mark.torch
def test_figures_7_and_8_show_one_individual_of_each_class(monkeypatch, data_folder, tmp_path):
    pytest.importorskip("torch")
    monkeypatch.setattr(long2017_figures, "STEPS", 50)  # one epoch
    for make in (long_fig7, long_fig8):  # of the same networks
        table = make(replace(QUICK, run=tmp_path / make.__name__))
        assert [row.label for row in table.rows] == ["low salary", "high salary"]
        for row in table.rows:
            assert 0 < row.cells["prediction"].ours.value < 1
            assert row.cells["deviation"].ours.n == 10
            assert 0 < row.cells["deviation"].ours.value < 0.5
            assert all(cell.published is None for cell in row.cells.values())


# Table 3.


def kinds(data):
    return [(known.label, known.learner(data)) for known in CLASSIFIERS]


def test_every_answer_of_a_small_training_set_is_that_of_an_honest_refit():
    """At every query, own or not; queries without an answer show nothing."""
    rng = np.random.default_rng(0)
    for number in range(4):
        data = small_data(number, rng)
        everyone = np.arange(len(data.y))
        for label, learner in kinds(data):
            told = learner.fit(data.x, data.y, n_classes=2).log_p(data.queries)
            again = honest_without_at(learner, data.x, data.y, everyone, data.queries, 2)
            shown = leave_each_out(learner, data)
            place = [data.queries.tolist().index(row) for row in data.x.tolist()]
            for i in everyone:
                known = ~np.isnan(again[i]).any(axis=1) & ~np.isnan(told).any(axis=1)
                expected = log_ratio(told[known], again[i][known]).max(initial=0)
                assert shown.largest[i] == pytest.approx(expected, abs=1e-9), label
                own = told[place[i], data.y[i]], again[i][place[i], data.y[i]]
                if shown.asked[i]:
                    assert np.isfinite(own).all()
                    assert shown.own[i] == pytest.approx(abs(own[0] - own[1]), abs=1e-9)
                elif label != "random decision trees":
                    assert not (own[0] > 0 and own[1] > 0)


def test_a_small_training_set_counts_its_records_like_a_loop():
    rng = np.random.default_rng(1)
    for number in range(20):
        data = small_data(number, rng)
        assert set(data.y.tolist()) == {0, 1}
        assert (data.x < data.sizes).all()
        assert len(data.queries) == np.prod(data.sizes)
        pairs = list(zip(data.x.tolist(), data.y.tolist(), strict=True))
        assert data.of_class.tolist() == [sum(y == label for _, y in pairs) for _, label in pairs]
        assert data.shared.tolist() == [
            [sum(y == label and x[j] == row[j] for x, y in pairs) for j in range(len(row))]
            for row, label in pairs
        ]
        assert data.n_min == min(sum(data.y == 0), sum(data.y == 1))


def test_table_3_counts_the_records_above_a_bound(monkeypatch):
    bayes, *_, nearest = CLASSIFIERS
    # Three equal records, two of one class: the other class's ratio is 3/2, above 4/3.
    data = SmallData(np.zeros((3, 1), int), np.array([0, 0, 1]), (2,), 0)
    cells = long2017._cells(bayes, [data])
    assert cells["delta"].published == pytest.approx(4 / 3)
    assert cells["delta"].ours.value == 1.5
    above = cells["records above the printed bound"].ours
    assert above.value == 1.0  # the third is the last of its class: not asked
    assert cells["largest excess"].ours.value == pytest.approx(np.log(1.5) - np.log(4 / 3))
    assert cells["largest excess"].ours.n == 2
    assert cells["records above the proven bound"].ours.value == 0.0
    example = nearest_example(1)
    hidden = SmallData(example.x.astype(int) + 2, example.y, (6,), 0)
    shown = leave_each_out(NearestNeighbours(1), hidden)
    assert (shown.own[0], shown.largest[0], shown.asked[0]) == (0, np.inf, True)
    found = long2017._cells(nearest, [hidden])
    share = found["records that only other queries show"].ours
    assert share.value == 1 / shown.asked.sum()


@pytest.mark.slow
def test_table_3_has_a_row_for_every_classifier(monkeypatch):
    monkeypatch.setattr(long2017, "QUICK", 60)
    told = []
    table = long_table3(replace(QUICK, progress=lambda *n: told.append(n)))
    assert told[-1] == (len(CLASSIFIERS), len(CLASSIFIERS))
    assert [row.label for row in table.rows] == [known.label for known in CLASSIFIERS]
    json.loads(table.to_json())
    for label in ("Bayes inference", "naive Bayes", "naive Bayes, smoothing 1"):
        assert ours(table, label, "records above the printed bound").low > 0
        assert ours(table, label, "largest excess").value > 0.1
    for known in CLASSIFIERS[:-1]:
        assert ours(table, known.label, "records above the proven bound").value == 0
    assert ours(table, "nearest neighbours", "records that only other queries show").low > 0


@only_thorough
@pytest.mark.slow
def test_the_full_removal_can_be_made(data_folder):
    table = long_fig6(Effort(n_jobs=1))
    made = "made up, alpha 0.05, initial order"
    assert ours(table, made, "DTP").value == pytest.approx(3.09, abs=0.2)
    assert ours(table, made, "after one removal").value == pytest.approx(0.65, abs=0.05)
    assert ours(table, made, "highest afterwards").value == pytest.approx(3, abs=0.2)


@only_thorough
@pytest.mark.slow
def test_the_full_search_for_violations_can_be_made():
    table = long_table3(Effort(n_jobs=1))
    for known in CLASSIFIERS[:-1]:
        assert ours(table, known.label, "records above the printed bound").low > 0
        assert ours(table, known.label, "records above the proven bound").value == 0


@only_thorough
@pytest.mark.slow
def test_the_full_average_of_measurements_can_be_made(data_folder):
    table = long_fig3(Effort(n_jobs=1))
    one, ten, all_of_them = (
        ours(table, f"mean of {number}", "correlation") for number in (1, 10, 100)
    )
    assert one.value < ten.value
    assert ten.low > 0.9
    assert abs(ten.value - all_of_them.value) < 0.05  # stable from about ten on


@only_thorough
@pytest.mark.slow
@pytest.mark.torch
def test_the_full_variation_can_be_made(data_folder):
    pytest.importorskip("torch")
    for make in (long_fig7, long_fig8):
        for row in make(Effort(n_jobs=1)).rows:
            assert row.cells["deviation"].ours.n == 100
            assert row.cells["own effect in deviations"].ours.high < 1
