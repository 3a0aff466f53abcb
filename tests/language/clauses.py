"""The clauses that made-up notes are chained from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

_MEDICAL = (
    "{name} reports {symptom} for {small} days",
    "blood pressure was {pressure} in the morning",
    "the patient takes {drug} {dose} mg daily",
    "{disease} was first noted on {date}",
    "breath sounds are clear over both lungs",
    "the heart rate was {rate} at rest",
    "there is a family history of {disease}",
    "laboratory values of {date} were reviewed today",
    "{drug} was stopped because of mild {symptom}",
    "a diet low in salt was advised",
    "the patient denies {symptom} and recent travel",
    "{disease} remains stable under the present treatment",
    "a visit in {small} weeks was arranged",
    "oxygen saturation was {rate} percent on room air",
    "the patient sleeps well and eats with appetite",
    "the abdomen is soft today",
    "no rash was seen anywhere",
)
_SURGICAL = (
    "{name} was taken to the operating room",
    "an incision of {small} cm was made",
    "the {organ} was exposed by blunt dissection",
    "blood loss was about {dose} ml in all",
    "the wound was closed in {small} layers",
    "a drain was left beside the {organ}",
    "the specimen was sent to pathology on {date}",
    "general anesthesia was given without any complication",
    "the {organ} was inspected and found intact",
    "sponge and needle counts were correct twice",
    "sutures are to come out after {small} days",
    "the patient was moved to recovery awake",
    "the tourniquet was let down after {rate} minutes",
    "the field was washed with warm saline",
    "{drug} {dose} mg was given before the incision",
    "the stomach was emptied first",
    "no stone was left behind",
)
_SYMPTOMS = ("chest pain", "cough", "dizziness", "fatigue", "fever", "headache", "nausea",
             "night sweats", "back pain", "swollen ankles")  # fmt: skip
_DISEASES = ("asthma", "atrial fibrillation", "diabetes", "gout", "hypertension", "migraine",
             "psoriasis", "renal failure", "anemia", "hypothyroidism")  # fmt: skip
_DRUGS = ("amlodipine", "aspirin", "furosemide", "insulin", "lisinopril", "metformin",
          "metoprolol", "omeprazole", "prednisone", "warfarin")  # fmt: skip
_ORGANS = ("appendix", "colon", "femur", "gallbladder", "hernia sac", "left kidney", "meniscus",
           "right ovary", "spleen", "thyroid")  # fmt: skip
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September",
           "October", "November", "December")  # fmt: skip
_JOINTS = (", and ", "; ", ", while ")
_DIGITS = 9
"""Digits of a canary's secret."""
_CLAUSES = (2, 6)
"""Of a sentence. Clauses have five to ten words once the blanks are filled, and few have more than
eight, so that the longest six with "while" between them stay below sixty."""


@dataclass(frozen=True)
class Person:
    """What stays the same in all notes of a patient."""

    name: str
    """First and last name."""
    disease: str
    """The chief diagnosis."""
    drug: str
    """What is taken for it."""


def person(name: str, rng: np.random.Generator) -> Person:
    """Return a patient of that name with a diagnosis and a drug."""
    return Person(name, _one(_DISEASES, rng), _one(_DRUGS, rng))


def sentence(patient: Person, surgical: bool, rng: np.random.Generator) -> str:
    """Return a sentence of 10 to 60 words about a patient, of the one or the other ward."""
    kinds = _SURGICAL if surgical else _MEDICAL
    n = int(rng.integers(_CLAUSES[0], _CLAUSES[1] + 1))
    chosen = rng.choice(len(kinds), n, replace=False)
    parts = [kinds[int(place)].format_map(_blanks(patient, rng)) for place in chosen]
    text = parts[0]
    for part in parts[1:]:
        text += _one(_JOINTS, rng) + part
    return text[0].upper() + text[1:] + "."


def canary(rng: np.random.Generator) -> str:
    """Return a sentence with a secret number, of the kind whose memorisation is measured."""
    secret = "".join(str(digit) for digit in rng.integers(10, size=_DIGITS))
    return f"The access number of this record, not to be shared with anyone, is {secret}."


def _blanks(patient: Person, rng: np.random.Generator) -> Mapping[str, object]:
    # One draw for all blanks: a call a blank takes ten times as long.
    u = rng.random(14).tolist()
    date = f"{_pick(_MONTHS, u[0])} {_whole(1, 28, u[1])}, {_whole(2001, 2020, u[2])}"
    return {
        "name": patient.name,
        "disease": patient.disease if u[3] < 0.5 else _pick(_DISEASES, u[4]),
        "drug": patient.drug if u[5] < 0.5 else _pick(_DRUGS, u[6]),
        "symptom": _pick(_SYMPTOMS, u[7]),
        "organ": _pick(_ORGANS, u[8]),
        "date": date,
        "pressure": f"{_whole(95, 179, u[9])}/{_whole(55, 104, u[10])}",
        "small": _whole(2, 9, u[11]),
        "rate": _whole(50, 99, u[12]),
        "dose": 5 * _whole(1, 99, u[13]),
    }


def _one(choices: tuple[str, ...], rng: np.random.Generator) -> str:
    return _pick(choices, rng.random())


def _pick(choices: tuple[str, ...], u: float) -> str:
    return choices[int(u * len(choices))]


def _whole(fewest: int, most: int, u: float) -> int:
    return fewest + int(u * (most + 1 - fewest))
