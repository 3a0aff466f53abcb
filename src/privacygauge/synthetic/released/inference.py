"""Inference: whether the synthetic table tells a secret value of a real record.

The third risk of the opinion 05/2014 of the Article 29 Working Party: "the possibility to deduce,
with significant probability, the value of an attribute from the values of a set of other
attributes".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from privacygauge.core.checks import Bools, Floats
from privacygauge.errors import InputError
from privacygauge.synthetic.distance import Distance, Minkowski, space_of
from privacygauge.synthetic.released.hits import ATTEMPTS, Hits
from privacygauge.synthetic.released.neighbours import nearest
from privacygauge.synthetic.released.tables import Released, columns_of, drawn_rows, stacked
from privacygauge.synthetic.table import Table, require_columns

MOST_SECRETS = 20
"""Columns that are secrets in turn where none are named."""
TOLERANCE = 0.05
"""How far a number may be off, as a share of the real numbers' range without the outer tenth."""


def inference(
    released: Released,
    rng: np.random.Generator,
    *,
    secrets: Sequence[str] | None = None,
    attempts: int = ATTEMPTS,
    tolerance: float = TOLERANCE,
    distance: Distance | None = None,
) -> tuple[Hits, ...]:
    """Return, for each secret column, how often its value is told from all other columns.

    The guess is the value of the synthetic record that is nearest in the other columns; of
    equally near ones any.

    Parameters
    ----------
    released : Released
    rng : numpy.random.Generator
    secrets : sequence of str, optional
        Columns; all in turn by default, 20 at random where there are more.
    attempts : int, default 500
        Records for each secret; fewer where a table has fewer.
    tolerance : float, default 0.05
        A guess of a number is right that is off by at most this share of the range between the
        5% and the 95% quantile of the real numbers. A missing number is guessed right where it
        is guessed to be missing.
    distance : Distance, optional
        The sum of differences (Minkowski, p = 1) by default.

    Returns
    -------
    tuple of Hits
        One a secret. Attack: real records. Control: holdout records. Baseline: the real records
        again, for all of which the one value is guessed that is right most often among the
        synthetic records.
    """
    names = released.schema.names
    if len(names) < 2:
        raise InputError("inference needs at least two columns, got one")
    if attempts < 1:
        raise InputError(f"attempts must be at least 1, got {attempts}")
    if not 0 <= tolerance < 1:
        raise InputError(f"tolerance must be in [0, 1), got {tolerance}")
    if secrets is None:
        secrets = [names[j] for j in drawn_rows(len(names), MOST_SECRETS, rng)]
    require_columns(secrets, names, "secrets")
    sides = [side for side in (released.real, released.holdout) if side is not None]
    rows = [drawn_rows(len(side), attempts, rng) for side in sides]
    asked = [side[some] for side, some in zip(sides, rows, strict=True)]
    units = [unit[some] for unit, some in zip(released.units, rows, strict=False)]
    distance = distance if distance is not None else Minkowski(1)
    return tuple(
        replace(
            _of_secret(released, names.index(name), asked, tolerance, distance, rng),
            attack_unit=units[0],
            control_unit=units[1] if len(units) > 1 else None,
            baseline_unit=units[0],
        )
        for name in secrets
    )


def _of_secret(
    released: Released,
    j: int,
    asked: Sequence[Table],
    tolerance: float,
    distance: Distance,
    rng: np.random.Generator,
) -> Hits:
    column, made = released.schema.columns[j], released.synthetic
    off = _allowed(released.real.values[:, j], tolerance) if column.is_number else 0.0
    truth = [side.values[:, j] for side in asked]
    guesses = guessed(made, j, asked, distance, rng)
    found = [agrees(guess, true, off) for guess, true in zip(guesses, truth, strict=True)]
    constant = most_often_right(made.values[:, j], off)
    within = f"off by at most {off:g}" if off else "equal"
    return Hits(
        "inference",
        column.name,
        found[0],
        found[1] if len(found) > 1 else None,
        agrees(np.full(len(truth[0]), constant), truth[0], off),
        f"{column.name} is guessed from all other columns, and told where the guess is {within}",
        notes=released.notes(),
    )


def guessed(
    made: Table, j: int, asked: Sequence[Table], distance: Distance, rng: np.random.Generator
) -> list[Floats]:
    """Return column j of the synthetic record nearest in the other columns to each record."""
    others = [i for i in range(len(made.schema.columns)) if i != j]
    space = space_of(columns_of(stacked(made, *asked), others), distance)
    ends = np.cumsum([len(made), *(len(side) for side in asked)])
    among, *rows = np.split(np.arange(len(space)), ends[:-1])
    # Of equally near records the first is taken: in a random order any is as likely.
    among = rng.permutation(among)
    return [made.values[nearest(space, some, among).row, j] for some in rows]


def agrees(guess: Floats, truth: Floats, off: float) -> Bools:
    """Return which guesses are right: off by at most so much, or missing where it is missing."""
    missing = np.isnan(guess) & np.isnan(truth)
    return np.asarray(missing | (np.abs(guess - truth) <= off))


def most_often_right(values: Floats, off: float) -> float:
    """Return the one of the values that agrees with most of them, the least of equals."""
    there = np.sort(values[~np.isnan(values)])
    if 2 * len(there) < len(values) or not len(there):
        return float("nan")
    first = np.searchsorted(there, there - off, side="left")
    last = np.searchsorted(there, there + off, side="right")
    return float(there[np.argmax(last - first)])


def _allowed(values: Floats, tolerance: float) -> float:
    there = values[~np.isnan(values)]
    if not len(there):
        return 0.0
    low, high = np.quantile(there, [0.05, 0.95])
    return float(tolerance * (high - low))
