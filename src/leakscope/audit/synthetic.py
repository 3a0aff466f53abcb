"""The audit of a generator of synthetic tables: what it gives away about single records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from leakscope.audit.rendered import Rendered
from leakscope.core import checks, seeds
from leakscope.core.checks import Floats, Ints
from leakscope.core.estimate import Estimate, Skipped
from leakscope.core.versions import own_version, versions
from leakscope.errors import InputError
from leakscope.evaluate import rates
from leakscope.evaluate.by_target import AttackEvaluation, TargetScores, evaluate_targets
from leakscope.evaluate.correlation import rank_correlation
from leakscope.evaluate.findings import GameDescription
from leakscope.report.synthetic.findings import Group, Headline, SyntheticFindings, Targets
from leakscope.runs.execute import Progress
from leakscope.runs.folder import kept_or_scratch
from leakscope.synthetic.attacks.attack import TableAttack
from leakscope.synthetic.attacks.suite import suite_for_few, suite_for_many
from leakscope.synthetic.frames import read_table
from leakscope.synthetic.games.games import Game, game_named
from leakscope.synthetic.games.releases import Making, make_releases
from leakscope.synthetic.games.scores import Scored, Scores, score_releases
from leakscope.synthetic.games.setting import HALF_WIDTH, Setting, Sizes, enough_tests
from leakscope.synthetic.generators.foreign import require_sendable
from leakscope.synthetic.generators.generator import PrivBayes
from leakscope.synthetic.generators.named import as_generator
from leakscope.synthetic.schema import Schema
from leakscope.synthetic.selection import (
    LogLikelihood,
    Random,
    Ranked,
    RareValue,
    Selection,
    Selector,
    Vulnerable,
)
from leakscope.synthetic.table import Table, advice
from leakscope.synthetic.utility import Utility, utility
from leakscope.synthetic.vulnerability import VulnerableRecords, vulnerable_records

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MANY = 50
"""For more targets than these one pool of tables and cheaper attacks are the default."""

RECORDS = 1000
"""Records that a generator learns from, where the table is large enough for that."""

SHARE = 6
"""At most one record in so many of the table is learnt from, unless asked otherwise."""

TargetsAsked = int | str | ArrayLike | Mapping[str, ArrayLike]
"""So many, "all", rows, or groups of rows by name."""

SELECTORS: Mapping[str, Selector] = {
    "distance": Vulnerable(),
    "random": Random(),
    "rare": RareValue(),
    "likelihood": LogLikelihood(),
}
"""Ways to choose records, by name."""


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticAudit(Rendered, SyntheticFindings):
    """What an audit of a generator found, with ways to look at it."""

    REPORT = "leakscope.report.synthetic"

    def __repr__(self) -> str:
        auc = self.headline.auc
        return (
            f"<SyntheticAudit of {self.generator}, {len(self.targets):,} records: mean AUC "
            f"{auc.value:.3f} ({auc.low:.3f} to {auc.high:.3f}) by {self.best.title}>"
        )

    def plot_auc(self, ax: Axes | None = None) -> Axes:
        """Return axes with the AUC of every target, by the attack that the verdict speaks of."""
        from leakscope.report import synthetic

        return synthetic.plot_auc(self, ax)


def audit_synthetic(
    generator: object,
    data: object,
    *,
    targets: TargetsAsked = 10,
    select: str | Sequence[str] = "distance",
    game: str | None = None,
    knowledge: str | None = None,
    attacks: Sequence[TableAttack] | None = None,
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
    show: Sequence[str] = (),
    before: Callable[[Making], None] | None = None,
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
        How that many are chosen; by their vulnerability score where nothing is given.
    game : {"average", "specific", "shared"}, optional
        Average for up to 50 targets, shared for more.
    knowledge : {"auxiliary", "exact", "synthetic"}, optional
        What the adversary knows; see `game_named`.
    attacks : sequence of TableAttack, optional
        For up to 50 targets the full suite, for more the one that is cheap.
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
    show : sequence of str
        Columns to print beside the targets; none otherwise.
    before : callable, optional
        Called once all is checked, before any table is made: to say what it will cost.
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
    checks.level(level)
    made_by = as_generator(generator)
    table = read_table(
        data, schema=schema, continuous=continuous, categorical=categorical, drop=drop
    )
    # Needed at the end, and where the most vulnerable records are the targets: found once.
    known = cache(partial(vulnerable_records, table))
    selections = select_targets(table, targets, select, seed, lambda: known().scores)
    rows = np.unique(np.concatenate([s.rows for s in selections]))
    chosen = game_named(game or ("average" if len(rows) <= MANY else "shared"), knowledge)
    n_tests = enough_tests(half_width, level) if tests is None else tests
    setting = _setting(table, rows, chosen, (shadows, n_tests, size, made), seed)
    chosen.check(setting)
    named = np.arange(len(table)) if ids is None else checks.vector(ids, "ids", length=len(table))
    about = _targets(table, known(), setting.targets, named, show)
    few = len(rows) <= MANY
    players = tuple(attacks or (suite_for_few() if few else suite_for_many()))
    making = Making(chosen, setting, made_by)
    if n_jobs not in (None, 1):
        require_sendable(made_by, made_by.name)
    if before is not None:
        before(making)
    use = _utility(making, label)
    with kept_or_scratch(run) as folder:
        releases = make_releases(
            chosen,
            setting,
            made_by,
            folder,
            invocation=invocation,
            n_jobs=n_jobs,
            progress=progress,
        )
        scores = score_releases(
            making, releases, players, f"{folder}/scores", n_jobs=n_jobs, progress=scoring
        )
        played, skipped = _evaluated(scores, level)
    headline = _headline(played)
    return SyntheticAudit(
        command,
        own_version(),
        seed,
        level,
        _description(chosen, setting),
        made_by.name,
        made_by.describe(),
        setting.sizes,
        len(table),
        chosen.n_tables(setting),
        about,
        tuple(_group(selection, setting.targets, played, level) for selection in selections),
        played,
        headline,
        _foreseen(about, played[headline.attack], level),
        use,
        (*skipped, *([use] if isinstance(use, Skipped) else [])),
        (*advice(table), *_warnings(making, schema, level)),
        {**versions("pandas"), **(provenance or {})},
    )


def select_targets(
    table: Table,
    targets: TargetsAsked,
    select: str | Sequence[str],
    seed: int,
    scores: Callable[[], Floats] | None = None,
) -> tuple[Selection, ...]:
    """Return the records to attack, by the way in which they were chosen.

    `scores` gives the vulnerability scores of all records, where they are needed beside.
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
            f"select must name some of {checks.listed(SELECTORS)}, got {checks.listed(names)}"
        )
    selectors: Mapping[str, Selector] = SELECTORS
    if scores is not None:
        selectors = {**SELECTORS, "distance": Ranked(scores)}
    return tuple(
        selectors[name](table, int(targets), seeds.stream(seed, "select", name)) for name in names
    )


def _setting(
    table: Table,
    rows: Ints,
    game: Game,
    numbers: tuple[int, int, int | None, int | None],
    seed: int,
) -> Setting:
    shadows, tests, size, made = numbers
    records = min(RECORDS, max(len(table) // SHARE, 2)) if size is None else size
    if game.name == "shared" and size is None:
        # Coins that say "in" for five deviations more of the targets than half still fit.
        records = max(records, math.ceil(len(rows) / 2 + 2.5 * math.sqrt(len(rows))))
    return Setting.of(table, rows, Sizes(shadows, tests, records, made), seed)


def _targets(
    table: Table, known: VulnerableRecords, rows: Ints, names: Any, show: Sequence[str]
) -> Targets:
    missing = [name for name in show if name not in table.schema.names]
    if missing:
        raise InputError(
            f"no column {missing[0]!r} to show; the columns are {checks.listed(table.schema.names)}"
        )
    frame = table[rows].to_frame()
    contents = {name: np.asarray(frame[name]) for name in show}
    return Targets(rows, names[rows], known.scores[rows], known.ranks[rows], contents)


def _evaluated(
    scores: Scores, level: float
) -> tuple[tuple[AttackEvaluation, ...], tuple[Skipped, ...]]:
    played: list[AttackEvaluation] = []
    skipped: dict[Skipped, None] = {}
    for place, attack in enumerate(scores.attacks):
        found = list(scores.of(place))
        reasons = [x for x in found if isinstance(x, Skipped)]
        if reasons:
            skipped.update(dict.fromkeys(reasons))
            continue
        scored = [x for x in found if isinstance(x, Scored)]
        notes = tuple(dict.fromkeys(note for x in scored for note in x.notes))
        rows = list(_scores(scored, scores.making.game))
        evaluated = evaluate_targets(attack.name, rows, level, variant=attack.variant, notes=notes)
        played.append(evaluated)
    if not played:
        raise InputError(f"no attack could be played: {next(iter(skipped)).reason}")
    return tuple(played), tuple(skipped)


def _scores(scored: Sequence[Scored], game: Game) -> Iterator[TargetScores]:
    for found in scored:
        blocks = found.blocks
        lengths = [len(block.secret) for block in blocks]
        release = np.concatenate(
            [np.arange(block.released.start, block.released.stop) for block in blocks]
        )
        yield TargetScores(
            np.stack([answer.own for answer in found.answers]),
            np.stack([block.inside for block in blocks]),
            found.released,
            found.secret,
            release,
            np.repeat(np.arange(len(blocks)), lengths),
        )


def _group(
    selection: Selection, rows: Ints, played: Sequence[AttackEvaluation], level: float
) -> Group:
    positions = np.searchsorted(rows, selection.rows)
    means, deviations = [], []
    for attack in played:
        values = attack.aucs[positions]
        if len(values) > 1:
            found = rates.mean(values, level, unit="records")
            # No mean of areas lies outside of 0..1.
            low, high = max(0.0, found.low), min(1.0, found.high)
            means.append(Estimate(found.value, low, high, level, found.n, found.method))
            deviations.append(float(np.std(values, ddof=1)))
        else:
            means.append(attack.targets[int(positions[0])].auc)
            deviations.append(0.0)
    return Group(selection.method, positions, tuple(means), tuple(deviations))


def _headline(played: Sequence[AttackEvaluation]) -> Headline:
    best = int(np.argmax([attack.own_auc.mean() for attack in played]))
    worst = int(np.argmax(played[best].own_auc))
    return Headline(best, worst, played[best].auc, played[best].targets[worst])


def _foreseen(targets: Targets, best: AttackEvaluation, level: float) -> Estimate | Skipped:
    found = rank_correlation(targets.scores, best.aucs, level)
    if isinstance(found, Skipped):
        return Skipped("vulnerability against AUC", found.reason)
    return found


def _utility(making: Making, label: str | None) -> Utility | Skipped:
    """Return what one synthetic table is good for, learnt from records that are no target."""
    setting = making.setting
    rng = seeds.stream(setting.seed, "utility")
    known, held = setting.pools
    records = setting.sizes.records
    if min(len(known), len(held)) < max(records, 100):
        return Skipped("utility", "needs at least 100 records to learn from and 100 others")
    learnt = setting.table[rng.choice(known, records, replace=False)]
    others = setting.table[rng.choice(held, min(len(held), records), replace=False)]
    table = making.generator.generate(learnt, setting.sizes.n_made, rng)
    return utility(learnt, table, others, rng=rng, label=label)


def _description(game: Game, setting: Setting) -> GameDescription:
    sizes = setting.sizes
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
        "Was this record among those that the synthetic table was made from?",
        f"Sees the synthetic table and the record, knows how the generator works, has "
        f"{knows[game.knowledge]}, and makes {sizes.shadows:,} synthetic tables itself",
        f"Drawn: {data[game.name]}",
        "On the adversary's own synthetic tables",
        n_in,
        sizes.tests - n_in,
    )


def _warnings(making: Making, schema: Schema | None, level: float) -> list[str]:
    setting, generator = making.setting, making.generator
    sizes, told = setting.sizes, []
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
