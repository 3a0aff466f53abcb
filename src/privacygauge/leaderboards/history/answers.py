"""Evidence in submitted answers: single changes, random answers, random changes, shared work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.stats import binom, poisson

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.leaderboards.history.evidence import (
    AT_CHANCE,
    BLIND_CHANGES,
    COINS,
    FLIPS,
    LINEAGE,
    RANDOM,
    SCAN,
    SINGLE_CHANGES,
    TIES,
    WALK,
    Detector,
    Evidence,
    log_excess,
    log_many,
    probability,
)
from privacygauge.leaderboards.history.record import History
from privacygauge.leaderboards.history.scores import (
    BAND,
    at_chance,
    beyond_chance,
    is_centred,
    narrow,
    per_account_and_group,
    share_by_custom,
)
from privacygauge.leaderboards.history.submitted import Answers, row_of
from privacygauge.leaderboards.history.votes import Nearness, around, in_order, label_ranks

NO_ANSWERS = "the submitted answers are not available"
_SMALL = 2
"""Most labels changed in a scan step: a scan that infers its last candidate changes two."""
# Shares of an account's submissions up to which the detectors take it for honest.
_MOST = 0.75
_HALF = 0.5
_TENTH = 0.1
_QUARTER = 0.25
WINDOW = 12
"""Number of an account's submissions around one from which that one is predicted."""
_FEWEST = 7
"""Minimum number of neighbouring submissions for a prediction."""
_LITTLE = 10
"""Largest change of a file, as a share of the points, that may be one step of a climb."""
_CONTESTED = 50
"""Minimum number of points on which the neighbouring submissions disagree."""
_POOLED = 5.0
"""Band for an account's sums, in standard deviations; wide, since its windows overlap."""
_VARIED = 5
"""Minimum number of submissions whose agreement is compared from point to point."""
_KNOWN = 0.03
"""Upper limit on the share of points that an account's submissions know beyond a guess: trees
fitted to sixty records know as little, and predict each other no better.
"""


def one_label_scan(history: History, near: Nearness) -> tuple[Evidence, ...]:
    """Test every account, and the best group, for changing one label, or one block, at a time."""
    small = (near.distance >= 1) & (near.distance <= _SMALL)
    for code in range(len(history.names)):
        rows = np.flatnonzero((history.codes == code) & near.fresh & (near.distance >= 1))
        if len(rows):
            sizes, counts = np.unique(near.distance[rows], return_counts=True)
            # Of honest changes the most frequent number is at most that of six in ten (swaps).
            small[rows] |= near.distance[rows] == sizes[counts.argmax()]
    small &= near.fresh
    flags = np.zeros(len(history), np.bool_)
    for code in range(len(history.names)):
        rows = np.flatnonzero(small & (history.codes == code))
        flags[rows] = _first_changes(history, near, rows)

    def counted(group: Sequence[int]) -> Bools:
        inside = np.isin(history.codes, group) & near.fresh
        found = np.zeros(len(history), np.bool_)
        # Accounts that share a scan share its points too.
        rows = np.flatnonzero(small & inside)
        found[rows] = _first_changes(history, near, rows)
        return np.asarray(found[inside])

    what = "differ from an earlier one in one or two new labels, or always in as many"
    return per_account_and_group(history, SCAN, flags=flags, counted=counted, rate=_MOST, what=what)


def _first_changes(history: History, near: Nearness, rows: Ints) -> Bools:
    """Return whether at least half of each submission's changes are made for the first time.

    A scan changes a label once and moves on; of two changes, one may take the last step back. A
    model that is trained again changes the same doubtful labels to and fro: on a small test set by
    one or two at a time, so that the number of changes alone tells nothing.
    """
    assert history.answers is not None
    # Labels that were put or replaced at a point, as one number for both.
    seen = np.empty(0, np.int64)
    first = np.zeros(len(rows), np.bool_)
    for place, row in enumerate(rows):
        answer = row_of(history.answers, int(row))
        before = row_of(history.answers, int(near.nearest[row]))
        points = np.flatnonzero(answer != before)
        put, replaced = (labels[points].astype(np.int64) * history.n + points
                         for labels in (answer, before))  # fmt: skip
        first[place] = 2 * np.count_nonzero(~np.isin(put, seen)) >= len(points)
        seen = np.unique(np.concatenate([seen, put, replaced]))
    return first


def single_changes(history: History, near: Nearness) -> tuple[Evidence, ...]:
    """Test every account for single changes of one file that never fall on a point twice.

    Of k changes at independent points, c fall where an earlier one did. For uniform points c is
    about Poisson with mean ``k (k - 1) / (2 n)``; points of which some are changed more often give
    more. Whoever takes the labels one after the other has none, whatever else the account submits.
    """
    assert history.answers is not None
    found = []
    for code, name in enumerate(history.names):
        of = history.rows_of(code)
        # Single changes of one file are two labels apart; the file need not be submitted.
        close = of[(near.distance[of] >= 1) & (near.distance[of] <= _SMALL)]
        if len(close) < _FEWEST:
            continue
        first, second, third = (row_of(history.answers, int(row)) for row in close[:3])
        base = np.where((first == second) | (first == third), first, second)
        rows = []
        changed = []
        for row in close:
            points = np.flatnonzero(row_of(history.answers, int(row)) != base)
            if len(points) == 1:
                rows.append(int(row))
                changed.append(int(points[0]))
        k = len(changed)
        again = k - len(set(changed))
        mean = k * (k - 1) / (2 * history.n)
        found.append(
            Evidence(
                detector=SINGLE_CHANGES,
                accounts=(name,),
                p_value=probability(float(poisson.logcdf(again, mean))),
                says=f"{k:,} submissions change one label of a file, at {k - again:,} points",
                rows=np.array(rows, np.int64),
            )
        )
    return tuple(found)


def blind_changes(history: History, near: Nearness) -> tuple[Evidence, ...]:
    """Test every account for changes of its best file that do not know where it is wrong.

    Needs labels. Who trains a model again changes its doubtful labels, of which about half are
    wrong. Of the labels that a small change replaces, each point counted once in an account, the
    wrong ones are binomial with a rate a third of the way from the file's own share of errors, that
    of blind changes, to a half.
    """
    if history.labels is None:
        return ()
    truth = history.labels[near.points]
    found = []
    for code, name in enumerate(history.names):
        of = history.rows_of(code)
        of = of[near.fresh[of]]
        if not len(of):
            continue
        base = near.sample[of[0]]
        best = float(history.scores[of[0]])
        errors = float(np.mean(base != truth))
        seen = np.zeros(len(truth), np.bool_)
        rows = []
        wrong = 0
        expected = 0.0
        for row in of[1:]:
            points = np.flatnonzero(near.sample[row] != base)
            if 1 <= len(points) <= len(truth) / _LITTLE:
                points = points[~seen[points]]
                seen[points] = True
                wrong += int(np.count_nonzero(base[points] != truth[points]))
                expected += len(points) * errors
                rows.append(int(row))
            if history.scores[row] > best:
                best = float(history.scores[row])
                base = near.sample[row]
                errors = float(np.mean(base != truth))
        changed = int(seen.sum())
        if len(rows) < _FEWEST or not changed:
            continue
        blind = expected / changed
        rate = blind + max(0.0, 0.5 - blind) / 3
        found.append(
            Evidence(
                detector=BLIND_CHANGES,
                accounts=(name,),
                p_value=probability(float(binom.logcdf(wrong, changed, rate))),
                says=(
                    f"{len(rows):,} submissions change the best one before them at {changed:,} "
                    f"points, of which it was wrong on {wrong:,}; {expected:,.0f} are wrong where "
                    "points are chosen blindly"
                ),
                rows=np.array(rows, np.int64),
            )
        )
    return tuple(found)


@dataclass(frozen=True, eq=False)
class RandomRows:
    """Submissions that nothing tells from random labels."""

    uniform: Bools
    """(k,) Whether labels of equal frequency explain score and agreement."""
    drawn: Bools
    """(k,) Whether the submission's own frequencies do, and not equal ones; none without labels."""
    off: Floats
    """(k,) Excess of the score over that of such labels, in standard deviations."""
    ignorant: Bools
    """(k,) Whether score, and agreement with other accounts' models, are those of labels in random
    order, however much an account's submissions agree with each other.
    """
    of_weak_models: Bools
    """(k,) Whether the account's files near chance know something when taken together, so that
    weak models explain the submission too.
    """

    @property
    def flags(self) -> Bools:
        """(k,) Whether the submission is random in either way."""
        return np.asarray(self.uniform | self.drawn)

    @classmethod
    def none(cls, k: int) -> RandomRows:
        """Return that none of k submissions is."""
        no = np.zeros(k, np.bool_)
        return cls(uniform=no, drawn=no, off=np.zeros(k), ignorant=no, of_weak_models=no)


def random_rows(history: History, near: Nearness) -> RandomRows:
    """Mark submissions at chance in score and in agreement with each other.

    Notes
    -----
    Baselines that draw labels by the frequency of their classes score as their labels in random
    order do (`in_order`), far above 1/m where a class is frequent.
    """
    assert history.n_classes is not None
    m = history.n_classes
    candidates = near.fresh & ~near.constant
    off = beyond_chance(history)
    s = len(near.points)
    # Labels of equal frequency agree on 1/m of the points.
    inside = at_chance(history) & candidates
    agreed = near.agreement[:, inside].sum(axis=1) - np.where(inside, s, 0)
    others = int(np.count_nonzero(inside)) - inside
    limit = s / m * others + BAND * np.sqrt(s / m * (1 - 1 / m) * np.maximum(others, 0))
    # Agreements on s points with `others` submissions are binomial if all are independent.
    q = np.stack([np.bincount(row, minlength=m) for row in near.sample.astype(np.int64)]) / s
    # Weak models score like random labels on few points, and agree with other accounts' models.
    with_others = _agrees_with_others(history, near, candidates & ~inside)
    strange = with_others <= BAND
    uniform = inside & (agreed <= limit) & (others > 0) & strange
    if history.labels is None:
        return RandomRows(
            uniform,
            np.zeros(len(history), np.bool_),
            off=off,
            ignorant=inside & strange,
            of_weak_models=_of_weak_models(history, candidates, [off, with_others]),
        )
    by_order, deviation = in_order(near.sample, history.labels[near.points])
    inside = candidates & (np.abs(by_order) <= BAND + 0.5 / deviation) & strange
    same = q @ q[inside].T
    # A submission is not compared with itself.
    same[np.flatnonzero(inside), np.arange(len(same.T))] = 0.0
    agreed = near.agreement[:, inside].sum(axis=1) - np.where(inside, s, 0)
    limit = s * same.sum(axis=1) + BAND * np.sqrt(s * (same * (1 - same)).sum(axis=1))
    drawn = inside & ~uniform & (agreed <= limit)
    return RandomRows(
        uniform,
        drawn,
        off=np.where(drawn, by_order, off),
        ignorant=inside,
        of_weak_models=_of_weak_models(history, candidates, [by_order, with_others]),
    )


_WEAK = 0.5
"""Share of the usual distance from chance up to which a file is a weak model's, or random."""
_TOGETHER_KNOWN = 2.0
"""Least number of standard deviations from which on the sum over an account's weak files shows
that they know something: random labels reach it in one of twenty accounts. With more files, half of
what three points in a hundred come to, up to `BAND`.
"""


def _of_weak_models(history: History, files: Bools, beyond: Sequence[Floats]) -> Bools:
    """Mark accounts, on all their submissions, whose files near chance know something together.

    Independent weak models agree no more than random labels do, and each may be at chance for all
    that its points tell; but all of them together are right, or agree with other accounts' models,
    more often than random labels.

    Parameters
    ----------
    history : History
    files : array of shape (k,)
        Submissions that count: new ones, not constant.
    beyond : sequence of arrays of shape (k,)
        Right answers, and agreements with others' models, beyond chance in standard deviations.
    """
    found = np.zeros(len(history), np.bool_)
    assert history.n_classes is not None
    chance = 1 / history.n_classes
    # Little knowledge, in standard deviations of one file.
    little = _KNOWN / math.sqrt(chance * (1 - chance) / history.n)
    for code in range(len(history.names)):
        own = history.codes == code
        others = files & ~own & (beyond[0] > BAND)
        weak = files & own
        for each in beyond:
            usual = float(np.median(each[others])) if others.any() else 0.0
            weak &= each <= max(BAND, _WEAK * usual)
        k = max(1, int(np.count_nonzero(weak)))
        most = min(BAND, max(_TOGETHER_KNOWN, math.sqrt(k) * little / 2))
        found[own] = any(each[weak].sum() > most * math.sqrt(k) for each in beyond)
    return found


def _agrees_with_others(history: History, near: Nearness, models: Bools) -> Floats:
    """Return how far agreement with the others' majority, (k,), is beyond a random order's.

    The majority is that of the `models`, (k,), of other accounts; 0 where they have too few.
    """
    assert history.n_classes is not None
    m = history.n_classes
    found = np.zeros(len(history))
    # Number of models with each label at each point: of all, and of each account in turn.
    every = _label_counts(near.sample[models], m)
    for code in range(len(history.names)):
        own = history.codes == code
        if np.count_nonzero(models & ~own) < _FEWEST:
            continue
        others = every - _label_counts(near.sample[models & own], m)
        found[own] = in_order(near.sample[own], others.argmax(axis=0))[0]
    return found


def _label_counts(rows: Answers, m: int) -> Ints:
    counts = np.zeros((m, rows.shape[1]), np.int64)
    for row in rows:
        counts[row, np.arange(len(row))] += 1
    return counts


def random_answers(
    history: History, near: Nearness, random: RandomRows
) -> tuple[Evidence, ...] | Skipped:
    """Test every account, and the best group, for random answers."""
    if history.n_classes is None:
        return Skipped(RANDOM.title, "the number of classes is not known")
    if not history.counted:
        return Skipped(RANDOM.title, f"the scores are {history.metric}, not right answers")
    return _random_answers(history, near, random, ~random.of_weak_models, detector=RANDOM)


def random_or_weak(history: History, near: Nearness, random: RandomRows) -> tuple[Evidence, ...]:
    """Test as `random_answers` does the accounts whose files near chance know something."""
    return _random_answers(history, near, random, random.of_weak_models, detector=AT_CHANCE)


_WALKED = 0.5
"""Most that the mean of files at chance is above it, in standard deviations of one file: files that
follow from each other move it less than one file would, and a weak model's know more.
"""
_LONG = 20
"""Minimum number of an account's files at chance that may follow from each other."""


def random_walks(history: History, near: Nearness, random: RandomRows) -> tuple[Evidence, ...]:
    """Test every account for files at chance, however much they agree with each other."""
    shares = np.asarray(
        np.bincount(history.codes, weights=random.ignorant) / np.bincount(history.codes)
    )
    found = []
    for code, name in enumerate(history.names):
        of = np.flatnonzero((history.codes == code) & near.fresh)
        flags = random.ignorant[of]
        rows = of[flags]
        if len(rows) < _LONG or float(random.off[rows].mean()) > _WALKED:
            continue
        log_p = log_excess(flags, share_by_custom(shares, [code], _HALF))
        says = f"{len(rows):,} of {len(of):,} submissions are right as often as random labels are"
        found.append(Evidence(WALK, (name,), p_value=probability(log_p), says=says, rows=rows))
    return tuple(found)


def _random_answers(
    history: History, near: Nearness, random: RandomRows, counts_for: Bools, *, detector: Detector
) -> tuple[Evidence, ...]:
    flags = random.flags & counts_for

    def counted(group: Sequence[int]) -> Bools:
        of = np.flatnonzero(np.isin(history.codes, group) & near.fresh)
        # The flags count only if the scores of the group as a whole are as those of random labels.
        off = random.off[of[flags[of]]]
        return np.asarray(flags[of] & (narrow(off) and is_centred(off)))

    counts, by_frequency, sizes = (
        np.bincount(history.codes, weights=weights, minlength=len(history.names))
        for weights in (flags, random.drawn, None)
    )
    shares = counts / sizes

    def usual(group: Sequence[int]) -> float:
        of = list(group)
        # Baselines are drawn by the frequencies of classes: only a habit beyond those is odd.
        drawn = 2 * by_frequency[of].sum() > counts[of].sum()
        return share_by_custom(shares, group, _HALF if drawn else _TENTH)

    what = "score as random labels do and agree with each other no more than those"
    return per_account_and_group(
        history, detector, flags=flags, counted=counted, rate=usual, what=what
    )


_OTHERS = 3
"""Minimum number of other accounts needed to show by their wavering that points are hard."""
_SAME = 0.9
"""Share of an account's steady points on which another with the same base is steady too."""
_AS_MUCH = 1 / 3
"""Changes of another account on an account's wavering points, as a share of its own there."""
_ALIKE = 0.3
"""Correlation over all points between another account's changes and an account's own."""


@dataclass(frozen=True, eq=False)
class NeighbourPredictions:
    """Prediction of submissions from the account's other submissions around them."""

    flags: Bools
    """(k,) Whether a submission is as unpredictable as coin flips."""
    trial: Ints
    """(k,) First submission of those that are judged together: of few contested points each."""
    contested: Ints
    """(k,) Number of sampled points on which the others disagree."""
    hits: Ints
    """(k,) Number of these on which their most frequent answer is the submission's."""
    guess: Floats
    """(k,) Expected hits of a guess among the answers that the others gave."""
    variance: Floats
    """(k,) Variance of the hits of such a guess."""
    n_points: int
    """Number of sampled points."""


def coins(history: History, near: Nearness, ignorant: Bools) -> NeighbourPredictions:
    """Predict every submission from the account's others around it.

    Parameters
    ----------
    history : History
    near : Nearness
    ignorant : array of shape (k,)
        Submissions that know nothing of the points: a few labels changed in a constant file, or in
        random ones, are queries. They are judged together with the next ones, as many as are needed
        for enough contested points. Models that know something need as many by themselves.
    """
    k = len(history)
    # Columns: contested points, hits, hits of a guess, and their variance.
    table = np.zeros((k, 4))
    for code in range(len(history.names)):
        of = np.flatnonzero((history.codes == code) & near.fresh & ~near.constant)
        codes = label_ranks(near.sample[of])
        for place, (others, counts) in enumerate(around(codes, WINDOW)):
            if len(others) >= _FEWEST:
                table[of[place]] = _majority_hits(codes[place], codes[others], counts)
    contested, hits, guess, variance = table.T
    trial = np.arange(k)
    for code in range(len(history.names)):
        few = (contested > 0) & (contested < _CONTESTED) & ignorant & (history.codes == code)
        first = -1
        total = _CONTESTED
        for row in np.flatnonzero(few):
            if total >= _CONTESTED:
                first = int(row)
                total = 0
            trial[row] = first
            total += contested[row]
    contested_in, hits_in, guess_in, variance_in = (
        np.bincount(trial, weights=column, minlength=k)[trial] for column in table.T
    )
    enough = contested_in >= _CONTESTED
    return NeighbourPredictions(
        flags=enough & (hits_in <= guess_in + BAND * np.sqrt(variance_in)),
        trial=trial,
        contested=contested.astype(np.int64),
        hits=hits.astype(np.int64),
        guess=guess,
        variance=variance,
        n_points=len(near.points),
    )


@dataclass(frozen=True, eq=False)
class Wavering:
    """Changes of mind of accounts on each point, compared across accounts."""

    codes: Ints
    """(k, s) Answers on the sampled points, by rank."""
    shares: Floats
    """(accounts, s) Share of an account's new submissions that contradict its majority."""
    bases: Ints
    """(accounts, s) Majority answers of the accounts."""

    @classmethod
    def counted(cls, history: History, near: Nearness) -> Wavering:
        """Count the contradicted labels of the history's accounts on the sampled points."""
        codes = label_ranks(near.sample)
        found = [
            _contradicting(codes[(history.codes == code) & near.fresh])
            for code in range(len(history.names))
        ]
        shares, bases = (np.stack(each) for each in zip(*found, strict=True))
        return cls(codes, shares, bases)

    def covers(self, code: int, rows: Ints) -> bool:
        """Return whether most other accounts waver on the same points, and nearly as much.

        If they do, the points are the cause: ties that all models have to break. An account that
        changes labels at random does so where others are sure. Accounts that answer the same
        wherever neither wavers share one base, and do not count: they may be one person's.
        """
        if len(self.shares) <= _OTHERS:
            return False
        # (accounts, s): points on which neither account wavers.
        steady = (self.shares == 0) & (self.shares[code] == 0)
        differs = ((self.bases != self.bases[code]) & steady).any(axis=1)
        # An account with the same base is steady on nearly all of these points, another model is
        # not.
        same = ~differs & (steady.sum(axis=1) >= _SAME * np.count_nonzero(self.shares[code] == 0))
        beside = np.arange(len(same)) != code
        # Nearly everybody has the same base where the task is easy: then all count.
        apart_from = beside if same[beside].mean() >= _MOST else beside & ~same
        others = self.shares[apart_from]
        # Wavering of the flagged submissions alone.
        own, _ = _contradicting(self.codes[rows])
        inside = own > 0
        if len(others) < _OTHERS or not inside.any():
            return False
        as_much = others[:, inside].mean(axis=1) >= _AS_MUCH * own[inside].mean()
        # Correlation of the wavering over all points; size is the product of both norms.
        apart = own - own.mean()
        spread = others - others.mean(axis=1, keepdims=True)
        size = np.sqrt((apart**2).sum() * (spread**2).sum(axis=1))
        alike = spread @ apart >= _ALIKE * size
        return bool(np.mean(as_much & alike & (size > 0)) >= _MOST)


def _contradicting(codes: Ints) -> tuple[Floats, Ints]:
    """Return the share, (s,), of rows against the most frequent answer, and that answer, (s,)."""
    if not len(codes):
        return np.zeros(codes.shape[1]), np.zeros(codes.shape[1], np.int64)
    counts = np.stack([np.count_nonzero(codes == c, axis=0) for c in range(int(codes.max()) + 1)])
    return np.asarray(1 - counts.max(axis=0) / len(codes)), counts.argmax(axis=0)


def random_changes(
    history: History, near: Nearness, found: NeighbourPredictions
) -> tuple[Evidence, ...]:
    """Test every account for random changes of a common base."""
    evidence = []
    shared = Wavering.counted(history, near)
    what = "are as unpredictable as coin flips where the account's others disagree"
    for code, name in enumerate(history.names):
        of = np.flatnonzero((history.codes == code) & near.fresh)
        flags = found.flags[of]
        odd = _plausible(history, found, of[flags]) and not shared.covers(code, of[flags])
        odd = odd and not _weak_models(history, found, of[flags], near.sample[of[flags]])
        # Submissions that are judged together are one trial.
        log_p = log_excess(flags[found.trial[of] == of], _QUARTER) if odd else 0.0
        says = f"{np.count_nonzero(flags):,} of {len(of):,} submissions {what}"
        evidence.append(
            Evidence(
                detector=COINS,
                accounts=(name,),
                p_value=probability(log_p),
                says=says,
                rows=of[flags],
            )
        )
    return tuple(evidence)


def shared_lineage(history: History, near: Nearness) -> tuple[Evidence, ...]:
    """Test every two accounts for continuing each other's work."""
    accounts = range(len(history.names))
    # (accounts, k): how far a submission is from the nearest earlier one of each account.
    far = np.empty((len(accounts), len(history)))
    for row in range(len(history)):
        before = np.flatnonzero(near.fresh[:row])
        agreed = np.full(len(accounts), -np.inf)
        np.maximum.at(agreed, history.codes[before], near.agreement[row, before])
        far[:, row] = len(near.points) - agreed
    return tuple(_pair(history, near, far=far, a=a, b=b) for a, b in combinations(accounts, 2))


def _majority_hits(row: Ints, others: Ints, counts: Answers) -> tuple[int, int, float, float]:
    """Return contested points, hits of the others' most frequent answer, and those of a guess."""
    contested = counts.max(axis=0) < len(others)
    # A guess takes each of the answers that the others gave with equal probability.
    rate = 1 / np.count_nonzero(counts[:, contested], axis=0)
    # Among equally frequent answers, the earliest.
    same = np.take_along_axis(counts, others, axis=0)
    best = np.take_along_axis(others, same.argmax(axis=0)[None], axis=0)[0]
    hits = np.count_nonzero((best == row) & contested)
    # Sum and variance of independent guesses.
    total = int(np.count_nonzero(contested))
    return total, int(hits), float(rate.sum()), float((rate * (1 - rate)).sum())


def _plausible(history: History, found: NeighbourPredictions, rows: Ints) -> bool:
    """Return whether submissions show no knowledge of the points on which they differ."""
    if not len(rows):
        return False
    deviation = math.sqrt(found.variance[rows].sum())
    # More hits than guesses have: the account's submissions predict each other.
    if found.hits[rows].sum() - found.guess[rows].sum() > _POOLED * deviation:
        return False
    if history.n_classes is None:
        return True
    # Right answers among the contested points, at least: all other points may be right.
    share = found.contested[rows] / found.n_points
    # Share of all points; positive if the submissions know more than a guess or than chance.
    least = history.n_correct[rows] / history.n - (1 - share)
    more = least - share * np.maximum(
        found.guess[rows] / found.contested[rows], 1 / history.n_classes
    )
    noise = math.sqrt(found.variance[rows].sum()) / (found.n_points * len(rows))
    # Too few points to exclude that weak models know something are no evidence.
    return bool(more.mean() <= min(_POOLED * noise, _KNOWN - BAND * noise))


def _weak_models(
    history: History, found: NeighbourPredictions, rows: Ints, answers: Answers
) -> bool:
    """Return whether submissions, with their sampled `answers`, are those of weak models.

    Models that are right more often than chance on contested points agree at easy points far more
    than at hard ones, even where a few of them do not predict each other. Labels drawn at random
    agree everywhere alike. Draws of m labels make two answers agree independently of the next two,
    so the numbers of equal pairs by point have the variance of a binomial one.
    """
    if history.n_classes is None or len(rows) < _VARIED:
        return False
    share = found.contested[rows] / found.n_points
    chance = share / history.n_classes
    known = (history.n_correct[rows] / history.n - (1 - share) - chance).mean()
    noise = math.sqrt(float((chance * (1 - chance)).sum()) / history.n) / len(rows)
    if known <= _POOLED * noise:
        return False
    counts = np.stack([np.count_nonzero(answers == c, axis=0) for c in np.unique(answers)])
    pairs = len(rows) * (len(rows) - 1) / 2
    equal = (counts * (counts - 1) / 2).sum(axis=0)
    equal = equal[equal < pairs]
    if not len(equal):
        return False
    rate = float(equal.mean()) / pairs
    variance = pairs * rate * (1 - rate)
    # The fourth moment is that of a binomial with as many pairs.
    apart = math.sqrt((2 + 1 / variance) / len(equal)) if variance > 0 else math.inf
    return float(equal.var()) > (1 + _POOLED * apart) * variance


def _pair(history: History, near: Nearness, far: Floats, a: int, b: int) -> Evidence:
    first, second = (np.flatnonzero((history.codes == c) & near.fresh) for c in (a, b))
    # Each account less than half as far from the other's earlier work as from its own.
    flags = [2 * far[b, first] < far[a, first], 2 * far[a, second] < far[b, second]]
    for own in flags:
        own[:1] = False  # nothing of their own before it
    # Both directions have to hold, so the larger of the two is a p-value for the pair.
    log_p = max(log_many(found, _HALF) for found in flags)
    rows = np.sort(np.concatenate([first[flags[0]], second[flags[1]]]))
    says = (
        f"{np.count_nonzero(flags[0]):,} of {len(first):,} and {np.count_nonzero(flags[1]):,} of "
        f"{len(second):,} submissions are less than half as far from the other account's earlier "
        "ones as from their own"
    )
    names = (history.names[a], history.names[b])
    return Evidence(
        detector=LINEAGE, accounts=names, p_value=probability(log_p), says=says, rows=rows
    )


_AROUND = 40
"""Number of an account's submissions around one with which it is compared."""
_NEIGHBOURS = 12
"""Minimum number of submissions to compare with."""
_WAVERING = 100
"""Minimum number of points on which these submissions disagree."""
_WRONG = 30
"""Minimum number of these points where their majority is wrong."""
_BASELESS = 0.4
"""Share of all points; a submission that changes more has no base, and is found as random."""
_TOGETHER = 1.0
"""Limit on the mean over an account's submissions; its standard deviation for 12 is 0.3."""


def random_flips(
    history: History, near: Nearness, random: RandomRows
) -> tuple[Evidence, ...] | Skipped:
    """Test every account for submitting a model with labels changed at random.

    What wavering of other accounts on the same points excuses comes back as `TIES`.

    Random answers change no model, though where one class is frequent they are near to many.

    On the points on which the submissions around one disagree, its changes of their majority are
    compared with the number of others that change it there, and with where it is wrong.
    """
    if history.labels is None:
        return Skipped(FLIPS.title, "the labels are not available")
    labels = history.labels[near.points]
    what = "change their base where chance falls: neither where others do nor where it is wrong"
    shared = Wavering.counted(history, near)
    found = []
    excused = []
    habits = np.zeros(len(history.names), np.bool_)
    for code, name in enumerate(history.names):
        of = np.flatnonzero((history.codes == code) & near.fresh)
        # The labels are ranked along as the last row, to compare them with the answers.
        codes = label_ranks(np.vstack([near.sample[of], labels]))
        tests = [
            None if apart else _compare_with_majority(row, counts, len(others), codes[-1])
            for apart, row, (others, counts) in zip(
                random.flags[of], codes, around(codes[:-1], _AROUND), strict=False
            )
        ]
        flags = np.array([test is not None and test.like_chance for test in tests], np.bool_)
        flagged = [test for test in tests if test is not None and test.like_chance]
        odd = False
        if flagged:
            # Excesses in standard deviations, (2,), averaged over the flagged submissions.
            off = np.mean([test.above / np.sqrt(test.variance) for test in flagged], axis=0)
            odd = bool((off <= _TOGETHER).all())
        habits[code] = flags.mean() > _QUARTER if len(flags) else False
        evidence = Evidence(
            detector=FLIPS,
            accounts=(name,),
            p_value=probability(log_excess(flags, _QUARTER) if odd else 0.0),
            says=f"{np.count_nonzero(flags):,} of {len(of):,} submissions {what}",
            rows=of[flags],
        )
        if odd and shared.covers(code, of[flags]):
            excused.append(replace(evidence, detector=TIES))
            evidence = replace(evidence, p_value=1.0)
        found.append(evidence)
    # Where others break ties at random too, it is the task; where they only waver, worth a look.
    alone = np.count_nonzero(habits) <= len(habits) / 2
    return (*found, *(excused if alone else ()))


@dataclass(frozen=True, eq=False)
class _MajorityComparison:
    """Excess of two sums over a submission's changes above those of random changes."""

    above: Floats
    """(2,) Excess of changes by others on the same points, and of errors of the base there."""
    variance: Floats
    """(2,) Variance of each for a random choice of the same number of points."""

    @property
    def like_chance(self) -> bool:
        """Whether both are within the band of a random choice."""
        return bool((self.above <= BAND * np.sqrt(self.variance)).all())


def _compare_with_majority(
    row: Ints, counts: Answers, total: int, truth: Ints
) -> _MajorityComparison | None:
    """Compare a submission's changes with the majority of `total` others, given their counts."""
    if total < _NEIGHBOURS:
        return None
    base = counts.argmax(axis=0)
    changes = total - counts.max(axis=0)
    # Points on which the others disagree, whatever this submission answers.
    contested = changes > 0
    size = int(contested.sum())
    wrong = base != truth
    if size < _WAVERING or np.count_nonzero(wrong & contested) < _WRONG:
        return None
    off = row != base
    if off.mean() > _BASELESS:
        return None
    changed = off[contested]
    d = int(changed.sum())
    values = np.stack([changes[contested], wrong[contested]]).astype(np.float64)
    # Sums over d points drawn without replacement.
    above = values[:, changed].sum(axis=1) - d * values.mean(axis=1)
    # Variance of a sum of d drawn without replacement; a value without spread tests nothing.
    variance = d * (size - d) / (size - 1) * values.var(axis=1)
    return _MajorityComparison(above, variance) if variance.all() else None
