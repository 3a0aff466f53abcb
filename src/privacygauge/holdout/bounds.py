"""Upper bounds on every analyst's gain, and the gains of attacks and of honest selection.

Every guarantee counts transcripts. For one fixed transcript, the accuracy of the final answer is
that of a fixed labelling; summed over all transcripts that the guard can produce, the probability
of an accuracy of 1/m + epsilon is at most (number of transcripts) times a binomial tail. So all
follow from one function, `transcript_nats`, and one inversion. They assume labels that are uniform
and unknown to the analyst, not an analyst with a good model; if the labels are known,
`bias_for_labels` takes their frequencies in place of 1/m.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import rel_entr

from privacygauge.core import checks
from privacygauge.errors import InputError
from privacygauge.holdout.closed_form import some
from privacygauge.holdout.guards import Exact
from privacygauge.holdout.mechanism import Guard
from privacygauge.holdout.oracle import fewest, most_submissions

# Largest number of points that is searched.
_MOST = 10**12


def transcript_nats(guard: Guard, k: int, n: int, m: int, *, accounts: int | None = None) -> float:
    """Return the logarithm of the number of transcripts of k answers about n points.

    Parameters
    ----------
    guard : Guard
        Exact answers have (n + 1)^k transcripts, D printed values D^k, a Ladder as many as
        there are rising sequences.
    k, n, m : int
        Submissions, points and classes; at least 0, 1 and 2.
    accounts : int, optional
        Where each has a guard's state of its own: how many accounts submit. By default all
        submissions go to one state.
    """
    if k < 0 or n < 1:
        raise InputError(f"k must be at least 0 and n at least 1, got {k} and {n}")
    return guard.nats(k, n, m, accounts) if k else 0.0


def chernoff_bias(nats: float, n: int, m: int, *, delta: float = 0.05) -> float:
    """Return epsilon of Theorem 3.1 for a transcript of `nats`; it may exceed 1 - 1/m.

    epsilon = 2 max(sqrt(b/(n m)), b/n) with b = nats + ln(1/delta): the accuracy is at least
    1/m + epsilon with probability at most `delta`.

    Sources
    -------
    Feldman, Frostig and Hardt (2019), Theorem 3.1 and Remark 3.2.
    """
    b = _exponent(nats, n, m, delta)
    return 2 * max(math.sqrt(b / (n * m)), b / n)


def theorem_3_1(n: int, m: int, k: int, *, delta: float = 0.05) -> float:
    """Return the bias above 1/m that k exact answers allow with probability at most `delta`."""
    return chernoff_bias(transcript_nats(Exact(), k, n, m), n, m, delta=delta)


def expected_bias(n: int, m: int, k: int) -> float:
    """Return a bound on the expected bias above 1/m after k exact answers.

    Sources
    -------
    Feldman, Frostig and Hardt (2019), after Remark 3.2: delta = 1/n, and an accuracy is at most
    1. It may exceed 1 - 1/m.
    """
    b = (k + 1) * math.log(n + 1)
    return 1 / n + 2 * max(math.sqrt(b / (n * m)), b / n)


def bits_bias(bits: float, n: int, m: int, *, delta: float = 0.05) -> float:
    """Return the bias above 1/m for an oracle that reveals at most `bits` bits in all.

    As Remark 3.2, with 2^bits transcripts counted as such: b = bits ln 2 + ln(1/delta), where
    the paper has the looser b = bits + ln(1/delta).
    """
    return kl_bias(bits * math.log(2), n, m, delta=delta)


def kl_bias(nats: float, n: int, m: int, *, delta: float = 0.05) -> float:
    """Return the bias above 1/m that a transcript of `nats` allows, from the exact exponent.

    The proof of Theorem 3.1 with the Chernoff-Hoeffding tail exp(-n KL(1/m + epsilon || 1/m)) in
    place of its simplification: epsilon solves n KL = nats + ln(1/delta). Never above the
    theorem's, and never above 1 - 1/m.

    Parameters
    ----------
    nats : float
        From `transcript_nats`; at least 0.
    n, m : int
        Points, and classes (at least 2).
    delta : float, default 0.05
        How often the bias may be larger, in (0, 1).
    """
    b = _exponent(nats, n, m, delta) / n
    p = 1 / m
    if b >= math.log(m):
        return 1 - p
    return float(brentq(lambda e: _divergence(p + e, p) - b, 0.0, 1 - p, xtol=1e-15)) if b else 0.0


def guarantee(
    guard: Guard, n: int, m: int, k: int, *, delta: float = 0.05, accounts: int | None = None
) -> float:
    """Return the bias above 1/m that `guard` allows after k submissions, by `kl_bias`."""
    return kl_bias(transcript_nats(guard, k, n, m, accounts=accounts), n, m, delta=delta)


def bias_for_labels(
    guard: Guard, n: int, m: int, k: int, largest: float, *, delta: float = 0.05
) -> float:
    """Return the bias above 1/m that `guard` allows where classes are unequally frequent.

    Parameters
    ----------
    largest : float
        The share of the most frequent class, at least 1/m.

    Returns
    -------
    float
        At least ``largest - 1/m``, the gain from knowing the frequencies without a submission;
        never above ``1 - 1/m``.

    Notes
    -----
    As `kl_bias`: a fixed labelling is right about any example with probability at most `largest`,
    if each label is drawn by the frequencies, so that the tail is that of Bin(n, largest).
    """
    above = frequency_bias(transcript_nats(guard, k, n, m), n, largest, delta=delta)
    return largest + above - 1 / m


def frequency_bias(nats: float, n: int, largest: float, *, delta: float = 0.05) -> float:
    """Return the bias above the share `largest` that a transcript of `nats` allows.

    That of who knows how frequent each class is, `largest` the share of the most frequent one; see
    `bias_for_labels`. At most ``1 - largest``.
    """
    b = _exponent(nats, n, 2, delta) / n
    if b >= -math.log(largest):
        return 1 - largest
    return float(
        brentq(lambda e: _divergence(largest + e, largest) - b, 0.0, 1 - largest, xtol=1e-15)
    )


def guaranteed_submissions(
    bias: float,
    n: int,
    m: int,
    *,
    guard: Guard | None = None,
    probability: float = 0.95,
    accounts: int | None = None,
) -> int:
    """Return how many submissions keep any attack within `bias` of 1/m.

    Parameters
    ----------
    bias : float
        Such as 0.005, half a point; in (0, 1 - 1/m).
    n, m : int
        Points and classes.
    guard : Guard, optional
        Exact answers by default.
    probability : float, default 0.95
        With which it holds, over uniform labels.
    accounts : int, optional
        As in `transcript_nats`.

    Returns
    -------
    int
        0 where not even one is allowed.
    """
    delta = 1 - checks.level(probability, "probability")
    affordable = n * _divergence(1 / m + _bias(bias, m), 1 / m) + math.log(delta)
    if affordable < 0:
        return 0
    asked = guard or Exact()
    return most_submissions(
        lambda k: transcript_nats(asked, k, n, m, accounts=accounts), affordable
    )


def guaranteed_points(
    bias: float,
    m: int,
    k: int,
    *,
    guard: Guard | None = None,
    probability: float = 0.95,
    accounts: int | None = None,
) -> int:
    """Return the fewest points for which k submissions keep any attack within `bias` of 1/m."""
    asked = guard or Exact()
    delta = 1 - checks.level(probability, "probability")
    _bias(bias, m)

    def enough(n: int) -> bool:
        if n > _MOST:
            raise InputError("no test set of up to 10^12 points is enough: allow a larger bias")
        return guarantee(asked, n, m, k, delta=delta, accounts=accounts) <= bias

    return fewest(enough)


def reconstruction_queries(n: int, m: int) -> int:
    """Return how many random queries determine all n labels with probability at least 1/2.

    k = max(5 n ln m / ln(n/(4m)), 20 m ln(n m)), from accuracies known up to a shift. What
    suffices in theory: the labels are determined, not found.

    Sources
    -------
    Feldman, Frostig and Hardt (2019), Theorem 4.5, for m >= 3 and n > 4m.
    """
    if m < 3 or n <= 4 * m:
        raise InputError(f"Theorem 4.5 needs m of at least 3 and n above 4m, got m {m}, n {n}")
    return math.ceil(max(5 * n * math.log(m) / math.log(n / (4 * m)), 20 * m * math.log(n * m)))


def reconstruction_size(n: int, m: int, k: int) -> int:
    """Return how many of n labels k random queries determine with probability at least 1/2.

    The largest t <= n for which `reconstruction_queries` asks for k or fewer: the example budget
    of Algorithm 2. To find the labels takes a search that grows without bound in t.

    Sources
    -------
    Feldman, Frostig and Hardt (2019), Theorem 4.5, for m >= 3. Below t = 4em its bound falls in
    t; such t are not looked at.

    Raises
    ------
    InputError
        If m, n or k are too few for the theorem.
    """
    few = math.ceil(4 * math.e * m)
    if m < 3 or n < few or reconstruction_queries(few, m) > k:
        raise InputError(
            f"Theorem 4.5 needs m of at least 3, n of at least {few} and enough queries for as "
            f"many points, got m {m}, n {n}, k {k}"
        )
    # From 4em on more points never need fewer queries.
    low = few
    high = n
    while low < high:
        middle = (low + high + 1) // 2
        if reconstruction_queries(middle, m) <= k:
            low = middle
        else:
            high = middle - 1
    return low


def pointwise_rate(n: int, m: int, k: int) -> float:
    """Return sqrt(k/n)/m: the rate of Theorem 4.4. No constant is known: not a bias."""
    return math.sqrt(k / n) / m


def reconstruction_rate(n: int, m: int, k: int) -> float:
    """Return k ln(k/m)/(n ln m): the rate of Corollary 4.6. No constant is known: not a bias."""
    return k * math.log(max(k / m, 1.0)) / (n * math.log(m))


def _divergence(q: float, p: float) -> float:
    return float(rel_entr(q, p) + rel_entr(1 - q, 1 - p))


def _exponent(nats: float, n: int, m: int, delta: float) -> float:
    if nats < 0 or m < 2:
        raise InputError(f"nats must be at least 0 and m at least 2, got {nats} and {m}")
    some(n, "n")
    return nats + math.log(1 / checks.level(delta, "delta"))


def _bias(bias: float, m: int) -> float:
    if not 0 < bias < 1 - 1 / m:
        raise InputError(f"bias must be in (0, {1 - 1 / m:.4g}), got {bias}")
    return bias
