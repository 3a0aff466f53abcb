"""The audit of a test set's own labels: attacks on them, behind one guard or several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.audits.holdout_attack.found import HoldoutAudit
from privacygauge.audits.running import Running
from privacygauge.errors import InputError
from privacygauge.holdout.attacks import ATTACKS, attacks_named
from privacygauge.holdout.contest import (
    Contest,
    Guarded,
    Progress,
    classes_of,
    error_of,
    guarantee_behind,
    guards_of,
    played,
    result_of,
)
from privacygauge.holdout.known import FREQUENCIES, Having, Prior, in_words, known_before
from privacygauge.holdout.label_files import read_labels, read_logits
from privacygauge.holdout.mechanism import Guard
from privacygauge.holdout.metrics import ACCURACY, metric_named
from privacygauge.holdout.oracle import Holdout
from privacygauge.holdout.selection import honest_best_of_k

HONEST = 0.8
"""True accuracy of honest submissions where no base model tells another."""


def attack_holdout(
    labels: ArrayLike | str | Path,
    queries: int,
    *,
    logits: ArrayLike | str | Path | None = None,
    attacks: Sequence[str] = ("nb",),
    guards: Sequence[Guard | str] = ("exact",),
    top: int | None = None,
    least_confident: int | None = None,
    temperature: float = 1.0,
    prior: Prior = "uniform",
    trials: int = 10,
    classes: int | None = None,
    metric: str = "accuracy",
    run: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    level: float = 0.95,
    command: str = "attack_holdout",
    provenance: Mapping[str, str] | None = None,
    invocation: Mapping[str, Any] | None = None,
) -> HoldoutAudit:
    """Measure what an attacker learns about a test set's labels from the scores of submissions.

    Everything happens here: nothing is submitted to anybody. The label file is fixed, so trials
    differ in the attacker's random queries and in the guard's noise.

    Parameters
    ----------
    labels : array_like of int, shape (n,), or a file
        The hidden labels in 0..m-1, as `read_labels` takes them; numbers with a metric of them.
    queries : int
        Submissions of each attack, at least 0.
    logits : array_like of shape (n, m), or a file, optional
        What a base model says: the attacker starts from it.
    attacks : sequence of str
        Names in `ATTACKS`.
    guards : sequence of Guard or str
        What stands between accuracy and analyst, such as ``"ladder"``; see `guard_named`.
    top, least_confident, temperature
        As in `privacygauge.holdout.priors.from_logits`; they need `logits`.
    prior : {"uniform", "classes"}
        Without logits: the attacker knows nothing, or how frequent each class is.
    trials : int, default 10
        Plays of each attack against each guard, at least 1; from 2 on there are intervals.
    classes : int, optional
        By default the width of `logits`, or one more than the largest label.
    metric : str, default "accuracy"
        How submissions are scored, such as ``"auc"``. All but accuracy are attacked by ``"nb"``
        alone (`LinearBayes`), without logits.
    run : str or Path, optional
        Folder that keeps the plays: after an interruption the same call goes on there.
    n_jobs, progress, seed, command, provenance, invocation
        As in `audit_model`.
    level : float
        Of every interval, in (0, 1).

    Returns
    -------
    HoldoutAudit
        Accuracies, or scores, in [0, 1] and biases above the baseline, in [-1, 1].

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.

    Notes
    -----
    Feldman, Frostig and Hardt (2019); guards after Blum and Hardt (2015).

    Examples
    --------
    >>> import numpy as np
    >>> from privacygauge.audits.holdout_attack.play import attack_holdout
    >>> labels = np.random.default_rng(0).integers(0, 2, 400)
    >>> found = attack_holdout(labels, 200, trials=3)
    >>> found.worst.bias.value > 0.15
    True
    """
    having = Having(logits, top, least_confident, temperature, prior)
    running = Running(
        command, seed, level, provenance, run, invocation, n_jobs=n_jobs, progress=progress
    )
    return attacked(
        labels,
        queries,
        attacks,
        guards,
        having,
        running,
        trials=trials,
        classes=classes,
        metric=metric,
    )


def attacked(
    labels: ArrayLike | str | Path,
    queries: int,
    attacks: Sequence[str],
    guards: Sequence[Guard | str],
    having: Having,
    running: Running,
    *,
    trials: int,
    classes: int | None,
    metric: str,
) -> HoldoutAudit:
    """Return what `attack_holdout` does, from what the attacker has and how it is run."""
    _at_least(trials, 1, "trials")
    _at_least(queries, 0, "queries")
    chosen, protected = attacks_named(attacks), guards_of(guards)
    measure = metric_named(metric)
    if measure != ACCURACY and (tuple(attacks) != ("nb",) or having.logits is not None):
        raise InputError(f"metric {metric} is attacked by nb alone, without logits: leave them out")
    truth = read_labels(labels, measure)
    scores = None if having.logits is None else read_logits(having.logits)
    m = classes_of(truth, scores, classes, measure)
    holdout = Holdout(truth, m, measure)
    knowledge = known_before(holdout, scores, having) if measure == ACCURACY else None
    guarded = tuple(
        Guarded(
            g.name, guarantee_behind(g, holdout, queries, 1 - running.level), error_of(g, holdout)
        )
        for g in protected
    )
    names = tuple(attack.name for attack in chosen)
    contest = Contest(holdout, knowledge, names, protected, queries, trials, running.seed)
    found = played(
        contest,
        running.run,
        invocation=running.invocation,
        n_jobs=running.n_jobs,
        progress=running.progress,
    )
    base = None if scores is None or knowledge is None else holdout.score(knowledge.base)
    honest = HONEST if base is None or not 0 < base < 1 else base
    if not measure.like_share:  # At most, whatever they score.
        honest = 0.5
    level = running.level
    together = 1 - (1 - level) / len(found)
    return HoldoutAudit(
        running.origin(warnings=_caveats(contest, trials)),
        len(holdout),
        measure.name,
        1 - (1 / m if measure == ACCURACY else measure.chance(truth)),
        classes=m,
        queries=queries,
        trials=trials,
        knowledge=in_words(knowledge, having) if measure == ACCURACY else FREQUENCIES,
        largest_class=float(np.unique(truth, return_counts=True)[1].max() / len(truth)),
        model_accuracy=base,
        results=tuple(
            result_of(contest, attack, guard, found[attack, guard.name], level, together)
            for attack, guard in contest.pairs
        ),
        guards=guarded,
        honest=honest_best_of_k(
            max(1, math.floor(measure.points(truth))), max(1, queries), accuracy=honest
        ),
        honest_accuracy=honest,
    )


def _at_least(value: int, least: int, name: str) -> None:
    if value < least:
        raise InputError(f"{name} must be at least {least}, got {value}")


def _caveats(contest: Contest, trials: int) -> tuple[str, ...]:
    told = []
    if trials == 1:
        told.append("After one trial there are no intervals: ask for more (--trials 10).")
    if contest.knowledge is not None:
        blind = [name for name in contest.attacks if not ATTACKS[name].informed]
        if blind:
            told.append(
                f"{', '.join(blind)} cannot use what the attacker knows before: counted from a "
                "guess."
            )
    return tuple(told)
