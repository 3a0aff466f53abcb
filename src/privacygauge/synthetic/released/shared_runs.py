"""Long runs of words shared with the synthetic table, beyond what different people share.

A note copied into other words, or with some words replaced, equals no synthetic text. It still
shares runs of words that nobody else would write. The tables themselves show which runs different
people share by chance: the holdout's texts with the synthetic ones, and texts of the real table
with the holdout's or with each other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.extremes import standing_apart
from privacygauge.synthetic.released.coincidences import SharedValues
from privacygauge.synthetic.released.named import TextColumn
from privacygauge.synthetic.released.tables import ReleasedTables
from privacygauge.synthetic.released.texts import (
    longest_run_in_common,
    most_words_in_common,
    whole_text_in_common,
)


def shared_runs(
    released: ReleasedTables, rng: np.random.Generator, level: float
) -> Iterator[SharedValues]:
    """Yield, per column of free text, the real records whose texts were copied in part.

    Without a holdout only whole texts are searched for: texts of one source repeat each other's
    parts in ways of their own.

    Parameters
    ----------
    released : ReleasedTables
        Release as given.
    rng : numpy.random.Generator
        Splits the real texts into halves that are compared with each other.
    level : float
        Level recorded in the estimate; the share itself is counted.

    Notes
    -----
    The longest runs that real texts share with synthetic ones (`longest_run_in_common`), the rare
    words (`most_words_in_common`), and whole texts (`whole_text_in_common`) are compared with those
    that different people share, and with the even longer ones that the tail of these predicts
    (`standing_apart`).
    """
    for column in released.texts:
        if column.is_free:
            yield from _shared_runs_of(column, rng, level)


def _shared_runs_of(
    column: TextColumn, rng: np.random.Generator, level: float
) -> Iterator[SharedValues]:
    in_first = rng.permutation(len(column.real)) < len(column.real) // 2
    first = column.real[in_first]
    second = column.real[~in_first]
    # What different people have in common: pairs of texts, and of texts to search for the most in
    # common.
    others_among = [(first, second), (second, first)]
    if column.holdout is not None:
        others_among.append((column.real, column.holdout))
    # More texts to search yield more in common: the others' tail is raised by the ratio of sizes.
    n_made = len(column.synthetic)
    more = max(1.0, n_made / min(n_made, *(len(among) for _, among in others_among)))
    found = []
    for measure, what in _MEASURES[: 1 if column.holdout is None else None]:
        real = column.in_common(column.real, measure)
        of_others = [measure(texts, among) for texts, among in others_among]
        if column.holdout is not None:
            of_others.append(column.in_common(column.holdout, measure))
        others = np.concatenate(of_others)
        # Weight of a run of words, or a word, that only one synthetic text has.
        step = float(np.log(max(n_made, 2)))
        found.append((*standing_apart(real, others, times=more, step=step), real, what))
    # One finding per column: the measure that finds most records.
    k, expected, real, what = max(found, key=lambda one: one[0])
    if k:
        share = k / len(real)
        yield SharedValues(
            column=column.name,
            rows=np.argsort(-real, kind="stable")[:k],
            what=what.format(name=column.name),
            why=f"by chance {expected:.1g} of them would, as other people's texts say",
            people=Estimate(
                value=share,
                low=share,
                high=share,
                level=level,
                n=len(real),
                method=("texts that are no chance, counted"),
            ),
        )


_MEASURES = (
    (whole_text_in_common, "have their whole {name} within one of a synthetic record"),
    (
        longest_run_in_common,
        "share more words in a row of {name} with a synthetic record than any two different people "
        "do",
    ),
    (
        most_words_in_common,
        "share more rare words of {name} with a synthetic record than any two different people do",
    ),
)
"""Measures of the similarity of two texts, and their findings in words; without a holdout only the
first. Where single words were replaced, no long run is left, but rare words are."""
