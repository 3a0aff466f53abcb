"""Membership signals from a causal model's token log-probabilities.

Every signal is (n,), one value per text, and higher means more likely a member. All of them come
from one pass over the texts; see `token_log_probabilities`.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from privacygauge.core.checks import Floats
from privacygauge.errors import InputError
from privacygauge.language.attacks import statistic
from privacygauge.language.energies import Energies

ZLIB = "zlib"
"""Loss over the text's compressed length (Carlini et al. 2021)."""
MIN_K = "min-k"
"""Mean of the least likely tokens (Shi et al. 2024)."""
MIN_K_PLUS = "min-k++"
"""Min-K% after each token's log-probability is standardised over the vocabulary (Zhang et al.
2025)."""

SHARE = 0.2
"""k, the share of tokens in Min-K%, in (0, 1): the value that its authors recommend."""


def loss_signal(energies: Energies) -> Floats:
    """Return the mean log-probability of every text's tokens, (n,), in nats, at most 0.

    Notes
    -----
    Yeom et al. (2018), section 3: the loss of a member is lower. This is -1 times the loss.
    """
    return -energies.mean()


def ratio_signal(target: Energies, reference: Energies) -> Floats:
    """Return the log-likelihood ratio of target to reference of every text, (n,), in nats.

    Parameters
    ----------
    target, reference : Energies
        Energies of the same texts and units, as from `pair_log_probabilities`.

    Notes
    -----
    Carlini et al. (2021), section 5.2, compare with a second model; the difference of mean
    log-probabilities is the likelihood-ratio statistic of Mireshghallah et al. (2022), section
    2.3, with the sign turned.
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
        The same texts. Where a model has read the beginning only, the whole text is compressed
        all the same.

    Notes
    -----
    Carlini et al. (2021), section 5.2: the logarithm of the perplexity over the zlib entropy.
    Repetitive texts are likely to every model, and compress well.
    """
    if len(texts) != len(energies):
        raise InputError(f"texts must be the {len(energies)} of the energies, got {len(texts)}")
    n_bytes = np.array([len(zlib.compress(text.encode())) for text in texts])
    ratio: Floats = energies.mean() / n_bytes
    return -ratio


def min_k_signal(energies: Energies, share: float = SHARE) -> Floats:
    """Return the mean log-probability of every text's least likely tokens, (n,), in nats.

    Parameters
    ----------
    share : float
        k, the share of the tokens that count, in (0, 1]; rounded down, and one token at least.

    Notes
    -----
    Shi et al. (2024), Min-K% Prob: an unseen text has a few surprising tokens.
    """
    return _mean_of_lowest(energies, energies.log_probability, share)


def min_k_plus_signal(energies: Energies, share: float = SHARE) -> Floats:
    """Return the mean standardised log-probability of every text's lowest tokens, (n,).

    Parameters
    ----------
    energies : Energies
        Energies under a causal model, with `mean` and `sd` of the log-probability over the
        vocabulary.

    Raises
    ------
    InputError
        If the energies are of a masked model.

    Notes
    -----
    Zhang et al. (2025), Min-K%++: ``(log p - mean) / sd`` for every token, with mean and standard
    deviation over the model's own next-token distribution. Where the model is certain of a token
    (sd 0), there is nothing to compare with, and it counts as 0, the mean.
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
    # Sorted by text first, so that each text's lowest values come first among its own.
    ordered = values[np.lexsort((values, energies.text))]
    size = np.bincount(energies.text, minlength=len(energies))
    # 0.2 * 35 is a little less than 7 for no reason but binary fractions, and means 7.
    n_lowest = np.maximum(np.floor(np.round(share * size, 9)).astype(np.int64), 1)
    start = np.cumsum(size) - size
    total = np.append(0.0, np.cumsum(ordered))
    lowest: Floats = (total[start + n_lowest] - total[start]) / n_lowest
    return lowest
