"""Simulated honest submissions: the default guard's step, and the cost of a guard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax
from scipy.stats import norm, spearmanr

from privacygauge.core.checks import Floats
from privacygauge.core.seeds import stream
from privacygauge.errors import InputError
from privacygauge.leaderboards.guards import ArcsineLadder, RelativeLadder
from privacygauge.leaderboards.mechanism import Guard, GuardState
from privacygauge.leaderboards.metrics import ACCURACY, Values
from privacygauge.leaderboards.oracle import Holdout

_LARGEST = 20_000
"""Number of points drawn from a larger test set."""
_SKILL = 0.75
"""Skill of the two submissions whose scores are compared."""
_RESAMPLES = 60
_MEMBERS = 9
"""Number of members of an honest ensemble."""
_STEPS = (0.002, 0.5)
"""Smallest and largest relative step."""
_STANDARD_ERRORS = (0.5, 2.0)
"""Smallest and largest step of an accuracy, in its standard errors."""
_WEAKEST = 0.55
_BEST = 0.92
_SHARED = 0.5
"""Share of the errors' variance that all submissions have in common, as for real models."""


def honest_submission(
    holdout: Holdout, skill: float, difficulty: Floats, rng: np.random.Generator
) -> Values:
    """Return a submission of about this skill, from 0 (a guess) to 1 (all right).

    Parameters
    ----------
    holdout : Holdout
    skill : float
        Skill in (0, 1): share of right labels, or of the hidden numbers' variance explained.
    difficulty : array of shape (n,)
        Standard normal values: errors that all submissions have in common.
    rng : numpy.random.Generator
    """
    truth = holdout.labels
    metric = holdout.metric
    n = len(truth)
    m = holdout.n_classes
    width = metric.width(m)
    noise = np.sqrt(_SHARED) * difficulty + np.sqrt(1 - _SHARED) * rng.normal(size=n)
    if metric.numbers:
        off = np.std(truth) * np.sqrt(1 - skill) * noise
        guess = truth + off
        if width > 1:
            # Quantiles of the error that the team knows it makes.
            levels = (np.arange(_MEMBERS) + 0.5) / _MEMBERS
            guess = guess[:, None] + np.std(truth) * np.sqrt(1 - skill) * norm.ppf(levels)
        return np.asarray(np.clip(guess, *metric.submitted_range))
    if metric.form == "i":
        # Wrong labels are permuted true ones: they have the right frequencies.
        wrong = rng.permutation(truth)
        first = np.where(noise < norm.ppf(skill), truth, wrong)
        if width == 1:
            return first
        return (first[:, None] + np.arange(width)) % m
    signal = 2 * norm.ppf(skill)
    if width == 1:
        return np.asarray(signal * truth + noise)
    logits = rng.normal(size=(n, m)) * np.sqrt(1 - _SHARED)
    logits[np.arange(n), truth] += signal + np.sqrt(_SHARED) * difficulty
    return np.asarray(softmax(logits, axis=1))


def default_guard_of(holdout: Holdout) -> Guard:
    """Return the guard of a new board: a Ladder with a step the size of chance on its points.

    The step is the standard deviation of the difference between the scores of two simulated
    submissions of equal skill to these points, as in the paired comparison of Blum and Hardt's
    Ladder without parameters. For accuracy it is in standard errors of an accuracy, since their
    ratio hardly depends on the skill. For other metrics the difference is that over resampled
    points, relative to the error, 1 minus the score.
    """
    metric = holdout.metric
    rng = stream(0, "holdout", "step")
    few = _sample_points(holdout, rng)
    n = len(few)
    difficulty = rng.normal(size=n)
    first = honest_submission(few, _SKILL, difficulty, rng)
    second = honest_submission(few, _SKILL, difficulty, rng)
    if metric == ACCURACY:
        right = np.array([sent == few.labels for sent in (first, second)], np.float64)
        chance = np.sqrt(right.mean() * (1 - right.mean()))
        paired = float(np.std(right[0] - right[1]))
        step = paired / chance if chance > 0 else ArcsineLadder().step
        return ArcsineLadder(
            float(f"{min(max(step, _STANDARD_ERRORS[0]), _STANDARD_ERRORS[1]):.2g}")
        )
    differences = []
    errors = []
    for _ in range(_RESAMPLES):
        rows = rng.integers(0, n, n)
        both = []
        for sent in (first, second):
            try:
                both.append(1 - metric.score(sent[rows], few.labels[rows]))
            except (ZeroDivisionError, InputError):  # a resample without a positive
                both.append(1.0)
        differences.append(both[0] - both[1])
        errors += both
    error = float(np.mean(errors))
    # If all such submissions are perfect, the size of chance is unknown: the default step.
    relative = float(np.std(differences)) / error if error > 0 else RelativeLadder().step
    # The standard deviation falls with the root of the number of points.
    step = relative * np.sqrt(n / len(holdout))
    return RelativeLadder(float(f"{min(max(step, _STEPS[0]), _STEPS[1]):.2g}"))


def _sample_points(holdout: Holdout, rng: np.random.Generator) -> Holdout:
    if len(holdout) <= _LARGEST:
        return holdout
    labels = holdout.labels[rng.permutation(len(holdout))[:_LARGEST]]
    # Rare classes may be missing among the points drawn.
    kept = len(np.unique(labels)) == len(np.unique(holdout.labels)) or holdout.metric.numbers
    return Holdout(labels, holdout.n_classes, holdout.metric) if kept else holdout


@dataclass(frozen=True)
class GuardCost:
    """The cost of a guard for honest teams, in a simulated contest on these points."""

    teams: int
    """Number of teams."""
    submissions: int
    """Number of submissions per team."""
    ranks: float
    """Rank correlation between the board and one that shows every team's best exact score."""
    hidden: float
    """Mean distance between a team's score on the board and its best exact score."""
    places: float
    """Mean number of places by which the guard moves a team."""


def guard_cost(
    holdout: Holdout, guard: Guard, *, teams: int = 20, submissions: int = 10
) -> GuardCost:
    """Return the cost of a guard with one state per team, in a simulated honest contest.

    Teams differ in skill and improve over time. The same test set and guard give the same numbers.
    """
    rng = stream(0, "holdout", "cost")
    few = _sample_points(holdout, rng)
    difficulty = rng.normal(size=len(few))
    exact = np.zeros(teams)
    shown = np.zeros(teams)
    for team, skill in enumerate(np.linspace(_WEAKEST, _BEST, teams)):
        state: GuardState = guard.start(rng.bytes(16))
        for progress in np.linspace(-0.05, 0.05, submissions):
            sent = honest_submission(few, skill + progress, difficulty, rng)
            marked = few.marked(sent)
            answer, state = guard.answer(marked, state)
            exact[team] = max(exact[team], few.metric.score(marked.labels, few.labels))
            shown[team] = max(shown[team], answer)
    same = np.ptp(shown) == 0 or np.ptp(exact) == 0
    # Stable: among equal scores the earlier team is in front, as on the board.
    moved = np.argsort(np.argsort(-shown, kind="stable")) - np.argsort(
        np.argsort(-exact, kind="stable")
    )
    return GuardCost(
        teams=teams,
        submissions=submissions,
        ranks=0.0 if same else float(spearmanr(shown, exact)[0]),
        hidden=float(np.abs(exact - shown).mean()),
        places=float(np.abs(moved).mean()),
    )
