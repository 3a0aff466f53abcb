"""What was found out about a test set that is used again and again, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped

ATTACK, HONEST, GUARANTEE, RATE = KINDS = ("attack", "honest selection", "guarantee", "rate")
"""What a number of `BoundFindings` can be."""


@dataclass(frozen=True)
class Bias:
    """One number about what submissions buy."""

    key: str
    """Its name in ``report.json``, such as ``nb``."""
    title: str
    """Its name for a reader."""
    kind: str
    """One of `KINDS`."""
    value: float
    """A bias: accuracy above 1/m, of honest selection above the true accuracy; of a rate, no
    bias: no constant is known."""
    assumption: str
    """What it takes for granted, in a line."""
    applies: bool = True
    """Whether the assumption holds for this test set and this guard."""


@dataclass(frozen=True)
class Allowed:
    """The question turned round: what keeps the bias small."""

    key: str
    """Its name in ``report.json``."""
    title: str
    """Against what, for a reader."""
    submissions: int | None
    """With so many points, so many submissions; None where nothing is known."""
    points: int | None
    """With so many submissions, so many points; None where nothing is known, or over 10^12."""
    assumption: str
    """What it takes for granted, in a line."""


@dataclass(frozen=True, eq=False)
class BiasCurve:
    """Bias against submissions."""

    key: str
    """As in `Bias`."""
    title: str
    """As in `Bias`."""
    queries: Ints
    """(p,) Submissions, ascending."""
    bias: Floats
    """(p,) Bias after so many."""


@dataclass(frozen=True, eq=False)
class BoundFindings:
    """What submissions to a test set can buy, in theory."""

    command: str
    """The command or call that made it."""
    version: str
    """PrivacyGauge's version."""
    seed: int
    """What every random draw derives from; nothing is drawn unless attacks were simulated."""
    level: float
    """How often, at least, a guarantee holds; and of every interval."""
    n: int
    """Points of the test set."""
    classes: int
    """Classes, m."""
    accounts: int
    """Accounts that submit."""
    per_account: int
    """Submissions of each."""
    guard: str
    """What stands between the accuracy and the analyst, as on the command line."""
    accuracy: float
    """True accuracy of honest submissions."""
    correlation: float
    """Between the errors of two honest submissions."""
    allowed_bias: float
    """What the owner of the test set can live with."""
    nats: float
    """Logarithm of the number of transcripts that the guard can produce."""
    biases: tuple[Bias, ...]
    """Every number, one a row."""
    simulated: Estimate | None
    """Bias of naive Bayes, played against the guard on uniform labels; None where not asked for."""
    allowed: tuple[Allowed, ...]
    """The question turned round."""
    per_label: float
    """How often a label is drawn, at a point and in a query: the smaller of k/m and n/m."""
    trusted: bool
    """Whether that is enough for the closed forms."""
    reconstruction: int | None
    """Random queries that determine every label in theory; None where the theorem is silent."""
    curves: tuple[BiasCurve, ...]
    """Bias against submissions."""
    skipped: tuple[Skipped, ...]
    """What was not done, and why."""
    warnings: tuple[str, ...]
    """What may mislead."""
    provenance: Mapping[str, str]
    """Versions, platform."""

    @property
    def queries(self) -> int:
        """Submissions of all accounts together, k."""
        return self.accounts * self.per_account

    @property
    def chance(self) -> float:
        """The accuracy of a guess, 1/m."""
        return 1 / self.classes

    def bias(self, key: str) -> Bias:
        """Return the number of this name."""
        return next(found for found in self.biases if found.key == key)

    @property
    def strongest(self) -> Bias | None:
        """The attack that gains most of those known to apply; None where none is."""
        known = [found for found in self.biases if found.kind == ATTACK and found.applies]
        if self.simulated is not None:
            name, told = "naive Bayes, simulated", "played on uniform labels"
            known.append(Bias("nb_simulated", name, ATTACK, self.simulated.value, told))
        return max(known, key=lambda found: found.value, default=None)


@dataclass(frozen=True)
class Result:
    """What one attack came to behind one guard."""

    attack: str
    """The attack's name on the command line."""
    guard: str
    """The guard's."""
    needs_points: bool
    """Whether it must see the test points, or at least tell one from another."""
    informed: bool
    """Whether it started from what a base model, or the classes' shares, tell."""
    accuracy: Estimate
    """Of the final answer, over trials."""
    baseline: float
    """Accuracy of what it knew before: the base model's, or 1/m."""
    bias: Estimate
    """Accuracy above the baseline, over trials."""
    corrected: Estimate
    """The same; the intervals of all results hold together (Bonferroni)."""
    queries_used: float
    """Submissions answered, on average."""
    expected: float | None
    """The bias that theory expects on uniform labels; None where it is silent."""


@dataclass(frozen=True)
class Guarded:
    """What is known of a guard without any attack."""

    guard: str
    """Its name on the command line."""
    kl: float
    """No attack gains more on uniform labels, but with a probability of 1 - level."""
    error: float
    """Standard deviation of an answer around the accuracy."""


@dataclass(frozen=True, eq=False)
class AttackFindings:
    """What attacks made of a test set's own labels."""

    command: str
    """The command or call that made it."""
    version: str
    """PrivacyGauge's version."""
    seed: int
    """What every random draw derives from."""
    level: float
    """Of every interval."""
    n: int
    """Points of the test set."""
    classes: int
    """Classes, m."""
    queries: int
    """Submissions that each attack may make, k."""
    trials: int
    """Independent plays of each attack against each guard."""
    knowledge: str
    """What the attacker knew before, in words."""
    largest_class: float
    """Share of the most frequent label."""
    model_accuracy: float | None
    """Accuracy of the base model; None without one."""
    results: tuple[Result, ...]
    """One an attack and a guard, attacks in the order of the table."""
    guards: tuple[Guarded, ...]
    """One a guard."""
    honest: float
    """Expected bias of the best of k honest submissions, at most."""
    honest_accuracy: float
    """Their true accuracy."""
    skipped: tuple[Skipped, ...]
    """What was not done, and why."""
    warnings: tuple[str, ...]
    """What may mislead."""
    provenance: Mapping[str, str]
    """Versions, hashes of the inputs, platform."""

    @property
    def worst(self) -> Result:
        """The attack that ends furthest, and the guard that let it."""
        return max(self.results, key=_reach)

    @property
    def attacks(self) -> tuple[str, ...]:
        """The attacks that were played, in their order."""
        return tuple(dict.fromkeys(r.attack for r in self.results))

    def of(self, attack: str, guard: str) -> Result:
        """Return what an attack came to behind a guard."""
        return next(r for r in self.results if (r.attack, r.guard) == (attack, guard))

    def worst_behind(self, guard: str) -> Result:
        """Return the result of the attack that ends furthest behind a guard."""
        return max((r for r in self.results if r.guard == guard), key=_reach)


def _reach(r: Result) -> tuple[float, float]:
    # By the accuracy at the end, not by the bias: an attack that throws a good model away and
    # starts from a guess gains more and has less.
    return r.baseline + r.corrected.low, r.accuracy.value
