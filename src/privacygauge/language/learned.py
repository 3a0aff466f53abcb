"""The learned attack on texts: a classifier on token log-probabilities, judged on other people."""

from __future__ import annotations

import numpy as np

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.language.comparisons import differences
from privacygauge.language.controls import FEWEST_GROUPS, N_FOLDS, folds_of, ranks
from privacygauge.language.energies import Energies

LEARNED = "learned"
"""A logistic regression on `token_features`."""

QUANTILES = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
"""Of each text's token log-probabilities, and of their differences to the reference."""


def token_features(target: Energies, reference: Energies | None = None) -> Floats:
    """Return what the shape of a text's token log-probabilities is, (n, d).

    Parameters
    ----------
    target, reference : Energies
        Of the same texts and units, the reference where there is one.

    Returns
    -------
    ndarray of float, shape (n, d)
        The logarithm of the number of units; mean, standard deviation and `QUANTILES` of the
        log-probabilities of the units, and where there is a reference those of the differences.
    """
    text, _, value = target.of_unit()
    rows = [(text, value)]
    if reference is not None:
        compared = differences(target, reference)
        rows.append((compared.text, compared.value))
    length = np.log(np.bincount(text, minlength=len(target)))
    return np.column_stack([length, *(_shape(*row, len(target)) for row in rows)])


def learned_signal(
    features: Floats,
    first: Floats,
    member: Bools,
    population: Bools,
    unit: Ints,
    rng: np.random.Generator,
) -> Floats | Skipped:
    """Return how much each text looks like a member's, by what was learnt from other people.

    Parameters
    ----------
    features : ndarray of float, shape (n, d)
        Of `token_features`.
    first : ndarray of float, shape (n,)
        A signal that needs no learning, such as the likelihood ratio: it ranks the people whom
        the first model learns from.
    member, population : ndarray of bool, shape (n,)
        Who is a member, and which texts are not judged.
    unit : ndarray of int, shape (n,)
        The person of each text: all texts of a person are judged by one model.
    rng : numpy.random.Generator
        Deals the people into folds.

    Returns
    -------
    ndarray of float, shape (n,), or Skipped
        Standard deviations above the mean of the population by the same model; without a
        population, the share of the texts in the same fold that look less like a member's.
        Skipped with fewer than 20 people on a side.

    Notes
    -----
    Ours. Logistic regression, both sides weighted alike. Every fold of the people is scored by a
    model of the folds BEFORE it, the first by `first`, and the population by a model of all: given
    earlier folds a fold's scores are those of a fixed function, so that without a leak members
    and non-members are exchangeable and intervals hold. Common cross-validation does not have that
    (`blind_scores`).
    """
    judged = ~population
    fewest = min(len(np.unique(unit[side])) for side in (member, judged & ~member))
    if fewest < FEWEST_GROUPS:
        reason = f"needs {FEWEST_GROUPS} people among members and non-members, got {fewest}"
        return Skipped(LEARNED, reason)
    fold = np.full(len(member), N_FOLDS)
    fold[judged] = folds_of(unit[judged], member[judged], N_FOLDS, rng)
    result = np.empty(len(member))
    for part in range(N_FOLDS + population.any()):
        before, held = fold < part, fold == part
        score = _scored(features, member, before) if part else first
        result[held] = (
            _standardised(score, population)[held] if population.any() else ranks(score[held])
        )
    return result


def _scored(features: Floats, member: Bools, known: Bools) -> Floats:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(
        StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=1000)
    )
    model.fit(features[known], member[known])
    return np.asarray(model.decision_function(features), np.float64)


def _standardised(score: Floats, population: Bools) -> Floats:
    known = score[population]
    spread = float(known.std())
    above: Floats = (score - known.mean()) / (spread if spread > 0 else 1.0)
    return above


def _shape(text: Ints, value: Floats, n: int) -> Floats:
    """Return mean, standard deviation and quantiles of each text's values, (n, 2 + q)."""
    size = np.bincount(text, minlength=n)
    mean = np.bincount(text, value, n) / size
    variance = np.bincount(text, (value - mean[text]) ** 2, n) / size
    ordered = value[np.lexsort((value, text))]
    place = np.multiply.outer(size - 1, QUANTILES)
    below = np.floor(place).astype(np.int64)
    start = (np.cumsum(size) - size)[:, None]
    low = ordered[start + below]
    high = ordered[start + np.minimum(below + 1, size[:, None] - 1)]
    return np.column_stack([mean, np.sqrt(variance), low + (place - below) * (high - low)])
