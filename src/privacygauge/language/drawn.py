"""What coins that were tossed before the training add: a bound on epsilon, person by person."""

from __future__ import annotations

import numpy as np

from privacygauge.core.transcript import Transcript
from privacygauge.core.units import sums
from privacygauge.evaluate.claim import PrivacyBound
from privacygauge.evaluate.claim_bounds import bound_of
from privacygauge.language.coins import Coins
from privacygauge.language.scores import TextScores
from privacygauge.language.statistic import signal
from privacygauge.language.units import best_signal


def bound_by_person(scores: TextScores, coins: Coins, seed: int, level: float) -> PrivacyBound:
    """Return the lower bound on epsilon of one person that a single training shows.

    Parameters
    ----------
    scores : TextScores
    coins : Coins
        That dealt the members and the non-members.
    seed : int
        Draws which coins choose the number of guesses.
    level : float
        In (0, 1).

    Raises
    ------
    InputError
        If somebody is not on the side that the coins dealt.

    Notes
    -----
    The guess about a coin is the mean of the signal over all texts that it decided about: the
    likelihood ratio, or the loss without a reference. Steinke, Nasr & Jagielski (2023), theorem
    5.2, at delta 0: of adding or removing all texts of a coin.
    """
    rows = np.flatnonzero(scores.judged)
    names = scores.group or scores.sample
    member = scores.member[rows]
    number = coins.numbers([names[row] for row in rows.tolist()], member)
    _, first, size = np.unique(number, return_index=True, return_counts=True)
    mean = sums(number, signal(scores, best_signal(scores))[rows]) / size
    return bound_of(Transcript(mean, member[first]), seed, level)
