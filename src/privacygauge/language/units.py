"""Results of attacks on a language model: by sample, by patient, and by length of sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import ndtri

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Play
from privacygauge.core.transcript import TIED, tied
from privacygauge.errors import InputError
from privacygauge.evaluate import rates, roc
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Headline
from privacygauge.evaluate.playing import audit, headline
from privacygauge.language.attacks import (
    EnergyAttack,
    MeanTrainThreshold,
    OracleThreshold,
    PopulationThreshold,
    Threshold,
    energy_attacks,
    energy_round,
    energy_transcript,
    signal,
)
from privacygauge.language.comparisons import BY_LENGTH, EZ, WINDOWS
from privacygauge.language.patients import BY_TEXT, by_patient, even_sizes, whole_patients
from privacygauge.language.scores import (
    LIKELIHOOD_RATIO,
    LONG,
    LOSS,
    REFERENCE,
    SHORT,
    TextScores,
    length_bucket,
)
from privacygauge.language.texts import Texts


@dataclass(frozen=True)
class ThresholdFinding:
    """A threshold, with its nominal and its realised false-positive rate."""

    attack: str
    """Title of the attack that uses the threshold."""
    kind: str
    """``population``, ``oracle`` or ``mean-train``."""
    asked: float | None
    """Nominal false-positive rate; None for ``mean-train``, which has none."""
    score: float
    """Smallest score guessed to be a member's; infinity if there is none."""
    n: int
    """Number of units from which the threshold was taken."""
    realised: Estimate
    """False-positive rate on the judged non-members."""
    kept: bool
    """True if nominal and realised rate agree within the uncertainty of both."""


@dataclass(frozen=True, eq=False)
class UnitFindings:
    """Results of attacks on units of one kind, such as samples or patients."""

    unit: str
    """``sample`` or ``patient``."""
    n_in: int
    """Number of members."""
    n_out: int
    """Number of judged non-members."""
    evaluations: tuple[Evaluation, ...]
    """One evaluation per attack and threshold."""
    spoken: tuple[Evaluation, ...]
    """Evaluations that the verdict uses: an attack on the audited model alone counts only if it
    goes beyond an attack on the reference model, which never saw the members."""
    headline: Headline
    """Attack that the verdict names; its interval accounts for the choice among all attacks."""
    thresholds: tuple[ThresholdFinding, ...]
    """One threshold per evaluation, in the same order."""
    notes: tuple[str, ...] = ()
    """Notes for the reader about these units, one sentence each."""

    @property
    def signals(self) -> tuple[Evaluation, ...]:
        """One evaluation per signal, named by the signal, and by the unit if it is not a sample.

        Results on scores, such as the ROC curve, are the same for every threshold of a signal.
        """
        variant = "" if self.unit == "sample" else f"by {self.unit}"
        found: dict[str, Evaluation] = {}
        for e in self.evaluations:
            # The first evaluation of a signal stands for all its thresholds.
            found.setdefault(e.name, replace(e, variant=variant, thresholds="none"))
        return tuple(found.values())


@dataclass(frozen=True, eq=False)
class LengthFindings:
    """Results of attacks on samples of one range of lengths, with thresholds of their own."""

    name: str
    """``short`` or ``long``."""
    fewest: int
    """Smallest number of tokens per sample."""
    most: int
    """Largest number of tokens per sample."""
    n_in: int
    """Number of members."""
    n_out: int
    """Number of judged non-members."""
    evaluations: tuple[Evaluation, ...]
    """One evaluation per attack and threshold."""


@dataclass(frozen=True, eq=False)
class PatientRows:
    """One row per judged patient: ids and scores, never texts."""

    names: Texts = field(repr=False)
    """(p,) Ids as given by the user."""
    member: Bools
    """(p,) True for a member."""
    samples: Ints
    """(p,) Number of judged samples of each patient."""
    score: Floats
    """(p,) Mean score of the samples; higher means more likely a member."""

    @property
    def order(self) -> Ints:
        """(m,) Rows of the members, highest score first."""
        members = np.flatnonzero(self.member)
        return members[np.argsort(-self.score[members], kind="stable")]


THRESHOLDS = ("population", "oracle", "mean-train")
"""Kinds of thresholds, by their sources."""


Results = list[tuple[Play, Evaluation]]
"""Decisions and evaluation of each attack, in the order of the attacks."""


_LENGTHS = {"short": SHORT, "long": LONG}


_PATIENTS = "patient level"


def thresholds_named(
    kinds: Sequence[str] | None, fprs: Sequence[float], population: bool
) -> tuple[Threshold, ...]:
    """Return the rules for thresholds: every kind at every rate, ``mean-train`` once.

    The kinds are from `THRESHOLDS`, by default the population, or the oracle without one; the rates
    are in (0, 1).
    """
    if not fprs:
        raise InputError("fpr must name at least one false-positive rate, got none")
    # The population first: no attacker has the judged non-members themselves.
    chosen = ("population" if population else "oracle",) if kinds is None else tuple(kinds)
    found: list[Threshold] = []
    for kind in dict.fromkeys(chosen):
        if kind not in THRESHOLDS:
            raise InputError(
                f"threshold must be some of {checks.short_list(THRESHOLDS)}, got {kind!r}"
            )
        if kind == "mean-train":
            found.append(MeanTrainThreshold())
            continue
        how = PopulationThreshold if kind == "population" else OracleThreshold
        found += [how(checks.level(rate, "fpr")) for rate in dict.fromkeys(fprs)]
    if not found:
        raise InputError(f"threshold must be some of {checks.short_list(THRESHOLDS)}, got none")
    return tuple(found)


@dataclass(frozen=True)
class ThresholdOptions:
    """Options shared by samples, patients and samples of one range of lengths."""

    kinds: tuple[str, ...] | None
    """Kinds of thresholds; None for the default."""
    fprs: tuple[float, ...]
    """False-positive rates at which thresholds are chosen."""
    seed: int
    """Seed of all random draws."""
    level: float
    """Level of each interval, in (0, 1)."""


def asked_for(
    threshold: str | Sequence[str] | None, fpr: float | Sequence[float], seed: int, level: float
) -> ThresholdOptions:
    """Return the options, checked as far as possible before there are energies.

    The parameters are those of `audit_language`.
    """
    checks.level(level)
    seeds.non_negative(seed)
    fprs = (fpr,) if isinstance(fpr, int | float) else tuple(fpr)
    kinds = (threshold,) if isinstance(threshold, str) else threshold
    thresholds_named(kinds, fprs, population=True)
    return ThresholdOptions(None if kinds is None else tuple(kinds), fprs, seed, level)


@dataclass(frozen=True)
class Suite:
    """Attacks to play, and the rule for each threshold."""

    attacks: tuple[EnergyAttack, ...]
    """One attack per signal and threshold."""
    thresholds: tuple[Threshold, ...]
    """One threshold per attack."""
    skipped: tuple[Skipped, ...]
    """Attacks that cannot be played, and the reasons."""


def suite_of(scores: TextScores, asked: ThresholdOptions) -> Suite:
    """Return the attacks on some energies, with thresholds chosen on them."""
    kinds = asked.kinds
    chosen = thresholds_named(kinds, asked.fprs, bool(scores.population.any()))
    found = list(energy_attacks(scores, chosen))
    if kinds is None:
        mean = MeanTrainThreshold()
        # After the loss attacks, before the further signals.
        last = max(row for row, attack in enumerate(found) if attack.name == LOSS)
        found.insert(last + 1, EnergyAttack(LOSS, mean.cut(scores, LOSS), mean.label))
        chosen = (*chosen, mean)
    by_label = {threshold.label: threshold for threshold in chosen}
    # Signals with the same value for all judged texts rank nobody.
    played = [
        Skipped(x.name, TIED)
        if isinstance(x, EnergyAttack) and tied(signal(scores, x.signal)[scores.judged])
        else x
        for x in found
    ]
    attacks = tuple(x for x in played if isinstance(x, EnergyAttack))
    skipped = tuple(dict.fromkeys(x for x in played if isinstance(x, Skipped)))
    if not attacks:
        raise InputError(
            f"no attack could be played ({skipped[0].name} {skipped[0].reason}): give the energies "
            "of each text"
        )
    return Suite(attacks, tuple(by_label[attack.variant] for attack in attacks), skipped)


def require_two(n_in: int, n_out: int, unit: str) -> None:
    """Raise if a side has a single unit, such as a ``patient``."""
    if min(n_in, n_out) < 2:
        raise InputError(
            f"an audit needs at least two {unit}s among the members and two among the non-members, "
            f"got {n_in} and {n_out}: give more of them"
        )


def unit_findings(
    scores: TextScores, suite: Suite, unit: str, asked: ThresholdOptions
) -> tuple[Results, UnitFindings]:
    """Play the attacks on the judged rows, one per `unit`: ``sample`` or ``patient``.

    The suite must be that of the scores.

    Raises
    ------
    InputError
        If there is a single group of members or of non-members.
    """
    sides = (scores.member, scores.nonmember)
    n_in, n_out = (len(np.unique(scores.unit[side])) for side in sides)
    # Intervals need the spread within a side, which a single unit does not have.
    require_two(n_in, n_out, unit if scores.group is None else "patient")
    results = audit([energy_round(scores)], suite.attacks, seed=asked.seed, level=asked.level)
    played = [result for result in results if not isinstance(result, Skipped)]
    # `spoken` are the attacks that find more than the reference model, which knows no members.
    if scores.energy_reference is None:
        spoken = played
    else:
        placebo = roc.auc(energy_transcript(scores, REFERENCE), asked.level)
        # The interval's half-width divided by its normal quantile gives the standard error.
        error = (placebo.high - placebo.low) / 2 / float(ndtri(0.5 + asked.level / 2))
        if abs(placebo.value - 0.5) <= error:
            spoken = played
        else:
            with_reference = (LIKELIHOOD_RATIO, EZ, WINDOWS, BY_LENGTH)
            lowest = min(0.5, placebo.value)
            highest = max(0.5, placebo.value)
            # If every attack loses to the placebo, all of them are kept, since a verdict needs one.
            spoken = [
                (play, found)
                for play, found in played
                if found.name in with_reference
                or found.auc.low > highest
                or found.auc.high < lowest
            ] or played
    sources = {
        "population": scores.population,
        "oracle": scores.nonmember,
        "mean-train": scores.member,
    }
    thresholds = []
    for attack, threshold, (_, evaluation) in zip(
        suite.attacks, suite.thresholds, played, strict=True
    ):
        behind: Bools = sources[threshold.name]
        realised = evaluation.false_positive_rate
        kept = True
        if threshold.name == "population":
            hit = signal(scores, attack.signal)[behind] >= attack.cut.threshold
            nominal = rates.proportion(hit, scores.unit[behind], asked.level)
            # Both rates are uncertain, since the threshold also comes from few samples.
            kept = realised.low <= nominal.high and nominal.low <= realised.high
        thresholds.append(
            ThresholdFinding(
                attack=evaluation.title,
                kind=threshold.name,
                asked=getattr(threshold, "fpr", None),
                score=attack.cut.threshold,
                n=int(np.count_nonzero(behind)),
                realised=realised,
                kept=kept,
            )
        )
    found = UnitFindings(
        unit=unit,
        n_in=int(np.count_nonzero(scores.member)),
        n_out=int(np.count_nonzero(scores.nonmember)),
        evaluations=tuple(evaluation for _, evaluation in played),
        spoken=tuple(evaluation for _, evaluation in spoken),
        # The choice is made among all attacks, and its interval pays for all of them.
        headline=headline(spoken, seed=asked.seed, level=asked.level, among=played),
        thresholds=tuple(thresholds),
    )
    return played, found


def patients_of(
    scores: TextScores, asked: ThresholdOptions
) -> tuple[UnitFindings, PatientRows] | Skipped:
    """Play the attacks patient by patient; return findings and one row per judged patient."""
    if scores.author is not None:
        return Skipped(_PATIENTS, BY_TEXT)
    if scores.group is None:
        return Skipped(_PATIENTS, "needs groups: give a column group with the patient")
    if len(set(scores.group)) == len(scores):
        return Skipped(_PATIENTS, "every patient has one sample: it is the level of samples")
    drawn = seeds.stream(asked.seed, "language", "texts of a patient")
    try:
        # Comparing equally many texts, so that patients with many do not look like members.
        compared = even_sizes(whole_patients(scores), drawn, asked.level)
        patients = by_patient(compared)
        _, found = unit_findings(patients, suite_of(patients, asked), "patient", asked)
    except InputError as error:
        # Samples can still be audited: the reason goes to the reader.
        return Skipped(_PATIENTS, str(error))
    # The notes on samples are printed already.
    notes = tuple(note for note in patients.notes if note not in scores.notes)
    assert compared.group is not None
    judged = np.flatnonzero(patients.judged)
    groups = zip(compared.group, compared.judged.tolist(), strict=True)
    samples = Counter(name for name, is_judged in groups if is_judged)
    names = tuple(patients.sample[row] for row in judged.tolist())
    rows = PatientRows(
        names,
        patients.member[judged],
        np.array([samples[name] for name in names], np.int64),
        signal(patients, best_signal(patients))[judged],
    )
    return replace(found, notes=notes), rows


def findings_by_length(
    scores: TextScores, asked: ThresholdOptions
) -> tuple[tuple[LengthFindings, ...], tuple[Skipped, ...]]:
    """Play the attacks on short and on long samples, each with its own thresholds."""
    if scores.length is None:
        reason = "needs the length of every sample: give a column length"
        return (), (Skipped("short and long samples", reason),)
    found = []
    skipped = []
    for name, (fewest, most) in _LENGTHS.items():
        bucket = length_bucket(scores, fewest, most)
        if isinstance(bucket, Skipped):
            skipped.append(bucket)
            continue
        try:
            attacks = suite_of(bucket, asked).attacks
            results = audit([energy_round(bucket)], attacks, seed=asked.seed, level=asked.level)
        except InputError as error:
            # The other range may still have enough texts.
            skipped.append(Skipped(f"samples of {fewest} to {most} tokens", str(error)))
            continue
        sides = (bucket.member, bucket.nonmember)
        n_in, n_out = (int(np.count_nonzero(side)) for side in sides)
        evaluations = tuple(x[1] for x in results if not isinstance(x, Skipped))
        found.append(
            LengthFindings(
                name, fewest=fewest, most=most, n_in=n_in, n_out=n_out, evaluations=evaluations
            )
        )
    return tuple(found), tuple(skipped)


def best_signal(scores: TextScores) -> str:
    """Return the signal that ranks records: the likelihood ratio, or the loss without one."""
    return LOSS if scores.energy_reference is None else LIKELIHOOD_RATIO
