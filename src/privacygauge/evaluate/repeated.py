"""The true-positive rate at a low false-positive rate where targets come back in many rounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.rate_at_fpr import RateAtFpr, tpr_at_fpr
from privacygauge.evaluate.rates import effective_size
from privacygauge.evaluate.roc import Roc, roc


def tprs_of_repeated(
    transcript: Transcript, fprs: Sequence[float], level: float = 0.95, *, curve: Roc | None = None
) -> tuple[RateAtFpr, ...]:
    """Return true-positive rates at false-positive rates, with intervals for repeated targets.

    Parameters
    ----------
    transcript : Transcript
        Rows of one target in several rounds may be alike.
    fprs : sequence of float
        Each in (0, 1).
    level : float
        In (0, 1).
    curve : Roc, optional
        ``roc(transcript)``, where it is available.

    Returns
    -------
    tuple of RateAtFpr

    Notes
    -----
    `tpr_at_fpr` with as many independent rows as these rows are worth at that threshold, by
    the design effect of the targets (Korn & Graubard 1998), with Student's quantile where targets
    are few; members and non-members apart. `Transcript.independent` would count each target once,
    as if all its rows were the same.
    """
    curve = curve or roc(transcript)
    return tuple(_one(transcript, curve, fpr, level) for fpr in fprs)


def _one(transcript: Transcript, curve: Roc, fpr: float, level: float) -> RateAtFpr:
    if not 0.0 < fpr < 1.0:
        raise InputError(f"fpr must be in (0, 1), got {fpr}")
    count = int(np.floor(fpr * curve.n_out + 1e-9))
    guess = transcript.score > curve.nonmembers[curve.n_out - 1 - count]
    n_in, n_out = (
        _worth(guess[side], transcript.unit[side], level)
        for side in (transcript.secret, ~transcript.secret)
    )
    return tpr_at_fpr(curve, fpr, level, independent=(n_in, n_out))


def _worth(hit: Bools, unit: Ints, level: float) -> int:
    """Return how many independent rows these are worth, at least 1."""
    n, n_units = len(hit), checks.n_distinct(unit)
    if n_units == n:
        return n
    end = 0.5 + level / 2
    student = float(stdtrit(max(n - 1, 1), end) / stdtrit(max(n_units - 1, 1), end))
    return max(1, int(effective_size(hit, unit) * student**2))
