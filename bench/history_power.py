"""How often the audit of a leaderboard's history finds something: honest histories, and attacks.

Honest histories differ in points, classes, teams and submissions, and honest contests have private
scores too. Each attack of the project makes 200 queries on 1,000 points of 2 or 10 classes, from
one account among eight honest teams; the last two know a model. A server's log is made behind its
default guard, whose answers the attack sees.

    python bench/history_power.py                       the tables of docs/leaderboard-history.md
    python bench/history_power.py --quick               the same from few histories
    python bench/history_power.py --only skills --first 1000    other histories of these
    python bench/history_power.py --only nb,designed    the rows of these attacks; honest; metrics;
                                                        skills: metrics, skills, harder parts
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from privacygauge.core.seeds import stream
from privacygauge.evaluate.rates import clopper_pearson
from privacygauge.leaderboards.analysts import ATTACKS
from privacygauge.leaderboards.guards import root_ladder
from privacygauge.leaderboards.history.evidence import UNDECIDED, Evidence
from privacygauge.leaderboards.history.findings import examine_history, inspect
from privacygauge.leaderboards.history.made import (
    HABITS,
    AccountSubmissions,
    World,
    analyst_rows,
    attack_submissions,
    contest_history,
    honest_work,
    mix_works,
    varied_history,
)
from privacygauge.leaderboards.history.record import History
from privacygauge.leaderboards.history.replay import Replay, replay
from privacygauge.leaderboards.mechanism import Guard
from privacygauge.leaderboards.metrics import Metric, metric_named

N, QUERIES, TEAMS, EACH = 1_000, 200, 8, 20
GUARD = root_ladder(N)
MODELS = ("top-2", "flips")
"""Attacks around a model, which the names of the others do not cover."""

Rows = NDArray[np.integer]


def finds(history: History, rng: np.random.Generator) -> tuple[bool, bool]:
    """Return whether the audit has a finding at the level 0.95, and whether that or a hint."""
    found = inspect(history, rng)
    loud = stands_out(found.evidence)
    quiet = (
        stands_out([one for one in found.undecided if one.detector is detector])
        for detector in UNDECIDED
    )
    return loud, loud or any(quiet)


def stands_out(tests: Sequence[Evidence]) -> bool:
    """Return whether one of the tests is below .05: Holm's first step."""
    return bool(tests) and min(test.p_value for test in tests) * len(tests) <= 0.05


def scores_alone(history: History) -> History:
    """Return a history without answers and labels."""
    return replace(history, answers=None, labels=None)


def sent(name: str, guard: Guard | None, world: World, rng: np.random.Generator) -> Rows:
    """Return what an attack submits, its final answer last."""
    if name in MODELS:
        return attack_submissions(world, name, QUERIES, rng)
    return analyst_rows(world, ATTACKS[name].make(None), QUERIES, rng, guard)


def attacked(name: str, i: int, guard: Guard | None = None) -> History:
    """Return the i-th history with an attack, whose submitter sees the guard's answers."""
    rng = stream(i, "power", name)
    world = World.drawn(N, int(rng.choice([2, 10])), rng)
    works = honest_work(world, rng, TEAMS, EACH, HABITS)
    works.append(AccountSubmissions("attacker-0", sent(name, guard, world, rng)))
    return mix_works(world, works, rng, turns=1)


def answered(history: History) -> History:
    """Return a log of the guard's answers alone."""
    found = replay(history, GUARD, np.random.default_rng(0))
    assert isinstance(found, Replay)
    return replace(scores_alone(history), scores=found.shown, guard=GUARD.name)


def rate(hits: list[bool]) -> str:
    """Return a share with its exact interval, in percent."""
    low, high = clopper_pearson(sum(hits), len(hits))
    return f"{sum(hits)} of {len(hits)} ({100 * low:.1f} to {100 * high:.1f}%)"


def row(name: str, n: int) -> str:
    """Return the rates of one attack: a platform's log whole and bare, then a server's three.

    Histories with a finding, and how many have that or are worth a look.
    """
    guard = None if name in MODELS else GUARD
    forms: list[tuple[Guard | None, Callable[[History], History]]] = [
        (None, lambda history: history),
        (None, scores_alone),
        (guard, lambda history: history),
        (guard, scores_alone),
        (guard, answered),
    ]
    hits: list[list[tuple[bool, bool]]] = [[] for _ in forms]
    for i in range(n):
        made = {each: attacked(name, i, each) for each in dict.fromkeys((None, guard))}
        for found, (by, form) in zip(hits, forms, strict=True):
            found.append(finds(form(made[by]), stream(i, "points")))
    cells = [
        f"{rate([loud for loud, _ in found])}, {sum(either for _, either in found)}"
        for found in hits
    ]
    return " | ".join([name, *cells])


def honest_rows(n: int) -> None:
    """Print how many honest histories have a finding, and how many that or are worth a look."""
    kinds: dict[str, Callable[[int], History]] = {
        "with answers and labels": lambda i: varied_history(stream(i, "honest histories")),
        "scores alone": lambda i: scores_alone(varied_history(stream(i, "honest histories"))),
        "guard's answers": lambda i: answered(varied_history(stream(i, "honest histories"))),
        "contests that have ended": lambda i: contest_history(stream(i, "contests")),
        "contests, teams overfitted": overfitted_contest,
    }
    for kind, made in kinds.items():
        few = n if "overfitted" not in kind else max(1, n // 10)
        found = [examine_history(made(i), (), 0, 0.95) for i in range(few)]
        # Hints are given of accounts that are in no finding.
        hits = [bool(one.findings) for one in found]
        looks = [bool(one.findings or one.hints) for one in found]
        print("|", kind, "|", rate(hits), "|", rate(looks), "|", flush=True)


def overfitted_contest(i: int) -> History:
    """Return a contest in which one team climbed."""
    return contest_history(stream(i, "climbers"), overfitted=1)


METRICS = ("accuracy", "auc", "logloss:15", "rmse:-15:15")
SITUATIONS = {
    "honest": (0.0, ()),
    "honest, private part harder": (0.3, ()),
    "all labels known to one": (0.0, (1.0,)),
    "90% of the labels known to one": (0.0, (0.9,)),
    "70% of the labels known to one": (0.0, (0.7,)),
    "55, 80 and 93% known to three": (0.0, (0.55, 0.8, 0.93)),
    "100 random submissions": (0.0, (0.0,)),
}
"""What is added to the errors of models on the private part, and the shares of labels known."""


def scored(metric: Metric, truth: Rows, value: NDArray[np.float64]) -> float:
    """Return the score, higher is better, of values around the truth, 0 and 1."""
    name = metric.name.partition(":")[0]
    if name == "accuracy":
        return float(((value > 0.5) == truth).mean())
    if name == "logloss":
        one = np.clip(value, 0.02, 0.98)
        value = np.column_stack([1 - one, one])
    elif name == "rmse":
        return float(metric.score(np.clip(value, -15, 15), truth.astype(float)))
    return float(metric.score(value, truth))


def history_of(
    works: Sequence[tuple[str, Sequence[NDArray[np.float64]]]],
    truth: Rows,
    score: Callable[[Rows, NDArray[np.float64]], float],
    rng: np.random.Generator,
    **known: Any,
) -> History:
    """Return the history of accounts' files, the first 1,000 points being the public ones.

    An account's files keep their order; the times of all are drawn. `known` is what else is known
    of the history, by the names of its fields.
    """
    rows = [
        (at, account, score(truth[:1_000], value[:1_000]), score(truth[1_000:], value[1_000:]))
        for account, values in works
        for at, value in zip(np.sort(rng.random(len(values))), values, strict=True)
    ]
    rows.sort(key=lambda row: row[0])
    return History(
        tuple(row[1] for row in rows),
        np.array([row[2] for row in rows]),
        1_000,
        private=np.array([row[3] for row in rows]),
        n_private=2_000,
        **known,
    )


def by_metric(name: str, situation: str, i: int) -> History:
    """Return ten teams of twelve models that get better, on 1,000 public and 2,000 private points.

    A quarter of the points are positive. Who knows labels has them in the place of an own model's.
    """
    harder, known = SITUATIONS[situation]
    rng = stream(i, "metrics", name, situation)
    metric = metric_named(name)
    truth = (rng.random(3_000) < 0.25).astype(np.int64)
    public = np.arange(3_000) < 1_000
    shared = rng.normal(size=3_000)
    works: list[tuple[str, list[NDArray[np.float64]]]] = []
    for team in range(10 + len(known)):
        own = rng.normal(size=3_000)
        sizes = np.linspace(0.7, 0.5, 12) * rng.uniform(0.9, 1.1)
        models = [
            truth + size * (1 + harder * ~public) * (0.7 * shared + 0.6 * own
            + 0.4 * rng.normal(size=3_000))
            for size in sizes
        ]  # fmt: skip
        if team < 10:
            works.append((f"team-{team}", models))
        elif known == (0.0,):
            works.append(("cheat", [rng.random(3_000) for _ in range(100)]))
        else:
            share = known[team - 10]
            told = np.where(rng.random(3_000) < share, truth, models[-1])
            works.append((f"cheat-{team}", [*models[:2], told]))
    n_classes = 2 if name in ("accuracy", "auc") else None
    n_smaller = int(truth[public].sum()) if name == "auc" else None
    known_of = {"metric": name, "n_classes": n_classes, "n_smaller": n_smaller}
    return history_of(works, truth, functools.partial(scored, metric), rng, **known_of)


def metric_rows(n: int) -> None:
    """Print for each metric how often somebody stands out, and how often is worth a look."""
    for situation in SITUATIONS:
        cells = [situation]
        for name in METRICS:
            found = [examine_history(by_metric(name, situation, i), (), 0, 0.95) for i in range(n)]
            loud = sum(bool(one.findings) for one in found)
            either = sum(bool(one.findings or one.hints) for one in found)
            cells.append(f"{loud}, {either}")
        print("|", " | ".join(cells), "|", flush=True)


SKILLS = (0.52, 0.6, 0.75, 0.9, 0.99)
"""Accuracies of the models whose errors are compared."""
HARDER = (0.0, 0.02, 0.05)
"""Points of accuracy by which the private part is harder."""


def by_skill(name: str, skill: float, harder: float, cheat: str, i: int) -> History:
    """Return ten teams of twelve models that get better around a skill, and perhaps a cheat.

    Half of 1,000 public and 2,000 private points are positive. A model sees the class through
    noise; its file has the class, the noisy value, or the probability that follows from it. A cheat
    has all labels in its last file, or sends 200 random files and then their average, weighted by
    their scores.
    """
    rng = stream(i, "skills", name, str(skill), str(harder), cheat)
    metric = metric_named(name)
    truth = rng.integers(0, 2, 3_000)
    public = np.arange(3_000) < 1_000
    shared = rng.normal(size=3_000)
    levels = np.where(public, skill, max(0.501, skill - harder))
    works: list[tuple[str, list[NDArray[np.float64]]]] = []
    for team in range(10):
        own = rng.normal(size=3_000)
        wide = 0.5 / ndtri(levels) * rng.uniform(0.9, 1.1)
        models = []
        for growth in np.linspace(1.2, 1.0, 12):
            noise = 0.7 * shared + 0.6 * own + 0.4 * rng.normal(size=3_000)
            models.append(_file(name, truth + growth * wide * noise, growth * wide))
        if team == 0 and cheat == "labels":
            models[-1] = _file(name, truth.astype(np.float64), np.full(3_000, 0.1))
        works.append((f"team-{team}", models))
    if cheat == "average":
        files = [rng.random(3_000) for _ in range(200)]
        scores = np.array([_score_of(metric, truth[public], file[public]) for file in files])
        weights = scores - scores.mean()
        vote = weights @ np.stack(files)
        files.append((vote > np.median(vote)).astype(np.float64))
        works.append(("averager", files))
    # Errors of numbers have no classes.
    n_classes = None if metric.numbers else 2
    smaller = int(min(truth[public].sum(), 1_000 - truth[public].sum()))
    n_smaller = smaller if name == "auc" else None
    known_of = {"metric": name, "n_classes": n_classes, "n_smaller": n_smaller}
    return history_of(works, truth, functools.partial(_score_of, metric), rng, **known_of)


def _file(name: str, value: NDArray[np.float64], wide: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a model sends: the probability of class 1, or for areas the value itself."""
    if name == "auc":
        return value
    return expit(np.clip((value - 0.5) / wide**2, -30, 30))


def _score_of(metric: Metric, truth: Rows, value: NDArray[np.float64]) -> float:
    """Return the score, higher is better, of probabilities, or for areas of any value."""
    kind = metric.name.partition(":")[0]
    if metric.form == "i":
        return float(metric.score((value > 0.5).astype(np.int64), truth))
    if kind in ("logloss", "brier"):
        one = np.clip(value, 0.001, 0.999)
        return float(metric.score(np.column_stack([1 - one, one]), truth))
    if kind == "auc":
        return float(metric.score(value, truth))
    return float(metric.score(np.clip(value, 0, 1), truth.astype(np.float64)))


def skill_rows(n: int, first: int = 0) -> None:
    """Print for each metric and skill how often somebody stands out, and how often is a hint.

    The histories are those from `first` on: the tests' constants were chosen on 0 to 99.
    """
    metrics = ("accuracy", "balanced-accuracy", "f1", "auc", "brier", "logloss:15", "rmse:0:1",
               "mae:0:1")  # fmt: skip
    cells = [("none", harder) for harder in HARDER] + [("labels", 0.0), ("average", 0.0)]
    for name in metrics:
        for skill in SKILLS:
            shown = [f"{name}, {skill:.0%}"]
            for cheat, harder in cells:
                loud, either = 0, 0
                for i in range(first, first + n):
                    found = examine_history(by_skill(name, skill, harder, cheat, i), (), 0, 0.95)
                    named = {x for hint in found.hints for x in hint.accounts}
                    loud += bool(found.findings)
                    # Whoever is named beside the cheat is a false alarm, counted in the honest
                    # cells.
                    who = {"labels": "team-0", "average": "averager"}.get(cheat)
                    seen = named | set(found.suspects)
                    either += bool(seen) if who is None else who in seen
                shown.append(f"{loud}, {either}")
            print("|", " | ".join(shown), "|", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few histories")
    parser.add_argument("--only", help="honest, metrics, skills, or names of attacks as a,b")
    parser.add_argument(
        "--first", type=int, default=0, help="number of the first history of skills"
    )
    asked = parser.parse_args()
    names = (
        ["honest", "metrics", *ATTACKS, *MODELS] if asked.only is None else asked.only.split(",")
    )
    for name in names:
        if name == "honest":
            honest_rows(25 if asked.quick else 500)
        elif name == "metrics":
            metric_rows(5 if asked.quick else 100)
        elif name == "skills":
            skill_rows(5 if asked.quick else 100, asked.first)
        else:
            print("|", row(name, 3 if asked.quick else 24), "|", flush=True)


if __name__ == "__main__":
    main()
