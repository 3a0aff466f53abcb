"""Copies that chance does not explain, one by one: the probability that a record occurs again.

A share of copies is beyond chance only if there are many. A single copy is proof where the record
is so rare that nobody else of the same population would equal it, however many are drawn. A few
copies are proof together where so many records as rare as these hardly ever meet by chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import bdtrc
from scipy.stats import poisson

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.rates import excess
from privacygauge.tables.released.near_copies import (
    NearCopies,
    alike_numbers,
    is_isolated,
    near_copies,
)
from privacygauge.tables.released.tables import (
    ReleasedTables,
    evenly,
    number_equal_records,
    of_several,
    select_columns,
    sums_but_some,
)
from privacygauge.tables.table import Table

NEGLIGIBLE = 1e-3
"""Copies are beyond chance if fewer than this many are expected, over all records together."""
_DOUBT = 10.0
"""Factor on the expected number of copies where some are judged together: many estimates near the
limit count there, not one far beyond it."""
_MANY = 500
"""Most copies that are judged together: more of them show in their share."""
_SAMPLE = 2_000
"""Most real records by which the expected number of copies of all of them is estimated."""
_COLUMNS = 10
"""Columns that identify a record: those with the rarest values."""
_CONTEXT = 3
"""Most columns in a context, the set of columns that may determine another column's value."""
_PAIRS = 200
"""Fewest pairs of records that must agree in a context for its shares to count."""
_AGREEING = 10
"""Fewest other records that must agree with a record in a context for its shares to count."""
_BY_CHANCE = 0.05
"""Most contexts of a value, of all that are examined, that count though they only seem to matter:
their expected number."""
_LARGEST = 20_000
"""Most records from which contexts are learnt."""


@dataclass(frozen=True, eq=False)
class JointCopies:
    """Copied real records that chance explains one by one, but not together."""

    rows: Ints
    """(k,) Rows of the real table, the least likely copy first."""
    chance: Floats
    """(k,) Expected number of copies of each by chance."""
    expected: float
    """Expected number of copied records as rare as these, of all real records, times a margin for
    errors of the estimates."""
    least: int
    """Fewest of them that chance does not explain, at least 1."""


@dataclass(frozen=True, eq=False)
class PartialCopies:
    """Copied real records of which one value, or the dates, are other ones; no chance, each."""

    rows: Ints
    """(k,) Rows of the real table, the least likely copy first."""
    chance: Floats
    """(k,) Expected number of such copies of each record by chance."""
    ways: tuple[str, ...]
    """What is another one in each copy: a column's name, or words for the dates."""
    made: Ints
    """Rows of the synthetic table that are these copies, ascending."""


@dataclass(frozen=True, eq=False)
class UnlikelyCopies:
    """Records that are in the synthetic table beyond chance."""

    real: Ints
    """Rows of the real table, the least likely copy first."""
    chance: Floats
    """Expected number of copies of each record by chance, at most `NEGLIGIBLE` divided by the
    number of real records."""
    holdout: Ints
    """Rows of copied holdout records that equal no real one: the generator saw these too."""
    people: Estimate
    """Share of the real records that these copies make up. Each copy is proven, so the lower limit
    is this share; the upper limit is the share of all copies."""
    rows: Estimate
    """Share of the synthetic rows that equal one of them."""
    together: JointCopies | None = None
    """Copies that are proof together, those that are proof alone among them; None if they show no
    more than these."""
    partly: PartialCopies | None = None
    """Further records that are copied but for a value, or with their dates moved; None for none."""
    nearly: NearCopies | None = None
    """Further records to which a synthetic row is far nearer than chance brings rows to people;
    None for none."""

    @property
    def beyond(self) -> Estimate:
        """Share with the larger lower limit: of real records, or of synthetic rows."""
        return max(self.people, self.rows, key=lambda found: found.low)


def unlikely_copies(
    released: ReleasedTables, twins: Bools, level: float, rng: np.random.Generator
) -> UnlikelyCopies:
    """Find real and holdout records whose copies chance does not explain.

    Parameters
    ----------
    released : ReleasedTables
        The release as given: its holdout may overlap, or may have been seen by the generator.
    twins : ndarray of bool, shape (n,)
        Real records that equal another person's real record, from `find_shared_records`.
    level : float
        Level of the comparison with equally unlikely twins, if there are any.
    rng : numpy.random.Generator
        Draws the keys by which partial copies are found, and what near copies are compared with.

    Notes
    -----
    With s synthetic rows and n real records, a copy is negligibly likely by chance if n s p is at
    most `NEGLIGIBLE`, where p is the probability that one more person equals the record. If real
    records that are as unlikely have a twin, the estimates of p are wrong for this table: copies
    then count only as far as they outnumber these twins.
    """
    real = released.real
    made = released.synthetic
    n = len(real)
    everyone = released.everyone
    there, wanted = number_equal_records((everyone, made))
    copied = np.isin(there, wanted)
    lone = np.flatnonzero(copied[:n] & ~twins)
    # Holdout records that equal a real one may be copies of that one.
    fresh = n + np.flatnonzero(copied[n:] & ~np.isin(there[n:], there[:n]))
    partly = partial_copies(released, rng)
    unexplained = ~np.isin(wanted, there)
    if partly is not None:
        unexplained[partly.made] = False
    nearly = near_copies(released, np.flatnonzero(unexplained), rng)
    if not len(lone) and not len(fresh):
        return _count_unlikely(
            lone,
            np.zeros(0),
            fresh=fresh,
            partly=partly,
            nearly=nearly,
            released=released,
            level=level,
        )
    # Synthetic rows that equal nobody add evidence on which values the generator makes up often.
    others = made[np.flatnonzero(~np.isin(wanted, there))]
    # n records are tested, each at NEGLIGIBLE / n.
    least = NEGLIGIBLE / n

    def expected(rows: Ints, most: float = least) -> Floats:
        above = float(np.log(most / len(made)))
        return len(made) * np.exp(log_chance(everyone, rows, others, above=above))

    of_lone, of_fresh = np.split(expected(np.concatenate([lone, fresh])), [len(lone)])
    odd = of_lone <= least
    doubles = np.flatnonzero(twins) if (of_lone <= least).any() else np.zeros(0, np.int64)
    by_twins = np.isin(np.arange(n), doubles[expected(doubles) <= least])
    if by_twins.any():
        # Looked up in as many rows as there are records, since twins were counted among that many.
        hit = np.isin(np.arange(n), lone[odd]) & np.isin(there[:n], wanted[:n])
        fresh = fresh[:0]
        of_fresh = of_fresh[:0]
        if excess(hit, by_twins, level).low <= 0:
            odd[:] = False
    order = np.argsort(of_lone[odd], kind="stable")
    rows = lone[odd][order]
    # Records that stand on both sides are met by chance, whatever the estimates say.
    met = np.flatnonzero(twins | np.isin(there[:n], there[n:]))
    together = _judge_jointly(lone, met, n, expected)
    if together is not None and together.least <= len(rows):
        together = None
    return _count_unlikely(
        rows,
        of_lone[odd][order],
        fresh=fresh[of_fresh <= least],
        together=together,
        partly=partly,
        nearly=nearly,
        released=released,
        level=level,
    )


DATES = "all dates"
"""A way in which a copy differs: its dates are other ones."""
MOVED = "all dates, moved alike"
"""A way in which a copy differs: the days between its dates are the same."""
_FEWEST = 3
"""Fewest columns in which a partial copy agrees."""
_EXAMINED = 1_000
"""Most candidates in one way of copying that are examined, evenly chosen among all."""


def partial_copies(released: ReleasedTables, rng: np.random.Generator) -> PartialCopies | None:
    """Find real records whose copies with one value changed, or moved dates, are no chance.

    Parameters
    ----------
    released : ReleasedTables
        The release as given.
    rng : numpy.random.Generator
        Draws the keys by which records are compared.

    Notes
    -----
    A way of copying leaves out one column, all dates, or all but the days between dates, and
    perhaps one column more. Of w ways each is judged as whole copies are, at `NEGLIGIBLE` / w; a
    way does not count where other people's records that are as unlikely agree with each other.
    """
    owner = np.concatenate(released.units)
    n = len(released.real)
    schema = released.schema.columns
    dates = [j for j, column in enumerate(schema) if column.date]
    # Each way with the columns that it leaves out, of the tables as they are and with the days
    # between dates in place of the dates.
    one_less = {column.name: [j] for j, column in enumerate(schema)}
    views = [(released, one_less)]
    moved = released.between_dates
    if moved is not None:
        undated = moved.schema.columns[: len(schema) - len(dates)]
        less_moved = {f"{MOVED}, and {column.name}": [j] for j, column in enumerate(undated)}
        views = [
            (released, one_less),
            (moved, {MOVED: [], **less_moved}),
            (released, {DATES: dates}),
        ]
    # Records and rows that have an equal on the other side are judged whole.
    own, made = number_equal_records((released.everyone, released.synthetic))
    whole = np.isin(own, made)
    unexplained = np.flatnonzero(~np.isin(made, own))
    ways = [
        (way, tables, without, *keys)
        for tables, left_out in views
        for way, without, *keys in zip(
            left_out,
            left_out.values(),
            *sums_but_some(
                rng, list(left_out.values()), tables.everyone, tables.synthetic[unexplained]
            ),
            strict=True,
        )
        if len(tables.schema.columns) - len(without) >= _FEWEST
    ]
    best: dict[int, tuple[float, str, Ints]] = {}
    least = NEGLIGIBLE / (n * max(len(ways), 1))
    above = float(np.log(least / len(made)))
    for way, tables, without, theirs, copies in ways:
        agree = np.flatnonzero(np.isin(theirs, copies) & ~whole)
        alone = ~of_several(theirs, owner)
        asked = agree[(agree < n) & alone[agree]]
        if not len(asked):
            continue
        asked = evenly(asked, _EXAMINED)
        columns = [j for j in range(len(tables.schema.columns)) if j not in without]
        known = select_columns(tables.everyone, columns)
        fresh = unexplained[~np.isin(copies, theirs)]
        others = select_columns(tables.synthetic, columns)[fresh]
        chance = len(made) * np.exp(log_chance(known, asked, others, above=above))
        odd = chance <= least
        if not odd.any():
            continue
        met = evenly(np.flatnonzero(~alone), _EXAMINED)
        if (len(made) * np.exp(log_chance(known, met, others, above=above)) <= least).any():
            continue
        for row, p in zip(asked[odd].tolist(), chance[odd].tolist(), strict=True):
            # A way further down explains less of the record: it has to be much less likely.
            if row not in best or p < best[row][0] / 2:
                best[row] = (p, way, unexplained[copies == theirs[row]])
    if not best:
        return None
    order = sorted(best, key=lambda row: best[row][0])
    return PartialCopies(
        rows=np.array(order),
        chance=np.array([best[row][0] for row in order]),
        ways=tuple(best[row][1] for row in order),
        made=np.unique(np.concatenate([best[row][2] for row in order])),
    )


def _judge_jointly(
    copied: Ints, met: Ints, n: int, expected: Callable[[Ints, float], Floats]
) -> JointCopies | None:
    """Return the copies that chance explains one by one, but not together; None if there are none.

    The j least likely copies count where j or more of n records as rare would be copied with a
    probability of at most `NEGLIGIBLE` / 2**(j - 1), so that all j together err with less than
    twice `NEGLIGIBLE`. Records as likely as one that is met by chance do not count.
    """
    if not 2 <= len(copied) <= _MANY:
        return None
    # The rarest n records are expected to be copied less than once in all.
    most = 1 / n
    chance = expected(copied, most)
    order = np.argsort(chance, kind="stable")
    met = evenly(met, _SAMPLE)
    likely = min(most, float(expected(met, most).min(initial=np.inf)))
    order = order[chance[order] < likely]
    if len(order) < 2:
        return None
    sample = evenly(np.arange(n), _SAMPLE)
    usual = np.sort(expected(sample, most))
    sums = np.concatenate([[0.0], np.cumsum(usual)]) * n / len(sample)
    total = _DOUBT * sums[np.searchsorted(usual, chance[order], side="right")]
    j = np.arange(1, len(order) + 1)
    shown = np.flatnonzero(poisson.sf(j - 1, total) <= NEGLIGIBLE / 2.0 ** (j - 1))
    least = j - poisson.isf(NEGLIGIBLE, total)
    shown = shown[(shown > 0) & (least[shown] >= 1)]
    if not len(shown):
        return None
    best = int(shown[np.argmax(least[shown])])
    rows = order[: best + 1]
    return JointCopies(copied[rows], chance[rows], float(total[best]), int(least[best]))


def _count_unlikely(
    rows: Ints,
    chance: Floats,
    fresh: Ints,
    released: ReleasedTables,
    level: float,
    *,
    partly: PartialCopies | None,
    nearly: NearCopies | None,
    together: JointCopies | None = None,
) -> UnlikelyCopies:
    """Return these copies with their shares of both tables."""
    own, made = number_equal_records((released.real, released.synthetic))
    few = np.isin(made, own[rows])
    every = np.isin(made, own)
    # Each record that is copied stands in one row at least.
    least = 0 if together is None else together.least
    further, in_rows = (0, 0) if partly is None else (len(partly.rows), len(partly.made))
    if nearly is not None:
        others = np.union1d(rows, [] if partly is None else partly.rows)
        further += int(np.count_nonzero(~np.isin(nearly.real, others)))
        in_rows += len(nearly.made)
    people = max(len(rows), least) + further
    n_rows = max(int(few.sum()), least) + in_rows
    return UnlikelyCopies(
        real=rows,
        chance=chance,
        holdout=fresh - len(own),
        people=_counted_share(people, int(np.isin(own, made).sum()) + further, len(own), level),
        rows=_counted_share(n_rows, int(every.sum()) + in_rows, len(made), level),
        together=together,
        partly=partly,
        nearly=nearly,
    )


def _counted_share(least: int, most: int, n: int, level: float) -> Estimate:
    return Estimate(
        value=least / n,
        low=least / n,
        high=most / n,
        level=level,
        n=n,
        method="copies that are no chance, counted",
    )


def log_chance(records: Table, rows: Ints, others: Table, *, above: float = 0.0) -> Floats:
    """Return the log probability that one more person equals each of some records.

    Equal records count once in the learning: that whole records have twins does not show how one
    column depends on others, and is examined separately.

    Parameters
    ----------
    records : Table
        People of one source.
    rows : ndarray of int, shape (k,)
        Rows to return the probability for; they and their equals are left out of the learning.
    others : Table
        Further records with the same columns, such as those a generator makes up, which may make
        some values more frequent than in the source.
    above : float
        Log probability above which the values alone decide, and contexts are not evaluated.

    Returns
    -------
    ndarray, shape (k,)
        At most 0; errs towards "likely". The larger of the estimates from both tables.

    Notes
    -----
    Columns are taken one after the other, the least rare values first: p(x) = prod p(x_j | C),
    where C is, among all sets of up to three earlier columns, the one that makes the value most
    likely. Its share in a context is estimated from the records that agree there with the record,
    and from all pairs of records that agree there, over values about as rare. A value that nobody
    else has gets the probability that Good (1953), "The population frequencies of species and the
    estimation of population parameters", derives from the values that occur once.
    Of the numbers that a rare kind of record may have in common, such as zeros of all channels or
    numbers far from those of others, the least likely counts.
    """
    found = np.full(len(rows), -np.inf)
    for known in (records, others):
        left = np.flatnonzero(found <= above)
        if len(left) and (known is records or len(known) >= _PAIRS):
            # Equal records once: the first of each kind.
            of_kind = known[np.unique(number_equal_records((known,))[0], return_index=True)[1]]
            found[left] = np.maximum(found[left], _log_chance(of_kind, records[rows[left]], above))
    return found


def _log_chance(known: Table, asked: Table, above: float) -> Floats:
    own, mine = number_equal_records((known, asked))
    # (n + k, F) Codes of the values, missing ones included.
    both = np.concatenate([known.values, asked.values])
    codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in both.T])
    # (k, F) Share of each value by itself: independent columns give the first, cheap bound.
    alone = np.column_stack([_share(column, len(known), own, mine) for column in codes.T])
    by_values: Floats = np.log(alone).sum(axis=1)
    rare = by_values <= above
    if not rare.any():
        return by_values
    if not rare.all():
        # Only rare records need contexts: the others keep the bound by values alone.
        by_values[rare] = _log_chance(known, asked[np.flatnonzero(rare)], above)
        return by_values
    # Ascending rarity; the last _COLUMNS are the rarest.
    columns = np.argsort(-np.log(alone).mean(axis=0), kind="stable")[-_COLUMNS:]
    few = np.linspace(0, len(known) - 1, min(len(known), _LARGEST)).astype(np.int64)
    learnt = _Contexts(
        np.concatenate([codes[few], codes[len(known) :]])[:, columns],
        len(few),
        np.bincount(own[few], minlength=1 + max(own.max(), mine.max()))[mine],
    )
    # A context may only make a value more likely, never less: this errs towards "likely".
    found = np.column_stack(
        [
            np.log(np.maximum(alone[:, column], learnt.most_likely(place)))
            for place, column in enumerate(columns)
        ]
    )
    # What a rare kind of record may explain counts once: one number in most columns, or numbers far
    # from those of others.
    numbers = [column.is_number for column in asked.schema.columns]
    common = alike_numbers(asked.values, numbers)
    for j in np.flatnonzero(numbers):
        ordered = np.sort(known.values[:, j])
        common[:, j] |= is_isolated(ordered[~np.isnan(ordered)], asked.values[:, j])
    common = common[:, columns]
    once = np.where(common, found, 0.0).min(axis=1, initial=0.0)
    total: Floats = np.where(common, 0.0, found).sum(axis=1) + once
    return np.minimum(total, 0.0)


def _share(column: Ints, n: int, own: Ints, mine: Ints) -> Floats:
    """Return (k,) the share of each queried value among the records that equal no query."""
    count = np.bincount(column[:n], minlength=int(column.max()) + 1)
    once, twice = (int(np.count_nonzero(count == times)) for times in (1, 2))
    equals = np.bincount(own, minlength=1 + max(int(own.max()), int(mine.max())))[mine]
    seen = count[column[n:]] - equals
    # The query counts once itself, above and below: no share is 0.
    share = (seen + 1) / (n - equals + 1)
    if not once:
        return share
    # Good (1953): a value seen once, here by the query alone, has 2 N_2 / N_1 occurrences; one is
    # added to N_2 so that this is not 0.
    return np.where(seen == 0, np.minimum(share, 2 * (twice + 1) / (once * n)), share)


class _Contexts:
    """Counts of records that agree in some columns, and in one column more."""

    def __init__(self, codes: Ints, n: int, equals: Ints) -> None:
        self.codes = codes
        self.n = n
        self.equals = equals
        # Groups are cached by their columns: every context extends a shorter one.
        self.groups: dict[tuple[int, ...], Ints] = {(): np.zeros(len(codes), np.int64)}

    def most_likely(self, column: int) -> Floats:
        """Return (k,) the largest share in any context of earlier columns; 0 if there is none."""
        found = np.zeros(len(self.codes) - self.n)
        count = np.bincount(self.codes[: self.n, column], minlength=self.codes[:, column].max() + 1)
        frequent = count[self.codes[:, column]]
        frequent[self.n :] -= self.equals
        # A value seen up to twice as often is about as rare; one that nobody has counts like one
        # seen twice.
        rarity = np.ceil(np.log2(np.maximum(frequent, 1))).astype(np.int64)
        of_asked = np.floor(np.log2(2 * (frequent[self.n :] + 1))).astype(np.int64)
        alone = (frequent[self.n :] + 1) / (self.n + 1)
        contexts = [
            context
            for size in range(1, _CONTEXT + 1)
            for context in combinations(range(column), size)
        ]
        for context in contexts:
            agree = self._agreeing(context)
            also = self._agreeing((*context, column))
            known = slice(None, self.n)
            # Entry r of the cumulative sums: pairs with values of rarity class r or below.
            pairs = np.bincount(rarity[known], agree[known], minlength=64).cumsum()[of_asked]
            equal = np.bincount(rarity[known], also[known], minlength=64).cumsum()[of_asked]
            share = np.where(pairs >= _PAIRS, equal / np.maximum(pairs, 1), 0.0)
            np.maximum(found, share, out=found)
            # Second estimate: only the records around the query itself, where more of them have
            # the value than by chance. Of many small contexts, one always has it by chance.
            around = agree[self.n :]
            here = also[self.n :]
            chance = bdtrc(here - 1, around, alone)
            enough = (around >= _AGREEING) & (here >= 1) & (chance <= _BY_CHANCE / len(contexts))
            np.maximum(found, np.where(enough, (here + 1) / (around + 1), 0.0), out=found)
        return found

    def _agreeing(self, columns: tuple[int, ...]) -> Ints:
        """Return the number of other records that agree with each one in these columns."""
        group = self._group(columns)
        count = np.bincount(group[: self.n], minlength=int(group.max()) + 1)[group]
        count[: self.n] -= 1
        count[self.n :] -= self.equals
        return count

    def _group(self, columns: tuple[int, ...]) -> Ints:
        if columns not in self.groups:
            code = self.codes[:, columns[-1]]
            both = self._group(columns[:-1]) * (int(code.max()) + 1) + code
            self.groups[columns] = np.unique(both, return_inverse=True)[1]
        return self.groups[columns]
