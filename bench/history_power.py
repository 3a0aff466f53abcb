"""How often the audit of a leaderboard's history finds something: honest histories, and attacks.

Honest histories differ in points, classes, teams and submissions, and honest contests have private
scores too. Each attack of the project makes 200 queries on 1,000 points of 2 or 10 classes, from
one account among eight honest teams; the last two know a model. A server's log is made behind its
default guard, whose answers the attack sees.

    python bench/history_power.py                       the tables of docs/leaderboard-history.md
    python bench/history_power.py --quick               the same from few histories
    python bench/history_power.py --only nb,designed    the rows of these attacks; or honest
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.seeds import stream
from privacygauge.evaluate.rates import clopper_pearson
from privacygauge.leaderboards.analysts import ATTACKS
from privacygauge.leaderboards.guards import root_ladder
from privacygauge.leaderboards.history.findings import inspect
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

N, QUERIES, TEAMS, EACH = 1_000, 200, 8, 20
GUARD = root_ladder(N)
MODELS = ("top-2", "flips")
"""Attacks around a model, which the names of the others do not cover."""

Rows = NDArray[np.integer]


def finds(history: History, rng: np.random.Generator) -> bool:
    """Return whether the audit has a finding at the level 0.95: Holm's first step."""
    found = inspect(history, rng).evidence
    return bool(found) and min(x.p_value for x in found) * len(found) <= 0.05


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
    """Return the rates of one attack: a platform's log whole and bare, then a server's three."""
    guard = None if name in MODELS else GUARD
    forms: list[tuple[Guard | None, Callable[[History], History]]] = [
        (None, lambda history: history),
        (None, scores_alone),
        (guard, lambda history: history),
        (guard, scores_alone),
        (guard, answered),
    ]
    hits: list[list[bool]] = [[] for _ in forms]
    for i in range(n):
        made = {each: attacked(name, i, each) for each in dict.fromkeys((None, guard))}
        for found, (by, form) in zip(hits, forms, strict=True):
            found.append(finds(form(made[by]), stream(i, "points")))
    return " | ".join([name, *map(rate, hits)])


def honest_rows(n: int) -> None:
    """Print how many honest histories have a finding."""
    kinds: dict[str, Callable[[int], History]] = {
        "with answers and labels": lambda i: varied_history(stream(i, "honest histories")),
        "scores alone": lambda i: scores_alone(varied_history(stream(i, "honest histories"))),
        "guard's answers": lambda i: answered(varied_history(stream(i, "honest histories"))),
        "contests that have ended": lambda i: contest_history(stream(i, "contests")),
        "contests, teams overfitted": overfitted_contest,
    }
    for kind, made in kinds.items():
        few = n if "overfitted" not in kind else max(1, n // 10)
        hits = [finds(made(i), stream(i, "points")) for i in range(few)]
        print("|", kind, "|", rate(hits), "|", flush=True)


def overfitted_contest(i: int) -> History:
    """Return a contest in which one team climbed."""
    return contest_history(stream(i, "climbers"), overfitted=1)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few histories")
    parser.add_argument("--only", help="honest, or names of attacks as a,b")
    asked = parser.parse_args()
    names = ["honest", *ATTACKS, *MODELS] if asked.only is None else asked.only.split(",")
    for name in names:
        if name == "honest":
            honest_rows(25 if asked.quick else 500)
        else:
            print("|", row(name, 3 if asked.quick else 24), "|", flush=True)


if __name__ == "__main__":
    main()
