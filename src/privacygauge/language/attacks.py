"""Attacks on a language model: a signal of the energies, and a way to choose its threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Round, Scores
from privacygauge.core.rules import Cut
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.language.scores import LIKELIHOOD_RATIO, LOSS, REFERENCE, TextScores


def statistic(energy_target: Floats, energy_reference: Floats) -> Floats:
    """Return the likelihood-ratio statistic L, (n,): LOWER means more likely a member.

    Parameters
    ----------
    energy_target, energy_reference : ndarray of float, shape (n,)
        Energies of the same samples under the audited and the reference model, with the same masks.

    Returns
    -------
    ndarray of float, shape (n,)
        ``energy_target - energy_reference``. The models' normalising constants add the same number
        to every sample and are omitted, so 0 has no special meaning.

    Notes
    -----
    Mireshghallah et al. (2022), section 2.3, after equation 1. The attack's score is -L.
    """
    return energy_target - energy_reference


def signals_by_name(scores: TextScores) -> dict[str, Floats]:
    """Return every signal by name, (n,) values each: higher means more likely a member.

    Returns
    -------
    dict of str to ndarray
        ``loss`` always; ``likelihood-ratio`` and ``reference`` if the reference model's energies
        are known; and the further signals of the scores.
    """
    # Members have lower energies: the sign is turned here, once.
    found = {LOSS: -scores.energy_target, **scores.further}
    if scores.energy_reference is not None:
        found[LIKELIHOOD_RATIO] = -statistic(scores.energy_target, scores.energy_reference)
        found[REFERENCE] = -scores.energy_reference
    return found


def signal(scores: TextScores, name: str) -> Floats:
    """Return one signal, (n,); higher means more likely a member.

    Raises
    ------
    InputError
        If there is no signal of that name, or it needs energies of a reference model.
    """
    found = signals_by_name(scores)
    if name in found:
        return found[name]
    if name in (LIKELIHOOD_RATIO, REFERENCE):
        raise InputError(f"{name} needs the reference model: give a column energy_reference")
    names = (LOSS, LIKELIHOOD_RATIO, REFERENCE, *scores.further)
    raise InputError(f"signal must be {', '.join(names[:-1])} or {names[-1]}, got {name!r}")


def energy_round(scores: TextScores) -> Round:
    """Return the judged samples as one round of the game: the signals, and the secret.

    The target of each row is its group, so that every interval counts groups, not samples.
    """
    rows = scores.judged
    shown = {name: values[rows] for name, values in signals_by_name(scores).items()}
    # One stratum: a threshold serves samples of every kind.
    stratum = np.zeros(int(np.count_nonzero(rows)), np.int64)
    return Round(Observation(shown, stratum), scores.member[rows], scores.unit[rows])


def energy_transcript(scores: TextScores, name: str) -> Transcript:
    """Return the judged samples' values of one signal with their secrets, by group."""
    rows = scores.judged
    return Transcript(signal(scores, name)[rows], scores.member[rows], scores.unit[rows])


FPRS = (0.1, 0.01)
"""False-positive rates of the published tables."""


@dataclass(frozen=True)
class _AtShare:
    """Threshold that a given share of some samples reaches."""

    fpr: float = 0.1
    """Share of these samples that may be guessed to be members, in (0, 1)."""
    name: str = ""
    """Name, as tables print it."""

    def __post_init__(self) -> None:
        checks.level(self.fpr, "fpr")

    @property
    def label(self) -> str:
        """Name with the rate, such as ``population, FPR 10%``."""
        return f"{self.name}, FPR {100 * self.fpr:g}%"


@dataclass(frozen=True)
class PopulationThreshold(_AtShare):
    """Threshold from the population: samples that were not trained on and are not judged."""

    name: str = "population"

    def cut(self, scores: TextScores, name: str) -> Cut:
        """Return the rule of `cut_at_share` on the population.

        Raises
        ------
        InputError
            If there is no population.
        """
        if not scores.population.any():
            raise InputError(
                "the population threshold needs samples of the population, got none: give them "
                "with 1 in a column population, or take the threshold oracle or mean-train"
            )
        values = signal(scores, name)[scores.population]
        where = f"at {100 * self.fpr:g}% of {len(values)} population samples, none of them judged"
        return Cut(cut_at_share(values, self.fpr), where)


@dataclass(frozen=True)
class OracleThreshold(_AtShare):
    """Threshold from the judged non-members: unavailable to attackers, but used in publications."""

    name: str = "oracle"

    def cut(self, scores: TextScores, name: str) -> Cut:
        """Return the rule of `cut_at_share` on the judged non-members themselves."""
        values = signal(scores, name)[scores.nonmember]
        where = (
            f"at {100 * self.fpr:g}% of the judged non-members themselves (an oracle: no attacker "
            "has it; the published precision and recall of Mireshghallah et al. 2022 are of this "
            "kind)"
        )
        return Cut(cut_at_share(values, self.fpr), where)


@dataclass(frozen=True)
class MeanTrainThreshold:
    """Threshold at the mean of the members' own values, which the model's trainer may publish."""

    name: str = "mean-train"
    """Name, as tables print it."""

    @property
    def label(self) -> str:
        """Name; there is only one form."""
        return self.name

    def cut(self, scores: TextScores, name: str) -> Cut:
        """Return the rule "member where the signal is at least the members' mean".

        Notes
        -----
        Jagannatha et al. (2021), who use it for the loss: a member is guessed if the audited
        model's loss is at most the mean training loss.
        """
        values = signal(scores, name)[scores.member]
        return Cut(float(np.mean(values)), "at the mean of the judged members (mean-train)")


Threshold = PopulationThreshold | OracleThreshold | MeanTrainThreshold
"""Rule for choosing the threshold of a signal."""


def cut_at_share(values: Floats, share: float) -> float:
    """Return the threshold t at which at most `share` of the values are at least t.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        Signal of non-members; higher means more likely a member.
    share : float
        Largest share of the values to reach the threshold, in (0, 1).

    Returns
    -------
    float
        The SMALLEST value for which that holds: the largest statistic L = -value with at most this
        share of the values at or below it. Equal values are on the same side, so the realised share
        is at most `share`, and less if a tie would cross it. Infinity (nobody is guessed a member)
        if even the largest value is shared by too many.

    Notes
    -----
    Mireshghallah et al. (2022), section 2.4. ``(k + 1) / (n + 1)`` bounds the rate on new samples
    if k of n reach the threshold, so with a small population the rate on other samples is
    uncertain.

    Examples
    --------
    >>> import numpy as np
    >>> from privacygauge.language.attacks import cut_at_share
    >>> cut_at_share(np.arange(10.0), 0.2)
    8.0
    >>> cut_at_share(np.array([0.0, 1.0, 1.0, 1.0]), 0.5)
    inf
    """
    checks.level(share, "share")
    ordered = np.sort(values)
    n = len(ordered)
    if not n:
        raise InputError("a threshold needs at least one sample, got none")
    # Number of values at or above each value, ties included.
    at_least = n - np.searchsorted(ordered, ordered, side="left")
    allowed = np.flatnonzero(at_least / n <= share)
    # The first allowed value is the smallest: the most members for that rate.
    return float(ordered[allowed[0]]) if len(allowed) else math.inf


@dataclass(frozen=True)
class EnergyAttack:
    """Guess "member" if a signal reaches a threshold chosen beforehand."""

    signal: str
    """Name of a signal in the observation, such as ``loss`` or ``likelihood-ratio``."""
    cut: Cut
    """Threshold, and where it was chosen."""
    variant: str
    """Kind of threshold, such as ``population, FPR 10%``."""
    thresholds: str = "global"
    """``global``: one threshold serves all samples."""

    @property
    def name(self) -> str:
        """The signal's name."""
        return self.signal

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return the signal of every sample, and the rule; nothing is drawn."""
        if self.signal not in observation.signals:
            return Skipped(self.name, f"the observation has no signal {self.signal!r}")
        notes: tuple[str, ...] = ()
        # An infinite threshold keeps the rate, but the reader has to know that nobody is guessed.
        if not math.isfinite(self.cut.threshold):
            notes = (
                f"{self.name} ({self.variant}): the samples behind the threshold are too few, or "
                "too many of them are equal, for so low a rate; nobody is guessed to be a member.",
            )
        return Scores(observation.signals[self.signal], self.cut, notes)


def energy_attacks(
    scores: TextScores, thresholds: Sequence[Threshold]
) -> tuple[EnergyAttack | Skipped, ...]:
    """Return one attack per signal (likelihood ratio, loss, further ones) and threshold.

    The likelihood ratio is skipped without a reference model.

    Raises
    ------
    InputError
        If a population threshold is requested and there is no population.
    """
    names = (LOSS, *scores.further)
    missing: tuple[Skipped, ...] = ()
    if scores.energy_reference is None:
        missing = (Skipped(LIKELIHOOD_RATIO, "needs energies of a reference model"),)
    else:
        names = (LIKELIHOOD_RATIO, *names)
    attacks = (
        EnergyAttack(name, threshold.cut(scores, name), threshold.label)
        for name in names
        for threshold in thresholds
    )
    return (*missing, *attacks)
