"""People and their visits: one record a person, as a loop over the people makes it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from privacygauge.errors import InputError
from privacygauge.synthetic.related import per_person


def made(rng, n=30):
    """Return people, some of them without a visit, and visits with gaps."""
    people = pd.DataFrame({"id": rng.permutation(n) + 100, "age": rng.integers(18, 90, n)})
    m = 3 * n
    visits = pd.DataFrame(
        {
            "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, m), "D"),
            "id": rng.choice(people["id"][:-4], m),
            "cost": np.round(rng.gamma(2.0, 50.0, m), 1),
            "ward": rng.choice(list("abc"), m),
        }
    )
    gaps = rng.random((m, 2)) < 0.3
    return people, visits.assign(
        cost=visits["cost"].mask(gaps[:, 0]), ward=visits["ward"].mask(gaps[:, 1])
    )


@pytest.mark.parametrize("seed", range(3))
def test_each_person_has_what_a_loop_finds(seed):
    people, visits = made(np.random.default_rng(seed))
    found, schema = per_person(people, visits, "id")
    assert schema.names == ("day", "cost", "ward")
    pd.testing.assert_frame_equal(found[["id", "age"]], people)
    for _, one in found.iterrows():
        own = visits[visits["id"] == one["id"]]
        assert one["rows"] == len(own)
        costs = own["cost"].dropna()
        wanted = [costs.min(), costs.mean(), costs.max()] if len(costs) else [np.nan] * 3
        np.testing.assert_allclose(
            [one[f"cost {x}"] for x in ("least", "mean", "largest")], wanted, rtol=1e-12
        )
        if len(own):
            days = (own["day"] - pd.Timestamp("1970-01-01")).dt.days
            assert (one["day least"], one["day largest"]) == (days.min(), days.max())
        counts = Counter(own["ward"].dropna())
        assert one["ward kinds"] == len(counts)
        best = sorted(counts, key=lambda x: (-counts[x], x))
        assert one["ward most frequent"] == best[0] if best else pd.isna(one["ward most frequent"])


def test_neither_the_order_of_rows_nor_the_keys_themselves_matter():
    rng = np.random.default_rng(4)
    people, visits = made(rng)
    found, schema = per_person(people, visits, "id")
    mixed = visits.sample(frac=1.0, random_state=1)
    named = [frame.assign(id="p" + frame["id"].astype(str)) for frame in (people, mixed)]
    again, _ = per_person(*named, "id", schema=schema)
    pd.testing.assert_frame_equal(found.drop(columns="id"), again.drop(columns="id"))


def test_what_is_a_number_in_the_real_table_is_one_in_others():
    people, visits = made(np.random.default_rng(5))
    _, schema = per_person(people, visits.assign(ward=1), "id", schema=None)
    found, _ = per_person(people, visits.assign(ward="3"), "id", schema=schema)
    assert found["ward mean"].dropna().unique().tolist() == [3.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, v: (p.drop(columns="id"), v), "key names 'id', which is not a column"),
        (lambda p, v: (p, v.drop(columns="id")), "key names 'id', which is not a column"),
        (lambda p, v: (p.assign(id=1), v), "must name each person once, got 1 in row 1"),
        (lambda p, v: (p, v.assign(id=7)), "must name a person, got 7 in row 0"),
        (lambda p, v: (p.assign(rows=1), v), "column 'rows' is in both tables"),
    ],
)
def test_keys_that_do_not_fit_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        per_person(*change(*made(np.random.default_rng(0))), "id")
