"""A causal model's token probabilities beside how often the tokens occur anyway."""

from __future__ import annotations

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.language.energies import Energies

DC_PDD = "dc-pdd"
"""Probabilities beside frequencies (Zhang et al. 2024)."""

BOUND = 0.01
"""The most that one token counts: the published value for English texts."""


def token_frequencies(
    energies: Energies, corpus: Energies, vocabulary: int, *, own: bool = False
) -> Floats:
    """Return how often each scored token occurs in a corpus, (m,), as a share in (0, 1).

    Parameters
    ----------
    energies : Energies
        Whose tokens are asked about.
    corpus : Energies
        Of texts that are not judged, by the same tokenizer: its scored tokens are counted.
    vocabulary : int
        V, the number of tokens that there are.
    own : bool
        True where `energies` are those of the corpus: each text is then left out of its own
        frequencies, as the judged ones are.

    Notes
    -----
    ``(count + 1) / (all + V)``, Laplace's rule, so that no token has frequency 0.
    """
    token, known = _tokens(energies), _tokens(corpus)
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
    """Return the mean of token probabilities times how rare the tokens are, (n,).

    Parameters
    ----------
    energies : Energies
    frequency : ndarray of float, shape (m,)
        Of every scored token, from `token_frequencies`.
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
