"""Bounds on the gain from submissions to a test set: attacks, honest selection, guarantees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.core import seeds
from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.holdout import bounds as theory
from privacygauge.holdout.analysts import trials, uniform_holdout
from privacygauge.holdout.closed_form import count_per_label, is_normal_enough
from privacygauge.holdout.gained import (
    ATTACK,
    AllowedSubmissions,
    Bias,
    BiasCurve,
    ReuseQuestion,
    attack_rows,
    bias_curves,
    guarantee_rows,
    submissions_for_bias,
)
from privacygauge.holdout.naive_bayes import NaiveBayes

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class ReuseBounds:
    """Bounds on the gain from submissions to a test set."""

    n: int
    """Points of the test set."""
    classes: int
    """Classes, m."""
    accounts: int
    """Accounts that submit."""
    per_account: int
    """Submissions of each account."""
    guard: str
    """Guard between the accuracy and the analyst, as on the command line."""
    accuracy: float
    """True accuracy of honest submissions."""
    correlation: float
    """Correlation of the errors of two honest submissions."""
    allowed_bias: float
    """Largest bias that the owner of the test set accepts."""
    nats: float
    """Logarithm of the number of transcripts that the guard can produce."""
    biases: tuple[Bias, ...]
    """Every number, one per row."""
    simulated: Estimate | None
    """Bias of naive Bayes, played against the guard on uniform labels; None if not simulated."""
    allowed: tuple[AllowedSubmissions, ...]
    """Limits on submissions that keep the bias within the allowed one."""
    per_label: float
    """Draws per label, at a point and in a query: the smaller of k/m and n/m."""
    trusted: bool
    """Whether that is enough for the closed forms."""
    reconstruction: int | None
    """Random queries that determine every label in theory; None if the theorem does not apply."""
    curves: tuple[BiasCurve, ...]
    """Bias against submissions."""

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
        """The attack with the largest gain among those that apply; None if none does."""
        known = [found for found in self.biases if found.kind == ATTACK and found.applies]
        if self.simulated is not None:
            name = "naive Bayes, simulated"
            told = "played on uniform labels"
            known.append(
                Bias(
                    key="nb_simulated",
                    title=name,
                    kind=ATTACK,
                    value=self.simulated.value,
                    assumption=told,
                )
            )
        return max(known, key=lambda found: found.value, default=None)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for every number.

        Columns: ``name``, ``kind``, ``value``, ``applies``, ``assumption``. Values are biases above
        1/m (``honest_best_of_k``: above the true accuracy), except for rates.
        """
        import pandas as pd

        columns = ["key", "kind", "value", "applies", "assumption"]
        return pd.DataFrame(self.biases)[columns].rename(columns={"key": "name"})


def bound_reuse(a: ReuseQuestion, simulate: int, seed: int) -> ReuseBounds:
    """Bound the gain from the submissions that are asked about.

    Naive Bayes is played `simulate` times, at least 2, or not at all: 0.
    """
    if simulate and simulate < 2:
        raise InputError(f"simulate must be 0 or at least 2, got {simulate}")
    accounts = a.accounts or 1
    told = a.m >= 3 and a.n > 4 * a.m
    nats = theory.transcript_nats(a.guard, a.k, a.n, a.m, accounts=a.accounts)
    biases = (*attack_rows(a), *guarantee_rows(a))
    simulated = None
    if simulate:
        rngs = [seeds.stream(seed, "bound", a.guard.name, i) for i in range(simulate)]
        played = trials(
            NaiveBayes(), lambda rng: uniform_holdout(a.n, a.m, rng), a.k, rngs, guard=a.guard
        )
        simulated = played.bias(a.probability)
    return ReuseBounds(
        a.n,
        classes=a.m,
        accounts=accounts,
        per_account=a.k // accounts,
        guard=a.guard.name,
        accuracy=a.accuracy,
        correlation=a.correlation,
        allowed_bias=a.bias,
        nats=nats,
        biases=biases,
        simulated=simulated,
        allowed=tuple(submissions_for_bias(a)),
        per_label=count_per_label(a.n, a.m, a.k),
        trusted=is_normal_enough(a.n, a.m, a.k),
        reconstruction=theory.reconstruction_queries(a.n, a.m) if told else None,
        curves=bias_curves(a),
    )
