"""From samples to patients: one row a person, which is what a privacy claim is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError
from privacygauge.language.scores import TextScores
from privacygauge.language.texts import numbered

_Aggregated = Callable[[Floats], Floats]


class Aggregation(Protocol):
    """How the energies of a patient's samples become one number."""

    @property
    def name(self) -> str:
        """What tables call it."""

    def of(self, energy: Floats, patient: Ints, centre: float) -> Floats:
        """Return one value a patient, (p,), linear in the energies."""


@dataclass(frozen=True)
class MeanOfSamples:
    """The mean over the patient's samples, as published.

    Assumes that patients of the two sides have equally many samples: the mean of few samples
    varies more, so that patients with few samples fill both tails. `even_sizes` sees to it.
    """

    name: str = "mean"
    """What tables call it."""

    def of(self, energy: Floats, patient: Ints, centre: float) -> Floats:
        """Return the mean of each patient's energies, (p,); `centre` is not used."""
        return np.bincount(patient, weights=energy) / np.bincount(patient)


@dataclass(frozen=True)
class StandardisedMean:
    """The mean's distance from the centre, in units of its standard error but for a constant.

    Assumes that the samples of one patient are independent and equally variable: then patients of
    all sizes vary equally. Samples of one note are alike in truth, so that large groups still vary
    more than small ones, though by less than their raw sums.
    """

    name: str = "standardised mean"
    """What tables call it."""

    def of(self, energy: Floats, patient: Ints, centre: float) -> Floats:
        """Return ``(mean - centre) * sqrt(samples)`` for each patient, (p,)."""
        size = np.bincount(patient)
        return (np.bincount(patient, weights=energy) / size - centre) * np.sqrt(size)


def by_patient(scores: TextScores, aggregation: Aggregation | None = None) -> TextScores:
    """Return one row a patient: members, non-members and population aggregated alike.

    Parameters
    ----------
    scores : TextScores
        With groups.
    aggregation : Aggregation, optional
        `MeanOfSamples` by default, else `StandardisedMean`. Both are linear, so that
        the aggregate of the statistic is the difference of the aggregated energies.

    Returns
    -------
    TextScores
        `sample` and `group` are the patients, `length` the sum of their tokens. A patient is a
        member whose samples all are. Patients with members and non-members among their samples
        are left out; so are population samples of judged patients. Notes say how many, and how
        unequal the groups are. The centre of `StandardisedMean` is the mean of all population
        samples, or of all judged ones where there is no population.

    Raises
    ------
    InputError
        If there are no groups, or no patient is left on one side.

    Notes
    -----
    Mireshghallah et al. (2022), Table 2: the mean of the statistic over the patient's samples.
    """
    how = MeanOfSamples() if aggregation is None else aggregation
    kept = whole_patients(scores)
    assert kept.group is not None
    patient = numbered(kept.group)
    first = np.unique(patient, return_index=True)[1]
    names = tuple(kept.group[row] for row in first.tolist())
    apart = kept.population if kept.population.any() else kept.judged

    def total(energy: Floats) -> Floats:
        return how.of(energy, patient, float(np.mean(energy[apart])))

    length = kept.length
    return TextScores(
        names,
        total(kept.energy_target),
        member=kept.member[first],
        population=kept.population[first],
        energy_reference=None if kept.energy_reference is None else total(kept.energy_reference),
        group=names,
        length=None if length is None else _sums(length, patient),
        text=None,
        notes=(*kept.notes, _note_on_sizes(patient, how)),
        further={name: total(values) for name, values in kept.further.items()},
    )


def whole_patients(scores: TextScores) -> TextScores:
    """Return the samples of patients on one side only, with notes on what was left out.

    Raises
    ------
    InputError
        If there are no groups, or no patient is left on one side.
    """
    if scores.group is None:
        raise InputError("the patient level needs groups: give a column group with the patient")
    stays, notes = _whole(scores)
    if not np.any(stays & scores.member) or not np.any(stays & scores.nonmember):
        raise InputError(
            "the patient level needs patients whose samples are all members and others whose "
            "samples are all non-members, got none of one kind: check the column group"
        )
    return scores.take(stays, *notes)


def _whole(scores: TextScores) -> tuple[Bools, tuple[str, ...]]:
    """Return which samples belong to a patient on one side only, and what was left out."""
    unit = scores.unit
    n = int(unit.max()) + 1
    has_in, has_out, has_population = (
        np.bincount(unit[side], minlength=n) > 0
        for side in (scores.member, scores.nonmember, scores.population)
    )
    mixed = has_in & has_out
    shared = has_population & (has_in | has_out)
    stays = ~(mixed[unit] & scores.judged) & ~(shared[unit] & scores.population)
    notes = []
    if mixed.any():
        notes.append(
            f"{np.count_nonzero(mixed)} patient(s) with both members and non-members among their "
            "samples were left out of the patient level."
        )
    if shared.any():
        notes.append(
            f"{np.count_nonzero(shared)} judged patient(s) were left out of the population of the "
            "patient level."
        )
    return checks.frozen(stays), tuple(notes)


def _sums(length: Ints, patient: Ints) -> Ints:
    return np.bincount(patient, weights=length).astype(np.int64)


def _note_on_sizes(patient: Ints, how: Aggregation) -> str:
    size = np.bincount(patient)
    return (
        f"Patient level by the {how.name}: patients have {size.min()} to {size.max()} samples "
        f"(median {np.median(size):g}); those with few vary more under the mean."
    )
