"""All membership signals from the token log-probabilities of causal models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.fairness import folds_of
from privacygauge.language.causal import (
    MIN_K,
    MIN_K_PLUS,
    ZLIB,
    loss_signal,
    min_k_plus_signal,
    min_k_signal,
    ratio_signal,
    zlib_signal,
)
from privacygauge.language.comparisons import (
    BY_LENGTH,
    EZ,
    FEWEST_TEXTS,
    WINDOWS,
    differences,
    ez_signal,
    length_calibrated,
    windows_signal,
)
from privacygauge.language.controls import FEWEST_GROUPS, N_FOLDS, ranks
from privacygauge.language.energies import Energies

LEARNED = "learned"
"""Logistic regression on `token_features`."""

QUANTILES = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
"""Quantiles of each text's token log-probabilities, and of their differences to the reference."""


def token_features(target: Energies, reference: Energies | None = None) -> Floats:
    """Return features of the distribution of a text's token log-probabilities, (n, d).

    Parameters
    ----------
    target, reference : Energies
        Energies of the same texts and units, the reference where there is one.

    Returns
    -------
    ndarray of float, shape (n, d)
        Mean, standard deviation and `QUANTILES` of the log-probabilities of the units, and with a
        reference those of the differences. The number of units is known without the model, and is
        therefore not a feature.
    """
    text, _, value = target.of_unit()
    rows = [(text, value)]
    if reference is not None:
        compared = differences(target, reference)
        rows.append((compared.text, compared.value))
    return np.column_stack([_shape(*row, len(target)) for row in rows])


def learned_signal(
    features: Floats,
    first: Floats,
    member: Bools,
    population: Bools,
    unit: Ints,
    rng: np.random.Generator,
) -> Floats | Skipped:
    """Score how much each text looks like a member's, with models trained on other people.

    Parameters
    ----------
    features : ndarray of float, shape (n, d)
        Features from `token_features`.
    first : ndarray of float, shape (n,)
        A signal that needs no learning, such as the likelihood ratio: it ranks the people whom
        the first model learns from.
    member, population : ndarray of bool, shape (n,)
        True for members, and for texts that are not judged.
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
    Ours. Logistic regression, both sides weighted alike. Every fold of people is scored by a model
    of the folds BEFORE it, the first by `first`, and the population by a model of all folds: given
    earlier folds, a fold's scores are those of a fixed function, so that without a leak members and
    non-members are exchangeable and intervals hold. Common cross-validation lacks this property
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
        before = fold < part
        held = fold == part
        score = _logistic_scores(features, member, before) if part else first
        # Scores of different models have different scales.
        if population.any():
            known = score[population]
            spread = float(known.std())
            result[held] = (score[held] - known.mean()) / (spread if spread > 0 else 1.0)
        else:
            result[held] = ranks(score[held])
    return result


def _logistic_scores(features: Floats, member: Bools, known: Bools) -> Floats:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(
        StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=1000)
    )
    model.fit(features[known], member[known])
    return np.asarray(model.decision_function(features), np.float64)


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


DC_PDD = "dc-pdd"
"""Probabilities against token frequencies (Zhang et al. 2024)."""

BOUND = 0.01
"""Bound on the contribution of one token: the published value for English texts."""


def token_frequencies(
    energies: Energies, corpus: Energies, vocabulary: int, *, own: bool = False
) -> Floats:
    """Return the frequency of each scored token in a corpus, (m,), in (0, 1).

    Parameters
    ----------
    energies : Energies
        Energies with the tokens to count.
    corpus : Energies
        Energies of texts that are not judged, by the same tokenizer: its scored tokens are counted.
    vocabulary : int
        V, the number of tokens that there are.
    own : bool
        True where `energies` are those of the corpus: each text is then left out of its own
        frequencies, as the judged ones are.

    Notes
    -----
    ``(count + 1) / (all + V)``, Laplace's rule, so that no token has frequency 0.
    """
    token = _tokens(energies)
    known = _tokens(corpus)
    count = np.bincount(known, minlength=vocabulary)[token]
    total = np.full(len(token), len(known))
    if own:
        keys = energies.text * vocabulary + token
        _, place, times = np.unique(keys, return_inverse=True, return_counts=True)
        count = count - times[place.reshape(-1)]
        total = total - np.bincount(energies.text, minlength=len(energies))[energies.text]
    frequency: Floats = (count + 1) / (total + vocabulary)
    return frequency


def dc_pdd_signal(energies: Energies, frequency: Floats, bound: float = BOUND) -> Floats:
    """Return the mean over tokens of probability times rarity, (n,).

    Parameters
    ----------
    energies : Energies
    frequency : ndarray of float, shape (m,)
        Frequency of every scored token, from `token_frequencies`.
    bound : float
        a, the most that a token counts, above 0.

    Returns
    -------
    ndarray of float, shape (n,)
        In (0, `bound`].

    Notes
    -----
    Zhang et al. (2024), DC-PDD: with p_i the probability of token i under the target and q_i its
    frequency in a corpus, the mean of ``min(-p_i log q_i, a)`` over the first occurrence of every
    token in the text. Common words, which any model expects, count little.
    """
    if not bound > 0:
        raise InputError(f"bound must be above 0, got {bound}")
    token = _tokens(energies)
    keys = energies.text * (int(token.max()) + 1) + token
    first = np.unique(keys, return_index=True)[1]
    divergence = -np.exp(energies.log_probability[first]) * np.log(frequency[first])
    text = energies.text[first]
    total = np.bincount(text, np.minimum(divergence, bound), len(energies))
    signal: Floats = total / np.bincount(text, minlength=len(energies))
    return signal


def _tokens(energies: Energies) -> Ints:
    if energies.token is None:
        raise InputError(
            "dc-pdd needs to know which tokens were scored: take energies from "
            "token_log_probabilities"
        )
    return energies.token


@dataclass(frozen=True, eq=False)
class SideTokens:
    """Token log-probabilities of one side's texts under the models."""

    texts: Sequence[str]
    """(n,) The texts."""
    target: Energies
    """Energies under the audited model, which is causal."""
    reference: Energies | None = None
    """Energies under a model that has not seen the members."""

    @property
    def first(self) -> Floats:
        """(n,) Likelihood ratio, or without a reference the loss; higher for members."""
        if self.reference is None:
            return loss_signal(self.target)
        return ratio_signal(self.target, self.reference)


def signals_alone(side: SideTokens) -> dict[str, Floats]:
    """Return the signals of texts that need no other text, (n,) each: higher for members.

    Returns
    -------
    dict of str to ndarray
        ``zlib``, ``min-k`` and ``min-k++``; with a reference ``ez-mia`` and ``wbc``. A model behind
        a server lacks ``min-k++`` and ``ez-mia``, since it does not return other tokens'
        probabilities.
    """
    found = {ZLIB: zlib_signal(side.target, side.texts), MIN_K: min_k_signal(side.target)}
    if side.target.further:
        found[MIN_K_PLUS] = min_k_plus_signal(side.target)
    if side.reference is not None:
        compared = differences(side.target, side.reference)
        found[WINDOWS] = windows_signal(compared)
        if compared.wrong is not None:
            found[EZ] = ez_signal(compared)
    return found


def token_signals(
    sides: Sequence[SideTokens], unit: Ints, vocabulary: int, rng: np.random.Generator
) -> tuple[dict[str, Floats], tuple[Skipped, ...]]:
    """Return all signals that can be computed, and the reasons for those that cannot.

    Parameters
    ----------
    sides : sequence of SideTokens
        Members, non-members and, where there is one, the population.
    unit : ndarray of int, shape (n,)
        The person of each text, side by side in this order.
    vocabulary : int
        The number of tokens that the target's tokenizer has; 0 where nobody knows.
    rng : numpy.random.Generator
        Deals people into folds.

    Returns
    -------
    signals : dict of str to ndarray
        (n,) each, higher for members, side by side: those of `signals_alone`, with a population
        ``dc-pdd`` and ``length-calibrated``, and ``learned``.
    skipped : tuple of Skipped
    """
    alone = [signals_alone(side) for side in sides]
    found = {name: np.concatenate([one[name] for one in alone]) for name in alone[0]}
    first = np.concatenate([side.first for side in sides])
    which = np.repeat(np.arange(len(sides)), [len(side.texts) for side in sides])
    population = which == 2
    if np.count_nonzero(population) >= FEWEST_TEXTS:
        length = np.concatenate([side.target.lengths for side in sides])
        found[BY_LENGTH] = length_calibrated(first, length, population)
        if vocabulary:
            corpus = sides[2].target
            calibrated = []
            for side in sides:
                frequency = token_frequencies(side.target, corpus, vocabulary, own=side is sides[2])
                calibrated.append(dc_pdd_signal(side.target, frequency))
            found[DC_PDD] = np.concatenate(calibrated)
    features = np.concatenate([token_features(side.target, side.reference) for side in sides])
    learned = learned_signal(
        features, first, member=which == 0, population=population, unit=unit, rng=rng
    )
    if isinstance(learned, Skipped):
        return found, (learned,)
    return {**found, LEARNED: learned}, ()
