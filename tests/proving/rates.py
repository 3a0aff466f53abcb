"""How often worlds fail: exact intervals, overall and for each value of each factor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from scipy.stats import beta, binom

from tests.proving.games import Outcome
from tests.proving.world import Grammar


@dataclass(frozen=True)
class Rate:
    """Failures among the games that could fail."""

    failures: int
    games: int

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the Clopper-Pearson interval of the rate."""
        tail = (1 - level) / 2
        low = 0.0
        high = 1.0
        if self.failures:
            low = float(beta.ppf(tail, self.failures, self.games - self.failures + 1))
        if self.failures < self.games:
            high = float(beta.ppf(1 - tail, self.failures + 1, self.games - self.failures))
        return low, high

    def beyond(self, rate: float) -> float:
        """Return the probability of so many failures or more at the rate."""
        return float(binom.sf(self.failures - 1, self.games, rate)) if self.games else 1.0

    def __str__(self) -> str:
        if not self.games:
            return "none of 0"
        low, high = self.interval()
        share = self.failures / self.games
        return f"{self.failures} of {self.games}: {share:.1%} ({low:.1%} to {high:.1%})"


def rate(outcomes: Iterable[Outcome], kind: str) -> Rate:
    """Return how often games fail in one way, of those that can."""
    could = [outcome for outcome in outcomes if outcome.could(kind)]
    return Rate(sum(outcome.fails(kind) for outcome in could), len(could))


def by_value(
    outcomes: Sequence[Outcome], kind: str, grammar: Grammar
) -> Iterator[tuple[str, str, Rate]]:
    """Yield factor, value and rate for every value of every factor."""
    for factor in grammar.factors:
        groups: dict[str, list[Outcome]] = {value: [] for value in factor.values}
        for outcome in outcomes:
            groups[outcome.world.choices.get(factor.name, factor.plain)].append(outcome)
        for value, group in groups.items():
            yield factor.name, value, rate(group, kind)


def table(outcomes: Sequence[Outcome], kinds: Sequence[str], grammar: Grammar) -> list[str]:
    """Return Markdown lines: the rates overall and for each value, with exact 95% intervals."""
    lines = [f"{len(outcomes):,} worlds of {grammar.name}, {len(grammar.factors)} factors.", ""]
    lines += ["| failure | rate (95%) |", "|---|---|"]
    lines += [f"| {kind} | {rate(outcomes, kind)} |" for kind in kinds]
    shown = [kind for kind in kinds if rate(outcomes, kind).failures]
    if not shown:
        return lines
    lines += ["", f"| factor | value | {' | '.join(shown)} |", "|---" * (2 + len(shown)) + "|"]
    columns = [list(by_value(outcomes, kind, grammar)) for kind in shown]
    for row in zip(*columns, strict=True):
        name, value, _ = row[0]
        lines.append(f"| {name} | {value} | {' | '.join(str(found) for _, _, found in row)} |")
    return lines
