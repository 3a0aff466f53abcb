"""Made-up clinical notes: patients, dates, diagnoses, and knobs for what an audit should find."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Ints
from privacygauge.errors import InputError
from privacygauge.language.canaries import made_up_names
from tests.language import clauses

ROLES = ("member", "nonmember", "population", "reference")
"""What a patient's notes are for; no patient has two roles."""


@dataclass(frozen=True)
class NotesDesign:
    """How many made-up patients there are, and what is wrong with their notes."""

    patients: tuple[int, int, int, int] = (20, 20, 20, 20)
    """Patients of each of `ROLES`."""
    notes: tuple[int, int] = (1, 4)
    """The fewest and the most notes of a patient."""
    sentences: tuple[int, int] = (4, 10)
    """The fewest and the most sentences of a note."""
    duplication: float = 0.0
    """The chance that a sentence is a copy of an earlier one of the same patient, in [0, 1)."""
    canaries: int = 0
    """Secrets that are put into members' notes; as many again are never put anywhere."""
    copies: int = 1
    """How often each canary is put in."""
    shift: float = 0.0
    """How much members' notes differ in topic from the others', in [0, 1]; 0 is an honest test."""

    def __post_init__(self) -> None:
        if len(self.patients) != len(ROLES) or min(self.patients) < 0:
            raise InputError(f"patients must be {len(ROLES)} counts, got {self.patients}")
        for name in ("notes", "sentences"):
            fewest, most = getattr(self, name)
            if not 1 <= fewest <= most:
                raise InputError(f"{name} must be 1 <= fewest <= most, got {(fewest, most)}")
        if not 0.0 <= self.duplication < 1.0:
            raise InputError(f"duplication must be in [0, 1), got {self.duplication}")
        if not 0.0 <= self.shift <= 1.0:
            raise InputError(f"shift must be in [0, 1], got {self.shift}")
        if self.canaries < 0 or self.copies < 1:
            raise InputError(
                f"canaries must be at least 0 and copies at least 1, got {self.canaries} and "
                f"{self.copies}"
            )
        if self.canaries and not self.patients[0]:
            raise InputError("canaries need members to hold them, got 0 members")


@dataclass(frozen=True, eq=False)
class MadeUpNotes:
    """Sentences of made-up notes, one row each, patient by patient."""

    sample: tuple[str, ...] = field(repr=False)
    """(n,) Ids: patient, note and place in the note."""
    text: tuple[str, ...] = field(repr=False)
    """(n,) Sentences of 10 to 60 words."""
    group: tuple[str, ...] = field(repr=False)
    """(n,) The patient of each sentence."""
    note: Ints
    """(n,) The number of the patient's note."""
    role: Ints
    """(n,) The place in `ROLES`."""
    names: tuple[tuple[str, str], ...] = field(repr=False)
    """(p,) Every patient with the name that the notes use."""
    canaries: tuple[str, ...] = ()
    """Secrets in members' notes."""
    absent_canaries: tuple[str, ...] = ()
    """Secrets of the same kind that are in no note, to compare with."""

    def __len__(self) -> int:
        return len(self.text)

    def of(self, role: str) -> Bools:
        """Return which sentences belong to patients of a role, (n,)."""
        if role not in ROLES:
            raise InputError(f"role must be one of {checks.short_list(ROLES)}, got {role!r}")
        return np.equal(self.role, ROLES.index(role))


def made_up_notes(design: NotesDesign, rng: np.random.Generator) -> MadeUpNotes:
    """Return notes of made-up patients.

    Parameters
    ----------
    design : NotesDesign
    rng : numpy.random.Generator
        Every patient has a generator of its own, so that one with more notes changes no other's.

    Returns
    -------
    MadeUpNotes
        Equal for equal designs and seeds.

    Notes
    -----
    A sentence is a chain of two to six clauses of a medical or of a surgical ward. Members'
    sentences are surgical with probability (1 + shift) / 2, all others' with 1 / 2: the shift
    moves topics, and an audited model has no part in it.

    Examples
    --------
    >>> import numpy as np
    >>> from tests.language.notes import NotesDesign, made_up_notes
    >>> notes = made_up_notes(NotesDesign((2, 2, 0, 0)), np.random.default_rng(0))
    >>> sorted(set(notes.group))
    ['patient-0', 'patient-1', 'patient-2', 'patient-3']
    """
    roles = np.repeat(np.arange(len(ROLES)), design.patients)
    naming, secrets = rng.spawn(2)
    names = made_up_names(len(roles), naming)
    rows: list[_Row] = []
    for number, own in enumerate(rng.spawn(len(roles))):
        rows += _patient(number, names[number], int(roles[number]), design, own)
    canaries = tuple(clauses.canary(secrets) for _ in range(2 * design.canaries))
    present = canaries[: design.canaries]
    _hide(rows, present, design.copies, secrets)
    return MadeUpNotes(
        tuple(row.sample for row in rows),
        tuple(row.text for row in rows),
        group=tuple(f"patient-{row.patient}" for row in rows),
        note=np.array([row.note for row in rows], np.int64),
        role=np.array([row.role for row in rows], np.int64),
        names=tuple((f"patient-{number}", name) for number, name in enumerate(names)),
        canaries=present,
        absent_canaries=canaries[design.canaries :],
    )


@dataclass(frozen=True)
class _Row:
    patient: int
    note: int
    place: int
    role: int
    text: str

    @property
    def sample(self) -> str:
        return f"patient-{self.patient}/{self.note}/{self.place}"


def _patient(
    number: int, name: str, role: int, design: NotesDesign, rng: np.random.Generator
) -> list[_Row]:
    surgical = (1 + design.shift) / 2 if ROLES[role] == "member" else 0.5
    person = clauses.person(name, rng)
    written: list[str] = []
    rows = []
    for note in range(_between(design.notes, rng)):
        for place in range(_between(design.sentences, rng)):
            again = rng.random() < design.duplication
            fresh = clauses.sentence(person, rng.random() < surgical, rng)
            text = written[rng.integers(len(written))] if again and written else fresh
            written.append(text)
            rows.append(_Row(number, note, place, role, text))
    return rows


def _hide(
    rows: list[_Row], canaries: tuple[str, ...], copies: int, rng: np.random.Generator
) -> None:
    """Put each canary at the ends of some members' last notes."""
    last = {row.patient: row for row in rows if ROLES[row.role] == "member"}
    for text in canaries:
        for patient in rng.choice(sorted(last), copies):
            row = last[int(patient)]
            last[int(patient)] = _Row(row.patient, row.note, row.place + 1, row.role, text)
            rows.append(last[int(patient)])
    rows.sort(key=lambda row: (row.patient, row.note, row.place))


def _between(range_: tuple[int, int], rng: np.random.Generator) -> int:
    return int(rng.integers(range_[0], range_[1] + 1))
