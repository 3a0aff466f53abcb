"""The audit of a test set by attacks on its labels, behind one guard or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from privacygauge.audits.holdout_attack.says import HoldoutResult, plot_biases, report
from privacygauge.audits.running import Running
from privacygauge.holdout.contest import (
    Contest,
    Progress,
    contest_of,
    play_contest,
    summarise_contest,
)
from privacygauge.holdout.mechanism import Guard
from privacygauge.holdout.priors import Having, Prior
from privacygauge.report.values import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class HoldoutAudit(HoldoutResult):
    """Findings of attacks on a test set with known labels, with its report, tables and plots."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        return report(self)

    def plot_biases(self, ax: Axes | None = None) -> Axes:
        """Plot the bias of every attack behind every guard."""
        return plot_biases(self, ax)


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
    """Measure how much an attacker learns about a test set's labels from scores of submissions.

    All submissions are simulated: nothing is sent to anybody. The label file is fixed, so trials
    differ in the attacker's random queries and in the guard's noise.

    Parameters
    ----------
    labels : array_like of int, shape (n,), or a file
        The hidden labels in 0..m-1, as `read_labels` takes them; numbers if the metric needs them.
    queries : int
        Submissions of each attack, at least 0.
    logits : array_like of shape (n, m), or a file, optional
        Logits of a base model, from which the attacker starts.
    attacks : sequence of str
        Names in `ATTACKS`.
    guards : sequence of Guard or str
        Guards between accuracy and analyst, such as ``"ladder"``; see `guard_named`.
    top, least_confident, temperature
        As in `privacygauge.holdout.priors.from_logits`; they need `logits`.
    prior : {"uniform", "classes"}
        Without logits: the attacker knows nothing, or how frequent each class is.
    trials : int, default 10
        Plays of each attack against each guard, at least 1; intervals need at least 2.
    classes : int, optional
        Number of classes; default: the width of `logits`, or one more than the largest label.
    metric : str, default "accuracy"
        Metric of the scores, such as ``"auc"``. All but accuracy are attacked by ``"nb"``
        alone (`LinearBayes`), without logits.
    run : str or Path, optional
        Folder that keeps the plays: after an interruption, the same call resumes there.
    n_jobs, progress, seed, command, provenance, invocation
        As in `audit_model`.
    level : float
        Level of every interval, in (0, 1).

    Returns
    -------
    HoldoutAudit
        Accuracies, or scores, in [0, 1] and biases above the baseline, in [-1, 1].

    Raises
    ------
    InputError
        If an argument is invalid: the problem and the way out, in one line.

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
    having = Having(
        logits=logits,
        top=top,
        least_confident=least_confident,
        temperature=temperature,
        prior=prior,
    )
    running = Running(
        command=command,
        seed=seed,
        level=level,
        provenance=provenance,
        run=run,
        invocation=invocation,
        n_jobs=n_jobs,
        progress=progress,
    )
    contest = contest_of(
        labels,
        queries,
        attacks=attacks,
        guards=guards,
        having=having,
        trials=trials,
        classes=classes,
        metric=metric,
        seed=seed,
    )
    return audit_of(contest, having, running)


def audit_of(contest: Contest, having: Having, running: Running) -> HoldoutAudit:
    """Run the audit of `attack_holdout`, playing the trials that the run does not hold yet."""
    plays = play_contest(
        contest,
        running.run,
        invocation=running.invocation,
        n_jobs=running.n_jobs,
        progress=running.progress,
    )
    found = summarise_contest(contest, having, plays, running.level)
    return HoldoutAudit(**vars(found), origin=running.origin(warnings=found.caveats()))
