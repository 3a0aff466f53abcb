"""The candidate-set game of Long et al. (2017) as one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.audits.attacks import audit, played_of, telling
from privacygauge.audits.units import owners, twice
from privacygauge.classifier.candidates import (
    CandidateGame,
    CandidateRound,
    PerTargetDesign,
    SharedDesign,
)
from privacygauge.classifier.estimators import as_trainer, require_records
from privacygauge.classifier.shadows import Progress
from privacygauge.classifier.suite import candidate_attacks
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack
from privacygauge.evaluate.direction import inverted
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.per_target import Correlation, PerTarget, per_target
from privacygauge.evaluate.rates import mean
from privacygauge.report import direction

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class CandidateAudit:
    """What the candidate-set game found."""

    evaluations: tuple[Evaluation, ...]
    """One an attack, over all guesses; intervals allow for the repeated targets."""
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
    skipped: tuple[Skipped, ...]
    """Attacks that could not be played, and why."""
    level: float
    """Of every interval."""
    warnings: tuple[str, ...] = ()
    """What may mislead."""

    @property
    def pdtp(self) -> Floats | None:
        """(t,) Mean PDTP of each target, where it was measured."""
        return None if self.measured is None else np.asarray(self.measured.mean(axis=0))

    @property
    def mean_pdtp(self) -> Estimate | None:
        """The mean PDTP over the targets."""
        pdtp = self.pdtp
        return None if pdtp is None else mean(pdtp, self.level, unit="targets")

    def to_frame(self) -> pd.DataFrame:
        """Return one row for every target: PDTP, and each attack's accuracy with its interval."""
        import pandas as pd

        columns: dict[str, object] = {"row": self.targets}
        if self.pdtp is not None:
            columns["pdtp"] = self.pdtp
        for title, found in self.per_target.items():
            estimates = found.estimates(self.level)
            columns[title] = found.accuracy
            columns[f"{title} low"] = [e.low for e in estimates]
            columns[f"{title} high"] = [e.high for e in estimates]
        return pd.DataFrame(columns)


def audit_candidates(
    model: object,
    x: ArrayLike,
    y: ArrayLike,
    *,
    iterations: int = 100,
    n_targets: int = 100,
    design: PerTargetDesign | SharedDesign | None = None,
    measurements: int = 0,
    attacks: Sequence[Attack] | None = None,
    unit: ArrayLike | None = None,
    run: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> CandidateAudit:
    """Play the candidate-set game: which single records are at risk, and how sure is that.

    Parameters
    ----------
    model : estimator, callable or Trainer
        As in `audit_model`.
    x : array_like, shape (n, d)
        The candidate set; half of it is the training set of each target model.
    y : array_like of int, shape (n,)
    iterations : int
        Each cuts the candidates anew and trains two targets.
    n_targets : int
        Records that are attacked, drawn at random.
    design : PerTargetDesign or SharedDesign, optional
        One shared pool of 64 shadow models where nothing is given.
    measurements : int
        Iterations in which the targets' PDTP is measured, exactly for a learner and by
        retraining for any other model.
    attacks : sequence of Attack, optional
        The suite of `candidate_attacks` where nothing is given.
    unit : array_like, shape (n,), optional
        The person behind each candidate: all rows of a person fall in the same half, and
        intervals go by person.
    run, n_jobs, progress, seed, level
        As in `audit_model`.

    Returns
    -------
    CandidateAudit

    Notes
    -----
    Long et al. (2017), section 5.4; 100 iterations and 100 targets there.
    """
    checks.level(level)
    seeds.non_negative(seed)
    features, labels = require_records(x, y)
    chosen = SharedDesign() if design is None else design
    owner = owners(unit, None, len(labels))
    game = CandidateGame(
        as_trainer(model), features, labels, iterations, n_targets, chosen, seed, owner
    )
    warnings = twice(features, labels) if owner is None else []
    dealt = game.train(measurements=measurements, run=run, n_jobs=n_jobs, progress=progress)
    suite = candidate_attacks(chosen.name) if attacks is None else attacks
    return _evaluated(game, dealt, suite, level, warnings)


def _evaluated(
    game: CandidateGame,
    dealt: CandidateRound,
    suite: Sequence[Attack],
    level: float,
    warnings: Sequence[str],
) -> CandidateAudit:
    results = telling(audit([dealt.round], suite, seed=game.seed, level=level))
    played = played_of(results, "give at least one that fits the candidate-set game")
    found = {evaluation.title: per_target(p.decisions) for p, evaluation in played}
    pdtp = dealt.pdtp
    correlations = (
        {}
        if pdtp is None
        else {title: accuracy.correlation_with(pdtp, level) for title, accuracy in found.items()}
    )
    return CandidateAudit(
        tuple(evaluation for _, evaluation in played),
        MappingProxyType(found),
        game.targets,
        None if dealt.measured is None else checks.frozen(dealt.measured),
        MappingProxyType(correlations),
        mean(dealt.train_accuracy, level, unit="target models"),
        mean(dealt.test_accuracy, level, unit="target models"),
        tuple(result for result in results if isinstance(result, Skipped)),
        level,
        (
            *warnings,
            *direction.warnings(inverted([(e.title, p.transcript) for p, e in played], level)),
        ),
    )
