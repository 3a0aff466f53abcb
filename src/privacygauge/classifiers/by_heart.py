"""Labels that a model can only have memorised, and labels that are in another order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.signal import fftconvolve

from privacygauge.classifiers.known import CLASS, HELD_BY
from privacygauge.classifiers.predictions import Predictions
from privacygauge.classifiers.signals import gains, knowledge_of_classes
from privacygauge.core import seeds
from privacygauge.core.checks import Floats, Ints
from privacygauge.evaluate.fairness import folds_of, group_codes
from privacygauge.evaluate.rates import mean

_MOST_LEARNT = 5_000
"""Largest number of records per side that are used."""

_FEWEST = 40
"""Fewest rows of a side that allow a conclusion."""

_AGREES = 4.0
"""Smallest agreement, in standard deviations, that shows answers to follow from the columns."""

_ROWS_A_CLASS = 10
"""Fewest rows per class to look for another order of the classes: with fewer, chance alone finds an
order that fits."""


def learnt_by_heart(
    target: Predictions, known: Mapping[str, NDArray[Any]], least: float, level: float
) -> bool | None:
    """Return whether a model knows its members' labels far better than these can be learnt.

    None if the columns cannot show it.

    Parameters
    ----------
    target : Predictions
    known : mapping of str to ndarray, shape (n,)
        Columns that are known without asking the model, as `known_of` returns them.
    least : float
        In (0, 1). A cross-fitted forest, which learns from one half of the members and is asked
        about the other, must stay below this share of the model's knowledge of its members, the
        mean of their `gains`.
    level : float
        In (0, 1).

    Notes
    -----
    No forest learns from columns that are unrelated to the labels. So the model's answers about
    non-members must follow from the columns, too: a forest that learnt the members' labels must
    agree with them more often than chance.
    """
    from sklearn.ensemble import RandomForestClassifier

    codes = [
        code
        for name, values in known.items()
        if name not in (CLASS, HELD_BY) and (code := group_codes(values)) is not None
    ]
    inside = np.flatnonzero(target.member)
    outside = np.flatnonzero(~target.member)
    if not codes or min(len(inside), len(outside)) < _FEWEST:
        return None
    # Subsets of a fixed size bound the time; they must not depend on the audit's seed.
    rng = seeds.stream(0, "labels learnt by heart")
    inside = rng.permutation(inside)[:_MOST_LEARNT]
    outside = rng.permutation(outside)[:_MOST_LEARNT]
    matrix = np.column_stack(codes)

    def answers_of_forest(rows: Ints, asked: Ints) -> Floats:
        forest = RandomForestClassifier(50, min_samples_leaf=2, random_state=0)
        forest.fit(matrix[rows], target.labels[rows])
        found = np.zeros((len(asked), target.n_classes))
        found[:, forest.classes_] = forest.predict_proba(matrix[asked])
        return found

    # The forest's predictions take the answers' place, and the model's answers that of the labels.
    said = target[outside].values.argmax(axis=1)
    forest = replace(
        target[outside], answers=answers_of_forest(inside, outside), logits=False, labels=said
    )
    if knowledge_of_classes(forest) < _AGREES:
        return None
    own = gains(target[inside])[0]
    # Rows of one person stay in one half: in both, they would teach the forest its answers.
    half = folds_of(target.units[inside], target.member[inside], 2, rng)
    learnt = np.empty(len(inside))
    for part in (0, 1):
        asked = half == part
        probs = answers_of_forest(inside[~asked], inside[asked])
        labels = target.labels[inside[asked]]
        # As in `gains`: the probability of the true class, less its mean over the asked records.
        learnt[asked] = probs[np.arange(len(labels)), labels] - probs.mean(axis=0)[labels]
    found = mean(learnt, level, unit="records", owner=target.units[inside])
    return found.high < least * float(own.mean())


def other_order(side: Predictions, least: float) -> str | None:
    """Return, in words, another order in which labels fit the answers; None if none does.

    Parameters
    ----------
    side : Predictions
        Members alone, or non-members alone, in the order of the file.
    least : float
        In (0, 1). Smallest number of labels that the answers must match in that order beyond those
        that match by chance, as a share of all rows.

    Notes
    -----
    Two causes are examined: classes in another order, as another encoder numbers them, and rows
    that were shifted or reversed. One convolution per class counts the matches of all shifts.
    """
    n = len(side)
    k = side.n_classes
    if n < _FEWEST:
        return None
    said = side.values.argmax(axis=1)
    # Entry (i, j): rows of class i that are answered with class j.
    counts = np.zeros((k, k))
    np.add.at(counts, (side.labels, said), 1)
    given = counts.sum(axis=1)
    answered = counts.sum(axis=0)
    if n >= _ROWS_A_CLASS * k:
        first, second = linear_sum_assignment(counts, maximize=True)
        by_chance = given @ answered[second] / n
        if counts[first, second].sum() - by_chance >= least * n:
            return "in another order of the classes than that of the predictions' columns"
    # Entry n - 1 + s of `same` counts matches if labels stand s rows below their answers; `turned`
    # does the same with the answers in reverse.
    same = np.zeros(2 * n - 1)
    turned = np.zeros(2 * n - 1)
    for number in np.flatnonzero(given * answered):
        is_given = (side.labels == number).astype(np.float64)
        is_said = (said == number).astype(np.float64)
        same += fftconvolve(is_given, is_said[::-1])
        turned += fftconvolve(is_given, is_said)
    needed = least * n + given @ answered / n
    if same.max() >= needed:
        moved = int(same.argmax()) - (n - 1)
        rows = "one row" if abs(moved) == 1 else f"{abs(moved):,} rows"
        return f"{rows} {'below' if moved > 0 else 'above'} the answers that they fit"
    return "in the opposite order of rows" if turned.max() >= needed else None
