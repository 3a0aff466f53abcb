"""Values that almost nobody shares, such as e-mail addresses: the number that were copied.

A handful of copied addresses is far beyond chance if no two people share one, however small their
share of the table. Different people show how often values coincide: the holdout's with the
synthetic ones, and those of real records and the holdout among each other. A free text also counts
if it is contained in another one, as a copy among other words is.

Where people do share values, such as frequent codes, only values that one person alone has are
examined: in these, real people and the holdout's are alike unless the table was made from either.

A note copied into other words, or with some words replaced, equals no synthetic text. It still
shares runs of words that nobody else would write, which are compared in the same way.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, hypergeom

from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.tail import standing_apart
from privacygauge.tables.released.named import range_of_numbers
from privacygauge.tables.released.tables import ReleasedTables
from privacygauge.tables.released.texts import (
    longest_run_in_common,
    most_words_in_common,
    stands_within,
    whole_text_in_common,
)
from privacygauge.tables.released.unlikely import NEGLIGIBLE

_DISTINCT = 0.95
"""Smallest share of people who must have a value of their own."""
_FEWEST = 100
"""Fewest values on both sides together; fewer do not show how often values coincide."""
_NUMBER = re.compile(r"\d")
_WORD = re.compile(r"[^\W_]+")
_DIGITS = 7
"""Fewest digits, in the median, of numbers of phones or people, which have few letters."""
_LAST = 9
"""Last digits that are compared: a prefix is not always written."""

Values = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class SharedValues:
    """Real records that share values with the synthetic table beyond chance.

    The values are, for example, one that almost nobody shares, or a long run of words.
    """

    column: str
    rows: Ints
    """Rows in the real table."""
    what: str
    """Values in common, in words."""
    why: str
    """Coincidences that chance would cause, in words."""
    people: Estimate
    """Share of the real records that these records are, counted."""


def most_by_chance(met: int) -> float:
    """Return the largest probability at which a split is evidence, by the holdout's matches.

    Synthetic values may be rounder or more frequent than people's, and so coincide more often with
    anybody's: the holdout's must be met much less often than the real ones. The split of the
    coincidences is binomial, in steps: with sides of equal size, none of six is in the holdout by
    chance once in 64. But if people coincide independently of each other, their number is Poisson,
    and chance meets these bounds in less than 1% of tables, however many coincide and whatever the
    sizes of the sides.

    Parameters
    ----------
    met : int
        Number of holdout values that the synthetic table has, at least 0.
    """
    return 0.01 + 0.0057 / (1 + met)


def shared_values(released: ReleasedTables, level: float) -> Iterator[SharedValues]:
    """Yield, per column of values that people do not share, the real values that were copied.

    Parameters
    ----------
    released : ReleasedTables
        Release as given.
    level : float
        Level of the lower limits of the shares, all columns together.

    Notes
    -----
    If every pair of values is equally likely to be equal, the number of equal pairs of a real and a
    synthetic record, given that of all equal pairs, is binomial. It is compared with the pairs of
    the holdout and the synthetic table, and with these and all pairs of different people of the
    real table and the holdout. Without a holdout only names and texts are examined.
    """
    columns = []
    for column in _columns(released):
        sides = [column.real] if column.holdout is None else [column.real, column.holdout]
        owners = released.units if column.holdout is not None else released.units[:1]
        people = [_of_people(values, unit) for values, unit in zip(sides, owners, strict=True)]
        everyone = np.concatenate([values for values, _ in people])
        if len(everyone) >= _FEWEST and len(set(everyone)) >= _DISTINCT * len(everyone):
            columns.append((column, people))
    # The columns are chosen by the people's values alone, so only these columns count as looks.
    for column, people in columns:
        known = np.array(list(set(column.made) - {None}), object)
        n = len(people[0][0])
        s = len(known)
        copied = column.met(people[0][0], known)
        # Equal pairs of different people's values, and all such pairs.
        by_chance = 0
        pairs = 0
        for values, owner in people:
            within = len(values) - len(set(values))
            if column.is_free:
                contained = stands_within(values, values, (owner, owner))
                within = max(within, -(-int(contained.sum()) // 2))  # two equal texts are one pair
            by_chance += within
            pairs += len(values) * (len(values) - 1) // 2
        # First test: real against holdout, each value of a side being met with the same
        # probability.
        if len(people) == 2:
            others = people[1][0]
            by_chance += len(column.met(people[0][0], others))
            pairs += n * len(others)
            met = len(column.met(others, known) - copied)
            beside = binom.sf(len(copied) - 1, len(copied) + met, n / (n + len(others)))
            if beside > most_by_chance(met):
                continue
            by_chance += met
            pairs += len(others) * s
        # People never share a number that is given out once, so that equal pairs of theirs do not
        # tell how often draws from the same range of numbers meet.
        ranges = [range_of_numbers(values) for values in (column.made, column.real)]
        widths = [width for width in ranges if width is not None]
        if len(widths) == len(ranges):
            by_chance = max(by_chance, round(pairs / min(widths)))
        # Second test, against all pairs; Bonferroni over the columns.
        share = n * s / (n * s + pairs)
        if len(columns) * binom.sf(len(copied) - 1, len(copied) + by_chance, share) > NEGLIGIBLE:
            continue
        # Lower confidence limit: the largest number of copies without which the rest is still too
        # many.
        least = 0
        while least < len(copied) and (
            len(columns) * binom.sf(len(copied) - least - 1, len(copied) - least + by_chance, share)
            <= 1 - level
        ):
            least += 1
        rows = np.flatnonzero([value in copied for value in column.real])
        counted = len(rows) / len(column.real)
        yield SharedValues(
            column=column.name,
            rows=rows,
            what=f"have their {column.name} in the synthetic table"
            + (", alone or among other words" if column.is_free else ""),
            why=(
                f"of {pairs:,} pairs of values of different people {by_chance:,} are equal, and of "
                f"{n * s:,} pairs of a real and a synthetic one {len(copied):,}"
            ),
            people=Estimate(
                value=counted,
                # Values, or the people who have one of them: the fewer.
                low=min(least, len(rows)) / len(column.real),
                high=counted,
                level=level,
                n=len(column.real),
                method="values that are no chance: exact lower limit, and all of them",
            ),
        )


def values_of_one(released: ReleasedTables, level: float) -> Iterator[SharedValues]:
    """Yield, per column, the real people with a value that only they and the synthetic table have.

    Parameters
    ----------
    released : ReleasedTables
        Release; its holdout is a control: which side a person is on is a random draw.
    level : float
        Level: if the table was made from neither side, a column is yielded with probability at most
        ``1 - level``, whatever the dependence between columns and the contents of the table.

    Notes
    -----
    The people with a value of their own that is in the synthetic table are known without their
    sides, so the number of real people among them is hypergeometric. The error is divided among the
    columns by weights that do not use the sides either (Genovese et al. 2006, "False discovery
    control with p-value weighting", Bonferroni's form): the inverse of the probability that the
    synthetic table meets so many people, given the number of values that exactly two people have.
    So a column in which it meets no more people than people meet each other hardly counts as a
    look.
    """
    if released.holdout is None:
        return
    error = 1 - level
    of_real, of_holdout = map(np.unique, released.units)
    # People on both sides are nobody's: they are no evidence of either.
    both = set(of_real.tolist()) & set(of_holdout.tolist())
    real_people = np.setdiff1d(of_real, of_holdout)
    n = len(real_people)
    everyone = n + len(np.setdiff1d(of_holdout, of_real))
    found = []
    for column in _columns(released):
        if column.is_free or column.holdout is None:
            continue
        values, owners = _of_people(
            np.concatenate([column.real, column.holdout]), np.concatenate(released.units)
        )
        count = Counter(values)
        n_twice = sum(times == 2 for times in count.values())
        known = set(column.made)
        # The owners of the synthetic values of one person, one value per owner.
        alone = {
            owner: value
            for value, owner in zip(values, owners.tolist(), strict=True)
            if count[value] == 1 and value in known and owner not in both
        }
        met = {value: owner for owner, value in alone.items()}
        k = len(met)
        # Even if all were real people, the column could show nothing.
        if hypergeom.sf(k - 1, everyone, n, k) > error:
            continue
        n_made = sum(value is not None for value in column.made)
        by_people = 2 * n_made / (2 * n_made + everyone - 1)
        surprise = binom.sf(k - 1, k + n_twice, by_people)
        # A coincidence rarer than the error gets no larger weight, so that no column takes all of
        # it.
        found.append((column, met, 1 / max(surprise, error)))
    weights = sum(weight for _, _, weight in found)
    for column, met, weight in found:
        k = len(met)
        of_real_people = int(np.isin(list(met.values()), real_people).sum())
        copied = 0
        # Lower confidence limit: the largest number of copies without which the rest is still too
        # many.
        while copied < of_real_people and (
            hypergeom.sf(of_real_people - copied - 1, everyone - copied, n - copied, k - copied)
            <= error * weight / weights
        ):
            copied += 1
        if not copied:
            continue
        rows = np.flatnonzero([value in met for value in column.real])
        of_others = k - of_real_people
        beyond = of_real_people - of_others * n / max(1, everyone - n)
        yield SharedValues(
            column=column.name,
            rows=rows,
            what=f"share a value of {column.name!r} with the synthetic table that nobody else has",
            why=(
                f"of {k:,} people with such a value {of_real_people:,} stand in the real table and "
                f"{of_others:,} in the holdout, where {k * n / everyone:,.1f} and "
                f"{k - k * n / everyone:,.1f} are expected; at least {copied:,} are no chance"
            ),
            people=Estimate(
                value=max(copied, beyond) / n,
                low=copied / n,
                high=of_real_people / n,
                level=level,
                n=n,
                method="people with a value of their own, hypergeometric",
            ),
        )


@dataclass(frozen=True, eq=False)
class _Column:
    """Values of a column, None for missing ones."""

    name: str
    real: Values
    made: Values
    holdout: Values | None
    is_free: bool = False
    """True for texts: one that is contained in another counts as equal to it."""

    def met(self, values: Values, others: Values) -> set[object]:
        """Return the values that are also among `others`."""
        if not self.is_free:
            return set(values) & set(others)
        known = set(map(_sorted_words, others))
        equal = np.array([_sorted_words(text) in known for text in values], np.bool_)
        return set(values[equal | stands_within(values, others)])


def _columns(released: ReleasedTables) -> Iterator[_Column]:
    """Yield the columns whose values are compared, of real, synthetic and holdout records."""
    for text in released.texts:
        # Numbers of phones, accounts or people: many digits, and hardly a letter.
        there = [one for one in text.real if one]
        digits = [len(_NUMBER.findall(one)) for one in there]
        letters = [sum(map(str.isalpha, one)) for one in there]
        is_number = (
            bool(there) and float(np.median(digits)) >= _DIGITS and float(np.median(letters)) <= 1
        )
        is_free = text.is_free and not is_number
        sides = (text.real, text.synthetic, text.holdout)
        real, made, others = (
            None
            if side is None
            else np.array(
                [_plain(x, is_number=is_number, is_free=is_free) if x else None for x in side],
                object,
            )
            for side in sides
        )
        assert real is not None
        assert made is not None
        yield _Column(text.name, real, made, others, is_free=is_free)
    if released.holdout is None:
        return
    for place, column in enumerate(released.schema.columns):
        coded = []
        for table in (released.real, released.synthetic, released.holdout):
            values = table.values[:, place].astype(object)
            values[np.isnan(table.values[:, place])] = None
            coded.append(values)
        yield _Column(column.name, coded[0], coded[1], coded[2])


def _plain(text: str, *, is_number: bool, is_free: bool) -> str:
    """Return the last digits of a number or the words of a text, of a free text in their order."""
    if is_number:
        return "".join(_NUMBER.findall(text))[-_LAST:]
    return " ".join(_WORD.findall(text)) if is_free else _sorted_words(text)


def _sorted_words(text: str) -> str:
    return " ".join(sorted(_WORD.findall(text)))


def _of_people(values: Values, unit: Ints) -> tuple[Values, Ints]:
    """Return the values that are present, each once per person, and the people."""
    pairs = dict.fromkeys(zip(values, unit.tolist(), strict=True))
    there = [(value, owner) for value, owner in pairs if value is not None]
    return np.array([x for x, _ in there], object), np.array([x for _, x in there], np.int64)


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
        if not column.is_free:
            continue
        in_first = rng.permutation(len(column.real)) < len(column.real) // 2
        first = column.real[in_first]
        second = column.real[~in_first]
        # What different people have in common: pairs of texts, and of texts to search for the most
        # in common.
        others_among = [(first, second), (second, first)]
        if column.holdout is not None:
            others_among.append((column.real, column.holdout))
        # More texts to search yield more in common: the others' tail is raised by the ratio of
        # sizes.
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
                    method="texts that are no chance, counted",
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
