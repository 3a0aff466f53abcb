"""What guards do to an honest contest, and what attackers with many accounts get out of them.

The contests: teams of true accuracy N(0.80, 0.04) at first, who gain an exponential 0.03 on
average, most of it early, with submissions that come out better or worse by 0.004; in a close
contest 0.01, 0.01 and 0.002. Errors are those of a Gaussian copula: 30% of what decides about a
point is its own difficulty, 55% the team's way of seeing it, 15% belongs to the submission. Truth
is the largest true accuracy of a team's submissions. A team has a score where an answer was about
a submission of its own.

The attacks: those of the project, on uniform labels of two classes, from accounts that take
turns; and naive Bayes that asks each account once, which a Ladder answers exactly.

Metrics: naive Bayes on each, by one account that knows how frequent every hidden value is. Hidden
are three classes of 40%, 35% and 25%, for F1 and AUC two, 30% positive, and for errors uniform
numbers in [0, 1].

    python bench/leaderboard_guards.py             the tables of docs/guards.md, and the
                                                   first of docs/attacks-on-metrics.md
    python bench/leaderboard_guards.py --quick     the same from few contests
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import ndtri
from scipy.stats import spearmanr

from privacygauge.core.seeds import stream
from privacygauge.evaluate.rates import mean
from privacygauge.leaderboards.analysts import ATTACKS, play, uniform_holdout
from privacygauge.leaderboards.bounds import frequency_bias, guarantee, transcript_nats
from privacygauge.leaderboards.guards import guard_for as guard_of_metric
from privacygauge.leaderboards.guards import guard_named, root_ladder
from privacygauge.leaderboards.honest import default_guard_of, honest_submission
from privacygauge.leaderboards.mechanism import Guard, GuardState, MarkedSubmission
from privacygauge.leaderboards.metrics import Metric, metric_bias, metric_named
from privacygauge.leaderboards.naive_bayes import LinearBayes
from privacygauge.leaderboards.names import METRICS
from privacygauge.leaderboards.oracle import Holdout

N, TEAMS, EACH = 10_000, 30, 20
DEFAULT = "default"
ROOT = "ladder:1/sqrt(n)"
GUARDS = (
    ("exact", "account"),
    ("round:2", "account"),
    ("noise:0.005", "account"),
    ("calibrated", "account"),
    ("ladder", "account"),
    (DEFAULT, "account"),
    (ROOT, "account"),
    ("ladder", "board"),
    (DEFAULT, "board"),
)
"""Guards, and whose submissions they remember together."""
CONTESTS = {"wide": (0.04, 0.03, 0.004), "close": (0.01, 0.01, 0.002)}
"""How far apart teams begin, what they gain, and how far a submission comes out otherwise."""
POINTS, PLAYED = 2_000, (
    "nb", "majority", "scan", "hill-climbing", "designed", "message-passing"
)  # fmt: skip
"""Points of the attacked test set, and the attacks."""
_HALF = 1_000
"""Public points, and private ones, of contests in all metrics."""
_SKILLS = {"far apart": (0.55, 0.92), "close": (0.7, 0.8)}
"""Least and largest skill of a team, in its middle submission."""
_FEW_CLASSES = {"top:5": "top:2", "map@5": "map@2", "ndcg@5": "ndcg@2"}
OF_METRICS = ("exact", "calibrated", "noise:0.01", ROOT)
"""Guards before other metrics."""


@dataclass(frozen=True)
class Sent:
    """One submission of the contest."""

    team: int
    """Whose it is."""
    true: float
    """Its true accuracy."""
    marked: MarkedSubmission = field(repr=False)
    """It, beside the labels."""


def contest(
    rng: np.random.Generator, spread: tuple[float, float, float], n: int, teams: int, each: int
) -> Iterator[Sent]:
    """Return the submissions of a contest in the order in which they are made."""
    start = rng.normal(0.80, spread[0], teams)
    gain = rng.exponential(spread[1], teams)
    difficulty, views = rng.normal(size=n), rng.normal(size=(teams, n)).astype(np.float32)
    made = np.zeros(teams, np.int64)
    truth = np.zeros(n, np.int8)
    for team in rng.permutation(np.repeat(np.arange(teams), each)):
        rise = gain[team] * -np.expm1(-made[team] / 5)
        true = float(np.clip(start[team] + rise + rng.normal(0, spread[2]), 0.01, 0.99))
        made[team] += 1
        latent = np.sqrt(0.3) * difficulty + np.sqrt(0.55) * views[team]
        wrong = latent + np.sqrt(0.15) * rng.normal(size=n) > ndtri(true)
        labels = wrong.astype(np.int8)
        yield Sent(
            int(team), true, MarkedSubmission(int(n - wrong.sum()), n, 2, None, labels, truth)
        )


def guard_for(name: str, n: int) -> Guard:
    """Return the guard of a name, for n points."""
    if name == DEFAULT:
        return default_guard_of(uniform_holdout(n, 2, stream(0, "default")))
    return root_ladder(n) if name == ROOT else guard_named(name)


def judged(sent: list[Sent], guard: Guard, scope: str, teams: int) -> tuple[float, float, float]:
    """Return the share of teams with a score, of answers with news, and the rank correlation."""
    states: dict[int, GuardState] = {}
    scores, true, news = np.full(teams, -np.inf), np.zeros(teams), 0
    for each in sent:
        holder = each.team if scope == "account" else 0
        before = states.get(holder) or guard.start(b"contest")
        answer, after = guard.answer(each.marked, before)
        states[holder] = after
        true[each.team] = max(true[each.team], each.true)
        if after is before or after.spent > before.spent:
            news += 1
            scores[each.team] = max(scores[each.team], answer)
    scored = np.isfinite(scores)
    ranks = spearmanr(np.where(scored, scores, -1.0), true).statistic
    return float(scored.mean()), news / len(sent), float(ranks)


@dataclass(frozen=True)
class Turns:
    """A guard with a state for each of several accounts, which ask in turns."""

    guard: Guard
    accounts: int

    @property
    def name(self) -> str:
        return f"{self.guard.name} in turns"

    def start(self, key: bytes) -> GuardState:
        return _States(key, of=(self.guard.start(key),) * self.accounts)

    def answer(self, marked: MarkedSubmission, state: GuardState) -> tuple[float, GuardState]:
        assert isinstance(state, _States)
        i = state.asked % self.accounts
        answer, after = self.guard.answer(marked, state.of[i])
        of = (*state.of[:i], after, *state.of[i + 1 :])
        return answer, replace(state, asked=state.asked + 1, of=of)

    def error(self, n: int) -> float:
        return self.guard.error(n)

    def nats(self, k: int, n: int, n_classes: int, accounts: int | None = None) -> float:
        return self.guard.nats(k, n, n_classes, self.accounts)


@dataclass(frozen=True, eq=False)
class _States(GuardState):
    of: tuple[GuardState, ...] = ()


def leaks(guard: Guard, scope: str, accounts: int, games: int) -> dict[str, float]:
    """Return the mean bias of every attack from so many accounts of `EACH` submissions."""
    k = accounts * EACH
    asked = Turns(guard, accounts) if scope == "account" else guard
    found = {}
    for name in PLAYED:
        found[name] = _mean_bias(name, asked, k, games)
    # Each account's first answer alone: the rest of a Ladder's says hardly anything.
    found["nb, first answers"] = _mean_bias("nb", asked, min(k, accounts), games)
    return found


def _mean_bias(attack: str, guard: Guard, k: int, games: int) -> float:
    biases = []
    for game in range(games):
        rng = stream(0, "guards", attack, guard.name, k, game)
        holdout = uniform_holdout(POINTS, 2, rng)
        biases.append(play(ATTACKS[attack].make(None), holdout, k, rng, guard=guard).bias)
    return float(np.mean(biases))


def honest_table(games: int) -> list[list[str]]:
    """Return a row for each guard: means over contests, and where 90% of the ranks are."""
    rows = {guard: [f"`{guard[0]}`", guard[1]] for guard in GUARDS}
    for kind, spread in CONTESTS.items():
        found: dict[tuple[str, str], list[tuple[float, float, float]]] = {g: [] for g in GUARDS}
        for game in range(games):
            sent = list(contest(stream(0, "contest", kind, game), spread, N, TEAMS, EACH))
            for name, scope in GUARDS:
                found[name, scope].append(judged(sent, guard_for(name, N), scope, TEAMS))
        for guard, values in found.items():
            scored, news, ranks = np.array(values).T
            low, high = np.quantile(ranks, [0.05, 0.95])
            spread_of_ranks = f"{ranks.mean():.2f} ({low:.2f} to {high:.2f})"
            rows[guard] += [f"{scored.mean():.0%}", f"{news.mean():.0%}", spread_of_ranks]
    return list(rows.values())


def attack_table(games: int, numbers: tuple[int, ...]) -> list[list[str]]:
    """Return a row for each guard: the best attack's bias beside the bound, in points."""
    rows = []
    for name, scope in GUARDS:
        row = [f"`{name}` {guard_for(name, POINTS).name}", scope]
        for accounts in numbers:
            guard = guard_for(name, POINTS)
            found = leaks(guard, scope, accounts, games)
            best = max(found, key=found.__getitem__)
            whose = accounts if scope == "account" else None
            bound = guarantee(guard, POINTS, 2, accounts * EACH, accounts=whose)
            row.append(f"{100 * found[best]:.1f} ({best}), at most {100 * bound:.1f}")
        rows.append(row)
        print("|", " | ".join(row), "|", flush=True)
    return rows


def hidden_for(metric: Metric, n: int, rng: np.random.Generator) -> Holdout:
    """Return a test set that a metric is about."""
    if metric.numbers:
        return Holdout(rng.random(n), 0, metric)
    shares = [0.7, 0.3] if metric.name in ("f1", "auc") else [0.4, 0.35, 0.25]
    return Holdout(rng.choice(len(shares), n, p=shares), len(shares), metric)


def metric_table(games: int, k: int) -> list[list[str]]:
    """Return a row for each metric: points gained behind each guard, and at most, beside chance."""
    rows = []
    for name in (_FEW_CLASSES.get(each, each) for each in METRICS):
        metric, shown = metric_named(name), OF_METRICS
        gains: dict[str, list[float]] = {guard: [] for guard in shown}
        bounds: dict[str, list[float]] = {guard: [] for guard in shown}
        expected, chances = [], []
        for game in range(games):
            rng = stream(0, "metrics", name, game)
            holdout = hidden_for(metric, POINTS, rng)
            truth, told = holdout.labels, LinearBayes.told(holdout)
            chances.append(metric.chance(truth))
            expected.append(told.expected(truth, k, 0.0, rng) - chances[-1])
            for guard_name in shown:
                points = metric.points(truth)
                chosen = root_ladder(points) if guard_name == ROOT else guard_named(guard_name)
                guard = guard_of_metric(chosen, metric, truth)
                gains[guard_name].append(
                    play(told, holdout, k, rng, guard=guard).accuracy - chances[-1]
                )
                nats = transcript_nats(guard, k, POINTS, max(2, holdout.n_classes))
                bounds[guard_name].append(metric_bias(metric, truth, nats))
        row = [f"`{name}`", f"{100 * np.mean(chances):.1f}", f"{100 * np.mean(expected):.1f}"]
        for guard_name in shown:
            found = mean(np.array(gains[guard_name]), 0.95, unit="games")
            bound, most = np.mean(bounds[guard_name]), 1 - np.mean(chances)
            row.append(
                f"{100 * found.value:.1f} ({100 * found.low:.1f} to {100 * found.high:.1f}), "
                + (f"at most {100 * bound:.1f}" if bound < most - 1e-9 else "no limit")
            )
        rows.append(row)
        print("|", " | ".join(row), "|", flush=True)
    return rows


def rank_table(games: int) -> list[list[str]]:
    """Return a row for each metric: rank correlations of boards and results with the truth.

    Contests of 20 honest teams with 10 submissions each, on 1,000 public and 1,000 private points;
    the truth is a team's skill. Means over contests, and the least.
    """
    rows = []
    for name in METRICS:
        metric = metric_named(_FEW_CLASSES.get(name, name))
        row = [f"`{metric.name}`"]
        guard_name = ""
        for kind, (low, high) in _SKILLS.items():
            found = []
            for game in range(games):
                rng = stream(0, "ranks", kind, name, game)
                whole = hidden_for(metric, 2 * _HALF, rng)
                public, private = (
                    replace(whole, labels=whole.labels[part])
                    for part in (slice(_HALF), slice(_HALF, None))
                )
                guard = default_guard_of(public)
                guard_name = guard.name
                found.append(_ranks(whole, public, private, guard, np.linspace(low, high, 20), rng))
            for values in np.array(found).T:
                row.append(f"{values.mean():.2f} ({values.min():.2f})")
        rows.append([row[0], f"`{guard_name}`", *row[1:]])
        print("|", " | ".join(rows[-1]), "|", flush=True)
    return rows


def promise_table(plays: int, files: int = 20) -> None:
    """Print how many plays on skewed labels go beyond what the server promises of its guard.

    The attacker knows how frequent each class is, and asks 40 times. Labels of each file are drawn
    with shares of a Dirichlet distribution, and shuffled for each play.
    """
    for guard_name in ("exact", DEFAULT):
        beyond = []
        for file in range(files):
            rng = stream(0, "promises", file)
            n, m = int(rng.choice([200, 500, 1_000])), int(rng.choice([2, 3, 5, 10]))
            shares = rng.dirichlet(np.full(m, 0.5))
            labels = np.concatenate([np.arange(m), rng.choice(m, n - m, p=shares)])
            whole = Holdout(labels, m)
            guard = default_guard_of(whole) if guard_name == DEFAULT else guard_named(guard_name)
            chance = whole.metric.chance(labels)
            most = chance + frequency_bias(transcript_nats(guard, 40, n, m), n, chance)
            told = LinearBayes.told(whole)
            reached = [
                play(told, Holdout(rng.permutation(labels), m), 40, rng, guard=guard).accuracy
                for _ in range(plays)
            ]
            # A bound of 1 promises nothing.
            beyond.append(sum(x > most + 1e-9 for x in reached) if most < 1 else 0)
        print("|", guard_name, "|", f"{sum(beyond)} of {files * plays}", "|",
              f"most in a file: {max(beyond)} of {plays}", "|", flush=True)  # fmt: skip


def _ranks(
    whole: Holdout,
    public: Holdout,
    private: Holdout,
    guard: Guard,
    skills: np.ndarray,
    rng: np.random.Generator,
) -> tuple[float, float, float, float]:
    """Return the rank correlations with skill of the board, an exact board and the results.

    The last one is that of private scores of each team's best model, which nobody can choose.
    """
    difficulty = rng.normal(size=len(whole))
    shown, exact, final, known = (np.zeros(len(skills)) for _ in range(4))
    for team, skill in enumerate(skills):
        state = guard.start(rng.bytes(16))
        for progress in np.linspace(-0.05, 0.05, 10):
            sent = honest_submission(whole, skill + progress, difficulty, rng)
            marked = public.marked(sent[: len(public)])
            answer, state = guard.answer(marked, state)
            score = public.metric.score(marked.labels, public.labels)
            shown[team] = max(shown[team], answer)
            # Teams get better: the last submission is the best.
            known[team] = private.score(sent[len(public) :])
            if score >= exact[team]:
                exact[team] = score
                final[team] = known[team]
    return tuple(float(spearmanr(each, skills)[0]) for each in (shown, exact, final, known))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few contests and few attacks")
    tables = ["honest", "attacks", "metrics", "ranks", "promises"]
    parser.add_argument("--only", choices=tables, help="one table")
    asked = parser.parse_args()
    if asked.only in (None, "honest"):
        print("| guard | remembers | wide: with a score | with news | ranks | close: ... |")
        for row in honest_table(5 if asked.quick else 100):
            print("|", " | ".join(row), "|")
    if asked.only in (None, "attacks"):
        attack_table(3 if asked.quick else 10, (1, 30) if asked.quick else (1, 5, 30))
    if asked.only in (None, "metrics"):
        metric_table(2 if asked.quick else 20, 100)
    if asked.only in (None, "ranks"):
        print("| metric | guard | far apart: board | exact | results | best chosen | close: ... |")
        rank_table(3 if asked.quick else 20)
    if asked.only in (None, "promises"):
        promise_table(10 if asked.quick else 200)


if __name__ == "__main__":
    main()
