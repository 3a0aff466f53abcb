"""Rows of one person are recognised by what stays the same, and others are not."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from privacygauge.evaluate.detectable import smallest_average
from privacygauge.evaluate.tail import tail
from privacygauge.report.attacks.verdict import DETECTABLE, TOO_FEW
from privacygauge.tables.frames import read_table
from privacygauge.tables.released.people import constant_columns, rows_of_people, with_people
from privacygauge.tables.released.shared_rare_values import ranked_in_common, rows_in_common
from privacygauge.tables.released.tables import read_together, stack_tables
from privacygauge.tables.released_audit.audit import audit_released
from tests.tables.released.made_released import people
from tests.tables.released.test_unlikely import patients
from tests.thorough import times


def visits(rng, n, each=3):
    """Return n visits of people whose age, sex, code and town stay the same."""
    person = np.repeat(np.arange(n), each)[:n]
    frame = patients(rng, n)
    same = frame[["age", "sex", "code", "post"]].iloc[person].reset_index(drop=True)
    return frame.assign(**same).iloc[rng.permutation(n)].reset_index(drop=True), person


def histories(rng, n_people, each=8):
    """Return histories of a date and a few plain values, and the person behind each row."""
    person = np.repeat(np.arange(n_people), each)
    n = len(person)
    start = np.repeat(rng.integers(0, 1000, n_people), each)
    gaps = rng.integers(1, 30, (n_people, each)).cumsum(axis=1).ravel()
    weight = np.repeat(rng.normal(70, 12, n_people), each) + rng.normal(0, 1, n)
    frame = pd.DataFrame(
        {
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(start + gaps, "D"),
            "glucose": rng.normal(100, 30, n).round(),
            "weight": weight.round(),
            "ward": rng.choice(list("abcd"), n),
        }
    )
    return frame, person


def with_histories_moved(seed, n_people, copied):
    """Return tables whose release holds some people's rows, all dates moved by as many days."""
    rng = np.random.default_rng(seed)
    real, person = histories(rng, n_people)
    made, holdout = (histories(rng, n_people)[0] for _ in range(2))
    moved = real[person < copied]
    days = rng.integers(-200, 200, n_people)[person[person < copied]]
    moved = moved.assign(day=moved["day"] + pd.to_timedelta(days, "D"))
    made = pd.concat([moved, made[person >= copied]]).sample(frac=1, random_state=seed)
    tables = read_together(real, made.reset_index(drop=True), holdout)
    return replace(tables, unit=person, holdout_unit=n_people + person)


def people_shown(tables, seed):
    """Return how many people stand out by their rows in common with the table, dates aside."""
    found = ranked_in_common(tables, np.random.default_rng(seed))
    by_person = [one for one in found.rankings if "a person's rows" in one[0]]
    return tail(by_person, np.random.default_rng(seed)).exposed


@pytest.mark.parametrize("copied", [0, 8])
def test_histories_whose_dates_were_moved_are_copies_of_people(copied):
    games = times(10)
    shown = [people_shown(with_histories_moved(seed, 150, copied), seed) for seed in range(games)]
    if copied:
        assert sum(n > 0 for n in shown) > 0.8 * games
        assert max(shown) <= copied
    else:
        assert sum(n > 0 for n in shown) <= 0.05 * games + 3 * np.sqrt(0.05 * games)


def test_rows_of_a_person_in_common_as_a_loop_says():
    tables = with_histories_moved(0, 12, 3)
    everyone = stack_tables(tables.real, tables.holdout)
    unit = np.concatenate(tables.units)
    found = rows_in_common(everyone, tables.synthetic, unit)
    made = [tuple(row[1:]) for row in tables.synthetic.values.tolist()]
    rows = []
    for row in everyone.values.tolist():
        count = made.count(tuple(row[1:]))
        rows.append(np.log(len(made) / count) if count else 0.0)
    for person in np.unique(unit):
        mean = np.mean(np.array(rows)[unit == person])
        np.testing.assert_allclose(found[unit == person], mean, rtol=1e-12)
    assert rows_in_common(everyone, tables.synthetic, np.arange(len(everyone))) is None


def both(*frames):
    values = read_table(pd.concat(frames, ignore_index=True)).values
    return values, np.arange(len(values)) < len(frames[0])


def test_people_are_recognised_by_what_stays_the_same():
    rng = np.random.default_rng(0)
    values, member = both(visits(rng, 240)[0], visits(rng, 180)[0])
    columns = constant_columns(values, member)
    assert columns is not None
    assert set(columns) <= {0, 1, 2, 3}
    unit = rows_of_people(values, columns, member)
    assert 130 <= len(np.unique(unit)) <= 150
    assert not set(unit[member]) & set(unit[~member])


@pytest.mark.parametrize("of", [people, patients])
def test_rows_of_different_people_are_nobodys(of):
    for seed in range(times(6)):
        rng = np.random.default_rng(seed)
        values, member = both(of(rng, 300), of(rng, 150))
        assert constant_columns(values, member) is None


def test_drift_makes_no_people():
    rng = np.random.default_rng(0)
    real = patients(rng, 300)
    holdout = patients(rng, 300)
    holdout["day"] += pd.Timedelta(2000, "D")
    holdout["age"] += 90
    assert constant_columns(*both(real, holdout)) is None


def test_what_was_recognised_is_said_with_the_way_out():
    rng = np.random.default_rng(0)
    tables = read_together(visits(rng, 150)[0], patients(rng, 150), visits(rng, 150)[0])
    found, said = with_people(tables, None, None)
    assert len(np.unique(found.units[0])) <= 52
    assert any("--unit" in text for text in said)
    other, unsaid = with_people(tables, np.arange(150), np.arange(150, 300))
    assert len(np.unique(other.units[0])) == 150
    assert unsaid == []


def test_people_are_recognised_although_some_of_their_rows_are_equal() -> None:
    rng = np.random.default_rng(0)
    sides = []
    for n in (240, 180):
        frame = visits(rng, n)[0]
        # One row in twenty stands twice: equal rows alone would be taken for the whole answer.
        sides.append(pd.concat([frame, frame[: n // 20]], ignore_index=True))
    tables = read_together(sides[0], sides[0], sides[1])
    found, said = with_people(tables, None, None)
    assert found.unit is not None
    assert 70 <= len(np.unique(found.unit)) <= 90
    assert any("are taken for rows of one person" in line for line in said)


def shared_by_strangers(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Return people whose columns are each shared by many, and all together by few."""
    age = np.clip(rng.normal(40, 13, n), 17, 90).round().astype(int)
    shares = 0.5 ** np.arange(1, 9)
    return pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], n),
            "schooling": rng.choice(8, n, p=shares / shares.sum()).astype(str),
            "marital": np.where(rng.random(n) < (age > 30) * 0.8, "married", "single"),
            "region": rng.choice(list("abcdef"), n, p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.05]),
        }
    )


def seen_often(rng: np.random.Generator, people: int, each: int) -> pd.DataFrame:
    """Return visits of such people."""
    rows = shared_by_strangers(rng, people)
    frame = rows.loc[rows.index.repeat(each)].reset_index(drop=True)
    frame["pressure"] = rng.normal(120, 15, len(frame)).round()
    return frame.assign(cost=rng.gamma(2, 50, len(frame)).round(2))


@pytest.mark.parametrize(("people", "each"), [(300, 2), (250, 4), (100, 10), (60, 4)])
def test_people_are_recognised_by_many_columns_that_strangers_share(people: int, each: int) -> None:
    for seed in range(times(4)):
        rng = np.random.default_rng(seed)
        values, member = both(*(seen_often(rng, people, each) for _ in range(2)))
        columns = constant_columns(values, member)
        assert columns is not None
        assert set(columns) <= set(range(5))
        found = len(np.unique(rows_of_people(values, columns, member)))
        assert found <= 1.1 * 2 * people


def test_strangers_who_share_much_are_nobodys_rows() -> None:
    for seed in range(times(10)):
        rng = np.random.default_rng(seed)
        one, other, older = (seen_often(rng, n, 1) for n in (600, 400, 3_000))
        assert constant_columns(*both(one, other)) is None
        drawn = rng.choice(
            3_000, 600, p=np.exp(older["age"] / 10) / np.exp(older["age"] / 10).sum()
        )
        assert constant_columns(*both(older.iloc[np.unique(drawn)], other)) is None


def stays(rng, n_people):
    """Return visits of people of whom the birthday alone tells who they are."""
    person = np.repeat(np.arange(n_people), rng.poisson(3, n_people) + 1)
    n = len(person)
    born = np.datetime64("1940-01-01") + rng.integers(0, 60 * 365, n_people)
    weight = 1 / (np.arange(140) + 1.0)
    return pd.DataFrame(
        {
            "born": born[person].astype(str),
            "sex": rng.choice(["F", "M"], n_people)[person],
            "seconds": rng.integers(0, 3 * 365 * 86_400, n),
            "code": np.char.add("D", rng.choice(140, n, p=weight / weight.sum()).astype(str)),
            "days": rng.geometric(0.3, n),
            "cost": rng.gamma(2, 800, n).round(2),
        }
    )


@pytest.mark.parametrize("columns", [["born", "sex"], ["born"]])
def test_people_are_recognised_by_a_birthday_alone(columns: list[str]) -> None:
    for seed in range(times(6)):
        rng = np.random.default_rng(seed)
        frames = [stays(rng, 300)[[*columns, "seconds", "code", "days", "cost"]] for _ in range(2)]
        assert constant_columns(*both(*frames)) == (0,)


def test_days_of_other_years_are_no_people() -> None:
    for seed in range(times(6)):
        rng = np.random.default_rng(seed)
        frames = [stays(rng, 300).drop(columns="born") for _ in range(2)]
        for frame, first in zip(frames, (0, 400), strict=True):
            frame["day"] = first + rng.integers(0, 300, len(frame))
        assert constant_columns(*both(*frames)) is None


@pytest.mark.parametrize("named", [True, False])
def test_visits_of_too_few_people_are_told_how_many_would_be_enough(named: bool) -> None:
    """A column that names people is used, and said to be, where nobody named it."""
    rng = np.random.default_rng(0)
    tables = []
    for side in "rsh":
        frame = seen_often(rng, 100, 3)
        tables.append(frame.assign(person=[f"{side}{i // 3}" for i in range(300)]))
    unit = {"drop": ["person"], "unit": tables[0]["person"], "holdout_unit": tables[2]["person"]}
    found = audit_released(
        *tables, attempts=50, secrets=["sex"], label="sex", **(unit if named else {})
    )
    assert found.report().verdict.headline == TOO_FEW
    (said,) = (text for text in found.report().verdict.advice if "100 independent" in text)
    enough = int(re.search(r"about ([\d,]+) of them, and as many others", said)[1])
    assert smallest_average(enough, enough, found.headline.each) <= DETECTABLE
    assert smallest_average(enough - 10, enough - 10, found.headline.each) > DETECTABLE
    assert any("as with --unit person" in text for text in found.warnings) == (not named)


@pytest.mark.slow
def test_visits_of_other_people_are_no_leak_although_nobody_is_named() -> None:
    for seed in range(times(8)):
        rng = np.random.default_rng(seed)
        real, made, holdout = (stays(rng, 300) for _ in range(3))
        found = audit_released(real, made, holdout, attempts=100, seed=seed)
        assert found.report().verdict.grade.word in ("cannot be told", "no leak found")
        assert any("--unit" in warning for warning in found.warnings)
