"""Attacks played against guards as a run that can be resumed: one unit per trial."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core import checks, seeds
from privacygauge.core.estimate import Estimate
from privacygauge.core.seeds import stream
from privacygauge.core.versions import own_version, versions
from privacygauge.errors import InputError
from privacygauge.holdout.analysts import Analyst, Play, Trials, play
from privacygauge.holdout.attacks import ATTACKS
from privacygauge.holdout.bounds import bias_for_labels, transcript_nats
from privacygauge.holdout.closed_form import FEWEST_CLASSES, is_normal_enough, nb_bias, poisson_bias
from privacygauge.holdout.guards import DIRECT, Exact, guard_for, guard_named
from privacygauge.holdout.linear_bayes import LinearBayes
from privacygauge.holdout.mechanism import Guard
from privacygauge.holdout.metrics import ACCURACY, Metric, Values, metric_bias
from privacygauge.holdout.oracle import Holdout
from privacygauge.holdout.priors import Knowledge
from privacygauge.runs.execute import complete
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.reach import code_of
from privacygauge.runs.sharing import end_of_sharing
from privacygauge.runs.store import open_run

Progress = Callable[[int, int], None]

_DRAWN = 100_000
"""Number of examples drawn to estimate a metric's expected score."""


@dataclass(frozen=True)
class AttackResult:
    """Result of one attack behind one guard."""

    attack: str
    """The attack's name on the command line."""
    guard: str
    """The guard's."""
    needs_points: bool
    """Whether the attack must see the test points, or at least tell them apart."""
    informed: bool
    """Whether it started from a base model or from the classes' shares."""
    accuracy: Estimate
    """Accuracy of the final answer over trials, or its score by another metric."""
    baseline: float
    """The same for its prior knowledge alone: the base model's, or 1/m."""
    bias: Estimate
    """Gain above the baseline, over trials."""
    corrected: Estimate
    """The same; the intervals of all results hold jointly (Bonferroni)."""
    queries_used: float
    """Submissions answered, on average."""
    expected: float | None
    """Bias expected by theory on uniform labels; None without a formula."""


@dataclass(frozen=True)
class GuardProperties:
    """Properties of a guard that hold without playing an attack."""

    guard: str
    """Its name on the command line."""
    kl: float
    """Gain that no attack exceeds, except with probability 1 - level.

    On uniform labels; with other metrics for who knows how frequent every hidden value is.
    """
    error: float
    """Standard deviation of an answer around the accuracy."""


@dataclass(frozen=True, eq=False)
class Contest:
    """Every attack against every guard, `trials` times each. Picklable: the work of a run."""

    holdout: Holdout
    """The test set."""
    knowledge: Knowledge | None
    """The attacker's prior knowledge."""
    attacks: tuple[str, ...]
    """Names of attacks."""
    guards: tuple[Guard, ...]
    """Guards in front of the test set."""
    queries: int
    """Submissions in each play."""
    trials: int
    """Plays of each attack against each guard."""
    seed: int
    """All draws derive from it, by the names of attack and guard."""

    @property
    def pairs(self) -> tuple[tuple[str, Guard], ...]:
        """Every attack with every guard, in the order of the units."""
        return tuple((attack, guard) for attack in self.attacks for guard in self.guards)

    def __call__(self, task: Task) -> Mapping[str, ArrayLike]:
        """Return the plays of a task."""
        plays = [self._play(*divmod(unit, self.trials)) for unit in range(task.start, task.stop)]
        return {
            "accuracy": np.array([p.accuracy for p in plays]),
            "baseline": np.array([p.baseline for p in plays]),
            "used": np.array([p.queries_used for p in plays], np.int64),
        }

    def _play(self, pair: int, trial: int) -> Play:
        attack, guard = self.pairs[pair]
        rng = seeds.stream(self.seed, "holdout", attack, guard.name, trial)
        return play(self.analyst(attack), self.holdout, self.queries, rng, guard=guard)

    def analyst(self, attack: str) -> Analyst:
        """Return the attack of this name; metrics other than accuracy have a single attack."""
        if self.holdout.metric != ACCURACY:
            return LinearBayes.told(self.holdout)
        return ATTACKS[attack].make(self.knowledge)

    def plan(self) -> Plan:
        """Return the plan of the run: its arrays and their types."""
        n = len(self.pairs) * self.trials
        types = {"accuracy": "float64", "baseline": "float64", "used": "int64"}
        knowledge = None
        if self.knowledge is not None:
            known = self.knowledge
            knowledge = _digest(known.base, known.points, known.candidates, known.log_prior)
        return Plan(
            name="holdout",
            seed=self.seed,
            n_units=n,
            unit="play",
            units_a_task=1,
            arrays={name: ArraySpec(("play",), (n,), dtype) for name, dtype in types.items()},
            settings={
                "attacks": self.attacks,
                "guards": [guard.name for guard in self.guards],
                "queries": self.queries,
                "trials": self.trials,
                "classes": self.holdout.n_classes,
                "metric": self.holdout.metric.name,
                "labels": _digest(self.holdout.labels),
                "knowledge": knowledge,
                "versions": {"privacygauge": own_version(), **versions()},
            },
            code=code_of(*self.guards, *(type(self.analyst(name)) for name in self.attacks)),
        )


def play_contest(
    contest: Contest,
    run: str | Path | None = None,
    *,
    invocation: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Mapping[tuple[str, str], Trials]:
    """Return the trials of every attack against every guard, playing those that the run lacks.

    `run` is the folder that keeps the plays, None for none; `invocation` says how to start it
    again, and `progress` is called with the number of plays done and the total.
    """
    with kept_or_scratch(run) as place:
        opened = open_run(place, contest.plan(), invocation=invocation)
        complete(opened, contest, n_jobs=n_jobs, progress=progress)
        end_of_sharing()
        found = {name: opened.array(name)[:] for name in contest.plan().arrays}
    parts = {}
    for place_of, (attack, guard) in enumerate(contest.pairs):
        rows = slice(place_of * contest.trials, (place_of + 1) * contest.trials)
        parts[attack, guard.name] = Trials(
            found["accuracy"][rows], found["baseline"][rows], found["used"][rows]
        )
    return parts


def _digest(*arrays: np.ndarray) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def bias_by_theory(contest: Contest, attack: str, guard: Guard) -> float | None:
    """Return the expected bias of an attack without knowledge; None without a formula."""
    named = ATTACKS[attack]
    k = contest.queries
    metric = contest.holdout.metric
    if metric != ACCURACY:
        return _expected_score(contest, guard) if isinstance(guard, DIRECT) else None
    n = len(contest.holdout)
    m = contest.holdout.n_classes
    uninformed = contest.knowledge is None or not named.informed
    if not uninformed or named.expected is None or k < 1 or not isinstance(guard, DIRECT):
        return None
    if attack == "nb" and isinstance(guard, Exact) and m >= FEWEST_CLASSES:
        return poisson_bias(n, m, k)
    if attack not in ("scan", "designed") and not is_normal_enough(n, m, k):
        return None
    if attack == "nb":
        return nb_bias(n, m, k, error=guard.error(n))
    return named.expected(n, m, k) if isinstance(guard, Exact) else None


def _expected_score(contest: Contest, guard: Guard) -> float:
    """Return the expected gain above the prior knowledge, averaged over about 100,000 examples."""
    told = LinearBayes.told(contest.holdout)
    truth = contest.holdout.labels
    rng = stream(contest.seed, "holdout", "expected", guard.name)
    error = answer_deviation(guard, contest.holdout)
    metric = contest.holdout.metric
    draws = max(1, _DRAWN // len(truth))
    ends = [told.expected(truth, contest.queries, error, rng) for _ in range(draws)]
    return float(np.mean(ends)) - metric.score(told.unaided(), truth)


def guarantee_behind(guard: Guard, holdout: Holdout, k: int, delta: float) -> float:
    """Return the gain that no attack exceeds, except with probability `delta`."""
    n = len(holdout)
    m = holdout.n_classes
    metric = holdout.metric
    if metric == ACCURACY:
        largest = float(np.unique(holdout.labels, return_counts=True)[1].max()) / n
        return bias_for_labels(guard, n, m=m, k=k, largest=max(largest, 1 / m), delta=delta)
    fit = guard_for(guard, metric, holdout.labels)
    return metric_bias(metric, holdout.labels, transcript_nats(fit, k, n, max(2, m)), delta=delta)


def answer_deviation(guard: Guard, holdout: Holdout) -> float:
    """Return the standard deviation of an answer around the score."""
    return guard_for(guard, holdout.metric, holdout.labels).error(len(holdout))


def guards_of(given: Sequence[Guard | str]) -> tuple[Guard, ...]:
    """Return guards, at least one and no duplicates, from guards or their names."""
    found = tuple(guard_named(g) if isinstance(g, str) else g for g in given)
    names = [guard.name for guard in found]
    if not names or len(set(names)) < len(names):
        raise InputError(
            f"guards must be at least one, each named once, got {checks.short_list(names)}"
        )
    return found


def n_classes_of(
    truth: Values, logits: np.ndarray | None, classes: int | None, metric: Metric
) -> int:
    """Return the number of classes; 0 if hidden values are numbers."""
    if len(truth) == 0:
        raise InputError("labels must be at least one, got none")
    if (truth == truth[0]).all():
        raise InputError(
            f"labels must be of at least two classes, got {len(truth)} of the same: with one class "
            "there is nothing to guess"
        )
    if metric.numbers:
        return classes or 0
    if logits is None:
        return max(2, int(truth.max()) + 1) if classes is None else classes
    if logits.ndim != 2 or len(logits) != len(truth):
        raise InputError(
            f"logits must have the shape (n, m) with a row for each of {len(truth)} labels, got "
            f"{logits.shape}"
        )
    if classes not in (None, logits.shape[1]):
        raise InputError(f"classes must be {logits.shape[1]}, as logits have, got {classes}")
    return int(logits.shape[1])


def result_of(
    contest: Contest, attack: str, guard: Guard, found: Trials, level: float, together: float
) -> AttackResult:
    """Return the result of an attack behind a guard, its interval corrected to `together`."""
    analyst = contest.analyst(attack)
    return AttackResult(
        attack,
        guard.name,
        needs_points=analyst.needs_points,
        informed=analyst.unaided() is not None,
        accuracy=found.accuracy(level),
        # The test set is fixed, and so is what was known of it.
        baseline=float(found.baselines[0]),
        bias=found.bias(level),
        corrected=found.bias(together),
        queries_used=float(found.queries_used.mean()),
        expected=bias_by_theory(contest, attack, guard),
    )
