"""Attacks that choose each submission by the answers before: scan, hill climbing and bisection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import norm

from privacygauge.core.checks import Floats, Ints
from privacygauge.leaderboards.metric_forms import Metric, Values
from privacygauge.leaderboards.naive_bayes import LinearBayes, budget_of
from privacygauge.leaderboards.oracle import Holdout, Oracle
from privacygauge.leaderboards.own_metric import OwnMetric
from privacygauge.leaderboards.priors import Informed, Knowledge


@dataclass(frozen=True)
class LinearScan(Informed):
    """Change the label of one point after another, keeping each change that raises the accuracy.

    The first submission is a starting answer. A change that raises the accuracy found the right
    label, one that lowers it replaced the right label, and one that does neither excludes both; the
    last remaining label is inferred. Candidates are tried by descending prior, the least confident
    points first. The points must keep their positions; their features are not needed.

    Sources
    -------
    Feldman, Frostig and Hardt (2019), Section 5 and Figure 2.
    """

    knowledge: Knowledge | None = None
    """Predictions of a base model; by default random labels in random order."""

    name: ClassVar[str] = "scan"

    needs_points = True

    def answer(self, oracle: Oracle, rng: np.random.Generator) -> Ints:
        """Return labels, (n,), after the whole budget, or once all points are known."""
        left = budget_of(oracle)
        m = oracle.n_classes
        if self.knowledge is None:
            labels = rng.integers(0, m, oracle.n)
            order = np.arange(oracle.n)
        else:
            labels = self.knowledge.base.astype(np.int64)
            order = np.argsort(self.knowledge.log_prior.max(axis=1), kind="stable")
        if left == 0:
            return labels
        level = oracle.submit(labels)
        for i in order:
            # A point with its candidates, the current label first.
            if self.knowledge is None:
                point = i
                others = rng.permutation(m - 1)
                candidates = np.concatenate([[labels[i]], others + (others >= labels[i])])
            else:
                point = self.knowledge.points[i]
                candidates = self.knowledge.candidates[i].astype(np.int64)
            if oracle.left() == 0:
                break
            complete = len(candidates) == m
            labels[point] = candidates[0]
            found = candidates[0]
            for t, candidate in enumerate(candidates[1:], start=1):
                labels[point] = candidate
                # All other labels are excluded, so the last one is right, without a query.
                if complete and 1 < t == len(candidates) - 1:
                    found = candidate
                    level = level + 1 / oracle.n
                    break
                if oracle.left() == 0:
                    # An excluded label is worse than one not tried.
                    found = candidate if t > 1 else candidates[0]
                    break
                change = oracle.submit(labels) - level
                # Half a point separates a gain of one point from none, whatever the rounding.
                if change > 0.5 / oracle.n:
                    found = candidate
                    level = level + change
                    break
                if change < -0.5 / oracle.n:
                    break
            labels[point] = found
        return labels


_SIZES = 60
"""Number of sizes of a change among which one is chosen, in even ratios."""


@dataclass(frozen=True)
class HillClimbing(Informed):
    """Changes some random labels of the best submission, and keeps them if the answer rises.

    Random labels differ in accuracy by about the root of the number that changed, which a Ladder
    takes for progress once in a few submissions. How many labels change follows from what the guard
    asks for before it shows a rise (`Oracle.points_to_rise`) and from the accuracy on display: the
    number whose expected shown gain is largest. The points must keep their positions.
    """

    knowledge: Knowledge | None = None
    """Predictions of a base model; by default random labels."""

    name: ClassVar[str] = "hill-climbing"

    needs_points = True

    def answer(self, oracle: Oracle, rng: np.random.Generator) -> Ints:
        """Return labels, (n,), after the whole budget."""
        left = budget_of(oracle)
        if self.knowledge is None:
            n = oracle.n
            m = oracle.n_classes
            codes = rng.integers(0, m, n)
            candidates = np.broadcast_to(np.arange(m), (n, m))
            points = np.arange(n)
            labels = codes.copy()
            right = 1 / m
            known = 1.0
        else:
            candidates = self.knowledge.candidates.astype(np.int64)
            points = self.knowledge.points
            codes = np.zeros(len(points), np.int64)
            labels = self.knowledge.base.astype(np.int64)
            right = float(np.exp(self.knowledge.log_prior[:, 0]).mean())
            known = self.knowledge.mass
        if left == 0 or not len(points):
            return labels
        r = candidates.shape[1]
        shown = oracle.submit(labels)
        for _ in range(left - 1):
            wrong_to_right = (known - right) / (r - 1)
            size = _best_change(oracle, len(points), lost=right, won=wrong_to_right)
            chosen = rng.choice(len(points), size, replace=False)
            tried = codes.copy()
            tried[chosen] = (tried[chosen] + rng.integers(1, r, size)) % r
            after = labels.copy()
            after[points[chosen]] = candidates[chosen, tried[chosen]]
            answer = oracle.submit(after)
            if answer > shown:
                right = min(known, right + (answer - shown) * oracle.n / len(points))
                codes = tried
                labels = after
                shown = answer
        return labels


def _best_change(oracle: Oracle, n_points: int, lost: float, won: float) -> int:
    """Return the number of random changes whose expected shown gain is largest.

    Parameters
    ----------
    oracle : Oracle
    n_points : int
        Number of points that may change.
    lost, won : float
        Probabilities that a changed label was right, and that it becomes right.
    """
    sizes: Ints = np.unique(np.geomspace(1, n_points, _SIZES).astype(np.int64))
    moved: Floats = np.asarray(sizes * (lost + won), np.float64)
    middle = sizes * (won - lost)
    # Points are drawn without replacement: to change all of them leaves nothing to chance.
    spread = (moved - sizes * (won - lost) ** 2) * (1 - sizes / (n_points + 1))
    deviation = np.sqrt(np.maximum(spread, 1e-12))
    z = (oracle.points_to_rise(moved) - middle) / deviation
    # Mean of the part of a normal variable above what shows.
    gain: Floats = middle * norm.sf(z) + deviation * norm.pdf(z)
    return int(sizes[np.argmax(gain)])


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
