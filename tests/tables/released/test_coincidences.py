"""A handful of copied addresses, timestamps or phrases is a leak, whatever share of the table."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, poisson

from privacygauge.tables.released.coincidences import (
    most_by_chance,
    shared_runs,
    shared_values,
    values_of_one,
)
from privacygauge.tables.released.named import TextColumn
from privacygauge.tables.released.tables import ReleasedTables, read_together
from privacygauge.tables.released_audit.audit import audit_released
from tests.tables.released.made_released import released
from tests.thorough import times

WORDS = np.array([f"{a}{b}" for a in "bdfgklmnprst" for b in ("an", "el", "or", "ist", "um", "ay")])


def people(rng, n):
    """Return people with an address, a phone, a moment, an amount that is often round, a note."""
    rank = np.arange(1, len(WORDS) + 1)
    lengths = rng.integers(15, 40, n)
    notes = [" ".join(rng.choice(WORDS, k, p=(1 / rank) / (1 / rank).sum())) for k in lengths]
    moment = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(365 * 86_400, size=n), "s")
    round_pay = rng.random(n) < 0.05
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "town": rng.choice(["Paris", "Rome", "Oslo"], n),
            "pay": np.where(round_pay, rng.integers(9, 99, n) * 100, rng.gamma(2, 2e3, n)).round(2),
            "mail": [f"{rng.choice(WORDS)}{rng.integers(10**6)}@mail.com" for _ in range(n)],
            "phone": [f"+1-{a}-{b}" for a, b in rng.integers(100_000, 999_999, (n, 2))],
            "seen": moment.strftime("%Y-%m-%d %H:%M:%S"),
            "note": notes,
        }
    )


def found(real, made, holdout):
    tables = read_together(real, made, holdout)
    return [
        *shared_values(tables, 0.95),
        *shared_runs(tables, np.random.default_rng(0), 0.95),
    ]


PLANTS = {
    "mail": ("mail", lambda x: x.str.upper(), 9),
    "phone": ("phone", lambda x: x.str.replace("+1-", "").str.replace("-", ""), 9),
    "seen": ("seen", lambda x: x, 10),
    "note in a frame": ("note", lambda x: "Patient note: " + x + " Thank you.", 10),
    "first half of a note": ("note", lambda x: x.str[: 2 * 30], 10),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_few_copied_values_are_found_and_no_others(name):
    column, written, k = PLANTS[name]
    rng = np.random.default_rng(1)
    real, made, holdout = (people(rng, 500) for _ in range(3))
    made.loc[: k - 1, column] = written(real[column].iloc[:k]).to_numpy()
    if name == "phone":  # the others are written alike
        made["phone"] = written(made["phone"])
    shown = found(real, made.sample(frac=1, random_state=0), holdout)
    assert {one.column for one in shown} == {column}
    assert set(shown[0].rows) >= set(range(k - 1))
    assert len(shown[0].rows) <= k + 1


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.77, 0.9])
def test_splits_of_coincidences_are_kept_by_chance_in_less_than_one_table_in_a_hundred(share):
    """Whatever the number of coincidences that a generator makes with people of both sides."""
    counts = np.arange(400)
    real = counts[:, None]
    met = counts[None]
    kept = binom.sf(real - 1, real + met, share) <= most_by_chance(met)
    for mean in np.geomspace(0.5, 250, 60):
        of_real, of_holdout = (poisson.pmf(counts, mean * x) for x in (share, 1 - share))
        assert of_real @ kept @ of_holdout <= 0.01


def addresses(rng, n):
    return np.array([f"a{x}@mail" for x in rng.integers(10**15, size=n)], object)


def with_addresses(real, made, holdout):
    """Return tables of 700 rows beside a column of addresses."""
    text = TextColumn("mail", real, made, holdout, is_free=False)
    tables = released(np.random.default_rng(0), 700)
    return ReleasedTables(tables.real, tables.synthetic, tables.holdout, texts=(text,))


@pytest.mark.parametrize("k", [6, 9])
def test_six_addresses_of_seven_hundred_are_found_where_the_holdout_has_none(k):
    rng = np.random.default_rng(3)
    real, made, holdout = (addresses(rng, 700) for _ in range(3))
    made[:k] = real[:k]
    [shown] = [one for one in shared_values(with_addresses(real, made, holdout), 0.95)
               if one.column == "mail"]  # fmt: skip
    assert list(shown.rows) == list(range(k))


def test_a_generator_that_meets_anybody_s_address_is_no_leak():
    """Of people who have no address in common among themselves: the hardest of such tables."""
    games = times(300)
    mean = 3.5
    tables = with_addresses(*(addresses(np.random.default_rng(4), 700) for _ in range(3)))
    [column] = tables.texts
    alarms = 0
    for seed in range(games):
        rng = np.random.default_rng([seed, 5])
        sides = [column.real.copy(), column.holdout.copy()]
        for side in sides:
            met = rng.random(700) < mean / 700
            side[met] = rng.choice(column.synthetic, met.sum(), replace=False)
        text = TextColumn("mail", sides[0], column.synthetic, sides[1], is_free=False)
        met = ReleasedTables(tables.real, tables.synthetic, tables.holdout, texts=(text,))
        alarms += any(one.column == "mail" for one in shared_values(met, 0.95))
    assert alarms <= binom.ppf(0.999, games, 0.01)


@pytest.mark.parametrize("rounder", [False, True])
def test_tables_of_other_people_share_nothing_beyond_chance(rounder):
    alarms = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        real, made, holdout = (people(rng, 150) for _ in range(3))
        if rounder:  # amounts of a generator that likes round numbers
            made["pay"] = (made["pay"] / 100).round() * 100
        alarms += bool(found(real, made, holdout))
    assert alarms <= 1


def patients(rng, n):
    """Return people with a diagnosis of eight frequent ones, a day and a measure that differ."""
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "diagnosis": rng.choice(list("ABCEFIJK"), n),
            "day": rng.integers(1000, size=n),
            "measure": rng.normal(27, 5, n).round(1),
            "cost": rng.gamma(2, 2e3, n).round(2),
        }
    )


def test_ten_codes_of_one_person_each_are_found_and_nothing_where_there_are_none():
    alarms = 0
    games = times(30)
    for seed in range(games):
        rng = np.random.default_rng(seed)
        real, made, holdout = (patients(rng, 1500) for _ in range(3))
        alarms += any(values_of_one(read_together(real, made, holdout), 0.998))
        codes = [f"Q{90 + i}.9" for i in range(10)]
        real.loc[:9, "diagnosis"] = codes
        made.loc[5:14, "diagnosis"] = codes
        [shown] = values_of_one(read_together(real, made, holdout), 0.998)
        assert shown.column == "diagnosis"
        assert list(shown.rows) == list(range(10))
        assert 1 <= shown.people.low * 1500 <= 10
        assert shown.people.value == pytest.approx(10 / 1500)
        holdout.loc[:9, "diagnosis"] = codes[::-1]  # the table knows a code of anybody
        assert not any(values_of_one(read_together(real, made, holdout), 0.998))
    assert alarms <= binom.ppf(0.999, games, 0.002)


def test_values_of_one_person_need_a_holdout():
    rng = np.random.default_rng(0)
    assert not any(values_of_one(read_together(patients(rng, 200), patients(rng, 200)), 0.95))


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_who_is_real_is_a_draw_whatever_the_table_holds(rows, share):
    """Tables that know some or all of anybody's values, and people of several rows alike."""
    rng = np.random.default_rng([rows, round(10 * share)])
    games = times(400)
    error = 0.05
    n = 240
    people = patients(rng, n * rows)
    # Rows of one person follow each other, and have rare values or frequent ones together.
    rare = np.repeat(rng.random(n) < 0.1, rows)
    people.loc[rare, "diagnosis"] = [f"Q{i}" for i in range(rare.sum())]
    made = patients(rng, n * rows)
    made["diagnosis"] = people["diagnosis"].to_numpy()
    made.loc[: n // 2, "cost"] = people["cost"].loc[: n // 2]
    tables = read_together(people, made, people)
    alarms = 0
    for _ in range(games):
        is_real = rng.permutation(n) < share * n
        sides = [np.flatnonzero(np.repeat(side, rows)) for side in (is_real, ~is_real)]
        dealt = ReleasedTables(
            tables.real[sides[0]],
            tables.synthetic,
            tables.real[sides[1]],
            unit=sides[0] // rows,
            holdout_unit=sides[1] // rows,
        )
        alarms += any(values_of_one(dealt, 1 - error))
    assert alarms <= binom.ppf(0.999, games, error)


def test_columns_drawn_from_real_values_tell_whose_they_are_by_those_of_one_person():
    rng = np.random.default_rng(8)
    real, holdout = (patients(rng, 1000) for _ in range(2))
    made = real.apply(lambda values: rng.choice(values, 1000))
    shown = {one.column: one for one in values_of_one(read_together(real, made, holdout), 0.998)}
    assert set(shown) == {"cost", "measure", "day"}  # nobody has an age alone
    in_table = np.isin(real["cost"], made["cost"])
    people = shown["cost"].people
    assert 0.5 < people.low <= people.value <= people.high <= in_table.mean()


def test_names_need_no_holdout_where_many_are_copied():
    rng = np.random.default_rng(2)
    real = people(rng, 500)
    made = people(rng, 500)
    made.loc[:49, "mail"] = real["mail"].iloc[:50].to_numpy()
    [shown] = found(real, made, None)
    assert shown.column == "mail"
    assert len(shown.rows) == 50
    assert not found(real, people(rng, 500), None)


@pytest.fixture(scope="module")
def real_sentences(data_folder):
    """Return sentences of real notes, by part; no note is in two of them."""
    parts = {}
    for part in ("member", "nonmember", "reference"):
        with gzip.open(data_folder / f"mtsamples_{part}.jsonl.gz", "rt") as lines:
            parts[part] = np.array([json.loads(line)["text"] for line in lines], object)
    return parts


def tables_of_sentences(rng, sentences, n):
    """Return a real table, a synthetic one and a holdout with a sentence in each row."""
    tables = []
    for part in ("member", "reference", "nonmember"):
        table = people(rng, n)[["age", "town"]]
        table["stay"] = rng.poisson(4, n)
        tables.append(table.assign(note=rng.choice(sentences[part], n, replace=False)))
    return tables


@pytest.mark.parametrize(
    ("frame", "n_holdout"),
    [("Summary: {}", 600), ("He was seen today. {} Home tomorrow.", 150), ("Summary: {}", 0)],
)
def test_eight_real_sentences_between_other_words_are_found(real_sentences, frame, n_holdout):
    """Sentences of other people share phrases, but hardly ever a whole sentence."""
    seen = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        real, made, holdout = tables_of_sentences(rng, real_sentences, 600)
        made.loc[:7, "note"] = [frame.format(text) for text in real["note"][:8]]
        others = holdout[:n_holdout] if n_holdout else None
        shown = found(real, made.sample(frac=1, random_state=0), others)
        seen += any(set(one.rows) >= set(range(6)) for one in shown)
        assert all(len(one.rows) <= 10 for one in shown)
    assert seen >= 4


@pytest.mark.parametrize("n_holdout", [600, 150, 0])
def test_real_sentences_of_other_people_share_nothing_beyond_chance(real_sentences, n_holdout):
    alarms = 0
    games = times(12)
    for seed in range(games):
        rng = np.random.default_rng(seed)
        real, made, holdout = tables_of_sentences(rng, real_sentences, 600)
        # Several sentences in one text contain more of what anybody says.
        made["note"] = made["note"] + " " + rng.permutation(made["note"])
        alarms += bool(found(real, made, holdout[:n_holdout] if n_holdout else None))
    assert alarms <= max(1, binom.ppf(0.99, games, 0.03))


def test_three_long_notes_are_proof_without_a_holdout_and_parts_of_them_are_not():
    rng = np.random.default_rng(6)
    real = people(rng, 600)[["age", "town", "note"]].assign(stay=rng.poisson(4, 600))
    real["note"] = real["note"].str.cat(rng.permutation(real["note"]), " ")
    made = people(rng, 600)[["age", "town", "note"]].assign(stay=rng.poisson(4, 600))
    made.loc[:2, "note"] = "Summary: " + real["note"][:3]
    [shown] = found(real, made, None)
    assert set(shown.rows) == {0, 1, 2}
    assert shown.what == "have their whole note within one of a synthetic record"
    made.loc[:2, "note"] = real["note"][:3].str[:60]
    assert not found(real, made, None)


def test_as_many_copied_values_are_counted_as_chance_does_not_explain():
    """Costs of other people are equal now and then, and are in no lower bound."""
    rng = np.random.default_rng(5)

    def priced(n):
        return people(rng, n).assign(cost=rng.gamma(4.0, 300.0, n).round(2))

    for _ in range(5):
        real, holdout, others = (priced(900) for _ in range(3))
        made = pd.concat([real[:45], others[45:]], ignore_index=True)
        tables = read_together(real, made, holdout)
        shown = {one.column: one for one in shared_values(tables, 0.997)}["cost"]
        assert 30 <= shown.people.low * 900 <= 45 <= len(shown.rows)


@pytest.mark.slow
def test_the_headline_and_the_page_count_the_same_people():
    rng = np.random.default_rng(3)
    real, holdout, others = (people(rng, 900) for _ in range(3))
    made = pd.concat([real[:45], others[45:]], ignore_index=True)
    report = audit_released(real, made, holdout, attempts=50).report()
    (measured,) = (one.found for one in report.measures if one.name == "worst-records")
    assert 0 < measured <= 45
    assert report.verdict.headline == (
        "Moderate leak: 5.0% of the real records stand in the synthetic table as they are"
    )
    assert report.verdict.sentences[0].startswith("5.0% of the real records occur")
    (questions,) = (one for one in report.sections if one.name == "questions")
    assert f"at least {measured:.0f}" in str(questions)
