"""A leak that hides behind another spelling: the same table in other words has the same copies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.datasets.parsing import dates_of
from privacygauge.errors import InputError
from privacygauge.tables.released.copies import find_copies
from privacygauge.tables.released.linkability import nearly_copied
from privacygauge.tables.released.spelling import (
    coarsened_alike,
    in_the_same_words,
    require_common,
)
from privacygauge.tables.released.tables import read_together
from tests.thorough import crossed


def people(rng, n=80):
    gap = rng.random((n, 2)) < 0.2
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "pay": rng.gamma(2.0, 1000.0, n).round(4),
            "town": rng.choice(["Paris", "Rome", "Oslo"], n),
            "code": rng.choice(["1", "2", "7"], n),
            "works": rng.random(n) < 0.5,
            "rent": rng.integers(300, 900, n).astype(float),
            "post": rng.integers(10_000, 13_000, n),
            "seen": (np.datetime64("2021-01-01") + rng.integers(900, size=n)).astype(str),
            "drug": np.char.add("D", rng.integers(1000, 9999, n).astype(str)),
            "illness": rng.choice([f"{x}{y}" for x in "IJKE" for y in range(20, 60)], n),
            "area": rng.choice(
                [f"{x}{y} {y}AB" for x in ("N", "SW", "EC") for y in range(1, 9)], n
            ),
        }
    )
    town = frame["town"].mask(gap[:, 0])
    rent = frame["rent"].mask(gap[:, 1])
    return frame.assign(town=town, rent=rent)


def german(text):
    return text.translate(str.maketrans(",.", ".,"))


PLAIN = {"order of columns", "dollars", "decimal commas", "percent"}
"""Of these nothing has to be said."""

SPELT = {
    "capitals": lambda x: x.assign(town=x["town"].str.upper()),
    "spaces": lambda x: x.assign(town=" " + x["town"] + " "),
    "numbers of categories": lambda x: x.assign(code=x["code"] + ".0"),
    "a word for missing": lambda x: x.assign(town=x["town"].fillna("unknown")),
    "a mark for missing": lambda x: x.assign(town=x["town"].fillna("?")),
    "a number for missing": lambda x: x.assign(rent=x["rent"].fillna(-1)),
    "fewer decimals": lambda x: x.assign(pay=x["pay"].round(2)),
    "hundreds": lambda x: x.assign(pay=x["pay"].round(-2)),
    "tens": lambda x: x.assign(rent=x["rent"].round(-1), post=x["post"].round(-1)),
    "no decimals": lambda x: x.assign(pay=x["pay"].round()),
    "true and false": lambda x: x.assign(works=x["works"].astype(int)),
    "yes and no": lambda x: x.assign(works=np.where(x["works"], "yes", "no")),
    "ja und nein": lambda x: x.assign(works=np.where(x["works"], "Ja", "Nein")),
    "initials": lambda x: x.assign(works=np.where(x["works"], "Y", "N")),
    "commas alone": lambda x: x.assign(pay=x["pay"].map("{:.4f}".format).map(german)),
    "dollars": lambda x: x.assign(pay=x["pay"].map("${:,.4f}".format)),
    "decimal commas": lambda x: x.assign(pay=x["pay"].map("{:,.4f}".format).map(german)),
    "percent": lambda x: x.assign(age=x["age"].map("{}%".format)),
    "ranges": lambda x: x.assign(age=x["age"].map(lambda y: f"{y // 5 * 5}-{y // 5 * 5 + 4}")),
    "bins": lambda x: x.assign(pay=pd.cut(x["pay"], [-1, 1000, 2000, 1e9]).astype(str)),
    "open ranges": lambda x: x.assign(age=np.where(x["age"] < 40, "under 40", "40+")),
    "masked": lambda x: x.assign(post=x["post"].astype(str).str[:3] + "**"),
    "masked by x": lambda x: x.assign(post=x["post"].astype(str).str[:3] + "xx"),
    "years": lambda x: x.assign(seen=pd.to_datetime(x["seen"]).dt.year),
    "quarters": lambda x: x.assign(seen=pd.to_datetime(x["seen"]).dt.to_period("Q").astype(str)),
    "months": lambda x: x.assign(seen=pd.to_datetime(x["seen"]).dt.strftime("%b %Y")),
    "cut numbers": lambda x: x.assign(post=x["post"] // 100),
    "cut codes": lambda x: x.assign(drug=x["drug"].str[:3]),
    "cut to letters": lambda x: x.assign(illness=x["illness"].str[:1]),
    "with nothing below": lambda x: x.assign(illness=x["illness"].str[:2] + ".-"),
    "first part": lambda x: x.assign(area=x["area"].str.partition(" ")[0]),
    "letters alone": lambda x: x.assign(area=x["area"].str.extract("^([A-Z]+)")[0]),
    "suppressed codes": lambda x: x.assign(town="*"),
    "suppressed numbers": lambda x: x.assign(pay="***", age="redacted"),
    "order of columns": lambda x: x[x.columns[::-1]],
}


@pytest.mark.parametrize(("name", "share"), crossed(list(SPELT), [0.1, 1.0]))
def test_copies_are_found_however_they_are_spelt(name, share):
    spelt = SPELT[name]
    rng = np.random.default_rng(0)
    real, others, fresh = (people(rng) for _ in range(3))
    n = int(share * len(real))
    made = spelt(pd.concat([real[:n], fresh[n:]], ignore_index=True))
    kinds = {"categorical": ["code"]}
    found = read_together(real, made, others, **kinds)
    assert find_copies(found, rng).real[:n].all()
    assert bool(found.read) == (name not in PLAIN)


def test_accents_are_written_in_one_character_or_in_two():
    rng = np.random.default_rng(0)
    real = people(rng).replace("Rome", "Malm\xf6")
    made = real.replace("Malm\xf6", "Malmo\u0308")
    found = read_together(real, made, None)
    assert find_copies(found, rng).real.all()
    assert any("'town'" in note for note in found.read)


@pytest.mark.parametrize(
    ("real", "made", "read"),
    [
        (["yes", "no"], [True, False], ["yes", "no"]),
        ([1, 0], ["Y", "N"], [1, 0]),
        ([1.0, 0.0], ["n\xe3o", "no"], None),  # no pair of one language
        (["f", "m"], ["t", "f"], None),
        (["yes", "no", "maybe"], [1, 0], None),
        (["NO", "SE"], ["no", "yes"], None),
        ([1.5, 2.25], ["1,5", "7,25"], [1.5, 7.25]),
        ([1.5, 1006.0], ["1,006", "1,007"], None),  # thousands
        ([1.5, 2.5], ["1,5", "D"], None),
    ],
)
def test_answers_and_commas_are_read_where_their_meaning_is_plain(real, made, read):
    frames = {"real": pd.DataFrame({"x": real}), "synthetic": pd.DataFrame({"x": made})}
    found, said = in_the_same_words(frames)
    assert found["synthetic"]["x"].tolist() == (made if read is None else read)
    assert bool(said) == (read is not None)
    assert in_the_same_words(frames, ["x"]) == (frames, ())


@pytest.mark.parametrize(("factor", "back"), [(0.01, "100"), (1000.0, "0.001"), (17.0, None)])
def test_another_unit_is_named_where_a_column_is_refused(factor, back):
    rng = np.random.default_rng(0)
    real = people(rng).assign(height=rng.normal(170, 9, 80).round())
    tables = read_together(real, real.assign(height=factor * real["height"]), None)
    with pytest.raises(InputError) as said:
        require_common(tables.real, tables.synthetic)
    assert "height" in str(said.value)
    assert ("as in another unit" in str(said.value)) == (back is not None)
    assert back is None or f"times {back} they could be" in str(said.value)


def test_few_round_numbers_are_no_rounding():
    """A generator that makes zeros alone, or a few round numbers, leaves the others as they are."""
    rng = np.random.default_rng(0)
    real = people(rng)
    made = real.assign(pay=rng.choice([0.0, 1000.0, 2000.0], len(real)))
    found = read_together(real, made, None)
    assert not any("rounded to" in note for note in found.read)


def test_the_holdout_is_read_alike():
    rng = np.random.default_rng(1)
    real = people(rng)
    others = people(rng)
    found = read_together(real, real, SPELT["capitals"](others), categorical=["code"])
    again = read_together(real, real, others, categorical=["code"])
    np.testing.assert_array_equal(found.holdout.values, again.holdout.values)
    assert again.read == ()
    assert found.read[0].startswith("holdout: in column 'town' ")


@pytest.mark.parametrize("change", ["capitals", "spaces", "numbers of categories"])
def test_both_sides_find_as_many_of_their_values_in_a_release_spelt_otherwise(change: str) -> None:
    """Rare values of the holdout are read as well as the real table's, or a null would leak."""
    rng = np.random.default_rng(7)

    def rare(n: int) -> pd.DataFrame:
        number = rng.integers(300, size=n)
        code = pd.Series(number).astype(str)
        return pd.DataFrame({"code": code, "town": "Town " + code, "age": rng.integers(90, size=n)})

    real, holdout, made = rare(150), rare(150), SPELT[change](rare(150))
    shares = []
    for one, other in ((real, holdout), (holdout, real)):
        tables = read_together(one, made, other, categorical=["code"])
        assert tables.holdout is not None
        there = [np.unique(tables.synthetic.values[:, j]) for j in range(2)]
        shares.append(
            [
                [np.isin(side.values[:, j], there[j]).mean() for j in range(2)]
                for side in (tables.real, tables.holdout)
            ]
        )
    assert shares[0] == shares[1][::-1]


def test_categories_that_the_real_table_tells_apart_stay_apart():
    frame = pd.DataFrame({"x": list("aAbB") * 5, "y": range(20)})
    made = pd.DataFrame({"x": ["a", "A", " b", "B"] * 5, "y": range(20)})
    found = read_together(frame, made)
    assert found.read == ()
    assert found.schema.columns[0].categories == (" b", "A", "B", "a", "b")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"pay": -5.0},
            "no value of column 'pay' can be one of the real table, .* from .*--drop pay",
        ),
        (
            {"town": "Bonn"},
            "no value of column 'town' can be one of the real table, 'Oslo', 'Paris', 'Rome'",
        ),
        (
            # Pounds for kilograms: the least of the ones lie among the largest of the others.
            {"rent": np.linspace(300, 900, 80) * 2.2},
            r"only 1\d\.\d% of the values of column 'rent' can be one of .*, which are from",
        ),
        (
            # A missing value is no value in common.
            {"town": ["Roma", None] * 40},
            "no value of column 'town' can be one of the real table",
        ),
        (
            {"town": ["Roma", "Parigi", "Oslo", "Roma"] * 20},
            r"only 25\.0% of the values of column 'town' can be one of .* few copies",
        ),
        (
            # Every code is somebody's own, so that others are expected; but not of this form.
            {"drug": [f"{i * 7919 % 65536:04x}-{i}" for i in range(80)]},
            "no value of column 'drug' can be one of the real table",
        ),
    ],
)
def test_a_column_in_which_no_copy_could_be_seen_is_refused(change, message):
    rng = np.random.default_rng(2)
    real = people(rng)
    others = people(rng)
    found = read_together(real, real.assign(**change), others, categorical=["code"])
    require_common(found.real, found.holdout)
    with pytest.raises(InputError, match=message):
        require_common(found.real, found.synthetic)


@pytest.mark.parametrize("column", ["age", "pay", "town", "rent"])
def test_copies_with_a_value_drawn_again_are_found(column):
    rng = np.random.default_rng(3)
    real, others, fresh = (people(rng) for _ in range(3))
    made = pd.concat([real[:10], fresh[10:]], ignore_index=True)
    made[column] = made[column].sample(frac=1.0, random_state=4).to_numpy()
    found = read_together(real, made, others, categorical=["code"])
    hits = nearly_copied(found, rng)
    assert hits.attack[:10].all()
    assert hits.attack[10:].mean() < 0.05
    assert hits.control.mean() < 0.05
    assert not find_copies(found, rng).real[:10].all()


def test_records_equal_in_all_columns_but_one_are_those_that_a_comparison_of_pairs_finds():
    rng = np.random.default_rng(5)
    tables = [
        pd.DataFrame(rng.integers(0, 4, (n, 4)), columns=list("abcd")).astype(float)
        for n in (40, 30, 20)
    ]
    tables[0].iloc[::7, 2] = np.nan
    real, made, others = (x.fillna(-1.0).to_numpy() for x in tables)
    hits = nearly_copied(read_together(*tables), rng)
    for found, asked in ((hits.attack, real), (hits.control, others)):
        equal = (asked[:, None] == made[None]).sum(axis=2)
        np.testing.assert_array_equal(found, (equal >= 3).any(axis=1))


def test_values_that_stand_nowhere_in_the_real_table_are_said():
    rng = np.random.default_rng(2)
    real = people(rng)
    tables = read_together(real, real.assign(town=["Roma", "Paris", "Oslo", "Oslo"] * 20))
    (warning,) = require_common(tables.real, tables.synthetic)
    assert "25.0% of the values of column 'town' stand nowhere in the real table" in warning


@given(
    levels=st.sampled_from([2, 30, 300, 2000]),
    tail=st.floats(0.0, 2.0),
    n=st.sampled_from([20, 100, 1000]),
    seed=st.integers(0, 2**16),
)
def test_values_of_the_same_distribution_are_never_refused(levels, tail, n, seed):
    rng = np.random.default_rng(seed)
    weight = 1.0 / np.arange(1, levels + 1) ** tail
    codes = np.array([f"{'DKX'[i % 3]}{i:0{1 + i % 4}}" for i in range(levels)])
    frames = [
        pd.DataFrame(
            {
                "code": rng.choice(codes, n, p=weight / weight.sum()),
                "x": rng.random(n),
                "heavy": rng.standard_cauchy(n),
            }
        )
        for _ in range(2)
    ]
    tables = read_together(*frames)
    assert require_common(tables.real, tables.synthetic) == ()


def test_a_few_records_need_have_no_code_in_common():
    real = pd.DataFrame({"code": [f"D{i}" for i in range(12)], "x": range(12), "s": list("ab") * 6})
    made = real.assign(code=[f"D{i}" for i in range(20, 32)])
    tables = read_together(real, made)
    require_common(tables.real, tables.synthetic)
    other = read_together(real, made.assign(s=list("cd") * 6))
    with pytest.raises(InputError, match="no value of column 's'"):
        require_common(other.real, other.synthetic)


def families(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Rows of three members each, who live in one of 800 places."""
    family = np.repeat(np.arange(n // 3), 3)
    frame = people(rng, len(family))
    return frame.assign(zip=[f"Z{place}" for place in rng.integers(10_000, 10_800, n // 3)[family]])


@pytest.mark.parametrize("seed", range(6))
def test_sparse_codes_of_families_on_both_sides_are_not_refused(seed: int) -> None:
    """Each place comes with a family, so few stand alone and most of the others' are new."""
    rng = np.random.default_rng(seed)
    both = families(rng, 1800).sample(frac=1.0, random_state=seed)
    tables = read_together(both[:900], families(rng, 900), both[900:], categorical=["code"])
    for warning in require_common(tables.real, tables.synthetic):
        assert "of the values of column 'zip' stand nowhere in the real table" in warning


def test_a_few_people_of_many_records_need_have_no_code_in_common():
    real = pd.DataFrame({"code": ["D2"] * 12, "x": range(12)})
    tables = read_together(real, real.assign(code=["D4"] * 6 + ["D7"] * 6))
    with pytest.raises(InputError, match="no value of column 'code'"):
        require_common(tables.real, tables.synthetic)
    require_common(tables.real, tables.synthetic, 4)


@pytest.mark.parametrize("n_made", [10, 30])
def test_a_few_rows_of_a_code_of_many_levels_may_share_none_with_the_real_table(n_made):
    """Most real people have a code of their own, so that a further one's is likely to be new."""
    rng = np.random.default_rng(4)
    own, fresh = np.split(rng.permutation(100_000), 2)

    def coded(codes):
        table = people(rng)
        return table.assign(code=np.char.add("D", rng.choice(codes, len(table)).astype(str)))

    def read(levels):
        real, others = (coded(own[:levels]) for _ in range(2))
        return read_together(real, coded(fresh[:levels])[:n_made], others, categorical=["code"])

    many = read(len(own) // 50)
    require_common(many.real, many.synthetic)
    few = read(30)
    with pytest.raises(InputError, match="no value of column 'code'"):
        require_common(few.real, few.synthetic)


def test_a_decimal_comma_keeps_its_decimals_where_the_real_numbers_are_whole_or_some_are_missing():
    real = pd.DataFrame({"whole": [1, 2, 3, 4], "parts": [1.5, 2.0, 3.0, 4.0]})
    made = pd.DataFrame({"whole": ["1,5", "2", "3,25", "4"], "parts": ["1,5", "2", None, "4"]})
    found, said = in_the_same_words({"real": real, "synthetic": made})
    assert found["synthetic"]["whole"].tolist() == [1.5, 2.0, 3.25, 4.0]
    assert found["synthetic"]["parts"].dtype == np.float64
    assert found["synthetic"]["parts"].isna().tolist() == [False, False, True, False]
    assert len(said) == 2


def test_some_suppressed_values_are_missing():
    rng = np.random.default_rng(0)
    real = people(rng)
    made = real.assign(
        town=real["town"].mask(real["town"] == "Oslo", "*"),
        age=real["age"].astype(object).mask(real["age"] > 80, "*"),
    )
    found = read_together(real, made, None)
    values = found.synthetic.values
    names = list(found.schema.names)
    assert np.isnan(values[(real["age"] > 80).to_numpy(), names.index("age")]).all()
    assert np.count_nonzero(np.isnan(values[:, names.index("age")])) == (real["age"] > 80).sum()
    town = found.schema.columns[names.index("town")]
    assert "*" not in town.categories
    assert town.missing
    require_common(found.real, found.synthetic)


def test_a_mark_that_real_records_have_is_a_value():
    rng = np.random.default_rng(0)
    real = people(rng)
    real.loc[:5, "town"] = "*"
    found = read_together(real, real.assign(town="*"), None)
    assert "town" in found.schema.names
    assert not any("suppressed" in note for note in found.read)


@pytest.mark.parametrize(
    "texts",
    [["I", "J"], ["X", "Y"], ["I2", "Q"], ["I21.4", "J4"]],
)
def test_only_beginnings_of_all_values_are_cuts(texts):
    """One released value that begins no real one, and codes are no cut ones."""
    frames = {
        "real": pd.DataFrame({"x": ["I21", "J44", "K35", "I50"]}),
        "synthetic": pd.DataFrame({"x": texts * 2}),
    }
    found, said = coarsened_alike(frames)
    assert bool(said) == (texts == ["I", "J"])
    assert found["real"]["x"].tolist() == (
        ["I", "J", "K", "I"] if said else ["I21", "J44", "K35", "I50"]
    )


@pytest.mark.parametrize(
    "values",
    [
        lambda rng, x: x * 1.03,
        lambda rng, x: np.where(rng.random(len(x)) < 0.6, 3, x),
        lambda rng, x: x + rng.normal(0, 0.1, len(x)),
    ],
    ids=["scaled", "imputed and rounded", "noise"],
)
def test_numbers_moved_a_little_out_of_a_narrow_range_are_compared(values):
    rng = np.random.default_rng(0)
    real = people(rng).assign(rent=rng.normal(3.3, 0.02, 80).round(3))
    made = real.assign(rent=values(rng, real["rent"]).round(3))
    found = read_together(real, made)
    (warning,) = require_common(found.real, found.synthetic)
    assert "of the values of column 'rent' stand nowhere in the real table" in warning


def test_noise_on_a_number_that_is_mostly_zero_is_compared():
    rng = np.random.default_rng(0)
    real = people(rng).assign(loss=np.where(rng.random(80) < 0.9, 0, rng.integers(900, 4000, 80)))
    made = real.assign(loss=real["loss"] + rng.normal(-20, 40, 80).round().astype(int))
    found = read_together(real, made)
    assert "'loss'" in "".join(require_common(found.real, found.synthetic))


def test_a_code_cut_to_the_beginning_that_all_have_says_nothing():
    rng = np.random.default_rng(0)
    real = people(rng).assign(article=[f"SKU{i:04d}" for i in rng.integers(0, 60, 80)])
    found = read_together(real, real.assign(article="SKU"))
    assert find_copies(found, rng).real.all()


def test_a_mark_for_missing_values_is_not_cut():
    rng = np.random.default_rng(0)
    countries = rng.choice(["Cuba", "Italy", "United-States", "?"], 80)
    real = people(rng).assign(country=countries)
    found = read_together(real, real.assign(country=real["country"].str[:2]))
    assert find_copies(found, rng).real.all()


def test_ranges_that_overlap_and_numbers_beside_ranges_are_read_as_their_middle():
    real = pd.DataFrame({"age": range(60, 80), "visits": [float(i) for i in range(20)]})
    ages = ["61-76", "63-77", "60-62", "over 75", "70"] * 4
    visits = ["3", "1-3", "0", "4.5-5", "under 3"] * 4
    found = read_together(real, pd.DataFrame({"age": ages, "visits": visits}))
    assert found.synthetic.values[:5].tolist() == [
        [68.5, 3.0],
        [70.0, 2.0],
        [61.0, 0.0],
        [77.0, 4.75],
        [70.0, 1.5],
    ]
    assert found.real.values[:, 0].tolist() == list(range(60, 80))
    assert len([note for note in found.read if "each range is read as its middle" in note]) == 2


def test_numbers_and_words_are_no_ranges():
    real = pd.DataFrame({"age": range(60, 80), "visits": range(20)})
    made = real.assign(age=["61-76", "63-77", "old", "70"] * 5)
    with pytest.raises(InputError, match="'age'"):
        read_together(real, made)


def test_dates_and_periods_of_several_lengths_are_read_as_their_middle_day():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 1000, 60), "D")
    real = pd.DataFrame({"admission": days.strftime("%Y-%m-%d"), "age": rng.integers(0, 90, 60)})
    texts = ["2019", "2019-12", "2020-Q1", *real["admission"][3:]]
    found = read_together(real, real.assign(admission=texts))
    assert dates_of(found.synthetic.values[:3, 0]).astype(str).tolist() == [
        "2019-07-02",
        "2019-12-16",
        "2020-02-15",
    ]
    np.testing.assert_array_equal(found.synthetic.values[3:], found.real.values[3:])
    assert any("each period is read as its middle day" in note for note in found.read)
