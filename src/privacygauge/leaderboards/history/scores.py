"""Evidence in the scores alone: steps of single points or of blocks, and random labels."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.special import ive
from scipy.stats import binom, chi2, gamma
from scipy.stats import t as student

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.seeds import stream
from privacygauge.leaderboards.history.evidence import (
    AT_CHANCE,
    BLIND_LOSSES,
    BLOCK_SCAN,
    CHANCE_SCORES,
    ONE_LEVEL,
    SCORE_SCAN,
    Detector,
    Evidence,
    best_group,
    log_excess,
    log_many,
    log_run_tail,
    longest_run,
    probability,
)
from privacygauge.leaderboards.history.record import AUC, History
from privacygauge.leaderboards.metrics import metric_named

SINGLE = 0.78
"""Rate of single steps: P(|X - Y| = 1 given X != Y) for two Poisson variables of mean 1/2."""
_MEMORY = 16
"""Number of latest submissions over which the best score is taken as a scan's current level."""
_AROUND = 8
"""Distance from an unsubmitted base, in right answers, within which other scores are counted."""
_STRAY = 0.02
"""Largest number of scores in that range more than one off the base, per score that is one off."""
_BESIDE = 3
"""Margin, in right answers, within which other accounts count as scoring like a group."""
_MOVING = 3
"""Number of references that move with the submissions; those after them are fixed bases."""
_CHANGES = 7
"""Minimum changes of the score in a run: a constant score is also always one off another."""
_LEFT = 5
"""Minimum number of wrong answers in a run: models with fewer left hardly move but by ones."""
_GROUP = 8
"""Largest group of accounts among which a scan is suspected to be split."""
BAND = 3.3
"""Standard deviations around 1/m: one random query in a thousand lies outside."""
_CHANCE = 0.5
"""Share of an honest account's submissions that may score at chance, unless others' do more."""
TEAMS = 5
"""Number of accounts that, if all do the same, show that the task or a custom is the cause."""
CUSTOM = 2 / 3
"""Largest share of submissions that a custom of a few accounts explains."""
_HIGH = 0.75
"""Quantile of the shares of the accounts that follow a custom: what it explains."""
_GOOD = 0.8
"""Quantile of the other accounts' levels that says how far beyond chance the task lets one get."""
_TAIL = 0.001
"""Level for calling scores too wide, a rise too frequent, or an account suspect by itself."""
_CLOSE = 0.01
"""Lower tail probability below which scores are too close together for random labels."""
_NEW = 0.5
"""Share of the variance of independent scores from which successive ones are no models that share
most right answers: in a long history random labels may by luck be closer than the test allows.
"""
_SHARED = 1 / 3
"""Correlation of two files' scores, the share of answers that they have in common beyond chance,
from which on files of models that know nothing are taken to be no random labels.
"""
_HALF_SHARED = 0.5
"""The same correlation where the frequencies of the classes are not known, and with them how far
random labels spread.
"""
_MANY = 100
"""Minimum number of scores around one level that are tested without these frequencies; with them
half as many.
"""
_CONSTANT = 0.02
"""Share of a label within which files of random labels are nearly constant, and not tested."""
_DRAWN = 200_000
"""Number of random probabilities that are drawn to find what they lose."""
_FAR = 6.0
"""Distance from the median loss, in median distances, beyond which a file is of another kind."""
_RISING = 2.33
"""Standard deviations of a trend that random labels exceed in one account in a hundred."""


def score_scan(history: History) -> tuple[Evidence, ...] | Skipped:
    """Test every account, and the best group, for scores that move by ones."""
    if not history.exact:
        return Skipped(SCORE_SCAN.title, "the scores are rounded or noisy")
    rows = [history.rows_of(code) for code in range(len(history.names))]
    # Largest share of single steps from any reference among those that move an account's score.
    shares = np.zeros(len(rows))
    for code, of in enumerate(rows):
        for steps in _steps_from_references(history, history.n_correct[of]):
            moved = steps[steps != 0]
            if len(moved) >= _CHANGES:
                shares[code] = max(shares[code], float(np.mean(np.abs(moved) == 1)))

    def usual(group: Sequence[int]) -> float:
        # The median of the other accounts: on few points everybody's score moves by ones.
        beside = np.delete(shares, list(group))
        return max(SINGLE, float(np.median(beside))) if len(beside) else SINGLE

    runs = [_single_steps(history, of, usual((code,))) for code, of in enumerate(rows)]
    found = [
        _scan_evidence((name,), of, run)
        for name, of, run in zip(history.names, rows, runs, strict=True)
    ]
    # The group is grown from accounts that do not stand out alone, the smallest steps first.
    typical = [
        np.median(np.abs(np.diff(history.n_correct[of]))) if len(of) > 1 else math.inf
        for of in rows
    ]
    limit = lone_account_threshold(len(rows))
    group, log_p = best_group(
        [int(i) for i in np.argsort(typical, kind="stable") if runs[i][0] > limit],
        lambda some: (
            _single_steps(history, _merge_rows(rows, some), usual(some))[0]
            if len(some) <= _GROUP and not _is_crowded(history, rows, some)
            else 0.0
        ),
        len(rows),
    )
    if log_p < 0:
        merged = _merge_rows(rows, group)
        run = _single_steps(history, merged, usual(group))
        taking = np.unique(history.codes[merged[run[1] : run[2] + 1]])
        names = tuple(history.names[i] for i in taking)
        found.append(_scan_evidence(names, merged, (log_p, *run[1:])))
    return tuple(found)


def _is_crowded(history: History, rows: Sequence[Ints], group: Sequence[int]) -> bool:
    """Return whether half of the other accounts score like the group: then the task is the cause.

    If accuracies are close to 1, all accounts are within a few answers of each other. A group then
    moves by single answers because each account stands still.
    """
    levels = np.array([np.median(history.n_correct[of]) for of in rows])
    others = np.delete(levels, group)
    inside = levels[list(group)]
    near = (others >= inside.min() - _BESIDE) & (others <= inside.max() + _BESIDE)
    return len(others) > 0 and bool(near.mean() >= 0.5)


def _merge_rows(rows: Sequence[Ints], group: Sequence[int]) -> Ints:
    return np.sort(np.concatenate([rows[i] for i in group]))


def _scan_evidence(names: tuple[str, ...], of: Ints, run: tuple[float, int, int]) -> Evidence:
    log_p, first, last = run
    # Without a run there is nothing to point at.
    inside = of[first : last + 1] if log_p < 0 else of[:0]
    whose = "" if len(names) == 1 else f" of {len(names)} accounts together"
    says = f"{len(inside):,} submissions in a row{whose} move the score by single right answers"
    return Evidence(
        detector=SCORE_SCAN, accounts=names, p_value=probability(log_p), says=says, rows=inside
    )


def _steps_from_references(history: History, counts: Ints) -> list[Ints]:
    """Return the steps, (k - 1,), to right answers from everything that a scan may start at."""
    if len(counts) < 2:
        return []
    # Rounded scores with few values move by twos, as if around a base in between.
    finer = bool((history.n_correct % 2).any())
    recent = np.array([counts[max(0, t - _MEMORY) : t].max() for t in range(1, len(counts))])
    ever = np.maximum.accumulate(counts)[:-1]
    # A scan may step from the last submission, from a best score that it keeps, or from a fixed
    # base.
    return [counts[1:] - reference for reference in (counts[:-1], recent, ever)] + [
        counts[1:] - base for base in _bases(counts, finer)
    ]


def _single_steps(history: History, rows: Ints, rate: float) -> tuple[float, int, int]:
    """Return the log p-value of the longest run of single steps, and its first and last places.

    `rate` is that of single steps in honest work.
    """
    counts = history.n_correct[rows]
    found = []
    references = _steps_from_references(history, counts)
    # Submissions that leave the score where the reference is (steps of 0) are left out of the run.
    # With two classes every changed label moves the score: what equals a fixed base is no step of a
    # scan from there, and ends the run.
    for place, steps in enumerate(references):
        always_moves = place >= _MOVING and history.n_classes == 2
        moved = np.arange(len(steps)) if always_moves else np.flatnonzero(steps != 0)
        single = np.abs(steps[moved]) == 1
        start, stop = longest_run(single)
        if stop == start:
            continue
        # From the submission before the first step to the last step of the run.
        stretch = counts[moved[start] : moved[stop - 1] + 2]
        moving = (
            np.count_nonzero(np.diff(stretch)) >= _CHANGES
            and np.median(history.n - stretch) >= _LEFT
            and _irregular(stretch[1:], history.n_classes)
            and not is_sticky(steps[moved[start] : moved[stop - 1] + 1])
        )
        singles = steps[moved[start:stop]]
        rises = int(np.count_nonzero(singles > 0))
        wrong = history.n - int(counts[1] - steps[0])
        # A changed label raises the score only where a fixed base has it wrong, and once if no
        # label is changed twice; labels drawn among all each time are wrong as often as any are.
        # Models that stay within one answer of each other have no such limit.
        often = binom.sf(rises - 1, len(singles), wrong / history.n) < _TAIL
        if place >= _MOVING and rises > wrong and often:
            continue
        if moving and _blind(singles, 1 - float(stretch.min()) / history.n):
            # Steps of 0 between the first and the last of the run. From other references than the
            # submission before, a model that hardly changes is sticky.
            total = int(moved[stop - 1] - moved[start]) + 1
            fine = single_rate(total - (stop - start), total) if place == 0 else rate
            usual = max(rate, fine)
            log_p = log_run_tail(stop - start, len(single), usual)
            found.append((log_p, 1 + int(moved[start]), 1 + int(moved[stop - 1])))
    if not found:
        return 0.0, 0, 0
    log_p, first, last = min(found)
    # Bonferroni over the references.
    return min(0.0, log_p + math.log(len(references))), first, last


def single_rate(still: int, total: int) -> float:
    """Return the rate of single steps among those that move, given how many do not.

    A model that is changed in steps too fine for the points, such as along a path of
    regularisation, mostly keeps its score, and else moves it by one. Steps are taken for
    differences of two Poisson variables (Skellam 1946) whose mean follows from the upper limit, one
    standard deviation above, of the share of the `total` steps that are `still`.
    """
    share = still / total
    upper = min(1 - 1 / (2 * total), share + math.sqrt(share * (1 - share) / total))
    # P(0) falls with the mean; beyond 4 it is below the share that any rate of use would need.
    mean = 4.0 if upper <= ive(0, 4.0) else float(brentq(lambda x: ive(0, x) - upper, 0.0, 4.0))
    moving = 1 - float(ive(0, mean))
    return float(2 * ive(1, mean)) / moving if moving > 0 else 1.0


def _bases(counts: Ints, finer: bool) -> Ints:
    """Return candidate scores of a fixed base: those submitted, and those with both neighbours.

    With two classes every changed label moves the score, and the base itself need not be submitted.
    Other scores nearby do not come from a scan, so hardly any may exist: a model that moves by
    twos, as when each point occurs twice, has more of them. If no score of the history is `finer`
    than twos, only the submitted scores are returned.
    """
    submitted = np.unique(counts)
    if not finer:
        return submitted
    # Unsubmitted scores with both neighbours submitted.
    between = submitted[:-1][np.diff(submitted) == 2] + 1
    off = np.abs(counts - between[:, None])
    others = ((off <= _AROUND) & (off > 1)).sum(axis=1)
    return np.concatenate([submitted, between[others <= _STRAY * (off == 1).sum(axis=1)]])


def _irregular(stretch: Ints, m: int | None) -> bool:
    """Return whether scores differ from those of two files that are sent again and again.

    Two files alternate or come in blocks: the number of changes is compared with that of a random
    order (Wald and Wolfowitz 1940). If the two scores are one answer apart and there are two
    classes, they are no scan in any order: changed labels never leave the score as it is. More than
    two scores are never taken for two files.
    """
    scores = np.unique(stretch)
    if len(scores) != 2:
        return True
    if m == 2 and scores[1] - scores[0] == 1:
        return False
    low = int(np.count_nonzero(stretch == scores[0]))
    # Mean and variance of the number of changes in a random order.
    pairs = 2 * low * (len(stretch) - low)
    middle = pairs / len(stretch)
    variance = middle * (pairs - len(stretch)) / (len(stretch) * (len(stretch) - 1))
    changes = int(np.count_nonzero(np.diff(stretch)))
    return bool(abs(changes - middle) <= BAND * math.sqrt(max(variance, 0.0)) + 1)


def is_sticky(steps: Ints) -> bool:
    """Return whether steps repeat the one before more often than in a random order.

    What one changed label costs says nothing about the next one. A model that hardly changes, such
    as along a path of regularisation, stays one answer off some score for many submissions. The
    number of runs is compared with that of a random order (Mood 1940).
    """
    k = len(steps)
    counts = np.unique(steps, return_counts=True)[1].astype(np.float64)
    squares = float((counts**2).sum())
    cubes = float((counts**3).sum())
    mean = (k * (k + 1) - squares) / k
    variance = (squares * (squares + k * (k + 1)) - 2 * k * cubes - k**3) / (k**2 * (k - 1))
    runs = 1 + int(np.count_nonzero(np.diff(steps)))
    return bool(runs < mean - BAND * math.sqrt(max(variance, 0.0)))


def _blind(steps: Ints, wrong: float) -> bool:
    """Return whether single steps rise no more often than blind changes do.

    A changed label turns right where it was wrong. A scan changes the least confident labels first,
    and these are right at least half of the time, unless most labels are wrong. A team that
    improves rises far more often than that.
    """
    rises = int(np.count_nonzero(steps > 0))
    return bool(binom.sf(rises - 1, len(steps), max(0.5, wrong)) >= _TAIL)


def share_by_custom(shares: Floats, group: Sequence[int], least: float) -> float:
    """Return the share of flagged submissions that the habits of all accounts explain.

    Parameters
    ----------
    shares : array of shape (accounts,)
        Share of flagged submissions of each account.
    group : sequence of int
        Accounts under suspicion.
    least : float
        Share that is taken for honest in any account.

    Returns
    -------
    float
        At least `least`. Where few accounts exceed it, the median of the accounts beside the group,
        up to a half. Where at least `TEAMS` do, and send other submissions too, they follow a
        custom: the share that three in four of them keep to, up to `CUSTOM`. A group's own accounts
        count for it, or half of a course that does as it was asked would be measured by the other
        half.
    """
    beside = np.delete(shares, list(group))
    # Baselines are sent beside models: who sends nothing else does not show what others do.
    follows = (shares > least) & (shares < 1)
    if np.count_nonzero(follows) >= TEAMS:
        # A lone account is measured by the others.
        follows[list(group)] &= len(group) > 1
        usual = float(np.quantile(shares[follows], _HIGH))
        return max(least, min(CUSTOM, usual))
    return max(least, min(_CHANCE, float(np.median(beside)))) if len(beside) else least


def at_chance(history: History) -> Bools:
    """Return which submissions, (k,), score within `BAND` standard deviations of 1/m."""
    _, deviation = _chance(history)
    # Rounded scores get half a step of tolerance.
    most = BAND + max(history.step, 1.0) / (2 * deviation)
    return np.asarray(np.abs(beyond_chance(history)) <= most)


def chance_scores(
    history: History, constant: Bools | None = None, agreeing: Bools | None = None
) -> tuple[Evidence, ...] | Skipped:
    """Test every account, and the best group, for scores of random labels.

    Models that have learnt nothing score as random labels do. Where answers do not tell which
    files agree, the p-value is at least that of scores that have a third of their answers in
    common (`p_of_shared_answers`); what only fails this is worth a look (`scores_at_chance`).

    Parameters
    ----------
    history : History
    constant : array of shape (k,), optional
        Submissions with one label throughout, which score as random labels do, and are none. Where
        answers are not available, a lone account's first m submissions at chance may be such files,
        one for each class; of a group those whose m scores in a row add up to 1.
    agreeing : array of shape (k,), optional
        Submissions that agree with others beyond chance: models with nothing learnt score as random
        labels do, and these are none.
    """

    def least(rows: Ints) -> float:
        return p_of_shared_answers(beyond_chance(history)[rows], history.codes[rows])

    return _tests_at_chance(
        history,
        CHANCE_SCORES,
        constant=constant,
        agreeing=agreeing,
        # Kept answers show by themselves who agrees.
        least=least if agreeing is None else None,
    )


def scores_at_chance(history: History, constant: Bools | None = None) -> tuple[Evidence, ...]:
    """Test as `chance_scores` does, without excluding models that have learnt nothing."""
    found = _tests_at_chance(history, AT_CHANCE, constant=constant)
    return () if isinstance(found, Skipped) else found


def _tests_at_chance(
    history: History,
    detector: Detector,
    *,
    constant: Bools | None,
    agreeing: Bools | None = None,
    least: Callable[[Ints], float] | None = None,
) -> tuple[Evidence, ...] | Skipped:
    if not history.counted and history.metric != AUC and history.of_random_labels is None:
        of_labels = metric_named(history.metric).form == "i" and history.labels is None
        uniform = "" if _losses_of_random_files(history) is None else ", but for uniform ones"
        return Skipped(
            CHANCE_SCORES.title,
            f"the scores are {history.metric}, not right answers: what random submissions score "
            f"is not known{' without the labels' if of_labels else ''}{uniform}",
        )
    if history.n_classes is None and history.counted:
        return Skipped(CHANCE_SCORES.title, "the number of classes is not known")
    near = at_chance(history)
    surely = constant if constant is not None else _of_each_class(history, near)
    maybe = surely.copy()
    if constant is None and history.counted:
        for code in range(len(history.names)):
            maybe[np.flatnonzero(near & (history.codes == code))[: history.n_classes]] = True
    near &= ~surely
    if agreeing is not None:
        near &= ~agreeing
    off = beyond_chance(history)

    def counted(group: Sequence[int]) -> Bools:
        # Equal scores in a row may be one file sent again, and count once.
        of = np.flatnonzero(np.isin(history.codes, group))
        fresh = of[np.concatenate([[True], np.diff(history.scores[of]) != 0])]
        # What may be one file for each class is no trial either.
        fresh = fresh[~(maybe if len(group) == 1 else surely)[fresh]]
        inside = fresh[near[fresh]]
        plausible = as_wide(off[inside]) and is_centred(off[inside])
        plausible = plausible and afresh(off[inside], history.codes[inside])
        return np.asarray(near[fresh] & plausible)

    what = "score as random labels do"
    # If the task is hard for all, the others show how often honest work scores like that.
    shares = np.bincount(history.codes, weights=near) / np.bincount(history.codes)
    levels = np.array([np.median(off[history.rows_of(c)]) for c in range(len(shares))])

    def usual(group: Sequence[int]) -> float:
        beside = np.delete(levels, list(group))
        # Of all accounts together, enough of them show by themselves that the task is hard.
        if not len(beside) and len(levels) >= TEAMS:
            beside = levels
        # Where good accounts are hardly beyond the band, a weak one is within it without cheating.
        if len(beside) and np.quantile(beside, _GOOD) <= 1.5 * BAND:
            return 1.0
        return share_by_custom(shares, group, _CHANCE)

    return per_account_and_group(
        history, detector, flags=near, counted=counted, rate=usual, what=what, least=least
    )


def blind_losses(history: History) -> tuple[Evidence, ...]:
    """Test every account, and the best group, for losses of files that are drawn at random.

    Files of probabilities are drawn uniformly among all, or are uniform numbers divided by their
    sum, or by Brier's score random labels; files of numbers are uniform in the range, at whose ends
    the hidden ones lie. What random files lose otherwise is not known.

    Notes
    -----
    Such files lose the same on average whatever the labels, and the spread of an account's losses
    follows from the draws: mean and spread are tested as those of random labels are
    (`chance_scores`). A model that is too sure of itself may lose as much, but its files spread as
    far only by a coincidence; where half of the accounts lose more than halfway between equal
    probabilities, or the middle of the range, and random files, nobody is tested.

    Uniform numbers in [0, 1] lose 1/12 + b by squares, and 1/4 + b by absolute errors, with b =
    (y - 1/2)^2 for a hidden number y: unknown, but at the ends of the range, and honest models lose
    anything in between.
    """
    drawn = _losses_of_random_files(history)
    if drawn is None:
        return ()
    forms, neutral, power = drawn
    lost = (1 - history.scores) ** power
    levels = [np.median(lost[history.rows_of(code)]) for code in range(len(history.names))]
    # Halfway to random files: weak models are a little worse than equal probabilities by luck.
    if np.median(levels) >= (neutral + min(mean for mean, _ in forms)) / 2:
        return ()
    found: list[Evidence] = []
    for mean, deviation in forms:
        off = (lost - mean) / (deviation / math.sqrt(history.n))
        near = np.abs(off) <= BAND
        shares = np.bincount(history.codes, weights=near) / np.bincount(history.codes)

        def counted(group: Sequence[int], off: Floats = off, near: Bools = near) -> Bools:
            # Equal losses in a row may be one file sent again, and count once.
            of = np.flatnonzero(np.isin(history.codes, group))
            fresh = of[np.concatenate([[True], np.diff(history.scores[of]) != 0])]
            inside = fresh[near[fresh]]
            plausible = as_wide(off[inside]) and is_centred(off[inside])
            plausible = plausible and afresh(off[inside], history.codes[inside])
            return np.asarray(near[fresh] & plausible)

        found += per_account_and_group(
            history,
            BLIND_LOSSES,
            flags=near,
            counted=counted,
            rate=functools.partial(share_by_custom, shares, least=_CHANCE),
            what="lose what random files do, and spread as they do",
        )
    return tuple(found)


def _losses_of_random_files(
    history: History,
) -> tuple[list[tuple[float, float]], float, float] | None:
    """Return mean and standard deviation of the loss at a point, for each kind of random files.

    Then the loss of equal probabilities, or of the middle of the range; and the power of 1 less the
    score that is a mean over points. None where these losses are not known.
    """
    kind = history.metric.partition(":")[0]
    if kind in ("mse", "rmse"):
        return [(1 / 3, math.sqrt(4 / 45))], 1 / 4, 2.0 if kind == "rmse" else 1.0
    if kind == "mae":
        return [(1 / 2, math.sqrt(1 / 12))], 1 / 2, 1.0
    m = history.n_classes
    if m is None or kind not in ("brier", "logloss"):
        return None
    rng = stream(0, "random probabilities", m)
    uniform = rng.random((_DRAWN, m))
    drawn = [rng.dirichlet(np.ones(m), _DRAWN), uniform / uniform.sum(axis=1, keepdims=True)]
    # The first class is the true one: the draws are the same for all.
    if kind == "brier":
        drawn.append(np.eye(m)[rng.integers(0, m, _DRAWN)])
        losses = [(1 - 2 * each[:, 0] + (each**2).sum(axis=1)) / 2 for each in drawn]
        neutral = (1 - 1 / m) / 2
    else:
        worst = metric_named(history.metric).worst
        assert worst is not None
        losses = [-np.log(np.maximum(each[:, 0], math.exp(-worst))) / worst for each in drawn]
        neutral = math.log(m) / worst
    return [(float(each.mean()), float(each.std())) for each in losses], neutral, 1.0


def scores_at_one_level(history: History) -> tuple[Evidence, ...]:
    """Test every account for right answers that spread around one level as independent draws do.

    Random labels need not be uniform: drawn with other frequencies, they score around another level
    than 1/m. No tests where answers are kept, which show more, nor at 1/m (`scores_at_chance`).

    Notes
    -----
    Of two classes, labels that are 1 with probability q are right on a point with probability q or
    1 - q, whatever its label: the number of right answers has variance ``n q (1 - q)``. Where the
    labels are known, q follows from the mean, which lies between the scores of both constants; of
    more classes q is taken to be their frequencies. The p-value is that of files with a third of
    their answers in common (`p_of_shared_answers`), or of as many files around a level by luck.

    Where labels are not known, q (1 - q) is at most S(1 - S), with S the mean score. Of a hundred
    files or more that are below all other accounts' it is tested whether they share half of their
    answers. Random labels of one rare class share more, and look like one weak model.
    """
    if history.answers is not None or history.metric != "accuracy" or history.n_classes is None:
        return ()
    n = history.n
    m = history.n_classes
    scores = history.n_correct / n
    levels = np.array([np.median(scores[history.rows_of(c)]) for c in range(len(history.names))])
    rate = None if history.labels is None else np.bincount(history.labels, minlength=m) / n
    found = []
    for code, name in enumerate(history.names):
        of = history.rows_of(code)
        level = float(levels[code])
        others = np.delete(levels, code)
        few = len(others) < TEAMS or len(of) < _MANY
        if few if rate is None else len(of) < _MANY // 2:
            continue
        variance = level * (1 - level)
        shared = _HALF_SHARED
        if rate is not None and m == 2:
            q = (level - rate[0]) / (rate[1] - rate[0]) if rate[0] != rate[1] else 0.0
            variance = q * (1 - q) if _CONSTANT < q < 1 - _CONSTANT else 0.0
            shared = _SHARED
        elif rate is not None:
            variance = float((rate**2 * (1 - rate)).sum())
            far = abs(level - float((rate**2).sum())) > BAND * math.sqrt(variance / n)
            variance = 0.0 if far else variance
            shared = _SHARED
        deviation = math.sqrt(variance / n)
        by_chance = abs(level - 1 / m) <= BAND * math.sqrt((1 / m) * (1 - 1 / m) / n)
        below = rate is not None or level + 2 * BAND * deviation < others.min(initial=1.0)
        if deviation == 0 or by_chance or not below:
            continue
        off = (scores - level) / deviation
        fresh = of[np.concatenate([[True], np.diff(scores[of]) != 0])]
        near = np.abs(off[fresh]) <= BAND
        inside = fresh[near]
        same = np.zeros(len(inside), np.int64)
        spread = narrow(off[inside]) if rate is None else as_wide(off[inside])
        if not (spread and afresh(off[inside], same)):
            continue
        p_value = max(
            probability(log_excess(near, _CHANCE)),
            p_of_shared_answers(off[inside] - off[inside].mean(), same, shared),
        )
        around = history.scale.value(float(scores[inside].mean()))
        says = (
            f"{len(inside):,} of {len(of):,} submissions score around {around}, as far apart as "
            "independent draws"
        )
        found.append(
            Evidence(detector=ONE_LEVEL, accounts=(name,), p_value=p_value, says=says, rows=inside)
        )
    return tuple(found)


def p_of_shared_answers(off: Floats, codes: Ints, shared: float = _SHARED) -> float:
    """Return a p-value of files that have a third of their answers, or more, in common.

    Parameters
    ----------
    off : array of shape (k,)
        Scores at chance in the order of time, in standard deviations of random labels.
    codes : array of shape (k,)
        Account of each.
    shared : float
        Another share than a third, in (0, 1).

    Returns
    -------
    float
        The larger of two p-values, since answers may be shared in two ways. 1 where no account has
        two scores.

    Notes
    -----
    Two files at chance that agree on a share s of the points beyond chance have scores of
    correlation s. If each file shares with the one before, as checkpoints do, it is the first
    autocorrelation r of the scores: the arcsine of its estimate has a variance of about 1/k
    (Bartlett 1946), and a bias of r of -2 r/k. If all share with one another, as seeds of one model
    do, an account's scores have 1 - s of the variance of random labels: their sum of squares is
    compared with chi-squared.
    """
    products = squares = spread = 0.0
    pairs = 0
    for code in np.unique(codes):
        own = off[codes == code]
        products += 2 * float((own[1:] * own[:-1]).sum())
        squares += float((own[1:] ** 2).sum() + (own[:-1] ** 2).sum())
        spread += float(((own - own.mean()) ** 2).sum())
        pairs += len(own) - 1
    if pairs < 2 or squares == 0:
        return 1.0
    least = shared * (1 - 2 / pairs)
    apart = math.asin(max(-1.0, min(1.0, products / squares))) - math.asin(least)
    return max(
        float(student.cdf(apart * math.sqrt(pairs - 1), pairs)),
        float(chi2.sf(spread / (1 - shared), pairs)),
    )


def _of_each_class(history: History, near: Bools) -> Bools:
    """Mark submissions, (k,), of which an account has m in a row that are right n times in all.

    As one file for each class is, with that label throughout.
    """
    found = np.zeros(len(history), np.bool_)
    m = history.n_classes
    if m is None or not history.exact:
        return found
    for code in range(len(history.names)):
        of = history.rows_of(code)
        for first in range(len(of) - m + 1):
            some = of[first : first + m]
            if near[some].all() and history.n_correct[some].sum() == history.n:
                found[some] = True
                break
    return found


def per_account_and_group(
    history: History,
    detector: Detector,
    flags: Bools,
    counted: Callable[[Sequence[int]], Bools],
    rate: float | Callable[[Sequence[int]], float],
    what: str,
    least: Callable[[Ints], float] | None = None,
) -> tuple[Evidence, ...]:
    """Return the evidence on every account, and on the best group where there are several.

    Parameters
    ----------
    history : History
    detector : Detector
    flags : array of shape (k,)
        Submissions that count as evidence.
    counted : callable
        Maps accounts to the flags that count for them.
    rate : float or callable
        Largest probability of a flag under the null; or a function of the accounts that returns it.
    what : str
        Behaviour of a flagged submission, in words.
    least : callable, optional
        Maps flagged submissions, as numbers, to the least p-value that they may have: that of a
        further null, which must be excluded too.
    """

    def log_p(group: Sequence[int]) -> float:
        most = rate(group) if callable(rate) else rate
        # Stretches of a group in time are no evidence: beginnings look alike.
        return (
            log_excess(counted(group), most) if len(group) == 1 else log_many(counted(group), most)
        )

    def log_least(group: Sequence[int]) -> float:
        if least is None:
            return -math.inf
        rows = np.flatnonzero(np.isin(history.codes, group) & flags)
        return math.log(max(least(rows), 1e-300))

    every = range(len(history.names))
    alone = [max(log_p((code,)), log_least((code,))) for code in every]
    found = [
        _evidence(history, detector, group=(code,), log_p=tail, flags=flags, what=what)
        for code, tail in zip(every, alone, strict=True)
    ]
    counts = np.bincount(history.codes, weights=flags, minlength=len(every))
    shares = counts / np.bincount(history.codes, minlength=len(every))
    ranked = [
        int(i)
        # By share of flagged submissions, ties by their number; accounts that stand out alone are
        # left out.
        for i in np.lexsort((-counts, -shares))
        if counts[i] and alone[i] > lone_account_threshold(len(every))
    ]
    group, together = best_group(ranked, log_p, len(every))
    # Members with less than half of the group's mean number of flags are not accused.
    members = [code for code in group if 2 * counts[code] >= counts[list(group)].mean()]
    if len(members) > 1:
        together = max(together, log_least(members))
        found.append(
            _evidence(history, detector, group=members, log_p=together, flags=flags, what=what)
        )
    return tuple(found)


def lone_account_threshold(accounts: int) -> float:
    """Return the log p-value below which an account stands out alone.

    Groups are formed among the others, which no test would find alone.
    """
    return math.log(_TAIL / accounts)


def _evidence(
    history: History,
    detector: Detector,
    group: Sequence[int],
    log_p: float,
    flags: Bools,
    what: str,
) -> Evidence:
    of = np.flatnonzero(np.isin(history.codes, group))
    inside = of[flags[of]]
    names = tuple(history.names[i] for i in sorted(group))
    whose = "" if len(names) == 1 else f" of {len(names)} accounts together"
    says = f"{len(inside):,} of {len(of):,} submissions{whose} {what}"
    return Evidence(
        detector=detector, accounts=names, p_value=probability(log_p), says=says, rows=inside
    )


_RAREST = 2.3
"""Deviation of random areas where a class has a share of .05, over that of equal classes."""
_SHORTFALLS = 12
"""Minimum number of areas below 1/2 that show how far random ones spread."""


def _chance(history: History) -> tuple[float, float]:
    """Return the mean and the standard deviation of the right answers of random labels.

    By other metrics of labels they are simulated (`History.of_random_labels`), in n-ths. Of an area
    under the curve, in n-ths, the variance is ``n^2 (n + 1)/(12 a b)`` for classes of a
    and b points (Mann and Whitney 1947). Where the classes are not known, they are taken to be
    equal, or one of them to be as rare as the areas below 1/2 show, which models seldom have.
    """
    n = history.n
    if not history.counted:
        if history.of_random_labels is not None:
            mean, spread = history.of_random_labels
            return n * mean, n * max(spread, 1e-12)
        if history.n_smaller is not None:
            pairs = history.n_smaller * (n - history.n_smaller)
            return n / 2, n * math.sqrt((n + 1) / (12 * pairs))
        even = math.sqrt((n + 1) / 3)
        below = (n / 2 - history.scores * n)[history.scores < 0.5] / even
        below = below[below <= BAND * _RAREST]
        spread = math.sqrt(float(np.mean(below**2))) if len(below) >= _SHORTFALLS else 1.0
        return n / 2, even * min(max(spread, 1.0), _RAREST)
    assert history.n_classes is not None
    m = history.n_classes
    return n / m, math.sqrt(n * (1 / m) * (1 - 1 / m))


def beyond_chance(history: History) -> Floats:
    """Return how far scores, (k,), are above those of random labels, in standard deviations."""
    middle, deviation = _chance(history)
    # Areas lie between the n-ths of the points.
    right = history.n_correct if history.counted else history.scores * history.n
    return np.asarray((right - middle) / deviation)


def narrow(off: Floats) -> bool:
    """Return whether scores, in standard deviations of random labels, spread no wider than those.

    The sum of squares is compared with chi-squared, len(off) - 1 degrees of freedom.
    """
    if len(off) < 2:
        return True
    return bool(((off - off.mean()) ** 2).sum() <= chi2.isf(_TAIL, len(off) - 1))


def as_wide(off: Floats) -> bool:
    """Return whether scores spread as wide as those of random labels, and no wider.

    Random labels are drawn independently each time. Submissions of one weak model have much in
    common, and their scores lie closer together.
    """
    if len(off) < 2:
        return True
    spread = float(((off - off.mean()) ** 2).sum())
    return bool(narrow(off) and spread >= chi2.ppf(_CLOSE, len(off) - 1))


def afresh(off: Floats, codes: Ints) -> bool:
    """Return whether each account's scores are independent of its earlier submissions.

    Random labels are drawn independently: successive differences have twice the variance of
    Bin(n, 1/m) (von Neumann 1941), and rises are as frequent as falls among all pairs (Mann 1945).
    Models that improve, or are trained again, share most right answers with the previous ones.
    """
    total = mean = variance = 0.0
    trend = trend_variance = 0.0
    for code in np.unique(codes):
        own = off[codes == code]
        k = len(own)
        if k > 1:
            # Mean and variance of the sum for normals; neighbouring differences share a term.
            total += float((np.diff(own) ** 2).sum()) / 2
            mean += k - 1
            variance += 3 * k - 4
            # Kendall's statistic, and its variance in a random order.
            trend += float(np.sign(own[None] - own[:, None])[np.triu_indices(k, 1)].sum())
            trend_variance += k * (k - 1) * (2 * k + 5) / 18
    if mean == 0:
        return True
    # Too small a sum, tested by a gamma distribution of that mean and variance, means too close.
    least = min(gamma.ppf(_CLOSE, mean**2 / variance, scale=variance / mean), _NEW * mean)
    return bool(total >= least and trend <= _RISING * math.sqrt(trend_variance))


def is_centred(off: Floats) -> bool:
    """Return whether the mean of scores lies where that of random labels does."""
    return not len(off) or bool(abs(off.mean()) <= BAND / math.sqrt(len(off)))


_PARITY = 0.6
"""Rate of steps of one parity; of two Poisson variables it is below a half, steps of 0 left out."""
_BLOCK = 16
"""Largest step from a base, in right answers, that suggests blocks of few labels."""
_VALUES = 3
"""Minimum number of different scores; two are two files."""


def block_scans(history: History) -> tuple[Evidence, ...]:
    """Test every account for scores that move in steps of one parity.

    With two classes, L changed labels move the score by L less twice the number that was right. No
    tests where the scores are rounded, or where half of the accounts move like this: then each
    point may be in the test set twice.
    """
    if not history.exact or history.n_classes != 2:
        return ()
    found = []
    for code, name in enumerate(history.names):
        of = history.rows_of(code)
        counts = history.n_correct[of]
        before = counts[:-1]
        ever = np.maximum.accumulate(counts)[:-1] if len(of) else before
        log_p, inside = min(
            (
                _parity_run(counts, before, odd=False, most=2 * _BLOCK),
                _parity_run(counts, ever, odd=True, most=_BLOCK),
            ),
            key=lambda run: run[0],
        )
        says = f"{len(inside):,} submissions in a row move the score in steps of one parity"
        found.append(
            Evidence(
                detector=BLOCK_SCAN,
                accounts=(name,),
                # Bonferroni over both references.
                p_value=probability(min(0.0, log_p + math.log(2))),
                says=says,
                rows=of[inside],
            )
        )
    common = sum(test.p_value <= _TAIL for test in found) >= len(found) / 2
    return () if common else tuple(found)


def _parity_run(counts: Ints, reference: Ints, *, odd: bool, most: int) -> tuple[float, Ints]:
    """Return the log p-value of the longest run of steps of one parity, and its places."""
    steps = counts[1:] - reference
    # Single steps are odd for anybody whose score hardly moves, and tell nothing.
    moved = np.flatnonzero(np.abs(steps) > odd)
    fits = (steps[moved] % 2 == odd) & (np.abs(steps[moved]) <= most)
    start, stop = longest_run(fits)
    inside = 1 + moved[start:stop]
    if len(np.unique(counts[inside])) < _VALUES:
        return 0.0, inside[:0]
    return log_run_tail(stop - start, len(moved), _PARITY), inside
