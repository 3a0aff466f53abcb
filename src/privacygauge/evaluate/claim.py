"""Compare a claimed (epsilon, delta) with lower bounds from attacks on canaries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import bdtr

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.one_run import one_run_epsilon, right_guesses

SHARES = (0.9, 0.5, 0.25, 0.1, 0.03)
"""Default shares of the canaries to guess.

Never all: half of the guesses say "in", and fair coins seldom put in exactly half."""

CHOOSE_FROM = 500
"""Canaries from which on some of them choose one number of guesses; with fewer, every number of
`default_guesses` is tried."""

CHOOSING = 0.2
"""Default share of the canaries that choose the number of guesses."""

_TRIED = (1.0, 0.9, 0.7, 0.5, 0.25, 0.1, 0.03, 0.01)
"""Candidate shares of the canaries to guess, among which the choosing canaries choose."""

GAUSSIAN = "the mechanism is Gaussian: two normals one standard deviation wide, mu apart"
"""Assumption of the Gaussian bounds, as reports print it."""


@dataclass(frozen=True, slots=True)
class PrivacyClaim:
    """A claim that a mechanism is (epsilon, delta)-differentially private."""

    epsilon: float
    """At least 0, finite; for adding or removing one record."""
    delta: float
    """In [0, 1)."""
    accountant: str = ""
    """Accountant that computed the claim, such as ``RDP (PrivacyGauge)``; empty if none did."""

    def __post_init__(self) -> None:
        checks.kind(self.epsilon, "epsilon", "__abs__", "a number from 0 on")
        if not 0.0 <= self.epsilon < np.inf:
            raise InputError(f"epsilon must be at least 0 and finite, got {self.epsilon}")
        checks.below_one(self.delta, "delta")


@dataclass(frozen=True, slots=True)
class PrivacyBound:
    """A lower bound on epsilon at the claim's delta, and the largest this audit could show."""

    name: str
    """``one-run``, ``one-run-gaussian``, ``rates``, ``rates-gaussian``, ``ranks-dp-sgd`` or
    ``sequential``."""
    assumption: str
    """Assumption of the bound, as reports print it; empty if it needs none."""
    estimate: Estimate
    """`low` and `value` are the bound; `high` is infinity."""
    largest: float
    """The bound of a perfect attack on this number of canaries."""

    @property
    def condition(self) -> str:
        """The assumption up to its first colon."""
        return self.assumption.partition(":")[0]

    def refutes(self, claim: PrivacyClaim) -> bool:
        """Return whether the bound exceeds the claimed epsilon."""
        return self.estimate.low > claim.epsilon

    def could_refute(self, claim: PrivacyClaim) -> bool:
        """Return whether a perfect attack on this number of canaries would refute the claim."""
        return self.largest > claim.epsilon


@dataclass(frozen=True, eq=False)
class GuessCounts:
    """Numbers of guesses about the canaries of one run, and how many of them are right."""

    n_canaries: int
    """Canaries that independent fair coins put in or left out, without the choosing ones."""
    n_guesses: Ints
    """(g,) Numbers of guesses, fixed before the scores were seen; ascending."""
    n_right: Ints
    """(g,) Right guesses for each number of guesses."""
    n_choosing: int = 0
    """Further canaries, which chose the number of guesses and are not judged."""

    def __post_init__(self) -> None:
        tried = checks.integers(self.n_guesses, "n_guesses")
        right = checks.integers(self.n_right, "n_right", length=len(tried))
        if not len(tried) or tried[0] < 1 or np.any(np.diff(tried) <= 0):
            raise InputError(
                f"n_guesses must be ascending and at least 1, got {checks.short_list(tried)}"
            )
        if tried[-1] > self.n_canaries:
            raise InputError(
                f"n_guesses must be at most {self.n_canaries} (the canaries), got {tried[-1]}"
            )
        object.__setattr__(self, "n_guesses", tried)
        object.__setattr__(self, "n_right", right)


def count_right_guesses(
    transcript: Transcript, n_guesses: Ints, rng: np.random.Generator
) -> GuessCounts:
    """Count the right guesses about the canaries of one run.

    Parameters
    ----------
    transcript : Transcript
        One row per canary. Each must have been put in by an independent fair coin.
    n_guesses : ndarray of int, shape (g,)
        Fixed before the scores were seen; the bounds are corrected for several.
    rng : numpy.random.Generator
        Breaks ties between scores.
    """
    found = right_guesses(transcript.score, transcript.secret, n_guesses, rng)
    return GuessCounts(len(transcript), n_guesses, found)


def default_guesses(n_canaries: int) -> Ints:
    """Return the distinct numbers of guesses to try, by `SHARES`, each at least 1.

    Examples
    --------
    >>> default_guesses(1000)
    array([ 30, 100, 250, 500, 900])
    """
    return np.unique([max(1, round(share * n_canaries)) for share in SHARES]).astype(np.int64)


def chosen_guesses(
    transcript: Transcript, delta: float, level: float, share: float, rng: np.random.Generator
) -> GuessCounts:
    """Count right guesses about some canaries of one run; the others choose how many to guess.

    Parameters
    ----------
    transcript : Transcript
        One row per canary. Each must have been put in by an independent fair coin.
    delta, level : float
        As in `one_run_epsilon`.
    share : float
        Share of the canaries that choose the number, in (0, 1).
    rng : numpy.random.Generator
        Draws the choosing canaries, and breaks ties between scores.

    Notes
    -----
    The coins of the choosing canaries are independent of the others, so the judged canaries are a
    run of their own: its number of guesses was fixed before its coins were seen, and no correction
    is needed. The chosen number has the largest bound if the share of right guesses is that of the
    choosing canaries minus one standard error.
    """
    if not 0.0 < share < 1.0:
        raise InputError(f"choosing must be in [0, 1), got {share}")
    m = len(transcript)
    n_choosing = min(max(1, round(share * m)), m - 1)
    order = rng.permutation(m)
    chooses = order[:n_choosing]
    judged = order[n_choosing:]
    score = transcript.score
    secret = transcript.secret
    tried = np.unique([max(1, round(x * n_choosing)) for x in _TRIED]).astype(np.int64)
    seen = right_guesses(score[chooses], secret[chooses], tried, rng)
    # Half a right and half a wrong guess added, so that few guesses, all right, are not trusted
    # fully.
    rate = (seen + 0.5) / (tried + 1)
    rate = np.clip(rate - np.sqrt(rate * (1 - rate) / (tried + 1)), 0.0, 1.0)
    n_judged = len(judged)
    # The same shares of the judged canaries.
    numbers = np.clip(np.round(tried * (n_judged / n_choosing)), 1, n_judged).astype(np.int64)
    hoped = one_run_epsilon(
        n_judged, numbers, n_right=np.floor(rate * numbers).astype(int), delta=delta, level=level
    )
    # The last key sorts first: largest hoped bound, and among equal ones (all 0) the surest
    # guesses.
    best = numbers[[int(np.lexsort((rate, hoped))[-1])]]
    right = right_guesses(score[judged], secret[judged], best, rng)
    return GuessCounts(n_judged, best, right, n_choosing)


def stepwise_bound(
    bounds: Callable[[Ints, float], Floats],
    found: GuessCounts,
    level: float,
    reach: Callable[[Ints, float], Floats] | None = None,
) -> float:
    """Return the largest bound of several numbers of guesses, corrected for their number.

    Parameters
    ----------
    bounds : callable
        ``bounds(right, level)`` returns the bounds, shape (g,), for the numbers of right guesses,
        shape (g,); each is valid on its own at that level.
    found : GuessCounts
    level : float
        Level of the result, in (0, 1).
    reach : callable, optional
        The same for a second family of bounds, never below the first; results of both are then
        jointly valid at `level`. Default: `bounds`.

    Notes
    -----
    Bonferroni's correction counts only the numbers of guesses that could refute an epsilon at all,
    with every guess right (Tarone 1990): for each epsilon, the smallest k such that at most k of
    them reach beyond it at 1/k of the error. The others cannot refute it, so the probability of
    any false refutation is at most k times 1/k of the error. An epsilon counts as refuted only if
    all smaller ones are.
    """
    reach = reach or bounds
    numbers = len(found.n_guesses)
    low = 0.0
    for looks in range(numbers, 0, -1):
        each = bonferroni_level(level, looks)
        # The next-largest reach is at or below `low`: beyond it, at most `looks` numbers of
        # guesses could refute anything.
        if looks == numbers or np.sort(reach(found.n_guesses, each))[-looks - 1] <= low:
            low = max(low, float(bounds(found.n_right, each).max()))
    return low


def bonferroni_level(level: float, looks: int) -> float:
    """Return the level of each of several intervals that are jointly valid at `level`."""
    checks.at_least(1, looks=looks)
    return 1.0 - (1.0 - checks.level(level)) / looks


def coins_p_value(n_in: int, n: int) -> float:
    """Return the two-sided p-value of the number of canaries that n fair coins put in.

    Examples
    --------
    >>> round(coins_p_value(60, 100), 3), coins_p_value(50, 100)
    (0.057, 1.0)
    """
    return min(1.0, 2.0 * float(bdtr(min(n_in, n - n_in), n, 0.5)))


# Units of privacy and neighbouring relations of claims, with the consequences for canaries.

Adjacency = Literal["add-remove", "replace"]
"""Neighbouring relation: data sets differ by one unit added or removed, or by one replaced."""

LeftOut = Literal["removed", "replaced"]
"""Substitute for a canary that is left out: nothing (removed) or another record (replaced)."""


@dataclass(frozen=True)
class ClaimUnit:
    """The unit of privacy of a claim, and its neighbouring relation."""

    records: int | None = 1
    """Records per unit, at least 1; None for a person with any number of records."""
    adjacency: Adjacency = "add-remove"
    """Neighbouring relation of the claim."""

    def __post_init__(self) -> None:
        if self.records is not None:
            checks.at_least(1, claim_of=self.records)
        if self.adjacency not in ("add-remove", "replace"):
            raise InputError(f"adjacency must be add-remove or replace, got {self.adjacency!r}")

    @property
    def text(self) -> str:
        """The unit, as reports print it.

        Examples
        --------
        >>> ClaimUnit(3, "replace").text, ClaimUnit(None).text
        ('3 records replaced', 'a person added or removed')
        """
        who = {None: "a person", 1: "one record"}.get(self.records, f"{self.records} records")
        return f"{who} {'replaced' if self.adjacency == 'replace' else 'added or removed'}"

    def steps(self, canaries: int, left_out: LeftOut) -> int:
        """Return the number of neighbouring steps between the data sets with and without a canary.

        Parameters
        ----------
        canaries : int
            Largest number of canaries that share a coin, at least 1.
        left_out : {"removed", "replaced"}
            Substitute for a canary that is left out: nothing, or another record.

        Raises
        ------
        InputError
            If the claim is about replaced records and canaries are removed: it says nothing about
            data sets of different sizes.

        Notes
        -----
        Replacing a record removes one and adds another, so a claim about adding or removing covers
        it in two steps (Dwork & Roth 2014, section 2.3). The converse does not hold: a mechanism
        that is private under replacement may reveal the number of records.

        Examples
        --------
        >>> ClaimUnit(2).steps(5, "removed"), ClaimUnit(None).steps(5, "replaced")
        (3, 2)
        """
        if left_out not in ("removed", "replaced"):
            raise InputError(f"left_out must be removed or replaced, got {left_out!r}")
        # Canaries under one coin fill this many units, rounded up.
        units = 1 if self.records is None else -(-canaries // self.records)
        if self.adjacency == "replace":
            if left_out == "removed":
                raise InputError(
                    "a claim about replaced records promises nothing of records that are added or "
                    "removed: put another record in the place of each canary that is left out, "
                    "and say so (--left-out replaced)"
                )
            return units
        # Replacing is a removal and an addition where only those are one step.
        return 2 * units if left_out == "replaced" else units


RECORD = ClaimUnit()
"""One record added or removed, the neighbouring relation of accountants for DP-SGD."""


def claim_unit(of: str | int, adjacency: Adjacency) -> ClaimUnit:
    """Return the unit named by ``record``, ``person`` or a number of records."""
    text = str(of)
    if text == "person":
        return ClaimUnit(None, adjacency)
    if text == "record":
        return ClaimUnit(1, adjacency)
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"claim_of must be record, person or a number of records, got {of!r}")
    return ClaimUnit(int(text), adjacency)
