"""Gaps between public and private scores at a contest's end, and the part that is luck."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.special import log_ndtr, ndtr, ndtri

from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.rates import less, wilson
from privacygauge.evaluate.slices import holm
from privacygauge.leaderboards.history.evidence import (
    FINAL_GAP,
    PRIVATE_LEAD,
    WIDE_GAP,
    Detector,
    Evidence,
)
from privacygauge.leaderboards.history.record import History
from privacygauge.leaderboards.metrics import Metric, metric_named

_PERFECT_TIES = 1e-12
"""Standard deviations up to this are rounding: the scores tie, and no gap is tested."""
_UNEVEN = 0.15
"""Standard deviation of a team's gap where the private part is harder, as a share of the usual gap.
"""
_TOP = 0.1
"""Share of the teams, the best by public score, that are also summarised separately."""


@dataclass(frozen=True)
class TeamEnd:
    """Final result of one team."""

    account: str
    """Name of the team."""
    submissions: int
    """Number of submissions of the team."""
    row: int
    """Submission that the team is judged by: of those it selected the best on the private points,
    else its best on the public ones.
    """
    public: float
    """Its score on the points whose scores were shown."""
    private: float
    """Its score on the other points."""
    gap: Estimate | None
    """`public` less `private`; None where the sizes of both parts are not known."""
    p_value: float | None
    """Two-sided p-value of "both parts are equally easy for it", after Holm's correction over
    teams.
    """

    @property
    def difference(self) -> float:
        """`public` less `private`."""
        return self.public - self.private


@dataclass(frozen=True)
class Overfitting:
    """Public and private scores of a whole contest."""

    teams: tuple[TeamEnd, ...]
    """Teams by private score, the best first."""
    mean: float
    """Mean over teams of public less private score; without interval, as teams share the points."""
    top: float
    """The same for the tenth of the teams with the best public scores, at least one."""
    slope: float | None
    """Slope of private on public scores over all submissions, 1 if gains carry over in full; None
    if all public scores are equal.
    """
    ranks: float | None
    """Rank correlation of the teams' public and private scores; None for a single team."""
    seen_from: float | None
    """Least gap of the leader's best submission that would have been worth a look; None if no gap
    would, or none could be tested.
    """


def gap(
    scores: tuple[float, float], points: tuple[float, float], metric: Metric, level: float
) -> tuple[Estimate, float]:
    """Return the first of two scores less the second, and the p-value of "they are equal".

    The two parts share no points, so their errors are independent.

    Parameters
    ----------
    scores : tuple of float
        Scores on the two parts, in [0, 1].
    points : tuple of float
        `Metric.points` of the two parts.
    metric : Metric
        If its variance is at most S(1 - S)/points (`Metric.like_share`), both scores have Wilson
        intervals, combined as Newcombe does. Otherwise the variance is taken to be the largest
        possible, 1/(4 points), and the interval is conservative.
    level : float
        In (0, 1).

    Sources
    -------
    Newcombe (1998), method 10.
    """
    a, b = scores
    n, m = points
    deviation = float(_deviation(scores, points, metric))
    if metric.like_share:
        first, second = (
            Estimate(
                x,
                *wilson(x * size, size, level),
                level=level,
                n=max(1, int(size)),
                method="Wilson",
            )
            for x, size in zip(scores, points, strict=True)
        )
        found = less(first, second)
    else:
        half = deviation * float(-ndtri((1 - level) / 2))
        found = Estimate(
            value=a - b,
            low=a - b - half,
            high=a - b + half,
            level=level,
            n=int(n + m),
            method="largest variance",
        )
    # Scores that tie give z = 0 and a p-value of 1.
    z = abs(found.value) / deviation if deviation > _PERFECT_TIES else 0.0
    return found, float(2 * ndtr(-z))


def _deviation(
    scores: tuple[ArrayLike, ArrayLike], points: tuple[float, float], metric: Metric
) -> Floats:
    """Return the standard deviation of the difference of two scores, if they are equal in truth."""
    a, b = map(np.asarray, scores)
    n, m = points
    pooled = (a * n + b * m) / (n + m)
    # Scores may lie outside [0, 1] by rounding.
    variance = np.clip(pooled * (1 - pooled), 0, None)
    if not metric.like_share:
        # The largest variance of a value in [0, 1].
        variance = np.full_like(pooled, 1 / 4)
    return np.asarray(np.sqrt(variance * (1 / n + 1 / m)))


def rank_correlation(public: Floats, private: Floats) -> float:
    """Return Spearman's rank correlation; nan for fewer than two teams, or if all are equal."""
    if len(np.unique(public)) < 2 or len(np.unique(private)) < 2:
        return math.nan
    return float(scipy.stats.spearmanr(public, private).statistic)


def overfitting(history: History, level: float = 0.95) -> Overfitting | None:
    """Return the final results on the points without shown scores; None without them.

    Parameters
    ----------
    history : History
        With `private`; with `n_private`, the differences have intervals.
    level : float
        In (0, 1), level of each team's interval.

    Sources
    -------
    Roelofs et al., "A Meta-Analysis of Overfitting in Machine Learning" (2019), Section 3: the
    line through all submissions, mean differences of all and of the best tenth, and p-values.
    """
    submissions = Counter(history.accounts)
    places = history.private_rows
    if history.in_private is None:
        return None
    history = history.in_private
    assert history.private is not None
    rows = [_final_submission(history, code) for code in range(len(history.names))]
    public = history.scores[rows]
    private = history.private[rows]
    gaps: list[Estimate | None] = [None] * len(rows)
    adjusted: list[float | None] = [None] * len(rows)
    private_points = history.private_points
    if private_points is not None:
        metric = metric_named(history.metric)
        sizes = (history.points, private_points)
        tested = [gap(pair, sizes, metric, level) for pair in zip(public, private, strict=True)]
        gaps = [found for found, _ in tested]
        adjusted = list(map(float, holm(np.array([p for _, p in tested]))))
    teams = [
        TeamEnd(
            account=name,
            submissions=submissions[name],
            row=int(places[rows[code]]),
            public=float(public[code]),
            private=float(private[code]),
            gap=gaps[code],
            p_value=adjusted[code],
        )
        for code, name in enumerate(history.names)
    ]
    best = np.argsort(-public, kind="stable")[: max(1, round(_TOP * len(rows)))]
    # Least squares of private on public; the centred public scores make an intercept needless.
    spread = history.scores - history.scores.mean()
    ranks = rank_correlation(public, private)
    return Overfitting(
        teams=tuple(sorted(teams, key=lambda team: -team.private)),
        mean=float((public - private).mean()),
        top=float((public - private)[best].mean()),
        slope=float(spread @ history.private / (spread @ spread)) if spread.any() else None,
        ranks=None if math.isnan(ranks) else ranks,
        seen_from=_seen_from(history, 1 - level),
    )


def _seen_from(history: History, most: float) -> float | None:
    """Return the least gap of the public leader that is worth a look; None if none is."""
    before = history.private
    if before is None or _reason_for_no_test(history, WIDE_GAP) is not None:
        return None
    code = int(history.codes[np.argmax(history.scores)])
    row = _final_submission(history, code)
    gaps = _typical_gaps(history)
    judged = [_judged_submission(history, other) for other in range(len(history.names))]

    def unseen(difference: float) -> bool:
        private = before.copy()
        private[row] = history.scores[row] - difference
        other = replace(history, private=np.clip(private, 0, 1))
        # The other teams are judged as they were.
        now = [*judged[:code], _judged_submission(other, code), *judged[code + 1 :]]
        test = _test_of_gap(other, WIDE_GAP, code, gaps=gaps, judged=now)
        # Holm's correction begins with the smallest of all teams' p-values.
        return test.p_value * len(gaps) > most

    # The private score is at least 0.
    low = min(0.0, float(history.scores[row] - before[row]))
    high = float(history.scores[row])
    if unseen(high):
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if unseen(middle) else (low, middle)
    return high


FEWEST_TEAMS = 5
"""Minimum number of teams: fewer cannot show whether the private part is harder for all."""


def final_gaps(history: History) -> tuple[Evidence, ...] | Skipped:
    """Test for every team whether its public score rose away from the private one step by step.

    The tests are those of `wide_gaps`, and keep their p-values where the gap grew all along: a
    private part of another kind costs all submissions of a team the same, or all from the first one
    on that relied on a feature which did not last. Neither exists where the private points were
    drawn at random (`History.random_private`): there every wide gap comes from the public scores.

    Notes
    -----
    Fewer than forty submissions are never a climb. The gap is looked at where the team's best
    public score rose, at least twelve times, as means of up to ten blocks. The two neighbouring
    differences of blocks that rise most are left out: one step lifts no others. What is left must
    make up three tenths of the judged submission's gap beyond the other teams', and three quarters
    of all movement in these differences must be upward.
    """
    found = _tests_of_gaps(history, FINAL_GAP)
    if isinstance(found, Skipped) or history.random_private:
        return found
    typical = _typical_gaps(history)
    return tuple(
        replace(test, says=f"{test.says}{_OTHER_READING}")
        if _grew(history, code, usual=float(np.median(np.delete(typical, code))))
        else replace(test, p_value=1.0)
        for code, test in enumerate(found)
    )


_OTHER_READING = (
    ". If the private part is of another kind, such as a later month, and was not drawn at random, "
    "honest work that added one thing after the other which worked in public only looks the same"
)
"""What a gap that grew may come from, said with every finding."""


def _grew(history: History, code: int, usual: float) -> bool:
    """Return whether a team's gap beyond the usual one grew with its best public scores."""
    assert history.private is not None
    rows = history.rows_of(code)
    public = history.scores[rows]
    differences = public - history.private[rows]
    rose = np.append(True, public[1:] > np.maximum.accumulate(public)[:-1])
    n_records = int(rose.sum())
    # So few submissions gain little from scores: large gains that do not last are of the work.
    if len(rows) < _CLIMB or n_records < _RECORDS:
        return False
    blocks = np.array_split(differences[rose], min(_BLOCKS, n_records // 2))
    rises = np.diff([block.mean() for block in blocks])
    # A step within a block lifts the differences before it and after it.
    first = int(np.argmax(rises[1:] + rises[:-1]))
    others = np.delete(rises, [first, first + 1])
    judged = _final_submission(history, code)
    excess = float(history.scores[judged] - history.private[judged]) - usual
    return bool(
        others.sum() >= _GROWN * excess and others.sum() >= _UPWARD * np.abs(others).sum() > 0
    )


def wide_gaps(history: History) -> tuple[Evidence, ...]:
    """Test for every team whether its public score is above the range of luck and selection.

    Teams are compared with each other: a private part that is harder for all, such as a later
    month, gives all of them the same gap. Any of k submissions made without looking at scores may
    be the one that is judged, and choosing gains as much as they differ from each other: many near
    copies of one model offer little choice. The p-value is twice the smaller of two: that of the
    judged gap, and that of the gap, no larger, that a tenth of the submissions exceed. A private
    part that is harder for some teams only gives them such gaps too.

    Notes
    -----
    Let d be a gap and D the mean of the other teams' median gaps, as their smallest seven tenths
    tell it if all are normal: a part that is harder for some teams raises the rest.
    ``(d - D) / s`` is compared with the normal distribution, with s the standard deviation from
    sampling if the errors of both parts are independent. If the others spread further, since a
    harder part is not equally hard for all, s is their standard deviation, from the same seven
    tenths, and the distribution is Student's; so it is where fewer than eleven teams are closer to
    each other than sampling alone would set them. The error of D is added to s. Of five to ten
    teams, p-values below 5 and 1% come about no more often than that, and below .2% up to 2.5 times
    as often where gaps spread 1.5 to 2 times as far as by sampling, which few gaps hardly show.

    Where the private points were drawn at random (`History.random_private`), D is 0 and s that of
    sampling: no other teams are needed.

    Gaps of one team consist of an error that all its submissions share and errors of their own. The
    variance t of the latter is at most that of the private scores: nobody chose by them, and
    growing skill adds to it. The gap of the best of k is at most the shared error plus the largest
    of k independent ones (Slepian 1962), for the upper limit of t. If k times the p-value of a
    single gap is smaller, it is used: that holds whatever the submissions share.

    If one submission exceeds a gap with probability p, a tenth of the submissions exceed it with
    probability at most 10 p, whatever they share (Markov's inequality; Rueger 1978).

    All this takes a variance from sampling that is known for shares of right answers. For other
    metrics it is only bounded, by far more than errors of models have. There a further test
    compares the judged gap with the judged gaps of the m other teams, whose mean and standard
    deviation say what is usual (Student, m - 1 degrees of freedom, exact if teams are exchangeable
    and their gaps normal). It takes three fifths of the level. Forks of one notebook have nearly
    one gap, which says little about another model's: the scale is at least half of the standard
    deviation of a loss that is as wide as its mean, if the errors of both models are independent.
    A team that had more to choose from than the others gains by its public errors as above, k being
    the files that are about as good in private as the judged one. The spread of its own errors is
    that of successive gaps, which a climb hardly widens.
    """
    found = _tests_of_gaps(history, WIDE_GAP)
    return () if isinstance(found, Skipped) else found


def private_leads(history: History) -> tuple[Evidence, ...]:
    """Test for every team whether its private score is above the public one by more than luck.

    Gaps are compared with those of the other teams, as in `wide_gaps`: an easier private part
    raises all of them. A harder one is not equally harder for all: the better a model, the smaller
    its gap. So the later half of the others' submissions says what is usual, and a team's gap may
    be larger or smaller by `_UNEVEN` of that. Nobody chooses by private scores, but the best
    private one counts of those that a team selected: the p-value is multiplied by their number.
    """
    if _reason_for_no_test(history, PRIVATE_LEAD) is not None:
        return ()
    private_points = history.private_points
    assert history.private is not None
    assert private_points is not None
    typical = _typical_gaps(history, late=True)
    metric = metric_named(history.metric)
    found = []
    for code, name in enumerate(history.names):
        row = _final_submission(history, code)
        others = np.delete(typical, code)
        # Turned round: leads of some teams are among their smallest gaps.
        easier, spread, wider = _usual_gap(history, -others)
        usual = -easier
        pair = float(history.scores[row]), float(history.private[row])
        sampled = float(_deviation(pair, (history.points, private_points), metric))
        above = usual - (pair[0] - pair[1])
        scale = wider * math.hypot(max(spread, sampled), _UNEVEN * usual)
        z = above / scale if scale > _PERFECT_TIES else 0.0
        tail = float(ndtr(-z)) if sampled >= spread else float(_tail_of_few(z, len(others)))
        selected = history.selected
        chosen = 1 if selected is None else max(1, int(selected[history.rows_of(code)].sum()))
        write = history.scale
        says = f"{write.value(pair[1])} on private and {write.number(pair[0])} on public points"
        found.append(
            Evidence(
                detector=PRIVATE_LEAD,
                accounts=(name,),
                p_value=min(1.0, max(chosen * tail, 1e-300)),
                says=says,
                rows=np.array([row]),
            )
        )
    return tuple(found)


def _reason_for_no_test(history: History, detector: Detector) -> Skipped | None:
    """Return why gaps cannot be tested; None if they can."""
    if history.private is None or history.n_private is None:
        return Skipped(detector.title, "there are no private scores, or their number is not known")
    n_teams = len(history.names)
    if n_teams < FEWEST_TEAMS and not history.random_private:
        return Skipped(
            detector.title,
            f"needs {FEWEST_TEAMS} teams to tell a private part that is harder for all, got "
            f"{n_teams}; or private points drawn at random (random_private)",
        )
    return None


def _tests_of_gaps(history: History, detector: Detector) -> tuple[Evidence, ...] | Skipped:
    if (reason := _reason_for_no_test(history, detector)) is not None:
        return reason
    gaps = _typical_gaps(history)
    judged = [_judged_submission(history, code) for code in range(len(history.names))]
    return tuple(
        _test_of_gap(history, detector, code, gaps=gaps, judged=judged)
        for code in range(len(history.names))
    )


def _typical_gaps(history: History, *, late: bool = False) -> Floats:
    """Return every team's median gap over all submissions, or over the later half of them.

    Those that are judged were chosen, and so carry their makers' luck.
    """
    assert history.private is not None
    differences = history.scores - history.private
    rows_of = [history.rows_of(code) for code in range(len(history.names))]
    if late:
        rows_of = [rows[len(rows) // 2 :] for rows in rows_of]
    return np.array([np.median(differences[rows]) for rows in rows_of])


def _test_of_gap(
    history: History, detector: Detector, code: int, *, gaps: Floats, judged: Sequence[_Judged]
) -> Evidence:
    private_points = history.private_points
    assert history.private is not None
    assert private_points is not None
    row = judged[code].row
    of = history.rows_of(code)
    k = len(of)
    others = np.delete(gaps, code)
    usual, spread, wider = _usual_gap(history, others)
    metric = metric_named(history.metric)
    sizes = (history.points, private_points)
    above = history.scores[of] - history.private[of] - usual
    sampled = _deviation((history.scores[of], history.private[of]), sizes, metric)
    at = int(np.flatnonzero(of == row)[0])
    # Sampling explains the spread of the others: normal, else Student's t. So few as look alike may
    # by chance.
    normal = spread < sampled[at] * min(1.0, len(others) / _ENOUGH_TEAMS)
    if detector is FINAL_GAP and not normal:
        # A part that is harder for the team alone is ruled out by how its gap grew.
        degrees = _degrees(len(others))
        square = degrees * (spread / max(float(sampled[at]), _PERFECT_TIES)) ** 2
        normal = bool(scipy.stats.chi2.sf(square, degrees) >= _UNLIKELY)
    scale = (sampled if normal else np.maximum(spread, sampled)) * wider
    # A scale of 0 is no evidence.
    certain = scale > _PERFECT_TIES
    z = np.where(certain, above / np.where(certain, scale, 1.0), -np.inf)

    def tail(z: Floats) -> Floats:
        return np.asarray(ndtr(-z), float) if normal else _tail_of_few(z, len(others))

    p_value = min(1.0, k * float(tail(z[at])))
    if k > 1 and certain[at]:
        doubt = _DOUBT / len(gaps)
        # The gap has a public error too: its variance is n_private/n of the private one.
        own = _own_spread(history, of, doubt) * math.sqrt(1 + private_points / history.points)
        p_value = min(p_value, doubt + _best_of(k, float(z[at]), own / float(scale[at]), tail))
    # The gap that at least a tenth of the submissions reach.
    some = math.ceil(k / _SHARE)
    if some > 1:
        exceeded = min(float(z[at]), float(np.sort(z)[-some]))
        p_value = 2 * min(p_value, k / some * float(tail(np.array(exceeded))))
    if len(others) >= FEWEST_TEAMS - 1 and not variance_known(history.metric):
        among = _p_among_judged(history, code, judged)
        if detector is FINAL_GAP:
            # A finding needs a gap that is wide beside the team's own usual one too.
            among = max(among, _p_among_judged(history, code, judged, less=gaps))
        p_value = min(p_value / (1 - _AMONG), among / _AMONG)
    write = history.scale
    says = (
        f"{write.value(history.scores[row])} on public and {write.number(history.private[row])} on "
        f"private points, after {k:,} submissions"
    )
    if len(others):
        middle = write.gap(float(np.median(others)))
        says += f"; the gap of the other teams is {middle} in the median"
    p_value = min(1.0, max(p_value, 1e-300))
    return Evidence(
        detector=detector,
        accounts=(history.names[code],),
        p_value=p_value,
        says=says,
        rows=np.array([row]),
    )


def variance_known(metric: str) -> bool:
    """Return whether a score is a share of right answers, whose variance is S(1 - S)/n."""
    return metric.partition(":")[0] in ("accuracy", "top")


def spread_of_public_errors(history: History, rows: Ints) -> float:
    """Return an upper limit on the standard deviation of the luck in public scores.

    Only errors that the submissions do not share count: choosing among submissions gains by these.
    Private scores take out what they are worth. Without them they are taken to be equally good, and
    what they differ in adds to the limit.

    Parameters
    ----------
    history : History
    rows : array of shape (k,)
        Two or more submissions of one team, ascending in time.
    """
    values = history.scores[rows]
    part = 1.0
    if history.private is not None and history.private_points is not None:
        values = values - history.private[rows]
        part = history.private_points / (history.points + history.private_points)
    # Successive differences are worth about two thirds of as many values (von Neumann 1941).
    degrees = max(1.0, (len(rows) - 1) / 1.5)
    upper = degrees / float(scipy.stats.chi2.ppf(0.05, degrees))
    return math.sqrt(part * upper * float(np.mean(np.diff(values) ** 2)) / 2)


@dataclass(frozen=True)
class _Judged:
    """The submission that a team is judged by, and how many others could have been."""

    row: int
    """Submission."""
    rivals: int
    """Number of the team's submissions that may have been judged as well."""
    spread: float
    """Standard deviation of the unshared part of the team's gaps."""


def _judged_submission(history: History, code: int) -> _Judged:
    """Return the submission that a team is judged by.

    The spread of gaps is that of successive differences (von Neumann 1941), of all submissions or
    of the rivals, whichever is smaller: the last files of a climb differ by more than luck.
    """
    assert history.private is not None
    of = history.rows_of(code)
    row = _final_submission(history, code)
    gaps = history.scores[of] - history.private[of]

    def spread(some: Floats) -> float:
        return math.sqrt(float(np.mean(np.diff(some) ** 2)) / 2) if len(some) > 1 else 0.0

    every = spread(gaps)
    near = history.private[of] >= history.private[row] - _REACH * every
    return _Judged(row, int(np.count_nonzero(near)), min(every, spread(gaps[near])))


def _p_among_judged(
    history: History, code: int, judged: Sequence[_Judged], less: Floats | None = None
) -> float:
    """Return the p-value of a team's judged gap among those of the other teams.

    Parameters
    ----------
    history : History
        With private scores and at least three teams.
    code : int
        Index of the team.
    judged : sequence of _Judged
        One per team.
    less : array of shape (teams,), optional
        Subtracted from the teams' gaps.
    """
    private_points = history.private_points
    assert history.private is not None
    assert private_points is not None
    rows = [one.row for one in judged]
    gaps = history.scores[rows] - history.private[rows] - (0.0 if less is None else less)
    others = np.delete(gaps, code)
    above = float(gaps[code] - others.mean())
    row = rows[code]
    score = float(history.scores[row] + history.private[row]) / 2
    lost = 1 - score
    kind = history.metric.partition(":")[0]
    worst = metric_named(history.metric).worst
    if kind == "auc":
        # About the variance of random areas, a third of the bound.
        variance = score * lost / 3
    elif worst is None:
        variance = score * lost
    elif kind == "rmse":
        # Of the root, by the delta method.
        variance = lost**2 / 4
    else:
        # A log-loss is rarely small and even at once: a few points lose about a nat each.
        variance = max(lost**2, lost / worst if kind == "logloss" else 0.0)
    least = _INDEPENDENT * math.sqrt(max(variance, 0.0) * (1 / history.points + 1 / private_points))
    scale = max(float(others.std(ddof=1)), least) * math.sqrt(1 + 1 / len(others))
    if not history.random_private and less is None:
        # A harder part is not equally harder for all.
        scale = math.hypot(scale, _UNEVEN * float(others.mean()))
    k = judged[code].rivals
    own = judged[code].spread
    degrees = float(len(others) - 1)
    part = private_points / (history.points + private_points)
    public = own * math.sqrt(part)
    if k <= _MORE * float(np.median(np.delete([one.rivals for one in judged], code))):
        # No more to choose from than the others had: their gaps gained as much by that.
        public = 0.0
        scale = max(scale, own)
    elif scale > 0:
        # Chosen by the public part of its errors: the private part is as any other's.
        private = own * math.sqrt(1 - part)
        # Degrees of freedom of a sum of variances of which one is known (Welch and Satterthwaite).
        degrees *= (1 + (private / scale) ** 2) ** 2
        scale = math.hypot(scale, own)
    if scale <= _PERFECT_TIES:
        return 1.0

    def tail(z: Floats) -> Floats:
        return np.asarray(scipy.stats.t.sf(z, degrees), np.float64)

    if public == 0:
        return float(tail(np.array(above / scale)))
    return _best_of(k, above / scale, public / scale, tail)


def _own_spread(history: History, rows: Ints, doubt: float) -> float:
    """Return an upper limit on the standard deviation of one team's private scores."""
    assert history.private is not None
    of = history.private[rows]
    different = np.unique(history.private)
    # Rounded scores may be further apart than they look, by up to half a step each.
    step = float(np.diff(different).min()) if len(different) > 1 else 1.0
    # An upper confidence limit of the variance at 1 - doubt, by the chi-squared distribution.
    squares = (len(of) - 1) / scipy.stats.chi2.ppf(doubt, len(of) - 1)
    return float((of.std(ddof=1) + step / 2) * math.sqrt(squares))


def _best_of(k: int, z: float, own: float, tail: Callable[[Floats], Floats]) -> float:
    """Return the probability that the largest of k errors exceeds z.

    Parameters
    ----------
    k : int
    z : float
    own : float
        Standard deviation of the unshared part of the errors, which have standard deviation 1.
    tail : callable
        Upper tail of an error; the shared part has the same one, scaled.
    """
    if own >= 1:
        return 1.0
    # Density of the largest of k standard normals, integrated against the shared part's tail.
    x = np.linspace(-9.0, 9.0, 3_601)
    density = k * np.exp(-(x**2) / 2 + (k - 1) * log_ndtr(x)) / math.sqrt(2 * math.pi)
    beyond = tail((z - own * x) / math.sqrt(1 - own**2))
    return float(np.trapezoid(density * beyond, x))


def _usual_gap(history: History, gaps: Floats) -> tuple[float, float, float]:
    """Return mean and standard deviation of gaps, as the smallest `_KEPT` tell them, and a factor.

    Errors of a further gap are as much larger as the factor says, since the mean is estimated.
    Between random parts all is known: gaps are 0 but for sampling.

    Notes
    -----
    Least squares of the sorted gaps on the expected order statistics of as many normals (Blom
    1958); the largest are left out, and raise neither (Gupta 1952, type II censoring).
    """
    if history.random_private:
        return 0.0, 0.0, 1.0
    n = len(gaps)
    kept = _n_kept(n)
    expected = ndtri((np.arange(1, kept + 1) - 0.375) / (n + 0.25))
    least = np.sort(gaps)[:kept]
    centred = expected - expected.mean()
    spread = float(least @ centred / (centred @ centred))
    mean = float(least.mean()) - spread * float(expected.mean())
    return mean, spread, math.sqrt(1 + _LOCATED / n)


def _n_kept(n: int) -> int:
    return max(3, math.ceil(_KEPT * n))


def _tail_of_few(z: float | Floats, n: int) -> Floats:
    """Return p-values of z-scores whose scale is the spread that `_usual_gap` finds in n gaps."""
    return np.asarray(scipy.stats.t.sf(z, _degrees(n)), np.float64)


def _degrees(n: int) -> float:
    """Return the degrees of freedom of the spread that `_usual_gap` finds in n gaps.

    Fitted to simulated normals: from 4 to 100 gaps the t distribution then has the tails of (gap -
    mean)/spread at 5, 1, .1 and .01%.
    """
    return 0.7 * _n_kept(n) - 0.2


_KEPT = 0.7
"""Share of the other teams' gaps, the smallest, that say what is usual."""
_UNLIKELY = 0.05
"""Probability of the spread of gaps below which sampling does not explain it."""
_ENOUGH_TEAMS = 10
"""Number of other teams from which on a spread below that of sampling is believed to be that."""
_LOCATED = 1.2
"""Variance of the mean that they tell, in units of the variance of a mean of all."""
_SHARE = 10
"""Number k such that the gap exceeded by one submission in k is tested with the judged one."""
_CLIMB = 40
"""Minimum number of submissions that can be a climb on the public score."""
_RECORDS = 12
"""Minimum number of best public scores among which a gap's growth is looked for."""
_BLOCKS = 10
"""Largest number of blocks of best public scores between which gaps are compared."""
_GROWN = 0.3
"""Share of the gap that must have grown besides its largest step."""
_UPWARD = 0.75
"""Upward share of all movement besides that step."""
_AMONG = 0.6
"""Share of the level that the comparison of judged gaps takes, where a variance is only bounded."""
_INDEPENDENT = 0.5
"""Least scale of a gap, in standard deviations of a gap with independent errors."""
_MORE = 2.0
"""Number of files to choose from, over the other teams' median, from which on choosing counts."""
_REACH = 3.0
"""Standard deviations of a team's gaps by which a file that may be judged too is worse at most."""
_HALVINGS = 14
"""Number of steps in which the least gap that is seen is looked for."""
_DOUBT = 1e-3
"""Probability, over all teams, that submissions differ by more than their upper limit."""


def _final_submission(history: History, code: int) -> int:
    """Return the submission that a team is judged by."""
    assert history.private is not None
    of = history.counting(history.rows_of(code))
    if history.selected is not None and history.selected[of].any():
        of = of[history.selected[of]]
        return int(of[np.argmax(history.private[of])])
    return int(of[np.argmax(history.scores[of])])
