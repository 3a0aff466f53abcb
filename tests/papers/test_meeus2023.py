"""Tables and figures of Meeus et al. (2023): what they compare, and that they can be made."""

from __future__ import annotations

import numpy as np
import pytest

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.datasets.local_copies import SAMPLE, own_file
from privacygauge.papers import Effort, meeus2023, reproduction
from privacygauge.papers.meeus2023 import DATA, TABLE_2, TABLE_3, Size
from privacygauge.papers.page import results_in
from privacygauge.tables.attacks.density import ClosestDistance
from privacygauge.tables.attacks.meta import Screened
from privacygauge.tables.attacks.query_based import QueryBased
from tests.tables.made_tables import table_of
from tests.test_docs import ROOT
from tests.thorough import only_thorough

needs_the_data = pytest.mark.skipif(own_file(SAMPLE) is None, reason="the data are not available")
EVERY = ("meeus-table2", "meeus-fig3a", "meeus-fig3b", "meeus-fig4")


@pytest.fixture
def small(monkeypatch):
    """Play on a small made-up table, with one record of each kind."""
    table = table_of(np.random.default_rng(0), 150, 3, 2)
    monkeypatch.setattr(meeus2023, "DATA", {"Adult": lambda: table, "UK census": lambda: table})
    monkeypatch.setattr(meeus2023, "RECORDS", 25)
    monkeypatch.setattr(Size, "of", lambda effort: Size(1, 8, 4))
    monkeypatch.setattr(meeus2023, "QueryBased", lambda: QueryBased(meta=Screened(), most=2))
    monkeypatch.setattr(meeus2023, "census", lambda: (None, False))
    monkeypatch.setattr(meeus2023, "EPSILONS", (1.0, 100.0))


@pytest.mark.slow
def test_tables_are_made_once_for_both_attacks(small, tmp_path, monkeypatch):
    made = []
    audit = meeus2023.audit_synthetic
    monkeypatch.setattr(
        meeus2023,
        "audit_synthetic",
        lambda *given, **options: audit(
            *given, **{**options, "progress": lambda done, total: made.append(done)}
        ),
    )
    first = reproduction("meeus-table2").make(Effort(quick=True, run=tmp_path / "meeus-table2"))
    assert 0 in made
    made.clear()
    monkeypatch.setattr(meeus2023, "TargetAttention", ClosestDistance)
    third = reproduction("meeus-table3").make(Effort(quick=True, run=tmp_path / "meeus-table3"))
    assert 0 not in made
    assert len(first.rows) == len(third.rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_every_row_has_a_mean_and_a_deviation(small, name, tmp_path):
    made = reproduction(name).make(Effort(quick=True, run=tmp_path))
    assert made.name == name
    for row in made.rows:
        assert isinstance(row.cells["mean AUC"].ours, Estimate)
        assert isinstance(row.cells["deviation"].ours, Estimate | Skipped)
        median = row.cells["median AUC"].ours
        assert median.low <= median.value <= median.high
    labels = [row.label for row in made.rows]
    assert len(set(labels)) == len(labels)
    assert len(made.rows) == {"meeus-table2": 16, "meeus-fig4": 16}.get(name, 5)
    published = [row.cells["mean AUC"].published for row in made.rows]
    assert (None not in published) == (name == "meeus-table2")
    census = any("first 50,000 rows" in note for note in made.notes)
    assert census == any("UK census" in label for label in labels)


def test_the_published_numbers_are_ordered_as_the_paper_says():
    for published in (TABLE_2, TABLE_3):
        assert [len(means) for means in published.values()] == [4] * 4
        for data in DATA:
            for made_by in ("SynthPop", "BayNet"):
                means = [mean for mean, _ in published[data, made_by]]
                assert means.index(max(means)) == 3  # by distance
                assert means.index(min(means)) == 0  # at random
    # "7.2 percentage points" on average above the best of the other three, section 6.1.
    gaps = [
        by_distance[0] - max(mean for mean, _ in others)
        for *others, by_distance in TABLE_2.values()
    ]
    assert np.mean(gaps) == pytest.approx(0.072, abs=0.006)


@pytest.mark.slow
@needs_the_data
def test_the_tables_are_the_papers():
    adult, people = (DATA[name]() for name in ("Adult", "UK census"))
    assert len(adult) == 45_222
    assert len(adult.schema.numbers) == 6
    assert len(adult.schema.categorical) == 9
    assert len(people.schema.categorical) == 17


@needs_the_data
@only_thorough
@pytest.mark.slow
@pytest.mark.parametrize("name", [*EVERY, "meeus-table3"])
def test_the_quick_form_runs_on_the_papers_data(name):
    if name == "meeus-table3":
        pytest.importorskip("torch")
    made = reproduction(name).make(Effort(quick=True, n_jobs=2))
    assert all(isinstance(row.cells["mean AUC"].ours, Estimate) for row in made.rows)


def test_a_lead_is_paired_by_record():
    """Records that both ways chose cancel; the same ones differ by nothing, without doubt."""
    aucs = {3: 0.9, 1: 0.6, 7: 0.8}
    same = meeus2023.lead(aucs, dict(reversed(aucs.items())))
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)
    other = meeus2023.lead(aucs, {3: 0.9, 1: 0.6, 2: 0.5})
    assert other.value == pytest.approx(0.1)
    assert other.low < 0 < other.high
    apart = meeus2023.lead({1: 0.9, 2: 0.8}, {3: 0.4, 4: 0.5})
    assert apart.value == pytest.approx(0.4)


def test_the_settings_of_what_is_kept_are_those_of_the_kept_results():
    """A row about the full form is untrue of a result with fewer tables."""
    results = results_in(ROOT / "docs" / "results")
    kept = {name: one for name, one in results.items() if name.startswith("meeus-")}
    forms = {name: Effort(share=share).form for name, share in meeus2023.KEPT.items()}
    assert {name: one.form for name, one in kept.items()} == forms
    for name in kept:
        size = meeus2023.Size.of(Effort(share=meeus2023.KEPT[name]))
        tables = next(
            one for one in meeus2023.ENTRIES if one.about(name) and "in what is kept" in one.what
        )
        assert tables.ours == size.shadows
        assert f"{size.shadows} + {size.tests} tables" in " ".join(kept[name].table.notes)
    for name in ("meeus-table2", "meeus-fig4"):
        (queries,) = (
            one
            for one in meeus2023.ENTRIES
            if one.names == name and one.what.startswith("queries on the census")
        )
        tables = meeus2023.Size.of(Effort(share=meeus2023.KEPT[name])).shadows
        assert queries.ours == QueryBased().most_queries(tables)
