"""What it costs to audit many records of a generator: one pool for all, against one for each.

BayNet on 1,000 records of Adult, the cheap attacks, one core. A record of its own pool needs as
many synthetic tables as a shared pool does for all records: 2,000 of the adversary's and 512 in
question. That is played for a few records and scaled, each costs the same. Of the shared pool the
tables are made once, and only the scoring grows with the records. Each game runs in a process of
its own, whose peak of memory it is.

    python bench/privacy_game.py               50 records share a pool, two have one each
    python bench/privacy_game.py --full        1,000 records share the pool: none of it is scaled
    python bench/privacy_game.py --agreement   do both games find the same records at risk?
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _measure import show

from privacygauge.core import seeds
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.datasets.public import adult
from privacygauge.evaluate.rates import rank_correlation
from privacygauge.runs.threads import one_thread
from privacygauge.tables.attacks.suite import suite_for_many
from privacygauge.tables.frames import read_table
from privacygauge.tables.generator_audit.audit import SELECTORS, SyntheticAudit, audit_synthetic
from privacygauge.tables.table import Table

RECORDS = 1_000
ALL = 1_000
"""Records of a table that --full audits, and that other numbers are scaled to."""


@dataclass(frozen=True)
class Cost:
    """What a game took."""

    records: int
    before: float
    """Seconds until the first synthetic table: vulnerability scores of all records, utility."""
    making: float
    """Seconds from there until all synthetic tables were made."""
    scoring: float
    """Seconds after that."""
    mebibytes: float
    """Most memory of the process."""
    mean: Estimate
    """The mean AUC of the headline's attack."""

    def scaled(self, records: int, pools: int) -> float:
        """Return the seconds for so many records with so many pools."""
        return self.before + self.making * pools + self.scoring * records / self.records


def people() -> Table:
    frame = adult()
    frame = frame[~(frame == "?").any(axis=1)].reset_index(drop=True)
    return read_table(frame, categorical=["income"])


def some(table: Table, n: int) -> np.ndarray:
    """Return n random records: of two numbers the smaller one's are among the larger one's."""
    return np.random.default_rng(0).permutation(len(table))[:n]


def audited(
    table: Table,
    game: str,
    targets: Mapping[str, np.ndarray],
    sizes: tuple[int, int],
    **options: object,
) -> SyntheticAudit:
    shadows, tests = sizes
    return audit_synthetic(
        "baynet",
        table,
        targets=targets,
        game=game,
        attacks=suite_for_many(),
        shadows=shadows,
        tests=tests,
        size=RECORDS,
        **options,
    )


def cost(game: str, n: int, sizes: tuple[int, int], n_jobs: int) -> Cost:
    """Return what a game with n random records takes."""
    table, steps = people(), []
    began = time.perf_counter()
    with one_thread():
        found = audited(
            table,
            game,
            {"random": some(table, n)},
            sizes,
            n_jobs=n_jobs,
            progress=lambda done, of: steps.append(time.perf_counter()),
        )
    ended = time.perf_counter()
    first, last = steps[0], steps[-1]
    return Cost(n, first - began, last - first, ended - last, peak(), found.headline.auc)


def peak() -> float:
    """Return the most MiB that this process held: Linux only."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) / 1024


def in_fresh_process(game: str, n: int, sizes: tuple[int, int], n_jobs: int = 1) -> Cost:
    """Return the cost in a process of its own: a peak is never given back."""
    with multiprocessing.get_context("spawn").Pool(1) as workers:
        return workers.apply(cost, (game, n, sizes, n_jobs))


def line(name: str, found: Cost) -> str:
    auc = found.mean
    return (
        f"  {name}, {found.records:,} records: {found.before:.1f} s before, {found.making:.1f} s "
        f"to make the tables, {found.scoring:.1f} s to score; peak {found.mebibytes:.0f} MiB; "
        f"mean AUC {auc.value:.3f} ({auc.low:.3f} to {auc.high:.3f})"
    )


def costs(options: argparse.Namespace) -> list[str]:
    """Return the lines about seconds and memory."""
    sizes = (options.shadows, options.tests)
    n = ALL if options.full else options.targets
    pool = in_fresh_process("shared", n, sizes, options.jobs)
    each = in_fresh_process("average", options.each, sizes)
    rows = [
        f"BayNet, Adult, {RECORDS:,} records a table, {sizes[0]:,} + {sizes[1]:,} tables a pool",
        line("shared game", pool) + (f"; {options.jobs} processes" if options.jobs > 1 else ""),
        line("average game", each),
    ]
    for records in dict.fromkeys((n, ALL)):
        own = each.scaled(records, records / each.records)
        ours = pool.scaled(records, 1)
        note = "" if records == n else ", both scaled"
        rows.append(
            f"  {records:,} records, a pool each (scaled) / one shared pool{note}: "
            f"{own / ours:.0f} ({own / 3600:.2f} h / {ours / 60:.1f} min)"
        )
    return rows


def agreement(options: argparse.Namespace) -> list[str]:
    """Return how alike the two games rank ten vulnerable and ten random records."""
    table, sizes = people(), (options.shadows, options.tests)
    chosen = {
        name: SELECTORS[name](table, options.asked, seeds.stream(0, "bench", name)).rows
        for name in ("distance", "random")
    }
    asked = np.unique(np.concatenate(list(chosen.values())))
    company = np.setdiff1d(some(table, options.targets), asked)[: options.targets - len(asked)]
    together = {**chosen, "company": company} if len(company) else chosen
    with one_thread():
        alone = audited(table, "average", chosen, sizes, n_jobs=options.jobs)
        pool = audited(table, "shared", together, sizes, n_jobs=options.jobs)
    places = np.searchsorted(pool.targets.rows, asked)
    rows = [
        f"{len(asked)} records (by distance and at random) in the average game, and in a pool that "
        f"{len(pool.targets)} share; {sizes[0]:,} + {sizes[1]:,} tables"
    ]
    for one, other in zip(alone.attacks, pool.attacks, strict=True):
        rows.append(f"  {one.title}: {compared(one.aucs, other.aucs[places])}")
    return rows


def compared(alone: np.ndarray, shared: np.ndarray) -> str:
    """Return how alike two games' AUCs of the same records are."""
    gaps = shared - alone
    error = gaps.std(ddof=1) / np.sqrt(len(gaps))
    found = rank_correlation(alone, shared)
    ranks = (
        found.reason
        if isinstance(found, Skipped)
        else f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"
    )
    return (
        f"rank correlation {ranks}; mean AUC {alone.mean():.3f} alone, {shared.mean():.3f} shared "
        f"(difference {gaps.mean():+.3f}, standard error {error:.3f}, deviation "
        f"{gaps.std(ddof=1):.3f})"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="1,000 records share the pool")
    parser.add_argument("--agreement", action="store_true", help="compare the games' AUCs instead")
    parser.add_argument("--targets", type=int, default=50, help="records that share a pool")
    parser.add_argument("--each", type=int, default=2, help="records with a pool of their own")
    parser.add_argument("--asked", type=int, default=10, help="of --agreement, a selection")
    parser.add_argument("--shadows", type=int, default=2_000)
    parser.add_argument("--tests", type=int, default=512)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    show(agreement(options) if options.agreement else costs(options))


if __name__ == "__main__":
    main()
