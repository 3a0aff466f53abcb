"""Results of attacks on a generator: by target, by selection, and of the strongest attack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import TIED, tied
from privacygauge.errors import InputError
from privacygauge.evaluate import rates
from privacygauge.evaluate.by_target import (
    AttackEvaluation,
    TargetEvaluation,
    TargetScores,
    evaluate_targets,
)
from privacygauge.evaluate.correlation import rank_correlation
from privacygauge.evaluate.evaluation import title
from privacygauge.synthetic.attacks.attack import TableAttack
from privacygauge.synthetic.games.scores import GameScores, ScoredTarget
from privacygauge.synthetic.games.setting import Setting
from privacygauge.synthetic.games.worlds import OnWorlds
from privacygauge.synthetic.selection import Selection
from privacygauge.synthetic.table import Table
from privacygauge.synthetic.vulnerability import Vulnerability


@dataclass(frozen=True, eq=False)
class Targets:
    """Attacked records."""

    rows: Ints
    """(r,) Rows in the user's table."""
    ids: NDArray[Any]
    """(r,) Ids, as the user gave them, or the rows."""
    scores: Floats
    """(r,) Vulnerability: mean distance to the nearest other records of the whole table."""
    ranks: Ints
    """(r,) Rank in the whole table; 1 is the most vulnerable record."""
    contents: Mapping[str, NDArray[Any]]
    """Columns of the user's data; filled only if the user asked for them."""

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class TargetGroup:
    """Targets selected by one rule, and the results of attacks on them."""

    method: str
    """Rule that selected them."""
    positions: Ints
    """(g,) Positions among the targets."""
    means: tuple[Estimate, ...]
    """Mean AUC of each attack; the interval is for records selected by this rule."""
    deviations: tuple[float, ...]
    """Standard deviation of each attack's AUC over the records; 0 for a single record."""


@dataclass(frozen=True, eq=False)
class Headline:
    """The result that the verdict names.

    Attack and record are chosen on the adversary's own tables. The numbers come from the others,
    so that the choice needs no correction.
    """

    attack: int
    """Position of the attack."""
    target: int
    """Position of the record that the attack identifies best."""
    auc: Estimate
    """Mean AUC over the targets."""
    worst: TargetEvaluation
    """Result of the attack on that record."""


def evaluate_attacks(
    scores: GameScores, level: float, on_worlds: Sequence[OnWorlds] = ()
) -> tuple[tuple[AttackEvaluation, ...], tuple[Skipped, ...]]:
    """Evaluate the attacks; return also the reasons why some were skipped.

    The signals of further attacks, `on_worlds`, are among the scores of the attacks on tables.

    Raises
    ------
    InputError
        If none was.
    """
    played: list[AttackEvaluation] = []
    skipped: dict[Skipped, None] = {}
    attacks: tuple[TableAttack | OnWorlds, ...] = (*scores.attacks, *on_worlds)
    for place, attack in enumerate(attacks):
        found: Sequence[ScoredTarget | Skipped]
        if isinstance(attack, OnWorlds):
            of_worlds = attack.of(scores)
            found = [of_worlds] if isinstance(of_worlds, Skipped) else of_worlds
        else:
            found = list(scores.of(place))
        reasons = [x for x in found if isinstance(x, Skipped)]
        if reasons:
            skipped.update(dict.fromkeys(reasons))
            continue
        scored = [x for x in found if isinstance(x, ScoredTarget)]
        notes = tuple(dict.fromkeys(note for x in scored for note in x.notes))
        rows = list(_scores(scored))
        if all(tied(row.score) for row in rows):
            skipped[Skipped(title(attack.name, attack.variant, ""), TIED)] = None
            continue
        played.append(
            evaluate_targets(
                attack.name,
                rows,
                level,
                variant=attack.variant,
                notes=notes,
                n_attacks=len(attacks),
            )
        )
    if not played:
        first = next(iter(skipped))
        raise InputError(f"no attack could be played: {first.name} {first.reason}")
    return tuple(played), tuple(skipped)


def _scores(scored: Sequence[ScoredTarget]) -> Iterator[TargetScores]:
    for found in scored:
        blocks = found.blocks
        lengths = [len(block.secret) for block in blocks]
        release = np.concatenate(
            [np.arange(block.released.start, block.released.stop) for block in blocks]
        )
        yield TargetScores(
            own=np.stack([answer.own for answer in found.answers]),
            inside=np.stack([block.inside for block in blocks]),
            score=found.released,
            secret=found.secret,
            release=release,
            block=np.repeat(np.arange(len(blocks)), lengths),
        )


def group_of(
    selection: Selection, setting: Setting, played: Sequence[AttackEvaluation], level: float
) -> TargetGroup:
    """Return the mean AUC of every attack over the records of a selection."""
    positions = np.searchsorted(setting.targets, selection.rows)
    owner = None if setting.unit is None else setting.unit[selection.rows]
    means = []
    deviations = []
    for attack in played:
        values = attack.aucs[positions]
        if len(values) > 1:
            means.append(
                rates.mean(values, level, unit="records", owner=owner, least=0.0, most=1.0)
            )
            deviations.append(float(np.std(values, ddof=1)))
        else:
            means.append(attack.targets[int(positions[0])].auc)
            deviations.append(0.0)
    return TargetGroup(selection.method, positions, tuple(means), tuple(deviations))


def headline_of(played: Sequence[AttackEvaluation]) -> Headline:
    """Return the attack with the highest mean AUC, and the record that it identifies best."""
    best = int(np.argmax([attack.own_auc.mean() for attack in played]))
    worst = int(np.argmax(played[best].own_auc))
    return Headline(best, worst, played[best].auc, played[best].targets[worst])


def foreseen(targets: Targets, best: AttackEvaluation, level: float) -> Estimate | Skipped:
    """Return the rank correlation of the vulnerability scores with the AUCs of an attack."""
    found = rank_correlation(targets.scores, best.aucs, level)
    if isinstance(found, Skipped):
        return Skipped("vulnerability against AUC", found.reason)
    return found


def targets_of(
    table: Table, known: Vulnerability, rows: Ints, names: Any, show: Sequence[str]
) -> Targets:
    """Return the targets with their names, scores and the columns to show."""
    missing = [name for name in show if name not in table.schema.names]
    if missing:
        raise InputError(
            f"no column {missing[0]!r} to show; the columns are "
            f"{checks.short_list(table.schema.names)}"
        )
    frame = table[rows].to_frame()
    contents = {name: np.asarray(frame[name]) for name in show}
    return Targets(
        rows=rows,
        ids=names[rows],
        scores=known.scores[rows],
        ranks=known.ranks[rows],
        contents=contents,
    )
