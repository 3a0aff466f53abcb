"""Order and numbers of the released rows: if they are those of the real rows, they name people.

An adversary who knows the order of a list, or the number of each of its rows, knows the person of
each row: however little of a record is left in its row, the place or the number joins them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate import rates
from privacygauge.tables.released.named import FEWEST_JOINED, JoinedRows
from privacygauge.tables.released.tables import ReleasedTables, draw_rows, without_columns

CANDIDATES = 10
"""Real records compared per row: the one at its place, and nine of the ten nearest places."""
_LAGS = 60
"""Most places before and after that are compared with the row's own place."""
_ROWS = 2_000
"""Most rows examined."""
_SAME = 0.5
"""Smallest share of places at which real table and holdout are equal in a column in step."""
_MORE = 1.5
"""Smallest ratio of this share to that at other distances: sorted columns agree there too."""


@dataclass(frozen=True, eq=False)
class SamePlace:
    """Agreement of released rows with the real records at the same places."""

    hit: Bools
    """(k,) True where a released row has most in common with the real record at its own place,
    among `CANDIDATES` nearby; ties are broken at random."""
    unit: Ints
    """(k,) Person behind the real record at each place."""
    errors: float
    """Standard errors by which rows have more in common with the records at their own places than
    at another distance, the smallest over all distances: tables that are sorted or periodic also
    agree at other distances. If it is not above 0 among the nearest, larger distances are not
    examined."""
    share: float = 1.0
    """Share of the released rows that were compared; the others count as joined to nobody."""

    def beyond(self, level: float) -> Estimate | None:
        """Return the share of the rows that their place joins to a person, beyond chance.

        None if the rows may have as much in common with the records at another distance.
        """
        if self.errors <= ndtri(0.5 + level / 2):
            return None
        found = rates.proportion(self.hit, self.unit, level)
        # A guess among the candidates succeeds with 1 / CANDIDATES: rescaled so that this is 0.
        value, low, high = (
            self.share * (x - 1 / CANDIDATES) / (1 - 1 / CANDIDATES)
            for x in (found.value, found.low, found.high)
        )
        return replace(found, value=value, low=low, high=high)


def same_place(released: ReleasedTables, rng: np.random.Generator) -> SamePlace | None:
    """Return the agreement of released rows with the real records at the same places.

    Parameters
    ----------
    released : ReleasedTables
        Release with its tables in the order of the files.
    rng : numpy.random.Generator
        Draws the places and the candidates, and breaks ties.

    Returns
    -------
    SamePlace or None
        None if a table has fewer than 40 rows.

    Notes
    -----
    Two values have -log p in common, where p is the share of the real values that are at least as
    near to the released one: for a category, the share of equal ones, or 1 if they differ.

    A holdout that stands in the same order, such as that of days, is a placebo: columns in which it
    agrees with the real table at the same places are left out, and in the others the released rows
    must have more in common with the real table's rows than with its own.
    """
    shared = _in_step(released)
    if len(shared) == len(released.schema.columns):
        return None
    released = without_columns(released, shared)
    n = min(len(released.real), len(released.synthetic))
    if n < FEWEST_JOINED:
        return None
    lags = min(_LAGS, n // 4)
    places = draw_rows(n, _ROWS, rng)
    unit = released.units[0][places]
    # Nearest places only: in sorted tables, records farther away are less alike.
    steps = np.arange(1, CANDIDATES // 2 + 1)
    near = np.concatenate([steps, -steps])
    score = _in_common(released, places, np.concatenate([[0], near]))
    # Column 0 of a line is the row's own place; the others are nine of the ten near ones.
    drawn = rng.permuted(np.tile(1 + np.arange(len(near)), (len(places), 1)), axis=1)
    line = np.column_stack([np.zeros(len(places), np.int64), drawn[:, : CANDIDATES - 1]])
    of_line = score[line, np.arange(len(places))[:, None]]
    # Sums of logarithms differ by rounding between equal records.
    best = of_line >= of_line.max(axis=1, keepdims=True) - 1e-9
    hit = np.where(best, rng.random(best.shape), -1.0).argmax(axis=1) == 0
    errors = _least_errors(score[0], score[1:], distances=near, places=places, unit=unit, n=n)
    if errors > 0:  # otherwise no larger distance can change the result
        steps = np.arange(CANDIDATES // 2 + 1, lags + 1)
        far = np.concatenate([steps, -steps])
        others = _in_common(released, places, far)
        errors = min(
            errors, _least_errors(score[0], others, distances=far, places=places, unit=unit, n=n)
        )
    holdout = released.holdout
    if holdout is not None and errors > 0:
        both = places < len(holdout)
        if np.count_nonzero(both) >= FEWEST_JOINED:
            placebo = _in_common(
                released, places[both], np.zeros(1, np.int64), asked_of=holdout.values
            )
            more = score[0, both] - placebo[0]
            error = max(rates.standard_error(more, unit[both]), 1e-9)
            errors = min(errors, float(more.mean()) / error)
    return SamePlace(hit, unit, errors)


def _in_step(released: ReleasedTables) -> tuple[str, ...]:
    """Return the columns in which real table and holdout hold the same values at the same places.

    Tables of a row per day hold the same days and weather there, whoever is asked.
    """
    if released.holdout is None:
        return ()
    n = min(len(released.real), len(released.holdout))
    if n < FEWEST_JOINED:
        return ()
    found = []
    steps = range(1, CANDIDATES // 2 + 1)
    for name, x, y in zip(
        released.schema.names, released.real.values.T, released.holdout.values.T, strict=True
    ):
        own = float(np.mean(x[:n] == y[:n]))
        beside = [np.mean(x[:n] == np.roll(y[:n], step)) for way in steps for step in (way, -way)]
        if own >= _SAME and own > _MORE * float(np.mean(beside)):
            found.append(name)
    return tuple(found)


def same_names(
    released: ReleasedTables, joined: JoinedRows, rng: np.random.Generator
) -> SamePlace | None:
    """Return the agreement of released rows with the real records of the same names or numbers.

    Both tables are sorted by the names, so that the record of the same name is at the same place.
    See `same_place`.
    """
    if len(joined.real) < FEWEST_JOINED:
        return None
    by_name = ReleasedTables(
        released.real[joined.real],
        released.synthetic[joined.synthetic],
        unit=released.units[0][joined.real],
    )
    found = same_place(by_name, rng)
    if found is None:
        return None
    return replace(found, share=len(joined.synthetic) / len(released.synthetic))


def _in_common(
    released: ReleasedTables, places: Ints, distances: Ints, *, asked_of: Floats | None = None
) -> Floats:
    """Return the agreement (d, k) of the rows at some places with real ones at d distances.

    With `asked_of`, with its rows in place of the real ones, which still say what is rare.
    """
    theirs = released.real.values if asked_of is None else asked_of
    n = min(len(released.real), len(released.synthetic))
    score = np.zeros((len(distances), len(places)))
    rows = (places + distances[:, None]) % n  # places wrap around at the ends
    for column, real, source, made in zip(
        released.schema.columns,
        released.real.values.T,
        theirs.T,
        released.synthetic.values.T,
        strict=True,
    ):
        asked = source[rows]
        own = made[places]
        if not column.is_number:
            # Minus the log frequency of a category that both have.
            last = int(max(real.max(), own.max(), asked.max()))
            count = np.bincount(real.astype(np.int64), minlength=1 + last)
            share = np.maximum(count, 1)[asked.astype(np.int64)] / len(real)
            score += np.where(asked == own, -np.log(share), 0.0)
            continue
        # Minus the log share of real numbers at least as near; missing equals missing.
        there = np.sort(real[~np.isnan(real)])
        off = np.abs(asked - own)
        # Rounding must not exclude a number at exactly this distance.
        wide = off + 1e-9 * (1 + np.abs(own))
        last_near = np.searchsorted(there, own + wide, side="right")
        first_near = np.searchsorted(there, own - wide, side="left")
        # One is missing: `off` is NaN, and the share 1, so that they have nothing in common.
        near = np.where(np.isnan(off), len(real), np.maximum(last_near - first_near, 1))
        both = np.isnan(asked) & np.isnan(own)
        score += -np.log(np.where(both, max(len(real) - len(there), 1), near) / len(real))
    return score


def _least_errors(
    own: Floats, others: Floats, distances: Ints, places: Ints, unit: Ints, n: int
) -> float:
    """Return the fewest standard errors by which rows agree more with their own places.

    Parameters
    ----------
    own : ndarray of float, shape (k,)
        Agreement of the rows with the records at their own places.
    others : ndarray of float, shape (d, k)
        Agreement at other distances.
    distances : ndarray of int, shape (d,)
    places, unit : ndarray of int, shape (k,)
    n : int
        Number of places.
    """
    errors = np.inf
    for distance, other in zip(distances, others, strict=True):
        # Places that wrapped around are left out.
        inside = (places + distance >= 0) & (places + distance < n)
        more = (own - other)[inside]
        error = max(rates.standard_error(more, unit[inside]), 1e-9)
        errors = min(errors, float(more.mean()) / error)
    return errors
