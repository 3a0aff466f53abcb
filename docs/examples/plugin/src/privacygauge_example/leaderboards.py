"""A guard of a leaderboard."""

import math
from dataclasses import dataclass

from privacygauge.leaderboards.mechanism import GuardState, MarkedSubmission, Memoryless


@dataclass(frozen=True)
class Steps(Memoryless):
    """Shows the accuracy in steps."""

    step: float = 0.05
    """Height of a step, in (0, 1]."""

    @property
    def name(self) -> str:
        """Name on the command line."""
        return f"steps:{self.step:g}"

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        """Return the accuracy rounded to a step, and the state, which never changes."""
        return min(round(marked.accuracy / self.step) * self.step, 1.0), state

    def error(self, n: int) -> float:
        """Return the standard deviation of an answer around the accuracy."""
        return self.step / math.sqrt(12)

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        """Return the logarithm of the number of transcripts of k answers."""
        return k * math.log(1 / self.step + 2)
