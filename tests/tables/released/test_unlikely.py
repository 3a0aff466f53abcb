"""Copies judged one by one: a rare one is proof, and what chance makes is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from privacygauge.report.grades import LARGE, NONE, UNTOLD
from privacygauge.tables.frames import read_table
from privacygauge.tables.generators.generator import BayNet, Marginals
from privacygauge.tables.released.copies import find_shared_records, lone_copies, rows_copied_alone
from privacygauge.tables.released.tables import ReleasedTables, read_together, stack_tables
from privacygauge.tables.released.unlikely import NEGLIGIBLE, log_chance, unlikely_copies
from privacygauge.tables.released_audit.audit import audit_released
from tests.tables.released.made_released import people
from tests.tables.released.test_overlap import common
from tests.thorough import quarter, times


def patients(rng, n):
    """Return records of a hospital: each is one of a kind by its cost and its day."""
    code = np.minimum(rng.geometric(0.02, n), 200)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 95, n),
            "sex": rng.choice(["f", "m"], n),
            "code": np.char.add("D", code.astype(str)),
            "post": rng.integers(1000, 1400, n).astype(str),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(1000, size=n), "D"),
            "stay": rng.geometric(0.2, n) + code % 7,
            "cost": (code * 20 + rng.gamma(2.0, 1500.0, n)).round(2),
        }
    )


def released(rng, n, copied, of_holdout=0, n_made=None):
    """Return tables with a release that holds so many real and holdout records as they are."""
    n_made = n if n_made is None else n_made
    real, holdout, made = (read_table(patients(rng, size)).to_frame() for size in (n, n, n_made))
    rows = [real[:copied], holdout[:of_holdout], made[copied + of_holdout :]]
    return read_together(real, pd.concat(rows, ignore_index=True), holdout)


def found(tables):
    return unlikely_copies(tables, find_shared_records(tables).real, 0.95, np.random.default_rng(0))


@pytest.mark.parametrize("n", [60, 300])
def test_one_patient_is_found_and_named(n):
    for seed in range(times(4)):
        one = found(released(np.random.default_rng(seed), n, 1))
        assert one.real.tolist() == [0]
        assert one.chance[0] <= NEGLIGIBLE / n
        assert len(one.holdout) == 0
        assert one.beyond.low == 1 / n


def test_copies_of_the_holdout_are_found():
    both = found(released(np.random.default_rng(0), 200, 3, of_holdout=2))
    assert sorted(both.real.tolist()) == [0, 1, 2]
    assert both.holdout.tolist() == [0, 1]


def test_the_larger_share_counts():
    few = found(released(np.random.default_rng(0), 400, 20, n_made=20))
    assert few.people.low == 20 / 400
    assert few.rows.low == few.beyond.low == 1.0


@pytest.mark.parametrize("categories", [2, 5, 8])
def test_a_copy_that_chance_makes_is_no_proof(categories):
    for seed in range(times(10)):
        everybody = common(np.random.default_rng(seed), 300, categories)
        sides = (everybody[np.arange(i * 100, (i + 1) * 100)] for i in range(3))
        assert len(found(ReleasedTables(*sides)).real) == 0


def test_a_price_list_makes_equal_costs():
    """A cost that code, stay and ward determine: rare by itself, and nothing new beside them."""
    for seed in range(times(4)):
        rng = np.random.default_rng(seed)
        n = 1200
        code, stay, ward = (rng.integers(size, size=n) for size in (25, 12, 4))
        price = np.random.default_rng(0).gamma(2.0, 1500.0, (25, 12, 4)).round(2)
        frame = pd.DataFrame(
            {"code": code, "stay": stay, "ward": ward, "cost": price[code, stay, ward]}
        )
        frame["paid"] = frame["cost"] * 0.9
        sides = [frame[i * 400 : (i + 1) * 400].reset_index(drop=True) for i in range(3)]
        tables = read_together(*sides)
        assert find_shared_records(tables).real.any()
        assert len(found(tables).real) == 0


def test_twins_as_unlikely_as_the_copies_explain_them():
    rng = np.random.default_rng(0)
    real, made, holdout = (patients(rng, 300) for _ in range(3))
    real[:10] = real[10:20].to_numpy()
    made[:2] = real[30:32].to_numpy()
    assert len(found(read_together(real, made, holdout)).real) == 0
    many = pd.concat([real[30:130], made[100:]], ignore_index=True)
    assert len(found(read_together(real, many, holdout)).real) == 100


def test_who_is_asked_about_is_left_out_of_what_is_learnt():
    everybody = read_table(patients(np.random.default_rng(0), 200))
    rows = np.arange(5)
    once = log_chance(everybody, rows, everybody[np.arange(0)])
    twice = stack_tables(everybody, everybody[rows])
    np.testing.assert_allclose(log_chance(twice, rows, everybody[np.arange(0)]), once, atol=0.5)
    assert (once <= 0).all()


def test_the_chance_of_independent_columns_is_not_underestimated():
    """Of columns drawn apart, the share of equal pairs is the product of the columns' shares."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.integers(6, size=2000) for name in "abcd"}).astype(str)
    table = read_table(frame)
    bound = log_chance(table, np.arange(300), table[np.arange(0)])
    true = -4 * np.log(6)
    assert np.mean(bound >= true - 0.5) > 0.95
    assert np.median(bound) < true + 2.5


def test_many_contexts_by_chance_do_not_make_a_record_likely():
    """Of many columns drawn apart, some few records that agree have the value by chance."""
    rng = np.random.default_rng(0)
    levels = (2, 3, 4, 5, 40, 100, 300, 400, 700)
    frame = pd.DataFrame({f"of {k}": rng.integers(k, size=4000) for k in levels}).astype(str)
    table = read_table(frame)
    bound = log_chance(table, np.arange(60), table[np.arange(0)])
    true = -np.log(levels).sum()
    assert (bound >= true - 0.5).all()
    # The largest of 129 shares of few records each was over by a factor of 5,000.
    assert np.median(bound) < true + np.log(100)


@pytest.mark.slow
def test_one_copy_of_fifty_thousand_is_named():
    for seed in range(quarter(10)):
        rng = np.random.default_rng([seed, 50])
        sides = [with_more_columns(patients(rng, 50_000), rng) for _ in range(3)]
        real, made, holdout = sides
        row = int(rng.integers(50_000))
        made.iloc[int(rng.integers(50_000))] = real.iloc[row]
        assert found(read_together(real, made, holdout)).real.tolist() == [row]


def with_more_columns(frame, rng):
    n = len(frame)
    return frame.assign(
        ward=rng.choice(["surgery", "internal", "psychiatry", "intensive care"], n),
        left=frame["day"] + pd.to_timedelta(frame["stay"], "D"),
        insurance=rng.choice(["A", "B", "C", "none"], n, p=[0.4, 0.3, 0.2, 0.1]),
        emergency=rng.choice(["yes", "no"], n),
    )


@pytest.mark.slow
@pytest.mark.parametrize("generator", [None, Marginals(), BayNet(degree=1)])
@pytest.mark.parametrize("categories", [2, 4, 8, None])
def test_rows_of_other_people_are_no_copies(generator, categories):
    games = quarter(60)
    wrong = 0
    proven = 0
    n = 200
    for seed in range(games):
        rng = np.random.default_rng([seed, 8])
        made = (
            read_table(people(rng, 3 * n)) if categories is None else common(rng, 3 * n, categories)
        )
        real, others, more = (made[np.arange(i * n, (i + 1) * n)] for i in range(3))
        synthetic = others if generator is None else generator.generate(others, 2 * n, rng)
        for tables in (ReleasedTables(real, synthetic), ReleasedTables(real, synthetic, more)):
            twins = find_shared_records(tables).real
            lone = lone_copies(tables, twins, rng, tables.holdout)
            beyond = rows_copied_alone(lone, 0.95)
            wrong += beyond is not None and beyond.low > 0
            proven += len(unlikely_copies(tables, twins, 0.95, np.random.default_rng(0)).real) > 0
    assert proven == 0
    assert wrong <= 0.05 * games + 3 * np.sqrt(0.05 * games)


def audited(real, made, holdout=None, **options):
    return audit_released(real, made, holdout, attempts=50, secrets=["sex"], label="sex", **options)


@pytest.mark.slow
def test_a_small_release_of_people_is_a_large_leak():
    rng = np.random.default_rng(0)
    real = patients(rng, 1000)
    holdout = patients(rng, 300)
    for others in (None, holdout):
        verdict = audited(real, real[:30], others).report().verdict
        assert verdict.grade == LARGE
        assert (
            verdict.headline == "Large leak: 30 of 30 synthetic rows are real records as they are"
        )


@pytest.mark.slow
def test_one_patient_decides_whatever_the_rest_does():
    rng = np.random.default_rng(0)
    real, holdout, made = (patients(rng, 1200) for _ in range(3))
    made[:1] = real[700:701].to_numpy()
    names = [f"patient {i}" for i in range(1200)]
    for others in (None, holdout):
        found = audited(real, made, others, ids=names)
        verdict = found.report().verdict
        assert verdict.headline.startswith("Small leak: 1 ")
        assert any("row 700 of the real table" in sentence for sentence in verdict.sentences)
        assert [(one.row, one.name) for one in found.proven] == [(700, "patient 700")]


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 1.0])
def test_a_holdout_that_the_generator_saw_hides_nothing(share):
    rng = np.random.default_rng(0)
    real, holdout, others = (patients(rng, 400) for _ in range(3))
    both = pd.concat([real, holdout], ignore_index=True).sample(frac=1, random_state=1)
    n = round(share * len(both))
    made = pd.concat([both[:n], others[: 800 - n]], ignore_index=True)
    without = audited(real, made)
    beside = audited(real, made, holdout)
    assert without.report().verdict.grade == beside.report().verdict.grade not in (NONE, UNTOLD)
    assert beside.learnt.copied == int(np.isin(both.index[:n], np.arange(400, 800)).sum())
    assert any("holdout is not a control" in text for text in beside.origin.warnings)


@pytest.mark.slow
def test_a_table_made_of_the_holdout_is_no_leak_of_the_real_one():
    rng = np.random.default_rng(0)
    real = patients(rng, 300)
    holdout = patients(rng, 300)
    verdict = audited(real, holdout, holdout).report().verdict
    assert verdict.grade == UNTOLD
    assert "synthetic table holds holdout records" in verdict.headline


@pytest.mark.slow
def test_fewer_than_twenty_holdout_records_are_no_control():
    rng = np.random.default_rng(0)
    real, made, holdout = (patients(rng, n) for n in (400, 400, 10))
    verdict = audited(real, made, holdout).report().verdict
    assert verdict.grade == UNTOLD
    assert "too few people stand behind the records for a control" in verdict.headline


@pytest.mark.slow
@pytest.mark.parametrize("n_holdout", [20, 40, 100, 400])
def test_a_few_holdout_records_could_not_have_told(n_holdout):
    rng = np.random.default_rng(0)
    real, made, holdout = (patients(rng, n) for n in (400, 400, n_holdout))
    report = audited(real, made, holdout).report()
    assert report.verdict.grade == UNTOLD
    assert "too few records for this audit to see a moderate leak" in report.verdict.headline
    assert "an audit of this size could hardly have found one" in report.verdict.sentences[0]
    average = report.data["detectable"]["average"]
    assert average is None or average > 0.55


@pytest.mark.slow
def test_enough_records_tell_and_say_what_they_could_have_found():
    # One null game, of a seed without chance findings; their rate is held by the proving ground.
    rng = np.random.default_rng(1)
    report = audited(patients(rng, 1000), patients(rng, 1000), patients(rng, 1000)).report()
    assert report.verdict.grade == NONE
    assert any("What it could have found" in sentence for sentence in report.verdict.sentences)
    assert 0.5 < report.data["detectable"]["average"] < 0.55
    assert 0 < report.data["detectable"]["tail"] < 0.05


def few_copies(seed, n, copied):
    """Return tables whose records are rare, but not so rare that one copy would be proof."""
    rng = np.random.default_rng(seed)
    real, holdout, made = (
        patients(rng, n).assign(day=0, cost=lambda rows: rows["cost"].round(-3)) for _ in range(3)
    )
    return read_together(real, pd.concat([real[:copied], made[copied:]]), holdout)


def test_a_few_copies_are_proof_together():
    alone = together = 0
    games = times(10)
    for seed in range(games):
        tables = few_copies(seed, 500, 8)
        copies = found(tables)
        alone += len(copies.real) >= 4
        joint = copies.together
        together += joint is not None and joint.least >= 4
        if joint is not None:
            assert set(joint.rows) <= set(range(8))
            assert set(copies.real) <= set(joint.rows)
            assert (np.diff(joint.chance) >= 0).all()
            assert copies.people.low == joint.least / 500
    assert alone < games / 2
    assert together > 0.8 * games


@pytest.mark.parametrize("copied", [0, 1])
def test_no_copies_are_no_proof_together(copied):
    for seed in range(times(20)):
        assert found(few_copies(seed, 500, copied)).together is None


def test_records_that_are_met_by_chance_are_no_proof_together():
    # The holdout holds some of the copied records: somebody else does share all their values.
    tables = few_copies(0, 500, 8)
    met = tables.real[np.arange(8)]
    rest = tables.holdout[np.arange(8, 500)]
    assert found(replace(tables, holdout=stack_tables(met, rest))).together is None


def test_the_page_names_copies_that_are_proof_together():
    tables = few_copies(1, 500, 8)
    audit = audited(
        tables.real.to_frame(), tables.synthetic.to_frame(), tables.holdout.to_frame(),
        ids=[f"patient {row}" for row in range(500)],
    )  # fmt: skip
    report = audit.report()
    assert any("are proof together" in sentence for sentence in report.verdict.sentences)
    assert report.data["copies"]["together"]["least"] == audit.together.least
    assert {one.name for one in audit.jointly} <= {f"patient {row}" for row in range(8)}
    assert report.verdict.grade not in (NONE, UNTOLD)


def stays(rng, n):
    """Return patients with two dates."""
    frame = patients(rng, n)
    return frame.assign(left=frame["day"] + pd.to_timedelta(frame["stay"], "D"))


def changed(way, one, other, rng):
    """Return a record of which a part is that of another one."""
    if way in one.index:
        return one.where(one.index != way, other)
    dates = one.index.isin(["day", "left"])
    if way == "all dates":
        return one.where(~dates, other)
    days = pd.Timedelta(days=int(rng.integers(1, 181)))
    return pd.Series({name: x + days if name in ("day", "left") else x for name, x in one.items()})


@pytest.mark.parametrize("control", [True, False], ids=["holdout", "no holdout"])
@pytest.mark.parametrize("copied", [1, 5, 300])
@pytest.mark.parametrize("way", ["code", "post", "age", "all dates", "all dates, moved alike"])
def test_copies_but_for_a_part_are_found_and_named(way, copied, control):
    for seed in range(times(2)):
        rng = np.random.default_rng(seed)
        real, holdout, made = (stays(rng, 300) for _ in range(3))
        rows = [changed(way, real.loc[i], made.loc[i], rng) for i in range(copied)]
        made = pd.concat([pd.DataFrame(rows), made[copied:]]).astype(made.dtypes)
        tables = read_together(real, made, holdout if control else None)
        partly = found(tables).partly
        whole = (made[:copied] == real[:copied]).all(axis=1).sum()
        assert set(partly.rows) <= set(range(copied))
        # A value that happens to be the same makes a whole copy.
        assert len(partly.rows) >= 0.9 * (copied - whole)
        assert (partly.chance <= NEGLIGIBLE / 300).all()
        if copied == 1:
            assert partly.ways == (way,)
            assert partly.made.tolist() == [0]


@pytest.mark.parametrize("n", [40, 200])
def test_other_people_are_no_copies_but_for_a_part(n):
    for seed in range(times(40)):
        rng = np.random.default_rng(seed)
        real, holdout, made = (stays(rng, n) for _ in range(3))
        assert found(read_together(real, made, holdout)).partly is None


@pytest.mark.parametrize("seed", range(times(4)))
def test_records_that_agree_with_each_other_but_for_a_part_prove_nothing(seed):
    """Somebody's twin but for one code, on the real side, shows that chance makes such pairs."""
    rng = np.random.default_rng(seed)
    real, holdout, made = (stays(rng, 300) for _ in range(3))
    for frame in (real, holdout, made):
        frame[150:] = frame[:150].assign(code=frame["code"][150:].to_numpy()).to_numpy()
    both = pd.concat([real, made], ignore_index=True).sample(frac=1, random_state=seed)
    real, made = (side.reset_index(drop=True) for side in (both[:300], both[300:]))
    assert found(read_together(real, made, holdout)).partly is None


def test_a_person_with_several_records_is_no_proof_against_copies_but_for_a_part():
    rng = np.random.default_rng(0)
    real, holdout, made = (stays(rng, 300) for _ in range(3))
    real[150:] = real[:150].assign(code=real["code"][150:].to_numpy()).to_numpy()
    made.loc[0] = changed("code", real.loc[0], made.loc[0], rng)
    tables = read_together(real, made, holdout)
    tables = replace(tables, unit=np.arange(300) % 150)
    assert (
        0
        in unlikely_copies(
            tables, find_shared_records(tables).real, 0.95, np.random.default_rng(0)
        ).partly.rows
    )
