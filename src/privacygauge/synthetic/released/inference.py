"""Inference: whether the synthetic table tells a secret value of a real record.

The third risk of the opinion 05/2014 of the Article 29 Working Party: "the possibility to deduce,
with significant probability, the value of an attribute from the values of a set of other
attributes".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from privacygauge.core.checks import Floats
from privacygauge.errors import InputError
from privacygauge.synthetic.released.attackers import agrees, guesses
from privacygauge.synthetic.released.attempts import ATTEMPTS, Attempts
from privacygauge.synthetic.released.hits import Hits
from privacygauge.synthetic.released.tables import Released, drawn_rows
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
    attempts: Attempts = ATTEMPTS,
    tolerance: float = TOLERANCE,
) -> tuple[Hits, ...]:
    """Return, for each secret column, how often its value is told from all other columns.

    The attacker is taught by the synthetic table alone: a forest, boosted trees, or a constant,
    whichever is right most often about synthetic records that it was not taught (`attackers`).

    Parameters
    ----------
    released : Released
    rng : numpy.random.Generator
    secrets : sequence of str, optional
        Columns; all in turn by default, 20 at random where there are more.
    attempts : Attempts, default 500
        Records for each secret, real and of the holdout; fewer where a table has fewer.
    tolerance : float, default 0.05
        A guess of a number is right that is off by at most this share of the range between the
        5% and the 95% quantile of the real numbers. A missing number is guessed right where it
        is guessed to be missing.

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
    if not 0 <= tolerance < 1:
        raise InputError(f"tolerance must be in [0, 1), got {tolerance}")
    if secrets is None:
        secrets = [names[j] for j in drawn_rows(len(names), MOST_SECRETS, rng)]
    require_columns(secrets, names, "secrets")
    sides = [side for side in (released.real, released.holdout) if side is not None]
    rows = [
        drawn_rows(len(side), most, rng)
        for side, most in zip(sides, (attempts.real, attempts.holdout), strict=False)
    ]
    asked = [side[some] for side, some in zip(sides, rows, strict=True)]
    units = [unit[some] for unit, some in zip(released.units, rows, strict=False)]
    return tuple(
        replace(
            _of_secret(released, names.index(name), asked, tolerance, rng),
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
    rng: np.random.Generator,
) -> Hits:
    column, made = released.schema.columns[j], released.synthetic
    off = _allowed(released.real.values[:, j], tolerance) if column.is_number else 0.0
    truth = [side.values[:, j] for side in asked]
    guess = guesses(made, j, asked, off, rng)
    found = [agrees(some, true, off) for some, true in zip(guess.values, truth, strict=True)]
    constant = most_often_right(made.values[:, j], off)
    within = f"off by at most {off:g}" if off else "equal"
    return Hits(
        "inference",
        column.name,
        found[0],
        found[1] if len(found) > 1 else None,
        agrees(np.full(len(truth[0]), constant), truth[0], off),
        f"{column.name} is guessed from all other columns by {guess.attacker}, taught by the "
        f"synthetic table, and told where the guess is {within}",
        notes=released.notes(),
    )


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
