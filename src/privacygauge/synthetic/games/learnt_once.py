"""The table for the utility, kept with a run, so that a report needs no generator."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from privacygauge.core import seeds
from privacygauge.core.estimate import Skipped
from privacygauge.runs.plan import ArraySpec, Plan
from privacygauge.runs.reach import code_of
from privacygauge.runs.store import open_run
from privacygauge.synthetic.games.releases import Making, release_settings
from privacygauge.synthetic.table import Table
from privacygauge.synthetic.utility import Utility, utility

# The state of PCG64 in 64-bit words: two numbers of 128 bits, a flag and a buffered number.
_WORDS = 6
_MASK = 2**64 - 1


def utility_of(making: Making, label: str | None, run: str) -> Utility | Skipped:
    """Return the utility of one synthetic table, learnt from records that are not targets.

    The table is kept in the folder `run`.
    """
    setting = making.setting
    rng = seeds.stream(setting.seed, "utility")
    known, held = setting.pools
    records = setting.sizes.records
    if min(len(known), len(held)) < max(records, 100):
        return Skipped("utility", "needs at least 100 records to learn from and 100 others")
    learnt = setting.table[rng.choice(known, records, replace=False)]
    others = setting.table[rng.choice(held, min(len(held), records), replace=False)]
    table = learnt_once(making, learnt, rng, run)
    return utility(learnt, table, others, rng=rng, label=label)


def learnt_once(making: Making, learnt: Table, rng: np.random.Generator, run: str | Path) -> Table:
    """Return a synthetic table of some records; made once, and read from `run` afterwards.

    Parameters
    ----------
    making : Making
        Game, setting and generator.
    learnt : Table
        Training records, drawn from the setting's seed.
    rng : numpy.random.Generator
        Must be PCG64, numpy's default. It goes on where the generator left it, in either case.
    run : str or Path
        Folder of the run, or a URL that fsspec knows.

    Raises
    ------
    InputError
        If the folder holds another run, or the generator returns something else than it should.
    """
    n = making.setting.sizes.n_made
    schema = learnt.schema
    plan = Plan(
        name="synthetic_utility",
        seed=making.setting.seed,
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
        values = {"values": table.values[None], "state": _words(rng)[None]}
        opened.write(plan.tasks[0], values)
        return table
    _restore(rng, np.asarray(opened.array("state")[0]))
    return Table(schema, np.asarray(opened.array("values")[0]))


def _words(rng: np.random.Generator) -> np.ndarray:
    found = rng.bit_generator.state
    long = [found["state"][name] for name in ("state", "inc")]
    halves = [half for value in long for half in (value & _MASK, value >> 64)]
    return np.array([*halves, found["has_uint32"], found["uinteger"]], np.uint64)


def _restore(rng: np.random.Generator, words: np.ndarray) -> None:
    low, high, inc_low, inc_high, has, last = map(int, words)
    rng.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": high << 64 | low, "inc": inc_high << 64 | inc_low},
        "has_uint32": has,
        "uinteger": last,
    }
