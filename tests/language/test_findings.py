"""From texts to findings with a model that memorises: real notes, and made-up ones with a shift."""

import gzip
import json

import numpy as np
import pytest

from privacygauge.core.game import play
from privacygauge.evaluate.decision import false_positive_rate, recall
from privacygauge.evaluate.roc import auc
from privacygauge.language.attacks import (
    FPRS,
    PopulationThreshold,
    energy_attacks,
    energy_round,
    energy_transcript,
)
from privacygauge.language.canaries import fictitious_names, prefix_names
from privacygauge.language.controls import (
    blind_control,
    control_level,
    matched_control,
    reference_control,
)
from privacygauge.language.patients import by_patient
from privacygauge.language.scores import LONG, SHORT, TextScores, length_bucket, text_scores
from tests.language.notes import ROLES, NotesDesign, made_up_notes
from tests.language.word_pairs import word_pairs

pytestmark = pytest.mark.slow

LEVEL = control_level(0.95)


def audited(role: list[str], group: list[str], text: list[str]) -> TextScores:
    """Return energies of models that learnt the members and the reference notes."""
    target, reference = (
        word_pairs([t for t, r in zip(text, role, strict=True) if r == which])
        for which in ("member", "reference")
    )
    rows = [row for row, which in enumerate(role) if which != "reference"]
    shown = [text[row] for row in rows]
    return text_scores(
        rows,
        [target(line) for line in shown],
        [role[row] == "member" for row in rows],
        energy_reference=[reference(line) for line in shown],
        group=[group[row] for row in rows],
        length=[len(line.split()) for line in shown],
        population=[role[row] == "population" for row in rows],
        text=shown,
    )


def fired(scores: TextScores) -> list[bool]:
    controls = reference_control(scores), blind_control(scores, np.random.default_rng(0))
    first = [control.fires(auc(control.transcript, LEVEL)) for control in controls]
    return [*first, matched_control(scores, "likelihood-ratio", LEVEL).fires]


@pytest.fixture(scope="module")
def real(data_folder):
    rows = []
    for role in ROLES:
        with gzip.open(data_folder / f"mtsamples_{role}.jsonl.gz", "rt") as lines:
            rows += [(role, f"{role}-{r['note_id']}", r["text"]) for r in map(json.loads, lines)]
    kept = [row for row in rows if int(row[1].split("-")[1]) % 3 == 0]
    return audited(*(list(column) for column in zip(*kept, strict=True)))


def test_real_notes_that_were_cut_by_chance_fire_no_control(real):
    assert fired(real) == [False] * 3


def test_real_notes_are_found_by_the_ratio_more_than_by_the_loss(real):
    ratio, loss = (auc(energy_transcript(real, name)) for name in ("likelihood-ratio", "loss"))
    assert ratio.low > loss.value > 0.8
    notes = auc(energy_transcript(by_patient(real), "likelihood-ratio"))
    assert notes.low > ratio.high
    short, long = (
        auc(energy_transcript(length_bucket(real, *ends), "likelihood-ratio"))
        for ends in (SHORT, LONG)
    )
    assert long.low > short.high


def test_real_notes_are_wrongly_found_about_as_often_as_the_population_says(real):
    for attack in energy_attacks(real, [PopulationThreshold(fpr) for fpr in FPRS])[:2]:
        fpr = 0.1 if "10%" in attack.variant else 0.01
        played = play(attack, [energy_round(real)], [np.random.default_rng(0)])
        # The threshold has an error of its own: 96 population notes of a third of the data.
        assert false_positive_rate(played.decisions).value == pytest.approx(fpr, rel=0.5)
        assert recall(played.decisions).low > fpr


def made_up(shift: float, named: bool = False, patients: int = 60) -> TextScores:
    notes = made_up_notes(NotesDesign((patients,) * 4, shift=shift), np.random.default_rng(0))
    role = [ROLES[number] for number in notes.role]
    text = list(notes.text)
    if named:
        names = fictitious_names(notes.group, np.random.default_rng(1))
        headed = prefix_names(text, notes.group, names)
        pairs = zip(role, text, headed, strict=True)
        text = [long if which == "member" else plain for which, plain, long in pairs]
    return audited(role, list(notes.group), text)


def test_made_up_notes_fire_with_a_shift_only():
    assert fired(made_up(0.0)) == [False] * 3
    shifted = made_up(1.0)
    reference, blind, ratio = fired(shifted)
    assert reference
    assert blind
    assert matched_control(shifted, "loss", LEVEL).fires
    # The audited model knows the members' ward better, which no reference energy shows: matching
    # sees a shift of difficulty, not of topic, and its silence proves nothing.
    assert not ratio


def test_names_on_one_side_only_fire_two_controls():
    # Patients with equal texts count as one, and of 60 too few are left for the words alone.
    assert fired(made_up(0.0, named=True, patients=200))[:2] == [True, True]
