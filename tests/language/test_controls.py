"""The controls fire where members and non-members differ, and are silent where they do not."""

import re
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom

from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.evaluate.roc import auc
from privacygauge.language.controls import (
    N_CONTROLS,
    N_FOLDS,
    blind_control,
    blind_scores,
    control_level,
    folds_of,
    matched_control,
    reference_control,
    sizes_control,
)
from privacygauge.language.scores import TextScores, text_scores
from tests.language import clauses
from tests.language.made_scores import made_scores, sized_scores
from tests.language.notes import NotesDesign, made_up_notes
from tests.thorough import quarter, times

LEVEL = control_level(0.95)


def test_all_controls_hold_together():
    assert pytest.approx(1 - 0.05 / N_CONTROLS) == LEVEL
    with pytest.raises(InputError, match="level must be"):
        control_level(1.0)


def fired(scores: TextScores) -> tuple[bool, bool]:
    reference = reference_control(scores)
    return reference.fires(auc(reference.transcript, LEVEL)), matched_control(
        scores, "likelihood-ratio", LEVEL
    ).fires


def most(games: int) -> int:
    """Return how many of the games a control that keeps its level fires in, but for 1 in 1000."""
    return int(binom.ppf(0.999, games, 1 - LEVEL))


@pytest.mark.slow
@pytest.mark.parametrize("leak", [0.0, 0.8])
def test_without_a_shift_false_alarms_are_at_most_nominal(leak):
    games = times(100)
    alarms = np.sum(
        [fired(made_scores(np.random.default_rng(seed), leak=leak)) for seed in range(games)], 0
    )
    assert np.all(alarms <= most(games))


@pytest.mark.parametrize("leak", [0.0, 0.8])
def test_a_planted_shift_fires(leak):
    games = times(40)
    alarms = np.sum(
        [
            fired(made_scores(np.random.default_rng(seed), leak=leak, shift=0.5))
            for seed in range(games)
        ],
        0,
    )
    assert np.all(alarms >= 0.9 * games)


def noted(seed: int, shift: float, patients: int = 20) -> TextScores:
    design = NotesDesign((patients, patients, 0, 0), notes=(1, 3), sentences=(3, 6), shift=shift)
    notes = made_up_notes(design, np.random.default_rng(seed))
    energy = np.zeros(len(notes))
    return text_scores(notes.sample, energy, notes.of("member"), group=notes.group, text=notes.text)


def counted(texts) -> Counter:
    return Counter(word for text in texts for word in words(text))


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def energies(texts, counts: Counter) -> np.ndarray:
    """Return the mean negative log-probability of a text's words by how often each was seen."""
    seen = counts.total() + len(counts) + 1
    return np.array([-np.mean([np.log((counts[w] + 1) / seen) for w in words(t)]) for t in texts])


def learnt(seed: int, shift: float) -> TextScores:
    """Return scores by models that count words: a reference that saw other notes, mostly of one
    ward, and a target that saw the same and the members'.
    """
    rng = np.random.default_rng(seed)
    design = NotesDesign((30, 30, 0, 0), notes=(1, 3), sentences=(2, 4), shift=shift)
    notes = made_up_notes(design, rng)
    member = notes.of("member")
    person = clauses.person("Jo Doe", rng)
    reference = counted(clauses.sentence(person, rng.random() < 0.2, rng) for _ in range(200))
    target = reference + counted(np.asarray(notes.text)[member])
    return text_scores(
        notes.sample,
        energies(notes.text, target),
        member,
        energy_reference=energies(notes.text, reference),
        group=notes.group,
        text=notes.text,
    )


def all_fired(scores: TextScores, seed: int) -> tuple[bool, bool, bool]:
    blind = blind_control(scores, np.random.default_rng(seed))
    return (*fired(scores), blind.fires(auc(blind.transcript, LEVEL)))


@pytest.mark.slow
def test_on_notes_with_a_shift_every_control_fires_and_without_one_none():
    games = times(100)
    shifted = quarter(100)
    alarms, found = (
        np.sum([all_fired(learnt(seed, shift), seed) for seed in range(n)], 0)
        for shift, n in ((0.0, games), (1.0, shifted))
    )
    assert np.all(alarms <= most(games))
    assert np.all(found >= 0.9 * shifted)


@pytest.mark.slow
def test_blind_scores_are_of_groups_that_were_not_learnt_from():
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(40), 3)
    secret = unit % 2 == 0
    # Every patient has a word of its own: what is known of it tells nothing of another.
    text = [f"word{u} common text" for u in unit]
    fold = folds_of(unit, secret, N_FOLDS, rng)
    scores = blind_scores(text, secret, fold)
    assert np.all(scores == 0.5)
    # A word that all members share is found from the second fold on.
    marked = [line + " marked" * int(s) for line, s in zip(text, secret, strict=True)]
    shown = fold > 0
    scores = blind_scores(marked, secret, fold)
    assert scores[shown & secret].min() > scores[shown & ~secret].max()


@pytest.mark.slow
def test_later_folds_do_not_reach_back():
    scores = noted(0, 0.3)
    fold = folds_of(scores.unit, scores.member, N_FOLDS, np.random.default_rng(0))
    first = blind_scores(scores.text, scores.member, fold)
    other = [line if fold[row] < 3 else "altered" for row, line in enumerate(scores.text)]
    second = blind_scores(other, scores.member, fold)
    assert np.array_equal(first[fold < 3], second[fold < 3])
    assert not np.array_equal(first, second)


def test_folds_keep_groups_whole_and_sides_even():
    rng = np.random.default_rng(0)
    unit = rng.integers(0, 60, 500)
    secret = unit % 3 == 0
    fold = folds_of(unit, secret, 5, rng)
    for group in np.unique(unit):
        assert len(np.unique(fold[unit == group])) == 1
    for side in (secret, ~secret):
        sizes = [len(np.unique(unit[side & (fold == k)])) for k in range(5)]
        assert max(sizes) - min(sizes) <= 1


@pytest.mark.slow
def test_the_rule():
    scores = made_scores(np.random.default_rng(0), patients=(20, 20, 0))
    reference = reference_control(scores)
    blind = blind_control(noted(0, 0.0, patients=30), np.random.default_rng(0))
    areas = [
        Estimate(value, value - 0.1, value + 0.1, LEVEL, 100, "made up")
        for value in (0.7, 0.3, 0.38, 0.5)
    ]
    # Far below chance texts of one side have twins on the other; a little below is no finding.
    assert [reference.fires(area) for area in areas] == [True, True, True, False]
    assert [blind.fires(area) for area in areas] == [True, True, False, False]


def test_what_is_missing_is_said():
    scores = text_scores(list("ab"), [1, 2], [1, 0])
    rng = np.random.default_rng(0)
    assert "reference model" in reference_control(scores).reason
    assert "reference model" in matched_control(scores).reason
    assert "column text" in blind_control(scores, rng).reason
    assert "column group" in sizes_control(scores).reason
    mixed = text_scores(list("abc"), [1, 2, 3], [1, 0, 1], group=list("xxy"))
    assert "all on one side" in sizes_control(mixed).reason
    assert "got 5" in blind_control(noted(0, 0.0, patients=5), rng).reason


def test_numbers_of_texts_are_counted_by_patient():
    group = ["few", "many", "many", "mixed", "mixed", "out", "else"]
    scores = text_scores(
        range(7), np.zeros(7), [1, 1, 1, 1, 0, 0, 0], group=group, population=[0] * 6 + [1]
    )
    found = sizes_control(scores).transcript
    assert sorted(zip(found.score.tolist(), found.secret.tolist(), strict=True)) == [
        (1.0, False),
        (1.0, True),
        (2.0, True),
    ]


@pytest.mark.parametrize(("sizes", "least"), [((2, 20, 0), 1.0), ((5, (5, 10), 0), 0.95)])
def test_unequal_numbers_of_texts_fire(sizes, least):
    games = times(40)
    alarms = sum(sizes_fire(seed, sizes) for seed in range(games))
    assert alarms >= least * games


@pytest.mark.parametrize("sizes", [(5, 5, 0), ((1, 2, 20), (1, 2, 20), 0)])
def test_numbers_of_texts_of_one_law_are_quiet(sizes):
    games = times(100)
    assert sum(sizes_fire(seed, sizes) for seed in range(games)) <= most(games)


def sizes_fire(seed: int, sizes) -> bool:
    scores = sized_scores(np.random.default_rng(seed), sizes, patients=(60, 60, 0))
    control = sizes_control(scores)
    return control.fires(auc(control.transcript, LEVEL))


def test_the_population_takes_no_part():
    scores = made_scores(np.random.default_rng(0), patients=(30, 30, 30))
    judged = scores.take(scores.judged)
    for first, second in ((scores, judged),):
        a, b = (reference_control(s).transcript for s in (first, second))
        assert np.array_equal(a.score, b.score)
        assert matched_control(first).fall == matched_control(second).fall
