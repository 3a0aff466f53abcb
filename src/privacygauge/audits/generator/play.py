"""The audit of a generator of synthetic tables: what it gives away about single records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.audits.generator.facts import (
    clipped_numbers,
    description,
    utility_of,
    warnings_of,
)
from privacygauge.audits.generator.found import SyntheticAudit
from privacygauge.audits.running import Running
from privacygauge.core import checks
from privacygauge.core.estimate import Skipped
from privacygauge.core.units import owners
from privacygauge.evaluate.by_target import AttackEvaluation
from privacygauge.report import direction
from privacygauge.runs.execute import Progress
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.synthetic.attacks.attack import TableAttack
from privacygauge.synthetic.attacks.suite import suite_for_few, suite_for_many
from privacygauge.synthetic.frames import read_table
from privacygauge.synthetic.games.games import game_named, setting_of
from privacygauge.synthetic.games.judging import (
    evaluated,
    foreseen,
    group_of,
    headline_of,
    targets_of,
)
from privacygauge.synthetic.games.releases import Making, make_releases, open_releases
from privacygauge.synthetic.games.scores import score_releases, scores_in
from privacygauge.synthetic.games.setting import HALF_WIDTH, enough_tests
from privacygauge.synthetic.games.worlds import OnWorlds, parted
from privacygauge.synthetic.generators.foreign import require_sendable
from privacygauge.synthetic.generators.named import as_generator
from privacygauge.synthetic.schema import Schema
from privacygauge.synthetic.selection import SELECTORS, TargetsAsked, select_targets
from privacygauge.synthetic.table import advice, require_moderate
from privacygauge.synthetic.vulnerability import vulnerability

__all__ = ["SELECTORS", "TargetsAsked", "audit_synthetic", "select_targets"]

MANY = 50
"""For more targets than these one pool of tables and cheaper attacks are the default."""


COST = "cost, as foreseen"
"""Names what was said of it before, in a report and in a run."""


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

    Synthetic tables are made from data sets with and without a record; an adversary that made
    such tables itself tells them apart as well as it can.

    Parameters
    ----------
    generator : Generator, str, object or callable
        What is audited: a name (``baynet``, ``privbayes:epsilon=1``, ``synthpop``, ...), an
        object with ``fit(frame)`` and ``sample(n)``, a function ``(frame, n, seed) -> frame``,
        or a `Command`.
    data : Table, pandas or polars frame, str or Path
        Records like those that the generator will learn from. A file: CSV or Parquet.
    targets : int, "all", array_like of int, or mapping of str to array_like
        The records to attack: so many of each selection, all records, these rows, or groups of
        rows by name.
    select : {"distance", "random", "rare", "likelihood"} or a sequence of them
        How that many are chosen; default: by their vulnerability score.
    game : {"average", "specific", "shared"}, optional
        Average for up to 50 targets, shared for more.
    knowledge : {"auxiliary", "exact", "synthetic"}, optional
        What the adversary knows; see `game_named`.
    attacks : sequence of TableAttack or OnWorlds, optional
        For up to 50 targets the full suite, for more the one that is cheap. `OnWorlds` plays LiRA,
        RMIA or another attack on worlds with a record's signals in the tables.
    shadows : int
        Synthetic tables that the adversary makes: for each target, or for all in a shared pool.
    tests : int, optional
        Synthetic tables that it is asked about; as many as `half_width` needs.
    half_width : float
        Half of the width that the interval of an AUC near 1/2 shall have.
    size : int, optional
        Records that a generator learns from: 1,000, or a sixth of a small table.
    made : int, optional
        Records of a synthetic table; as many as it was learnt from.
    schema, continuous, categorical, drop
        As in `read_table`.
    label : str, optional
        The column to predict where the use of a synthetic table is measured.
    ids : array_like, shape (N,), optional
        Names of the records in the report.
    unit : array_like, shape (N,), optional
        The person, or the household, behind each record; default: equal ids. All of a target's
        person's records are in a table, or none is.
    show : sequence of str
        Columns to print beside the targets; none otherwise.
    before : callable, optional
        Called once all is checked, before any table is made: what it says of the cost is kept with
        the run and in the report.
    run : str or Path, optional
        Folder that keeps what was made: after an interruption the same call goes on there.
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
        One line: what is wrong, and the way out.

    Notes
    -----
    Meeus et al. (2023), sections 2.3, 4 and 5.
    """
    running = Running(command, seed, level, provenance, run)
    made_by = as_generator(generator)
    table = read_table(
        data, schema=schema, continuous=continuous, categorical=categorical, drop=drop
    )
    require_moderate(table.schema)
    # Needed at the end, and where the most vulnerable records are the targets: found once.
    owner = owners(unit, ids, len(table))
    known = cache(partial(vulnerability, table, unit=owner))
    selections = select_targets(table, targets, select, seed, known)
    rows = np.unique(np.concatenate([s.rows for s in selections]))
    chosen = game_named(game or ("average" if len(rows) <= MANY else "shared"), knowledge)
    n_tests = enough_tests(half_width, level) if tests is None else tests
    setting = setting_of(table, rows, chosen, (shadows, n_tests, size, made), seed, owner)
    chosen.check(setting)
    named = np.arange(len(table)) if ids is None else checks.vector(ids, "ids", length=len(table))
    about = targets_of(table, known(), setting.targets, named, show)
    few = len(rows) <= MANY
    players, on_worlds = parted(attacks or (suite_for_few() if few else suite_for_many()))
    making = Making(chosen, setting, made_by)
    if n_jobs not in (None, 1):
        require_sendable(made_by, made_by.name)
    cost = {} if before is None or not (said := before(making)) else {COST: said}
    if invocation is not None:
        invocation = {**invocation, **cost}
    with kept_or_scratch(run) as folder:
        open_releases(chosen, setting, made_by, folder, invocation=invocation)
        use = utility_of(making, label, f"{folder}/utility")
        made_of = (chosen, setting, made_by, folder)
        releases = make_releases(*made_of, invocation=invocation, n_jobs=n_jobs, progress=progress)
        place = scores_in(folder, players)
        scores = score_releases(making, releases, players, place, n_jobs=n_jobs, progress=scoring)
        beyond = clipped_numbers(releases)
        played, skipped = evaluated(scores, level, on_worlds)
    headline = headline_of(played)
    origin = running.origin(
        "pandas",
        skipped=(*skipped, *([use] if isinstance(use, Skipped) else [])),
        warnings=(*advice(table), *warnings_of(making, schema, level), *beyond, *_inverted(played)),
        about=cost,
    )
    return SyntheticAudit(
        origin,
        description(chosen, setting),
        generator=made_by.name,
        settings=made_by.describe(),
        sizes=setting.sizes,
        n_records=len(table),
        n_tables=chosen.n_tables(setting),
        targets=about,
        groups=tuple(group_of(selection, setting, played, level) for selection in selections),
        attacks=played,
        headline=headline,
        foreseen=foreseen(about, played[headline.attack], level),
        seen_from=setting.sizes.smallest_auc(level),
        utility=use,
    )


def _inverted(played: Sequence[AttackEvaluation]) -> tuple[str, ...]:
    return tuple(text for attack in played for text in direction.warnings(attack.inverted))
