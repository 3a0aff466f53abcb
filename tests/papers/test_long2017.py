from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB

from privacygauge.classifiers.audit.candidates import audit_candidates
from privacygauge.classifiers.candidates import PerTargetDesign
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.by_target import PerTarget
from privacygauge.papers import Effort, long2017
from privacygauge.papers.long2017 import TABLE_1, TABLE_2, long_fig2, long_table1, long_table2
from tests.thorough import only_thorough


@pytest.fixture
def tiny(monkeypatch, data_folder):
    """Fewer candidates, and so few models of the kinds that are quick to train."""
    monkeypatch.setattr(long2017, "CANDIDATES", 80)
    kept = {label: TABLE_2[label] for label in ("NB-Purchase", "NB-Adult")}
    monkeypatch.setattr(long2017, "TABLE_2", kept)

    def small(model, x, y, **options):
        assert isinstance(options["design"], PerTargetDesign)
        fewer = {"iterations": 2, "n_targets": 4, "design": PerTargetDesign(1, 2)}
        return audit_candidates(model, x, y, **{**options, **fewer})

    monkeypatch.setattr(long2017, "audit_candidates", small)


@pytest.mark.slow
def test_table_2_puts_the_papers_numbers_beside_ours(tiny, tmp_path):
    told = []
    run = tmp_path / "long-table2"
    effort = Effort(quick=True, run=run, n_jobs=1, progress=lambda *n: told.append(n))
    table = long_table2(effort)
    assert [row.label for row in table.rows] == ["NB-Purchase", "NB-Adult"]
    for row in table.rows:
        paper = TABLE_2[row.label]
        published = {name: cell.published for name, cell in row.cells.items()}
        assert published == {
            "train accuracy": paper.train,
            "test accuracy": paper.test,
            "accuracy": paper.accuracy,
            "precision": paper.precision,
            "recall": paper.recall,
            "mean PDTP": paper.pdtp,
            "correlation": paper.correlation,
        }
        ours = row.cells["accuracy"].ours
        assert not isinstance(ours, Skipped)
        assert 0 <= ours.low <= ours.value <= ours.high <= 1
    assert any("stands in for the purchase data" in note for note in table.notes)
    assert any("Quick form" in note for note in table.notes)
    done, total = told[-1]
    assert done == total
    assert told == sorted(told)
    # Figures 4 and 5 find the models there.
    (kept,) = tmp_path.iterdir()
    assert sorted(path.name for path in kept.iterdir()) == ["NB-Adult", "NB-Purchase"]


@pytest.mark.slow
def test_table_1_has_one_row_an_attack(tiny, monkeypatch):
    monkeypatch.setattr(long2017, "network", lambda epochs: lambda state: BernoulliNB())
    table = long_table1(Effort(quick=True, n_jobs=1))
    assert [row.label for row in table.rows] == list(TABLE_1)
    for row in table.rows:
        assert list(row.cells) == ["accuracy", "precision", "recall", "correlation"]
        assert [cell.published for cell in row.cells.values()] == list(TABLE_1[row.label])


def test_figure_2_takes_the_best_attack_on_each_record(monkeypatch):
    """Two attacks that are right about other records; PDTP tells who the best one finds."""
    target = np.arange(6)
    one = [9, 9, 1, 1, 5, 5]
    other = [1, 1, 9, 9, 5, 5]
    found = SimpleNamespace(
        per_target={
            name: PerTarget(target, np.array(right), np.full(6, 10))
            for name, right in (("a", one), ("b", other))
        },
        measured=np.array([[2.0, 1.5, 1.2, 3.0, 0.1, 1.1]] * 2),
    )
    monkeypatch.setattr(long2017, "play_three_attacks", lambda effort: found)
    (row,) = long_fig2(Effort(share=0.5)).rows
    assert {name: cell.published for name, cell in row.cells.items()} == long2017.BEST
    # Five records have a PDTP above 1; the best attack is right nine times in ten about four.
    assert row.cells["above 0.8"].ours.value == pytest.approx(0.8)
    assert row.cells["above 0.8"].ours.n == 5
    best = np.maximum(one, other)
    expected = np.corrcoef(best, found.measured[0])[0, 1]
    assert row.cells["correlation"].ours.value == pytest.approx(expected)
    found.measured[:] = 0.5
    (row,) = long_fig2(Effort()).rows
    assert all(isinstance(cell.ours, Skipped) for cell in row.cells.values())


def test_a_part_has_fewer_cuts_and_never_fewer_than_enough():
    quick = (4, 8, 1)
    assert long2017.sizes(Effort(quick=True), quick) == quick
    assert long2017.sizes(Effort(), quick) == (100, 100, 10)
    assert long2017.sizes(Effort(share=0.5), quick) == (50, 50, 10)
    assert long2017.sizes(Effort(share=0.01), quick) == (10, 40, 10)


@pytest.mark.slow
def test_candidates_are_the_same_whatever_the_model(data_folder):
    for a, b in (("NB-Purchase", "LR-Purchase"), ("NN-Purchase", "LR-Purchase")):
        assert np.array_equal(
            long2017.model_and_candidates(a, 0)[1], long2017.model_and_candidates(b, 0)[1]
        )
    assert np.array_equal(
        long2017.model_and_candidates("NN-Adult", 0)[2],
        long2017.model_and_candidates("NB-Adult", 0)[2],
    )
    assert not np.array_equal(
        long2017.model_and_candidates("NB-Adult", 1)[1],
        long2017.model_and_candidates("NB-Adult", 0)[1],
    )
    for label in TABLE_2:
        _, x, y = long2017.model_and_candidates(label, 0)
        assert len(x) == len(y) == 2_000
        assert np.isfinite(x).all()
        assert set(np.unique(y)) == set(range(2 if "Adult" in label else 30))


def test_naive_bayes_of_adult_is_the_two_kinds_together(data_folder):
    """Normal densities and smoothed categories of scikit-learn; the prior counts once."""
    learner, x, y = long2017.model_and_candidates("NB-Adult", 0)
    cut = len(long2017.NUMBERS)
    assert "fnlwgt" not in long2017.NUMBERS  # section 5.1 leaves it out
    assert learner.categories[:cut] == (None,) * cut
    assert learner.alpha == 1
    codes = x[:, cut:].astype(int)
    rows = np.arange(len(y)) < 1_000
    found = np.exp(learner.fit(x[rows], y[rows], n_classes=2).log_p(x))
    p = GaussianNB().fit(x[rows, :cut], y[rows]).predict_proba(x[:, :cut])
    sizes = list(codes.max(axis=0) + 1)
    q = CategoricalNB(min_categories=sizes).fit(codes[rows], y[rows]).predict_proba(codes)
    expected = p * q / np.bincount(y[rows])
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), atol=1e-9)


@only_thorough
@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("make", [long_table1, long_table2])
def test_the_quick_form_can_be_made(make, data_folder):
    pytest.importorskip("torch")
    table = make(Effort(quick=True, n_jobs=1))
    assert all(not isinstance(row.cells["accuracy"].ours, Skipped) for row in table.rows)
