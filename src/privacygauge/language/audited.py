"""Findings of an audit of text energies: membership in a language model's training data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import ks_2samp

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Skipped
from privacygauge.core.transcript import Transcript, tied
from privacygauge.core.units import sums
from privacygauge.errors import InputError
from privacygauge.evaluate import roc
from privacygauge.evaluate.claim import PrivacyBound
from privacygauge.evaluate.claim_bounds import bound_of
from privacygauge.evaluate.detectable import SHARE, smallest_average
from privacygauge.evaluate.direction import InvertedAttack
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.group_ranks import ranked_groups
from privacygauge.evaluate.headline import Headline
from privacygauge.evaluate.played import Detectable, Questions, Records
from privacygauge.evaluate.slices import SliceTable, column_groups, find_slices
from privacygauge.evaluate.tail import Tail, smallest_tail, tail
from privacygauge.language.attacks import energy_transcript, signal, signals_by_name
from privacygauge.language.comparisons import BY_LENGTH, FEWEST_TEXTS, length_calibrated
from privacygauge.language.controls import Controls, control_level, controls_of, unlearnt
from privacygauge.language.patients import MOSTLY, sizes_differ, unlike_units
from privacygauge.language.patients import text_lengths as known_lengths
from privacygauge.language.scores import LOSS, REFERENCE, TextScores
from privacygauge.language.splitting import Coins
from privacygauge.language.texts import Texts, objects_of
from privacygauge.language.token_signals import LEARNED
from privacygauge.language.units import (
    LengthFindings,
    PatientRows,
    Results,
    ThresholdOptions,
    UnitFindings,
    best_signal,
    findings_by_length,
    patients_of,
    suite_of,
    unit_findings,
)


def bound_by_person(scores: TextScores, coins: Coins, seed: int, level: float) -> PrivacyBound:
    """Return the lower bound on epsilon, per person, from a single training run.

    Parameters
    ----------
    coins : Coins
        Coins that assigned the members.
    seed : int
        Seed that selects the coins on which the number of guesses is chosen.
    level : float
        Level of the bound, in (0, 1).

    Raises
    ------
    InputError
        If a person is not on the side that the coins assigned.

    Notes
    -----
    The guess about a coin is the mean of the signal over all texts that it decides: the likelihood
    ratio, or the loss without a reference. Steinke, Nasr & Jagielski (2023), theorem 5.2, at delta
    0, for adding or removing all texts of a coin.
    """
    rows = np.flatnonzero(scores.judged)
    names = scores.group or scores.sample
    member = scores.member[rows]
    number = coins.numbers([names[row] for row in rows.tolist()], member)
    _, first, size = np.unique(number, return_index=True, return_counts=True)
    mean = sums(number, signal(scores, best_signal(scores))[rows]) / size
    return bound_of(Transcript(mean, member[first]), seed, level)


SHOWN = ("text", "length")
"""Columns that may be printed with the samples most at risk."""


@dataclass(frozen=True, eq=False)
class JudgedEnergies:
    """Energies and attack scores of the judged samples."""

    target: Floats
    """(n,) Energy under the audited model; lower means more likely."""
    reference: Floats | None
    """(n,) Energy under the reference model; None without one."""
    group: Texts | None = field(repr=False)
    """(n,) Patient of each sample, also where texts are the units."""
    by_text: bool
    """Whether the members were dealt text by text, so that texts of a patient are no unit."""
    signal: str
    """Signal that scores the records: ``likelihood-ratio``, or ``loss`` without a reference
    model."""
    score: Floats
    """(n,) Values of this signal; higher means more likely a member."""

    @property
    def of_people(self) -> bool:
        """Whether several samples of a patient are one unit."""
        return self.group is not None and not self.by_text


@dataclass(frozen=True, eq=False)
class EnergyFindings:
    """Findings of attacks and controls on the energies of members and non-members."""

    samples: UnitFindings
    """Findings by sample."""
    patients: UnitFindings | Skipped
    """Findings by patient, or the reason why there are none."""
    lengths: tuple[LengthFindings, ...]
    """Findings on short and on long samples."""
    controls: Controls
    """Tests of whether members and non-members differ in more than membership."""
    records: Records
    """One row per judged sample."""
    energies: JudgedEnergies
    """Energies and scores of the same rows."""
    rows: PatientRows | None
    """One row per judged patient; None without a patient level."""
    one_run: PrivacyBound | None
    """Lower bound on epsilon per person; None if no coins were tossed before training."""
    slices: SliceTable | None
    """Exposure of the groups of the further columns; None without such columns."""
    questions: Questions
    """Whether a few people or a group are exposed although most are not, and the smallest
    detectable leak."""
    blunt: tuple[str, ...]
    """Reasons why a null result would mean nothing: ``units`` if target and reference use different
    units; ``unlearnt`` if members are far less likely under the target than under the reference;
    ``patients`` if most patients have texts on both sides."""

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """Evaluations of the attacks by sample."""
        return self.samples.evaluations

    @property
    def headline(self) -> Headline:
        """Headline at the level of samples."""
        return self.samples.headline

    @property
    def units(self) -> tuple[UnitFindings, ...]:
        """Findings by kind of unit: samples, and patients if texts are grouped."""
        return (self.samples, *(() if isinstance(self.patients, Skipped) else (self.patients,)))

    @property
    def turned(self) -> list[InvertedAttack]:
        """Attacks that are inverted more clearly than any attack finds members."""
        best = max(unit.headline.auc.low for unit in self.units)
        inverted = (x for unit in self.units for x in unit.headline.inverted)
        return [x for x in inverted if 1 - x.auc.high > max(best, 0.5)]


FAR_WORSE = 1.5
"""Ratio of the target's to the reference's median energy on members above which the target was
hardly trained on these texts in this form."""


def blunt_reasons(scores: TextScores, level: float) -> tuple[str, ...]:
    """Return the reasons why a null result would mean nothing; see `EnergyFindings.blunt`."""
    reference = scores.energy_reference
    if scores.group is not None:
        people = [np.unique(scores.unit[side]) for side in (scores.member, scores.nonmember)]
        if np.count_nonzero(np.isin(people[0], people[1])) > MOSTLY * min(map(len, people)):
            return ("patients",)
    if reference is None:
        return ()
    if unlike_units(scores) == "models":
        return ("units",)
    inside = scores.member
    ours = scores.energy_target[inside]
    theirs = reference[inside]
    worse = np.median(ours) > FAR_WORSE * np.median(theirs)
    if worse and unlearnt(-ours, -theirs, level) is not None:
        return ("unlearnt",)
    return ()


def audit_energies(
    scores: TextScores,
    asked: ThresholdOptions,
    show: Sequence[str] = (),
    coins: Coins | None = None,
    apart: tuple[str, ...] = (),
) -> tuple[EnergyFindings, tuple[Skipped, ...]]:
    """Play attacks and controls on the energies; return the findings and the attacks skipped.

    Parameters
    ----------
    scores : TextScores
    asked : Asked
    show : sequence of str
        Contents to print, from `SHOWN`.
    coins : Coins, optional
        Coins that assigned the members before training.
    apart : tuple of str
        Reasons that forbid a comparison, from `comparable`.

    Raises
    ------
    InputError
        If the options do not fit the data: the problem and the way out, in one line.
    """
    # Options that do not fit the data are an error before anything is played.
    one_run = None if coins is None else bound_by_person(scores, coins, asked.seed, asked.level)
    columns = {"text": scores.text, "length": scores.length}
    contents: dict[str, NDArray[np.object_]] = {}
    for name in show:
        column = columns.get(name)
        if name not in SHOWN or column is None:
            have = [known for known in SHOWN if columns[known] is not None]
            raise InputError(
                f"show must name columns that there are, got {name!r}; there are: "
                f"{checks.short_list(have) or 'none to show'}"
            )
        contents[name] = objects_of([column[row] for row in np.flatnonzero(scores.judged).tolist()])
    suite = suite_of(scores, asked)
    played, samples = unit_findings(scores, suite, "sample", asked)
    patients = patients_of(scores, asked)
    lengths, no_lengths = findings_by_length(scores, asked)
    # Memorised texts are at the top of an attack's ranking. If members are in excess at its bottom
    # too, without being lower than the others overall, they differ in another way: for example in
    # shorter texts, with means that vary more.
    strongest = samples.headline.attack.name
    if not samples.headline.inverted and strongest != LEARNED:
        values = signal(scores, strongest)
        if not tied(values[scores.judged]):
            turned = _transcripts(scores, {strongest: -values}, scores.judged)
            bottom = tail(turned, seeds.stream(asked.seed, "language", "bottom ranks"))
            if bottom is not None and bottom.p_value <= (1 - asked.level) / BOTTOM:
                apart = (*apart, "ends")
    controls = controls_of(scores, asked.seed, asked.level, apart)
    of_texts = (
        controls.reference,
        controls.blind,
        controls.form,
        controls.matched,
        controls.sizes,
    )
    not_played = tuple(x for x in (patients, *of_texts) if isinstance(x, Skipped))
    table = slice_table(scores, played, asked)
    unit, rows = (patients, None) if isinstance(patients, Skipped) else patients
    judged = np.flatnonzero(scores.judged)
    records = Records(
        ids=objects_of([scores.sample[row] for row in judged.tolist()]),
        member=scores.member[judged],
        scores={evaluation.title: play.transcript.score for play, evaluation in played},
        guesses={evaluation.title: play.decisions.guess for play, evaluation in played},
        risk=None,
        contents=contents,
    )
    best = best_signal(scores)
    # Patients are named even where texts are the units.
    group = scores.group if scores.author is None else scores.author
    reference = scores.energy_reference
    energies = JudgedEnergies(
        target=scores.energy_target[judged],
        reference=None if reference is None else reference[judged],
        group=None if group is None else tuple(group[row] for row in judged.tolist()),
        by_text=scores.author is not None,
        signal=best,
        score=signal(scores, best)[judged],
    )
    # Whether few people or groups are exposed, and the smallest leak that would have been found.
    n_in, n_out = Transcript(
        scores.energy_target[judged], scores.member[judged], unit=scores.unit[judged]
    ).independent
    few = exposed_few(scores, asked)
    by_heart = checks.n_distinct(scores.unit[known_by_heart(scores)])
    # Ranks show nobody, but no chance explains a text known word by word.
    if few is not None and not few.shown and by_heart:
        few = replace(few, exposed=by_heart, by_heart=True)
    detectable = Detectable(
        average=smallest_average(n_in, n_out, samples.headline.each),
        records=None if few is None else smallest_tail(few),
        group=None if table is None else table.smallest,
        n_in=n_in,
        n_out=n_out,
    )
    found = EnergyFindings(
        samples=samples,
        patients=unit,
        lengths=lengths,
        controls=controls,
        records=records,
        energies=energies,
        rows=rows,
        one_run=one_run,
        slices=table,
        questions=Questions(few, () if table is None else table.shown, detectable),
        blunt=blunt_reasons(scores, asked.level),
    )
    no_groups = () if table is None else table.skipped
    return found, (*suite.skipped, *not_played, *no_lengths, *no_groups)


FEWEST = 20
"""Fewest units per side for a test of the top."""

BOTTOM = 4
"""The exact test of the bottom uses at most 1 / BOTTOM of the error that the level allows."""

_ALIKE = 0.9
"""Joint level of the tests that the population resembles the non-members."""

_CONFIRMED = 0.9
"""Level that the judged rows alone must reach before a test with the population counts."""


def slice_table(scores: TextScores, played: Results, asked: ThresholdOptions) -> SliceTable | None:
    """Return how exposed each group of the further columns is; None without such columns.

    Guesses are those of the signal that ranks records, at its first threshold. Rankings are those
    of `exposed_few`, at a quarter of the verdict's error. A group whose members the reference model
    ranks differently from its non-members is not shown: they differ in more than membership there.
    """
    values = _ranking_signals(scores)
    if not scores.columns or not values:
        return None
    groups, _ = column_groups(scores.columns)
    columns = {name: of[scores.judged] for name, of in groups.items()}
    transcripts = _transcripts(scores, values, scores.judged)
    rng = seeds.stream(asked.seed, "language", "group ranks")
    ranked = ranked_groups(transcripts, columns, rng, 1 - SHARE * (1 - asked.level))
    if scores.energy_reference is not None and ranked.shown:
        placebo = energy_transcript(scores, REFERENCE)
        # Bonferroni over the groups that are shown.
        each = 1 - (1 - control_level(asked.level)) / len(ranked.shown)
        alike = tuple(
            one
            for one in ranked.shown
            if not roc.auc(placebo.part(columns[one.column] == one.group), each).excludes(0.5)
        )
        ranked = replace(ranked, shown=alike)
    best = best_signal(scores)
    attack, evaluation = next((x for x in played if x[1].name == best), played[0])
    # Rows of the round are those of the judged, in their order.
    return find_slices(
        attack.decisions, columns, attack=evaluation.title, level=asked.level, ranked=ranked
    )


def exposed_few(scores: TextScores, asked: ThresholdOptions) -> Tail | None:
    """Test whether more people are at the top of the attacks' rankings than chance explains.

    Returns
    -------
    Tail or None
        None if there are fewer than 20 people on a side.

    Notes
    -----
    A person counts by the most suspicious text, and again by the mean of all texts. Signals learnt
    from these bits are left out, and with a reference also the audited model's energy alone, since
    texts that are easy for both models would be at its top.

    A population that resembles the non-members joins them: five of eighty members may stand out
    against a large group although they cannot among as many non-members alone. The judged rows
    alone must then agree.

    If lengths are unknown, the top is compared with the bottom, which memorisation does not fill:
    means of shorter texts vary more, at both ends.
    """
    rng = seeds.stream(asked.seed, "language", "top ranks")
    level = 1 - SHARE * (1 - asked.level)
    values = _ranking_signals(scores)
    if not values:  # all rankings are tied
        return None
    alone = tail(_transcripts(scores, values, scores.judged), rng, level)
    sides = (scores.member, scores.nonmember)
    if alone is None or min(checks.n_distinct(scores.unit[side]) for side in sides) < FEWEST:
        return None
    found = alone
    if _like_nonmembers(scores, values):
        everybody = np.ones(len(scores), np.bool_)
        beside = tail(_transcripts(scores, values, everybody), rng, level)
        assert beside is not None  # there are more than alone
        # Members far beyond the non-members alone count too: by the probability of their ranks.
        apart = 0.0 if not alone.apart else (alone.n_in / (alone.n_in + alone.n_out)) ** alone.apart
        if alone.p_value <= 1 - _CONFIRMED or 0 < apart <= 1 - _CONFIRMED:
            found = beside
        elif not alone.shown and not alone.apart:
            found = replace(beside, exposed=0)
    if found.shown and known_lengths(scores) is None:
        beyond = _beyond_bottom(scores, values[found.attack], found)
        return found if beyond else replace(found, exposed=0)
    return found


_WORD_BY_WORD = 0.2
"""Largest energy, in nats per token, of a text that is known word by word: each token gets 82% on
average."""

_UNKNOWN = 1.0
"""Nats per token by which a reference model expects such a text less than the target."""

_WORDS = 15
"""Fewest tokens of such a text: a model expects some short ones without having read them."""

_ENOUGH = 100
"""Fewest texts that the target never saw: among fewer, texts of a kind that the target writes
anyway, such as forms, may be missing by chance."""


def known_by_heart(scores: TextScores) -> Bools:
    """Return a mask of the members' texts that the target knows word by word, (n,).

    One text among hundreds cannot be shown by ranks: a single record at the top is a member with
    probability 1/2 by chance. But no model expects a text nearly word by word that it has not read,
    unless such texts are easy, as forms are. Then the reference model expects them too, or some of
    the texts that the target never saw are known like that; at half these limits, none may be.
    """
    nobody = np.zeros(len(scores), np.bool_)
    length = known_lengths(scores)
    others = scores.nonmember | scores.population
    if (
        length is None
        or scores.energy_reference is None
        or unlike_units(scores) is not None
        or checks.n_distinct(scores.unit[others]) < _ENOUGH
    ):
        return nobody
    ahead = scores.energy_reference - scores.energy_target
    nearly = (scores.energy_target <= 2 * _WORD_BY_WORD) & (ahead >= _UNKNOWN / 2)
    if (nearly & others).any():
        return nobody
    known = (scores.energy_target <= _WORD_BY_WORD) & (ahead >= _UNKNOWN) & (length >= _WORDS)
    return known & scores.member & scores.judged


def _ranking_signals(scores: TextScores) -> dict[str, Floats]:
    """Return the signals by which people are ranked, (n,) each, by name."""
    without = [REFERENCE, LEARNED]
    if scores.energy_reference is not None:
        # Texts that are easy for both models would fill the top of its ranking.
        without.append(LOSS)
    found = {
        name: values
        for name, values in signals_by_name(scores).items()
        if name not in without and not tied(values[scores.judged])
    }
    best = best_signal(scores)
    if scores.length is not None and best in found and BY_LENGTH not in found:
        known = scores.population
        if np.count_nonzero(known) < FEWEST_TEXTS:
            # Fitted on everybody, members or not: the secret bits are not used.
            known = np.ones(len(scores), np.bool_)
        if np.count_nonzero(known) >= FEWEST_TEXTS:
            found[BY_LENGTH] = length_calibrated(found[best], np.maximum(scores.length, 1), known)
    _, person, size = np.unique(scores.unit, return_inverse=True, return_counts=True)
    inside, outside = (size[np.unique(person[x])] for x in (scores.member, scores.nonmember))
    # Means over unequal numbers of texts vary unequally: they would rank people by these numbers.
    alike = not sizes_differ(inside, outside, _ALIKE)
    if scores.group is not None and size.max() > 1 and alike:
        means = {
            f"{name}, mean of a patient": (sums(person, values) / size)[person]
            for name, values in found.items()
        }
        found |= means
    return found


def _transcripts(
    scores: TextScores, values: Mapping[str, Floats], rows: Bools
) -> list[tuple[str, Transcript]]:
    return [
        (name, Transcript(x[rows], scores.member[rows], unit=scores.unit[rows]))
        for name, x in values.items()
    ]


def _like_nonmembers(scores: TextScores, values: Mapping[str, Floats]) -> bool:
    """Return whether no signal distinguishes the population from the non-members."""
    population = scores.population
    if checks.n_distinct(scores.unit[population]) < FEWEST:
        return False
    _, first, person, size = np.unique(
        scores.unit, return_index=True, return_inverse=True, return_counts=True
    )
    known = [*values.values(), scores.energy_target, scores.energy_reference, known_lengths(scores)]
    # One value per person.
    columns = [sums(person, np.asarray(x, np.float64)) / size for x in known if x is not None]
    sides = population[first], scores.nonmember[first]
    # The exact distribution is a sum that may fail, with a warning.
    tests = [
        ks_2samp(*(x[side] for side in sides), method="asymp").pvalue for x in (*columns, size)
    ]
    # Bonferroni over all tests: the population joins only if none of them objects.
    return bool(min(tests) * len(tests) > 1 - _ALIKE)


def _beyond_bottom(scores: TextScores, values: Floats, found: Tail) -> bool:
    """Return whether more members are at the top of a ranking than at its bottom.

    A bottom within one standard error of chance does not count.
    """
    rows = scores.judged
    _, person = np.unique(scores.unit[rows], return_inverse=True)
    inside = np.bincount(person, scores.member[rows]) > 0
    n = len(inside)
    n_in = int(np.count_nonzero(inside))
    depth = min(found.top, n // 2)
    count = []
    for sign in (1, -1):
        # A person ranks by the best text: the highest at the top, the lowest at the bottom.
        best = np.full(n, -np.inf)
        np.maximum.at(best, person, sign * values[rows])
        count.append(int(np.count_nonzero(inside[np.argsort(-best, kind="stable")[:depth]])))
    expected = depth * n_in / n
    error = np.sqrt(expected * (1 - n_in / n))
    if count[1] <= expected + error:
        return True
    # The difference of two counts has sqrt(2) times the error of one.
    return bool(count[0] - count[1] > ndtri(found.level) * np.sqrt(2) * error)
