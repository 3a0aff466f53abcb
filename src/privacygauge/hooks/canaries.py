"""Canaries of a training: how they are made, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privacygauge.audits.language.drawn import bound_of
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import PrivacyBound
from privacygauge.evaluate.exposure import exposures

_TRIES = 100
"""Attempts to draw a text of random tokens that no other canary has."""


@dataclass(frozen=True, eq=False)
class CanaryFindings:
    """What a training gave away of its canaries."""

    inside: Bools
    """(k,) True where a fair coin put the canary into the training set."""
    score: Floats
    """(k,) Higher means more likely a member."""
    loss: Floats
    """(k,) Of the trained model."""
    exposure: Floats
    """Of each canary that was trained on, in bits; see `privacygauge.evaluate.exposure`."""
    largest: float
    """The exposure of a canary that is better known than all that were not trained on."""
    epsilon: PrivacyBound
    """Lower bound on epsilon from this one training."""

    def sentence(self) -> str:
        """Return the findings in words."""
        low = self.epsilon.estimate.low
        return (
            f"{int(self.inside.sum())} of {len(self.inside)} were trained on; median exposure "
            f"{np.median(self.exposure):.1f} of at most {self.largest:.1f} bits; epsilon is at "
            f"least {low:.2f} with {100 * self.epsilon.estimate.level:g}% confidence"
        )


def canary_findings(
    inside: Bools, score: Floats, loss: Floats, compared: Floats, seed: int, level: float
) -> CanaryFindings:
    """Return what became of canaries.

    Parameters
    ----------
    inside : ndarray of bool, shape (k,)
        Some are, and some are not.
    score, loss : ndarray of float, shape (k,)
        As in `CanaryFindings`.
    compared : ndarray of float, shape (n,)
        Losses of further canaries that were never trained on; there may be none.
    seed : int
    level : float
    """
    outside = np.concatenate([loss[~inside], compared])
    bound = bound_of(Transcript(score, inside), seed, level)
    largest = float(np.log2(len(outside) + 1))
    return CanaryFindings(inside, score, loss, exposures(loss[inside], outside), largest, bound)


def random_texts(n: int, tokens: int, tokenizer: Any, rng: np.random.Generator) -> list[str]:
    """Return different texts of random tokens.

    Parameters
    ----------
    n, tokens : int
        Texts, and tokens of each, which the tokenizer may cut otherwise when it reads the text.
    tokenizer : transformers.PreTrainedTokenizerBase
    rng : numpy.random.Generator
    """
    special = set(tokenizer.all_special_ids)
    plain = [i for i in range(len(tokenizer)) if i not in special]
    found: dict[str, None] = {}
    for _ in range(_TRIES * n):
        if len(found) == n:
            break
        text = tokenizer.decode(rng.choice(plain, tokens).tolist(), skip_special_tokens=True)
        if text.strip():
            found[text.strip()] = None
    if len(found) < n:
        raise InputError(
            f"{n} different canaries of {tokens} tokens are needed, got {len(found)}: ask for "
            "fewer, or for more tokens"
        )
    return list(found)
