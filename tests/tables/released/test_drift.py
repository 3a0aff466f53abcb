"""Values of another time in the holdout are no leak, and hide none."""

from __future__ import annotations

import numpy as np
import pandas as pd

from privacygauge.report.grades import LARGE, MODERATE, NONE, UNTOLD
from privacygauge.tables.released.drift import drifted_columns
from privacygauge.tables.released.people import with_people
from privacygauge.tables.released.tables import read_together
from privacygauge.tables.released_audit.audit import audit_released
from tests.thorough import times


def seen(rng, n, codes):
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["m", "f"], n),
            "score": rng.normal(50, 10, n).round(1),
            "fee": rng.gamma(2, 300, n).round(),
        }
    )
    return frame.assign(physician=[f"P{code:03d}" for code in rng.choice(codes, n)])


def release(rng, n, new):
    """Return a release of other people, and a holdout in which some of 300 physicians are new."""
    then = np.arange(300)
    later = np.concatenate([then[new:], 300 + np.arange(new)])
    return seen(rng, n, then), seen(rng, n, then), seen(rng, n, later)


def test_new_codes_are_noticed_and_no_leak():
    for seed in range(times(3)):
        real, made, holdout = release(np.random.default_rng(seed), 2000, 10)
        tables = read_together(real, made, holdout)
        assert drifted_columns(tables, np.random.default_rng(0)) == ("physician",)
        audit = audit_released(real, made, holdout, attempts=50, secrets=["sex"])
        assert audit.drifted == ("physician",)
        assert audit.report().data["drifted"] == ["physician"]
        assert audit.report().verdict.grade in (NONE, UNTOLD)


def test_other_people_have_no_drift():
    for seed in range(times(60)):
        rng = np.random.default_rng(seed)
        tables = read_together(*release(rng, 300, 0))
        assert drifted_columns(tables, np.random.default_rng(0)) == ()


def test_rows_of_one_person_count_once():
    rng = np.random.default_rng(0)
    sides = [frame.loc[frame.index.repeat(20)] for frame in release(rng, 60, 0)]
    tables = read_together(*(side.reset_index(drop=True) for side in sides))
    person = np.repeat(np.arange(60), 20)
    named = type(tables)(
        tables.real, tables.synthetic, tables.holdout, unit=person, holdout_unit=60 + person
    )
    assert drifted_columns(tables, np.random.default_rng(0)) != ()
    assert drifted_columns(named, np.random.default_rng(0)) == ()


def orders(seed, n):
    """Return lines of orders, each with what its article is like and costs."""
    articles = np.random.default_rng(7)
    weight = articles.lognormal(0, 1, 1000).round(3)
    height = articles.normal(20, 6, 1000).round(1)
    price = articles.lognormal(3, 1, 1000).round(2)
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, 1001) ** 0.7
    article = rng.choice(1000, n, p=share / share.sum())
    values = {"weight": weight, "height": height, "price": price}
    frame = pd.DataFrame({name: one[article] for name, one in values.items()})
    return frame.assign(
        quantity=1 + rng.poisson(0.5, n),
        age=rng.normal(45, 15, n).round(),
        channel=rng.choice(["web", "app", "store"], n),
    )


def staff(seed, n):
    rng = np.random.default_rng(seed)
    grade = rng.integers(1, 9, n)
    return pd.DataFrame(
        {
            "department": rng.choice(["sales", "research", "people", "works"], n),
            "grade": grade,
            "salary": (22000 + 6000 * grade + rng.normal(0, 2500, n)).round(-2),
            "bonus": rng.gamma(2, 1500, n).round(2),
            "sick": rng.poisson(4, n),
            "day": rng.integers(0, 7000, n),
        }
    )


def a_year_later(frame):
    return frame.assign(salary=(1.05 * frame["salary"]).round(-2), day=frame["day"] + 365)


def test_articles_of_another_price_are_no_people_and_no_leak():
    for seed in range(times(3)):
        real, made, holdout = (orders(3 * seed + i, 500) for i in range(3))
        holdout["price"] = (1.03 * holdout["price"]).round(2)
        tables, _ = with_people(read_together(real, made, holdout), None, None)
        assert len(np.unique(tables.units[0])) > 490
        assert drifted_columns(tables, np.random.default_rng(0)) == ("price",)
        audit = audit_released(real, made, holdout, attempts=200, secrets=["price", "channel"])
        assert "price" in audit.drifted
        told = audit.report().verdict
        assert told.grade == UNTOLD
        assert "price" in " ".join((told.headline, *told.sentences))


def test_a_leak_of_everybody_is_one_beside_a_holdout_of_another_year():
    for seed in range(times(3)):
        real, other, holdout = (staff(3 * seed + i, 500) for i in range(3))
        rng = np.random.default_rng(seed)
        noisy = real.assign(
            salary=(real["salary"] + rng.normal(0, 1000, 500)).round(-2),
            bonus=(real["bonus"] + rng.normal(0, 200, 500)).round(2),
            day=real["day"] + rng.integers(-90, 90, 500),
        ).sample(frac=1, random_state=seed)
        later = a_year_later(holdout)
        audit = audit_released(real, noisy, later, attempts=200, secrets=["grade"])
        told = audit.report().verdict
        assert audit.blind.auc.value > 0.5
        assert told.grade in (MODERATE, LARGE)
        if audit.differs or audit.drifted:
            assert "leak at least:" in told.headline
            assert any("cannot be told" in sentence for sentence in told.sentences)
        honest = audit_released(real, other, later, attempts=200, secrets=["grade"])
        assert honest.report().verdict.grade in (NONE, UNTOLD)


def sold(rng, n, shop=7):
    """Return sales of articles that a shop's number, brand, weight and price belong to."""
    of = np.random.default_rng(shop)
    article = rng.zipf(1.4, n) % 400
    return pd.DataFrame(
        {
            "article": [f"{shop}-{one:04d}" for one in article],
            "brand": of.choice([f"b{i}" for i in range(60)], 400)[article],
            "weight": of.lognormal(0, 1, 400).round(3)[article],
            "price": of.lognormal(3, 1, 400).round(2)[article],
            "quantity": 1 + rng.poisson(0.4, n),
            "store": rng.choice(list("abcdef"), n),
            "payment": rng.choice(["card", "cash"], n),
        }
    )


def test_equal_sales_are_of_different_people_where_all_prices_or_articles_are_others():
    for seed in range(times(3)):
        rng = np.random.default_rng(seed)
        real, made = sold(rng, 300), sold(rng, 300)
        dearer = sold(rng, 300)
        dearer["price"] = (1.07 * dearer["price"]).round(2)
        for holdout in (dearer, sold(rng, 300, shop=8)):
            tables, said = with_people(read_together(real, made, holdout), None, None)
            assert not said
            assert len(np.unique(tables.units[0])) == 300
        # Whoever's rows repeat in all of their values is one person, in another year too.
        twice = pd.concat([real.assign(who=rng.normal(size=300).round(6))] * 2)
        later = dearer.assign(who=rng.normal(size=300).round(6))
        beside = made.assign(who=rng.normal(size=300).round(6))
        tables, said = with_people(read_together(twice, beside, later), None, None)
        assert len(np.unique(tables.units[0])) == 300


def test_a_secret_that_drifted_is_not_inferred():
    real, made, holdout = release(np.random.default_rng(0), 2000, 30)
    audit = audit_released(real, made, holdout, attempts=20, secrets=["physician"])
    assert audit.drifted == ("physician",)
    assert not any(one.name == "inference" for one in audit.risks)
