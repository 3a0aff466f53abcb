"""Selection of records to attack: at random, or by their distance from all others.

Each rule is called with a table, a number of records and a random generator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.units import foremost
from privacygauge.errors import InputError
from privacygauge.tables.distance import Cosine, Distance, space_of
from privacygauge.tables.nearest import mean_distances
from privacygauge.tables.released.tables import joined_schema, recode_table, stack_tables
from privacygauge.tables.table import Schema, Table, require_at_least

# Vulnerability: the distance of a record from all others (Meeus et al. 2023, section 4).

DIGITS = 12
"""Decimals to which scores are rounded, so that rounding errors do not break ties."""


@dataclass(frozen=True, eq=False, repr=False)
class Vulnerability:
    """Vulnerability scores of all records, and their order."""

    scores: Floats
    """(n,) Mean distance to the k nearest other records; higher is more at risk."""
    k: int
    """Number of neighbours."""
    distance: Distance
    """Distance between two records."""
    schema: Schema
    """Schema of the records."""
    unit: Ints | None = field(default=None, kw_only=True)
    """(n,) Person behind each record, whose other records are not neighbours; None if every record
    is of another person."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", checks.floats(self.scores, "scores"))

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def order(self) -> Ints:
        """(n,) Rows, the most vulnerable first; ties in the order of rows."""
        # Rounded, so that equal records rank in the order of rows whatever the arithmetic gives.
        return np.argsort(-np.round(self.scores, DIGITS), kind="stable")

    @property
    def ranks(self) -> Ints:
        """(n,) Ranks: 1 for the most vulnerable record, n for the least."""
        ranks = np.empty(len(self), dtype=np.int64)
        ranks[self.order] = np.arange(1, len(self) + 1)
        return ranks

    def top(self, n: int) -> Ints:
        """Return the rows of the n most vulnerable records, one per person.

        All of them if n is larger.
        """
        checks.at_least(1, top=n)
        return foremost(np.round(self.scores, DIGITS), self.unit, n)


def vulnerability_scores(
    table: Table,
    k: int = 5,
    distance: Distance | None = None,
    reference: Table | None = None,
    unit: Ints | None = None,
) -> Floats:
    """Return each record's mean distance to its k nearest other records.

    V_k(x_i) = (1/k) (d(x_i, x_i1) + ... + d(x_i, x_ik)), where x_i1, x_i2, ... are the other
    records, nearest first; copies of a record are other records at distance 0. The search is exact.

    Parameters
    ----------
    table : Table
        Table of n records.
    k : int
        Number of neighbours, in 1..n - 1.
    distance : Cosine or Minkowski, optional
        Distance between records; by default the cosine distance of equation 5.
    reference : Table, optional
        Table of the same schema. Numbers are scaled to [0, 1] over both tables, so that scores of
        parts of a table are comparable. Its records are not neighbours.
    unit : ndarray of int, shape (n,), optional
        Person behind each record: a person's other records are not neighbours.

    Returns
    -------
    ndarray, shape (n,)
        Scores, at least 0; at most 1 for the cosine distance. Higher is more vulnerable.

    Notes
    -----
    Meeus et al. 2023, section 4, definition 2 and equations 1 to 6.
    """
    # A person's own records are no neighbours, so the person with the most records limits k.
    others = len(table) - (1 if unit is None else int(np.bincount(unit).max()))
    if not 1 <= k <= others:
        whose = "" if unit is None else ", of other people for everybody"
        if others < 1:
            raise InputError(
                f"a record is compared with others{whose}: the table has {len(table)} record(s)"
            )
        raise InputError(
            f"k must be in 1..{others}, the number of other records{whose}, got {k}: choose "
            "fewer neighbours"
        )
    # Reference records take part in the scaling only.
    whole = table if reference is None else stack_tables(table, reference)
    space = space_of(whole, distance or Cosine())
    return mean_distances(space if whole is table else space[np.arange(len(table))], k, unit)


def vulnerability_of_records(
    table: Table,
    k: int = 5,
    distance: Distance | None = None,
    reference: Table | None = None,
    unit: Ints | None = None,
) -> Vulnerability:
    """Return the scores of `vulnerability_scores` with the options that they depend on.

    The reference may have values that the table's schema does not cover.
    """
    found = distance or Cosine()
    if reference is not None:
        schema = joined_schema(table.schema, reference.schema)
        table = recode_table(table, schema)
        reference = recode_table(reference, schema)
    scores = vulnerability_scores(table, k, distance=found, reference=reference, unit=unit)
    return Vulnerability(scores, k, found, table.schema, unit=unit)


@dataclass(frozen=True, eq=False)
class Selection:
    """Records selected from a table."""

    method: str
    """Name of the rule."""
    rows: Ints
    """(n,) Distinct rows; the most vulnerable first if the method orders them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", checks.integers(self.rows, "rows"))

    def __len__(self) -> int:
        return len(self.rows)


class Selector(Protocol):
    """Rule that selects records."""

    def __call__(self, table: Table, n: int, rng: np.random.Generator) -> Selection:
        """Return n records of a table."""


@dataclass(frozen=True)
class Random:
    """Records drawn uniformly at random."""

    def __call__(self, table: Table, n: int, rng: np.random.Generator) -> Selection:
        """Return n records, drawn uniformly."""
        _require(n, len(table), "records in the table")
        return Selection("random", rng.choice(len(table), n, replace=False))


@dataclass(frozen=True)
class RareValue:
    """Records with a rare category or a large number, drawn at random (Stadler et al. 2022).

    Meeus et al. (2023), section 5.2, leave open when a category is rare. Here it is rare if all
    categories at most as frequent hold together at most `tail` of the records, in analogy to
    numbers above the (1 - tail) quantile. A missing number counts as a category.
    """

    tail: float = 0.05
    """Share of records in the tails, in (0, 1)."""

    def __post_init__(self) -> None:
        checks.level(self.tail, "tail")

    def __call__(self, table: Table, n: int, rng: np.random.Generator) -> Selection:
        """Return n random records with such a value."""
        rows = np.flatnonzero(self.found(table))
        _require(n, len(rows), "records with a rare value; raise tail for more")
        return Selection("rare value", rng.choice(rows, n, replace=False))

    def found(self, table: Table) -> Bools:
        """Return (n,) True for a record with a rare category or a large number."""
        rare = np.zeros(len(table), dtype=np.bool_)
        for codes, size in zip(table.codes.T, table.sizes, strict=True):
            rare |= self._rare(codes, size)
        for numbers in table.numbers.T:
            missing = np.isnan(numbers)
            rare |= self._rare(missing.astype(np.int64), 2) & missing
            if not missing.all():
                # Comparisons with NaN are false: missing numbers are never large.
                rare |= numbers > np.quantile(numbers[~missing], 1 - self.tail)
        return rare

    def _rare(self, codes: Ints, size: int) -> Bools:
        counts = np.bincount(codes, minlength=size)
        # Records with this category or one at most as frequent: the lower tail of the column.
        as_rare = np.array([counts[counts <= count].sum() for count in counts])
        return np.asarray((as_rare <= self.tail * len(codes))[codes])


@dataclass(frozen=True)
class LogLikelihood:
    """The least likely records under independent columns (Houssiau et al. 2022).

    The likelihood of a record is the product of the shares of records that have its values, with
    numbers cut at percentiles (Meeus et al. 2023, section 5.2). A missing number has an interval of
    its own.
    """

    n_bins: int = 100
    """Quantile bins per number, at least 2; 100 for percentiles. Equal quantiles count once."""

    def __post_init__(self) -> None:
        require_at_least(self, n_bins=2)

    def __call__(self, table: Table, n: int, rng: np.random.Generator) -> Selection:
        """Return the n least likely records, ties in the order of rows; nothing is drawn."""
        _require(n, len(table), "records in the table")
        order = np.argsort(np.round(self.of_records(table), DIGITS), kind="stable")
        return Selection("log-likelihood", order[:n])

    def of_records(self, table: Table) -> Floats:
        """Return the log-likelihood of each record, (n,)."""
        columns = list(table.codes.T)
        for numbers in table.numbers.T:
            there = numbers[~np.isnan(numbers)]
            if not len(there):
                columns.append(np.zeros(len(numbers), dtype=np.int64))
                continue
            # Inner edges only, so that values beyond them share the outer bins.
            inner = np.linspace(0.0, 1.0, self.n_bins + 1)[1:-1]
            edges = np.unique(np.quantile(there, inner))
            codes = np.searchsorted(edges, numbers, side="left")
            columns.append(np.where(np.isnan(numbers), len(edges) + 1, codes))
        # Sum over the columns of the log share of records with the same value.
        total = np.zeros(len(table))
        for codes in columns:
            total += np.log(np.bincount(codes)[codes] / len(table))
        return total


@dataclass(frozen=True)
class Vulnerable:
    """The records farthest from their nearest neighbours (Meeus et al. 2023, section 4)."""

    k: int = 5
    """Number of neighbours, at least 1."""
    distance: Distance = field(default_factory=Cosine)
    """Distance between two records."""

    known: Callable[[], Vulnerability] | None = field(default=None, repr=False)
    """Function that returns the vulnerability of the records, where it is needed elsewhere too;
    called only if there are enough records."""

    def __call__(self, table: Table, n: int, rng: np.random.Generator) -> Selection:
        """Return the n most vulnerable records, one per person; nothing is drawn.

        Ties are in the order of rows.
        """
        _require(n, len(table), "records in the table")
        if self.known is None:
            found = vulnerability_of_records(table, self.k, self.distance)
        else:
            found = self.known()
        rows = found.top(n)
        _require(n, len(rows), "people in the table")
        return Selection("distance", rows)


def _require(n: int, there: int, what: str) -> None:
    if not 1 <= n <= there:
        raise InputError(f"n must be in 1..{there}, the number of {what}, got {n}")


TargetsAsked = int | str | ArrayLike | Mapping[str, ArrayLike]
"""Targets: a number, "all", rows, or groups of rows by name."""


SELECTORS: Mapping[str, Selector] = {
    "distance": Vulnerable(),
    "random": Random(),
    "rare": RareValue(),
    "likelihood": LogLikelihood(),
}
"""Selection rules by name."""


def written_targets(text: str) -> TargetsAsked:
    """Parse targets: ``10`` for a number of records, ``all``, or rows such as ``17,4``.

    Examples
    --------
    >>> written_targets("10"), written_targets("17,")
    (10, array([17]))
    """
    if text == "all":
        return text
    try:
        numbers = [int(part) for part in text.split(",") if part]
    except ValueError:
        numbers = []
    if not numbers:
        raise InputError(
            f"--targets must be a number, all, or rows such as 17,4 (one row: 17,), got {text!r}"
        )
    return np.array(numbers) if "," in text else numbers[0]


def select_targets(
    table: Table,
    targets: TargetsAsked,
    select: str | Sequence[str],
    seed: int,
    known: Callable[[], Vulnerability] | None = None,
) -> tuple[Selection, ...]:
    """Select the records to attack, by rule.

    `known` returns the vulnerability of all records, so that it is computed once if needed
    elsewhere.
    """
    if isinstance(targets, str):
        if targets != "all":
            raise InputError(f'targets must be a number, rows, or "all", got {targets!r}')
        return (Selection("all records", np.arange(len(table))),)
    if isinstance(targets, Mapping):
        if not targets:
            raise InputError("targets must name at least one group, got none")
        return tuple(
            Selection(name, checks.integers(rows, f"targets {name!r}"))
            for name, rows in targets.items()
        )
    if not isinstance(targets, int | np.integer):
        return (Selection("given", checks.integers(targets, "targets")),)
    names = (select,) if isinstance(select, str) else tuple(select)
    unknown = [name for name in names if name not in SELECTORS]
    if unknown or not names:
        raise InputError(
            f"select must name some of {checks.short_list(SELECTORS)}, got "
            f"{checks.short_list(names)}"
        )
    selectors: Mapping[str, Selector] = SELECTORS
    # Known scores are used again, since computing them takes long.
    if known is not None:
        selectors = {**SELECTORS, "distance": Vulnerable(known=known)}
    return tuple(
        selectors[name](table, int(targets), seeds.stream(seed, "select", name)) for name in names
    )
