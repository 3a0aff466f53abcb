"""Training stability: conditions that bound a record's DTP over all queries, or fail to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.errors import InputError

Of = Literal["joint", "posterior"]
"""Object of a bound: the joint p(x | y) p(y), or the answer p(y | x)."""


@dataclass(frozen=True)
class StabilityBound:
    """A delta for which an algorithm is delta-training stable, and the delta that was printed."""

    delta: float
    """Proven delta, at least 1; infinite if none is known."""
    of: Of
    """Quantity that changes by a factor of at most delta, or at most as much as at the record."""
    source: str
    """Number of the proposition in the paper."""
    printed: float | None
    """The delta that the proposition states; None where the paper states none."""
    holds_as_printed: bool
    """Whether the printed delta holds for the answers p(y | x); false if none is printed."""

    def __post_init__(self) -> None:
        if not self.delta >= 1.0:
            raise InputError(f"delta must be at least 1, got {self.delta}")
        if self.of not in ("joint", "posterior"):
            raise InputError(f"of must be 'joint' or 'posterior', got {self.of!r}")


def bound_over_queries(own_ratio: ArrayLike, bound: StabilityBound) -> Floats:
    """Return an upper bound on the log ratio over all queries, from the records' own ratios.

    Parameters
    ----------
    own_ratio : array_like of shape (r,)
        Value with the record over value without it, at its own attributes and class, at least 0:
        of the answers p(y | x) or of the joint p(x | y) p(y), according to ``bound.of``.
    bound : StabilityBound

    Returns
    -------
    ndarray of float, shape (r,)
        Upper bounds in nats: with ``gamma = max(delta, own ratio, 1 / own ratio)``, log gamma for a
        bound of the answers, and 2 log gamma for one of the joint. Infinite where the own ratio is
        0 or infinite: definition 6.1 then says nothing.

    Notes
    -----
    Long et al. (2017), theorem 6.2. If every joint lies within [1 / gamma, gamma] of what it was,
    so does their sum over classes, and the quotient of both lies within [1 / gamma^2, gamma^2].
    For naive Bayes `naive_bayes_bound` is sharper.

    Examples
    --------
    >>> bound_over_queries([1.2, 2.0], bayes_inference_delta()).round(3).tolist()
    [0.405, 0.693]
    """
    ratio = np.asarray(own_ratio, np.float64)
    if not (ratio >= 0).all():
        raise InputError(f"own_ratio must be at least 0, got {ratio[~(ratio >= 0)][0]}")
    with np.errstate(divide="ignore"):
        log_gamma = np.maximum(np.abs(np.log(ratio)), np.log(bound.delta))
    return np.asarray(log_gamma * (2.0 if bound.of == "joint" else 1.0), np.float64)


def bayes_inference_delta() -> StabilityBound:
    """Return the bound of Bayes inference without smoothing: 3/2, where 4/3 is printed.

    Notes
    -----
    Long et al. (2017), proposition 6.3. Only the query x_t changes. Another label's answer there
    grows by n_x / (n_x - 1), and n_x is at least 3: two records of the label y_t, since definition
    6.1 does not cover a single one, and one of the other. At n_x = 3 that is 3/2, and the record's
    own ratio 4/3.
    """
    return StabilityBound(
        1.5, "posterior", "Long et al. (2017), proposition 6.3", 4 / 3, holds_as_printed=False
    )


def naive_bayes_delta(n: int, n_min: int, n_attributes: int) -> StabilityBound:
    """Return the bound of naive Bayes without smoothing, which bounds the joint.

    Parameters
    ----------
    n : int
        Number of records in the training set, at least 2.
    n_min : int
        Number of records in its smallest class, at least 1.
    n_attributes : int
        Number of attributes, at least 1.

    Returns
    -------
    StabilityBound
        ``delta = (n_min / (n_min - 1))^(m - 1) n / (n - 1)``, as printed; infinite where n_min is
        1 and there are several attributes.

    Notes
    -----
    Long et al. (2017), proposition 6.4. The proof is about p(x | y) p(y), for which it is correct;
    it does not bound the answers p(y | x), which definition 6.1 asks for.
    """
    _check_counts(n, n_min)
    checks.at_least(1, n_attributes=n_attributes)
    # Without its last record a class has no shares at all.
    growth = n_min / (n_min - 1) if n_min > 1 else np.inf
    delta = _power(growth, n_attributes - 1) * n / (n - 1)
    source = "Long et al. (2017), proposition 6.4"
    return StabilityBound(delta, "joint", source, delta, holds_as_printed=False)


def laplace_delta(n: int, n_min: int, sizes: ArrayLike, *, alpha: float = 1.0) -> StabilityBound:
    """Return the bound of naive Bayes with Laplace smoothing, which bounds the joint.

    Parameters
    ----------
    n, n_min : int
        As in `naive_bayes_delta`.
    sizes : array_like of shape (m,)
        Number of values of each attribute, at least 1.
    alpha : float
        Smoothing added to every count of a value, above 0.

    Returns
    -------
    StabilityBound
        ``delta = n / (n - 1)`` times the product of
        ``(n_min + alpha v_j) / (n_min - 1 + alpha v_j)`` over all attributes but the one where
        it is largest. Printed, for alpha = 1 and v the most values:
        ``((n_min + v) / n_min)^(m - 1) n / (n - 1)``.

    Notes
    -----
    Long et al. (2017), proposition 6.5. The printed delta is larger and holds for the joint, but
    not for the answers p(y | x).
    """
    _check_counts(n, n_min)
    values = _sizes(sizes)
    if not (np.isfinite(alpha) and alpha > 0):
        raise InputError(
            f"alpha must be above 0, got {alpha}; naive_bayes_delta is the bound without smoothing"
        )
    # Growth is largest for attributes with few values; the largest factor is left out.
    growth = np.sort((n_min + alpha * values) / (n_min - 1 + alpha * values))
    delta = float(np.exp(np.log(growth[:-1]).sum())) * n / (n - 1)
    ratio = (n_min + values.max()) / n_min
    # The paper states its bound for counts smoothed by 1.
    printed = _power(ratio, len(values) - 1) * n / (n - 1) if alpha == 1 else None
    source = "Long et al. (2017), proposition 6.5"
    return StabilityBound(delta, "joint", source, printed, holds_as_printed=False)


def lsq_delta(n_features: int) -> StabilityBound:
    """Return the bound of linear statistical queries classifiers: 2 to the number of features.

    Parameters
    ----------
    n_features : int
        |X|, the number of features active in a query, at least 1. Naive Bayes and other Bayes
        networks on m attributes have m + 1, the class included.

    Returns
    -------
    StabilityBound
        ``delta = 2^|X|``, where ``(4/3)^|X|`` is printed.

    Notes
    -----
    Long et al. (2017), proposition 6.7, for coefficients that are logs of shares ``n_(feature, y) /
    n`` or ``n_(feature, y) / n_(condition, y)``, the same kind in every class, and p(y | x) with or
    without normalisation. A record that is left out changes each share of its own class by a factor
    between 1/2 and 2, and those of the others by one common factor. This does not hold for features
    that a record may have several times, such as the steps of a homogeneous Markov chain.
    """
    checks.at_least(1, n_features=n_features)
    source = "Long et al. (2017), proposition 6.7"
    # The paper takes a share to change by 4/3 at most; with two records of a kind it changes by 2.
    printed = _power(4 / 3, n_features)
    return StabilityBound(
        delta=_power(2.0, n_features),
        of="posterior",
        source=source,
        printed=printed,
        holds_as_printed=False,
    )


def random_trees_delta(
    answers: Literal["geometric-mean", "normalised"] = "geometric-mean",
) -> StabilityBound:
    """Return the bound of random decision trees without smoothing.

    Parameters
    ----------
    answers : {"geometric-mean", "normalised"}
        Whether the forest answers the geometric mean of its trees, as in the paper, or that divided
        by its sum over the labels.

    Returns
    -------
    StabilityBound
        3/2 for the geometric mean, where 4/3 is printed; 2 for the normalised one, which the paper
        does not cover.

    Notes
    -----
    Long et al. (2017), proposition 6.8: a data-independent structure. As in definition 6.1 the
    record must not be the last of its label in any of its leaves; a forest that lets an emptied
    leaf answer 1/k hides that, and nothing bounds its DTP by a delta. The mean of logs is largest
    where each of them is, and each tree is Bayes inference. Normalised, only the ratio of the
    record's label to the others counts, which is the geometric mean of ``a_j / (a_j - 1)`` over the
    trees whose leaf the query shares, with a_j records of the record's label in it, at least 2.
    """
    source = "Long et al. (2017), proposition 6.8"
    if answers == "geometric-mean":
        return StabilityBound(1.5, "posterior", source, 4 / 3, holds_as_printed=False)
    if answers == "normalised":
        return StabilityBound(2.0, "posterior", source, None, holds_as_printed=False)
    raise InputError(f"answers must be 'geometric-mean' or 'normalised', got {answers!r}")


def naive_bayes_bound(
    n: ArrayLike, shared: ArrayLike, sizes: ArrayLike, *, alpha: float = 1.0
) -> Floats:
    """Return an upper bound on each record's DTP, for naive Bayes on categories.

    Parameters
    ----------
    n : array_like of shape (r,)
        Number of records in each record's class, itself included, at least 1.
    shared : array_like of shape (r, m)
        Records of the class with the record's value of each attribute, itself included, in 1..n.
    sizes : array_like of shape (m,)
        Number of values of each attribute, at least 1.
    alpha : float
        Smoothing added to every count of a value, at least 0.

    Returns
    -------
    ndarray of float, shape (r,)
        Upper bound on the DTP in nats, at least 0. Infinite if the record is the last of its class,
        or without smoothing the last of its class with one of its values.

    Notes
    -----
    Leaving the record out multiplies the joint of its class by rho(S), relative to the others,
    where S is the set of attributes in which the query agrees with it::

        log rho(S) = log((n - 1) / n) + sum over all j of log((n + v_j alpha) / (n - 1 + v_j alpha))
                     + sum over j in S of log((shared_j - 1 + alpha) / (shared_j + alpha))

    With p = p(y_t | x), the answer for y_t changes by rho / (1 + p (rho - 1)) and that for every
    other label by 1 / (1 + p (rho - 1)): no further than rho, so the log ratio is at most
    |log rho(S)|. Every term of the last sum is at most 0, so log rho is largest where the query
    agrees in nothing and smallest at the record itself. An attribute with a single value always
    agrees. Without smoothing, a query must also agree in an attribute with one value throughout
    the class: with any other value, the class is impossible before and after.

    With smoothing, and another class that has records, the DTP is at least half the bound: the
    two log ratios at one query differ by log rho, so one of them is at least half of it.

    This takes the place of Long et al. (2017), propositions 6.4 and 6.5, which bound the joint.

    Examples
    --------
    A record in a class of five: four of these have its first value, and two its second.

    >>> naive_bayes_bound([5], [[4, 2]], [2, 2], alpha=0).round(3).tolist()
    [0.758]
    """
    values = _sizes(sizes)
    own = np.asarray(n, np.float64)
    counts = np.asarray(shared, np.float64)
    if not (np.isfinite(alpha) and alpha >= 0):
        raise InputError(f"alpha must be at least 0, got {alpha}")
    if own.ndim != 1 or counts.shape != (len(own), len(values)):
        raise InputError(
            f"shared must have the shape (r, m) for n (r,) and sizes (m,), got {counts.shape} "
            f"for {own.shape} and {values.shape}"
        )
    if not (own >= 1).all():
        raise InputError(f"n must be at least 1, got {own[~(own >= 1)][0]}; a record counts itself")
    bad = ~((counts >= 1) & (counts <= own[:, None]))
    if bad.any():
        raise InputError(
            f"shared must lie between 1 and n, got {counts[bad][0]}; a record counts itself"
        )
    added = values * alpha
    # Attributes in which a query can differ from the record.
    differs = (values > 1) & ((alpha > 0) | (counts < own[:, None]))
    with np.errstate(divide="ignore", invalid="ignore"):
        # The terms of log rho(S), in the order of the notes.
        base = np.log(own - 1) - np.log(own)
        spread = np.log(own[:, None] + added) - np.log(own[:, None] - 1 + added)
        step = np.log(counts - 1 + alpha) - np.log(counts + alpha)
        # The extremes of log rho(S): a query that agrees only where it must, and the record.
        nowhere = base + spread.sum(axis=1) + np.where(differs, 0.0, step).sum(axis=1)
        everywhere = base + (spread + step).sum(axis=1)
    largest = np.maximum(np.abs(nowhere), np.abs(everywhere))
    # Without its last record a class is impossible, whatever the query.
    return np.where(own == 1, np.inf, largest)


def _sizes(sizes: ArrayLike) -> Floats:
    values = np.asarray(sizes, np.float64)
    if values.ndim != 1 or not len(values) or not (values >= 1).all():
        raise InputError(f"sizes must be numbers of values of at least 1, got {values.tolist()}")
    return values


def _check_counts(n: int, n_min: int) -> None:
    checks.at_least(2, n=n)
    checks.at_least(1, n_min=n_min)
    if n_min > n:
        raise InputError(f"n_min must be at most n, got {n_min} of {n}")


def _power(base: float, exponent: int) -> float:
    """Return the power; infinite on overflow."""
    with np.errstate(over="ignore"):
        return float(np.float64(base) ** exponent)
