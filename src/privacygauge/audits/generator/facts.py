"""What a synthetic table is good for, what was played, and what may mislead the reader."""

from __future__ import annotations

import math

from privacygauge.core import seeds
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.detectable import POWER
from privacygauge.evaluate.played import GameDescription
from privacygauge.report.numbers import rate
from privacygauge.synthetic.games.game import Game
from privacygauge.synthetic.games.learnt_once import learnt_once
from privacygauge.synthetic.games.releases import Making, Releases
from privacygauge.synthetic.games.setting import Setting, enough_tests
from privacygauge.synthetic.generators.generator import PrivBayes
from privacygauge.synthetic.schema import Schema
from privacygauge.synthetic.utility import Utility, utility


def utility_of(making: Making, label: str | None, run: str) -> Utility | Skipped:
    """Return what one synthetic table is good for, learnt from records that are no target.

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


def description(game: Game, setting: Setting) -> GameDescription:
    """Return what was played, in words."""
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


def seen_from(smallest: float | None) -> str:
    """Return in words the smallest AUC of a record that an audit would mostly show."""
    if smallest is None:
        return "no AUC, however high, would be seen with so few test tables (--tests)"
    least = math.ceil(100 * smallest) / 100
    return f"a record's AUC of {least:.2f} or more would be seen in {rate(POWER)} of such audits"


def warnings_of(making: Making, schema: Schema | None, level: float) -> list[str]:
    """Return what may mislead the reader; `schema` is the one that was given."""
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


def clipped_numbers(releases: Releases) -> tuple[str, ...]:
    """Return a sentence where the generator drew numbers beyond the schema's ranges."""
    n = releases.clipped
    if not n:
        return ()
    total = math.prod(releases.run.array("numbers").shape)
    return (
        f"the generator drew {n:,} of {total:,} numbers ({n / total:.2g}) beyond the range of "
        "their columns: each was replaced by the nearer end of the range; if such numbers may "
        "occur, widen the range in the schema (--schema)",
    )
