"""From samples to patients: one row per person, compared on as many texts of the same lengths."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.stats import linregress

from privacygauge.core import checks, units
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError
from privacygauge.language.scores import TextScores
from privacygauge.language.texts import number_names


def by_patient(scores: TextScores) -> TextScores:
    """Return one row per patient, the mean of the samples.

    Members, non-members and population are all averaged. Assumes that patients of both sides have
    equally many samples: the mean of few samples varies more, so patients with few fill both tails.
    `even_sizes` equalises them.

    Parameters
    ----------
    scores : TextScores
        Scores with groups.

    Returns
    -------
    TextScores
        `sample` and `group` are the patients, `length` the sum of their tokens. A patient is a
        member if all of their samples are. Patients with both members and non-members among their
        samples are left out; so are population samples of judged patients. Notes give the numbers,
        and the range of the numbers of samples.

    Raises
    ------
    InputError
        If there are no groups, or no patient is left on one side.

    Notes
    -----
    Mireshghallah et al. (2022), Table 2: the mean of the statistic over the patient's samples.
    """
    kept = whole_patients(scores)
    # Every patient is on one side now: any of their rows gives the side.
    assert kept.group is not None
    patient = number_names(kept.group)
    first = np.unique(patient, return_index=True)[1]
    names = tuple(kept.group[row] for row in first.tolist())

    def mean(energy: Floats) -> Floats:
        # Every sample counts alike, however long it is.
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
    unit = scores.unit
    n = int(unit.max()) + 1
    has_in, has_out, has_population = (
        np.bincount(unit[side], minlength=n) > 0
        for side in (scores.member, scores.nonmember, scores.population)
    )
    mixed = has_in & has_out
    shared = has_population & (has_in | has_out)
    # A patient in the population and judged stays judged; one on both judged sides is out.
    stays = ~(mixed[unit] & scores.judged) & ~(shared[unit] & scores.population)
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
    return scores.take(stays, *notes)


BY_TEXT = "members were dealt text by text, so that no patient is a member as a whole"
"""Reason to skip the patient level where texts are the units."""


def with_dealt_units(scores: TextScores) -> TextScores:
    """Return the samples without groups where the members were dealt text by text.

    What is secret is then a text, not a patient. A patient's own level is on both sides, and bits
    that are dealt over texts are independent however alike the texts of a patient are. Patients
    stay the units where they lie on one side, even with exceptions; see `units.dealt_by_row`.
    """
    if scores.group is None:
        return scores
    # Copies of a text share a bit: one of each is looked at.
    keys = scores.sample if scores.copies is None else scores.copies
    judged = np.flatnonzero(scores.judged)
    rows = judged[np.unique(np.asarray(keys)[judged], return_index=True)[1]]
    patient = number_names(scores.group)[rows]
    if not units.dealt_by_row(patient, scores.member[rows]):
        return scores
    n = checks.n_distinct(patient)
    both = checks.n_distinct(patient[units.on_both_sides(patient, scores.member[rows])])
    note = (
        f"{both:,} of {n:,} patients have texts among the members and among the non-members, as "
        "where a coin is thrown for every text: each text counts as a unit of its own. The audit "
        "then says whether a text was learnt, not whether a patient took part; for that, put all "
        "texts of a patient on one side before the training."
    )
    return replace(scores, group=None, author=scores.group, notes=(*scores.notes, note))


def even_sizes(
    scores: TextScores, rng: np.random.Generator, level: float = 0.95, *, what: str = "texts"
) -> TextScores:
    """Return the texts on which patients are compared: as many for members as for non-members.

    Parameters
    ----------
    scores : TextScores
        Scores with groups, each on one side.
    rng : numpy.random.Generator
        Draws the texts; the order of the rows does not matter.
    level : float
        Level of the tests of `sizes_differ`, in (0, 1).
    what : str
        Name of the rows in the note.

    Returns
    -------
    TextScores
        All texts if the numbers of texts do not differ between members and non-members, as
        published. Otherwise members and non-members are ranked by their numbers of texts, and each
        patient keeps as many, drawn at random, as the patient of the same rank on the other side
        has, if these are fewer. A population with more texts per patient than the judged is cut in
        the same way. Nobody is left out; a note gives the numbers of texts.

    Raises
    ------
    InputError
        If there are no groups.

    Notes
    -----
    The mean over few texts varies more than the mean over many, so patients with few fill both
    tails. Assume that the texts of a patient are exchangeable, and that their number is independent
    of their content. Without a leak, the mean over m texts drawn from a patient then has the same
    distribution on both sides, however similar the texts of one patient are. The remaining numbers
    m have the same distribution on both sides (up to one patient at each step, if the sides have
    unequally many patients), and so have the scores. Which texts stay does not depend on scores.
    """
    if scores.group is None:
        raise InputError("numbers of texts need groups: give a column group with the patient")
    names, first, patient, size = np.unique(
        np.array(scores.group, np.object_),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    # Breaks ties between patients with equally many texts.
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
    sides = {"members": member, "non-members": ~(member | population)}
    if population.any():
        sides["the population"] = population
    have = checks.short_list(
        f"{np.median(size[side]):g} for {name}" for name, side in sides.items()
    )
    count = checks.short_list(f"{np.mean(kept[side]):.3g}" for side in sides.values())
    return scores.take(
        stays,
        (
            f"Patients have unequal numbers of {what}, in the median {have}: they are compared on "
            f"equally many, drawn at random (on average {count})."
        ),
    )


def sizes_differ(first: Ints, second: Ints, level: float = 0.95) -> bool:
    """Test whether two kinds of patients have different numbers of texts.

    Parameters
    ----------
    first, second : ndarray of int, shapes (n,) and (m,)
        Number of texts of each patient.
    level : float
        Level in (0, 1): patients assigned at random seem to differ with probability at most ``1 -
        level``.

    Notes
    -----
    Two tests with half of the error each: that of Mann & Whitney (1947), for more texts overall;
    and Fisher's exact test of the share of patients with at most k texts, for every k, with
    Bonferroni's correction, for some patients with far fewer or far more.
    """
    from scipy.stats import hypergeom, mannwhitneyu

    # Half of the error for each of the two tests.
    error = (1 - checks.level(level)) / 2
    both = np.concatenate([first, second])
    cuts = np.unique(both)[:-1]
    if not len(cuts):
        return False
    if mannwhitneyu(first, second, method="asymptotic").pvalue < error:
        return True
    # Ranks may miss a difference at one end: every cut is tested, corrected by their number.
    upto, ours = (np.searchsorted(np.sort(x), cuts, side="right") for x in (both, first))
    # Many in one kind means few in the other: two lower tails give a two-sided test.
    few = hypergeom.cdf(ours, len(both), upto, len(first))
    many = hypergeom.cdf(upto - ours, len(both), upto, len(second))
    return bool(2 * np.minimum(few, many).min() * len(cuts) < error)


def _at_most(size: Ints, others: Ints, noise: Floats) -> Ints:
    """Cap each size at that of the same rank among the others; noise breaks ties."""
    n = len(size)
    # Ranks are scaled from n to the number of others.
    place = np.empty(n, np.int64)
    place[np.lexsort((noise, size))] = ((np.arange(n) + 0.5) / n * len(others)).astype(np.int64)
    return np.minimum(size, np.sort(others)[place])


# Lengths of texts: known without a model, hence no evidence; texts are compared at equal lengths.
#
# The energy of a text is a mean over its tokens: it varies more over few tokens, and long texts are
# easier for every model.

ALIKE = 0.9
"""Level of the test of equal lengths, lower than usual so that fewer differences remain; one in ten
honest audits leaves out a few texts in vain."""
STEP = 0.1
"""Width of a bin of log length: texts within about a tenth of each other are equally long."""
ENOUGH = 0.2
"""Share of either side that must remain after matching."""
MOSTLY = 0.5
"""Share of a side with copies on the other side above which too little is left to compare."""
FEWEST = 10
"""Fewest texts of either side after matching."""

_HIGHEST = 25.0
"""Largest mean energy in nats per token: no model gives the typical text of a file more; a uniform
guess among 250,000 tokens has 12."""
_TIMES = 5.0
"""Largest ratio between energies in the same unit, of two models or of two sides."""
_SUM = 0.5
"""Threshold on the slope of log energy on log length, which is near 1 for sums, near 0 for
means."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, eq=False)
class Lengths:
    """Lengths of the judged texts, and the samples selected for the comparison."""

    length: Ints
    """(n,) Tokens of each sample; words if tokens are unknown."""
    unlike: bool
    """True if the lengths of members and non-members differ."""
    kept: Bools
    """(n,) True for the samples compared, including the population: equal shares of each length on
    both sides."""
    overlap: bool
    """True if enough texts remain for the comparison."""


def text_lengths(scores: TextScores) -> Ints | None:
    """Return the length of each sample, (n,), in tokens or in words; None if unknown."""
    if scores.length is not None:
        return scores.length
    if scores.text is None:
        return None
    return np.array([max(1, len(_WORD.findall(text))) for text in scores.text], np.int64)


def compared_lengths(scores: TextScores, rng: np.random.Generator) -> Lengths | None:
    """Select samples so that members and non-members are equally long.

    Parameters
    ----------
    scores : TextScores
    rng : numpy.random.Generator
        Draws the samples left out; neither the order of the rows nor any score matters.

    Returns
    -------
    Lengths or None
        All samples if lengths do not differ; None if they are unknown.

    Notes
    -----
    Texts fall into bins of log length with width 0.1. In every bin, samples are left out at random
    until the ratio of members to non-members is the same everywhere; the ratio is the one that
    minimises the variance of a difference of means. Given the lengths, the choice does not depend
    on the models' answers, so without a leak both sides are exchangeable.
    """
    length = text_lengths(scores)
    if length is None:
        return None
    sides = (scores.member, scores.nonmember)
    everything = np.ones(len(scores), np.bool_)
    if not sizes_differ(length[sides[0]], length[sides[1]], ALIKE):
        return Lengths(length, False, everything, True)
    # Bins of equal ratio, since lengths matter by their proportion.
    bins = np.floor(np.log(np.maximum(length, 1)) / STEP).astype(np.int64)
    bins -= bins.min()
    n_bins = int(bins.max()) + 1
    inside, outside = (np.bincount(bins[side], minlength=n_bins) for side in sides)
    # The ratio of members to non-members, equal in every bin, that keeps the most.
    both = (inside > 0) & (outside > 0)
    tried = np.unique(np.append(inside[both] / outside[both], inside.sum() / outside.sum()))

    # With ratio r, n members face n / r others: the variance is proportional to (1 + r) / n.
    worth = [float(np.minimum(inside, r * outside).sum()) / (1 + r) for r in tried]
    ratio = float(tried[int(np.argmax(worth))])
    # Drawn in the order of ids: which texts stay does not depend on the order of the rows.
    place = np.empty(len(scores))
    place[np.argsort(np.array(scores.sample, np.object_))] = rng.random(len(scores))
    kept = everything.copy()
    for side, most in zip(
        sides,
        (np.minimum(inside, ratio * outside), np.minimum(outside, inside / ratio)),
        strict=True,
    ):
        here = bins[side]
        # `most` rows stay in each bin; fractions are rounded at random.
        number = np.floor(most + rng.random(len(most)) * (most % 1 > 0)).astype(np.int64)
        order = np.lexsort((place[side], here))
        size = np.bincount(here, minlength=len(most))
        rank = np.empty(len(here), np.int64)
        rank[order] = np.arange(len(order)) - (np.cumsum(size) - size)[here[order]]
        kept[side] = rank < number[here]
    left = [int(np.count_nonzero(kept & side)) for side in sides]
    share = min(left[i] / np.count_nonzero(sides[i]) for i in range(2))
    enough = bool(min(left) >= FEWEST and share >= ENOUGH)
    return Lengths(length, True, kept, enough)


def comparable(scores: TextScores, rng: np.random.Generator) -> tuple[TextScores, tuple[str, ...]]:
    """Return the samples that can be compared, and the reasons that forbid any comparison.

    Parameters
    ----------
    scores : TextScores
    rng : numpy.random.Generator
        Draws the samples left out.

    Returns
    -------
    scores : TextScores
        Members and non-members of equal lengths; all of them if too few would be left.
    apart : tuple of str
        Reasons, for `Controls.apart`.
    """
    apart = ("copies",) if scores.crossed > MOSTLY else ()
    if unlike_units(scores) == "sides":
        apart = (*apart, "units")
    found = compared_lengths(scores, rng)
    if found is None or not found.unlike:
        return scores, apart
    of = "tokens" if scores.length is not None else "words"
    typical_in, typical_out = (
        f"{np.median(found.length[side]):g}" for side in (scores.member, scores.nonmember)
    )
    told = (
        f"Members and non-members are unequally long ({typical_in} and {typical_out} {of} in the "
        "median), which is known without the model"
    )
    if not found.overlap:
        everything = np.ones(len(scores), np.bool_)
        note = f"{told}, and too few are equally long to compare them."
        return scores.take(everything, note), (*apart, "lengths")
    n_in, n_out = (
        int(np.count_nonzero(found.kept & side)) for side in (scores.member, scores.nonmember)
    )
    note = (
        f"{told}: {n_in:,} members and {n_out:,} non-members of equal lengths, drawn at random, "
        "are compared."
    )
    return scores.take(found.kept, note), apart


def unlike_units(scores: TextScores) -> Literal["sides", "models"] | None:
    """Return where some energies are sums over a text's tokens and others means.

    Returns
    -------
    {"sides", "models"} or None
        ``sides`` if members and non-members differ in this; ``models`` if target and reference do,
        in the same way on both sides; None if there is no sign of it.

    Notes
    -----
    Sums grow with the length of a text, and means do not: the slope of log energy on log length is
    near 1 or near 0. If lengths are unknown or too similar, energies count as sums if they are
    above the largest possible mean, and far above those of the other model, or of the other side if
    there is only one model. A model that has memorised its members is not mistaken for one with
    another unit.
    """
    energies = {"target": scores.energy_target, "reference": scores.energy_reference}
    length = text_lengths(scores)
    cells = {
        (name, side): _cell(energy[rows], None if length is None else length[rows])
        for name, energy in energies.items()
        if energy is not None
        for side, rows in (("in", scores.member), ("out", scores.nonmember))
    }
    inside = cells["target", "in"]
    outside = cells["target", "out"]
    # Without a reference only the target's two sides can be compared.
    if scores.energy_reference is None:
        above = _sizes_differ(outside, inside) or _sizes_differ(inside, outside)
        return "sides" if above or _slopes_differ(inside, outside) else None
    others = cells["reference", "in"], cells["reference", "out"]
    # The reference saw no member: a difference between its sides is one of units.
    if (
        _slopes_differ(inside, outside)
        or _slopes_differ(*others)
        or _sizes_differ(*others)
        or _sizes_differ(*others[::-1])
    ):
        return "sides"
    of_members = _slopes_differ(inside, others[0]) or _sizes_differ(inside, others[0])
    of_others = (
        _slopes_differ(outside, others[1])
        or _sizes_differ(outside, others[1])
        or _sizes_differ(others[1], outside)
    )
    if of_others:
        alike = of_members or _sizes_differ(others[0], inside)
        return "models" if alike else "sides"
    return "sides" if of_members else None


@dataclass(frozen=True)
class _Cell:
    """Energies of one side under one model."""

    median: float
    """Median energy, in its own unit."""
    summed: bool | None
    """True if energies grow with length as sums do; None if it cannot be decided."""
    tokens: float | None
    """Median length; None if unknown."""


def _cell(energy: Floats, length: Ints | None) -> _Cell:
    median = float(np.median(energy))
    if length is None:
        return _Cell(median, None, None)
    tokens = float(np.median(length))
    if len(energy) < FEWEST or length.min() == length.max():
        return _Cell(median, None, tokens)
    # A floor far below the median keeps the logarithm of a zero energy finite.
    floor = max(median / 1e3, np.finfo(np.float64).tiny)
    found = linregress(np.log(length), np.log(np.maximum(energy, floor)))
    summed = None
    # Two standard errors from the middle, or the slope decides nothing.
    if abs(found.slope - _SUM) > 2 * found.stderr:
        summed = bool(found.slope > _SUM)
    return _Cell(median, summed, tokens)


def _slopes_differ(first: _Cell, second: _Cell) -> bool:
    """Return whether the slopes show that one holds sums and the other means."""
    return None not in (first.summed, second.summed) and first.summed != second.summed


def _sizes_differ(high: _Cell, low: _Cell) -> bool:
    """Return whether the sizes show that one holds sums and the other means."""
    if high.summed is False or (low.summed is not None and high.summed is not None):
        return False
    if low.summed or high.median <= _HIGHEST or high.median <= _TIMES * low.median:
        return False
    if low.tokens is None:
        return True
    # Multiplied by the length, the low energies would match the high ones.
    return 1 / _TIMES < low.median * low.tokens / high.median < _TIMES
