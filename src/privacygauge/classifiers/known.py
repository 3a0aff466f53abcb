"""Columns that are known without querying the model: the features of the blind attacker."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import chi2, rankdata, spearmanr

from privacygauge.classifiers.exports import IN_WORDS, OUT_WORDS
from privacygauge.classifiers.held import Held, is_frame
from privacygauge.classifiers.predictions import LogitPool, Pool, Predictions
from privacygauge.classifiers.units_of_rows import PredictionsOfUnits
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.core.game import Round
from privacygauge.core.release import Worlds, counts_of
from privacygauge.core.transcript import Transcript, tied
from privacygauge.datasets.parsing import dates_of, days_of
from privacygauge.datasets.reading import plain_array
from privacygauge.evaluate.fairness import (
    FEWEST_PEOPLE,
    Comparison,
    Difference,
    compare,
    folds_of,
    group_codes,
)
from privacygauge.evaluate.roc import auc, placements, roc

CLASS = "class"
"""Name of the true class among the known columns."""

HELD_BY = "number of shadow models that hold the record"
"""Name of a known column. It is independent of the target's members if fair coins drew the pool; in
other designs it may not be."""

DIFFICULTY = "signal of shadow models that do not hold the record"
"""Name of a known column: how hard a record is for models that cannot know the target's members."""

PLACEBO = "signal of other shadow models that do not hold the record"
"""Name of the same signal from the other half of the shadow models, on which nothing is matched."""

MOST_FEATURES = 300
"""Largest number of columns of a matrix that the blind attacker knows; of more, evenly spaced
ones."""

_OWN_WORDS = 0.98
"""Absolute rank correlation with a signal above which a column was computed from the answers."""


@dataclass(frozen=True, eq=False)
class KnownColumns:
    """Columns that are known without asking the model, and notes on those left out."""

    columns: Mapping[str, NDArray[Any]]
    """Column name to (n,) values."""
    notes: tuple[str, ...]
    """Notes on the columns that were left out, with reasons."""
    features: tuple[str, ...] = ()
    """Columns that are said to describe the records."""


class Targets(Protocol):
    """Records that a model was asked about, with their membership and further columns."""

    @property
    def member(self) -> Bools:
        """(n,) True for a member."""

    @property
    def labels(self) -> Ints:
        """(n,) Classes, or other groups in which answers are compared, in 0..k-1."""

    @property
    def units(self) -> Ints:
        """(n,) Unit of each row; each row its own where no unit is known."""

    @property
    def unit(self) -> Ints | None:
        """(n,) Unit of each row; None where no unit is known."""

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        """Further columns, (n,) each."""


def known_of(
    target: Predictions,
    signals: Mapping[str, Floats],
    features: Held | None = None,
    pool: Pool | LogitPool | None = None,
) -> KnownColumns:
    """Return the columns of the targets that are known without asking the model.

    Parameters
    ----------
    target : Predictions
        Classes and further columns.
    signals : mapping of str to ndarray, shape (n,)
        Signals of the model's answers; columns that follow from them are excluded.
    features : ndarray, data frame or other records, optional
        The records themselves.
    pool : Pool or LogitPool, optional
        Shadow models on the same records: the number of those that hold a record is known.

    Returns
    -------
    KnownColumns
        The order of the rows and the ids are excluded, since a file that lists its members first
        says nothing about the records. So are columns that are constant on each side (membership by
        another name, unless they are times or places), that number the rows, or that follow from
        the answers.
    """
    names = np.array(target.classes) if target.classes else np.arange(target.n_classes)
    own = usable_columns(target, lambda values: _follows(values, target, signals))
    columns: dict[str, NDArray[Any]] = {CLASS: names[target.labels], **own.columns}
    if features is None:
        of_records = {}
    elif is_frame(features):
        frame = features if hasattr(features, "iloc") else features.to_pandas()
        of_records = {
            f"feature {name}": frame[name].to_numpy() for name in list(frame)[:MOST_FEATURES]
        }
    elif not isinstance(features, np.ndarray):
        of_records = {}
    elif features.dtype.kind in "OSU" and features.ndim == 1:
        texts = [str(text) for text in features.tolist()]
        of_records = {
            "length of the text": np.array([len(text) for text in texts]),
            "words of the text": np.array([len(text.split()) for text in texts]),
        }
    elif features.dtype.kind not in "biuf":
        if features.ndim == 2:
            of_records = {f"feature {j}": features[:, j] for j in range(min(features.shape[1], 60))}
        else:
            of_records = {}
    elif features.ndim > 2:  # images and the like
        flat = features.reshape(len(features), -1)
        of_records = {
            "mean of the record": flat.mean(axis=1),
            "spread of the record": flat.std(axis=1),
        }
    else:
        # Spread over all columns: in spectra and flattened images neighbours say the same.
        places = np.unique(np.linspace(0, features.shape[1] - 1, MOST_FEATURES).astype(int))
        chosen = places if features.shape[1] > MOST_FEATURES else range(features.shape[1])
        of_records = {f"feature {j}": features[:, j] for j in chosen}
    columns |= _with_dates(of_records)
    if pool is not None:
        columns[HELD_BY] = counts_of(pool.inside)
    return KnownColumns(columns, own.notes)


def usable_columns(
    target: Targets, follows: Callable[[NDArray[Any]], bool], features: tuple[str, ...] = ()
) -> KnownColumns:
    """Return the further columns of the targets that can show a difference between the sides.

    `follows` says whether a column can be computed from the answers; it is not asked about the
    `features`, which are said to describe the records. The exclusions are those of `known_of`.
    """
    columns = {}
    notes = []
    for name, values in _with_dates(target.columns).items():
        code = group_codes(values)
        reason = None
        if code is not None:  # otherwise all values are equal: nothing to learn
            sides = [np.unique(code[side]) for side in (target.member, ~target.member)]
            # Distinct whole numbers with few gaps count rows, perhaps of a larger file; where two
            # files were put together, those of either side.
            numbers = np.asarray(values)
            parts = (numbers[target.member], numbers[~target.member])
            counts, of_member, of_others = (
                part.dtype.kind in "iu"
                and len(np.unique(part)) == len(part)
                and int(part.max()) - int(part.min()) < 2 * len(part)
                for part in (numbers, *parts)
            )
            if all(len(side) == 1 for side in sides) and not _says_whence(name, values):
                reason = "it says the membership itself"
            elif counts or (of_member and of_others):
                reason = "it numbers the rows"
            elif name not in features and follows(values):
                reason = "it follows from the model's answers"
        if reason is None:
            columns[name] = values
        else:
            notes.append(unused_column_text(name, reason))
    return KnownColumns(columns, tuple(notes), features)


def comparison_of(
    rounds: Sequence[Round],
    owned: PredictionsOfUnits,
    seed: int,
    level: float,
    *,
    features: Held | None = None,
    pool: Pool | LogitPool | None = None,
    drawn: bool = False,
) -> tuple[Comparison, tuple[str, ...]]:
    """Return the comparison of members and non-members, and notes on the columns left out of it.

    Parameters
    ----------
    rounds : sequence of Round
        Rounds as dealt; together they hold each target once.
    owned : PredictionsOfUnits
        The targets, with a mask of those that have copies on the other side and are left out.
    seed : int
    level : float
    features : ndarray, data frame or other records, optional
    pool : Pool or LogitPool, optional
    drawn : bool
        Whether fair, independent coins chose the members: no blind attacker can predict these.
    """
    target = owned.target
    everyone = np.ones(len(target), np.bool_)
    if drawn:
        return Comparison("fair", everyone, None), ()
    # A number format that differs between the sides reveals them, whatever the model leaks.
    digits = digits_differ(target.values, target.member)
    if digits is not None:
        return Comparison(
            state="different", compared=everyone, blind=None, left=None, differences=(digits,)
        ), ()
    # Rounds list the targets in their own order; signals go back to that of `target`.
    order = np.concatenate([dealt.target for dealt in rounds])
    signals = {}
    for name in ("correctness", "confidence", "entropy"):
        signals[name] = np.empty(len(target))
        signals[name][order] = np.concatenate([r.observation.signals[name] for r in rounds])
    values = np.asarray(target.values, np.float64)
    if values.shape[1] > _FEW_CLASSES:
        # The largest values in order: enough for losses, margins and the like, in few columns.
        values = np.sort(values, axis=1)[:, -_FEW_CLASSES:]
    return comparison_on(
        known_of(target, signals, features, pool),
        target,
        Answers(np.column_stack([values, target.labels, *signals.values()]), signals),
        seed=seed,
        level=level,
        worlds=rounds[0].observation.worlds if pool is not None else None,
        rows=CountedRows(owned.across, owned.invented, owned.repeated, clustered=owned.clustered),
    )


@dataclass(frozen=True, eq=False)
class Answers:
    """A model's answers to the targets, from which columns may have been made."""

    values: Floats
    """(n, d) Answers and what they are about, as numbers."""
    signals: Mapping[str, Floats]
    """Signal name to (n,) values, in which trends are looked for."""


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Rows that a comparison treats differently, as in `PredictionsOfUnits`."""

    across: Bools | None = None
    """(n,) True for rows that have a copy on the other side."""
    invented: Bools | None = None
    """(n,) True for rows that were interpolated from others."""
    repeated: Bools | None = None
    """(n,) True for rows that repeat another row of their unit."""
    clustered: bool = False
    """Whether rows seem to share people although no column says so."""


def comparison_on(
    known: KnownColumns,
    target: Targets,
    answers: Answers,
    seed: int,
    level: float,
    *,
    worlds: Worlds | None = None,
    rows: CountedRows = CountedRows(),
) -> tuple[Comparison, tuple[str, ...]]:
    """Return the comparison on the known columns, and notes on the columns left out of it.

    Parameters
    ----------
    known : KnownColumns
    target : Targets
    answers : Answers
        The model's answers: a column that follows from them is not known without asking the model.
    seed : int
    level : float
    worlds : Worlds, optional
        Shadow models on the same records: half of them say how hard a record is, the others are
        placebos.
    rows : CountedRows
    """
    columns = dict(known.columns)
    placebo = {}
    if worlds is not None:
        # Even models give the signal to match on, odd ones the placebo that checks the match.
        columns[DIFFICULTY] = _difficulty(worlds.some(np.arange(0, len(worlds), 2)))
        if len(worlds) > 1:
            placebo[PLACEBO] = _difficulty(worlds.some(np.arange(1, len(worlds), 2)))
    notes = list(known.notes)
    given = {name: columns[name] for name in target.columns if name in columns}

    def compared_on(further: Mapping[str, NDArray[Any]]) -> Comparison:
        return compare(
            {**columns, **further},
            target.member,
            unit=target.units,
            rng=seeds.stream(seed, "blind attacker"),
            level=level,
            copied=rows.across,
            invented=rows.invented,
            repeated=rows.repeated,
            placebo=placebo,
        )

    suspects: dict[str, NDArray[Any]] = {}
    # A column that separates the sides for no reason in the records is dropped and the rest
    # compared again: without it, other columns may differ, or none.
    while True:
        found = compared_on({})
        apart = [one.column for one in found.differences if one.column in given]
        related = {name: _dependence(given[name], answers.values, target.member) for name in apart}
        # A column that is said to describe the records is believed where it separates the sides by
        # more than the answers do; what was made from these cannot.
        made = [
            name
            for name, share in related.items()
            if share > _MADE
            and not (
                name in known.features
                and _differs_by_itself(given[name], answers.values, target, level)
            )
        ]
        unrelated = [
            name
            for name, share in related.items()
            if share < _UNRELATED
            and not _says_whence(name, given[name])
            and not _continues_a_trend(given[name], answers.signals, target)
        ]
        # Made from the answers, or their cause: the file cannot say, so both are measured.
        suspects |= {name: columns[name] for name in made}
        for name in (*made, *unrelated):
            reason = "it follows from the model's answers, or they follow from it"
            if name in unrelated:
                reason = "it tells the sides apart, but has nothing to do with the answers"
            notes.append(unused_column_text(name, reason))
            del columns[name]
        if not made and not unrelated:
            break
    if found.state == "matched":
        # A signal that vanishes when records are matched on a column may be due to that column, or
        # may be the leak itself if the column was made from the answers.
        # A time is known before the model is asked, however well the answers follow it. Features
        # are given by the user as the further columns are.
        of_user = [
            one.column
            for one in found.differences
            if one.column in columns and one.column not in (CLASS, HELD_BY, DIFFICULTY)
        ]
        doubtful = [
            name
            for name in of_user
            if not _says_when(name, columns[name])
            and not _differs_by_itself(columns[name], answers.values, target, level)
        ]
        found = replace(found, doubtful=tuple(doubtful))
    if found.state == "different":
        counts = {}
        for name in apart:
            # A value of several rows that all lie on one side, as of a group that was drawn as a
            # whole.
            _, group = np.unique(plain_array(given[name]), return_inverse=True)
            size = np.bincount(group)
            n_inside = np.bincount(group, weights=target.member)
            repeated = np.median(size) >= 2
            on_a_side = bool(((n_inside == 0) | (n_inside == size)).all())
            counts[name] = (
                len(size) if repeated and on_a_side and len(size) >= _FEWEST_GROUPS else 0
            )
        whole = tuple((name, number) for name, number in counts.items() if number)
        found = replace(found, whole_groups=whole)
    if suspects and found.told:
        with_them = compared_on(suspects)
        found = replace(
            found,
            suspects=tuple(suspects),
            alike=with_them.compared if with_them.told else None,
        )
    if worlds is not None:
        found = replace(found, placebo=_placebo(worlds, target, found.compared, level))
    if rows.clustered:
        found = replace(found, clustered=True)
    n_people = checks.n_distinct(target.units)
    if target.unit is not None and n_people < FEWEST_PEOPLE and 2 * n_people <= len(target.member):
        found = replace(found, few_people=n_people)
    return found, tuple(notes)


_FEWEST_GROUPS = 10
"""Fewest values of a column that may have been dealt to the sides whole, such as machines."""


def _dependence(values: NDArray[Any], answers: Floats, member: Bools) -> float:
    """Return how well the answers predict a column within a side, in [0, 1], averaged over both.

    The largest of several measures. For every column, the rank correlation between the log-odds of
    membership of its groups and a tree's out-of-sample prediction of them: what tells the sides
    apart may be any groups, such as numbered clinics, the night's hours or both ends of a lab
    value. For numbers, and texts of more than ten values, the same for the values in their order;
    for other texts, a tree's accuracy beyond the share of the most frequent value, relative to the
    rest.
    """
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    code = group_codes(values)
    if code is None:
        return 0.0
    # More than ten texts are taken in alphabetical order, as codes with an order.
    ordered = np.asarray(values).dtype.kind in "iufM" or len(np.unique(code)) > 10
    groups = int(code.max()) + 1
    # One more of each: groups that occur on one side only get finite log-odds.
    inside = np.bincount(code[member], minlength=groups) + 1.0
    outside = np.bincount(code[~member], minlength=groups) + 1.0
    score = np.log(inside / outside)[code]
    found = []
    for truth, is_number in ((score, True), (code, ordered)):
        of_sides = []
        for side in (member, ~member):
            own = truth[side]
            seen = answers[side]
            # A side with too few rows, or with one value, shows nothing.
            if len(np.unique(own)) < 2 or len(own) < _FEWEST_TOLD:
                of_sides.append(0.0)
                continue
            n = len(own)
            # A fixed seed: every audit of n rows splits them into the same halves.
            half = np.asarray(seeds.stream(0, "halves of a side").permutation(n) < n // 2, np.bool_)
            kind = DecisionTreeRegressor if is_number else DecisionTreeClassifier
            said = np.empty(n)
            # Cross-fitted: each half is predicted by a tree that learnt on the other.
            for known, asked in ((half, ~half), (~half, half)):
                tree = kind(max_depth=8, min_samples_leaf=8, random_state=0)
                said[asked] = tree.fit(seen[known], own[known]).predict(seen[asked])
            if is_number:
                of_sides.append(float(spearmanr(said, own).statistic) if np.ptp(said) > 0 else 0.0)
            else:
                most = float(np.bincount(own).max()) / n
                of_sides.append((float(np.mean(said == own)) - most) / (1 - most))
        found.append(float(np.clip(np.mean(of_sides), 0.0, 1.0)))
    return max(found)


_FEWEST_TOLD = 40
"""Fewest rows per side to measure how a column depends on the answers."""


def _differs_by_itself(
    values: NDArray[Any], answers: Floats, target: Targets, level: float
) -> bool:
    """Return whether a column separates the sides mostly by more than the answers explain.

    A column that was made from the answers says nothing more about membership once they are known;
    a cause of the answers, such as the year of a record, still does. A column is scored by the
    log-odds of its groups, less a tree's prediction of them from the answers; both learn on one
    half of the units and are used on the other. More than half of the separation must remain, at
    the lower bound of its interval.
    """
    from sklearn.tree import DecisionTreeRegressor

    code = group_codes(values)
    if code is None:
        return False
    member = target.member
    fold = folds_of(target.units, member, 2, seeds.stream(0, "halves of the units"))
    said = np.empty(len(member))
    left = np.empty(len(member))
    for number in (0, 1):
        # Learnt on one half and judged on the other, so that chance separations do not count.
        asked = fold == number
        groups = int(code.max()) + 1
        inside = np.bincount(code[member & ~asked], minlength=groups) + 1.0
        outside = np.bincount(code[~member & ~asked], minlength=groups) + 1.0
        score = np.log(inside / outside)[code]
        tree = DecisionTreeRegressor(max_depth=8, min_samples_leaf=20, random_state=0)
        rest = score - tree.fit(answers[~asked], score[~asked]).predict(answers)
        # Ranks within a half, since the log-odds of the halves have different scales.
        said[asked] = rankdata(score[asked]) / np.count_nonzero(asked)
        left[asked] = rankdata(rest[asked]) / np.count_nonzero(asked)
    if tied(left) or tied(said):
        return False
    whole, by_itself = (
        auc(Transcript(part, member, unit=target.units), level) for part in (said, left)
    )
    # At least half of the separation must be left once the answers are accounted for.
    return by_itself.low - 0.5 > max(whole.value - 0.5, 0.0) / 2


def _continues_a_trend(
    values: NDArray[Any], signals: Mapping[str, Floats], target: Targets
) -> bool:
    """Return whether the gap between the sides continues a signal's trend within them.

    Members of other years, or of another age, lie apart in a column: a trend too weak to show
    within each side adds up between them. A fold or a row number has no trend. Within the sides of
    each class, ranks of the signal are regressed on the column, and the line is extended to the
    other side. Over all classes, the lines must point in the direction of the gaps (at 90%) and
    leave no more of them than chance does (at 95%). The signal with the most significant gap
    decides.
    """
    array = np.asarray(values)
    code = group_codes(values)
    if code is None or not (array.dtype.kind in "iufmM" or len(np.unique(code)) > _FEW_LEVELS):
        return False
    # One row per unit: rows of one person would count as independent.
    rows = np.unique(target.units, return_index=True)[1]
    column = code[rows].astype(np.float64)
    labels = target.labels[rows]
    member = target.member[rows]
    classes = [labels == label for label in np.unique(labels)]
    most = 0.0
    continues = False
    for signal in signals.values():
        y = rankdata(signal[rows])
        found = [_gap_and_line(column[c], y[c], member[c]) for c in classes]
        lines = np.array([one for one in found if one is not None])
        if not len(lines):
            continue
        # One entry per class. Squared standardised gaps sum to chi-squared under no difference.
        gap, error, line, error_of_line = lines.T
        differs = float(chi2.cdf(np.sum((gap / error) ** 2), len(lines)))
        # Bonferroni over the signals; only the most significant one decides.
        if differs <= max(most, 1 - 0.05 / len(signals)):
            continue
        # Does the extrapolated line point the same way as the gap, in standard errors?
        along = np.sum(gap * line / error**2) / np.sqrt(
            np.sum((gap * error_of_line / error**2) ** 2)
        )
        # And does it explain the gap: is the rest no larger than chance?
        left = np.sum((gap - line) ** 2 / (error**2 + error_of_line**2))
        most = differs
        continues = bool(along > _SLOPE_SHOWS and left < chi2.ppf(0.95, len(lines)))
    return continues


def _gap_and_line(
    column: Floats, y: Floats, member: Bools
) -> tuple[float, float, float, float] | None:
    """Return the sides' gap in y, its standard error, the gap that a line predicts, and its error.

    The line is fitted within both sides together. None if a side has too few records, or if they
    are all equal.
    """
    n = len(member)
    n_in = int(np.count_nonzero(member))
    if min(n_in, n - n_in) < _FEWEST_OF_A_TREND:
        return None
    between_x, between_y = (part[member].mean() - part[~member].mean() for part in (column, y))
    # Centred within each side, so that the slope does not contain the gap itself.
    within_x, within_y = (
        part - np.where(member, part[member].mean(), part[~member].mean()) for part in (column, y)
    )
    # Least squares within the sides: the gap that a trend over both would explain.
    squares = float(within_x @ within_x)
    slope = float(within_x @ within_y) / squares if squares > 0 else 0.0
    spread = float(np.sqrt(np.mean((within_y - slope * within_x) ** 2)))
    if squares == 0 or spread == 0 or between_x == 0:
        return None
    error = spread * float(np.sqrt(1 / n_in + 1 / (n - n_in)))
    return between_y, error, slope * between_x, spread / np.sqrt(squares) * abs(between_x)


_FEW_LEVELS = 10
"""Distinct texts above which a column is treated as ordered, as dates are."""

_FEWEST_OF_A_TREND = 20
"""Fewest records of a class on each side that can show a trend."""

_SLOPE_SHOWS = 1.28
"""Smallest agreement of lines and gaps, in standard errors: one-sided at 90%."""


_FEW_CLASSES = 20
"""With more classes, only this many of the largest values are used."""

_MADE = 0.6
"""Dependence on the answers above which a column was made from them, so that nobody knows it
without them."""

_UNRELATED = 0.08
"""Dependence below which a column cannot explain a difference in answers: a fold, a path, a
weight."""


def unused_column_text(name: str, reason: str) -> str:
    """Return the note on a column that was left out of the comparison."""
    return f"the column {name!r} is not used to check that the comparison is fair: {reason}"


def _placebo(worlds: Worlds, target: Targets, compared: Bools, level: float) -> Estimate | None:
    """Return how well shadow models separate the target's members, of which they know nothing.

    The mean AUC of the models' signals, each model asked about the compared records that it was not
    trained on; the interval is that of uninformative scores, around this mean.
    """
    rows = np.flatnonzero(compared)
    areas = []
    for number in range(min(len(worlds), _PLACEBOS)):
        inside = np.asarray(worlds.inside[number : number + 1])[0]
        signal = np.asarray(worlds.worlds[number : number + 1])[0]
        # Of several queries per record, only the record itself.
        signal = signal if signal.ndim == 1 else signal[:, 0]
        asked = rows[~inside[rows]]
        secret = target.member[asked]
        if secret.any() and not secret.all():
            curve = roc(Transcript(signal[asked], secret))
            areas.append(float(placements(curve)[0].mean()))
    if not areas:
        return None
    n_in = int(np.count_nonzero(target.member[rows]))
    # The standard error of the AUC of uninformative scores, up to a term of order 1 / n^2.
    spread = np.sqrt((1 / n_in + 1 / (len(rows) - n_in)) / 12)
    value = float(np.mean(areas))
    half = float(ndtri(0.5 + level / 2)) * float(spread)
    low = max(0.0, value - half)
    method = f"mean over {len(areas)} shadow models"
    return Estimate(
        value=value, low=low, high=min(1.0, value + half), level=level, n=len(rows), method=method
    )


_PLACEBOS = 16
"""Largest number of shadow models in the placebo."""


def digits_differ(answers: NDArray[Any], member: Bools) -> Difference | None:
    """Return a difference if one side's answers have fewer digits, or came from a shorter type.

    That is how two files were written. A model that fits its members exactly gives them short
    numbers, too: whole ones, one and the same, or the last bits of a difference of large numbers,
    which have few digits because they are small. So numbers of like size are compared.
    """
    sides = []
    for side in (member, ~member):
        rows = np.flatnonzero(side)
        values = np.asarray(answers[rows[:: max(1, len(rows) // 1_000)]], np.float64).ravel()
        values = values[np.isfinite(values)]
        whole = np.rint(values)
        # Certain but for rounding errors, as 1 - 1e-15, is as good as whole.
        sides.append(values[np.abs(values - whole) > _ROUNDING * np.abs(whole)])
    sizes = [np.frexp(between)[1] - _SMALLEST_SIZE for between in sides]
    common = np.minimum(*(np.bincount(size, minlength=_SIZES) for size in sizes))
    # Nearly all are certain, or of another size than on the other side.
    if min(len(between) for between in sides) < _FEWEST_DIGITS or common.sum() < _FEWEST_ALIKE:
        return None
    forms = []
    for between, size in zip(sides, sizes, strict=True):
        order = np.argsort(size, kind="stable")
        number = np.arange(len(order)) - np.searchsorted(size[order], size[order])
        compared = between[order][number < common[size[order]]]
        if len(np.unique(np.round(compared, 12))) < _FEWEST_VALUES:
            return None
        forms.append(_forms(compared))
    # (2, forms): for each form, the share on the side with fewer, and with more, such numbers.
    low, high = np.sort(np.array(forms), axis=0)
    if not ((high > _NEARLY_ALL) & (low < _FEW)).any():
        return None
    return Difference("digits of the predictions", None)


_ROUNDING = 1e-12
"""Largest distance from a whole number, in parts of it, that is due to rounding errors."""

_SMALLEST_SIZE = -1_080
_SIZES = 2_120
"""Exponents of two below the smallest number of 64 bits, and from there beyond the largest."""

_FEWEST_VALUES = 5
"""Fewest different numbers that show how a side was written: a model may give one answer to all."""

_FEWEST_DIGITS = 100
"""Fewest numbers per side that are not whole, for digits to be compared."""

_FEWEST_ALIKE = 20
"""Fewest of them per side that are of like size. All in a short form on one side, and half of them
on the other, is beyond chance."""

# Shares of numbers in a short form that give the sides away: at least the first on one side and at
# most the second on the other. No model writes numbers like that.
_NEARLY_ALL = 0.97
_FEW = 0.5


def _forms(values: Floats) -> list[float]:
    """Return the shares of numbers that fit in shorter types, or in few digits, 17 in all.

    In 16 and 32 bits, in 1 to 8 decimals, in 2 to 8 significant digits.
    """
    with np.errstate(under="ignore", over="ignore"):
        shares = [np.mean(values == values.astype(kind)) for kind in (np.float16, np.float32)]
    # A sum of rounded numbers is off by the last bits. What is rounded to 0 has no digits.
    for d in range(1, 9):
        rounded = np.round(values, d)
        off = np.abs(values - rounded)
        shares.append(np.mean((rounded != 0) & (off < _LAST_BITS * np.maximum(1, np.abs(values)))))
    # Subnormal numbers have fewer digits than these, whoever wrote them.
    normal = values[np.abs(values) >= np.finfo(np.float64).tiny]
    mantissa = normal / 10.0 ** np.floor(np.log10(np.abs(normal)))
    if not len(normal):
        mantissa = np.full(1, np.nan)  # has no digits at all
    # A mantissa is in [1, 10): d decimals of it are d + 1 significant digits.
    shares += [
        np.mean(np.abs(mantissa - np.round(mantissa, d)) < 10 * _LAST_BITS) for d in range(1, 8)
    ]
    return [float(share) for share in shares]


_LAST_BITS = 1e-14
"""Largest rounding error of a number near 1 in sums and conversions."""


def _with_dates(columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the columns with texts of dates parsed, since texts do not sort by time."""
    import pandas as pd

    found = {}
    for name, values in columns.items():
        array = np.asarray(values)
        days = days_of(pd.Series(array)) if array.dtype.kind in "OSU" and array.ndim == 1 else None
        found[name] = array if days is None else dates_of(days)
    return found


def _says_when(name: str, values: NDArray[Any]) -> bool:
    """Return whether a column holds times: dates, years, months, or numbers that are called so."""
    array = np.asarray(values)
    if array.dtype.kind == "M":
        return True
    if array.dtype.kind in "iuf":
        known = array[np.isfinite(array)].astype(np.float64)
        # Whole numbers in this range are years, whatever the column is called.
        if len(known) and known.min() >= _YEARS[0] and known.max() <= _YEARS[1]:
            return bool((known == np.rint(known)).all())
        words = set(_WORDS.findall(name.lower()))
        return bool(words & _TIMES)
    if array.dtype.kind not in "OSU":
        return False
    # Missing values are empty texts here, which say nothing.
    levels = {"" if x is None or x != x else str(x) for x in array.tolist()}
    return all(_MONTHS.fullmatch(level) for level in levels if level)


def _says_whence(name: str, values: NDArray[Any]) -> bool:
    """Return whether a column says when or where records come from.

    Records of other years or hospitals differ even if no answer within one side shows it: if all
    members are from one year, none can. Times count, and so do columns of few texts, unless one of
    these is another word for membership. For any other column (a fold, a path, a row number), only
    the answers show whether it separates the sides by the records' contents.
    """
    array = np.asarray(values)
    if _says_when(name, array):
        return True
    if array.dtype.kind not in "OSU":
        return False
    levels = {"" if x is None or x != x else str(x) for x in array.tolist()}
    if len(levels) > _MOST_PLACES:
        return False
    for level in levels:
        text = level.lower()
        words = set(_WORDS.findall(text))
        # A text without letters, such as a number, may stand for a side.
        if level and (text in IN_WORDS | OUT_WORDS or words & _SIDES or not words):
            return False
    return True


_YEARS = (1900, 2100)
"""First and last year that a column of whole numbers may hold to be read as years."""
_WORDS = re.compile("[a-z]+")
_TIMES = frozenset({"year", "month", "date", "day", "time", "timestamp", "epoch", "ts"})
"""Words in the name of a numeric column that mark it as times."""
_MONTHS = re.compile(
    r"\d{4}[-/ ]?(?:Q[1-4]|W?\d{2})|(?:Q[1-4]|\d{1,2})[-/ ]\d{4}|[A-Za-z]{3,9}\.?[- ]\d{4}"
)
"""Months, weeks and quarters of years: 2024-01, 2024Q1, 01/2024, Jan 2024."""
_MOST_PLACES = 50
"""Largest number of distinct texts in a column that says where records come from."""
_SIDES = frozenset(
    {"train", "training", "member", "members", "nonmember", "test", "testing", "holdout", "unseen"}
    | {"val", "valid", "validation", "dev", "eval", "evaluation", "oos", "held"}
    | {"fold", "split", "part", "set"}
)
"""Words in a text that name a side or a fold, rather than an origin."""


def _follows(values: NDArray[Any], target: Predictions, signals: Mapping[str, Floats]) -> bool:
    """Return whether a column can be computed from the answers: a prediction, a loss and so on."""
    array = np.asarray(values)
    predicted = np.asarray(target.values).argmax(axis=1)
    _, code = np.unique(plain_array(array), return_inverse=True)
    if len(np.unique(predicted)) > 1:
        # One value per predicted class, but not per label: the prediction by another name.
        pairs = len(np.unique(predicted * (code.max() + 1) + code))
        same_as_label = len(np.unique(target.labels * (code.max() + 1) + code))
        if pairs == len(np.unique(predicted)) and same_as_label > pairs:
            return True
    # Two values, one for right and one for wrong predictions.
    right = np.asarray(signals["correctness"] == 1.0)
    if len(np.unique(code)) == 2 and 0 < right.mean() < 1 and len(np.unique(2 * code + right)) == 2:
        return True
    largest = np.asarray(target.values).max(axis=1)
    return repeats_a_signal(array, (signals["confidence"], signals["entropy"], largest))


def repeats_a_signal(array: NDArray[Any], signals: Sequence[Floats]) -> bool:
    """Return whether a column orders the records as one of the signals does, or bins them by it."""
    _, code = np.unique(plain_array(array), return_inverse=True)
    if any(_bins(code, signal) for signal in signals):
        return True
    if array.dtype.kind != "f":
        return False
    known = np.isfinite(array)
    if np.count_nonzero(known) < 3 or np.ptp(array[known]) == 0:
        return False
    for signal in signals:
        if np.ptp(signal[known]) > 0 and (
            abs(spearmanr(array[known], signal[known]).statistic) > _OWN_WORDS
        ):
            return True
    return False


def _bins(code: Ints, signal: Floats) -> bool:
    """Return whether groups are intervals of a signal, as its deciles or a threshold on it are.

    Groups whose signals lie apart are no bins: nothing cuts at the very place where none lies.
    """
    size = np.bincount(code)
    # So few records outside the largest group may lie beside it by chance.
    if len(size) > len(code) / 5 or len(code) - size.max() < _FEWEST_OF_BINS:
        return False
    order = np.lexsort((code, signal))
    step = np.diff(signal[order])
    cut = np.flatnonzero(np.diff(code[order]) != 0)
    if len(cut) != len(size) - 1 or not np.isfinite(step).all() or (step[cut] <= 0).any():
        return False
    # Steps between neighbouring values of the signal, and the place of the cuts among them.
    steps = step[step > 0]
    at = np.cumsum(step > 0)[cut] - 1
    beside = [np.delete(steps[max(0, i - 5) : i + 6], min(i, 5)) for i in at.tolist()]
    wide = [len(x) > 0 and steps[i] > _WIDE * x.mean() for i, x in zip(at, beside, strict=True)]
    return bool(np.mean(wide) < 0.5)


_FEWEST_OF_BINS = 10
"""Fewest records outside the largest group by which groups are seen to be bins of a signal."""

_WIDE = 10.0
"""Step between two values of a signal, in mean steps beside it, that shows a gap between groups."""


def _difficulty(worlds: Worlds) -> Floats:
    """Return each record's mean signal over the models not trained on it, (n,); NaN without any."""
    parts = []
    # In blocks of records: the signals may lie on disk, and need not fit into memory.
    for start in range(0, len(worlds.signal), 1 << 14):
        values, side = worlds.block(slice(start, min(start + (1 << 14), len(worlds.signal))))
        seen = values if values.ndim == 2 else values[..., 0]
        outside: Bools = ~side
        count = outside.sum(axis=0)
        total = np.sum(seen, axis=0, where=outside)
        parts.append(np.where(count > 0, total / np.maximum(count, 1), np.nan))
    return np.concatenate(parts)
