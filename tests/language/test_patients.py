"""The patient level."""

import numpy as np
import pytest
from hypothesis import given

from privacygauge.errors import InputError
from privacygauge.evaluate.roc import auc
from privacygauge.language.attacks import energy_transcript, signal
from privacygauge.language.patients import by_patient
from privacygauge.language.scores import TextScores, text_scores
from tests.language.made_scores import few_scores, made_scores


@given(few_scores())
def test_the_same_as_a_slow_loop(scores: TextScores):
    ratio = -signal(scores, "likelihood-ratio")
    plain = by_patient(scores)
    assert set(plain.sample) == set(scores.group)
    assert plain.sample == plain.group
    for row, patient in enumerate(plain.sample):
        own = [i for i, group in enumerate(scores.group) if group == patient]
        mean = np.mean([ratio[i] for i in own])
        assert -signal(plain, "likelihood-ratio")[row] == pytest.approx(mean)
        assert plain.member[row] == scores.member[own[0]]
        assert plain.population[row] == scores.population[own[0]]
        assert plain.length[row] == sum(scores.length[i] for i in own)


def test_one_sample_a_patient_changes_nothing():
    scores = made_scores(np.random.default_rng(0), patients=(20, 20, 20), sizes=(1, 1))
    whole = by_patient(scores)
    assert np.allclose(whole.energy_target, scores.energy_target, rtol=1e-15)
    assert whole.sample == scores.group


def test_mixed_patients_and_shared_population_are_left_out_and_counted():
    scores = text_scores(
        list("abcdefg"),
        np.arange(7),
        [1, 0, 1, 0, 0, 0, 0],
        group=["mixed", "mixed", "in", "out", "out", "in", "else"],
        population=[0, 0, 0, 0, 0, 1, 1],
    )
    found = by_patient(scores)
    assert found.sample == ("in", "out", "else")
    assert found.energy_target.tolist() == [2.0, 3.5, 6.0]
    assert "1 patient(s) with both members and non-members" in found.notes[1]
    assert "1 judged patient(s) were left out of the population" in found.notes[2]
    assert "1 to 2 samples (median 1)" in found.notes[3]


def test_means_of_few_samples_vary_more():
    rng = np.random.default_rng(0)
    size = np.repeat([1, 16], 400)
    group = np.repeat(np.arange(800), size)
    member = np.arange(800)[group] % 2
    energy = rng.normal(9, 1, len(group))
    scores = text_scores(np.arange(len(group)), energy, member, group=group)
    few, many = (by_patient(scores).energy_target[np.repeat([k, 1 - k], 400) == 1] for k in (1, 0))
    assert np.std(few) / np.std(many) == pytest.approx(4, rel=0.15)


def test_patients_are_told_apart_better_than_samples():
    scores = made_scores(np.random.default_rng(0), patients=(100, 100, 0), sizes=(5, 12))
    sample, patient = (
        auc(energy_transcript(s, "likelihood-ratio")) for s in (scores, by_patient(scores))
    )
    assert patient.low > sample.high
    assert patient.n == sample.n == 200


def test_groups_are_needed():
    with pytest.raises(InputError, match=r"^the patient level needs groups: give a column group"):
        by_patient(text_scores(list("ab"), [1, 2], [1, 0]))
    with pytest.raises(InputError, match="got none of one kind: check the column group"):
        by_patient(text_scores(list("abc"), [1, 2, 3], [1, 0, 0], group=list("xxy")))
