"""A realistic `SyntheticAudit`: made-up scores through the evaluation, a real measure of use."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.seeds import stream
from privacygauge.core.versions import today
from privacygauge.evaluate import rates
from privacygauge.evaluate.by_target import AttackEvaluation, TargetScores, evaluate_targets
from privacygauge.evaluate.played import GameDescription
from privacygauge.evaluate.rates import rank_correlation
from privacygauge.report.values import Origin
from privacygauge.tables.frames import read_table
from privacygauge.tables.games.audited import Headline, TargetGroup, Targets
from privacygauge.tables.games.games import Sizes
from privacygauge.tables.generator_audit.audit import SyntheticAudit
from privacygauge.tables.generators.generator import BayNet
from privacygauge.tables.utility import Utility, utility
from tests.report.example import HOSTILE

ATTACKS = (  # name, variant, share of the shift, notes
    ("query-based", "<= on numbers", 0.8, ()),
    ("query-based", "= on numbers", 1.0, ()),
    ("closest-distance", "", 0.2, ("no evidence of <u>safety</u>",)),
)

COLUMN = "<i>job</i>"
"""A column's name that must not become a part of the page."""


def example(
    n_targets: int = 12,
    *,
    shift: float = 1.0,
    tests: int = 200,
    shadows: int = 200,
    attacks: tuple[tuple[str, str, float, tuple[str, ...]], ...] = ATTACKS,
    groups: tuple[str, ...] = ("distance", "random"),
    shared: bool = False,
    extras: bool = True,
    seed: int = 0,
) -> SyntheticAudit:
    """Return findings about `n_targets` records, the first ids of which are hostile.

    A record in the data moves scores by up to twice `shift`, those of a high vulnerability score
    farther. `shared` gives all targets the same test tables; `extras` adds what may be left out.
    """
    rng = stream(seed, "synthetic example")
    r = n_targets
    n_records = max(45_222, n_targets)
    sizes = Sizes(shadows, tests)
    vulnerability = np.sort(rng.gamma(4.0, 0.03, r))[::-1]
    shifts = shift * (0.3 + 1.7 * np.linspace(1, 0, r)) * rng.uniform(0.7, 1.3, r)
    played = tuple(
        evaluate_targets(
            name,
            [_scores(rng, share * move, sizes, i, shared) for i, move in enumerate(shifts)],
            variant=variant,
            notes=notes,
        )
        for name, variant, share, notes in attacks
    )
    best = int(np.argmax([a.own_auc.mean() for a in played]))
    worst = int(np.argmax(played[best].own_auc))
    parts = np.array_split(np.arange(r), min(len(groups), r))
    ids = np.array([f"person-{i:05d}" for i in range(r)], dtype=object)
    ids[: len(HOSTILE)] = HOSTILE[:r]
    foreseen = rank_correlation(vulnerability, played[best].aucs)
    return SyntheticAudit(
        origin=Origin(
            "privacygauge synthetic people.csv --generator <baynet>",
            "0.1.0",
            seed,
            0.95,
            today(),
            (Skipped("<u>groundhog</u>", "was <u>not</u> asked for"),) if extras else (),
            ("the column <b>town</b> is constant",) if extras else (),
            {"python": "3.11.7", "people.csv sha256": "9f86d081884c7d659a2feaa0c55ad015"},
        ),
        game=_game(shared, sizes),
        generator="BayNet <b>of</b> degree 1",
        settings={"degree": 1, "order": None, "<s>": "</s>"},
        sizes=sizes,
        n_records=n_records,
        n_tables=(1 if shared else r) * (sizes.shadows + tests),
        targets=Targets(
            np.sort(rng.choice(n_records, r, replace=False)),
            ids,
            vulnerability,
            np.arange(1, r + 1),
            {},
        ),
        groups=tuple(_group(m, p, played) for m, p in zip(groups, parts, strict=False)),
        attacks=played,
        headline=Headline(best, worst, played[best].auc, played[best].targets[worst]),
        foreseen=foreseen if extras else Skipped("foreseen", "one side <u>does not</u> vary"),
        seen_from=sizes.smallest_auc(),
        utility=_use() if extras else Skipped("utility", "too few <u>records</u>"),
    )


def repeated(f: SyntheticAudit, times: int) -> SyntheticAudit:
    """Return the findings with every target so many times, as other records of the table."""
    r = times * len(f.targets)
    targets = Targets(
        np.arange(r),
        np.array([f"person-{i:05d}" for i in range(r)], dtype=object),
        np.tile(f.targets.scores, times),
        np.arange(1, r + 1),
        {},
    )
    attacks = tuple(
        replace(a, targets=a.targets * times, own_auc=np.tile(a.own_auc, times)) for a in f.attacks
    )
    return replace(
        f,
        targets=targets,
        attacks=attacks,
        groups=(_group("all records", np.arange(r), attacks),),
        n_records=max(f.n_records, r),
    )


def _scores(
    rng: np.random.Generator, move: float, sizes: Sizes, place: int, shared: bool
) -> TargetScores:
    tests = sizes.tests
    inside = rng.random((1, sizes.shadows)) < 0.5
    secret = np.arange(tests) % 2 == 0 if not shared else rng.random(tests) < 0.5
    first = 0 if shared else place * tests
    return TargetScores(
        rng.normal(size=inside.shape) + move * inside,
        inside,
        rng.normal(size=tests) + move * secret,
        secret,
        np.arange(first, first + tests),
    )


def _game(shared: bool, sizes: Sizes) -> GameDescription:
    return GameDescription(
        "shared game" if shared else "average game",
        "Was this record among those that the synthetic table was made from?",
        "Sees the synthetic table and the record, knows how the generator works, has other "
        f"records of the same source, and makes {sizes.shadows:,} synthetic tables itself",
        "Drawn: a fresh data set for every table",
        "On the adversary's own synthetic tables",
        sizes.tests // 2,
        sizes.tests - sizes.tests // 2,
    )


def _group(method: str, positions: np.ndarray, played: tuple[AttackEvaluation, ...]) -> TargetGroup:
    values = [attack.aucs[positions] for attack in played]
    if len(positions) == 1:
        single = tuple(attack.targets[int(positions[0])].auc for attack in played)
        return TargetGroup(method, positions, single, (0.0,) * len(played))
    means = tuple(_within(rates.mean(v, unit="records")) for v in values)
    return TargetGroup(method, positions, means, tuple(float(v.std(ddof=1)) for v in values))


def _within(x: Estimate) -> Estimate:
    return Estimate(x.value, max(x.low, 0.0), min(x.high, 1.0), x.level, x.n, x.method)


@cache
def _use() -> Utility:
    rng = np.random.default_rng(5)
    age = rng.integers(18, 80, 300)
    job = np.array(list("abc"))[(age // 30 + rng.integers(0, 2, 300)) % 3]
    sex = np.array(["f", "m"])[rng.integers(0, 2, 300)]
    table = read_table(pd.DataFrame({"age": age, COLUMN: job, "sex": sex}))
    real = table[np.arange(150)]
    holdout = table[np.arange(150, 300)]
    made = BayNet().generate(real, 150, rng)
    return utility(real, made, holdout, rng=rng, label=COLUMN)
