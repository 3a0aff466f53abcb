"""Bisection: a rare class is looked for in groups of examples, by the counts behind scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from privacygauge.core.checks import Ints
from privacygauge.leaderboards.metric_forms import Metric, Values
from privacygauge.leaderboards.naive_bayes import LinearBayes, budget_of
from privacygauge.leaderboards.oracle import Holdout, Oracle
from privacygauge.leaderboards.own_metric import OwnMetric

_SEEN = 3.5
"""Standard deviations of an answer by which one example more has to change it; rounded answers have
a step of 3.46 of them.
"""


@dataclass(frozen=True, eq=False)
class Bisection:
    """Calls a part of a group the rarer class, learns from the score how many are, and goes on.

    F1, balanced accuracy, kappa and the AUC of submissions with two values follow from the number
    of rare examples among those that are called rare. Where the class is rare, each of them moves
    the score far more than a random submission shows: of one in a thousand, ten halvings find it.
    The densest group is divided next. A part is at most a half, and as small as it takes for one
    example to be seen behind the guard. The points must keep their positions.

    Sources
    -------
    Hwang, "A method for detecting all defective members in a population by group testing" (1972).
    """

    metric: Metric
    """Metric of submissions."""
    counts: Ints
    """(2,) Number of examples of each class."""

    name: ClassVar[str] = "bisection"
    needs_points: ClassVar[bool] = True

    @staticmethod
    def applies(holdout: Holdout) -> bool:
        """Return whether scores follow from counts: two classes, each submitted as one value."""
        metric = holdout.metric
        if metric.numbers or holdout.n_classes != 2 or isinstance(metric, OwnMetric):
            return False
        counts = np.bincount(holdout.labels, minlength=2)
        return not metric.like_share and np.array_equal(
            metric.moves(np.arange(2), counts), np.arange(2)
        )

    @classmethod
    def told(cls, holdout: Holdout) -> Bisection:
        """Return the attack of someone who knows only the frequency of every class."""
        return cls(holdout.metric, np.bincount(holdout.labels, minlength=2))

    def unaided(self) -> Values:
        """Return the best submission without any query."""
        return LinearBayes(self.metric, np.arange(2), self.counts).unaided()

    def answer(self, oracle: Oracle, rng: np.random.Generator) -> Values:
        """Return predictions in the metric's form, (n,), after at most the whole budget."""
        rare = int(self.counts.argmin())
        n_rare = int(self.counts[rare])
        # Disjoint groups of examples, and how many of each are rare.
        groups = [(rng.permutation(oracle.n), n_rare)]
        best = 0.0
        for _ in range(budget_of(oracle)):
            unknown = [place for place, (of, held) in enumerate(groups) if 0 < held < len(of)]
            if not unknown:
                break
            place = max(unknown, key=lambda i: (groups[i][1] / len(groups[i][0]), -i))
            of, held = groups.pop(place)
            size = self._size(len(of), held, max(_SEEN * oracle.error, 1 / oracle.n))
            submitted = np.full(oracle.n, 1 - rare)
            submitted[of[:size]] = rare
            shown = oracle.submit(self.metric.moves(np.arange(2), self.counts)[submitted])
            least = max(0, held - (len(of) - size))
            most = min(held, size)
            # A guard that shows rises alone repeats its best answer: then it is an upper limit.
            inside = self._held(size, least, most, shown, limit=shown == best)
            best = max(best, shown)
            groups += [(of[:size], inside), (of[size:], held - inside)]
        belief = np.empty(oracle.n)
        for of, held in groups:
            belief[of] = held / len(of)
        both = np.stack([1 - belief, belief] if rare == 1 else [belief, 1 - belief], axis=1)
        return self.metric.best(both, np.arange(2))

    def _score(self, size: int, inside: int) -> float:
        """Return the score of calling `size` examples rare of which `inside` are."""
        rare = int(self.counts.argmin())
        n = int(self.counts.sum())
        submitted = np.full(n, 1 - rare)
        submitted[:size] = rare
        truth = np.full(n, 1 - rare)
        truth[:inside] = rare
        truth[n - (int(self.counts[rare]) - inside) :] = rare
        return self.metric.score(self.metric.moves(np.arange(2), self.counts)[submitted], truth)

    def _size(self, total: int, held: int, least: float) -> int:
        """Return the number of a group's examples to call rare: the largest that shows one more."""
        sizes = []
        size = total // 2
        while size:
            # The fewest that a part may hold too: kappa is clipped where they are few.
            fewest = max(0, held - (total - size))
            change = min(
                self._score(size, inside + 1) - self._score(size, inside)
                for inside in {fewest, max(fewest, min(held - 1, held * size // total))}
            )
            if change >= least:
                return size
            sizes.append((change, size))
            size //= 2
        return max(sizes)[1]

    def _held(self, size: int, least: int, most: int, shown: float, *, limit: bool) -> int:
        """Return how many of `size` examples are rare, in least..most, for the score shown."""
        if least == most or shown < self._score(size, least):
            return least
        # Scores rise with the number.
        below = least
        above = most + 1
        while above - below > 1:
            middle = (below + above) // 2
            # Answers are multiples of 1/n: half of one is rounding.
            if self._score(size, middle) <= shown + 0.5 / self.counts.sum():
                below = middle
            else:
                above = middle
        if above > most or limit:
            return below
        nearer = self._score(size, above) - shown < shown - self._score(size, below)
        return above if nearer else below
