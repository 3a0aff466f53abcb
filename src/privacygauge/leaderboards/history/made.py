"""Made-up histories of honest teams, with or without attacks, to try an audit of a history on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.leaderboards.analysts import Analyst
from privacygauge.leaderboards.guards import Exact
from privacygauge.leaderboards.history.record import History, in_time
from privacygauge.leaderboards.mechanism import Guard, GuardState, MarkedSubmission
from privacygauge.leaderboards.naive_bayes import Majority, NaiveBayes
from privacygauge.leaderboards.oracle import Budget, Holdout
from privacygauge.leaderboards.priors import from_logits
from privacygauge.leaderboards.sequential import LinearScan

SHARED = 1.0
"""Standard deviation of the errors that all teams share."""
OWN = 0.6
"""Standard deviation of a team's own errors."""


@dataclass(frozen=True, eq=False)
class World:
    """A test set, and the errors that everybody makes on it."""

    labels: Ints
    """(n,) Hidden labels."""
    m: int
    """Number of classes."""
    shared: Floats = field(repr=False)
    """(n, m) Errors that all teams share."""
    public: int | None = None
    """Number of points, from the first, on which scores are shown; None for all."""

    @classmethod
    def drawn(cls, n: int, m: int, rng: np.random.Generator) -> World:
        """Return a test set of n points of m uniform classes, with errors from `rng`."""
        return cls(rng.integers(0, m, n), m, rng.normal(0.0, SHARED, (n, m)))

    def score(self, answers: Ints) -> Floats:
        """Return the accuracies, (...), that are shown for answers, (..., n)."""
        right = answers[..., : self.public] == self.labels[: self.public]
        return np.asarray(right.mean(axis=-1))

    def errors(self, size: float, rng: np.random.Generator) -> Floats:
        """Return further errors, (n, m), of this standard deviation."""
        return np.asarray(rng.normal(0.0, size, self.shared.shape))

    def logits(self, skill: float, errors: Floats) -> Floats:
        """Return logits, (n, m): `skill` on the true class plus all errors."""
        found = self.shared + errors
        found[np.arange(len(self.labels)), self.labels] += skill
        return np.asarray(found)


def _rising(world: World, k: int, public: Floats, rng: np.random.Generator) -> Ints:
    # Skills rise over the submissions, with a little noise; 0.4 is new error of each model.
    skills = np.sort(rng.uniform(0.5, 3.0, k)) + rng.normal(0.0, 0.1, k)
    own = world.errors(OWN, rng)
    return np.stack(
        [world.logits(skill, own + world.errors(0.4, rng)).argmax(axis=1) for skill in skills]
    )


def _steps(world: World, k: int, start: Floats, rng: np.random.Generator, *, climbs: bool) -> Ints:
    """Return a walk in small steps of the logits, of standard deviation 0.02, 0.05 or 0.1."""
    size = float(rng.choice([0.02, 0.05, 0.1]))
    present = start
    rows = [start.argmax(axis=1)]
    best = float(world.score(rows[0]))
    for _ in range(k - 1):
        following = present + world.errors(size, rng)
        rows.append(following.argmax(axis=1))
        score = float(world.score(rows[-1]))
        # A climber takes a step only if its score rose; tuning takes every step.
        if not climbs or score > best:
            present = following
            best = max(best, score)
    return np.stack(rows)


def _own_steps(
    world: World, k: int, public: Floats, rng: np.random.Generator, *, climbs: bool
) -> Ints:
    start = world.logits(float(rng.uniform(1.0, 2.5)), world.errors(OWN, rng))
    return _steps(world, k, start, rng, climbs=climbs)


def _seeds(world: World, k: int, public: Floats, rng: np.random.Generator) -> Ints:
    model = world.logits(float(rng.uniform(1.0, 2.5)), world.errors(OWN, rng))
    return np.stack([(model + world.errors(0.5, rng)).argmax(axis=1) for _ in range(k)])


def _ensemble(world: World, k: int, public: Floats, rng: np.random.Generator) -> Ints:
    """Return models, and in the second half averages of the best five by their scores."""
    own = world.errors(OWN, rng)
    skill = float(rng.uniform(1.0, 2.5))
    models: list[Floats] = []
    rows: list[Ints] = []
    for t in range(k):
        made = world.logits(skill + rng.normal(0.0, 0.15), own + world.errors(0.7, rng))
        models.append(made)
        if t >= k // 2:
            scores = [world.score(model.argmax(axis=1)) for model in models]
            best = np.argsort(scores)[-5:]
            made = np.mean([models[i] for i in best], axis=0)
        rows.append(made.argmax(axis=1))
    return np.stack(rows)


def _public(world: World, k: int, public: Floats, rng: np.random.Generator) -> Ints:
    rows = _steps(world, k, public, rng, climbs=bool(rng.integers(2)))
    # One submission is the public baseline itself.
    rows[int(rng.integers(k))] = public.argmax(axis=1)
    return rows


def _beginner(world: World, k: int, public: Floats, rng: np.random.Generator) -> Ints:
    """Return models with the first files written in another order of the points."""
    rows = _rising(world, k, public, rng)
    order = rng.permutation(len(world.labels))
    rows[: max(1, k // 5)] = rows[: max(1, k // 5)][:, order]
    return rows


HABIT: dict[str, Callable[[World, int, Floats, np.random.Generator], Ints]] = {
    "rising": _rising,
    "tuning": partial(_own_steps, climbs=False),
    "hill-climbing": partial(_own_steps, climbs=True),
    "seeds": _seeds,
    "ensemble": _ensemble,
    "public": _public,
    "beginner": _beginner,
}
"""Habits of honest teams: functions of a test set, a number, the baseline's logits and `rng`."""


HABITS = tuple(HABIT)
"""Names of the habits of honest teams."""
ATTACKS = ("scan", "nb", "majority", "top-2", "designed", "flips")
"""Attacks that can be planted: the linear scan, NB and the majority of random labels, NB on the two
likeliest labels of a base model, designed queries, and random flips of a model.
"""
_FLIPPED = 0.25
"""Share of the points changed in each submission by the attack ``flips``."""


@dataclass(frozen=True, eq=False)
class AccountSubmissions:
    """Submissions of one account, in its own order."""

    account: str
    """Name of the account."""
    answers: NDArray[np.integer] = field(repr=False)
    """(k, n) Submitted labels."""


def honest_history(
    rng: np.random.Generator,
    *,
    n: int = 1_000,
    m: int = 2,
    teams: int = 8,
    submissions: int = 20,
    habits: Sequence[str] = HABITS,
) -> History:
    """Return a history of honest teams, each with a habit drawn from `habits`.

    Parameters
    ----------
    rng : numpy.random.Generator
    n, m : int
        Numbers of points and classes.
    teams : int
        At least 1.
    submissions : int
        Mean number per team; each team draws from 0.5 to 1.5 times this.
    habits : sequence of str
        Some of `HABITS`: models that improve; tuning that changes few labels, kept or (hill
        climbing) kept only if the score rose; one model with many seeds; models and then averages
        of the account's own best five by score; a public baseline, submitted as it is among tuned
        versions of it; a beginner with first files out of order.
    """
    world = World.drawn(n, m, rng)
    return mix_works(
        world, honest_work(world, rng, teams=teams, submissions=submissions, habits=habits), rng
    )


def varied_history(rng: np.random.Generator) -> History:
    """Return an honest history of 3 to 10 teams of any habit, on 300 to 1,000 points."""
    return honest_history(
        rng,
        n=int(rng.choice([300, 500, 1000])),
        m=int(rng.choice([2, 3, 10])),
        teams=int(rng.integers(3, 11)),
        submissions=int(rng.integers(10, 31)),
    )


def attacked_history(
    rng: np.random.Generator,
    attack: str,
    *,
    n: int = 1_000,
    m: int = 2,
    teams: int = 8,
    submissions: int = 20,
    queries: int = 200,
    accounts: int = 1,
) -> History:
    """Return a history of honest teams with an attack among them.

    Parameters
    ----------
    rng, n, m, teams, submissions
        As in `honest_history`.
    attack : str
        One of `ATTACKS`.
    queries : int
        Number of submissions of the attack before its final answer.
    accounts : int
        Number of accounts, named ``attacker-0`` and so on, that take turns with the queries; the
        first submits the final answer.
    """
    world = World.drawn(n, m, rng)
    honest = honest_work(world, rng, teams=teams, submissions=submissions, habits=HABITS)
    rows = attack_submissions(world, attack, queries, rng)
    turns = [
        AccountSubmissions(
            f"attacker-{a}",
            np.concatenate([rows[a:-1:accounts], rows[-1:]]) if a == 0 else rows[a:-1:accounts],
        )
        for a in range(accounts)
    ]
    return mix_works(world, [*honest, *turns], rng, turns=accounts)


def contest_history(
    rng: np.random.Generator,
    *,
    n: int = 1_000,
    n_private: int = 2_000,
    m: int = 2,
    teams: int = 20,
    submissions: int = 20,
    overfitted: int = 0,
    queries: int = 200,
) -> History:
    """Make the published history of a contest that has ended: scores on both parts, no answers.

    Parameters
    ----------
    rng, m, teams, submissions
        As in `honest_history`; honest teams climb on the public score.
    n, n_private : int
        Numbers of points with shown scores, and of points that decide in the end.
    overfitted : int
        Number of further teams, named ``climber-0`` and so on, that use their public scores as NB
        does on the two likeliest labels of a model.
    queries : int
        Number of submissions of such a team before its last one.
    """
    world = replace(World.drawn(n + n_private, m, rng), public=n)
    works = honest_work(world, rng, teams=teams, submissions=submissions, habits=HABITS)
    works += [
        AccountSubmissions(f"climber-{i}", attack_submissions(world, "top-2", queries, rng))
        for i in range(overfitted)
    ]
    whole = mix_works(world, works, rng)
    assert isinstance(whole.answers, np.ndarray)
    right = whole.answers == world.labels
    return replace(
        whole,
        scores=right[:, :n].mean(axis=1),
        n=n,
        answers=None,
        labels=None,
        private=right[:, n:].mean(axis=1),
        n_private=n_private,
    )


def mix_works(
    world: World, works: Sequence[AccountSubmissions], rng: np.random.Generator, *, turns: int = 0
) -> History:
    """Return the works in one order of time; the last `turns` of them alternate in one stretch."""
    times = [np.sort(rng.uniform(0.0, 100.0, len(work.answers))) for work in works]
    if turns:
        # The attack's accounts share one clock, and submit one after the other.
        taking = works[-turns:]
        total = sum(len(work.answers) for work in taking)
        first, last = np.sort(rng.uniform(0.0, 100.0, 2))
        clock = np.linspace(float(first), float(last), total)
        for a, work in enumerate(taking):
            places = a + turns * np.arange(len(work.answers))
            # The final answer comes after the queries of all accounts.
            if a == 0:
                places[-1] = total - 1
            times[len(works) - turns + a] = clock[np.minimum(places, total - 1)]
    answers = np.concatenate([work.answers for work in works])
    accounts = [work.account for work in works for _ in work.answers]
    scores = (answers == world.labels).mean(axis=1)
    return in_time(
        np.concatenate(times),
        accounts,
        scores,
        n=len(world.labels),
        n_classes=world.m,
        answers=answers,
        labels=world.labels,
    )


def honest_work(
    world: World, rng: np.random.Generator, teams: int, submissions: int, habits: Sequence[str]
) -> list[AccountSubmissions]:
    """Return submissions of honest teams, each following a habit drawn from `habits`."""
    unknown = [habit for habit in habits if habit not in HABIT]
    if unknown or not habits:
        raise InputError(f"habits must be of {', '.join(HABITS)}, got {list(habits)}")
    public = world.logits(2.0, world.errors(OWN, rng))
    works = []
    for t in range(teams):
        k = max(2, int(rng.integers(submissions // 2, submissions * 3 // 2 + 1)))
        rows = HABIT[str(rng.choice(list(habits)))](world, k, public, rng)
        works.append(
            AccountSubmissions(f"team-{t}", np.asarray(rows, np.min_scalar_type(world.m - 1)))
        )
    return works


def attack_submissions(
    world: World, attack: str, queries: int, rng: np.random.Generator
) -> NDArray[np.integer]:
    """Return the submissions of an attack, (queries + 1, n), its final answer last."""
    if attack == "designed":
        return _detecting_queries(world, queries, rng)
    if attack == "flips":
        return _flips(world, queries, rng)
    base = from_logits(
        world.logits(2.0, world.errors(OWN, rng)),
        top=2,
        least_confident=max(1, 2 * len(world.labels) // 5),
    )
    analysts: dict[str, Analyst] = {
        "scan": LinearScan(base),
        "nb": NaiveBayes(),
        "majority": Majority(),
        "top-2": NaiveBayes(base),
    }
    if attack not in analysts:
        raise InputError(f"attack must be one of {', '.join(ATTACKS)}, got {attack!r}")
    return analyst_rows(world, analysts[attack], queries, rng)


def analyst_rows(
    world: World,
    analyst: Analyst,
    queries: int,
    rng: np.random.Generator,
    guard: Guard | None = None,
) -> NDArray[np.integer]:
    """Return the submissions of an analyst, (asked + 1, n), final answer last; exact by default."""
    rows: list[NDArray[np.integer]] = []
    oracle = Holdout(world.labels, world.m).open(
        rng, guard=_Recording(rows, world.public, guard or Exact()), budget=Budget(total=queries)
    )
    final = analyst.answer(oracle, rng)
    return np.stack([*rows, final]).astype(np.min_scalar_type(world.m - 1))


@dataclass(frozen=True, eq=False)
class _Recording:
    """A guard that answers about the first points only, and records every submission."""

    rows: list[NDArray[np.integer]]
    public: int | None
    guard: Guard

    name = "recording"

    def start(self, key: bytes) -> GuardState:
        return self.guard.start(key)

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        self.rows.append(np.array(marked.labels))
        labels = marked.labels[: self.public]
        truth = marked.truth[: self.public]
        right = int(np.count_nonzero(labels == truth))
        seen = MarkedSubmission(
            n_correct=right,
            n=len(truth),
            n_classes=marked.n_classes,
            claimed=None,
            labels=labels,
            truth=truth,
        )
        return self.guard.answer(seen, state)

    def error(self, n: int) -> float:
        return self.guard.error(n)

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        return self.guard.nats(k, n, n_classes, accounts)


def _detecting_queries(world: World, queries: int, rng: np.random.Generator) -> NDArray[np.integer]:
    """Return Lindstrom's detecting queries between two labels per point, and the decoded labels.

    Query y of 2^r sets column (x, j) to the second label if y & x is one of the first 2^j subsets
    of x with a size of the parity of the size of x. The decoder is exact, so the truth replaces it
    wherever it is one of the two labels.
    """
    r = max(1, int(np.log2(max(2, queries))))
    # Column (x, j) is one point; each x has as many columns as bits.
    columns = [(x, j) for x in range(1, 2**r) for j in range(x.bit_count())]
    points = rng.permutation(len(world.labels))[: len(columns)]
    base = world.logits(1.0, world.errors(OWN, rng))
    first, second = np.argsort(-base, axis=1)[:, :2].T
    rows = np.tile(first, (2**r + 1, 1))
    for (x, j), i in zip(columns, points, strict=False):
        subsets = [y for y in range(x + 1) if y & x == y]
        chosen = [y for y in subsets if (y.bit_count() - x.bit_count()) % 2 == 0][: 2**j]
        rows[:-1, i] = np.where(np.isin(np.arange(2**r) & x, chosen), second[i], first[i])
    decoded = np.where(world.labels == second, second, first)
    rows[-1, points] = decoded[points]
    return rows.astype(np.min_scalar_type(world.m - 1))


def _flips(world: World, queries: int, rng: np.random.Generator) -> NDArray[np.integer]:
    """Return a model with a quarter of its labels changed at random each time, then the answer.

    A label replaces the model's if its submissions scored higher than the others by more than 1.5
    standard deviations of all such differences.
    """
    n = len(world.labels)
    m = world.m
    base = world.logits(2.0, world.errors(OWN, rng)).argmax(axis=1)
    other = (base + rng.integers(1, m, (queries, n))) % m
    rows = np.where(rng.random((queries, n)) < _FLIPPED, other, base)
    weights = (rows == world.labels).mean(axis=1)
    weights -= weights.mean()
    # (n, m): sum of the centred scores of the submissions with each label, relative to the model's.
    votes = np.stack([weights @ (rows == label) for label in range(m)], axis=1)
    votes -= np.take_along_axis(votes, base[:, None], axis=1)
    best = votes.argmax(axis=1)
    gain = votes.max(axis=1)
    final = np.where(gain > 1.5 * votes[np.arange(n), (base + 1) % m].std(), best, base)
    return np.concatenate([rows, final[None]]).astype(np.min_scalar_type(m - 1))
