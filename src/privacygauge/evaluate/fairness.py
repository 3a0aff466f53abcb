"""Fairness of the comparison: a blind attacker, and the rows on which it fails.

A difference between members and non-members that shows without querying the release is not a leak
of the release. A blind attacker learns membership from public knowledge about a record: its class,
its columns, the predictions of other models. If it succeeds, members and non-members are compared
only on rows matched on this knowledge; if no such rows are left, the audit is inconclusive.

The propensity score and matching on its strata: Rosenbaum and Rubin (1983, 1984). Given the known
columns, answers and bits are exchangeable if nothing leaks, and therefore also given the score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import binom, rankdata

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Transcript, tied
from privacygauge.evaluate.roc import auc

N_FOLDS = 5
"""Folds of the units: the blind attacker scores each fold by a model fitted on other folds."""

FEWEST_PEOPLE = 20
"""Fewest people for results by person, if people have several rows each."""

FEWEST = 10
"""Fewest units per side on which a blind attacker is trained."""

MOST_LEVELS = 60, 400
"""Most distinct values of a column that are kept as groups, in small and in large files; more are
cut at quantiles."""

_ROWS_A_LEVEL = 25
"""Mean rows of a value from which more values than the first number are kept, such as schools."""

_BINS = 10, 40
"""Fewest and most groups of equal size that a column with many values is cut into. Fine if rows
allow: attacks may still find differences within a group."""

_ROWS_A_BIN = 40

_PRIOR = 2.0
"""Prior rows in each group, split by the overall share of members, so that rare groups carry little
evidence."""

_STRATA = (20, 40, 80, 160, 320, 640)
"""Numbers of strata of the score, tried in turn until the blind attacker fails inside them. Five
would remove nine tenths of a difference (Rosenbaum and Rubin 1984), but in large files an attack
sees the rest."""

_ROWS_A_STRATUM = 10

_FEWEST_ALIKE = 3
"""Non-members that a stratum needs for its members to count as comparable."""

ENOUGH = 0.5
"""Smallest share of the members with comparable non-members at which a comparison is made."""

_TRIGGER = 4
"""Divisor of the error in the test that the blind attacker succeeds."""

_SURELY = 25
"""Divisor of the error in the test that the sides are twins."""

_NO_GAP = 0.25
_MOST_GAP = 0.5
"""Gaps that matching may leave in a column that differs, in half-widths of its interval: one that
tells no attack anything, and the largest; twice as much at an end of the column."""

_END = 0.1
"""Share of the rows at each end of a column."""

_MOST_CHECKED = 20
"""Most columns whose gaps are measured after matching, those that differ most first."""

_FARTHEST = 8.0
"""Standard deviations beyond which a normal distribution has negligible mass."""

TWINS = "twins"
"""`Comparison.state` if members and non-members are more alike than chance allows."""


@dataclass(frozen=True)
class Difference:
    """A column in which members and non-members differ without querying the release."""

    column: str
    """Name of a column that is known without querying the release."""
    auc: Estimate | None
    """AUC of a blind attacker on this column alone, on units it was not trained on; None if the
    sides have no values in common."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The rows on which members and non-members can be compared."""

    state: str
    """``fair``: all rows are comparable; ``matched``: matched rows are; ``different``: none are; or
    `TWINS`."""
    compared: Bools
    """(n,) True for the rows to compare; all True unless the state is ``matched``."""
    blind: Estimate | None
    """AUC of the blind attacker on all rows; None if it had nothing to learn from."""
    left: Estimate | None = None
    """AUC of the blind attacker on the matched rows; None if rows were not matched."""
    differences: tuple[Difference, ...] = ()
    """Columns that tell the sides apart on their own, the strongest first; empty if only several
    together do."""
    copied: int = 0
    """Rows left out because they have copies on the other side."""
    invented: int = 0
    """Rows left out because they were interpolated from others."""
    repeated: int = 0
    """Rows left out because they repeat another row of the same person."""
    doubtful: tuple[str, ...] = ()
    """User-supplied columns on which rows were matched and that depend on the answers: they may
    have been computed from them."""
    placebo: Estimate | None = None
    """AUC on the compared rows of models not trained on the members; None if there are no such
    models."""
    few_people: int = 0
    """Number of people behind all rows if they are too few for results by person; else 0."""
    whole_groups: tuple[tuple[str, int], ...] = ()
    """Columns that tell the sides apart and whose values, of several rows each, are on one side
    only, with the number of these values: what was dealt to the sides may be whole groups."""
    alone: Bools | None = None
    """(n,) True for members without similar non-members, which are compared with nobody; None if
    rows were not matched."""
    ordered: Floats | None = None
    """(n, d) Those of the `differences` that are numbers or times, standardised, missing ones 0: a
    trend in them may go on among the members that are `alone`. None if rows were not matched."""
    suspects: tuple[str, ...] = ()
    """Columns left out of the comparison that tell the sides apart and that the answers follow, or
    that were made from the answers: nothing in the file says which."""
    alike: Bools | None = None
    """(n,) True for the rows on which the sides are alike in the `suspects`, too; None without
    suspects, or without such rows."""
    clustered: bool = False
    """Whether rows seem to share people although there are no unit labels, so that the number of
    independent rows is unknown."""

    @property
    def told(self) -> bool:
        """Whether a comparison is possible."""
        return self.state in ("fair", "matched")

    def beyond_placebo(self, area: Estimate) -> bool:
        """Return whether an attack beats the placebo: models not trained on the members.

        A placebo with an interval that contains 1/2 sets no bar; otherwise the lower limit of the
        attack's AUC must exceed the placebo's AUC.
        """
        found = self.placebo
        return found is None or found.low <= 0.5 or area.low > found.value

    def few_beyond_placebo(self, members: int, top: int, n_in: int, n_out: int) -> bool:
        """Return whether more members stand out than the placebo explains.

        If the placebo's scores are normal on both sides, of `n_in` and `n_out` units, its AUC gives
        the expected share of members among the `top` highest scores; `members` of them must exceed
        it by more than chance.
        """
        found = self.placebo
        if found is None or found.low <= 0.5:
            return True
        # Distance of two unit normals with the placebo's upper limit as AUC, then the cut above
        # which `top` scores are expected.
        apart = float(np.sqrt(2) * ndtri(found.high))
        cuts = np.linspace(-_FARTHEST, _FARTHEST + apart, 2_000)
        inside = n_in * ndtr(apart - cuts)
        outside = n_out * ndtr(-cuts)
        place = int(np.argmin(np.abs(inside + outside - top)))
        share = inside[place] / (inside[place] + outside[place])
        return float(binom.sf(members - 1, top, share)) < 1 - found.level

    def alone_beyond_trend(self, transcript: Transcript, level: float) -> bool:
        """Return whether the members without similar non-members score above the others' trend.

        A parabola in each of the `ordered` columns is fitted to the scores of all other rows, as
        quantiles of the normal distribution, with an intercept for either side. The mean of the
        members that are `alone` must exceed that of non-members on it by more than chance, the
        uncertainty of the curve included. It is curved, as a model can be sure at both ends of a
        trend: of what it learnt, and in its errors.
        """
        assert self.alone is not None
        rows = transcript.target
        alone = self.alone[rows]
        y = ndtri((rankdata(transcript.score) - 0.5) / len(transcript.score))
        ones = np.ones((len(y), 1))
        trend = np.empty((len(y), 0)) if self.ordered is None else self.ordered[rows]
        x = np.concatenate([ones, transcript.secret[:, None], trend, trend**2], axis=1)
        weights, _, rank, _ = np.linalg.lstsq(x[~alone], y[~alone])
        spread = float(np.sqrt(np.sum((y - x @ weights)[~alone] ** 2) / (len(y) - rank)))
        # On the curve of the non-members: what members gain anywhere is not taken for granted.
        x[:, 1] = 0.0
        at = x[alone].mean(axis=0)
        leverage = float(at @ np.linalg.pinv(x[~alone].T @ x[~alone]) @ at)
        people = checks.n_distinct(transcript.unit[alone])
        error = spread * float(np.sqrt(1 / people + leverage))
        above = float((y - x @ weights)[alone].mean())
        return above > error * float(ndtri(level))

    def group_beyond_placebo(self, accuracy: Estimate) -> bool:
        """Return whether guesses in a group are right more often than the placebo explains."""
        found = self.placebo
        if found is None or found.low <= 0.5:
            return True
        # Best balanced accuracy, Phi(d / 2), of normal scores with AUC Phi(d / sqrt 2).
        return accuracy.low > float(ndtr(ndtri(found.high) / np.sqrt(2)))


def compare(
    known: Mapping[str, NDArray[Any]],
    secret: Bools,
    unit: Ints,
    rng: np.random.Generator,
    level: float = 0.95,
    *,
    copied: Bools | None = None,
    invented: Bools | None = None,
    repeated: Bools | None = None,
    placebo: Mapping[str, NDArray[Any]] | None = None,
) -> Comparison:
    """Return the rows on which members and non-members do not differ in the known columns.

    Parameters
    ----------
    known : mapping of str to ndarray, shape (n,)
        Columns known without querying the release; numbers or texts.
    secret : ndarray of bool, shape (n,)
        True for a member.
    unit : ndarray of int, shape (n,)
        Unit of each row; all rows of a unit are in one fold.
    rng : numpy.random.Generator
        Deals the folds, and draws the rows of a stratum to keep.
    level : float
        In (0, 1). If the sides do not differ, matching is tried in at most ``1 - level`` of all
        comparisons, where it does no harm.
    copied : ndarray of bool, shape (n,), optional
        Rows with an equal or nearly equal row on the other side: they are not compared. If they are
        most of a side, nothing is compared.
    invented : ndarray of bool, shape (n,), optional
        Rows interpolated from others: they are not compared.
    repeated : ndarray of bool, shape (n,), optional
        Rows that repeat another row of their unit: they are not compared.
    placebo : mapping of str to ndarray, shape (n,), optional
        Predictions of models not trained on the members. Rows are not matched on them: they show
        whether matching on `known` was enough.

    Returns
    -------
    Comparison
        With all rows if the blind attacker fails, so that results are those of the data as given.
    """
    checks.level(level)
    nobody = np.zeros(len(secret), np.bool_)
    invented = nobody if invented is None else invented
    repeated = nobody if repeated is None else repeated & ~invented
    n_repeated = int(np.count_nonzero(repeated))
    somebodys = ~(invented | repeated)
    usable = somebodys if copied is None else somebodys & ~copied
    # If most of a side has copies on the other, what is left does not represent it.
    for side in (secret & somebodys, ~secret & somebodys):
        if np.count_nonzero(usable & side) < ENOUGH * np.count_nonzero(side):
            return Comparison(TWINS, np.ones(len(secret), np.bool_), None)
    # Compare the usable rows alone, then put the result back into the shape of all rows.
    if not usable.all():
        known, placebo = (
            {name: np.asarray(values)[usable] for name, values in (columns or {}).items()}
            for columns in (known, placebo)
        )
        found = compare(
            known, secret[usable], unit=unit[usable], rng=rng, level=level, placebo=placebo
        )
        compared, alone = np.zeros((2, len(secret)), np.bool_)
        compared[usable] = found.compared
        alone[usable] = False if found.alone is None else found.alone
        ordered = None
        if found.ordered is not None:
            ordered = np.zeros((len(secret), found.ordered.shape[1]))
            ordered[usable] = found.ordered
        return replace(
            found,
            state="matched" if found.state == "fair" else found.state,
            compared=compared,
            alone=alone,
            ordered=ordered,
            copied=int(np.sum(somebodys & ~usable)),
            invented=int(np.sum(~somebodys)) - n_repeated,
            repeated=n_repeated,
        )
    # Columns without variation are dropped: they tell nothing apart.
    matched, checked = (
        {
            name: code
            for name, values in columns.items()
            if (code := group_codes(values)) is not None
        }
        for columns in (known, placebo or {})
    )
    columns = {**matched, **checked}
    fewest = min(checks.n_distinct(unit[side]) for side in (secret, ~secret))
    if not columns or fewest < FEWEST:
        return Comparison("fair", usable, None)
    # Stricter than `level`, yet looser than the level of each attack: these share it among ten or
    # so.
    strict = 1 - (1 - level) / _TRIGGER
    first = _blind(columns, secret, unit=unit, rng=rng, level=strict)
    if first.high < 0.5:
        # Chance falls below 1/2 as often as above, and no matching would mend it; far below, the
        # sides are more alike than coins could make them.
        sure = _blind(columns, secret, unit=unit, rng=rng, level=1 - (1 - level) / _SURELY)
        state = TWINS if sure.high < 0.5 else "fair"
        return Comparison(state, usable, first)
    if first.low <= 0.5:
        return Comparison("fair", usable, first)
    differences = _differences(columns, secret, unit=unit, rng=rng, level=level)
    # The sides differ in the placebo's predictions alone, on which rows are not matched.
    if not matched:
        return Comparison(
            state="different", compared=usable, blind=first, left=None, differences=differences
        )
    fold = folds_of(unit, secret, N_FOLDS, rng)
    ordered = _in_order(known, differences)
    apart = {one.column: matched[one.column] for one in differences if one.column in matched}
    # Orders in which the sides may still lie apart: those of columns, either way, in all rows and
    # at both ends; and log-odds of groups, which rank members first, and where groups are matched
    # rather last, as folds differ by chance.
    everyone = np.ones(len(secret), np.bool_)
    orders = []
    for rank in (rankdata(ordered[:, :_MOST_CHECKED], axis=0) / len(secret)).T:
        orders.append((rank, everyone, True))
        orders += [(rank, end, True) for end in (rank < _END, rank > 1 - _END)]
    for name in [*apart][:_MOST_CHECKED]:
        orders.append((_propensity({name: apart[name]}, secret, fold), everyone, False))
    # Bonferroni over the columns that differ.
    each = 1 - (1 - level) / max(min(len(apart), _MOST_CHECKED), 1)
    # By the score of all columns and, where that leaves a gap, of those that differ alone: columns
    # that say nothing add noise to the score, in which the others get lost.
    tried = []
    for some in (matched, apart) if 0 < len(apart) < len(matched) else (matched,):
        # A single column that has an order is finer than its groups.
        by_order = len(some) == 1 and ordered.shape[1] == 1
        score = ordered[:, 0] if by_order else _propensity(some, secret, fold)
        for strata in _strata(some, score, len(secret)):
            # Non-members in the stratum of each row: enough of them for most of the members.
            alike = np.bincount(strata, ~secret)[strata]
            if np.mean(alike[secret] >= _FEWEST_ALIKE) < ENOUGH:
                continue
            kept = _balance_strata(strata, secret, unit, rng)
            if min(checks.n_distinct(unit[kept & side]) for side in (secret, ~secret)) < FEWEST:
                continue
            # A blind attacker searches many columns, and overlooks what an attack sees whose
            # answers follow the very column. So each is asked, in half-widths of its interval.
            widest = _NO_GAP
            for order, part, either_way in orders:
                rows = kept & part
                if tied(order[rows]) or secret[rows].all() or not secret[rows].any():
                    continue
                area = auc(Transcript(order[rows], secret[rows], unit=unit[rows]), each)
                excess = abs(area.value - 0.5) if either_way else area.value - 0.5
                half = (area.high - area.low) / 2
                # Few rows are at an end, and chance leaves more of a gap there.
                bar = half if part is everyone else 2 * half
                widest = max(widest, excess / max(bar, 1e-12))
            if widest < _MOST_GAP:
                tried.append((widest, kept, secret & (alike < _FEWEST_ALIKE)))
    # Of those with the smallest gap, the first inside which the blind attacker fails is taken.
    for _, kept, unlike in sorted(tried, key=lambda one: one[0]):
        again = _blind(
            {name: code[kept] for name, code in columns.items()},
            secret[kept],
            unit=unit[kept],
            rng=rng,
            level=strict,
        )
        if again.low <= 0.5:
            return Comparison(
                state="matched",
                compared=kept,
                blind=first,
                left=again,
                differences=differences,
                alone=unlike,
                ordered=ordered,
            )
    return Comparison(
        state="different", compared=usable, blind=first, left=None, differences=differences
    )


def _propensity(columns: Mapping[str, Ints], secret: Bools, fold: Ints) -> Floats:
    """Return cross-fitted propensity scores: mean log-odds of the blind attackers, (n,)."""
    score = np.zeros(len(secret))
    for part in range(N_FOLDS):
        others = fold != part
        judged = fold == part
        # No ranks here: log-odds of models fitted on four fifths of the same rows share one scale.
        score[judged] = np.mean(
            [learner(columns, secret, others, judged) for learner in _learners(columns)], axis=0
        )
    return score


def _in_order(known: Mapping[str, NDArray[Any]], differences: tuple[Difference, ...]) -> Floats:
    """Return those of the columns that are numbers or times, (n, d), as in `Comparison.ordered`."""
    found = [np.empty((len(next(iter(known.values()))), 0))]
    for one in differences:
        if one.column not in known:
            continue  # a placebo
        values = np.asarray(known[one.column])
        if values.dtype.kind in "mM":
            numbers = values.astype(np.int64).astype(np.float64)
            numbers[np.isnat(values)] = np.nan
        elif values.dtype.kind in "iuf":
            numbers = values.astype(np.float64)
        else:
            continue
        missing = ~np.isfinite(numbers)
        numbers = (numbers - numbers[~missing].mean()) / max(numbers[~missing].std(), 1e-12)
        found.append(np.where(missing, 0.0, numbers)[:, None])
    return np.concatenate(found, axis=1)


def group_codes(values: NDArray[Any]) -> Ints | None:
    """Return the group of each row of a column, shape (n,); None if all its values are equal.

    Numbers with many distinct values are cut at their quantiles, with a group for missing ones;
    texts with many distinct values are cut at quantiles of their alphabetical order. Groups depend
    on nothing else, in particular not on the secret.
    """
    array = np.asarray(values)
    if array.dtype.kind == "b":
        array = array.astype(np.int64)
    if array.dtype.kind in "iufmM":
        if array.dtype.kind in "iuf":
            numbers = array.astype(np.float64)
        else:
            numbers = array.astype(np.int64).astype(np.float64)
            numbers[np.isnat(array)] = np.nan
        return _quantile_codes(numbers)
    # x != x: NaN is not equal to itself.
    texts = np.array(["" if x is None or x != x else str(x) for x in array.tolist()], np.object_)
    # Texts that all read as numbers are numbers, empty ones NaN.
    given = texts != ""
    numbers = np.full(len(texts), np.nan)
    try:
        numbers[given] = texts[given].astype(np.float64)
    except ValueError:
        pass
    else:
        if given.any():
            return _quantile_codes(numbers)
    different, code = np.unique(texts, return_inverse=True)
    if len(different) < 2:
        return None
    many = len(different) > int(np.clip(len(code) // _ROWS_A_LEVEL, *MOST_LEVELS))
    return _quantile_codes(code.astype(np.float64)) if many else code


def _quantile_codes(numbers: Floats) -> Ints | None:
    known = np.isfinite(numbers)
    # 0 is the group of missing values.
    code = np.zeros(len(numbers), np.int64)
    if known.any():
        different, place = np.unique(numbers[known], return_inverse=True)
        if len(different) > int(np.clip(len(numbers) // _ROWS_A_LEVEL, *MOST_LEVELS)):
            bins = int(np.clip(len(numbers) // _ROWS_A_BIN, *_BINS))
            edges = np.unique(np.quantile(numbers[known], np.linspace(0, 1, bins + 1)[1:-1]))
            place = np.searchsorted(edges, numbers[known], side="right")
        code[known] = 1 + place
    return code if code.min() < code.max() else None


def folds_of(unit: Ints, secret: Bools, n_folds: int, rng: np.random.Generator) -> Ints:
    """Return the fold of every row, in 0..n_folds-1; all rows of a unit are in one fold.

    Units with mostly members, and the other units, are dealt evenly in random order. Folds are
    balanced by side alone: if they were balanced by class too, the chance share of members in each
    class would be the same in all folds and would be learnt.
    """
    _, inverse = np.unique(unit, return_inverse=True)
    # Units with rows on both sides count towards the one with more of them.
    mostly_in = np.bincount(inverse, weights=np.where(secret, 1.0, -1.0)) > 0
    fold = np.empty(len(mostly_in), np.int64)
    for side in (np.flatnonzero(mostly_in), np.flatnonzero(~mostly_in)):
        # Dealt in turn: every fold has as many units of either side.
        fold[rng.permutation(side)] = np.arange(len(side)) % n_folds
    return fold[inverse]


def _blind(
    columns: Mapping[str, Ints],
    secret: Bools,
    unit: Ints,
    rng: np.random.Generator,
    level: float,
) -> Estimate:
    """Return the AUC of the best of several blind attackers, corrected for the choice.

    One sums the log-odds of the columns, one is linear in their order, one finds interactions by
    boosting, and one takes the order of the single column that tells the sides apart best. Each
    fold is scored by a model fitted on the folds before it: given those, the model is fixed, so the
    intervals are valid. With ordinary cross-fitting the errors of folds are correlated, and a 98%
    interval excluded 1/2 in eight of a hundred comparisons of equal sides. The order of a column
    needs no training, so all rows show it.
    """
    fold = folds_of(unit, secret, N_FOLDS, rng)
    learners = _learners(columns)
    each = 1 - (1 - level) / (len(learners) + 1)
    found = []
    for learner in learners:
        score = np.zeros(len(secret))
        for part in range(1, N_FOLDS):
            before = fold < part
            judged = fold == part
            # Ranks within the fold, scaled to (0, 1]: models of different folds have different
            # scales.
            score[judged] = rankdata(learner(columns, secret, before, judged)) / np.count_nonzero(
                judged
            )
        # The first fold only trains.
        shown = fold > 0
        if tied(score[shown]):
            continue
        found.append(auc(Transcript(score[shown], secret[shown], unit=unit[shown]), each))
    areas = {}
    for name, code in columns.items():
        # AUC of the groups' numbers, ties counting half.
        inside, outside = (
            np.bincount(code[side], minlength=int(code.max()) + 1) / np.count_nonzero(side)
            for side in (secret, ~secret)
        )
        areas[name] = float(inside @ (np.cumsum(outside) - outside / 2))
    first = max(areas, key=lambda name: abs(areas[name] - 0.5))
    order = columns[first] if areas[first] >= 0.5 else -columns[first]
    # Bonferroni over the columns; intervals have two sides, as the direction was chosen, too.
    alone = 1 - (1 - each) / len(columns)
    if not tied(order.astype(np.float64)):
        found.append(auc(Transcript(order.astype(np.float64), secret, unit=unit), alone))
    if not found:
        return Estimate(
            value=0.5, low=0.5, high=0.5, level=level, n=len(secret), method="nothing was learnt"
        )
    # The one farther from 1/2 on either side, so that twins are found too.
    best = max(found, key=lambda area: max(area.low - 0.5, 0.5 - area.high))
    return replace(best, level=level, method=f"{best.method}, the best of {len(found)}")


def _learners(
    columns: Mapping[str, Ints],
) -> list[Callable[[Mapping[str, Ints], Bools, Bools, Bools], Floats]]:
    """Return the trained blind attackers that can do more than one another on the columns."""
    return [_log_odds] if len(columns) == 1 else [_log_odds, _linear_scores, _blind_scores]


def _log_odds(columns: Mapping[str, Ints], secret: Bools, known: Bools, asked: Bools) -> Floats:
    """Return naive Bayes log-odds of each asked row: the sum over columns, as if independent.

    Each column's are shrunk by the share of its chi-squared statistic that chance explains, its
    degrees of freedom: otherwise columns that say nothing add noise, in which the others get lost.
    """
    total = np.zeros(int(np.count_nonzero(asked)))
    share = int(np.count_nonzero(secret & known)) / max(int(np.count_nonzero(known)), 1)
    for code in columns.values():
        n = int(code.max()) + 1
        inside, outside = (
            np.bincount(code[known & side], minlength=n) for side in (secret, ~secret)
        )
        expected = share * (inside + outside)
        seen = expected > 0
        statistic = np.sum((inside - expected)[seen] ** 2 / (1 - share) / expected[seen])
        chance = min(1.0, float((np.count_nonzero(seen) - 1) / max(statistic, 1e-12)))
        # A prior in proportion to the sides: a rare value says little, and nothing is infinite.
        found = np.log((inside + _PRIOR * share) / share)
        found -= np.log((outside + _PRIOR * (1 - share)) / (1 - share))
        total += (1 - chance) * found[code[asked]]
    return total


def _linear_scores(
    columns: Mapping[str, Ints], secret: Bools, known: Bools, asked: Bools
) -> Floats:
    """Return log-odds that are linear in the groups' numbers: shifts of many columns add up.

    Fisher's linear discriminant, with a ridge of the number of columns over that of rows.
    """
    matrix = np.column_stack(list(columns.values())).astype(np.float64)
    # A column may be constant among the rows that are left.
    matrix = (matrix - matrix.mean(axis=0)) / np.maximum(matrix.std(axis=0), 1e-12)
    inside = matrix[known & secret]
    outside = matrix[known & ~secret]
    gap = inside.mean(axis=0) - outside.mean(axis=0)
    within = np.concatenate([inside - inside.mean(axis=0), outside - outside.mean(axis=0)])
    n, d = within.shape
    weight = np.linalg.solve(within.T @ within / n + d / n * np.eye(d), gap)
    return np.asarray(matrix[asked] @ weight, np.float64)


def _blind_scores(columns: Mapping[str, Ints], secret: Bools, known: Bools, asked: Bools) -> Floats:
    from sklearn.ensemble import HistGradientBoostingClassifier

    matrix = np.column_stack(list(columns.values())).astype(np.float64)
    # Small trees and few of them: it must find plain interactions in a few hundred rows.
    model = HistGradientBoostingClassifier(
        max_iter=30,
        learning_rate=0.1,
        max_leaf_nodes=6,
        min_samples_leaf=max(5, min(20, int(known.sum()) // 50)),
        early_stopping=False,
        random_state=0,
    )
    model.fit(matrix[known], secret[known])
    return np.asarray(model.decision_function(matrix[asked]), np.float64)


def _differences(
    columns: Mapping[str, Ints], secret: Bools, unit: Ints, rng: np.random.Generator, level: float
) -> tuple[Difference, ...]:
    """Return the columns that tell the sides apart on their own, the strongest first."""
    if len(columns) == 1:
        # The blind attacker succeeded and had no other column: no test is needed.
        [(name, code)] = columns.items()
        return (Difference(name, _blind({name: code}, secret, unit=unit, rng=rng, level=level)),)
    # Bonferroni over the columns.
    each = 1 - (1 - level) / len(columns)
    found = {
        name: _blind({name: code}, secret, unit=unit, rng=rng, level=each)
        for name, code in columns.items()
    }
    apart = [name for name, area in found.items() if area.excludes(0.5)]
    # By distance from 1/2 either way: a column may rank non-members first.
    apart.sort(key=lambda name: -abs(found[name].value - 0.5))
    return tuple(Difference(name, found[name]) for name in apart)


def _strata(columns: Mapping[str, Ints], score: Floats, n: int) -> list[Ints]:
    """Return strata to try in turn, (n,) each: equal rows if few kinds, then score quantiles."""
    # The combination of all columns' groups; renumbered after each column, so codes stay small.
    joint = np.zeros(n, np.int64)
    for code in columns.values():
        _, joint = np.unique(joint * (int(code.max()) + 1) + code, return_inverse=True)
    combinations = int(joint.max()) + 1
    tried = [joint] if combinations * _ROWS_A_STRATUM <= n else []
    fitting = [number for number in _STRATA if number * _ROWS_A_STRATUM <= n]
    for number in fitting or [max(2, n // _ROWS_A_STRATUM)]:
        edges = np.unique(np.quantile(score, np.linspace(0, 1, number + 1)[1:-1]))
        tried.append(np.searchsorted(edges, score, side="right"))
    return tried


def _balance_strata(strata: Ints, secret: Bools, unit: Ints, rng: np.random.Generator) -> Bools:
    """Return the rows to keep so that members have the same share in every stratum.

    Rows of a unit are kept or left out together, except for one unit per stratum. Otherwise the
    side with more rows would keep more units with fewer rows each, and units would differ although
    rows are alike.

    The share is the one with the most precise comparison: the largest ``1 / (1 / n_in + 1 /
    n_out)``.
    """
    n = int(strata.max()) + 1
    inside = np.bincount(strata[secret], minlength=n).astype(np.float64)
    outside = np.bincount(strata[~secret], minlength=n).astype(np.float64)
    both = (inside > 0) & (outside > 0)
    kept = np.zeros(len(secret), np.bool_)
    if not both.any():
        return kept
    # Candidate ratios of members to non-members: that of each stratum, and 1. Kept members per
    # stratum and candidate have shape (n, candidates); kept non-members are members / ratio.
    ratios = np.append(inside[both] / outside[both], 1.0)
    members = np.minimum(inside[:, None], outside[:, None] * ratios) * both[:, None]
    precision = 1 / (1 / members.sum(axis=0) + 1 / (members / ratios).sum(axis=0))
    best = int(np.argmax(precision))
    wanted = {True: members[:, best], False: members[:, best] / ratios[best]}
    different, owner = np.unique(unit, return_inverse=True)
    # One random number per unit, so that its rows come first or last together in every stratum.
    luck = rng.random(len(different))[owner]
    for side, numbers in wanted.items():
        rows = np.flatnonzero(secret == side)
        order = rows[np.lexsort((luck[rows], strata[rows]))]
        first = np.searchsorted(strata[order], strata[order])
        kept[order] = np.arange(len(order)) - first < np.rint(numbers)[strata[order]]
    return kept
