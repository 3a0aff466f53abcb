"""All signals that token log-probabilities of causal models give, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.language.causal import (
    MIN_K,
    ZLIB,
    further_of,
    loss_signal,
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
from privacygauge.language.energies import Energies
from privacygauge.language.frequencies import DC_PDD, dc_pdd_signal, token_frequencies
from privacygauge.language.learned import LEARNED, learned_signal, token_features


@dataclass(frozen=True, eq=False)
class SideTokens:
    """What the models say about the tokens of one side's texts."""

    texts: Sequence[str]
    """(n,) The texts."""
    target: Energies
    """By the audited model, which is causal."""
    reference: Energies | None = None
    """By a model that has not seen the members."""

    @property
    def first(self) -> Floats:
        """(n,) The likelihood ratio, or without a reference the loss; higher for members."""
        if self.reference is None:
            return loss_signal(self.target)
        return ratio_signal(self.target, self.reference)


def signals_alone(side: SideTokens) -> dict[str, Floats]:
    """Return the signals of texts that need no other text, (n,) each: higher for members.

    Parameters
    ----------
    side : SideTokens

    Returns
    -------
    dict of str to ndarray
        ``zlib``, ``min-k`` and ``min-k++``; with a reference ``ez-mia`` and ``wbc``. Without
        ``min-k++`` and ``ez-mia`` for a model behind a server: what else it might have said, it
        does not tell.
    """
    if side.target.further:
        found = further_of(side.target, side.texts)
    else:
        found = {ZLIB: zlib_signal(side.target, side.texts), MIN_K: min_k_signal(side.target)}
    if side.reference is not None:
        compared = differences(side.target, side.reference)
        found[WINDOWS] = windows_signal(compared)
        if compared.wrong is not None:
            found[EZ] = ez_signal(compared)
    return found


def token_signals(
    sides: Sequence[SideTokens], unit: Ints, vocabulary: int, rng: np.random.Generator
) -> tuple[dict[str, Floats], tuple[Skipped, ...]]:
    """Return all signals that there are, and what could not be had.

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
            found[DC_PDD] = _beside_frequencies(sides, vocabulary)
    features = np.concatenate([token_features(side.target, side.reference) for side in sides])
    learned = learned_signal(features, first, which == 0, population, unit, rng)
    if isinstance(learned, Skipped):
        return found, (learned,)
    return {**found, LEARNED: learned}, ()


def _beside_frequencies(sides: Sequence[SideTokens], vocabulary: int) -> Floats:
    corpus = sides[2].target
    parts = []
    for side in sides:
        frequency = token_frequencies(side.target, corpus, vocabulary, own=side is sides[2])
        parts.append(dc_pdd_signal(side.target, frequency))
    return np.concatenate(parts)
