"""The three risks of a released table, against Anonymeter: the same tables, as many attempts.

Adult: the real records, as many others to control by, and a table that BayNet made. Both sides
try one predicate a time of up to three or four columns, ten candidates to link, one secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from _duel import Duel, Side, table_alone

from privacygauge.datasets.public import adult
from privacygauge.tables.frames import read_table
from privacygauge.tables.generators.generator import BayNet
from privacygauge.tables.released.hits import Attempts, risk_beyond_control
from privacygauge.tables.released.inference import inference
from privacygauge.tables.released.linkability import Halves, linkability
from privacygauge.tables.released.singling_out import singling_out
from privacygauge.tables.released.tables import ReleasedTables, read_together

SECRET = "income"
ATTEMPTS = 500


def save(files: dict[str, str], n: int) -> None:
    """Write three tables of n records each."""
    frame = adult()
    frame = frame[~(frame == "?").any(axis=1)].reset_index(drop=True)
    rows = np.random.default_rng(0).permutation(len(frame))
    parts = {"real": frame.iloc[rows[:n]], "holdout": frame.iloc[rows[n : 2 * n]]}
    table = read_table(parts["real"], categorical=[SECRET])
    made = BayNet().generate(table, n, np.random.default_rng(1)).to_frame()
    for name, part in {**parts, "synthetic": made}.items():
        part.to_csv(files[name], index=False)


def work(real: str, synthetic: str, holdout: str) -> Callable[[], list[float]]:
    """Return a call that reads the tables as columns and measures the risks."""
    frames = [pd.read_csv(file) for file in (real, synthetic, holdout)]

    def measure() -> list[float]:
        released = read_together(*frames, categorical=[SECRET])
        return risks(released)

    return measure


def risks(released: ReleasedTables) -> list[float]:
    """Return what singling out, linkability and inference achieve beyond the control."""
    rng, names = np.random.default_rng(0), released.schema.names
    halves = Halves(tuple(names[::2]), tuple(names[1::2]))
    hits = [
        singling_out(released, rng, attempts=Attempts(ATTEMPTS, ATTEMPTS), most=3),
        linkability(released, rng, halves=halves, attempts=Attempts(ATTEMPTS, ATTEMPTS)),
        *inference(released, rng, secrets=[SECRET], attempts=Attempts(ATTEMPTS, ATTEMPTS)),
    ]
    return [risk_beyond_control(found, 0.95).value for found in hits]


def duels(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the lines of the common table."""
    for n in (1_000,) if quick else (500, 1_000, 5_000):
        files = {x: str(folder / f"{x}-{n}.csv") for x in ("real", "synthetic", "holdout")}
        yield Duel(
            "risks of a released table",
            n,
            "records of Adult a table, 500 attempts",
            Side("the three risks", __file__, "work", files),
            Side(
                "anonymeter",
                "peers/anonymeter.py",
                "risks",
                {**files, "attempts": ATTEMPTS, "secret": SECRET},
                "anonymeter",
            ),
            turns=2,
            note="the attempts themselves differ: see the page on correctness",
            prepare=partial(save, files, n),
        )


def main() -> None:
    """Print the table."""
    table_alone(__doc__.splitlines()[0], duels)


if __name__ == "__main__":
    main()
