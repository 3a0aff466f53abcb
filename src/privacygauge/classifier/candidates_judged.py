"""Results of attacks in the candidate-set game, record by record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from privacygauge.classifier.candidates import CandidateRound
from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack
from privacygauge.evaluate.direction import InvertedAttack, inverted_attacks
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import AttackReach, best_supported
from privacygauge.evaluate.per_target import Correlation, PerTarget, per_target
from privacygauge.evaluate.playing import audit, furthest_attack, played_of, telling
from privacygauge.evaluate.rates import mean
from privacygauge.evaluate.simultaneous import simultaneous_level


@dataclass(frozen=True, eq=False, repr=False)
class JudgedCandidates:
    """Accuracy of attacks, over all guesses and record by record."""

    evaluations: tuple[Evaluation, ...]
    """One per attack, over all guesses; intervals allow for the repeated targets."""
    best: Evaluation
    """The strongest attack."""
    accuracy: Estimate
    """Its balanced accuracy; the interval allows for the choice among all attacks."""
    auc: Estimate
    """Area under its ROC curve; the interval allows for the choice among all attacks."""
    per_target: Mapping[str, PerTarget]
    """Attack title to the right guesses on each target."""
    targets: Ints
    """(t,) Rows of the attacked records."""
    measured: Floats | None
    """(measurements, t) PDTP of each target in each of the first iterations, where measured."""
    correlations: Mapping[str, Correlation | Skipped]
    """Attack title to the correlation of per-target accuracy with PDTP; empty without PDTP."""
    train_accuracy: Estimate
    """Mean accuracy of the target models on their training halves."""
    test_accuracy: Estimate
    """Mean accuracy of the target models on the other halves."""
    inverted: tuple[InvertedAttack, ...] = ()
    """Attacks that separate the sides in the wrong direction, corrected for their number."""

    @property
    def reached(self) -> AttackReach:
        """How far the attack goes, by the better of its guesses and its ranking."""
        return best_supported(self.accuracy, self.auc)

    @property
    def pdtp(self) -> Floats | None:
        """(t,) Mean PDTP of each target, if it was measured."""
        return None if self.measured is None else np.asarray(self.measured.mean(axis=0))

    @property
    def mean_pdtp(self) -> Estimate | None:
        """The mean PDTP over the targets."""
        pdtp = self.pdtp
        return None if pdtp is None else mean(pdtp, self.accuracy.level, unit="targets")


def judge_candidates(
    dealt: CandidateRound, suite: Sequence[Attack], targets: Ints, seed: int, level: float
) -> tuple[JudgedCandidates, list[Skipped]]:
    """Return the results of a suite of attacks on the targets, and the skipped attacks."""
    results = telling(audit([dealt.round], suite, seed=seed, level=level))
    played = played_of(results, "give at least one that fits the candidate-set game")
    found = {evaluation.title: per_target(p.decisions) for p, evaluation in played}
    pdtp = dealt.pdtp
    correlations = (
        {}
        if pdtp is None
        else {title: accuracy.correlation_with(pdtp, level) for title, accuracy in found.items()}
    )
    each = simultaneous_level([(p, e.roc) for p, e in played], level)
    best, accuracy, area = furthest_attack(played, level, each)
    judged = JudgedCandidates(
        tuple(evaluation for _, evaluation in played),
        best=best,
        accuracy=accuracy,
        auc=area,
        per_target=MappingProxyType(found),
        targets=targets,
        measured=None if dealt.measured is None else checks.frozen(dealt.measured),
        correlations=MappingProxyType(correlations),
        train_accuracy=mean(dealt.train_accuracy, level, unit="target models"),
        test_accuracy=mean(dealt.test_accuracy, level, unit="target models"),
        inverted=inverted_attacks([(e.title, p.transcript) for p, e in played], level),
    )
    return judged, [result for result in results if isinstance(result, Skipped)]
