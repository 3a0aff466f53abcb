"""A claimed (epsilon, delta) against what attacks on canaries achieve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr

from privacygauge.core import checks
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.one_run import largest_one_run_epsilon, one_run_epsilon, right_guesses

SHARES = (0.9, 0.5, 0.25, 0.1, 0.03)
"""Of the canaries that are guessed where nobody says how many; a fifth of the error for each.

Not all of them: half of the guesses say that a canary was put in, and coins seldom put in half."""

GAUSSIAN = "the mechanism is Gaussian: two normals one standard deviation wide, mu apart"
"""What the Gaussian bounds take for granted."""


@dataclass(frozen=True, slots=True)
class PrivacyClaim:
    """What somebody says of a mechanism: that it is (epsilon, delta)-differentially private."""

    epsilon: float
    """At least 0, finite; of adding or removing one record."""
    delta: float
    """In [0, 1)."""
    accountant: str = ""
    """Who added it up, such as ``RDP (PrivacyGauge)``; empty where it is somebody's word."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.epsilon < np.inf:
            raise InputError(f"epsilon must be at least 0 and finite, got {self.epsilon}")
        if not 0.0 <= self.delta < 1.0:
            raise InputError(f"delta must be in [0, 1), got {self.delta}")


@dataclass(frozen=True, slots=True)
class PrivacyBound:
    """A lower bound on epsilon at the claim's delta, beside the largest that there could be."""

    name: str
    """``one-run``, ``one-run-gaussian``, ``rates`` or ``rates-gaussian``."""
    assumption: str
    """What it takes for granted; empty where nothing."""
    estimate: Estimate
    """`low` is the bound; `value` is the same without allowance for chance, or the bound again
    where that is not defined; `high` is infinity."""
    largest: float
    """The bound that a perfect attack on so many canaries would reach."""

    def refutes(self, claim: PrivacyClaim) -> bool:
        """Return whether the claim is too small."""
        return self.estimate.low > claim.epsilon

    def could_refute(self, claim: PrivacyClaim) -> bool:
        """Return whether any attack on so many canaries could have shown the claim too small."""
        return self.largest > claim.epsilon


@dataclass(frozen=True, eq=False)
class Guessed:
    """How many guesses about the canaries of one run were right."""

    n_canaries: int
    """Canaries that fair independent coins put in or left out."""
    n_guesses: Ints
    """(g,) Numbers of guesses, fixed before the scores were seen; ascending."""
    n_right: Ints
    """(g,) How many of them are right."""

    def __post_init__(self) -> None:
        tried = checks.integers(self.n_guesses, "n_guesses")
        right = checks.integers(self.n_right, "n_right", length=len(tried))
        if not len(tried) or tried[0] < 1 or np.any(np.diff(tried) <= 0):
            raise InputError(
                f"n_guesses must be ascending and at least 1, got {checks.listed(tried)}"
            )
        if tried[-1] > self.n_canaries:
            raise InputError(
                f"n_guesses must be at most {self.n_canaries} (the canaries), got {tried[-1]}"
            )
        object.__setattr__(self, "n_guesses", tried)
        object.__setattr__(self, "n_right", right)


def guessed(transcript: Transcript, n_guesses: Ints, rng: np.random.Generator) -> Guessed:
    """Return how many guesses about the canaries of one run are right.

    Parameters
    ----------
    transcript : Transcript
        One row a canary. Each must have been put in by a fair coin of its own.
    n_guesses : ndarray of int, shape (g,)
        Fixed before the scores were seen; several are corrected for.
    rng : numpy.random.Generator
        Orders equal scores.
    """
    found = right_guesses(transcript.score, transcript.secret, n_guesses, rng)
    return Guessed(len(transcript), n_guesses, found)


def default_guesses(n_canaries: int) -> Ints:
    """Return the numbers of guesses to try, by `SHARES`, each at least 1 and once.

    Examples
    --------
    >>> default_guesses(1000)
    array([ 30, 100, 250, 500, 900])
    """
    return np.unique([max(1, round(share * n_canaries)) for share in SHARES]).astype(np.int64)


def one_run_bound(
    found: Guessed, delta: float = 0.0, level: float = 0.95, *, methods: int = 1
) -> PrivacyBound:
    """Return the largest epsilon that one run rules out, assuming nothing.

    Parameters
    ----------
    found : Guessed
    delta : float
        In [0, 1).
    level : float
        In (0, 1), of all numbers of guesses and all methods together.
    methods : int
        How many bounds are looked at, at least 1: the error is divided by it.

    Returns
    -------
    PrivacyBound
        The largest over the numbers of guesses, each at an equal share of the error
        (Bonferroni); see `one_run_epsilon`.
    """
    r, v, m = found.n_guesses, found.n_right, found.n_canaries
    each = divided(level, methods * len(r))
    low = one_run_epsilon(m, r, v, delta, each)
    largest = largest_one_run_epsilon(m, r, delta, each)
    # Of r guesses r q are right on average, and 2 m delta more at most.
    share = np.clip((v - 2 * m * delta) / r, 0.5, 1.0)
    with np.errstate(divide="ignore"):
        value = np.log(share) - np.log1p(-share)
    bound = float(low.max())
    estimate = Estimate(
        max(bound, float(value.max())), bound, np.inf, level, m, _method("one run", methods, len(r))
    )
    return PrivacyBound("one-run", "", estimate, float(largest.max()))


def divided(level: float, looks: int) -> float:
    """Return the level of each of several looks that hold together at `level` (Bonferroni)."""
    if looks < 1:
        raise InputError(f"looks must be at least 1, got {looks}")
    return 1.0 - (1.0 - checks.level(level)) / looks


def coins_p_value(n_in: int, n: int) -> float:
    """Return how likely n fair coins put so few or so many in, or a more uneven share.

    Examples
    --------
    >>> round(coins_p_value(60, 100), 3), coins_p_value(50, 100)
    (0.057, 1.0)
    """
    return min(1.0, 2.0 * float(bdtr(min(n_in, n - n_in), n, 0.5)))


def _method(route: str, methods: int, numbers: int) -> str:
    return f"{route}, Bonferroni over {methods * numbers}"
