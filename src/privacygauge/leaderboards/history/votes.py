"""Evidence that an answer was made from scores: votes of random queries, and near answers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, chi2, hypergeom
from scipy.stats import t as student

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.leaderboards.history.evidence import OTHERS_VOTE, SETTLED, VOTE, Evidence
from privacygauge.leaderboards.history.record import History
from privacygauge.leaderboards.history.scores import BAND
from privacygauge.leaderboards.history.submitted import (
    Answers,
    Rows,
    differing,
    first_copies,
    labels_on,
    majority_of,
    n_right,
    row_of,
)

POINTS = 2_048
"""Size of the sample of points on which all pairs of submissions are compared."""
_CANDIDATES = 256
"""Number of earlier submissions, the nearest on the sample, that are compared on all points."""


@dataclass(frozen=True, eq=False)
class Nearness:
    """Similarities among the answers of a history."""

    points: Ints
    """(s,) Sampled points, ascending."""
    sample: Answers = field(repr=False)
    """(k, s) Answers on the sampled points."""
    agreement: NDArray[np.int16] = field(repr=False)
    """(k, k) Number of sampled points on which two submissions agree."""
    copy_of: Ints
    """(k,) First submission with identical answers; the submission itself if they are new."""
    nearest: Ints
    """(k,) Nearest earlier submission with other answers; -1 if there is none."""
    distance: Ints
    """(k,) Number of points that differ from the nearest one; -1 if there is none."""
    constant: Bools
    """(k,) Whether one label is the answer on all points: such a baseline tells how frequent its
    label is, and nothing about any point. One other label makes a query of it.
    """

    @property
    def fresh(self) -> Bools:
        """(k,) Whether the answers are new."""
        return np.asarray(self.copy_of == np.arange(len(self.copy_of)))


def nearness(history: History, rng: np.random.Generator) -> Nearness:
    """Compute the distances between submissions.

    Parameters
    ----------
    history : History
        With answers.
    rng : numpy.random.Generator
        Draws the sampled points, if there are more than `POINTS`.
    """
    answers = history.answers
    assert answers is not None
    points = np.arange(history.n)
    if history.n > POINTS:
        points = np.sort(rng.choice(history.n, POINTS, replace=False))
    sample = labels_on(answers, points)
    # Pairs are many: the smallest type that holds the number of sampled points.
    agreement = np.empty((len(sample), len(sample)), np.int16)
    for i, row in enumerate(sample):
        # Bits packed to bytes: a popcount is faster than a sum of booleans.
        same = np.bitwise_count(np.packbits(sample[: i + 1] == row, axis=1)).sum(axis=1)
        agreement[i, : i + 1] = agreement[: i + 1, i] = same
    copy_of = first_copies(answers)
    found = [_nearest(answers, agreement, copy_of, i) for i in range(len(answers))]
    near, distance = (np.array(column, np.int64) for column in zip(*found, strict=True))
    every = (row_of(answers, i) for i in range(len(answers)))
    return Nearness(
        points=points,
        sample=sample,
        agreement=agreement,
        copy_of=copy_of,
        nearest=near,
        distance=distance,
        constant=np.array([bool((row == row[0]).all()) for row in every]),
    )


def label_ranks(rows: Answers) -> Ints:
    """Return the rank, (k, s), of every label among the labels that the rows have at its point."""
    order = np.argsort(rows, axis=0, kind="stable")
    ranked = np.take_along_axis(rows, order, axis=0)
    ranks = np.zeros(rows.shape, np.int64)
    codes = np.empty(rows.shape, np.int64)
    # The rank rises by one at each new label of the sorted column.
    np.cumsum(ranked[1:] != ranked[:-1], axis=0, out=ranks[1:])
    np.put_along_axis(codes, order, ranks, axis=0)
    return codes


def in_order(rows: Answers, truth: Answers) -> tuple[Floats, Floats]:
    """Return the excess of agreements, (k,), over a random order's, in deviations, and these.

    Let a row have label c at a share q_c of the n points, and the truth at a share p_c. In random
    order they agree on ``n g`` points in the mean, g the sum of q_c p_c, with variance
    ``n^2/(n - 1) (g - sum q p^2 - sum p q^2 + g^2)``.
    """
    n = len(truth)
    m = 1 + int(max(truth.max(), rows.max(initial=0)))
    p = np.bincount(truth.astype(np.int64), minlength=m) / n
    q = np.stack([np.bincount(row.astype(np.int64), minlength=m) for row in rows]) / n
    g = q @ p
    variance = n**2 / max(1, n - 1) * (g - q @ p**2 - q**2 @ p + g**2)
    # A file with one label throughout has no order, and no variance.
    deviation = np.sqrt(np.maximum(variance, 1e-12))
    agreed = np.count_nonzero(rows == truth, axis=1)
    return (agreed - n * g) / deviation, deviation


def around(codes: Ints, size: int) -> Iterator[tuple[Ints, Answers]]:
    """Yield for every row the places of the `size` others around it, and their counts by label.

    The counts, (labels, s), are valid until the next row: they are updated in place.
    """
    k, s = codes.shape
    labels = int(codes.max(initial=0)) + 1
    # Flat place of (label, point) in the counts.
    places = codes * s + np.arange(s)
    counts = np.zeros(labels * s, np.int32)
    for row in places[: size + 1]:
        counts[row] += 1
    before = 0
    for place, row in enumerate(places):
        # At the ends the window moves inwards, so that it keeps its `size` others.
        first = min(max(0, place - size // 2), max(0, k - size - 1))
        if first > before:
            counts[places[before]] -= 1
            counts[places[first + size]] += 1
            before = first
        # Leave the row itself out while its neighbours are counted.
        counts[row] -= 1
        window = np.arange(first, min(k, first + size + 1))
        yield window[window != place], counts.reshape(labels, s)
        counts[row] += 1


def _nearest(answers: Rows, agreement: NDArray[np.int16], copy_of: Ints, i: int) -> tuple[int, int]:
    # Copies of the same file are not its nearest neighbour.
    earlier = np.flatnonzero(copy_of[:i] != copy_of[i])
    if not len(earlier):
        return -1, -1
    # Among equally near ones, the latest and also the first: a scan's base may be either.
    order = np.lexsort((-earlier, -agreement[i, earlier]))[:_CANDIDATES]
    # The full distance decides among those tied on the sample, and the first.
    best = agreement[i, earlier[order[0]]]
    tied = order[agreement[i, earlier[order]] == best]
    some = np.unique(np.concatenate([earlier[tied], earlier[:1]]))
    distances = differing(answers, some, row_of(answers, i))
    place = len(some) - 1 - int(np.argmin(distances[::-1]))
    return int(some[place]), int(distances[place])


QUERIES = 20
"""Minimum number of random queries to test an answer."""
_EARLIER = 10
"""Minimum number of an account's submissions before an answer that may have settled points."""
_MOVED = 0.02
"""Share of the points on which the earlier submissions agree: an answer that changes more of them
is another model, which may be better everywhere.
"""
_SHARE = 0.75
"""Share of the earlier submissions: a point is contested if the majority has no more."""
_SURE = 0.8
"""Share of right answers on contested points that nobody has who knows nothing of the others."""
_BROKEN = 3.0
"""Multiple of the usual distance from the majority beyond which files count as broken."""
_ANSWERS = 10
"""Number of an account's answers that are tested, the best by score."""
_FEW = 5
"""Minimum number of random queries of an account: broken files are rare but honest."""
_SAME = 0.5
"""Correlation, of either sign, from which on two queries count as one: a query and its complement,
or near copies, score and agree with an answer alike, and so tell once what they tell.
"""
_WIDE = 0.001
# Level at which changes are too spread in number, smallest p-value, relative error of sums of
# squares, and result of no test.
_LEAST = 1e-300
_ROUNDING = 1e-9
_NOTHING = (1.0, 0.0, 0.0)


def votes(
    history: History, near: Nearness, queries: Bools, throughout: Bools
) -> tuple[Evidence, ...]:
    """Test every account for an answer that follows the scores of random queries.

    Parameters
    ----------
    history : History
        With answers.
    near : Nearness
    queries : array of shape (k,)
        Submissions that are random, or random changes of a base.
    throughout : array of shape (k,)
        Submissions among them that are random at every point.
    """
    found = []
    usable = _usable(history, near, queries=queries, throughout=throughout)
    for code, name in enumerate(history.names):
        # All random queries, and then those of other accounts alone.
        for own in (True, False):
            asked = usable.queries if own else usable.queries & (history.codes != code)
            answers = np.flatnonzero((history.codes == code) & near.fresh & ~usable.queries)
            found.append(
                _best_vote(
                    history,
                    code,
                    name=name,
                    answers=answers,
                    usable=replace(usable, queries=asked),
                    own=own,
                )
            )
    return tuple(evidence for evidence in found if evidence is not None)


@dataclass(frozen=True, eq=False)
class _Queries:
    """Random queries against which an answer can be tested."""

    queries: Bools
    """(k,) Mask of the queries."""
    throughout: Bools
    """(k,) Mask of the queries that are random at every point."""
    changed: Ints
    """(k,) Number of points that differ from the majority of the account's queries."""
    alike: Ints
    """(k,) The first query that tells the same as each; the query itself if it is new."""

    def asked_before(self, answer: int) -> Ints:
        """Return the queries before an answer, ascending: one of those that tell the same."""
        asked = np.flatnonzero(self.queries[:answer])
        return np.asarray(asked[np.sort(np.unique(self.alike[asked], return_index=True)[1])])


def _alike(history: History, near: Nearness, queries: Ints) -> Ints:
    """Return the first of the queries, (queries,), with which each correlates in either sign.

    Agreements are inner products of submissions, with one column for each label at each point:
    less the means of the account's queries they are covariances, also around different bases.
    """
    _, place = np.unique(history.codes[queries], return_inverse=True)
    sizes = np.bincount(place)
    agreed = near.agreement[np.ix_(queries, queries)]
    # (accounts, queries): mean agreement with each account's queries; and among accounts.
    beside = np.stack([agreed[place == c].mean(axis=0) for c in range(len(sizes))])
    among = np.stack(
        [np.bincount(place, weights=row, minlength=len(sizes)) / sizes for row in beside]
    )
    own = np.diagonal(agreed) - 2 * beside[place, np.arange(len(place))] + among[place, place]
    size = np.sqrt(np.maximum(own, _ROUNDING))
    first = np.full(len(queries), -1, np.int64)
    for row in range(len(queries)):
        if first[row] >= 0:
            continue
        c = place[row]
        shared = agreed[row] - beside[c] - beside[:, row][place] + among[c, place]
        first[(first < 0) & (np.abs(shared) >= _SAME * size[row] * size)] = row
        first[row] = row
    return queries[first]


def _usable(history: History, near: Nearness, *, queries: Bools, throughout: Bools) -> _Queries:
    """Return the queries of accounts with several and with changes random in number too."""
    assert history.answers is not None
    usable = np.zeros(len(history), np.bool_)
    changed = np.zeros(len(history), np.int64)
    for code in range(len(history.names)):
        for kind in (throughout, ~throughout):
            of = np.flatnonzero(queries & kind & (history.codes == code))
            # Too few to tell a habit from broken files.
            if len(of) < _FEW:
                continue
            off = majority_of(history.answers, of).off
            changed[of] = off
            # Independent changes vary in number no more than a Poisson variable.
            spread = float(off.var(ddof=1)) / max(1.0, float(off.mean()))
            usable[of] = spread * (len(of) - 1) <= chi2.isf(_WIDE, len(of) - 1)
    alike = np.arange(len(history))
    rows = np.flatnonzero(usable)
    if len(rows):
        alike[rows] = _alike(history, near, rows)
    return _Queries(usable, throughout, changed=changed, alike=alike)


def _best_vote(
    history: History, code: int, name: str, answers: Ints, usable: _Queries, own: bool
) -> Evidence | None:
    tried = []
    # An attack's answers are among its account's best.
    for answer in answers[np.argsort(-history.n_correct[answers], kind="stable")[:_ANSWERS]]:
        asked = usable.asked_before(int(answer))
        if len(asked) >= QUERIES:
            tried.append((_slope_p(history, int(answer), asked, usable), int(answer), asked))
    if not tried:
        return None
    (p, slope), answer, asked = min(tried, key=lambda x: x[0])
    whose = "" if own else " of other accounts"
    says = (
        f"agreement with {len(asked):,} random queries{whose} rises by {slope:.2f} points for "
        "each point that they score"
    )
    # Accounts with at least half of the mean number of queries, and the account itself.
    counts = np.bincount(history.codes[asked], minlength=len(history.names))
    many = 2 * counts >= counts[counts > 0].mean()
    contributors = sorted({*np.flatnonzero(many).tolist(), code})
    names = (name,) if own else tuple(history.names[c] for c in contributors)
    detector = VOTE if own else OTHERS_VOTE
    return Evidence(
        detector=detector,
        accounts=names,
        p_value=min(1.0, max(p * len(tried), _LEAST)),
        says=says,
        rows=np.array([answer]),
    )


def _slope_p(history: History, answer: int, asked: Ints, usable: _Queries) -> tuple[float, float]:
    """Return the p-value of "the answer is independent of the scores", and the slope."""
    assert history.answers is not None
    agreed = history.n - differing(history.answers, asked, row_of(history.answers, answer))
    # Accounts may change different bases, and some queries more of one than others: both shift
    # score and agreement together, for honest answers too.
    groups, place = np.unique(history.codes[asked], return_inverse=True)
    nuisance = np.column_stack([place[:, None] == np.arange(len(groups)), usable.changed[asked]])
    design = nuisance.astype(np.float64)
    # Residuals of both after least squares on the nuisance columns.
    score, agreed = (
        x - design @ np.linalg.lstsq(design, x, rcond=None)[0]
        for x in (history.n_correct[asked], agreed)
    )
    # Less the group means, the column of changes, and the slope.
    freedom = len(asked) - len(groups) - 2
    power = float((score**2).sum())
    if power < 1 or freedom < 1:
        return 1.0, 0.0
    slope = float((score * agreed).sum()) / power
    # Residual variance of the agreement after the slope.
    left = float(((agreed - slope * score) ** 2).sum()) / freedom
    honest = 1.0
    if history.n_classes is not None and usable.throughout[asked].all():
        m = history.n_classes
        accuracy = history.n_correct[answer] / history.n
        # An honest answer agrees with queries that are random at every point by this slope.
        honest = max(0.0, (m * accuracy - 1) / (m - 1))
    # A perfect fit leaves no error but that of rounding to compare the slope with.
    if left <= _ROUNDING * float((agreed**2).mean()):
        return (_LEAST if slope > honest + _ROUNDING else 1.0), slope
    return float(student.sf((slope - honest) / math.sqrt(left / power), freedom)), slope


def settled_points(history: History, near: Nearness) -> tuple[Evidence, ...] | Skipped:
    """Test every account for an answer that is best where its earlier ones disagree."""
    if history.labels is None:
        return Skipped(SETTLED.title, "the labels are not available")
    fresh = [np.flatnonzero((history.codes == c) & near.fresh) for c in range(len(history.names))]
    found = [
        _best_settled(history, name, of) for name, of in zip(history.names, fresh, strict=True)
    ]
    return tuple(evidence for evidence in found if evidence is not None)


def _best_settled(history: History, name: str, of: Ints) -> Evidence | None:
    assert history.answers is not None
    assert history.labels is not None
    if len(of) <= _EARLIER:
        return None
    # The best one, the last among equals: an attack ends with its final answer.
    place = len(of) - 1 - int(np.argmax(history.n_correct[of][::-1]))
    if place < _EARLIER:
        return None
    answers = history.answers
    answer = row_of(answers, int(of[place]))
    own = majority_of(answers, of[:place])
    usual = own.off <= _BROKEN * np.median(own.off)
    # Earlier submissions of other accounts vote too if they are as close to the majority.
    earlier = np.setdiff1d(np.arange(int(of[place])), of)
    distance = differing(answers, earlier, own.labels)
    voters = np.concatenate([of[:place][usual], earlier[distance <= int(own.off[usual].max())]])
    majority = majority_of(answers, voters)
    agreed = majority.kept == len(voters)
    contested = majority.kept <= _SHARE * len(voters)
    right = n_right(answers, voters, history.labels, contested)
    # The best single submission on the contested points, the majority elsewhere.
    best = np.where(contested, row_of(answers, int(voters[right.argmax()])), majority.labels)
    # The larger of the two p-values counts: the answer must beat both.
    p, inside, outside = max(
        _settled_p(history.labels, answer, before=before, agreed=agreed, contested=contested)
        for before in (majority.labels, best)
    )
    says = (
        f"right on {inside:.1%} of the points on which the earlier submissions disagree, and on "
        f"{outside:.1%} of those on which they agree"
    )
    return Evidence(
        detector=SETTLED, accounts=(name,), p_value=p, says=says, rows=of[place : place + 1]
    )


def _settled_p(
    labels: Ints, answer: Answers, before: Answers, agreed: Bools, contested: Bools
) -> tuple[float, float, float]:
    """Return the p-value, and the shares right on contested and on agreed points."""
    moved = np.count_nonzero((answer != before) & agreed)
    if not contested.any() or moved > _MOVED * agreed.sum() or not agreed.any():
        return _NOTHING
    right = answer == labels
    known = before == labels
    both = agreed | contested
    hits = int(right[both].sum())
    inside = int(right[contested].sum())
    size = int(contested.sum())
    total = int(both.sum())
    # Right answers on contested points, if all right answers were spread over both kinds.
    harder = float(hypergeom.sf(inside - 1, total, hits, size))
    # A sign test of the contested points on which the answer and `before` differ in rightness.
    gained = int(np.count_nonzero(right & ~known & contested))
    lost = int(np.count_nonzero(~right & known & contested))
    better = float(binom.sf(gained - 1, gained + lost, 0.5)) if gained else 1.0
    # A finding needs both to be unlikely, so the larger of the two is a p-value. An answer that
    # knows nothing where earlier ones agree owes what it knows to them, and may be no better.
    known_elsewhere, deviation = in_order(answer[None, agreed], labels[agreed])
    blind = inside >= _SURE * size and known_elsewhere[0] <= BAND + 0.5 / deviation[0]
    p = harder if blind else max(harder, better)
    return max(p, _LEAST), inside / size, (hits - inside) / (total - size)
