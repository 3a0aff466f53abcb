"""Accounts far ahead of all others: known labels, and leaps that scores alone cannot explain."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.stats import beta, f

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.leaderboards.history.evidence import LEAP, NEAR_PERFECT, Detector, Evidence
from privacygauge.leaderboards.history.record import AUC, History
from privacygauge.leaderboards.metrics import metric_named

FEWEST = 5
"""Minimum number of accounts: with fewer, no distance can be called large."""
TOGETHER = 10
"""Largest number of accounts of which each is tested as the last of a group that shares the labels;
at least three must be left. Of larger groups one is tested.
"""
_FRIENDS = 3
"""Group size above which the errors must be fewer in proportion to the size: a good model that was
made public has many followers too.
"""
NEIGHBOURS = 6
"""Minimum number of steps that define a large one; a third of the accounts if that is more."""
_FEWER = 15.0
"""Factor by which the errors must be fewer than the next account's to suggest known labels: where
linear models for digits are wrong on 8%, the first networks were on 0.8%.
"""
_NEARLY = 0.002
"""Share of wrong answers up to which answers are nearly the labels: networks for digits leave 0.3%
where linear models leave 8%, and several accounts may have them.
"""
_AT_MOST = 0.0065
"""Upper limit at 95% of the share of wrong answers, that of two in a thousand: on fewer points a
method that is right on 99% has none wrong by luck.
"""
_FEWER_LOSS = 30.0
"""The same factor for losses, of which no share is nearly none: that of a method with 70% right to
one with 98% may be 12.
"""
_LEAP = 2.0
"""Factor by which a leap leaves fewer errors than the next account has."""
_LAST_OF_SEVERAL = 1.5
"""The same factor for the last of several accounts, which may know fewer labels than the others.
"""
_BY_DISTANCE = 0.9
"""Share of a leap's level that is spent on its distance, and not on its being made at once."""
_SQUARED = ("mse", "brier", "r2")
"""Metrics with squared errors: their roots are compared."""
_NO_LOSS = 0.005
"""Loss that counts as none, as a share of the accounts' median."""


def near_perfect(history: History) -> tuple[Evidence, ...] | Skipped:
    """Test the best account, and the best two to ten, for nearly no errors, in private too.

    Parameters
    ----------
    history : History
        Scores are enough; errors are 1 less the score, whatever the metric.

    Notes
    -----
    Let ``e_1 <= ... <= e_m`` be the errors of the accounts' best submissions, with half an error
    added, and ``g_i = log(e_(i+1) / e_i)``. If errors fall off like a power towards 0, the
    ``i g_i`` are independent exponential variables of one mean (Renyi 1953). Then ``j g_j`` over
    the mean of the r later ones has an F distribution with 2 and ``2 r`` degrees of freedom.

    The jump by which the board's errors fell when the first of these accounts got there is compared
    with the mean of all others' improvements, by the same distribution. The smaller of both
    p-values is doubled. A new method breaks that power law too, so further conditions keep a
    p-value at 1: the errors must be at most a fifteenth of the next account's (for j accounts
    beyond three, one in ``5 j``) and at most two answers in a thousand, with an upper limit of
    0.65% (Clopper and Pearson 1934), and fewer by more than counting explains. Losses must be at
    most a thirtieth. What fails them may be a leap (`leaps`).
    """
    return _tests_of_leaders(history, NEAR_PERFECT)


def leaps(history: History) -> tuple[Evidence, ...]:
    """Test the best account, and the best two to ten, for far fewer errors than the next one's.

    The tests are those of `near_perfect` without its conditions for known labels. An account must
    leave at most half of the next one's errors. Of j accounts the last must leave at most two
    thirds, and the best one in ``2 j``: a better method that was made public has followers. The
    steps of all j accounts count, since those that know more labels each than the one before leave
    no large step behind the last.
    Errors that are roots of squares are compared by their squares: who knows half of the numbers
    has half of those. More than ten accounts, of which three are not among them, are tested as one
    group, the one farthest ahead, by the step behind its last one, and by the conditions of
    `near_perfect` for a single account.
    Of all numbers of accounts, and of public scores, private ones and, where errors are counted,
    both together, the clearest is returned.

    Counting alone must not explain it either: accounts at their own rates of errors, and the
    leading ones at the next account's, would have so few with small probability. An area under the
    curve that loses a share of the pairs may have that share of the smaller class wrong, and no
    more: a test that holds for all models cannot see perfect areas where the others are .999.
    """
    found = _tests_of_leaders(history, LEAP)
    if isinstance(found, Skipped):
        return ()
    # Bonferroni with weights 2^-j, a leader alone being as likely as all larger groups, for public
    # and private scores and both together. An eighth is for groups beyond ten, which are as many as
    # there are steps that may end them.
    parts = _n_parts(history)
    beyond = len(history.names) - 3 - TOGETHER
    weighted = []
    for test in found:
        j = len(test.accounts)
        factor = 8.0 * beyond if j > TOGETHER else 2.0**j * (8 / 7 if beyond > 0 else 1)
        weighted.append(replace(test, p_value=min(1.0, parts * factor * test.p_value)))
    return (min(weighted, key=lambda test: test.p_value),)


def _tests_of_leaders(history: History, detector: Detector) -> tuple[Evidence, ...] | Skipped:
    m = len(history.names)
    if m < FEWEST:
        return Skipped(detector.title, f"needs {FEWEST} accounts, got {m}")
    found = _far_ahead(history, history.scores, history.points, detector=detector)
    judged = history.in_private
    private_points = history.private_points
    if judged is None or private_points is None or len(judged.names) < FEWEST:
        return tuple(found)
    assert judged.private is not None
    # Leaked labels of the private part need not show in the public score.
    private = _far_ahead(
        judged, judged.private, private_points, detector=detector, where="in private "
    )
    if detector is LEAP and _n_parts(history) > 2:
        # Right answers of both parts add up: more points tell no errors from luck.
        n = judged.points + private_points
        scores = (judged.points * judged.scores + private_points * judged.private) / n
        private += _far_ahead(judged, scores, n, detector=detector, where="on all points ")
    places = history.private_rows
    return (*found, *(replace(test, rows=places[test.rows]) for test in private))


def _n_parts(history: History) -> int:
    """Return how many sets of points leaps are looked for on."""
    if history.private is None or history.private_points is None:
        return 1
    return 2 if metric_named(history.metric).worst is not None else 3


def _far_ahead(
    history: History, scores: Floats, n: float, *, detector: Detector, where: str = ""
) -> list[Evidence]:
    """Return one test for each number of leading accounts, by scores on n points."""
    m = len(history.names)
    lost, half, power = _losses(history, scores, n)
    if history.metric == AUC and detector is LEAP:
        # Half a pair: an area is no whole number of wrong points.
        half /= n
    loss = metric_named(history.metric).worst is not None
    rows_of = [history.rows_of(code) for code in range(m)]
    best = np.array([rows[np.argmin(lost[rows])] for rows in rows_of])
    wrong = lost[best] * n
    order = np.argsort(wrong, kind="stable")
    errors = wrong[order] + half
    # The ``i g_i`` of the notes above.
    steps = np.arange(1, m) * np.diff(np.log(np.maximum(errors, 1e-300)))
    log_errors = np.log(np.maximum(lost * n + half, 1e-300))
    known = detector is NEAR_PERFECT
    least = (_FEWER_LOSS if loss else _FEWER) if known else _LEAP**power
    found = []
    sizes = list(range(1, min(TOGETHER, m - 3) + 1))
    if not known and m - 3 > TOGETHER:
        # Of larger groups the one that is farthest ahead of the next account, half an error counted
        # as none: whoever has the labels may have changed an answer.
        whole = wrong[order] + 0.5
        ahead_by = whole[TOGETHER + 1 : m - 2] / whole[TOGETHER : m - 3]
        sizes.append(TOGETHER + 1 + int(np.argmax(ahead_by)))
    for j in sizes:
        later = steps[j : j + max(NEIGHBOURS, m // 3)]
        mean = float(later.mean())
        alone = 1.0
        left = float(wrong[order[j - 1]])
        many = j > TOGETHER
        # Of a large group the last one is unlucky: its mean counts, which varies less.
        of_group = float(wrong[order[:j]].mean()) if many else left
        luck = 2 * math.sqrt(_NEARLY * n / j) if many else 0.0
        # Half an answer more: whole answers are floats here.
        nearly = of_group <= _NEARLY * n + 0.5 + luck
        nearly = nearly and beta.ppf(0.95, of_group + 1, n - of_group) <= _AT_MOST
        nearly = nearly or not (known or many) or loss
        if known:
            fewer = least * max(1.0, j / _FRIENDS)
        elif many:
            # A better method that was made public has as many followers; known labels leave less.
            fewer = _FEWER_LOSS**power if loss else _FEWER
        else:
            fewer = least if j == 1 else _LAST_OF_SEVERAL**power
        # A smaller lead is no sign of known labels, and keeps the p-value 1.
        ahead = errors[j] >= fewer * errors[j - 1]
        far = known or many or errors[j] >= (_LEAP * j) ** power * errors[0]
        if nearly and ahead and far:
            leading = steps[j - 1 : j] if known or many else steps[:j]
            ratio = float(leading.mean()) / mean if mean > 0 else math.inf
            spaced = float(f.sf(ratio, 2 * len(leading), 2 * len(later)))
            rate = min(1.0, float(errors[j]) / n)
            # Counting alone: so few errors at the next account's rate, corrected for m accounts.
            # The mean loss of n points varies far less than by these factors. Of areas the errors
            # are the fewest points that lose so much, each behind all points of the other class;
            # beta's tail is the binomial one, between whole errors too (Clopper and Pearson 1934).
            rates = np.append(np.full(j, rate), np.minimum(1.0, errors[j:] / n))
            counted = 0.0 if loss else float(beta.sf(rates, left + 1, n - left).sum())
            jump = _jump(history, log_errors, group=order[:j], reached=float(errors[j - 1]))
            # Whoever leaps in steps shows by the distance alone.
            share = 0.5 if known else _BY_DISTANCE
            either = min(spaced / share, jump / (1 - share))
            alone = max(min(1.0, either), min(1.0, counted))
        found.append(
            Evidence(
                detector=detector,
                accounts=tuple(history.names[c] for c in order[:j]),
                p_value=max(alone, 1e-300),
                says=(
                    f"{where}{history.scale.value(scores[best[order[j - 1]]])} where the next "
                    f"account reaches {history.scale.number(scores[best[order[j]]])}"
                ),
                rows=best[order[:j]],
            )
        )
    return found


def _losses(history: History, scores: Floats, n: float) -> tuple[Floats, float, float]:
    """Return the loss of each submission, (k,), an addend for logarithms, and a power.

    The loss of an account that knows some labels is that of its model times the share of the other
    labels to this power.
    """
    loss = metric_named(history.metric).worst is not None
    lost = 1 - scores
    kind = history.metric.partition(":")[0]
    if kind in _SQUARED:
        lost = np.sqrt(lost)
    best = [lost[history.rows_of(code)].min() for code in range(len(history.names))]
    # What is added keeps the logarithm finite: half an error, or less of losses in large ranges.
    # Where most have none at all it is still above 0.
    half = min(0.5, max(1e-12, _NO_LOSS * float(np.median(best)) * n)) if loss else 0.5
    return lost, half, 0.5 if kind in (*_SQUARED, "rmse") else 1.0


def seen_from(history: History, level: float) -> float | None:
    """Return the least share of labels whose knowledge would have been worth a look.

    They are known to one more account, beside what the best account's model knows, and
    show by their distance alone (`leaps`). None if even all labels would not have stood out, or
    where there are too few accounts.
    """
    m = len(history.names)
    if m < FEWEST:
        return None
    n = history.points
    lost, half, power = _losses(history, history.scores, n)
    best = np.sort([lost[history.rows_of(code)].min() for code in range(m)]) * n
    errors = best + half
    steps = np.arange(2, m + 1) * np.diff(np.log(np.maximum(errors, 1e-300)))
    later = steps[: max(NEIGHBOURS, (m + 1) // 3)]
    mean = max(float(later.mean()), 1e-12)
    loss = metric_named(history.metric).worst is not None
    rate = min(1.0, float(errors[0]) / n)
    parts = _n_parts(history)
    for known in np.linspace(0.5, 1.0, 51):
        left = float(best[0]) * (1 - known) ** power
        ahead = float(errors[0]) / (left + half)
        spaced = float(f.sf(math.log(ahead) / mean, 2, 2 * len(later))) / _BY_DISTANCE
        counted = 0.0 if loss else float(beta.sf(rate, left + 1, n - left))
        if ahead >= _LEAP**power and 2 * parts * max(spaced, (m + 1) * counted) <= 1 - level:
            return float(known)
    return None


def _jump(history: History, errors: Floats, group: Ints, reached: float) -> float:
    """Return the p-value of the jump to few errors, given the improvements of all others.

    `errors`, (k,), are the logarithms of the submissions' errors.
    """
    inside = np.isin(history.codes, group)
    close = errors <= math.log(max(reached, 1e-300)) + 1e-9
    first = int(np.flatnonzero(inside & close)[0])
    # Nothing came before to jump from.
    if first == 0:
        return 1.0
    jump = float(errors[:first].min() - errors[first])
    steps = []
    for code in range(len(history.names)):
        if code not in group:
            # Improvements of each account over its own best.
            own = np.minimum.accumulate(errors[history.rows_of(code)])
            steps.append(-np.diff(own))
    others = np.concatenate(steps)
    others = others[others > 0]
    if len(others) < FEWEST or jump <= 0:
        return 1.0
    # Bonferroni over all improvements, the jump included.
    return min(1.0, (len(others) + 1) * float(f.sf(jump / others.mean(), 2, 2 * len(others))))
