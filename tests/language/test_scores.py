"""Energies beside what is known of the samples."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given

from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.language.attacks import signal
from privacygauge.language.patients import by_patient
from privacygauge.language.scores import LONG, SHORT, TextScores, length_bucket, text_scores
from tests.language.made_scores import few_scores, made_scores


def test_arrays_are_read_only_copies_and_texts_are_not_shown():
    energy = np.array([1.0, 2.0])
    scores = text_scores(["a", "b"], energy, [1, 0], text=["Mr Smith has cancer", "fine"])
    energy[0] = 9
    assert scores.energy_target.tolist() == [1.0, 2.0]
    assert not scores.energy_target.flags.writeable
    assert not scores.judged.flags.writeable
    assert "Smith" not in repr(scores)


HOSTILE = [
    "a",
    "a\0",
    " a",
    "A",
    "<b>",
    "7",
    "007",
    "NaN",
    "None",
    "é",
    "e\u0301",
    "x" * 9999,
    "\n",
]


def test_hostile_ids_stay_what_they_are():
    n = len(HOSTILE)
    scores = text_scores(HOSTILE, np.arange(n), np.arange(n) % 2, group=HOSTILE)
    assert scores.sample == scores.group == tuple(HOSTILE)
    assert scores.unit.tolist() == list(range(n))


def test_numbers_are_ids_too():
    scores = text_scores(np.array([7, 8]), [1, 2], [1, 0], group=[1, np.int64(1)])
    assert scores.sample == ("7", "8")
    assert scores.group == ("1", "1")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"energy_target": [1, np.nan, 3]}, "energy_target must be finite, got nan in row 1"),
        ({"energy_reference": [1, 2, np.inf]}, "energy_reference must be finite, got inf in row 2"),
        ({"energy_reference": [1, 2]}, "energy_reference must have 3 rows, got 2"),
        ({"member": [1, 0, 2]}, r"member must be true or false .*, got 2 in row 2"),
        ({"member": [0, 0, 0]}, "got no members outside of the population"),
        ({"member": [1, 1, 1]}, "got no non-members outside of the population"),
        ({"population": [0, 1, 1]}, "got no non-members outside of the population"),
        ({"population": [1, 0, 0]}, r"population must be 0 for members, got 1 in row 0: .*"),
        ({"sample": ["a", "b", "b"]}, r"sample must hold different ids, got 'b' twice \(non-m.*"),
        ({"sample": ["a", "b", ""]}, "sample has no value in row 2: fill it in, or leave .*"),
        ({"sample": ["a", "b"]}, "sample must have 3 rows, got 2"),
        (
            {"sample": ["a", "b", "\ud800"]},
            "sample is not valid Unicode in row 2: save .* as UTF-8",
        ),
        ({"sample": ["a", "b", ["c"]]}, "sample must be texts or numbers, got list in row 2"),
        ({"group": ["a", None, "b"]}, "group has no value in row 1: fill it in, or leave .*"),
        ({"group": ["a", float("nan"), "b"]}, "group has no value in row 1: .*"),
        ({"group": "abc"}, r"group must have the shape \(n,\), got one text"),
        ({"length": [1, -1, 2]}, "length must be at least 0, got -1 in row 1"),
        ({"text": ["a", "b", None]}, "text has no value in row 2: .*"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(change, message):
    right = {"sample": ["a", "b", "c"], "energy_target": [1, 2, 3], "member": [1, 0, 0]}
    with pytest.raises(InputError, match=f"{message}$") as caught:
        text_scores(**(right | change))
    assert "\n" not in str(caught.value)


def test_the_class_itself_refuses_repeated_ids():
    scores = text_scores(["a", "b"], [1, 2], [1, 0])
    with pytest.raises(InputError, match=r"^sample must hold different ids"):
        dataclasses.replace(scores, sample=("a", "a"))


def test_without_groups_every_sample_is_its_own_unit_and_the_notes_say_so():
    scores = text_scores(["a", "b"], [1, 2], [1, 0])
    assert scores.unit.tolist() == [0, 1]
    assert scores.notes == ("No groups were given: every sample counts as a person of its own.",)


def test_a_population_that_shares_patients_with_the_judged_is_reported():
    scores = text_scores(
        list("abcd"), [1, 2, 3, 4], [1, 0, 0, 0], group=list("xyyz"), population=[0, 0, 1, 1]
    )
    assert scores.notes == (
        "1 group(s) have samples both in the population and among the judged: the threshold is "
        "not independent of them.",
    )


@pytest.mark.slow
@given(few_scores())
def test_length_buckets_part_the_samples(scores: TextScores):
    ranges = [(0, SHORT[0] - 1), SHORT, LONG, (LONG[1] + 1, 1000)]
    found = [length_bucket(scores, *ends) for ends in ranges]
    assert SHORT[1] + 1 == LONG[0]
    for part, (fewest, most) in zip(found, ranges, strict=True):
        rows = [i for i, n in enumerate(scores.length) if fewest <= n <= most]
        kinds = {(bool(scores.member[i]), bool(scores.population[i])) for i in rows}
        if {(True, False), (False, False)} <= kinds:
            assert part.sample == tuple(scores.sample[i] for i in rows)
            assert part.energy_reference.tolist() == [scores.energy_reference[i] for i in rows]
        else:
            assert isinstance(part, Skipped)


def test_length_buckets_need_lengths():
    scores = text_scores(["a", "b"], [1, 2], [1, 0])
    assert "column length" in length_bucket(scores, *SHORT).reason
    with pytest.raises(InputError, match="fewest must be at most most, got 20 and 10"):
        length_bucket(made_scores(np.random.default_rng(0)), 20, 10)


def test_further_signals_go_where_their_samples_go():
    both = text_scores(list("abca"), [1, 2, 3, 1], [1, 0, 1, 0], further={"min-k": [5, 6, 7, 8]})
    assert both.sample == ("b", "c")
    assert both.further["min-k"].tolist() == [6.0, 7.0]
    assert not both.further["min-k"].flags.writeable
    assert signal(both, "min-k").tolist() == [6.0, 7.0]
    more = text_scores(list("abcd"), [1, 2, 3, 1], [1, 0, 1, 0], further={"min-k": [5, 6, 7, 8]})
    left = more.take(np.array([False, True, True, False]))
    assert left.further["min-k"].tolist() == [6.0, 7.0]


def test_a_patient_has_the_mean_of_a_further_signal():
    groups = ["a", "b", "a", "c", "b"]
    scores = text_scores(
        list("vwxyz"), np.zeros(5), [1, 0, 1, 0, 0], group=groups, further={"own": [1, 2, 4, 8, 16]}
    )
    patients = by_patient(scores)
    assert dict(zip(patients.sample, patients.further["own"], strict=True)) == {
        "a": 2.5,
        "b": 9.0,
        "c": 8.0,
    }


@pytest.mark.parametrize(
    ("further", "told"),
    [
        ({"loss": [1, 2]}, "a further signal must have a name of its own, got 'loss'"),
        ({" ": [1, 2]}, "a further signal must have a name of its own, got ' '"),
        ({"min-k": [1, 2, 3]}, "signal min-k must have 2 rows, got 3"),
        ({"min-k": [1, np.nan]}, "signal min-k must be finite, got nan in row 1"),
    ],
)
def test_a_further_signal_that_is_none(further, told):
    with pytest.raises(InputError, match=told):
        text_scores(["a", "b"], [1, 2], [1, 0], further=further)
    with pytest.raises(InputError, match=told):
        TextScores(("a", "b"), [1, 2], [1, 0], [0, 0], further=further)


def test_a_misspelt_column_is_an_error():
    with pytest.raises(TypeError, match="unexpected keyword argument 'lenght'"):
        text_scores(["a", "b"], [1, 2], [1, 0], lenght=[3, 4])
