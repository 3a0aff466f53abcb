"""The audit of worst-case records: mislabelled canaries beside ordinary records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakscope.classifier.estimators import as_trainer, require_records
from leakscope.classifier.mislabelled import (
    Targets,
    UniformLabel,
    WrongLabel,
    every_model_as_target,
    targets,
)
from leakscope.classifier.pool import Pool
from leakscope.classifier.shadows import Progress, failures, train_all
from leakscope.classifier.suite import METRICS
from leakscope.core import checks, seeds
from leakscope.core.attacks.bavaria import Bavaria
from leakscope.core.attacks.calibrated import CalibratedOnline
from leakscope.core.attacks.lira import LiraOffline, LiraOnline
from leakscope.core.attacks.rmia import RmiaOnline
from leakscope.core.attacks.threshold import Threshold
from leakscope.core.checks import Bools, Floats, Ints
from leakscope.core.estimate import Estimate, Skipped
from leakscope.core.game import Attack
from leakscope.core.transcript import Transcript
from leakscope.errors import InputError
from leakscope.evaluate.evaluation import title
from leakscope.evaluate.rates import proportion
from leakscope.evaluate.worst_case import TargetRisk, WorstCaseFindings, attacked_targets
from leakscope.report import worst_case
from leakscope.report.numbers import rate
from leakscope.runs.folder import kept_or_scratch

if TYPE_CHECKING:
    import pandas as pd

FPRS = (0.1, 0.01, 0.001)
"""The false-positive rates that are reported."""

ATTACKS: tuple[Attack, ...] = (
    LiraOnline(),
    LiraOffline(),
    CalibratedOnline(),
    RmiaOnline(),
    Bavaria(),
    *(Threshold(metric, per_class=False) for metric in METRICS),
)
"""Attacks on single records, and the metric attacks that most evaluations stop at."""

_FEWEST = 4


@dataclass(frozen=True, eq=False, repr=False)
class WorstCaseAudit(WorstCaseFindings):
    """What was found of canaries and of ordinary records, with ways to look at it."""

    targets: Targets
    """Which records they are, and the labels that models were trained on."""

    def __repr__(self) -> str:
        fpr = self.canaries.attacks[0].rates[0].fpr
        worst, usual = (g.highest(fpr)[1].estimate.value for g in (self.canaries, self.ordinary))
        return (
            f"<WorstCaseAudit of {self.model}: TPR at {rate(fpr)} FPR {worst:.3f} for canaries, "
            f"{usual:.3f} for ordinary records>"
        )

    def summary(self) -> str:
        """Return the highest true-positive rates of both groups as plain text."""
        return worst_case.summary(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one line for every group of targets, attack and false-positive rate."""
        import pandas as pd

        return pd.DataFrame(self.lines())

    def to_json(self) -> str:
        """Return the findings as strict JSON in ASCII; no single record is in it."""
        return worst_case.to_json(self)


def audit_worst_case(
    model: object,
    x: ArrayLike,
    y: ArrayLike,
    *,
    n_canaries: int = 100,
    n_ordinary: int | None = None,
    label: WrongLabel | None = None,
    n_models: int = 32,
    attacks: Sequence[Attack] = ATTACKS,
    fprs: Sequence[float] = FPRS,
    run: str | Path | None = None,
    invocation: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> WorstCaseAudit:
    """Return what attacks achieve on mislabelled canaries, beside ordinary records.

    Canaries and ordinary targets are put into every model by fair coins of their own. Every
    model is the target once, with all others for the adversary's, so that a defended trainer is
    attacked by models that are defended in the same way.

    Parameters
    ----------
    model : estimator, callable or Trainer
        How a model is trained; see `audit_model`. Trainings with a defence too.
    x : array_like, shape (n, d)
    y : array_like of int, shape (n,)
        True classes in 0..k-1, k at least 2.
    n_canaries : int
        Records that get a wrong label. More of them resolve lower false-positive rates; many
        beside the size of the training set spoil the model.
    n_ordinary : int, optional
        Records with their own label whose membership is asked about too; all others where nothing
        is given, so that models are trained on half of the records. The rest is always in.
    label : WrongLabel, optional
        `UniformLabel` where nothing is given, or `LeastLikelyLabel`.
    n_models : int
        At least 4.
    attacks : sequence of Attack
        On signals and worlds.
    fprs : sequence of float
        False-positive rates, each in (0, 1).
    run : str or Path, optional
        Folder that keeps what was trained.
    invocation : mapping, optional
        How to start the run again, kept in its folder.
    n_jobs : int, optional
        Processes.
    progress : callable, optional
        Called with the number of models done and the number of all.
    seed : int
        Equal seeds give equal canaries and equal coins, whatever is trained: so trainings can be
        compared.
    level : float
        Of every interval, in (0, 1).

    Returns
    -------
    WorstCaseAudit

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.

    Notes
    -----
    Aerni, Zhang & Tramèr (2024), "Evaluations of machine learning privacy defenses are
    misleading". Scores of all models and targets of a group are pooled under one threshold;
    intervals allow for targets that come back (`tprs_of_repeated`), not for another drawing of
    the table.
    """
    checks.level(level)
    seeds.non_negative(seed)
    if n_models < _FEWEST:
        raise InputError(f"n_models must be at least {_FEWEST}, got {n_models}")
    if not attacks or not fprs:
        raise InputError("attacks and fprs must have at least one entry each")
    trainer = as_trainer(model)
    features, labels = require_records(x, y)
    chosen_label = label or UniformLabel()
    chosen = targets(
        features,
        labels,
        n_canaries,
        seeds.stream(seed, "worst-case", "targets"),
        n_ordinary=n_ordinary,
        label=chosen_label,
    )
    inside = chosen.membership(n_models, seeds.stream(seed, "worst-case", "coins"))
    with kept_or_scratch(run) as folder:
        values = train_all(
            trainer,
            features,
            chosen.y,
            inside,
            seed=seed,
            run=folder,
            asked=chosen.asked,
            invocation=invocation,
            n_jobs=n_jobs,
            progress=progress,
        )
    pools, failed = _pools(values, trainer.logits, inside, chosen)
    found = [_risk(group, pools[group], attacks, fprs, seed, level) for group in pools]
    return WorstCaseAudit(
        trainer.name,
        chosen_label.name,
        found[0][0],
        found[1][0],
        _accuracy(pools["ordinary"], level),
        seed,
        level,
        found[0][1],
        tuple(failures(failed, n_models)),
        chosen,
    )


def _pools(
    values: NDArray[Any], logits: bool, inside: Bools, chosen: Targets
) -> tuple[dict[str, Pool], Ints]:
    """Return the models' predictions on both groups, and the numbers of those that failed."""
    finite = np.array([bool(np.isfinite(model).all()) for model in values])
    if finite.sum() < _FEWEST:
        raise InputError(
            f"training failed for {int((~finite).sum())} of {len(finite)} models: their "
            "predictions are not finite, or their records hold a single class"
        )
    kept, c = values[finite], len(chosen.canaries)
    groups = {"canaries": (slice(None, c), chosen.canaries), "ordinary": (slice(c, None),
              chosen.ordinary)}  # fmt: skip
    pools = {
        name: Pool(kept[:, part], logits, inside[finite][:, rows], chosen.y[rows])
        for name, (part, rows) in groups.items()
    }
    return pools, np.flatnonzero(~finite)


def _risk(
    name: str,
    pool: Pool,
    attacks: Sequence[Attack],
    fprs: Sequence[float],
    seed: int,
    level: float,
) -> tuple[TargetRisk, tuple[Skipped, ...]]:
    """Return all attacks on one group of targets, and those that were skipped."""
    n_attacks, m = len(attacks), len(pool)
    scores: list[list[Floats]] = [[] for _ in attacks]
    skipped: dict[int, Skipped] = {}
    for number, dealt in enumerate(every_model_as_target(pool)):
        for i, attack in enumerate(attacks):
            rng = seeds.stream(seed, "attack", attack.name, attack.variant, name, number)
            answer = attack.score(dealt.observation, rng)
            if isinstance(answer, Skipped):
                skipped.setdefault(i, answer)
            else:
                scores[i].append(answer.value)
    found = tuple(
        attacked_targets(
            title(attack.name, attack.variant, ""),
            _transcript(scores[i], pool),
            fprs,
            level,
            n_attacks=n_attacks,
        )
        for i, attack in enumerate(attacks)
        if i not in skipped
    )
    if not found:
        raise InputError("no attack could be played: give at least one on signals or worlds")
    return TargetRisk(name, pool.n_targets, m, found), tuple(skipped.values())


def _transcript(scores: Sequence[Floats], pool: Pool) -> Transcript:
    m, n = pool.inside.shape
    target, model = np.tile(np.arange(n), m), np.repeat(np.arange(m), n)
    return Transcript(np.concatenate(scores), pool.inside.ravel(), target, model)


def _accuracy(pool: Pool, level: float) -> Estimate:
    right = pool.values.argmax(axis=2) == pool.labels
    outside = ~pool.inside
    record = np.broadcast_to(np.arange(pool.n_targets), right.shape)
    return proportion(right[outside], record[outside], level)
