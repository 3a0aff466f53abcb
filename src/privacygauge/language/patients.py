"""From samples to patients: one row per person, compared on equally many texts."""

from __future__ import annotations

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError
from privacygauge.language.scores import TextScores
from privacygauge.language.texts import number_names


def by_patient(scores: TextScores) -> TextScores:
    """Return one row per patient, the mean of the samples, for members, non-members and population.

    Assumes that patients of the two sides have equally many samples: the mean of few samples varies
    more, so that patients with few fill both tails. `even_sizes` equalises them.

    Parameters
    ----------
    scores : TextScores
        Scores with groups.

    Returns
    -------
    TextScores
        `sample` and `group` are the patients, `length` the sum of their tokens. A patient is a
        member whose samples all are. Patients with members and non-members among their samples
        are left out; so are population samples of judged patients. Notes say how many, and how
        unequal the groups are.

    Raises
    ------
    InputError
        If there are no groups, or no patient is left on one side.

    Notes
    -----
    Mireshghallah et al. (2022), Table 2: the mean of the statistic over the patient's samples.
    """
    kept = whole_patients(scores)
    assert kept.group is not None
    patient = number_names(kept.group)
    first = np.unique(patient, return_index=True)[1]
    names = tuple(kept.group[row] for row in first.tolist())

    def mean(energy: Floats) -> Floats:
        return np.bincount(patient, weights=energy) / np.bincount(patient)

    length = kept.length
    size = np.bincount(patient)
    on_sizes = (
        f"Patient level by the mean: patients have {size.min()} to {size.max()} samples "
        f"(median {np.median(size):g}); those with few vary more under the mean."
    )
    return TextScores(
        names,
        mean(kept.energy_target),
        member=kept.member[first],
        population=kept.population[first],
        energy_reference=None if kept.energy_reference is None else mean(kept.energy_reference),
        group=names,
        length=None if length is None else np.bincount(patient, weights=length).astype(np.int64),
        text=None,
        notes=(*kept.notes, on_sizes),
        further={name: mean(values) for name, values in kept.further.items()},
    )


def whole_patients(scores: TextScores) -> TextScores:
    """Return the samples of patients on one side only, with notes on those left out.

    Raises
    ------
    InputError
        If there are no groups, or no patient is left on one side.
    """
    if scores.group is None:
        raise InputError("the patient level needs groups: give a column group with the patient")
    stays, notes = _patients_on_one_side(scores)
    if not np.any(stays & scores.judged):
        raise InputError(
            "every patient has texts among the members and among the non-members, so that no "
            "patient is in the training data or out of it: put all texts of a patient on one side"
        )
    if not np.any(stays & scores.member) or not np.any(stays & scores.nonmember):
        raise InputError(
            "the patient level needs patients whose samples are all members and others whose "
            "samples are all non-members, got none of one kind: check the column group"
        )
    return scores.take(stays, *notes)


def _patients_on_one_side(scores: TextScores) -> tuple[Bools, tuple[str, ...]]:
    """Return which samples belong to a patient on one side only, and notes on those left out."""
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


def even_sizes(
    scores: TextScores, rng: np.random.Generator, level: float = 0.95, *, what: str = "texts"
) -> TextScores:
    """Return the texts on which patients are compared: as many for members as for non-members.

    Parameters
    ----------
    scores : TextScores
        Scores with groups, each of them on one side.
    rng : numpy.random.Generator
        Draws the texts; the order of the rows does not matter.
    level : float
        Level of the tests of `sizes_differ`, in (0, 1).
    what : str
        Name of the rows in the note.

    Returns
    -------
    TextScores
        All texts where the numbers of texts do not differ between members and non-members, as
        published. Otherwise members and non-members are put in the order of their numbers of
        texts, and each keeps as many, drawn at random, as the patient at the same place of the
        other side has, if these are fewer. A population that has more texts per patient than the
        judged is cut likewise. Nobody is left out; a note says how many texts are.

    Raises
    ------
    InputError
        If there are no groups.

    Notes
    -----
    The mean over few texts varies more than that over many, so that patients with few fill both
    tails. Let the texts of a patient be exchangeable, and their number say nothing about what
    they are like. Without a leak the mean over m texts drawn from a patient then has the same law
    on both sides, however alike the texts of one patient are; and as the numbers m that are left
    have the same distribution on both sides (but for a patient at each step, where the sides
    have unequally many patients), so have the scores. Which texts stay depends on no score.
    """
    if scores.group is None:
        raise InputError("numbers of texts need groups: give a column group with the patient")
    names, first, patient, size = np.unique(
        np.array(scores.group, np.object_),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    noise = rng.random(len(names))
    member = scores.member[first]
    population = scores.population[first]
    kept = size.copy()
    outside = ~(member | population)
    if sizes_differ(size[member], size[outside], level):
        kept[member] = _at_most(size[member], size[outside], noise[member])
        kept[outside] = _at_most(size[outside], size[member], noise[outside])
    if population.any() and sizes_differ(size[population], kept[~population], level):
        kept[population] = _at_most(size[population], kept[~population], noise[population])
    if np.array_equal(kept, size):
        return scores
    # Permuted from the order of ids, so that the order of the rows does not matter.
    by_id = np.argsort(np.array(scores.sample, np.object_))
    drawn = rng.permutation(by_id)
    # Patient by patient, in the order that was drawn: the place of every text in its patient.
    order = drawn[np.argsort(patient[drawn], kind="stable")]
    begin = np.cumsum(np.bincount(patient)) - np.bincount(patient)
    stays = np.empty(len(patient), np.bool_)
    stays[order] = np.arange(len(order)) - begin[patient[order]] < kept[patient[order]]
    return scores.take(
        stays,
        _note(size, kept, member=member, population=population, what=what),
    )


def sizes_differ(first: Ints, second: Ints, level: float = 0.95) -> bool:
    """Test whether two kinds of patients have different numbers of texts.

    Parameters
    ----------
    first, second : ndarray of int, shapes (n,) and (m,)
        Texts of every patient.
    level : float
        Level in (0, 1): of patients assigned at random, at most ``1 - level`` seem to differ.

    Notes
    -----
    Two tests at half of the error each: that of Mann & Whitney (1947) for more texts on the
    whole; and Fisher's exact test of the share of patients with at most k texts, for every k,
    with Bonferroni's correction, for some patients with far fewer or far more.
    """
    from scipy.stats import hypergeom, mannwhitneyu

    error = (1 - checks.level(level)) / 2
    both = np.concatenate([first, second])
    cuts = np.unique(both)[:-1]
    if not len(cuts):
        return False
    if mannwhitneyu(first, second, method="asymptotic").pvalue < error:
        return True
    upto, ours = (np.searchsorted(np.sort(x), cuts, side="right") for x in (both, first))
    # Many in one kind is few in the other: two lower tails.
    few = hypergeom.cdf(ours, len(both), upto, len(first))
    many = hypergeom.cdf(upto - ours, len(both), upto, len(second))
    return bool(2 * np.minimum(few, many).min() * len(cuts) < error)


def _at_most(size: Ints, others: Ints, noise: Floats) -> Ints:
    """Cap each size at that of the same rank among the others; noise breaks ties."""
    n = len(size)
    place = np.empty(n, np.int64)
    place[np.lexsort((noise, size))] = ((np.arange(n) + 0.5) / n * len(others)).astype(np.int64)
    return np.minimum(size, np.sort(others)[place])


def _note(size: Ints, kept: Ints, member: Bools, population: Bools, what: str) -> str:
    sides = {"members": member, "non-members": ~(member | population)}
    if population.any():
        sides["the population"] = population
    have = checks.short_list(
        f"{np.median(size[side]):g} for {name}" for name, side in sides.items()
    )
    count = checks.short_list(f"{np.mean(kept[side]):.3g}" for side in sides.values())
    return (
        f"Patients have unequal numbers of {what}, in the median {have}: they are compared on "
        f"equally many, drawn at random (on average {count})."
    )
