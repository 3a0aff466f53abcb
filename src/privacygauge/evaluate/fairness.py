"""Fairness of the comparison: a blind attacker, and the rows on which it fails.

A difference between members and non-members that shows without querying the release is not a leak
of the release. A blind attacker learns membership from public knowledge about a record: its class,
its columns, the predictions of other models. Where it succeeds, members and non-members are
compared only on rows that are alike in this knowledge; where no such rows are left, the audit
cannot tell anything.

The propensity score and matching on its strata: Rosenbaum and Rubin (1983, 1984). Given the known
columns, answers and bits are exchangeable if nothing leaks, and therefore also given the score.
"""

from __future__ import annotations

from collections.abc import Mapping
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
"""Folds of the units: the blind attacker judges each with a model fitted on the others."""

FEWEST_PEOPLE = 20
"""Fewest people by whom anything is shown, where they have several rows each."""

FEWEST = 10
"""Fewest units of either side on which a blind attacker is trained."""

MOST_LEVELS = 60
"""Texts with more distinct values are cut into groups by their order."""

_BINS = 10, 40
"""Numeric columns with many values are cut into this many groups of equal size, the smaller number
where rows are few: attacks may still find differences within a group."""

_ROWS_A_BIN = 40

_PRIOR = 2.0
"""Prior rows of either side in each group, so that rare groups carry little evidence."""

_STRATA = (20, 40, 80, 160)
"""Numbers of strata of the score, tried in turn until the blind attacker is blind inside them.
Five would remove nine tenths of a difference (Rosenbaum and Rubin 1984), and an attack sees the
rest in large files."""

_ROWS_A_STRATUM = 10

_FEWEST_ALIKE = 3
"""Rows of the other side that a stratum needs before its members count as comparable."""

ENOUGH = 0.5
"""The share of the members that must have non-members like them for a comparison to speak of
the members at all."""

_TRIGGER = 4
"""Factor by which the error is reduced for the statement that the blind attacker succeeds."""

_SURELY = 25
"""Factor by which the error is reduced for the statement that the sides are twins."""

_FARTHEST = 8.0
"""Standard deviations from a mean beyond which a normal distribution has no mass."""

TWINS = "twins"
"""`Comparison.state` where members and non-members are more alike than chance allows."""


@dataclass(frozen=True)
class Difference:
    """A column in which members and non-members differ, without the release."""

    column: str
    """Name of a column that is known without querying the release."""
    auc: Estimate | None
    """AUC of this column alone, on units that it was not trained on; None where the sides have no
    values in common."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The rows on which members and non-members can be compared."""

    state: str
    """``fair``: as they are; ``matched``: on rows that are alike; ``different``: nowhere; or
    `TWINS`."""
    compared: Bools
    """(n,) The rows to compare; all of them unless the state is ``matched``."""
    blind: Estimate | None
    """AUC of the blind attacker on all rows; None where it had nothing to learn from."""
    left: Estimate | None = None
    """The same on the rows that are compared, where they were matched."""
    differences: tuple[Difference, ...] = ()
    """The columns that tell the sides apart, the plainest first; empty where only several together
    do."""
    copied: int = 0
    """Rows that are left out because they have copies on the other side."""
    invented: int = 0
    """Rows that are left out because they were interpolated from others."""
    repeated: int = 0
    """Rows that are left out because they repeat another one of the same person."""
    doubtful: tuple[str, ...] = ()
    """Columns of the user's on which rows were matched and that have to do with the answers: they
    may have been made from them."""
    placebo: Estimate | None = None
    """AUC of models that were not trained on the members, on the compared rows; None where there
    are none."""
    few_people: int = 0
    """Number of people behind all rows, where they are too few for what holds by person; else 0."""
    whole_groups: tuple[tuple[str, int], ...] = ()
    """Columns that tell the sides apart and whose values, of several rows each, are on one side
    only, with the number of these values: what was dealt to the sides may be whole groups."""
    clustered: bool = False
    """Whether rows seem to share people without unit labels, so that the number of independent
    rows is unknown."""

    @property
    def told(self) -> bool:
        """Whether a comparison can tell anything."""
        return self.state in ("fair", "matched")

    def beyond_placebo(self, area: Estimate) -> bool:
        """Return whether an attack beats the placebo: models that were not trained on the members.

        A placebo whose interval contains chance sets no bar; any other has to be exceeded by the
        lower limit of the attack's AUC.
        """
        found = self.placebo
        return found is None or found.low <= 0.5 or area.low > found.value

    def few_beyond_placebo(self, members: int, top: int, n_in: int, n_out: int) -> bool:
        """Return whether more members stand out than the placebo explains.

        Where scores of the placebo's area are normal on both sides, of `n_in` and `n_out` units,
        the highest `top` hold a share of members that `members` of them must exceed by more than
        chance.
        """
        found = self.placebo
        if found is None or found.low <= 0.5:
            return True
        apart = float(np.sqrt(2) * ndtri(found.high))
        cuts = np.linspace(-_FARTHEST, _FARTHEST + apart, 2_000)
        inside = n_in * ndtr(apart - cuts)
        outside = n_out * ndtr(-cuts)
        place = int(np.argmin(np.abs(inside + outside - top)))
        share = inside[place] / (inside[place] + outside[place])
        return float(binom.sf(members - 1, top, share)) < 1 - found.level

    def group_beyond_placebo(self, accuracy: Estimate) -> bool:
        """Return whether guesses in a group are right more often than a placebo explains."""
        found = self.placebo
        if found is None or found.low <= 0.5:
            return True
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
    """Return the rows on which members and non-members have alike known columns.

    Parameters
    ----------
    known : mapping of str to ndarray, shape (n,)
        Columns known without querying the release: numbers or texts.
    secret : ndarray of bool, shape (n,)
        True for a member.
    unit : ndarray of int, shape (n,)
        Unit of each row; rows of one unit are never on both sides of a fold.
    rng : numpy.random.Generator
        Deals the folds, and draws which rows of a stratum are kept.
    level : float
        In (0, 1). Where the sides do not differ, matching is tried in at most ``1 - level`` of
        all comparisons; it does no harm there.
    copied : ndarray of bool, shape (n,), optional
        Rows with an equal, or nearly equal, one on the other side: they are not compared, and
        where they are most of a side, nothing is.
    invented : ndarray of bool, shape (n,), optional
        Rows that were interpolated from others: they are not compared either.
    repeated : ndarray of bool, shape (n,), optional
        Rows that repeat another one of their unit: they are not compared either.
    placebo : mapping of str to ndarray, shape (n,), optional
        Predictions of models that were not trained on the members. Rows are not matched on them:
        they show whether matching on `known` was enough.

    Returns
    -------
    Comparison
        All rows where the blind attacker does not win: numbers are those of the data as given.
    """
    checks.level(level)
    nobody = np.zeros(len(secret), np.bool_)
    invented = nobody if invented is None else invented
    repeated = nobody if repeated is None else repeated & ~invented
    n_repeated = int(np.count_nonzero(repeated))
    somebodys = ~(invented | repeated)
    usable = somebodys if copied is None else somebodys & ~copied
    for side in (secret & somebodys, ~secret & somebodys):
        if np.count_nonzero(usable & side) < ENOUGH * np.count_nonzero(side):
            return Comparison(TWINS, np.ones(len(secret), np.bool_), None)
    if not usable.all():
        known, placebo = (
            {name: np.asarray(values)[usable] for name, values in (columns or {}).items()}
            for columns in (known, placebo)
        )
        found = compare(
            known, secret[usable], unit=unit[usable], rng=rng, level=level, placebo=placebo
        )
        compared = np.zeros(len(secret), np.bool_)
        compared[usable] = found.compared
        return replace(
            found,
            state="matched" if found.state == "fair" else found.state,
            compared=compared,
            copied=int(np.sum(somebodys & ~usable)),
            invented=int(np.sum(~somebodys)) - n_repeated,
            repeated=n_repeated,
        )
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
    # Stricter than the attacks' own level is loose: these share it among ten or so.
    strict = 1 - (1 - level) / _TRIGGER
    first = _blind(columns, secret, unit=unit, rng=rng, level=strict)
    if first.high < 0.5:
        # Chance takes this side as often as the other, and nothing is matched that could mend it.
        sure = _blind(columns, secret, unit=unit, rng=rng, level=1 - (1 - level) / _SURELY)
        state = TWINS if sure.high < 0.5 else "fair"
        return Comparison(state, usable, first)
    if first.low <= 0.5:
        return Comparison("fair", usable, first)
    differences = _differences(columns, secret, unit=unit, rng=rng, level=level)
    if not matched:
        return Comparison(
            state="different", compared=usable, blind=first, left=None, differences=differences
        )
    score = _propensity(matched, secret, unit, rng)
    for strata in _strata(matched, score, len(secret)):
        if _overlap(strata, secret) < ENOUGH:
            continue
        kept = _balance_strata(strata, secret, unit, rng)
        if min(checks.n_distinct(unit[kept & side]) for side in (secret, ~secret)) < FEWEST:
            continue
        again = _blind(
            {name: code[kept] for name, code in columns.items()},
            secret[kept],
            unit=unit[kept],
            rng=rng,
            level=strict,
        )
        if again.low <= 0.5:
            return Comparison(
                state="matched", compared=kept, blind=first, left=again, differences=differences
            )
    return Comparison(
        state="different", compared=usable, blind=first, left=None, differences=differences
    )


def group_codes(values: NDArray[Any]) -> Ints | None:
    """Return a column as numbers of groups, (n,), None where all its values are the same.

    Numbers with many values are cut at their quantiles, with a group for missing ones; texts with
    many values are cut at quantiles of their alphabetical order. Groups depend on nothing else, in
    particular not on the secret.
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
    # A missing number is not equal to itself.
    texts = np.array(["" if x is None or x != x else str(x) for x in array.tolist()], np.object_)
    as_numbers = _as_numbers(texts)
    if as_numbers is not None:
        return _quantile_codes(as_numbers)
    different, code = np.unique(texts, return_inverse=True)
    if len(different) < 2:
        return None
    return code if len(different) <= MOST_LEVELS else _quantile_codes(code.astype(np.float64))


def _as_numbers(texts: NDArray[Any]) -> Floats | None:
    """Parse texts as numbers, empty ones as NaN; None where any is not a number."""
    given = texts != ""
    numbers = np.full(len(texts), np.nan)
    try:
        numbers[given] = texts[given].astype(np.float64)
    except ValueError:
        return None
    return numbers if given.any() else None


def _quantile_codes(numbers: Floats) -> Ints | None:
    known = np.isfinite(numbers)
    code = np.zeros(len(numbers), np.int64)
    if known.any():
        different, place = np.unique(numbers[known], return_inverse=True)
        if len(different) > MOST_LEVELS:
            bins = int(np.clip(len(numbers) // _ROWS_A_BIN, *_BINS))
            edges = np.unique(np.quantile(numbers[known], np.linspace(0, 1, bins + 1)[1:-1]))
            place = np.searchsorted(edges, numbers[known], side="right")
        code[known] = 1 + place
    return code if code.min() < code.max() else None


def folds_of(unit: Ints, secret: Bools, n_folds: int, rng: np.random.Generator) -> Ints:
    """Return the fold of every row, in 0..n_folds-1; all rows of a unit are in one fold.

    Units with mostly members, and the others, are dealt evenly in an order that `rng` draws. Folds
    are even by side alone: were they even in every class of each side, the classes' chance shares
    would be the same in all folds, and would be learnt.
    """
    _, inverse = np.unique(unit, return_inverse=True)
    mostly_in = np.bincount(inverse, weights=np.where(secret, 1.0, -1.0)) > 0
    fold = np.empty(len(mostly_in), np.int64)
    for side in (np.flatnonzero(mostly_in), np.flatnonzero(~mostly_in)):
        fold[rng.permutation(side)] = np.arange(len(side)) % n_folds
    return fold[inverse]


def _blind(
    columns: Mapping[str, Ints],
    secret: Bools,
    unit: Ints,
    rng: np.random.Generator,
    level: float,
) -> Estimate:
    """Return the AUC of the better of two blind attackers, corrected for the choice.

    One adds up the columns' log-odds, the other looks for interactions by boosting. Each fold is
    scored by a model fitted on the folds before it: given those, the model is fixed, so that
    intervals are valid. With ordinary cross-fitting the errors of folds are correlated, and a 98%
    interval excluded 1/2 in eight of a hundred comparisons of equal sides.
    """
    fold = folds_of(unit, secret, N_FOLDS, rng)
    learners = [_log_odds] if len(columns) == 1 else [_log_odds, _blind_scores]
    each = 1 - (1 - level) / len(learners)
    found = []
    for learner in learners:
        score = np.zeros(len(secret))
        for part in range(1, N_FOLDS):
            before = fold < part
            judged = fold == part
            score[judged] = rankdata(learner(columns, secret, before, judged)) / np.count_nonzero(
                judged
            )
        shown = fold > 0
        if tied(score[shown]):
            continue
        found.append(auc(Transcript(score[shown], secret[shown], unit=unit[shown]), each))
    if not found:
        return Estimate(
            value=0.5, low=0.5, high=0.5, level=level, n=len(secret), method="nothing was learnt"
        )
    best = max(found, key=lambda area: max(area.low - 0.5, 0.5 - area.high))
    return replace(best, level=level, method=f"{best.method}, the better of {len(found)}")


def _propensity(
    columns: Mapping[str, Ints], secret: Bools, unit: Ints, rng: np.random.Generator
) -> Floats:
    """Return each row's score by blind attackers fitted on the units of other folds."""
    fold = folds_of(unit, secret, N_FOLDS, rng)
    score = np.zeros(len(secret))
    learners = [_log_odds] if len(columns) == 1 else [_log_odds, _blind_scores]
    for part in range(N_FOLDS):
        others = fold != part
        judged = fold == part
        # Log-odds of models on four fifths of the same rows are on one scale.
        score[judged] = np.mean([f(columns, secret, others, judged) for f in learners], axis=0)
    return score


def _log_odds(columns: Mapping[str, Ints], secret: Bools, known: Bools, asked: Bools) -> Floats:
    """Return the sum of the log-odds of the groups that each asked row is in, as if independent."""
    total = np.zeros(int(np.count_nonzero(asked)))
    share = int(np.count_nonzero(secret & known)) / max(int(np.count_nonzero(known)), 1)
    for code in columns.values():
        n = int(code.max()) + 1
        inside = np.bincount(code[known & secret], minlength=n) + _PRIOR * share
        outside = np.bincount(code[known & ~secret], minlength=n) + _PRIOR * (1 - share)
        total += (np.log(inside / share) - np.log(outside / (1 - share)))[code[asked]]
    return total


def _blind_scores(columns: Mapping[str, Ints], secret: Bools, known: Bools, asked: Bools) -> Floats:
    from sklearn.ensemble import HistGradientBoostingClassifier

    matrix = np.column_stack(list(columns.values())).astype(np.float64)
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
    """Return the columns that tell the sides apart by themselves, the plainest first."""
    if len(columns) == 1:
        # Whoever won had nothing else.
        [(name, code)] = columns.items()
        return (Difference(name, _blind({name: code}, secret, unit=unit, rng=rng, level=level)),)
    each = 1 - (1 - level) / len(columns)
    found = {
        name: _blind({name: code}, secret, unit=unit, rng=rng, level=each)
        for name, code in columns.items()
    }
    apart = [name for name, area in found.items() if area.excludes(0.5)]
    apart.sort(key=lambda name: -abs(found[name].value - 0.5))
    return tuple(Difference(name, found[name]) for name in apart)


def _strata(columns: Mapping[str, Ints], score: Floats, n: int) -> list[Ints]:
    """Return strata to try in turn, (n,) each: equal rows where they are few, else quantiles."""
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


def _overlap(strata: Ints, secret: Bools) -> float:
    """Return the share of the members in strata with enough non-members."""
    n = int(strata.max()) + 1
    inside = np.bincount(strata[secret], minlength=n)
    outside = np.bincount(strata[~secret], minlength=n)
    return float(np.sum(inside[outside >= _FEWEST_ALIKE])) / float(np.sum(inside))


def _balance_strata(strata: Ints, secret: Bools, unit: Ints, rng: np.random.Generator) -> Bools:
    """Return the rows to keep so that members are the same share of every stratum.

    Rows of a unit are kept or left out together, but for one unit a stratum: else more units of the
    side that has more rows would be left, with fewer rows each, and units would differ where rows
    are alike.

    The chosen share gives the most precise comparison: the largest ``1 / (1 / n_in + 1 / n_out)``.
    """
    n = int(strata.max()) + 1
    inside = np.bincount(strata[secret], minlength=n).astype(np.float64)
    outside = np.bincount(strata[~secret], minlength=n).astype(np.float64)
    both = (inside > 0) & (outside > 0)
    kept = np.zeros(len(secret), np.bool_)
    if not both.any():
        return kept
    ratios = np.append(inside[both] / outside[both], 1.0)
    members = np.minimum(inside[:, None], outside[:, None] * ratios) * both[:, None]
    precision = 1 / (1 / members.sum(axis=0) + 1 / (members / ratios).sum(axis=0))
    best = int(np.argmax(precision))
    wanted = {True: members[:, best], False: members[:, best] / ratios[best]}
    different, owner = np.unique(unit, return_inverse=True)
    luck = rng.random(len(different))[owner]
    for side, numbers in wanted.items():
        rows = np.flatnonzero(secret == side)
        order = rows[np.lexsort((luck[rows], strata[rows]))]
        first = np.searchsorted(strata[order], strata[order])
        kept[order] = np.arange(len(order)) - first < np.rint(numbers)[strata[order]]
    return kept
