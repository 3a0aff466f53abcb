"""Inverted attacks: those that rank non-members above members."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.claim import bonferroni_level
from privacygauge.evaluate.epsilon import audit_epsilon
from privacygauge.evaluate.evaluation import best_accuracy
from privacygauge.evaluate.rate_at_fpr import FEW, exposed_rate, may_expose, tprs_at_fprs
from privacygauge.evaluate.roc import Roc, auc, roc

Scored = tuple[str, Transcript]
"""An attack's title, and its scores with the secrets."""


@dataclass(frozen=True)
class InvertedAttack:
    """An attack that separates the sides, but ranks non-members above members."""

    attack: str
    """Title of the attack."""
    auc: Estimate
    """AUC of the attack; the interval is corrected for the number of attacks. It holds 1/2 only if
    the leak is in a few records at one end of the scores."""


def below_chance(areas: Iterable[tuple[str, Estimate]]) -> tuple[InvertedAttack, ...]:
    """Return the attacks with an AUC significantly below 1/2, by given intervals.

    Parameters
    ----------
    areas : iterable of (str, Estimate)
        Titles and AUCs, with jointly valid intervals.
    """
    return tuple(InvertedAttack(title, area) for title, area in areas if area.high < 0.5)


def inverted_attacks(
    played: Sequence[Scored], level: float = 0.95, *, looks: int | None = None
) -> tuple[InvertedAttack, ...]:
    """Return the attacks with an AUC significantly below 1/2.

    Parameters
    ----------
    played : sequence of (str, Transcript)
        Titles and scores, at least one.
    level : float
        Joint level of all intervals, in (0, 1).
    looks : int, optional
        Number of jointly valid intervals; default: the number of attacks.

    Returns
    -------
    tuple of InvertedAttack
        Empty with probability at least ``1 - (1 - level) / 2`` if no score depends on membership.

    Notes
    -----
    Bonferroni over the looks. Such an attack with its scores reversed beats guessing, so it is
    never evidence of safety.

    Examples
    --------
    >>> import numpy as np
    >>> from privacygauge.core.transcript import Transcript
    >>> score = np.arange(40.0)
    >>> [found.attack for found in inverted_attacks([("loss", Transcript(score, score < 20))])]
    ['loss']
    >>> inverted_attacks([("loss", Transcript(-score, score < 20))])
    ()
    """
    together = looks or len(played)
    each = bonferroni_level(level, together)
    method = "" if together == 1 else f", Bonferroni over {together} looks"
    areas = ((title, auc(transcript, each)) for title, transcript in played)
    return below_chance(
        (title, replace(area, level=level, method=f"{area.method}{method}"))
        for title, area in areas
    )


def inverted_at_one_end(
    played: Sequence[Scored], level: float = 0.95, *, seed: int = 0
) -> tuple[InvertedAttack, ...]:
    """Return the attacks that would find a leak if their scores or sides were reversed.

    For audits in which neither an AUC nor the guesses show a leak. Checks the other evidence of
    one: a few badly exposed records, the best threshold in hindsight, and a bound on epsilon above
    0.

    Parameters
    ----------
    played : sequence of (str, Transcript)
        As in `inverted_attacks`, all on the same rows.
    level : float
        In (0, 1).
    seed : int
        As in `audit_epsilon`.
    """
    told = {title: t for title, t in played if _leaks_turned(t, level)}
    # One suite per kind of mirror: the transcripts of `audit_epsilon` must share their secrets.
    for kind in zip(*(mirrors(t) for _, t in played), strict=True):
        bound, chosen = audit_epsilon(kind, level=level, seed=seed)
        if bound.low > 0:
            title, transcript = played[chosen]
            told[title] = transcript
    each = bonferroni_level(level, len(played))
    return tuple(InvertedAttack(title, auc(t, each)) for title, t in told.items())


def mirrors(transcript: Transcript) -> tuple[Transcript, Transcript]:
    """Return a transcript with its scores reversed, and with its sides swapped."""
    return (
        replace(transcript, score=np.negative(transcript.score)),
        replace(transcript, secret=~transcript.secret),
    )


def _leaks_turned(transcript: Transcript, level: float) -> bool:
    """Return whether the scores of either mirror of a transcript would count as a leak."""
    curve = roc(transcript)
    independent = transcript.independent
    swapped = Roc(curve.nonmembers, curve.members), independent[::-1]
    # One best accuracy serves for both mirrors: the same thresholds give the same shares.
    if best_accuracy(swapped[0], level, independent=swapped[1]).low > 0.5:
        return True
    reversed_ = Roc(-curve.members[::-1], -curve.nonmembers[::-1]), independent
    for mirror, n in (reversed_, swapped):
        few = [fpr for fpr in FEW if may_expose(mirror, fpr)]
        if exposed_rate(tprs_at_fprs(mirror, few, level, independent=n)) is not None:
            return True
    return False
