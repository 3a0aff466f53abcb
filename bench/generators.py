"""How long generators take to learn 1,000 records of Adult and to draw 1,000: goals 15, 15, 80 ms.

One core. Adult's 15 columns as a schema of all its complete records.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from _measure import timed

from leakscope.datasets.adult import CONTINUOUS, adult
from leakscope.runs.threads import one_thread
from leakscope.synthetic.generators.generator import BayNet, Generator, PrivBayes, SynthPop
from leakscope.synthetic.schema import Column, Schema
from leakscope.synthetic.table import Table

REPEATS = 21
GOALS: tuple[tuple[Generator, float], ...] = (
    (BayNet(), 15.0),
    (PrivBayes(1.0), 15.0),
    (SynthPop(), 80.0),
)


def people() -> Table:
    frame = adult()
    frame = frame[~(frame == "?").any(axis=1)].reset_index(drop=True)
    columns, values = [], []
    for name in frame.columns:
        found = frame[name].to_numpy()
        if name in CONTINUOUS:
            columns.append(Column(name, "integer", float(found.min()), float(found.max())))
            values.append(found.astype(float))
        else:
            texts, codes = np.unique(found.astype(str), return_inverse=True)
            columns.append(Column(name, "categorical", categories=tuple(texts.tolist())))
            values.append(codes.astype(float))
    rows = np.random.default_rng(0).choice(len(frame), 1_000, replace=False)
    return Table(Schema(tuple(columns)), np.column_stack(values)[rows])


def main() -> None:
    table = people()
    with one_thread():
        for generator, goal in GOALS:
            rng = np.random.default_rng(0)
            made = timed(partial(generator.generate, table, len(table), rng), REPEATS)
            spent = 1e3 * made.seconds
            low, middle, high = np.quantile(spent, (0.0, 0.5, 1.0))
            print(
                f"{generator.name}: {middle:.1f} ms ({low:.1f} to {high:.1f}, {REPEATS} times; "
                f"goal {goal:.0f} ms)"
            )


if __name__ == "__main__":
    main()
