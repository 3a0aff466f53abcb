"""A language model that takes milliseconds: counts of words and of pairs of words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

N_WORDS = 30_000
WEIGHT = 0.01
"""Of the pairs: little, so that the loss shows how hard a text is more than what was memorised."""


def words_of(text: str) -> list[str]:
    return ["<s>", *text.lower().split()]


def word_pairs(texts: Sequence[str]) -> Callable[[str], float]:
    """Return the energy of a text under a model of these: mean negative log-likelihood of a word.

    Pairs of words count as they were seen, without smoothing: that is what the model memorises.
    """
    single = Counter()
    pairs = Counter()
    first = Counter()
    for text in texts:
        words = words_of(text)
        single.update(words[1:])
        pairs.update(pairwise(words))
        first.update(words[:-1])
    total = sum(single.values()) + 0.5 * N_WORDS

    def energy(text: str) -> float:
        words = words_of(text)
        logs = [
            math.log(
                (1 - WEIGHT) * (single[b] + 0.5) / total
                + WEIGHT * (pairs[a, b] / first[a] if first[a] else 0)
            )
            for a, b in pairwise(words)
        ]
        return -sum(logs) / len(logs)

    return energy
