"""Names and free text are left out of what is compared, and looked at alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from privacygauge.report.attacks.verdict import TOO_FEW
from privacygauge.report.grades import LARGE, UNTOLD
from privacygauge.tables.released.hits import risk_beyond_control
from privacygauge.tables.released.named import TextColumn
from privacygauge.tables.released.tables import read_together
from privacygauge.tables.released.texts import most_words_in_common, texts_copied
from privacygauge.tables.released_audit.audit import audit_released
from tests.tables.released.test_unlikely import patients

N = 120
WORDS = [a + b for a in ("ba", "do", "ki", "lu", "me", "no", "ra") for b in ("l", "n", "r", "s")]


def notes(rng, n, length=12):
    return [" ".join(rng.choice(WORDS, length)) for _ in range(n)]


def frames(seed, of, n=N):
    """Return real, synthetic and holdout rows with a further column of values of each."""
    rng = np.random.default_rng(seed)
    return [
        patients(rng, n).assign(more=of(rng, n, name)) for name in ("real", "synthetic", "holdout")
    ]


COLUMNS = {
    "text": lambda rng, n, name: notes(rng, n),
    "name": lambda rng, n, name: [f"{name[0]}{i:x}" for i in rng.permutation(n)],
    "number": lambda rng, n, name: list(range(n)) if name == "real" else list(range(n, 2 * n)),
    "long number": lambda rng, n, name: rng.choice(10**9, n, replace=False) + 10**9,
    "person": lambda rng, n, name: [f"{name[0]}{i // 3}" for i in range(n)],
}


@pytest.mark.parametrize("what", COLUMNS)
def test_what_is_no_attribute_is_left_out_and_said(what):
    tables = read_together(*frames(0, COLUMNS[what]))
    assert "more" not in tables.schema.names
    assert any("'more'" in text for text in tables.read)
    assert len(tables.texts) == (what not in ("number", "person"))
    assert (tables.unit is not None) == (what == "person")
    real, made, holdout = frames(0, COLUMNS[what])
    assert "more" in read_together(real, made, holdout, compared=["more"]).schema.names


@pytest.mark.parametrize(
    "of",
    [
        lambda rng, n, name: rng.choice(["left knee pain", "right knee pain", "no pain at all"], n),
        lambda rng, n, name: [f"D{i}" for i in rng.integers(2000, size=n)],
        lambda rng, n, name: rng.integers(10**4, size=n),
        lambda rng, n, name: rng.normal(size=n),
        lambda rng, n, name: pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n), "D"),
    ],
)
def test_attributes_stay(of):
    assert read_together(*frames(0, of)).apart == ()


def test_names_are_names_where_the_holdout_holds_real_records():
    real, made, _ = frames(0, COLUMNS["name"])
    assert read_together(real, made, real).apart == ("more",)


@pytest.mark.parametrize("what", ["name", "number", "long number"])
def test_names_are_names_where_a_tenth_of_the_holdout_is_real(what):
    real, made, holdout = frames(0, COLUMNS[what])
    some = pd.concat([real[:12], holdout[12:], holdout[-2:]], ignore_index=True)
    assert read_together(real, made, some).apart == ("more",)


def test_numbers_that_differ_within_a_side_by_chance_stay():
    rng = np.random.default_rng(0)
    real, made, holdout = (
        frame.assign(more=rng.choice(2000, 60, replace=False))
        for frame in frames(0, COLUMNS["text"], 60)
    )
    assert "more" not in read_together(real, made, holdout).apart


def test_people_of_several_rows_are_units_and_nobody_is_on_both_sides():
    tables = read_together(*frames(0, COLUMNS["person"]))
    real, holdout = tables.units
    assert not set(real) & set(holdout)
    np.testing.assert_array_equal(np.bincount(real), np.full(N // 3, 3))


def test_texts_go_with_their_records():
    tables = read_together(*frames(0, COLUMNS["text"]))
    text = tables.texts[0].rows(np.array([3, 1]), np.array([2]))
    assert text.real.tolist() == tables.texts[0].real[[3, 1]].tolist()
    assert text.holdout.tolist() == tables.texts[0].holdout[[2]].tolist()


def test_words_in_common_as_all_pairs_say():
    rng = np.random.default_rng(0)
    asked, made = (np.array(notes(rng, 30, 5), object) for _ in range(2))
    made[:3] = asked[:3]
    asked[5] = None
    score = most_words_in_common(asked, made)
    assert score[5] == 0
    assert set(np.argsort(-score)[:3]) == {0, 1, 2}
    order = rng.permutation(30)
    np.testing.assert_allclose(most_words_in_common(asked[order], made), score[order])


@pytest.mark.slow
def test_copied_and_edited_texts_are_found():
    real, made, holdout = frames(0, COLUMNS["text"], n=300)
    made.loc[:19, "more"] = real.loc[:19, "more"].str.upper() + " "
    found, _ = texts_copied(read_together(real, made, holdout), np.random.default_rng(0))
    assert found[0].counts["attack"][0] == 20
    assert risk_beyond_control(found[0], 0.95).low > 0
    edited = real["more"].str.split().map(lambda words: " ".join([*words[:5], "xx", *words[6:]]))
    made.loc[:59, "more"] = edited[:60]
    found, _ = texts_copied(read_together(real, made, holdout), np.random.default_rng(0))
    assert not found[0].attack.any()
    assert max(risk_beyond_control(hits, 0.95).low for hits in found[1:]) > 0


@pytest.mark.slow
@pytest.mark.parametrize("what", ["text", "name", "number", "person"])
def test_a_table_with_such_a_column_is_audited_as_it_is(what):
    real, made, holdout = frames(0, COLUMNS[what], n=300)
    options = {"attempts": 50, "secrets": ["sex"], "label": "sex"}
    assert audit_released(real, made, holdout, **options).report().verdict.headline == TOO_FEW
    alone = audit_released(real, made, **options) if what != "person" else None
    assert alone is None or alone.report().verdict.grade == UNTOLD


def test_what_a_text_has_in_common_is_found_out_once_also_for_some_rows():
    sides = (["a", "b", "c", "a"], ["b"], ["a", "c"])
    column = TextColumn("note", *(np.array(x, object) for x in sides), is_free=True)
    column.real[3] = None
    asked = []

    def measure(texts, made):
        asked.extend(texts)
        return np.array([float(text in made) for text in texts])

    some = column.rows(np.array([1, 3]), np.array([0]))
    assert some.in_common(some.real, measure).tolist() == [1.0, 0.0]
    assert column.in_common(column.real, measure).tolist() == [0.0, 1.0, 0.0, 0.0]
    assert some.in_common(some.holdout, measure).tolist() == [0.0]
    assert asked == ["b", None, "a", "c"]


@pytest.mark.parametrize("write", [int, "r{}".format], ids=["numbers", "texts"])
@pytest.mark.parametrize("each", [1, 3])
def test_ids_that_the_synthetic_table_gives_anew_are_left_out(write, each):
    rng = np.random.default_rng(0)

    def table(first: int) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "patient_id": [write(first + 3 * int(i)) for i in rng.permutation(60) // each],
                "age": rng.integers(18, 90, 60),
                "sex": rng.choice(["f", "m"], 60),
            }
        )

    found = read_together(table(100_000), table(900_000))
    assert "patient_id" not in found.schema.names
    assert any("has other names" in said or "names people" in said for said in found.read)
    # Another unit of a measure is no other name.
    amounts = [x.rename(columns={"patient_id": "cost"}) for x in (table(100_000), table(900_000))]
    assert "cost" in read_together(*amounts).schema.names


def sales(rng, n, region):
    """Return sales of houses in thirty districts of a region, which have a rate and a price."""
    of = np.random.default_rng(region)
    level, rate = of.normal(8, 0.35, 30), of.normal(5, 1.5, 30).round(1)
    district = rng.integers(30, size=n)
    size = np.exp(rng.normal(4.4, 0.35, n)).round()
    return pd.DataFrame(
        {
            "district": [f"{'AB'[region]}-{i:02d}" for i in district],
            "size": size,
            "price": (size * np.exp(level[district] + rng.normal(0, 0.15, n)) / 1000).round(),
            "unemployment": rate[district],
            "age": rng.integers(25, 90, n),
            "garden": rng.choice(["y", "n"], n),
        }
    )


def test_places_of_another_region_are_no_people():
    rng = np.random.default_rng(0)
    real, made, holdout = sales(rng, 300, 0), sales(rng, 300, 0), sales(rng, 300, 1)
    found = read_together(real, made, holdout)
    assert found.unit is None
    assert "district" in found.schema.names
    assert any("not for names of people" in said for said in found.read)
    # Numbers that the release deals out anew are those of other people.
    anew = {f"A-{i:02d}": f"A-{j:02d}" for i, j in enumerate(rng.permutation(30))}
    renamed = made.assign(district=made["district"].map(anew))
    assert read_together(real, renamed, holdout).unit is not None
    # Called a person's, it names people.
    named = [frame.rename(columns={"district": "patient"}) for frame in (real, made, holdout)]
    assert read_together(*named).unit is not None


def test_near_copies_beside_a_holdout_of_other_towns_are_a_large_leak():
    rng = np.random.default_rng(0)
    sides = [patients(rng, 300) for _ in range(2)]
    for region, side in zip("ab", sides, strict=True):
        side["town"] = [f"{region}{i}" for i in rng.integers(12, size=300)]
    real, holdout = sides
    made = real.copy()
    for name in ("age", "cost"):
        made[name] += rng.normal(0, 0.1 * real[name].std(), 300)
    audit = audit_released(
        real, made.sample(frac=1, random_state=0), holdout, attempts=100, secrets=["sex"]
    )
    assert "town" in audit.drifted
    assert audit.people is None
    assert audit.report().verdict.grade == LARGE
