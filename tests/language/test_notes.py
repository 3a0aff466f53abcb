"""Made-up clinical notes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.errors import InputError
from tests.language.notes import ROLES, NotesDesign, made_up_notes


def notes_of(seed: int = 0, **knobs: object):
    return made_up_notes(NotesDesign(**knobs), np.random.default_rng(seed))


@given(st.integers(0, 10_000))
def test_sentences_have_ten_to_sixty_words(seed):
    notes = notes_of(seed, patients=(2, 2, 1, 1), canaries=2)
    lengths = [len(line.split()) for line in notes.text]
    assert min(lengths) >= 10
    assert max(lengths) <= 60


def test_all_lengths_occur():
    lengths = [len(line.split()) for line in notes_of().text]
    assert min(lengths) < 13 < 45 < max(lengths)


def test_the_same_seed_gives_the_same_notes():
    first, again, other = (notes_of(seed, patients=(5, 5, 5, 5)) for seed in (0, 0, 1))
    assert first.text == again.text
    assert first.sample == again.sample
    assert first.text != other.text


def test_patients_have_one_role_a_name_and_notes():
    notes = notes_of(patients=(5, 4, 3, 2), notes=(2, 3), sentences=(1, 6))
    assert len(set(notes.sample)) == len(notes)
    assert len(dict(notes.names)) == len({name for _, name in notes.names}) == 14
    for number, role in enumerate(ROLES):
        rows = np.flatnonzero(notes.of(role))
        assert len({notes.group[row] for row in rows}) == (5, 4, 3, 2)[number]
    for patient, name in notes.names:
        own = [row for row in range(len(notes)) if notes.group[row] == patient]
        assert len(set(notes.note[own])) in (2, 3)
        others = [line for row, line in enumerate(notes.text) if notes.group[row] != patient]
        assert not any(name in line for line in others)
    assert sum(any(name in line for line in notes.text) for _, name in notes.names) >= 8


def test_the_knobs():
    clean = notes_of()
    copied = notes_of(duplication=0.4)
    assert len(set(clean.text)) > 0.99 * len(clean)
    # Sentences that follow a patient's first are copies in two of five cases.
    assert 1 - len(set(copied.text)) / len(copied) == pytest.approx(0.4, abs=0.08)
    patients = {line: set() for line in copied.text}
    for line, patient in zip(copied.text, copied.group, strict=True):
        patients[line].add(patient)
    assert sum(len(found) > 1 for found in patients.values()) < 0.01 * len(patients)


def test_canaries_are_in_members_notes_only():
    notes = notes_of(canaries=3, copies=4)
    assert len({*notes.canaries, *notes.absent_canaries}) == 6
    for canary in notes.canaries:
        rows = [row for row, text in enumerate(notes.text) if text == canary]
        assert len(rows) == 4
        assert notes.of("member")[rows].all()
    assert not set(notes.absent_canaries) & set(notes.text)
    assert len(set(notes.sample)) == len(notes)


@pytest.mark.parametrize(("shift", "share"), [(0.0, 0.5), (0.6, 0.8), (1.0, 1.0)])
def test_the_shift_moves_members_to_the_surgical_ward_and_nobody_else(shift, share):
    notes = notes_of(patients=(40, 40, 20, 20), shift=shift)
    medical = ("breath sounds", "heart rate", "blood pressure", "family history", "appetite")
    surgical = ("operating room", "incision", "sponge", "anesthesia", "sutures")
    for role in ROLES:
        lines = [notes.text[row].lower() for row in np.flatnonzero(notes.of(role))]
        seen = [sum(any(word in line for word in words) for line in lines)
                for words in (medical, surgical)]  # fmt: skip
        expected = share if role == "member" else 0.5
        # Both lists are in about as many sentences of their ward; over 500 of each kind.
        assert seen[1] / sum(seen) == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"patients": (1, 2, 3)}, "patients must be 4 counts"),
        ({"patients": (1, 2, 3, -1)}, "patients must be 4 counts"),
        ({"notes": (0, 2)}, "notes must be 1 <= fewest <= most"),
        ({"sentences": (3, 2)}, "sentences must be 1 <= fewest <= most"),
        ({"duplication": 1.0}, r"duplication must be in \[0, 1\), got 1.0"),
        ({"shift": 1.5}, r"shift must be in \[0, 1\], got 1.5"),
        ({"canaries": 1, "copies": 0}, "copies at least 1"),
        ({"canaries": 1, "patients": (0, 1, 1, 1)}, "canaries need members"),
    ],
)
def test_impossible_designs(knobs, message):
    with pytest.raises(InputError, match=message):
        NotesDesign(**knobs)


def test_roles_are_named():
    with pytest.raises(InputError, match="role must be one of member, nonmember, population"):
        notes_of(patients=(1, 1, 1, 1)).of("train")
