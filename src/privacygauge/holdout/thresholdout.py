"""A test set for a team's own loop: it speaks only where training and test accuracy differ."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from privacygauge.errors import InputError
from privacygauge.holdout.mechanism import GuardState, Marked, on_grid, positive
from privacygauge.holdout.transcripts import over_accounts


@dataclass(frozen=True)
class Thresholdout:
    """Shows the claimed accuracy, and a noisy true one only where the two are far apart.

    For a team's own loop, in which the accuracy on its training data is known. Where none is
    claimed that of a guess stands in: 1/m, or 1/2 without classes. When `releases` are used up
    the claimed value is shown always: the original then stops, which no leaderboard can.

    Sources
    -------
    Dwork, Feldman, Hardt, Pitassi, Reingold and Roth, "Generalization in adaptive data analysis
    and holdout reuse" (2015), Section 4.1, Algorithm Thresholdout, with its Laplace noise.
    """

    threshold: float = 0.04
    """How far apart the two may be, above 0."""
    scale: float = 0.01
    """The noise rate sigma, above 0."""
    releases: int = 1_000
    """How many answers may come from the test set, at least 0."""

    def __post_init__(self) -> None:
        positive(self.threshold, "threshold")
        positive(self.scale, "scale")
        if self.releases < 0:
            raise InputError(f"releases must be at least 0, got {self.releases}")

    @property
    def name(self) -> str:
        """``thresholdout:THRESHOLD``."""
        return f"thresholdout:{self.threshold:g}"

    def start(self, key: bytes) -> GuardState:
        """Return the state before the first submission, with a noisy threshold."""
        noise = _keyed(key, 0).laplace(0.0, 2 * self.scale)
        return GuardState(key, threshold=self.threshold + noise)

    def answer(self, marked: Marked, state: GuardState) -> tuple[float, GuardState]:
        """Return the claimed accuracy, or the noisy true one."""
        claimed = 1 / (marked.n_classes or 2) if marked.claimed is None else marked.claimed
        after = replace(state, asked=state.asked + 1)
        rng = _keyed(state.key, after.asked)
        far = abs(marked.accuracy - claimed) > state.threshold + rng.laplace(0.0, 4 * self.scale)
        if state.spent >= self.releases or not far:
            return claimed, after
        shown = on_grid(marked.accuracy + rng.laplace(0.0, self.scale), marked.n)
        threshold = self.threshold + rng.laplace(0.0, 2 * self.scale)
        return shown, replace(after, threshold=threshold, spent=state.spent + 1)

    def error(self, n: int) -> float:
        """Return the larger of the threshold and the noise: what an answer may be off by."""
        return max(self.threshold, math.sqrt(2) * self.scale)

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        """Return ln of the sum over b <= releases of C(k, b) (n + 1)^b."""

        def counted(k: int, top: int, accounts: int) -> float:
            b = np.arange(min(k, self.releases * accounts) + 1)
            terms = gammaln(k + 1) - gammaln(b + 1) - gammaln(k - b + 1) + b * math.log(top + 1)
            return float(np.logaddexp.reduce(terms))

        return over_accounts(counted, k, n, accounts)


def _keyed(key: bytes, number: int) -> np.random.Generator:
    digest = hashlib.blake2b(number.to_bytes(8, "little"), key=key, digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))
