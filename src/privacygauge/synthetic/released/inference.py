"""Inference: guesses of a secret value of a real record from the synthetic table.

The third risk of the opinion 05/2014 of the Article 29 Working Party: "the possibility to deduce,
with significant probability, the value of an attribute from the values of a set of other
attributes".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.errors import InputError
from privacygauge.synthetic.released.attackers import Encoded, agrees, best_guesses
from privacygauge.synthetic.released.hits import ATTEMPTS, Attempts, Hits
from privacygauge.synthetic.released.outlying import VARIANT, Outlying
from privacygauge.synthetic.released.tables import ReleasedTables, draw_rows
from privacygauge.synthetic.table import Table, require_columns

MOST_SECRETS = 20
"""Most secret columns, each tried in turn, where the caller names none."""
TOLERANCE = 0.05
"""Largest error of a right guess of a number, as a share of the range between the 5% and 95%
quantiles of the real numbers; a guess of "missing" is right for a missing number."""


def inference(
    released: ReleasedTables,
    rng: np.random.Generator,
    *,
    secrets: Sequence[str] | None = None,
    attempts: Attempts = ATTEMPTS,
    rows: Outlying | None = None,
    step: Callable[[], None] = lambda: None,
) -> tuple[Hits, ...]:
    """Return, per secret column, the successes of guessing it from all other columns.

    The attacker learns from the synthetic table alone: a forest, a pruned one, or a constant,
    whichever is most accurate on held-out synthetic records (`attackers`).

    Parameters
    ----------
    released : ReleasedTables
    rng : numpy.random.Generator
    secrets : sequence of str, optional
        Secret columns; by default each column in turn, or 20 random ones if there are more.
    attempts : Attempts, default 500
        Records per secret, real and holdout; fewer where a table has fewer.
    rows : Outlying, optional
        Records to attack as well, reported separately.
    step : callable
        Called after each secret.

    Returns
    -------
    tuple of Hits
        One per secret, and one for all secrets of `rows`. Attack: real records. Control: holdout
        records. Baseline: the real records again, all with one guess: the value that is right most
        often among the synthetic records.
    """
    names = released.schema.names
    if len(names) < 2:
        raise InputError("inference needs at least two columns, got one")
    if secrets is None:
        secrets = [names[j] for j in draw_rows(len(names), MOST_SECRETS, rng)]
    require_columns(secrets, names, "secrets")
    sides = [side for side in (released.real, released.holdout) if side is not None]
    often = zip(sides, (attempts.real, attempts.holdout), strict=False)
    groups = [tuple(draw_rows(len(side), most, rng) for side, most in often)]
    groups += [] if rows is None else [rows.sides]
    # All sides of the random records, then all sides of `rows`: `asked[len(sides):]` are the
    # latter.
    asked = [side[some] for group in groups for side, some in zip(sides, group, strict=True)]
    units = [released.people(group) for group in groups]
    columns = [names.index(name) for name in secrets]
    # Encoded once: every secret's attacker reuses the features.
    known = Encoded(released.synthetic, asked, columns, rng)
    told = []
    for j in columns:
        told.append(_infer_column(released, j, asked=asked, known=known, rng=rng))
        step()
    notes = released.notes
    last = len(sides)
    found = [
        _hits(name, [one], sides=slice(0, last), meaning=one.meaning, units=units[0], notes=notes)
        for name, one in zip(secrets, told, strict=True)
    ]
    if rows is not None:
        meaning = (
            f"each of {len(secrets)} columns of the {VARIANT} is guessed from all others, as above"
        )
        beside = _hits(
            VARIANT, told, sides=slice(last, None), meaning=meaning, units=units[1], notes=notes
        )
        found.append(replace(beside, outlying=True))
    return tuple(found)


@dataclass(frozen=True)
class _SecretGuesses:
    """Whether guesses of one secret column are right."""

    right: Sequence[Bools]
    """Masks of the right guesses, one per table asked about."""
    constant: Sequence[Bools]
    """Masks of the records for which the most frequent value is right."""
    meaning: str
    """Definition of an attempt."""


def _hits(
    variant: str,
    told: Sequence[_SecretGuesses],
    sides: slice,
    meaning: str,
    units: Sequence[Ints],
    notes: tuple[str, ...],
) -> Hits:
    """Return the results of some secrets on the real records, and on the holdout if present."""
    right = [np.concatenate(side) for side in zip(*(one.right[sides] for one in told), strict=True)]
    # The records repeat for each secret: attempts on one person are one unit.
    owners = [np.tile(unit, len(told)) for unit in units][: len(right)]
    return Hits(
        "inference",
        variant=variant,
        attack=right[0],
        control=right[1] if len(right) > 1 else None,
        baseline=np.concatenate([one.constant[sides][0] for one in told]),
        meaning=meaning,
        attack_unit=owners[0],
        control_unit=owners[1] if len(right) > 1 else None,
        baseline_unit=owners[0],
        notes=notes,
    )


def _infer_column(
    released: ReleasedTables,
    j: int,
    asked: Sequence[Table],
    known: Encoded,
    rng: np.random.Generator,
) -> _SecretGuesses:
    column = released.schema.columns[j]
    made = released.synthetic
    off = 0.0
    if column.is_number:
        real = released.real.values[:, j]
        there = real[~np.isnan(real)]
        if len(there):
            # Quantiles, so that a single outlier does not widen the tolerance.
            low, high = np.quantile(there, [0.05, 0.95])
            off = float(TOLERANCE * (high - low))
    truth = [side.values[:, j] for side in asked]
    guess = best_guesses(known, j, off, rng)
    constant = most_often_right(made.values[:, j], off)
    within = f"off by at most {off:g}" if off else "equal"
    return _SecretGuesses(
        [agrees(some, true, off) for some, true in zip(guess.values, truth, strict=True)],
        [agrees(np.full(len(true), constant), true, off) for true in truth],
        f"{column.name} is guessed from all other columns by {guess.attacker}, taught by the "
        f"synthetic table, and told where the guess is {within}",
    )


def most_often_right(values: Floats, off: float) -> float:
    """Return the value that agrees with most of them, the smallest in a tie."""
    there = np.sort(values[~np.isnan(values)])
    # Mostly missing: "missing" is the value that is right most often.
    if 2 * len(there) < len(values) or not len(there):
        return float("nan")
    first = np.searchsorted(there, there - off, side="left")
    last = np.searchsorted(there, there + off, side="right")
    return float(there[np.argmax(last - first)])
