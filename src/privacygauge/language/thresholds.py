"""Where the threshold of an energy comes from, and what each way assumes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.core.rules import Cut
from privacygauge.errors import InputError
from privacygauge.language.scores import TextScores
from privacygauge.language.statistic import signal

FPRS = (0.1, 0.01)
"""The false-positive rates of the published tables."""


class Threshold(Protocol):
    """A way to choose the threshold of a signal."""

    @property
    def name(self) -> str:
        """``population``, ``oracle`` or ``mean-train``."""

    @property
    def label(self) -> str:
        """The name with what sets it apart, for tables."""

    def cut(self, scores: TextScores, name: str) -> Cut:
        """Return the rule for the signal called `name`."""


@dataclass(frozen=True)
class PopulationThreshold:
    """At a share of the population: samples that were not trained on and are not judged."""

    fpr: float = 0.1
    """The share of the population that may be guessed to be members, in (0, 1)."""
    name: str = "population"
    """What tables call it."""

    def __post_init__(self) -> None:
        checks.level(self.fpr, "fpr")

    @property
    def label(self) -> str:
        """Such as ``population, FPR 10%``."""
        return f"population, FPR {_percent(self.fpr)}"

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
        where = f"at {_percent(self.fpr)} of {len(values)} population samples, none of them judged"
        return Cut(cut_at_share(values, self.fpr), where)


@dataclass(frozen=True)
class OracleThreshold:
    """At a share of the judged non-members: no attacker has it, the published numbers do."""

    fpr: float = 0.1
    """The share of the judged non-members that may be guessed to be members, in (0, 1)."""
    name: str = "oracle"
    """What tables call it."""

    def __post_init__(self) -> None:
        checks.level(self.fpr, "fpr")

    @property
    def label(self) -> str:
        """Such as ``oracle, FPR 10%``."""
        return f"oracle, FPR {_percent(self.fpr)}"

    def cut(self, scores: TextScores, name: str) -> Cut:
        """Return the rule of `cut_at_share` on the judged non-members themselves."""
        values = signal(scores, name)[scores.nonmember]
        where = (
            f"at {_percent(self.fpr)} of the judged non-members themselves (an oracle: no attacker "
            "has it; the published precision and recall of Mireshghallah et al. 2022 are of this "
            "kind)"
        )
        return Cut(cut_at_share(values, self.fpr), where)


@dataclass(frozen=True)
class MeanTrainThreshold:
    """At the mean of the members' own values, which whoever trained the model may publish."""

    name: str = "mean-train"
    """What tables call it."""

    @property
    def label(self) -> str:
        """The name: there is one form only."""
        return self.name

    def cut(self, scores: TextScores, name: str) -> Cut:
        """Return the rule "member where the signal is at least the members' mean".

        Notes
        -----
        Jagannatha et al. (2021), who take it for the loss: member where the audited model's loss
        is at most the mean training loss.
        """
        values = signal(scores, name)[scores.member]
        return Cut(float(np.mean(values)), "at the mean of the judged members (mean-train)")


def cut_at_share(values: Floats, share: float) -> float:
    """Return the threshold t for which "member if value >= t" takes in at most `share` of values.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        A signal of samples that are no members: higher means more like a member.
    share : float
        In (0, 1).

    Returns
    -------
    float
        The SMALLEST of the values for which that holds: the largest statistic L = -value with at
        most that share of the values at or below it. Equal values are on the same side, so the
        realised share is at most `share`, and less where a tie would cross it. Infinity (nobody is
        a member) where even the largest value is shared by too many.

    Notes
    -----
    Mireshghallah et al. (2022), section 2.4. ``(k + 1) / (n + 1)`` bounds the rate on new samples
    for the k that are let in, so a small population makes the rate on others uncertain.

    Examples
    --------
    >>> import numpy as np
    >>> from privacygauge.language.thresholds import cut_at_share
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
    at_least = n - np.searchsorted(ordered, ordered, side="left")
    allowed = np.flatnonzero(at_least / n <= share)
    return float(ordered[allowed[0]]) if len(allowed) else math.inf


def default_thresholds(scores: TextScores) -> tuple[Threshold, ...]:
    """Return the population's thresholds at 10% and 1%, or the oracle's where there is none."""
    if scores.population.any():
        return tuple(PopulationThreshold(fpr) for fpr in FPRS)
    return tuple(OracleThreshold(fpr) for fpr in FPRS)


def _percent(share: float) -> str:
    return f"{100 * share:g}%"
