"""Groundhog's features against slow loops."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from privacygauge.core.estimate import Skipped
from privacygauge.tables.attacks.summaries import Groundhog, table_summaries
from privacygauge.tables.generators.binning import Binning
from privacygauge.tables.table import Column, Schema, Table
from tests.tables.attacks.made_views import view_of


@pytest.fixture(params=[0.0, 0.3], ids=["whole", "missing"])
def view(request):
    rng = np.random.default_rng(3)
    return view_of(rng, n_cat=3, n_cont=2, shadows=5, n=11, missing=request.param, levels=30)[0]


def test_naive_features(view):
    found = table_summaries(view.schema, view.shadows, "naive")
    for row, table in zip(found, view.shadows, strict=True):
        wanted = []
        for column, values in zip(view.schema.columns, table.T, strict=True):
            if column.is_number:
                there = pd.Series(values).dropna()
                wanted += [there.mean(), there.median(), there.var(ddof=0)]
            else:
                counts = Counter(sorted(values))
                most = max(counts, key=counts.get)
                least = min(counts, key=counts.get)
                wanted += [len(counts), most, least]
        assert row == pytest.approx(wanted)


def test_numbers_that_are_all_missing_are_summarised_as_0():
    schema = Schema((Column("x", "continuous", 0.0, 1.0, missing=True),))
    assert table_summaries(schema, np.full((1, 4, 1), np.nan), "naive").tolist() == [[0, 0, 0]]


def test_histograms(view):
    binning = Binning(view.schema)
    found = table_summaries(view.schema, view.shadows, "histogram")
    for row, table in zip(found, view.shadows, strict=True):
        codes = binning.codes(Table(view.schema, table))
        wanted = [
            np.count_nonzero(codes[:, j] == code)
            for j, size in enumerate(binning.sizes)
            for code in range(size)
        ]
        assert row == pytest.approx(np.array(wanted) / 11)


def test_an_end_of_the_range_may_be_rounded_to_the_outside():
    schema = Schema((Column("x", "continuous", -0.7, 0.1),))
    tables = np.array([[[0.1], [-0.7]]], np.float32)
    assert float(tables.max()) > 0.1
    assert table_summaries(schema, tables, "histogram")[0, [0, -1]].tolist() == [0.5, 0.5]


def test_correlations(view):
    found = table_summaries(view.schema, view.shadows, "correlations")
    for row, table in zip(found, view.shadows, strict=True):
        columns = []
        for column, values in zip(view.schema.columns, table.T, strict=True):
            if column.is_number:
                columns.append(np.where(np.isnan(values), np.nanmean(values), values))
            else:
                columns += [1.0 * (values == code) for code in range(column.n_codes)]
        wanted = []
        for i, a in enumerate(columns):
            for b in columns[i + 1 :]:
                constant = np.ptp(a) == 0 or np.ptp(b) == 0
                wanted.append(0.0 if constant else np.corrcoef(a, b)[0, 1])
        assert row == pytest.approx(wanted, abs=1e-6)


def test_too_many_pairs_of_categories_are_left_out_with_a_reason():
    view, _ = view_of(np.random.default_rng(0), n_cat=1, n_cont=0)
    many = Schema((Column("c", "categorical", categories=tuple(map(str, range(3000)))),))
    found = Groundhog("correlations").score(
        replace(view, schema=many, known=Table(many, view.known.values)), np.random.default_rng(0)
    )
    assert isinstance(found, Skipped)
    assert found.reason == "4,498,500 pairs of categories are too many to correlate"
