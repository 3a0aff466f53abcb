"""Synthetic tables of a game, as a run on disk that can be resumed."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import seeds
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.versions import own_version, versions
from privacygauge.errors import InputError
from privacygauge.runs.code_fingerprint import code_of
from privacygauge.runs.execute import Progress, complete
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.store import Run, open_run
from privacygauge.tables.attacks.attack import Tables
from privacygauge.tables.games.games import Game, Setting
from privacygauge.tables.generators.generator import Generator
from privacygauge.tables.table import Schema, Table
from privacygauge.tables.utility import Utility, utility

TASKS = 128
"""Approximate number of tasks of a run, so that an interruption loses little."""

A_TASK = (4, 64)
"""Fewest and most tables made and written together."""

TRIED_ONCE = 5.0
"""Seconds from which a table is not timed a second time."""

CLIPPED = "clipped"
"""Name of the array that holds `Table.clipped` of every table."""


@dataclass(frozen=True, eq=False)
class Making:
    """Making of the synthetic tables of a task; sent to workers."""

    game: Game
    """Rule that decides which records each table is made from."""
    setting: Setting
    """Table, targets and sizes of the game."""
    generator: Generator
    """Generator of the tables."""

    def table(self, number: int) -> Table:
        """Return the synthetic table with this number."""
        learnt = self.game.training_set(self.setting, number, self.table)
        roles = self.game.roles(self.setting, number)
        # By role: a table that two games share gets the same draws in both.
        rng = seeds.stream(self.setting.seed, *roles, "generator")
        n = self.setting.sizes.n_made
        name = self.generator.name
        made = self.generator.generate(learnt, n, rng)
        # A user's generator may return anything.
        if not isinstance(made, Table):
            raise InputError(f"the generator {name} must return a Table, got {type(made).__name__}")
        if made.schema != learnt.schema:
            raise InputError(f"the generator {name} must return a table of the schema it was given")
        if len(made) != n:
            raise InputError(f"the generator {name} must return {n:,} records, got {len(made):,}")
        return made

    def seconds_a_table(self) -> float:
        """Return the seconds per table on one core: the shorter of two trials if they are short.

        The first trial also loads the generator's libraries. Table 1 represents all tables: where
        the adversary has only the released table, its training set requires making the released one
        first.
        """
        began = time.perf_counter()
        self.table(1)
        first = time.perf_counter() - began
        if first > TRIED_ONCE:
            return first
        self.table(1)
        return min(first, time.perf_counter() - began - first)

    def __call__(self, task: Task) -> Mapping[str, NDArray[Any]]:
        """Return the tables of a task, with codes and numbers in separate arrays."""
        made = [self.table(number) for number in range(task.start, task.stop)]
        clipped = np.array([table.clipped for table in made])
        stored = Storage(self.setting.table.schema)
        return {**stored.split(np.stack([table.values for table in made])), CLIPPED: clipped}


@dataclass(frozen=True)
class Storage:
    """Storage format of synthetic tables in a run: as few bytes per value as the schema allows."""

    schema: Schema
    """Schema of the tables."""

    number: np.dtype[Any] = field(init=False, compare=False)
    """Type of the numbers: single precision if it holds every whole number exactly."""
    parts: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = field(init=False, compare=False)
    """Columns and type of each array; an array without columns is left out."""

    def __post_init__(self) -> None:
        columns = self.schema.columns
        whole = [c for c in columns if c.kind == "integer"]
        ends = [abs(end) for c in whole for end in (c.low, c.high) if end is not None]
        number = np.dtype("float32" if max(ends, default=0.0) <= 2**24 else "float64")
        most = max((column.n_codes for column in columns), default=0)
        parts = {
            "codes": (self.schema.categorical, np.min_scalar_type(most)),
            "numbers": (self.schema.numbers, number),
        }
        object.__setattr__(self, "number", number)
        object.__setattr__(self, "parts", {name: part for name, part in parts.items() if part[0]})

    def rounded(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return values rounded as a run stores them, so that copies stay equal."""
        return values.astype(self.number).astype(np.float64)

    def arrays(self, n_tables: int, n_rows: int) -> dict[str, ArraySpec]:
        """Return the specifications of the arrays that a run stores."""
        dims = {"codes": "category", "numbers": "number"}
        return {
            name: ArraySpec(
                ("table", "record", dims[name]), (n_tables, n_rows, len(at)), dtype.name
            )
            for name, (at, dtype) in self.parts.items()
        }

    def split(self, tables: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
        """Return the arrays to store for tables (k, n, F)."""
        return {name: tables[:, :, at].astype(dtype) for name, (at, dtype) in self.parts.items()}

    def joined(self, arrays: Mapping[str, NDArray[Any]]) -> Tables:
        """Return tables (k, n, F) from their stored arrays."""
        shape = next(iter(arrays.values())).shape[:2]
        tables = np.empty((*shape, len(self.schema.columns)), self.number)
        for name, (at, _) in self.parts.items():
            tables[:, :, at] = arrays[name]
        return tables


@dataclass(frozen=True)
class Releases:
    """Synthetic tables of a finished run, read from disk on demand."""

    run: Run
    """Run that holds them."""
    schema: Schema
    """Schema of the tables."""

    def tables(self, numbers: slice) -> Tables:
        """Return the tables with these numbers, (k, n, F)."""
        stored = Storage(self.schema)
        return stored.joined({name: self.run.array(name)[numbers] for name in stored.parts})

    @property
    def clipped_numbers(self) -> tuple[int, int]:
        """Numbers drawn beyond the schema's ranges, and all numbers drawn; (0, 0) if none were."""
        n = int(self.run.array(CLIPPED)[:].sum())
        return n, math.prod(self.run.array("numbers").shape) if n else 0


def make_releases(
    making: Making,
    run: str | Path,
    *,
    invocation: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Releases:
    """Return all synthetic tables of a game; make only those not yet in `run`.

    Parameters
    ----------
    making : Making
        Game, setting and generator.
    run : str or Path
        Folder of the run, or a URL known to fsspec.
    invocation, n_jobs, progress
        As in `complete` and `open_run`.

    Raises
    ------
    InputError
        If the game needs more records, the folder holds another run, or the generator returns
        something other than requested.
    """
    opened = open_releases(making, run, invocation)
    complete(opened, making, n_jobs=n_jobs, progress=progress)
    return Releases(opened, making.setting.table.schema)


def open_releases(making: Making, run: str | Path, invocation: Mapping[str, Any] | None) -> Run:
    """Open the run of all synthetic tables of a game; see `make_releases`."""
    game = making.game
    setting = making.setting
    game.check(setting)
    n_tables = game.n_tables(setting)
    plan = Plan(
        name="synthetic",
        seed=setting.seed,
        unit="table",
        n_units=n_tables,
        # Without shadows there are few fits, and one may take an hour: each is its own task.
        units_a_task=int(np.clip(-(-n_tables // TASKS), *A_TASK)) if setting.sizes.shadows else 1,
        arrays={
            **Storage(setting.table.schema).arrays(n_tables, setting.sizes.n_made),
            CLIPPED: ArraySpec(("table",), (n_tables,), "int64"),
        },
        settings=release_settings(making),
        code=code_of(game, making.generator),
    )
    return open_run(run, plan, invocation=invocation)


def release_settings(making: Making) -> dict[str, Any]:
    """Return all settings besides the seed that affect synthetic tables, as JSON values."""
    setting = making.setting
    described = making.generator.describe()
    return {
        "generator": making.generator.name,
        **{f"generator {name}": value for name, value in described.items()},
        **making.game.describe(),
        **{name: getattr(setting.sizes, name) for name in ("shadows", "tests", "records")},
        "made": setting.sizes.n_made,
        "auxiliary": setting.sizes.auxiliary,
        "held": setting.sizes.held,
        "targets": setting.targets.tolist(),
        "data": table_digest(setting.table),
        **({} if setting.unit is None else {"units": digest_of_units(setting.unit)}),
        "versions": {"privacygauge": own_version(), **versions()},
    }


def table_digest(table: Table) -> str:
    """Return a SHA-256 digest of a table's values and its schema."""
    digest = hashlib.sha256(table.schema.to_json().encode())
    # The shape too: the same bytes may be rows of another length.
    digest.update(f"{table.values.shape}".encode())
    digest.update(np.ascontiguousarray(table.values).data)
    return digest.hexdigest()


def digest_of_units(unit: Ints) -> str:
    """Return a SHA-256 digest of the people behind the records."""
    return hashlib.sha256(np.ascontiguousarray(unit).data).hexdigest()


# The table for the utility, kept with a run, so that a report does not need the generator.

# State of PCG64 in 64-bit words: two numbers of 128 bits, a flag and a buffered number.
_WORDS = 6
_MASK = 2**64 - 1


def utility_of(making: Making, label: str | None, run: str) -> Utility | Skipped:
    """Return the utility of one synthetic table, trained on records of the adversary's pool.

    The table is made once, and read from the folder `run` afterwards.

    Raises
    ------
    InputError
        If the folder holds another run, or the generator returns something other than requested.
    """
    setting = making.setting
    rng = seeds.stream(setting.seed, "utility")
    known, held = setting.pools
    records = setting.sizes.records
    if min(len(known), len(held)) < max(records, 100):
        return Skipped("utility", "needs at least 100 records to learn from and 100 others")
    learnt = setting.table[rng.choice(known, records, replace=False)]
    others = setting.table[rng.choice(held, min(len(held), records), replace=False)]
    n = setting.sizes.n_made
    schema = learnt.schema
    plan = Plan(
        name="synthetic_utility",
        seed=setting.seed,
        unit="table",
        n_units=1,
        units_a_task=1,
        arrays={
            "values": ArraySpec(
                ("table", "record", "column"), (1, n, len(schema.columns)), "float64"
            ),
            "state": ArraySpec(("table", "word"), (1, _WORDS), "uint64"),
        },
        settings=release_settings(making),
        code=code_of(making.game, making.generator),
    )
    opened = open_run(run, plan)
    if opened.missing():
        table = making.generator.generate(learnt, n, rng)
        # numpy shows the state as Python integers of 128 bits: low word first.
        drawn = rng.bit_generator.state
        long = [drawn["state"][name] for name in ("state", "inc")]
        halves = [half for value in long for half in (value & _MASK, value >> 64)]
        words = np.array([[*halves, drawn["has_uint32"], drawn["uinteger"]]], np.uint64)
        opened.write(plan.tasks[0], {"values": table.values[None], "state": words})
    else:
        table = Table(schema, np.asarray(opened.array("values")[0]))
        # As if the generator had just drawn from it: the next draws are the same.
        low, high, inc_low, inc_high, has, last = map(int, np.asarray(opened.array("state")[0]))
        rng.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": high << 64 | low, "inc": inc_high << 64 | inc_low},
            "has_uint32": has,
            "uinteger": last,
        }
    return utility(learnt, table, others, rng=rng, label=label)
