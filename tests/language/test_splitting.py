"""Dealing people: fair coins, balanced parts, near-duplicates together, and files that match."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from privacygauge.errors import InputError
from privacygauge.language.splitting import (
    BOILERPLATE,
    FILE,
    NAMES,
    near_duplicates,
    people_of,
    read_coins,
    redealt,
    split_texts,
    write_sides,
)
from privacygauge.language.text_files import TextRecords, load_texts
from privacygauge.language.texts import plain_texts
from privacygauge.runs.results import LIST
from tests.language.notes import NotesDesign, made_up_notes
from tests.thorough import quarter, times

WORDS = np.array([f"w{i}" for i in range(400)])


def made(sizes, seed=0, words=12):
    """Return texts of people with so many each, no two alike."""
    rng = np.random.default_rng(seed)
    group = [f"p{person}" for person, size in enumerate(sizes) for _ in range(size)]
    return TextRecords(tuple(" ".join(rng.choice(WORDS, words)) for _ in group), None, tuple(group))


def share(a, b):
    """Return the Jaccard similarity of three consecutive words, by the definition."""
    sets = []
    for text in plain_texts([a, b]):
        words = text.split()
        sets.append({tuple(words[i : i + 3]) for i in range(max(1, len(words) - 2))})
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_groups_of_near_duplicates_are_those_of_all_pairs(seed):
    rng = np.random.default_rng(seed)
    texts = list(made([60], seed).text)
    for _ in range(90):  # edited copies, some of copies
        words = texts[rng.integers(len(texts))].split()
        for _ in range(rng.integers(3)):
            words[rng.integers(len(words))] = str(rng.choice(WORDS))
        texts.append(" ".join(words).upper() if rng.random() < 0.2 else " ".join(words))
    naive = list(range(len(texts)))
    for i in range(len(texts)):
        for j in range(i):
            if share(texts[i], texts[j]) >= 0.5 and naive[i] != naive[j]:
                naive = [naive[j] if x == naive[i] else x for x in naive]
    found = near_duplicates(texts).tolist()
    assert max(Counter(naive).values()) > 3
    pairs = set(zip(naive, found, strict=True))
    assert len(pairs) == len(set(naive)) == len(set(found))
    assert near_duplicates(texts).tolist() == found


def test_a_bucket_of_many_and_short_texts():
    same = [f"blood pressure was {n} over 80 in the morning today as before" for n in range(100)]
    assert set(near_duplicates(same)) == {0}
    assert near_duplicates(["yes", "no", "YES", "no way"]).tolist() == [0, 1, 0, 2]
    assert near_duplicates(["a b c d", "x y"], similarity=1.0).tolist() == [0, 1]


def test_everybody_is_on_one_side_with_all_texts():
    records = made(np.random.default_rng(1).integers(1, 9, 80))
    found = split_texts(records)
    assert list(found.sides) == list(NAMES)
    sides = [set(people_of(side)) for side in found.sides.values()]
    assert sum(map(len, sides)) == len(set.union(*sides)) == 80
    texts = [text for side in found.sides.values() for text in side.text]
    assert sorted(texts) == sorted(records.text)
    assert {name: side for name, (side, _) in found.coins.people.items()} == {
        name: side for side, one in found.sides.items() for name in people_of(one)
    }


@pytest.mark.slow
def test_people_with_two_and_with_twenty_texts_are_balanced():
    sizes = [2, 20] * 100
    share_of_large = {side: [] for side in NAMES}
    n_in = []
    for seed in range(times(20)):
        found = split_texts(made(sizes, seed, words=4), seed=seed)
        assert len(set(people_of(found.sides["population"]))) == 40
        for side, records in found.sides.items():
            people = set(people_of(records))
            large = sum(sizes[int(name[1:])] == 20 for name in people)
            share_of_large[side].append(large / len(people))
            if side in ("population", "reference"):
                # Of 100 people with 2 and of 100 with 20 texts, in proportion.
                assert abs(large - len(people) / 2) <= 2
        n_in.append(len(set(people_of(found.sides["member"]))))
    for found in share_of_large.values():
        assert abs(np.mean(found) - 0.5) < 0.05
    assert np.std(n_in) > 2  # coins, not halves


@pytest.mark.slow
def test_coins_are_fair_and_independent_of_length_and_of_each_other():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 6, 60)
    records = made(sizes, 3, words=3)
    n = quarter(400)
    inside = np.zeros((n, 60))
    for seed in range(n):
        coins = split_texts(records, population=0, reference=0, seed=seed).coins
        inside[seed] = [coins.people[f"p{i}"][0] == "member" for i in range(60)]
    assert abs(inside.mean() - 0.5) < 4 * 0.5 / np.sqrt(inside.size)
    lean = (inside - 0.5) @ (sizes - sizes.mean()) / (0.5 * sizes.std() * np.sqrt(60))
    assert abs(lean.mean()) < 4 / np.sqrt(n)  # standard normal if independent
    assert 0.75 < lean.std() < 1.25
    count = inside.sum(axis=1)
    assert abs(count.var() / 15 - 1) < 5 * np.sqrt(2 / n)  # binomial: no halves, no clumps


def test_people_who_share_a_text_or_nearly_share_a_coin():
    records = made([3] * 40)
    text = list(records.text)
    text[3] = text[0]  # the second person's first text is the first person's
    words = text[1].split()
    text[6] = " ".join(["other", *words[1:]])
    found = split_texts(TextRecords(tuple(text), None, records.group))
    people = found.coins.people
    assert people["p0"] == people["p1"] == people["p2"]
    assert len({coin for _, coin in people.values()}) == 38
    assert found.notes == (
        "2 of 40 people share a text with others, or nearly: they are dealt together.",
    )


def test_forms_of_many_people_bind_nobody():
    records = made([2] * 60)
    text = list(records.text)
    for person in range(BOILERPLATE + 1):
        text[2 * person] = "the patient was seen and examined"
    found = split_texts(TextRecords(tuple(text), None, records.group))
    assert len({coin for _, coin in found.coins.people.values()}) == 60
    assert "bind nobody" in found.notes[0]


def test_texts_without_people_are_dealt_one_by_one():
    found = split_texts(made([1] * 50).text)
    assert set(found.coins.people) == {f"text-{row}" for row in range(50)}
    assert found.sides["member"].group is None
    assert "Nobody says whose a text is" in found.summary()
    assert "Nobody says" not in split_texts(made([2] * 40)).summary()


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize("column", ["SUBJECT_ID", "person_id", "Patient", "user_id"])
def test_people_are_found_by_the_usual_names(tmp_path, column, ending):
    """Or each text would be a person's of its own, and most people on both sides."""
    records = made([3] * 30)
    frame = pd.DataFrame({"text": records.text, column: records.group})
    path = tmp_path / f"notes.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    found = split_texts(path)
    sides = {side: set(part.group) for side, part in found.sides.items()}
    assert sum(map(len, sides.values())) == len(set().union(*sides.values())) == 30


def test_files_are_read_as_they_were_dealt(tmp_path):
    found = split_texts(made([2] * 40))
    write_sides(tmp_path, found.sides, found.coins)
    assert {path.name for path in tmp_path.iterdir()} == {*NAMES.values(), FILE, LIST}
    assert read_coins(tmp_path) == found.coins == read_coins(tmp_path / FILE)
    again = {side: load_texts(tmp_path / NAMES[side]) for side in found.sides}
    found.coins.require(again)
    shuffled = again["member"]
    order = np.random.default_rng(0).permutation(len(shuffled)).tolist()
    columns = (shuffled.text, shuffled.sample, shuffled.group)
    other = TextRecords(*(tuple(column[row] for row in order) for column in columns))
    found.coins.require({"member": other})
    fewer = TextRecords(shuffled.text[1:], shuffled.sample[1:], shuffled.group[1:])
    renamed = TextRecords(shuffled.text, shuffled.sample, ("x", *shuffled.group[1:]))
    for wrong in (fewer, renamed, again["nonmember"]):
        with pytest.raises(InputError, match=r"members\.jsonl as it was written"):
            found.coins.require({"member": wrong})


def test_made_up_notes_are_dealt_with_all_notes_of_a_patient():
    notes = made_up_notes(NotesDesign((30, 0, 0, 0)), np.random.default_rng(0))
    found = split_texts(TextRecords(notes.text, notes.sample, notes.group), reference=0)
    assert "reference" not in found.sides
    assert set(people_of(found.sides["member"])).isdisjoint(people_of(found.sides["nonmember"]))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"population": 1.0}, "population must be in"),
        ({"population": 0.5, "reference": 0.5}, "below 1 together"),
        ({"reference": -0.1}, "reference must be in"),
        ({"seed": -1}, "seed must be"),
        ({"population": 0.5, "reference": 0.4}, "at least 2 people"),
    ],
)
def test_what_cannot_be_dealt(change, told):
    with pytest.raises(InputError, match=told):
        split_texts(made([1] * 10), **change)


@pytest.mark.parametrize("content", ["", "{}", '{"seed": 0}', "[1]", '{"people": {"a": 1}}'])
def test_damaged_coins_are_one_line(tmp_path, content):
    (tmp_path / FILE).write_text(content)
    with pytest.raises(InputError, match="holds no coins"):
        read_coins(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        read_coins(tmp_path / "other.json")
    kept = {"seed": 0, "source": "", "sides": {"member": ""}, "people": {}}
    (tmp_path / FILE).write_text(json.dumps(kept))
    with pytest.raises(InputError, match="must hold the sides"):
        read_coins(tmp_path)


def test_people_are_dealt_again_for_every_model():
    """One fair coin for people who were bound together, of all who are judged and nobody else."""
    records = made([3, 1, 2] * 40)
    same = records.text[0]
    shared = TextRecords((*records.text, same, same), None, (*records.group, "p1", "p2"))
    found = split_texts(shared, seed=1)
    again = redealt(found, 200, seed=3)
    names = [name for side in ("member", "nonmember") for name in found.sides[side].group]
    assert list(again.texts.group) == names
    assert again.texts.text == tuple(
        text for side in ("member", "nonmember") for text in found.sides[side].text
    )
    coin = np.array([found.coins.people[name][1] for name in names])
    for number in np.unique(coin):
        assert (
            again.inside[:, coin == number] == again.inside[:, [np.argmax(coin == number)]]
        ).all()
    first = np.unique(coin, return_index=True)[1]
    inside = again.inside[:, first]
    # Independent fair coins, by person and by pair of people.
    assert np.abs(inside.mean(axis=0) - 0.5).max() < 4.5 * 0.5 / np.sqrt(200)
    agreeing = np.corrcoef(inside.T)[np.triu_indices(len(first), 1)]
    assert np.abs(agreeing).max() < 5.5 / np.sqrt(200)
    assert (redealt(found, 200, seed=3).inside == again.inside).all()
    assert (redealt(found, 201, seed=4).inside[:200] != again.inside).any()
    with pytest.raises(InputError, match="n_models must be at least 2, got 1: one is dealt"):
        redealt(found, 1)
