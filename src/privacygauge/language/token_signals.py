"""Membership signals from the token log-probabilities of causal models."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.fairness import folds_of
from privacygauge.language.attacks import statistic
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

# Membership signals from a causal model's token log-probabilities.
#
# Every signal is (n,), one value per text; higher means more likely a member. All of them come from
# one pass over the texts; see `token_log_probabilities`.

ZLIB = "zlib"
"""Loss over the text's compressed length (Carlini et al. 2021)."""
MIN_K = "min-k"
"""Mean over the least likely tokens (Shi et al. 2024)."""
MIN_K_PLUS = "min-k++"
"""Min-K% with each token's log-probability standardised over the vocabulary (Zhang et al. 2025)."""

SHARE = 0.2
"""k, the share of tokens in Min-K%, in (0, 1]: the value that its authors recommend."""


def loss_signal(energies: Energies) -> Floats:
    """Return the mean log-probability of each text's tokens, (n,), in nats, at most 0.

    Notes
    -----
    Yeom et al. (2018), section 3: the loss of a member is lower. The signal is minus the loss.
    """
    return -energies.mean()


def ratio_signal(target: Energies, reference: Energies) -> Floats:
    """Return the log-likelihood ratio of target to reference for each text, (n,), in nats.

    Parameters
    ----------
    target, reference : Energies
        Energies of the same texts and units, as from `pair_log_probabilities`.

    Notes
    -----
    Carlini et al. (2021), section 5.2, compare with a second model; the difference of mean
    log-probabilities is minus the likelihood-ratio statistic of Mireshghallah et al. (2022),
    section 2.3.
    """
    if len(target) != len(reference):
        raise InputError(
            f"target and reference must have the same texts, got {len(target)} and {len(reference)}"
        )
    return -statistic(target.mean(), reference.mean())


def zlib_signal(energies: Energies, texts: Sequence[str]) -> Floats:
    """Return minus the loss in nats per token over the bytes of the compressed text, (n,).

    Parameters
    ----------
    texts : sequence of str, length n
        The same texts. If a model read only the beginning of a text, the whole text is compressed
        nevertheless.

    Notes
    -----
    Carlini et al. (2021), section 5.2: the logarithm of the perplexity over the zlib entropy.
    Repetitive texts are likely under every model, and compress well.
    """
    if len(texts) != len(energies):
        raise InputError(f"texts must be the {len(energies)} of the energies, got {len(texts)}")
    n_bytes = np.array([len(zlib.compress(text.encode())) for text in texts])
    ratio: Floats = energies.mean() / n_bytes
    return -ratio


def min_k_signal(energies: Energies, share: float = SHARE) -> Floats:
    """Return the mean log-probability of each text's least likely tokens, (n,), in nats.

    Parameters
    ----------
    share : float
        k, the share of tokens that count, in (0, 1]; rounded down, but at least one token.

    Notes
    -----
    Shi et al. (2024), Min-K% Prob: an unseen text has a few surprising tokens.
    """
    return _mean_of_lowest(energies, energies.log_probability, share)


def min_k_plus_signal(energies: Energies, share: float = SHARE) -> Floats:
    """Return the mean standardised log-probability of each text's lowest tokens, (n,).

    Parameters
    ----------
    energies : Energies
        Energies under a causal model, with `mean` and `sd` of the log-probability over the
        vocabulary.

    Raises
    ------
    InputError
        If the energies come from a masked model.

    Notes
    -----
    Zhang et al. (2025), Min-K%++: ``(log p - mean) / sd`` of every token, with mean and standard
    deviation over the model's own next-token distribution. If the model is certain of the token (sd
    0), there is nothing to standardise by, and the token counts as 0, the mean.
    """
    if not {"mean", "sd"} <= set(energies.further):
        raise InputError(
            "min-k++ needs the mean and the sd over the vocabulary, which masked models do not "
            "give: ask a model from load_causal"
        )
    mean = energies.further["mean"]
    sd = energies.further["sd"]
    above = energies.log_probability - mean
    standardised = np.divide(above, sd, out=np.zeros_like(above), where=sd > 0)
    return _mean_of_lowest(energies, standardised, share)


def _mean_of_lowest(energies: Energies, values: Floats, share: float) -> Floats:
    if not 0.0 < share <= 1.0:
        raise InputError(f"share must be in (0, 1], got {share}")
    # Sorted by text, then by value: each text's lowest values come first among its own.
    ordered = values[np.lexsort((values, energies.text))]
    size = np.bincount(energies.text, minlength=len(energies))
    # In floating point 0.2 * 35 may be slightly below 7, and floor would return 6.
    n_lowest = np.maximum(np.floor(np.round(share * size, 9)).astype(np.int64), 1)
    start = np.cumsum(size) - size
    total = np.append(0.0, np.cumsum(ordered))
    lowest: Floats = (total[start + n_lowest] - total[start]) / n_lowest
    return lowest


LEARNED = "learned"
"""Logistic regression on `token_features`."""

QUANTILES = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
"""Quantiles of each text's token log-probabilities, and of the differences to the reference."""


def token_features(target: Energies, reference: Energies | None = None) -> Floats:
    """Return features of the distribution of a text's token log-probabilities, (n, d).

    Parameters
    ----------
    target, reference : Energies
        Energies of the same texts and units; the reference is optional.

    Returns
    -------
    ndarray of float, shape (n, d)
        Mean, standard deviation and `QUANTILES` of the units' log-probabilities, and with a
        reference also of the differences. The number of units is known without the model, and so is
        not a feature.
    """
    text, _, value = target.of_unit()
    rows = [(text, value)]
    if reference is not None:
        compared = differences(target, reference)
        rows.append((compared.text, compared.value))
    columns = []
    for text, value in rows:
        size = np.bincount(text, minlength=len(target))
        mean = np.bincount(text, value, len(target)) / size
        variance = np.bincount(text, (value - mean[text]) ** 2, len(target)) / size
        ordered = value[np.lexsort((value, text))]
        # Linear interpolation between order statistics, as numpy's default, for all texts at once.
        place = np.multiply.outer(size - 1, QUANTILES)
        below = np.floor(place).astype(np.int64)
        start = (np.cumsum(size) - size)[:, None]
        low = ordered[start + below]
        high = ordered[start + np.minimum(below + 1, size[:, None] - 1)]
        columns += [mean, np.sqrt(variance), low + (place - below) * (high - low)]
    return np.column_stack(columns)


def learned_signal(
    features: Floats,
    first: Floats,
    member: Bools,
    population: Bools,
    unit: Ints,
    rng: np.random.Generator,
) -> Floats | Skipped:
    """Return how much each text resembles a member's, by models trained on other people.

    Parameters
    ----------
    features : ndarray of float, shape (n, d)
        Features from `token_features`.
    first : ndarray of float, shape (n,)
        A signal without training, such as the likelihood ratio; it scores the fold of people that
        no model precedes.
    member, population : ndarray of bool, shape (n,)
        True for members, and for texts of the population, which are not judged.
    unit : ndarray of int, shape (n,)
        Person of each text: all texts of a person are scored by one model.
    rng : numpy.random.Generator
        Assigns the people to folds.

    Returns
    -------
    ndarray of float, shape (n,), or Skipped
        Standard deviations above the population's mean under the same model; without a population,
        the share of texts in the same fold that resemble a member's less. Skipped with fewer than
        20 people on a side.

    Notes
    -----
    Our own method. Logistic regression with equal weights of both sides. Every fold of people is
    scored by a model of the folds BEFORE it, the first fold by `first`, and the population by a
    model of all folds. Given the earlier folds, a fold's scores are those of a fixed function, so
    without a leak members and non-members are exchangeable and intervals hold. Ordinary
    cross-validation lacks this property (`blind_scores`).
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    judged = ~population
    fewest = min(len(np.unique(unit[side])) for side in (member, judged & ~member))
    if fewest < FEWEST_GROUPS:
        reason = f"needs {FEWEST_GROUPS} people among members and non-members, got {fewest}"
        return Skipped(LEARNED, reason)
    # N_FOLDS is the fold of the population, after all others.
    fold = np.full(len(member), N_FOLDS)
    fold[judged] = folds_of(unit[judged], member[judged], N_FOLDS, rng)
    result = np.empty(len(member))
    for part in range(N_FOLDS + population.any()):
        before = fold < part
        held = fold == part
        # The first fold has nobody to learn from and keeps the plain signal.
        score = first
        if part:
            model = make_pipeline(
                StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=1000)
            )
            model.fit(features[before], member[before])
            score = np.asarray(model.decision_function(features), np.float64)
        # Scores of different models have different scales: standardised, or ranked within the fold.
        if population.any():
            known = score[population]
            spread = float(known.std())
            result[held] = (score[held] - known.mean()) / (spread if spread > 0 else 1.0)
        else:
            result[held] = ranks(score[held])
    return result


DC_PDD = "dc-pdd"
"""Token probabilities weighted by rarity in a corpus (Zhang et al. 2024)."""

BOUND = 0.01
"""Bound on the contribution of one token: the published value for English texts."""


def token_frequencies(
    energies: Energies, corpus: Energies, vocabulary: int, *, own: bool = False
) -> Floats:
    """Return the frequency of each scored token in a corpus, (m,), in (0, 1).

    Parameters
    ----------
    energies : Energies
        Energies with token ids.
    corpus : Energies
        Energies of texts that are not judged, with the same tokenizer; their scored tokens are
        counted.
    vocabulary : int
        V, the size of the vocabulary.
    own : bool
        True if `energies` are those of the corpus: each text is then left out of its own
        frequencies, since judged texts are not in the corpus either.

    Notes
    -----
    ``(count + 1) / (all + V)``, Laplace's rule, so that no token has frequency 0.
    """
    token = _tokens(energies)
    known = _tokens(corpus)
    count = np.bincount(known, minlength=vocabulary)[token]
    total = np.full(len(token), len(known))
    if own:
        # How often each token occurs in its own text, to be subtracted from the corpus.
        keys = energies.text * vocabulary + token
        _, place, times = np.unique(keys, return_inverse=True, return_counts=True)
        count = count - times[place.reshape(-1)]
        total = total - np.bincount(energies.text, minlength=len(energies))[energies.text]
    # Laplace smoothing: a token that the corpus lacks has a finite logarithm.
    frequency: Floats = (count + 1) / (total + vocabulary)
    return frequency


def dc_pdd_signal(energies: Energies, frequency: Floats, bound: float = BOUND) -> Floats:
    """Return the mean over tokens of probability times rarity, (n,).

    Parameters
    ----------
    energies : Energies
    frequency : ndarray of float, shape (m,)
        Frequency of each scored token, from `token_frequencies`.
    bound : float
        a, the most that a token contributes, above 0.

    Returns
    -------
    ndarray of float, shape (n,)
        In (0, `bound`].

    Notes
    -----
    Zhang et al. (2024), DC-PDD: with p_i the probability of token i under the target and q_i its
    frequency in a corpus, the mean of ``min(-p_i log q_i, a)`` over the first occurrence of each
    token in the text. Common words, which any model expects, count little.
    """
    if not bound > 0:
        raise InputError(f"bound must be above 0, got {bound}")
    token = _tokens(energies)
    # return_index gives the first occurrence of each token in its text.
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
    """Energies under the audited causal model."""
    reference: Energies | None = None
    """Energies under a model that never saw the members; None without one."""


def signals_alone(side: SideTokens) -> dict[str, Floats]:
    """Return the signals of texts that need no other text, (n,) each; higher for members.

    Returns
    -------
    dict of str to ndarray
        ``zlib``, ``min-k`` and ``min-k++``, and with a reference ``ez-mia`` and ``wbc``. Models
        behind servers lack ``min-k++`` and ``ez-mia``, since they do not return the probabilities
        of other tokens.
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
        Members, non-members and optionally the population.
    unit : ndarray of int, shape (n,)
        Person of each text, side by side in this order.
    vocabulary : int
        Number of tokens of the target's tokenizer; 0 if unknown.
    rng : numpy.random.Generator
        Assigns people to folds.

    Returns
    -------
    signals : dict of str to ndarray
        (n,) each, higher for members, side by side: those of `signals_alone`, ``learned``, and with
        a population ``dc-pdd`` and ``length-calibrated``.
    """
    alone = [signals_alone(side) for side in sides]
    found = {name: np.concatenate([one[name] for one in alone]) for name in alone[0]}
    # The likelihood ratio, or the loss signal without a reference.
    first = np.concatenate(
        [
            loss_signal(side.target)
            if side.reference is None
            else ratio_signal(side.target, side.reference)
            for side in sides
        ]
    )
    # 0 for members, 1 for non-members, 2 for the population.
    which = np.repeat(np.arange(len(sides)), [len(side.texts) for side in sides])
    population = which == 2
    if np.count_nonzero(population) >= FEWEST_TEXTS:
        length = np.concatenate([side.target.lengths for side in sides])
        found[BY_LENGTH] = length_calibrated(first, length, population)
        if vocabulary:
            corpus = sides[2].target
            calibrated = []
            for side in sides:
                # Texts of the population are part of the corpus: each leaves its own counts out.
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
