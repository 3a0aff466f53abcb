"""The audit of a generator of synthetic tables: its leak about single records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from privacygauge.audits.generator.result import SyntheticResult
from privacygauge.audits.generator.says import report
from privacygauge.audits.generator.sections import plot_auc
from privacygauge.audits.running import Running
from privacygauge.core.units import owners
from privacygauge.evaluate.played import GameDescription
from privacygauge.report import direction
from privacygauge.report.values import Report
from privacygauge.runs.execute import Progress
from privacygauge.synthetic.attacks.attack import TableAttack
from privacygauge.synthetic.frames import read_table
from privacygauge.synthetic.games.audited import GeneratorOptions, arrange_game
from privacygauge.synthetic.games.releases import Making
from privacygauge.synthetic.games.setting import HALF_WIDTH, enough_tests
from privacygauge.synthetic.games.worlds import OnWorlds
from privacygauge.synthetic.generators.foreign import require_sendable
from privacygauge.synthetic.generators.generator import PrivBayes
from privacygauge.synthetic.generators.named import as_generator
from privacygauge.synthetic.selection import SELECTORS, TargetsAsked, select_targets
from privacygauge.synthetic.table import Schema, column_advice, require_moderate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SELECTORS", "TargetsAsked", "audit_synthetic", "select_targets"]

COST = "cost, as foreseen"
"""Key of the cost estimate, in a report and in a run."""


class SyntheticAudit(SyntheticResult):
    """Findings of an audit of a generator, with its report, tables and plots."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        return report(self)

    def plot_auc(self, ax: Axes | None = None) -> Axes:
        """Plot the AUC of every target, by the attack of the verdict."""
        return plot_auc(self, ax)


def audit_synthetic(
    generator: object,
    data: object,
    *,
    targets: TargetsAsked = 10,
    select: str | Sequence[str] = "distance",
    game: str | None = None,
    knowledge: str | None = None,
    attacks: Sequence[TableAttack | OnWorlds] | None = None,
    shadows: int = 1000,
    tests: int | None = None,
    half_width: float = HALF_WIDTH,
    size: int | None = None,
    made: int | None = None,
    schema: Schema | None = None,
    continuous: Sequence[str] = (),
    categorical: Sequence[str] = (),
    drop: Sequence[str] = (),
    label: str | None = None,
    ids: ArrayLike | None = None,
    unit: ArrayLike | None = None,
    show: Sequence[str] = (),
    before: Callable[[Making], str] | None = None,
    run: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    scoring: Progress | None = None,
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_synthetic",
    provenance: Mapping[str, str] | None = None,
    invocation: Mapping[str, Any] | None = None,
) -> SyntheticAudit:
    """Play the privacy game against a generator, record by record.

    Synthetic tables are made from data sets with and without a record. An adversary that trained on
    such tables of its own tells them apart as well as it can.

    Parameters
    ----------
    generator : Generator, str, object or callable
        The generator to audit: a name (``baynet``, ``privbayes:epsilon=1``, ``synthpop``, ...), an
        object with ``fit(frame)`` and ``sample(n)``, a function ``(frame, n, seed) -> frame``,
        or a `Command`.
    data : Table, pandas or polars frame, str or Path
        Records like those that the generator will learn from; a file is CSV or Parquet.
    targets : int, "all", array_like of int, or mapping of str to array_like
        The records to attack: a number per selection, all records, rows, or named groups of rows.
    select : {"distance", "random", "rare", "likelihood"} or a sequence of them
        Selection of that number of records; default: by vulnerability score.
    game : {"average", "specific", "shared"}, optional
        Game; default: average for up to 50 targets, shared for more.
    knowledge : {"auxiliary", "exact", "synthetic"}, optional
        Knowledge of the adversary; see `game_named`.
    attacks : sequence of TableAttack or OnWorlds, optional
        Default: the full suite for up to 50 targets, a cheap one for more. `OnWorlds` plays LiRA,
        RMIA or another attack on worlds with a record's signals in the tables.
    shadows : int
        Synthetic tables that the adversary makes, per target or in a pool shared by all.
    tests : int, optional
        Synthetic tables that are judged; default: as many as `half_width` needs.
    half_width : float
        Wanted half-width of the interval of an AUC near 1/2.
    size : int, optional
        Records that a generator learns from; default: 1,000, or a sixth of a small table.
    made : int, optional
        Records of a synthetic table; default: `size`.
    schema, continuous, categorical, drop
        As in `read_table`.
    label : str, optional
        Column to predict in the measurement of utility; default: several in turn.
    ids : array_like, shape (N,), optional
        Names of the records in the report.
    unit : array_like, shape (N,), optional
        The person, or the household, behind each record; default: equal ids. A data set has all
        records of a target's person, or none.
    show : sequence of str
        Columns to print next to the targets; default: none.
    before : callable, optional
        Called once all arguments are checked, before any table is made; the returned text on the
        cost is kept in the run and in the report.
    run : str or Path, optional
        Folder that keeps the tables: after an interruption, the same call resumes there.
    n_jobs, seed, level, command, provenance, invocation
        As in `audit_model`.
    progress, scoring : callable, optional
        Called with the tables made, and with the targets scored, and their totals.

    Returns
    -------
    SyntheticAudit

    Raises
    ------
    InputError
        If an argument is invalid: the problem and the way out, in one line.

    Notes
    -----
    Meeus et al. (2023), sections 2.3, 4 and 5.
    """
    running = Running(command=command, seed=seed, level=level, provenance=provenance, run=run)
    made_by = as_generator(generator)
    table = read_table(
        data, schema=schema, continuous=continuous, categorical=categorical, drop=drop
    )
    require_moderate(table.schema)
    asked = GeneratorOptions(
        targets=targets,
        select=select,
        game=game,
        knowledge=knowledge,
        attacks=attacks,
        shadows=shadows,
        tests=tests,
        half_width=half_width,
        size=size,
        made=made,
    )
    owner = owners(unit, ids, len(table))
    arrangement = arrange_game(
        made_by, table, asked, owner=owner, ids=ids, show=show, seed=seed, level=level
    )
    making = arrangement.making
    # Before hours of work: worker processes would fail on a generator that cannot be sent.
    if n_jobs not in (None, 1):
        require_sendable(made_by, made_by.name)
    # Kept in the run, so that a resumed run reports the same cost.
    cost = {} if before is None or not (said := before(making)) else {COST: said}
    found, skipped, clipped = arrangement.played(
        run,
        label,
        invocation=None if invocation is None else {**invocation, **cost},
        n_jobs=n_jobs,
        progress=progress,
        scoring=scoring,
    )
    told = (*column_advice(table), *_warnings(making, schema, level), *clipped_numbers(*clipped))
    warnings = (*told, *direction.warnings(found.inverted))
    origin = running.origin("pandas", skipped=skipped, warnings=warnings, about=cost)
    return SyntheticAudit(**vars(found), origin=origin, game=_description(making))


def _description(making: Making) -> GameDescription:
    """Return a description of the game, in words."""
    game = making.game
    sizes = making.setting.sizes
    data = {
        "average": "a fresh data set for every table, with the record or another in its place",
        "specific": "one data set for each record, with it or with another in its place",
        "shared": "data sets that each record is in or out of by a coin of its own",
    }
    knows = {
        "auxiliary": "other records of the same source",
        "exact": "all other records of the data set",
        "synthetic": "nothing but the released table",
    }
    n_in = sizes.tests // 2
    return GameDescription(
        f"{game.name} game",
        question="Was this record among those that the synthetic table was made from?",
        adversary=(
            f"Sees the synthetic table and the record, knows how the generator works, has "
            f"{knows[game.knowledge]}, and makes {sizes.shadows:,} synthetic tables itself"
        ),
        secret=f"Drawn: {data[game.name]}",
        thresholds="On the adversary's own synthetic tables",
        n_in=n_in,
        n_out=sizes.tests - n_in,
    )


def _warnings(making: Making, schema: Schema | None, level: float) -> list[str]:
    """Return warnings about easily misread results; `schema` is None unless one was given."""
    setting = making.setting
    generator = making.generator
    sizes = setting.sizes
    told = []
    if sizes.tests < enough_tests(0.1, level):
        told.append(
            f"{sizes.tests} test tables a record give an AUC an interval wider than 0.1 on either "
            "side: ask for more (--tests)"
        )
    pool = min(len(pool) for pool in setting.pools)
    if making.game.knowledge != "exact" and pool < 2 * sizes.records:
        told.append(
            f"data sets of {sizes.records:,} records are drawn from pools of {pool:,}: they are "
            "much alike, so the numbers hold for data sets like these; give a larger table or "
            "learn from fewer records (--size)"
        )
    if isinstance(generator, PrivBayes) and schema is None:
        told.append(
            "the schema (ranges and categories) was read from the data: PrivBayes's epsilon holds "
            "for a schema that is public; give one (--schema)"
        )
    return told


def clipped_numbers(n: int, total: int) -> tuple[str, ...]:
    """Return a warning if the generator drew numbers beyond the schema's ranges."""
    if not n:
        return ()
    return (
        f"the generator drew {n:,} of {total:,} numbers ({n / total:.2g}) beyond the range of "
        "their columns: each was replaced by the nearer end of the range; if such numbers may "
        "occur, widen the range in the schema (--schema)",
    )
